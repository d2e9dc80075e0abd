//! `--values f32`: a matrix stored in less than its vectors are. Never done unasked.

use crate::failure::Failure;
use sparsight::answer::NarrowingAnswer;
use sparsight::kernels::{Candidate, DeviceKind, every_candidate};
use sparsight::matrix::{Csr, Dtype, Narrowing, Scalar};

/// `--values`, for commands that rank or run candidates.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct ValuesFlag {
    /// Also candidates whose matrix is stored in f32, beside x, y and sums in f64 (GPUs)
    #[arg(long, value_name = "TYPE", value_parser = f32_alone)]
    values: Option<Dtype>,
}

fn f32_alone(text: &str) -> Result<Dtype, String> {
    if text == "f32" {
        Ok(Dtype::F32)
    } else {
        Err(format!("'{text}' is not f32, the only one that saves bytes"))
    }
}

impl ValuesFlag {
    /// Whether the flag is there.
    pub(crate) fn asked(self) -> bool {
        self.values.is_some()
    }

    /// Whether mixed precision was asked for.
    ///
    /// # Errors
    /// Where there is none.
    pub(crate) fn mixed(self, dtype: Dtype, kind: DeviceKind) -> Result<bool, Failure> {
        match (self.values, dtype, kind) {
            (None, ..) => Ok(false),
            (Some(_), Dtype::F64, DeviceKind::Cuda) => Ok(true),
            (Some(_), Dtype::F64, DeviceKind::Cpu) => {
                Err(Failure::input("a matrix in f32 beside vectors in f64 is for GPUs, and this is a CPU"))
            }
            (Some(_), ..) => {
                Err(Failure::input("--values f32 is for a matrix in f64: with --dtype f32 all of it is f32"))
            }
        }
    }

    /// All candidates in mixed precision that were asked for.
    ///
    /// # Errors
    /// As [`ValuesFlag::mixed`].
    pub(crate) fn candidates(
        self,
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

/// What rounding the values changes.
pub(crate) fn narrowing<T: Scalar>(matrix: &Csr<T>) -> NarrowingAnswer {
    Narrowing::of(matrix).into()
}

/// `with the values in f32 y changes by at most 5.9e-8 |A| |x| in each row (12,000 of the values change)`.
pub(crate) fn what_it_changes(narrowing: &NarrowingAnswer) -> String {
    let NarrowingAnswer { relative_error, changed, below_normal, too_large } = *narrowing;
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
