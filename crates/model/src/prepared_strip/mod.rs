//! A strip model made ready for very many matrices of equally many columns: the least of the times that
//! [`StripPredictor::predict`](crate::Model::predict) gives, in about a nanosecond a candidate.
//!
//! ```text
//! matrices      asked about many at once               push, push, ...                    then lower
//! p, regime     equal for many neighbours              one run, with one set of equations         runs.rs
//! at one p      every equation is a line over I        T(I) = alpha I + beta                      lines.rs
//! I             for every size of a strip              ceil(rows or non-zeros / S)                strip_counts.rs
//! block sizes   differ in alpha and beta alone         those that another one undercuts everywhere are left out
//! ```
//! What this is for: a partition asks for the times of a million blocks of rows, and blocks that begin with the same strip
//! are neighbours here.

mod lines;
mod runs;
mod strip_counts;

use crate::baseline::reuse;
use crate::row_length_rule::Statistic;
use crate::strip_predictor::StripPredictor;
use crate::{FittedCandidate, Footprint, PlacementRule, RowLengthRule};
use lines::Lines;
use runs::{Key, Runs};
use sparsight_kernels::{BLOCKS, Candidate, DeviceFacts, Kernel, Placement, compulsory_bytes, strip};
use sparsight_matrix::{Bytes, Dtype, Features};
use std::ops::Range;
use strip_counts::{Counted, Counts, StripCounts};

/// Runs of so many matrices are asked about what can be left out; in shorter ones looking costs as much.
const WORTH_LEAVING_OUT: usize = 16;

/// The fits of one candidate for banded and for scattered columns, as the placement rule wants them.
type Placed<'a> = [&'a FittedCandidate; 2];

/// A strip model ready to predict candidates of some kernels in one value type, for matrices with a given number of
/// columns.
#[derive(Debug, Clone)]
pub struct PreparedStrip<'a> {
    facts: &'a DeviceFacts,
    x: Bytes,
    kernels: Vec<PreparedKernel<'a>>,
    /// Keys of the matrices: inputs of the equations of some kernels.
    keys: Vec<Keys>,
    /// Weights of banded columns for the matrices.
    banded: Vec<f64>,
    counts: Counts,
    strips: Vec<StripCounts>,
    /// Sums, one number a matrix, for a time that has two parts.
    sums: Vec<f64>,
}

#[derive(Debug, Clone)]
struct PreparedKernel<'a> {
    candidates: [Candidate; BLOCKS.len()],
    /// ELL part of HYB.
    part: PreparedPart<'a>,
    /// COO part of HYB.
    coo: Option<PreparedPart<'a>>,
    /// Place among the keys.
    keys: usize,
}

#[derive(Debug, Clone)]
struct PreparedPart<'a> {
    fits: [Option<Placed<'a>>; BLOCKS.len()],
    /// Place among the strips.
    strips: usize,
    /// Key for which the lines were made.
    made_for: Option<(u64, Bytes)>,
    lines: Lines,
}

/// Inputs of the equations of one or several kernels, for one matrix after another.
#[derive(Debug, Clone)]
struct Keys {
    /// A kernel; the only one where there are borders, doubts that the format holds every matrix, or two parts.
    one: Candidate,
    p: Option<Statistic>,
    is_guarded: bool,
    /// Borders in the working set, increasing.
    borders: Vec<Bytes>,
    runs: Runs,
}

