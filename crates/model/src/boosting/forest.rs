//! Regression trees in a form of our own: small on disk, quick to walk.
//!
//! On disk a tree is one line, in preorder: `INPUT<THRESHOLD` for a split, whose left subtree follows (the input is
//! below the threshold) and then the right one, or a leaf's value in units of 2^-24.
//!
//! ```text
//! 5<7097 -1534000 2<14195 20400 88010        x[5] < 7097 ? -1534000 : x[2] < 14195 ? 20400 : 88010
//! ```
//! In memory every tree is walked for as many steps as the deepest one: a leaf leads to itself. A walk without an
//! early end has no branch that a processor could guess wrong, and several trees are walked side by side.
//!
//! The block sizes of a kernel differ in the first inputs alone. A walk that met none of these ends in the same leaf for
//! all of them and is not repeated.

use super::inputs::{BLOCK_INPUTS, COUNT};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Trees walked side by side: enough to hide the wait for a node. Measured: 8 take a third
/// less time than one after another.
const TOGETHER: usize = 8;

/// One in the leaves' units.
const UNIT: f64 = (1 << 24) as f64;

/// Trees whose leaves are summed.
///
/// Invariants, checked when they are made or read: every child lies within its tree; every input exists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub(super) struct Forest {
    nodes: Vec<Node>,
    roots: Vec<u32>,
    /// Of the deepest tree.
    depth: u32,
}

/// A split, whose left child is the next node, or a leaf: then `number` is its value.
///
/// A leaf looks at [`LEAF`], which is above every number, and its right child is itself.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Node {
    number: i32,
    /// Distance of the right child.
    right: u16,
    input: u8,
}

impl Node {
    fn leaf(number: i32) -> Self {
        Self { number, right: 0, input: LEAF }
    }

    fn is_leaf(self) -> bool {
        self.input == LEAF
    }
}

/// Stands for an input that is above every number.
const LEAF: u8 = u8::MAX;
const _: () = assert!(COUNT <= LEAF as usize && BLOCK_INPUTS < COUNT);

/// Inputs where a walk finds them: any `u8` is an index, so none is checked.
type Padded = [i32; 1 << u8::BITS];

/// A tree as it is grown and written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Grown {
    Leaf(f64),
    Split { input: u8, threshold: i32, left: Box<Self>, right: Box<Self> },
}

impl Forest {
    /// Of grown trees; leaf values are rounded to their unit.
    pub(super) fn new(trees: &[Grown]) -> Self {
        let mut forest = Self { nodes: Vec::new(), roots: Vec::with_capacity(trees.len()), depth: 0 };
        for tree in trees {
            let root = forest.nodes.len() as u32;
            forest.depth = forest.depth.max(forest.add(tree));
            forest.roots.push(root);
        }
        forest
    }

    /// Appends in preorder; the depth.
    fn add(&mut self, tree: &Grown) -> u32 {
        let at = self.nodes.len();
        match tree {
            Grown::Leaf(value) => {
                self.nodes.push(Node::leaf((value * UNIT).round() as i32));
                0
            }
            Grown::Split { input, threshold, left, right } => {
                self.nodes.push(Node { number: *threshold, right: 0, input: *input });
                let deepest = self.add(left);
                self.nodes[at].right = (self.nodes.len() - at) as u16;
                deepest.max(self.add(right)) + 1
            }
        }
    }

    /// The sum of the leaves that `inputs` fall into.
    ///
    /// # Panics
    /// If there are more inputs than a model has.
    pub(super) fn sum(&self, inputs: &[i32]) -> f64 {
        let padded = padded(inputs);
        self.roots.chunks(TOGETHER).map(|trees| sum(self.walk(trees, &padded).0)).sum::<i64>() as f64 / UNIT
    }

    /// [`Forest::sum`] for each of `blocks`, which take the places of the first of `inputs`.
    pub(super) fn sums(&self, inputs: &[i32; COUNT], blocks: &[[i32; BLOCK_INPUTS]]) -> Vec<f64> {
        let mut padded = padded(inputs);
        let Some((first, others)) = blocks.split_first() else { return Vec::new() };
        padded[..BLOCK_INPUTS].copy_from_slice(first);
        // Of the trees that end in the same leaf for all, and of the others for the first.
        let (mut alike, mut own) = (0, 0);
        let mut again = Vec::with_capacity(self.roots.len());
        for trees in self.roots.chunks(TOGETHER) {
            let (leaves, met) = self.walk(trees, &padded);
            for ((&root, leaf), met) in trees.iter().zip(leaves).zip(met) {
                if met {
                    own += leaf;
                    again.push(root);
                } else {
                    alike += leaf;
                }
            }
        }
        let others = others.iter().map(|block| {
            padded[..BLOCK_INPUTS].copy_from_slice(block);
            again.chunks(TOGETHER).map(|trees| sum(self.walk(trees, &padded).0)).sum::<i64>()
        });
        std::iter::once(own).chain(others).map(|own| (alike + own) as f64 / UNIT).collect()
    }

