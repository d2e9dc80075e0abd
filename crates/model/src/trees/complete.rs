//! Complete trees: the form in which forests are walked.
//!
//! A tree has [`DEPTH`] levels of splits over a row of leaves: node n has the children 2 n and 2 n + 1. A split is one integer: the place
//! of its threshold in the sorted list of its input in the high bits, the number of the input in the low bits. An input of a row is
//! replaced by how many thresholds it reaches, shifted alike, so that one comparison of integers decides. Small splits matter: each
//! ranking reads all forests, more than a first cache holds. Walks from the root all take as many steps, without a branch that a
//! processor could guess wrong.

use super::tree::{Node, Tree};

/// Levels of splits that a tree may have.
pub(super) const DEPTH: usize = 6;
pub(super) const LEAVES: usize = 1 << DEPTH;

/// The root is node 1, node 0 is not used.
pub(super) const ROOT: usize = 1;

/// Trees that one row goes down side by side, to hide the wait for a node. Chosen.
pub(super) const TREES_TOGETHER: usize = 10;

/// Inputs that trees look at, in ascending order, each with the thresholds of its splits, in ascending order too.
pub(super) type Thresholds = Vec<(u16, Vec<i32>)>;

/// A split: the place of its threshold in the high bits, the input in the low bits.
pub(super) trait Word: Copy + PartialEq + Into<u32> {
    /// Low bits, which hold the input.
    const INPUT_BITS: u32;
    /// Thresholds that an input may have.
    const MOST_THRESHOLDS: u16;

    /// Marks a node where the grown tree has a leaf. It is not below the word of any row, so rows go left; the leaves below are the
    /// same.
    const NONE: Self;

    fn of(word: u32) -> Self;

    fn new(input: u16, place: u16) -> Self {
        Self::of(u32::from(place) << Self::INPUT_BITS | u32::from(input))
    }

    fn input(self) -> usize {
        self.into() as usize % (1 << Self::INPUT_BITS)
    }

    fn place(self) -> usize {
        (self.into() >> Self::INPUT_BITS) as usize
    }
}

/// For up to 64 inputs. Trees of single kernels have 63, with at most 63 thresholds each.
impl Word for u16 {
    const INPUT_BITS: u32 = 6;
    const MOST_THRESHOLDS: u16 = Self::MAX >> Self::INPUT_BITS;
    const NONE: Self = Self::MAX << Self::INPUT_BITS;

    fn of(word: u32) -> Self {
        word as Self
    }
}

impl Word for u32 {
    const INPUT_BITS: u32 = 16;
    const MOST_THRESHOLDS: u16 = u16::MAX;
    const NONE: Self = Self::MAX << Self::INPUT_BITS;

    fn of(word: u32) -> Self {
        word
    }
}

/// Writes a word for each listed input of a row: greater than those of just the splits at which the row goes right.
pub(super) fn to_words<'t, W: Word>(
    thresholds: impl IntoIterator<Item = &'t (u16, Vec<i32>)>,
    inputs: &[i32],
    words: &mut [u32],
) {
    for (input, thresholds) in thresholds {
        let input = usize::from(*input);
        let place = thresholds.partition_point(|threshold| *threshold <= inputs[input]);
        words[input] = (place as u32) << W::INPUT_BITS;
    }
}

/// A complete tree. Below a node without a split no other has one, and all leaves there are the same.
#[derive(Debug, Clone, PartialEq)]
#[repr(align(64))]
pub(super) struct Complete<W, L> {
    pub(super) splits: [W; LEAVES],
    leaves: [L; LEAVES],
}

impl<W: Word, L: Copy + Default> Complete<W, L> {
    /// Converts a tree. `places`: for each split, in the order of the nodes, the place of its threshold; `leaf`: what stands for the next
    /// leaf.
    ///
    /// # Errors
    /// If it is deeper than [`DEPTH`].
    pub(super) fn of(tree: &Tree, places: &[u16], mut leaf: impl FnMut() -> L) -> Result<Self, String> {
        let mut all = Self { splits: [W::NONE; LEAVES], leaves: [L::default(); LEAVES] };
        let mut places = places.iter();
        // Where the subtrees go that come next.
        let mut open = vec![ROOT];
        for node in &tree.nodes {
            let at = open.pop().expect("a whole tree");
            match *node {
                Node::Split { input, .. } => {
                    let place = *places.next().expect("a place for each split");
                    let split =
                        all.splits.get_mut(at).ok_or_else(|| format!("a tree has over {DEPTH} levels"))?;
                    *split = W::new(input, place);
                    open.extend([2 * at + 1, 2 * at]);
                }
                Node::Leaf => {
                    let below = DEPTH - at.ilog2() as usize;
                    all.leaves[(at << below) - LEAVES..][..1 << below].fill(leaf());
                }
            }
        }
        Ok(all)
    }

