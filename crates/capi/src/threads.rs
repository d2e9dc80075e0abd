//! The worker threads, which are rayon's, and forked processes, in which they are missing. The threads are started here, so that a
//! system that gives none is an error and not a panic in the middle of a call.

use crate::failure::Failure;
use crate::status::SS_DEVICE;
use rayon::{ThreadPoolBuildError, ThreadPoolBuilder};
use sparsight::bindings;
use std::error::Error;
use std::sync::OnceLock;

/// The reason why there are none. rayon tries once in the life of a process.
static MISSING: OnceLock<Option<String>> = OnceLock::new();

/// The system's reason; `None` if other code of this process has started them.
fn reason(error: &ThreadPoolBuildError) -> Option<String> {
    error.source().map(ToString::to_string)
}

/// Refuses a forked child of the process that used threads and the driver first: it would wait for ever.
pub(crate) fn refuse_forked() -> Result<(), Failure> {
    bindings::begin().map_err(|forked| {
        let hint = "fork before the first call, or start a new process";
        Failure::new(SS_DEVICE, forked.to_string()).hinted(hint)
    })
}

/// Starts the threads unless they are there, and refuses a forked child.
pub(crate) fn begin() -> Result<(), Failure> {
    refuse_forked()?;
    let missing = MISSING.get_or_init(|| {
        let begun = ThreadPoolBuilder::new().build_global();
        begun.err().as_ref().and_then(reason)
    });
    let Some(reason) = missing else { return Ok(()) };
    let text = format!("the system gives no worker threads: {reason}");
    Err(Failure::new(SS_DEVICE, text).hinted(
        "raise the limits of threads and memory of the process, or set RAYON_NUM_THREADS to a small number, and restart it",
    ))
}
