//! `--values`: f32, a matrix stored in less than its vectors are, never done unasked; random, values for a file that stores none.

use crate::failure::Failure;
use sparsight::kernels::{Candidate, DeviceKind, every_candidate};
use sparsight::matrix::{Dtype, Narrowing};

/// `--values`, for commands that rank or run candidates.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ValuesFlag {
    /// f32: also candidates whose matrix is stored in f32, beside x, y and sums in f64 (GPUs). random: values in [-1, 1) in place of
    /// ones for a file that stores no values, drawn by --seed
    #[arg(long, value_name = "f32|random", value_delimiter = ',', value_parser = ["f32", "random"])]
    values: Vec<String>,
}

impl ValuesFlag {
    /// Returns whether mixed precision may be considered.
    pub(crate) fn asked(&self) -> bool {
        self.values.iter().any(|value| value == "f32")
    }

    /// Returns whether values that a file does not store are drawn at random.
    pub(crate) fn random(&self) -> bool {
        self.values.iter().any(|value| value == "random")
    }

    /// Returns whether mixed precision was requested.
    ///
    /// # Errors
    /// Where there is none.
    pub(crate) fn mixed(&self, dtype: Dtype, kind: DeviceKind) -> Result<bool, Failure> {
        match (self.asked(), dtype, kind.has_mixed_precision()) {
            (false, ..) => Ok(false),
            (true, Dtype::F64, true) => Ok(true),
            (true, Dtype::F64, false) => {
                Err(Failure::input("a matrix in f32 beside vectors in f64 is for GPUs, and this is a CPU"))
            }
            (true, ..) => {
                Err(Failure::input("--values f32 is for a matrix in f64: with --dtype f32 all of it is f32"))
            }
        }
    }

    /// All candidates in mixed precision that were asked for.
    ///
    /// # Errors
    /// As [`ValuesFlag::mixed`].
    pub(crate) fn candidates(
        &self,
        of: &[Candidate],
        dtype: Dtype,
        kind: DeviceKind,
    ) -> Result<Vec<Candidate>, Failure> {
        if !self.mixed(dtype, kind)? {
            return Ok(Vec::new());
        }
        let is_like = |c: &Candidate| of.contains(&Candidate { dtype, ..*c });
        Ok(every_candidate(Dtype::Mixed).filter(is_like).collect())
    }
}

/// `with the values in f32 y changes by at most 5.9e-8 |A| |x| in each row (12,000 of the values change)`.
pub(crate) fn what_it_changes(narrowing: &Narrowing) -> String {
    let Narrowing { relative_error, changed, below_normal, too_large } = *narrowing;
    let number = crate::text::grouped;
    if too_large > 0 {
        let verb = if too_large == 1 { "is" } else { "are" };
        return format!(
            "{} of the values {verb} too large for f32: nothing in mixed precision is ranked",
            number(too_large)
        );
    }
    if changed == 0 {
        return "every value is an f32 already: with the values in f32 nothing is lost".to_owned();
    }
    let below = match below_normal {
        0 => String::new(),
        some => format!(", {} of them below the range in which f32 has all its digits", number(some)),
    };
    format!(
        "with the values in f32 y changes by at most {relative_error:.1e} |A| |x| in each row ({} of the values change{below})",
        number(changed)
    )
}
