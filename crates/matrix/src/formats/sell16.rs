//! SELL16: SELL with slices of 32 rows whose columns take 16 bits, as offsets from a base of each group of 32 entries. A group
//! whose columns span more has them in full beside it, so that one far column costs its group alone.
//!
//! ```text
//! row 0: columns 5 80000      slices of 2 here      pair 0:  bases     1 and group 0 of wide_cols, marked
//! row 1: columns 1 7                                         offsets   4 and 0 of row 0, 0 and 0 of row 1
//! row 2: column  9                                           wide_cols 80000 7
//!                                                   pair 1:  bases     9 and 0
//!                                                            offsets   0 and PAD of row 2, PAD and PAD behind it
//! ```
//! Groups stand in pairs: pair p of all slices has two bases in word p of `bases` (the first in the low 32 bits), the offsets of
//! place j in word `32 p + j` of `offsets` (the first in the low 16 bits), the values of group h of it at `32 (2 p + h) + j`. A base
//! is the lowest column of its group, or, with the highest bit set, the number of its 32 columns in `wide_cols`.
//!
//! Sources: slices and sorting as in `sell`; columns as short offsets from a base are known for CSR and blocks (Kourtis, Goumas and
//! Koziris 2008; Willcock and Lumsdaine 2006). A base for each group of 32, and groups that escape, are this project's own.

use super::{
    Element, FormatFamily, FormatOf, HostArray, Knob, Layout, NamedArrays, NamedNumbers, NumberOf, SellLayout,
    SellShape, Shape, Step, Stored,
};
use crate::infeasible::check_rows;
use crate::narrow_columns::{MOST_SPAN, NARROW_SIGMAS, NarrowCount, SLICE, Spans, SliceRows, rows};
use crate::{Bytes, Csr, Dtype, Features, Infeasible, Limits, Scalar, columns};
use rayon::prelude::*;

/// A sparse matrix in SELL16.
///
/// # Invariants
/// Held by construction: `permutation` as in [`Sell`](super::Sell); `slice_ptr` ascends; a row's padding stands behind its entries,
/// has the offset [`Sell16::<T>::PAD`] and value 0, in narrow groups and in wide ones; columns are below 2^31.
#[derive(Debug, Clone, PartialEq)]
pub struct Sell16<T> {
    nrows: usize,
    ncols: usize,
    nnz: usize,
    sigma: u32,
    /// First pair of groups of each slice, and the end of the last.
    slice_ptr: Vec<u64>,
    /// As in SELL.
    permutation: Vec<u32>,
    bases: Vec<u64>,
    offsets: Vec<u32>,
    wide_cols: Vec<u32>,
    values: Vec<T>,
}

/// The columns of 32 places of a [`Sell16`].
#[derive(Debug, Clone, Copy)]
pub struct NarrowGroup<'a> {
    /// The lowest column, of no meaning where `wide` is there.
    base: u32,
    /// Two offsets for each place.
    offsets: &'a [u32],
    /// Where in a word the offsets stand.
    shift: u32,
    /// All columns, where 16 bits do not tell them apart.
    wide: Option<&'a [u32]>,
}

impl NarrowGroup<'_> {
    /// The column at a place; `None` for padding.
    pub fn column(&self, place: usize) -> Option<usize> {
        let offset = self.offsets[place] >> self.shift & 0xffff;
        let column = match self.wide {
            None => self.base + offset,
            Some(columns) => columns[place],
        };
        (offset != Sell16::<f32>::PAD).then_some(column as usize)
    }
}

/// Marks the base of a wide group.
const WIDE: u32 = 1 << 31;

impl<T: Scalar> Sell16<T> {
    /// Offset that marks padding.
    pub const PAD: u32 = 0xffff;

