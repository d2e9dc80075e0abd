//! A share of a corpus for one of several runs: `--shard 2/5`.

use sparsight::matrix::mix;
use std::fmt;
use std::str::FromStr;

/// Share `index` of `count`, counted from 1.
///
/// A matrix belongs to exactly one share, which follows from its name alone: it does not matter in which order the
/// runs list the matrices, or whether one of them lists more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shard {
    index: u64,
    count: u64,
}

impl Shard {
    /// Returns whether the matrix recorded as `name` belongs to this share.
    pub(crate) fn holds(self, name: &str) -> bool {
        let hash = name.bytes().fold(0, |hash, byte| mix(hash ^ u64::from(byte)));
        hash % self.count == self.index - 1
    }
}

impl FromStr for Shard {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match numbers {
            None => Err("a shard is I/N, such as 1/4: the first of four".to_owned()),
            Some((_, 0)) => Err("there must be at least one shard".to_owned()),
            Some((index, count)) if index == 0 || index > count => {
                Err(format!("shards of {count} are counted from 1 to {count}, got {index}"))
            }
            Some((index, count)) => Ok(Self { index, count }),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_matrix_is_in_exactly_one_shard_and_shards_are_of_similar_size() {
        let names: Vec<String> = (0..600).map(|i| format!("gallery:arrow,n=1000,width=2,seed={i}")).collect();
        for count in [1, 2, 7, 16] {
            let shards: Vec<Shard> = (1..=count).map(|i| format!("{i}/{count}").parse().unwrap()).collect();
            assert!(names.iter().all(|name| shards.iter().filter(|s| s.holds(name)).count() == 1));
            let even = 600.0 / f64::from(count);
            for shard in shards {
                let held = names.iter().filter(|name| shard.holds(name)).count() as f64;
                // Five standard deviations of a fair deal.
                assert!((held - even).abs() <= 5.0 * even.sqrt(), "{shard} holds {held}");
            }
        }
    }

    #[test]
    fn an_invalid_shard_is_refused_with_an_example() {
        for text in ["", "2", "1/", "/2", "a/b", "-1/2", "1/2/3", "1.0/2"] {
            assert!(text.parse::<Shard>().unwrap_err().contains("such as 1/4"), "{text}");
        }
        assert!("0/4".parse::<Shard>().unwrap_err().contains("from 1 to 4, got 0"));
        assert!("5/4".parse::<Shard>().unwrap_err().contains("from 1 to 4, got 5"));
        assert!("1/0".parse::<Shard>().unwrap_err().contains("at least one"));
        assert_eq!("3/4".parse::<Shard>().unwrap().to_string(), "3/4");
    }
}
