//! A device of this machine that is calibrated, and the reports of a calibration.

use super::Point;
use super::{Benchmarked, calibration_candidates, cpu_calibration_folder, gpu, processor};
use crate::Error;
use crate::bench::{Bench, bench};
use crate::profile::{GridName, ProfileFolder, ProfiledDevice, calibration_folder};
use crate::records::CorpusRecord;
use sparsight_device::cpu::Cpu;
use sparsight_device::cuda::{Cuda, cusparse_version};
use sparsight_device::hip::Hip;
use sparsight_device::timing::took;
use sparsight_device::{Device, DeviceError};
use sparsight_kernels::DeviceFacts;
use sparsight_matrix::{Csr, Dtype, Features, Scalar, Seconds};
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
        let (interface, name, driver) = match self {
            Self::Processor => {
                let facts = Cpu::new().facts().clone();
                let folder = cpu_calibration_folder(&facts);
                return Ok((facts.name, folder));
            }
            Self::Gpu(index) => ("cuda", Cuda::name(index)?, Cuda::driver()?),
            Self::GpuPart(index, multiprocessors) => {
                ("cuda", Cuda::name_of_part(index, multiprocessors)?, Cuda::driver()?)
            }
            Self::Hip(index) => ("hip", Hip::name(index)?, Hip::driver()?),
        };
        let folder = calibration_folder(interface, &name, &driver);
        Ok((name, folder))
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

/// A device of this machine, opened for its calibration.
#[derive(Debug)]
pub struct CalibratedDevice {
    opened: Opened,
    /// Time to open it, which is part of the budget of a GPU.
    pub(super) opening: Seconds,
}

#[derive(Debug)]
enum Opened {
    Processor(Box<Cpu>),
    Gpu(Box<Cuda>),
    Hip(Box<Hip>),
}

impl CalibratedDevice {
    /// Opens the device.
    ///
    /// # Errors
    /// [`DeviceError`] if it is not there.
    pub fn open(target: CalibrationTarget) -> Result<Self, DeviceError> {
        let (opened, opening) = took(|| match target {
            CalibrationTarget::Processor => Ok(Opened::Processor(Box::new(Cpu::new()))),
            CalibrationTarget::Gpu(index) => Cuda::open(index).map(|gpu| Opened::Gpu(Box::new(gpu))),
            CalibrationTarget::GpuPart(index, multiprocessors) => {
                Cuda::open_part(index, multiprocessors).map(|gpu| Opened::Gpu(Box::new(gpu)))
            }
            CalibrationTarget::Hip(index) => Hip::open(index).map(|gpu| Opened::Hip(Box::new(gpu))),
        });
        Ok(Self { opened: opened?, opening })
    }

    /// Facts of the device.
    pub fn facts(&self) -> &DeviceFacts {
        match &self.opened {
            Opened::Processor(cpu) => cpu.facts(),
            Opened::Gpu(gpu) => gpu.facts(),
            Opened::Hip(gpu) => gpu.as_gpu().facts(),
        }
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

    pub(super) fn of<T: Scalar>(&self) -> &dyn Device<T> {
        match &self.opened {
            Opened::Processor(cpu) => cpu.as_ref(),
            Opened::Gpu(gpu) => gpu.as_ref(),
            Opened::Hip(gpu) => gpu.as_gpu(),
        }
    }

    /// Measures the rates of a processor; those of a GPU are measured when it is opened.
    pub(super) fn measure_rates(&mut self) {
        if let Opened::Processor(cpu) = &mut self.opened {
            cpu.measure_rates();
        }
    }

    /// Content of a new `device.json`, without the costs of conversions.
    pub(super) fn as_profiled(&self) -> ProfiledDevice {
        let (grid, cusparse) = match &self.opened {
            Opened::Processor(_) => (GridName::Coarse, None),
            Opened::Gpu(_) => (GridName::Quick, cusparse_version().ok()),
            Opened::Hip(_) => (GridName::Quick, None),
        };
        let cusparse = cusparse.map(|(major, minor, patch)| format!("{major}.{minor}.{patch}"));
        let threads = rayon::current_num_threads();
        ProfiledDevice::now(self.facts().clone(), grid, cusparse.unwrap_or_default(), threads)
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
        match dtype {
            Dtype::F32 => {
                bench::<f32>(self.of(), (name, &matrix.to_dtype()), features, &candidates, how, |_| Ok(()))
            }
            Dtype::F64 | Dtype::Mixed => {
                bench::<f64>(self.of(), (name, matrix), features, &candidates, how, |_| Ok(()))
            }
        }
    }
}
