//! Trees with a number in each leaf, quick to walk.
//!
//! In memory every tree is complete, [`DEPTH`] levels of splits over a row of leaves: node n has the children 2 n and
//! 2 n + 1, and a node is one word. Walks from the root all take as many steps, those from further down are
//! sorted by theirs: without a branch that a processor could guess wrong or an index that it must check. Several rows go down a tree
//! side by side.

use super::grow::{Growth, Row, grow};
use super::packed::{Limits, pack, unpack};
use super::tree::{Node, Tree};

/// Levels of splits that a tree may have.
const DEPTH: usize = 6;
const LEAVES: usize = 1 << DEPTH;

/// The root is node 1, node 0 is not used.
const ROOT: usize = 1;

/// Rows that go down a tree side by side: the block sizes of a kernel, and enough to hide the wait for a node.
const ROWS_TOGETHER: usize = 5;

/// Trees that one row goes down side by side, for the same reason.
const TREES_TOGETHER: usize = 6;

/// Trees in which block sizes are found to part before each of them goes down: so few that they stay in the first cache, 23 kB.
const AT_ONCE: usize = 10 * TREES_TOGETHER;
const _: () = assert!(AT_ONCE <= u8::MAX as usize);
const _: () = assert!(2 * LEAVES <= u8::MAX as usize + 1);

/// Bits of a node that hold the threshold; the input has the others. Inputs are brought within what these can tell apart, which is
/// more than the logarithm of any finite number takes.
const THRESHOLD_BITS: u32 = 24;
const LARGEST: i32 = (1 << (THRESHOLD_BITS - 1)) - 1;

/// Units of a leaf in one. What is rounded off a leaf is left to the trees behind it; but the last ones find nothing any more that is
/// as large as a unit: in place of 2^-14, 2^-12 adds 0.2 and 0.7 % to held-out errors and makes what is stored a sixth smaller.
const PER_ONE: f64 = (1 << 14) as f64;

/// Numbers that are too large become the largest: with the rates at which trees learn, a leaf of 2 stands for times that are off by a
/// factor of e^25. With two bytes a leaf fewer trees leave the cache.
const LARGEST_LEAF: i32 = i16::MAX as i32;

/// Stands for an input at nodes without a split.
const NO_SPLIT: u8 = u8::MAX;

/// Inputs where a walk finds them, each as the largest word of a split that it does not go left at.
type Padded = [u32; PLACES];
const PLACES: usize = NO_SPLIT as usize + 1;

/// The least word of an input over some rows, and how far above it the largest is.
type Span = (u32, u32);

/// Trees whose leaves are summed.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ScalarForest {
    /// What all rows get: where the trees begin, of any size.
    start: i32,
    trees: Vec<Complete>,
    /// Levels of splits of the deepest tree: steps of a walk. A constant in its place would have the steps unrolled, which
    /// takes a quarter longer, since a processor has too few registers for all that is kept then.
    levels: u32,
}

/// A split in one word: its threshold above, the input below. So one comparison of words is one of thresholds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Split(u32);

impl Split {
    /// Marks a place where the grown tree has a leaf.
    const NONE: Self = Self(NO_SPLIT as u32);

    /// Thresholds beyond what inputs can reach become the largest.
    fn new(input: u8, threshold: i32) -> Self {
        let above = (threshold.clamp(-LARGEST, LARGEST) + LARGEST) as u32;
        Self(above << (u32::BITS - THRESHOLD_BITS) | u32::from(input))
    }

    fn input(self) -> u8 {
        self.0 as u8
    }

    fn threshold(self) -> i32 {
        (self.0 >> (u32::BITS - THRESHOLD_BITS)) as i32 - LARGEST
    }
}

/// A complete tree. Below a node without a split no other has one, and all leaves there are the same.
#[derive(Debug, Clone, PartialEq)]
#[repr(align(64))]
struct Complete {
    splits: [Split; LEAVES],
    leaves: [i16; LEAVES],
}

