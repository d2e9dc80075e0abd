#![doc = include_str!("bsr.md")]

use super::array::entries;
use super::family::padded_values;
use super::{
    CsrRows, Element, Elsewhere, FormatFamily, FormatOf, HostArray, Knob, Layout, NamedArrays, NamedNumbers,
    NumberOf, PaddingBound, Shape, Step, Stored,
};
use crate::block_counts::{BLOCK_SIDES, BlockCount, SLICE, Union, block_count};
use crate::csr::{offsets, pieces};
use crate::infeasible::check_rows;
use crate::{Bytes, Csr, Dtype, Features, Infeasible, Limits, MatrixSize, Scalar, columns};
use rayon::prelude::*;

/// A sparse matrix as blocks in slices.
///
/// # Invariants
/// Held by construction: `slice_ptr` ascends in multiples of `slice`; within a row of blocks columns ascend, padding stands behind them;
/// there are `side^2` values for each stored block, 0 where the matrix has none. `entries` has a bit for each value, set where the
/// matrix has one, whatever that is; it is of the host alone, and empty in slices of one row of blocks, which no host multiplies.
#[derive(Debug, Clone, PartialEq)]
pub struct Bsr<T> {
    side: u32,
    slice: usize,
    slice_ptr: Vec<u64>,
    col_idx: Vec<u32>,
    values: Vec<T>,
    entries: Vec<u32>,
}

impl<T: Scalar> Bsr<T> {
    /// Block column that marks padding.
    pub const PAD: u32 = columns::PAD;

    /// Converts to blocks of `side` rows and columns, one of [`BLOCK_SIDES`], in slices of `high` rows of blocks, 32 or 1.
    /// O(nnz + stored entries), in parallel.
    ///
    /// # Errors
    /// [`Infeasible`] if there are too many blocks or `limits` are exceeded; nothing large has been allocated then.
    ///
    /// # Panics
    /// If there are no blocks of that size, or no such slices, in the catalogue.
    pub fn from_csr(a: &Csr<T>, side: u32, high: usize, limits: &Limits) -> Result<Self, Infeasible> {
        let nrows = a.nrows();
        check_rows(nrows as u64)?;
        let count = block_count(a.into(), side);
        Self::check(a.into(), (side, high), Some(count), limits)?;
        let b = side as usize;
        let rows = |slice: usize| (slice * high * b..((slice + 1) * high * b).min(nrows)).step_by(b);
        let row_of_blocks = |row: usize| row..(row + b).min(nrows);
        let widths =
            (0..nrows.div_ceil(high * b)).into_par_iter().map_init(Union::default, |union, slice| {
                let lengths = rows(slice).map(|row| union.length(a.into(), side, row_of_blocks(row)));
                high as u64 * lengths.max().unwrap_or(0)
            });
        let slice_ptr = offsets(widths.collect::<Vec<_>>());
        let stored = slice_ptr[slice_ptr.len() - 1] as usize;
        let mut col_idx = vec![Self::PAD; stored];
        let mut values = vec![T::default(); stored * b * b];
        // A slice of 32 rows of blocks has whole words.
        let words_of = |values: usize| if high == SLICE { values / SLICE } else { 0 };
        let mut entries = vec![0_u32; words_of(values.len())];
        let blocks = || slice_ptr.windows(2).map(|ptr| (ptr[1] - ptr[0]) as usize);
        let slices: Vec<_> = pieces(&mut col_idx, blocks())
            .zip(pieces(&mut values, blocks().map(|blocks| blocks * b * b)))
            .zip(pieces(&mut entries, blocks().map(|blocks| words_of(blocks * b * b))))
            .collect();
        let each = slices.into_par_iter().enumerate();
        each.for_each_init(Union::default, |union, (slice, ((cols, vals), bits))| {
            for (place, first) in rows(slice).enumerate() {
                let found = union.of(a.into(), side, row_of_blocks(first));
                for (k, &block) in found.iter().enumerate() {
                    cols[k * high + place] = block;
                }
                for row in first..(first + b).min(nrows) {
                    let (row_cols, row_vals) = a.row(row);
                    let mut k = 0;
                    for (&col, &value) in row_cols.iter().zip(row_vals) {
                        // Both ascend.
                        while found[k] < col / side {
                            k += 1;
                        }
                        let line = k * b + (col % side) as usize;
                        let at = line * high * b + place * b + row - first;
                        vals[at] = value;
                        if let Some(word) = bits.get_mut(at / 32) {
                            *word |= 1 << (at % 32);
                        }
                    }
                }
            }
        });
        Ok(Self { side, slice: high, slice_ptr, col_idx, values, entries })
    }