impl<'a> StripPredictor<'a> {
    /// Ready to predict `candidates`, which share a value type, for matrices with `ncols` columns. `is_guarded` names
    /// kernels whose format cannot hold every matrix that will be asked about.
    ///
    /// `None` if that would not give what [`predict`](crate::Model::predict) does: where a quantile stands for the row
    /// lengths (too much to know of every block of rows), where ELL and COO are fitted with one block size at different
    /// placements, or regimes are split more often than models here are.
    pub fn prepared(
        &self,
        candidates: &[Candidate],
        ncols: u64,
        is_guarded: impl Fn(Kernel) -> bool,
    ) -> Option<PreparedStrip<'a>> {
        let dtype = candidates.first()?.dtype;
        if matches!(self.row_length, RowLengthRule::Quantile(_)) {
            return None;
        }
        let mut prepared = PreparedStrip {
            facts: self.facts,
            x: Bytes(ncols.saturating_mul(dtype.vector_bytes())),
            kernels: Vec::new(),
            keys: Vec::new(),
            banded: Vec::new(),
            counts: Counts::default(),
            strips: Vec::new(),
            sums: Vec::new(),
        };
        let mut kernels: Vec<Kernel> = candidates.iter().map(|c| c.kernel).collect();
        kernels.dedup();
        for kernel in kernels {
            let wanted = |block| candidates.contains(&Candidate { kernel, block, dtype });
            prepared.add(self, kernel, dtype, is_guarded(kernel), wanted)?;
        }
        Some(prepared)
    }

    /// The fits that answer for both placements: equal where the rule or the fits leave one.
    fn placed(&self, candidate: &Candidate) -> Option<Placed<'a>> {
        let at = |placement| self.model.find(candidate, placement);
        let (banded, scattered) = (at(Placement::Banded), at(Placement::Scattered));
        let only = match (self.placement, banded, scattered) {
            (PlacementRule::Blend, Some(banded), Some(scattered)) => return Some([banded, scattered]),
            (PlacementRule::Scattered, _, Some(_)) | (_, None, _) => scattered,
            _ => banded,
        };
        Some([only?; 2])
    }
}

impl<'a> PreparedStrip<'a> {
    /// Adds a kernel, unless nothing of it is fitted; `None` if it cannot be prepared.
    fn add(
        &mut self,
        predictor: &StripPredictor<'a>,
        kernel: Kernel,
        dtype: Dtype,
        is_guarded: bool,
        wanted: impl Fn(u32) -> bool,
    ) -> Option<()> {
        let fits = |kernel| {
            BLOCKS
                .map(|block| predictor.placed(&Candidate { kernel, block, dtype }).filter(|_| wanted(block)))
        };
        let candidates = BLOCKS.map(|block| Candidate { kernel, block, dtype });
        let p = Statistic::of(kernel, predictor.row_length);
        let parts = kernel.parts();
        let (part, coo) = match parts {
            Some([ell, coo]) => (fits(ell), Some(fits(coo))),
            None => (fits(kernel), None),
        };
        let mut borders = Vec::new();
        for fit in part.iter().chain(coo.iter().flatten()).flatten().flatten() {
            lines::add_borders(&fit.regimes, self.x, &mut borders)?;
        }
        borders.sort_unstable();
        borders.dedup();
        if let Some(coo) = &coo {
            let placements = |fits: &Placed<'_>| fits.map(|fit| fit.placement);
            let alike = |(ell, coo): (&Option<Placed<'_>>, &Option<Placed<'_>>)| match (ell, coo) {
                (Some(ell), Some(coo)) => placements(ell) == placements(coo),
                _ => true,
            };
            if !part.iter().zip(coo).all(alike) {
                return None;
            }
        }
        if part.iter().chain(coo.iter().flatten()).all(Option::is_none) {
            return Some(());
        }
        let keys = Keys { one: candidates[0], p, is_guarded, borders, runs: Runs::default() };
        let known = self.keys.iter().position(|known| known.serves(&keys));
        let keys = known.unwrap_or_else(|| {
            self.keys.push(keys);
            self.keys.len() - 1
        });
        let mut prepared = |kernel, counted, fits| {
            let strips = self.strips_of(predictor.facts, kernel, counted);
            PreparedPart { fits, strips, made_for: None, lines: Lines::default() }
        };
        let [first, second] = parts.unwrap_or([kernel; 2]);
        let part = prepared(first, Counted::Unit(first.unit()), part);
        let coo = coo.map(|fits| prepared(second, Counted::Rest, fits));
        self.kernels.push(PreparedKernel { candidates, part, coo, keys });
        Some(())
    }

