//! Sparse matrices as data: the storage formats, the files they come from, their structure, and generators.
//!
//! This crate knows no device, reads no clock and prints nothing. A matrix enters as a [`Csr`] (read by
//! [`mod@io`] or made by [`gallery`]), is summarised once as [`Features`], and is converted into [`Coo`],
//! [`Ell`] or [`Hyb`] when somebody wants to run it that way. How large a conversion would be is known
//! exactly before it is made, and a conversion that makes no sense is a typed [`Infeasible`].

pub mod gallery;
pub mod io;

mod coo;
mod csr;
mod ell;
mod features;
mod hyb;
mod infeasible;
mod mix;
mod reference;
mod row_lengths;
mod scalar;
mod units;

pub use coo::Coo;
pub use csr::{Csr, CsrError};
pub use ell::Ell;
pub use features::{Features, Locality};
pub use hyb::{Hyb, HybSplit};
pub use infeasible::{Infeasible, Limits};
pub use mix::mix;
pub use reference::{Reference, reference, rounding_bound};
pub use row_lengths::RowLengths;
pub use scalar::{Dtype, Scalar};
pub use units::{Bytes, Seconds};
