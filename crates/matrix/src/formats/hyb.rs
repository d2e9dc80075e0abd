#![doc = include_str!("hyb.md")]

use super::family::padded_entries;
use super::{
    Element, Elsewhere, FormatFamily, FormatOf, HostArray, Layout, NamedArrays, NamedNumbers, PaddingBound,
    Shape, Step, Stored,
};
use crate::infeasible::check_rows;
use crate::{Bytes, Coo, Csr, Dtype, Ell, Features, Infeasible, Limits, RowLengths, Scalar};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// How a matrix is cut into ELL and COO.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HybSplit {
    /// Width K of the ELL part; 0 leaves it empty.
    pub width: u64,
    /// Non-zeros in the COO part.
    pub coo_nnz: u64,
}

/// Rows that must reach a width before ELL pays, at the least: Bell and Garland's choice for keeping a GPU
/// busy. Part of the format's definition, not a tuning knob.
const MIN_ROWS: u64 = 4096;

/// Whether `rows` of `nrows` rows are enough for ELL to be as wide as they are long.
pub(crate) const fn is_worthwhile(rows: u64, nrows: u64) -> bool {
    is_share(rows, nrows) && rows >= MIN_ROWS
}

/// Whether they are a large enough share: `n / 3` is compared exactly, as `3 rows >= n`.
pub(crate) const fn is_share(rows: u64, nrows: u64) -> bool {
    3 * rows >= nrows
}

/// The largest K such that at least `max(n / 3, 4096)` rows have K or more non-zeros, 0 if there is none.
pub(crate) fn split(lengths: &RowLengths) -> HybSplit {
    let mut rows = 0;
    let mut width = 0;
    for &(length, count) in lengths.counts().iter().rev() {
        rows += count;
        if is_worthwhile(rows, lengths.nrows()) {
            width = length;
            break;
        }
    }
    let coo_nnz = lengths.counts().iter().map(|&(length, count)| length.saturating_sub(width) * count).sum();
    HybSplit { width, coo_nnz }
}

/// A sparse matrix as ELL plus COO. Every non-zero is in exactly one part.
#[derive(Debug, Clone, PartialEq)]
pub struct Hyb<T> {
    ell: Ell<T>,
    coo: Coo<T>,
}

impl<T: Scalar> Hyb<T> {
    /// Converts, cut at [`RowLengths::hyb_split`]. O(stored entries), in parallel.
    ///
    /// # Errors
    /// [`Infeasible`] if `limits` are exceeded; nothing has been allocated then.
    pub fn from_csr(a: &Csr<T>, limits: &Limits) -> Result<Self, Infeasible> {
        let split = RowLengths::of(a).hyb_split();
        Self::check(a.nrows() as u64, a.ncols() as u64, a.nnz() as u64, split, limits)?;
        Ok(Self::cut(a, split.width as usize))
    }

    /// Converts with a chosen ELL width.
    pub(crate) fn cut(a: &Csr<T>, width: usize) -> Self {
        let ell = Ell::first_entries(a, width);
        let spilled: Vec<usize> = (0..a.nrows())
            .into_par_iter()
            .filter(|&row| a.row_ptr()[row + 1] - a.row_ptr()[row] > width as u64)
            .collect();
        let count = a.nnz() - ell.nnz();
        let mut row_idx = Vec::with_capacity(count);
        let mut col_idx = Vec::with_capacity(count);
        let mut values = Vec::with_capacity(count);
        for row in spilled {
            let (cols, vals) = a.row(row);
            row_idx.extend(std::iter::repeat_n(row as u32, cols.len() - width));
            col_idx.extend_from_slice(&cols[width..]);
            values.extend_from_slice(&vals[width..]);
        }
        Self { ell, coo: Coo::from_sorted((a.nrows(), a.ncols()), row_idx, col_idx, values) }
    }

    /// Whether a matrix cut at `split` may be converted; its bytes if so.
    ///
    /// # Errors
    /// As [`Hyb::from_csr`].
    pub fn check(
        nrows: u64,
        ncols: u64,
        nnz: u64,
        split: HybSplit,
        limits: &Limits,
    ) -> Result<Bytes, Infeasible> {
        check_rows(nrows)?;
        let stored = u128::from(nrows) * u128::from(split.width) + u128::from(split.coo_nnz);
        let bytes = Self::device_bytes(nrows, split, T::DTYPE);
        limits.check_with_vectors((nrows, ncols), (stored, nnz), bytes, T::DTYPE)
    }

