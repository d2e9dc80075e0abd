//! Memory of a device that a program may give back before the object ends.

use crate::failure::{Failure, Kind};
use crate::forked;
use pyo3::prelude::*;
use sparsight::calibrate::OpenDevice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

/// What holds the memory, until it is freed. Several threads may read it.
pub(crate) struct Freeable<P: Send + Sync> {
    /// `None` after `free`.
    owned: RwLock<Option<P>>,
    /// Known without the lock.
    is_freed: AtomicBool,
}

pub(crate) fn freed() -> Failure {
    Failure::new(Kind::SparsightError, "the operator was freed").hinted("prepare the plan again")
}

impl<P: Send + Sync> Freeable<P> {
    pub(crate) fn new(owned: P) -> Self {
        Self { owned: RwLock::new(Some(owned)), is_freed: AtomicBool::new(false) }
    }

    /// Calls `work` while the interpreter is free.
    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&P) -> Result<R, Failure> + Send,
    ) -> PyResult<R> {
        let done = forked::work(py, || {
            let owned = self.owned.read().unwrap_or_else(PoisonError::into_inner);
            work(owned.as_ref().ok_or_else(freed)?)
        })?;
        Ok(done?)
    }

    /// Likewise, while no other thread reads it and nothing is under way on the device.
    pub(crate) fn change(
        &self,
        py: Python<'_>,
        device: &OpenDevice,
        work: impl FnOnce(&mut P) -> Result<(), Failure> + Send,
    ) -> PyResult<()> {
        let done = forked::work(py, || {
            let mut owned = self.owned.write().unwrap_or_else(PoisonError::into_inner);
            let owned = owned.as_mut().ok_or_else(freed)?;
            // Products may be under way in any stream, and the caller that queues the next one does not know of this.
            device.wait_for_all()?;
            work(owned)?;
            Ok::<_, Failure>(device.wait_for_all()?)
        })?;
        Ok(done?)
    }

    /// Gives its memory back now. Waits for what is queued. In a forked process it is the parent's, and stays.
    pub(crate) fn free(&self, py: Python<'_>) {
        self.is_freed.store(true, Ordering::Relaxed);
        if !sparsight::bindings::is_child() {
            py.detach(|| {
                self.owned.write().unwrap_or_else(PoisonError::into_inner).take();
            });
        }
    }

    /// True if `free` was called.
    pub(crate) fn is_freed(&self) -> bool {
        self.is_freed.load(Ordering::Relaxed)
    }
}

/// Memory of a GPU is given back when what uses it has ended: other threads go on meanwhile.
impl<P: Send + Sync> Drop for Freeable<P> {
    fn drop(&mut self) {
        forked::give_back(self.owned.get_mut().unwrap_or_else(PoisonError::into_inner).take());
    }
}
