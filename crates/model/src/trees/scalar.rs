//! Trees with a number in each leaf, quick to walk for several rows at once, which go down a tree side by side. Walks that begin further
//! down than at the root are sorted by their steps.

use super::complete::{Complete, DEPTH, LEAVES, ROOT, TREES_TOGETHER, Thresholds, Word, to_words};
use super::grow::{Growth, Row, grow};
use super::packed::{Limits, pack, unpack};
use super::tree::{Node, Tree};

/// Rows that go down a tree side by side: the block sizes of a kernel, and enough to hide the wait for a node.
const ROWS_TOGETHER: usize = 5;

/// Trees in which block sizes are found to part before each of them goes down: so few that they stay in the first cache, 15 kB.
const AT_ONCE: usize = 6 * TREES_TOGETHER;
const _: () = assert!(AT_ONCE <= u8::MAX as usize);
const _: () = assert!(2 * LEAVES <= u8::MAX as usize + 1);

/// Units of a leaf in one. What is rounded off a leaf is left to the trees behind it; but the last ones find nothing any more that is
/// as large as a unit: in place of 2^-14, 2^-12 adds 0.2 and 0.7 % to held-out errors and makes what is stored a sixth smaller.
const PER_ONE: f64 = (1 << 14) as f64;

/// Numbers that are too large become the largest: with the rates at which trees learn, a leaf of 2 stands for times that are off by a
/// factor of e^25. With two bytes a leaf fewer trees leave the cache.
const LARGEST_LEAF: i32 = i16::MAX as i32;

/// The word of each input.
type Words = [u32; PLACES];
const PLACES: usize = 1 << <u16 as Word>::INPUT_BITS;

/// The least word of an input over some rows, and how far above it the largest is.
type Span = (u32, u32);

/// Trees whose leaves are summed.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ScalarForest {
    /// What all rows get: where the trees begin, of any size.
    start: i32,
    trees: Vec<ScalarTree>,
    /// Levels of splits of the deepest tree: steps of a walk. A constant in its place would have the steps unrolled, which
    /// takes a quarter longer, since a processor has too few registers for all that is kept then.
    levels: u32,
    thresholds: Thresholds,
}

type ScalarTree = Complete<u16, i16>;

/// The child of a node that the least of some inputs leads to, and behind `parted` a bit for whether the largest takes another turn
/// there. Written so that both comparisons are subtractions whose borrow is added.
fn step_between(tree: &ScalarTree, (at, parted): (usize, usize), spans: &[Span; PLACES]) -> (usize, usize) {
    let at = at % LEAVES;
    let split = tree.splits[at];
    let (least, width) = spans[split.input()];
    let (above, goes_right) = u32::from(split).overflowing_sub(least);
    (at + at + usize::from(goes_right), parted + parted + usize::from(above < width))
}

impl ScalarForest {
    /// Most inputs that rows may have.
    pub(crate) const MOST_INPUTS: usize = PLACES;

