//! Runs candidates and measures them: the only crate that reads a clock or touches a GPU.
//!
//! A [`Device`] prepares a matrix as a [`LoadRequest`] says and gives a [`Product`], or brings it over in one format as an
//! [`Operand`], with which every candidate of that format is timed. [`timing::measure`] asks either for batches of products and
//! makes one believable [`timing::Timing`] of them. Two devices exist: the CPU ([`cpu`]) and GPUs ([`gpu`]), driven through CUDA
//! ([`cuda`]) or HIP ([`hip`]).
//!
//! ```text
//! load, partition      what is prepared: a matrix, and the candidate of each block of its rows
//! product              a prepared matrix: products, other values, other vectors, epilogues
//! epilogue             operands of products with an epilogue
//! resident, reordered  matrices and vectors that lie on the device already; vectors in their order beside a reordered matrix
//! check                y against the reference, before a time is trusted
//! lengths              vectors of a wrong length are refused
//! timing               batches, spread, when a time is enough
//! cpu                  the processor
//! gpu                  all GPUs: conversions, operands, products, several GPUs; what a maker's GPU must do: gpu/seam.rs
//! cuda                 NVIDIA's GPUs: driver, compiler, cuSPARSE, NCCL, clock, parts of a GPU
//! hip                  AMD's GPUs: driver, compiler, rocSPARSE
//! vendor               what the makers' sparse libraries have in common
//! library, trusted     where drivers and libraries are found, and which files may be loaded
//! kernel_cache         compiled kernels on disk
//! ```

pub mod cpu;
pub mod cuda;
pub mod gpu;
pub mod hip;
pub mod timing;

mod check;
mod epilogue;
mod error;
mod kernel_cache;
mod lengths;
mod library;
mod load;
mod partition;
mod product;
mod reordered;
mod resident;
mod stock;
mod trusted;
mod vendor;

pub use check::{check, random_x, random_x_for};
pub use epilogue::{DeviceOperands, DeviceScalar, HostOperands};
pub use error::{DeviceError, VendorName};
pub use load::{LoadRequest, OwnRequest};
pub use partition::{Partition, PartitionError};
pub use product::{DeviceVectors, EpilogueVectors, LoadedEpilogue, Product, check_product};
pub use resident::{DeviceCsr, DeviceIndices, DeviceSlice, DeviceSliceMut, Stream};

use sparsight_kernels::{BenchmarkMatrix, Candidate, DeviceFacts, Format, Kernel, Vendor};
use sparsight_matrix::{Csr, Dtype, Limits, Scalar, Seconds};

/// A device that multiplies. One implementation a kind of device; `T` is `f32` or `f64`.
pub trait Device<T: Scalar> {
    /// Attributes and measured rates.
    fn facts(&self) -> &DeviceFacts;

    /// Memory that a matrix, x and y may take now.
    fn limits(&self) -> Limits;

    /// Checks that the device runs `kernel`, whatever the matrix.
    ///
    /// # Errors
    /// [`DeviceError::CannotRun`] for a kernel that devices of its kind do not have; [`DeviceError::NoVendor`] for a
    /// routine whose library is not here.
    fn runs(&self, kernel: Kernel) -> Result<(), DeviceError> {
        let facts = self.facts();
        if kernel.runs_on(facts.kind) {
            return Ok(());
        }
        let of_maker = |routine: Vendor| format!("a routine of {}'s library for its GPUs", routine.maker());
        let what = kernel.vendor().map_or_else(|| "for GPUs".to_owned(), of_maker);
        let reason = format!("it is {what}, and this is {}", facts.name);
        Err(DeviceError::CannotRun { kernel: kernel.to_string(), reason })
    }

    /// Converts `a` to `format` and brings it to the device, with room for x and y, to be multiplied with any candidate of that format.
    ///
    /// `dtype`: that of `T`, or [`Dtype::Mixed`]: the values are rounded to `f32`, x and y stay what they are. Right is then what
    /// is right for the rounded matrix, [`Narrowing::rounded`](sparsight_matrix::Narrowing::rounded).
    ///
    /// # Errors
    /// [`DeviceError::Infeasible`] if it cannot be held, before anything is allocated; of mixed precision
    /// [`DeviceError::CannotRun`] where devices of its kind do not have it, and
    /// [`Infeasible::BeyondSingle`](sparsight_matrix::Infeasible::BeyondSingle) for values that `f32` cannot hold.
    fn operand(&self, a: &Csr<T>, format: Format, dtype: Dtype) -> Result<Box<dyn Operand<T>>, DeviceError>;

