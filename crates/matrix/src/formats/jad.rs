#![doc = include_str!("jad.md")]

use super::array::{entries, entries_room};
use super::family::longest_row;
use super::{
    CsrRows, FormatFamily, FormatOf, Generator, HostArray, Layout, NamedArrays, NamedNumbers, Shape, Step,
    Stored,
};
use crate::{Bytes, Csr, Dtype, Features, Infeasible, Limits, MatrixSize, Scalar, columns, row_order};

/// A sparse matrix in jagged diagonals.
///
/// # Invariants
/// Held by construction: `permutation` holds every row once, lengths never increase along it, equal lengths keep the
/// order of the rows; entry `k` of row `permutation[i]` lies at `diagonal_ptr[k] + i`.
#[derive(Debug, Clone, PartialEq)]
pub struct Jad<T> {
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
        Self::check(a.into(), longest_row(a.row_ptr()), limits)?;
        let (permutation, diagonal_ptr) = order_and_diagonals(a.row_ptr());
        let mut col_idx = vec![0; a.nnz()];
        let mut values = vec![T::default(); a.nnz()];
        let lengths = diagonal_ptr.windows(2).map(|d| (d[1] - d[0]) as usize);
        columns::fill(a, lengths, |place| Some(permutation[place] as usize), &mut col_idx, &mut values);
        Ok(Self { permutation, diagonal_ptr, col_idx, values })
    }

    /// Bytes of a matrix of that size whose longest row has `longest` entries, if it may be converted.
    ///
    /// # Errors
    /// As [`Jad::from_csr`].
    pub fn check(size: MatrixSize, longest: u64, limits: &Limits) -> Result<Bytes, Infeasible> {
        limits.check_unpadded(size, Self::device_bytes(size.nrows, size.nnz, longest, T::DTYPE), T::DTYPE)
    }

    /// Bytes of all four arrays; saturates.
    pub fn device_bytes(nrows: u64, nnz: u64, longest: u64, dtype: Dtype) -> Bytes {
        let entries = nnz.saturating_mul(4 + dtype.bytes());
        let diagonal_ptr = longest.saturating_add(1).saturating_mul(8);
        Bytes(entries.saturating_add(diagonal_ptr).saturating_add(nrows.saturating_mul(4)))
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

/// Row at each place and first entry of each diagonal, from the row offsets of CSR. Diagonal `k` has a place for each row of more than
/// `k` entries, and these stand in front. O(nrows + longest row).
///
/// # Panics
/// If there are 2^32 rows or more.
fn order_and_diagonals(row_ptr: &[u64]) -> (Vec<u32>, Vec<u64>) {
    let permutation = row_order::by_decreasing_length(row_ptr, row_ptr.len().max(2) - 1);
    let longest = longest_row(row_ptr);
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
    (permutation, diagonal_ptr)
}

/// JAD as one of the storage formats.
pub(super) static FORMAT: FormatFamily = FormatFamily {
    name: "jad",
    description: include_str!("jad.md"),
    generator: Some(Generator {
        routine: "generate_jad",
        threads: |number| number("nrows"),
        args: &["permutation", "diagonal_ptr", "col_idx", "values"],
    }),
    device_bytes: |_, f, dtype| Jad::<f32>::device_bytes(f.nrows, f.nnz, f.row_max, dtype),
    ..FormatFamily::base(&JadFormat)
};

struct JadFormat;

impl<T: Scalar> FormatOf<T> for JadFormat {
    fn check(&self, _: Shape, f: &Features, limits: &Limits) -> Result<Bytes, Infeasible> {
        Jad::<T>::check(f.into(), f.row_max, limits)
    }

    fn convert(&self, _: Shape, a: &Csr<T>, limits: &Limits) -> Result<Box<dyn Stored<T>>, Infeasible> {
        Ok(Box::new(Jad::from_csr(a, limits)?))
    }

    fn layout(&self, _: Shape, csr: CsrRows<'_>, limits: &Limits) -> Result<Layout<T>, Infeasible> {
        let MatrixSize { nrows, nnz, .. } = csr.size();
        let most = Jad::<T>::check(csr.size(), csr.longest(), limits)?;
        let (permutation, diagonal_ptr) = order_and_diagonals(csr.row_ptr);
        let numbers = vec![("diagonals", diagonal_ptr.len() as u64 - 1)];
        let mut arrays = vec![
            ("permutation", HostArray::u32s(permutation)),
            ("diagonal_ptr", HostArray::u64s(diagonal_ptr)),
        ];
        arrays.extend(entries_room(nnz));
        Ok(Layout {
            numbers,
            arrays,
            steps: vec![Step::Run { routine: "lay_diagonals", threads: nrows, part: "", with: &[] }],
            most,
            ..Layout::default()
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
        let [columns, values] = entries(&self.col_idx, &self.values);
        vec![
            ("permutation", HostArray::u32s(&self.permutation)),
            ("diagonal_ptr", HostArray::u64s(&self.diagonal_ptr)),
            columns,
            values,
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
