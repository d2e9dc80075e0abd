//! Why a shared profile is not accepted.

use sparsight_matrix::Dtype;
use thiserror::Error;

/// A shared profile that is not used, with the reason.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RefusedProfile {
    /// Not the file that the index speaks of.
    #[error("its SHA-256 is {found}, and the index says {indexed}")]
    OtherFile {
        /// Checksum of the file.
        found: String,
        /// Checksum in the index.
        indexed: String,
    },
    /// Not an archive of one profile.
    #[error("not an archive of one profile: {reason}")]
    Archive {
        /// Description of the fault.
        reason: String,
    },
    /// Something else than the index says.
    #[error("its {field} is '{found}', and the index says '{indexed}'")]
    NotAsIndexed {
        /// Name of the field.
        field: &'static str,
        /// What the profile says.
        found: String,
        /// What the index says.
        indexed: String,
    },
    /// Times that no product can take.
    #[error(
        "{implausible} of {times} times are ones that no product can take (below 10 ns, beyond a day); the limit is 1 in 100"
    )]
    Implausible {
        /// Number of such times.
        implausible: usize,
        /// Number of all times.
        times: usize,
    },
    /// Too few matrices to hold some out.
    #[error(
        "{matrices} measured matrices: at least {needed} are needed to hold some out and learn from the others"
    )]
    TooFew {
        /// Number of matrices, those that differ by a seed or a derivation counted once.
        matrices: usize,
        /// Number needed.
        needed: usize,
    },
    /// Choices that are worse than one candidate for all matrices.
    #[error(
        "in {dtype} its choices reach {chosen:.3} of the best speed on matrices that it has not seen, and {candidate} for all of them {fixed:.3}"
    )]
    Choices {
        /// Value type.
        dtype: Dtype,
        /// Best time over that of the chosen candidate, geometric mean.
        chosen: f64,
        /// The same for the best fixed candidate.
        fixed: f64,
        /// That candidate.
        candidate: String,
    },
    /// Intervals that hold less than half of the times.
    #[error(
        "in {dtype} its 90 % intervals hold {covered:.2} of the times on matrices that it has not seen; the limit is 0.5"
    )]
    Intervals {
        /// Value type.
        dtype: Dtype,
        /// Share of the times within their interval.
        covered: f64,
    },
    /// A file of it that cannot be read.
    #[error(transparent)]
    Unreadable(#[from] sparsight::Error),
}

impl RefusedProfile {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::OtherFile { .. } => {
                "fetch both again, from one place: the file is damaged, or another version of it"
            }
            Self::Archive { .. } => "`sparsight lab fit DIR --share NAME.tar.gz` makes such an archive",
            Self::NotAsIndexed { .. } => {
                "the index is of another version: `sparsight profiles index FILE` writes it"
            }
            Self::Implausible { .. } | Self::Choices { .. } | Self::Intervals { .. } => {
                "the machine was busy, or these are not its times: measure it again (`sparsight lab profile`, `lab measure`, `lab fit`)"
            }
            Self::TooFew { .. } => {
                "`sparsight lab measure` adds matrices, `sparsight lab fit DIR --share FILE` shares the profile again"
            }
            Self::Unreadable(error) => return error.hint(),
        };
        Some(text.to_owned())
    }
}
