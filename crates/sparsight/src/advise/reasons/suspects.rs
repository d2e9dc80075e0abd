//! Properties of a matrix that may cost time, with an upper estimate of the cost, to choose which to examine.

use super::Case;
use crate::advise::Reason;
use sparsight_kernels::DeviceFacts;
use sparsight_matrix::{
    Dtype, Features, Locality, Permutation, Scalar, Seconds, without_empty_rows, without_long_rows,
    without_zeros,
};

/// Rows are long that have more than so many times the non-zeros that 99 % of the rows do not exceed. Chosen; what they cost is
/// predicted, whatever it is.
const LONG: u64 = 10;

/// Non-zeros from which on no other order is tried unasked. Chosen: below, finding one takes some tenths of a second.
const MOST_REORDERED: u64 = 2_000_000;

/// Places of the median and of the length that 99 % of the rows do not exceed in the quantiles of the features.
const MEDIAN: usize = 2;
const P99: usize = 6;

/// Upper bound of the cache's rate as a multiple of the copy rate. Chosen so that no property that may cost time is missed: the
/// matrix is then examined again.
const FROM_CACHE: f64 = 2.0;

/// Bytes of a memory sector.
const SECTOR: f64 = 32.0;

/// A property that may cost time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Suspect {
    StoredZeros { zeros: u64 },
    EmptyRows,
    LongRows { longer_than: u64 },
    Numbering,
}

impl Suspect {
    /// Properties of this matrix, each with an upper estimate of its cost in a product, seconds: zeros and empty rows by their bytes,
    /// x that is fetched again at the rate of copies, and long rows by the time that bytes do not explain.
    pub(super) fn all<T: Scalar>(case: &Case<'_, T>, facts: &DeviceFacts) -> Vec<(f64, Self)> {
        let Case { features, used, .. } = case;
        let moving = (used.prediction.time.0 - facts.launch_s.0).max(0.0);
        let at_copy_rate = |bytes: f64| {
            if facts.copy_bytes_per_s > 0.0 { bytes / facts.copy_bytes_per_s } else { 0.0 }
        };
        let mut all = Vec::new();
        if case.told.has_values {
            let zeros = case.a.values().iter().filter(|value| **value == T::default()).count() as u64;
            all.push((moving * zeros as f64 / features.nnz as f64, Self::StoredZeros { zeros }));
        }
        // An offset and an entry of y each.
        let empty = features.empty_rows * (8 + case.dtype.bytes());
        all.push((moving * empty as f64 / used.bytes.0.max(1) as f64, Self::EmptyRows));
        let x_bytes = (features.ncols * case.dtype.bytes()) as f64;
        let again = x_fetches(features, case.dtype).map_or(0.0, |times| (times - 1.0).max(0.0) * x_bytes);
        let again = at_copy_rate(again).min(moving);
        if features.nrows == features.ncols && features.nnz < MOST_REORDERED && !case.told.is_reordered {
            all.push((again, Self::Numbering));
        }
        let longer_than = LONG * features.row_quantiles[P99].max(1);
        if features.row_max > longer_than {
            let faster = if used.bytes <= facts.l2_bytes { FROM_CACHE } else { 1.0 };
            let unexplained = moving - at_copy_rate(used.bytes.0 as f64) / faster - again;
            all.push((unexplained.max(0.0), Self::LongRows { longer_than }));
        }
        all
    }

    /// Features of the matrix without it; `None` where memory is refused.
    pub(super) fn without<T: Scalar>(self, case: &Case<'_, T>) -> Option<Features> {
        let without = match self {
            Self::StoredZeros { .. } => without_zeros(case.a)?,
            Self::EmptyRows => without_empty_rows(case.a)?,
            Self::LongRows { longer_than } => {
                without_long_rows(case.a, longer_than as usize, median(case.features) as usize)?
            }
            Self::Numbering => Permutation::reverse_cuthill_mckee(case.a).ok()?.of_matrix(case.a).ok()?,
        };
        Some(Features::of(&without))
    }

    /// The reason with its measured cost.
    pub(super) fn reason<T: Scalar>(self, case: &Case<'_, T>, without: &Features, cost_s: Seconds) -> Reason {
        let (features, of_s) = (case.features, case.used.prediction.time);
        match self {
            Self::StoredZeros { zeros } => Reason::StoredZeros { zeros, entries: features.nnz, cost_s, of_s },
            Self::EmptyRows => {
                Reason::EmptyRows { empty: features.empty_rows, rows: features.nrows, cost_s, of_s }
            }
            Self::LongRows { longer_than } => {
                let is_long = |offsets: &&[u64]| offsets[1] - offsets[0] > longer_than;
                let rows = case.a.row_ptr().windows(2).filter(is_long).count() as u64;
                Reason::LongRows { rows, longest: features.row_max, cost_s, of_s }
            }
            Self::Numbering => {
                let fetched = |features| x_fetches(features, case.dtype).unwrap_or(1.0);
                let (fetched, fetched_reordered) = (fetched(features), fetched(without));
                Reason::Numbering { fetched, fetched_reordered, cost_s, of_s }
            }
        }
    }
}

/// Number of times that x is fetched in a product, by the sectors that 1024 neighbouring rows touch; `None` without locality.
fn x_fetches(features: &Features, dtype: Dtype) -> Option<f64> {
    let Features { ncols, nnz, locality, .. } = features;
    let sectors = locality.as_ref()?.multiprocessor_sectors[Locality::sector(dtype)] * *nnz as f64;
    Some(sectors * SECTOR / (*ncols * dtype.of_vectors().bytes()).max(1) as f64)
}

/// Non-zeros of the median row, at least one.
fn median(features: &Features) -> u64 {
    features.row_quantiles[MEDIAN].max(1)
}