    /// Converts. O(nnz + stored entries), in parallel.
    ///
    /// # Errors
    /// [`Infeasible`] if too many groups are wide or `limits` are exceeded; nothing large has been allocated then.
    ///
    /// # Panics
    /// If `sigma` is none of [`NARROW_SIGMAS`].
    pub fn from_csr(a: &Csr<T>, sigma: u32, limits: &Limits) -> Result<Self, Infeasible> {
        assert!(NARROW_SIGMAS.contains(&sigma), "windows of {sigma} rows are not in the catalogue");
        let (nrows, ncols, nnz) = (a.nrows(), a.ncols(), a.nnz());
        let size = (nrows as u64, ncols as u64);
        Self::check_size(size)?;
        let Pairs { slice_ptr, permutation } = Pairs::of(a.row_ptr(), sigma);
        let slices = slice_ptr.len() - 1;
        let wide_groups = |spans: &mut Spans, slice| {
            let mut wide = 0;
            spans.each(a, &rows(&permutation, nrows, slice), |_, lowest, highest| {
                wide += lowest.iter().zip(highest).filter(|(low, high)| is_wide(**low, **high)).count();
            });
            wide
        };
        let wide: Vec<usize> = (0..slices).into_par_iter().map_init(Spans::default, wide_groups).collect();
        let count =
            NarrowCount { pairs: slice_ptr[slices], wide: wide.iter().map(|wide| *wide as u64).sum() };
        Self::check(size, nnz as u64, sigma, Some(count), limits)?;
        let pairs = count.pairs as usize;
        let mut bases = vec![0; pairs];
        let mut offsets = vec![0; pairs * SLICE];
        let mut wide_cols = vec![columns::PAD; count.wide as usize * SLICE];
        let mut values = vec![T::default(); pairs * 2 * SLICE];
        let mut parts = Vec::with_capacity(slices);
        let mut rest = (&mut bases[..], &mut offsets[..], &mut wide_cols[..], &mut values[..]);
        let mut first_wide = 0;
        for (ptr, &wide) in slice_ptr.windows(2).zip(&wide) {
            let part;
            (part, rest) = SliceMut::cut(rest, ((ptr[1] - ptr[0]) as usize, wide), first_wide);
            first_wide += wide as u32;
            parts.push(part);
        }
        parts.into_par_iter().enumerate().for_each_init(Spans::default, |spans, (slice, part)| {
            part.fill(spans, a, &rows(&permutation, nrows, slice));
        });
        Ok(Self { nrows, ncols, nnz, sigma, slice_ptr, permutation, bases, offsets, wide_cols, values })
    }

    /// Rows and columns that 32 and 31 bits name.
    fn check_size((nrows, ncols): (u64, u64)) -> Result<(), Infeasible> {
        check_rows(nrows)?;
        if ncols > u64::from(WIDE) { Err(Infeasible::TooManyColumns { ncols }) } else { Ok(()) }
    }

    /// Whether a matrix with these groups may be converted; its bytes if so.
    ///
    /// # Errors
    /// [`Infeasible::ManyWideGroups`] whatever the limits; [`Infeasible::UnknownGroups`] for `None`; [`Infeasible::TooManyColumns`];
    /// else as the other formats.
    pub fn check(
        (nrows, ncols): (u64, u64),
        nnz: u64,
        sigma: u32,
        count: Option<NarrowCount>,
        limits: &Limits,
    ) -> Result<Bytes, Infeasible> {
        Self::check_size((nrows, ncols))?;
        let count = count.ok_or(Infeasible::UnknownGroups)?;
        if count.is_over() || count.wide >= u64::from(WIDE) {
            return Err(Infeasible::ManyWideGroups { wide: count.wide, groups: 2 * count.pairs });
        }
        let bytes = Self::device_bytes(nrows, sigma, count, T::DTYPE);
        // The places behind the last row count as the mean place does, as with SELL.
        let places = u128::from(nrows.div_ceil(SLICE as u64)) * SLICE as u128;
        let stored = u128::from(count.stored()) * u128::from(nrows) / places.max(1);
        limits.check_with_vectors((nrows, ncols), (stored, nnz), bytes, T::DTYPE)
    }

