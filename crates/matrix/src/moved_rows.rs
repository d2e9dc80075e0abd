//! Rows that are rows above them, moved: what most rows of a structured matrix are, and what need not be counted again.
//!
//! ```text
//! row 4    . . x x . x     row 5 is row 4 moved by 1: distances of its entries, its diagonals and its distance
//! row 5    . . . x x . x   from the diagonal are those of row 4
//! ```

use crate::Pattern;
use crate::row_lengths::common_length;
use std::ops::Range;

/// Number of rows above a row that are compared with it. Chosen: with several unknowns in each point of a grid it
/// is as many rows above, and there are seldom more.
pub(crate) const FARTHEST_ABOVE: usize = 6;

/// Rows that are compared at once.
pub(crate) const PART: usize = 32;

/// For each [`PART`] of `rows` what [`step_of`] says. O(non-zeros).
pub(crate) fn steps(a: Pattern<'_>, rows: Range<usize>) -> Vec<Option<usize>> {
    let mut likely = 1;
    let step = |start: usize| {
        let step = step_of(a, start..(start + PART).min(rows.end), likely);
        likely = step.unwrap_or(likely);
        step
    };
    rows.clone().step_by(PART).map(step).collect()
}

/// Rows of a part that stand for all of them: moved by `step`, each is one of its first, moved.
pub(crate) fn distinct(part: Range<usize>, step: Option<usize>) -> Range<usize> {
    part.start..step.map_or(part.end, |step| part.end.min(part.start + step))
}

/// Smallest `step`, but `likely` first, with which all of `rows` are the rows that stand `step` above them, each entry moved as far to the
/// right as its row stands below. Only rows of one length are compared, and none of a matrix with so many columns that the sum of a column
/// and a step may not fit into 32 bits. `None` if there is no such step.
fn step_of(a: Pattern<'_>, rows: Range<usize>, likely: usize) -> Option<usize> {
    if a.ncols > u32::MAX as usize - FARTHEST_ABOVE {
        return None;
    }
    let length = common_length(&a.row_ptr[rows.start..=rows.end])?;
    let is_moved_by = |step: usize| {
        let Some(first) = rows.start.checked_sub(step) else { return false };
        a.row_ptr[first..=rows.start].windows(2).all(|ends| ends[1] - ends[0] == length)
            && is_moved(a.rows(&(first..rows.end - step)), a.rows(&rows), step as u32)
    };
    let others = (1..=FARTHEST_ABOVE).filter(|step| *step != likely);
    std::iter::once(likely).chain(others).find(|&step| is_moved_by(step))
}

/// Returns whether `cols`, those of a row or of rows in which no sum exceeds 32 bits, are those of `above`, each plus `by`. The ends are
/// looked at first; then a loop without an early end, which the compiler turns into wide instructions.
pub(crate) fn is_moved(above: &[u32], cols: &[u32], by: u32) -> bool {
    let ends = |cols: &[u32]| cols.first().copied().zip(cols.last().copied());
    // The last one of a row is the largest: if it does not overflow, none does.
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

    fn steps_of(recipe: &str) -> Vec<Option<usize>> {
        let a: Csr<f32> = recipe.parse::<Recipe>().unwrap().generate().unwrap();
        steps((&a).into(), 0..a.nrows())
    }

    #[test]
    fn rows_of_grids_are_the_row_above_or_that_of_the_same_unknown_moved() {
        // 100 points a line: rows 100 to 199 begin and end with a shorter row. Of 32 rows those from 128 and 160 are alike.
        let found = steps_of("stencil2d,n=100");
        assert_eq!(found[3..7], [None, Some(1), Some(1), None]);
        assert_eq!(found[0], None, "nothing is above");
        // Three unknowns a point, 40 points a line: 120 rows, of which parts from 160 and 192 lie within the second line.
        let found = steps_of("fem,n=40,unknowns=3");
        assert!(found.contains(&Some(3)) && !found.contains(&Some(1)), "{:?}", &found[..12]);
        assert!(steps_of("random,rows=1000").iter().all(Option::is_none));
        assert_eq!(distinct(64..96, Some(3)), 64..67);
        assert_eq!(distinct(64..66, Some(3)), 64..66);
        assert_eq!(distinct(64..96, None), 64..96);
    }

    #[test]
    fn a_row_that_is_moved_beyond_the_last_column_is_no_copy() {
        assert!(
            is_moved(&[3, 8], &[4, 9], 1) && !is_moved(&[3, 8], &[4, 10], 1) && !is_moved(&[3], &[4, 9], 1)
        );
        assert!(!is_moved(&[u32::MAX - 1], &[1], 3));
        // One entry a row, three unknowns a point: from row 51 on columns would begin again at 0.
        let cols: Vec<u32> = (0..96).map(|row: u32| (u32::MAX - 50).wrapping_add(row / 3 * 3)).collect();
        let a = Csr::try_new(96, u32::MAX as usize - 1, (0..=96).collect(), cols, vec![1.0_f32; 96]).unwrap();
        assert_eq!(steps((&a).into(), 0..96), [None; 3]);
    }
}
