//! Which profile answers, and the devices of this machine, each opened once.

use crate::failure::{Failure, Kind};
use crate::forked;
use pyo3::prelude::*;
use sparsight::device::cpu::Cpu;
use sparsight::device::cuda::{self, Cuda};
use sparsight::device::gpu::ConvertOn;
use sparsight::device::{Device, DeviceError};
use sparsight::matrix::Scalar;
use sparsight::profile::{GridName, ProfileFolder, ProfiledDevice, calibration_folder};
use sparsight::{CalibratedDevice, Error, LocalDevice, Profile, measure_calibration};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// One that products are run on.
pub(crate) enum Opened {
    Cpu(Arc<Cpu>),
    Cuda(usize, Cuda),
}

impl Opened {
    pub(crate) fn open(name: &str) -> Result<Self, Failure> {
        static CPU: LazyLock<Arc<Cpu>> = LazyLock::new(|| Arc::new(Cpu::new()));
        static GPUS: Mutex<BTreeMap<usize, Cuda>> = Mutex::new(BTreeMap::new());
        let index = match LocalDevice::named(name) {
            Some(LocalDevice::Cpu) => return Ok(Self::Cpu(Arc::clone(&CPU))),
            Some(LocalDevice::Gpu(index)) => index,
            None => {
                let failure = Failure::new(Kind::NoGpu, format!("'{name}' is no device of this machine"));
                return Err(failure.hinted("devices are \"cpu\", \"cuda\" and \"cuda:N\""));
            }
        };
        let mut gpus = GPUS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gpu) = gpus.get(&index) {
            return Ok(Self::Cuda(index, gpu.clone()));
        }
        let mut gpu = Cuda::open_without_rates(index)?;
        // Where its profile knows from which size on the GPU converts faster.
        let known = of_gpu(&gpu.facts().name).and_then(|profile| profile.device.converts_from_nnz);
        if let Some(from) = known {
            gpu.convert_on(ConvertOn::From(from));
        }
        gpus.insert(index, gpu.clone());
        Ok(Self::Cuda(index, gpu))
    }

    pub(crate) fn of<T: Scalar>(&self) -> &dyn Device<T> {
        match self {
            Self::Cpu(cpu) => cpu.as_ref(),
            Self::Cuda(_, gpu) => gpu,
        }
    }

    /// Waits for everything that is queued there; nothing is on a CPU.
    pub(crate) fn wait(&self) -> Result<(), Failure> {
        match self {
            Self::Cpu(_) => Ok(()),
            Self::Cuda(_, gpu) => Ok(gpu.wait_for_all()?),
        }
    }

    /// `None` for the CPU.
    pub(crate) fn index(&self) -> Option<usize> {
        match self {
            Self::Cpu(_) => None,
            Self::Cuda(index, _) => Some(*index),
        }
    }
}

/// Profiles that were read, by name: `nvidia-h200`, or for a calibration `cuda:` and what the driver calls the GPU. Their models take a while to be
/// unpacked, and are kept.
static READ: Mutex<BTreeMap<String, Arc<Profile>>> = Mutex::new(BTreeMap::new());

/// The profile kept under that name, read now if it was not. Nobody else reads meanwhile, so that none is read twice.
fn kept(
    name: String,
    read: impl FnOnce() -> Result<Option<Profile>, Error>,
) -> Result<Option<Arc<Profile>>, Error> {
    let mut all = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(profile) = all.get(&name) {
        return Ok(Some(Arc::clone(profile)));
    }
    let found = read()?.map(Arc::new);
    if let Some(profile) = &found {
        all.insert(name, Arc::clone(profile));
    }
    Ok(found)
}

/// Of that name: the user's, if there is one, as wherever profiles are looked for.
fn shipped(name: &str) -> Result<Arc<Profile>, Failure> {
    let found = kept(name.to_owned(), || Profile::find(name).map(Some))?;
    Ok(found.expect("a shipped profile is there, or an error"))
}

/// What answers for the GPU that its driver calls so: a shipped profile, or a calibration that was made before.
fn of_gpu(name: &str) -> Option<Arc<Profile>> {
    // Kept under its own name, so that it is read once however it is asked for.
    if let Some(known) = Profile::shipped_name_for_gpu(name) {
        return shipped(known).ok();
    }
    kept(name_kept(name), || Ok(Profile::known_for_gpu(name, || Cuda::driver().ok()))).ok().flatten()
}

fn name_kept(gpu: &str) -> String {
    format!("cuda:{gpu}")
}

