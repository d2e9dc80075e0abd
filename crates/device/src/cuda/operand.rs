//! A matrix on the device in its format: what is launched with it, and the operand that it makes with x and y.

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

/// A matrix, or some rows of one, on the device in one format.
#[derive(Debug)]
pub(super) struct RowBlock<T> {
    nrows: u64,
    pub(super) matrix: Matrix<T>,
}

/// One launch of a product before its module is known.
#[derive(Debug)]
pub(super) struct Call {
    /// Entry point, counted from 0.
    pub(super) kernel: usize,
    pub(super) grid: u32,
    /// By how much the first argument advances a block.
    pub(super) step: u64,
    pub(super) args: Vec<u64>,
    /// With which words `args` ends.
    pub(super) tail: Tail,
}

/// What a product is computed with: the addresses of x and y, and the factors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vectors {
    pub(super) x: u64,
    pub(super) y: u64,
    pub(super) alpha: f64,
    pub(super) beta: f64,
}

/// The words with which the arguments of a kernel end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    /// x, y, alpha, beta.
    Product,
    /// y, beta: what `clear` takes.
    Scale,
}

impl Tail {
    /// How many.
    pub(super) const fn len(self) -> usize {
        match self {
            Self::Product => 4,
            Self::Scale => 2,
        }
    }

    /// Hands the words and how many they are to `set`.
    pub(super) fn with<R>(self, v: &Vectors, set: impl FnOnce(&[u64]) -> R) -> R {
        let (alpha, beta) = (v.alpha.to_bits(), v.beta.to_bits());
        match self {
            Self::Product => set(&[v.x, v.y, alpha, beta]),
            Self::Scale => set(&[v.y, beta]),
        }
    }
}

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

