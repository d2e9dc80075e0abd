//! Every candidate for a matrix, predicted and ranked.

use crate::devices::profile_for;
use crate::failure::{Failure, Kind};
use crate::forked;
use crate::matrix::{AnyCsr, Matrix, dtype_of};
use crate::typed::with_typed;
use pyo3::prelude::*;
use sparsight::advise::{Reason, RunNowName, Told};
use sparsight::answer::{AdviseAnswer, Answer, MatrixSummary};
use sparsight::kernels::DeviceKind;
use sparsight::matrix::{Dtype, Narrowing};
use sparsight::model::Iteration;
use sparsight::models::ModelName;
use sparsight::{Advisor, Objective, Plan, Profile};
use std::sync::{Arc, OnceLock};

/// Advice of the library, with its context for JSON.
#[pyclass(frozen, module = "sparsight._core")]
pub(crate) struct Advice {
    pub(crate) ranking: sparsight::Advice,
    /// Profile that made the predictions.
    pub(crate) profile: Arc<Profile>,
    pub(crate) objective: Objective,
    /// Value type of the products.
    pub(crate) dtype: Dtype,
    pub(crate) matrix: MatrixSummary,
    /// Effect of storing the values in f32, where that was asked for.
    narrowing: Option<Narrowing>,
    /// Why a product takes as long as it does; looked for when first asked.
    reasons: OnceLock<Vec<Reason>>,
}

impl Advice {
    /// The plan of the candidate with that id.
    pub(crate) fn plan_of(&self, id: &str) -> Result<Plan, Failure> {
        let ranked = self.ranking.ranked.iter();
        let found = ranked
            .filter(|one| !one.candidate.kernel.is_vendors())
            .find(|one| one.candidate.to_string() == id);
        let found = found.ok_or_else(|| {
            Failure::new(Kind::Infeasible, format!("'{id}' is none of the candidates that can be prepared"))
                .hinted("[one.id for one in advice if not one.vendor] are those that can")
        })?;
        Ok(Plan::whole(self.matrix.nrows as usize, found.candidate, Some(found.prediction.time)))
    }
}

#[pymethods]
impl Advice {
    /// Number of ranked candidates.
    fn __len__(&self) -> usize {
        self.ranking.ranked.len()
    }

    /// JSON as of `sparsight advise --json`: schema sparsight/advise/1. `matrix` is the one that it was given for; `has_values` is true
    /// if its values are those of the matrix.
    fn to_json(&self, py: Python<'_>, matrix: &Matrix, has_values: bool) -> PyResult<String> {
        forked::work(py, || {
            let told = Told { has_values: has_values && matrix.told.has_values, ..matrix.told };
            let asked = (self.dtype, &self.objective);
            let reasons = || {
                let of = (matrix.features(), &self.ranking);
                with_typed!(&matrix.csr, a => Advisor::new(&self.profile).reasons(a, told, of, asked))
            };
            let matrix = self.matrix.clone();
            let answer = AdviseAnswer::of(matrix, &self.profile, self.dtype, &self.objective, &self.ranking);
            // Reasons are those of a product's time.
            let reasons = if self.ranking.iteration.is_some() {
                Vec::new()
            } else {
                self.reasons.get_or_init(reasons).clone()
            };
            let answer = answer.with_reasons(reasons);
            AdviseAnswer { narrowing: self.narrowing, ..answer }.to_json()
        })
    }
}

const ITERATIONS: &str = "iteration=\"cg\", \"bicgstab\" or \"pdhg\"";

const RUN_NOW: &str =
    "name a kernel or candidate, such as \"cusparse-csr\" or \"csr-vector/t8/b256\", or \"scipy\"";

const MODELS: &str = "leave model= out for the best of each kernel; advice.best.model names one that answers";

/// Effect of storing the values of the matrix in f32, beside vectors in f64 on such a device.
fn narrowed(matrix: &Matrix, dtype: Dtype, kind: DeviceKind) -> Result<Narrowing, Failure> {
    match (&matrix.csr, dtype, kind.has_mixed_precision()) {
        (AnyCsr::F64(a), Dtype::F64, true) => Ok(Narrowing::of(a)),
        (_, Dtype::F64, false) => {
            let text = "values in f32 beside vectors in f64 are for GPUs, and this is for a CPU";
            Err(Failure::new(Kind::SparsightError, text)
                .hinted("leave values= out, or dtype=\"f32\" for a product that is f32 throughout"))
        }
        _ => Err(Failure::new(
            Kind::SparsightError,
            "values=\"f32\" is for a matrix in f64: this one is f32 throughout",
        )
        .hinted("leave values= out, or dtype=\"f64\"")),
    }
}

/// Predicts and ranks every candidate. `dtype`: of the values, None for those that the matrix has. `mixed`: also candidates that store
/// the values in f32 beside vectors in f64; the matrix then has its values. `run_now`: what break-evens are counted from. `iteration`: the
/// solver by whose iteration candidates are ranked.
#[pyfunction]
#[pyo3(signature = (matrix, name, device, products, model, dtype, mixed=false, run_now=None, iteration=None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn advise(
    py: Python<'_>,
    matrix: &Matrix,
    name: &str,
    device: Option<&str>,
    products: Option<u64>,
    model: Option<&str>,
    dtype: Option<&str>,
    mixed: bool,
    run_now: Option<&str>,
    iteration: Option<&str>,
) -> PyResult<Advice> {
    let dtype = dtype.map(dtype_of).transpose()?.unwrap_or_else(|| matrix.csr.dtype());
    let model: Option<ModelName> = model
        .map(|model| model.parse().map_err(|text: String| Failure::new(Kind::NoProfile, text).hinted(MODELS)))
        .transpose()?;
    let run_now: Option<RunNowName> = run_now
        .map(|name| {
            name.parse().map_err(|text: String| Failure::new(Kind::SparsightError, text).hinted(RUN_NOW))
        })
        .transpose()?;
    let iteration: Option<Iteration> = iteration
        .map(|name| {
            name.parse().map_err(|text: String| Failure::new(Kind::SparsightError, text).hinted(ITERATIONS))
        })
        .transpose()?;
    let mut objective = Objective { products, model, ..Objective::default() };
    let advised = forked::work(py, || {
        let profile = profile_for(device)?;
        let narrowing = mixed.then(|| narrowed(matrix, dtype, profile.device.facts.kind)).transpose()?;
        objective.mixed_precision = narrowing.is_some_and(|narrowing| narrowing.too_large == 0);
        let features = matrix.features();
        let advisor = Advisor::new(&profile);
        let mut ranking = match iteration {
            None => advisor.advise(features, dtype, &objective)?,
            Some(iteration) => {
                let turned = iteration.needs_transpose().then(|| matrix.transposed_features()).transpose()?;
                let of = (features, turned.as_ref());
                advisor.advise_iteration(of, dtype, &objective, iteration)?
            }
        };
        if let Some(name) = &run_now {
            ranking.count_from(Some(ranking.run_now_by(name, (&profile, features, dtype), products)?));
        }
        Ok::<_, Failure>(Advice {
            ranking,
            profile,
            objective,
            dtype,
            matrix: MatrixSummary::of(name, features),
            narrowing,
            reasons: OnceLock::new(),
        })
    })?;
    Ok(advised?)
}
