//! Sparsight.
