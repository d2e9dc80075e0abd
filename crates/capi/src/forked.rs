//! A process that was forked has none of its parent's threads, and could not use its GPU: it is told so, in place of waiting for ever.

use crate::failure::Failure;
use crate::status::SS_DEVICE;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// The process that began to work.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Whether threads may be asked: an error in a child of the process that asked them first.
pub(crate) fn refuse() -> Result<(), Failure> {
    let own = process::id();
    match OWNER.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed) {
        Err(owner) if owner != own => {
            let text = "this process was forked from one in which sparsight had begun to work";
            Err(Failure::new(SS_DEVICE, text).hinted("fork before the first call, or start processes anew"))
        }
        _ => Ok(()),
    }
}
