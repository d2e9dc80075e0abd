//! Number of square blocks that a matrix touches, and of those stored when their rows stand in slices: counted with the other
//! features for all block sizes, listed for BSR.
//!
//! ```text
//! A = | 1 2 . . . . |     blocks of 2:   | X . . |     3 blocks touched: 12 entries stored for 9 non-zeros
//!     | 3 4 . . . . |                    | . X X |
//!     | . . 5 6 . . |
//!     | . . . 7 8 9 |
//! ```
//! Blocks begin at multiples of their size, in rows and in columns.

use crate::moved_rows::{self, Copies, FARTHEST_ABOVE, PART};
use crate::{Limits, Pattern, mix};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Rows and columns of a block, as many as there are sizes in the catalogue.
pub const BLOCK_SIDES: [u32; 4] = [2, 3, 4, 6];

/// Block rows of a slice: a warp's worth.
pub(crate) const SLICE: usize = 32;

/// Rows whose blocks are counted in one go: whole slices of every block size.
pub(crate) const BLOCK_COUNT_ROWS: usize = 384;

/// Rows that are looked at together before anything is counted: whole rows of blocks of every size.
const LOOK_ROWS: usize = 12;

/// One group in this many is examined first. If its blocks show that the matrix stores too many entries, the rest is not
/// examined. Chosen: the cost is negligible beside the other features.
const LOOKED_AT_FIRST: usize = 32;

/// Least number of groups for a first examination; with fewer, or with no more non-zeros than the next constant, no size is ruled out:
/// few groups may differ from the others, and the last row and column cut a larger share of few blocks.
const LEAST_LOOKS: usize = 16;
const COUNTED_WHOLE: usize = 1 << 15;

/// Factor by which the first count must exceed the limit, in tenths. Chosen: above the error of a sample.
const TOO_MANY: u64 = 11;

/// Blocks of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BlockCount {
    /// Blocks that hold a non-zero, counted up to [`BlockCount::most`]; one more than those stands for any larger number, and for
    /// what a first look ruled out: of matrices with at least 6,144 rows and over 32,768 non-zeros 12 rows of every 384 are looked at,
    /// and sizes that have a tenth too many blocks there are not counted, nor those that are made of them.
    pub blocks: u64,
    /// Blocks that are stored when each row of blocks is padded to the longest of 32. Counts for nothing beside too many
    /// `blocks`, and is 0 then.
    pub stored: u64,
    /// Blocks of the row of blocks that has most of them: what one team works on from the beginning to the end. 0 beside too many
    /// `blocks`, and in records that are older than it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub longest: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl BlockCount {
    /// The most blocks of `side` rows and columns that are counted and stored: 4/3 entries for each non-zero, rounded up.
    pub fn most(nnz: u64, side: u32) -> u64 {
        let (entries, non_zeros) = Limits::BLOCK_FILL;
        entries.saturating_mul(nnz).div_ceil(non_zeros * u64::from(side * side))
    }

    /// Returns whether there are too many to be stored.
    pub fn is_over(self, nnz: u64, side: u32) -> bool {
        self.blocks > Self::most(nnz, side)
    }
}

/// Counts the blocks of a matrix, by [`BLOCK_SIDES`], piece by piece and by several threads at once.
pub(crate) struct BlockCounter {
    /// True for the block sizes that are counted.
    fits: [bool; 4],
    most: [u64; 4],
    /// Blocks, stored ones, and those of the longest row of blocks.
    found: [[AtomicU64; 3]; 4],
}

impl BlockCounter {
    /// Empty counts. Examines a 32nd of the rows of `a`, in parallel, to count later only sizes that may fit.
    pub(crate) fn for_matrix(a: Pattern<'_>) -> Self {
        let most = BLOCK_SIDES.map(|side| BlockCount::most(a.col_idx.len() as u64, side));
        Self { fits: fitting(a), most, found: Default::default() }
    }

    /// Adds neighbouring rows of the matrix that it was made for, which begin with a multiple of [`BLOCK_COUNT_ROWS`] and end so or
    /// with the matrix; `copies` says what [`moved_rows`](crate::moved_rows::copies) found.
    pub(crate) fn add(&self, a: Pattern<'_>, rows: Range<usize>, copies: &[Copies]) {
        if a.row_ptr[rows.start] == a.row_ptr[rows.end] {
            return;
        }
        let count = |sizes: Range<usize>| sizes.for_each(|at| self.add_size(a, at, rows.clone(), copies));
        a.in_parallel(&rows, &mut || count(0..2), &|| count(2..4));
    }

