//! Trees with a number in each leaf, quick to walk.
//!
//! In memory every tree is complete, [`DEPTH`] levels of splits over a row of leaves: node n has the children 2 n and
//! 2 n + 1. Every walk takes as many steps, without a branch that a processor could guess wrong or an index that it must
//! check, and several are taken side by side.
//!
//! Rows often differ in their first inputs alone, as the block sizes of a kernel do. All take the way of the first row
//! down to the first split by one of these, and a tree without such a split is walked once.

use super::grow::{Growth, Row, grow};
use super::packed::{Limits, pack, unpack};
use super::tree::{Node, Tree};

/// Levels of splits that a tree may have.
const DEPTH: usize = 6;
const LEAVES: usize = 1 << DEPTH;

/// The root is node 1, node 0 is not used.
const ROOT: usize = 1;

/// Trees walked side by side, enough to hide the wait for a node: measured, 8 take a third less time than one after
/// another.
const TOGETHER: usize = 8;

/// Rows walked side by side beside the first: a kernel has up to five block sizes.
const BESIDE: usize = 4;

/// Units of a leaf in one. Hundreds of leaves are summed, each rounded by at most half a unit: together less than one
/// in a thousand, where measured times repeat to half a percent.
const PER_ONE: f64 = (1 << 18) as f64;

/// Inputs where a walk finds them.
type Padded = [i32; 64];

/// Stands for an input at nodes without a split.
const NO_SPLIT: u8 = 63;

/// Trees whose leaves are summed.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ScalarForest {
    trees: Vec<Complete>,
}

/// A complete tree. Below a node without a split no other has one, and all leaves there are the same.
#[derive(Debug, Clone, PartialEq)]
struct Complete {
    thresholds: [i32; LEAVES],
    /// [`NO_SPLIT`] where a leaf of the tree as it was grown stands.
    inputs: [u8; LEAVES],
    leaves: [i32; LEAVES],
}

