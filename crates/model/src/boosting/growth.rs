//! Growth of the trees of a family.

use crate::trees::Growth;
use sparsight_kernels::{BLOCKS, Kernel};

/// Chosen on an H200, without folders e and f. Before there were g and h, by holding out folders a, b, c and d in turn, with trees that
/// the library `LightGBM` grew: of families together, 300 trees at a rate of 0.1 are as good as 400 at 0.06, twice as many take a
/// twentieth off the error, 400 are between; leaves of four times the weight, and a third of the inputs a tree, are worse. By the five
/// folds of `fit`: mean log error of a kernel of ours 0.0576 with a forest of 200 trees at 0.06 for each kernel, 0.0524 with 400 at 0.1
/// for each family. With g, h and what was made from real matrices, by the five folds, 400 at 0.1 are off by 4.26 and 4.59 % (f32,
/// f64), as it is 4.20 and 4.52 %; 1400 at 0.05 take 2 % more off, which neither the program's size nor a ranking's time allows.
const CHOSEN: Growth = Growth {
    forests: 1,
    trees: 700,
    depth: 6,
    learning_rate: 0.08,
    // A matrix has up to ten records of a kernel.
    min_leaf: 10.0,
    l2: 1.0,
    inputs_per_tree: 0.5,
    rows_per_tree: 0.7,
    projections: 1,
    seed: 2016,
};

/// Growth for the records of a family, of which `kernel` is one: with one record of a kernel for each matrix, as of the
/// vendor's routines, in place of one for each block size, least leaf and shrinkage shrink by the same factor.
pub(super) fn growth(kernel: Kernel) -> Growth {
    let share = kernel.blocks().len() as f32 / BLOCKS.len() as f32;
    Growth { min_leaf: share * CHOSEN.min_leaf, l2: share * CHOSEN.l2, ..CHOSEN }
}
