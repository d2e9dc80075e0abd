//! Progress on stderr with the time left.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// All bars of a run, below each other.
#[derive(Debug, Clone)]
pub(crate) struct Bars {
    all: MultiProgress,
    shown: bool,
}

impl Bars {
    pub(crate) fn new(shown: bool) -> Self {
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Self { all: MultiProgress::with_draw_target(target), shown }
    }

    /// A bar over `total` steps.
    pub(crate) fn add(&self, total: u64, what: &str) -> Progress {
        let bar = self.all.add(ProgressBar::new(total));
        let style = ProgressStyle::with_template("{prefix} {bar:30} {percent:>3} %  {eta} left  {wide_msg}");
        bar.set_style(style.expect("the template is valid"));
        bar.set_prefix(what.to_owned());
        if self.shown {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Progress { bar }
    }

    /// Prints above the bars.
    pub(crate) fn above(&self, print: impl FnOnce()) {
        if self.shown { self.all.suspend(print) } else { print() }
    }
}

/// A bar that clears itself when it is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// `done` steps are behind us; `now` is at hand.
    pub(crate) fn at(&self, done: u64, now: impl Into<String>) {
        self.bar.set_message(now.into());
        self.bar.set_position(done);
    }

    /// `done` of `total`, where the total becomes known on the way.
    pub(crate) fn of(&self, done: u64, total: u64, now: impl Into<String>) {
        self.bar.set_length(total);
        self.at(done, now);
    }

    /// What lies behind was found done: it must not make the rest look fast.
    pub(crate) fn reset(&self) {
        self.bar.reset_eta();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
