//! Execution of the parts of a partitioned matrix.

use serde::{Deserialize, Serialize};
use sparsight_matrix::{Seconds, text_as_serde};

/// Execution of the parts of a matrix cut into row blocks, on which the time of a product with them depends.
///
/// ```text
/// sequential    T = sum of E                  one launch after another, as the paper assumes
/// fused         T = L + sum of (E - L)        one launch, in which each thread block works on its part
/// ```
/// E is the time of a part run by itself, L the cost of a launch, which is in every E. What `fused` leaves out: thread
/// blocks of several parts run side by side, so a part too small to fill the device costs less than its E says; and a
/// thread block has to find its part first, which costs a little more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Execution {
    /// The launches of one part after those of another.
    Sequential,
    /// A single launch for all parts. They share one number of threads a block.
    Fused,
}

impl Execution {
    /// Both, in the order in which tables list them.
    pub const ALL: [Self; 2] = [Self::Sequential, Self::Fused];

    /// L, what is in the time of every part and a product pays a single time, on a device where a launch costs `launch`. 0 if
    /// the cost of a launch is not known.
    pub fn once(self, launch: Seconds) -> Seconds {
        match self {
            Self::Fused if launch.0.is_finite() && launch.0 > 0.0 => launch,
            _ => Seconds(0.0),
        }
    }
}

text_as_serde!(Execution, "execution", "sequential or fused");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        assert_eq!(Execution::ALL.map(|e| e.to_string().parse()), Execution::ALL.map(Ok));
        assert!("both".parse::<Execution>().unwrap_err().contains("sequential or fused"));
    }
}