    /// Bytes of a matrix of that size with `count` blocks, if it may be converted.
    ///
    /// # Errors
    /// [`Infeasible::ManyBlocks`] whatever the limits, since more are not counted; [`Infeasible::UnknownBlocks`] for `None`;
    /// [`Infeasible::PartsOfBlocks`] in slices of one; else as the other formats.
    pub fn check(
        size: MatrixSize,
        (side, slice): (u32, usize),
        count: Option<BlockCount>,
        limits: &Limits,
    ) -> Result<Bytes, Infeasible> {
        let MatrixSize { nrows, ncols, nnz } = size;
        check_rows(nrows)?;
        let is_whole = nrows % u64::from(side) == 0 && ncols % u64::from(side) == 0;
        if slice == PLAIN && !is_whole {
            return Err(Infeasible::PartsOfBlocks { side });
        }
        let count = count.ok_or(Infeasible::UnknownBlocks)?;
        if count.is_over(nnz, side) {
            return Err(Infeasible::ManyBlocks { side, most: BlockCount::most(nnz, side) });
        }
        let held = held(count, slice);
        let bytes = Self::device_bytes(nrows, (side, slice), held, T::DTYPE);
        // The places behind the last row count as the mean place does, as with SELL.
        let places = u128::from(Self::slices(nrows, side, slice)) * slice as u128 * u128::from(side);
        let stored = u128::from(held) * u128::from(side * side);
        let stored = stored * u128::from(nrows) / places.max(1);
        limits.check_with_vectors(size, stored, bytes, T::DTYPE)
    }

    /// Bytes of all arrays for `stored` blocks, padding included; saturates.
    pub fn device_bytes(nrows: u64, (side, slice): (u32, usize), stored: u64, dtype: Dtype) -> Bytes {
        let block = 4 + u64::from(side * side) * dtype.bytes();
        let slice_ptr = (Self::slices(nrows, side, slice) + 1).saturating_mul(8);
        Bytes(stored.saturating_mul(block).saturating_add(slice_ptr))
    }

    const fn slices(nrows: u64, side: u32, slice: usize) -> u64 {
        nrows.div_ceil(slice as u64 * side as u64)
    }

    /// Rows and columns of a block.
    pub fn side(&self) -> usize {
        self.side as usize
    }

    /// Rows of a slice.
    pub fn slice_rows(&self) -> usize {
        self.slice * self.side()
    }

    /// The blocks of a slice, those at one distance from the start of their rows together: their columns, and their
    /// values, a column of each block together, by rows.
    pub fn slice(&self, slice: usize) -> impl Iterator<Item = (&[u32], &[T])> {
        let blocks = self.slice_ptr[slice] as usize..self.slice_ptr[slice + 1] as usize;
        let area = self.side() * self.side();
        let values = &self.values[blocks.start * area..blocks.end * area];
        self.col_idx[blocks].chunks_exact(self.slice).zip(values.chunks_exact(self.slice * area))
    }

    /// Returns whether the matrix has an entry, and be it 0, in column `c` of the blocks that stand `k`-th in their rows, for row `row` of a
    /// slice; said of slices of 32 alone.
    pub fn is_entry(&self, slice: usize, (k, c): (usize, usize), row: usize) -> bool {
        let side = self.side();
        let first = (self.slice_ptr[slice] as usize + k * self.slice) * side * side;
        let at = first + c * self.slice_rows() + row;
        self.entries[at / 32] >> (at % 32) & 1 == 1
    }
}

/// BSR in slices as one of the storage formats.
pub(super) static FORMAT: FormatFamily = family::<SLICE>("bsr");

/// BSR as libraries have it, for theirs.
pub(super) static BLOCK_CSR: FormatFamily = family::<PLAIN>("bcsr");

/// The format with so many rows of blocks in a slice.
const fn family<const HIGH: usize>(name: &'static str) -> FormatFamily {
    FormatFamily {
        name,
        knobs: &[Knob { letter: 'b', meaning: "rows and columns of a block" }],
        shapes: || BLOCK_SIDES.map(|side| [side, 0]).to_vec(),
        description: include_str!("bsr.md"),
        padding_bound: |_| PaddingBound::Unknown,
        elsewhere: &[
            Elsewhere { library: "cuSPARSE", name: "cusparseCreateBsr" },
            Elsewhere { library: "Ginkgo", name: "matrix::Fbcsr" },
            Elsewhere { library: "PETSc", name: "MATBAIJ" },
            Elsewhere { library: "Kokkos Kernels", name: "BsrMatrix" },
            Elsewhere { library: "SciPy", name: "bsr_array" },
        ],
        device_bytes: |[side, _], f, dtype| device_bytes((side, HIGH), f, dtype),
        stored_entries: |[side, _], f| stored_entries((side, HIGH), f),
        padding: Some(|[side, _], f, dtype| padding((side, HIGH), f, dtype)),
        ..FormatFamily::base(&BsrFormat::<HIGH>)
    }
}

