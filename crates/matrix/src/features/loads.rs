//! Lines of memory that a warp touches when each of its threads loads one non-zero.
//!
//! ```text
//! one thread a row, rows of 258 whose neighbours lie apart: a load of 32 non-zeros touches 32 lines of x
//! 32 threads a row:                                         one or two, if the row is dense
//! ```
//! A multiprocessor looks up one line a cycle (measured on an H200 and an H100: thread blocks of 32 such warps take 32 x 32 cycles a
//! step), so that scattered loads take their time even where all of x is in its cache.

use super::Rows;
use super::sample::{combined, position};
use super::sweep::Sweep;
use super::team_steps::WARP;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::ops::Range;

/// Team sizes: 1, 2, 4, 8, 16 and 32 threads a row.
const TEAMS: usize = 6;
/// Loads that are looked at. Chosen, for a cost that is small beside a product's.
const DRAWS: Range<usize> = 16..256;
/// Non-zeros for each that is looked at, between these.
const NNZ_A_DRAW: usize = 256;
/// Draws of loads of the heaviest warp, at most.
const OF_HEAVIEST: u64 = 16;
/// Numbers of 4 bytes (f32, column indices) in a line of 128 bytes, as a power of two; of 8 bytes half as many.
const LINE: u32 = 5;

/// Lines of 128 bytes that loads of warps touch, for f32 and for f64, with 1, 2, 4, 8, 16 and 32 threads a row; of a sample of the
/// loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Loads {
    /// Lines of x for each 1,024 non-zeros.
    pub x: [[u64; TEAMS]; 2],
    /// Lines of column indices and values, as CSR has them, for each 1,024 non-zeros.
    pub rows: [[u64; TEAMS]; 2],
    /// Lines of x that the heaviest warp touches in all its loads, estimated: of the warps among the 32 neighbouring rows with most
    /// non-zeros, and of that of the longest row, the one with most.
    pub heaviest_x: [[u64; TEAMS]; 2],
    /// Its lines of column indices and values.
    pub heaviest_rows: [[u64; TEAMS]; 2],
    /// Its steps.
    pub heaviest_steps: [u64; TEAMS],
}

impl Loads {
    /// Non-zeros that [`Loads::x`] and [`Loads::rows`] count lines of.
    pub const NNZ: u64 = 1024;

    /// Of rows that `sweep` went over. O(log rows), in parallel.
    pub(super) fn of(rows: &Rows<'_>, sweep: &Sweep) -> Self {
        let (nnz, ptr) = (rows.nnz(), rows.row_ptr());
        if nnz == 0 {
            return Self::default();
        }
        let draws = (nnz / NNZ_A_DRAW).clamp(DRAWS.start, DRAWS.end);
        let of_draw = |draw: usize| {
            let at = ptr[0] as usize + position(nnz, draw, draws);
            let row = ptr.partition_point(|&start| start as usize <= at) - 1;
            let place = at - ptr[row] as usize;
            // A load is drawn with a probability in proportion to its non-zeros.
            let share = |count: u32, load: &Load| (u64::from(count) << 32) / u64::from(load.lanes);
            let mut found = Self::default();
            for team in 0..TEAMS {
                let load = Load::of(rows, row, place >> team, team);
                for kind in 0..2 {
                    found.x[kind][team] = share(load.x[kind], &load);
                    found.rows[kind][team] = share(load.rows[kind], &load);
                }
            }
            found
        };
        let sum = (0..draws).into_par_iter().with_min_len(16).map(of_draw).reduce(Self::default, Self::sum);
        let mean = |sum: u64| (sum / draws as u64 * Self::NNZ + (1 << 31)) >> 32;
        let mut found = Self {
            x: sum.x.map(|teams| teams.map(mean)),
            rows: sum.rows.map(|teams| teams.map(mean)),
            ..Self::default()
        };
        let entries =
            |first: usize, team: usize| ptr[(first + (WARP >> team)).min(rows.count())] - ptr[first];
        let (longest, Reverse(near)) = sweep.longest;
        let longest_at = near + ptr[near..].windows(2).position(|w| w[1] - w[0] == longest).unwrap_or(0);
        let mut heaviest = sweep.heaviest.1;
        for team in 0..TEAMS {
            let group = WARP >> team;
            if team > 0
                && heaviest + group < rows.count()
                && entries(heaviest + group, team) > entries(heaviest, team)
            {
                heaviest += group;
            }
            let first =
                [heaviest, longest_at / group * group].into_iter().max_by_key(|&first| entries(first, team));
            found.add_heaviest(rows, first.unwrap_or(0), team);
        }
        found
    }

