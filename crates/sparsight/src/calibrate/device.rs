//! A device of this machine that is calibrated, and the reports of a calibration.

use super::Point;
use super::{
    Benchmarked, calibration_candidates, cpu_calibration_folder, gpu, measure_conversion_threshold, processor,
};
use crate::Error;
use crate::bench::{Bench, bench};
use crate::bindings::LocalDevice;
use crate::profile::{GridName, ProfileFolder, ProfiledDevice, calibration_folder};
use crate::records::CorpusRecord;
use sparsight_device::cpu::Cpu;
use sparsight_device::cuda::{Cuda, cusparse_version};
use sparsight_device::gpu::ConvertOn;
use sparsight_device::hip::Hip;
use sparsight_device::timing::took;
use sparsight_device::{Device, DeviceError};
use sparsight_kernels::{Candidate, DeviceFacts};
use sparsight_matrix::{Csr, Dtype, Features, Scalar, Seconds};
use std::fmt;
use std::path::{Path, PathBuf};

/// A device of this machine, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalibrationTarget {
    /// The processor.
    Processor,
    /// A GPU, counted from 0.
    Gpu(usize),
    /// A GPU, counted from 0, and the number of its multiprocessors that are used.
    GpuPart(usize, u32),
    /// A GPU of AMD, counted from 0.
    Hip(usize),
}

impl CalibrationTarget {
    /// Name of the device, and the folder of its calibration; `None` where the user has no folder for such things. Opens no GPU.
    pub(super) fn cached(self) -> Result<(String, Option<PathBuf>), DeviceError> {
        let Some(name) = self.gpu_name()? else {
            let facts = Cpu::new().facts().clone();
            let folder = cpu_calibration_folder(&facts);
            return Ok((facts.name, folder));
        };
        let (interface, driver) = match self {
            Self::Hip(_) => ("hip", Hip::driver()?),
            _ => ("cuda", Cuda::driver()?),
        };
        let folder = calibration_folder(interface, &name, &driver);
        Ok((name, folder))
    }

    /// Name of a GPU or a part of one in its facts; `None` of the processor. Opens nothing.
    ///
    /// # Errors
    /// [`DeviceError`] if there is no such GPU.
    pub fn gpu_name(self) -> Result<Option<String>, DeviceError> {
        match self {
            Self::Processor => Ok(None),
            Self::Gpu(index) => Cuda::name(index).map(Some),
            Self::GpuPart(index, multiprocessors) => Cuda::name_of_part(index, multiprocessors).map(Some),
            Self::Hip(index) => Hip::name(index).map(Some),
        }
    }
}

impl From<LocalDevice> for CalibrationTarget {
    fn from(device: LocalDevice) -> Self {
        match device {
            LocalDevice::Cpu => Self::Processor,
            LocalDevice::Gpu(index) => Self::Gpu(index),
            LocalDevice::Hip(index) => Self::Hip(index),
        }
    }
}

/// `cpu`, `cuda:0`, `cuda:0/sm40`, `hip:0`.
impl fmt::Display for CalibrationTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Processor => f.pad("cpu"),
            Self::Gpu(index) => f.pad(&format!("cuda:{index}")),
            Self::GpuPart(index, multiprocessors) => f.pad(&format!("cuda:{index}/sm{multiprocessors}")),
            Self::Hip(index) => f.pad(&format!("hip:{index}")),
        }
    }
}

