//! A matrix on the device in its format, and the launches that multiply with it.

use super::Cuda;
use super::arrays::Matrix;
use super::convert::{Layout, convert};
use super::module::{Launch, Module};
use super::upload::{Converted, upload};
use crate::{DeviceError, Preparation};
use sparsight_kernels::{Candidate, Format, Kernel, row_chunks};
use sparsight_matrix::{Csr, Infeasible, Limits, Scalar, Seconds};
use std::sync::Arc;
use std::time::Instant;

/// A matrix, or some rows of one, on the device in one format.
#[derive(Debug)]
pub(super) struct RowBlock<T> {
    pub(super) nrows: u64,
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
    /// Whether it is written to begin before the launch in front of it has ended.
    pub(super) may_overlap: bool,
}

impl Call {
    /// The launch, overlapping with the one in front of it where device and kernel can.
    pub(super) fn launch(&self, cuda: &Cuda, module: &Arc<Module>, block: u32) -> Launch {
        let mut launch = module.launch(self.kernel, self.grid, block, &self.args);
        if self.may_overlap && cuda.overlaps_launches() {
            launch.overlap();
        }
        launch
    }
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

impl<T: Scalar> RowBlock<T> {
    /// Converts and uploads, or uploads and converts.
    pub(super) fn load(
        cuda: &Cuda,
        a: &Csr<T>,
        format: Format,
        limits: &Limits,
    ) -> Result<(Self, Preparation), DeviceError> {
        let nrows = a.nrows() as u64;
        let start = Instant::now();
        let layout = if cuda.converts.device(a.nnz()) { Layout::of(a, format, limits)? } else { None };
        let host = Seconds(start.elapsed().as_secs_f64());
        let csr_bytes = Csr::<T>::device_bytes(nrows, a.nnz() as u64, T::DTYPE).0;
        if let Some((layout, most)) = layout
            && limits.memory.0 >= most.0.saturating_add(csr_bytes)
        {
            match convert(cuda, a, &layout, limits) {
                // Little memory is left, in pieces: without the CSR beside it the format may fit.
                Err(DeviceError::Infeasible(Infeasible::DoesNotFit { .. })) => {}
                converted => {
                    let (matrix, mut preparation) = converted?;
                    preparation.convert.0 += host.0;
                    return Ok((Self { nrows, matrix }, preparation));
                }
            }
        }
        let start = Instant::now();
        let converted = Converted::from_csr(a, format, limits)?;
        let convert = Seconds(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let matrix = upload(cuda, a, &converted)?;
        let upload = Seconds(start.elapsed().as_secs_f64());
        Ok((Self { nrows, matrix }, Preparation { convert, upload, on_device: false }))
    }

    /// The launches of one y = alpha A x + beta y with a kernel of ours.
    pub(super) fn calls(&self, candidate: &Candidate, v: &Vectors) -> Vec<Call> {
        assert_eq!(candidate.format(), self.matrix.format(), "the candidate's format is not the operand's");
        let block = candidate.block;
        assert!(candidate.kernel.blocks().contains(&block), "{candidate} is none of the catalogue");
        let mut calls = Vec::new();
        let mut teams = |kernel: usize, count: u64, threads: u32, args: &[&[u64]], tail: Tail| {
            for chunk in row_chunks(count, threads, block) {
                let mut args = [vec![chunk.first_row], args.concat()].concat();
                tail.with(v, |words| args.extend(words));
                let may_overlap = kernel > 0 && chunk.first_row == 0;
                let step = u64::from(block / threads);
                calls.push(Call { kernel, grid: chunk.grid, step, args, tail, may_overlap });
            }
        };
        let nrows = [self.nrows];
        let coo = match (&self.matrix, candidate.kernel) {
            (Matrix::Csr(csr), Kernel::CsrScalar | Kernel::CsrVector { .. }) => {
                let threads_per_row = candidate.kernel.threads_per_row().unwrap_or(1);
                teams(0, self.nrows, threads_per_row, &[&nrows, &csr.args()], Tail::Product);
                None
            }
            (Matrix::CsrBalanced(csr, tiles), Kernel::CsrBalanced(_)) => {
                // A whole block a tile.
                let count = tiles.tiles.len() as u64;
                teams(0, count, block, &[&tiles.args(), &csr.args()], Tail::Product);
                None
            }
            (Matrix::CsrBinned(binned), Kernel::CsrBinned) => {
                let blocks = binned.bins.blocks(block);
                teams(0, blocks, block, &[&binned.bins.args(), &binned.args()], Tail::Product);
                None
            }
            (Matrix::Coo(coo), Kernel::Coo | Kernel::CooShort { .. }) => {
                teams(0, self.nrows, 1, &[&nrows], Tail::Scale);
                Some(coo)
            }
            (Matrix::Ell(ell), Kernel::Ell) => {
                teams(0, self.nrows, 1, &[&nrows, &ell.args()], Tail::Product);
                None
            }
            (Matrix::Hyb(ell, coo), Kernel::Hyb) => {
                // With width 0 this only scales y.
                teams(0, self.nrows, 1, &[&nrows, &ell.args()], Tail::Product);
                Some(coo)
            }
            (Matrix::Jad(jad), Kernel::Jad) => {
                teams(0, self.nrows, 1, &[&nrows, &jad.args()], Tail::Product);
                None
            }
            (Matrix::Sell(sell), Kernel::Sell(_) | Kernel::SellTeam { .. }) => {
                let threads_per_row = candidate.kernel.threads_per_row().unwrap_or(1);
                teams(0, self.nrows, threads_per_row, &[&nrows, &sell.args()], Tail::Product);
                None
            }
            (Matrix::BroEll(bro), Kernel::BroEll(_)) => {
                teams(0, self.nrows, 1, &[&nrows, &bro.args()], Tail::Product);
                None
            }
            _ => unreachable!("kernel {} on a matrix in {}", candidate.kernel, self.matrix.format()),
        };
        if let (Some(coo), Some(items)) = (coo, candidate.kernel.coo_items()) {
            // A warp's run plays the part of a row of 32 threads; no run, no launch. It may overlap with the launch that
            // scales y or stores the ELL part.
            let nnz = coo.values.len() as u64;
            let runs = nnz.div_ceil(u64::from(32 * items));
            teams(1, runs, 32, &[&[nnz], &coo.args()], Tail::Product);
        }
        calls
    }
}
