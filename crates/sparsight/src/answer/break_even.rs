//! `advise --gpus --break-even`: from which size of a family on several GPUs are faster.

use super::{DeviceSummary, LinksAnswer};
use serde::Serialize;
use serde_with::skip_serializing_none;
use sparsight_matrix::{Dtype, Seconds};

/// `sparsight/advise-break-even/1`: a recipe with one of its parameters varied.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BreakEvenAnswer {
    /// The recipe as it was written.
    pub recipe: String,
    /// The parameter that is varied.
    pub parameter: String,
    /// A GPU of those that are predicted for.
    pub device: DeviceSummary,
    /// Value type.
    pub dtype: Dtype,
    /// Distribution of rows.
    pub deal: String,
    /// The links between GPUs.
    pub links: LinksAnswer,
    /// Non-zeros beyond which nothing was tried.
    pub most_nnz: u64,
    /// Smallest size from which each number of GPUs above one is faster, fewest GPUs first.
    pub from: Vec<FasterFrom>,
    /// Sizes that were predicted, smallest first.
    pub sizes: Vec<SizeTried>,
}

/// Smallest size from which a number of GPUs is predicted to be more than 5 % faster than one.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FasterFrom {
    /// GPUs.
    pub count: usize,
    /// The parameter's value; absent if they are faster at no size that was tried.
    pub value: Option<u64>,
    /// Non-zeros of that matrix; absent if `value` is.
    pub nnz: Option<u64>,
}

/// A size with its predicted times.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SizeTried {
    /// The parameter's value.
    pub value: u64,
    /// Non-zeros.
    pub nnz: u64,
    /// Times by number of GPUs, without those that cannot hold the matrix.
    pub gpus: Vec<TimeOnGpus>,
}

/// A time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TimeOnGpus {
    /// GPUs.
    pub count: usize,
    /// Predicted time of one product, seconds.
    pub predicted_s: Seconds,
}

impl SizeTried {
    /// Time on `count` GPUs; `None` if they cannot hold the matrix.
    pub fn on(&self, count: usize) -> Option<Seconds> {
        self.gpus.iter().find(|on| on.count == count).map(|on| on.predicted_s)
    }

    /// Returns true if `count` GPUs are more than 5 % faster than one, or hold a matrix that one cannot.
    pub fn is_faster_on(&self, count: usize) -> bool {
        match (self.on(count), self.on(1)) {
            (Some(several), Some(one)) => one.0 > super::advise_gpus::GAIN * several.0,
            (several, _) => several.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_too_large_for_one_gpu_is_faster_on_several() {
        let tried = |times: &[(usize, f64)]| {
            let on = |&(count, time): &(usize, f64)| TimeOnGpus { count, predicted_s: Seconds(time) };
            SizeTried { value: 1, nnz: 1, gpus: times.iter().map(on).collect() }
        };
        assert!(tried(&[(1, 1.0), (2, 0.9)]).is_faster_on(2));
        assert!(!tried(&[(1, 1.0), (2, 0.97)]).is_faster_on(2), "within what predictions are off by");
        assert!(tried(&[(2, 0.9)]).is_faster_on(2));
        assert!(!tried(&[(1, 1.0)]).is_faster_on(2));
    }
}
