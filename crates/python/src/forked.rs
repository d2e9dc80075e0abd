//! What a forked process is told, in place of waiting for ever.

use crate::failure::{Failure, Kind};
use sparsight::forked;

/// Whether threads may be asked: an error in a child of the process that asked them first.
pub(crate) fn refuse() -> Result<(), Failure> {
    forked::begin().map_err(|forked| {
        let hint = "start processes anew: multiprocessing.get_context(\"spawn\")";
        Failure::new(Kind::Other, forked.to_string()).hinted(hint)
    })
}
