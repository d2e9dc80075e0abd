//! The optimal partition: rows cut into parts, each in the format that suits it, so that the predicted total is least.
//!
//! ```text
//! strips          1 .. N            neighbouring rows, the smallest thing that is a part
//! E[i,j]                            least predicted time of the block of strips i .. j, over all candidates
//! T[1,j] = min( min over k < j of T[1,k] + E[k+1,j],  E[1,j] )       and the k that was chosen, to go back by
//! ```
//! O(N^2) once E is known: T[1,4] looks at four splits, not at the eight partitions of four strips. Of equal totals the
//! one with fewer parts is taken. Strips are counted from 0 here, and ends are exclusive, as ranges are in Rust.
//!
//! How the parts are run decides what a part costs, see [`Execution`](sparsight_kernels::Execution) and [`CutCost`].
//!
//! Source: Guo, Wang and Chen 2014, section 4, figures 8 and 11. `fused` is this project's.

mod block_costs;
mod cut_cost;

pub use block_costs::BlockCosts;
pub use cut_cost::{CutCost, LearnedCut, MeasuredCut, Piece};

use sparsight_matrix::Seconds;
use std::ops::Range;

/// Strips cut into parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Partition {
    /// Ranges of strips, in order, without a gap; at least one.
    pub parts: Vec<Range<usize>>,
    /// Sum of their times.
    pub total: Seconds,
}

/// The partition of `strips` strips with the least total `once + sum of (cost - once)`, where `once` is what a product
/// pays a single time however many parts it has ([`CutCost::fixed_s`]; 0: the total is the sum of the costs).
///
/// `cost(first, last)` is the time in seconds of a product with a block of strips `first ..= last` as its only part, `once`
/// included; infinite if it cannot be run. `None` without strips or if no partition has a finite total. O(N^2), every cost asked for once.
///
/// ```
/// use sparsight_model::optimal_partition;
/// use sparsight_matrix::Seconds;
/// // A long block costs its length, but strips 0 and 1 together only 1.
/// let cost = |first, last| if (first, last) == (0, 1) { 1.0 } else { (last - first + 1) as f64 };
/// let found = optimal_partition(4, Seconds(0.0), cost).unwrap();
/// assert_eq!((found.parts, found.total), (vec![0..2, 2..4], Seconds(3.0)));
/// ```
pub fn optimal_partition(
    strips: usize,
    once: Seconds,
    cost: impl Fn(usize, usize) -> f64,
) -> Option<Partition> {
    // best[j]: of the first j strips, the least sum, its number of parts and where its last part begins. What precedes a
    // start is final when its blocks are looked at, so they are asked for in the order in which `BlockCosts` holds them.
    let mut best = vec![(f64::INFINITY, 0, 0); strips + 1];
    best[0] = (0.0, 0, 0);
    for start in 0..strips {
        let (before, parts, _) = best[start];
        for (last, least) in best[start + 1..].iter_mut().enumerate() {
            let sum: f64 = before + (cost(start, start + last) - once.0);
            if sum < least.0 || sum <= least.0 && parts + 1 < least.1 {
                *least = (sum, parts + 1, start);
            }
        }
    }
    let (sum, count, _) = *best.last().filter(|last| strips > 0 && last.0.is_finite())?;
    let mut parts = Vec::with_capacity(count);
    let mut end = strips;
    while end > 0 {
        let start = best[end].2;
        parts.push(start..end);
        end = start;
    }
    parts.reverse();
    Some(Partition { parts, total: Seconds(once.0 + sum) })
}

