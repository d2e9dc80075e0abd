//! Progress on stderr with the time left: bars on a terminal, a line a minute in the log of a batch job.

use crate::text::shown;
use indicatif::{HumanDuration, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// Form of progress output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Bars that redraw themselves.
    Bars,
    /// A line now and then.
    Lines,
    /// Nowhere.
    No,
}

/// Between two lines of a log. Chosen.
const LINES_EVERY: Duration = Duration::from_secs(60);

/// All bars of a run, below each other.
#[derive(Debug, Clone)]
pub(crate) struct Bars {
    all: MultiProgress,
    shown: Shown,
}

impl Bars {
    pub(crate) fn new(shown: Shown) -> Self {
        let bars = shown == Shown::Bars;
        let target = if bars { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Self { all: MultiProgress::with_draw_target(target), shown }
    }

    /// A bar over `total` steps.
    pub(crate) fn add(&self, total: u64, what: &str) -> Progress {
        let bar = self.all.add(ProgressBar::new(total));
        let style = ProgressStyle::with_template("{prefix} {bar:30} {percent:>3} %  {eta} left  {wide_msg}");
        bar.set_style(style.expect("the template is valid"));
        bar.set_prefix(what.to_owned());
        // The bar starts a thread for that, and panics where there is none to be had.
        if self.shown == Shown::Bars && thread::Builder::new().spawn(|| ()).is_ok() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        let last_line = (self.shown == Shown::Lines).then(|| Mutex::new(Instant::now()));
        Progress { bar, last_line }
    }

    /// Prints above the bars.
    pub(crate) fn above(&self, print: impl FnOnce()) {
        if self.shown == Shown::Bars { self.all.suspend(print) } else { print() }
    }
}

/// A bar that clears itself when it is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Time of the last printed line.
    last_line: Option<Mutex<Instant>>,
}

impl Progress {
    /// `done` steps are behind us; `now` is at hand.
    pub(crate) fn at(&self, done: u64, now: impl Into<String>) {
        self.bar.set_message(shown(&now.into()));
        self.bar.set_position(done);
        let Some(Ok(mut last)) = self.last_line.as_ref().map(Mutex::try_lock) else { return };
        if last.elapsed() >= LINES_EVERY {
            *last = Instant::now();
            eprintln!("{}", self.line());
        }
    }

    /// The bar without the bar.
    fn line(&self) -> String {
        let (done, total) = (self.bar.position(), self.bar.length().unwrap_or(0).max(1));
        let percent = 100.0 * done as f64 / total as f64;
        let left = HumanDuration(self.bar.eta());
        format!("{} {percent:.0} %  {left} left  {}", self.bar.prefix(), self.bar.message())
    }

    /// `done` of `total`, where the total becomes known on the way.
    pub(crate) fn of(&self, done: u64, total: u64, now: impl Into<String>) {
        self.bar.set_length(total);
        self.at(done, now);
    }

    /// Restarts the rate: work that was found done must not make the rest look fast.
    pub(crate) fn reset(&self) {
        self.bar.reset_eta();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_shows_progress_and_remaining_time() {
        let progress = Bars::new(Shown::Lines).add(400, "matrices");
        for done in [0, 100] {
            std::thread::sleep(Duration::from_millis(20));
            progress.at(done, "a/x");
        }
        let line = progress.line();
        assert!(line.starts_with("matrices 25 %  ") && line.ends_with(" left  a/x"), "{line}");
        let left = progress.bar.eta();
        assert!(left > Duration::ZERO && left < Duration::from_secs(300), "{left:?}");
    }
}
