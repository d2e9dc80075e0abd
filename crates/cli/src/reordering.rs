//! `--reorder`: a matrix with its rows and columns numbered anew. Never done unasked.

use crate::context::Context;
use crate::failure::Failure;
use clap::ValueEnum;
use sparsight::matrix::{Csr, Permutation, Scalar, Seconds};
use std::time::Instant;

/// How rows and columns are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// Reverse Cuthill-McKee: a small bandwidth
    Rcm,
}

impl Order {
    /// As `--json` names it.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Rcm => "rcm",
        }
    }
}

/// `--reorder`, for commands that take a matrix as it then is.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct OrderFlags {
    /// Number rows and columns anew first, with x and y in the new order
    #[arg(long, value_name = "ORDER")]
    pub(crate) reorder: Option<Order>,
}

impl OrderFlags {
    /// The matrix in the order asked for.
    ///
    /// # Errors
    /// If it is not square, or memory is refused.
    pub(crate) fn apply<T: Scalar>(self, matrix: Csr<T>, context: &Context) -> Result<Csr<T>, Failure> {
        match self.reorder {
            None => Ok(matrix),
            Some(order) => {
                let (reordered, took) = reorder(&matrix, order)?;
                context.printer.detail(format_args!("reordering took {took}"));
                Ok(reordered)
            }
        }
    }
}

/// The matrix in another order, and what that took.
///
/// # Errors
/// As [`OrderFlags::apply`].
pub(crate) fn reorder<T: Scalar>(matrix: &Csr<T>, order: Order) -> Result<(Csr<T>, Seconds), Failure> {
    let start = Instant::now();
    let order = match order {
        Order::Rcm => Permutation::reverse_cuthill_mckee(matrix)?,
    };
    let reordered = order.of_matrix(matrix);
    Ok((reordered, Seconds(start.elapsed().as_secs_f64())))
}
