//! Matrices by how long the fastest of our candidates takes.

use serde::Serialize;
use sparsight_matrix::{Seconds, display_as_serialized};

/// A range of the least measured time of our candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum TimeClass {
    /// All.
    #[serde(rename = "all")]
    All,
    /// Under 4 us: the launch is most of it.
    #[serde(rename = "under 4 us")]
    Under4,
    /// 4 to 8 us.
    #[serde(rename = "4 to 8 us")]
    From4To8,
    /// 8 to 20 us.
    #[serde(rename = "8 to 20 us")]
    From8To20,
    /// 20 us and more: the memory's bandwidth decides.
    #[serde(rename = "20 us and more")]
    From20,
}

impl TimeClass {
    /// Classes in the order in which tables list them.
    pub const EACH: [Self; 5] = [Self::All, Self::Under4, Self::From4To8, Self::From8To20, Self::From20];

    /// Returns whether a time belongs to it.
    pub fn holds(self, time: Seconds) -> bool {
        let us = time.0 * 1e6;
        match self {
            Self::All => true,
            Self::Under4 => us < 4.0,
            Self::From4To8 => (4.0..8.0).contains(&us),
            Self::From8To20 => (8.0..20.0).contains(&us),
            Self::From20 => us >= 20.0,
        }
    }
}

display_as_serialized!(TimeClass);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_belongs_to_all_and_one_more() {
        for us in [0.5, 3.999, 4.0, 7.999, 8.0, 19.9, 20.0, 1e6] {
            let classes = TimeClass::EACH.into_iter().filter(|c| c.holds(Seconds(us * 1e-6))).count();
            assert_eq!(classes, 2, "{us}");
        }
    }
}
