//! People's own CUDA kernels, timed exactly as ours are.

use super::compiler::compile_with;
use super::module::Module;
use super::{Cuda, CudaGpu};
use crate::gpu::{BatchRequest, DeviceArray, Gpu, LaunchShape, MAX_ARGS, Module as _, Parameters};
use crate::timing::{Batch, Caches};
use crate::{DeviceError, Stream};
use std::sync::Arc;

/// An argument of a kernel. A parameter `T*` takes an array of `T`.
#[derive(Debug, Clone, Copy)]
pub enum Argument<'a> {
    /// Device memory of any element type.
    Array(&'a dyn DeviceMemory),
    /// `unsigned int`, or `int` with its bits.
    U32(u32),
    /// `unsigned long long`.
    U64(u64),
    /// `float`.
    F32(f32),
    /// `double`.
    F64(f64),
}

/// Device memory without its element type.
pub trait DeviceMemory: std::fmt::Debug {
    /// Address on the device; 0 if it is empty.
    fn address(&self) -> u64;
}

impl<T: bytemuck::Pod + std::fmt::Debug> DeviceMemory for DeviceArray<T> {
    fn address(&self) -> u64 {
        DeviceArray::address(self)
    }
}

/// The shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Blocks in x, y and z.
    pub grid: (u32, u32, u32),
    /// Threads a block in x, y and z.
    pub block: (u32, u32, u32),
    /// Dynamic shared memory of a block.
    pub shared_bytes: u32,
}

/// A loaded kernel of the caller's own.
#[derive(Debug)]
pub struct CustomKernel {
    gpu: Arc<CudaGpu>,
    module: Arc<Module>,
}

impl Cuda {
    /// Compiles CUDA C++ and loads its kernel `entry_point`, which must be declared `extern "C"`. `options` go to
    /// NVRTC beside the architecture: `-DNAME=1`, `--std=c++20`, `-I/some/folder`. Nothing is cached.
    ///
    /// # Errors
    /// [`DeviceError::Compile`] with the compiler's log; a failed call if there is no such kernel.
    pub fn compile_and_load(
        &self,
        text: &str,
        entry_point: &str,
        options: &[String],
    ) -> Result<CustomKernel, DeviceError> {
        if entry_point.contains('\0') {
            let log = "the name of the kernel holds a NUL character".to_owned();
            return Err(DeviceError::Compile { kernel: entry_point.to_owned(), log });
        }
        let (major, minor) = self.gpu.compiler.arch;
        let arch = format!("--gpu-architecture=sm_{major}{minor}");
        let options: Vec<String> = std::iter::once(arch).chain(options.iter().cloned()).collect();
        let image = compile_with(text, &options, entry_point)?;
        let module = Arc::new(Module::load(&self.gpu.context, &image, &[entry_point])?);
        Ok(CustomKernel { gpu: Arc::clone(&self.gpu), module })
    }
}

impl CustomKernel {
    /// A batch function for [`crate::timing::measure`]: `n` products are `n` launches.
    ///
    /// # Safety
    /// The kernel must take exactly these arguments, must stay within the arrays, and must end.
    ///
    /// # Panics
    /// If there are more than 24 arguments.
    pub unsafe fn batch<'a>(
        &'a self,
        shape: Shape,
        args: &[Argument<'a>],
        caches: Caches,
    ) -> impl FnMut(u32) -> Result<Batch, DeviceError> + use<'a> {
        let (shape, words) = (shape.launch(), words(args));
        move |products| {
            // SAFETY: as the caller promises.
            let mut launch = || unsafe { self.module.queue(0, shape, &words, None) };
            let time = self.gpu.timer()?.time(BatchRequest::alone(products, caches), &mut launch)?;
            Ok(Batch { time, clock: Gpu::clock(self.gpu.as_ref()) })
        }
    }

    /// Queues one launch in `stream` and does not wait: what a solver's own steps between products are made of.
    ///
    /// # Errors
    /// A failed call. Failures on the device are reported when it is waited for.
    ///
    /// # Safety
    /// As [`CustomKernel::batch`]; and the arrays must outlive the launch, or be dropped here, which waits for it.
    ///
    /// # Panics
    /// If there are more than 24 arguments.
    pub unsafe fn queue(
        &self,
        shape: Shape,
        args: &[Argument<'_>],
        stream: Stream<'_>,
    ) -> Result<(), DeviceError> {
        // SAFETY: as the caller promises.
        unsafe { self.module.queue(0, shape.launch(), &words(args), Some(stream)) }
    }
}

/// The arguments as words. Narrow ones lie in the low bytes of theirs, where a little-endian machine looks for them.
fn words(args: &[Argument<'_>]) -> Vec<u64> {
    assert!(args.len() <= MAX_ARGS, "at most {MAX_ARGS} arguments");
    let word = |arg: &Argument<'_>| match *arg {
        Argument::Array(array) => array.address(),
        Argument::U32(value) => value.into(),
        Argument::U64(value) => value,
        Argument::F32(value) => value.to_bits().into(),
        Argument::F64(value) => value.to_bits(),
    };
    args.iter().map(word).collect()
}

impl Shape {
    fn launch(self) -> LaunchShape {
        let Self { grid, block, shared_bytes } = self;
        LaunchShape { grid, block, shared_bytes, parameters: Parameters::Each, overlaps: false }
    }
}
