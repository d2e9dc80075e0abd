//! How the trees of a family are grown.

use crate::trees::Growth;

/// Chosen by holding out folders a, b, c and d in turn on an H200, without folders e and f.
pub(super) const GROWTH: Growth = Growth {
    forests: 1,
    trees: 400,
    depth: 6,
    learning_rate: 0.1,
    // A matrix has up to ten records of a kernel.
    min_leaf: 10.0,
    l2: 1.0,
    inputs_per_tree: 0.5,
    rows_per_tree: 0.7,
    bins: 256,
    projections: 1,
    seed: 2016,
};
