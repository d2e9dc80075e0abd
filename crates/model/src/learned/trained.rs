//! Range of the training matrices. Beyond it a learned model guesses, and a prediction says so.

use super::LearningSample;
use crate::{Extent, Extrapolation};
use serde::{Deserialize, Serialize};
use sparsight_kernels::{Candidate, compulsory_bytes};
use sparsight_matrix::Features;

/// Extents over the samples of one kernel.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Trained {
    rows: Extent,
    columns: Extent,
    non_zeros: Extent,
    longest_row: Extent,
    working_set: Extent,
}

impl Trained {
    /// `None` without samples.
    pub(super) fn of(samples: &[LearningSample<'_>]) -> Option<Self> {
        let extent = |of: &dyn Fn(&LearningSample<'_>) -> u64| Extent::of(samples.iter().map(of));
        Some(Self {
            rows: extent(&|s| s.features.nrows)?,
            columns: extent(&|s| s.features.ncols)?,
            non_zeros: extent(&|s| s.features.nnz)?,
            longest_row: extent(&|s| s.features.row_max)?,
            working_set: extent(&|s| compulsory_bytes(&s.candidate, s.features).0)?,
        })
    }

    /// Factor by which the interval is to be widened, and the quantities in which the matrix lies outside.
    pub(super) fn outside(&self, candidate: &Candidate, features: &Features) -> (f64, Vec<Extrapolation>) {
        let (mut widening, mut extrapolates) = (0.0, Vec::new());
        for (quantity, value, extent) in [
            ("rows", features.nrows, self.rows),
            ("columns", features.ncols, self.columns),
            ("non-zeros", features.nnz, self.non_zeros),
            ("longest row", features.row_max, self.longest_row),
            ("working set", compulsory_bytes(candidate, features).0, self.working_set),
        ] {
            if !extent.contains(value) {
                widening += extent.widening(value);
                let (from, to) = (extent.from as f64, extent.to as f64);
                extrapolates.push(Extrapolation { quantity, value: value as f64, from, to });
            }
        }
        (widening, extrapolates)
    }
}
