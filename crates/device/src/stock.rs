//! A pool of buffers for the products of one matrix, each of which needs its own.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Pool of idle buffers; it grows to as many as products run at once.
///
/// No lock is held while a product works. It may wait for a thread pool whose threads are given other products with the same
/// matrix: these would wait for the lock, and no thread would be left for what the first one waits for.
#[derive(Debug)]
pub(crate) struct Stock<W>(Mutex<Vec<W>>);

impl<W> Stock<W> {
    /// A pool of these buffers.
    pub(crate) fn of(unused: Vec<W>) -> Self {
        Self(Mutex::new(unused))
    }

    /// Runs `work` with an idle buffer, or with a new one by `make`.
    ///
    /// # Errors
    /// The error of `make` or `work`.
    pub(crate) fn with<R, E>(
        &self,
        make: impl FnOnce() -> Result<W, E>,
        work: impl FnOnce(&mut W) -> Result<R, E>,
    ) -> Result<R, E> {
        let unused = self.unused().pop();
        let mut taken = unused.map_or_else(make, Ok)?;
        let done = work(&mut taken);
        self.unused().push(taken);
        done
    }

    fn unused(&self) -> MutexGuard<'_, Vec<W>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returned_buffers_are_reused_also_after_a_failure() {
        let stock = Stock::of(Vec::new());
        let mut made = 0;
        for failed in [true, false, false] {
            let make = || {
                made += 1;
                Ok(made)
            };
            let done = stock.with(make, |taken| if failed { Err("no") } else { Ok(*taken) });
            assert_eq!(done, if failed { Err("no") } else { Ok(1) });
        }
        let both = stock.with(|| Ok(7), |one| stock.with(|| Ok::<_, ()>(2), |other| Ok((*one, *other))));
        assert_eq!(both, Ok((1, 2)), "two at once do not share");
        assert_eq!(
            stock.with(
                || Err("no room"),
                |_| stock.with(|| Ok(3), |_| stock.with(|| Err("no room"), |_| Ok(())))
            ),
            Err("no room")
        );
    }
}
