//! A matrix dealt out to several devices: who owns which rows and entries of x, and what each must be sent.
//!
//! ```text
//! Distribution     the part that owns each row, and each entry of x: the same, where the matrix is square
//!   -> Share       a part's own rows in two matrices, and the entries of x that it gets from others and gives to them
//!        interior      rows that read its own entries of x alone: can be computed while the others' are under way
//!        boundary      rows that read others' entries, too (the halo)
//! ```
//! Within a part, rows get other numbers: those of the interior first, then those of the boundary, each in their order. The entries
//! of x of a square matrix are numbered like the rows, so that the y of one product can be the x of the next; behind them
//! stand the halo's, by owner. Nothing is computed twice and no row is summed in two places.
//!
//! Rows are dealt out in blocks of neighbouring rows, as a file of parts says (`distribution.rs`), or by METIS (`metis.rs`).

mod distribution;
#[cfg(any(feature = "metis", test))]
mod metis;
mod share;

pub use distribution::{Distribution, DistributionError};
pub use share::{Exchange, Share};
