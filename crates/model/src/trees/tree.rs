//! A tree as it is grown and stored: its nodes in preorder.

/// A split, whose left subtree follows it and then the right one, or a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Node {
    /// A split: rows whose input is below the threshold go left.
    Split {
        input: u16,
        threshold: i32,
    },
    Leaf,
}

impl Node {
    /// Input and threshold of a split.
    pub(super) fn split(self) -> Option<(u16, i32)> {
        match self {
            Self::Split { input, threshold } => Some((input, threshold)),
            Self::Leaf => None,
        }
    }
}

/// A tree of at least one node.
///
/// ```text
/// Split x[5] < 7, Leaf, Split x[2] < 3, Leaf, Leaf      x[5] < 7 ? first leaf : x[2] < 3 ? second : third
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    /// Values of the leaves in the order of the nodes, a number for each output, in the forest's unit.
    pub(super) leaves: Vec<i32>,
}

impl Tree {
    /// A tree that says the same of every row.
    pub(super) fn constant(leaf: impl IntoIterator<Item = i32>) -> Self {
        Self { nodes: vec![Node::Leaf], leaves: leaf.into_iter().collect() }
    }

    pub(super) fn push_split(&mut self, input: u16, threshold: i32) {
        self.nodes.push(Node::Split { input, threshold });
    }

    pub(super) fn push_leaf(&mut self, leaf: impl IntoIterator<Item = i32>) {
        self.nodes.push(Node::Leaf);
        self.leaves.extend(leaf);
    }
}

#[cfg(test)]
impl Tree {
    /// Of two outputs, with at most so many levels of splits of inputs 0 to 3.
    pub(super) fn random(random: &mut crate::random::Random, levels: usize) -> Self {
        let mut tree = Self::default();
        tree.push_random(random, levels);
        tree
    }

    fn push_random(&mut self, random: &mut crate::random::Random, levels: usize) {
        if levels == 0 || random.below(8) == 0 {
            self.push_leaf([0; 2].map(|_| random.below(4096) as i32 - 2048));
            return;
        }
        self.push_split(random.below(4) as u16, random.below(20) as i32);
        self.push_random(random, levels - 1);
        self.push_random(random, levels - 1);
    }

    /// The numbers of the leaf that a row falls into, by the nodes as they were grown.
    pub(super) fn leaf_of(&self, inputs: &[i32]) -> [i32; 2] {
        let (mut leaf, mut at) = (0, 0);
        while let Some((input, threshold)) = self.nodes[at].split() {
            at += 1;
            // The left subtree is passed over: as many splits as leaves, but for one leaf more.
            let mut open = usize::from(inputs[usize::from(input)] >= threshold);
            while open > 0 {
                let is_leaf = self.nodes[at] == Node::Leaf;
                open = if is_leaf { open - 1 } else { open + 1 };
                leaf += usize::from(is_leaf);
                at += 1;
            }
        }
        [self.leaves[2 * leaf], self.leaves[2 * leaf + 1]]
    }
}
