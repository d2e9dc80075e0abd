//! A process that was forked from one in which this library has worked: it has none of its parent's threads, and could not use its GPU.
//!
//! Programs in Rust start processes anew, but hosts of a binding fork. A binding calls [`begin`] wherever threads or a driver would
//! be asked, so that a child is told, in place of waiting for ever; locks that a thread of the parent held stay locked in the child.

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use thiserror::Error;

/// What a child of the process that began to work is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("this process was forked from one in which sparsight had begun to work")]
pub struct Forked;

/// The process that began to work, 0 as long as none did.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// This process works from now on, unless its parent did before it was forked.
///
/// # Errors
/// [`Forked`] in a child of the process that called this first.
pub fn begin() -> Result<(), Forked> {
    let own = process::id();
    match OWNER.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed) {
        Err(owner) if owner != own => Err(Forked),
        _ => Ok(()),
    }
}

/// Whether this is a child of the process that began to work: what it has of its parent is of no use to it, and cannot be given back.
pub fn is_child() -> bool {
    let owner = OWNER.load(Ordering::Relaxed);
    owner != 0 && owner != process::id()
}

#[cfg(test)]
mod tests {
    use super::*;

    // A child: crates/capi/tests/forked.c.
    #[test]
    fn a_process_that_began_goes_on() {
        assert!(!is_child());
        assert_eq!((begin(), begin()), (Ok(()), Ok(())));
        assert!(!is_child());
    }
}
