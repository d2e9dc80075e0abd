//! A matrix on the device in its format, with x and y.

use super::Cuda;
use super::arrays::Matrix;
use super::cusparse::{ENTRIES, Product};
use super::generate::Helper;
use super::memory::DeviceArray;
use super::module::Launch;
use super::upload::{Converted, upload};
use crate::timing::Caches;
use crate::{DeviceError, Operand, Preparation};
use sparsight_kernels::{COO_ITEMS, Candidate, Format, Kernel, Vendor, row_chunks};
use sparsight_matrix::{Csr, Limits, Scalar, Seconds};
use std::collections::BTreeMap;
use std::time::Instant;

/// [`Operand`] of [`Cuda`].
#[derive(Debug)]
pub(super) struct CudaOperand<'d, T: Scalar> {
    cuda: &'d Cuda,
    nrows: u64,
    /// Products of the vendor's library, prepared when first asked for. They point to the arrays below.
    vendors: BTreeMap<Vendor, Product<T>>,
    matrix: Matrix<T>,
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
        Ok(Self { cuda, nrows, vendors, matrix, x, y, host_y: Vec::new(), preparation, helper })
    }

    /// Converts and uploads.
    pub(super) fn load(
        cuda: &'d Cuda,
        a: &Csr<T>,
        format: Format,
        limits: &Limits,
    ) -> Result<Self, DeviceError> {
        let start = Instant::now();
        let converted = Converted::from_csr(a, format, limits)?;
        let convert = Seconds(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let matrix = upload(cuda, a, &converted)?;
        let upload = Seconds(start.elapsed().as_secs_f64());
        let size = (a.nrows() as u64, a.ncols() as u64);
        Self::new(cuda, size, matrix, Preparation { convert, upload }, 0)
    }

    /// Prepares a product of the vendor's library, unless that was done, and runs it once: its kernels are loaded when
    /// they first run, for which the driver waits for the stream, in which our spinning kernel would wait for us.
    fn prepare(&mut self, routine: Vendor) -> Result<(), DeviceError> {
        assert_eq!(routine.format(), self.matrix.format(), "the candidate's format is not the operand's");
        if self.vendors.contains_key(&routine) {
            return Ok(());
        }
        let library = self.cuda.library()?;
        let product = Product::prepare(library, routine, &self.matrix, &self.x, &self.y)?;
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

    /// The launches of one y = alpha A x + beta y with a kernel of ours.
    fn product(&self, candidate: &Candidate, alpha: f64, beta: f64) -> Result<Vec<Launch>, DeviceError> {
        assert_eq!(candidate.format(), self.matrix.format(), "the candidate's format is not the operand's");
        let (y, block) = (self.y.address(), candidate.block);
        let beta = beta.to_bits();
        let vectors = [self.x.address(), y, alpha.to_bits(), beta];
        let module = self.cuda.candidate(candidate, self.matrix.offset_bytes())?;
        let mut launches = Vec::new();
        let mut teams = |kernel: usize, count: u64, threads: u32, args: &[&[u64]]| {
            for chunk in row_chunks(count, threads, block) {
                let args = [vec![chunk.first_row], args.concat()].concat();
                launches.push(module.launch(kernel, chunk.grid, block, &args));
            }
        };
        let nrows = [self.nrows];
        let coo = match (&self.matrix, candidate.kernel) {
            (Matrix::Csr(csr), Kernel::CsrScalar | Kernel::CsrVector { .. }) => {
                let threads_per_row = candidate.kernel.threads_per_row().unwrap_or(1);
                teams(0, self.nrows, threads_per_row, &[&nrows, &csr.args(), &vectors]);
                None
            }
            (Matrix::CsrBalanced(csr, tiles), Kernel::CsrBalanced(_)) => {
                // A whole block a tile.
                let count = tiles.tiles.len() as u64;
                teams(0, count, block, &[&tiles.args(), &csr.args(), &vectors]);
                None
            }
            (Matrix::CsrBinned(binned), Kernel::CsrBinned) => {
                let blocks = binned.bins.blocks(block);
                teams(0, blocks, block, &[&binned.bins.args(), &binned.args(), &vectors]);
                None
            }
            (Matrix::Coo(coo), Kernel::Coo) => {
                teams(0, self.nrows, 1, &[&nrows, &[y, beta]]);
                Some(coo)
            }
            (Matrix::Ell(ell), Kernel::Ell) => {
                teams(0, self.nrows, 1, &[&nrows, &ell.args(), &vectors]);
                None
            }
            (Matrix::Hyb(ell, coo), Kernel::Hyb) => {
                // With width 0 this only scales y.
                teams(0, self.nrows, 1, &[&nrows, &ell.args(), &vectors]);
                Some(coo)
            }
            (Matrix::Jad(jad), Kernel::Jad) => {
                teams(0, self.nrows, 1, &[&nrows, &jad.args(), &vectors]);
                None
            }
            (Matrix::Sell(sell), Kernel::Sell(_)) => {
                teams(0, self.nrows, 1, &[&nrows, &sell.args(), &vectors]);
                None
            }
            (Matrix::BroEll(bro), Kernel::BroEll(_)) => {
                teams(0, self.nrows, 1, &[&nrows, &bro.args(), &vectors]);
                None
            }
            _ => unreachable!("kernel {} on a matrix in {}", candidate.kernel, self.matrix.format()),
        };
        if let Some(coo) = coo {
            // A warp's run plays the part of a row of 32 threads; no run, no launch.
            let nnz = coo.values.len() as u64;
            let runs = nnz.div_ceil(u64::from(32 * COO_ITEMS));
            let before = row_chunks(self.nrows, 1, block).count();
            teams(1, runs, 32, &[&[nnz], &coo.args(), &vectors]);
            // Behind the launch that scales y or stores the ELL part.
            if self.cuda.overlaps_launches()
                && let Some(launch) = launches.get_mut(before)
            {
                launch.overlap();
            }
        }
        Ok(launches)
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
        let launches = self.product(candidate, 1.0, 0.0)?;
        self.cuda.timer.time(products, launches.len() as u32, caches, &mut || {
            launches.iter().try_for_each(Launch::queue)
        })
    }
}
