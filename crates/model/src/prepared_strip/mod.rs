//! A strip model made ready for very many matrices of equally many columns: the same times as
//! [`StripPredictor::predict`](crate::Model::predict), without intervals, in some nanoseconds a candidate.
//!
//! ```text
//! at one p      every equation is a line over I        T(I) = alpha I + beta        made anew where p changes
//! block sizes   differ in alpha and beta alone         looked at side by side, as are both placements
//! regimes       the border in x is passed once, since x is the same for all; the one in the working set by each matrix
//! ```
//! What this is for: a partition asks for the times of a million blocks of rows.

mod lines;

use crate::strip_predictor::{StripPredictor, reuse};
use crate::{FittedCandidate, PlacementRule, RowLengthRule, representative_row_length};
use lines::{Lines, Product};
use sparsight_kernels::{BLOCKS, Candidate, Kernel, Placement, Strip, compulsory_bytes, strip};
use sparsight_matrix::{Bytes, Dtype, Features};

/// Seconds with each block size of the catalogue, in its order; infinite where it was not asked for or is not fitted.
pub type BlockTimes = [f64; BLOCKS.len()];

/// The fits of one candidate for banded and for strewn columns, as the placement rule wants them.
type Placed<'a> = [&'a FittedCandidate; 2];

/// A strip model ready to predict candidates of some kernels in one value type, for matrices with a given number of
/// columns.
#[derive(Debug, Clone)]
pub struct PreparedStrip<'a> {
    predictor: StripPredictor<'a>,
    dtype: Dtype,
    kernels: Vec<PreparedKernel<'a>>,
}

#[derive(Debug, Clone)]
struct PreparedKernel<'a> {
    kernel: Kernel,
    /// Infinite where a block size is not wanted or not fitted, else 0; for HYB without a COO part, and with one.
    unknown: [BlockTimes; 2],
    /// Of HYB its ELL part.
    part: PreparedPart<'a>,
    /// Of HYB.
    coo: Option<PreparedPart<'a>>,
    /// Whether any equation depends on the working set.
    has_border: bool,
}

#[derive(Debug, Clone)]
struct PreparedPart<'a> {
    strip: Strip,
    fits: [Option<Placed<'a>>; BLOCKS.len()],
    x: Bytes,
    /// p for which the lines were made.
    row_length: Option<u64>,
    lines: Lines,
}

impl<'a> StripPredictor<'a> {
    /// Ready to predict `candidates`, which share a value type, for matrices with `ncols` columns.
    ///
    /// `None` if that would not give what [`predict`](crate::Model::predict) does: where a quantile stands for the row
    /// lengths (too much to know of every block of rows), where ELL and COO are fitted with one block size at different
    /// placements, or regimes are split by the working set more than once.
    pub fn prepared(&self, candidates: &[Candidate], ncols: u64) -> Option<PreparedStrip<'a>> {
        let dtype = candidates.first()?.dtype;
        if matches!(self.row_length, RowLengthRule::Quantile(_)) {
            return None;
        }
        let x = Bytes(ncols.saturating_mul(dtype.bytes()));
        let mut kernels: Vec<Kernel> = candidates.iter().map(|c| c.kernel).collect();
        kernels.dedup();
        let kernels = kernels.into_iter().map(|kernel| {
            let wanted = |block| candidates.contains(&Candidate { kernel, block, dtype });
            PreparedKernel::new(self, kernel, dtype, x, wanted)
        });
        Some(PreparedStrip { predictor: *self, dtype, kernels: kernels.collect::<Option<_>>()? })
    }

    /// The fits that answer for both placements: equal where the rule or the fits leave one.
    fn placed(&self, candidate: &Candidate) -> Option<Placed<'a>> {
        let at = |placement| self.model.find(candidate, placement);
        let (banded, strewn) = (at(Placement::Banded), at(Placement::Strewn));
        let only = match (self.placement, banded, strewn) {
            (PlacementRule::Blend, Some(banded), Some(strewn)) => return Some([banded, strewn]),
            (PlacementRule::Strewn, _, Some(_)) | (_, None, _) => strewn,
            _ => banded,
        };
        Some([only?; 2])
    }
}

