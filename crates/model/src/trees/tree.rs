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
