//! Says how fast y = A x will be on a GPU in every storage format, kernel and block size, before anything is
//! run; and runs it.
//!
//! ```
//! use sparsight::{Advisor, Objective, Profile, matrix::{Dtype, Features, gallery::Recipe}};
//!
//! let a = "stencil2d,n=300".parse::<Recipe>()?.generate::<f64>()?;
//! let profile = Profile::shipped("nvidia-h200")?;
//! let advice = Advisor::new(&profile).advise(&Features::of(&a), Dtype::F64, &Objective::default())?;
//! let best = &advice.ranked[0];
//! println!("{}: {}", best.candidate, best.prediction.time);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In place of a generated matrix, one of your own: [`matrix::io::read`] reads a file, [`Csr::try_new`](matrix::Csr::try_new) takes
//! row offsets, columns and values. `docs/languages.md` has both in full, and how a project depends on this crate.
//!
//! What the program answers with `--json` are the types of [`answer`].
//!
//! The crates below are re-exported: [`matrix`] (formats, files, features, gallery), [`kernels`] (the
//! catalogue), [`device`] (CPU, GPUs, timing) and [`model`] (predictions, pure).

pub use sparsight_device as device;
pub use sparsight_kernels as kernels;
pub use sparsight_matrix as matrix;
pub use sparsight_model as model;

pub mod answer;
pub mod calibrate;
pub mod forked;
pub mod profile;
pub mod records;
pub mod rules;

mod advisor;
mod bench;
mod best;
mod compare;
mod distributed;
mod error;
mod evaluate;
mod fit;
mod instrument;
mod local_device;
mod missing;
mod models;
mod nearby;
mod noise;
mod partition;
mod predictor;
mod reason;
mod reasons;
mod reference;
mod rescaled_predictor;
mod right_answer;
mod run;
mod run_now;
mod run_now_name;
mod transfer;
mod vendor;
mod verdict;

pub use advisor::{Advice, Advised, Advisor, Objective, Refused, Why};
pub use bench::{Bench, HOPELESS, MeasuredOwn, bench, bench_own};
pub use best::BestPredictor;
pub use calibrate::{
    CALIBRATION_BUDGET, CALIBRATION_MATRICES, CPU_CALIBRATION_MATRICES, calibrated, calibration_candidates,
    calibration_of, carry_calibration, cpu_calibration_folder, may_calibrate,
};
pub use compare::{Compared, ComparedDevice, Comparison, Contender, Limit, Span, Speed, compare};
pub use distributed::{
    Deal, Distributed, DistributedPlan, GpuLimit, KnownLinks, LINKS_SCHEMA, LinksFile, MOST_GPUS,
    MeasuredExchange, NumbersOfGpus, PlannedRows, PlannedShare, break_even, largest_where,
    measure_distributed, measure_links, numbers_of_gpus,
};
pub use error::Error;
pub use evaluate::{
    AccuracyRow, Baseline, CataloguePart, ChoiceRow, Chooser, ClassRow, Evaluation, Gain, Miss, ModelWins,
    Ours, PredictedTime, Ratios, Scope, Theirs, TimeClass, TransferEvaluation, TransferMethod, TransferMiss,
    TransferRow, VendorRow, WinsRow, WithoutRow, evaluate, evaluate_transfer, without_each,
};
pub use fit::{Fitted, fit, fit_transfer, write_fitted};
pub use instrument::{
    Grid, Point, Step, evenly_spread, instrument, measure_conversion, measure_conversion_threshold,
};
pub use local_device::LocalDevice;
pub use missing::Missing;
pub use models::{Learned, ModelName};
pub use nearby::Nearby;
pub use noise::Noise;
pub use partition::{MOST_CUT, Part, PartitionObjective, Partitioning, Strategy};
pub use predictor::Predictor;
pub use profile::Profile;
pub use reason::{Before, Reason};
pub use reasons::Told;
pub use reference::Reference;
pub use rescaled_predictor::RescaledPredictor;
pub use run::{
    Fastest, MeasuredPartition, Plan, Prepared, TriedRun, Tries, Verified, contest, fastest, run_partition,
    verify,
};
pub use run_now::{RunNow, RunNowKind};
pub use run_now_name::RunNowName;
pub use transfer::{CarriedTime, CrossArchitecture, ReferenceOrigin, TransferBy};
pub use vendor::other_vendor;
pub use verdict::{TIE, Verdict};

/// The Rust of the page on languages, compiled and run; in no build, so that a package does without the page.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/languages.md")]
struct Languages;
