//! Choice of the profile that answers, and the devices of this machine, each opened once.

use crate::failure::{Failure, Kind};
use crate::forked;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use sparsight::bindings::LocalDevice;
use sparsight::calibrate::{
    CALIBRATION_BUDGET, CPU_CALIBRATION_MATRICES, CalibrationTarget, Event, OpenDevice, calibrated_profile,
    cpu_calibration_folder, may_calibrate,
};
use sparsight::device::DeviceError;
use sparsight::device::cpu::Cpu;
use sparsight::device::cuda::{self, Cuda, Identity, Nccl};
use sparsight::device::gpu::{GpuDevice, Link};
use sparsight::matrix::Dtype;
use sparsight::{Error, Profile};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

/// An open device for products.
pub(crate) struct Opened {
    here: LocalDevice,
    pub(crate) device: Arc<OpenDevice>,
}

impl Opened {
    pub(crate) fn open(name: &str) -> Result<Self, Failure> {
        let here = LocalDevice::named(name).ok_or_else(|| {
            Failure::new(Kind::NoGpu, format!("'{name}' is no device of this machine"))
                .hinted("devices are \"cpu\", \"cuda\", \"cuda:N\", \"hip\" and \"hip:N\"")
        })?;
        Ok(Self { here, device: opened(here)? })
    }

    /// Number of the GPU whose vectors it takes; `None` where it takes those of the host alone: what other packages have on a GPU of AMD is
    /// not taken yet.
    pub(crate) fn index(&self) -> Option<usize> {
        match self.here {
            LocalDevice::Cpu | LocalDevice::Hip(_) => None,
            LocalDevice::Gpu(index) => Some(index),
        }
    }

    /// `cpu`, `cuda:0`, `hip:0`.
    pub(crate) fn name(&self) -> String {
        CalibrationTarget::from(self.here).to_string()
    }
}

/// That device, opened when it is first asked for. The processor waits for no GPU that is being opened, in this process or in the one
/// that it was forked from.
fn opened(here: LocalDevice) -> Result<Arc<OpenDevice>, Failure> {
    static PROCESSOR: LazyLock<Arc<OpenDevice>> =
        LazyLock::new(|| Arc::new(OpenDevice::Processor(Box::new(Cpu::new()))));
    static OPEN: Mutex<BTreeMap<LocalDevice, Arc<OpenDevice>>> = Mutex::new(BTreeMap::new());
    if here == LocalDevice::Cpu {
        return Ok(Arc::clone(&PROCESSOR));
    }
    let mut all = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    // One that the program has reset since is opened again.
    if let Some(device) = all.get(&here).filter(|device| !device.was_reset()) {
        return Ok(Arc::clone(device));
    }
    // Where its profile knows from which size on the GPU converts faster.
    let converts_from =
        |gpu: &str| Ok::<_, Failure>(of_gpu(gpu)?.and_then(|profile| profile.device.converts_from_nnz));
    let device = Arc::new(OpenDevice::for_products(here, converts_from)?);
    all.insert(here, Arc::clone(&device));
    Ok(device)
}

/// The GPU with that number.
fn gpu(index: usize) -> Result<Cuda, Failure> {
    match &*opened(LocalDevice::Gpu(index))? {
        OpenDevice::Gpu(gpu) => Ok(Cuda::clone(gpu)),
        OpenDevice::Processor(_) | OpenDevice::Hip(_) => unreachable!("a GPU of NVIDIA is opened as such"),
    }
}

/// Time limit for waiting for other processes, now and in products. Chosen: that of the library for GPUs of one process.
const JOIN_LIMIT: Duration = Duration::from_secs(60);

/// GPUs that share a matrix.
pub(crate) struct LinkedGpus {
    /// Numbers of the GPUs.
    pub(crate) indexes: Vec<usize>,
    gpus: Vec<Cuda>,
}