    /// The place of I for the strips of `kernel`.
    fn strips_of(&mut self, facts: &DeviceFacts, kernel: Kernel, counted: Counted) -> usize {
        let strip = strip(kernel, facts);
        self.strips.iter().position(|known| known.is_of(counted, strip)).unwrap_or_else(|| {
            self.strips.push(StripCounts::new(counted, strip));
            self.strips.len() - 1
        })
    }

    /// Forgets all matrices.
    pub fn clear(&mut self) {
        self.banded.clear();
        self.counts.clear();
        self.keys.iter_mut().for_each(|keys| keys.runs.clear());
    }

    /// Asks about one more matrix, with as many rows and non-zeros as the one before it or more. `is_possible` is asked for
    /// each of the guarded kernels, whether its format can hold the matrix.
    ///
    /// It needs no features that [`Block::outline`](sparsight_matrix::Block::outline) lacks, but those of a matrix with
    /// the prepared columns. O(kernels).
    pub fn push(&mut self, features: &Features, is_possible: impl Fn(Kernel) -> bool) {
        debug_assert!(
            self.counts.may_precede(features.nrows, features.nnz),
            "rows and non-zeros do not decrease"
        );
        self.banded.push(reuse(features));
        self.counts.push(features.nrows, features.nnz, features.hyb.coo_nnz);
        for keys in &mut self.keys {
            keys.push(features, &is_possible);
        }
    }

    /// Lowers `least[k]` to the least time of the matrix that was asked about k-th, over the candidates that are `wanted`.
    /// Seconds; what a format cannot hold or the model does not know lowers nothing.
    ///
    /// # Panics
    /// If `least` are not as many as the matrices.
    pub fn lower(&mut self, wanted: impl Fn(&Candidate) -> bool, least: &mut [f64]) {
        assert_eq!(least.len(), self.banded.len(), "a time a matrix");
        for strips in &mut self.strips {
            strips.update(&self.counts);
        }
        let Self { facts, x, keys, strips, banded, sums, .. } = self;
        for kernel in &mut self.kernels {
            for (key, range) in keys[kernel.keys].runs.iter().filter(|run| run.0.is_possible) {
                let footprint = Footprint { working_set: key.border, x: *x };
                let run = Run { range, strips: &*strips, banded: &*banded };
                kernel.lower(facts, &footprint, &key, &run, &wanted, (&mut *least, sums));
            }
        }
    }
}

/// Neighbouring matrices with one set of equations.
struct Run<'r> {
    range: Range<usize>,
    strips: &'r [StripCounts],
    banded: &'r [f64],
}

impl Run<'_> {
    /// I of all of them.
    fn strips(&self, part: &PreparedPart<'_>) -> &[f64] {
        &self.strips[part.strips].get()[self.range.clone()]
    }

    /// Returns whether `part` never takes longer with block size `one` than with `other`.
    fn undercuts(&self, part: &PreparedPart<'_>, one: usize, other: usize) -> bool {
        match self.strips(part) {
            // They increase.
            &[first, .., last] => part.lines.undercuts(one, other, first, last),
            _ => false,
        }
    }

    /// The times of `part` with a block size: `each(k, T)`.
    #[inline]
    fn for_each(
        &self,
        part: &PreparedPart<'_>,
        block: usize,
        into: &mut [f64],
        each: impl Fn(&mut f64, f64),
    ) {
        let banded = &self.banded[self.range.clone()];
        part.lines.for_each(block, (self.strips(part), banded), into, each);
    }
}

impl Keys {
    /// Returns whether another kernel has the same runs.
    fn serves(&self, other: &Self) -> bool {
        let is_plain =
            |keys: &Self| !keys.is_guarded && keys.borders.is_empty() && keys.one.kernel.parts().is_none();
        is_plain(self) && is_plain(other) && self.p == other.p
    }

