//! Forests as bytes: half as long as the text, and read without looking at digits.
//!
//! ```text
//! how many trees, then tree after tree in preorder:
//! INPUT threshold      a split: a byte and a signed number; its left subtree follows and then the right one
//! 255 value            a leaf, in units of 2^-18
//! ```
//! Numbers as in `packed.rs` of this crate.

use super::{COUNT, DEPTH, Forest, LEAVES, NO_SPLIT, Tree};
use crate::packed::{push, push_signed, take, take_signed};

/// Stands where a split has its input.
const LEAF: u8 = 255;
const _: () = assert!(COUNT <= LEAF as usize);

impl Tree {
    /// Adds the subtree below `at`.
    fn pack(&self, at: usize, bytes: &mut Vec<u8>) {
        if at >= LEAVES || self.inputs[at] == NO_SPLIT {
            let below = DEPTH - at.ilog2() as usize;
            bytes.push(LEAF);
            push_signed(bytes, i64::from(self.leaves[(at << below) - LEAVES]));
            return;
        }
        bytes.push(self.inputs[at]);
        push_signed(bytes, i64::from(self.thresholds[at]));
        self.pack(2 * at, bytes);
        self.pack(2 * at + 1, bytes);
    }

    /// Takes the subtree that `bytes` begin with as the one below `at`.
    fn unpack(&mut self, bytes: &mut &[u8], at: usize) -> Result<(), String> {
        let (&node, rest) = bytes.split_first().ok_or("a tree ends early")?;
        *bytes = rest;
        let number = take_signed(bytes).ok_or("a tree ends within a number")?;
        if node == LEAF {
            self.set_leaf(at, number);
            return Ok(());
        }
        if at >= LEAVES {
            return Err(format!("a tree is deeper than {DEPTH}"));
        }
        if usize::from(node) >= COUNT {
            return Err(format!("a tree looks at input {node} of {COUNT}"));
        }
        (self.inputs[at], self.thresholds[at]) = (node, number);
        self.unpack(bytes, 2 * at)?;
        self.unpack(bytes, 2 * at + 1)
    }
}

impl Forest {
    /// Without trees: what is stored as text.
    pub(in crate::boosting) const fn empty() -> Self {
        Self { trees: Vec::new() }
    }

    /// Adds all trees to `bytes`.
    pub(in crate::boosting) fn pack(&self, bytes: &mut Vec<u8>) {
        push(bytes, self.trees.len() as u64);
        for tree in &self.trees {
            tree.pack(Tree::ROOT, bytes);
        }
    }

    /// The forest that `bytes` begin with, which is cut off from them.
    pub(in crate::boosting) fn unpack(bytes: &mut &[u8]) -> Result<Self, String> {
        let count = take(bytes).ok_or("a forest ends early")?;
        // A tree takes two bytes at least: a damaged number makes no room for more than there are.
        if count > bytes.len() as u64 / 2 {
            return Err(format!("{} bytes are no {count} trees", bytes.len()));
        }
        let one = |_| -> Result<Tree, String> {
            let mut tree = Tree::new();
            tree.unpack(bytes, Tree::ROOT)?;
            Ok(tree)
        };
        Ok(Self { trees: (0..count).map(one).collect::<Result<_, _>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(mut bytes: &[u8]) -> Result<(Forest, usize), String> {
        let forest = Forest::unpack(&mut bytes)?;
        Ok((forest, bytes.len()))
    }

    #[test]
    fn trees_are_unpacked_as_they_were_packed_and_what_follows_is_left() {
        let lines = ["7<-12 0<5 0 26214 -786432", "0", "1<2147483647 -2147483648 5<-2147483648 1 2"];
        let forest = Forest::try_from(lines.map(str::to_owned).to_vec()).unwrap();
        let mut bytes = Vec::new();
        forest.pack(&mut bytes);
        assert_eq!(bytes[..6], [3, 7, 23, 0, 10, 255], "three trees; 7 < -12, 0 < 5, a leaf");
        bytes.extend([1, 2, 3]);
        assert_eq!(unpacked(&bytes), Ok((forest, 3)));
    }

    #[test]
    fn damaged_trees_are_refused_wherever_they_are_cut_off_or_changed() {
        let lines = ["7<-12 0<5 0 26214 -786432", "1<9 4 4"];
        let forest = Forest::try_from(lines.map(str::to_owned).to_vec()).unwrap();
        let mut bytes = Vec::new();
        forest.pack(&mut bytes);
        for length in 0..bytes.len() {
            assert!(unpacked(&bytes[..length]).is_err(), "cut off behind {length}");
        }
        for at in 0..bytes.len() {
            for value in [0, 42, 43, 63, 127, 128, 254, 255] {
                let mut changed = bytes.clone();
                changed[at] = value;
                // Another forest or a refusal, but no panic; and one that can be walked.
                if let Ok((other, _)) = unpacked(&changed) {
                    assert!(other.sum(&[0; COUNT]).is_finite());
                }
            }
        }
        let deep = [vec![1_u8], [0, 2].repeat(7), [255, 0].repeat(8)].concat();
        assert!(unpacked(&deep).unwrap_err().contains("deeper than 6"));
        assert!(unpacked(&[1, 43, 0, 255, 0, 255, 0]).unwrap_err().contains("input 43 of 43"));
        assert!(unpacked(&[200, 1, 255, 0]).unwrap_err().contains("200 trees"));
    }
}