impl Complete {
    /// Converts a tree within [`ScalarForest::limits`].
    fn of(tree: &Tree) -> Self {
        let mut all = Self { splits: [Split::NONE; LEAVES], leaves: [0; LEAVES] };
        let mut leaves = tree.leaves.iter();
        // Where the subtrees go that come next.
        let mut open = vec![ROOT];
        for node in &tree.nodes {
            let at = open.pop().expect("a whole tree");
            match *node {
                Node::Split { input, threshold } => {
                    all.splits[at] = Split::new(input as u8, threshold);
                    open.extend([2 * at + 1, 2 * at]);
                }
                Node::Leaf => {
                    let value = *leaves.next().expect("a number for each leaf");
                    let value = value.clamp(-LARGEST_LEAF, LARGEST_LEAF) as i16;
                    let (first, below) = all.leaves_below(at);
                    all.leaves[first..][..below].fill(value);
                }
            }
        }
        all
    }

    /// The tree as it was grown.
    fn grown(&self) -> Tree {
        let mut tree = Tree::default();
        let mut open = vec![ROOT];
        while let Some(at) = open.pop() {
            if at >= LEAVES || self.splits[at] == Split::NONE {
                tree.push_leaf([self.leaves[self.leaves_below(at).0].into()]);
            } else {
                let split = self.splits[at];
                tree.push_split(split.input().into(), split.threshold());
                open.extend([2 * at + 1, 2 * at]);
            }
        }
        tree
    }

    /// Levels down to the last split.
    fn levels(&self) -> u32 {
        let last = self.splits.iter().rposition(|split| *split != Split::NONE);
        last.map_or(0, |node| node.ilog2() + 1)
    }

    /// The first leaf below a node, and how many there are.
    fn leaves_below(&self, at: usize) -> (usize, usize) {
        let below = DEPTH - at.ilog2() as usize;
        ((at << below) - self.leaves.len(), 1 << below)
    }

    /// The child of `at` that `inputs` lead to.
    fn step(&self, at: usize, inputs: &Padded) -> usize {
        let at = at % LEAVES;
        let split = self.splits[at];
        let goes_right = split.0 < inputs[usize::from(split.input())];
        at + at + usize::from(goes_right)
    }

    /// The child of a node that the least of some inputs leads to, and behind `parted` a bit for whether the largest takes another turn
    /// there. Written so that both comparisons are subtractions whose borrow is added.
    fn step_between(&self, (at, parted): (usize, usize), spans: &[Span; PLACES]) -> (usize, usize) {
        let at = at % LEAVES;
        let split = self.splits[at];
        let (least, width) = spans[usize::from(split.input())];
        let (above, goes_right) = split.0.overflowing_sub(least);
        (at + at + usize::from(goes_right), parted + parted + usize::from(above < width))
    }

    /// The value of the leaves below the node that a walk of so many levels ended at.
    fn leaf(&self, at: usize, levels: u32) -> i64 {
        i64::from(self.leaves[(at << (DEPTH as u32 - levels)) % LEAVES])
    }
}

impl ScalarForest {
    /// Most inputs that rows may have.
    pub(crate) const MOST_INPUTS: usize = NO_SPLIT as usize;

