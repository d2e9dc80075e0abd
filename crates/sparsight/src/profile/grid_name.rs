//! How much of a device was instrumented.

use serde::{Deserialize, Serialize};

/// The benchmark matrices of a profile: the largest grid that it was asked for. In the order of their size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GridName {
    /// The handful that a transfer by the model of 2013 takes, which `lab profile --budget` measures first; or none, of a calibration.
    Quick,
    /// Few strips of rows of one length: what is measured of a CPU without a profile when it is asked about.
    Coarse,
    /// The papers'.
    #[default]
    Full,
}