    /// Bytes of both parts; saturates.
    pub fn device_bytes(nrows: u64, split: HybSplit, dtype: Dtype) -> Bytes {
        let ell = Ell::<T>::device_bytes(nrows, split.width, dtype).0;
        Bytes(ell.saturating_add(Coo::<T>::device_bytes(split.coo_nnz, dtype).0))
    }

    /// Where the COO part of each row begins in it, if the ELL part is `width` wide: for those who lay the entries out
    /// themselves.
    pub fn coo_starts(row_ptr: &[u64], width: u64) -> Vec<u64> {
        let spilled = row_ptr.windows(2).map(|w| (w[1] - w[0]).saturating_sub(width));
        spilled
            .scan(0, |end, length| {
                let start = *end;
                *end += length;
                Some(start)
            })
            .collect()
    }

    /// The first `width` entries of each row.
    pub fn ell(&self) -> &Ell<T> {
        &self.ell
    }

    /// What exceeds the width.
    pub fn coo(&self) -> &Coo<T> {
        &self.coo
    }
}

/// HYB as one of the storage formats. The arrays and numbers of its parts are named `ell.values`, `coo.nnz`.
pub(super) static FORMAT: FormatFamily = FormatFamily {
    name: "hyb",
    knobs: &[],
    shapes: || vec![Shape::default()],
    description: include_str!("hyb.md"),
    // A third of the rows at least fills the ELL part to its width.
    padding_bound: |_| PaddingBound::AsEntries,
    stays_in_csr: false,
    generator: None,
    is_steady: false,
    elsewhere: &[
        Elsewhere { library: "Ginkgo", name: "matrix::Hybrid" },
        Elsewhere { library: "CUSP", name: "hyb_matrix" },
    ],
    device_bytes: |_, f, dtype| Hyb::<f32>::device_bytes(f.nrows, f.hyb, dtype),
    stored_entries: |_, f| stored_entries(f),
    // All of it is in the ELL part.
    padding: Some(|_, f, dtype| padded_entries(stored_entries(f), f, dtype)),
    bits_per_column: None,
    of_f32: &HybFormat,
    of_f64: &HybFormat,
};

fn stored_entries(f: &Features) -> u64 {
    let ell = Ell::<f32>::stride_for(f.nrows).saturating_mul(f.hyb.width);
    ell.saturating_add(f.hyb.coo_nnz)
}

struct HybFormat;

impl<T: Scalar> FormatOf<T> for HybFormat {
    fn check(&self, _: Shape, f: &Features, limits: &Limits) -> Result<Bytes, Infeasible> {
        Hyb::<T>::check(f.nrows, f.ncols, f.nnz, f.hyb, limits)
    }

    fn convert(&self, _: Shape, a: &Csr<T>, limits: &Limits) -> Result<Box<dyn Stored<T>>, Infeasible> {
        Ok(Box::new(Hyb::from_csr(a, limits)?))
    }

