//! The inputs of all rows as intervals between quantiles: where splits are looked for.

use super::grow::Row;
use std::collections::HashSet;

/// Most intervals of an input: with some thousand rows there are about as many in each as a leaf must hold. Four times as
/// many were no better for `boosting` (held-out errors 5.98 % both).
pub(super) const BINS: usize = 64;

/// Inputs as intervals.
pub(super) struct Bins {
    /// Those that are neither the same for all rows nor equal to an earlier one.
    pub(super) inputs: Vec<usize>,
    /// Where the intervals of each begin.
    pub(super) edges: Vec<Vec<i32>>,
    /// Row after row, the interval of each input.
    of_rows: Vec<u8>,
}

impl Bins {
    pub(super) fn of(rows: &[Row<'_>]) -> Self {
        let mut seen = HashSet::new();
        let (mut inputs, mut edges) = (Vec::new(), Vec::new());
        for input in 0..rows[0].inputs.len() {
            let mut values: Vec<i32> = rows.iter().map(|r| r.inputs[input]).collect();
            if !seen.insert(values.clone()) {
                continue;
            }
            values.sort_unstable();
            let mut distinct = values.clone();
            distinct.dedup();
            if distinct.len() > BINS {
                distinct = (0..BINS).map(|bin| values[bin * values.len() / BINS]).collect();
                distinct.dedup();
            }
            if distinct.len() > 1 {
                inputs.push(input);
                edges.push(distinct);
            }
        }
        let bin = |row: &Row<'_>, (&input, edges): (&usize, &Vec<i32>)| {
            edges.partition_point(|edge| *edge <= row.inputs[input]).saturating_sub(1) as u8
        };
        let of_rows = rows.iter().flat_map(|row| inputs.iter().zip(&edges).map(|of| bin(row, of))).collect();
        Self { inputs, edges, of_rows }
    }

    /// In which interval the row has its input; both by their place here.
    pub(super) fn bin(&self, row: usize, input: usize) -> u8 {
        self.of_rows[row * self.inputs.len() + input]
    }
}