    /// Bytes of all arrays; saturates.
    pub fn device_bytes(nrows: u64, sigma: u32, count: NarrowCount, dtype: Dtype) -> Bytes {
        let slice = SLICE as u64;
        let pairs = count.pairs.saturating_mul(8 + slice * (4 + 2 * dtype.bytes()));
        let wide = count.wide.saturating_mul(4 * slice);
        let slice_ptr = (nrows.div_ceil(slice) + 1).saturating_mul(8);
        let permutation = if sigma > 1 { nrows.saturating_mul(4) } else { 0 };
        Bytes(pairs.saturating_add(wide).saturating_add(slice_ptr).saturating_add(permutation))
    }

    /// Rows.
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// Columns.
    pub fn ncols(&self) -> usize {
        self.ncols
    }

    /// Non-zeros held, padding excluded.
    pub fn nnz(&self) -> usize {
        self.nnz
    }

    /// The groups of a slice in order: their columns, and their 32 values.
    pub fn slice(&self, slice: usize) -> impl Iterator<Item = (NarrowGroup<'_>, &[T])> {
        let groups = 2 * self.slice_ptr[slice] as usize..2 * self.slice_ptr[slice + 1] as usize;
        groups.map(|group| {
            let (pair, shift) = (group / 2, group as u32 % 2 * 16);
            let base = (self.bases[pair] >> (2 * shift)) as u32;
            let wide = (base & WIDE != 0).then(|| {
                let number = (base & !WIDE) as usize;
                &self.wide_cols[number * SLICE..(number + 1) * SLICE]
            });
            let offsets = &self.offsets[pair * SLICE..(pair + 1) * SLICE];
            (NarrowGroup { base, offsets, shift, wide }, &self.values[group * SLICE..(group + 1) * SLICE])
        })
    }
}

const fn is_wide(lowest: u32, highest: u32) -> bool {
    highest - lowest > MOST_SPAN
}

/// Where pairs of groups go, from the row offsets alone.
struct Pairs {
    slice_ptr: Vec<u64>,
    permutation: Vec<u32>,
}

impl Pairs {
    fn of(row_ptr: &[u64], sigma: u32) -> Self {
        let layout = SellLayout::of(row_ptr, SellShape { slice: SLICE as u32, sigma });
        let (entries, permutation) = layout.into_parts();
        let pairs = entries.windows(2).map(|w| (w[1] - w[0]).div_ceil(2 * SLICE as u64));
        let mut slice_ptr = Vec::with_capacity(entries.len());
        slice_ptr.push(0);
        let mut end = 0;
        slice_ptr.extend(pairs.map(|pairs| {
            end += pairs;
            end
        }));
        Self { slice_ptr, permutation }
    }
}

/// The arrays of one slice while it is filled.
struct SliceMut<'a, T> {
    bases: &'a mut [u64],
    offsets: &'a mut [u32],
    wide_cols: &'a mut [u32],
    values: &'a mut [T],
    /// The number of its first wide group.
    first_wide: u32,
}

/// What is left of each array behind a slice.
type Rest<'a, T> = (&'a mut [u64], &'a mut [u32], &'a mut [u32], &'a mut [T]);

impl<'a, T: Scalar> SliceMut<'a, T> {
    /// A slice of `pairs` pairs with `wide` wide groups, and what is behind it.
    #[expect(clippy::type_complexity, reason = "one slice, and the rest of the four arrays")]
    fn cut(
        (bases, offsets, wide_cols, values): Rest<'a, T>,
        (pairs, wide): (usize, usize),
        first_wide: u32,
    ) -> (Self, Rest<'a, T>) {
        let (bases, more_bases) = bases.split_at_mut(pairs);
        let (offsets, more_offsets) = offsets.split_at_mut(pairs * SLICE);
        let (wide_cols, more_cols) = wide_cols.split_at_mut(wide * SLICE);
        let (values, more_values) = values.split_at_mut(pairs * 2 * SLICE);
        (Self { bases, offsets, wide_cols, values, first_wide }, (more_bases, more_offsets, more_cols, more_values))
    }