    /// The warp whose first row is `first`: its non-zeros times the lines that each of them adds to a load. Loads are drawn by non-zeros
    /// at equal distances, in the order in which they are loaded; by steps, one long row would count as if all rows were as long.
    fn add_heaviest(&mut self, rows: &Rows<'_>, first: usize, team: usize) {
        let ptr = rows.row_ptr();
        let ends = &ptr[first..=(first + (WARP >> team)).min(rows.count())];
        let lengths = || ends.windows(2).map(|w| w[1] - w[0]);
        let before = |step: u64| lengths().map(|length| length.min(step << team)).sum::<u64>();
        let steps = lengths().max().unwrap_or(0).div_ceil(1 << team);
        let (nnz, draws) = (before(steps), steps.min(OF_HEAVIEST));
        let (mut of_x, mut of_rows) = ([0.0; 2], [0.0; 2]);
        for draw in 0..draws {
            let at = (2 * draw + 1) * nnz / (2 * draws);
            // The step in which non-zero `at` is loaded.
            let (mut step, mut behind) = (0, steps);
            while behind - step > 1 {
                let middle = u64::midpoint(step, behind);
                if before(middle) <= at {
                    step = middle;
                } else {
                    behind = middle;
                }
            }
            let load = Load::of(rows, first, step as usize, team);
            for kind in 0..2 {
                of_x[kind] += f64::from(load.x[kind]) / f64::from(load.lanes);
                of_rows[kind] += f64::from(load.rows[kind]) / f64::from(load.lanes);
            }
        }
        let of_all = |shares: f64| (shares * nnz as f64 / draws.max(1) as f64).round() as u64;
        for kind in 0..2 {
            self.heaviest_x[kind][team] = of_all(of_x[kind]);
            self.heaviest_rows[kind][team] = of_all(of_rows[kind]);
        }
        self.heaviest_steps[team] = steps;
    }

    fn sum(self, other: Self) -> Self {
        let both = |a: [[u64; TEAMS]; 2], b: [[u64; TEAMS]; 2]| {
            std::array::from_fn(|kind| combined(a[kind], b[kind]))
        };
        Self { x: both(self.x, other.x), rows: both(self.rows, other.rows), ..self }
    }

    /// Lines for each 1,024 non-zeros times their number: what can be added up over strips.
    pub(crate) fn of_all(self, nnz: u64) -> Self {
        let times = |teams: [u64; TEAMS]| teams.map(|lines| lines * nnz);
        Self { x: self.x.map(times), rows: self.rows.map(times), ..self }
    }

    /// The inverse of [`Loads::of_all`], rounded.
    pub(crate) fn of_each(self, nnz: u64) -> Self {
        let over = |teams: [u64; TEAMS]| teams.map(|lines| (lines + nnz / 2) / nnz.max(1));
        Self { x: self.x.map(over), rows: self.rows.map(over), ..self }
    }

    /// Adds the lines of rows that follow, both [`Loads::of_all`] non-zeros. Of the two heaviest warps that is kept whose loads touch
    /// more lines.
    pub(crate) fn followed_by(self, more: Self) -> Self {
        let mut joined = self.sum(more);
        for team in 0..TEAMS {
            let lines = |of: &Self| of.heaviest_x[0][team] + of.heaviest_rows[0][team];
            if lines(&more) > lines(&self) {
                for kind in 0..2 {
                    joined.heaviest_x[kind][team] = more.heaviest_x[kind][team];
                    joined.heaviest_rows[kind][team] = more.heaviest_rows[kind][team];
                }
                joined.heaviest_steps[team] = more.heaviest_steps[team];
            }
        }
        joined
    }
}

/// What a warp loads in one step.
struct Load {
    lanes: u32,
    x: [u32; 2],
    rows: [u32; 2],
}

impl Load {
    /// Step `step` of the warp that works on `row`, one of `rows`.
    fn of(rows: &Rows<'_>, row: usize, step: usize, team: usize) -> Self {
        let (ptr, group) = (rows.row_ptr(), WARP >> team);
        let first = row / group * group;
        let (mut cols, mut lanes) = ([0_u32; WARP], 0);
        let mut places = Lines::default();
        for row in first..(first + group).min(rows.count()) {
            let (from, to) = (ptr[row] as usize, ptr[row + 1] as usize);
            let from = (from + (step << team)).min(to);
            let to = (from + (1 << team)).min(to);
            for at in from..to {
                places.add(at as u64 - ptr[0], lanes == 0);
                cols[lanes] = rows.a.col_idx[at];
                lanes += 1;
            }
        }
        let cols = &mut cols[..lanes];
        cols.sort_unstable();
        let mut of_x = Lines::default();
        for (at, &col) in cols.iter().enumerate() {
            of_x.add(u64::from(col), at == 0);
        }
        // Column indices take a line as f32 does.
        let [single, double] = places.count;
        Self { lanes: lanes as u32, x: of_x.count, rows: [2 * single, single + double] }
    }
}