impl LinkedGpus {
    /// Opens the GPUs with these numbers, which have to be alike, and checks that they can be linked.
    pub(crate) fn open(indexes: Vec<usize>) -> Result<Self, Failure> {
        let gpus: Vec<Cuda> = indexes.iter().map(|&index| gpu(index)).collect::<Result<_, _>>()?;
        let name = |at: usize| gpus[at].facts().name.as_str();
        if let Some(other) = (0..gpus.len()).find(|&at| name(at) != name(0)) {
            let (one, two) = (indexes[0], indexes[other]);
            let text = format!("cuda:{one} is {}, cuda:{two} is {}", name(0), name(other));
            return Err(Failure::new(Kind::NoGpu, text).hinted("GPUs that share a matrix have to be alike"));
        }
        Nccl::version()?;
        Ok(Self { indexes, gpus })
    }

    /// The GPUs as general devices.
    pub(crate) fn devices(&self) -> Vec<GpuDevice> {
        self.gpus.iter().map(|gpu| gpu.as_gpu().clone()).collect()
    }

    /// The end of the only one of them that is of this process, which is that rank: the others do the same with the same
    /// [`identity`].
    pub(crate) fn join(&self, identity: &[u8], rank: usize, ranks: usize) -> Result<Arc<dyn Link>, Failure> {
        let bytes = identity.try_into().map_err(|_| {
            let reason = format!("an identity of NCCL's has 128 bytes, this one {}", identity.len());
            Failure::from(DeviceError::Link { reason })
        })?;
        Ok(Nccl::join(&self.gpus[0], &Identity::from_bytes(bytes), rank, ranks, JOIN_LIMIT)?)
    }

    /// Links the GPUs; one end for each.
    pub(crate) fn link(&self) -> Result<Vec<Arc<dyn Link>>, Failure> {
        Ok(Nccl::link(&self.gpus)?)
    }

    /// Waits for everything that is queued there, in whatever stream.
    pub(crate) fn wait(&self) -> Result<(), Failure> {
        self.gpus.iter().try_for_each(Cuda::wait_for_all).map_err(Failure::from)
    }
}

/// Identity by which ranks find each other: drawn by one of them.
pub(crate) fn identity() -> Result<Vec<u8>, Failure> {
    Ok(Identity::new()?.bytes().to_vec())
}

/// Profiles that were read, by name: `nvidia-h200`, or for a calibration `cuda:` and what the driver calls the GPU. Their models take a while to be
/// unpacked, and are kept.
static READ: Mutex<BTreeMap<String, Arc<Profile>>> = Mutex::new(BTreeMap::new());

/// The profile kept under that name, read now if it was not. No other thread reads meanwhile, so that none is read twice.
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

/// Profile of that name: the user's, if there is one, as wherever profiles are looked for.
fn shipped(name: &str) -> Result<Arc<Profile>, Failure> {
    let found = kept(name.to_owned(), || Profile::find(name).map(Some))?;
    Ok(found.expect("a shipped profile is there, or an error"))
}

/// Profile for the GPU with that driver name: a shipped one, or a calibration that was made before.
fn of_gpu(name: &str) -> Result<Option<Arc<Profile>>, Failure> {
    // Kept under its own name, so that it is read once however it is asked for.
    if let Some(known) = Profile::shipped_name_for_gpu(name) {
        return shipped(known).map(Some);
    }
    Ok(kept(name_kept(name), || Profile::known_for_gpu(name, || Cuda::driver().ok()))?)
}

/// `profile`, which is of the GPU with that number, with what products cost there: measured once, on the GPU that products run on. Where
/// it cannot be opened, which a prediction does without, they cost what they do in the profile.
fn at_hand(index: usize, profile: &Arc<Profile>) -> Result<Arc<Profile>, Failure> {
    // Before profiles are locked: a GPU that is opened asks for its own.
    let launch = gpu(index).and_then(|gpu| Ok(gpu.launch_cost()?)).ok();
    let here = launch.map(|launch| Profile::clone(profile).on_machine(&launch));
    Ok(kept(format!("cuda:{index}{AT_HAND}"), || Ok(here))?.unwrap_or_else(|| Arc::clone(profile)))
}

