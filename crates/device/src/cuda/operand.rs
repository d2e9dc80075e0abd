//! A matrix on the device in its format, with x and y.

use super::Cuda;
use super::arrays::Matrix;
use super::cusparse::{ENTRIES, Product};
use super::generate::Helper;
use super::memory::DeviceArray;
use super::module::Launch;
use super::row_block::{Call, RowBlock, Vectors};
use crate::timing::Caches;
use crate::{DeviceError, Operand, Preparation};
use sparsight_kernels::{Candidate, Format, Kernel, Vendor};
use sparsight_matrix::{Csr, Limits, Scalar, Seconds};
use std::collections::BTreeMap;

/// [`Operand`] of [`Cuda`].
#[derive(Debug)]
pub(super) struct CudaOperand<'d, T: Scalar> {
    cuda: &'d Cuda,
    /// Products of the vendor's library, prepared when first asked for. They point to the arrays below.
    vendors: BTreeMap<Vendor, Product<T>>,
    rows: RowBlock<T>,
    x: DeviceArray<T>,
    y: DeviceArray<T>,
    /// Copy of y on the host, kept to be written over.
    host_y: Vec<T>,
    preparation: Preparation,
    helper: Helper,
}

impl<'d, T: Scalar> CudaOperand<'d, T> {
    /// With room for x and y: x is random and follows from `seed`, since nobody shall time a product of zeros;
    /// y is poisoned.
    pub(super) fn new(
        cuda: &'d Cuda,
        (nrows, ncols): (u64, u64),
        matrix: Matrix<T>,
        preparation: Preparation,
        seed: u64,
    ) -> Result<Self, DeviceError> {
        let x = DeviceArray::new(&cuda.context, ncols as usize)?;
        let y = DeviceArray::new(&cuda.context, nrows as usize)?;
        let helper = Helper::new(cuda, T::DTYPE, 4)?;
        helper.random_x(&x, seed)?;
        helper.poison(&y)?;
        cuda.context.synchronize()?;
        let vendors = BTreeMap::new();
        let rows = RowBlock { nrows, matrix };
        Ok(Self { cuda, vendors, rows, x, y, host_y: Vec::new(), preparation, helper })
    }

    /// Converts and uploads, or uploads and converts.
    pub(super) fn load(
        cuda: &'d Cuda,
        a: &Csr<T>,
        format: Format,
        limits: &Limits,
    ) -> Result<Self, DeviceError> {
        let (rows, preparation) = RowBlock::load(cuda, a, format, limits)?;
        Self::new(cuda, (rows.nrows, a.ncols() as u64), rows.matrix, preparation, 0)
    }

    /// Prepares a product of the vendor's library, unless that was done, and runs it once: its kernels are loaded when
    /// they first run, for which the driver waits for the stream, in which our spinning kernel would wait for us.
    fn prepare(&mut self, routine: Vendor) -> Result<(), DeviceError> {
        assert_eq!(
            routine.format(),
            self.rows.matrix.format(),
            "the candidate's format is not the operand's"
        );
        if self.vendors.contains_key(&routine) {
            return Ok(());
        }
        let library = self.cuda.library()?;
        let product = Product::prepare(library, routine, &self.rows.matrix, &self.x, &self.y)?;
        product.queue(library)?;
        // A check shall see whether the next product writes y, and not that this one did.
        self.helper.poison(&self.y)?;
        self.cuda.context.synchronize()?;
        self.vendors.insert(routine, product);
        Ok(())
    }

    /// [`Operand::batch`] with the vendor's library.
    fn vendor_batch(
        &mut self,
        routine: Vendor,
        products: u32,
        caches: Caches,
    ) -> Result<Seconds, DeviceError> {
        self.prepare(routine)?;
        let (library, product) = (self.cuda.library()?, &self.vendors[&routine]);
        self.cuda.timer.time(products, ENTRIES, caches, &mut || product.queue(library))
    }

    /// The launches of one y = A x with a kernel of ours.
    fn product(&self, candidate: &Candidate) -> Result<Vec<Launch>, DeviceError> {
        let vectors = Vectors { x: self.x.address(), y: self.y.address(), alpha: 1.0, beta: 0.0 };
        let module = self.cuda.candidate(candidate, self.rows.matrix.offset_bytes())?;
        let launch = |call: &Call| call.launch(self.cuda, &module, candidate.block);
        Ok(self.rows.calls(candidate, &vectors).iter().map(launch).collect())
    }
}

impl<T: Scalar> Operand<T> for CudaOperand<'_, T> {
    fn preparation(&self) -> Preparation {
        self.preparation
    }

    fn preprocess(&self, kernel: Kernel) -> Option<Seconds> {
        let Kernel::Vendor(routine) = kernel else { return None };
        self.vendors.get(&routine).map(Product::preprocess)
    }

    fn set_x(&mut self, x: &[T]) -> Result<(), DeviceError> {
        self.x.write(x)
    }

    fn poison_y(&mut self) -> Result<(), DeviceError> {
        self.cuda.context.bind()?;
        self.helper.poison(&self.y)?;
        self.cuda.context.synchronize()
    }

    fn read_y(&mut self) -> Result<Vec<T>, DeviceError> {
        self.y.read()
    }

    fn look_at_y(&mut self, look: &mut dyn FnMut(&[T])) -> Result<(), DeviceError> {
        self.y.read_into(&mut self.host_y)?;
        look(&self.host_y);
        Ok(())
    }

    fn batch(
        &mut self,
        candidate: &Candidate,
        products: u32,
        caches: Caches,
    ) -> Result<Seconds, DeviceError> {
        assert_eq!(candidate.dtype, T::DTYPE, "the candidate's value type is not the operand's");
        self.cuda.context.bind()?;
        if let Kernel::Vendor(routine) = candidate.kernel {
            return self.vendor_batch(routine, products, caches);
        }
        let launches = self.product(candidate)?;
        self.cuda.timer.time(products, launches.len() as u32, caches, &mut || {
            launches.iter().try_for_each(Launch::queue)
        })
    }
}
