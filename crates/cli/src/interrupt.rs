//! Ctrl-C: the first asks to stop after the matrix at hand, keeping everything measured; a second one, half a second later or more, kills.

use crate::failure::{Exit, Failure};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Signals within this time of the first count as one: `timeout` and batch systems signal a process and then its group, and so this process
/// twice.
const AT_ONCE: Duration = Duration::from_millis(500);

/// Interruption by Ctrl-C.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    asked: Arc<AtomicBool>,
    listens: Arc<AtomicBool>,
}

impl Interrupt {
    /// Installs nothing: until [`Interrupt::listen`], Ctrl-C kills at once, as it should where nothing is kept.
    pub(crate) fn new() -> Self {
        Self { asked: Arc::default(), listens: Arc::default() }
    }

    /// Makes the first SIGINT, SIGTERM or SIGHUP only ask from now on. An ignored signal stays ignored: SIGHUP under `nohup`, SIGINT
    /// of what a shell runs in the background.
    pub(crate) fn listen(&self) {
        // A second listener would take the first signal for the second.
        if self.listens.swap(true, Ordering::Relaxed) {
            return;
        }
        let signals = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal));
        let signals: Vec<i32> = signals.collect();
        // Where no thread is to be had to say a word, the signals still count, the second one however soon it comes.
        if self.in_a_thread(&signals).is_none() {
            for signal in signals {
                // In this order: the second one ends the program. It fails for signals alone that cannot be caught.
                let asked = Arc::clone(&self.asked);
                _ = flag::register_conditional_shutdown(signal, Exit::Interrupted as i32, asked);
                _ = flag::register(signal, Arc::clone(&self.asked));
            }
        }
    }

    fn in_a_thread(&self, signals: &[i32]) -> Option<()> {
        let asked = Arc::clone(&self.asked);
        let (begin, begun) = std::sync::mpsc::channel::<Signals>();
        let wait = move || {
            let Ok(mut signals) = begun.recv() else { return };
            let mut first = None;
            for _ in signals.forever() {
                let since = *first.get_or_insert_with(Instant::now);
                if asked.swap(true, Ordering::Relaxed) {
                    if since.elapsed() < AT_ONCE {
                        continue;
                    }
                    std::process::exit(Exit::Interrupted as i32);
                }
                // Progress bars redraw over this line at worst.
                eprintln!("\nstopping after what is being measured now; again to stop at once");
            }
        };
        thread::Builder::new().name("signals".to_owned()).spawn(wait).ok()?;
        begin.send(Signals::new(signals).ok()?).ok()
    }

    /// Returns whether to stop.
    pub(crate) fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// [`Failure::Interrupted`] if someone asked to stop.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.asked() { Err(Failure::Interrupted(String::new())) } else { Ok(()) }
    }
}

/// Returns whether this process was started with a signal ignored; `false` if the system does not say.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
