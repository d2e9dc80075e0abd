#![doc = include_str!("sell.md")]

use super::family::padded_entries;
use super::{
    Element, Elsewhere, FormatFamily, FormatOf, HostArray, Knob, Layout, NamedArrays, NamedNumbers,
    PaddingBound, Shape, Step, Stored,
};
use crate::infeasible::check_rows;
use crate::sell_sizes::stored_entries;
use crate::{Bytes, Csr, Dtype, Features, Infeasible, Limits, Scalar, columns, row_order};
use rayon::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// C and sigma; sigma is 1 or a multiple of C, so that no slice lies in two windows. Its text is `c32/s1024`.
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

    /// Whether the slices fit into the windows.
    pub(crate) const fn is_valid(self) -> bool {
        self.slice > 0 && (self.sigma == 1 || self.sigma > 0 && self.sigma.is_multiple_of(self.slice))
    }

    /// Whether rows change places.
    pub const fn is_sorted(self) -> bool {
        self.sigma > 1
    }
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
        numbers()
            .filter(|shape| shape.is_valid())
            .ok_or_else(|| format!("'{text}' is no shape such as c32/s1024"))
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
///
/// # Invariants
/// Held by construction: `permutation` holds every row once; within a window of sigma places, lengths never increase
/// along it and equal lengths keep the order of the rows. Places `s C .. (s + 1) C` are slice `s`; entry `k` of the
/// row at place `s C + j` lies at `slice_ptr[s] + k C + j`. The last slice has C places, too: those beyond `nrows`
/// hold padding alone. A row's padding stands behind its entries and has column [`Sell::<T>::PAD`] and value 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Sell<T> {
    nrows: usize,
    ncols: usize,
    nnz: usize,
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
        Self::check(a.nrows() as u64, a.ncols() as u64, a.nnz() as u64, shape, entries, limits)?;
        let SellLayout { slice_ptr, permutation } = SellLayout::of(a.row_ptr(), shape);
        let mut col_idx = vec![0; entries as usize];
        let mut values = vec![T::default(); entries as usize];
        let row_at = |place| row_at(a.nrows(), shape, &permutation, place);
        fill(a, &slice_ptr, shape.slice as usize, row_at, &mut col_idx, &mut values);
        let (nrows, ncols, nnz) = (a.nrows(), a.ncols(), a.nnz());
        Ok(Self { nrows, ncols, nnz, shape, slice_ptr, permutation, col_idx, values })
    }

    /// Entries that a matrix with these row offsets stores in this shape, padding included. O(nrows), in parallel; sorts
    /// nothing.
    pub fn entries(row_ptr: &[u64], shape: SellShape) -> u64 {
        stored_entries(row_ptr, &[shape])[0]
    }

    /// Whether a matrix that stores `entries` entries in this shape may be converted; its bytes if so.
    ///
    /// The places behind the last row are not held against it, as is the stride of ELL: they count as the mean place
    /// does, which is exact for a single slice; of many slices they are too few to matter.
    ///
    /// # Errors
    /// As [`Sell::from_csr`].
    pub fn check(
        nrows: u64,
        ncols: u64,
        nnz: u64,
        shape: SellShape,
        entries: u64,
        limits: &Limits,
    ) -> Result<Bytes, Infeasible> {
        if shape.is_sorted() {
            check_rows(nrows)?;
        }
        let places = u128::from(Self::slices(nrows, shape)) * u128::from(shape.slice);
        let stored = u128::from(entries) * u128::from(nrows) / places.max(1);
        let bytes = Self::device_bytes(nrows, shape, entries, T::DTYPE);
        limits.check_with_vectors((nrows, ncols), (stored, nnz), bytes, T::DTYPE)
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

    /// Rows.
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// Columns.
    pub fn ncols(&self) -> usize {
        self.ncols
    }

    /// C and sigma.
    pub fn shape(&self) -> SellShape {
        self.shape
    }

    /// Non-zeros held, padding excluded.
    pub fn nnz(&self) -> usize {
        self.nnz
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

/// Where everything goes, from the row offsets alone: for those who lay the entries out themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SellLayout {
    slice_ptr: Vec<u64>,
    permutation: Vec<u32>,
}

impl SellLayout {
    /// Of a matrix with these row offsets. O(nrows), in parallel.
    ///
    /// # Panics
    /// If sigma is neither 1 nor a multiple of C; if rows are sorted and 2^32 or more.
    pub fn of(row_ptr: &[u64], shape: SellShape) -> Self {
        assert!(shape.is_valid(), "sigma is 1 or a multiple of C, unlike in {shape}");
        let permutation = if shape.is_sorted() {
            row_order::by_decreasing_length(row_ptr, shape.sigma as usize)
        } else {
            Vec::new()
        };
        let row_at = |place| row_at(row_ptr.len() - 1, shape, &permutation, place);
        let slice_ptr = slice_ptr(row_ptr, shape.slice as usize, row_at);
        Self { slice_ptr, permutation }
    }

    /// As [`Sell::slice_ptr`].
    pub fn slice_ptr(&self) -> &[u64] {
        &self.slice_ptr
    }

    /// As [`Sell::permutation`].
    pub fn permutation(&self) -> &[u32] {
        &self.permutation
    }

    /// Stored entries, padding included.
    pub fn entries(&self) -> u64 {
        self.slice_ptr[self.slice_ptr.len() - 1]
    }
}

/// The row at a place, if there is one.
fn row_at(nrows: usize, shape: SellShape, permutation: &[u32], place: usize) -> Option<usize> {
    match permutation.get(place) {
        Some(&row) => Some(row as usize),
        None => (!shape.is_sorted() && place < nrows).then_some(place),
    }
}

/// Where the slices of `slice` places start, from the longest row of each.
fn slice_ptr(row_ptr: &[u64], slice: usize, row_at: impl Fn(usize) -> Option<usize> + Sync) -> Vec<u64> {
    let slices = (row_ptr.len() - 1).div_ceil(slice);
    let length = |row: usize| row_ptr[row + 1] - row_ptr[row];
    let mut slice_ptr = vec![0; slices + 1];
    slice_ptr[1..].par_iter_mut().with_min_len(64).enumerate().for_each(|(s, end)| {
        let width = (s * slice..(s + 1) * slice).filter_map(&row_at).map(length).max();
        *end = width.unwrap_or(0) * slice as u64;
    });
    let mut end = 0;
    for ptr in &mut slice_ptr {
        end += *ptr;
        *ptr = end;
    }
    slice_ptr
}

/// Fills the slices, in parallel.
fn fill<T: Scalar>(
    a: &Csr<T>,
    slice_ptr: &[u64],
    slice: usize,
    row_at: impl Fn(usize) -> Option<usize> + Sync,
    mut col_idx: &mut [u32],
    mut values: &mut [T],
) {
    let mut slices: Vec<(&mut [u32], &mut [T])> = Vec::with_capacity(slice_ptr.len() - 1);
    for ptr in slice_ptr.windows(2) {
        let (cols, vals);
        (cols, col_idx) = col_idx.split_at_mut((ptr[1] - ptr[0]) as usize);
        (vals, values) = values.split_at_mut((ptr[1] - ptr[0]) as usize);
        slices.push((cols, vals));
    }
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
    stays_in_csr: false,
    generator: None,
    is_steady: false,
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
    bits_per_column: None,
    of_f32: &SellFormat,
    of_f64: &SellFormat,
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
        Sell::<T>::check(f.nrows, f.ncols, f.nnz, shape.into(), entries_of(shape, f), limits)
    }

    fn convert(&self, shape: Shape, a: &Csr<T>, limits: &Limits) -> Result<Box<dyn Stored<T>>, Infeasible> {
        Ok(Box::new(Sell::from_csr(a, shape.into(), limits)?))
    }

    fn layout(
        &self,
        shape: Shape,
        row_ptr: &[u64],
        ncols: u64,
        limits: &Limits,
    ) -> Result<Layout<T>, Infeasible> {
        let shape = SellShape::from(shape);
        let (nrows, nnz) = (row_ptr.len() as u64 - 1, row_ptr[row_ptr.len() - 1]);
        let entries = Sell::<T>::entries(row_ptr, shape);
        let most = Sell::<T>::check(nrows, ncols, nnz, shape, entries, limits)?;
        let SellLayout { slice_ptr, permutation } = SellLayout::of(row_ptr, shape);
        let room = |element| HostArray::Room { element, len: entries, zeroed: false };
        let places = (slice_ptr.len() as u64 - 1) * u64::from(shape.slice);
        let args = &[
            "places",
            "nrows",
            "slice",
            "csr.row_ptr",
            "csr.col_idx",
            "csr.values",
            "permutation",
            "slice_ptr",
            "col_idx",
            "values",
        ];
        Ok(Layout {
            numbers: vec![("places", places), ("slice", shape.slice.into()), ("stored", entries)],
            arrays: vec![
                ("slice_ptr", HostArray::U64(slice_ptr.into())),
                ("permutation", HostArray::U32(permutation.into())),
                ("col_idx", room(Element::U32)),
                ("values", room(Element::Value)),
            ],
            scratch: Vec::new(),
            keeps: &[],
            steps: vec![Step::Run { routine: "lay_slices", threads: places, args }],
            most,
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
        vec![
            ("slice_ptr", HostArray::U64(self.slice_ptr.as_slice().into())),
            ("permutation", HostArray::U32(self.permutation.as_slice().into())),
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
