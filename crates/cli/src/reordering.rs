//! `--reorder`: a matrix with its rows and columns reordered, on request only.

use crate::failure::Failure;
use crate::matrix_source::MatrixSource;
use clap::ValueEnum;
use sparsight::matrix::derived::Derivation;
use sparsight::matrix::{Csr, Scalar, Seconds};
use std::time::Instant;

/// Order of rows and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// Reverse Cuthill-McKee: a small bandwidth
    Rcm,
}

impl Order {
    /// The step of a derivation, and as `--json` names it.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Rcm => "rcm",
        }
    }

    /// Name in text.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rcm => "reverse Cuthill-McKee",
        }
    }

    /// The matrix in this order, and what that took.
    ///
    /// # Errors
    /// If it is not square, or memory is refused.
    pub(crate) fn apply<T: Scalar>(self, matrix: &Csr<T>, title: &str) -> Result<(Csr<T>, Seconds), Failure> {
        let start = Instant::now();
        let reordered = self.steps().apply(matrix).map_err(|e| Failure::input(format!("{title}: {e}")))?;
        Ok((reordered, Seconds(start.elapsed().as_secs_f64())))
    }

    fn steps(self) -> Derivation {
        self.id().parse().expect("an order is a step")
    }
}

/// `--reorder`, for commands that look at the matrix as it then is.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct OrderFlags {
    /// Reorder rows and columns first; the matrix is then called NAME+ORDER
    #[arg(long, value_name = "ORDER")]
    pub(crate) reorder: Option<Order>,
}

impl OrderFlags {
    /// The matrices in the order asked for.
    pub(crate) fn of_all(self, sources: Vec<MatrixSource>) -> Vec<MatrixSource> {
        sources.into_iter().map(|source| self.of(source)).collect()
    }

    /// The matrix in the order asked for.
    pub(crate) fn of(self, source: MatrixSource) -> MatrixSource {
        match self.reorder {
            None => source,
            Some(order) => MatrixSource::Derived { steps: order.steps(), from: Box::new(source) },
        }
    }
}
