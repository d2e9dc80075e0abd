//! Transfer of kernels with one thread per row: section 4.2 of Guo and Wang 2013.
//!
//! ```text
//! P = (C_tar / C_ref) (S_ref / S_tar)        T_init = B = E(I) - C X1 I        on each device, with its own I = ceil(n / S)
//! ```
//! C is the slope over p of one strip (`I_0` = 1): only then does `C X1 I`, with C times I, take from E(I), the time of I
//! strips at `X1` non-zeros a row, what those non-zeros cost. p itself does not enter.

use super::error::{Refusal, positive};
use super::handful::{SHORTEST, row_lengths};
use super::parameters::Times;
use super::{Relative, Role};
use serde::{Deserialize, Serialize};
use sparsight_matrix::Seconds;
use sparsight_model::Line;

/// Parameters of one candidate with one thread per row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EllParameters {
    /// S, rows.
    pub strip: u64,
    /// C: seconds that one strip takes for a non-zero a row more.
    pub row_length_s: f64,
    /// E: seconds over I at `X_1`.
    pub over_strips: Line,
    /// `X_1`.
    pub row_length: u64,
}

impl EllParameters {
    /// `None` without two row lengths of one strip, or without two numbers of strips at the least of them.
    pub(super) fn fit(strip: u64, times: &Times) -> Option<Self> {
        let row_length_s = times.over_row_length(&row_lengths())?.slope;
        Some(Self { strip, row_length_s, over_strips: times.over_strips(SHORTEST)?, row_length: SHORTEST })
    }

    /// `B = E(I) - C X1 I` for a matrix with `nrows` rows, seconds.
    pub fn intercept_s(&self, nrows: u64) -> f64 {
        // A strip of 0, which only a damaged file holds, is refused where P is computed.
        let strips = nrows.div_ceil(self.strip.max(1)) as f64;
        self.over_strips.at(strips) - self.row_length_s * self.row_length as f64 * strips
    }

    /// Relative performance for a matrix with `nrows` rows.
    pub(super) fn relative(reference: &Self, target: &Self, nrows: u64) -> Result<Relative, Refusal> {
        let a_row = |device: &Self, role| -> Result<f64, Refusal> {
            Ok(positive(device.row_length_s, role, "non-zeros a row")? / device.strip as f64)
        };
        let performance = a_row(target, Role::Target)? / a_row(reference, Role::Reference)?;
        let init = |device: &Self| Seconds(device.intercept_s(nrows));
        Relative::new(performance, init(reference), init(target))
            .ok_or(Refusal::Useless(Role::Target, "strips"))
    }
}
