#![doc = include_str!("jad.md")]

use super::{
    Element, FormatFamily, FormatOf, Generator, HostArray, Layout, NamedArrays, NamedNumbers, PaddingBound,
    Shape, Step, Stored,
};
use crate::infeasible::check_rows;
use crate::{Bytes, Csr, Dtype, Features, Infeasible, Limits, RowLengths, Scalar, columns, row_order};
use rayon::prelude::*;

/// A sparse matrix in jagged diagonals.
///
/// # Invariants
/// Held by construction: `permutation` holds every row once, lengths never increase along it, equal lengths keep the
/// order of the rows; entry `k` of row `permutation[i]` lies at `diagonal_ptr[k] + i`.
#[derive(Debug, Clone, PartialEq)]
pub struct Jad<T> {
    nrows: usize,
    ncols: usize,
    permutation: Vec<u32>,
    diagonal_ptr: Vec<u64>,
    col_idx: Vec<u32>,
    values: Vec<T>,
}

impl<T: Scalar> Jad<T> {
    /// Converts. O(nnz), in parallel.
    ///
    /// # Errors
    /// [`Infeasible`] if `limits` are exceeded; nothing has been allocated then.
    pub fn from_csr(a: &Csr<T>, limits: &Limits) -> Result<Self, Infeasible> {
        let longest = a.row_ptr().par_windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0);
        Self::check(a.nrows() as u64, a.ncols() as u64, a.nnz() as u64, longest, limits)?;
        let JadLayout { permutation, diagonal_ptr } = JadLayout::of(a.row_ptr());
        let mut col_idx = vec![0; a.nnz()];
        let mut values = vec![T::default(); a.nnz()];
        let lengths = diagonal_ptr.windows(2).map(|d| (d[1] - d[0]) as usize);
        columns::fill(a, lengths, |place| Some(permutation[place] as usize), &mut col_idx, &mut values);
        Ok(Self { nrows: a.nrows(), ncols: a.ncols(), permutation, diagonal_ptr, col_idx, values })
    }

    /// Whether a matrix whose longest row has `longest` entries may be converted; its bytes if so.
    ///
    /// # Errors
    /// As [`Jad::from_csr`].
    pub fn check(
        nrows: u64,
        ncols: u64,
        nnz: u64,
        longest: u64,
        limits: &Limits,
    ) -> Result<Bytes, Infeasible> {
        check_rows(nrows)?;
        let bytes = Self::device_bytes(nrows, nnz, longest, T::DTYPE);
        limits.check_with_vectors((nrows, ncols), (u128::from(nnz), nnz), bytes, T::DTYPE)
    }

    /// Bytes of all four arrays; saturates.
    pub fn device_bytes(nrows: u64, nnz: u64, longest: u64, dtype: Dtype) -> Bytes {
        let entries = nnz.saturating_mul(4 + dtype.bytes());
        let diagonal_ptr = longest.saturating_add(1).saturating_mul(8);
        Bytes(entries.saturating_add(diagonal_ptr).saturating_add(nrows.saturating_mul(4)))
    }

    /// Rows.
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// Columns.
    pub fn ncols(&self) -> usize {
        self.ncols
    }

    /// Non-zeros.
    pub fn nnz(&self) -> usize {
        self.values.len()
    }

    /// Row of the matrix at each place.
    pub fn permutation(&self) -> &[u32] {
        &self.permutation
    }

    /// First entry of each diagonal, and the end of the last: one more than the longest row has entries.
    pub fn diagonal_ptr(&self) -> &[u64] {
        &self.diagonal_ptr
    }

    /// Columns, entry `k` of the row at place `i` at `diagonal_ptr[k] + i`.
    pub fn col_idx(&self) -> &[u32] {
        &self.col_idx
    }

    /// Values, laid out as the columns.
    pub fn values(&self) -> &[T] {
        &self.values
    }
}

/// Where the rows and the diagonals of JAD lie, which follows from the row lengths alone: for a device that makes the
/// entries itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JadLayout {
    permutation: Vec<u32>,
    diagonal_ptr: Vec<u64>,
}

impl JadLayout {
    /// From the row offsets of CSR. O(nrows + longest row).
    ///
    /// # Panics
    /// If there are 2^32 rows or more.
    pub fn of(row_ptr: &[u64]) -> Self {
        let longest = row_ptr.par_windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0);
        let permutation = row_order::by_decreasing_length(row_ptr, row_ptr.len().max(2) - 1);
        let diagonal_ptr = diagonal_ptr(row_ptr, &permutation, longest);
        Self { permutation, diagonal_ptr }
    }

    /// As [`Jad::permutation`].
    pub fn permutation(&self) -> &[u32] {
        &self.permutation
    }

    /// As [`Jad::diagonal_ptr`].
    pub fn diagonal_ptr(&self) -> &[u64] {
        &self.diagonal_ptr
    }
}

