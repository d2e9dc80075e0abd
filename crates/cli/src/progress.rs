//! Progress on stderr with the time left.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// A bar that clears itself when it is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    pub(crate) fn new(total: u64, what: &str, shown: bool) -> Self {
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(total), target);
        let style = ProgressStyle::with_template("{prefix} {bar:30} {percent:>3} %  {eta} left  {wide_msg}");
        bar.set_style(style.expect("the template is valid"));
        bar.set_prefix(what.to_owned());
        if shown {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Self { bar }
    }

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

    /// Prints above the bar.
    pub(crate) fn above(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