    fn fill(self, spans: &mut Spans, a: &Csr<T>, rows: &SliceRows) {
        let Self { bases, offsets, wide_cols, values, first_wide } = self;
        // Padding, until there is an entry.
        offsets.fill(Sell16::<T>::PAD << 16 | Sell16::<T>::PAD);
        let mut wide = 0;
        spans.each(a, rows, |groups, lowest, highest| {
            for (group, (&low, &high)) in groups.zip(lowest.iter().zip(highest)) {
                let (pair, shift) = (group / 2, group as u32 % 2 * 16);
                let is_wide = is_wide(low, high);
                let base = if is_wide { WIDE | (first_wide + wide as u32) } else { low };
                bases[pair] |= u64::from(base) << (2 * shift);
                for (place, &row) in rows.as_slice().iter().enumerate() {
                    let (cols, vals) = a.row(row);
                    let Some(&col) = cols.get(group) else { continue };
                    let offset = if is_wide {
                        wide_cols[wide * SLICE + place] = col;
                        0
                    } else {
                        col - low
                    };
                    let word = &mut offsets[pair * SLICE + place];
                    *word = *word & !(Sell16::<T>::PAD << shift) | offset << shift;
                    values[group * SLICE + place] = vals[group];
                }
                wide += usize::from(is_wide);
            }
        });
    }
}

/// SELL16 as one of the storage formats.
pub(super) static FORMAT: FormatFamily = FormatFamily {
    name: "sell16",
    knobs: &[
        Knob { letter: 'c', meaning: "rows of a slice" },
        Knob { letter: 's', meaning: "rows of a window in which they are sorted by length" },
    ],
    shapes: || NARROW_SIGMAS.map(|sigma| [SLICE as u32, sigma]).to_vec(),
    is_padded: true,
    stays_in_csr: false,
    generator: None,
    is_steady: false,
    device_bytes: |[_, sigma], f, dtype| {
        known(sigma, f)
            .map_or(Bytes(u64::MAX), |count| Sell16::<f32>::device_bytes(f.nrows, sigma, count, dtype))
    },
    stored_entries: |[_, sigma], f| known(sigma, f).map_or(u64::MAX, NarrowCount::stored),
    bits_per_column: Some(|[_, sigma], f| {
        let NarrowCount { pairs, wide } = known(sigma, f).filter(|count| count.pairs > 0)?;
        let slice = SLICE as u64;
        let bytes = pairs * (8 + 4 * slice) + wide * 4 * slice;
        Some(8.0 * bytes as f64 / (pairs * 2 * slice) as f64)
    }),
    of_f32: &Sell16Format,
    of_f64: &Sell16Format,
};

/// What the features say of a window.
fn known(sigma: u32, f: &Features) -> Option<NarrowCount> {
    let at = NARROW_SIGMAS.iter().position(|known| *known == sigma)?;
    f.narrow.map(|counts| counts[at])
}

struct Sell16Format;

impl<T: Scalar> FormatOf<T> for Sell16Format {
    fn check(&self, [_, sigma]: Shape, f: &Features, limits: &Limits) -> Result<Bytes, Infeasible> {
        Sell16::<T>::check((f.nrows, f.ncols), f.nnz, sigma, known(sigma, f), limits)
    }

    fn convert(
        &self,
        [_, sigma]: Shape,
        a: &Csr<T>,
        limits: &Limits,
    ) -> Result<Box<dyn Stored<T>>, Infeasible> {
        Ok(Box::new(Sell16::from_csr(a, sigma, limits)?))
    }