    /// [`BlockCounter::add`] for the size that has this place in [`BLOCK_SIDES`].
    #[inline(never)]
    fn add_size(&self, a: Pattern<'_>, at: usize, rows: Range<usize>, copies: &[Copies]) {
        let [blocks, stored, longest] = &self.found[at];
        let is_open = || self.fits[at] && blocks.load(Relaxed) <= self.most[at];
        if is_open() {
            for_each_slice(
                (a, BLOCK_SIDES[at], self.most[at]),
                rows,
                copies,
                &mut Union::default(),
                |slice| {
                    blocks.fetch_add(slice.blocks, Relaxed);
                    stored.fetch_add(slice.stored, Relaxed);
                    longest.fetch_max(slice.longest, Relaxed);
                    is_open()
                },
            );
        }
    }

    /// Counts over all rows, once they were added.
    pub(crate) fn counts(&self) -> [BlockCount; 4] {
        std::array::from_fn(|at| {
            let [blocks, stored, longest] = self.found[at].each_ref().map(|count| count.load(Relaxed));
            let over = !self.fits[at] || blocks > self.most[at];
            if over {
                BlockCount { blocks: self.most[at] + 1, ..BlockCount::default() }
            } else {
                BlockCount { blocks, stored, longest }
            }
        })
    }
}

/// The blocks of one size. O(nnz), in parallel.
///
/// # Panics
/// If it is not one of [`BLOCK_SIDES`].
pub(crate) fn block_count(a: Pattern<'_>, side: u32) -> BlockCount {
    let at = BLOCK_SIDES.iter().position(|known| *known == side);
    let at = at.expect("blocks of that size are in the catalogue");
    let mut counter = BlockCounter::for_matrix(a);
    counter.fits = std::array::from_fn(|other| other == at && counter.fits[at]);
    (0..tasks(a)).into_par_iter().for_each(|task| {
        let rows = rows(a, task);
        counter.add(a, rows.clone(), &moved_rows::copies(a, rows));
    });
    counter.counts()[at]
}

fn tasks(a: Pattern<'_>) -> usize {
    a.nrows.div_ceil(BLOCK_COUNT_ROWS)
}

fn rows(a: Pattern<'_>, task: usize) -> Range<usize> {
    task * BLOCK_COUNT_ROWS..((task + 1) * BLOCK_COUNT_ROWS).min(a.nrows)
}

/// Sizes that may fit, from a first look unless the matrix is small. Larger blocks are made of smaller ones: where those of 2 store
/// too many entries, those of 4 and 6 do, and where those of 3, those of 6; but for rounding, which is no matter in large ones.
fn fitting(a: Pattern<'_>) -> [bool; 4] {
    if a.col_idx.len() <= COUNTED_WHOLE || looks(a) < LEAST_LOOKS {
        return [true; 4];
    }
    let [two, three, ..] = looked_at(a, [true, true, false, false]);
    let [.., four, six] = if two { looked_at(a, [false, false, true, three]) } else { [false; 4] };
    [two, three, four, six]
}

/// Number of groups of rows in a first look: one of every [`LOOKED_AT_FIRST`] whole ones.
fn looks(a: Pattern<'_>) -> usize {
    a.nrows / (LOOK_ROWS * LOOKED_AT_FIRST)
}

/// Sizes among `wanted` that do not store too many entries in a 32nd of the rows. These rows are chosen by position, without
/// order: the first rows often differ from all others.
fn looked_at(a: Pattern<'_>, wanted: [bool; 4]) -> [bool; 4] {
    let group = |look: usize| {
        let group = look * LOOKED_AT_FIRST + mix(look as u64) as usize % LOOKED_AT_FIRST;
        group * LOOK_ROWS..(group + 1) * LOOK_ROWS
    };
    let non_zeros = |rows: &Range<usize>| a.row_ptr[rows.end] - a.row_ptr[rows.start];
    let all = (0..looks(a)).into_par_iter().map(group);
    let nnz = all.clone().with_min_len(4096).map(|rows| non_zeros(&rows)).sum();
    // Blocks store the non-zeros and padding. The padding found so far is a lower bound: a size that does not fit is given up early.
    let padding = [const { AtomicU64::new(0) }; 4];
    let fits = |at: usize| {
        let (side, places) = (BLOCK_SIDES[at], u64::from(BLOCK_SIDES[at].pow(2)));
        let stored = padding[at].load(Relaxed) + nnz;
        wanted[at] && 10 * stored <= TOO_MANY * BlockCount::most(nnz, side) * places
    };
    all.for_each_init(Union::default, |union, rows| {
        for (at, side) in BLOCK_SIDES.into_iter().enumerate().filter(|(at, _)| fits(*at)) {
            for_each_slice((a, side, u64::MAX), rows.clone(), &[], union, |slice| {
                padding[at].fetch_add(slice.blocks * u64::from(side * side) - non_zeros(&rows), Relaxed);
                true
            });
        }
    });
    std::array::from_fn(fits)
}

