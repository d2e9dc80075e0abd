//! What the commands of the program answer, as plain data: the one place where the fields of `--json` are defined.
//!
//! | command | answer | schema |
//! |---|---|---|
//! | `advise` | [`AdviseAnswer`] | `sparsight/advise/1` |
//! | `advise`, several matrices | [`AdviseManyAnswer`] | `sparsight/advise-many/1` |
//! | `advise --gpus` | [`AdviseGpusAnswer`] | `sparsight/advise-gpus/1` |
//! | `advise --gpus --break-even` | [`BreakEvenAnswer`] | `sparsight/advise-break-even/1` |
//! | `lab predict` | [`PredictAnswer`] | `sparsight/predict/1` |
//! | `lab predict`, several matrices | [`PredictManyAnswer`] | `sparsight/predict-many/1` |
//! | `plan` | [`PlanAnswer`] | `sparsight/plan/1` |
//! | `lab transfer` | [`TransferAnswer`] | `sparsight/transfer/1` |
//! | `lab transfer`, several matrices | [`TransferManyAnswer`] | `sparsight/transfer-many/1` |
//! | `compare` | [`CompareAnswer`] | `sparsight/compare/1` |
//! | `compare --gpus` | [`CompareGpusAnswer`] | `sparsight/compare-gpus/1` |
//! | `compare`, several matrices | [`CompareManyAnswer`] | `sparsight/compare-many/1` |
//! | `bench` | [`BenchAnswer`] | `sparsight/bench/1` |
//! | `calibrate` | [`CalibrateAnswer`] | `sparsight/calibrate/1` |
//! | `lab profile` | [`ProfileAnswer`] | `sparsight/profile/1` |
//! | `lab profile --links` | [`ProfileLinksAnswer`] | `sparsight/profile-links/1` |
//! | `lab measure` | [`MeasureAnswer`] | `sparsight/measure/1` |
//! | `lab fit` | [`FitAnswer`] | `sparsight/fit/1` |
//! | `lab repair` | [`RepairAnswer`] | `sparsight/repair/1` |
//! | `lab evaluate` | [`EvaluateAnswer`] | `sparsight/evaluate/1` |
//! | `lab evaluate --from` | [`EvaluateTransferAnswer`] | `sparsight/evaluate-transfer/1` |
//! | `lab evaluate --without-each` | [`EvaluateWithoutAnswer`] | `sparsight/evaluate-without/1` |
//! | `info` | [`InfoAnswer`] | `sparsight/info/1` |
//! | `info`, several matrices | [`InfoManyAnswer`] | `sparsight/info-many/1` |
//! | `devices` | [`DevicesAnswer`] | `sparsight/devices/1` |
//! | `kernels` | [`KernelsAnswer`] | `sparsight/kernels/1` |
//! | `kernels --source` | [`KernelSourceAnswer`] | `sparsight/kernel-source/1` |
//! | `report` | [`ReportAnswer`] | `sparsight/report/1` |
//! | `rules` | [`RulesAnswer`] | `sparsight/rules/1` |
//! | `gallery` | [`GalleryAnswer`] | `sparsight/gallery/1` |
//!
//! ```
//! use sparsight::answer::{AdviseAnswer, Answer, MatrixSummary};
//! use sparsight::{Advisor, Objective, Profile, matrix::{Dtype, Features, gallery::Recipe}};
//!
//! let features = Features::of(&"stencil2d,n=30".parse::<Recipe>()?.generate::<f64>()?);
//! let (profile, objective) = (Profile::shipped("nvidia-h200")?, Objective::default());
//! let advice = Advisor::new(&profile).advise(&features, Dtype::F64, &objective)?;
//! let matrix = MatrixSummary::of("my grid", &features);
//! let answer = AdviseAnswer::of(matrix, &profile, Dtype::F64, &objective, &advice).shortened(3);
//! assert!(answer.to_json().starts_with("{\n  \"schema\": \"sparsight/advise/1\",\n  \"matrix\""));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An answer is made from what the library returns, by `of` or `From`; one that only gathers others is written as a
//! literal. Names of fields end in their unit: `_s` seconds, `_w` watts, `_per_s` a second. Sizes are bytes, fractions 0.58
//! and not 58. The schema of each, field by field, is in `docs/answers.md`.
//!
//! Deliberately absent: words for people. These stand in the program, which writes them from the same results.

mod advise;
mod advise_gpus;
mod advise_many;
mod bench;
mod break_even;
mod calibrate;
mod candidate;
mod compare;
mod compare_gpus;
mod device;
mod devices;
mod error;
mod evaluate;
mod evaluate_transfer;
mod evaluate_without;
mod fields;
mod fit;
mod gallery;
mod info;
mod kernel_source;
mod kernels;
mod many;
mod matrix;
mod measure;
mod outcome;
mod plan;
mod predict;
mod prediction;
mod profile;
mod profile_links;
mod reordered;
mod repair;
mod report;
mod reported;
mod reported_plan;
mod rules;
mod structure;
mod transfer;

