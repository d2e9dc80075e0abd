//! The product that a prepared matrix and its products with epilogues have in common.

use sparsight_device::Product;
use sparsight_matrix::Scalar;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};
use std::thread;

/// A product with several owners: it is read by products side by side, and written where values are replaced.
pub(super) struct SharedProduct<T: Scalar>(Arc<RwLock<Box<dyn Product<T>>>>);

impl<T: Scalar> Clone for SharedProduct<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Scalar> SharedProduct<T> {
    pub(super) fn of(product: Box<dyn Product<T>>) -> Self {
        Self(Arc::new(RwLock::new(product)))
    }

    pub(super) fn read(&self) -> RwLockReadGuard<'_, Box<dyn Product<T>>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no product is being queued or, on a CPU, runs. It stands in no queue of the lock: a thread of a pool that waits within
    /// a product may begin another one of the same matrix, which must not wait for this.
    pub(super) fn write(&self) -> RwLockWriteGuard<'_, Box<dyn Product<T>>> {
        loop {
            match self.0.try_write() {
                Ok(product) => return product,
                Err(TryLockError::Poisoned(product)) => return product.into_inner(),
                Err(TryLockError::WouldBlock) => thread::yield_now(),
            }
        }
    }
}
