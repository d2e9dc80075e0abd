//! Rows that are rows above them, moved or not: what most rows of a structured matrix are, and what need not be counted again.
//!
//! ```text
//! row 4    . . x x . x     row 5 is row 4 moved by 1: distances of its entries, its diagonals and its distance
//! row 5    . . . x x . x   from the diagonal are those of row 4
//! row 6    . . . x x . x   row 6 is row 5: distances of its entries
//! ```

use crate::Pattern;
use crate::row_lengths::common_length;
use std::ops::{BitOr, Range};

/// Number of rows above a row that are compared with it. Chosen: with several unknowns in each point of a grid it
/// is as many rows above, and there are seldom more.
pub(crate) const FARTHEST_ABOVE: usize = 6;

/// Rows that are looked at together: a bit of a word for each.
pub(crate) const PART: usize = 32;

/// Rows in the middle of a part for which all ways to be a copy are looked for where none is likely. Chosen: of unknowns in one point one
/// of two neighbours is a copy; it costs little where none is.
const LOOKED_AT: usize = 2;

/// How rows are copies of rows above them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way {
    /// How far above the row stands, at most [`FARTHEST_ABOVE`].
    pub(crate) above: usize,
    /// True if each entry lies `above` columns to the right of that of the row above, false if the columns are the same.
    pub(crate) is_moved: bool,
}

impl Way {
    /// All that are looked for.
    fn all() -> impl Iterator<Item = Self> {
        let moved = (1..=FARTHEST_ABOVE).map(|above| Self { above, is_moved: true });
        moved.chain([Self { above: 1, is_moved: false }])
    }

    /// Columns that an entry lies to the right of that of the row above.
    const fn by(self) -> u32 {
        if self.is_moved { self.above as u32 } else { 0 }
    }

    /// Returns whether each of neighbouring rows is such a copy.
    fn holds(self, a: Pattern<'_>, rows: Range<usize>) -> bool {
        let above = rows.start - self.above..rows.end - self.above;
        are_shifted(a.rows(&above), a.rows(&rows), self.by())
    }

    /// The rows of `part` that are such copies, a bit for each.
    fn copies(self, a: Pattern<'_>, part: &Range<usize>) -> u32 {
        let length = |row: usize| a.row_ptr[row + 1] - a.row_ptr[row];
        let is_as_long = |row: usize| row >= self.above && length(row) == length(row - self.above);
        let are_as_long = |first: usize| common_length(&a.row_ptr[first..=part.end]).is_some();
        if part.start.checked_sub(self.above).is_some_and(are_as_long) && self.holds(a, part.clone()) {
            return u32::MAX >> (PART - part.len());
        }
        let bit = |row: usize| 1 << (row - part.start);
        let (mut copies, mut row) = (0, part.start);
        while row < part.end {
            let start = row;
            while row < part.end && is_as_long(row) {
                row += 1;
            }
            // That all rows of a part are as long and are no copies is known by now.
            let is_whole = row - start == part.len();
            if start < row && !is_whole && self.holds(a, start..row) {
                copies |= (bit(row - 1) - bit(start)) | bit(row - 1);
            } else {
                copies |=
                    (start..row).filter(|&row| self.holds(a, row..row + 1)).map(bit).fold(0, u32::bitor);
            }
            row += 1;
        }
        copies
    }
}

/// Rows of a part that are copies of rows above them, all in the same way. Rows without a bit may be copies in another way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copies {
    /// How they are.
    pub(crate) way: Way,
    /// A bit for each row, the first the lowest.
    pub(crate) rows: u32,
    /// All rows have one length.
    pub(crate) are_alike: bool,
}

impl Copies {
    /// Rows of `part` that have all distances between neighbouring entries: each other row is a copy of one of them.
    pub(crate) fn distinct(self, part: Range<usize>) -> impl Iterator<Item = usize> {
        let first_ones = (1 << self.way.above) - 1;
        bits(!self.rows | first_ones, part)
    }

