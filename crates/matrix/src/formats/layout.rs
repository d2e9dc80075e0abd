//! Layout: how a device that holds a matrix in CSR lays it out in another format by itself, as data.
//!
//! ```text
//! row offsets --- host: where everything goes ---> arrays, numbers --+
//! CSR ------------------ on the device ------------------------------+--> steps --> arrays of the format
//! ```
//! The host's share takes time by rows, not by entries. The routines that the steps name belong to the device.

use super::{Element, NamedArrays, NamedNumbers};
use crate::{Bytes, Infeasible, Limits, Scalar};
use std::fmt;

/// Arrays, numbers and steps that lay a CSR matrix out in another format.
#[derive(Debug, Default)]
pub struct Layout<T: Scalar> {
    /// Numbers of the format that kernels are given.
    pub numbers: NamedNumbers,
    /// Arrays of the format that the host has made, and room for those that the steps fill.
    pub arrays: NamedArrays<'static, T>,
    /// Arrays that the steps read and that are of no use afterwards.
    pub scratch: NamedArrays<'static, T>,
    /// Arrays of the CSR that are the format's own, too: `row_ptr`, `col_idx`, `values`.
    pub keeps: &'static [&'static str],
    /// Steps in order; none if the host has done everything.
    pub steps: Vec<Step>,
    /// Bound on the bytes that the format takes on the way, beside the CSR.
    pub most: Bytes,
}

/// Looks up a number of a format by name.
pub type NumberOf<'n> = dyn Fn(&str) -> u64 + 'n;

/// Says whether a format that is half made has become too large.
pub type Refusal = dyn Fn(&NumberOf<'_>, &Limits) -> Result<(), Infeasible> + Send + Sync;

/// Computes the length of an array from the numbers that are known by then.
pub type Length = dyn Fn(&NumberOf<'_>) -> u64 + Send + Sync;

/// A step of a [`Layout`]. Arrays and numbers go by name.
pub enum Step {
    /// A routine of the device with so many threads, or as many as fill it; nothing for no threads. Its parameters are arrays and
    /// numbers of the format by name, of the CSR by `csr_row_ptr`, `csr_col_idx` and `csr_values`.
    Run {
        /// Name of the routine.
        routine: &'static str,
        /// Threads that have something to do.
        threads: u64,
        /// Prefix of the names of the part that is laid: `ell.`; empty for all of the format.
        part: &'static str,
        /// Parameters with other names in the format, and these names; `null` is no array.
        with: &'static [(&'static str, &'static str)],
    },
    /// The host adds up `lengths`: `starts` is where each begins and the last ends, `total` their sum.
    AddUp {
        /// An array of 64-bit words.
        lengths: &'static str,
        /// The array that is made.
        starts: &'static str,
        /// The number that is known then.
        total: &'static str,
    },
    /// The host adds up `of`: `total` is the sum.
    Total {
        /// An array of 64-bit words.
        of: &'static str,
        /// The number that is known then.
        total: &'static str,
    },
    /// The host lists the bytes of `marks` that are not 0: `list` holds their numbers, the first byte being number `first`,
    /// as words of 64 bits, and `count` says how many there are. `fits` is asked once these are known.
    ListMarked {
        /// An array of bytes.
        marks: &'static str,
        /// The number of the first byte.
        first: i64,
        /// The array that is made.
        list: &'static str,
        /// The number that is known then.
        count: &'static str,
        /// Refuses too many.
        fits: Box<Refusal>,
    },
    /// Refuses what turned out too large.
    Check(Box<Refusal>),
    /// Room for an array whose length is known only now.
    Room {
        /// The array.
        name: &'static str,
        /// Element.
        element: Element,
        /// Count.
        len: Box<Length>,
    },
}

impl Step {
    /// Room for the array of that name.
    pub(super) fn room(
        name: &'static str,
        element: Element,
        len: impl Fn(&NumberOf<'_>) -> u64 + Send + Sync + 'static,
    ) -> Self {
        Self::Room { name, element, len: Box::new(len) }
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run { routine, threads, part, .. } => write!(f, "{part}{routine}<{threads}>"),
            Self::AddUp { lengths, starts, .. } => write!(f, "{starts} = starts of {lengths}"),
            Self::Total { of, total } => write!(f, "{total} = sum of {of}"),
            Self::ListMarked { marks, list, .. } => write!(f, "{list} = places marked in {marks}"),
            Self::Check(_) => f.write_str("check"),
            Self::Room { name, .. } => write!(f, "room for {name}"),
        }
    }
}
