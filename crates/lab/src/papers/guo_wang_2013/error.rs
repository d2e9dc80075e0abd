//! Why a time is not transferred.

use serde::Serialize;
use sparsight_kernels::Candidate;
use sparsight_matrix::display_as_serialized;
use thiserror::Error;

/// Role of a device in a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The device on which the time is known.
    Reference,
    /// The device on which it is wanted.
    Target,
}

display_as_serialized!(Role);

/// A refusal, with the device whose benchmark matrices are to blame.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TransferError {
    /// Benchmark matrices that a transfer takes were not measured.
    #[error("the {role} holds no {missing}")]
    Missing {
        /// Role of the device.
        role: Role,
        /// Description of what is missing.
        missing: String,
    },
    /// Nothing is known of how the kernel shares out the work.
    #[error(
        "{kernel} is the vendor's: how it shares out the work is not known, so its times are not carried over"
    )]
    NoRule {
        /// Name of the kernel.
        kernel: String,
    },
    /// A line that falls or reaches zero where it is asked: noise, or other work on the device while it was measured.
    #[error(
        "on the {role} the times of {candidate} over {quantity} lie on no line that is of use: it falls or reaches zero"
    )]
    Useless {
        /// Role of the device.
        role: Role,
        /// Candidate that was run.
        candidate: String,
        /// `strips` or `non-zeros a row`.
        quantity: &'static str,
    },
}

/// A refusal of the equations, which do not know the candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Nothing above the threshold was measured.
    LongRows(Role),
    /// The time of the smallest benchmark matrix is not known.
    Smallest(Role),
    /// The line over this falls or reaches zero.
    Useless(Role, &'static str),
}

impl Refusal {
    pub(super) fn of(self, candidate: &Candidate) -> TransferError {
        let Candidate { kernel, dtype, .. } = candidate;
        match self {
            Self::LongRows(role) => TransferError::Missing {
                role,
                missing: format!(
                    "benchmark matrices of {kernel} {dtype} with rows above the largest thread block"
                ),
            },
            Self::Smallest(role) => {
                let missing = format!("time of the smallest benchmark matrix of {kernel} {dtype}");
                TransferError::Missing { role, missing }
            }
            Self::Useless(role, quantity) => {
                TransferError::Useless { role, candidate: candidate.to_string(), quantity }
            }
        }
    }
}

/// `value`, a slope over `quantity` or a time on that line, if it is a positive number.
pub(super) fn positive(value: f64, role: Role, quantity: &'static str) -> Result<f64, Refusal> {
    if value.is_finite() && value > 0.0 { Ok(value) } else { Err(Refusal::Useless(role, quantity)) }
}
