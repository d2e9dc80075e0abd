//! Machine code on the device: modules, and launches of their kernels.

use super::context::Context;
use crate::gpu::{Driver as _, LaunchShape};
use crate::{DeviceError, Stream};
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::Arc;

/// A loaded image with its kernels, ready to be launched.
#[derive(Debug)]
pub(super) struct Module {
    context: Arc<Context>,
    raw: *mut c_void,
    functions: Vec<*mut c_void>,
}

// SAFETY: as for `Context`, whose handles may be used from any thread.
unsafe impl Send for Module {}
// SAFETY: nothing is changed through a shared reference.
unsafe impl Sync for Module {}

impl Module {
    /// Loads `image`, a code object, and looks its `entry_points` up.
    pub(super) fn load(
        context: &Arc<Context>,
        image: &[u8],
        entry_points: &[String],
    ) -> Result<Self, DeviceError> {
        let (_entered, api) = (context.enter()?, context.api);
        let mut raw = ptr::null_mut();
        // SAFETY: the image comes from HIPRTC; the runtime checks it and copies what it needs.
        let loaded = unsafe { (api.hipModuleLoadData)(&raw mut raw, image.as_ptr().cast()) };
        api.named("hipModuleLoadData", loaded)?;
        let mut module = Self { context: Arc::clone(context), raw, functions: Vec::new() };
        for name in entry_points {
            let name = CString::new(name.as_str()).expect("names of kernels hold no NUL");
            let mut function = ptr::null_mut();
            // SAFETY: the module is loaded, and the name ends with a NUL.
            let found = unsafe { (api.hipModuleGetFunction)(&raw mut function, raw, name.as_ptr()) };
            api.named("hipModuleGetFunction", found)?;
            module.functions.push(function);
        }
        Ok(module)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: loaded in `load`, unloaded only here; a launch keeps the module alive.
            let _ = unsafe { (self.context.api.hipModuleUnload)(self.raw) };
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
        let mut parameters = shape.parameters_of(args);
        let (grid, block) = (shape.grid, shape.block);
        // SAFETY: the module is loaded; the kernel has as many parameters as there are arguments, none wider than 8
        // bytes, or one struct of all of them, which the runtime copies before it returns. That the arguments fit what
        // the kernel does with them the caller promises.
        let launched = unsafe {
            (self.context.api.hipModuleLaunchKernel)(
                self.functions[kernel],
                grid.0,
                grid.1,
                grid.2,
                block.0,
                block.1,
                block.2,
                shape.shared_bytes,
                stream.map_or(self.context.stream, Stream::as_raw),
                parameters.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        self.context.api.named("hipModuleLaunchKernel", launched)
    }
}
