//! E[i,j] of every block, a triangle.

use rayon::prelude::*;

/// A time in seconds of every block of neighbouring strips.
///
/// `N (N + 1) / 2` numbers: those of the blocks that begin with strip 0, then with strip 1, and so on.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockCosts {
    strips: usize,
    costs: Vec<f64>,
}

impl BlockCosts {
    /// `tables` triangles at once, filled one starting strip after another, in parallel: `fill(tool, first, rows)` sets
    /// `rows[t][length - 1]`, the time in table t of the `length` strips from `first` on. They are infinite before. Each
    /// thread makes a `tool` of its own to fill with.
    ///
    /// Each starting strip is handed out once, so `fill` can go along its blocks and grow what it knows of them.
    pub fn fill<T>(
        strips: usize,
        tables: usize,
        tool: impl Fn() -> T + Sync + Send,
        fill: impl Fn(&mut T, usize, &mut [&mut [f64]]) + Sync + Send,
    ) -> Vec<Self> {
        let blocks = strips * (strips + 1) / 2;
        let mut all = vec![Self { strips, costs: vec![f64::INFINITY; blocks] }; tables];
        // The rows of all tables that belong to a starting strip, together.
        let mut rows: Vec<Vec<&mut [f64]>> = (0..strips).map(|_| Vec::with_capacity(tables)).collect();
        for table in &mut all {
            let mut left = table.costs.as_mut_slice();
            for (first, rows) in rows.iter_mut().enumerate() {
                let (row, rest) = left.split_at_mut(strips - first);
                rows.push(row);
                left = rest;
            }
        }
        // Early strips begin more blocks than late ones: handed out one by one to idle threads.
        let rows = rows.iter_mut().enumerate().par_bridge();
        rows.for_each_init(tool, |tool, (first, rows)| fill(tool, first, rows));
        all
    }

    /// Number of strips N.
    pub fn strips(&self) -> usize {
        self.strips
    }

    /// The time of the block of strips `first ..= last`.
    ///
    /// # Panics
    /// Unless `first <= last < strips`.
    pub fn get(&self, first: usize, last: usize) -> f64 {
        self.costs[self.place(first, last)]
    }

    /// Sets the time of the block of strips `first ..= last`.
    ///
    /// # Panics
    /// As [`BlockCosts::get`].
    pub fn set(&mut self, first: usize, last: usize, cost: f64) {
        let place = self.place(first, last);
        self.costs[place] = cost;
    }

    fn place(&self, first: usize, last: usize) -> usize {
        assert!(first <= last && last < self.strips, "strips {first} ..= {last} of {}", self.strips);
        // N + (N - 1) + ... blocks begin before `first`.
        first * (2 * self.strips - first + 1) / 2 + (last - first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_has_a_place_of_its_own() {
        let block = |first: usize, last: usize| (100 * first + last) as f64;
        let tables = BlockCosts::fill(
            7,
            2,
            || (),
            |(), first, rows| {
                for (t, row) in rows.iter_mut().enumerate() {
                    for (k, cost) in row.iter_mut().enumerate() {
                        *cost = block(first, first + k) + 10_000.0 * t as f64;
                    }
                }
            },
        );
        for first in 0..7 {
            for last in first..7 {
                assert!((tables[0].get(first, last) - block(first, last)).abs() < 1e-9);
                assert!((tables[1].get(first, last) - block(first, last) - 10_000.0).abs() < 1e-9);
            }
        }
        let mut table = tables.into_iter().next().unwrap();
        table.set(2, 5, -1.0);
        assert!((table.get(2, 5) + 1.0).abs() < 1e-9 && (table.get(2, 4) - 204.0).abs() < 1e-9);
    }

    #[test]
    fn no_strips_are_no_blocks() {
        assert_eq!(BlockCosts::fill(0, 1, || (), |(), _, _| unreachable!())[0].strips(), 0);
    }
}
