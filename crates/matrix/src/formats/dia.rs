#![doc = include_str!("dia.md")]

use super::family::padded_values;
use super::{
    CsrRows, Element, Elsewhere, FormatFamily, FormatOf, HostArray, Layout, NamedArrays, NamedNumbers,
    NumberOf, PaddingBound, Shape, Step, Stored,
};
use crate::diagonals::{DiagonalSet, most_diagonals};
use crate::infeasible::check_rows;
use crate::{Bytes, Csr, Dtype, Ell, Features, Infeasible, Limits, MatrixSize, Scalar};
use rayon::prelude::*;

/// A sparse matrix as its diagonals.
///
/// # Invariants
/// Held by construction: offsets ascend, each of a diagonal that holds a non-zero; `values` has `offsets.len() * stride`
/// entries; those that are no non-zero of the matrix are 0. `entries` has a bit for each, set where the matrix has one, whatever that
/// is; it is of the host alone. `stride` is that of [`Ell`], a multiple of 32.
#[derive(Debug, Clone, PartialEq)]
pub struct Dia<T> {
    ncols: usize,
    stride: usize,
    offsets: Vec<i64>,
    values: Vec<T>,
    entries: Vec<u32>,
}

/// Rows whose entries one task lays down, in all diagonals.
const ROWS_PER_TILE: usize = 512;

impl<T: Scalar> Dia<T> {
    /// Converts. O(stored entries), in parallel.
    ///
    /// # Errors
    /// [`Infeasible`] if there are too many diagonals or `limits` are exceeded; nothing large has been allocated then.
    pub fn from_csr(a: &Csr<T>, limits: &Limits) -> Result<Self, Infeasible> {
        let nrows = a.nrows();
        check_rows(nrows as u64)?;
        let diagonals = DiagonalSet::of(a.into());
        Self::check(a.into(), Some(diagonals.count()), limits)?;
        let offsets = diagonals.offsets();
        let stride = Ell::<T>::stride_for(nrows as u64) as usize;
        let mut values = vec![T::default(); offsets.len() * stride];
        // Tile by tile, each with its piece of every diagonal.
        let mut entries = vec![0_u32; values.len() / 32];
        let mut tiles: Vec<Vec<(&mut [T], &mut [u32])>> = Vec::new();
        tiles.resize_with(stride.div_ceil(ROWS_PER_TILE), Vec::new);
        let diagonals = values.chunks_mut(stride.max(1)).zip(entries.chunks_mut((stride / 32).max(1)));
        for (diagonal, bits) in diagonals {
            let pieces = diagonal.chunks_mut(ROWS_PER_TILE).zip(bits.chunks_mut(ROWS_PER_TILE / 32));
            for (tile, piece) in tiles.iter_mut().zip(pieces) {
                tile.push(piece);
            }
        }
        tiles.into_par_iter().enumerate().for_each(|(tile, mut pieces)| {
            let first = tile * ROWS_PER_TILE;
            for row in first..(first + ROWS_PER_TILE).min(nrows) {
                let (cols, values) = a.row(row);
                let mut diagonal = 0;
                for (&col, &value) in cols.iter().zip(values) {
                    // Both ascend.
                    while offsets[diagonal] < i64::from(col) - row as i64 {
                        diagonal += 1;
                    }
                    let (values, bits) = &mut pieces[diagonal];
                    values[row - first] = value;
                    bits[(row - first) / 32] |= 1 << ((row - first) % 32);
                }
            }
        });
        Ok(Self { ncols: a.ncols(), stride, offsets, values, entries })
    }

    /// Bytes of a matrix of that size with `diagonals` diagonals, if it may be converted.
    ///
    /// # Errors
    /// [`Infeasible::ManyDiagonals`] whatever the limits, since more are not counted; [`Infeasible::UnknownDiagonals`] for
    /// `None`; else as the other formats.
    pub fn check(size: MatrixSize, diagonals: Option<u64>, limits: &Limits) -> Result<Bytes, Infeasible> {
        check_rows(size.nrows)?;
        let diagonals = diagonals.ok_or(Infeasible::UnknownDiagonals)?;
        let most = most_diagonals(size.nrows, size.nnz);
        if diagonals > most {
            return Err(Infeasible::ManyDiagonals { most });
        }
        let stored = u128::from(size.nrows) * u128::from(diagonals);
        let bytes = Self::device_bytes(size.nrows, diagonals, T::DTYPE);
        limits.check_with_vectors(size, stored, bytes, T::DTYPE)
    }

    /// Bytes of offsets and values; saturates.
    pub fn device_bytes(nrows: u64, diagonals: u64, dtype: Dtype) -> Bytes {
        let diagonal = u128::from(Ell::<T>::stride_for(nrows)) * u128::from(dtype.bytes()) + 8;
        Bytes(u64::try_from(u128::from(diagonals) * diagonal).unwrap_or(u64::MAX))
    }

    /// Columns.
    pub fn ncols(&self) -> usize {
        self.ncols
    }

    /// Column minus row of each diagonal, ascending.
    pub fn offsets(&self) -> &[i64] {
        &self.offsets
    }

    /// The values of a diagonal, by rows, and those of the rows behind the last that align it.
    pub fn diagonal(&self, diagonal: usize) -> &[T] {
        &self.values[diagonal * self.stride..][..self.stride]
    }

    /// Returns whether the matrix has an entry, and be it 0, in that row of a diagonal.
    pub fn is_entry(&self, diagonal: usize, row: usize) -> bool {
        let at = diagonal * self.stride + row;
        self.entries[at / 32] >> (at % 32) & 1 == 1
    }
}

