//! A matrix with its x and y in main memory, and the timing of products with it.

use super::coo::{Carry, Start};
use super::places::Places;
use super::{Cpu, bro_ell, coo, csr, csr_balanced, csr_binned, ell, hyb, jad, sell};
use crate::timing::Caches;
use crate::{Device, DeviceError, Operand, Preparation};
use sparsight_kernels::{Candidate, Format, Kernel};
use sparsight_matrix::{
    BroEll, Coo, Csr, Ell, Hyb, Infeasible, Jad, Limits, RowBins, RowLengths, Scalar, Seconds, Sell,
    TileTable,
};

/// A matrix in one format.
#[derive(Debug, PartialEq)]
pub(super) enum Held<T> {
    Csr(Csr<T>),
    CsrBalanced(Csr<T>, TileTable),
    CsrBinned(Csr<T>, RowBins, Places),
    Coo(Coo<T>),
    Ell(Ell<T>),
    Hyb(Hyb<T>),
    Jad(Jad<T>, Places),
    Sell(Sell<T>, Places),
    BroEll(BroEll<T>),
}

/// What products keep between them, so that only the first one allocates.
#[derive(Debug, Default)]
pub(super) struct Scratch<T> {
    /// Of COO.
    carries: Vec<Carry<T>>,
    /// y by places, where rows are sorted.
    sums: Vec<T>,
}

impl<T: Scalar> Held<T> {
    /// Converts; CSR is copied.
    pub(super) fn convert(a: &Csr<T>, format: Format, limits: &Limits) -> Result<Self, Infeasible> {
        let (size, nnz) = ((a.nrows() as u64, a.ncols() as u64), a.nnz() as u64);
        Ok(match format {
            Format::Csr => {
                Csr::<T>::check(size.0, size.1, nnz, limits)?;
                Self::Csr(a.clone())
            }
            Format::CsrBalanced(shape) => {
                TileTable::check::<T>(size, nnz, RowLengths::of(a).max(), shape, limits)?;
                Self::CsrBalanced(a.clone(), TileTable::of(a.row_ptr(), shape))
            }
            Format::CsrBinned => {
                RowBins::check::<T>(size, nnz, RowLengths::of(a).max(), limits)?;
                let bins = RowBins::of(a.row_ptr());
                let places = Places::of(bins.order());
                Self::CsrBinned(a.clone(), bins, places)
            }
            Format::Coo => Self::Coo(Coo::from_csr(a, limits)?),
            Format::Ell => Self::Ell(Ell::from_csr(a, limits)?),
            Format::Hyb => Self::Hyb(Hyb::from_csr(a, limits)?),
            Format::Jad => {
                let jad = Jad::from_csr(a, limits)?;
                let places = Places::of(jad.permutation());
                Self::Jad(jad, places)
            }
            Format::Sell(shape) => {
                let sell = Sell::from_csr(a, shape, limits)?;
                let places = Places::of(sell.permutation());
                Self::Sell(sell, places)
            }
            Format::BroEll(shape) => Self::BroEll(BroEll::from_csr(a, shape, limits)?),
        })
    }

    /// y = A x.
    ///
    /// # Panics
    /// If the candidate reads another format.
    pub(super) fn product(&self, candidate: &Candidate, x: &[T], y: &mut [T], scratch: &mut Scratch<T>) {
        let block = candidate.block as usize;
        let Scratch { carries, sums } = scratch;
        match (self, candidate.kernel) {
            (Self::Csr(a), Kernel::CsrScalar) => csr::scalar(a, block, x, y),
            (Self::Csr(a), Kernel::CsrVector { threads_per_row }) => {
                csr::vector(a, threads_per_row, block, x, y);
            }
            (Self::CsrBalanced(a, tiles), Kernel::CsrBalanced(shape)) if shape == tiles.shape() => {
                csr_balanced::product(a, tiles, block, x, y);
            }
            (Self::CsrBinned(a, bins, places), Kernel::CsrBinned) => {
                csr_binned::product(a, (bins, places), block, x, y, sums);
            }
            (Self::Coo(a), Kernel::Coo) => coo::product(a, block, Start::Zero, x, y, carries),
            (Self::Ell(a), Kernel::Ell) => ell::product(a, block, x, y),
            (Self::Hyb(a), Kernel::Hyb) => hyb::product(a, block, x, y, carries),
            (Self::Jad(a, places), Kernel::Jad) => jad::product(a, places, block, x, y, sums),
            (Self::Sell(a, places), Kernel::Sell(shape)) if shape == a.shape() => {
                sell::product(a, places, block, x, y, sums);
            }
            (Self::BroEll(a), Kernel::BroEll(shape)) if shape == a.shape() => {
                bro_ell::product(a, block, x, y);
            }
            _ => panic!("{candidate} does not read the format of this operand"),
        }
    }
}

/// What [`Cpu`] loads.
///
/// # Invariants
/// `x` has `ncols` entries and `y` has `nrows`: by construction and in [`CpuOperand::set_x`].
pub(super) struct CpuOperand<'d, T> {
    cpu: &'d Cpu,
    held: Held<T>,
    x: Vec<T>,
    y: Vec<T>,
    scratch: Scratch<T>,
    preparation: Preparation,
}

impl<'d, T: Scalar> CpuOperand<'d, T> {
    pub(super) fn new(
        cpu: &'d Cpu,
        held: Held<T>,
        nrows: usize,
        x: Vec<T>,
        preparation: Preparation,
    ) -> Self {
        Self { cpu, held, x, y: vec![T::default(); nrows], scratch: Scratch::default(), preparation }
    }
}

impl<T: Scalar> Operand<T> for CpuOperand<'_, T> {
    fn preparation(&self) -> Preparation {
        self.preparation
    }

    fn set_x(&mut self, x: &[T]) -> Result<(), DeviceError> {
        assert_eq!(x.len(), self.x.len(), "x must have one entry a column");
        self.x.copy_from_slice(x);
        Ok(())
    }

    fn poison_y(&mut self) -> Result<(), DeviceError> {
        self.y.fill(T::from_f64(f64::NAN));
        // Formats that sort the rows gather y from here.
        self.scratch.sums.fill(T::from_f64(f64::NAN));
        Ok(())
    }

    fn read_y(&mut self) -> Result<Vec<T>, DeviceError> {
        Ok(self.y.clone())
    }

    fn look_at_y(&mut self, look: &mut dyn FnMut(&[T])) -> Result<(), DeviceError> {
        look(&self.y);
        Ok(())
    }

    fn batch(
        &mut self,
        candidate: &Candidate,
        products: u32,
        caches: Caches,
    ) -> Result<Seconds, DeviceError> {
        assert_eq!(candidate.dtype, T::DTYPE, "{candidate} has another value type than this operand");
        let Self { cpu, held, x, y, scratch, .. } = self;
        Device::<T>::runs(*cpu, candidate.kernel)?;
        Ok(cpu.time(products, caches, || held.product(candidate, x, y, scratch)))
    }
}
