//! The two value types, `f32` and `f64`, behind one trait, and the names of what products are computed in.

use bytemuck::Pod;
use serde::de::IntoDeserializer;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul};
use std::str::FromStr;

/// Precision of a product as data: in a flag, a candidate's id, a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// Mixed precision: the values of the matrix are rounded to `f32`; x, y and all sums are `f64`. No [`Scalar`] is that; a
    /// matrix in `f64` is stored so where that is asked for.
    #[serde(rename = "f32-f64")]
    Mixed,
}

impl Dtype {
    /// Value types of a [`Scalar`], in the order in which tables list them.
    pub const ALL: [Self; 2] = [Self::F32, Self::F64];

    /// Bytes of one value of the matrix.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::F32 | Self::Mixed => 4,
            Self::F64 => 8,
        }
    }

    /// Type of the entries of x and y, and of sums.
    #[must_use]
    pub const fn of_vectors(self) -> Self {
        match self {
            Self::F32 => Self::F32,
            Self::F64 | Self::Mixed => Self::F64,
        }
    }

    /// Bytes of one entry of x or y, and of a sum.
    pub const fn vector_bytes(self) -> u64 {
        self.of_vectors().bytes()
    }

    /// Type of the values of the matrix.
    #[must_use]
    pub const fn of_values(self) -> Self {
        match self {
            Self::F32 | Self::Mixed => Self::F32,
            Self::F64 => Self::F64,
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl FromStr for Dtype {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        let read = Self::deserialize(s.into_deserializer());
        read.map_err(|_: serde::de::value::Error| format!("unknown value type '{s}': f32 or f64"))
    }
}

/// `f32` or `f64`; nothing else implements it.
pub trait Scalar:
    Pod
    + Default
    + PartialEq
    + PartialOrd
    + Send
    + Sync
    + fmt::Debug
    + fmt::Display
    + Add<Output = Self>
    + AddAssign
    + Mul<Output = Self>
    + Sum
    + sealed::Sealed
{
    /// The type's name as data.
    const DTYPE: Dtype;
    /// Distance from 1 to the next larger value.
    const EPSILON: f64;
    /// Smallest positive normal value.
    const MIN_POSITIVE: f64;
    /// Largest finite number.
    const MAX: f64;
    /// Nearest value.
    fn from_f64(value: f64) -> Self;
    /// Exact.
    fn to_f64(self) -> f64;
    /// The value with the bits of a whole number: not that number. For carrying numbers through what only moves values.
    /// Bits beyond those of the type are lost.
    fn of_number(number: u64) -> Self;
    /// The whole number with the bits of this value.
    fn number(self) -> u64;
}

impl Scalar for f32 {
    const DTYPE: Dtype = Dtype::F32;
    const EPSILON: f64 = Self::EPSILON as f64;
    const MIN_POSITIVE: f64 = Self::MIN_POSITIVE as f64;
    const MAX: f64 = Self::MAX as f64;
    fn from_f64(value: f64) -> Self {
        value as Self
    }
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    fn of_number(number: u64) -> Self {
        Self::from_bits(number as u32)
    }
    fn number(self) -> u64 {
        self.to_bits().into()
    }
}

impl Scalar for f64 {
    const DTYPE: Dtype = Dtype::F64;
    const EPSILON: f64 = Self::EPSILON;
    const MIN_POSITIVE: f64 = Self::MIN_POSITIVE;
    const MAX: f64 = Self::MAX;
    fn from_f64(value: f64) -> Self {
        value
    }
    fn to_f64(self) -> f64 {
        self
    }
    fn of_number(number: u64) -> Self {
        Self::from_bits(number)
    }
    fn number(self) -> u64 {
        self.to_bits()
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}