/// Counts the lines of ascending places.
#[derive(Default)]
struct Lines {
    before: u64,
    count: [u32; 2],
}

impl Lines {
    fn add(&mut self, place: u64, is_first: bool) {
        let differ = place ^ self.before;
        self.count[0] += u32::from(is_first || differ >> LINE != 0);
        self.count[1] += u32::from(is_first || differ >> (LINE - 1) != 0);
        self.before = place;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;

    fn of(lengths: &[u64], col: impl Fn(u64, u64) -> u32) -> Loads {
        let cols =
            lengths.iter().enumerate().flat_map(|(row, &length)| (0..length).map(move |k| (row as u64, k)));
        let cols: Vec<u32> = cols.map(|(row, k)| col(row, k)).collect();
        let (ptr, values) = (crate::csr::offsets(lengths.iter().copied()), vec![1.0_f32; cols.len()]);
        let a = Csr::try_new(lengths.len(), 1 << 20, ptr, cols, values).unwrap();
        let rows = Rows::all((&a).into());
        Loads::of(&rows, &Sweep::of(&rows, &|_, _| ()))
    }

    #[test]
    fn rows_that_lie_apart_touch_a_line_a_thread_and_dense_rows_few() {
        // 64 rows of 256 non-zeros: row i has columns 4096 i to 4096 i + 255.
        let apart = of(&[256; 64], |row, k| (4096 * row + k) as u32);
        // One thread a row: a load touches 32 lines. 32 threads a row: one line in f32, two in f64.
        assert_eq!((apart.x[0][0], apart.x[1][0]), (1024, 1024));
        assert_eq!((apart.x[0][5], apart.x[1][5]), (32, 64));
        assert_eq!((apart.rows[0][0], apart.rows[1][0]), (2048, 2048));
        assert_eq!((apart.rows[0][5], apart.rows[1][5]), (64, 96));
        assert_eq!(apart.heaviest_steps, [256, 128, 64, 32, 16, 8]);
        assert_eq!(
            (apart.heaviest_x[0][0], apart.heaviest_x[0][2], apart.heaviest_x[1][5]),
            (256 * 32, 64 * 8, 16)
        );
        assert_eq!((apart.heaviest_rows[0][0], apart.heaviest_rows[1][5]), (256 * 64, 8 * 3));
        // All rows have the same columns: with one thread a row a load touches one line of x.
        let same = of(&[256; 64], |_, k| k as u32);
        assert_eq!((same.x[0][0], same.x[0][5]), (32, 32));
    }

    #[test]
    fn the_heaviest_warp_has_most_non_zeros_for_each_number_of_threads() {
        let mut lengths = [1_u64; 200];
        lengths[100..132].fill(40);
        lengths[7] = 500;
        let loads = of(&lengths, |row, k| (2048 * row + 32 * k) as u32);
        // With one thread a row rows 96 to 127 have 28 x 40 + 4 non-zeros, more than rows 0 to 31; with two threads a row it is rows
        // 112 to 127, and with four and more the warp of row 7.
        assert_eq!(loads.heaviest_steps, [40, 20, 125, 63, 32, 16]);
        assert_eq!(loads.heaviest_x[0][5], 500);
        assert!(loads.heaviest_x[0][0] > 39 * 28 && loads.heaviest_x[0][0] <= 40 * 32, "{loads:?}");
    }

    #[test]
    fn a_row_far_longer_than_the_others_of_its_warp_counts_for_itself() {
        let mut lengths = [16_u64; 32];
        lengths[9] = 512;
        let nnz = 31 * 16 + 512;
        // Each non-zero has a line of its own.
        let apart = of(&lengths, |row, k| (16384 * row + 32 * k) as u32);
        assert_eq!((apart.heaviest_steps[0], apart.heaviest_x[0][0]), (512, nnz));
        // All rows have the same columns: the short ones add nothing.
        let same = of(&lengths, |_, k| 32 * k as u32);
        assert!(same.heaviest_x[0][0].abs_diff(512) <= nnz / 16, "{same:?}");
    }

    #[test]
    fn a_matrix_without_non_zeros_touches_no_lines() {
        assert_eq!(of(&[], |_, _| 0), Loads::default());
        assert_eq!(of(&[0; 40], |_, _| 0), Loads::default());
    }
}
