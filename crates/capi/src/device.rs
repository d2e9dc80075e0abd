//! The devices of this machine, each open once as long as it is in use. The only place that knows CUDA by name.

use crate::arguments::{Out, free, text};
use crate::error::guarded;
use crate::failure::Failure;
use crate::threads;
use sparsight::bindings::{self, LocalDevice};
use sparsight::calibrate::OpenDevice;
use sparsight::device::DeviceError;
use sparsight::device::cuda::Cuda;
use sparsight::kernels::LaunchCost;
use sparsight::{Error, Profile};
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A processor or a GPU of this machine on which products are computed.
pub struct DeviceHandle(pub(crate) Arc<OpenDevice>);

/// Name of a GPU in the driver.
pub(crate) fn gpu_name(index: usize) -> Result<String, DeviceError> {
    Cuda::name(index)
}

/// The shipped profile, or the calibration made before, of the GPU with that name.
pub(crate) fn known_profile(gpu: &str) -> Result<Option<Profile>, Error> {
    Profile::known_for_gpu(gpu, || Cuda::driver().ok())
}

/// Devices in use. What is loaded on a GPU, its compiled kernels too, is shared by all handles.
static OPEN: Mutex<BTreeMap<LocalDevice, Weak<OpenDevice>>> = Mutex::new(BTreeMap::new());

fn opened(here: LocalDevice) -> Result<Arc<OpenDevice>, Failure> {
    let mut all = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    // A GPU that the program has reset since is opened again.
    let is_usable = |device: &Arc<OpenDevice>| !device.was_reset();
    if let Some(device) = all.get(&here).and_then(Weak::upgrade).filter(is_usable) {
        return Ok(device);
    }
    // A GPU converts where its profile, if known, found it faster.
    let converts_from =
        |gpu: &str| Ok::<_, Failure>(known_profile(gpu)?.and_then(|known| known.device.converts_from_nnz));
    let device = Arc::new(OpenDevice::for_products(here, converts_from)?);
    all.insert(here, Arc::downgrade(&device));
    Ok(device)
}

/// What every product costs on the GPU with that number. It is opened for that, unless it is in use.
pub(crate) fn launch_cost(index: usize) -> Result<LaunchCost, Failure> {
    threads::begin()?;
    match &*opened(LocalDevice::Gpu(index))? {
        OpenDevice::Gpu(gpu) => Ok(gpu.launch_cost()?),
        OpenDevice::Processor(_) | OpenDevice::Hip(_) => unreachable!("a GPU of NVIDIA is opened as such"),
    }
}

/// Opens a device: "cpu", "cuda" (the first GPU), "cuda:N" (counted from 0), or "hip" and "hip:N" for GPUs of AMD, on which nothing has run
/// yet (docs/hip.md). A GPU of NVIDIA is used through its primary context, which is
/// the one of the CUDA runtime and of the libraries on top of it; which context and device are current in the calling thread does
/// not matter and stays as it is. Opening a GPU for the first time on a machine compiles kernels, which takes some seconds.
///
/// `SS_BAD_ARGUMENT` for another name; `SS_NO_GPU` if that GPU, the driver or NVRTC is not there.
///
/// # Safety
/// `name` is NULL or ends with a NUL. `device` is a place for a handle, to be freed by `ss_device_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ss_device_open(name: *const c_char, device: *mut *mut DeviceHandle) -> c_int {
    guarded(|| {
        // SAFETY: as the caller promises.
        let (device, name) = unsafe { (Out::of_handle("device", device)?, text("name", name)?) };
        let name = name.ok_or_else(|| Failure::null("name"))?;
        let here = LocalDevice::named(name).ok_or_else(|| {
            Failure::bad_argument(format!("'{name}' is no device of this machine"))
                .hinted("devices are \"cpu\", \"cuda\", \"cuda:N\", \"hip\" and \"hip:N\"")
        })?;
        threads::begin()?;
        device.give(DeviceHandle(opened(here)?));
        Ok(())
    })
}

/// Frees a device. Matrices that were prepared on it keep what they need of it. In a forked process it does nothing.
///
/// # Safety
/// `device` is NULL or a handle that is no longer in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ss_device_free(device: *mut DeviceHandle) {
    // What it has of its parent cannot be given back there.
    if !bindings::is_child() {
        // SAFETY: as the caller promises.
        unsafe { free(device) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_open_is_shared_and_ends_with_the_last_who_has_it() {
        let first = opened(LocalDevice::Cpu).unwrap();
        let second = opened(LocalDevice::Cpu).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        let left = Arc::downgrade(&first);
        drop(first);
        assert!(left.upgrade().is_some());
        drop(second);
        assert!(left.upgrade().is_none());
    }
}
