//! Trees whose leaves are vectors, a number for each output.
//!
//! On disk they are bytes (`trees/packed.rs`). As text, which older profiles hold, a tree is one line, in preorder:
//! `INPUT<THRESHOLD` for a split, whose left subtree follows (the input is below the threshold) and then the right one, or
//! a leaf's numbers in units of 2^-12, as many as there are outputs. The first tree is a single leaf: where all begin.
//!
//! ```text
//! 5<7097 -12 0 2<14195 3 40 -7 1       x[5] < 7097 ? (-12, 0) : x[2] < 14195 ? (3, 40) : (-7, 1)
//! ```

mod packed;

use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::str::SplitAsciiWhitespace;

/// One in the leaves' units. Hundreds of leaves are summed, each rounded by at most half a unit: together less than
/// three in a thousand, where measured times repeat to half a percent.
const UNIT: f64 = (1 << 12) as f64;

/// Deeper than any that is grown; keeps a damaged file from exhausting the stack.
const DEEPEST: u32 = 32;

/// Trees whose leaves are summed.
///
/// Invariants, checked when they are made or read: every child lies within its tree, every leaf has as many numbers as
/// the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub(super) struct Trees {
    outputs: usize,
    nodes: Vec<Node>,
    roots: Vec<u32>,
    /// One after another, each with a number for every output.
    leaves: Vec<i16>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Node {
    /// The left child is the next node, the right one is told by its place.
    Split { input: u16, threshold: i32, right: u32 },
    /// Which.
    Leaf(u32),
}

/// A tree as it is grown.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Grown {
    Leaf(Vec<f64>),
    Split { input: u16, threshold: i32, left: Box<Self>, right: Box<Self> },
}

impl Trees {
    /// Of grown trees, the first a leaf; numbers are rounded to their unit.
    pub(super) fn new(start: &[f64], trees: &[Grown]) -> Self {
        let outputs = start.len();
        let mut all = Self { outputs, nodes: Vec::new(), roots: Vec::new(), leaves: Vec::new() };
        all.roots.push(0);
        all.add_leaf(start);
        for tree in trees {
            all.roots.push(all.nodes.len() as u32);
            all.add(tree);
        }
        all
    }

    fn add(&mut self, tree: &Grown) {
        match tree {
            Grown::Leaf(values) => self.add_leaf(values),
            Grown::Split { input, threshold, left, right } => {
                let at = self.nodes.len();
                self.nodes.push(Node::Split { input: *input, threshold: *threshold, right: 0 });
                self.add(left);
                self.set_right(at);
                self.add(right);
            }
        }
    }

    fn add_leaf(&mut self, values: &[f64]) {
        self.nodes.push(Node::Leaf((self.leaves.len() / self.outputs.max(1)) as u32));
        // The conversion saturates: no ratio is beyond e^8 on average.
        self.leaves.extend(values.iter().map(|value| (value * UNIT).round() as i16));
    }

    /// The next node is the right child of the one at `at`.
    fn set_right(&mut self, at: usize) {
        let next = self.nodes.len() as u32;
        if let Node::Split { right, .. } = &mut self.nodes[at] {
            *right = next;
        }
    }

    /// Numbers that are predicted at once.
    pub(super) fn outputs(&self) -> usize {
        self.outputs
    }

    /// One more than the largest input that is looked at.
    pub(super) fn inputs(&self) -> usize {
        let input = |node: &Node| match node {
            Node::Split { input, .. } => usize::from(*input) + 1,
            Node::Leaf(_) => 0,
        };
        self.nodes.iter().map(input).max().unwrap_or(0)
    }

    /// The sums of the leaves that `inputs` fall into.
    ///
    /// # Panics
    /// If there are fewer than [`Trees::inputs`].
    pub(super) fn sums(&self, inputs: &[i32]) -> Vec<f64> {
        let mut sums = vec![0_i32; self.outputs];
        for &root in &self.roots {
            let leaf = self.leaf(root as usize, inputs) * self.outputs;
            for (sum, &value) in sums.iter_mut().zip(&self.leaves[leaf..leaf + self.outputs]) {
                *sum += i32::from(value);
            }
        }
        sums.into_iter().map(|sum| f64::from(sum) / UNIT).collect()
    }

    fn leaf(&self, root: usize, inputs: &[i32]) -> usize {
        let mut at = root;
        loop {
            at = match self.nodes[at] {
                Node::Leaf(leaf) => return leaf as usize,
                Node::Split { input, threshold, .. } if inputs[usize::from(input)] < threshold => at + 1,
                Node::Split { right, .. } => right as usize,
            }
        }
    }

