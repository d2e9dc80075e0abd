//! Distribution of the row lengths of a benchmark matrix around their mean p.
//!
//! ```text
//! constant   p                                              standard deviation 0
//! uniform    0, 1, .. 2p, each as likely                    sqrt(p (p + 1) / 3), about 0.58 p
//! normal     p + (p / 3) z, rounded, cut to 0 .. 2p         p / 3, about; see below
//! ```
//! Sources: Guo, Wang and Chen 2014 for `constant`; Wang, Gu and Li 2017, section 3.1, for the other two. That paper
//! says that the mean of either is p and leaves the spread open. Chosen here: the widest uniform draw that has the mean
//! p, and the normal draw whose three standard deviations reach as far as it does. So both have rows of 0 to 2p, and
//! cutting, as likely below as above, does not move the mean.
//!
//! z is the sum of twelve uniform draws less six, which has mean 0 and variance 1 and is nearly normal; 0.2 % of its
//! values lie beyond 3 and are cut. It takes integers alone, so that every machine draws the same lengths, which
//! logarithms and cosines would not promise. Rounding to whole lengths adds up to 1/12 to the variance, which shows
//! where p is small: with p = 1, one row in fifteen is empty and as many have two.

use serde::{Deserialize, Serialize};
use sparsight_matrix::{mix, text_as_serde};

/// Distribution of row lengths around their mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowLengthDistribution {
    /// All are p.
    #[default]
    Constant,
    /// 0 to 2p, each as likely.
    Uniform,
    /// Around p with a standard deviation of p / 3, 0 to 2p.
    Normal,
}

impl RowLengthDistribution {
    /// All, in the order in which tables list them and a device is instrumented with them.
    pub const ALL: [Self; 3] = [Self::Constant, Self::Uniform, Self::Normal];

    /// Returns whether rows differ.
    pub const fn is_drawn(self) -> bool {
        !matches!(self, Self::Constant)
    }

    /// The longest row that can come up at a mean of `mean`.
    pub const fn longest(self, mean: u64) -> u64 {
        match self {
            Self::Constant => mean,
            Self::Uniform | Self::Normal => mean.saturating_mul(2),
        }
    }

    /// The length that follows from 64 random bits; at most [`longest`](Self::longest).
    pub(crate) fn draw(self, mean: u64, bits: u64) -> u64 {
        match self {
            Self::Constant => mean,
            Self::Uniform => ((u128::from(bits) * (2 * u128::from(mean) + 1)) >> 64) as u64,
            Self::Normal => {
                let z = nearly_normal(bits);
                // |z| mean / 3 to the nearest whole length. |z| < 2^19, so 64 bits hold it for means below 2^44.
                let unit = 3 * ONE;
                let distance = ((2 * mean * z.unsigned_abs() + unit) / (2 * unit)).min(mean);
                if z < 0 { mean - distance } else { mean + distance }
            }
        }
    }
}

/// 1 in the fixed point of [`nearly_normal`].
const ONE: u64 = 1 << 16;

/// Twelve uniform draws of 16 bits, each at the middle of its step, less their mean: symmetric around 0, variance 1.
fn nearly_normal(bits: u64) -> i64 {
    /// Every other draw of a word; sums of 32 bits have room for all twelve.
    const EVEN: u64 = 0x0000_ffff_0000_ffff;
    let second = mix(bits);
    let pairs = |word: u64| (word & EVEN) + ((word >> 16) & EVEN);
    let sums = pairs(bits) + pairs(second) + pairs(mix(second));
    let sum = (sums & 0xffff_ffff) + (sums >> 32);
    (sum + 6) as i64 - 6 * ONE as i64
}

text_as_serde!(RowLengthDistribution, "row lengths", "constant, uniform or normal");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_the_random_bits_give_the_ends_of_the_lengths() {
        use RowLengthDistribution::{Constant, Normal, Uniform};
        assert_eq!([0, u64::MAX].map(|bits| Uniform.draw(10, bits)), [0, 20]);
        assert_eq!([0, u64::MAX].map(|bits| Constant.draw(10, bits)), [10, 10]);
        for distribution in [Uniform, Normal] {
            let seen = |p| (0..20_000).map(move |i| distribution.draw(p, mix(i)));
            for p in [0, 1, 5, 64] {
                assert_eq!((seen(p).min(), seen(p).max()), (Some(0), Some(2 * p)), "{distribution} {p}");
            }
        }
    }

    #[test]
    fn names_read_back() {
        for distribution in RowLengthDistribution::ALL {
            assert_eq!(distribution.to_string().parse(), Ok(distribution));
        }
        assert!("poisson".parse::<RowLengthDistribution>().unwrap_err().contains("uniform"));
    }
}
