//! The arrays of a format by name and type.
//!
//! A kernel names its arguments; a format names its arrays and numbers. Code that brings a matrix to a device or launches a
//! kernel needs only the names.

use crate::{Csr, Scalar};
use std::borrow::Cow;

/// Arrays of a matrix in a format, by the names that kernels have for them.
pub type NamedArrays<'a, T> = Vec<(&'static str, HostArray<'a, T>)>;

/// Numbers that kernels are told beside the arrays: `width`, `stride`. Rows, columns and non-zeros of the matrix
/// (`nrows`, `ncols`, `nnz`) are known without them.
pub type NamedNumbers = Vec<(&'static str, u64)>;

/// An array of a matrix in the form that a device takes.
#[derive(Debug, Clone, PartialEq)]
pub enum HostArray<'a, T: Clone> {
    /// Bytes.
    U8(Cow<'a, [u8]>),
    /// Words of 32 bits.
    U32(Cow<'a, [u32]>),
    /// Words of 64 bits.
    U64(Cow<'a, [u64]>),
    /// Values of the matrix.
    Values(Cow<'a, [T]>),
    /// Offsets into the `nnz` entries of CSR: on a device as wide as [`Csr::offset_bytes`](crate::Csr::offset_bytes) says.
    Offsets {
        /// The offsets.
        offsets: Cow<'a, [u64]>,
        /// Non-zeros of the matrix.
        nnz: u64,
    },
    /// Memory that kernels use between them and a host has nothing to put into.
    Room {
        /// Element.
        element: Element,
        /// Count.
        len: u64,
        /// True if all bits have to be zero at first.
        zeroed: bool,
    },
}

impl<'a, T: Clone> HostArray<'a, T> {
    /// Words of 32 bits.
    pub(super) fn u32s(words: impl Into<Cow<'a, [u32]>>) -> Self {
        Self::U32(words.into())
    }

    /// Words of 64 bits.
    pub(super) fn u64s(words: impl Into<Cow<'a, [u64]>>) -> Self {
        Self::U64(words.into())
    }

    /// Values of the matrix.
    pub(super) fn values(values: impl Into<Cow<'a, [T]>>) -> Self {
        Self::Values(values.into())
    }

    /// Room for `len` elements that a device fills.
    pub(super) const fn room(element: Element, len: u64) -> Self {
        Self::Room { element, len, zeroed: false }
    }
}

impl<T: Scalar> HostArray<'_, T> {
    /// Bytes on a device.
    pub fn bytes(&self) -> u64 {
        let value = T::DTYPE.bytes();
        match self {
            Self::U8(data) => data.len() as u64,
            Self::U32(data) => 4 * data.len() as u64,
            Self::U64(data) => 8 * data.len() as u64,
            Self::Values(data) => value * data.len() as u64,
            Self::Offsets { offsets, nnz } => Csr::<T>::offset_bytes(*nnz) * offsets.len() as u64,
            Self::Room { element, len, .. } => len.saturating_mul(element.bytes(value)),
        }
    }
}

/// The element of an array on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// A byte.
    U8,
    /// A word of 32 bits.
    U32,
    /// A word of 64 bits.
    U64,
    /// A value of the matrix.
    Value,
}

impl Element {
    /// Bytes of one, of a matrix whose values take `value_bytes`.
    pub const fn bytes(self, value_bytes: u64) -> u64 {
        match self {
            Self::U8 => 1,
            Self::U32 => 4,
            Self::U64 => 8,
            Self::Value => value_bytes,
        }
    }
}

/// The columns and values of entries.
pub(super) fn entries<'a, T: Clone>(
    col_idx: &'a [u32],
    values: &'a [T],
) -> [(&'static str, HostArray<'a, T>); 2] {
    [("col_idx", HostArray::u32s(col_idx)), ("values", HostArray::values(values))]
}

/// Room for the columns and values of `stored` entries.
pub(super) fn entries_room<T: Clone>(stored: u64) -> NamedArrays<'static, T> {
    vec![
        ("col_idx", HostArray::room(Element::U32, stored)),
        ("values", HostArray::room(Element::Value, stored)),
    ]
}
