//! Trees whose leaves are vectors, a number for each output.

use super::complete::{Complete, DEPTH, ROOT, Thresholds, Word, to_words};
use super::grow::{Growth, Row, grow};
use super::packed::{Limits, pack, unpack};
use super::tree::Tree;

/// Units of a leaf in one. The rounding errors of 300 leaves add up to a standard deviation of 2.4 in a thousand, where measured times
/// repeat to half a percent; units of 1/1536 make what is stored a ninth smaller.
const PER_ONE: f64 = 2048.0;

/// Limits of the stored form. Its depth decides which leaves take no byte there; trees of over six levels are refused.
const LIMITS: Limits = Limits {
    depth: 32,
    inputs: 1 << u32::INPUT_BITS,
    thresholds: u32::MOST_THRESHOLDS,
    largest: i16::MAX as i32,
};

/// Trees whose leaves are summed.
///
/// Invariant: every leaf has as many numbers as there are outputs.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct VectorForest {
    outputs: usize,
    /// A leaf is its number among `leaves`.
    trees: Vec<VectorTree>,
    /// Levels of splits of the deepest tree.
    levels: u32,
    thresholds: Thresholds,
    /// Leaves one after another, each with a number for every output.
    leaves: Vec<i16>,
}

type VectorTree = Complete<u32, u32>;

