//! A matrix on a GPU in its format, with x and y.

use super::device::Shared;
use super::{BatchRequest, DeviceArray, DeviceMatrix, Extent, LaunchShape, Module, Vectors, VendorProduct};
use crate::timing::{Batch, Caches};
use crate::{DeviceError, Operand, PartitionError, Preparation};
use sparsight_kernels::{Candidate, Kernel};
use sparsight_matrix::{Scalar, Seconds};
use std::collections::BTreeMap;
use std::sync::Arc;

/// [`Operand`] of [`GpuDevice`](super::GpuDevice).
#[derive(Debug)]
pub(super) struct GpuOperand<T: Scalar> {
    gpu: Arc<Shared>,
    /// Products of the maker's library, prepared when first asked for. They point to the arrays below.
    vendors: BTreeMap<Kernel, Box<dyn VendorProduct>>,
    matrix: DeviceMatrix,
    x: DeviceArray<T>,
    y: DeviceArray<T>,
    /// Copy of y on the host, kept to be written over.
    host_y: Vec<T>,
    preparation: Preparation,
}

/// A launch with everything that it takes.
struct Ready {
    module: Arc<dyn Module>,
    kernel: usize,
    shape: LaunchShape,
    args: Vec<u64>,
}

impl<T: Scalar> GpuOperand<T> {
    /// An operand with room for x and y: x is random and follows from `seed`; y is poisoned.
    pub(super) fn new(
        gpu: &Arc<Shared>,
        matrix: DeviceMatrix,
        preparation: Preparation,
        seed: u64,
    ) -> Result<Self, DeviceError> {
        let size = |name| matrix.number(name).expect("every matrix has rows and columns") as usize;
        let (x, y) = gpu.vectors((size("nrows"), size("ncols")), seed)?;
        let (gpu, vendors, host_y) = (Arc::clone(gpu), BTreeMap::new(), Vec::new());
        Ok(Self { gpu, vendors, matrix, x, y, host_y, preparation })
    }

    fn vectors(&self) -> Vectors {
        Vectors { x: self.x.address(), y: self.y.address(), alpha: 1.0, beta: 0.0 }
    }

    /// Prepares a product of the maker's library, unless that was done.
    fn prepare(&mut self, kernel: Kernel) -> Result<(), DeviceError> {
        let Some(routine) = kernel.vendor().filter(|_| !self.vendors.contains_key(&kernel)) else {
            return Ok(());
        };
        assert_eq!(
            kernel.format(),
            self.matrix.format(),
            "{kernel} does not read the format of this operand"
        );
        self.gpu.gpu().has_vendor(kernel)?;
        // SAFETY: the product is kept beside the arrays and dropped before them; the vectors are the operand's own.
        let product = unsafe { self.gpu.gpu().vendor(routine, &self.matrix, &self.vectors())? };
        // A check shall see whether the next product writes y, and not that this one did.
        self.gpu.poison(&self.y)?;
        self.vendors.insert(kernel, product);
        Ok(())
    }

    /// The launches of one y = A x with a kernel of ours.
    fn launches(&self, candidate: &Candidate) -> Result<Vec<Ready>, DeviceError> {
        let v = self.vectors();
        let module = self.gpu.candidate(candidate, self.matrix.offset_bytes())?;
        let overlaps = self.gpu.gpu().overlaps_launches();
        let ready = |launch: sparsight_kernels::PlannedLaunch| {
            let mut shape = LaunchShape::linear(launch.grid, candidate.block);
            shape.overlaps = launch.may_overlap && overlaps;
            let args = launch.args.iter().map(|&arg| self.matrix.word(arg, &v)).collect();
            Ready { module: Arc::clone(&module), kernel: launch.step, shape, args }
        };
        Ok(self.matrix.launches(candidate, self.gpu.gpu().most_blocks()).into_iter().map(ready).collect())
    }
}

impl<T: Scalar> Operand<T> for GpuOperand<T> {
    fn preparation(&self) -> Preparation {
        self.preparation
    }

    fn preprocess(&self, kernel: Kernel) -> Option<Seconds> {
        self.vendors.get(&kernel).map(|product| product.preprocess())
    }

    fn set_x(&mut self, x: &[T]) -> Result<(), DeviceError> {
        self.x.write(x)
    }

    fn poison_y(&mut self) -> Result<(), DeviceError> {
        self.gpu.poison(&self.y)
    }

    fn read_y(&mut self) -> Result<Vec<T>, DeviceError> {
        self.y.read()
    }

    fn look_at_y(&mut self, look: &mut dyn FnMut(&[T])) -> Result<(), DeviceError> {
        self.y.read_into(&mut self.host_y)?;
        look(&self.host_y);
        Ok(())
    }

    fn batch(&mut self, candidate: &Candidate, products: u32, caches: Caches) -> Result<Batch, DeviceError> {
        let computed_in = (candidate.dtype.of_values(), candidate.dtype.of_vectors());
        assert_eq!(
            computed_in,
            (self.matrix.dtype, T::DTYPE),
            "{candidate} has other values than this operand"
        );
        let vectors = [self.x.extent(), self.y.extent()];
        let touched: Vec<Extent> = self.matrix.extents().chain(vectors).collect();
        if candidate.kernel.is_vendors() {
            if candidate.dtype != T::DTYPE {
                return Err(PartitionError::NotHere { candidate: *candidate }.into());
            }
            self.prepare(candidate.kernel)?;
            let (product, v) = (&self.vendors[&candidate.kernel], self.vectors());
            // SAFETY: the vectors are the operand's own.
            let mut queue = || unsafe { product.queue(&v, None) };
            let entries = product.entries();
            return self.gpu.batch(BatchRequest { products, entries, caches, touched: &touched }, &mut queue);
        }
        let launches = self.launches(candidate)?;
        let mut queue = || {
            launches.iter().try_for_each(|launch| {
                // SAFETY: the recipe names the kernel's parameters, and the arrays are those of the matrix.
                unsafe { launch.module.queue(launch.kernel, launch.shape, &launch.args, None) }
            })
        };
        let entries = launches.len() as u32;
        self.gpu.batch(BatchRequest { products, entries, caches, touched: &touched }, &mut queue)
    }
}