    fn write(&self, at: usize, text: &mut String) {
        let separator = if text.is_empty() { "" } else { " " };
        match self.nodes[at] {
            Node::Leaf(leaf) => {
                let from = leaf as usize * self.outputs;
                for value in &self.leaves[from..from + self.outputs] {
                    let separator = if text.is_empty() { "" } else { " " };
                    write!(text, "{separator}{value}").expect("a String takes everything");
                }
            }
            Node::Split { input, threshold, right } => {
                write!(text, "{separator}{input}<{threshold}").expect("a String takes everything");
                self.write(at + 1, text);
                self.write(right as usize, text);
            }
        }
    }

    /// Appends the subtree that `tokens` begin with.
    fn read(&mut self, tokens: &mut SplitAsciiWhitespace<'_>, level: u32) -> Result<(), String> {
        let mut token = tokens.next().ok_or("a tree ends early")?;
        let wrong = |token: &str| format!("'{token}' is no node of a tree");
        if let Some((input, threshold)) = token.split_once('<') {
            if level == DEEPEST {
                return Err(format!("a tree is deeper than {DEEPEST}"));
            }
            let input = input.parse().map_err(|_| wrong(token))?;
            let threshold = threshold.parse().map_err(|_| wrong(token))?;
            let at = self.nodes.len();
            self.nodes.push(Node::Split { input, threshold, right: 0 });
            self.read(tokens, level + 1)?;
            self.set_right(at);
            return self.read(tokens, level + 1);
        }
        self.nodes.push(Node::Leaf((self.leaves.len() / self.outputs) as u32));
        for missing in (0..self.outputs).rev() {
            self.leaves.push(token.parse().map_err(|_| wrong(token))?);
            if missing > 0 {
                token = tokens.next().ok_or("a tree ends early")?;
            }
        }
        Ok(())
    }
}

impl From<Trees> for Vec<String> {
    fn from(trees: Trees) -> Self {
        let line = |&root: &u32| {
            let mut text = String::new();
            trees.write(root as usize, &mut text);
            text
        };
        trees.roots.iter().map(line).collect()
    }
}

impl TryFrom<Vec<String>> for Trees {
    type Error = String;
    fn try_from(lines: Vec<String>) -> Result<Self, String> {
        let outputs = lines.first().map_or(0, |line| line.split_ascii_whitespace().count());
        if outputs == 0 {
            return Err("there is no tree to begin with".to_owned());
        }
        let mut trees = Self { outputs, nodes: Vec::new(), roots: Vec::new(), leaves: Vec::new() };
        for line in lines {
            trees.roots.push(trees.nodes.len() as u32);
            let mut tokens = line.split_ascii_whitespace();
            trees.read(&mut tokens, 0)?;
            if let Some(rest) = tokens.next() {
                return Err(format!("'{rest}' follows a complete tree"));
            }
        }
        Ok(trees)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trees() -> Trees {
        let inner = Grown::Split {
            input: 300,
            threshold: 3,
            left: Box::new(Grown::Leaf(vec![0.25, 0.0])),
            right: Box::new(Grown::Leaf(vec![2.0, -1.0])),
        };
        let leaf = Box::new(Grown::Leaf(vec![-0.5, 0.5]));
        let tree = Grown::Split { input: 1, threshold: 10, left: leaf, right: Box::new(inner) };
        Trees::new(&[1.0, 0.125], &[tree])
    }

    #[test]
    fn a_walk_ends_in_the_leaf_that_the_picture_shows() {
        let trees = trees();
        assert_eq!((trees.inputs(), trees.outputs()), (301, 2));
        for (first, last, sums) in [(9, 9, [0.5, 0.625]), (10, 2, [1.25, 0.125]), (10, 3, [3.0, -0.875])] {
            let mut inputs = vec![0; 301];
            (inputs[1], inputs[300]) = (first, last);
            assert_eq!(trees.sums(&inputs), sums, "eighths are exact");
        }
    }

    #[test]
    fn trees_are_read_as_they_were_written() {
        let trees = trees();
        let lines: Vec<String> = trees.clone().into();
        assert_eq!(lines, ["4096 512", "1<10 -2048 2048 300<3 1024 0 8192 -4096"]);
        assert_eq!(Trees::try_from(lines), Ok(trees));
    }

    #[test]
    fn damaged_trees_are_refused_with_the_word_that_is_wrong() {
        let deep = "0<1 ".repeat(1000);
        for (line, word) in [
            ("", "ends early"),
            ("1", "ends early"),
            ("1<2 3 4", "ends early"),
            ("1 2 3", "'3' follows"),
            ("x 1", "'x'"),
            ("1<y 1 2 3 4", "'1<y'"),
            ("99999<1 1 2 3 4", "'99999<1'"),
            ("40000 1", "'40000'"),
            (deep.as_str(), "deeper than 32"),
        ] {
            let error = Trees::try_from(vec!["1 2".to_owned(), line.to_owned()]).unwrap_err();
            assert!(error.contains(word), "{line}: {error}");
        }
        assert!(Trees::try_from(Vec::new()).unwrap_err().contains("begin"));
    }
}
