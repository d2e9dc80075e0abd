//! Regression trees in a form of our own: small on disk, quick to walk.
//!
//! On disk they are bytes (`forest/packed.rs`). As text, which older profiles hold, a tree is one line, in preorder:
//! `INPUT<THRESHOLD` for a split, whose left subtree follows (the input is below the threshold) and then the right one, or
//! a leaf's value in units of 2^-18.
//!
//! ```text
//! 5<7097 -24000 2<14195 320 1375        x[5] < 7097 ? -1534000 : x[2] < 14195 ? 20400 : 88010
//! ```
//! In memory every tree is complete, [`DEPTH`] levels of splits over a row of leaves: node n has the children 2 n and
//! 2 n + 1. Every walk takes as many steps, without a branch that a processor could guess wrong or an index that it must
//! check, and several are taken side by side.
//!
//! The block sizes of a kernel differ in the first inputs alone. All take the way of the first down to the first split
//! by one of these, and a tree without such a split is walked once.

mod packed;

use super::inputs::{BLOCK_INPUTS, COUNT};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Levels of splits that a tree may have.
pub(super) const DEPTH: usize = 6;
const LEAVES: usize = 1 << DEPTH;

/// Trees walked side by side, enough to hide the wait for a node: measured, 8 take a third less time than one after
/// another.
const TOGETHER: usize = 8;

/// Block sizes walked side by side: those of a kernel but the first.
const BLOCKS_TOGETHER: usize = 4;

/// One in the leaves' units. Hundreds of leaves are summed, each rounded by at most half a unit: together less than one in
/// a thousand, where measured times repeat to half a percent.
const UNIT: f64 = (1 << 18) as f64;

/// Trees whose leaves are summed.
///
/// Invariants, checked when they are made or read: every input exists; below a node without a split no other has one, and
/// all leaves there are the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub(super) struct Forest {
    trees: Vec<Tree>,
}

/// A complete tree; the root is node 1, node 0 is not used.
#[derive(Debug, Clone, PartialEq)]
struct Tree {
    thresholds: [i32; LEAVES],
    /// [`NO_SPLIT`] where a leaf of the written tree stands.
    inputs: [u8; LEAVES],
    leaves: [i32; LEAVES],
}

/// Inputs where a walk finds them.
type Padded = [i32; 64];

/// Stands for an input at nodes without a split.
const NO_SPLIT: u8 = 63;
const _: () = assert!(COUNT <= NO_SPLIT as usize && BLOCK_INPUTS < COUNT);

/// A tree as it is grown and written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Grown {
    Leaf(f64),
    Split { input: u8, threshold: i32, left: Box<Self>, right: Box<Self> },
}

impl Tree {
    const ROOT: usize = 1;

    fn new() -> Self {
        Self { thresholds: [0; LEAVES], inputs: [NO_SPLIT; LEAVES], leaves: [0; LEAVES] }
    }

    fn grown(tree: &Grown) -> Self {
        let mut all = Self::new();
        all.place(tree, Self::ROOT);
        all
    }

    fn place(&mut self, tree: &Grown, at: usize) {
        match tree {
            Grown::Leaf(value) => self.set_leaf(at, (value * UNIT).round() as i32),
            Grown::Split { input, threshold, left, right } => {
                (self.inputs[at], self.thresholds[at]) = (*input, *threshold);
                self.place(left, 2 * at);
                self.place(right, 2 * at + 1);
            }
        }
    }

