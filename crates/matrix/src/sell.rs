//! SELL-C-sigma: rows sorted by decreasing length within windows of sigma rows, cut into slices of C rows, each
//! slice padded to its own longest row and stored column by column.
//!
//! Source: Kreutzer et al., SIAM J. Sci. Comput. 36, 2014; Lehnert et al. 2016 for C = 512, sigma = 2048.

use crate::{Bytes, Csr, Dtype, Infeasible, Limits, Scalar};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// C and sigma. Its text is `c32/s1024`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SellShape {
    /// C: rows of a slice.
    pub slice: u32,
    /// Sigma: rows of a window that is sorted; 1 leaves the rows as they are.
    pub sigma: u32,
}

impl SellShape {
    /// The catalogue: a warp's worth of rows with windows from none to large, larger slices, and the shape of Lehnert
    /// et al. 2016.
    pub const ALL: [Self; 7] = [
        Self { slice: 32, sigma: 1 },
        Self { slice: 32, sigma: 256 },
        Self { slice: 32, sigma: 1024 },
        Self { slice: 32, sigma: 16384 },
        Self { slice: 64, sigma: 1024 },
        Self { slice: 256, sigma: 1024 },
        Self { slice: 512, sigma: 2048 },
    ];
}

impl fmt::Display for SellShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("c{}/s{}", self.slice, self.sigma))
    }
}

impl FromStr for SellShape {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = || {
            let (slice, sigma) = text.strip_prefix('c')?.split_once("/s")?;
            Some(Self { slice: slice.parse().ok()?, sigma: sigma.parse().ok()? })
        };
        numbers().filter(|s| s.slice > 0 && s.sigma > 0).ok_or_else(|| format!("'{text}' is no shape such as c32/s1024"))
    }
}

impl Serialize for SellShape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SellShape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A sparse matrix in SELL-C-sigma.
#[derive(Debug, Clone, PartialEq)]
pub struct Sell<T> {
    nrows: usize,
    ncols: usize,
    shape: SellShape,
    /// First stored entry of each slice, and the end of the last.
    slice_ptr: Vec<u64>,
    /// Row of the matrix at each place; empty if sigma is 1, where place i is row i.
    permutation: Vec<u32>,
    col_idx: Vec<u32>,
    values: Vec<T>,
}

impl<T: Scalar> Sell<T> {
    /// Converts. O(stored entries), in parallel.
    ///
    /// # Errors
    /// [`Infeasible`] if `limits` are exceeded; nothing has been allocated then.
    pub fn from_csr(a: &Csr<T>, shape: SellShape, limits: &Limits) -> Result<Self, Infeasible> {
        todo!()
    }

    /// Whether a matrix that stores `entries` entries in this shape may be converted; its bytes if so.
    ///
    /// # Errors
    /// As [`Sell::from_csr`].
    pub fn check(nrows: u64, ncols: u64, nnz: u64, shape: SellShape, entries: u64, limits: &Limits) -> Result<Bytes, Infeasible> {
        todo!()
    }

    /// Bytes of all arrays for `entries` stored entries; saturates.
    pub fn device_bytes(nrows: u64, shape: SellShape, entries: u64, dtype: Dtype) -> Bytes {
        todo!()
    }
}

/// Stored entries, padding included, of every shape of the catalogue, from the row offsets alone.
pub(crate) fn sizes(row_ptr: &[u64]) -> Vec<(SellShape, u64)> {
    todo!()
}