    /// Rows of `part` that have all diagonals of the part: each other row is one of them, moved.
    pub(crate) fn unmoved(self, part: Range<usize>) -> impl Iterator<Item = usize> {
        let copies = Self { rows: if self.way.is_moved { self.rows } else { 0 }, ..self };
        copies.distinct(part)
    }

    /// How far above, if the part is whole and each row is a copy of the one there, moved.
    pub(crate) fn all_moved(self) -> Option<usize> {
        (self.way.is_moved && self.rows == u32::MAX).then_some(self.way.above)
    }
}

/// Rows of `part` whose bits are set.
fn bits(mut set: u32, part: Range<usize>) -> impl Iterator<Item = usize> {
    set &= u32::MAX >> (PART - part.len());
    std::iter::from_fn(move || {
        let next = set.trailing_zeros() as usize;
        (set != 0).then(|| {
            set &= set - 1;
            part.start + next
        })
    })
}

/// The copies in each [`PART`] of `rows`. O(non-zeros).
///
/// None is looked for in a matrix with so many columns that the sum of a column and a step may not fit into 32 bits.
pub(crate) fn copies(a: Pattern<'_>, rows: Range<usize>) -> Vec<Copies> {
    let mut likely = None;
    let fits = a.ncols <= u32::MAX as usize - FARTHEST_ABOVE;
    let of_part = |start: usize| {
        let part = start..(start + PART).min(rows.end);
        let copies = |way: Way| Some((way, way.copies(a, &part))).filter(|(_, rows)| *rows != 0);
        let holds = |way: &Way, row: usize| row >= way.above && way.holds(a, row..row + 1);
        let middle = part.clone().skip(part.len() / 2).take(LOOKED_AT);
        let filled = middle.filter(|&row| !a.row(row).is_empty());
        let known = likely.and_then(copies);
        // Rows without an entry are copies of each other in any way.
        let are_few = known.is_none_or(|(_, rows)| rows.count_ones() as usize <= part.len() / 2);
        let looked =
            || filled.filter_map(|row| Way::all().find(|way| fits && holds(way, row))).find_map(copies);
        let looked = are_few.then(looked).flatten();
        let found = known.into_iter().chain(looked).max_by_key(|(_, rows)| rows.count_ones());
        let (way, rows) = found.unwrap_or((Way { above: 1, is_moved: false }, 0));
        // Rows of several unknowns in one point are copies of each other, and mostly of those of another point, moved.
        likely = way.is_moved.then_some(way);
        Copies { way, rows, are_alike: common_length(&a.row_ptr[part.start..=part.end]).is_some() }
    };
    rows.clone().step_by(PART).map(of_part).collect()
}