    /// All leaves below `at`, or the one that it is.
    fn set_leaf(&mut self, at: usize, value: i32) {
        let below = DEPTH - at.ilog2() as usize;
        self.leaves[(at << below) - LEAVES..][..1 << below].fill(value);
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

    fn write(&self, at: usize, text: &mut String) {
        let written = if at >= LEAVES || self.inputs[at] == NO_SPLIT {
            let below = DEPTH - at.ilog2() as usize;
            write!(text, "{}", self.leaves[(at << below) - LEAVES])
        } else {
            write!(text, "{}<{} ", self.inputs[at], self.thresholds[at])
        };
        written.expect("a String takes everything");
        if at < LEAVES && self.inputs[at] != NO_SPLIT {
            self.write(2 * at, text);
            text.push(' ');
            self.write(2 * at + 1, text);
        }
    }

    /// Takes the subtree that `tokens` begin with as the one below `at`.
    fn read<'t>(&mut self, tokens: &mut impl Iterator<Item = &'t str>, at: usize) -> Result<(), String> {
        let token = tokens.next().ok_or("a tree ends early")?;
        let wrong = || format!("'{token}' is no node of a tree");
        let Some((input, threshold)) = token.split_once('<') else {
            self.set_leaf(at, token.parse().map_err(|_| wrong())?);
            return Ok(());
        };
        if at >= LEAVES {
            return Err(format!("a tree is deeper than {DEPTH}"));
        }
        let (input, threshold) =
            (input.parse().map_err(|_| wrong())?, threshold.parse().map_err(|_| wrong())?);
        if usize::from(input) >= COUNT {
            return Err(format!("a tree looks at input {input} of {COUNT}"));
        }
        (self.inputs[at], self.thresholds[at]) = (input, threshold);
        self.read(tokens, 2 * at)?;
        self.read(tokens, 2 * at + 1)
    }
}

impl Forest {
    /// Of grown trees; leaf values are rounded to their unit.
    ///
    /// # Panics
    /// If a tree is deeper than [`DEPTH`].
    pub(super) fn new(trees: &[Grown]) -> Self {
        Self { trees: trees.iter().map(Tree::grown).collect() }
    }

    /// The sum of the leaves that `inputs` fall into.
    ///
    /// # Panics
    /// If there are more inputs than a model has.
    pub(super) fn sum(&self, inputs: &[i32]) -> f64 {
        let padded = padded(inputs);
        let walked = |tree: &Tree| {
            let at = (0..DEPTH).fold(Tree::ROOT, |at, _| tree.step(at, &padded));
            tree.leaf(at)
        };
        self.trees.iter().map(walked).sum::<i64>() as f64 / UNIT
    }

    /// [`Forest::sum`] for each of `blocks`, which take the places of the first of `inputs`.
    pub(super) fn sums(&self, inputs: &[i32; COUNT], blocks: &[[i32; BLOCK_INPUTS]]) -> Vec<f64> {
        let Some((first, others)) = blocks.split_first() else { return Vec::new() };
        let of_block = |block: &[i32; BLOCK_INPUTS]| {
            let mut padded = padded(inputs);
            padded[..BLOCK_INPUTS].copy_from_slice(block);
            padded
        };
        // Always as many, so that their walks are unrolled; what is too many is walked and forgotten.
        let some = |blocks: &[[i32; BLOCK_INPUTS]]| {
            std::array::from_fn(|at| of_block(blocks.get(at).unwrap_or(&blocks[0])))
        };
        let first = of_block(first);
        let others: Vec<[Padded; BLOCKS_TOGETHER]> = others.chunks(BLOCKS_TOGETHER).map(some).collect();
        let mut of_first = 0;
        let mut of_others = vec![[0; BLOCKS_TOGETHER]; others.len()];
        let mut chunks = self.trees.chunks_exact(TOGETHER);
        for trees in &mut chunks {
            let trees: &[Tree; TOGETHER] = trees.try_into().expect("chunks are exact");
            walk(trees, &first, &others, &mut of_first, &mut of_others);
        }
        for tree in chunks.remainder() {
            walk(std::array::from_ref(tree), &first, &others, &mut of_first, &mut of_others);
        }
        let sums = std::iter::once(of_first).chain(of_others.into_iter().flatten());
        sums.take(blocks.len()).map(|sum| sum as f64 / UNIT).collect()
    }

    /// Trees.
    pub(super) fn len(&self) -> usize {
        self.trees.len()
    }
}

