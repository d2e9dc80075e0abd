//! `predict`: the prediction of one model for each candidate, with the numbers that went into it.

use serde::Serialize;
use serde_with::skip_serializing_none;
use sparsight::answer::{DeviceSummary, MatrixSummary, NamedCandidate};
use sparsight::models::ModelName;
use sparsight::predict::Predictor;
use sparsight_kernels::{Candidate, feasible};
use sparsight_matrix::{Features, Limits};
use sparsight_model::{Model, PlacementRule, Prediction, RowLengthRule, Term};

/// `sparsight/predict/1`: what one model predicts, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PredictAnswer {
    /// The matrix.
    pub matrix: MatrixSummary,
    /// The device that is predicted for.
    pub device: DeviceSummary,
    /// The model that was asked; `best` asks others.
    pub model: ModelName,
    /// Rule that picked the benchmark matrices for the columns.
    pub placement: PlacementRule,
    /// Statistic that stands for the row lengths.
    pub row_length: RowLengthRule,
    /// Candidates in the order of the request.
    pub candidates: Vec<PredictedCandidate>,
}

impl PredictAnswer {
    /// Returns whether a time is predicted of any of the candidates.
    pub fn has_times(&self) -> bool {
        self.candidates.iter().any(|one| one.prediction.is_some())
    }
}

/// A candidate with its prediction, or why there is none.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PredictedCandidate {
    /// The candidate.
    #[serde(flatten)]
    pub candidate: NamedCandidate,
    /// The model that answered, never `best`; absent without a prediction.
    pub model: Option<ModelName>,
    /// Prediction.
    #[serde(flatten)]
    pub prediction: Option<Prediction>,
    /// The numbers of its formula.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub terms: Vec<Term>,
    /// Why there is no prediction; absent with one.
    pub infeasible: Option<String>,
}

impl PredictedCandidate {
    /// Prediction by `predictor` for a matrix with `features` on a device with `limits`.
    pub fn of(predictor: &Predictor<'_>, candidate: Candidate, features: &Features, limits: &Limits) -> Self {
        let refused = |why: String| Self {
            candidate: candidate.into(),
            model: None,
            prediction: None,
            terms: Vec::new(),
            infeasible: Some(why),
        };
        if let Err(why) = feasible(&candidate, features, limits) {
            return refused(why.to_string());
        }
        let answer = predictor.answer(&candidate, features);
        match answer.and_then(|answer| Ok((answer, predictor.explain(&candidate, features)?))) {
            Ok(((model, prediction), terms)) => Self {
                candidate: candidate.into(),
                model: Some(model),
                prediction: Some(prediction),
                terms,
                infeasible: None,
            },
            Err(why) => refused(why.to_string()),
        }
    }
}

/// `sparsight/predict-many/1`: what one model predicts for several matrices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PredictManyAnswer {
    /// Matrices in the order of the request, without those that could not be read.
    pub matrices: Vec<PredictAnswer>,
}
