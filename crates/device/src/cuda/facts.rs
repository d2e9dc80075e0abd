//! Facts of a device: attributes by the driver. Rates are measured: `gpu/rates.rs`.

use super::context::{Context, named};
use super::part;
use crate::DeviceError;
use cudarc::driver::{result, sys};
use sparsight_kernels::{DeviceFacts, DeviceKind};
use sparsight_matrix::{Bytes, Seconds};
use std::fs;

/// The driver's name for a device.
pub(super) fn name(device: sys::CUdevice) -> Result<String, DeviceError> {
    named("cuDeviceGetName", result::device::get_name(device))
}

/// The facts that the driver knows; what must be measured is 0. A part of a device has its own name and number of
/// multiprocessors; all else is that of the whole device.
pub(super) fn read(context: &Context) -> Result<DeviceFacts, DeviceError> {
    use sys::CUdevice_attribute as A;
    let device = context.device;
    let (name, multiprocessors) = match context.part.as_ref().map(|part| part.multiprocessors) {
        Some(some) => (part::name(device, some)?, some),
        None => (name(device)?, context.attribute(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?),
    };
    // SAFETY: the device comes from the driver.
    let memory = named("cuDeviceTotalMem", unsafe { result::device::total_mem(device) })?;
    let threads = context.attribute(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?;
    let warp = context.attribute(A::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?.max(1);
    Ok(DeviceFacts {
        name,
        kind: DeviceKind::Cuda,
        multiprocessors,
        warps_per_multiprocessor: threads / warp,
        threads_per_multiprocessor: threads,
        max_threads_per_block: Some(context.attribute(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?),
        l2_bytes: Bytes(u64::from(context.attribute(A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?)),
        memory_bytes: Bytes(memory as u64),
        compute_capability: Some((
            context.attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            context.attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        )),
        driver: driver_version()?,
        copy_bytes_per_s: 0.0,
        launch_s: Seconds(0.0),
        small_product_s: None,
        upload_bytes_per_s: None,
    })
}

/// `580.159.03, CUDA 13.0`; without the first part where the kernel module does not say.
pub(super) fn driver_version() -> Result<String, DeviceError> {
    let version = cuda_version()?;
    let cuda = format!("CUDA {}.{}", version / 1000, version % 1000 / 10);
    let text = fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    Ok(match module_version(&text) {
        Some(module) => format!("{module}, {cuda}"),
        None => cuda,
    })
}

/// Newest CUDA version that the driver supports, 13000 for 13.0.
pub(super) fn cuda_version() -> Result<u32, DeviceError> {
    let mut version = 0;
    // SAFETY: the pointer is to a live integer; the call needs no context.
    named("cuDriverGetVersion", unsafe { sys::cuDriverGetVersion(&raw mut version) }.result())?;
    Ok(version as u32)
}

/// The first word of the first line that is a version number.
fn module_version(text: &str) -> Option<&str> {
    text.lines().next()?.split_whitespace().find(|word| {
        word.contains('.')
            && word.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use super::module_version;

    #[test]
    fn the_version_is_found_in_both_forms_of_the_kernel_modules_line() {
        let closed =
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\nGCC";
        let open =
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (root)";
        assert_eq!(module_version(closed), Some("550.54.15"));
        assert_eq!(module_version(open), Some("580.95.05"));
        assert_eq!(module_version(""), None);
    }
}
