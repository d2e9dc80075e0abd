//! The equations of one kernel at one p, all block sizes and both placements.

use super::Placed;
use crate::{Footprint, Line, Regimes, SplitBy};
use sparsight_kernels::{BLOCKS, DeviceFacts};
use sparsight_matrix::Bytes;

/// Lines over I, for banded and for scattered columns, one a block size.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines {
    equations: [[Equation; 2]; BLOCKS.len()],
    /// True if the first line of every equation answers alone.
    is_single: bool,
}

/// `T(I)` of one block size and placement: the first line that lies above the floor, see [`Regimes::of`]; the last one is
/// repeated.
#[derive(Debug, Clone, Copy)]
struct Equation {
    lines: [Line; 3],
    floor: f64,
}

impl Default for Equation {
    fn default() -> Self {
        Self { lines: [Line { slope: 0.0, intercept: 0.0 }; 3], floor: 0.0 }
    }
}

impl Lines {
    /// The lines of `fits` at one p, where x and the working set lie between the same borders as `footprint`.
    pub(super) fn new(
        fits: &[Option<Placed<'_>>; BLOCKS.len()],
        facts: &DeviceFacts,
        footprint: &Footprint,
        row_length: u64,
    ) -> Self {
        let mut lines = Self { is_single: true, ..Self::default() };
        for (fits, equations) in fits.iter().zip(&mut lines.equations) {
            for (fit, equation) in fits.iter().flatten().zip(equations) {
                let lines = chain(&fit.regimes, footprint, row_length);
                *equation = Equation { lines, floor: fit.floor_s(facts) };
            }
            lines.is_single &= fits.iter().flatten().all(|fit| fit.regimes.is_single());
        }
        lines
    }

    /// Returns whether one block size is never slower than another one for any I from `first` to `last`, whatever the columns.
    pub(super) fn undercuts(&self, one: usize, other: usize, first: f64, last: f64) -> bool {
        let is_below = |(a, b): (&Equation, &Equation)| {
            let at = |strips: f64| a.lines[0].at(strips) <= b.lines[0].at(strips);
            a.floor <= b.floor && at(first) && at(last)
        };
        self.is_single && self.equations[one].iter().zip(&self.equations[other]).all(is_below)
    }

    /// Hands out the time of each I: `each(k, T)`. `banded`: what banded columns weigh.
    #[inline]
    pub(super) fn for_each(
        &self,
        block: usize,
        (strips, banded): (&[f64], &[f64]),
        into: &mut [f64],
        each: impl Fn(&mut f64, f64),
    ) {
        let [near, far] = &self.equations[block];
        // Two loops instead of a question in one: so the compiler looks at several I with one instruction.
        let matrices = into.iter_mut().zip(strips).zip(banded);
        if self.is_single {
            for ((into, &strips), &banded) in matrices {
                each(into, mix(banded, near.single(strips), far.single(strips)));
            }
        } else {
            for ((into, &strips), &banded) in matrices {
                each(into, mix(banded, near.chained(strips), far.chained(strips)));
            }
        }
    }
}

impl Equation {
    #[inline]
    fn single(&self, strips: f64) -> f64 {
        greater(self.lines[0].at(strips), self.floor)
    }

    #[inline]
    fn chained(&self, strips: f64) -> f64 {
        let [own, wider, widest] = self.lines.map(|line| line.at(strips));
        let otherwise = if wider > self.floor { wider } else { greater(widest, self.floor) };
        if own > self.floor { own } else { otherwise }
    }
}

#[inline]
fn mix(weight: f64, first: f64, second: f64) -> f64 {
    second + weight * (first - second)
}

/// Not `max`, which takes more instructions since it has an opinion on NaN.
#[inline]
fn greater(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The equation for a footprint and those that answer where it does not stand, the nearest first.
fn chain(regimes: &Regimes, footprint: &Footprint, row_length: u64) -> [Line; 3] {
    let (mut wider, mut at) = ([None, None], regimes);
    while let Regimes::Split(split) = at {
        wider = [Some(split.whole.over_strips(row_length)), wider[0]];
        at = if split.by.of(footprint) <= split.border_bytes { &split.below } else { &split.above };
    }
    let Regimes::Single(own) = at else { unreachable!("the loop ends at a single regime") };
    let own = own.over_strips(row_length);
    let second = wider[0].unwrap_or(own);
    [own, second, wider[1].unwrap_or(second)]
}

/// Adds the borders in the working set on the way to any equation, for x of this size; `None` if there is a way with more
/// borders than an [`Equation`] has lines for.
pub(super) fn add_borders(regimes: &Regimes, x: Bytes, borders: &mut Vec<Bytes>) -> Option<()> {
    fn add(regimes: &Regimes, x: Bytes, depth: usize, borders: &mut Vec<Bytes>) -> Option<()> {
        let Regimes::Split(split) = regimes else { return Some(()) };
        let is_asked = |is_below: bool| match split.by {
            SplitBy::X => (x <= split.border_bytes) == is_below,
            SplitBy::WorkingSet => true,
        };
        if split.by == SplitBy::WorkingSet {
            borders.push(split.border_bytes);
        }
        for (side, is_below) in [(&split.below, true), (&split.above, false)] {
            if is_asked(is_below) {
                add(side, x, depth.checked_sub(1)?, borders)?;
            }
        }
        Some(())
    }
    add(regimes, x, 2, borders)
}