pub use advise::{
    AdviceProvenance, AdviseAnswer, AdvisedCandidate, Compared, Expected, NarrowingAnswer, NearMatrix,
    NearbyAnswer, ReasonAnswer, RunNowAnswer, VerdictAnswer,
};
pub use advise_gpus::{AdviseGpusAnswer, LinksAnswer, OnGpus, RowsAnswer, ShareAnswer, TooFewGpus};
pub use advise_many::{AdviseManyAnswer, AdvisedMatrix};
pub use bench::{BenchAnswer, BenchedBefore, BenchedCandidate, BenchedKernel, BenchedMatrix, OwnCandidate};
pub use break_even::{BreakEvenAnswer, FasterFrom, SizeTried, TimeOnGpus};
pub use calibrate::CalibrateAnswer;
pub use candidate::NamedCandidate;
pub use compare::{CompareAnswer, ComparedCandidate, ComparedNumbers, ComparedProfile, NamedLimit};
pub use compare_gpus::{CompareGpusAnswer, ComparedGpus, ComparedOnGpus, NumbersOfDevice};
pub use device::DeviceSummary;
pub use devices::{DeviceHere, DevicesAnswer, NoCuda};
pub use error::ErrorAnswer;
pub use evaluate::{
    BesideVendor, ChoiceCost, ErrorEntry, EvaluateAnswer, KernelOrFormat, KernelWins, MatrixCounts,
    StripModelWins, WorstPrediction,
};
pub use evaluate_transfer::{EvaluateTransferAnswer, RefusedTimes, TransferErrorEntry, WorstTransfer};
pub use evaluate_without::{EvaluateWithoutAnswer, WithoutPart};
pub use fields::NotReported;
pub use fit::{FitAnswer, FittedModel, LearnedErrors};
pub use gallery::{GalleryAnswer, GalleryGenerator, GalleryParameter};
pub use info::{FormatSize, InfoAnswer};
pub use kernel_source::{KernelSourceAnswer, SourceLaunch};
pub use kernels::{CatalogueKernel, KernelsAnswer};
pub use many::{CompareManyAnswer, InfoManyAnswer, MeanSpeed, PredictManyAnswer, TransferManyAnswer};
pub use matrix::MatrixSummary;
pub use measure::{MeasureAnswer, UnreadableMatrix};
pub use outcome::MeasuredOutcome;
pub use plan::{
    MeasuredPlan, NextRunAnswer, PlanAnswer, PlanVerdict, PlannedMatrix, PlannedPart, PlannedStrategy,
};
pub use predict::{PredictAnswer, PredictedCandidate, PredictedTerm};
pub use prediction::{Extrapolated, PredictedInterval};
pub use profile::ProfileAnswer;
pub use profile_links::ProfileLinksAnswer;
pub use reordered::{BestAsItIs, ReorderedAnswer};
pub use repair::RepairAnswer;
pub use report::ReportAnswer;
pub use reported::{
    Reported, ReportedAdvice, ReportedCandidate, ReportedOutcome, ReportedSource, ReportedTime,
    ReportedVerdict,
};
pub use reported_plan::{ReportedPart, ReportedPlan, ReportedRun, ReportedStrategy};
pub use rules::{JudgedRules, RuleAnswer, RuleGuard, RulesAnswer};
pub use structure::{RowsOfLength, SpyCells, Structure};
pub use transfer::{TransferAnswer, TransferOutcome, TransferredCandidate};

use serde::Serialize;

/// The answer of one command. What it serialises to by itself lacks the name of its schema: see [`Answer::document`].
pub trait Answer: Serialize + Sized {
    /// Command and version: `sparsight/COMMAND/1`. The version changes when a field goes or gets another meaning, and not
    /// when one is added.
    const SCHEMA: &'static str;

    /// What serialises to the object of `--json`.
    fn document(&self) -> Document<'_, Self> {
        Document { schema: Self::SCHEMA, answer: self }
    }

    /// The object of `--json` as the program prints it, a field a line.
    ///
    /// # Panics
    /// If a path in it is no UTF-8; everything else serialises.
    fn to_json(&self) -> String {
        serde_json::to_string_pretty(&self.document()).expect("plain data serialises")
    }
}

/// An answer with the name of its schema in front.
#[derive(Debug, Serialize)]
pub struct Document<'a, A> {
    schema: &'static str,
    #[serde(flatten)]
    answer: &'a A,
}
