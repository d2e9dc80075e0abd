//! Numbers that follow from a seed, the same on every machine.

use sparsight_matrix::mix;

/// Numbers that follow from a seed.
#[derive(Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        mix(self.0)
    }

    /// From 0 to 1.
    pub(crate) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns whether something with this chance happens.
    pub(crate) fn happens(&mut self, chance: f64) -> bool {
        self.share() <= chance
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}
