#![doc = include_str!("coo.md")]

use super::array::entries;
use super::{
    CsrRows, Element, Elsewhere, FormatFamily, FormatOf, HostArray, Layout, NamedArrays, Shape, Step, Stored,
};
use crate::csr::pieces;
use crate::{Bytes, Csr, Dtype, Features, Infeasible, Limits, MatrixSize, Scalar};
use rayon::prelude::*;
use std::ops::Range;

/// A sparse matrix as sorted coordinates.
///
/// # Invariants
/// Held by construction from a [`Csr`]: the three arrays have `nnz` entries; rows never decrease; columns
/// strictly increase within a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Coo<T> {
    nrows: usize,
    row_idx: Vec<u32>,
    col_idx: Vec<u32>,
    values: Vec<T>,
}

impl<T: Scalar> Coo<T> {
    /// Converts. O(nnz), in parallel.
    ///
    /// # Errors
    /// [`Infeasible`] if rows cannot be named with 32 bits or `limits` are exceeded.
    pub fn from_csr(a: &Csr<T>, limits: &Limits) -> Result<Self, Infeasible> {
        Self::check(a.into(), limits)?;
        let mut row_idx = vec![0_u32; a.nnz()];
        // Each piece is the entries of a run of rows.
        let runs = (0..a.nrows()).step_by(ROWS_PER_PIECE);
        let runs = || runs.clone().map(|first| first..(first + ROWS_PER_PIECE).min(a.nrows()));
        let length = |rows: Range<usize>| (a.row_ptr()[rows.end] - a.row_ptr()[rows.start]) as usize;
        let tasks: Vec<_> = runs().zip(pieces(&mut row_idx, runs().map(length))).collect();
        tasks.into_par_iter().for_each(|(rows, piece)| {
            let lengths = rows.clone().map(|row| length(row..row + 1));
            rows.zip(pieces(piece, lengths)).for_each(|(row, entries)| entries.fill(row as u32));
        });
        let (col_idx, values) = (a.col_idx().to_vec(), a.values().to_vec());
        Ok(Self { nrows: a.nrows(), row_idx, col_idx, values })
    }

    /// Coordinates that the caller has already sorted: the spilled part of a HYB.
    pub(crate) fn from_sorted(nrows: usize, row_idx: Vec<u32>, col_idx: Vec<u32>, values: Vec<T>) -> Self {
        debug_assert!(row_idx.is_sorted() && row_idx.len() == col_idx.len() && col_idx.len() == values.len());
        Self { nrows, row_idx, col_idx, values }
    }

    /// Bytes of a matrix of that size, if it may be converted.
    ///
    /// # Errors
    /// As [`Coo::from_csr`].
    pub fn check(size: MatrixSize, limits: &Limits) -> Result<Bytes, Infeasible> {
        limits.check_unpadded(size, Self::device_bytes(size.nnz, T::DTYPE), T::DTYPE)
    }

    /// Bytes of the three arrays; saturates.
    pub fn device_bytes(nnz: u64, dtype: Dtype) -> Bytes {
        Bytes(nnz.saturating_mul(8 + dtype.bytes()))
    }

    /// Rows.
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// Non-zeros.
    pub fn nnz(&self) -> usize {
        self.values.len()
    }

    /// Row of every entry.
    pub fn row_idx(&self) -> &[u32] {
        &self.row_idx
    }

    /// Column of every entry.
    pub fn col_idx(&self) -> &[u32] {
        &self.col_idx
    }

    /// Value of every entry.
    pub fn values(&self) -> &[T] {
        &self.values
    }
}

/// Rows that one task writes: enough work to hide its start, small enough to balance.
const ROWS_PER_PIECE: usize = 4096;

/// COO as one of the storage formats.
pub(super) static FORMAT: FormatFamily = FormatFamily {
    name: "coo",
    description: include_str!("coo.md"),
    is_steady: true,
    elsewhere: &[
        Elsewhere { library: "cuSPARSE", name: "cusparseCreateCoo" },
        Elsewhere { library: "Ginkgo", name: "matrix::Coo" },
        Elsewhere { library: "SciPy", name: "coo_array" },
    ],
    device_bytes: |_, f, dtype| Coo::<f32>::device_bytes(f.nnz, dtype),
    ..FormatFamily::base(&CooFormat)
};

struct CooFormat;

impl<T: Scalar> FormatOf<T> for CooFormat {
    fn check(&self, _: Shape, f: &Features, limits: &Limits) -> Result<Bytes, Infeasible> {
        Coo::<T>::check(f.into(), limits)
    }

    fn convert(&self, _: Shape, a: &Csr<T>, limits: &Limits) -> Result<Box<dyn Stored<T>>, Infeasible> {
        Ok(Box::new(Coo::from_csr(a, limits)?))
    }

    /// Columns and values stay where they are.
    fn layout(&self, _: Shape, csr: CsrRows<'_>, limits: &Limits) -> Result<Layout<T>, Infeasible> {
        let MatrixSize { nrows, nnz, .. } = csr.size();
        Coo::<T>::check(csr.size(), limits)?;
        // Columns and values stay where they are.
        let with = &[("starts", "null"), ("col_idx", "null"), ("values", "null")];
        Ok(Layout {
            numbers: vec![("skip", 0)],
            arrays: vec![("row_idx", HostArray::room(Element::U32, nnz))],
            keeps: &["col_idx", "values"],
            // A warp a row.
            steps: vec![Step::Run { routine: "lay_coo", threads: 32 * nrows, part: "", with }],
            most: Bytes(4 * nnz),
            ..Layout::default()
        })
    }
}

impl<T: Scalar> Stored<T> for Coo<T> {
    fn arrays(&self) -> NamedArrays<'_, T> {
        let [columns, values] = entries(&self.col_idx, &self.values);
        vec![("row_idx", HostArray::u32s(&self.row_idx)), columns, values]
    }

    fn values_mut(&mut self) -> Vec<&mut [T]> {
        vec![&mut self.values]
    }
}