    /// The leaves of up to [`TOGETHER`] trees, and whether the way there depended on the block; zeros for absent trees.
    fn walk(&self, trees: &[u32], inputs: &Padded) -> ([i64; TOGETHER], [bool; TOGETHER]) {
        let mut at = [0_usize; TOGETHER];
        let mut met = [false; TOGETHER];
        for (at, &root) in at.iter_mut().zip(trees) {
            *at = root as usize;
        }
        for _ in 0..self.depth {
            for (at, met) in at.iter_mut().zip(&mut met) {
                let node = self.nodes[*at];
                let below = inputs[usize::from(node.input)] < node.number;
                *met |= usize::from(node.input) < BLOCK_INPUTS;
                *at += usize::from(if below { 1 } else { node.right });
            }
        }
        let mut leaves = [0; TOGETHER];
        for (leaf, &at) in leaves.iter_mut().zip(&at).take(trees.len()) {
            *leaf = i64::from(self.nodes[at].number);
        }
        (leaves, met)
    }

    /// Trees.
    pub(super) fn len(&self) -> usize {
        self.roots.len()
    }

    fn write(&self, at: usize, text: &mut String) {
        let node = self.nodes[at];
        let written = if node.is_leaf() {
            write!(text, "{}", node.number)
        } else {
            write!(text, "{}<{} ", node.input, node.number)
        };
        written.expect("a String takes everything");
        if !node.is_leaf() {
            self.write(at + 1, text);
            text.push(' ');
            self.write(at + usize::from(node.right), text);
        }
    }

    /// Appends the subtree that `tokens` begin with; its depth.
    fn read<'t>(&mut self, tokens: &mut impl Iterator<Item = &'t str>, level: u32) -> Result<u32, String> {
        /// Deeper than any that is grown; keeps a damaged file from exhausting the stack.
        const DEEPEST: u32 = 32;
        let token = tokens.next().ok_or("a tree ends early")?;
        let wrong = || format!("'{token}' is no node of a tree");
        let at = self.nodes.len();
        let Some((input, threshold)) = token.split_once('<') else {
            let number = token.parse().map_err(|_| wrong())?;
            self.nodes.push(Node::leaf(number));
            return Ok(0);
        };
        if level == DEEPEST {
            return Err(format!("a tree is deeper than {DEEPEST}"));
        }
        let (input, number) = (input.parse().map_err(|_| wrong())?, threshold.parse().map_err(|_| wrong())?);
        if usize::from(input) >= COUNT {
            return Err(format!("a tree looks at input {input} of {COUNT}"));
        }
        self.nodes.push(Node { number, right: 0, input });
        let left = self.read(tokens, level + 1)?;
        self.nodes[at].right = u16::try_from(self.nodes.len() - at).map_err(|_| "a tree is too large")?;
        Ok(left.max(self.read(tokens, level + 1)?) + 1)
    }
}

/// A number above every input at each place that has none, for leaves.
fn padded(inputs: &[i32]) -> Padded {
    let mut padded = [i32::MAX; 1 << u8::BITS];
    padded[..inputs.len()].copy_from_slice(inputs);
    padded
}

fn sum(leaves: [i64; TOGETHER]) -> i64 {
    leaves.iter().sum()
}

impl From<Forest> for Vec<String> {
    fn from(forest: Forest) -> Self {
        let line = |&root: &u32| {
            let mut text = String::new();
            forest.write(root as usize, &mut text);
            text
        };
        forest.roots.iter().map(line).collect()
    }
}

impl TryFrom<Vec<String>> for Forest {
    type Error = String;
    fn try_from(lines: Vec<String>) -> Result<Self, String> {
        let mut forest = Self { nodes: Vec::new(), roots: Vec::with_capacity(lines.len()), depth: 0 };
        for line in lines {
            let root = forest.nodes.len() as u32;
            let mut tokens = line.split_ascii_whitespace();
            forest.depth = forest.depth.max(forest.read(&mut tokens, 0)?);
            if let Some(rest) = tokens.next() {
                return Err(format!("'{rest}' follows a complete tree"));
            }
            forest.roots.push(root);
        }
        Ok(forest)
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
        assert_eq!(lines, ["7<-12 0<5 2 1677722 -50331648", "0"]);
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
            (deep.as_str(), "deeper than 32"),
        ] {
            let error = Forest::try_from(vec![line.to_owned()]).unwrap_err();
            assert!(error.contains(word), "{line}: {error}");
        }
    }
}
