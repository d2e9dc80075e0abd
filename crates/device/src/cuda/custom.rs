//! People's own CUDA kernels, timed exactly as ours are.

use super::Cuda;
use super::compiler::compile_with;
use super::memory::DeviceArray;
use super::module::{Launch, Module};
use super::stream::Stream;
use crate::DeviceError;
use crate::timing::Caches;
use sparsight_matrix::Seconds;
use std::sync::Arc;

/// Types of which a custom kernel may be given arrays.
pub trait Element: Copy + std::fmt::Debug + 'static + sealed::Sealed {}
impl Element for u32 {}
impl Element for u64 {}
impl Element for i32 {}
impl Element for f32 {}
impl Element for f64 {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
    impl Sealed for i32 {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

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
    /// Where it lies on the device; 0 if it is empty.
    fn address(&self) -> u64;
}

impl<T: Element> DeviceMemory for DeviceArray<T> {
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

/// A loaded kernel of somebody else's.
#[derive(Debug)]
pub struct CustomKernel<'d> {
    cuda: &'d Cuda,
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
    ) -> Result<CustomKernel<'_>, DeviceError> {
        if entry_point.contains('\0') {
            let log = "the name of the kernel holds a NUL character".to_owned();
            return Err(DeviceError::Compile { kernel: entry_point.to_owned(), log });
        }
        let (major, minor) = self.compiler.arch;
        let arch = format!("--gpu-architecture=sm_{major}{minor}");
        let options: Vec<String> = std::iter::once(arch).chain(options.iter().cloned()).collect();
        let image = compile_with(text, &options, entry_point)?;
        let module = Arc::new(Module::load(&self.context, &image, &[entry_point])?);
        Ok(CustomKernel { cuda: self, module })
    }

    /// A copy of `data` on the device, for the arguments of a custom kernel.
    ///
    /// # Errors
    /// [`DeviceError::Infeasible`] if there is not that much memory.
    pub fn upload<T: Element>(&self, data: &[T]) -> Result<DeviceArray<T>, DeviceError> {
        DeviceArray::of(&self.context, data)
    }
}

impl CustomKernel<'_> {
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
    ) -> impl FnMut(u32) -> Result<Seconds, DeviceError> + use<'a> {
        let launch = self.launch(shape, args);
        let cuda = self.cuda;
        move |products| cuda.timer.time(products, 1, caches, &mut || launch.queue())
    }

    /// Queues one launch in `stream` and does not wait: what a solver's own steps between products are made of.
    ///
    /// # Errors
    /// A failed call. What fails on the device is reported by whoever waits for it.
    ///
    /// # Safety
    /// As [`CustomKernel::batch`]; and the arrays must outlive the launch, or be dropped here, which waits for it.
    ///
    /// # Panics
    /// If there are more than 16 arguments.
    pub unsafe fn queue(
        &self,
        shape: Shape,
        args: &[Argument<'_>],
        stream: Stream<'_>,
    ) -> Result<(), DeviceError> {
        self.cuda.context.bind()?;
        self.launch(shape, args).queue_in(stream.raw())
    }

    fn launch(&self, shape: Shape, args: &[Argument<'_>]) -> Launch {
        // Narrow arguments lie in the low bytes of their slot, where a little-endian machine looks for them.
        let args: Vec<u64> = args
            .iter()
            .map(|arg| match *arg {
                Argument::Array(array) => array.address(),
                Argument::U32(value) => value.into(),
                Argument::U64(value) => value,
                Argument::F32(value) => value.to_bits().into(),
                Argument::F64(value) => value.to_bits(),
            })
            .collect();
        Launch::new(Arc::clone(&self.module), 0, shape.grid, shape.block, shape.shared_bytes, &args)
    }
}