    #[inline]
    fn push(&mut self, features: &Features, is_possible: impl Fn(Kernel) -> bool) {
        let border = if self.borders.is_empty() {
            Bytes(u64::MAX)
        } else {
            let working_set = compulsory_bytes(&self.one, features);
            let next = self.borders.partition_point(|&border| border < working_set);
            self.borders.get(next).copied().unwrap_or(Bytes(u64::MAX))
        };
        self.runs.push(Key {
            row_length: self.p.map_or(0, |p| p.value(features)),
            has_rest: self.p == Some(Statistic::HybWidth) && features.hyb.coo_nnz > 0,
            border,
            is_possible: !self.is_guarded || is_possible(self.one.kernel),
        });
    }
}

impl<'a> PreparedKernel<'a> {
    /// The parts of a product; of an empty matrix the ELL part of HYB stands for the launch that takes place all the same.
    fn parts(&mut self, key: &Key) -> (&mut PreparedPart<'a>, Option<&mut PreparedPart<'a>>) {
        match self.coo.as_mut().filter(|_| key.has_rest) {
            Some(coo) if key.row_length == 0 => (coo, None),
            rest => (&mut self.part, rest),
        }
    }

    /// Lowers `least` for the matrices of a run; `sums` is room for as many numbers.
    fn lower(
        &mut self,
        facts: &DeviceFacts,
        footprint: &Footprint,
        key: &Key,
        run: &Run<'_>,
        wanted: impl Fn(&Candidate) -> bool,
        (least, sums): (&mut [f64], &mut Vec<f64>),
    ) {
        let candidates = self.candidates;
        let (own, mut rest) = self.parts(key);
        own.make_for(facts, footprint, key.row_length);
        if let Some(rest) = &mut rest {
            rest.make_for(facts, footprint, 0);
        }
        let (own, rest) = (&*own, rest.as_deref());
        let least = &mut least[run.range.clone()];
        let is_wanted: [bool; BLOCKS.len()] = std::array::from_fn(|at| {
            let is_known = own.fits[at].is_some() && rest.is_none_or(|rest| rest.fits[at].is_some());
            is_known && wanted(&candidates[at])
        });
        let undercuts = |one, other| {
            run.undercuts(own, one, other) && rest.is_none_or(|rest| run.undercuts(rest, one, other))
        };
        // Of two that take equally long the first is looked at.
        let is_undercut = |at: usize| {
            (0..BLOCKS.len()).any(|other| {
                other != at
                    && is_wanted[other]
                    && undercuts(other, at)
                    && (other < at || !undercuts(at, other))
            })
        };
        let lower = |least: &mut f64, time: f64| *least = if time < *least { time } else { *least };
        for at in (0..BLOCKS.len()).filter(|&at| is_wanted[at]) {
            if least.len() >= WORTH_LEAVING_OUT && is_undercut(at) {
                continue;
            }
            match rest {
                None => run.for_each(own, at, least, lower),
                Some(rest) => {
                    sums.clear();
                    sums.resize(least.len(), 0.0);
                    run.for_each(own, at, sums, |sum, time| *sum = time);
                    run.for_each(rest, at, sums, |sum, time| *sum += time);
                    least.iter_mut().zip(&*sums).for_each(|(least, &time)| lower(least, time));
                }
            }
        }
    }
}

impl PreparedPart<'_> {
    /// Makes the lines for p and a footprint, unless they are for those already.
    fn make_for(&mut self, facts: &DeviceFacts, footprint: &Footprint, row_length: u64) {
        let wanted = Some((row_length, footprint.working_set));
        if self.made_for != wanted {
            self.made_for = wanted;
            self.lines = Lines::new(&self.fits, facts, footprint, row_length);
        }
    }
}
