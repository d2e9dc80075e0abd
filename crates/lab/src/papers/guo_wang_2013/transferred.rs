//! The transfer between two devices: parameters found, placements blended, the floor kept.

use super::{
    CooParameters, CsrParameters, EllParameters, Parameters, Relative, Role, TransferError,
    TransferParameters, TransferRule, handful,
};
use sparsight_kernels::{Candidate, DeviceFacts, Placement};
use sparsight_matrix::{Features, Seconds};
use sparsight_model::{RowLengthRule, representative_row_length};

/// A device of a transfer.
#[derive(Debug, Clone, Copy)]
pub struct TransferSide<'a> {
    /// The device.
    pub facts: &'a DeviceFacts,
    /// Parameters from its benchmark matrices.
    pub parameters: &'a TransferParameters,
}

/// A transfer from the reference to the target.
#[derive(Debug, Clone, Copy)]
pub struct Transfer<'a> {
    /// Device on which times are known.
    pub reference: TransferSide<'a>,
    /// Device on which they are wanted.
    pub target: TransferSide<'a>,
}

/// A time on the target and how it came about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transferred {
    /// P and both initialization times.
    pub relative: Relative,
    /// `T_ref`, as it was given.
    pub reference: Seconds,
    /// `T_tar`; positive.
    pub time: Seconds,
    /// True if the equation gave less than a launch on the target costs, and that was answered: `T_ref` is far below
    /// `T_init_ref`, so the matrix is much smaller than what was measured.
    pub at_launch_cost: bool,
}

impl Transfer<'_> {
    /// `T_tar` of a matrix with `features` that takes `reference` with `candidate` on the reference.
    ///
    /// # Errors
    /// As [`Transfer::relative`].
    pub fn time(
        &self,
        candidate: &Candidate,
        features: &Features,
        reference: Seconds,
    ) -> Result<Transferred, TransferError> {
        let relative = self.relative(candidate, features)?;
        let equation = relative.time_s(reference);
        // Where the launch cost was not measured a thousandth of the reference's time keeps the answer a time.
        let launch = self.target.facts.launch_s.0;
        let floor = if launch > 0.0 { launch } else { 1e-3 * reference.0 };
        let time = Seconds(equation.max(floor));
        Ok(Transferred { relative, reference, time, at_launch_cost: equation < floor })
    }

    /// P and both initialization times. Where only one placement of the columns was measured on both devices, or is of
    /// use, that one answers.
    ///
    /// # Errors
    /// [`TransferError::Missing`] if benchmark matrices lack, [`TransferError::Useless`] if their times are noise.
    pub fn relative(&self, candidate: &Candidate, features: &Features) -> Result<Relative, TransferError> {
        let reuse = if features.x_reuse.is_nan() { 0.0 } else { features.x_reuse.clamp(0.0, 1.0) };
        let banded = self.at(candidate, features, Placement::Banded);
        match (banded, self.at(candidate, features, Placement::Scattered)) {
            (Ok(banded), Ok(scattered)) => Ok(banded.blend(scattered, reuse)),
            (Ok(only), Err(_)) | (Err(_), Ok(only)) => Ok(only),
            (Err(why), Err(_)) => Err(why),
        }
    }

    fn at(
        &self,
        candidate: &Candidate,
        features: &Features,
        placement: Placement,
    ) -> Result<Relative, TransferError> {
        let measured = |kernel| self.measured(&Candidate { kernel, ..*candidate }, features, placement);
        match TransferRule::of(candidate.kernel) {
            TransferRule::Csr => measured(candidate.kernel),
            TransferRule::Ell { measured: kernel } | TransferRule::Coo { measured: kernel } => {
                measured(kernel)
            }
            TransferRule::None => Err(TransferError::NoRule { kernel: candidate.kernel.to_string() }),
            TransferRule::Hyb { ell, coo } => match (features.hyb.width, features.hyb.coo_nnz) {
                (0, 1..) => measured(coo),
                // Of an empty matrix the ELL part stands for the launch that takes place all the same.
                (_, 0) => measured(ell),
                _ => Ok(Relative::hyb(measured(ell)?, measured(coo)?)),
            },
        }
    }

    /// P and both initialization times of a candidate with benchmark matrices of its own.
    fn measured(
        &self,
        candidate: &Candidate,
        features: &Features,
        placement: Placement,
    ) -> Result<Relative, TransferError> {
        let of = |side: &TransferSide<'_>, role| {
            let found = side.parameters.find(candidate, placement).copied();
            found.ok_or_else(|| TransferError::Missing { role, missing: side.missing(candidate) })
        };
        let relative = match (of(&self.reference, Role::Reference)?, of(&self.target, Role::Target)?) {
            (Parameters::Csr(reference), Parameters::Csr(target)) => {
                let p = representative_row_length(candidate.kernel, features, RowLengthRule::Paper);
                CsrParameters::relative(&reference, &target, p.unwrap_or(0))
            }
            (Parameters::Ell(reference), Parameters::Ell(target)) => {
                EllParameters::relative(&reference, &target, features.nrows)
            }
            (Parameters::Coo(reference), Parameters::Coo(target)) => {
                CooParameters::relative(&reference, &target)
            }
            // A damaged file.
            _ => {
                let missing = self.target.missing(candidate);
                return Err(TransferError::Missing { role: Role::Target, missing });
            }
        };
        relative.map_err(|why| why.of(candidate))
    }
}

impl TransferSide<'_> {
    /// Measurements that are needed to know `candidate`: `benchmark matrices of ell f64 with 4 x 1, .. non-zeros a row x strips`.
    fn missing(&self, candidate: &Candidate) -> String {
        let Candidate { kernel, dtype, .. } = *candidate;
        if self.parameters.candidates().iter().all(|known| known.candidate.dtype != dtype) {
            return format!("benchmark matrices in {dtype}");
        }
        let threshold = self.facts.max_threads_per_block.map(u64::from);
        let points = handful(kernel, threshold);
        let points: Vec<String> =
            points.iter().map(|point| format!("{} x {}", point.row_length, point.strips)).collect();
        format!("benchmark matrices of {candidate} (non-zeros a row x strips: {})", points.join(", "))
    }
}
