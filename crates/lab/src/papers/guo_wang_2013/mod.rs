//! A device that was hardly measured: the time on a target from that on a reference (Guo and Wang 2013).
//!
//! ```text
//! T_tar = T_init_tar + P (T_ref - T_init_ref)
//! ```
//! `T_ref` is the time of a matrix on the reference, measured or predicted. The relative performance P and both
//! initialization times follow from a handful of benchmark matrices, the same ones on both devices: nine for CSR, five
//! for ELL, three for COO, none for HYB.
//!
//! ```text
//! Observation (benchmark matrix, time) -> TransferParameters::fit -> TransferParameters   (of one device)
//! reference, target  = Transfer;   Transfer + Candidate + Features -> Relative (P, both T_init);   T_ref -> T_tar
//! ```
//! Which equations and whose benchmark matrices stand for which kernel is [`TransferRule`]. Where the columns of a matrix
//! lie is not in the paper: the transfer is computed with banded and with scattered benchmark matrices and lies between the
//! two where `x_reuse` of the matrix puts it, as in the strip models.
//!
//! Deliberately absent: an interval. Nothing like the matrix was ever measured on the target, so there are no residuals to
//! make one of.
//!
//! Source: P. Guo and L. Wang: Accurate cross-architecture performance modeling for sparse matrix-vector multiplication on
//! GPUs. 2013. Each file names its section.

mod coo;
mod csr;
mod ell;
mod error;
mod handful;
mod parameters;
mod relative;
mod transferred;

pub use super::TransferRule;
pub use coo::CooParameters;
pub use csr::{CsrParameters, CsrSide};
pub use ell::EllParameters;
pub use error::{Role, TransferError};
pub use handful::{HandfulPoint, handful};
pub use parameters::{MeasuredCandidate, Parameters, TransferParameters};
pub use relative::Relative;
pub use transferred::{Transfer, TransferSide, Transferred};
