//! A matrix whose rows and columns are numbered anew, for vectors in the order that they had.
//!
//! ```text
//! x, old order -> x', new order -> y' = alpha P A P^T x' (+ beta P y) -> y, old order
//! ```
//! Whoever can keep x and y in the new order needs none of this: two passes over vectors are saved in every product.

use crate::cpu::Cpu;
use crate::gpu::{DeviceSlice, DeviceSliceMut, Stream};
use crate::product::{check_length, check_lengths};
use crate::stock::Stock;
use crate::timing::{Batch, Caches};
use crate::{Device, DeviceError, Partition, Preparation, Product};
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

/// [`Product`] of a reordered matrix on a device that works in the host's memory.
pub(crate) struct ReorderedOnHost<T: Scalar> {
    cpu: Cpu,
    inner: Box<dyn Product<T>>,
    order: Permutation,
    on_host: OnHost<T>,
    /// Moving the entries and preparing.
    preparation: Preparation,
    /// Where the values of the new order stand in the old one, once that was asked for.
    entries: Option<Vec<T>>,
}

impl<T: Scalar> ReorderedOnHost<T> {
    /// # Errors
    /// As [`reordered`], and those of loading the matrix in its new order.
    pub(crate) fn load(
        cpu: &Cpu,
        a: &Csr<T>,
        order: &Permutation,
        partition: &Partition,
    ) -> Result<Self, DeviceError> {
        let (ordered, took) = cpu.run(|| reordered(a, order))?;
        let inner = cpu.load_parts(&ordered, partition)?;
        let mut preparation = inner.preparation();
        preparation.convert.0 += took.0;
        let (cpu, on_host, order) = (cpu.clone(), OnHost::of(order)?, order.clone());
        Ok(Self { cpu, inner, order, on_host, preparation, entries: None })
    }
}

impl<T: Scalar> Product<T> for ReorderedOnHost<T> {
    fn preparation(&self) -> Preparation {
        self.preparation
    }

    fn memory_bytes(&self) -> u64 {
        self.inner.memory_bytes() + 2 * 4 * self.on_host.rows() as u64
    }

    fn multiply(&self, alpha: f64, x: &[T], beta: f64, y: &mut [T]) -> Result<(), DeviceError> {
        self.cpu.run(|| self.on_host.multiply(self.inner.as_ref(), (alpha, x), (beta, y)))
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
        let (ordered, _) = self.cpu.run(|| reordered(a, &self.order))?;
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
        let rows = self.on_host.rows();
        let (x, mut y) = (crate::random_x(rows, 0), vec![T::default(); rows]);
        let mut ended = Ok(());
        let time = self.cpu.time(products, caches, || {
            let product = self.on_host.multiply(self.inner.as_ref(), (1.0, &x), (0.0, &mut y));
            ended = std::mem::replace(&mut ended, Ok(())).and(product);
        });
        ended.map(|()| time.into())
    }
}

/// Entries of another order stand in none of the places that CSR has.
pub(crate) fn unknown_places() -> DeviceError {
    DeviceError::PlacesUnknown { format: "a reordered matrix".to_owned() }
}