/// A report of a calibration that runs.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Another process or thread calibrates the device. Sent ten times a second until that ends.
    Waiting,
    /// The cached calibration cannot be read and was renamed; nothing in it was removed.
    SetAside {
        /// Why it cannot be read.
        why: &'a Error,
        /// New name.
        aside: &'a Path,
    },
    /// The cached calibration was made on a busy machine and was renamed; it is made again.
    BusyMachine,
    /// The device has no calibration: it is opened and measured now.
    Begins {
        /// Name by the driver.
        device: &'a str,
        /// Folder in the cache.
        folder: &'a Path,
    },
    /// The device of [`Event::Begins`] was opened.
    Opened(&'a DeviceFacts),
    /// Memory rates and launch cost are measured next.
    Rates(&'a DeviceFacts),
    /// Conversions between formats are measured next.
    Conversions,
    /// A point of the grid is done.
    Benchmark {
        /// Points done, this one included.
        done: usize,
        /// Points in all.
        total: usize,
        /// The point.
        point: &'a Point,
        /// True if this run measured it.
        is_new: bool,
    },
    /// A generated matrix is measured next.
    Matrix {
        /// Steps done.
        at: usize,
        /// Steps in all: on a GPU one for each matrix and value type, on a processor one for each matrix.
        total: usize,
        /// Name of the matrix.
        name: &'a str,
    },
    /// The calibration is complete and written.
    Ends(&'a Calibrated),
}

/// Receiver of the reports of a calibration. An error that it returns ends the calibration; what was measured before is kept.
pub type Watcher<'w> = dyn FnMut(Event<'_>) -> Result<(), Error> + 'w;

/// Results of a calibration.
#[derive(Debug, Clone, Default)]
pub struct Calibrated {
    /// Benchmark matrices; none on a GPU.
    pub benchmarked: Benchmarked,
    /// Reason to distrust the times: the machine was busy. `None` if nothing was measured by this run on a processor.
    pub noise: Option<String>,
    /// Times below 10 ns or beyond a day, which no model learns from.
    pub implausible: usize,
}

/// A device of this machine that is open, whatever it is.
#[derive(Debug)]
pub enum OpenDevice {
    /// The processor.
    Processor(Box<Cpu>),
    /// A GPU, or a part of one.
    Gpu(Box<Cuda>),
    /// A GPU of AMD.
    Hip(Box<Hip>),
}

impl OpenDevice {
    /// Opens the device.
    ///
    /// # Errors
    /// [`DeviceError`] if it is not there.
    pub fn open(target: CalibrationTarget) -> Result<Self, DeviceError> {
        match target {
            CalibrationTarget::Processor => Ok(Self::Processor(Box::new(Cpu::new()))),
            CalibrationTarget::Gpu(index) => Cuda::open(index).map(|gpu| Self::Gpu(Box::new(gpu))),
            CalibrationTarget::GpuPart(index, multiprocessors) => {
                Cuda::open_part(index, multiprocessors).map(|gpu| Self::Gpu(Box::new(gpu)))
            }
            CalibrationTarget::Hip(index) => Hip::open(index).map(|gpu| Self::Hip(Box::new(gpu))),
        }
    }

    /// Facts of the device.
    pub fn facts(&self) -> &DeviceFacts {
        self.of::<f64>().facts()
    }

    /// The device, for one value type.
    pub fn of<T: Scalar>(&self) -> &dyn Device<T> {
        match self {
            Self::Processor(cpu) => cpu.as_ref(),
            Self::Gpu(gpu) => gpu.as_ref(),
            Self::Hip(gpu) => gpu.as_gpu(),
        }
    }

    /// Opens the device for products: no rates are measured. A GPU of NVIDIA converts where `converts_from`, asked by the driver's name of
    /// it, knows from which size on it is faster.
    ///
    /// # Errors
    /// [`DeviceError`] if the device is not there, and those of `converts_from`.
    pub fn for_products<E: From<DeviceError>>(
        device: LocalDevice,
        converts_from: impl FnOnce(&str) -> Result<Option<u64>, E>,
    ) -> Result<Self, E> {
        match device {
            LocalDevice::Cpu => Ok(Self::Processor(Box::new(Cpu::new()))),
            LocalDevice::Gpu(index) => {
                let mut gpu = Self::Gpu(Box::new(Cuda::open_without_rates(index)?));
                let known = converts_from(&gpu.facts().name)?;
                gpu.convert_from(known);
                Ok(gpu)
            }
            LocalDevice::Hip(index) => Ok(Self::Hip(Box::new(Hip::open_without_rates(index)?))),
        }
    }

    /// Waits for everything that is queued there; nothing is on a processor.
    ///
    /// # Errors
    /// [`DeviceError::Driver`], also while a stream of a GPU is captured into a graph.
    pub fn wait_for_all(&self) -> Result<(), DeviceError> {
        match self {
            Self::Processor(_) => Ok(()),
            Self::Gpu(gpu) => gpu.wait_for_all(),
            Self::Hip(gpu) => gpu.wait_for_all(),
        }
    }

    /// Returns whether the program has reset the device since it was opened: see [`Cuda::was_reset`].
    pub fn was_reset(&self) -> bool {
        matches!(self, Self::Gpu(gpu) if gpu.was_reset())
    }

    /// Measures the rates of a processor; those of a GPU are measured when it is opened.
    pub fn measure_rates(&mut self) {
        if let Self::Processor(cpu) = self {
            cpu.measure_rates();
        }
    }

    /// Measures from which size on a GPU converts faster than the host, and keeps to it; `None` of a processor.
    ///
    /// # Errors
    /// [`DeviceError`] if a conversion fails.
    pub fn measure_conversion_threshold(&mut self) -> Result<Option<u64>, DeviceError> {
        let from = match self {
            Self::Processor(_) => None,
            Self::Gpu(gpu) => measure_conversion_threshold(gpu.as_gpu())?,
            Self::Hip(gpu) => measure_conversion_threshold(gpu.as_gpu())?,
        };
        self.convert_from(from);
        Ok(from)
    }

    /// Converts on a GPU from so many non-zeros on, if that is known.
    pub fn convert_from(&mut self, nnz: Option<u64>) {
        let Some(place) = nnz.map(ConvertOn::From) else { return };
        match self {
            Self::Processor(_) => {}
            Self::Gpu(gpu) => gpu.convert_on(place),
            Self::Hip(gpu) => gpu.as_gpu_mut().convert_on(place),
        }
    }

    /// Times of `candidates` of one value type on a matrix, whose values are rounded to it.
    ///
    /// # Errors
    /// As [`bench`](crate::bench::bench).
    pub fn bench(
        &self,
        (name, matrix): (&str, &Csr<f64>),
        features: &Features,
        (dtype, candidates): (Dtype, &[Candidate]),
        how: &Bench,
    ) -> Result<CorpusRecord, DeviceError> {
        match dtype {
            Dtype::F32 => {
                bench::<f32>(self.of(), (name, &matrix.to_dtype()), features, candidates, how, |_| Ok(()))
            }
            Dtype::F64 | Dtype::Mixed => {
                bench::<f64>(self.of(), (name, matrix), features, candidates, how, |_| Ok(()))
            }
        }
    }

    /// Content of a new `device.json`, without the costs of conversions: of a calibration, if nothing else is said of its grid.
    pub fn as_profiled(&self) -> ProfiledDevice {
        let (grid, cusparse) = match self {
            Self::Processor(_) => (GridName::Coarse, None),
            Self::Gpu(_) => (GridName::Quick, cusparse_version().ok()),
            Self::Hip(_) => (GridName::Quick, None),
        };
        let cusparse = cusparse.map(|(major, minor, patch)| format!("{major}.{minor}.{patch}"));
        let threads = rayon::current_num_threads();
        ProfiledDevice::now(self.facts().clone(), grid, cusparse.unwrap_or_default(), threads)
    }
}

/// A device of this machine, opened for its calibration.
#[derive(Debug)]
pub struct CalibratedDevice {
    pub(super) opened: OpenDevice,
    /// Time to open it, which is part of the budget of a GPU.
    pub(super) opening: Seconds,
}

impl CalibratedDevice {
    /// Opens the device.
    ///
    /// # Errors
    /// [`DeviceError`] if it is not there.
    pub fn open(target: CalibrationTarget) -> Result<Self, DeviceError> {
        let (opened, opening) = took(|| OpenDevice::open(target));
        Ok(Self { opened: opened?, opening })
    }

    /// Facts of the device.
    pub fn facts(&self) -> &DeviceFacts {
        self.opened.facts()
    }

    /// Measures what `folder` lacks of a calibration, and writes the profile: of a processor its own models for values of `dtypes`, of
    /// a GPU how the predictions of `reference` are carried over (of the shipped profile that leaves least unexplained if `None`). A GPU
    /// is measured within [`CALIBRATION_BUDGET`](super::CALIBRATION_BUDGET): what is left out a later run measures. `seed` draws x.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] if the folder is of another device; [`Error::NotCalibrated`] if no kernel runs, or if no profile can be
    /// carried over; [`Error::Lacking`] if `reference` measured none of the matrices; errors of files, and those of `watcher`.
    pub fn calibrate(
        &mut self,
        folder: &ProfileFolder,
        dtypes: &[Dtype],
        reference: Option<&str>,
        seed: u64,
        watcher: &mut Watcher<'_>,
    ) -> Result<Calibrated, Error> {
        let done = if self.facts().kind.is_gpu() {
            gpu::calibrate(self, folder, reference, seed, watcher)?
        } else {
            processor::calibrate(self, folder, dtypes, seed, watcher)?
        };
        watcher(Event::Ends(&done))?;
        Ok(done)
    }

    /// Times of every kernel of a calibration on a matrix, in `dtype`.
    pub(super) fn measured(
        &self,
        name: &str,
        matrix: &Csr<f64>,
        features: &Features,
        dtype: Dtype,
        how: &Bench,
    ) -> Result<CorpusRecord, DeviceError> {
        let candidates = calibration_candidates(self.facts().kind, dtype);
        self.opened.bench((name, matrix), features, (dtype, &candidates), how)
    }
}