/// Returns whether `cols`, those of a row or of rows in which no sum exceeds 32 bits, are those of `above`, each plus `by`. The ends are
/// looked at first; then a loop without an early end, which the compiler turns into wide instructions.
fn are_shifted(above: &[u32], cols: &[u32], by: u32) -> bool {
    let ends = |cols: &[u32]| cols.first().copied().zip(cols.last().copied());
    // The last one of a row is the largest: if it does not overflow, none of the row does.
    let moved_ends =
        ends(above).and_then(|(first, last)| Some((first.wrapping_add(by), last.checked_add(by)?)));
    above.len() == cols.len()
        && moved_ends == ends(cols)
        && above.iter().zip(cols).fold(true, |moved, (above, col)| moved & (above.wrapping_add(by) == *col))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;
    use crate::gallery::Recipe;

    fn copies_of(recipe: &str) -> Vec<Copies> {
        let a: Csr<f32> = recipe.parse::<Recipe>().unwrap().generate().unwrap();
        copies((&a).into(), 0..a.nrows())
    }

    /// How many rows above the rows of a part stand that are moved, and bits of rows that are so.
    fn moved(copies: &Copies) -> (usize, u32) {
        (if copies.way.is_moved { copies.way.above } else { 0 }, copies.rows)
    }

    #[test]
    fn rows_of_grids_are_the_row_above_or_that_of_the_same_unknown_moved() {
        // 100 points a line: rows 100 to 199 begin and end with a shorter row. Rows from 128 and 160 on are alike. Row 100 is no copy of a
        // row above, and row 101 none of row 100.
        let found = copies_of("stencil2d,n=100");
        assert_eq!(moved(&found[4]), (1, u32::MAX));
        assert_eq!(
            moved(&found[3]),
            (1, !(0b11 << 4 | 1 << 3)),
            "rows 96 to 127, of which row 99 is shorter"
        );
        assert!(found[4].are_alike && !found[3].are_alike);
        // Three unknowns a point, 40 points a line: 120 rows.
        let found = copies_of("fem,n=40,unknowns=3");
        assert!(found.iter().any(|copies| moved(copies) == (3, u32::MAX)), "{:?}", &found[..12]);
        assert!(copies_of("random,rows=1000").iter().all(|copies| copies.rows == 0));
        // All rows but the first of all.
        assert_eq!(
            copies_of("dense,rows=64,cols=64").iter().map(moved).collect::<Vec<_>>(),
            [(0, !1), (0, !0)]
        );
    }

    #[test]
    fn rows_that_stand_for_all_are_the_first_ones_and_those_that_are_no_copies() {
        let copies = |above, is_moved, rows| Copies { way: Way { above, is_moved }, rows, are_alike: false };
        let all = |copies: Copies, part| copies.distinct(part).collect::<Vec<_>>();
        assert_eq!(all(copies(3, true, u32::MAX), 64..96), [64, 65, 66]);
        assert_eq!(all(copies(3, true, u32::MAX), 64..66), [64, 65]);
        assert_eq!(all(copies(1, false, !0b1000), 64..96), [64, 67]);
        assert_eq!(all(copies(1, false, 0), 64..96), (64..96).collect::<Vec<_>>());
        assert_eq!(copies(2, true, !0b1001).unmoved(64..96).collect::<Vec<_>>(), [64, 65, 67]);
        assert_eq!(copies(1, false, !0).unmoved(64..66).collect::<Vec<_>>(), [64, 65]);
        assert_eq!((copies(3, true, !0).all_moved(), copies(1, false, !0).all_moved()), (Some(3), None));
    }

    #[test]
    fn copies_are_what_a_comparison_of_each_row_finds() {
        for recipe in
            ["rmat,scale=9,degree=2", "fem,n=7,unknowns=3", "stencil2d,n=32", "dense,rows=65,cols=9"]
        {
            let a: Csr<f32> = recipe.parse::<Recipe>().unwrap().generate().unwrap();
            let cols = |row: usize| a.row(row).0;
            for (part, copies) in copies((&a).into(), 0..a.nrows()).into_iter().enumerate() {
                let Way { above, is_moved } = copies.way;
                let by = if is_moved { above as u32 } else { 0 };
                for row in part * PART..((part + 1) * PART).min(a.nrows()) {
                    let is_copy = row >= above
                        && cols(row - above).iter().map(|col| col + by).eq(cols(row).iter().copied());
                    let found = copies.rows >> (row % PART) & 1 == 1;
                    assert!(found == is_copy || copies.rows == 0, "{recipe}, row {row}");
                }
            }
        }
    }

    #[test]
    fn a_row_that_is_moved_beyond_the_last_column_is_no_copy() {
        assert!(
            are_shifted(&[3, 8], &[4, 9], 1)
                && !are_shifted(&[3, 8], &[4, 10], 1)
                && !are_shifted(&[3], &[4, 9], 1)
        );
        assert!(!are_shifted(&[u32::MAX - 1], &[1], 3));
        // One entry a row, three unknowns a point: from row 51 on columns would begin again at 0.
        let cols: Vec<u32> = (0..96).map(|row: u32| (u32::MAX - 50).wrapping_add(row / 3 * 3)).collect();
        let a = Csr::try_new(96, u32::MAX as usize - 1, (0..=96).collect(), cols, vec![1.0_f32; 96]).unwrap();
        assert!(copies((&a).into(), 0..96).iter().all(|copies| copies.rows == 0));
    }
}
