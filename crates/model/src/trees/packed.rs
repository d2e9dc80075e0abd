//! Trees as bytes.
//!
//! ```text
//! outputs, how many trees
//! inputs with splits           how many, then of each: input, how many thresholds, the thresholds in ascending order
//! nodes of all trees           tree after tree in preorder: 0 for a leaf, else 1 + the place of the split's input above; none
//!                              for what is as deep as a tree may be, and so a leaf
//! thresholds of all splits     in the order of the nodes: the place among the thresholds of the input
//! leaves of all trees          in the order of the nodes: a number for each output, in the forest's unit
//! ```
//! What is alike lies together, which packs to two thirds of tree after tree: thresholds are edges of few intervals, and neighbouring
//! thresholds and outputs are alike, so of these each number but the first is stored as its difference from the one before.
//! Numbers as in `packed.rs` of this crate; differences are signed.

use super::complete::Thresholds;
use super::tree::{Node, Tree};
use crate::packed::{push, push_signed, take, take_signed};
use std::collections::BTreeMap;

/// Limits of the trees of a forest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// Splits on the way to a leaf.
    pub(super) depth: u32,
    /// Inputs that there are.
    pub(super) inputs: u64,
    /// Thresholds of an input: no more than places that two bytes can name.
    pub(super) thresholds: u16,
    /// Numbers in leaves lie within plus and minus this.
    pub(super) largest: i32,
}

/// Trees of a forest: in memory a tree takes many times what a small one is stored in. Chosen.
const MOST_TREES: u64 = 1 << 16;

/// Adds a forest to `bytes`, of trees that are at most as deep as `limits` allow. Numbers that are too large become the largest.
pub(super) fn pack(outputs: usize, trees: impl Iterator<Item = Tree>, limits: Limits, bytes: &mut Vec<u8>) {
    let mut trees: Vec<Tree> = trees.collect();
    let leaves = trees.iter_mut().flat_map(|tree| &mut tree.leaves);
    leaves.for_each(|leaf| *leaf = (*leaf).clamp(-limits.largest, limits.largest));
    let splits = || trees.iter().flat_map(|tree| &tree.nodes).filter_map(|node| node.split());
    let mut thresholds: BTreeMap<u16, Vec<i32>> = BTreeMap::new();
    splits().for_each(|(input, threshold)| thresholds.entry(input).or_default().push(threshold));
    push(bytes, outputs as u64);
    push(bytes, trees.len() as u64);
    push(bytes, thresholds.len() as u64);
    for (&input, thresholds) in &mut thresholds {
        thresholds.sort_unstable();
        thresholds.dedup();
        push(bytes, input.into());
        push(bytes, thresholds.len() as u64);
        push_differences(thresholds, bytes);
    }
    let inputs: Vec<u16> = thresholds.keys().copied().collect();
    for tree in &trees {
        let mut open = vec![0];
        for node in &tree.nodes {
            let depth = open.pop().expect("a whole tree");
            let place = node.split().map(|(input, _)| inputs.partition_point(|other| *other < input) as u64);
            if place.is_some() {
                open.extend([depth + 1; 2]);
            }
            if depth < limits.depth {
                push(bytes, place.map_or(0, |place| 1 + place));
            }
        }
    }
    for (input, threshold) in splits() {
        push(bytes, thresholds[&input].partition_point(|other| *other < threshold) as u64);
    }
    trees
        .iter()
        .flat_map(|tree| tree.leaves.chunks_exact(outputs))
        .for_each(|leaf| push_differences(leaf, bytes));
}

fn push_differences(numbers: &[i32], bytes: &mut Vec<u8>) {
    let before = [0].iter().chain(numbers);
    numbers
        .iter()
        .zip(before)
        .for_each(|(&number, &before)| push_signed(bytes, i64::from(number) - i64::from(before)));
}

/// Hands the trees of the forest with which `bytes` begin to `add`, and cuts them off: each with the place of the threshold of each of
/// its splits, in order. Gives how many outputs they have, and the inputs that they look at.
pub(super) fn unpack(
    bytes: &mut &[u8],
    limits: Limits,
    mut add: impl FnMut(&Tree, &[u16]) -> Result<(), String>,
) -> Result<(usize, Thresholds), String> {
    let (outputs, trees) = take_head(bytes)?;
    let inputs = take_inputs(bytes, limits)?;
    let mut places = Vec::new();
    let mut forest = Vec::new();
    for _ in 0..trees {
        forest.push(Tree { nodes: take_nodes(bytes, &inputs, limits)?, leaves: Vec::new() });
    }
    for node in forest.iter_mut().flat_map(|tree| &mut tree.nodes) {
        if let Node::Split { input, threshold } = node {
            // Its place until now.
            let (named, thresholds) = &inputs[usize::from(*input)];
            let place = take(bytes).ok_or("the thresholds end early")?;
            let there = usize::try_from(place).ok().and_then(|place| thresholds.get(place));
            *threshold = *there.ok_or_else(|| format!("input {named} has no threshold {place}"))?;
            *input = *named;
            places.push(place as u16);
        }
    }
    // One after another is dropped: their leaves take more than those that `add` keeps.
    let mut places = &places[..];
    for mut tree in forest {
        let leaves = tree.nodes.iter().filter(|node| **node == Node::Leaf).count();
        take_differences(bytes, [leaves, outputs], limits.largest, &mut tree.leaves)?;
        let (own, others) = places.split_at(tree.nodes.len() - leaves);
        add(&tree, own)?;
        places = others;
    }
    Ok((outputs, inputs))
}

