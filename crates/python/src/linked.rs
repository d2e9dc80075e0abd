//! Common part of operators of several GPUs, of one process or of several: products that come one after the other, and
//! memory that is given back.

use crate::advice::Advice;
use crate::failure::Failure;
use crate::forked;
use crate::freeable::freed;
use crate::on_gpus::Parts;
use crate::pieces::Piecewise;
use pyo3::prelude::*;
use sparsight::Advisor;
use sparsight::answer::OnGpus;
use sparsight::distributed::Distributed;
use sparsight::matrix::Csr;
use sparsight::profile::KnownLinks;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lock around all work that several GPUs do together. Two products at a time, begun in one order on one GPU and in another
/// order on the next, would wait for each other.
static TOGETHER: Mutex<()> = Mutex::new(());

pub(crate) fn together() -> MutexGuard<'static, ()> {
    TOGETHER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// State of an operator of several GPUs until it is freed.
pub(crate) struct Linked<P: Send> {
    /// `None` after `free`.
    product: Mutex<Option<P>>,
    is_freed: AtomicBool,
}

impl<P: Send> Linked<P> {
    pub(crate) fn new(product: P) -> Self {
        Self { product: Mutex::new(Some(product)), is_freed: AtomicBool::new(false) }
    }

    /// Calls `work` while the interpreter is free and no other product of several GPUs is under way in this process.
    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut P) -> Result<R, Failure> + Send,
    ) -> PyResult<R> {
        let done = forked::work(py, || {
            let mut product = self.product.lock().unwrap_or_else(PoisonError::into_inner);
            let product = product.as_mut().ok_or_else(freed)?;
            let _together = together();
            work(product)
        })?;
        Ok(done?)
    }

    /// Gives the memory back now. Waits for what is queued.
    pub(crate) fn free(&self, py: Python<'_>) {
        self.is_freed.store(true, Ordering::Relaxed);
        py.detach(|| self.give_back());
    }

    /// True if `free` was called.
    pub(crate) fn is_freed(&self) -> bool {
        self.is_freed.load(Ordering::Relaxed)
    }

    fn give_back(&self) {
        // In a forked process a thread of the parent may hold the locks for ever.
        if sparsight::bindings::is_child() {
            // What it has of the GPUs is the parent's.
            std::mem::forget(self.product.try_lock().ok().and_then(|mut product| product.take()));
            return;
        }
        let mut product = self.product.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(product) = product.take() {
            let _together = together();
            drop(product);
        }
    }
}

/// Memory of GPUs is given back when what uses it has ended: other threads go on meanwhile.
impl<P: Send> Drop for Linked<P> {
    fn drop(&mut self) {
        let _ = Python::try_attach(|py| py.detach(|| self.give_back()));
    }
}

/// The rows of a matrix dealt out to so many GPUs, and what is predicted of that.
pub(crate) fn planned<T: Piecewise>(
    a: &Csr<T>,
    advice: &Advice,
    count: usize,
    parts: &Parts,
    known: &KnownLinks,
) -> Result<(Distributed<T>, OnGpus), Failure> {
    let one = advice.ranking.ours().next().map(|best| best.prediction.time);
    let deal = parts.deal((a.nrows(), a.ncols()), count)?;
    let advisor = Advisor::new(&advice.profile);
    let distributed = advisor.distribute(a, count, &deal, &known.links, &advice.objective)?;
    let planned = OnGpus::several(&distributed.plan, one, known.measured_on);
    Ok((distributed, planned))
}
