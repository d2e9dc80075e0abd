//! Ctrl-C: the first asks to stop after the matrix at hand, keeping everything measured; the second kills.

use crate::failure::{Exit, Failure};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether someone asked to stop.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    asked: Arc<AtomicBool>,
}

impl Interrupt {
    /// Installs nothing: until [`Interrupt::listen`], Ctrl-C kills at once, as it should where nothing is kept.
    pub(crate) fn new() -> Self {
        Self { asked: Arc::new(AtomicBool::new(false)) }
    }

    /// From now on the first SIGINT, SIGTERM or SIGHUP only asks.
    pub(crate) fn listen(&self) {
        let asked = Arc::clone(&self.asked);
        let handler = move || {
            if asked.swap(true, Ordering::Relaxed) {
                std::process::exit(Exit::Interrupted as i32);
            }
            // Progress bars redraw over this line at worst.
            eprintln!("\nstopping after what is being measured now; again to stop at once");
        };
        // It fails only if a handler is there already, which would be ours.
        _ = ctrlc::set_handler(handler);
    }

    /// Whether to stop.
    pub(crate) fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// [`Failure::Interrupted`] if someone asked to stop.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.asked() { Err(Failure::Interrupted(String::new())) } else { Ok(()) }
    }
}
