//! What a forked process is told, in place of waiting for ever.

use crate::failure::Failure;
use crate::status::SS_DEVICE;
use sparsight::bindings;

pub(crate) use sparsight::bindings::is_child;

/// Whether threads and the driver may be asked: an error in a child of the process that asked them first.
pub(crate) fn refuse() -> Result<(), Failure> {
    bindings::begin().map_err(|forked| {
        let hint = "fork before the first call, or start processes anew";
        Failure::new(SS_DEVICE, forked.to_string()).hinted(hint)
    })
}