    fn layout(
        &self,
        _: Shape,
        row_ptr: &[u64],
        ncols: u64,
        limits: &Limits,
    ) -> Result<Layout<T>, Infeasible> {
        let nrows = row_ptr.len() as u64 - 1;
        let split = RowLengths::of_offsets(row_ptr).hyb_split();
        let bytes = Hyb::<T>::check(nrows, ncols, row_ptr[row_ptr.len() - 1], split, limits)?;
        let (width, stride) = (split.width, Ell::<T>::stride_for(nrows));
        let room = |element, len| HostArray::Room { element, len, zeroed: false };
        let slices = vec![0, width * stride];
        let starts = Hyb::<T>::coo_starts(row_ptr, width);
        let ell = &[
            "ell.stride",
            "nrows",
            "ell.stride",
            "csr.row_ptr",
            "csr.col_idx",
            "csr.values",
            "null",
            "slice_ptr",
            "ell.col_idx",
            "ell.values",
        ];
        let coo = &[
            "nrows",
            "ell.width",
            "csr.row_ptr",
            "csr.col_idx",
            "csr.values",
            "starts",
            "coo.row_idx",
            "coo.col_idx",
            "coo.values",
        ];
        let spills = if split.coo_nnz > 0 { 32 * nrows } else { 0 };
        Ok(Layout {
            numbers: numbers(width, stride, split.coo_nnz),
            arrays: vec![
                ("ell.col_idx", room(Element::U32, width * stride)),
                ("ell.values", room(Element::Value, width * stride)),
                ("coo.row_idx", room(Element::U32, split.coo_nnz)),
                ("coo.col_idx", room(Element::U32, split.coo_nnz)),
                ("coo.values", room(Element::Value, split.coo_nnz)),
            ],
            scratch: vec![
                ("slice_ptr", HostArray::U64(slices.into())),
                ("starts", HostArray::U64(starts.into())),
            ],
            keeps: &[],
            steps: vec![
                Step::Run { routine: "lay_slices", threads: stride, args: ell },
                // A warp a row.
                Step::Run { routine: "lay_coo", threads: spills, args: coo },
            ],
            most: Bytes(bytes.0.saturating_add(8 * nrows)),
        })
    }
}

fn numbers(width: u64, stride: u64, coo_nnz: u64) -> NamedNumbers {
    vec![("ell.width", width), ("ell.stride", stride), ("coo.nnz", coo_nnz)]
}

impl<T: Scalar> Stored<T> for Hyb<T> {
    fn numbers(&self) -> NamedNumbers {
        numbers(self.ell.width() as u64, self.ell.stride() as u64, self.coo.nnz() as u64)
    }

    fn arrays(&self) -> NamedArrays<'_, T> {
        vec![
            ("ell.col_idx", HostArray::U32(self.ell.col_idx().into())),
            ("ell.values", HostArray::Values(self.ell.values().into())),
            ("coo.row_idx", HostArray::U32(self.coo.row_idx().into())),
            ("coo.col_idx", HostArray::U32(self.coo.col_idx().into())),
            ("coo.values", HostArray::Values(self.coo.values().into())),
        ]
    }

    fn values_mut(&mut self) -> Vec<&mut [T]> {
        self.ell.values_mut().into_iter().chain(self.coo.values_mut()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_is_the_largest_that_a_third_of_the_rows_and_4096_rows_reach() {
        // 12,300 rows: a third is 4,100. 4,100 rows have 9, the rest 2.
        let d = RowLengths::from_counts([(9, 4_100), (2, 8_200)]);
        assert_eq!(d.hyb_split(), HybSplit { width: 9, coo_nnz: 0 });
        // One row fewer is less than a third.
        let d = RowLengths::from_counts([(9, 4_099), (2, 8_201)]);
        assert_eq!(d.hyb_split(), HybSplit { width: 2, coo_nnz: 4_099 * 7 });
        // Fewer than 4,096 rows in all: everything is COO.
        let d = RowLengths::from_counts([(7, 4_095)]);
        assert_eq!(d.hyb_split(), HybSplit { width: 0, coo_nnz: 7 * 4_095 });
    }

    #[test]
    fn both_parts_together_hold_every_entry_once() {
        let a =
            Csr::try_new(3, 4, vec![0, 3, 3, 7], vec![0, 1, 3, 0, 1, 2, 3], (1..=7).map(f64::from).collect())
                .unwrap();
        for width in 0..=4 {
            let hyb = Hyb::cut(&a, width);
            let mut seen: Vec<f64> = hyb.ell().values().iter().copied().filter(|v| *v != 0.0).collect();
            assert_eq!(seen.len(), hyb.ell().nnz());
            seen.extend(hyb.coo().values());
            seen.sort_by(f64::total_cmp);
            assert_eq!(seen, a.values(), "width {width}");
        }
        assert_eq!(Hyb::cut(&a, 4).coo().nnz(), 0, "K = max(D) leaves COO empty");
        assert_eq!(Hyb::cut(&a, 0).ell().nnz(), 0, "K = 0 leaves ELL empty");
    }
}
