#![doc = include_str!("sell.md")]

use super::array::{entries, entries_room};
use super::family::padded_entries;
use super::{
    CsrRows, Elsewhere, FormatFamily, FormatOf, HostArray, Knob, Layout, NamedArrays, NamedNumbers,
    PaddingBound, Shape, Step, Stored,
};
use crate::csr::{offsets, pieces};
use crate::infeasible::check_rows;
use crate::sell_sizes::stored_entries;
use crate::{
    Bytes, Csr, Dtype, Features, Infeasible, Limits, MatrixSize, Scalar, SellShape, columns, row_order,
};
use rayon::prelude::*;

/// A sparse matrix in SELL-C-sigma.
///
/// # Invariants
/// Held by construction: `permutation` holds every row once; within a window of sigma places, lengths never increase
/// along it and equal lengths keep the order of the rows. Places `s C .. (s + 1) C` are slice `s`; entry `k` of the
/// row at place `s C + j` lies at `slice_ptr[s] + k C + j`. The last slice has C places, too: those beyond `nrows`
/// hold padding alone. A row's padding stands behind its entries and has column [`Sell::<T>::PAD`] and value 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Sell<T> {
    shape: SellShape,
    /// First stored entry of each slice, and the end of the last.
    slice_ptr: Vec<u64>,
    /// Row of the matrix at each place; empty if sigma is 1, where place i is row i.
    permutation: Vec<u32>,
    col_idx: Vec<u32>,
    values: Vec<T>,
}

impl<T: Scalar> Sell<T> {
    /// Column index that marks padding.
    pub const PAD: u32 = columns::PAD;

    /// Converts. O(stored entries), in parallel.
    ///
    /// # Errors
    /// [`Infeasible`] if `limits` are exceeded; nothing has been allocated then.
    ///
    /// # Panics
    /// If sigma is neither 1 nor a multiple of C.
    pub fn from_csr(a: &Csr<T>, shape: SellShape, limits: &Limits) -> Result<Self, Infeasible> {
        assert!(shape.is_valid(), "sigma is 1 or a multiple of C, unlike in {shape}");
        let entries = Self::entries(a.row_ptr(), shape);
        Self::check(a.into(), shape, entries, limits)?;
        let (slice_ptr, permutation) = slices_and_order(a.row_ptr(), shape);
        let mut col_idx = vec![0; entries as usize];
        let mut values = vec![T::default(); entries as usize];
        let row_at = |place| row_at(a.nrows(), shape, &permutation, place);
        fill(a, &slice_ptr, shape.slice as usize, row_at, &mut col_idx, &mut values);
        Ok(Self { shape, slice_ptr, permutation, col_idx, values })
    }

    /// Entries that a matrix with these row offsets stores in this shape, padding included. O(nrows), in parallel; sorts
    /// nothing.
    pub fn entries(row_ptr: &[u64], shape: SellShape) -> u64 {
        stored_entries(row_ptr, &[shape])[0]
    }

    /// Bytes of a matrix of that size that stores `entries` entries in this shape, if it may be converted.
    ///
    /// The places behind the last row are not held against it, as is the stride of ELL: they count as the mean place
    /// does, which is exact for a single slice; of many slices they are too few to matter.
    ///
    /// # Errors
    /// As [`Sell::from_csr`].
    pub fn check(
        size: MatrixSize,
        shape: SellShape,
        entries: u64,
        limits: &Limits,
    ) -> Result<Bytes, Infeasible> {
        if shape.is_sorted() {
            check_rows(size.nrows)?;
        }
        let places = u128::from(Self::slices(size.nrows, shape)) * u128::from(shape.slice);
        let stored = u128::from(entries) * u128::from(size.nrows) / places.max(1);
        limits.check_with_vectors(
            size,
            stored,
            Self::device_bytes(size.nrows, shape, entries, T::DTYPE),
            T::DTYPE,
        )
    }

    /// Bytes of all arrays for `entries` stored entries; saturates.
    pub fn device_bytes(nrows: u64, shape: SellShape, entries: u64, dtype: Dtype) -> Bytes {
        let stored = entries.saturating_mul(4 + dtype.bytes());
        let slice_ptr = (Self::slices(nrows, shape) + 1).saturating_mul(8);
        let permutation = if shape.is_sorted() { nrows.saturating_mul(4) } else { 0 };
        Bytes(stored.saturating_add(slice_ptr).saturating_add(permutation))
    }

