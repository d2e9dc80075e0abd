//! Where an address lies, as the driver knows it.

use super::context::named;
use crate::DeviceError;
use cudarc::driver::sys::{self, CUmemorytype, CUpointer_attribute as A};
use std::ffi::{c_int, c_uint, c_void};

/// The number of the device that has the memory at `address` to itself. The driver has been initialised.
pub(super) fn device_of(address: u64) -> Result<Option<usize>, DeviceError> {
    // Of arrays without entries; no address that anybody may ask about.
    if address == 0 {
        return Ok(None);
    }
    let mut asked = [
        A::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        A::CU_POINTER_ATTRIBUTE_IS_MANAGED,
        A::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
    ];
    // What the driver answers of an address that it does not know.
    let (mut memory, mut is_managed, mut ordinal): (c_uint, c_uint, c_int) = (0, 0, -2);
    let mut answers: [*mut c_void; 3] =
        [(&raw mut memory).cast(), (&raw mut is_managed).cast(), (&raw mut ordinal).cast()];
    // SAFETY: there are three of both, and each answer is written to a live number of its size. Any address may be asked about.
    let status = unsafe { sys::cuPointerGetAttributes(3, asked.as_mut_ptr(), answers.as_mut_ptr(), address) };
    named("cuPointerGetAttributes", status.result())?;
    let is_of_one = memory == CUmemorytype::CU_MEMORYTYPE_DEVICE as c_uint && is_managed == 0;
    Ok(usize::try_from(ordinal).ok().filter(|_| is_of_one))
}
