//! How the parts of a partitioned matrix are run.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How the parts of a matrix cut into row blocks are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Execution {
    /// The launches of one part after those of another.
    Sequential,
    /// One launch for all parts. They share one number of threads a block.
    Fused,
}

impl Execution {
    /// Both, in the order in which tables list them.
    pub const ALL: [Self; 2] = [Self::Sequential, Self::Fused];
}

/// The one name used in flags and reports.
impl fmt::Display for Execution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Sequential => "sequential",
            Self::Fused => "fused",
        })
    }
}

impl FromStr for Execution {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|execution| execution.to_string() == text);
        found.ok_or_else(|| format!("unknown execution '{text}': sequential or fused"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        assert_eq!(Execution::ALL.map(|e| e.to_string().parse()), Execution::ALL.map(Ok));
        assert!("both".parse::<Execution>().unwrap_err().contains("sequential or fused"));
    }
}
