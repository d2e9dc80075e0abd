//! Parts of a device: some of its multiprocessors, in a green context of the driver.
//!
//! ```text
//! all multiprocessors -> a group of n -> green context -> its stream: what is launched there runs on these n alone
//! ```
//! Memory, modules and events are those of the device's primary context, which stays the current one: a green context
//! may be current to one thread at a time only, a stream may be used from any. L2, memory and clocks are those of the
//! whole device, and nothing on the card is changed: other programs, and other contexts of this one, have all of it.
//!
//! The driver deals multiprocessors out in groups whose size depends on the chip, so not every number can be had. It is
//! asked, not assumed. (CUDA driver API, "Green Contexts".)

use super::context::named;
use super::facts;
use crate::DeviceError;
use cudarc::driver::sys;
use std::fmt;

/// A green context on some of a device's multiprocessors.
///
/// # Invariants
/// `green` was created and is not destroyed. It retains the device's primary context by itself.
#[derive(Debug)]
pub(super) struct Part {
    green: sys::CUgreenCtx,
    pub(super) multiprocessors: u32,
}

/// Numbers of multiprocessors that a part of a device can have, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartSizes(Vec<u32>);

impl Part {
    /// `multiprocessors` of device `device`, number `index`. The device's primary context should be retained.
    ///
    /// # Errors
    /// [`DeviceError::NoSuchPart`] if the driver does not deal out that many.
    pub(super) fn create(
        device: sys::CUdevice,
        index: usize,
        multiprocessors: u32,
    ) -> Result<Self, DeviceError> {
        let whole = all(device)?;
        let group = group_of(&whole, multiprocessors)?.filter(|group| count(group) == multiprocessors);
        let Some(mut group) = group else {
            let (asked, possible) = (multiprocessors, sizes(device)?.to_string());
            return Err(DeviceError::NoSuchPart { index, asked, possible });
        };
        let mut description = std::ptr::null_mut();
        // SAFETY: one resource as the driver gave it, and room for one handle.
        let described =
            unsafe { sys::cuDevResourceGenerateDesc(&raw mut description, &raw mut group, 1) }.result();
        named("cuDevResourceGenerateDesc", described)?;
        let flags = sys::CUgreenCtxCreate_flags::CU_GREEN_CTX_DEFAULT_STREAM as u32;
        let mut green = std::ptr::null_mut();
        // SAFETY: the description was made above; the flag is the one that the driver requires.
        let created = unsafe { sys::cuGreenCtxCreate(&raw mut green, description, device, flags) }.result();
        named("cuGreenCtxCreate", created)?;
        let mut part = Self { green, multiprocessors };
        let mut got = nothing();
        // SAFETY: the green context is alive; there is room for one resource.
        let read = unsafe { sys::cuGreenCtxGetDevResource(part.green, &raw mut got, SM) }.result();
        named("cuGreenCtxGetDevResource", read)?;
        part.multiprocessors = count(&got);
        Ok(part)
    }

    /// A stream on them. It is destroyed like any other, before the part is.
    pub(super) fn stream(&self) -> Result<sys::CUstream, DeviceError> {
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        let mut stream = std::ptr::null_mut();
        // SAFETY: the green context is alive; the flag is the one that the driver requires.
        let created = unsafe { sys::cuGreenCtxStreamCreate(&raw mut stream, self.green, flags, 0) }.result();
        named("cuGreenCtxStreamCreate", created)?;
        Ok(stream)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // SAFETY: created in `create`, destroyed only here, after its stream.
        let _ = unsafe { sys::cuGreenCtxDestroy(self.green) };
    }
}

const SM: sys::CUdevResourceType = sys::CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM;

/// Possible sizes of parts of `device`. A few calls that stay on the host.
pub(super) fn sizes(device: sys::CUdevice) -> Result<PartSizes, DeviceError> {
    let whole = all(device)?;
    let mut sizes = Vec::new();
    let mut least = 1;
    while least <= count(&whole)
        && let Some(group) = group_of(&whole, least)?
    {
        // A group has at least as many as were asked for.
        let size = count(&group).max(least);
        sizes.push(size);
        least = size + 1;
    }
    Ok(PartSizes(sizes))
}

/// `NVIDIA H200, 40 of 132 multiprocessors`.
pub(super) fn name(device: sys::CUdevice, multiprocessors: u32) -> Result<String, DeviceError> {
    let (whole, of) = (facts::name(device)?, count(&all(device)?));
    Ok(format!("{whole}, {multiprocessors} of {of} multiprocessors"))
}

/// All multiprocessors of a device.
fn all(device: sys::CUdevice) -> Result<sys::CUdevResource, DeviceError> {
    let mut whole = nothing();
    // SAFETY: the device comes from the driver; there is room for one resource.
    let read = unsafe { sys::cuDeviceGetDevResource(device, &raw mut whole, SM) }.result();
    named("cuDeviceGetDevResource", read)?;
    Ok(whole)
}

/// The smallest group with at least `least` of them; `None` if the driver deals out none that large.
fn group_of(whole: &sys::CUdevResource, least: u32) -> Result<Option<sys::CUdevResource>, DeviceError> {
    use sys::CUresult::{CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, CUDA_ERROR_INVALID_VALUE};
    let mut group = nothing();
    let mut groups = 1;
    // SAFETY: room for the one group that is asked for; what remains is not wanted.
    let split = unsafe {
        sys::cuDevSmResourceSplitByCount(
            &raw mut group,
            &raw mut groups,
            std::ptr::from_ref(whole),
            std::ptr::null_mut(),
            0,
            least,
        )
    };
    if matches!(split, CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION | CUDA_ERROR_INVALID_VALUE) {
        return Ok(None);
    }
    named("cuDevSmResourceSplitByCount", split.result())?;
    Ok((groups == 1).then_some(group))
}

/// A resource for the driver to fill in.
fn nothing() -> sys::CUdevResource {
    // SAFETY: plain numbers and bytes, for which zeros are valid; the type 0 is "invalid".
    unsafe { std::mem::zeroed() }
}

fn count(resource: &sys::CUdevResource) -> u32 {
    // SAFETY: every resource here was filled in by the driver as one of multiprocessors, or is all zeros.
    unsafe { resource.__bindgen_anon_1.sm.smCount }
}

impl PartSizes {
    /// Ascending.
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }
}

/// `8 to 128 in steps of 8`; `8, 16 or 20` where steps differ or are few; `none`.
impl fmt::Display for PartSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [] => f.write_str("none"),
            [only] => write!(f, "{only}"),
            [first, second, .., last]
                if self.0.len() > 3 && self.0.windows(2).all(|w| w[1] - w[0] == second - first) =>
            {
                write!(f, "{first} to {last} in steps of {}", second - first)
            }
            [most @ .., last] => {
                let most: Vec<String> = most.iter().map(ToString::to_string).collect();
                write!(f, "{} or {last}", most.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PartSizes;

    #[test]
    fn sizes_are_told_in_as_few_words_as_say_them_all() {
        let said = |sizes: &[u32]| PartSizes(sizes.to_vec()).to_string();
        assert_eq!(said(&[]), "none");
        assert_eq!(said(&[8]), "8");
        assert_eq!(said(&[2, 4, 6]), "2, 4 or 6");
        assert_eq!(said(&[8, 16, 24, 32]), "8 to 32 in steps of 8");
        assert_eq!(said(&[8, 16, 24, 30]), "8, 16, 24 or 30");
    }
}
