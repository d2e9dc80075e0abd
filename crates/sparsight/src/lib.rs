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
pub mod files;
pub mod forked;
pub mod models;
pub mod profile;
pub mod records;

mod advisor;
mod bench;
mod calibrate;
mod compare;
mod distributed;
mod error;
mod local_device;
mod missing;
mod model_name;
mod nearby;
mod noise;
mod partition;
mod predict;
mod reason;
mod reasons;
mod right_answer;
mod run;
mod run_now;
mod run_now_name;
mod vendor;
mod verdict;

pub use advisor::{Advice, Advised, Advisor, Objective, Refused, Why};
pub use bench::{Bench, HOPELESS, MeasuredOwn, bench, bench_own};
pub use calibrate::{
    CALIBRATION_BUDGET, CALIBRATION_MATRICES, CPU_CALIBRATION_MATRICES, CalibratedDevice, Fitted, Grid,
    Point, Step, calibrated, calibration_candidates, calibration_of, carry_calibration,
    cpu_calibration_folder, cpu_calibration_grid, fit, instrument, keep_noise, may_calibrate,
    measure_calibration, measure_conversion, measure_conversion_threshold, measure_cpu_calibration,
    measure_cpu_matrices, one_factor, set_noisy_calibration_apart, write_fitted,
};
pub use compare::{Compared, ComparedDevice, Comparison, Contender, Limit, Span, Speed, compare};
pub use distributed::{
    Deal, Distributed, DistributedPlan, GpuLimit, MOST_GPUS, PlannedRows, PlannedShare, break_even,
    largest_where, measure_distributed, measure_links, numbers_of_gpus,
};
pub use error::Error;
pub use local_device::LocalDevice;
pub use missing::Missing;
pub use model_name::ModelName;
pub use models::Learned;
pub use nearby::Nearby;
pub use noise::Noise;
pub use partition::{MOST_CUT, Part, PartitionObjective, Partitioning, Strategy};
pub use predict::{BestPredictor, Predictor, RescaledPredictor};
pub use profile::{KnownLinks, LINKS_SCHEMA, LinksFile, MeasuredExchange, Profile};
pub use reason::{Before, Reason};
pub use reasons::Told;
pub use run::{
    Fastest, MeasuredPartition, Plan, Prepared, TriedRun, Tries, Verified, contest, fastest, run_partition,
    verify,
};
pub use run_now::{RunNow, RunNowKind};
pub use run_now_name::RunNowName;
pub use vendor::other_vendor;
pub use verdict::{TIE, Verdict};

/// The Rust of the page on languages, compiled and run; in no build, so that a package does without the page.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/languages.md")]
struct Languages;