/// Diagonal `k` has a place for each row of more than `k` entries, and these stand in front.
fn diagonal_ptr(row_ptr: &[u64], permutation: &[u32], longest: u64) -> Vec<u64> {
    let length = |row: u32| row_ptr[row as usize + 1] - row_ptr[row as usize];
    let mut rows = permutation.len();
    let mut diagonal_ptr = Vec::with_capacity(longest as usize + 1);
    let mut end = 0;
    diagonal_ptr.push(end);
    for k in 0..longest {
        while length(permutation[rows - 1]) <= k {
            rows -= 1;
        }
        end += rows as u64;
        diagonal_ptr.push(end);
    }
    diagonal_ptr
}

/// JAD as one of the storage formats.
pub(super) static FORMAT: FormatFamily = FormatFamily {
    name: "jad",
    knobs: &[],
    shapes: || vec![Shape::default()],
    description: include_str!("jad.md"),
    padding_bound: |_| PaddingBound::AsEntries,
    stays_in_csr: false,
    generator: Some(Generator {
        routine: "generate_jad",
        threads: |number| number("nrows"),
        args: &["permutation", "diagonal_ptr", "col_idx", "values"],
    }),
    is_steady: false,
    elsewhere: &[],
    device_bytes: |_, f, dtype| Jad::<f32>::device_bytes(f.nrows, f.nnz, f.row_max, dtype),
    stored_entries: |_, f| f.nnz,
    padding: None,
    bits_per_column: None,
    of_f32: &JadFormat,
    of_f64: &JadFormat,
};

struct JadFormat;

impl<T: Scalar> FormatOf<T> for JadFormat {
    fn check(&self, _: Shape, f: &Features, limits: &Limits) -> Result<Bytes, Infeasible> {
        Jad::<T>::check(f.nrows, f.ncols, f.nnz, f.row_max, limits)
    }

    fn convert(&self, _: Shape, a: &Csr<T>, limits: &Limits) -> Result<Box<dyn Stored<T>>, Infeasible> {
        Ok(Box::new(Jad::from_csr(a, limits)?))
    }

    fn layout(
        &self,
        _: Shape,
        row_ptr: &[u64],
        ncols: u64,
        limits: &Limits,
    ) -> Result<Layout<T>, Infeasible> {
        let (nrows, nnz) = (row_ptr.len() as u64 - 1, row_ptr[row_ptr.len() - 1]);
        let longest = RowLengths::of_offsets(row_ptr).max();
        let most = Jad::<T>::check(nrows, ncols, nnz, longest, limits)?;
        let JadLayout { permutation, diagonal_ptr } = JadLayout::of(row_ptr);
        let room = |element| HostArray::Room { element, len: nnz, zeroed: false };
        let args = &[
            "nrows",
            "csr.row_ptr",
            "csr.col_idx",
            "csr.values",
            "permutation",
            "diagonal_ptr",
            "col_idx",
            "values",
        ];
        Ok(Layout {
            numbers: vec![("diagonals", diagonal_ptr.len() as u64 - 1)],
            arrays: vec![
                ("permutation", HostArray::U32(permutation.into())),
                ("diagonal_ptr", HostArray::U64(diagonal_ptr.into())),
                ("col_idx", room(Element::U32)),
                ("values", room(Element::Value)),
            ],
            scratch: Vec::new(),
            keeps: &[],
            steps: vec![Step::Run { routine: "lay_diagonals", threads: nrows, args }],
            most,
        })
    }
}

impl<T: Scalar> Stored<T> for Jad<T> {
    fn numbers(&self) -> NamedNumbers {
        vec![("diagonals", self.diagonal_ptr.len() as u64 - 1)]
    }

    fn row_order(&self) -> &[u32] {
        &self.permutation
    }

    fn arrays(&self) -> NamedArrays<'_, T> {
        vec![
            ("permutation", HostArray::U32(self.permutation.as_slice().into())),
            ("diagonal_ptr", HostArray::U64(self.diagonal_ptr.as_slice().into())),
            ("col_idx", HostArray::U32(self.col_idx.as_slice().into())),
            ("values", HostArray::Values(self.values.as_slice().into())),
        ]
    }

    fn values_mut(&mut self) -> Vec<&mut [T]> {
        vec![&mut self.values]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_of_the_picture_is_stored_as_it_says() {
        let a = Csr::try_new(3, 3, vec![0, 2, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0]).unwrap();
        let jad = Jad::from_csr(&a, &Limits::NONE).unwrap();
        assert_eq!(jad.permutation(), [0, 2, 1]);
        assert_eq!(jad.diagonal_ptr(), [0, 2, 3]);
        assert_eq!(jad.col_idx(), [0, 1, 2]);
        assert_eq!(jad.values(), [1.0, 3.0, 2.0]);
    }

    #[test]
    fn a_matrix_without_rows_or_entries_has_no_diagonals() {
        for nrows in [0, 5] {
            let a = Csr::<f32>::try_new(nrows, 4, vec![0; nrows + 1], vec![], vec![]).unwrap();
            let jad = Jad::from_csr(&a, &Limits::NONE).unwrap();
            assert_eq!((jad.permutation().len(), jad.diagonal_ptr()), (nrows, &[0][..]));
        }
    }
}
