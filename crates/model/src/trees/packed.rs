//! Trees as bytes.
//!
//! ```text
//! outputs, how many trees, then tree after tree in preorder:
//! INPUT+1 threshold            a split, its left subtree behind it and then the right one
//! 0 number difference ...      a leaf, in the forest's unit: neighbouring outputs are alike, so of each number but the
//!                              first it is said by how much it is more than the one before
//! ```
//! Numbers as in `packed.rs` of this crate; thresholds and what is in leaves are signed.

use super::tree::{Node, Tree};
use crate::packed::{push, push_signed, take, take_signed};

/// Limits of the trees of a forest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// Splits on the way to a leaf.
    pub(super) depth: u32,
    /// Inputs that there are.
    pub(super) inputs: u64,
    /// Numbers in leaves lie within plus and minus this.
    pub(super) largest: i32,
}

/// Adds a forest to `bytes`.
pub(super) fn pack(outputs: usize, trees: impl ExactSizeIterator<Item = Tree>, bytes: &mut Vec<u8>) {
    push(bytes, outputs as u64);
    push(bytes, trees.len() as u64);
    for tree in trees {
        push_tree(&tree, outputs, bytes);
    }
}

/// Hands the trees of the forest with which `bytes` begin to `add`, and cuts them off. Gives how many outputs they have.
pub(super) fn unpack(
    bytes: &mut &[u8],
    limits: Limits,
    mut add: impl FnMut(usize, &Tree),
) -> Result<usize, String> {
    let (outputs, trees) = take_head(bytes)?;
    let mut tree = Tree::default();
    for _ in 0..trees {
        take_tree(bytes, outputs, limits, &mut tree)?;
        add(outputs, &tree);
    }
    Ok(outputs)
}

/// Adds a tree.
fn push_tree(tree: &Tree, outputs: usize, bytes: &mut Vec<u8>) {
    let mut leaves = tree.leaves.chunks_exact(outputs);
    for node in &tree.nodes {
        match *node {
            Node::Split { input, threshold } => {
                push(bytes, u64::from(input) + 1);
                push_signed(bytes, i64::from(threshold));
            }
            Node::Leaf => {
                push(bytes, 0);
                let mut before = 0;
                for &value in leaves.next().expect("as many as the nodes say") {
                    push_signed(bytes, i64::from(value) - before);
                    before = i64::from(value);
                }
            }
        }
    }
}

/// Reads the numbers of outputs and trees with which `bytes` begin; both are cut off from them.
fn take_head(bytes: &mut &[u8]) -> Result<(usize, u64), String> {
    let outputs = take(bytes).ok_or("the trees end early")?;
    let trees = take(bytes).ok_or("the trees end early")?;
    if outputs == 0 || trees == 0 {
        return Err("there is no tree to begin with".to_owned());
    }
    // A tree is at least a leaf, which takes a byte and one more for each output: damaged numbers ask for no more than there is.
    let least = outputs.checked_add(1).and_then(|leaf| leaf.checked_mul(trees));
    if least.is_none_or(|least| least > bytes.len() as u64) {
        return Err(format!("{} bytes are no {trees} trees of {outputs} outputs", bytes.len()));
    }
    Ok((outputs as usize, trees))
}

/// Puts the tree with which `bytes` begin into `tree`, and cuts it off from them.
fn take_tree(bytes: &mut &[u8], outputs: usize, limits: Limits, tree: &mut Tree) -> Result<(), String> {
    tree.clear();
    // How deep the subtrees are that have not been read yet.
    let mut open = vec![0];
    while let Some(depth) = open.pop() {
        let Some(input) = take(bytes).ok_or("a tree ends early")?.checked_sub(1) else {
            take_leaf(bytes, outputs, limits.largest, tree)?;
            continue;
        };
        if depth == limits.depth {
            return Err(format!("a tree is deeper than {depth}"));
        }
        if input >= limits.inputs {
            return Err(format!("a tree looks at input {input} of {}", limits.inputs));
        }
        let threshold = take_signed(bytes).ok_or("a tree ends within a number")?;
        tree.push_split(input as u16, threshold);
        open.extend([depth + 1; 2]);
    }
    Ok(())
}

fn take_leaf(bytes: &mut &[u8], outputs: usize, largest: i32, tree: &mut Tree) -> Result<(), String> {
    let mut value = 0_i64;
    tree.push_leaf([]);
    for _ in 0..outputs {
        value += i64::from(take_signed(bytes).ok_or("a leaf ends early")?);
        let within = i32::try_from(value).ok().filter(|value| value.unsigned_abs() <= largest.unsigned_abs());
        tree.leaves.push(within.ok_or_else(|| format!("{value} is too large for a leaf"))?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { depth: 6, inputs: 400, largest: 40_000 };

    fn unpacked(mut bytes: &[u8]) -> Result<(usize, Vec<Tree>, usize), String> {
        let mut trees = Vec::new();
        let outputs = unpack(&mut bytes, LIMITS, |_, tree| trees.push(tree.clone()))?;
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

    fn packed(trees: &[Tree]) -> Vec<u8> {
        let mut bytes = Vec::new();
        pack(2, trees.iter().cloned(), &mut bytes);
        bytes
    }

    #[test]
    fn trees_are_unpacked_as_they_were_packed_and_what_follows_is_left() {
        let mut bytes = packed(&trees());
        assert_eq!(bytes[..3], [2, 3, 0], "two outputs, three trees, a leaf");
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
        let deep = [vec![1_u8, 1], [1, 0].repeat(7), [0, 0].repeat(8)].concat();
        for (bytes, word) in [
            (&deep[..], "deeper than 6"),
            (&[0, 1, 0, 0], "begin"),
            (&[1, 0, 0, 0], "begin"),
            (&[100, 1, 0, 0], "100 outputs"),
            (&[1, 100, 0, 0], "100 trees"),
            (&[1, 2, 0, 0, 0], "3 bytes are no 2 trees"),
            (&[1, 1, 0x91, 3, 0, 0, 0, 0, 0], "input 400 of 400"),
            (&[1, 1, 0, 0x82, 0xf1, 4], "40001 is too large"),
        ] {
            let error = unpacked(bytes).unwrap_err();
            assert!(error.contains(word), "{bytes:?}: {error}");
        }
    }
}