impl<T: Scalar> RowBlock<T> {
    /// Converts and uploads.
    pub(super) fn load(
        cuda: &Cuda,
        a: &Csr<T>,
        format: Format,
        limits: &Limits,
    ) -> Result<(Self, Preparation), DeviceError> {
        let start = Instant::now();
        let converted = Converted::from_csr(a, format, limits)?;
        let convert = Seconds(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let matrix = upload(cuda, a, &converted)?;
        let upload = Seconds(start.elapsed().as_secs_f64());
        Ok((Self { nrows: a.nrows() as u64, matrix }, Preparation { convert, upload }))
    }

    /// Width of the row offsets; 4 where there are none.
    pub(super) fn offset_bytes(&self) -> u64 {
        if let Matrix::Csr { row_ptr, .. } = &self.matrix { row_ptr.bytes() } else { 4 }
    }

    /// The launches of one y = alpha A x + beta y.
    pub(super) fn calls(&self, candidate: &Candidate, v: &Vectors) -> Vec<Call> {
        assert_eq!(candidate.dtype, T::DTYPE, "the candidate's value type is not the operand's");
        assert_eq!(candidate.format(), self.matrix.format(), "the candidate's format is not the operand's");
        let (x, y, block) = (v.x, v.y, candidate.block);
        let (alpha, beta) = (v.alpha.to_bits(), v.beta.to_bits());
        let mut calls = Vec::new();
        let mut rows = |kernel: usize, threads_per_row: u32, args: &[u64]| {
            let step = u64::from(block / threads_per_row);
            let tail = if candidate.kernel == Kernel::Coo { Tail::Scale } else { Tail::Product };
            for chunk in row_chunks(self.nrows, threads_per_row, block) {
                let args = [&[chunk.first_row, self.nrows], args].concat();
                calls.push(Call { kernel, grid: chunk.grid, step, args, tail });
            }
        };
        let coo = match (&self.matrix, candidate.kernel) {
            (Matrix::Csr { row_ptr, col_idx, values }, Kernel::CsrScalar | Kernel::CsrVector { .. }) => {
                let threads_per_row = candidate.kernel.threads_per_row().unwrap_or(1);
                rows(
                    0,
                    threads_per_row,
                    &[row_ptr.address(), col_idx.address(), values.address(), x, y, alpha, beta],
                );
                None
            }
            (Matrix::Coo(coo), Kernel::Coo) => {
                rows(0, 1, &[y, beta]);
                Some(coo)
            }
            (Matrix::Ell(ell), Kernel::Ell) => {
                rows(
                    0,
                    1,
                    &[ell.width, ell.stride, ell.col_idx.address(), ell.values.address(), x, y, alpha, beta],
                );
                None
            }
            (Matrix::Hyb(ell, coo), Kernel::Hyb) => {
                // With width 0 this only scales y.
                rows(
                    0,
                    1,
                    &[ell.width, ell.stride, ell.col_idx.address(), ell.values.address(), x, y, alpha, beta],
                );
                Some(coo)
            }
            (Matrix::Jad(jad), Kernel::Jad) => {
                let diagonals = jad.diagonal_ptr.len() as u64 - 1;
                let order = [diagonals, jad.permutation.address(), jad.diagonal_ptr.address()];
                let entries = [jad.col_idx.address(), jad.values.address()];
                rows(0, 1, &[&order[..], &entries, &[x, y, alpha, beta]].concat());
                None
            }
            (Matrix::Sell(sell), Kernel::Sell(_)) => {
                let order = [sell.slice_ptr.address(), sell.permutation.address()];
                rows(
                    0,
                    1,
                    &[order[0], order[1], sell.col_idx.address(), sell.values.address(), x, y, alpha, beta],
                );
                None
            }
            (Matrix::BroEll(bro), Kernel::BroEll(_)) => {
                let pointers = [bro.column_ptr.address(), bro.symbol_ptr.address()];
                let packed = [bro.bits.address(), bro.symbols.address(), bro.values.address()];
                rows(0, 1, &[&pointers[..], &packed, &[x, y, alpha, beta]].concat());
                None
            }
            _ => unreachable!("kernel {} on a matrix in {}", candidate.kernel, self.matrix.format()),
        };
        if let Some(coo) = coo {
            // A warp's run plays the part of a row of 32 threads; no run, no launch.
            let nnz = coo.values.len() as u64;
            let runs = nnz.div_ceil(u64::from(32 * COO_ITEMS));
            let (row_idx, col_idx, values) = (&coo.row_idx, &coo.col_idx, &coo.values);
            for chunk in row_chunks(runs, 32, block) {
                let args = [
                    chunk.first_row,
                    nnz,
                    row_idx.address(),
                    col_idx.address(),
                    values.address(),
                    x,
                    y,
                    alpha,
                    beta,
                ];
                let (args, step) = (args.to_vec(), u64::from(block / 32));
                calls.push(Call { kernel: 1, grid: chunk.grid, step, args, tail: Tail::Product });
            }
        }
        calls
    }
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
        let rows = RowBlock { nrows, matrix };
        Ok(Self { cuda, vendors: BTreeMap::new(), rows, x, y, host_y: Vec::new(), preparation, helper })
    }

    /// Converts and uploads.
    pub(super) fn load(
        cuda: &'d Cuda,
        a: &Csr<T>,
        format: Format,
        limits: &Limits,
    ) -> Result<Self, DeviceError> {
        let (rows, preparation) = RowBlock::load(cuda, a, format, limits)?;
        let size = (a.nrows() as u64, a.ncols() as u64);
        Self::new(cuda, size, rows.matrix, preparation, 0)
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

    /// The launches of one y = alpha A x + beta y with a kernel of ours.
    fn product(&self, candidate: &Candidate, alpha: f64, beta: f64) -> Result<Vec<Launch>, DeviceError> {
        let vectors = Vectors { x: self.x.address(), y: self.y.address(), alpha, beta };
        let module = self.cuda.candidate(candidate, self.rows.offset_bytes())?;
        let launch = |call: Call| module.launch(call.kernel, call.grid, candidate.block, &call.args);
        Ok(self.rows.calls(candidate, &vectors).into_iter().map(launch).collect())
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
