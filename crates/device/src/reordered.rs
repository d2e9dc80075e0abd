//! A matrix whose rows and columns are numbered anew, for vectors in the order that they had.
//!
//! ```text
//! x, old order -> x', new order -> y' = alpha P A P^T x' (+ beta P y) -> y, old order
//! ```
//! Whoever can keep x and y in the new order needs none of this: two passes over vectors are saved in every product.

use crate::DeviceError;
use crate::gpu::{DeviceSlice, DeviceSliceMut, Stream};
use crate::product::{check_length, check_lengths};
use crate::timing::{Batch, Caches};
use crate::{Preparation, Product};
use rayon::prelude::*;
use sparsight_matrix::{Csr, Permutation, ReorderError, Scalar, Seconds, numbered, replace_values};
use std::time::Instant;

/// The matrix in its new order, and what moving its entries took.
///
/// # Errors
/// [`DeviceError::Length`] if the order is not one of so many rows and columns; [`DeviceError::Driver`] if the system refuses the
/// memory.
pub(crate) fn reordered<T: Scalar>(
    a: &Csr<T>,
    order: &Permutation,
) -> Result<(Csr<T>, Seconds), DeviceError> {
    let start = Instant::now();
    check_order(a, order)?;
    let ordered = order.of_matrix(a).map_err(|error| no_memory(&error))?;
    Ok((ordered, Seconds(start.elapsed().as_secs_f64())))
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

/// y = alpha A x + beta y with vectors on the host, by a product of the reordered matrix.
///
/// # Errors
/// As [`Product::multiply`].
pub(crate) fn multiply<T: Scalar>(
    inner: &dyn Product<T>,
    order: &Permutation,
    (alpha, x): (f64, &[T]),
    (beta, y): (f64, &mut [T]),
) -> Result<(), DeviceError> {
    let rows = order.old_of_new();
    check_lengths((rows.len(), rows.len()), x.len(), y.len())?;
    let to_order = |old: &[T]| -> Vec<T> { rows.par_iter().map(|&at| old[at as usize]).collect() };
    // With beta = 0, y is not read: it may hold anything.
    let mut ordered = if beta == 0.0 { vec![T::default(); y.len()] } else { to_order(y) };
    inner.multiply(alpha, &to_order(x), beta, &mut ordered)?;
    for (&at, &value) in rows.iter().zip(&ordered) {
        y[at as usize] = value;
    }
    Ok(())
}

/// [`Product`] of a reordered matrix on a device that works in the host's memory.
pub(crate) struct ReorderedOnHost<T: Scalar> {
    inner: Box<dyn Product<T>>,
    order: Permutation,
    /// Moving the entries and preparing.
    preparation: Preparation,
    /// Where the values of the new order stand in the old one, once that was asked for.
    entries: Option<Vec<T>>,
}

impl<T: Scalar> ReorderedOnHost<T> {
    /// `inner` is the product of the matrix in that order, which `took` so long to make.
    pub(crate) fn new(inner: Box<dyn Product<T>>, order: Permutation, took: Seconds) -> Self {
        let mut preparation = inner.preparation();
        preparation.convert.0 += took.0;
        Self { inner, order, preparation, entries: None }
    }
}

impl<T: Scalar> Product<T> for ReorderedOnHost<T> {
    fn preparation(&self) -> Preparation {
        self.preparation
    }

    fn memory_bytes(&self) -> u64 {
        self.inner.memory_bytes() + 4 * self.order.old_of_new().len() as u64
    }

    fn multiply(&self, alpha: f64, x: &[T], beta: f64, y: &mut [T]) -> Result<(), DeviceError> {
        multiply(self.inner.as_ref(), &self.order, (alpha, x), (beta, y))
    }

    fn multiply_on_device(
        &self,
        _: f64,
        _: DeviceSlice<'_, T>,
        _: f64,
        _: DeviceSliceMut<'_, T>,
        _: Option<Stream<'_>>,
    ) -> Result<(), DeviceError> {
        Err(DeviceError::NoDeviceVectors)
    }

    fn allow_updates(&mut self, a: &Csr<T>) -> Result<(), DeviceError> {
        let entries = entries_in_order(a, &self.order)?;
        let (ordered, _) = reordered(a, &self.order)?;
        self.inner.allow_updates(&ordered)?;
        self.entries = Some(entries);
        Ok(())
    }

    fn update_values(&mut self, values: &[T]) -> Result<(), DeviceError> {
        let entries = self.entries.as_ref().ok_or_else(unknown_places)?;
        check_length("the new values", entries.len(), values.len())?;
        let mut ordered = vec![T::default(); entries.len()];
        replace_values(&mut ordered, entries, values);
        self.inner.update_values(&ordered)
    }

    fn update_values_on_device(
        &mut self,
        _: DeviceSlice<'_, T>,
        _: Option<Stream<'_>>,
    ) -> Result<(), DeviceError> {
        Err(DeviceError::NoDeviceVectors)
    }

    /// With the way there and back, by the clock of the host.
    fn batch(&self, products: u32, caches: Caches) -> Result<Batch, DeviceError> {
        let rows = self.order.old_of_new().len();
        let (x, mut y) = (crate::random_x(rows, 0), vec![T::default(); rows]);
        let mut time = 0.0;
        for _ in 0..products {
            if caches == Caches::Cold {
                // Emptied by a product that is not counted, of the matrix alone.
                self.inner.batch(1, caches)?;
            }
            let start = Instant::now();
            self.multiply(1.0, &x, 0.0, &mut y)?;
            time += start.elapsed().as_secs_f64();
        }
        Ok(Seconds(time).into())
    }
}

/// Entries of another order stand in none of the places that CSR has.
pub(crate) fn unknown_places() -> DeviceError {
    DeviceError::PlacesUnknown { format: "a reordered matrix".to_owned() }
}