    const fn slices(nrows: u64, shape: SellShape) -> u64 {
        nrows.div_ceil(shape.slice as u64)
    }

    /// C and sigma.
    pub fn shape(&self) -> SellShape {
        self.shape
    }

    /// First stored entry of each slice, and the end of the last.
    pub fn slice_ptr(&self) -> &[u64] {
        &self.slice_ptr
    }

    /// Row of the matrix at each place; empty if sigma is 1, where place i is row i.
    pub fn permutation(&self) -> &[u32] {
        &self.permutation
    }

    /// Columns, entry `k` of the row at place `s C + j` at `slice_ptr[s] + k C + j`.
    pub fn col_idx(&self) -> &[u32] {
        &self.col_idx
    }

    /// Values, laid out as the columns.
    pub fn values(&self) -> &[T] {
        &self.values
    }
}

/// First stored entry of each slice, and the row at each place, from the row offsets alone. O(nrows), in parallel.
///
/// # Panics
/// If rows are sorted and 2^32 or more.
fn slices_and_order(row_ptr: &[u64], shape: SellShape) -> (Vec<u64>, Vec<u32>) {
    let permutation = if shape.is_sorted() {
        row_order::by_decreasing_length(row_ptr, shape.sigma as usize)
    } else {
        Vec::new()
    };
    let row_at = |place| row_at(row_ptr.len() - 1, shape, &permutation, place);
    let slice_ptr = slice_ptr(row_ptr, shape.slice as usize, row_at);
    (slice_ptr, permutation)
}

/// The row at a place, if there is one.
fn row_at(nrows: usize, shape: SellShape, permutation: &[u32], place: usize) -> Option<usize> {
    match permutation.get(place) {
        Some(&row) => Some(row as usize),
        None => (!shape.is_sorted() && place < nrows).then_some(place),
    }
}

/// Starts of the slices of `slice` places, from the longest row of each.
fn slice_ptr(row_ptr: &[u64], slice: usize, row_at: impl Fn(usize) -> Option<usize> + Sync) -> Vec<u64> {
    let slices = (row_ptr.len() - 1).div_ceil(slice);
    let length = |row: usize| row_ptr[row + 1] - row_ptr[row];
    let width = |s| (s * slice..(s + 1) * slice).filter_map(&row_at).map(length).max().unwrap_or(0);
    let stored = (0..slices).into_par_iter().with_min_len(64).map(|s| width(s) * slice as u64);
    offsets(stored.collect::<Vec<_>>())
}

/// Fills the slices, in parallel.
fn fill<T: Scalar>(
    a: &Csr<T>,
    slice_ptr: &[u64],
    slice: usize,
    row_at: impl Fn(usize) -> Option<usize> + Sync,
    col_idx: &mut [u32],
    values: &mut [T],
) {
    let lengths = || slice_ptr.windows(2).map(|ptr| (ptr[1] - ptr[0]) as usize);
    let slices: Vec<_> = pieces(col_idx, lengths()).zip(pieces(values, lengths())).collect();
    slices.into_par_iter().enumerate().for_each(|(s, (cols, vals))| {
        for (k, (cols, vals)) in cols.chunks_mut(slice).zip(vals.chunks_mut(slice)).enumerate() {
            columns::fill_one(a, k, (s * slice..).map(&row_at), cols, vals);
        }
    });
}

/// SELL-C-sigma as one of the storage formats.
pub(super) static FORMAT: FormatFamily = FormatFamily {
    name: "sell",
    knobs: &[
        Knob { letter: 'c', meaning: "rows of a slice" },
        Knob { letter: 's', meaning: "rows of a window in which they are sorted by length" },
    ],
    shapes: || SellShape::ALL.map(|shape| [shape.slice, shape.sigma]).to_vec(),
    description: include_str!("sell.md"),
    padding_bound: |[slice, _]| PaddingBound::Slices(slice),
    elsewhere: &[
        Elsewhere { library: "cuSPARSE", name: "cusparseCreateSlicedEll, of rows that are not sorted" },
        Elsewhere { library: "Ginkgo", name: "matrix::Sellp" },
        Elsewhere { library: "PETSc", name: "MATSELL" },
    ],
    device_bytes: |shape, f, dtype| {
        Sell::<f32>::device_bytes(f.nrows, shape.into(), entries_of(shape, f), dtype)
    },
    stored_entries: entries_of,
    padding: Some(|shape, f, dtype| padded_entries(entries_of(shape, f), f, dtype)),
    ..FormatFamily::base(&SellFormat)
};

