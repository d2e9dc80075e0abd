#![doc = include_str!("hyb.md")]

use super::ell::ONE_SLICE;
use super::family::padded_entries;
use super::{
    CsrRows, Element, Elsewhere, FormatFamily, FormatOf, HostArray, Layout, NamedArrays, NamedNumbers, Shape,
    Step, Stored,
};
use crate::csr::offsets;
use crate::infeasible::check_rows;
use crate::{
    Bytes, Coo, Csr, Dtype, Ell, Features, HybSplit, Infeasible, Limits, MatrixSize, RowLengths, Scalar,
};
use rayon::prelude::*;

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
        Self::check(a.into(), split, limits)?;
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
        Self { ell, coo: Coo::from_sorted(a.nrows(), row_idx, col_idx, values) }
    }

    /// Bytes of a matrix of that size cut at `split`, if it may be converted.
    ///
    /// # Errors
    /// As [`Hyb::from_csr`].
    pub fn check(size: MatrixSize, split: HybSplit, limits: &Limits) -> Result<Bytes, Infeasible> {
        check_rows(size.nrows)?;
        let stored = u128::from(size.nrows) * u128::from(split.width) + u128::from(split.coo_nnz);
        limits.check_with_vectors(size, stored, Self::device_bytes(size.nrows, split, T::DTYPE), T::DTYPE)
    }

    /// Bytes of both parts; saturates.
    pub fn device_bytes(nrows: u64, split: HybSplit, dtype: Dtype) -> Bytes {
        let ell = Ell::<T>::device_bytes(nrows, split.width, dtype).0;
        Bytes(ell.saturating_add(Coo::<T>::device_bytes(split.coo_nnz, dtype).0))
    }

    /// First entry of each row in the COO part, if the ELL part is `width` wide.
    fn coo_starts(row_ptr: &[u64], width: u64) -> Vec<u64> {
        let spilled = row_ptr.windows(2).map(|w| (w[1] - w[0]).saturating_sub(width));
        let mut starts = offsets(spilled);
        starts.pop();
        starts
    }

    /// The first `width` entries of each row.
    pub fn ell(&self) -> &Ell<T> {
        &self.ell
    }

    /// The entries beyond the width.
    pub fn coo(&self) -> &Coo<T> {
        &self.coo
    }
}

/// HYB as one of the storage formats. The arrays and numbers of its parts are named `ell.values`, `coo.nnz`.
pub(super) static FORMAT: FormatFamily = FormatFamily {
    name: "hyb",
    description: include_str!("hyb.md"),
    // The padding bound of CSR holds: a third of the rows at least fills the ELL part to its width.
    elsewhere: &[
        Elsewhere { library: "Ginkgo", name: "matrix::Hybrid" },
        Elsewhere { library: "CUSP", name: "hyb_matrix" },
    ],
    device_bytes: |_, f, dtype| Hyb::<f32>::device_bytes(f.nrows, f.hyb, dtype),
    stored_entries: |_, f| stored_entries(f),
    // All of it is in the ELL part.
    padding: Some(|_, f, dtype| padded_entries(stored_entries(f), f, dtype)),
    ..FormatFamily::base(&HybFormat)
};

fn stored_entries(f: &Features) -> u64 {
    let ell = Ell::<f32>::stride_for(f.nrows).saturating_mul(f.hyb.width);
    ell.saturating_add(f.hyb.coo_nnz)
}

struct HybFormat;

impl<T: Scalar> FormatOf<T> for HybFormat {
    fn check(&self, _: Shape, f: &Features, limits: &Limits) -> Result<Bytes, Infeasible> {
        Hyb::<T>::check(f.into(), f.hyb, limits)
    }

    fn convert(&self, _: Shape, a: &Csr<T>, limits: &Limits) -> Result<Box<dyn Stored<T>>, Infeasible> {
        Ok(Box::new(Hyb::from_csr(a, limits)?))
    }

    fn layout(&self, _: Shape, csr: CsrRows<'_>, limits: &Limits) -> Result<Layout<T>, Infeasible> {
        let nrows = csr.size().nrows;
        let split = RowLengths::of_offsets(csr.row_ptr).hyb_split();
        let bytes = Hyb::<T>::check(csr.size(), split, limits)?;
        let (width, stride) = (split.width, Ell::<T>::stride_for(nrows));
        let slices = vec![0, width * stride];
        let starts = Hyb::<T>::coo_starts(csr.row_ptr, width);
        let room = HostArray::room;
        let coo = &[("skip", "ell.width")];
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
            scratch: vec![("slice_ptr", HostArray::u64s(slices)), ("starts", HostArray::u64s(starts))],
            steps: vec![
                Step::Run { routine: "lay_slices", threads: stride, part: "ell.", with: &ONE_SLICE },
                // A warp a row.
                Step::Run { routine: "lay_coo", threads: spills, part: "coo.", with: coo },
            ],
            most: Bytes(bytes.0.saturating_add(8 * nrows)),
            ..Layout::default()
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
            ("ell.col_idx", HostArray::u32s(self.ell.col_idx())),
            ("ell.values", HostArray::values(self.ell.values())),
            ("coo.row_idx", HostArray::u32s(self.coo.row_idx())),
            ("coo.col_idx", HostArray::u32s(self.coo.col_idx())),
            ("coo.values", HostArray::values(self.coo.values())),
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
