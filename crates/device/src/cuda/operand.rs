//! A matrix on the device in its format, with x and y.

use super::Cuda;
use super::generate::Helper;
use super::memory::DeviceArray;
use super::module::Launch;
use crate::timing::Caches;
use crate::{DeviceError, Operand, Preparation};
use sparsight_kernels::{COO_ITEMS, Candidate, Format, Kernel, row_chunks};
use sparsight_matrix::{BroEll, BroEllShape, Coo, Csr, Ell, Hyb, Limits, Scalar, Seconds};
use std::time::Instant;

/// Row offsets of CSR, 32 bits wide while they fit.
#[derive(Debug)]
pub(super) enum Offsets {
    Narrow(DeviceArray<u32>),
    Wide(DeviceArray<u64>),
}

impl Offsets {
    pub(super) fn address(&self) -> u64 {
        match self {
            Self::Narrow(array) => array.address(),
            Self::Wide(array) => array.address(),
        }
    }

    const fn bytes(&self) -> u64 {
        match self {
            Self::Narrow(_) => 4,
            Self::Wide(_) => 8,
        }
    }
}

#[derive(Debug)]
pub(super) struct CooArrays<T> {
    pub(super) row_idx: DeviceArray<u32>,
    pub(super) col_idx: DeviceArray<u32>,
    pub(super) values: DeviceArray<T>,
}

#[derive(Debug)]
pub(super) struct EllArrays<T> {
    pub(super) width: u64,
    pub(super) stride: u64,
    pub(super) col_idx: DeviceArray<u32>,
    pub(super) values: DeviceArray<T>,
}

#[derive(Debug)]
pub(super) struct BroEllArrays<T> {
    shape: BroEllShape,
    column_ptr: DeviceArray<u64>,
    symbol_ptr: DeviceArray<u64>,
    bits: DeviceArray<u8>,
    symbols: DeviceArray<u64>,
    values: DeviceArray<T>,
}

/// The arrays of one format.
#[derive(Debug)]
pub(super) enum Matrix<T> {
    Csr { row_ptr: Offsets, col_idx: DeviceArray<u32>, values: DeviceArray<T> },
    Coo(CooArrays<T>),
    Ell(EllArrays<T>),
    Hyb(EllArrays<T>, CooArrays<T>),
    BroEll(BroEllArrays<T>),
}

impl<T> Matrix<T> {
    const fn format(&self) -> Format {
        match self {
            Self::Csr { .. } => Format::Csr,
            Self::Coo(_) => Format::Coo,
            Self::Ell(_) => Format::Ell,
            Self::Hyb(..) => Format::Hyb,
            Self::BroEll(bro) => Format::BroEll(bro.shape),
        }
    }
}

/// [`Operand`] of [`Cuda`].
#[derive(Debug)]
pub(super) struct CudaOperand<'d, T: Scalar> {
    cuda: &'d Cuda,
    nrows: u64,
    matrix: Matrix<T>,
    x: DeviceArray<T>,
    y: DeviceArray<T>,
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
        Ok(Self { cuda, nrows, matrix, x, y, preparation, helper })
    }

    /// Converts and uploads. x is random and follows from `seed`.
    pub(super) fn load(
        cuda: &'d Cuda,
        a: &Csr<T>,
        format: Format,
        limits: &Limits,
        seed: u64,
    ) -> Result<Self, DeviceError> {
        let (nrows, ncols, nnz) = (a.nrows() as u64, a.ncols() as u64, a.nnz() as u64);
        let start = Instant::now();
        let converted = match format {
            Format::Csr => {
                let bytes =
                    Csr::<T>::device_bytes(nrows, nnz, T::DTYPE).0 + (nrows + ncols) * T::DTYPE.bytes();
                limits.check(u128::from(nnz), nnz, u128::from(bytes))?;
                let narrow = (Csr::<T>::offset_bytes(nnz) == 4)
                    .then(|| a.row_ptr().iter().map(|&offset| offset as u32).collect());
                Converted::Csr(narrow)
            }
            Format::Coo => Converted::Coo(Coo::from_csr(a, limits)?),
            Format::Ell => Converted::Ell(Ell::from_csr(a, limits)?),
            Format::Hyb => Converted::Hyb(Hyb::from_csr(a, limits)?),
            Format::BroEll(shape) => Converted::BroEll(BroEll::from_csr(a, shape, limits)?),
            Format::Jad => todo!(),
            Format::Sell(_) => todo!(),
        };
        let convert = Seconds(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let matrix = upload(cuda, a, &converted)?;
        let upload = Seconds(start.elapsed().as_secs_f64());
        Self::new(cuda, (nrows, ncols), matrix, Preparation { convert, upload }, seed)
    }

    /// The launches of one product.
    fn product(&self, candidate: &Candidate) -> Result<Vec<Launch>, DeviceError> {
        assert_eq!(candidate.dtype, T::DTYPE, "the candidate's value type is not the operand's");
        assert_eq!(candidate.format(), self.matrix.format(), "the candidate's format is not the operand's");
        let (x, y, block) = (self.x.address(), self.y.address(), candidate.block);
        let offset_bytes = if let Matrix::Csr { row_ptr, .. } = &self.matrix { row_ptr.bytes() } else { 4 };
        let module = self.cuda.candidate(candidate, offset_bytes)?;
        let mut launches = Vec::new();
        let mut rows = |kernel: usize, threads_per_row: u32, args: &[u64]| {
            for chunk in row_chunks(self.nrows, threads_per_row, block) {
                let args = [&[chunk.first_row, self.nrows], args].concat();
                launches.push(module.launch(kernel, chunk.grid, block, &args));
            }
        };
        let coo = match (&self.matrix, candidate.kernel) {
            (Matrix::Csr { row_ptr, col_idx, values }, Kernel::CsrScalar | Kernel::CsrVector { .. }) => {
                let threads_per_row = candidate.kernel.threads_per_row().unwrap_or(1);
                rows(0, threads_per_row, &[row_ptr.address(), col_idx.address(), values.address(), x, y]);
                None
            }
            (Matrix::Coo(coo), Kernel::Coo) => {
                rows(0, 1, &[y]);
                Some(coo)
            }
            (Matrix::Ell(ell), Kernel::Ell) => {
                rows(0, 1, &[ell.width, ell.stride, ell.col_idx.address(), ell.values.address(), x, y]);
                None
            }
            (Matrix::Hyb(ell, coo), Kernel::Hyb) => {
                // With width 0 this only clears y.
                rows(0, 1, &[ell.width, ell.stride, ell.col_idx.address(), ell.values.address(), x, y]);
                Some(coo)
            }
            (Matrix::BroEll(bro), Kernel::BroEll(_)) => {
                let pointers = [bro.column_ptr.address(), bro.symbol_ptr.address()];
                let packed = [bro.bits.address(), bro.symbols.address(), bro.values.address()];
                rows(0, 1, &[&pointers[..], &packed, &[x, y]].concat());
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
                let args =
                    [chunk.first_row, nnz, row_idx.address(), col_idx.address(), values.address(), x, y];
                launches.push(module.launch(1, chunk.grid, block, &args));
            }
        }
        Ok(launches)
    }
}