    /// Prepares a matrix to be multiplied with: converts what the request names, brings it to the device, and loads the kernels.
    ///
    /// # Errors
    /// * [`DeviceError::Partition`] if the partition is not one of the matrix, or does not run here
    /// * [`DeviceError::Infeasible`] if a part cannot be held
    /// * [`DeviceError::CannotRun`] for a kernel or a precision that devices of its kind do not have
    /// * [`DeviceError::Length`] if an order is not one of so many rows and columns
    /// * of a resident matrix: [`DeviceError::Matrix`] if it is no CSR; [`DeviceError::NoDeviceVectors`] if the device works in the
    ///   host's memory; [`DeviceError::OtherDevice`] if an array is known to lie on another device
    /// * of the user's own kernels: [`DeviceError::Compile`] with the compiler's log; [`DeviceError::OwnKernel`] for what they lack
    ///   for this matrix
    fn load(&self, request: LoadRequest<'_, T>) -> Result<Box<dyn Product<T>>, DeviceError>;

    /// Opens what batches ask for, such as the clock, so that the first of them does not wait for it.
    fn begin_timing(&self) {}

    /// Generates a benchmark matrix in `format` where the device works, with a random x.
    ///
    /// # Errors
    /// [`DeviceError::Infeasible`] if it cannot be held.
    fn generate(&self, matrix: &BenchmarkMatrix, format: Format) -> Result<Box<dyn Operand<T>>, DeviceError>;
}

/// Refuses a partition with a kernel that `device` does not run.
fn check_runs<T: Scalar>(device: &dyn Device<T>, partition: Option<&Partition>) -> Result<(), DeviceError> {
    let parts = partition.into_iter().flat_map(Partition::parts);
    parts.into_iter().try_for_each(|(_, candidate)| device.runs(candidate.kernel))
}

/// The refusal of candidates in mixed precision.
fn no_mixed_precision(facts: &DeviceFacts) -> DeviceError {
    let reason = format!("it is for GPUs, and this is {}", facts.name);
    DeviceError::CannotRun { kernel: "a matrix in f32 beside vectors in f64".to_owned(), reason }
}

/// A matrix on a device, with its x and y. It keeps what it needs of the device.
pub trait Operand<T: Scalar> {
    /// Seconds spent converting from CSR, and bringing the result to the device.
    fn preparation(&self) -> Preparation;

    /// Seconds that the vendor's library spent looking at the matrix before the first product with `kernel`: `None` for
    /// kernels of ours, and before that product.
    fn preprocess(&self, _: Kernel) -> Option<Seconds> {
        None
    }

    /// Replaces x; it must have `ncols` entries.
    ///
    /// # Errors
    /// [`DeviceError`] of the transfer.
    fn set_x(&mut self, x: &[T]) -> Result<(), DeviceError>;

    /// Fills y with NaN, so that an entry that a kernel does not write is seen.
    ///
    /// # Errors
    /// [`DeviceError`] of the transfer.
    fn poison_y(&mut self) -> Result<(), DeviceError>;

    /// A copy of y.
    ///
    /// # Errors
    /// [`DeviceError`] of the transfer.
    fn read_y(&mut self) -> Result<Vec<T>, DeviceError>;

    /// Shows y to `look`, without a new copy each time where the device can avoid it.
    ///
    /// # Errors
    /// [`DeviceError`] of the transfer.
    fn look_at_y(&mut self, look: &mut dyn FnMut(&[T])) -> Result<(), DeviceError> {
        look(&self.read_y()?);
        Ok(())
    }

    /// Runs `products` products y = A x back to back with `candidate` and gives the time of all of them
    /// together, measured on the device. The first call for a candidate compiles, loads and prepares what it needs,
    /// outside the measured time. `products = 0` only does that.
    ///
    /// # Errors
    /// [`DeviceError`] if it cannot be compiled, launched or timed.
    ///
    /// # Panics
    /// If the candidate's format or value type is not the operand's.
    fn batch(
        &mut self,
        candidate: &Candidate,
        products: u32,
        caches: timing::Caches,
    ) -> Result<timing::Batch, DeviceError>;
}

/// Time that it took to prepare a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Preparation {
    /// CSR to the operand's format.
    pub convert: Seconds,
    /// Host to device; 0 on a CPU.
    pub upload: Seconds,
    /// Set if the CSR was uploaded and converted there; otherwise it was converted first.
    pub on_device: bool,
}

impl Preparation {
    /// Conversion and upload together.
    pub fn total(self) -> Seconds {
        Seconds(self.convert.0 + self.upload.0)
    }
}
