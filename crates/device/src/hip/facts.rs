//! Facts of a device: attributes by the runtime. Rates are measured: `gpu/rates.rs`.

use super::api::Runtime;
use super::context::{Attribute, Context};
use crate::DeviceError;
use sparsight_kernels::{DeviceFacts, DeviceKind};
use sparsight_matrix::{Bytes, Seconds};
use std::ffi::{CStr, c_char, c_int};

/// The runtime's name for a device.
pub(super) fn name(api: &Runtime, index: usize) -> Result<String, DeviceError> {
    let mut name = [0 as c_char; 256];
    // SAFETY: as many characters as there is room for.
    let asked = unsafe { (api.hipDeviceGetName)(name.as_mut_ptr(), name.len() as c_int, index as c_int) };
    api.named("hipDeviceGetName", asked)?;
    name[name.len() - 1] = 0;
    // SAFETY: it ends with a NUL at the latest.
    Ok(unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned())
}

/// The facts that the runtime knows; what must be measured is 0.
pub(super) fn read(context: &Context) -> Result<DeviceFacts, DeviceError> {
    use Attribute as A;
    let mut memory = 0;
    // SAFETY: the pointer is to a live number.
    let asked = unsafe { (context.api.hipDeviceTotalMem)(&raw mut memory, context.index) };
    context.api.named("hipDeviceTotalMem", asked)?;
    let threads = context.attribute(A::ThreadsPerMultiprocessor)?;
    let wave = context.attribute(A::WaveSize)?.max(1);
    Ok(DeviceFacts {
        name: name(context.api, context.index as usize)?,
        kind: DeviceKind::Hip,
        multiprocessors: context.attribute(A::Multiprocessors)?,
        warps_per_multiprocessor: threads / wave,
        threads_per_multiprocessor: threads,
        max_threads_per_block: Some(context.attribute(A::ThreadsPerBlock)?),
        l2_bytes: Bytes(u64::from(context.attribute(A::L2Bytes)?)),
        memory_bytes: Bytes(memory as u64),
        compute_capability: Some((context.attribute(A::Major)?, context.attribute(A::Minor)?)),
        driver: context.api.described()?,
        copy_bytes_per_s: 0.0,
        launch_s: Seconds(0.0),
        small_product_s: None,
        upload_bytes_per_s: None,
    })
}