/// DIA as one of the storage formats.
pub(super) static FORMAT: FormatFamily = FormatFamily {
    name: "dia",
    description: include_str!("dia.md"),
    padding_bound: |_| PaddingBound::Unknown,
    elsewhere: &[
        Elsewhere { library: "SciPy", name: "dia_array" },
        Elsewhere { library: "CUSP", name: "dia_matrix" },
    ],
    device_bytes: |_, f, dtype| {
        counted(f).map_or(Bytes(u64::MAX), |diagonals| Dia::<f32>::device_bytes(f.nrows, diagonals, dtype))
    },
    stored_entries: |_, f| stored_entries(f),
    // The diagonals' offsets are no padding, however few non-zeros one has.
    padding: Some(|_, f, dtype| padded_values(stored_entries(f), f, dtype)),
    ..FormatFamily::base(&DiaFormat)
};

/// The diagonals, if all of them were counted.
fn counted(f: &Features) -> Option<u64> {
    f.diagonals.filter(|diagonals| *diagonals <= most_diagonals(f.nrows, f.nnz))
}

fn stored_entries(f: &Features) -> u64 {
    counted(f).map_or(u64::MAX, |diagonals| Ell::<f32>::stride_for(f.nrows).saturating_mul(diagonals))
}

struct DiaFormat;

impl<T: Scalar> FormatOf<T> for DiaFormat {
    fn check(&self, _: Shape, f: &Features, limits: &Limits) -> Result<Bytes, Infeasible> {
        Dia::<T>::check(f.into(), f.diagonals, limits)
    }

    fn convert(&self, _: Shape, a: &Csr<T>, limits: &Limits) -> Result<Box<dyn Stored<T>>, Infeasible> {
        Ok(Box::new(Dia::from_csr(a, limits)?))
    }

    /// The device marks the diagonals that it finds, the host lists them. Without a non-zero a row there is nothing to refuse
    /// by before: a row has as many diagonals as non-zeros.
    fn layout(&self, _: Shape, csr: CsrRows<'_>, limits: &Limits) -> Result<Layout<T>, Infeasible> {
        let size @ MatrixSize { nrows, ncols, nnz } = csr.size();
        Dia::<T>::check(size, Some(csr.longest()), limits)?;
        let stride = Ell::<T>::stride_for(nrows);
        let marks = nrows.saturating_add(ncols);
        // As many diagonals as are stored at all, if the limits allow that.
        let most = Dia::<T>::device_bytes(nrows, most_diagonals(nrows, nnz), T::DTYPE).0;
        let fits = move |number: &NumberOf<'_>, limits: &Limits| {
            Dia::<T>::check(size, Some(number("diagonals")), limits).map(drop)
        };
        Ok(Layout {
            numbers: vec![("stride", stride)],
            scratch: vec![("marks", HostArray::Room { element: Element::U8, len: marks, zeroed: true })],
            steps: vec![
                // A warp a row.
                Step::Run { routine: "mark_diagonals", threads: 32 * nrows, part: "", with: &[] },
                Step::ListMarked {
                    marks: "marks",
                    first: 1 - nrows as i64,
                    list: "offsets",
                    count: "diagonals",
                    fits: Box::new(fits),
                },
                Step::room("values", Element::Value, |number| {
                    number("diagonals").saturating_mul(number("stride"))
                }),
                Step::Run { routine: "lay_offsets", threads: stride, part: "", with: &[] },
            ],
            most: Bytes(most.saturating_add(marks)),
            ..Layout::default()
        })
    }
}

impl<T: Scalar> Stored<T> for Dia<T> {
    fn numbers(&self) -> NamedNumbers {
        vec![("stride", self.stride as u64), ("diagonals", self.offsets.len() as u64)]
    }

    fn arrays(&self) -> NamedArrays<'_, T> {
        let offsets: Vec<u64> = self.offsets.iter().map(|offset| offset.cast_unsigned()).collect();
        vec![("offsets", HostArray::u64s(offsets)), ("values", HostArray::values(&self.values))]
    }

    fn values_mut(&mut self) -> Vec<&mut [T]> {
        vec![&mut self.values]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;
    use crate::gallery::Recipe;

    #[test]
    fn the_matrix_of_the_drawing_is_stored_as_drawn() {
        let a = Csr::try_new(3, 4, vec![0, 2, 5, 6], vec![0, 2, 0, 1, 3, 2], vec![1., 2., 3., 4., 5., 6.]);
        let dia = Dia::<f64>::from_csr(&a.unwrap(), &Limits::NONE).unwrap();
        assert_eq!(dia.offsets(), [-1, 0, 2]);
        let first = |d: usize| &dia.diagonal(d)[..3];
        assert_eq!([first(0), first(1), first(2)], [[0., 3., 0.], [1., 4., 6.], [2., 5., 0.]]);
    }

    #[test]
    fn scattered_columns_are_refused_by_their_number_of_diagonals() {
        let random = "random,rows=5000".parse::<Recipe>().unwrap().generate::<f64>().unwrap();
        let most = most_diagonals(5000, random.nnz() as u64);
        assert_eq!(Dia::from_csr(&random, &Limits::NONE), Err(Infeasible::ManyDiagonals { most }));
        let f = Features { diagonals: None, ..Features::of(&random) };
        let unknown = Format::of("dia", [0; 2]).check(&f, Dtype::F64, &Limits::NONE);
        assert_eq!(unknown, Err(Infeasible::UnknownDiagonals));
    }
}