impl VectorForest {
    /// Trees that give the responses of `rows`, at least one, each counting by its weight. Deterministic.
    ///
    /// # Panics
    /// If trees are to be deeper than six levels, or there are more inputs than 16 bits can name.
    pub(crate) fn grow(rows: &[Row<'_>], growth: &Growth) -> Self {
        let limits = Limits { depth: DEPTH as u32, ..LIMITS };
        Self::of(rows[0].responses.len(), grow(rows, growth, limits, PER_ONE))
    }

    /// Packs the trees and unpacks them, which gives each threshold its place. Numbers that are too large become the largest: no ratio is
    /// beyond e^8 on average.
    fn of(outputs: usize, trees: Vec<Tree>) -> Self {
        let mut bytes = Vec::new();
        pack(outputs, trees.into_iter(), LIMITS, &mut bytes);
        Self::unpack(&mut &bytes[..]).expect("a whole forest")
    }

    /// Numbers that are predicted at once; 0 without trees.
    pub(crate) fn outputs(&self) -> usize {
        self.outputs
    }

    /// Number of inputs: one more than the largest that is listed.
    pub(crate) fn inputs(&self) -> usize {
        self.thresholds.last().map_or(0, |(input, _)| usize::from(*input) + 1)
    }

    /// The sums of the leaves that `inputs` fall into.
    ///
    /// # Panics
    /// If there are fewer than [`VectorForest::inputs`].
    pub(crate) fn sums(&self, inputs: &[i32]) -> Vec<f64> {
        // First where all leaves are, so that no walk waits for the numbers of the one before.
        // Nodes without a split look at input 0.
        let mut words = vec![0; self.inputs().max(1)];
        to_words::<u32>(&self.thresholds, inputs, &mut words);
        let mut leaves = Vec::with_capacity(self.trees.len());
        let step = |tree: &VectorTree, at| tree.step(at, |input| words[input]);
        let end = |tree: &VectorTree, at| leaves.push(tree.leaf(at, self.levels) as usize);
        Complete::walk(&self.trees, self.levels, ROOT, step, end);
        let mut sums = vec![0_i64; self.outputs];
        // As many leaves as cannot exceed 32 bits, which are added twice as fast as 64.
        for leaves in leaves.chunks(1 << 16) {
            let mut part = vec![0_i32; self.outputs];
            let numbers = |leaf: &usize| &self.leaves[leaf * self.outputs..][..self.outputs];
            // Four at a time, which wait for their memory together.
            let (together, others) = leaves.as_chunks();
            for [a, b, c, d] in together {
                let [a, b, c, d] = [a, b, c, d].map(numbers);
                for ((((sum, a), b), c), d) in part.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                    *sum += i32::from(*a) + i32::from(*b) + i32::from(*c) + i32::from(*d);
                }
            }
            for leaf in others {
                part.iter_mut().zip(numbers(leaf)).for_each(|(sum, value)| *sum += i32::from(*value));
            }
            sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += i64::from(part));
        }
        sums.into_iter().map(|sum| sum as f64 / PER_ONE).collect()
    }

    /// Adds all trees to `bytes`.
    pub(crate) fn pack(&self, bytes: &mut Vec<u8>) {
        let leaf = |leaf: u32| {
            self.leaves[leaf as usize * self.outputs..][..self.outputs].iter().copied().map(i32::from)
        };
        pack(self.outputs, self.trees.iter().map(|tree| tree.grown(&self.thresholds, leaf)), LIMITS, bytes);
    }

    /// The trees that `bytes` begin with, which are cut off from them.
    pub(crate) fn unpack(bytes: &mut &[u8]) -> Result<Self, String> {
        let (mut trees, mut leaves, mut levels, mut count) = (Vec::new(), Vec::new(), 0, 0..);
        let (outputs, thresholds) = unpack(bytes, LIMITS, |tree, places| {
            let converted = VectorTree::of(tree, places, || count.next().expect("another number"))?;
            levels = converted.levels().max(levels);
            trees.push(converted);
            leaves.extend(tree.leaves.iter().map(|leaf| *leaf as i16));
            Ok(())
        })?;
        Ok(Self { outputs, trees, levels, thresholds, leaves })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn forest() -> VectorForest {
        let mut tree = Tree::default();
        tree.push_split(1, 10);
        tree.push_leaf([-2048, 2048]);
        tree.push_split(300, 3);
        tree.push_leaf([1024, 0]);
        tree.push_leaf([8192, -4096]);
        VectorForest::of(2, vec![Tree::constant([4096, 512]), tree])
    }

    #[test]
    fn a_walk_ends_in_the_leaf_that_the_tree_shows() {
        let forest = forest();
        assert_eq!((forest.inputs(), forest.outputs()), (301, 2));
        for (first, last, sums) in [(9, 9, [1.0, 1.25]), (10, 2, [2.5, 0.25]), (10, 3, [6.0, -1.75])] {
            let mut inputs = vec![0; 301];
            (inputs[1], inputs[300]) = (first, last);
            assert_eq!(forest.sums(&inputs), sums, "quarters are exact");
        }
    }

    #[test]
    fn sums_are_those_of_the_trees_as_they_were_grown() {
        let mut random = Random(5);
        let trees: Vec<Tree> = (0..47).map(|_| Tree::random(&mut random, DEPTH)).collect();
        let forest = VectorForest::of(2, trees.clone());
        for _ in 0..100 {
            let inputs = [0; 4].map(|_| random.below(22) as i32 - 1);
            let leaves = trees.iter().map(|tree| tree.leaf_of(&inputs));
            let sums = leaves.fold([0; 2], |sums, leaf| [sums[0] + leaf[0], sums[1] + leaf[1]]);
            assert_eq!(forest.sums(&inputs), sums.map(|sum| f64::from(sum) / PER_ONE));
        }
    }

    #[test]
    fn a_forest_is_unpacked_as_it_was_packed() {
        let mut bytes = Vec::new();
        forest().pack(&mut bytes);
        let mut rest = &bytes[..];
        assert_eq!(VectorForest::unpack(&mut rest), Ok(forest()));
        assert!(rest.is_empty());
    }

    #[test]
    fn numbers_that_are_too_large_for_a_leaf_become_the_largest() {
        let forest = VectorForest::of(2, vec![Tree::constant([1 << 20, -(1 << 20)])]);
        assert_eq!(forest.sums(&[]), [32767.0 / PER_ONE, -32767.0 / PER_ONE]);
    }
}