impl Complete {
    /// Of a tree within [`ScalarForest::limits`].
    fn of(tree: &Tree) -> Self {
        let mut all = Self { thresholds: [0; LEAVES], inputs: [NO_SPLIT; LEAVES], leaves: [0; LEAVES] };
        let mut leaves = tree.leaves.iter();
        // Where the subtrees go that come next.
        let mut open = vec![ROOT];
        for node in &tree.nodes {
            let at = open.pop().expect("a whole tree");
            match *node {
                Node::Split { input, threshold } => {
                    (all.inputs[at], all.thresholds[at]) = (input as u8, threshold);
                    open.extend([2 * at + 1, 2 * at]);
                }
                Node::Leaf => {
                    let value = *leaves.next().expect("a number for each leaf");
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
            if at >= LEAVES || self.inputs[at] == NO_SPLIT {
                tree.push_leaf([self.leaves[self.leaves_below(at).0]]);
            } else {
                tree.push_split(u16::from(self.inputs[at]), self.thresholds[at]);
                open.extend([2 * at + 1, 2 * at]);
            }
        }
        tree
    }

    /// The first leaf below a node, and how many there are.
    fn leaves_below(&self, at: usize) -> (usize, usize) {
        let below = DEPTH - at.ilog2() as usize;
        ((at << below) - self.leaves.len(), 1 << below)
    }

    /// The child of `at` that `inputs` lead to.
    fn step(&self, at: usize, inputs: &Padded) -> usize {
        let node = at % LEAVES;
        let input = usize::from(self.inputs[node]) % inputs.len();
        2 * at + usize::from(inputs[input] >= self.thresholds[node])
    }

    /// The value of the leaf that a walk ended at.
    fn leaf(&self, at: usize) -> i64 {
        i64::from(self.leaves[at % LEAVES])
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
        Self { trees: grow(rows, growth, limits, PER_ONE).iter().map(Complete::of).collect() }
    }

    const fn limits(inputs: usize) -> Limits {
        Limits { depth: DEPTH as u32, inputs: inputs as u64, largest: i32::MAX }
    }

    /// The sum of the leaves that `inputs` fall into.
    ///
    /// # Panics
    /// If there are more than [`ScalarForest::MOST_INPUTS`].
    pub(crate) fn sum(&self, inputs: &[i32]) -> f64 {
        let padded = padded(inputs);
        let walked = |tree: &Complete| {
            let at = (0..DEPTH).fold(ROOT, |at, _| tree.step(at, &padded));
            tree.leaf(at)
        };
        self.trees.iter().map(walked).sum::<i64>() as f64 / PER_ONE
    }

    /// [`ScalarForest::sum`] for each of `differing`, which take the places of the first of `inputs`.
    ///
    /// # Panics
    /// If there are more inputs than [`ScalarForest::MOST_INPUTS`].
    pub(crate) fn sums<const B: usize>(&self, inputs: &[i32], differing: &[[i32; B]]) -> Vec<f64> {
        let Some((first, others)) = differing.split_first() else { return Vec::new() };
        let whole = |first: &[i32; B]| {
            let mut padded = padded(inputs);
            padded[..B].copy_from_slice(first);
            padded
        };
        // Always as many, so that their walks are unrolled; what is too many is walked and forgotten.
        let some = |rows: &[[i32; B]]| std::array::from_fn(|at| whole(rows.get(at).unwrap_or(&rows[0])));
        let first = whole(first);
        let others: Vec<[Padded; BESIDE]> = others.chunks(BESIDE).map(some).collect();
        let mut of_first = 0;
        let mut of_others = vec![[0; BESIDE]; others.len()];
        let mut chunks = self.trees.chunks_exact(TOGETHER);
        for trees in &mut chunks {
            let trees: &[Complete; TOGETHER] = trees.try_into().expect("chunks are exact");
            walk::<_, B>(trees, &first, &others, &mut of_first, &mut of_others);
        }
        for tree in chunks.remainder() {
            walk::<_, B>(std::array::from_ref(tree), &first, &others, &mut of_first, &mut of_others);
        }
        let sums = std::iter::once(of_first).chain(of_others.into_iter().flatten());
        sums.take(differing.len()).map(|sum| sum as f64 / PER_ONE).collect()
    }

    /// Trees.
    pub(crate) fn len(&self) -> usize {
        self.trees.len()
    }

    /// Adds all trees to `bytes`.
    pub(crate) fn pack(&self, bytes: &mut Vec<u8>) {
        pack(1, self.trees.iter().map(Complete::grown), bytes);
    }

    /// The forest of rows with so many inputs that `bytes` begin with, which is cut off from them.
    pub(crate) fn unpack(inputs: usize, bytes: &mut &[u8]) -> Result<Self, String> {
        let mut trees = Vec::new();
        let outputs = unpack(bytes, Self::limits(inputs), |outputs, tree| {
            if outputs == 1 {
                trees.push(Complete::of(tree));
            }
        })?;
        if outputs == 1 {
            Ok(Self { trees })
        } else {
            Err(format!("the trees have {outputs} outputs, not one"))
        }
    }
}

/// Adds the leaves of some trees: those that `first` falls into to `of_first`, those of each of `others`, which differ
/// from it in the first B inputs alone, to `of_others`.
fn walk<const N: usize, const B: usize>(
    trees: &[Complete; N],
    first: &Padded,
    others: &[[Padded; BESIDE]],
    of_first: &mut i64,
    of_others: &mut [[i64; BESIDE]],
) {
    let mut at = [ROOT; N];
    // Where the first split by one of these is; 0 where none is on the way.
    let mut parting = [0; N];
    for _ in 0..DEPTH {
        for ((at, parting), tree) in at.iter_mut().zip(&mut parting).zip(trees) {
            let differs = usize::from(tree.inputs[*at % LEAVES]) < B;
            *parting = if differs && *parting == 0 { *at } else { *parting };
            *at = tree.step(*at, first);
        }
    }
    let mut alike = 0;
    for ((at, parting), tree) in at.into_iter().zip(parting).zip(trees) {
        let leaf = tree.leaf(at);
        *of_first += leaf;
        if parting == 0 {
            alike += leaf;
            continue;
        }
        for (others, sums) in others.iter().zip(&mut *of_others) {
            let mut at = [parting; BESIDE];
            for _ in parting.ilog2() as usize..DEPTH {
                for (at, inputs) in at.iter_mut().zip(others) {
                    *at = tree.step(*at, inputs);
                }
            }
            for (sum, at) in sums.iter_mut().zip(at) {
                *sum += tree.leaf(at);
            }
        }
    }
    of_others.as_flattened_mut().iter_mut().for_each(|sum| *sum += alike);
}

fn padded(inputs: &[i32]) -> Padded {
    let mut padded = [0; 64];
    padded[..inputs.len()].copy_from_slice(inputs);
    padded
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A node of a tree in preorder: a leaf's value, or an input and its threshold.
    enum Grown {
        Leaf(f64),
        Split(u16, i32),
    }
    use Grown::{Leaf, Split};

    fn complete(nodes: &[Grown]) -> Complete {
        let mut tree = Tree::default();
        for node in nodes {
            match *node {
                Leaf(value) => tree.push_leaf([(value * PER_ONE) as i32]),
                Split(input, threshold) => tree.push_split(input, threshold),
            }
        }
        Complete::of(&tree)
    }

    #[test]
    fn a_walk_ends_in_the_leaf_that_the_tree_shows() {
        let tree = complete(&[Split(1, 10), Leaf(-0.5), Split(0, 3), Leaf(0.25), Leaf(2.0)]);
        let forest = ScalarForest { trees: vec![tree, complete(&[Leaf(1.0)])] };
        for (x, sum) in [([9, 9], 0.5_f64), ([2, 10], 1.25), ([3, 10], 3.0)] {
            assert_eq!(forest.sum(&x).to_bits(), sum.to_bits(), "quarters are exact");
        }
    }

    #[test]
    fn rows_together_are_the_same_as_each_alone() {
        const INPUTS: usize = 43;
        let last = INPUTS as u16 - 1;
        let trees = (0..30_i32).map(|i| match i % 3 {
            0 => complete(&[Leaf(f64::from(i))]),
            1 => complete(&[
                Split(last, i),
                Split(0, i / 2),
                Leaf(-0.5),
                Split(last, 3),
                Leaf(0.25),
                Leaf(2.0),
                Leaf(0.125),
            ]),
            _ => complete(&[Split(last, i), Leaf(1.0), Split(1, 10 * i), Leaf(3.0), Leaf(4.0)]),
        });
        let forest = ScalarForest { trees: trees.collect() };
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
    }

    #[test]
    fn a_forest_is_unpacked_as_it_was_packed() {
        let tree = complete(&[Split(7, -12), Split(0, 5), Leaf(1e-5), Leaf(0.1), Leaf(-3.0)]);
        let forest = ScalarForest { trees: vec![tree, complete(&[Leaf(0.0)])] };
        let mut bytes = Vec::new();
        forest.pack(&mut bytes);
        let unpacked = |inputs| ScalarForest::unpack(inputs, &mut &bytes[..]);
        assert_eq!(unpacked(8), Ok(forest));
        assert!(unpacked(7).unwrap_err().contains("input 7 of 7"));
        // Two outputs, one tree, a leaf.
        assert!(ScalarForest::unpack(8, &mut &[2, 1, 0, 0, 0][..]).unwrap_err().contains("2 outputs"));
    }
}
