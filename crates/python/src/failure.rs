//! Errors of the library as exceptions of the package: each with what to do about it.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use sparsight::Error;
use sparsight::device::DeviceError;
use sparsight::matrix::gallery::GalleryError;
use sparsight::matrix::io::ReadError;
use sparsight::matrix::{CsrError, DistributionError, Infeasible};
use std::io::ErrorKind;

/// Hint for a path that leads nowhere.
const NOT_FOUND: &str = "paths begin where Python was started, os.getcwd(), unless they are absolute";

/// The exceptions of `sparsight._errors`: the variants have their names.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    SparsightError,
    NoGpu,
    Infeasible,
    NoProfile,
    /// No profile of a GPU that is here: it can be calibrated.
    Uncalibrated,
    BadMatrix,
    Unsorted,
    BadVector,
    BadEpilogue,
}

/// An exception to be.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: Kind,
    message: String,
    hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    #[must_use]
    pub(crate) fn hinted(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<Failure> for PyErr {
    fn from(Failure { kind, message, hint }: Failure) -> Self {
        Python::attach(|py| {
            let class = py.import("sparsight._errors").and_then(|errors| errors.getattr(format!("{kind:?}")));
            let made = class.and_then(|class| class.call1((&message, hint)));
            // Without the package around it, this is still an error.
            made.map_or_else(|_| PyRuntimeError::new_err(message), Self::from_value)
        })
    }
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        let kind = match &error {
            error if error.is_missing() => Kind::NoGpu,
            DeviceError::Infeasible(_) => Kind::Infeasible,
            DeviceError::Matrix(error) => return error.clone().into(),
            DeviceError::Length { .. } => Kind::BadVector,
            _ => Kind::SparsightError,
        };
        // The library's hints name the program's flags.
        let hint = match &error {
            DeviceError::NoDriver => Some(
                "install NVIDIA's driver (R570 or newer), or prepare(\"cpu\"); advise and plan need no GPU",
            ),
            DeviceError::NoSuchDevice { interface: "CUDA", .. } => {
                Some("devices are \"cpu\" and \"cuda:0\" to \"cuda:N\", less one than there are")
            }
            DeviceError::Link { .. } => {
                Some("prepare the plan again; NCCL_DEBUG=INFO, set before, lets NCCL say more about it")
            }
            DeviceError::PlacesUnknown { .. } => {
                Some("prepare(..., updates=True) finds out where they stand")
            }
            _ => error.hint(),
        };
        Self { kind, message: error.to_string(), hint: hint.map(ToOwned::to_owned) }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let hint = error.hint();
        match error {
            Error::Device(error) => error.into(),
            Error::NoProfile { .. } => Self::new(Kind::NoProfile, error.to_string()).hinted(
                "a device is \"cuda:N\", a shipped profile, or the folder or data sheet of another one",
            ),
            Error::Distribution(error) => error.into(),
            Error::NothingToRun { .. } => Self::new(Kind::Infeasible, error.to_string()),
            Error::NotCalibrated { .. } => Self::new(Kind::NoGpu, error.to_string())
                .hinted("calibrate() again goes on where it was; device=\"nvidia-h200\" answers meanwhile"),
            Error::File { ref source, .. } if hint.is_none() && source.kind() == ErrorKind::NotFound => {
                Self::new(Kind::NoProfile, error.to_string()).hinted(NOT_FOUND)
            }
            Error::NotSquare { .. } => Self { kind: Kind::BadMatrix, message: error.to_string(), hint },
            Error::Contradictory { .. } | Error::Predict(_) => {
                Self { kind: Kind::SparsightError, message: error.to_string(), hint }
            }
            _ => Self { kind: Kind::NoProfile, message: error.to_string(), hint },
        }
    }
}

/// Hint for a y that is written while x is read.
pub(crate) const SHARED: &str = "give an array of its own: y is written while x is still read";
/// Hint for a y that cannot be written.
pub(crate) const READ_ONLY: &str = "give one that may be written to: a copy may";
/// Hint for column indices.
pub(crate) const COLUMNS: &str =
    "columns are numbered from 0: those of a matrix that counts from 1 are indices - 1";

impl From<CsrError> for Failure {
    fn from(error: CsrError) -> Self {
        let (kind, hint) = match &error {
            CsrError::NoMemory(reason) => return Infeasible::from(*reason).into(),
            CsrError::Unsorted { .. } => {
                (Kind::Unsorted, "A.sum_duplicates() of scipy and CuPy sorts the columns of each row")
            }
            CsrError::TooManyColumns { .. } => {
                (Kind::BadMatrix, "cut the columns into blocks, and add up the products with these")
            }
            CsrError::Lengths { .. } => (Kind::BadMatrix, "indices and data have an entry for each non-zero"),
            CsrError::Column { .. } => (Kind::BadMatrix, COLUMNS),
            _ => (
                Kind::BadMatrix,
                "indptr has rows + 1 offsets that never decrease, from 0 to the number of indices: row i is \
                 indptr[i]:indptr[i + 1]",
            ),
        };
        Self::new(kind, error.to_string()).hinted(hint)
    }
}

impl From<DistributionError> for Failure {
    fn from(error: DistributionError) -> Self {
        let kind = match error {
            DistributionError::Length { .. } | DistributionError::NoSuchPart { .. } => Kind::BadVector,
            _ => Kind::SparsightError,
        };
        Self::new(kind, error.to_string()).hinted(
            "parts= holds a whole number for each row: that of its part, from 0 on, below the number of GPUs",
        )
    }
}

impl From<Infeasible> for Failure {
    fn from(error: Infeasible) -> Self {
        DeviceError::from(error).into()
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        let hint = match &error {
            ReadError::Io { cause, .. } if cause.kind() == ErrorKind::NotFound => Some(NOT_FOUND),
            _ => error.hint(),
        };
        let hint = hint.map(ToOwned::to_owned);
        Self { kind: Kind::BadMatrix, message: error.to_string(), hint }
    }
}

impl From<GalleryError> for Failure {
    fn from(error: GalleryError) -> Self {
        Self { kind: Kind::BadMatrix, message: error.to_string(), hint: error.hint() }
    }
}