/// Reads the numbers of outputs and trees with which `bytes` begin; both are cut off from them.
fn take_head(bytes: &mut &[u8]) -> Result<(usize, u64), String> {
    let outputs = take(bytes).ok_or("the trees end early")?;
    let trees = take(bytes).ok_or("the trees end early")?;
    if outputs == 0 || trees == 0 {
        return Err("there is no tree to begin with".to_owned());
    }
    if trees > MOST_TREES {
        return Err(format!("{trees} trees are more than {MOST_TREES}"));
    }
    // A tree is at least a leaf, which takes a byte and one more for each output: damaged numbers ask for no more than there is.
    let least = outputs.checked_add(1).and_then(|leaf| leaf.checked_mul(trees));
    if least.is_none_or(|least| least > bytes.len() as u64) {
        return Err(format!("{} bytes are no {trees} trees of {outputs} outputs", bytes.len()));
    }
    Ok((outputs as usize, trees))
}

/// Reads the inputs with splits, each with its thresholds, both in ascending order.
fn take_inputs(bytes: &mut &[u8], limits: Limits) -> Result<Thresholds, String> {
    let early = "the inputs end early";
    let count = take(bytes).ok_or(early)?;
    let mut inputs = Thresholds::new();
    for _ in 0..count {
        let input = take(bytes).ok_or(early)?;
        if input >= limits.inputs {
            return Err(format!("a tree looks at input {input} of {}", limits.inputs));
        }
        let count = take(bytes).ok_or(early)?;
        if count > limits.thresholds.into() {
            return Err(format!("input {input} has {count} thresholds, more than {}", limits.thresholds));
        }
        let mut thresholds = Vec::new();
        take_differences(bytes, [1, count as usize], i32::MAX, &mut thresholds)?;
        let follows = inputs.last().is_none_or(|(before, _)| u64::from(*before) < input);
        if !follows || !thresholds.is_sorted_by(|a, b| a < b) {
            return Err(format!("input {input} or its thresholds are not in ascending order"));
        }
        inputs.push((input as u16, thresholds));
    }
    Ok(inputs)
}

/// Reads the nodes of a tree; a split has the place of its input among `inputs`, and no threshold yet.
fn take_nodes(bytes: &mut &[u8], inputs: &[(u16, Vec<i32>)], limits: Limits) -> Result<Vec<Node>, String> {
    // As many as most trees have, so that the list hardly grows.
    let mut nodes = Vec::with_capacity(128);
    // How deep the subtrees are that have not been read yet.
    let mut open = vec![0];
    while let Some(depth) = open.pop() {
        let node = if depth < limits.depth { take(bytes).ok_or("a tree ends early")? } else { 0 };
        let Some(place) = node.checked_sub(1) else {
            nodes.push(Node::Leaf);
            continue;
        };
        if place >= inputs.len() as u64 {
            return Err(format!("a tree looks at input {place} of the {} that are listed", inputs.len()));
        }
        nodes.push(Node::Split { input: place as u16, threshold: 0 });
        open.extend([depth + 1; 2]);
    }
    nodes.shrink_to_fit();
    Ok(nodes)
}