    /// Trees that give the responses of `rows`, at least one, each with one response and counting by its weight.
    /// Deterministic.
    ///
    /// # Panics
    /// If there are more inputs than [`ScalarForest::MOST_INPUTS`] or trees are to be deeper than six levels: both are
    /// constants of this crate.
    pub(crate) fn grow(rows: &[Row<'_>], growth: &Growth) -> Self {
        let limits = Self::limits(rows[0].inputs.len().min(Self::MOST_INPUTS));
        Self::of(&grow(rows, growth, limits, PER_ONE))
    }

    fn of(trees: &[Tree]) -> Self {
        let mut forest = Self::default();
        for tree in trees {
            forest.add(tree);
        }
        forest
    }

    fn add(&mut self, tree: &Tree) {
        if let [Node::Leaf] = tree.nodes[..] {
            self.start = self.start.saturating_add(tree.leaves[0]);
        } else {
            let tree = Complete::of(tree);
            self.levels = self.levels.max(tree.levels());
            self.trees.push(tree);
        }
    }

    const fn limits(inputs: usize) -> Limits {
        Limits { depth: DEPTH as u32, inputs: inputs as u64, largest: i32::MAX }
    }

    /// The sum of the leaves that `inputs` fall into.
    ///
    /// # Panics
    /// If there are more than [`ScalarForest::MOST_INPUTS`].
    pub(crate) fn sum(&self, inputs: &[i32]) -> f64 {
        self.sum_of(&padded(inputs))
    }

    /// [`ScalarForest::sum`] for each of `differing`, which take the places of the first of `inputs`.
    ///
    /// # Panics
    /// If there are more inputs than [`ScalarForest::MOST_INPUTS`].
    pub(crate) fn sums<const B: usize>(&self, inputs: &[i32], differing: &[[i32; B]]) -> Vec<f64> {
        let mut shared = padded(inputs);
        if let [one] = differing {
            shared[..B].copy_from_slice(&one.map(word));
            return vec![self.sum_of(&shared)];
        }
        let mut rows = [shared; ROWS_TOGETHER];
        let mut spans = shared.map(|word| (word, 0));
        let mut sums = Vec::with_capacity(differing.len());
        for some in differing.chunks(ROWS_TOGETHER) {
            // Always as many rows, so that the loop over them is unrolled; what is too many is walked and forgotten.
            for (n, row) in rows.iter_mut().enumerate() {
                row[..B].copy_from_slice(&some.get(n).unwrap_or(&some[0]).map(word));
            }
            for (place, span) in spans[..B].iter_mut().enumerate() {
                let words = rows.each_ref().map(|row| row[place]);
                let least = words.into_iter().fold(u32::MAX, u32::min);
                *span = (least, words.into_iter().fold(0, u32::max) - least);
            }
            sums.extend(self.sums_of(&rows, &spans).iter().take(some.len()));
        }
        sums
    }

    /// Sum for one row.
    fn sum_of(&self, inputs: &Padded) -> f64 {
        let mut sum = i64::from(self.start);
        let step = |tree: &Complete, at| tree.step(at, inputs);
        self.walk(&self.trees, ROOT, step, |tree, at| sum += tree.leaf(at, self.levels));
        sum as f64 / PER_ONE
    }

    /// Sums for rows with the span of each input. Where its ends lead to one leaf, all rows end there: of the block sizes of a kernel, in
    /// two thirds of the trees. Only the others are walked for each row, from where the ends part.
    fn sums_of(&self, rows: &[Padded; ROWS_TOGETHER], spans: &[Span; PLACES]) -> [f64; ROWS_TOGETHER] {
        // What all rows get, and each.
        let (mut all, mut sums) = (i64::from(self.start), [0; ROWS_TOGETHER]);
        let mut apart = [[(0_u8, 0_u8); AT_ONCE]; DEPTH];
        for trees in self.trees.chunks(AT_ONCE) {
            // Trees with a fork, by the levels below it, so that walks of one length follow each other. Written without a branch,
            // which a processor would guess wrong.
            let (mut counts, mut number) = ([0; DEPTH], 0);
            self.walk(
                trees,
                (ROOT, 0),
                |tree, at| tree.step_between(at, spans),
                |tree, (at, parted)| {
                    let (is_shared, below) = (parted == 0, (parted | 1).ilog2() as usize);
                    all += if is_shared { tree.leaf(at, self.levels) } else { 0 };
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
                            at[n] = tree.step(at[n], &rows[n]);
                        }
                    }
                    for n in 0..ROWS_TOGETHER {
                        sums[n] += tree.leaf(at[n], self.levels);
                    }
                }
            }
        }
        sums.map(|sum| (all + sum) as f64 / PER_ONE)
    }

    /// Goes down `trees` from `start`, several side by side, and hands on where each walk ends.
    fn walk<At: Copy>(
        &self,
        trees: &[Complete],
        start: At,
        step: impl Fn(&Complete, At) -> At,
        mut end: impl FnMut(&Complete, At),
    ) {
        let (together, others) = trees.as_chunks::<TREES_TOGETHER>();
        for trees in together {
            let mut at = [start; TREES_TOGETHER];
            for _ in 0..self.levels {
                for n in 0..TREES_TOGETHER {
                    at[n] = step(&trees[n], at[n]);
                }
            }
            for n in 0..TREES_TOGETHER {
                end(&trees[n], at[n]);
            }
        }
        for tree in others {
            end(tree, (0..self.levels).fold(start, |at, _| step(tree, at)));
        }
    }

    /// Trees, with the one that all begin with.
    pub(crate) fn len(&self) -> usize {
        1 + self.trees.len()
    }

    /// Adds all trees to `bytes`.
    pub(crate) fn pack(&self, bytes: &mut Vec<u8>) {
        let limits = Self::limits(Self::MOST_INPUTS);
        let start = std::iter::once(Tree::constant([self.start]));
        pack(1, start.chain(self.trees.iter().map(Complete::grown)), limits, bytes);
    }

    /// The forest of rows with so many inputs that `bytes` begin with, which is cut off from them.
    pub(crate) fn unpack(inputs: usize, bytes: &mut &[u8]) -> Result<Self, String> {
        let mut forest = Self::default();
        let outputs = unpack(bytes, Self::limits(inputs), |outputs, tree| {
            if outputs == 1 {
                forest.add(tree);
            }
        })?;
        if outputs == 1 { Ok(forest) } else { Err(format!("the trees have {outputs} outputs, not one")) }
    }
}

