//! `advise` for several matrices: what to use for each, and what that gains over all of them.

use super::{DeviceSummary, MatrixSummary, VerdictAnswer};
use crate::{Advice, Profile};
use serde::Serialize;
use serde_with::skip_serializing_none;
use sparsight_matrix::{Bytes, Dtype, Narrowing, Seconds};
use sparsight_model::Prediction;
use sparsight_model::accuracy::geometric_mean;

/// `sparsight/advise-many/1`: what to use for each of several matrices.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AdviseManyAnswer {
    /// The device that is predicted for.
    pub device: DeviceSummary,
    /// Value type.
    pub dtype: Dtype,
    /// Products to come, by all of which candidates are ranked; absent if one product counts.
    pub products: Option<u64>,
    /// Matrices in the order of the request, without those that could not be read.
    pub matrices: Vec<AdvisedMatrix>,
    /// Geometric mean, over the matrices, of how many times as fast the best is as the fastest plain CSR; absent without any.
    pub over_plain_csr: Option<f64>,
    /// Geometric mean of the speedups over the vendor's fastest routine for CSR; absent without any.
    pub over_vendors_csr: Option<f64>,
}

/// Verdict for one matrix.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AdvisedMatrix {
    /// The matrix.
    pub matrix: MatrixSummary,
    /// Verdict; absent if no candidate is possible, as are the fields that follow.
    pub verdict: Option<VerdictAnswer>,
    /// Time of the best.
    #[serde(flatten)]
    pub prediction: Option<Prediction>,
    /// Memory of the matrix on the device in it, without x and y.
    pub memory_bytes: Option<Bytes>,
    /// Time of conversion and upload, seconds; absent if not measured.
    pub conversion_s: Option<Seconds>,
    /// Products after which that has paid against the `run_now` of the verdict; 0 for that itself, absent if never.
    pub pays_off_after: Option<u64>,
    /// Effect of storing the values in `f32`; absent unless mixed precision was asked for.
    pub narrowing: Option<Narrowing>,
}

impl AdvisedMatrix {
    /// Answer from the advice for one matrix.
    pub fn of(matrix: MatrixSummary, advice: &Advice, products: Option<u64>) -> Self {
        let best = advice.ranked.first();
        Self {
            matrix,
            verdict: advice.verdict(products).as_ref().map(VerdictAnswer::from),
            prediction: best.map(|best| best.prediction.clone()),
            memory_bytes: best.map(|best| best.memory),
            conversion_s: best.and_then(|best| best.preparation),
            pays_off_after: best.and_then(|best| best.pays_off_after),
            narrowing: None,
        }
    }
}

impl AdviseManyAnswer {
    /// Answer from the advice for each matrix.
    pub fn of(profile: &Profile, dtype: Dtype, products: Option<u64>, matrices: Vec<AdvisedMatrix>) -> Self {
        // Of a matrix without non-zeros nothing is gained, whatever the launches take.
        let verdicts =
            || matrices.iter().filter(|one| one.matrix.nnz > 0).filter_map(|one| one.verdict.as_ref());
        let over_plain_csr = geometric_mean(verdicts().filter_map(|v| v.plain_csr.map(|csr| csr.speedup)));
        let over_vendors_csr =
            geometric_mean(verdicts().filter_map(|v| v.vendors_csr.map(|csr| csr.speedup)));
        Self { device: profile.into(), dtype, products, matrices, over_plain_csr, over_vendors_csr }
    }
}