/// Rows of blocks in a slice where nothing is padded.
const PLAIN: usize = 1;

fn device_bytes((side, slice): (u32, usize), f: &Features, dtype: Dtype) -> Bytes {
    let bytes = |count| Bsr::<f32>::device_bytes(f.nrows, (side, slice), held(count, slice), dtype);
    counted(side, f).map_or(Bytes(u64::MAX), bytes)
}

fn stored_entries((side, slice): (u32, usize), f: &Features) -> u64 {
    counted(side, f).map_or(u64::MAX, |count| held(count, slice).saturating_mul(u64::from(side * side)))
}

/// Zeros within blocks, and whole blocks that fill up a slice, with their columns.
fn padding((side, slice): (u32, usize), f: &Features, dtype: Dtype) -> Bytes {
    let values = padded_values(stored_entries((side, slice), f), f, dtype).0;
    let filling = counted(side, f).map_or(0, |count| held(count, slice).saturating_sub(count.blocks));
    Bytes(values.saturating_add(filling.saturating_mul(4)))
}

/// Blocks that are stored.
const fn held(count: BlockCount, slice: usize) -> u64 {
    if slice == PLAIN { count.blocks } else { count.stored }
}

/// Number of blocks, if all of them were counted.
fn counted(side: u32, f: &Features) -> Option<BlockCount> {
    f.blocks_of(side).filter(|count| !count.is_over(f.nnz, side))
}

/// Conversions with so many rows of blocks in a slice.
struct BsrFormat<const HIGH: usize>;

impl<T: Scalar, const HIGH: usize> FormatOf<T> for BsrFormat<HIGH> {
    fn check(&self, [side, _]: Shape, f: &Features, limits: &Limits) -> Result<Bytes, Infeasible> {
        Bsr::<T>::check(f.into(), (side, HIGH), f.blocks_of(side), limits)
    }

    fn convert(&self, shape: Shape, a: &Csr<T>, limits: &Limits) -> Result<Box<dyn Stored<T>>, Infeasible> {
        Ok(Box::new(Bsr::from_csr(a, shape[0], HIGH, limits)?))
    }

    /// The device counts the blocks, the host adds them up and refuses too many, the device lays them out.
    fn layout(&self, [side, _]: Shape, csr: CsrRows<'_>, limits: &Limits) -> Result<Layout<T>, Infeasible> {
        let shape = (side, HIGH);
        let size @ MatrixSize { nrows, nnz, .. } = csr.size();
        // The least that there can be.
        let least = nnz.div_ceil(u64::from(side * side));
        let least = BlockCount { blocks: least, stored: least, longest: 0 };
        Bsr::<T>::check(size, shape, Some(least), limits)?;
        let slices = Bsr::<T>::slices(nrows, side, HIGH);
        let block_rows = slices * HIGH as u64;
        let scratch = |len| HostArray::room(Element::U64, len);
        let fits = move |number: &NumberOf<'_>, limits: &Limits| {
            let count = BlockCount { blocks: number("blocks"), stored: number("stored_blocks"), longest: 0 };
            Bsr::<T>::check(size, shape, Some(count), limits).map(drop)
        };
        let with = &[("wide_side", "side")];
        let area = u64::from(side * side);
        // As many blocks as may be touched; where slices are padded beyond these and memory runs out, the host converts.
        let most = Bsr::<T>::device_bytes(nrows, shape, BlockCount::most(nnz, side), T::DTYPE).0;
        Ok(Layout {
            numbers: vec![("side", side.into()), ("slice", HIGH as u64)],
            scratch: vec![("stored", scratch(slices)), ("touched", scratch(slices))],
            steps: vec![
                // One thread per row of blocks.
                Step::Run { routine: "count_blocks", threads: block_rows, part: "", with },
                Step::AddUp { lengths: "stored", starts: "slice_ptr", total: "stored_blocks" },
                Step::Total { of: "touched", total: "blocks" },
                Step::Check(Box::new(fits)),
                Step::room("col_idx", Element::U32, |number| number("stored_blocks")),
                Step::room("values", Element::Value, move |number| {
                    number("stored_blocks").saturating_mul(area)
                }),
                Step::Run { routine: "lay_blocks", threads: block_rows, part: "", with },
            ],
            most: Bytes(most.saturating_add(16 * slices)),
            ..Layout::default()
        })
    }
}

