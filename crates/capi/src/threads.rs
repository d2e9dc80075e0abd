//! The worker threads, which are rayon's: begun here, so that a system that gives none is an error in place of a panic in the middle
//! of a call.

use crate::failure::Failure;
use crate::forked;
use crate::status::SS_DEVICE;
use rayon::{ThreadPoolBuildError, ThreadPoolBuilder};
use std::error::Error;
use std::sync::OnceLock;

/// Why there are none. rayon tries once in the life of a process.
static MISSING: OnceLock<Option<String>> = OnceLock::new();

/// The system's reason; `None` where somebody else in this process has begun them.
fn reason(error: &ThreadPoolBuildError) -> Option<String> {
    error.source().map(ToString::to_string)
}

/// Begins them, unless they are there; what can be refused in a forked child is.
pub(crate) fn begin() -> Result<(), Failure> {
    forked::refuse()?;
    let missing = MISSING.get_or_init(|| {
        let begun = ThreadPoolBuilder::new().build_global();
        begun.err().as_ref().and_then(reason)
    });
    let Some(reason) = missing else { return Ok(()) };
    let text = format!("the system gives no worker threads: {reason}");
    Err(Failure::new(SS_DEVICE, text).hinted(
        "raise the limits of threads and memory of the process, or set RAYON_NUM_THREADS to a small number, and start it anew",
    ))
}
