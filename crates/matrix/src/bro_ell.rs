//! BRO-ELL: sliced ELL whose column indices are differences along the row, packed into as few bits as the largest
//! difference of a slice's column needs.
//!
//! Source: Tang et al., SC 2013; Lehnert et al. 2016 for slices of 256 rows and 64-bit symbols.

use crate::{Bytes, Csr, Dtype, Infeasible, Limits, Scalar};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Rows of a slice. Its text is `r256`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BroEllShape {
    /// Rows of a slice.
    pub slice: u32,
}

impl BroEllShape {
    /// The catalogue: a warp's worth of rows, and the shape of Lehnert et al. 2016.
    pub const ALL: [Self; 2] = [Self { slice: 32 }, Self { slice: 256 }];
}

impl fmt::Display for BroEllShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("r{}", self.slice))
    }
}

impl FromStr for BroEllShape {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let slice = text.strip_prefix('r').and_then(|s| s.parse().ok()).filter(|&s| s > 0);
        slice.map(|slice| Self { slice }).ok_or_else(|| format!("'{text}' is no shape such as r256"))
    }
}

impl Serialize for BroEllShape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BroEllShape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// What a matrix takes in one shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BroEllSize {
    /// Stored values, padding included.
    pub entries: u64,
    /// 64-bit symbols that hold the columns.
    pub symbols: u64,
    /// Columns of all slices: a bit width is stored for each.
    pub columns: u64,
}

/// A sparse matrix in BRO-ELL.
#[derive(Debug, Clone, PartialEq)]
pub struct BroEll<T> {
    nrows: usize,
    ncols: usize,
    shape: BroEllShape,
    values: Vec<T>,
}

impl<T: Scalar> BroEll<T> {
    /// Converts. O(stored entries), in parallel.
    ///
    /// # Errors
    /// [`Infeasible`] if `limits` are exceeded; nothing has been allocated then.
    pub fn from_csr(a: &Csr<T>, shape: BroEllShape, limits: &Limits) -> Result<Self, Infeasible> {
        todo!()
    }

    /// Whether a matrix of this size may be converted; its bytes if so.
    ///
    /// # Errors
    /// As [`BroEll::from_csr`].
    pub fn check(nrows: u64, ncols: u64, nnz: u64, shape: BroEllShape, size: BroEllSize, limits: &Limits) -> Result<Bytes, Infeasible> {
        todo!()
    }

    /// Bytes of all arrays; saturates.
    pub fn device_bytes(nrows: u64, shape: BroEllShape, size: BroEllSize, dtype: Dtype) -> Bytes {
        todo!()
    }
}

/// The size in every shape of the catalogue.
pub(crate) fn sizes<T: Scalar>(a: &Csr<T>) -> Vec<(BroEllShape, BroEllSize)> {
    todo!()
}