/// The profile that answers for `device`: a device of this machine, or the name, folder or data sheet of a profile. Without a
/// name, that of the first GPU here if it is known, else the default.
pub(crate) fn profile_for(device: Option<&str>) -> Result<Arc<Profile>, Failure> {
    let Some(device) = device else {
        let of_this_machine = Cuda::name(0).ok().and_then(|name| of_gpu(&name));
        return of_this_machine.map_or_else(|| shipped(Profile::DEFAULT), Ok);
    };
    match LocalDevice::named(device) {
        Some(LocalDevice::Gpu(index)) => {
            let name = Cuda::name(index)?;
            of_gpu(&name).ok_or_else(|| {
                Failure::new(Kind::NoProfile, format!("{name} has no profile and was not calibrated yet"))
                    .hinted(format!("sparsight.calibrate({device:?}) does it, once, in about 15 s"))
            })
        }
        Some(LocalDevice::Cpu) => Err(Failure::new(Kind::NoProfile, "there is no profile of this processor").hinted(
            "plan for a GPU, by default an NVIDIA H200, and prepare(\"cpu\"); `sparsight advise --device cpu` measures one",
        )),
        None if Profile::shipped_names().any(|name| name == device) => shipped(device),
        None => Ok(Arc::new(Profile::find(device)?)),
    }
}

/// The first GPU here, if nothing is known of it: advice that names no device is then for another one.
#[pyfunction]
pub(crate) fn unknown_gpu(py: Python<'_>) -> Option<String> {
    py.detach(|| Cuda::name(0).ok().filter(|name| of_gpu(name).is_none()))
}

/// Number of the GPU in whose memory an address lies; None where every GPU may read it, and where nobody knows.
#[pyfunction]
pub(crate) fn gpu_of(address: u64) -> PyResult<Option<usize>> {
    match Cuda::index_of_address(address) {
        Err(DeviceError::NoDriver | DeviceError::LoaderPath { .. }) => Ok(None),
        found => Ok(found.map_err(Failure::from)?),
    }
}

/// Measures what it takes to carry predictions over to a GPU, and keeps it where `profile_for` and the program find it. Gives the name
/// of the profile whose predictions answer. `before` is called with a number from 0 to 19 and what is measured next.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // It is called from within, while the interpreter is free.
pub(crate) fn calibrate(py: Python<'_>, device: &str, before: Py<PyAny>) -> PyResult<String> {
    let index = match LocalDevice::named(device) {
        Some(LocalDevice::Gpu(index)) => index,
        Some(LocalDevice::Cpu) | None => {
            let failure = Failure::new(Kind::NoGpu, format!("'{device}' is no GPU of this machine"));
            return Err(failure.hinted("give \"cuda:0\" to \"cuda:N\"").into());
        }
    };
    forked::refuse()?;
    let mut interrupted = None;
    let made = py.detach(|| {
        let gpu = Cuda::open(index)?;
        let facts = gpu.facts().clone();
        let Some(path) = calibration_folder(&facts.name, &facts.driver) else {
            return Err(Failure::new(Kind::Other, "there is no folder to keep a calibration in")
                .hinted("set SPARSIGHT_CACHE to one"));
        };
        let folder = ProfileFolder::create(&path)?;
        let as_profiled =
            ProfiledDevice::now(facts, GridName::Quick, String::new(), rayon::current_num_threads());
        let device = CalibratedDevice { of_f32: &gpu, of_f64: &gpu, as_profiled };
        let mut tell = |at: usize, matrix: &str| {
            let told = Python::attach(|py| before.call1(py, (at, matrix)).and_then(|_| py.check_signals()));
            told.map_err(|error| {
                interrupted = Some(error);
                DeviceError::Interrupted.into()
            })
        };
        let made = measure_calibration(&device, &folder, None, 0, &mut tell)?;
        READ.lock().unwrap_or_else(PoisonError::into_inner).remove(&name_kept(&gpu.facts().name));
        Ok(made.reference)
    });
    match interrupted {
        Some(error) => Err(error),
        None => Ok(made?),
    }
}

/// Names of the profiles that are part of the package.
#[pyfunction]
pub(crate) fn profiles() -> Vec<&'static str> {
    Profile::shipped_names().collect()
}

/// Adds folders with Python packages in which NVRTC may lie.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // Python gives a list, which becomes one of ours.
pub(crate) fn search_libraries_in(folders: Vec<PathBuf>) {
    cuda::search_libraries_in(&folders);
}
