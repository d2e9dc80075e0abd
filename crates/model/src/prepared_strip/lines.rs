//! The equations of one kernel at one p, all block sizes and both placements side by side.

use super::{BlockTimes, Placed};
use crate::{Line, Regimes, SplitBy, StripFit};
use sparsight_kernels::{BLOCKS, DeviceFacts};
use sparsight_matrix::Bytes;

/// What is being predicted: the sum of the parts of a product so far.
#[derive(Debug)]
pub(super) struct Product<'t> {
    /// Of banded columns.
    pub(super) weight: f64,
    /// Matrix, x and y.
    pub(super) working_set: Bytes,
    pub(super) times: &'t mut BlockTimes,
}

/// Lines over I.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines {
    placements: [PlacedLines; 2],
    /// Present if any equation depends on the working set; then it answers for all.
    regimes: Option<Box<[[Chains; BLOCKS.len()]; 2]>>,
    /// What was last asked for: a block of rows that grows keeps its I for a while.
    last: Last,
}

/// Times of both placements, and where they hold.
#[derive(Debug, Clone, Default)]
struct Last {
    strips: Option<u64>,
    /// No border lies between them.
    working_sets: (Bytes, Bytes),
    times: [BlockTimes; 2],
}

/// One line a block size, for columns at one placement.
#[derive(Debug, Clone, Copy, Default)]
struct PlacedLines {
    slopes: BlockTimes,
    intercepts: BlockTimes,
    floors: BlockTimes,
}

/// An equation, and those that answer where it does not stand: see [`Regimes::of`]. The last one is repeated.
type Chain = [Line; 3];

/// The chains of both sides of a border in the working set.
#[derive(Debug, Clone, Copy)]
struct Chains {
    border: Bytes,
    below: Chain,
    above: Chain,
}

impl Lines {
    /// The lines of `fits` for x of this size and p.
    pub(super) fn set(
        &mut self,
        fits: &[Option<Placed<'_>>; BLOCKS.len()],
        facts: &DeviceFacts,
        x: Bytes,
        row_length: u64,
    ) {
        let nothing = Line { slope: 0.0, intercept: 0.0 };
        let mut chains =
            [[Chains { border: Bytes(u64::MAX), below: [nothing; 3], above: [nothing; 3] }; BLOCKS.len()]; 2];
        let mut is_single = true;
        for (at, fits) in fits.iter().enumerate() {
            for (placement, chains) in chains.iter_mut().enumerate() {
                let Some(fit) = fits.map(|fits| fits[placement]) else { continue };
                let chains = &mut chains[at];
                let chain = |below| chain(&fit.regimes, x, below, row_length);
                (chains.border, chains.below) = chain(true);
                chains.above = chain(false).1;
                is_single &= fit.regimes.is_single();
                let lines = &mut self.placements[placement];
                (lines.slopes[at], lines.intercepts[at]) = (chains.below[0].slope, chains.below[0].intercept);
                lines.floors[at] = fit.floor_s(facts);
            }
        }
        self.regimes = (!is_single).then(|| Box::new(chains));
        self.last.strips = None;
    }

    /// Adds the times at I.
    #[inline]
    pub(super) fn add_to(&mut self, product: &mut Product<'_>, strips: u64) {
        let (from, to) = self.last.working_sets;
        let is_known =
            self.last.strips == Some(strips) && from <= product.working_set && product.working_set <= to;
        if !is_known {
            self.look(strips, product.working_set);
        }
        let [banded, strewn] = &self.last.times;
        let (weight, rest) = (product.weight, 1.0 - product.weight);
        for at in 0..BLOCKS.len() {
            product.times[at] += weight * banded[at] + rest * strewn[at];
        }
    }

    /// Sets what was last asked for.
    fn look(&mut self, strips: u64, working_set: Bytes) {
        let at = strips as f64;
        self.last = match &self.regimes {
            None => Last {
                strips: Some(strips),
                working_sets: (Bytes(0), Bytes(u64::MAX)),
                times: [self.placements[0].times(at), self.placements[1].times(at)],
            },
            Some(chains) => {
                let borders = || chains.iter().flatten().map(|chains| chains.border);
                let passed = borders().filter(|&border| border < working_set).max();
                let next = borders().filter(|&border| border >= working_set).min();
                let from = passed.map_or(Bytes(0), |border| Bytes(border.0 + 1));
                let times = std::array::from_fn(|placement| {
                    let floors = &self.placements[placement].floors;
                    std::array::from_fn(|block| chains[placement][block].time(at, working_set, floors[block]))
                });
                Last { strips: Some(strips), working_sets: (from, next.unwrap_or(Bytes(u64::MAX))), times }
            }
        };
    }
}

impl PlacedLines {
    /// Not below the floors. Copies and a comparison instead of `max`, which has an opinion on NaN: so the compiler looks
    /// at two block sizes with one instruction.
    #[inline]
    fn times(&self, strips: f64) -> BlockTimes {
        let Self { slopes, intercepts, floors } = *self;
        let mut times = floors;
        for at in 0..BLOCKS.len() {
            let time = slopes[at] * strips + intercepts[at];
            times[at] = if time > floors[at] { time } else { floors[at] };
        }
        times
    }
}

impl Chains {
    fn time(&self, strips: f64, working_set: Bytes, floor: f64) -> f64 {
        let chain = if working_set <= self.border { &self.below } else { &self.above };
        chain.iter().map(|line| line.at(strips)).find(|time| *time > floor).unwrap_or(floor)
    }
}

/// The border in the working set, if any, and the equations on one of its sides.
fn chain(regimes: &Regimes, x: Bytes, below: bool, row_length: u64) -> (Bytes, Chain) {
    let (mut border, mut wider, mut at) = (Bytes(u64::MAX), [None, None], regimes);
    let line = |fit: &StripFit| fit.over_strips(row_length);
    while let Regimes::Split(split) = at {
        let is_below = match split.by {
            SplitBy::X => x <= split.border_bytes,
            SplitBy::WorkingSet => {
                border = split.border_bytes;
                below
            }
        };
        // The nearest first.
        wider = [Some(line(&split.whole)), wider[0]];
        at = if is_below { &split.below } else { &split.above };
    }
    let Regimes::Single(own) = at else { unreachable!("the loop ends at a single regime") };
    let own = line(own);
    let second = wider[0].unwrap_or(own);
    (border, [own, second, wider[1].unwrap_or(second)])
}

/// Borders in the working set on the way to any equation, for x of this size; `None` if there are ways with more than one,
/// or with more than two borders of any kind.
pub(super) fn working_set_borders(regimes: &Regimes, x: Bytes) -> Option<usize> {
    fn most(regimes: &Regimes, x: Bytes) -> (usize, usize) {
        let Regimes::Split(split) = regimes else { return (0, 0) };
        let (below, above) = (most(&split.below, x), most(&split.above, x));
        let (own, (inner, all)) = match split.by {
            SplitBy::X => (0, if x <= split.border_bytes { below } else { above }),
            SplitBy::WorkingSet => (1, (below.0.max(above.0), below.1.max(above.1))),
        };
        (own + inner, 1 + all)
    }
    let (borders, all) = most(regimes, x);
    (borders <= 1 && all <= 2).then_some(borders)
}