// The rows of a look are one slice.
const _: () = assert!(LOOK_ROWS <= SLICE * BLOCK_SIDES[0] as usize);

/// Calls `see` with the blocks of each slice of some rows, which begin with a row of blocks (for `stored` with a slice), until it returns
/// false; of a slice with more than `most` only with so many that it is clear.
fn for_each_slice(
    (a, side, most): (Pattern<'_>, u32, u64),
    rows: Range<usize>,
    copies: &[Copies],
    union: &mut Union,
    mut see: impl FnMut(BlockCount) -> bool,
) {
    let side_of = side as usize;
    union.lengths.clear();
    for first in rows.clone().step_by(SLICE * side_of) {
        let mut slice = BlockCount::default();
        for start in (first..(first + SLICE * side_of).min(rows.end)).step_by(side_of) {
            let of = start..(start + side_of).min(rows.end);
            let above = copied_from(&rows, &of, side_of, copies).map(|above| union.lengths[above]);
            let length = above.unwrap_or_else(|| union.length(a, side, of));
            union.lengths.push(length);
            slice.blocks += length;
            slice.longest = slice.longest.max(length);
            if slice.blocks > most {
                break;
            }
        }
        slice.stored = SLICE as u64 * slice.longest;
        if !see(slice) {
            return;
        }
    }
}

/// The row of blocks above that of these rows, counted within `rows`, of which it is a copy, moved by whole blocks.
fn copied_from(rows: &Range<usize>, of: &Range<usize>, side: usize, copies: &[Copies]) -> Option<usize> {
    let part_of = |row: usize| copies.get((row - rows.start) / PART);
    let way = part_of(of.start)?.way;
    // The least multiple of the step that is one of the side.
    let by = (1..=side).map(|times| times * way.above).find(|by| by % side == 0)?;
    let above = of.start.checked_sub(rows.start + by)?;
    // All rows from `first` to `last` must be copies; they are at most 31, so that they lie in at most two parts.
    let (first, last) = (of.start - by + way.above, of.end - 1);
    let (one, other) = (part_of(first)?, part_of(last)?);
    let are_copies = u64::from(one.rows) | u64::from(other.rows) << PART;
    let wanted = ((1 << (last - first + 1)) - 1) << ((first - rows.start) % PART);
    (of.len() == side && one.way == way && other.way == way && are_copies & wanted == wanted)
        .then_some(above / side)
}

// Of sides and steps up to 6 no multiple is above 30.
const _: () = assert!(BLOCK_SIDES[3] == 6 && FARTHEST_ABOVE == 6 && PART == 32);

/// The blocks of one row of blocks: room to unite those of its rows.
#[derive(Debug, Default)]
pub(crate) struct Union {
    /// Columns of the rows; the first `len` are used.
    columns: Vec<u32>,
    len: usize,
    spare: Vec<u32>,
    /// Blocks of the rows of blocks that were counted before.
    lengths: Vec<u64>,
}

impl Union {
    /// The columns of the blocks of one row of blocks, counted in blocks, ascending.
    ///
    /// # Panics
    /// If `side` is not one of [`BLOCK_SIDES`].
    pub(crate) fn of(&mut self, a: Pattern<'_>, side: u32, rows: Range<usize>) -> &[u32] {
        self.len = 0;
        let mut before: &[u32] = &[];
        for row in rows {
            let cols = a.row(row);
            // With several unknowns in each point of a grid their rows have the same columns.
            if cols != before {
                match side {
                    2 => self.add::<2>(cols),
                    3 => self.add::<3>(cols),
                    4 => self.add::<4>(cols),
                    6 => self.add::<6>(cols),
                    _ => panic!("blocks of {side} are not in the catalogue"),
                }
                before = cols;
            }
        }
        &self.columns[..self.len]
    }

    /// Number of blocks in one row of blocks.
    pub(crate) fn length(&mut self, a: Pattern<'_>, side: u32, rows: Range<usize>) -> u64 {
        let cols = |row: usize| a.row(row);
        let first = cols(rows.start);
        // Rows that have the same columns are mostly neighbours.
        let (mut second, mut kinds) = (first, 1);
        for row in rows.clone().skip(1) {
            if cols(row) != second {
                second = cols(row);
                kinds += 1;
            }
        }
        match (kinds, side) {
            (1 | 2, 2) => of_two::<2>(first, second),
            (1 | 2, 3) => of_two::<3>(first, second),
            (1 | 2, 4) => of_two::<4>(first, second),
            (1 | 2, 6) => of_two::<6>(first, second),
            _ => self.of(a, side, rows).len() as u64,
        }
    }

    /// Unites what is there with the blocks of one more row.
    fn add<const SIDE: u32>(&mut self, cols: &[u32]) {
        let room = self.len + cols.len();
        if self.spare.len() < room {
            self.spare.resize(room, 0);
        }
        let (known, spare) = (&self.columns[..self.len], &mut self.spare[..room]);
        let mut len = 0;
        // No block has that number: columns are below it.
        let mut last = u32::MAX;
        merge(
            known,
            cols,
            |block| block,
            |col| col / SIDE,
            |block| {
                // Whatever is there already is written over by the next one.
                spare[len] = block;
                len += usize::from(block != last);
                last = block;
            },
        );
        self.len = len;
        std::mem::swap(&mut self.columns, &mut self.spare);
    }
}

/// Number of blocks that two rows touch together; they may be one row.
fn of_two<const SIDE: u32>(one: &[u32], other: &[u32]) -> u64 {
    if std::ptr::eq(one, other) {
        return of_one::<SIDE>(one);
    }
    // No block has that number.
    let (mut count, mut last) = (0, u32::MAX);
    merge(
        one,
        other,
        |col| col / SIDE,
        |col| col / SIDE,
        |block| {
            count += u64::from(block != last);
            last = block;
        },
    );
    count
}

/// Number of blocks that a row touches. No column depends on the one before, so that the compiler turns it into
/// wide instructions.
fn of_one<const SIDE: u32>(cols: &[u32]) -> u64 {
    let Some((_, behind)) = cols.split_first() else { return 0 };
    // Fewer than there are columns, and a column's number has 32 bits.
    let begins: u32 = cols.iter().zip(behind).map(|(a, b)| u32::from(a / SIDE != b / SIDE)).sum();
    u64::from(begins) + 1
}

/// Calls `see` with the blocks of two ascending lists, ascending, of which each side says how it counts them; a block may come several
/// times. Without branches that depend on the columns: in a merge of two lists they could not be predicted.
fn merge(
    one: &[u32],
    other: &[u32],
    block_of_one: impl Fn(u32) -> u32,
    block_of_other: impl Fn(u32) -> u32,
    mut see: impl FnMut(u32),
) {
    let (mut i, mut j) = (0, 0);
    while i < one.len() && j < other.len() {
        let (a, b) = (block_of_one(one[i]), block_of_other(other[j]));
        see(a.min(b));
        i += usize::from(a <= b);
        j += usize::from(b <= a);
    }
    one[i..].iter().for_each(|&entry| see(block_of_one(entry)));
    other[j..].iter().for_each(|&entry| see(block_of_other(entry)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery::Recipe;
    use crate::{Csr, Features};
    use std::collections::BTreeSet;

    fn block_counts(a: &Csr<f32>) -> [BlockCount; 4] {
        BLOCK_SIDES.map(|side| block_count(a.into(), side))
    }

    fn matrix(recipe: &str) -> Csr<f32> {
        recipe.parse::<Recipe>().unwrap().generate().unwrap()
    }

    #[test]
    fn moved_rows_have_as_many_blocks_as_if_each_were_counted() {
        for unknowns in 1..=6_u32 {
            // A line of points, each coupled with its neighbours.
            let points = 768 / unknowns;
            let row = |row: u32| {
                let point = row / unknowns;
                (point.saturating_sub(1) * unknowns)..((point + 2).min(points) * unknowns)
            };
            let rows: Vec<Vec<u32>> = (0..points * unknowns).map(|at| row(at).collect()).collect();
            let (ptr, cols) = (crate::csr::offsets(rows.iter().map(|row| row.len() as u64)), rows.concat());
            let values = vec![1.0_f32; cols.len()];
            let a = Csr::try_new(rows.len(), rows.len(), ptr, cols, values).unwrap();
            let copies = moved_rows::copies((&a).into(), 0..a.nrows());
            let is_moved = |copies: &Copies| copies.all_moved() == Some(unknowns as usize);
            assert!(copies.iter().any(is_moved), "{copies:?}");
            let counted = |copies: &[Copies]| {
                let counter = BlockCounter::for_matrix((&a).into());
                counter.add((&a).into(), 0..a.nrows(), copies);
                counter.counts()
            };
            assert_eq!(counted(&copies), counted(&[]), "{unknowns} unknowns");
        }
    }

    #[test]
    fn blocks_are_those_of_the_definition_or_too_many() {
        let mut counted = 0;
        for recipe in [
            "fem,n=9,unknowns=3",
            "fem,n=13,unknowns=2",
            "dense,rows=70,cols=71",
            "dense,rows=385,cols=385",
            "dense,rows=389,cols=400",
            "stencil2d,n=64",
            "banded,n=2000",
            "arrow,n=300",
            "random,rows=20000",
        ] {
            let a = matrix(recipe);
            for (side, count) in BLOCK_SIDES.into_iter().zip(block_counts(&a)) {
                let side_of = side as usize;
                let block = |row: usize| a.row(row).0.iter().map(move |&col| (row / side_of, col / side));
                let blocks: BTreeSet<(usize, u32)> = (0..a.nrows()).flat_map(block).collect();
                let most = BlockCount::most(a.nnz() as u64, side);
                assert_eq!(count.blocks, (blocks.len() as u64).min(most + 1), "{recipe}, {side}");
                if count.blocks > most {
                    assert_eq!((count.stored, count.longest), (0, 0));
                    continue;
                }
                counted += 1;
                let block_rows = a.nrows().div_ceil(side_of);
                let length = |row: usize| blocks.range((row, 0)..(row + 1, 0)).count();
                let longest = |slice: usize| {
                    (slice * SLICE..((slice + 1) * SLICE).min(block_rows)).map(length).max().unwrap()
                };
                let stored: usize = (0..block_rows.div_ceil(SLICE)).map(|s| SLICE * longest(s)).sum();
                assert_eq!(count.stored, stored as u64, "{recipe}, {side}");
                let longest = (0..block_rows).map(length).max().unwrap();
                assert_eq!(count.longest, longest as u64, "{recipe}, {side}");
            }
        }
        assert!(counted >= 10, "{counted}");
    }

    #[test]
    fn a_few_unusual_rows_rule_no_block_size_out() {
        // Blocks of 3, and in the middle and at the end rows with nothing but their diagonal.
        let n = 12_290_u32;
        let is_lone = |row: u32| (5_760..6_144).contains(&row) || row >= 12_288;
        let (mut ptr, mut cols) = (vec![0], Vec::new());
        for row in 0..n {
            let own = row / 3 * 3;
            let beside = (own + 3_000) % 12_288 / 3 * 3;
            let mut of_row =
                if is_lone(row) { vec![row] } else { (0..3).flat_map(|c| [own + c, beside + c]).collect() };
            of_row.sort_unstable();
            cols.extend(of_row);
            ptr.push(cols.len() as u64);
        }
        let values = vec![1.0_f32; cols.len()];
        let a = Csr::try_new(n as usize, n as usize, ptr, cols, values).unwrap();
        let [_, three, ..] = block_counts(&a);
        assert_eq!(three.blocks, 2 * (12_288 - 384) / 3 + 384 / 3 + 1);
        assert_eq!(Features::of(&a).blocks.unwrap()[1], three);
    }

    #[test]
    fn an_empty_matrix_has_no_blocks() {
        let empty = Csr::<f32>::try_new(0, 5, vec![0], vec![], vec![]).unwrap();
        assert_eq!(block_counts(&empty), [BlockCount::default(); 4]);
    }
}
