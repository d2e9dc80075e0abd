//! Interface of a GPU for [`GpuDevice`](super::GpuDevice), implemented for each maker.

use super::{DeviceArray, DeviceMatrix};
use crate::timing::{Caches, Clock};
use crate::{DeviceError, Stream};
use bytemuck::Pod;
use sparsight_kernels::{DeviceFacts, Kernel, KernelSource, Vendor};
use sparsight_matrix::Seconds;
use std::ffi::c_void;
use std::fmt::Debug;
use std::sync::Arc;

/// A GPU, driven through the interface of its maker.
pub trait Gpu: Debug + Send + Sync {
    /// Attributes, and rates as far as they were measured.
    fn facts(&self) -> &DeviceFacts;

    /// Memory of the GPU.
    fn memory(&self) -> Arc<dyn Memory>;

    /// Bytes that a matrix, x and y may take now.
    fn available_bytes(&self) -> u64;

    /// Most thread blocks of a launch.
    fn most_blocks(&self) -> u32;

    /// Compiles and loads, if it was not compiled before.
    ///
    /// # Errors
    /// [`DeviceError::Compile`], or a failed call.
    fn load(&self, source: &KernelSource) -> Result<Arc<dyn Module>, DeviceError>;

    /// Returns whether a launch may begin before the one in front of it has ended.
    fn overlaps_launches(&self) -> bool;

    /// Something that orders products in several streams.
    ///
    /// # Errors
    /// A failed call.
    fn fence(&self) -> Result<Box<dyn Fence>, DeviceError>;

    /// Returns whether what is queued in `stream` becomes part of a graph, which runs later.
    ///
    /// # Errors
    /// A failed call.
    fn is_captured(&self, _stream: Stream<'_>) -> Result<bool, DeviceError> {
        Ok(false)
    }

    /// Waits for everything queued in its own stream. Failures of kernels are reported here.
    ///
    /// # Errors
    /// A failed call.
    fn synchronize(&self) -> Result<(), DeviceError>;

    /// Seconds that the calls of `product` in a batch take on the device, in its own stream.
    ///
    /// # Errors
    /// The first error of `product`, or a failed call.
    fn time(
        &self,
        batch: BatchRequest<'_>,
        product: &mut dyn FnMut() -> Result<(), DeviceError>,
    ) -> Result<Seconds, DeviceError>;

    /// The current clock; `None` if it is unknown.
    fn clock(&self) -> Option<Clock> {
        None
    }

    /// Checks that the maker's library is here and has `kernel`.
    ///
    /// # Errors
    /// [`DeviceError::NoVendor`], [`DeviceError::CannotRun`].
    fn has_vendor(&self, kernel: Kernel) -> Result<(), DeviceError>;

    /// Describes `matrix` to that library and lets it look at it; the product has run once when this returns, with these
    /// vectors.
    ///
    /// # Errors
    /// As [`Gpu::has_vendor`]; [`DeviceError::Infeasible`] if there is no memory for its buffer.
    ///
    /// # Safety
    /// The arrays of `matrix` must outlive the product, and the vectors must be as long as it is wide and high.
    unsafe fn vendor(
        &self,
        routine: Vendor,
        matrix: &DeviceMatrix,
        vectors: &Vectors,
    ) -> Result<Box<dyn VendorProduct>, DeviceError>;
}

/// A batch of products that is timed.
#[derive(Debug, Clone, Copy)]
pub struct BatchRequest<'a> {
    /// Number of products, which are queued one behind the other without a wait.
    pub products: u32,
    /// Launches and copies that a product queues at most.
    pub entries: u32,
    /// State of the caches before each product.
    pub caches: Caches,
    /// Arrays that are read before, outside of the time, if they are not far larger than the caches: so that a warm batch finds
    /// its own data there, whatever ran before it.
    pub touched: &'a [Extent],
}

impl BatchRequest<'_> {
    /// Products of one launch or copy each, before which nothing is read.
    pub(crate) const fn alone(products: u32, caches: Caches) -> Self {
        Self { products, entries: 1, caches, touched: &[] }
    }
}

/// An array in the memory of a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Address.
    pub address: u64,
    /// Length.
    pub bytes: u64,
}

/// The memory of a GPU.
pub trait Memory: Debug + Send + Sync {
    /// Tells the memory of one device from that of another: two that were opened apart are two, also on one GPU, since nothing
    /// orders what their streams do.
    fn id(&self) -> usize;

    /// Room for so many bytes, at least 1, not initialised: its address.
    ///
    /// # Errors
    /// [`DeviceError::Infeasible`] if there is not that much memory.
    fn allocate(&self, bytes: u64) -> Result<u64, DeviceError>;

    /// Gives it back, after everything queued that may use it.
    ///
    /// # Safety
    /// `address` comes from [`Memory::allocate`] and is given back once.
    unsafe fn free(&self, address: u64);

    /// Copies `data` to `address` and waits for it.
    ///
    /// # Errors
    /// A failed call.
    ///
    /// # Safety
    /// `address` is that of as many bytes.
    unsafe fn write(&self, address: u64, data: &[u8]) -> Result<(), DeviceError>;