impl<T: Scalar> Operand<T> for CudaOperand<'_, T> {
    fn preparation(&self) -> Preparation {
        self.preparation
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

    fn batch(
        &mut self,
        candidate: &Candidate,
        products: u32,
        caches: Caches,
    ) -> Result<Seconds, DeviceError> {
        self.cuda.context.bind()?;
        let launches = self.product(candidate)?;
        self.cuda.timer.time(products, launches.len() as u32, caches, &mut || {
            launches.iter().try_for_each(Launch::queue)
        })
    }
}

/// A matrix in its format, still on the host.
enum Converted<T> {
    /// With the row offsets as 32-bit numbers, if they fit; the rest is as in the CSR that was given.
    Csr(Option<Vec<u32>>),
    Coo(Coo<T>),
    Ell(Ell<T>),
    Hyb(Hyb<T>),
    BroEll(BroEll<T>),
}

fn upload<T: Scalar>(cuda: &Cuda, a: &Csr<T>, converted: &Converted<T>) -> Result<Matrix<T>, DeviceError> {
    let context = &cuda.context;
    let coo = |part: &Coo<T>| -> Result<_, DeviceError> {
        Ok(CooArrays {
            row_idx: DeviceArray::of(context, part.row_idx())?,
            col_idx: DeviceArray::of(context, part.col_idx())?,
            values: DeviceArray::of(context, part.values())?,
        })
    };
    let ell = |part: &Ell<T>| -> Result<_, DeviceError> {
        Ok(EllArrays {
            width: part.width() as u64,
            stride: part.stride() as u64,
            col_idx: DeviceArray::of(context, part.col_idx())?,
            values: DeviceArray::of(context, part.values())?,
        })
    };
    Ok(match converted {
        Converted::Csr(narrow) => Matrix::Csr {
            row_ptr: match narrow {
                Some(offsets) => Offsets::Narrow(DeviceArray::of(context, offsets)?),
                None => Offsets::Wide(DeviceArray::of(context, a.row_ptr())?),
            },
            col_idx: DeviceArray::of(context, a.col_idx())?,
            values: DeviceArray::of(context, a.values())?,
        },
        Converted::Coo(part) => Matrix::Coo(coo(part)?),
        Converted::Ell(part) => Matrix::Ell(ell(part)?),
        Converted::Hyb(part) => Matrix::Hyb(ell(part.ell())?, coo(part.coo())?),
        Converted::BroEll(part) => Matrix::BroEll(BroEllArrays {
            shape: part.shape(),
            column_ptr: DeviceArray::of(context, part.column_ptr())?,
            symbol_ptr: DeviceArray::of(context, part.symbol_ptr())?,
            bits: DeviceArray::of(context, part.bits())?,
            symbols: DeviceArray::of(context, part.symbols())?,
            values: DeviceArray::of(context, part.values())?,
        }),
    })
}