    /// Trees that give the responses of `rows`, at least one, each with one response and counting by its weight.
    /// Deterministic.
    ///
    /// # Panics
    /// If there are more inputs than [`ScalarForest::MOST_INPUTS`] or trees are to be deeper than six levels: both are
    /// constants of this crate.
    pub(crate) fn grow(rows: &[Row<'_>], growth: &Growth) -> Self {
        let limits = Self::limits(rows[0].inputs.len().min(Self::MOST_INPUTS));
        Self::of(grow(rows, growth, limits, PER_ONE))
    }

    /// Packs the trees and unpacks them, which gives each threshold its place.
    fn of(trees: Vec<Tree>) -> Self {
        let mut bytes = Vec::new();
        pack(1, trees.into_iter(), Self::limits(Self::MOST_INPUTS), &mut bytes);
        Self::unpack(Self::MOST_INPUTS, &mut &bytes[..]).expect("a whole forest")
    }

    fn add(&mut self, tree: &Tree, places: &[u16]) -> Result<(), String> {
        if let [Node::Leaf] = tree.nodes[..] {
            self.start = self.start.saturating_add(tree.leaves[0]);
            return Ok(());
        }
        let mut leaves = tree.leaves.iter();
        let mut leaf = || *leaves.next().expect("a number for each leaf");
        let tree = ScalarTree::of(tree, places, || leaf().clamp(-LARGEST_LEAF, LARGEST_LEAF) as i16)?;
        self.levels = self.levels.max(tree.levels());
        self.trees.push(tree);
        Ok(())
    }

    const fn limits(inputs: usize) -> Limits {
        let thresholds = u16::MOST_THRESHOLDS;
        Limits { depth: DEPTH as u32, inputs: inputs as u64, thresholds, largest: i32::MAX }
    }

    /// The sum of the leaves that `inputs` fall into.
    ///
    /// # Panics
    /// If there are fewer inputs than the trees look at.
    pub(crate) fn sum(&self, inputs: &[i32]) -> f64 {
        let mut words = [0; PLACES];
        to_words::<u16>(&self.thresholds, inputs, &mut words);
        self.sum_of(&words)
    }

    /// [`ScalarForest::sum`] for each of `differing`, which take the places of the first of `inputs`.
    ///
    /// # Panics
    /// If there are fewer inputs than the trees look at.
    pub(crate) fn sums<const B: usize>(&self, inputs: &[i32], differing: &[[i32; B]]) -> Vec<f64> {
        let (differ, others) =
            self.thresholds.split_at(self.thresholds.partition_point(|(input, _)| usize::from(*input) < B));
        let mut shared = [0; PLACES];
        to_words::<u16>(others, inputs, &mut shared);
        if let [one] = differing {
            to_words::<u16>(differ, one, &mut shared);
            return vec![self.sum_of(&shared)];
        }
        let mut rows = [shared; ROWS_TOGETHER];
        let mut spans = shared.map(|word| (word, 0));
        let mut sums = Vec::with_capacity(differing.len());
        for some in differing.chunks(ROWS_TOGETHER) {
            // Always as many rows, so that the loop over them is unrolled; what is too many is walked and forgotten.
            for (n, row) in rows.iter_mut().enumerate() {
                to_words::<u16>(differ, some.get(n).unwrap_or(&some[0]), row);
            }
            for (input, _) in differ {
                let words = rows.each_ref().map(|row| row[usize::from(*input)]);
                let least = words.into_iter().fold(u32::MAX, u32::min);
                spans[usize::from(*input)] = (least, words.into_iter().fold(0, u32::max) - least);
            }
            sums.extend(self.sums_of(&rows, &spans).iter().take(some.len()));
        }
        sums
    }

    /// Sum for one row.
    fn sum_of(&self, inputs: &Words) -> f64 {
        let mut sum = i64::from(self.start);
        let step = |tree: &ScalarTree, at| tree.step(at, |input| inputs[input]);
        let end = |tree: &ScalarTree, at| sum += i64::from(tree.leaf(at, self.levels));
        Complete::walk(&self.trees, self.levels, ROOT, step, end);
        sum as f64 / PER_ONE
    }

    /// Sums for rows with the span of each input. Where its ends lead to one leaf, all rows end there: of the block sizes of a kernel, in
    /// two thirds of the trees. Only the others are walked for each row, from where the ends part.
    fn sums_of(&self, rows: &[Words; ROWS_TOGETHER], spans: &[Span; PLACES]) -> [f64; ROWS_TOGETHER] {
        // What all rows get, and each.
        let (mut all, mut sums) = (i64::from(self.start), [0; ROWS_TOGETHER]);
        let mut apart = [[(0_u8, 0_u8); AT_ONCE]; DEPTH];
        for trees in self.trees.chunks(AT_ONCE) {
            // Trees with a fork, by the levels below it, so that walks of one length follow each other. Written without a branch,
            // which a processor would guess wrong.
            let (mut counts, mut number) = ([0; DEPTH], 0);
            Complete::walk(
                trees,
                self.levels,
                (ROOT, 0),
                |tree, at| step_between(tree, at, spans),
                |tree, (at, parted)| {
                    let (is_shared, below) = (parted == 0, (parted | 1).ilog2() as usize);
                    all += if is_shared { i64::from(tree.leaf(at, self.levels)) } else { 0 };
                    apart[below][counts[below]] = (number, (at >> below >> 1) as u8);
                    counts[below] += usize::from(!is_shared);
                    number += 1;
                },
            );
            for (levels, (apart, count)) in (1..).zip(apart.iter().zip(counts)) {
                for &(number, fork) in &apart[..count] {
                    let tree = &trees[usize::from(number)];
                    let mut at = [usize::from(fork); ROWS_TOGETHER];
                    for _ in 0..levels {
                        for n in 0..ROWS_TOGETHER {
                            at[n] = tree.step(at[n], |input| rows[n][input]);
                        }
                    }
                    for n in 0..ROWS_TOGETHER {
                        sums[n] += i64::from(tree.leaf(at[n], self.levels));
                    }
                }
            }
        }
        sums.map(|sum| (all + sum) as f64 / PER_ONE)
    }

    /// Trees, with the one that all begin with.
    pub(crate) fn len(&self) -> usize {
        1 + self.trees.len()
    }

    /// Adds all trees to `bytes`.
    pub(crate) fn pack(&self, bytes: &mut Vec<u8>) {
        let limits = Self::limits(Self::MOST_INPUTS);
        let start = std::iter::once(Tree::constant([self.start]));
        let grown = |tree: &ScalarTree| tree.grown(&self.thresholds, |leaf| [leaf.into()]);
        pack(1, start.chain(self.trees.iter().map(grown)), limits, bytes);
    }

    /// The forest of rows with so many inputs that `bytes` begin with, which is cut off from them.
    pub(crate) fn unpack(inputs: usize, bytes: &mut &[u8]) -> Result<Self, String> {
        let mut forest = Self::default();
        let (outputs, thresholds) =
            unpack(bytes, Self::limits(inputs), |tree, places| forest.add(tree, places))?;
        if outputs == 1 {
            Ok(Self { thresholds, ..forest })
        } else {
            Err(format!("the trees have {outputs} outputs, not one"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// A node of a tree in preorder: a leaf's value, or an input and its threshold.
    enum Grown {
        Leaf(f64),
        Split(u16, i32),
    }
    use Grown::{Leaf, Split};

    fn tree(nodes: &[Grown]) -> Tree {
        let mut tree = Tree::default();
        for node in nodes {
            match *node {
                Leaf(value) => tree.push_leaf([(value * PER_ONE) as i32]),
                Split(input, threshold) => tree.push_split(input, threshold),
            }
        }
        tree
    }

    #[test]
    fn a_walk_ends_in_the_leaf_that_the_tree_shows() {
        let first = tree(&[Split(1, 10), Leaf(-0.5), Split(0, 3), Leaf(0.25), Leaf(1.5)]);
        let forest = ScalarForest::of(vec![first, tree(&[Leaf(1.0)])]);
        for (x, sum) in [([9, 9], 0.5_f64), ([2, 10], 1.25), ([3, 10], 2.5)] {
            assert_eq!(forest.sum(&x).to_bits(), sum.to_bits(), "quarters are exact");
        }
    }

    #[test]
    fn numbers_that_are_too_large_for_a_leaf_become_the_largest() {
        let start = 20.0;
        let forest =
            ScalarForest::of(vec![tree(&[Leaf(start)]), tree(&[Split(0, 1), Leaf(-9.0), Leaf(9.0)])]);
        let largest = f64::from(LARGEST_LEAF) / PER_ONE;
        let sums = [start - largest, start + largest];
        assert_eq!([0, 1].map(|x| forest.sum(&[x]).to_bits()), sums.map(f64::to_bits));
        let together: Vec<u64> = forest.sums(&[0], &[[0], [1]]).into_iter().map(f64::to_bits).collect();
        assert_eq!(together, sums.map(f64::to_bits));
    }

    #[test]
    fn rows_together_are_the_same_as_each_alone() {
        const INPUTS: usize = 43;
        let last = INPUTS as u16 - 1;
        let trees = (0..30_i32).map(|i| match i % 3 {
            0 => tree(&[Leaf(f64::from(i))]),
            1 => tree(&[
                Split(last, i),
                Split(0, i / 2),
                Leaf(-0.5),
                Split(last, 3),
                Leaf(0.25),
                Leaf(2.0),
                Leaf(0.125),
            ]),
            _ => tree(&[Split(last, i), Leaf(1.0), Split(1, 10 * i), Leaf(3.0), Leaf(4.0)]),
        });
        let forest = ScalarForest::of(trees.collect());
        let blocks = [[3, 200], [8, 100], [13, 0], [3, 20], [200, 200], [0, 0]];
        for number in [-5, 2, 14, 40] {
            let mut inputs = [0; INPUTS];
            inputs[INPUTS - 1] = number;
            let alone = blocks.map(|block| {
                inputs[..2].copy_from_slice(&block);
                forest.sum(&inputs).to_bits()
            });
            let together: Vec<u64> = forest.sums(&inputs, &blocks).into_iter().map(f64::to_bits).collect();
            assert_eq!(together, alone, "{number}");
        }
        assert!(forest.sums::<2>(&[0; INPUTS], &[]).is_empty());
        assert!(ScalarForest::default().sums(&[0; INPUTS], &blocks).iter().all(|sum| sum.to_bits() == 0));
    }

    #[test]
    fn sums_of_more_trees_than_are_walked_at_once_are_those_of_the_trees_as_they_were_grown() {
        let mut random = Random(11);
        let of_one = |tree: Tree| Tree { leaves: tree.leaves.into_iter().step_by(2).collect(), ..tree };
        let trees: Vec<Tree> = (0..3 * AT_ONCE + 7).map(|_| Tree::random(&mut random, DEPTH)).collect();
        let forest = ScalarForest::of(trees.iter().cloned().map(of_one).collect());
        for _ in 0..40 {
            // Some below and beyond all thresholds; rows part at any level.
            let mut drawn = || [0; 2].map(|_| random.below(22) as i32 - 1);
            let (shared, blocks) = (drawn(), [0; 7].map(|_| drawn()));
            let of = |[a, b]: [i32; 2]| [a, b, shared[0], shared[1]];
            let grown = |block: [i32; 2]| trees.iter().map(|tree| tree.leaf_of(&of(block))[0]).sum::<i32>();
            let sums = blocks.map(|block| (f64::from(grown(block)) / PER_ONE).to_bits());
            assert_eq!(blocks.map(|block| forest.sum(&of(block)).to_bits()), sums);
            let together: Vec<u64> =
                forest.sums(&of([0, 0]), &blocks).into_iter().map(f64::to_bits).collect();
            assert_eq!(together, sums);
        }
    }

    #[test]
    fn a_forest_is_unpacked_as_it_was_packed() {
        let first = tree(&[Split(7, -12), Split(0, 5), Leaf(1e-5), Leaf(0.1), Leaf(-3.0)]);
        let forest = ScalarForest::of(vec![first, tree(&[Leaf(0.0)])]);
        let mut bytes = Vec::new();
        forest.pack(&mut bytes);
        let unpacked = |inputs| ScalarForest::unpack(inputs, &mut &bytes[..]);
        assert_eq!(unpacked(8), Ok(forest));
        assert!(unpacked(7).unwrap_err().contains("input 7 of 7"));
        // Damaged, it is refused or answers.
        for at in 0..bytes.len() {
            for value in [0, 1, 2, 127, 128, 255] {
                let mut changed = bytes.clone();
                changed[at] = value;
                if let Ok(forest) = ScalarForest::unpack(8, &mut &changed[..]) {
                    forest.sums(&[7; 8], &[[0, i32::MIN], [9, i32::MAX]]);
                    forest.pack(&mut Vec::new());
                }
            }
        }
        // Two outputs, one tree, a leaf.
        assert!(ScalarForest::unpack(8, &mut &[2, 1, 0, 0, 0, 0][..]).unwrap_err().contains("2 outputs"));
    }
}