    /// Copies what is at `address` to `data`, after everything queued before it, and waits for it.
    ///
    /// # Errors
    /// A failed call.
    ///
    /// # Safety
    /// `address` is that of as many bytes.
    unsafe fn read(&self, address: u64, data: &mut [u8]) -> Result<(), DeviceError>;

    /// Sets bytes to 0 and waits for it.
    ///
    /// # Errors
    /// A failed call.
    ///
    /// # Safety
    /// `address` is that of as many bytes.
    unsafe fn zero(&self, address: u64, bytes: u64) -> Result<(), DeviceError>;
}

/// Machine code on a GPU: the kernels of one source.
pub trait Module: Debug + Send + Sync {
    /// Queues a launch of entry point number `kernel` in `stream`, else in the GPU's own, and does not wait.
    ///
    /// # Errors
    /// A failed call. Failures on the device are reported when it is waited for.
    ///
    /// # Safety
    /// The arguments are the kernel's parameters, and it stays within the arrays that they name.
    unsafe fn queue(
        &self,
        kernel: usize,
        shape: LaunchShape,
        args: &[u64],
        stream: Option<Stream<'_>>,
    ) -> Result<(), DeviceError>;
}

/// The shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchShape {
    /// Blocks in x, y and z.
    pub grid: (u32, u32, u32),
    /// Threads a block in x, y and z.
    pub block: (u32, u32, u32),
    /// Dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// Meaning of the words of its arguments.
    pub parameters: Parameters,
    /// Set if it begins before the launch in front of it has ended; the kernels must be written for it.
    pub overlaps: bool,
}

/// Most parameters of a kernel.
pub(crate) const MAX_ARGS: usize = 48;

impl LaunchShape {
    /// Where the parameters of a kernel lie among its arguments, as drivers ask for them: a pointer each.
    ///
    /// # Panics
    /// If there are more than [`MAX_ARGS`].
    pub(crate) fn parameters_of(&self, args: &[u64]) -> [*mut c_void; MAX_ARGS] {
        let mut pointers = [std::ptr::null_mut(); MAX_ARGS];
        let count = match self.parameters {
            Parameters::Each => args.len(),
            Parameters::OneStruct => 1,
        };
        assert!(count <= MAX_ARGS, "at most {MAX_ARGS} parameters");
        for (at, pointer) in pointers.iter_mut().enumerate().take(count) {
            // With all that follows: one struct reaches to the end.
            *pointer = args[at..].as_ptr().cast_mut().cast();
        }
        pointers
    }

    /// A launch of `grid` blocks of `block` threads in a row, each argument a parameter.
    pub const fn linear(grid: u32, block: u32) -> Self {
        let (grid, block) = ((grid, 1, 1), (block, 1, 1));
        Self { grid, block, shared_bytes: 0, parameters: Parameters::Each, overlaps: false }
    }
}

/// Meaning of the words of a launch for its kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameters {
    /// Each is a parameter.
    Each,
    /// All of them are one.
    OneStruct,
}

/// Operands of a product: the addresses of x and y, and the factors.
#[derive(Debug, Clone, Copy)]
pub struct Vectors {
    /// Address of x.
    pub x: u64,
    /// Address of y.
    pub y: u64,
    /// Factor of A x.
    pub alpha: f64,
    /// Factor of y.
    pub beta: f64,
}

impl Vectors {
    /// Operands of y = A x.
    pub(crate) fn product<T: Pod>(x: &DeviceArray<T>, y: &DeviceArray<T>) -> Self {
        Self { x: x.address(), y: y.address(), alpha: 1.0, beta: 0.0 }
    }
}

/// y = alpha A x + beta y by a routine of the maker's library.
pub trait VendorProduct: Debug + Send + Sync {
    /// Time of describing the matrix and of the library's analysis.
    fn preprocess(&self) -> Seconds;

    /// Launches and copies that a product queues at most.
    fn entries(&self) -> u32;

    /// Queues one product in `stream`, else in the GPU's own, and does not wait.
    ///
    /// # Errors
    /// A failed call.
    ///
    /// # Safety
    /// The vectors are on the GPU and as long as the matrix is wide and high.
    unsafe fn queue(&self, vectors: &Vectors, stream: Option<Stream<'_>>) -> Result<(), DeviceError>;
}

/// Lets products that must not run at the same time follow each other, in whichever streams they are queued.
pub trait Fence: Debug + Send {
    /// Makes the work queued in `stream` from now on begin when everything between the last [`Fence::enter`] and
    /// [`Fence::leave`] has ended. It costs nothing where both are the device's own stream.
    ///
    /// # Errors
    /// A failed call.
    fn enter(&mut self, stream: Option<Stream<'_>>) -> Result<(), DeviceError>;

    /// Everything up to here belongs to the product that entered.
    ///
    /// # Errors
    /// A failed call.
    fn leave(&mut self, stream: Option<Stream<'_>>) -> Result<(), DeviceError>;
}
