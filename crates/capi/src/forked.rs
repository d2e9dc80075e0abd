//! A process that was forked has none of its parent's threads, and could not use its GPU: it is told so, in place of waiting for ever.

use crate::failure::Failure;
use crate::status::SS_DEVICE;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// The process that began to work, 0 as long as none did.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Whether this is a child of the process that began to work: what it has of its parent is of no use to it.
pub(crate) fn is_child() -> bool {
    let owner = OWNER.load(Ordering::Relaxed);
    owner != 0 && owner != process::id()
}

/// Whether threads and the driver may be asked: an error in a child of the process that asked them first.
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
