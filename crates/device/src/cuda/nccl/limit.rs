//! Calls that may wait for other ranks, with a limit.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// While it lives, a thread waits; when the time is over, it acts.
#[derive(Debug)]
pub(super) struct Limit {
    over: Arc<(Mutex<bool>, Condvar)>,
}

impl Limit {
    /// `act` is called after `limit`, unless what is returned was dropped before.
    pub(super) fn begin(limit: Duration, act: impl FnOnce() + Send + 'static) -> Self {
        let over = Arc::new((Mutex::new(false), Condvar::new()));
        let seen = Arc::clone(&over);
        thread::spawn(move || {
            let (is_over, changed) = &*seen;
            let is_over = is_over.lock().unwrap_or_else(PoisonError::into_inner);
            let waited = changed.wait_timeout_while(is_over, limit, |is_over| !*is_over);
            let (is_over, _) = waited.unwrap_or_else(PoisonError::into_inner);
            let is_late = !*is_over;
            drop(is_over);
            if is_late {
                act();
            }
        });
        Self { over }
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        *self.over.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.over.1.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn it_acts_when_the_time_is_over_and_not_when_it_was_dropped() {
        let (send, acted) = mpsc::channel();
        let late = send.clone();
        let limit = Limit::begin(Duration::from_millis(1), move || late.send("late").unwrap());
        assert_eq!(acted.recv_timeout(Duration::from_secs(10)), Ok("late"));
        drop(limit);
        let limit = Limit::begin(Duration::from_secs(3600), move || send.send("early").unwrap());
        drop(limit);
        // The thread ends and drops its sender.
        assert_eq!(acted.recv_timeout(Duration::from_secs(10)), Err(mpsc::RecvTimeoutError::Disconnected));
    }
}