    /// The host finds where pairs go, the device counts wide groups, the host refuses too many, the device fills the pairs.
    fn layout(
        &self,
        [_, sigma]: Shape,
        row_ptr: &[u64],
        ncols: u64,
        limits: &Limits,
    ) -> Result<Layout<T>, Infeasible> {
        let (nrows, nnz) = (row_ptr.len() as u64 - 1, row_ptr[row_ptr.len() - 1]);
        Sell16::<T>::check_size((nrows, ncols))?;
        let Pairs { slice_ptr, permutation } = Pairs::of(row_ptr, sigma);
        let slices = slice_ptr.len() as u64 - 1;
        let pairs = slice_ptr[slice_ptr.len() - 1];
        // The fewest wide groups that there can be.
        Sell16::<T>::check((nrows, ncols), nnz, sigma, Some(NarrowCount { pairs, wide: 0 }), limits)?;
        let fits = move |number: &NumberOf<'_>, limits: &Limits| {
            let count = NarrowCount { pairs, wide: number("wide_groups") };
            Sell16::<T>::check((nrows, ncols), nnz, sigma, Some(count), limits).map(|_| ())
        };
        let room = |element, len| HostArray::Room { element, len, zeroed: false };
        let most = NarrowCount { pairs, wide: NarrowCount::most_wide(pairs) };
        let most = Sell16::<T>::device_bytes(nrows, sigma, most, T::DTYPE).0;
        Ok(Layout {
            numbers: vec![("pairs", pairs)],
            arrays: vec![
                ("slice_ptr", HostArray::U64(slice_ptr.into())),
                ("permutation", HostArray::U32(permutation.into())),
                ("bases", room(Element::U64, pairs)),
                ("offsets", room(Element::U32, pairs.saturating_mul(SLICE as u64))),
                ("values", room(Element::Value, pairs.saturating_mul(2 * SLICE as u64))),
            ],
            scratch: vec![("wide_counts", room(Element::U64, slices))],
            keeps: &[],
            steps: vec![
                // One warp per slice, one thread per row.
                Step::Run {
                    routine: "count_wide",
                    threads: SLICE as u64 * slices,
                    args: &["nrows", "csr.row_ptr", "csr.col_idx", "permutation", "slice_ptr", "wide_counts"],
                },
                Step::AddUp { lengths: "wide_counts", starts: "wide_ptr", total: "wide_groups" },
                Step::Check(Box::new(fits)),
                Step::Room {
                    name: "wide_cols",
                    element: Element::U32,
                    len: Box::new(|number| number("wide_groups").saturating_mul(SLICE as u64)),
                },
                Step::Run {
                    routine: "lay_pairs",
                    threads: SLICE as u64 * slices,
                    args: &[
                        "nrows",
                        "csr.row_ptr",
                        "csr.col_idx",
                        "csr.values",
                        "permutation",
                        "slice_ptr",
                        "wide_ptr",
                        "bases",
                        "offsets",
                        "wide_cols",
                        "values",
                    ],
                },
                Step::Forget("wide_ptr"),
            ],
            most: Bytes(most.saturating_add(16 * (slices + 1))),
        })
    }
}

impl<T: Scalar> Stored<T> for Sell16<T> {
    fn numbers(&self) -> NamedNumbers {
        let (pairs, wide) = (self.bases.len() as u64, (self.wide_cols.len() / SLICE) as u64);
        vec![("pairs", pairs), ("wide_groups", wide)]
    }

    fn row_order(&self) -> &[u32] {
        &self.permutation
    }

