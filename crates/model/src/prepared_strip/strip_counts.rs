//! I of one matrix after another.

use sparsight_kernels::{Strip, StripUnit};

/// Rows, non-zeros and what else strips count, of one matrix after another: whole numbers that a float holds exactly.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    rows: Vec<f64>,
    non_zeros: Vec<f64>,
    items: Vec<f64>,
    /// Non-zeros of HYB's COO part.
    rest: Vec<f64>,
}

/// The unit of a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    Unit(StripUnit),
    /// Non-zeros of HYB's COO part.
    Rest,
}

/// I for one size of a strip: `ceil(count / S)`.
#[derive(Debug, Clone)]
pub(super) struct StripCounts {
    counted: Counted,
    strip: Strip,
    /// Counts that were computed for `strips`. Blocks of a matrix that begin elsewhere have mostly as many rows.
    counts: Vec<f64>,
    strips: Vec<f64>,
}

impl Counts {
    pub(super) fn clear(&mut self) {
        for counts in [&mut self.rows, &mut self.non_zeros, &mut self.items, &mut self.rest] {
            counts.clear();
        }
    }

    /// Returns whether these are no fewer than the last ones.
    pub(super) fn may_precede(&self, nrows: u64, nnz: u64) -> bool {
        let is_less = |last: Option<&f64>, next: u64| last.is_some_and(|&last| (next as f64) < last);
        !is_less(self.rows.last(), nrows) && !is_less(self.non_zeros.last(), nnz)
    }

    pub(super) fn push(&mut self, nrows: u64, nnz: u64, rest: u64) {
        self.rows.push(nrows as f64);
        self.non_zeros.push(nnz as f64);
        self.items.push(StripUnit::Items.count(nrows, nnz) as f64);
        self.rest.push(rest as f64);
    }

    fn of(&self, counted: Counted) -> &[f64] {
        match counted {
            Counted::Unit(StripUnit::Rows) => &self.rows,
            Counted::Unit(StripUnit::NonZeros) => &self.non_zeros,
            Counted::Unit(StripUnit::Items) => &self.items,
            Counted::Rest => &self.rest,
        }
    }
}

impl StripCounts {
    pub(super) fn new(counted: Counted, strip: Strip) -> Self {
        Self { counted, strip, counts: Vec::new(), strips: Vec::new() }
    }

    pub(super) fn is_of(&self, counted: Counted, strip: Strip) -> bool {
        (self.counted, self.strip) == (counted, strip)
    }

    /// I of the matrices counted last.
    pub(super) fn get(&self) -> &[f64] {
        &self.strips
    }

    /// Makes it that of `counts`.
    pub(super) fn update(&mut self, counts: &Counts) {
        let now = counts.of(self.counted);
        let known =
            self.counts.iter().zip(now).take_while(|(known, now)| known.to_bits() == now.to_bits()).count();
        self.counts.truncate(known);
        self.strips.truncate(known);
        self.counts.extend_from_slice(&now[known..]);
        let size = self.strip.size as f64;
        self.strips.extend(now[known..].iter().map(|count| ceil(count / size)));
    }
}

/// `x.ceil()` for numbers from 0 to 2^51, in instructions that every machine has for several numbers at once.
#[inline]
fn ceil(x: f64) -> f64 {
    /// No float from here to twice as much has a fraction.
    const WHOLE: f64 = (1_u64 << 52) as f64;
    let near = (x + WHOLE) - WHOLE;
    if near < x { near + 1.0 } else { near }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_are_those_of_the_whole_numbers() {
        let mut counts = Counts::default();
        let sizes = [1, 3, 128, 8448, 270_336];
        let mut columns = sizes.map(|size| {
            StripCounts::new(Counted::Unit(StripUnit::NonZeros), Strip { unit: StripUnit::NonZeros, size })
        });
        // The second time the first ones are known.
        for last in [1_u64 << 40, 270_337] {
            let all = (0..3000).chain([8447, 8448, 8449, 270_336, 270_337, 4_294_967_297, last]);
            counts.clear();
            all.clone().for_each(|count| counts.push(0, count, 0));
            for column in &mut columns {
                column.update(&counts);
                let exact: Vec<f64> = all.clone().map(|count| column.strip.strips(count) as f64).collect();
                assert_eq!(column.get(), exact);
            }
        }
    }
}
