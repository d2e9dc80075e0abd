//! Transfer of COO: section 4.3 of Guo and Wang 2013.
//!
//! ```text
//! P = (C_tar / C_ref) (S_ref / S_tar)        T_init = the time of the benchmark matrix with the fewest strips
//! ```
//! C is the slope over I, strips of non-zeros.

use super::error::{Refusal, positive};
use super::parameters::Times;
use super::{Relative, Role};
use serde::{Deserialize, Serialize};
use sparsight_matrix::Seconds;

/// Parameters of one candidate with one thread per non-zero.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CooParameters {
    /// S, non-zeros.
    pub strip: u64,
    /// C: seconds that a strip more takes.
    pub strip_s: f64,
    /// Seconds of the benchmark matrix with the fewest strips, on the fitted line; `None` where it was not published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_s: Option<f64>,
}

impl CooParameters {
    /// `None` without the matrix with the fewest strips and another one.
    pub(super) fn fit(strip: u64, strips: [u64; 3], times: &Times) -> Option<Self> {
        let line = times.over_all_strips(&strips)?;
        let least = strips[0] as f64;
        Some(Self { strip, strip_s: line.slope, least_s: Some(line.at(least)) })
    }

    pub(super) fn relative(reference: &Self, target: &Self) -> Result<Relative, Refusal> {
        let a_non_zero = |device: &Self, role| -> Result<f64, Refusal> {
            Ok(positive(device.strip_s, role, "strips")? / device.strip as f64)
        };
        let least = |device: &Self, role| device.least_s.map(Seconds).ok_or(Refusal::Smallest(role));
        let performance = a_non_zero(target, Role::Target)? / a_non_zero(reference, Role::Reference)?;
        let (init_reference, init_target) =
            (least(reference, Role::Reference)?, least(target, Role::Target)?);
        Relative::new(performance, init_reference, init_target)
            .ok_or(Refusal::Useless(Role::Target, "strips"))
    }
}
