//! Predicts: pure functions from a matrix' features and a device's benchmark times to a time with an interval.
//! Knows no device, which proves that a prediction needs no GPU.
//!
//! ```text
//! Observation (benchmark matrix, time) -> StripModel::fit -> StripModel  (stored in a profile)
//! StripModel + DeviceFacts  = StripPredictor: Model
//! LearningSample (measured matrix, time) -> LearnedModel::fit -> LearnedModel  (stored in a profile)
//! LearnedModel + DeviceFacts = LearnedPredictor: Model;  learned by Boosting, or by a method of another crate
//! Comparison: the candidates of one matrix against each other, learned from the same samples
//! Model + Candidate + Features -> Prediction -> Ranking
//! Features of the matrices learned from -> Surroundings: how far another one is from them, and which are the nearest
//! Predictions + times of some of them = Conditioned: what is expected of the others, and which to run next
//! MeasuredPreparation -> PreparationModel: conversion and upload before the first product
//! time of every block of neighbouring rows -> Partition
//! Prediction + Iteration = IterationCost: an iteration of a solver around the product
//! times on two devices -> Rescaling;   Rescaling + facts of both + Prediction -> Prediction for the other
//! ```
//!
//! Sources: Guo and Wang 2012 and 2013; Guo, Wang and Chen 2014; Lehnert et al. 2016; Wang, Gu and Li 2017. Each file names its equation.

pub mod accuracy;
pub mod packed;

mod baseline;
mod between;
mod boosting;
mod calibration;
mod comparison;
mod conditioned;
mod error;
mod extent;
mod fitted_line;
mod interval;
mod iteration;
mod learned;
mod line;
mod links;
mod mixed;
mod model;
mod network;
mod non_negative;
mod observation;
mod partition;
mod prediction;
mod preparation;
mod prepared_strip;
mod random;
mod ranking;
mod regime;
mod rescaling;
mod row_length_rule;
mod side_by_side;
mod storable;
mod strip_coo;
mod strip_csr;
mod strip_ell;
mod strip_fit;
mod strip_model;
mod strip_predictor;
mod surroundings;
mod trees;

pub use accuracy::Accuracy;
pub use baseline::{Baseline, Terms};
pub use between::{Between, Floor};
pub use boosting::{Boosting, BoostingModel, BoostingPredictor};
pub use calibration::{Calibration, MeasuredPair};
pub use comparison::Comparison;
pub use conditioned::{Conditioned, NextRun};
pub use error::PredictError;
pub use extent::Extent;
pub use fitted_line::{Along, Bound, FittedLine};
pub use interval::LogInterval;
pub use iteration::{InLaunch, IteratedProduct, Iteration, IterationCost, IterationTime, ProductStep, Step};
pub use learned::{
    CrossValidation, Judged, LearnedKernel, LearnedModel, LearnedPredictor, Learner, LearningSample,
    MIN_MATRICES, Origin, Quantity, enough_real,
};
pub use line::Line;
pub use links::{Exchanged, LinkRate, Links, ShareTimes};
pub use mixed::{Beside32And64, MeasuredInAll, MixedPrecision, saved_share};
pub use model::{Model, Predicted};
pub use non_negative::fit as fit_non_negative;
pub use observation::{Footprint, Observation, Point};
pub use partition::{
    BlockCosts, CutCost, LearnedCut, MeasuredCut, Partition, Piece, optimal_partition, optimal_partition_of,
};
pub use prediction::{Extrapolation, Prediction, Term};
pub use preparation::{MeasuredPreparation, PreparationCost, PreparationModel};
pub use prepared_strip::PreparedStrip;
pub use ranking::{ChoiceQuality, Ranked, Ranking, is_within, rank};
pub use regime::{Regimes, Split, SplitBy};
pub use rescaling::{OnBoth, Rescaling};
pub use row_length_rule::{KnownQuantile, RowLengthRule, representative_row_length};
pub use storable::Storable;
pub use strip_coo::CooStrip;
pub use strip_csr::{AboveThreshold, CsrSide, CsrStrip};
pub use strip_ell::EllStrip;
pub use strip_fit::StripFit;
pub use strip_model::{FittedCandidate, StripModel, UnfittedCandidate, Variant};
pub use strip_predictor::{PlacementRule, StripPredictor};
pub use surroundings::{Near, Surroundings};
