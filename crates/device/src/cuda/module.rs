//! Machine code on the device: modules, and launches of their kernels.

use super::context::{Context, named};
use crate::gpu::LaunchShape;
use crate::{DeviceError, Stream};
use cudarc::driver::{result, sys};
use std::ffi::CString;
use std::sync::Arc;

/// A loaded image with its kernels, ready to be launched.
#[derive(Debug)]
pub(super) struct Module {
    context: Arc<Context>,
    raw: sys::CUmodule,
    functions: Vec<sys::CUfunction>,
}

// SAFETY: as for `Context`, whose handles may be used from any thread.
unsafe impl Send for Module {}
// SAFETY: nothing is changed through a shared reference.
unsafe impl Sync for Module {}

impl Module {
    /// Loads `image`, a CUBIN or PTX with a NUL at its end, and each of its `entry_points` completely: the driver
    /// would otherwise load a kernel at its first launch and wait for the stream, in which our spinning kernel
    /// waits for us.
    pub(super) fn load(
        context: &Arc<Context>,
        image: &[u8],
        entry_points: &[impl AsRef<str>],
    ) -> Result<Self, DeviceError> {
        let _entered = context.enter()?;
        // SAFETY: the image comes from NVRTC; the driver checks it and copies what it needs.
        let raw = named("cuModuleLoadData", unsafe { result::module::load_data(image.as_ptr().cast()) })?;
        let mut module = Self { context: Arc::clone(context), raw, functions: Vec::new() };
        for name in entry_points {
            let name = CString::new(name.as_ref()).expect("names of kernels hold no NUL");
            // SAFETY: the module is loaded.
            let function = unsafe { result::module::get_function(raw, name) };
            let function = named("cuModuleGetFunction", function)?;
            // SAFETY: the function belongs to the loaded module.
            named("cuFuncLoad", unsafe { sys::cuFuncLoad(function) }.result())?;
            module.functions.push(function);
        }
        Ok(module)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: loaded in `load`, unloaded only here; a launch keeps the module alive.
            let _ = unsafe { result::module::unload(self.raw) };
        }
    }
}

impl crate::gpu::Module for Module {
    unsafe fn queue(
        &self,
        kernel: usize,
        shape: LaunchShape,
        args: &[u64],
        stream: Option<Stream<'_>>,
    ) -> Result<(), DeviceError> {
        let _entered = self.context.enter()?;
        let mut pointers = shape.parameters_of(args);
        // SAFETY: the module is loaded; the kernel has as many parameters as there are arguments, none wider than 8
        // bytes, or one struct of all of them, which the driver copies before it returns. That the arguments fit what
        // the kernel does with them the caller promises.
        let launched = unsafe {
            let mut overlap = sys::CUlaunchAttribute {
                id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                pad: [0; 4],
                value: sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
            };
            let config = sys::CUlaunchConfig {
                gridDimX: shape.grid.0,
                gridDimY: shape.grid.1,
                gridDimZ: shape.grid.2,
                blockDimX: shape.block.0,
                blockDimY: shape.block.1,
                blockDimZ: shape.block.2,
                sharedMemBytes: shape.shared_bytes,
                hStream: stream.map_or(self.context.stream, |stream| stream.as_raw().cast()),
                attrs: &raw mut overlap,
                numAttrs: shape.overlaps.into(),
            };
            let function = self.functions[kernel];
            sys::cuLaunchKernelEx(&raw const config, function, pointers.as_mut_ptr(), std::ptr::null_mut())
        };
        named("cuLaunchKernelEx", launched.result())
    }
}