/// Adds the leaves of some trees: those that `first` falls into to `of_first`, those of each of `others`, which differ
/// from it in the inputs of the block alone, to `of_others`.
fn walk<const N: usize>(
    trees: &[Tree; N],
    first: &Padded,
    others: &[[Padded; BLOCKS_TOGETHER]],
    of_first: &mut i64,
    of_others: &mut [[i64; BLOCKS_TOGETHER]],
) {
    let mut at = [Tree::ROOT; N];
    // Where the first split by the block is; 0 where none is on the way.
    let mut parting = [0; N];
    for _ in 0..DEPTH {
        for ((at, parting), tree) in at.iter_mut().zip(&mut parting).zip(trees) {
            let by_block = usize::from(tree.inputs[*at % LEAVES]) < BLOCK_INPUTS;
            *parting = if by_block && *parting == 0 { *at } else { *parting };
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
            let mut at = [parting; BLOCKS_TOGETHER];
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

impl From<Forest> for Vec<String> {
    fn from(forest: Forest) -> Self {
        let line = |tree: &Tree| {
            let mut text = String::new();
            tree.write(Tree::ROOT, &mut text);
            text
        };
        forest.trees.iter().map(line).collect()
    }
}

impl TryFrom<Vec<String>> for Forest {
    type Error = String;
    fn try_from(lines: Vec<String>) -> Result<Self, String> {
        let tree = |line: String| {
            let mut tree = Tree::new();
            let mut tokens = line.split_ascii_whitespace();
            tree.read(&mut tokens, Tree::ROOT)?;
            match tokens.next() {
                Some(rest) => Err(format!("'{rest}' follows a complete tree")),
                None => Ok(tree),
            }
        };
        Ok(Self { trees: lines.into_iter().map(tree).collect::<Result<_, _>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(input: u8, threshold: i32, left: Grown, right: Grown) -> Grown {
        Grown::Split { input, threshold, left: Box::new(left), right: Box::new(right) }
    }

    #[test]
    fn a_walk_ends_in_the_leaf_that_the_picture_shows() {
        let tree = split(1, 10, Grown::Leaf(-0.5), split(0, 3, Grown::Leaf(0.25), Grown::Leaf(2.0)));
        let forest = Forest::new(&[tree, Grown::Leaf(1.0)]);
        for (x, sum) in [([9, 9], 0.5_f64), ([2, 10], 1.25), ([3, 10], 3.0)] {
            assert_eq!(forest.sum(&x).to_bits(), sum.to_bits(), "quarters are exact");
        }
    }

    #[test]
    fn block_sizes_together_are_the_same_as_each_alone() {
        let last = COUNT as u8 - 1;
        let by_block =
            |at| split(0, at, Grown::Leaf(-0.5), split(last, 3, Grown::Leaf(0.25), Grown::Leaf(2.0)));
        let trees: Vec<Grown> = (0..30)
            .map(|i| match i % 3 {
                0 => Grown::Leaf(f64::from(i)),
                1 => split(last, i, by_block(i / 2), Grown::Leaf(0.125)),
                _ => split(last, i, Grown::Leaf(1.0), split(1, 10 * i, Grown::Leaf(3.0), Grown::Leaf(4.0))),
            })
            .collect();
        let forest = Forest::new(&trees);
        let blocks: [[i32; BLOCK_INPUTS]; 4] = [[3, 200], [8, 100], [13, 0], [3, 20]];
        for number in [-5, 2, 14, 40] {
            let mut inputs = [0; COUNT];
            inputs[COUNT - 1] = number;
            let alone = blocks.map(|block| {
                inputs[..BLOCK_INPUTS].copy_from_slice(&block);
                forest.sum(&inputs).to_bits()
            });
            let together: Vec<u64> = forest.sums(&inputs, &blocks).into_iter().map(f64::to_bits).collect();
            assert_eq!(together, alone, "{number}");
        }
        assert!(forest.sums(&[0; COUNT], &[]).is_empty());
    }

    #[test]
    fn trees_are_read_as_they_were_written() {
        let tree = split(7, -12, split(0, 5, Grown::Leaf(1e-7), Grown::Leaf(0.1)), Grown::Leaf(-3.0));
        let forest = Forest::new(&[tree, Grown::Leaf(0.0)]);
        let lines: Vec<String> = forest.clone().into();
        assert_eq!(lines, ["7<-12 0<5 0 26214 -786432", "0"]);
        assert_eq!(Forest::try_from(lines), Ok(forest));
    }

    #[test]
    fn damaged_trees_are_refused_with_the_word_that_is_wrong() {
        let deep = "0<1 ".repeat(1000);
        for (line, word) in [
            ("", "ends early"),
            ("1<2 3", "ends early"),
            ("1 2", "'2' follows"),
            ("x", "'x'"),
            ("1<y 1 2", "'1<y'"),
            ("300<1 1 2", "'300<1'"),
            ("250<1 1 2", "input 250"),
            (deep.as_str(), "deeper than 6"),
        ] {
            let error = Forest::try_from(vec![line.to_owned()]).unwrap_err();
            assert!(error.contains(word), "{line}: {error}");
        }
    }
}