impl From<Shape> for SellShape {
    fn from([slice, sigma]: Shape) -> Self {
        Self { slice, sigma }
    }
}

/// Unknown only in records made before this format was there: at least the non-zeros.
fn entries_of(shape: Shape, f: &Features) -> u64 {
    f.padded.sell(shape.into()).unwrap_or(f.nnz)
}

struct SellFormat;

impl<T: Scalar> FormatOf<T> for SellFormat {
    fn check(&self, shape: Shape, f: &Features, limits: &Limits) -> Result<Bytes, Infeasible> {
        Sell::<T>::check(f.into(), shape.into(), entries_of(shape, f), limits)
    }

    fn convert(&self, shape: Shape, a: &Csr<T>, limits: &Limits) -> Result<Box<dyn Stored<T>>, Infeasible> {
        Ok(Box::new(Sell::from_csr(a, shape.into(), limits)?))
    }

    fn layout(&self, shape: Shape, csr: CsrRows<'_>, limits: &Limits) -> Result<Layout<T>, Infeasible> {
        let shape = SellShape::from(shape);
        let entries = Sell::<T>::entries(csr.row_ptr, shape);
        let most = Sell::<T>::check(csr.size(), shape, entries, limits)?;
        let (slice_ptr, permutation) = slices_and_order(csr.row_ptr, shape);
        let places = (slice_ptr.len() as u64 - 1) * u64::from(shape.slice);
        let mut arrays =
            vec![("slice_ptr", HostArray::u64s(slice_ptr)), ("permutation", HostArray::u32s(permutation))];
        arrays.extend(entries_room(entries));
        Ok(Layout {
            numbers: vec![("places", places), ("slice", shape.slice.into()), ("stored", entries)],
            arrays,
            steps: vec![Step::Run { routine: "lay_slices", threads: places, part: "", with: &[] }],
            most,
            ..Layout::default()
        })
    }
}

impl<T: Scalar> Stored<T> for Sell<T> {
    fn numbers(&self) -> NamedNumbers {
        let slices = self.slice_ptr.len() as u64 - 1;
        let slice = u64::from(self.shape.slice);
        vec![("places", slices * slice), ("slice", slice), ("stored", self.values.len() as u64)]
    }

    fn row_order(&self) -> &[u32] {
        &self.permutation
    }

    fn arrays(&self) -> NamedArrays<'_, T> {
        let [columns, values] = entries(&self.col_idx, &self.values);
        vec![
            ("slice_ptr", HostArray::u64s(&self.slice_ptr)),
            ("permutation", HostArray::u32s(&self.permutation)),
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

    fn picture() -> Csr<f64> {
        let cols = vec![0, 0, 1, 2, 1, 0, 3];
        Csr::try_new(4, 4, vec![0, 1, 4, 5, 7], cols, (1..=7).map(f64::from).collect()).unwrap()
    }

    #[test]
    fn the_matrix_of_the_picture_is_stored_as_it_says() {
        let sell = Sell::from_csr(&picture(), SellShape { slice: 2, sigma: 4 }, &Limits::NONE).unwrap();
        assert_eq!(sell.permutation(), [1, 3, 0, 2]);
        assert_eq!(sell.slice_ptr(), [0, 6, 8]);
        assert_eq!(sell.col_idx(), [0, 0, 1, 3, 2, Sell::<f64>::PAD, 0, 1]);
        assert_eq!(sell.values(), [2.0, 6.0, 3.0, 7.0, 4.0, 0.0, 1.0, 5.0]);
    }

    #[test]
    fn without_sorting_there_is_no_permutation_and_the_last_slice_is_full() {
        let sell = Sell::from_csr(&picture(), SellShape { slice: 3, sigma: 1 }, &Limits::NONE).unwrap();
        assert!(sell.permutation().is_empty());
        assert_eq!(sell.slice_ptr(), [0, 9, 15], "3 places of 3 and of 2 entries");
        let pad = Sell::<f64>::PAD;
        assert_eq!(sell.col_idx()[9..], [0, pad, pad, 3, pad, pad]);
    }

    #[test]
    fn the_text_of_a_shape_reads_back_and_other_text_is_refused() {
        for shape in SellShape::ALL {
            assert_eq!(shape.to_string().parse(), Ok(shape));
        }
        for text in ["", "c32", "c0/s1", "c32/s0", "c32/s48", "c32/s1024/s1", "r256"] {
            assert!(text.parse::<SellShape>().is_err(), "{text}");
        }
    }
}
