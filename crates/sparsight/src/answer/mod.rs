//! Answers of the commands as plain data: the only definition of the fields of `--json`.
//!
//! | command | answer |
//! |---|---|
//! | `advise` | [`AdviseAnswer`] |
//! | `advise`, several matrices | [`AdviseManyAnswer`] |
//! | `advise --gpus` | [`AdviseGpusAnswer`] |
//! | `advise --gpus --break-even` | [`BreakEvenAnswer`] |
//! | `plan` | [`PlanAnswer`] |
//! | `compare` | [`CompareAnswer`] |
//! | `compare --gpus` | [`CompareGpusAnswer`] |
//! | `compare`, several matrices | [`CompareManyAnswer`] |
//! | `bench` | [`BenchAnswer`] |
//! | `calibrate` | [`CalibrateAnswer`] |
//! | `profile` | [`ProfileAnswer`] |
//! | `info` | [`InfoAnswer`] |
//! | `info`, several matrices | [`InfoManyAnswer`] |
//! | `devices` | [`DevicesAnswer`] |
//! | `kernels` | [`KernelsAnswer`] |
//! | `kernels --source` | [`KernelSourceAnswer`] |
//! | `report` | [`ReportAnswer`] |
//! | `gallery` | [`GalleryAnswer`] |
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
mod candidate;
mod compare;
mod compare_gpus;
mod device;
mod gallery;
mod info;
mod kernel_source;
mod kernels;
mod many;
mod matrix;
mod plan;
mod profile;
mod reordered;

pub use advise::{
    AdviceProvenance, AdviseAnswer, AdvisedCandidate, Compared, Expected, ReasonAnswer, RunNowAnswer,
    VerdictAnswer,
};
pub use advise_gpus::{
    AdviseGpusAnswer, LinksAnswer, NumbersOfGpus, OnGpus, RowsAnswer, ShareAnswer, TooFewGpus,
};
pub use advise_many::{AdviseManyAnswer, AdvisedMatrix};
pub use bench::{BenchAnswer, BenchedBefore, BenchedCandidate, BenchedKernel, BenchedMatrix, OwnCandidate};
pub use break_even::{BreakEvenAnswer, FasterFrom, SizeTried, TimeOnGpus};
pub use candidate::{MeasuredOutcome, NamedCandidate};
pub use compare::{CompareAnswer, ComparedCandidate, ComparedProfile};
pub use compare_gpus::{CompareGpusAnswer, ComparedGpus, ComparedOnGpus, NumbersOfDevice};
pub use device::{DeviceHere, DeviceSummary, DevicesAnswer, KernelTrial, NoCuda};
pub use gallery::GalleryAnswer;
pub use info::{FormatSize, InfoAnswer};
pub use kernel_source::{KernelSourceAnswer, SourceLaunch};
pub use kernels::{CatalogueKernel, KernelsAnswer};
pub use many::{CompareManyAnswer, InfoManyAnswer, MeanSpeed};
pub use matrix::{MatrixSummary, SpyCells, Structure};
pub use plan::{
    MeasuredPlan, NextRunAnswer, PlanAnswer, PlanVerdict, PlannedMatrix, PlannedPart, PlannedStrategy,
    RefusedCandidate,
};
pub use profile::{CalibrateAnswer, ProfileAnswer};
pub use reordered::{BestAsItIs, ReorderedAnswer};

use serde::Serialize;
use std::path::PathBuf;

/// The answer of one command. What it serialises to by itself lacks the name of its schema: see [`Answer::document`].
pub trait Answer: Serialize + Sized {
    /// Command and version: `sparsight/COMMAND/1`. The version changes when a field goes or gets another meaning, and not
    /// when one is added.
    const SCHEMA: &'static str;

    /// Document that serialises to the object of `--json`.
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

/// Makes answers of types, each with its schema.
#[doc(hidden)]
#[macro_export]
macro_rules! answers_with_schemas {
    ($($answer:ident = $schema:literal),+ $(,)?) => { $(
        impl $crate::answer::Answer for $answer {
            const SCHEMA: &'static str = $schema;
        }
    )+ };
}

answers_with_schemas! {
    AdviseAnswer = "sparsight/advise/1",
    AdviseGpusAnswer = "sparsight/advise-gpus/1",
    AdviseManyAnswer = "sparsight/advise-many/1",
    BenchAnswer = "sparsight/bench/1",
    BreakEvenAnswer = "sparsight/advise-break-even/1",
    CalibrateAnswer = "sparsight/calibrate/1",
    CompareAnswer = "sparsight/compare/1",
    CompareGpusAnswer = "sparsight/compare-gpus/1",
    CompareManyAnswer = "sparsight/compare-many/1",
    DevicesAnswer = "sparsight/devices/1",
    ErrorAnswer = "sparsight/error/1",
    GalleryAnswer = "sparsight/gallery/1",
    InfoAnswer = "sparsight/info/1",
    InfoManyAnswer = "sparsight/info-many/1",
    KernelSourceAnswer = "sparsight/kernel-source/1",
    KernelsAnswer = "sparsight/kernels/1",
    PlanAnswer = "sparsight/plan/1",
    ProfileAnswer = "sparsight/profile/1",
    ReportAnswer = "sparsight/report/1",
}

/// An answer with the name of its schema in front.
#[derive(Debug, Serialize)]
pub struct Document<'a, A> {
    schema: &'static str,
    #[serde(flatten)]
    answer: &'a A,
}

/// `sparsight/report/1`: what was written.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportAnswer {
    /// The page.
    pub file: PathBuf,
    /// Panels of the page, by the ids of its sections and from the top.
    pub panels: Vec<&'static str>,
}

/// `sparsight/error/1`: why there is no answer. What goes to standard error says the same in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorAnswer {
    /// Error text.
    pub error: String,
    /// Advice, if any is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The exit code of the program.
    pub exit_code: u8,
}
