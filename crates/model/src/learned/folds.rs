//! Folds of cross-validation: matrices that are held out together.
//!
//! All records of a matrix (block sizes, kernels, value types) lie in one fold. They are so alike that a model
//! which saw some of them would know the rest, and its error would say nothing about a new matrix. The same holds for
//! generated matrices that differ in their seed alone, so these lie in one fold, too. Real matrices are kept apart by
//! name; whole folders are kept apart by the choice of the training matrices.

use sparsight_matrix::derived::instance;
use std::collections::BTreeMap;

/// Folds; the custom number, and enough matrices stay to learn from.
pub(crate) const FOLDS: usize = 5;

/// The fold of every matrix.
pub(crate) struct Folds<'a>(BTreeMap<&'a str, usize>);

impl<'a> Folds<'a> {
    /// Folds of equally many groups, give or take one; a group is a matrix, or all seeds of a recipe. The order of
    /// `names` and repeated names do not matter.
    pub(crate) fn of(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut groups: BTreeMap<(u64, &str), Vec<&'a str>> = BTreeMap::new();
        for name in names {
            let group = instance(name);
            groups.entry((scattered(group), group)).or_default().push(name);
        }
        let folds = groups.into_values().enumerate();
        Self(folds.flat_map(|(at, group)| group.into_iter().map(move |name| (name, at % FOLDS))).collect())
    }

    /// Matrices.
    pub(crate) fn matrices(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.0.keys().copied()
    }

    /// The fold of a matrix that [`Folds::of`] was given.
    pub(crate) fn fold(&self, matrix: &str) -> usize {
        self.0[matrix]
    }
}

/// FNV-1a: neighbours in the alphabet, often of one family, are scattered over the folds, the same way everywhere.
fn scattered(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_matrix_lies_in_two_folds_and_the_folds_are_of_one_size() {
        let names: Vec<String> = (0..52).map(|i| format!("folder/{}", i % 26)).collect();
        let folds = Folds::of(names.iter().map(String::as_str));
        assert_eq!(folds.matrices().count(), 26, "a name is one matrix, however often it comes");
        let mut sizes = [0; FOLDS];
        for name in folds.matrices() {
            sizes[folds.fold(name)] += 1;
        }
        assert_eq!(sizes, [6, 5, 5, 5, 5]);
        let backwards = Folds::of(names.iter().rev().map(String::as_str));
        assert!(folds.matrices().all(|name| folds.fold(name) == backwards.fold(name)));
    }

    #[test]
    fn seeds_of_one_recipe_are_held_out_together() {
        let names: Vec<String> =
            (0..60).map(|i| format!("gallery:arrow,n={},width=2,seed={i}", i % 20)).collect();
        let folds = Folds::of(names.iter().map(String::as_str));
        assert_eq!(folds.matrices().count(), 60);
        let fold = |i: usize| folds.fold(&names[i]);
        assert!((0..20).all(|i| fold(i) == fold(i + 20) && fold(i) == fold(i + 40)));
        assert!((0..FOLDS).all(|f| (0..60).filter(|&i| fold(i) == f).count() == 12));
    }
}
