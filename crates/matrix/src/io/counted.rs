//! A reader that counts, for progress.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the bytes read from what it holds.
pub(super) struct Counted<R> {
    inner: R,
    count: Count,
}

/// Bytes read so far; all clones are the same number.
#[derive(Clone, Default)]
pub(super) struct Count(Arc<AtomicU64>);

impl Count {
    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl<R> Counted<R> {
    pub(super) fn new(inner: R) -> (Self, Count) {
        let count = Count::default();
        (Self { inner, count: count.clone() }, count)
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.count.0.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}
