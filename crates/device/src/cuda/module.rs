//! Machine code on the device: modules, their kernels, and launches of them.

use super::context::{Context, named};
use crate::DeviceError;
use cudarc::driver::{result, sys};
use std::ffi::{CString, c_void};
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
        entry_points: &[&str],
    ) -> Result<Self, DeviceError> {
        context.bind()?;
        // SAFETY: the image comes from NVRTC; the driver checks it and copies what it needs.
        let raw = named("cuModuleLoadData", unsafe { result::module::load_data(image.as_ptr().cast()) })?;
        let mut module = Self { context: Arc::clone(context), raw, functions: Vec::new() };
        for name in entry_points {
            let name = CString::new(*name).expect("names of kernels hold no NUL");
            // SAFETY: the module is loaded.
            let function = unsafe { result::module::get_function(raw, name) };
            let function = named("cuModuleGetFunction", function)?;
            // SAFETY: the function belongs to the loaded module.
            named("cuFuncLoad", unsafe { sys::cuFuncLoad(function) }.result())?;
            module.functions.push(function);
        }
        Ok(module)
    }

    /// A launch of entry point number `kernel`, counted from 0.
    pub(super) fn launch(self: &Arc<Self>, kernel: usize, grid: u32, block: u32, args: &[u64]) -> Launch {
        Launch::new(Arc::clone(self), kernel, (grid, 1, 1), (block, 1, 1), 0, args)
    }

    /// A launch of the module's first kernel, whose only parameter is a struct of all the words.
    pub(super) fn launch_with_struct(self: &Arc<Self>, grid: u32, block: u32, words: &[u64]) -> Launch {
        let (module, args) = (Arc::clone(self), words.to_vec());
        let parameters = Parameters::OneStruct;
        Launch {
            module,
            kernel: 0,
            grid: (grid, 1, 1),
            block: (block, 1, 1),
            shared_bytes: 0,
            parameters,
            args,
            overlaps: false,
        }
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: loaded in `load`, unloaded only here; launches keep the module alive.
            let _ = unsafe { result::module::unload(self.raw) };
        }
    }
}

/// Most parameters of a kernel.
const MAX_ARGS: usize = 24;

/// A kernel with everything it is launched with, so that launching it again and again costs the host little.
#[derive(Debug, Clone)]
pub(super) struct Launch {
    module: Arc<Module>,
    kernel: usize,
    grid: (u32, u32, u32),
    block: (u32, u32, u32),
    shared_bytes: u32,
    parameters: Parameters,
    args: Vec<u64>,
    overlaps: bool,
}

/// What the words of a launch are to its kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parameters {
    /// Each is a parameter.
    Each,
    /// All of them are one.
    OneStruct,
}

impl Launch {
    /// # Panics
    /// If there are more than 24 arguments or no such kernel.
    pub(super) fn new(
        module: Arc<Module>,
        kernel: usize,
        grid: (u32, u32, u32),
        block: (u32, u32, u32),
        shared_bytes: u32,
        args: &[u64],
    ) -> Self {
        assert!(args.len() <= MAX_ARGS, "at most {MAX_ARGS} parameters");
        assert!(kernel < module.functions.len(), "the module has that kernel");
        let parameters = Parameters::Each;
        let args = args.to_vec();
        Self { module, kernel, grid, block, shared_bytes, parameters, args, overlaps: false }
    }

    /// Begins before the launch in front of it has ended. The kernels must be written for it (`cuda/overlap.cu`), and
    /// the device must have programmatic dependent launch: compute capability 9.0.
    pub(super) fn overlap(&mut self) {
        self.overlaps = true;
    }

    /// Replaces the words from `place` on.
    pub(super) fn set(&mut self, place: usize, words: &[u64]) {
        self.args[place..place + words.len()].copy_from_slice(words);
    }

    /// Queues it in the context's stream and does not wait.
    pub(super) fn queue(&self) -> Result<(), DeviceError> {
        self.queue_in(self.module.context.stream())
    }

    /// Queues it in `stream`, which must be one of the module's context, and does not wait.
    pub(super) fn queue_in(&self, stream: sys::CUstream) -> Result<(), DeviceError> {
        let mut pointers = [std::ptr::null_mut::<c_void>(); MAX_ARGS];
        let parameters = match self.parameters {
            Parameters::Each => self.args.len(),
            Parameters::OneStruct => 1,
        };
        for (pointer, arg) in pointers.iter_mut().zip(&self.args).take(parameters) {
            *pointer = std::ptr::from_ref(arg).cast_mut().cast();
        }
        // SAFETY: the module is loaded; the kernel has as many parameters as there are arguments, none wider than 8
        // bytes, or one struct of all of them, which the driver copies before it returns. That the arguments fit what
        // the kernel does with them is the business of whoever made the launch: our kernels stay within the arrays they
        // are given.
        let launched = unsafe {
            let mut overlap = sys::CUlaunchAttribute {
                id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                pad: [0; 4],
                value: sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
            };
            let config = sys::CUlaunchConfig {
                gridDimX: self.grid.0,
                gridDimY: self.grid.1,
                gridDimZ: self.grid.2,
                blockDimX: self.block.0,
                blockDimY: self.block.1,
                blockDimZ: self.block.2,
                sharedMemBytes: self.shared_bytes,
                hStream: stream,
                attrs: &raw mut overlap,
                numAttrs: self.overlaps.into(),
            };
            let function = self.module.functions[self.kernel];
            sys::cuLaunchKernelEx(&raw const config, function, pointers.as_mut_ptr(), std::ptr::null_mut())
        };
        named("cuLaunchKernelEx", launched.result())
    }
}
