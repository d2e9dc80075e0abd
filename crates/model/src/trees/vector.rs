//! Trees whose leaves are vectors, a number for each output.

use super::grow::{Growth, Row, grow};
use super::packed::{Limits, pack, unpack};
use super::tree::{Node, Tree};
use std::ops::Range;

/// Units of a leaf in one. The rounding errors of 300 leaves add up to a standard deviation of 2.4 in a thousand, where measured times
/// repeat to half a percent; units of 1/1536 make what is stored a ninth smaller.
const PER_ONE: f64 = 2048.0;

/// Deeper than any that is grown.
const LIMITS: Limits = Limits { depth: 32, inputs: 1 << 16, largest: i16::MAX as i32 };

/// Trees whose leaves are summed.
///
/// Invariants: every child lies within its tree, every leaf has as many numbers as there are outputs.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct VectorForest {
    outputs: usize,
    /// Nodes of one tree after another.
    nodes: Vec<Linked>,
    roots: Vec<u32>,
    /// Leaves one after another, each with a number for every output.
    leaves: Vec<i16>,
}

/// A node that knows where a walk goes on.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Linked {
    /// The left child is the next node.
    Split { input: u16, threshold: i32, right: u32 },
    /// Number of the leaf.
    Leaf(u32),
}

impl VectorForest {
    /// Trees that give the responses of `rows`, at least one, each counting by its weight. Deterministic.
    ///
    /// # Panics
    /// If trees are to be deeper than 32 levels, or there are more inputs than 16 bits can name.
    pub(crate) fn grow(rows: &[Row<'_>], growth: &Growth) -> Self {
        let mut forest = Self { outputs: rows[0].responses.len(), ..Self::default() };
        for tree in grow(rows, growth, LIMITS, PER_ONE) {
            forest.add(&tree);
        }
        forest
    }

    /// Appends a tree. Numbers that are too large become the largest: no ratio is beyond e^8 on average.
    fn add(&mut self, tree: &Tree) {
        self.roots.push(self.nodes.len() as u32);
        let mut leaf = (self.leaves.len() / self.outputs) as u32;
        // Splits whose right subtree has not begun; none where it is a left one that comes next.
        let mut open = vec![None];
        for node in &tree.nodes {
            let next = self.nodes.len();
            if let Some(Some(split)) = open.pop()
                && let Linked::Split { right, .. } = &mut self.nodes[split]
            {
                *right = next as u32;
            }
            match *node {
                Node::Split { input, threshold } => {
                    self.nodes.push(Linked::Split { input, threshold, right: 0 });
                    open.extend([Some(next), None]);
                }
                Node::Leaf => {
                    self.nodes.push(Linked::Leaf(leaf));
                    leaf += 1;
                }
            }
        }
        let number = |leaf: &i32| (*leaf).clamp(-LIMITS.largest, LIMITS.largest) as i16;
        self.leaves.extend(tree.leaves.iter().map(number));
    }

    /// Numbers that are predicted at once; 0 without trees.
    pub(crate) fn outputs(&self) -> usize {
        self.outputs
    }

    /// Number of inputs: one more than the largest that is looked at.
    pub(crate) fn inputs(&self) -> usize {
        let input = |node: &Linked| match node {
            Linked::Split { input, .. } => usize::from(*input) + 1,
            Linked::Leaf(_) => 0,
        };
        self.nodes.iter().map(input).max().unwrap_or(0)
    }

    /// The sums of the leaves that `inputs` fall into.
    ///
    /// # Panics
    /// If there are fewer than [`VectorForest::inputs`].
    pub(crate) fn sums(&self, inputs: &[i32]) -> Vec<f64> {
        // First where all leaves are, so that no walk waits for the numbers of the one before.
        let leaves: Vec<usize> = self.roots.iter().map(|&root| self.leaf(root as usize, inputs)).collect();
        let mut sums = vec![0_i64; self.outputs];
        // As many leaves as cannot exceed 32 bits, which are added twice as fast as 64.
        for leaves in leaves.chunks(1 << 16) {
            let mut part = vec![0_i32; self.outputs];
            for leaf in leaves {
                let leaf = &self.leaves[leaf * self.outputs..][..self.outputs];
                for (sum, &value) in part.iter_mut().zip(leaf) {
                    *sum += i32::from(value);
                }
            }
            sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += i64::from(part));
        }
        sums.into_iter().map(|sum| sum as f64 / PER_ONE).collect()
    }

    fn leaf(&self, root: usize, inputs: &[i32]) -> usize {
        let mut at = root;
        loop {
            at = match self.nodes[at] {
                Linked::Leaf(leaf) => return leaf as usize,
                Linked::Split { input, threshold, .. } if inputs[usize::from(input)] < threshold => at + 1,
                Linked::Split { right, .. } => right as usize,
            }
        }
    }

    /// Adds all trees to `bytes`.
    pub(crate) fn pack(&self, bytes: &mut Vec<u8>) {
        let ends = self.roots[1..].iter().copied().chain([self.nodes.len() as u32]);
        let ranges: Vec<(u32, u32)> = self.roots.iter().copied().zip(ends).collect();
        pack(
            self.outputs,
            ranges.into_iter().map(|(from, to)| self.grown(from as usize..to as usize)),
            LIMITS,
            bytes,
        );
    }

    /// The tree of some nodes as it was grown.
    fn grown(&self, nodes: Range<usize>) -> Tree {
        let mut tree = Tree::default();
        for node in &self.nodes[nodes] {
            match *node {
                Linked::Split { input, threshold, .. } => tree.push_split(input, threshold),
                Linked::Leaf(leaf) => {
                    let leaf = &self.leaves[leaf as usize * self.outputs..][..self.outputs];
                    tree.push_leaf(leaf.iter().copied().map(i32::from));
                }
            }
        }
        tree
    }

    /// The trees that `bytes` begin with, which are cut off from them.
    pub(crate) fn unpack(bytes: &mut &[u8]) -> Result<Self, String> {
        let mut forest = Self::default();
        unpack(bytes, LIMITS, |outputs, tree| {
            forest.outputs = outputs;
            forest.add(tree);
        })?;
        Ok(forest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forest() -> VectorForest {
        let mut tree = Tree::default();
        tree.push_split(1, 10);
        tree.push_leaf([-2048, 2048]);
        tree.push_split(300, 3);
        tree.push_leaf([1024, 0]);
        tree.push_leaf([8192, -4096]);
        let mut forest = VectorForest { outputs: 2, ..VectorForest::default() };
        forest.add(&Tree::constant([4096, 512]));
        forest.add(&tree);
        forest
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
    fn a_forest_is_unpacked_as_it_was_packed() {
        let mut bytes = Vec::new();
        forest().pack(&mut bytes);
        let mut rest = &bytes[..];
        assert_eq!(VectorForest::unpack(&mut rest), Ok(forest()));
        assert!(rest.is_empty());
    }

    #[test]
    fn numbers_that_are_too_large_for_a_leaf_become_the_largest() {
        let mut forest = VectorForest { outputs: 2, ..VectorForest::default() };
        forest.add(&Tree::constant([1 << 20, -(1 << 20)]));
        assert_eq!(forest.sums(&[]), [32767.0 / PER_ONE, -32767.0 / PER_ONE]);
    }
}
