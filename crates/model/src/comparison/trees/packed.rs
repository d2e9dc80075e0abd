//! Trees of a comparison as bytes: three eighths of the text, and read without looking at digits.
//!
//! ```text
//! outputs, how many trees, then tree after tree in preorder:
//! INPUT+1 threshold            a split, its left subtree behind it and then the right one
//! 0 number difference ...      a leaf, in units of 2^-12: neighbouring candidates are alike, so of each number but the
//!                              first it is said by how much it is more than the one before
//! ```
//! Numbers as in `packed.rs` of this crate; thresholds and what is in leaves are signed.

use super::{DEEPEST, Node, Trees};
use crate::packed::{push, push_signed, take, take_signed};

impl Trees {
    /// Without outputs: what is left of them in text.
    pub(in crate::comparison) const fn none() -> Self {
        Self { outputs: 0, nodes: Vec::new(), roots: Vec::new(), leaves: Vec::new() }
    }

    /// Adds all trees to `bytes`.
    pub(in crate::comparison) fn pack(&self, bytes: &mut Vec<u8>) {
        push(bytes, self.outputs as u64);
        push(bytes, self.roots.len() as u64);
        // Trees lie one behind the other, the nodes of each in preorder.
        for node in &self.nodes {
            match *node {
                Node::Split { input, threshold, .. } => {
                    push(bytes, u64::from(input) + 1);
                    push_signed(bytes, i64::from(threshold));
                }
                Node::Leaf(leaf) => {
                    push(bytes, 0);
                    let from = leaf as usize * self.outputs;
                    let mut before = 0;
                    for &value in &self.leaves[from..from + self.outputs] {
                        push_signed(bytes, i64::from(value) - before);
                        before = i64::from(value);
                    }
                }
            }
        }
    }

    /// The trees that `bytes` begin with, which are cut off from them.
    pub(in crate::comparison) fn unpack(bytes: &mut &[u8]) -> Result<Self, String> {
        let outputs = take(bytes).ok_or("the trees end early")?;
        let roots = take(bytes).ok_or("the trees end early")?;
        if outputs == 0 || roots == 0 {
            return Err("there is no tree to begin with".to_owned());
        }
        // A tree takes a byte for each output at least: damaged numbers make no room for more than there are.
        if outputs.max(roots) > bytes.len() as u64 {
            return Err(format!("{} bytes are no {roots} trees of {outputs} outputs", bytes.len()));
        }
        let mut trees = Self { outputs: outputs as usize, ..Self::none() };
        for _ in 0..roots {
            trees.roots.push(trees.nodes.len() as u32);
            trees.unpack_node(bytes, 0)?;
        }
        Ok(trees)
    }

    /// Appends the subtree that `bytes` begin with.
    fn unpack_node(&mut self, bytes: &mut &[u8], level: u32) -> Result<(), String> {
        let Some(input) = take(bytes).ok_or("a tree ends early")?.checked_sub(1) else {
            return self.unpack_leaf(bytes);
        };
        if level == DEEPEST {
            return Err(format!("a tree is deeper than {DEEPEST}"));
        }
        let input = u16::try_from(input).map_err(|_| format!("a tree looks at input {input}"))?;
        let threshold = take_signed(bytes).ok_or("a tree ends within a number")?;
        let at = self.nodes.len();
        self.nodes.push(Node::Split { input, threshold, right: 0 });
        self.unpack_node(bytes, level + 1)?;
        self.set_right(at);
        self.unpack_node(bytes, level + 1)
    }

    fn unpack_leaf(&mut self, bytes: &mut &[u8]) -> Result<(), String> {
        self.nodes.push(Node::Leaf((self.leaves.len() / self.outputs) as u32));
        self.leaves.reserve(self.outputs);
        let mut value = 0_i64;
        for _ in 0..self.outputs {
            value += i64::from(take_signed(bytes).ok_or("a leaf ends early")?);
            self.leaves.push(i16::try_from(value).map_err(|_| format!("{value} is too large for a leaf"))?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(mut bytes: &[u8]) -> Result<(Trees, usize), String> {
        let trees = Trees::unpack(&mut bytes)?;
        Ok((trees, bytes.len()))
    }

    fn trees() -> Trees {
        let lines = ["4096 -512", "1<10 -2048 2048 300<-3 1024 0 32767 -32768", "7 7"];
        Trees::try_from(lines.map(str::to_owned).to_vec()).unwrap()
    }

    #[test]
    fn trees_are_unpacked_as_they_were_packed_and_what_follows_is_left() {
        let mut bytes = Vec::new();
        trees().pack(&mut bytes);
        assert_eq!(bytes[..3], [2, 3, 0], "two outputs, three trees, a leaf");
        bytes.extend([9, 9]);
        assert_eq!(unpacked(&bytes), Ok((trees(), 2)));
    }

    #[test]
    fn damaged_trees_are_refused_wherever_they_are_cut_off_or_changed() {
        let mut bytes = Vec::new();
        trees().pack(&mut bytes);
        for length in 0..bytes.len() {
            assert!(unpacked(&bytes[..length]).is_err(), "cut off behind {length}");
        }
        for at in 0..bytes.len() {
            for value in [0, 1, 2, 63, 127, 128, 255] {
                let mut changed = bytes.clone();
                changed[at] = value;
                // Other trees or a refusal, but no panic; and trees that can be walked.
                if let Ok((other, _)) = unpacked(&changed) {
                    assert_eq!(other.sums(&vec![0; other.inputs()]).len(), other.outputs());
                }
            }
        }
        let deep = [vec![1_u8, 1], [1, 0].repeat(40), [0, 0].repeat(41)].concat();
        assert!(unpacked(&deep).unwrap_err().contains("deeper than 32"));
        assert!(unpacked(&[0, 1, 0, 0]).unwrap_err().contains("begin"));
        assert!(unpacked(&[100, 1, 0, 0]).unwrap_err().contains("100 outputs"));
        assert!(unpacked(&[1, 1, 0, 0x80, 0x80, 4]).unwrap_err().contains("32768 is too large"));
    }
}