/// End of the names under which these are kept.
const AT_HAND: &str = " at hand";

/// Calibration of this processor.
pub(crate) fn of_processor() -> Result<Option<Arc<Profile>>, Failure> {
    let processor = opened(LocalDevice::Cpu)?;
    let facts = processor.facts();
    let Some(path) = cpu_calibration_folder(facts) else { return Ok(None) };
    let read = || Dtype::ALL.into_iter().find_map(|dtype| Profile::of_calibrated_cpu(facts, dtype));
    Ok(kept(path.display().to_string(), || Ok(read()))?)
}

fn name_kept(gpu: &str) -> String {
    format!("cuda:{gpu}")
}

/// The profile that answers for `device`: a device of this machine, or the name, folder or data sheet of a profile. Without a
/// name, that of the first GPU here if it is known, else the default.
pub(crate) fn profile_for(device: Option<&str>) -> Result<Arc<Profile>, Failure> {
    let Some(device) = device else {
        let of_this_machine = Cuda::name(0).ok().map(|name| of_gpu(&name));
        return of_this_machine.transpose()?.flatten().map_or_else(|| shipped(Profile::DEFAULT), Ok);
    };
    match LocalDevice::named(device) {
        Some(LocalDevice::Gpu(index)) => {
            let name = Cuda::name(index)?;
            let known = of_gpu(&name)?.ok_or_else(|| {
                // What is uncalibrated the package calibrates, with a warning.
                let kind = if may_calibrate() { Kind::Uncalibrated } else { Kind::NoProfile };
                let seconds = CALIBRATION_BUDGET.0;
                Failure::new(kind, format!("{name} has no profile and was not calibrated yet")).hinted(format!(
                    "sparsight.calibrate({device:?}) does it, once, in about {seconds:.0} s"
                ))
            })?;
            at_hand(index, &known)
        }
        Some(LocalDevice::Cpu) => of_processor()?.ok_or_else(|| {
            Failure::new(Kind::NoProfile, "this processor has no profile and was not calibrated yet, or only while the machine was busy").hinted(
                "sparsight.calibrate(\"cpu\") does it, once, in some minutes; or plan without a device and prepare(\"cpu\"), which runs \
                 plain CSR until then",
            )
        }),
        Some(LocalDevice::Hip(_)) => Err(no_hip_profile(device)),
        None if Profile::shipped_names().any(|name| name == device) => shipped(device),
        None => Ok(Arc::new(Profile::find(device)?)),
    }
}

fn no_hip_profile(device: &str) -> Failure {
    Failure::new(Kind::NoProfile, format!("{device} has no profile, and the package does not calibrate GPUs of AMD"))
        .hinted(format!(
            "`sparsight calibrate --device {device} -o DIR` does it: plan with device=\"DIR\", or a profile such as \"nvidia-h200\", then \
             prepare({device:?})"
        ))
}

/// The first GPU here, if nothing is known of it: advice that names no device is then for another one.
#[pyfunction]
pub(crate) fn unknown_gpu(py: Python<'_>) -> PyResult<Option<String>> {
    // What cannot be read is an error of the advice that follows.
    let is_unknown = |name: &String| matches!(of_gpu(name), Ok(None));
    forked::work(py, || Cuda::name(0).ok().filter(is_unknown))
}

/// Number of the GPU in whose memory an address lies; None if every GPU may read it or the driver does not know it.
#[pyfunction]
pub(crate) fn gpu_of(address: u64) -> PyResult<Option<usize>> {
    forked::refuse()?;
    match Cuda::index_of_address(address) {
        Err(DeviceError::NoDriver | DeviceError::LoaderPath { .. }) => Ok(None),
        found => Ok(found.map_err(Failure::from)?),
    }
}

/// Calls Python before each step of a calibration. An exception of it ends the calibration.
struct Watch {
    /// Called with a number from 0 to 19 and the name of what is measured next.
    before: Py<PyAny>,
    /// Benchmark matrices, which come before the generated ones.
    points: usize,
    interrupted: Option<PyErr>,
}

