//! Room that the products of one matrix work in, each in some that no other uses meanwhile.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What nobody uses now; as many are made as products run at once.
///
/// No lock is held while a product works. It may wait for a thread pool whose threads are given other products with the same
/// matrix: these would wait for the lock, and nobody would be left to run what the first one waits for.
#[derive(Debug)]
pub(crate) struct Stock<W>(Mutex<Vec<W>>);

impl<W> Stock<W> {
    /// With what is there already.
    pub(crate) fn of(unused: Vec<W>) -> Self {
        Self(Mutex::new(unused))
    }

    /// Gives `work` something unused, or what `make` makes where nothing is.
    ///
    /// # Errors
    /// That of `make` or of `work`.
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
    fn what_was_given_back_is_taken_again_also_after_a_failure() {
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
