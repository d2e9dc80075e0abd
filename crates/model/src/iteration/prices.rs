//! The parts of an iteration's cost that do not depend on bytes: launches, and dot products in them.
//!
//! On a GPU these are seconds, not launches: they are made of round trips to the L2 and of starts of thread blocks in which neither the
//! host nor its driver takes part. A launch in a stream costs a quarter more on an H100 than on an H200, an update and a dot product
//! 5 % more. A processor has no graphs: there each is a pass over the rows, which costs a launch.

/// A time with the ends of its interval, seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Span {
    pub(super) low: f64,
    pub(super) time: f64,
    pub(super) high: f64,
}

impl Span {
    const fn of_us(low: f64, time: f64, high: f64) -> Self {
        Self { low: low * 1e-6, time: time * 1e-6, high: high * 1e-6 }
    }

    const fn exactly(time: f64) -> Self {
        Self { low: time, time, high: time }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { low: self.low + other.low, time: self.time + other.time, high: self.high + other.high }
    }

    pub(super) fn times(self, count: f64) -> Self {
        Self { low: count * self.low, time: count * self.time, high: count * self.high }
    }
}

/// The parts of the cost that do not depend on bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Prices {
    /// g.
    pub(super) graph_launch: Span,
    /// e.
    pub(super) epilogue: Span,
    /// d: `last_block`, and `dot` for each dot product.
    pub(super) last_block: Span,
    pub(super) dot: Span,
    /// k.
    pub(super) partial_sum: Span,
    /// s.
    pub(super) sums: Span,
    /// a.
    pub(super) behind: Span,
    /// u.
    pub(super) update: Span,
}

impl Prices {
    /// Measured in CUDA graphs of 20 launches on an H200 and an H100, f64 (docs/models.md): `time` lies between both, `low` and `high`
    /// hold most of what was measured on either, not all. Those of other GPUs were not measured.
    pub(super) const ON_GPU: Self = Self {
        // An empty kernel: 0.72 and 1.02; products of small matrices take 0.55 and 0.85 less than in a stream.
        graph_launch: Span::of_us(0.7, 0.75, 1.0),
        // `s * d[i]` in the launch of products of small matrices.
        epilogue: Span::of_us(0.08, 0.15, 0.3),
        // One and three dot products of up to 700 thread blocks: 1.6 to 2.5 and 1.9 to 3.0 more than the product.
        last_block: Span::of_us(1.45, 1.6, 2.0),
        dot: Span::of_us(0.22, 0.25, 0.31),
        // Three of 350 to 3,600 blocks, less the above.
        partial_sum: Span::of_us(0.0, 0.5e-3, 1e-3),
        // Three of more blocks than run at once, less the above.
        sums: Span::of_us(1.6, 2.0, 3.2),
        // `s * d[i]` behind `coo` and `hyb`.
        behind: Span::of_us(1.0, 1.2, 1.5),
        // The update of CG of 100 to 10,000 rows.
        update: Span::of_us(1.65, 1.8, 2.1),
    };

    /// On a processor, chosen: a pass over the rows costs a launch, all that follows a product is one pass, and a launch in a graph costs
    /// what one of a batch does.
    pub(super) const fn on_processor(launch: f64) -> Self {
        let none = Span::exactly(0.0);
        let pass = Span { low: launch, time: launch, high: 1.5 * launch };
        Self {
            graph_launch: Span::exactly(launch),
            epilogue: pass,
            last_block: pass,
            dot: none,
            partial_sum: none,
            sums: none,
            behind: pass,
            update: pass,
        }
    }
}
