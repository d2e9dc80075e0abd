//! The laboratory of sparsight: judges predictions and choices on measured corpora, carries times to other devices, learns decision
//! rules, and reproduces the models of the papers. The program shows it under `sparsight lab`; the library does not need it.
//!
//! ```text
//! evaluate    how far predictions are from measurements, and what choosing by them costs
//! transfer    the time on a device that was hardly measured, from that on one that is well known
//! foreign     times of other people's kernels, carried from one of their GPUs to another
//! rules       decision rules as source code, learned from a corpus
//! papers      the models that no answer of the library needs
//! share       one file of a profile to give away
//! received    what such a file of others has to pass before it is used
//! answer      what the program prints of all this with `--json`
//! ```

pub mod answer;
pub mod evaluate;
pub mod foreign;
pub mod papers;
pub mod received;
pub mod rules;
pub mod transfer;

mod grid;
mod share;

pub use grid::{evenly_spread, informative_first, quick_grid};
pub use papers::add_papers_models;
pub use share::shared;
pub use transfer::{fit_transfer, write_fitted};