    fn arrays(&self) -> NamedArrays<'_, T> {
        vec![
            ("slice_ptr", HostArray::U64(self.slice_ptr.as_slice().into())),
            ("permutation", HostArray::U32(self.permutation.as_slice().into())),
            ("bases", HostArray::U64(self.bases.as_slice().into())),
            ("offsets", HostArray::U32(self.offsets.as_slice().into())),
            ("wide_cols", HostArray::U32(self.wide_cols.as_slice().into())),
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
    use crate::Format;
    use crate::gallery::Recipe;

    #[test]
    fn a_small_matrix_is_stored_as_the_picture_says() {
        // As there, and a third entry in two of the rows, so that not half of the groups are wide.
        let cols = vec![5, 80_000, 80_002, 1, 7, 80_001, 9];
        let values = (1..=7).map(f64::from).collect();
        let a = Csr::try_new(3, 80_003, vec![0, 3, 6, 7], cols, values).unwrap();
        let sell16 = Sell16::from_csr(&a, 1, &Limits::NONE).unwrap();
        // Entry 0 of the rows: columns 5, 1, 9; entry 1: columns 80000 and 7, which are wide; entry 2: 80002 and 80001.
        assert_eq!(sell16.bases, [u64::from(WIDE) << 32 | 1, 80_001]);
        assert_eq!(sell16.slice_ptr, [0, 2]);
        assert_eq!(sell16.offsets[..4], [4, 0, 0xffff_0008, 0xffff_ffff]);
        assert_eq!(sell16.offsets[32..36], [0xffff_0001, 0xffff_0000, 0xffff_ffff, 0xffff_ffff]);
        assert_eq!(sell16.wide_cols[..3], [80_000, 7, columns::PAD]);
        let groups: Vec<_> = sell16.slice(0).collect();
        assert_eq!((0..4).map(|j| groups[0].0.column(j)).collect::<Vec<_>>(), [Some(5), Some(1), Some(9), None]);
        assert_eq!((0..3).map(|j| groups[1].0.column(j)).collect::<Vec<_>>(), [Some(80_000), Some(7), None]);
        assert_eq!([&groups[0].1[..4], &groups[1].1[..4]], [[1.0, 4.0, 7.0, 0.0], [2.0, 5.0, 0.0, 0.0]]);
    }

    #[test]
    fn columns_all_over_are_refused_by_their_wide_groups() {
        let random = "random,rows=1000,cols=900000".parse::<Recipe>().unwrap().generate::<f64>().unwrap();
        for (at, sigma) in NARROW_SIGMAS.into_iter().enumerate() {
            let NarrowCount { pairs, wide } = Features::of(&random).narrow.unwrap()[at];
            let refused = Infeasible::ManyWideGroups { wide, groups: 2 * pairs };
            assert_eq!(Sell16::from_csr(&random, sigma, &Limits::NONE), Err(refused));
        }
        let f = Features { narrow: None, ..Features::of(&random) };
        let unknown = Format::of("sell16", [32, 1]).check(&f, Dtype::F64, &Limits::NONE);
        assert_eq!(unknown, Err(Infeasible::UnknownGroups));
        let f = Features { ncols: 1 << 32, narrow: Some([NarrowCount::default(); 2]), ..f };
        let many = Format::of("sell16", [32, 1]).check(&f, Dtype::F64, &Limits::NONE);
        assert_eq!(many, Err(Infeasible::TooManyColumns { ncols: 1 << 32 }));
    }

    #[test]
    fn sizes_from_features_are_those_of_the_arrays() {
        for recipe in ["fem,n=9,unknowns=3", "stencil3d,n=50", "random,rows=100,cols=3000", "stencil2d,n=1"] {
            let a = recipe.parse::<Recipe>().unwrap().generate::<f32>().unwrap();
            let f = Features::of(&a);
            for sigma in NARROW_SIGMAS {
                let format = Format::of("sell16", [32, sigma]);
                let stored = format.convert(&a, &Limits::NONE).unwrap();
                assert_eq!(stored.bytes(), format.device_bytes(&f, Dtype::F32).0, "{recipe}, {sigma}");
                assert_eq!(format.check(&f, Dtype::F32, &Limits::NONE), Ok(Bytes(stored.bytes())));
            }
        }
    }
}