impl Watch {
    fn saw(&mut self, event: Event<'_>) -> Result<(), Error> {
        /// A generated matrix takes about as long as eight benchmark matrices.
        const MATRIX: usize = 8;
        let seen = Python::attach(|py| {
            let (at, what) = match event {
                Event::Rates(_) => (0, "memory".to_owned()),
                Event::Benchmark { done, total, point, .. } => {
                    self.points = total;
                    let whole = total + MATRIX * CPU_CALIBRATION_MATRICES.lines().count();
                    (20 * done / whole, format!("{} {}", point.kernel, point.dtype))
                }
                Event::Matrix { at, total, name } => {
                    let (done, whole) = (self.points + MATRIX * at, self.points + MATRIX * total);
                    (20 * done / whole, name.to_owned())
                }
                Event::SetAside { why, aside } => {
                    let text = format!("{why}: set aside, with all that is in it, as {}", aside.display());
                    let text = CString::new(text.replace('\0', " "))?;
                    return PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 2);
                }
                _ => return py.check_signals(),
            };
            self.before.call1(py, (at, what)).and_then(|_| py.check_signals())
        });
        seen.map_err(|error| {
            self.interrupted = Some(error);
            DeviceError::Interrupted.into()
        })
    }
}

/// Measures what it takes to predict for a device of this machine, and keeps it where `profile_for` and the program find it. Returns the
/// name of the profile whose predictions answer (of a GPU another one's, of the processor `cpu`) and the signs of a busy machine while
/// the processor was measured. `before` is called with a number from 0 to 19 and the name of what is measured next. `unasked`: an existing
/// calibration answers as it is.
#[pyfunction]
#[pyo3(signature = (device, before, unasked = false))]
pub(crate) fn calibrate(
    py: Python<'_>,
    device: &str,
    before: Py<PyAny>,
    unasked: bool,
) -> PyResult<(String, Option<String>)> {
    let target = match LocalDevice::named(device) {
        Some(LocalDevice::Hip(_)) => return Err(no_hip_profile(device).into()),
        Some(here) => here,
        None => {
            let failure = Failure::new(Kind::NoGpu, format!("'{device}' is no device of this machine"));
            return Err(failure.hinted("give \"cuda:0\" to \"cuda:N\", or \"cpu\"").into());
        }
    };
    let mut watch = Watch { before, points: 0, interrupted: None };
    let made = forked::work(py, || {
        let mut watcher = |event: Event<'_>| watch.saw(event);
        calibrated_profile(target.into(), &Dtype::ALL, 0, !unasked, &mut watcher).map(keep_calibration)
    })?;
    match watch.interrupted {
        Some(error) => Err(error),
        None => Ok(made.map_err(Failure::from)?),
    }
}

/// Keeps a new calibration for this process, and returns whose predictions answer and the signs of a busy machine.
fn keep_calibration(made: Profile) -> (String, Option<String>) {
    let (key, answer) = if let Some(rescaled) = &made.rescaled {
        (name_kept(&made.device.facts.name), (rescaled.reference.name.clone(), None))
    } else {
        let folder = made.folder.as_ref().map(|folder| folder.display().to_string());
        (folder.unwrap_or_default(), ("cpu".to_owned(), made.device.provenance.noise.clone()))
    };
    let mut all = READ.lock().unwrap_or_else(PoisonError::into_inner);
    // What was made of an earlier one is made again.
    all.retain(|name, _| !name.ends_with(AT_HAND));
    all.insert(key, Arc::new(made));
    answer
}

/// Names of the profiles that are part of the package.
#[pyfunction]
pub(crate) fn profiles() -> Vec<&'static str> {
    Profile::shipped_names().collect()
}

/// Adds folders with Python packages in which NVRTC may lie.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // Python gives a list, which becomes one of ours.
pub(crate) fn search_libraries_in(folders: Vec<PathBuf>) -> PyResult<()> {
    forked::refuse()?;
    cuda::search_libraries_in(&folders);
    Ok(())
}
