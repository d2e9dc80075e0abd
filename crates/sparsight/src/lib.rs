//! Predicts how fast y = A x runs on a device in every storage format, kernel and block size, before anything is run; chooses; and
//! runs the choice.
//!
//! # Guide
//!
//! Reads a matrix, asks for advice, prepares the plan on a device and multiplies:
//!
//! ```
//! use sparsight::device::cpu::Cpu;
//! use sparsight::matrix::{Features, io::ReadOptions};
//! use sparsight::{Advisor, Csr, Dtype, Objective, Plan, Profile};
//!
//! # let file = std::env::temp_dir().join(format!("sparsight-guide-{}.mtx", std::process::id()));
//! # std::fs::write(&file, "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 4\n2 2 5\n2 3 1\n3 3 6\n")?;
//! // A Matrix Market, .npz, Harwell-Boeing or Rutherford-Boeing file, also compressed; or Csr::try_new(row_ptr, ..).
//! let a: Csr<f64> = sparsight::read(&file, &ReadOptions::default())?.matrix;
//!
//! // What would be fastest on an H200? Nothing is run. Times are in seconds, each with an interval.
//! let profile = Profile::shipped("nvidia-h200")?;
//! let objective = Objective { products: Some(1000), ..Objective::default() };
//! let advice = Advisor::new(&profile).advise(&Features::of(&a), Dtype::F64, &objective)?;
//! let best = &advice.ranked[0];
//! println!("{}: {}", best.candidate, best.prediction.time);
//!
//! // On this machine's processor; on a GPU `device::cuda::Cuda::open(0)?` and `Advisor::plan`.
//! let device = Cpu::new();
//! let plan = Plan::for_processor(device.facts(), &a, &objective)?;
//! let mut prepared = plan.prepare(&device, &a)?;
//! let (x, mut y) = (vec![1.0; a.ncols()], vec![0.0; a.nrows()]);
//! prepared.multiply(&x, &mut y)?;
//! assert_eq!(y, [4.0, 6.0, 6.0]);
//! # std::fs::remove_file(&file)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | to | see |
//! |---|---|
//! | run several candidates and go on with the fastest | [`fastest`], [`verify`] |
//! | cut a matrix into parts, each in a format of its own | [`partition`], [`Advisor::plan`] |
//! | compare devices | [`compare`] |
//! | do more with each row in the launch of a product, as solvers want it | [`Prepared::with_epilogue`] |
//! | use several GPUs | [`distributed`] |
//! | measure a device that has no profile | [`calibrate`] |
//! | read and write profiles and their records | [`profile`], [`records`] |
//! | get what the program prints with `--json` | [`answer`] |
//! | know why a matrix takes its time, and what changes with the choice | [`advise`] |
//! | ask one model, or see which models a profile holds | [`predict`], [`models`] |
//! | bind another language | [`bindings`] |
//!
//! The crates below are re-exported: [`matrix`] (formats, files, features, gallery), [`kernels`] (the catalogue), [`device`] (CPU,
//! GPUs, timing) and [`model`] (predictions, pure).

pub use sparsight_device as device;
pub use sparsight_kernels as kernels;
pub use sparsight_matrix as matrix;
pub use sparsight_model as model;

pub mod advise;
pub mod answer;
pub mod bench;
pub mod bindings;
pub mod calibrate;
pub mod compare;
pub mod distributed;
pub mod models;
pub mod partition;
pub mod predict;
pub mod profile;
pub mod records;
pub mod run;

mod error;
mod files;
mod missing;
mod model_name;

pub use advise::{Advice, Advisor, Objective};
pub use device::Device;
pub use error::Error;
pub use matrix::io::read;
pub use matrix::{Csr, Dtype};
pub use profile::Profile;
pub use run::{Plan, Prepared, fastest, verify};

/// The Rust of the page on languages, compiled and run; in no build, so that a package does without the page.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/languages.md")]
struct Languages;

/// The Rust of the page on epilogues, likewise.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/epilogues.md")]
struct Epilogues;
