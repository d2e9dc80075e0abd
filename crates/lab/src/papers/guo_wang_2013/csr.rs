//! Transfer of CSR with one team of threads per row: section 4.1 of Guo and Wang 2013.
//!
//! ```text
//! P = P1 P2
//! P1 = (C1_tar / C1_ref) (T0_ref / T0_tar) (1 - T0_ref / T1_ref) + T0_ref / T1_ref
//! P2 = (C2_tar / C2_ref) (S_ref / S_tar)
//! T0 = C1 X0 + B0    T1 = C1 p + B0    on each device, at the fewest strips;   T_init = T0
//! ```
//! With `T1_tar = T0_tar + C1_tar (p - X0)` the printed P1 is `(T1_tar / T0_tar) / (T1_ref / T0_ref)`, how much steeper the
//! target's line over p is from X0 on, and that is what is computed: it needs no division by C1.
//!
//! | p against the two thresholds | `X0` | side of the lines |
//! |---|---|---|
//! | below both | the least p measured, `X_00` | left, left |
//! | between | the smaller threshold, `X_01` | left of one device, right of the other |
//! | above both | the larger threshold, `X_02` | right, right |
//!
//! The threshold is the largest thread block; each device's own line is taken left of its own threshold or right of it.
//! Three things are not the paper's. It excludes a target whose threshold is the larger one, since there was none; the table
//! is symmetric, and a CPU has no threshold at all. `T0_tar` and `T_init`, there measured times, are those of the fitted line
//! at the same place, as `T0_ref` is, so that a device transferred to itself has P = 1. And `C2` is the slope over I at the
//! p where it was measured, which between thresholds, or above two different ones, is not X0 on both devices; it is brought
//! there by `E(X0) / E(p_2)`, as `T = E(p) / T_2 E'(I)` of the strip model says, without which P1 and P2 would speak of
//! different p. Below both thresholds, and above two equal ones, the factor is 1.

use super::error::{Refusal, positive};
use super::handful::{row_lengths, row_lengths_around};
use super::parameters::Times;
use super::{Relative, Role};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use sparsight_matrix::Seconds;
use sparsight_model::Line;

/// Parameters of one candidate with one team of threads per row: the first rows of the paper's Table II.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CsrParameters {
    /// S, rows.
    pub strip: u64,
    /// Largest thread block; `None` where there is none, on a CPU.
    pub threshold: Option<u64>,
    /// Left of the threshold, LT.
    pub below: CsrSide,
    /// Right of it, RT; `None` if that was not measured, or without a threshold.
    pub above: Option<CsrSide>,
}

/// Parameters of one side of the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CsrSide {
    /// `C_1 p + B_0`, seconds over p, at the fewest strips.
    pub over_row_length: Line,
    /// `C_2`: seconds that a strip more takes.
    pub strip_s: f64,
    /// p at which that was measured.
    pub row_length: u64,
}

impl CsrSide {
    fn fit(times: &Times, row_lengths: [u64; 3]) -> Option<Self> {
        let row_length = row_lengths[0];
        let over_row_length = times.over_row_length(&row_lengths)?;
        Some(Self { over_row_length, strip_s: times.over_strips(row_length)?.slope, row_length })
    }

    /// Seconds at p, positive.
    fn at(&self, row_length: u64, role: Role) -> Result<f64, Refusal> {
        positive(self.over_row_length.at(row_length as f64), role, "non-zeros a row")
    }

    /// `C_2` at p.
    fn strip_s_at(&self, row_length: u64, role: Role) -> Result<f64, Refusal> {
        let strip_s = positive(self.strip_s, role, "strips")?;
        if row_length == self.row_length {
            return Ok(strip_s);
        }
        Ok(strip_s * self.at(row_length, role)? / self.at(self.row_length, role)?)
    }
}

impl CsrParameters {
    /// `None` without two row lengths and two numbers of strips that meet at the least p, left of the threshold.
    pub(super) fn fit(strip: u64, threshold: Option<u64>, times: &Times) -> Option<Self> {
        let (below, above) = match threshold.map(row_lengths_around) {
            None => (row_lengths(), None),
            Some([below, above]) => (below, Some(above)),
        };
        let above = above.and_then(|lengths| CsrSide::fit(times, lengths));
        Some(Self { strip, threshold, below: CsrSide::fit(times, below)?, above })
    }

    fn side(&self, row_length: u64, role: Role) -> Result<&CsrSide, Refusal> {
        if self.is_above(row_length) {
            self.above.as_ref().ok_or(Refusal::LongRows(role))
        } else {
            Ok(&self.below)
        }
    }

    fn is_above(&self, row_length: u64) -> bool {
        self.threshold.is_some_and(|threshold| row_length > threshold)
    }

    /// Relative performance for a matrix whose row lengths p stands for; p = 0 counts as 1, an empty row is looked at all the same.
    pub(super) fn relative(reference: &Self, target: &Self, row_length: u64) -> Result<Relative, Refusal> {
        let row_length = row_length.max(1);
        let threshold = |of: &Self| of.threshold.unwrap_or(u64::MAX);
        let (smaller, larger) =
            (threshold(reference).min(threshold(target)), threshold(reference).max(threshold(target)));
        let x0 = match (reference.is_above(row_length), target.is_above(row_length)) {
            (false, false) => target.below.row_length,
            (true, true) => larger,
            _ => smaller,
        };
        let values = |device: &Self, role| -> Result<[f64; 3], Refusal> {
            let side = device.side(row_length, role)?;
            Ok([side.at(x0, role)?, side.at(row_length, role)?, side.strip_s_at(x0, role)?])
        };
        let [t0_ref, t1_ref, c2_ref] = values(reference, Role::Reference)?;
        let [t0_tar, t1_tar, c2_tar] = values(target, Role::Target)?;
        let p1 = (t1_tar / t0_tar) / (t1_ref / t0_ref);
        let p2 = c2_tar / c2_ref * (reference.strip as f64 / target.strip as f64);
        Relative::new(p1 * p2, Seconds(t0_ref), Seconds(t0_tar))
            .ok_or(Refusal::Useless(Role::Target, "strips"))
    }
}
