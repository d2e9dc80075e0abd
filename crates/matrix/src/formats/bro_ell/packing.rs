//! A row's columns as differences in a stream of bits, written and read.

use crate::bro_ell_size::BEFORE_FIRST;
use std::iter::StepBy;
use std::slice::Iter;

/// Packs a row's `cols`, entry k into `bits[k]` bits, into every `stride`-th of `symbols` from `at` on. They must hold
/// 0 at first.
///
/// # Panics
/// If the symbols are too few.
pub(super) fn pack(cols: &[u32], bits: &[u8], symbols: &mut [u64], at: usize, stride: usize) {
    let mut symbols = symbols.iter_mut().skip(at).step_by(stride);
    let mut put = |symbol| *symbols.next().expect("a row has symbols for all its bits") = symbol;
    let (mut symbol, mut filled, mut before) = (0, 0, BEFORE_FIRST);
    for (&col, &bits) in cols.iter().zip(bits) {
        let difference = u64::from(col.wrapping_sub(before));
        before = col;
        symbol |= difference << filled;
        filled += u32::from(bits);
        if filled >= u64::BITS {
            put(symbol);
            filled -= u64::BITS;
            symbol = difference >> (u32::from(bits) - filled);
        }
    }
    if filled > 0 {
        put(symbol);
    }
}

/// Columns of a row of a slice, unpacked; it ends where the row does.
#[derive(Debug, Clone)]
pub struct BroEllColumns<'a> {
    bits: Iter<'a, u8>,
    symbols: StepBy<Iter<'a, u64>>,
    /// The `left` bits that have been fetched but not yet been read, with zeros above.
    symbol: u64,
    left: u32,
    before: u32,
}

impl<'a> BroEllColumns<'a> {
    /// Columns of row `at` of a slice with `rows` rows.
    pub(super) fn new(bits: &'a [u8], symbols: &'a [u64], at: usize, rows: usize) -> Self {
        let symbols = symbols.get(at..).unwrap_or_default().iter().step_by(rows);
        Self { bits: bits.iter(), symbols, symbol: 0, left: 0, before: BEFORE_FIRST }
    }
}

impl Iterator for BroEllColumns<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let bits = u32::from(*self.bits.next()?);
        let mut difference = self.symbol;
        if self.left < bits {
            let next = *self.symbols.next().expect("a row has symbols for all its bits");
            difference |= next << self.left;
            self.symbol = next >> (bits - self.left);
            self.left += u64::BITS - bits;
        } else {
            self.symbol >>= bits;
            self.left -= bits;
        }
        difference &= (1 << bits) - 1;
        self.before = self.before.wrapping_add(difference as u32);
        (difference != 0).then_some(self.before)
    }
}
