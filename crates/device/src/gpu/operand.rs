//! A matrix on a GPU in its format, with x and y.

use super::device::Shared;
use super::product::sequential;
use super::{DeviceArray, DeviceMatrix, Vectors, VendorProduct};
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
        let product =
            unsafe { self.gpu.gpu().vendor(routine, &self.matrix, &Vectors::product(&self.x, &self.y))? };
        // A check shall see whether the next product writes y, and not that this one did.
        self.gpu.poison(&self.y)?;
        self.vendors.insert(kernel, product);
        Ok(())
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
        let batch = (products, caches);
        if candidate.kernel.is_vendors() {
            if candidate.dtype != T::DTYPE {
                return Err(PartitionError::NotHere { candidate: *candidate }.into());
            }
            self.prepare(candidate.kernel)?;
            let Self { gpu, vendors, matrix, x, y, .. } = self;
            let product = &vendors[&candidate.kernel];
            // SAFETY: the vectors are the operand's own.
            let queue = |v: &Vectors| unsafe { product.queue(v, None) };
            return gpu.batch_on((x, y), (product.entries(), matrix.extents()), batch, queue);
        }
        let Self { gpu, matrix, x, y, .. } = self;
        let parts = [(0..y.len(), *candidate)];
        let launches = sequential::<T>(gpu, &parts, std::slice::from_ref(matrix))?;
        // SAFETY: the recipe names the kernel's parameters, the arrays are those of the matrix, and the vectors the operand's own.
        let queue =
            |v: &Vectors| launches.iter().try_for_each(|launch| unsafe { launch.queue(v, &[], None) });
        gpu.batch_on((x, y), (launches.len() as u32, matrix.extents()), batch, queue)
    }
}