/// Computes [`optimal_partition`] with at most `most` parts: what one launch may hold is limited. O(N^2 most).
pub fn optimal_partition_of(
    most: usize,
    strips: usize,
    once: Seconds,
    cost: impl Fn(usize, usize) -> f64,
) -> Option<Partition> {
    // layers[k][j]: of the first j strips in k parts, the least sum and where the last part begins.
    let mut layers = vec![vec![(f64::INFINITY, 0); strips + 1]];
    layers[0][0].0 = 0.0;
    for parts in 1..=most.min(strips) {
        let before = &layers[parts - 1];
        let mut layer = vec![(f64::INFINITY, 0); strips + 1];
        for start in (0..strips).filter(|&start| before[start].0.is_finite()) {
            for (last, least) in layer[start + 1..].iter_mut().enumerate() {
                let sum = before[start].0 + (cost(start, start + last) - once.0);
                if sum < least.0 {
                    *least = (sum, start);
                }
            }
        }
        layers.push(layer);
    }
    let of = |count: usize| layers[count][strips].0;
    let count = (1..layers.len()).filter(|&k| of(k).is_finite()).min_by(|&a, &b| of(a).total_cmp(&of(b)))?;
    let (mut parts, mut end) = (Vec::with_capacity(count), strips);
    for layer in layers[1..=count].iter().rev() {
        let start = layer[end].1;
        parts.push(start..end);
        end = start;
    }
    parts.reverse();
    Some(Partition { parts, total: Seconds(once.0 + of(count)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::RefCell;

    fn total(parts: &[Range<usize>], once: f64, cost: impl Fn(usize, usize) -> f64) -> f64 {
        once + parts.iter().map(|part| cost(part.start, part.end - 1) - once).sum::<f64>()
    }

    /// All 2^(N-1) partitions: bit k of a number cuts behind strip k.
    fn all_partitions(strips: usize) -> impl Iterator<Item = Vec<Range<usize>>> {
        (0..1_u32 << (strips - 1)).map(move |cuts| {
            let ends = (0..strips).filter(|&k| k + 1 == strips || cuts >> k & 1 == 1).map(|k| k + 1);
            let mut start = 0;
            ends.map(|end| std::mem::replace(&mut start, end)..end).collect()
        })
    }

    proptest! {
        #[test]
        fn a_limit_on_the_parts_gives_the_best_of_those_within_it(
            strips in 1_usize..=9,
            most in 1_usize..=5,
            once in 0_u32..6,
            table in proptest::collection::vec(0_u32..30, 81),
        ) {
            let cost = |first: usize, last: usize| f64::from(table[9 * first + last]);
            let once = f64::from(once);
            let found = optimal_partition_of(most, strips, Seconds(once), cost).unwrap();
            let within = all_partitions(strips).filter(|parts| parts.len() <= most);
            let least = within.map(|parts| total(&parts, once, cost)).min_by(f64::total_cmp).unwrap();
            prop_assert!(found.parts.len() <= most);
            prop_assert_eq!(found.total, Seconds(least));
            prop_assert_eq!(Seconds(total(&found.parts, once, cost)), Seconds(least));
        }
    }

    proptest! {
        // Whole numbers: sums are exact, so that equal totals are equal and ties happen.
        #[test]
        fn the_partition_is_optimal_with_the_fewest_parts(
            strips in 1_usize..=12,
            costs in proptest::collection::vec(1_u32..40, 78),
            once in 0_u32..2,
        ) {
            let cost = |first: usize, last: usize| f64::from(costs[last * (last + 1) / 2 + first]);
            let once = f64::from(once);
            let found = optimal_partition(strips, Seconds(once), cost).unwrap();
            let key = |parts: &[Range<usize>]| (total(parts, once, cost) as i64, parts.len());
            let best = all_partitions(strips).map(|parts| key(&parts)).min().unwrap();
            prop_assert_eq!((found.total.0 as i64, found.parts.len()), best);
            prop_assert_eq!(key(&found.parts), best, "the parts are those of the total");
            prop_assert!(found.total.0 <= cost(0, strips - 1), "never worse than a single part");
        }

        #[test]
        fn it_is_the_best_with_times_that_round(
            strips in 1_usize..=12,
            costs in proptest::collection::vec(2e-6_f64..1e-3, 78),
            fused in proptest::bool::ANY,
        ) {
            let cost = |first: usize, last: usize| costs[last * (last + 1) / 2 + first];
            let once = if fused { 2e-6 } else { 0.0 };
            let found = optimal_partition(strips, Seconds(once), cost).unwrap();
            let best = all_partitions(strips).map(|parts| total(&parts, once, cost)).fold(f64::INFINITY, f64::min);
            prop_assert!((found.total.0 / best - 1.0).abs() < 1e-12);
            prop_assert!((total(&found.parts, once, cost) / best - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn the_last_of_four_strips_looks_at_four_splits() {
        // Figure 12 of the paper: T[1,1] + E[2,4], T[1,2] + E[3,4], T[1,3] + E[4,4], and E[1,4]; ten costs in all.
        let asked = RefCell::new(Vec::new());
        let cost = |first, last| {
            asked.borrow_mut().push((first + 1, last + 1));
            1.0
        };
        optimal_partition(4, Seconds(0.0), cost);
        let asked = asked.into_inner();
        let of_four: Vec<_> = asked.iter().copied().filter(|block| block.1 == 4).collect();
        assert_eq!(of_four, [(1, 4), (2, 4), (3, 4), (4, 4)]);
        assert_eq!(asked.len(), 10);
    }

    #[test]
    fn a_fixed_cost_paid_once_allows_more_parts() {
        // Together 10; each half alone 6. Two launches: 12. With 2 of each 6 paid once: 2 + 4 + 4 = 10, a tie that one
        // part wins; with 3: 3 + 3 + 3 = 9.
        let cost = |first: usize, last: usize| if first == last { 6.0 } else { 10.0 };
        let found = |once| {
            let Partition { parts, total } = optimal_partition(2, Seconds(once), cost).unwrap();
            (parts.len(), total)
        };
        assert_eq!([0.0, 2.0, 3.0].map(found), [(1, Seconds(10.0)), (1, Seconds(10.0)), (2, Seconds(9.0))]);
    }

    #[test]
    fn an_infeasible_block_is_no_part_and_no_blocks_are_no_partition() {
        let only_single = |first, last| if first == last { 1.0 } else { f64::INFINITY };
        assert_eq!(optimal_partition(3, Seconds(0.0), only_single).unwrap().parts, [0..1, 1..2, 2..3]);
        assert_eq!(optimal_partition(3, Seconds(1.0), |_, _| f64::INFINITY), None);
        assert_eq!(optimal_partition(0, Seconds(0.0), |_, _| 1.0), None);
    }
}