fn padded(inputs: &[i32]) -> Padded {
    let mut padded = [0; PLACES];
    for (padded, input) in padded[..inputs.len()].iter_mut().zip(inputs) {
        *padded = word(*input);
    }
    padded
}

/// The word of [`Padded`] for an input.
fn word(input: i32) -> u32 {
    Split::new(u8::MAX, input).0
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
        let forest = ScalarForest::of(&[first, tree(&[Leaf(1.0)])]);
        for (x, sum) in [([9, 9], 0.5_f64), ([2, 10], 1.25), ([3, 10], 2.5)] {
            assert_eq!(forest.sum(&x).to_bits(), sum.to_bits(), "quarters are exact");
        }
    }

    #[test]
    fn numbers_that_are_too_large_for_a_leaf_become_the_largest() {
        let start = 20.0;
        let forest = ScalarForest::of(&[tree(&[Leaf(start)]), tree(&[Split(0, 1), Leaf(-9.0), Leaf(9.0)])]);
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
        let forest = ScalarForest::of(&trees.collect::<Vec<_>>());
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

    /// A node below which there are at most so many levels of splits.
    fn grow_at_random(random: &mut Random, levels: usize, nodes: &mut Vec<Grown>) {
        if levels == 0 || random.below(8) == 0 {
            nodes.push(Leaf(random.below(4096) as f64 / 4096.0));
            return;
        }
        nodes.push(Split(random.below(4) as u16, random.below(20) as i32));
        grow_at_random(random, levels - 1, nodes);
        grow_at_random(random, levels - 1, nodes);
    }

    #[test]
    fn rows_that_part_at_any_level_of_more_trees_than_are_walked_at_once_are_the_same_as_each_alone() {
        let mut random = Random(11);
        let trees = (0..3 * AT_ONCE + 7).map(|_| {
            let mut nodes = Vec::new();
            grow_at_random(&mut random, DEPTH, &mut nodes);
            tree(&nodes)
        });
        let forest = ScalarForest::of(&trees.collect::<Vec<_>>());
        for _ in 0..40 {
            let mut drawn = || [0; 2].map(|_| random.below(20) as i32);
            let (shared, blocks) = (drawn(), [0; 7].map(|_| drawn()));
            let of = |[a, b]: [i32; 2]| [a, b, shared[0], shared[1]];
            let alone = blocks.map(|block| forest.sum(&of(block)).to_bits());
            let together: Vec<u64> =
                forest.sums(&of([0, 0]), &blocks).into_iter().map(f64::to_bits).collect();
            assert_eq!(together, alone);
        }
    }

    #[test]
    fn a_forest_is_unpacked_as_it_was_packed() {
        let first = tree(&[Split(7, -12), Split(0, 5), Leaf(1e-5), Leaf(0.1), Leaf(-3.0)]);
        let forest = ScalarForest::of(&[first, tree(&[Leaf(0.0)])]);
        let mut bytes = Vec::new();
        forest.pack(&mut bytes);
        let unpacked = |inputs| ScalarForest::unpack(inputs, &mut &bytes[..]);
        assert_eq!(unpacked(8), Ok(forest));
        assert!(unpacked(7).unwrap_err().contains("input 7 of 7"));
        // Two outputs, one tree, a leaf.
        assert!(ScalarForest::unpack(8, &mut &[2, 1, 0, 0, 0, 0][..]).unwrap_err().contains("2 outputs"));
    }
}
