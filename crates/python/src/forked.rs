//! Errors of a forked process, in place of waiting for ever: its parent's threads are not there, and a lock that one of them held
//! stays locked. Whatever asks threads, takes a lock or calls a driver goes through [`work`].

use crate::failure::{Failure, Kind};
use pyo3::prelude::*;
use sparsight::bindings;

/// Returns an error in a child of the process that used threads first.
pub(crate) fn refuse() -> Result<(), Failure> {
    bindings::begin().map_err(|forked| {
        let hint = "start new processes instead: multiprocessing.get_context(\"spawn\")";
        Failure::new(Kind::SparsightError, forked.to_string()).hinted(hint)
    })
}

/// Calls `work` while the interpreter is free, unless this process was forked from one that has worked.
pub(crate) fn work<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    refuse()?;
    Ok(py.detach(work))
}

/// Drops what has to be waited for, while the interpreter is free. In a child it is only forgotten: it is the parent's.
pub(crate) fn give_back<R: Send>(owned: R) {
    if bindings::is_child() {
        std::mem::forget(owned);
        return;
    }
    let mut owned = Some(owned);
    let _ = Python::try_attach(|py| py.detach(|| drop(owned.take())));
}

/// An error in a child of the process that has begun to work; where Python takes a lock of its own, it asks before.
#[pyfunction]
pub(crate) fn refuse_in_child() -> PyResult<()> {
    Ok(refuse()?)
}
