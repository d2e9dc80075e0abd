//! A matrix whose rows and columns are reordered, for vectors in their old order.
//!
//! ```text
//! x, old order -> x', new order -> y' = alpha P A P^T x' (+ beta P y) -> y, old order
//! ```
//! A caller that keeps x and y in the new order prepares the reordered matrix itself, and saves two passes over vectors in every product.

use crate::lengths::{check_length, check_lengths};
use crate::stock::Stock;
use crate::timing::try_took;
use crate::{DeviceError, Product};
use rayon::prelude::*;
use sparsight_matrix::{Csr, Permutation, ReorderError, Scalar, Seconds, numbered};

/// The matrix in its new order, and what moving its entries took.
///
/// # Errors
/// [`DeviceError::Length`] if the order is not one of so many rows and columns; [`DeviceError::Driver`] if the system refuses the
/// memory.
pub(crate) fn reordered<T: Scalar>(
    a: &Csr<T>,
    order: &Permutation,
) -> Result<(Csr<T>, Seconds), DeviceError> {
    check_order(a, order)?;
    try_took(|| order.of_matrix(a).map_err(|error| no_memory(&error)))
}

fn check_order<T: Scalar>(a: &Csr<T>, order: &Permutation) -> Result<(), DeviceError> {
    let rows = order.old_of_new().len();
    check_length("the order", a.nrows(), rows)?;
    check_length("the order", a.ncols(), rows)
}

fn no_memory(error: &ReorderError) -> DeviceError {
    DeviceError::Driver { call: "reordering".to_owned(), reason: error.to_string() }
}

/// The number of each entry of the new order in the old one, as [`numbered`] writes it.
///
/// # Errors
/// As [`reordered`]; [`DeviceError::Infeasible`] if there are more entries than a value has room to number.
pub(crate) fn entries_in_order<T: Scalar>(a: &Csr<T>, order: &Permutation) -> Result<Vec<T>, DeviceError> {
    check_order(a, order)?;
    let ordered = order.of_matrix(&numbered(a)?).map_err(|error| no_memory(&error))?;
    Ok(ordered.values().to_vec())
}

/// An order, and vectors of the host in it.
#[derive(Debug)]
pub(crate) struct OnHost<T> {
    old_of_new: Vec<u32>,
    new_of_old: Vec<u32>,
    /// x and y in the new order.
    vectors: Stock<(Vec<T>, Vec<T>)>,
}

impl<T: Scalar> OnHost<T> {
    /// # Errors
    /// [`DeviceError::Driver`] if the system refuses the memory.
    pub(crate) fn of(order: &Permutation) -> Result<Self, DeviceError> {
        let new_of_old = order.new_of_old().map_err(|error| no_memory(&error))?;
        Ok(Self { old_of_new: order.old_of_new().to_vec(), new_of_old, vectors: Stock::of(Vec::new()) })
    }

    pub(crate) fn rows(&self) -> usize {
        self.old_of_new.len()
    }

    /// y = alpha A x + beta y with vectors on the host, by a product of the reordered matrix. Allocates nothing once as many products
    /// ran as run at one time.
    ///
    /// # Errors
    /// As [`Product::multiply`].
    pub(crate) fn multiply(
        &self,
        inner: &dyn Product<T>,
        (alpha, x): (f64, &[T]),
        (beta, y): (f64, &mut [T]),
    ) -> Result<(), DeviceError> {
        let rows = self.rows();
        check_lengths((rows, rows), x.len(), y.len())?;
        let room = || Ok((vec![T::default(); rows], vec![T::default(); rows]));
        self.vectors.with(room, |(ordered_x, ordered_y)| {
            moved(&self.old_of_new, x, ordered_x);
            // With beta = 0, y is not read: it may hold anything.
            if beta != 0.0 {
                moved(&self.old_of_new, y, ordered_y);
            }
            inner.multiply(alpha, ordered_x, beta, ordered_y)?;
            moved(&self.new_of_old, ordered_y, y);
            Ok(())
        })
    }
}

/// Entry i of `to` becomes the entry of `from` with the number `places[i]`.
fn moved<T: Scalar>(places: &[u32], from: &[T], to: &mut [T]) {
    to.par_iter_mut().zip(places).for_each(|(to, &place)| *to = from[place as usize]);
}

/// Entries of another order stand in none of the places that CSR has.
pub(crate) fn unknown_places() -> DeviceError {
    DeviceError::PlacesUnknown { format: "a reordered matrix".to_owned() }
}
