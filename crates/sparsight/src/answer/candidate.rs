//! A candidate as answers name it, and its measured time.

use crate::records::Outcome;
use serde::Serialize;
use sparsight_kernels::{Candidate, Format};
use sparsight_matrix::{Dtype, Seconds};

/// A candidate and the parts of its id as separate fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct NamedCandidate {
    /// `csr-vector/t8/b256/f64`.
    pub id: Candidate,
    /// Format that it reads, with its shape: `sell/c32/s1024`.
    pub format: Format,
    /// The kernel without its knobs: `csr-vector`.
    pub kernel: &'static str,
    /// Threads that work on one row; absent where threads are given to non-zeros, or not all rows get as many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads_per_row: Option<u32>,
    /// Threads a block on a GPU, rows (COO: sixteenths of the non-zeros) a task on a CPU; 0 where the vendor's library
    /// decides.
    pub block: u32,
    /// Value type.
    pub dtype: Dtype,
    /// A routine of the vendor's library; absent for kernels of ours.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub vendor: bool,
}

impl From<Candidate> for NamedCandidate {
    fn from(id: Candidate) -> Self {
        let Candidate { kernel, block, dtype } = id;
        let (format, threads_per_row) = (kernel.format(), kernel.threads_per_row());
        Self { id, format, kernel: kernel.name(), threads_per_row, block, dtype, vendor: kernel.is_vendors() }
    }
}

/// A measured time, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum MeasuredOutcome {
    /// Right, and this fast.
    Time {
        /// Time of one product, seconds.
        measured_s: Seconds,
        /// Interquartile range over median, a fraction; 0 of one sample, where it means nothing.
        spread: f64,
        /// Samples; 1 if the first product took so long that it was not run again.
        samples: u32,
    },
    /// Cannot be held, or is not predicted by the model that was asked for.
    Infeasible {
        /// Why, in words.
        infeasible: String,
    },
    /// Would run, but the profile holds no time of it from which it could be predicted.
    Unmeasured {
        /// Why it is not ranked, in words.
        infeasible: String,
        /// Always true: it is possible, and may even be the fastest.
        unmeasured: bool,
    },
    /// Failed or was wrong.
    Failed {
        /// The device's words.
        failed: String,
    },
}

impl From<&Outcome> for MeasuredOutcome {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Time { time_s, spread, samples } => {
                Self::Time { measured_s: *time_s, spread: *spread, samples: *samples }
            }
            Outcome::Infeasible { infeasible } => Self::Infeasible { infeasible: infeasible.to_string() },
            Outcome::Failed { failed } => Self::Failed { failed: failed.clone() },
        }
    }
}
