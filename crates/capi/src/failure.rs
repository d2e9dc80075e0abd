//! Errors of the library as codes of the interface, each with a text and a hint.

use crate::status::{
    SS_BAD_ARGUMENT, SS_BAD_MATRIX, SS_DEVICE, SS_INFEASIBLE, SS_NO_GPU, SS_NO_PROFILE, SS_PANIC,
};
use sparsight::Error;
use sparsight::device::DeviceError;
use sparsight::matrix::CsrError;
use std::any::Any;
use std::ffi::c_int;

/// Why a call failed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Never `SS_OK`.
    pub(crate) code: c_int,
    pub(crate) text: String,
    pub(crate) hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(code: c_int, text: impl Into<String>) -> Self {
        Self { code, text: text.into(), hint: None }
    }

    pub(crate) fn bad_argument(text: impl Into<String>) -> Self {
        Self::new(SS_BAD_ARGUMENT, text)
    }

    pub(crate) fn null(what: &str) -> Self {
        Self::bad_argument(format!("{what} is NULL"))
    }

    pub(crate) fn bad_matrix(text: impl Into<String>) -> Self {
        Self::new(SS_BAD_MATRIX, text)
    }

    /// The system has not given that many bytes for `what`.
    pub(crate) fn no_memory(what: &str, bytes: usize) -> Self {
        Self::new(SS_INFEASIBLE, format!("the system gives no {bytes} bytes for {what}"))
            .hinted("a machine with more memory is needed, or a smaller matrix")
    }

    /// The failure of a panic with that payload.
    pub(crate) fn of_panic(payload: &(dyn Any + Send)) -> Self {
        let words = payload.downcast_ref::<&str>().copied();
        let words = words.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let text = format!("sparsight has panicked: {}", words.unwrap_or("for an unknown reason"));
        Self::new(SS_PANIC, text).hinted("this is a mistake in sparsight: please report it")
    }

    #[must_use]
    pub(crate) fn hinted(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        let code = match &error {
            error if error.is_missing() => SS_NO_GPU,
            DeviceError::Infeasible(_) | DeviceError::CannotRun { .. } => SS_INFEASIBLE,
            DeviceError::Matrix(error) => return error.clone().into(),
            DeviceError::Length { .. }
            | DeviceError::NoDeviceVectors
            | DeviceError::OtherDevice { .. }
            | DeviceError::Epilogue(_) => SS_BAD_ARGUMENT,
            _ => SS_DEVICE,
        };
        // The library's hints name the flags of the program.
        let hint = match &error {
            DeviceError::NoDriver => {
                Some("install NVIDIA's driver (R570 or newer), or open the device \"cpu\"; plans need no GPU")
            }
            DeviceError::NoSuchDevice { interface: "CUDA", .. } => {
                Some("devices are \"cpu\" and \"cuda:0\" to \"cuda:N\", N being one less than there are")
            }
            DeviceError::Infeasible(_) | DeviceError::CannotRun { .. } => {
                Some("prepare the next candidate of the plan; ss_plan_memory_bytes says how much each takes")
            }
            DeviceError::NoDeviceVectors => Some(
                "ss_multiply_host and ss_update_values_host take what lies in the memory of the host, on every device",
            ),
            _ => error.hint(),
        };
        Self { code, text: error.to_string(), hint: hint.map(ToOwned::to_owned) }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let (text, hint) = (error.to_string(), error.hint());
        match error {
            Error::Device(error) => error.into(),
            Error::PlannedForGpu { .. } => Self::bad_argument(text)
                .hinted("ss_profile_open(\"cpu\", ...) opens the processor's profile: plan with that"),
            Error::NothingToRun { .. } => Self { code: SS_INFEASIBLE, text, hint },
            Error::NotCalibrated { .. } => Self::new(SS_DEVICE, text).hinted(
                "`sparsight devices` says what is missing; the profile \"nvidia-h200\" answers meanwhile",
            ),
            Error::NoProfile { .. } => Self::new(SS_NO_PROFILE, text).hinted(
                "a profile is one of those names, a folder, a data sheet (.toml), \"cuda:N\" for a GPU of this machine, or \"cpu\"",
            ),
            _ => Self { code: SS_NO_PROFILE, text, hint },
        }
    }
}

impl From<CsrError> for Failure {
    fn from(error: CsrError) -> Self {
        if let CsrError::NoMemory(reason) = error {
            return DeviceError::Infeasible(reason.into()).into();
        }
        let failure = Self::bad_matrix(error.to_string());
        if !matches!(error, CsrError::Unsorted { .. }) {
            return failure;
        }
        failure.hinted(
            "sort the columns of each row, values with them, and add up entries that stand at the same place",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight::matrix::{Bytes, Infeasible};

    #[test]
    fn each_error_of_the_library_has_its_code() {
        let device = |error: DeviceError| Failure::from(Error::from(error));
        assert_eq!(device(DeviceError::NoDriver).code, SS_NO_GPU);
        assert!(device(DeviceError::NoDriver).hint.is_some_and(|hint| hint.contains("\"cpu\"")));
        let full = Infeasible::DoesNotFit { need: Bytes(2), have: Bytes(1) };
        assert_eq!(device(full.into()).code, SS_INFEASIBLE);
        assert_eq!(device(CsrError::Unsorted { row: 3 }.into()).code, SS_BAD_MATRIX);
        assert_eq!(device(DeviceError::NoDeviceVectors).code, SS_BAD_ARGUMENT);
        assert_eq!(device(DeviceError::OtherPattern).code, SS_DEVICE);
        let unknown = Error::NoProfile { name: "x".to_owned(), shipped: "a, b".to_owned() };
        assert_eq!(Failure::from(unknown).code, SS_NO_PROFILE);
        let failed = Error::NotCalibrated { device: "a GPU".to_owned(), why: "no kernel ran".to_owned() };
        assert_eq!(Failure::from(failed).code, SS_DEVICE);
        assert_eq!(Failure::from(Error::NothingToRun { why: "nothing".to_owned() }).code, SS_INFEASIBLE);
    }
}
