//! The end of the process, and its children.

use crate::{report, worker};
use std::panic::catch_unwind;
use std::sync::Once;

/// Has the worker end and the report printed before the process ends, and everything left to cuSPARSE in its children.
pub(crate) fn watch() {
    extern "C" fn at_exit() {
        if !worker::is_stopped() {
            worker::stop();
            let _ = catch_unwind(report::print);
        }
    }
    extern "C" fn in_child() {
        worker::leave();
    }
    static ONCE: Once = Once::new();
    // SAFETY: both functions live as long as the process, since a library that was loaded first is not unloaded.
    ONCE.call_once(|| unsafe {
        libc::atexit(at_exit);
        libc::pthread_atfork(None, None, Some(in_child));
    });
}