impl PreparedStrip<'_> {
    /// The kernels asked for, in the order of the candidates.
    pub fn kernels(&self) -> impl Iterator<Item = Kernel> {
        self.kernels.iter().map(|kernel| kernel.kernel)
    }

    /// The time of one product of a matrix with `features` with each of [`PreparedStrip::kernels`]; whether it can be held
    /// is the caller's question. O(candidates), nothing is allocated. It needs no features that
    /// [`Block::outline`](sparsight_matrix::Block::outline) lacks, but those of a matrix with the prepared columns.
    ///
    /// # Panics
    /// If `times` are not as many as the kernels.
    pub fn times_s(&mut self, features: &Features, times: &mut [BlockTimes]) {
        assert_eq!(times.len(), self.kernels.len(), "a row of times a kernel");
        let weight = reuse(features);
        for (kernel, times) in self.kernels.iter_mut().zip(times) {
            if !kernel.is_known() {
                times.fill(f64::INFINITY);
                continue;
            }
            kernel.times_s(&self.predictor, self.dtype, features, weight, times);
        }
    }
}

impl<'a> PreparedKernel<'a> {
    fn new(
        predictor: &StripPredictor<'a>,
        kernel: Kernel,
        dtype: Dtype,
        x: Bytes,
        wanted: impl Fn(u32) -> bool,
    ) -> Option<Self> {
        let part = |kernel| {
            let fits = BLOCKS
                .map(|block| predictor.placed(&Candidate { kernel, block, dtype }).filter(|_| wanted(block)));
            let strip = strip(kernel, predictor.facts);
            PreparedPart { strip, fits, x, row_length: None, lines: Lines::default() }
        };
        let (part, coo) = match kernel {
            Kernel::Hyb => (part(Kernel::Ell), Some(part(Kernel::Coo))),
            kernel => (part(kernel), None),
        };
        let parts = || std::iter::once(&part).chain(&coo);
        let mut has_border = false;
        for fit in parts().flat_map(|part| part.fits.iter().flatten().flatten()) {
            has_border |= lines::working_set_borders(&fit.regimes, x)? > 0;
        }
        if let Some(coo) = &coo {
            let placements = |fits: &Placed<'_>| fits.map(|fit| fit.placement);
            let alike = |(ell, coo): (&Option<Placed<'_>>, &Option<Placed<'_>>)| match (ell, coo) {
                (Some(ell), Some(coo)) => placements(ell) == placements(coo),
                _ => true,
            };
            if !part.fits.iter().zip(&coo.fits).all(alike) {
                return None;
            }
        }
        let unknown =
            |part: &PreparedPart<'_>| part.fits.map(|fits| if fits.is_some() { 0.0 } else { f64::INFINITY });
        let without = unknown(&part);
        let with = coo.as_ref().map_or(without, unknown);
        Some(Self { kernel, unknown: [without, with], part, coo, has_border })
    }

    /// Whether anything is wanted and fitted.
    fn is_known(&self) -> bool {
        self.unknown.as_flattened().iter().any(|unknown| unknown.is_finite())
    }

    fn times_s(
        &mut self,
        predictor: &StripPredictor<'_>,
        dtype: Dtype,
        features: &Features,
        weight: f64,
        times: &mut BlockTimes,
    ) {
        let working_set = if self.has_border {
            compulsory_bytes(&Candidate { kernel: self.kernel, block: BLOCKS[0], dtype }, features)
        } else {
            Bytes(0)
        };
        let p = representative_row_length(self.kernel, features, predictor.row_length).unwrap_or(0);
        *times = self.unknown[0];
        let mut sum = Product { weight, working_set, times };
        let Some(coo) = &mut self.coo else {
            let count = self.part.strip.unit.count(features.nrows, features.nnz);
            return self.part.add_to(&mut sum, predictor, count, p);
        };
        let rest = features.hyb.coo_nnz;
        if rest > 0 {
            *sum.times = self.unknown[1];
            coo.add_to(&mut sum, predictor, rest, 0);
        }
        // Of an empty matrix the ELL part stands for the launch that takes place all the same.
        if p > 0 || rest == 0 {
            sum.times.iter_mut().zip(self.unknown[0]).for_each(|(time, unknown)| *time += unknown);
            self.part.add_to(&mut sum, predictor, features.nrows, p);
        }
    }
}

impl PreparedPart<'_> {
    /// Adds the times of `count` rows or non-zeros.
    fn add_to(&mut self, sum: &mut Product<'_>, predictor: &StripPredictor<'_>, count: u64, row_length: u64) {
        if self.row_length != Some(row_length) {
            self.row_length = Some(row_length);
            self.lines.set(&self.fits, predictor.facts, self.x, row_length);
        }
        self.lines.add_to(sum, self.strip.strips(count));
    }
}