/// Reads rows of so many numbers, each within plus and minus `largest`; the first of a row is the difference from 0.
fn take_differences(
    bytes: &mut &[u8],
    [rows, columns]: [usize; 2],
    largest: i32,
    numbers: &mut Vec<i32>,
) -> Result<(), String> {
    // A number takes a byte: damaged counts ask for no more than there is.
    numbers.reserve(rows.saturating_mul(columns).min(bytes.len()));
    let largest = i64::from(largest);
    for _ in 0..rows {
        let mut value = 0;
        for _ in 0..columns {
            value += i64::from(take_signed(bytes).ok_or("the trees end within a number")?);
            if !(-largest..=largest).contains(&value) {
                return Err(format!("{value} is too large a number"));
            }
            numbers.push(value as i32);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { depth: 6, inputs: 400, thresholds: 60, largest: 40_000 };

    fn unpacked(mut bytes: &[u8]) -> Result<(usize, Vec<Tree>, usize), String> {
        let (mut trees, mut places) = (Vec::<Tree>::new(), Vec::new());
        let (outputs, inputs) = unpack(&mut bytes, LIMITS, |tree, own| {
            trees.push(tree.clone());
            places.extend_from_slice(own);
            Ok(())
        })?;
        let splits = || trees.iter().flat_map(|tree| &tree.nodes).filter_map(|node| node.split());
        assert_eq!(splits().count(), places.len());
        for ((input, threshold), place) in splits().zip(places) {
            let at_place = |(other, thresholds): &(u16, Vec<i32>)| {
                *other == input && thresholds.get(usize::from(place)) == Some(&threshold)
            };
            assert!(inputs.iter().any(at_place), "input {input}, threshold {threshold}");
        }
        Ok((outputs, trees, bytes.len()))
    }

    fn trees() -> Vec<Tree> {
        let mut tree = Tree::default();
        tree.push_split(1, 10);
        tree.push_leaf([-2048, 2048]);
        tree.push_split(300, -3);
        tree.push_leaf([1024, 0]);
        tree.push_leaf([32767, -32768]);
        vec![Tree::constant([4096, -512]), tree, Tree::constant([7, 7])]
    }

    #[test]
    fn leaves_as_deep_as_a_tree_may_be_take_no_byte_among_the_nodes() {
        let mut tree = Tree::default();
        for _ in 0..LIMITS.depth {
            tree.push_split(0, 0);
        }
        (0..=LIMITS.depth).for_each(|leaf| tree.push_leaf([leaf as i32, 0]));
        let bytes = packed(std::slice::from_ref(&tree));
        // Outputs, trees and an input with one threshold; six splits and five leaves that may have been splits; the places of six
        // thresholds; seven leaves.
        assert_eq!(bytes.len(), 6 + 11 + 6 + 14);
        assert_eq!(unpacked(&bytes), Ok((2, vec![tree], 0)));
    }

    fn packed(trees: &[Tree]) -> Vec<u8> {
        let mut bytes = Vec::new();
        pack(2, trees.iter().cloned(), LIMITS, &mut bytes);
        bytes
    }

    #[test]
    fn trees_are_unpacked_as_they_were_packed_and_what_follows_is_left() {
        let mut bytes = packed(&trees());
        assert_eq!(bytes[..3], [2, 3, 2], "two outputs, three trees, two inputs");
        bytes.extend([9, 9]);
        assert_eq!(unpacked(&bytes), Ok((2, trees(), 2)));
    }

    #[test]
    fn damaged_trees_are_refused_wherever_they_are_cut_off_or_changed() {
        let bytes = packed(&trees());
        for length in 0..bytes.len() {
            assert!(unpacked(&bytes[..length]).is_err(), "cut off behind {length}");
        }
        for at in 0..bytes.len() {
            for value in [0, 1, 2, 127, 128, 255] {
                let mut changed = bytes.clone();
                changed[at] = value;
                // Other trees or a refusal, but no panic; and trees that are whole.
                if let Ok((outputs, trees, _)) = unpacked(&changed) {
                    for tree in trees {
                        let leaves = tree.nodes.iter().filter(|node| **node == Node::Leaf).count();
                        assert_eq!(tree.leaves.len(), outputs * leaves);
                        assert_eq!(tree.nodes.len(), 2 * leaves - 1);
                    }
                }
            }
        }
        for (bytes, word) in [
            (&[0_u8, 1, 0, 0][..], "begin"),
            (&[1, 0, 0, 0], "begin"),
            (&[100, 1, 0, 0], "100 outputs"),
            (&[1, 100, 0, 0], "100 trees"),
            (&[1, 2, 0, 0, 0], "3 bytes are no 2 trees"),
            (&[1, 1, 1, 0x90, 3, 1, 0, 0, 0], "input 400 of 400"),
            (&[1, 1, 1, 0, 1, 0, 2, 0, 0, 0, 0, 0], "input 1 of the 1"),
            (&[1, 1, 1, 7, 1, 0, 1, 0, 0, 5, 0, 0], "input 7 has no threshold 5"),
            (&[1, 1, 1, 0, 61, 0, 0, 0, 0, 0], "input 0 has 61 thresholds, more than 60"),
            // Thresholds 2 and 1 of input 0; input 3 before input 0.
            (&[1, 1, 1, 0, 2, 4, 1, 1, 0, 0, 0, 0, 0], "input 0 or its thresholds are not in"),
            (&[1, 1, 2, 3, 1, 2, 0, 1, 2, 1, 0, 0, 0, 0, 0], "input 0 or its thresholds are not in"),
            (&[1, 0x81, 0x80, 4, 0], "65537 trees are more than 65536"),
            (&[1, 1, 0, 0, 0x82, 0xf1, 4], "40001 is too large"),
        ] {
            let error = unpacked(bytes).unwrap_err();
            assert!(error.contains(word), "{bytes:?}: {error}");
        }
    }
}