    /// The tree as it was grown. `leaf`: the numbers of a leaf.
    pub(super) fn grown<I: IntoIterator<Item = i32>>(
        &self,
        thresholds: &Thresholds,
        leaf: impl Fn(L) -> I,
    ) -> Tree {
        let mut tree = Tree::default();
        let mut open = vec![ROOT];
        while let Some(at) = open.pop() {
            if let Some(split) = self.splits.get(at).filter(|split| **split != W::NONE) {
                let input = split.input() as u16;
                let listed = thresholds.partition_point(|(other, _)| *other < input);
                tree.push_split(input, thresholds[listed].1[split.place()]);
                open.extend([2 * at + 1, 2 * at]);
            } else {
                tree.push_leaf(leaf(self.leaf(at, at.ilog2())));
            }
        }
        tree
    }

    /// Levels down to the last split.
    pub(super) fn levels(&self) -> u32 {
        let last = self.splits.iter().rposition(|split| *split != W::NONE);
        last.map_or(0, |node| node.ilog2() + 1)
    }

    /// The child of `at` that a row goes to. `word` gives the row's word for an input.
    pub(super) fn step(&self, at: usize, word: impl Fn(usize) -> u32) -> usize {
        let split = self.splits[at % LEAVES];
        let goes_right = split.into() < word(split.input());
        2 * at + usize::from(goes_right)
    }

    /// The leaf below `at`, a node `levels` levels below the root.
    pub(super) fn leaf(&self, at: usize, levels: u32) -> L {
        self.leaves[(at << (DEPTH as u32 - levels)) % LEAVES]
    }

    /// Goes down `trees` from `start`, several side by side, and hands on where each walk of so many levels ends.
    pub(super) fn walk<At: Copy>(
        trees: &[Self],
        levels: u32,
        start: At,
        step: impl Fn(&Self, At) -> At,
        mut end: impl FnMut(&Self, At),
    ) {
        let (together, others) = trees.as_chunks::<TREES_TOGETHER>();
        for trees in together {
            let mut at = [start; TREES_TOGETHER];
            for _ in 0..levels {
                for n in 0..TREES_TOGETHER {
                    at[n] = step(&trees[n], at[n]);
                }
            }
            for n in 0..TREES_TOGETHER {
                end(&trees[n], at[n]);
            }
        }
        for tree in others {
            end(tree, (0..levels).fold(start, |at, _| step(tree, at)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted<W: Word>(tree: &Tree, places: &[u16]) -> Result<Complete<W, i16>, String> {
        let mut leaves = tree.leaves.iter();
        Complete::of(tree, places, || *leaves.next().unwrap() as i16)
    }

    #[test]
    fn a_tree_is_given_back_as_it_was_grown() {
        let mut tree = Tree::default();
        tree.push_split(5, 10);
        tree.push_leaf([1]);
        tree.push_split(0, -3);
        tree.push_leaf([2]);
        tree.push_leaf([3]);
        let thresholds = vec![(0, vec![-3, 8]), (5, vec![0, 10])];
        let complete = converted::<u16>(&tree, &[1, 0]).unwrap();
        assert_eq!(complete.levels(), 2);
        assert_eq!(complete.grown(&thresholds, |leaf| [leaf.into()]), tree);
        for (inputs, leaf) in [([0, 9], 1), ([-4, 10], 2), ([-3, 10], 3), ([8, 99], 3)] {
            let mut words = [0; 6];
            to_words::<u16>(&thresholds, &[inputs[0], 0, 0, 0, 0, inputs[1]], &mut words);
            let end = (0..2).fold(ROOT, |at, _| complete.step(at, |input| words[input]));
            assert_eq!(complete.leaf(end, 2), leaf, "{inputs:?}");
        }
    }

    #[test]
    fn the_largest_input_and_place_have_room_and_rows_go_left_where_there_is_no_split() {
        fn check<W: Word + std::fmt::Debug>() {
            let (input, place) = (((1_u32 << W::INPUT_BITS) - 1) as u16, W::MOST_THRESHOLDS - 1);
            let word = W::new(input, place);
            assert_eq!((word.input(), word.place()), (input.into(), place.into()));
            assert!(word != W::NONE && W::NONE.input() == 0);
            // A row that reaches all thresholds of input 0.
            assert!(W::NONE.into() >= u32::from(W::MOST_THRESHOLDS) << W::INPUT_BITS);
        }
        check::<u16>();
        check::<u32>();
    }

    #[test]
    fn a_tree_that_is_too_deep_is_refused() {
        let mut deep = Tree::default();
        (0..=DEPTH).for_each(|_| deep.push_split(0, 0));
        (0..=DEPTH + 1).for_each(|leaf| deep.push_leaf([leaf as i32]));
        assert!(converted::<u16>(&deep, &[0; DEPTH + 1]).unwrap_err().contains("over 6 levels"));
    }
}