impl<T: Scalar> Stored<T> for Bsr<T> {
    fn numbers(&self) -> NamedNumbers {
        let (side, slice, stored) = (self.side.into(), self.slice as u64, self.col_idx.len() as u64);
        vec![("side", side), ("slice", slice), ("stored_blocks", stored)]
    }

    fn arrays(&self) -> NamedArrays<'_, T> {
        let [columns, values] = entries(&self.col_idx, &self.values);
        vec![("slice_ptr", HostArray::u64s(&self.slice_ptr)), columns, values]
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

    fn picture() -> Csr<f64> {
        let cols = vec![0, 1, 0, 1, 2, 3, 3, 4, 5];
        Csr::try_new(4, 6, vec![0, 2, 4, 6, 9], cols, (1..=9).map(f64::from).collect()).unwrap()
    }

    #[test]
    fn the_matrix_of_the_picture_is_stored_as_it_says() {
        let bsr = Bsr::from_csr(&picture(), 2, SLICE, &Limits::NONE).unwrap();
        let (pad, zero) = (Bsr::<f64>::PAD, 0.0);
        let slice: Vec<_> = bsr.slice(0).collect();
        assert_eq!((bsr.slice_ptr.as_slice(), slice.len()), ([0, 64].as_slice(), 2));
        assert_eq!([&slice[0].0[..3], &slice[1].0[..3]], [[0, 1, pad], [pad, 2, pad]]);
        let columns = |k: usize| [&slice[k].1[..5], &slice[k].1[64..69]];
        assert_eq!(columns(0), [[1.0, 3.0, 5.0, 0.0, zero], [2.0, 4.0, 6.0, 7.0, zero]]);
        assert_eq!(columns(1), [[0.0, 0.0, 0.0, 8.0, zero], [0.0, 0.0, 0.0, 9.0, zero]]);
    }

    #[test]
    fn slices_of_one_row_of_blocks_are_bsr_as_libraries_have_it() {
        let bsr = Bsr::from_csr(&picture(), 2, PLAIN, &Limits::NONE).unwrap();
        assert_eq!((bsr.slice_ptr, bsr.col_idx), (vec![0, 1, 3], vec![0, 1, 2]));
        let values = [1, 3, 2, 4, 5, 0, 6, 7, 0, 8, 0, 9].map(f64::from);
        assert_eq!(bsr.values, values);
        let parts = Bsr::from_csr(&picture(), 3, PLAIN, &Limits::NONE);
        assert!(matches!(parts, Err(Infeasible::PartsOfBlocks { side: 3 })));
        let odd = "dense,rows=70,cols=71".parse::<Recipe>().unwrap().generate::<f64>().unwrap();
        let parts = Bsr::from_csr(&odd, 2, PLAIN, &Limits::NONE);
        assert_eq!(parts, Err(Infeasible::PartsOfBlocks { side: 2 }));
        assert!(Bsr::from_csr(&odd, 2, SLICE, &Limits::NONE).is_ok());
    }

    #[test]
    fn scattered_columns_are_refused_by_their_number_of_blocks() {
        let random = "random,rows=5000".parse::<Recipe>().unwrap().generate::<f64>().unwrap();
        for side in BLOCK_SIDES {
            let most = BlockCount::most(random.nnz() as u64, side);
            assert_eq!(
                Bsr::from_csr(&random, side, SLICE, &Limits::NONE),
                Err(Infeasible::ManyBlocks { side, most })
            );
        }
        let f = Features { blocks: None, ..Features::of(&random) };
        let unknown = Format::of("bsr", [3, 0]).check(&f, Dtype::F64, &Limits::NONE);
        assert_eq!(unknown, Err(Infeasible::UnknownBlocks));
    }

    #[test]
    fn sizes_from_features_are_those_of_the_arrays() {
        for recipe in ["fem,n=9,unknowns=3", "dense,rows=70,cols=71", "fem,n=20,unknowns=2"] {
            let a = recipe.parse::<Recipe>().unwrap().generate::<f32>().unwrap();
            let f = Features::of(&a);
            let mut held = 0;
            for (name, side, slice) in
                BLOCK_SIDES.iter().flat_map(|&b| [("bsr", b, SLICE), ("bcsr", b, PLAIN)])
            {
                let Ok(bsr) = Bsr::from_csr(&a, side, slice, &Limits::NONE) else { continue };
                let format = Format::of(name, [side, 0]);
                let of = format!("{recipe} in {format}");
                assert_eq!(format.device_bytes(&f, Dtype::F32).0, Stored::bytes(&bsr), "{of}");
                assert_eq!(format.stored_entries(&f), bsr.values.len() as u64, "{of}");
                held += 1;
            }
            assert!(held > 0, "{recipe}");
        }
    }
}
