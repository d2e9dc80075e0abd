//! Plan and predicted time of a matrix on several GPUs.

use crate::advise::Advised;
use crate::{Advisor, Error, Objective, Profile};
use rayon::prelude::*;
use sparsight_device::Partition;
use sparsight_device::gpu::SharePlan;
use sparsight_kernels::Candidate;
use sparsight_matrix::{Bytes, Csr, Distribution, Dtype, Features, Infeasible, Scalar, Seconds, Share};
use sparsight_model::{Exchanged, Links, Prediction, ShareTimes};

/// Distribution of the rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Deal {
    /// Blocks of rows in their order, cut so that all GPUs are predicted to take the same time.
    InOrder,
    /// Distribution from an external graph partitioner.
    Given(Distribution),
}

/// A matrix on several GPUs of one kind, as predicted.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DistributedPlan {
    /// The shares of the GPUs, by rank.
    pub shares: Vec<PlannedShare>,
    /// Time of one product: that of the slowest GPU.
    pub time: Seconds,
    /// The ends of its interval: as if all rows went wrong in one direction, and what products on several GPUs were off by beside that.
    pub low: Seconds,
    /// The upper end.
    pub high: Seconds,
    /// Limit of the product.
    pub limit: GpuLimit,
}

/// Share of one GPU in a product.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PlannedShare {
    /// Rows that read its own entries of x alone.
    pub interior: PlannedRows,
    /// Rows that read others' entries, too.
    pub boundary: PlannedRows,
    /// Exchange with each of its peers.
    pub exchanged: Vec<Exchanged>,
    /// Predicted times of its steps.
    pub times: ShareTimes,
    /// Predicted time of its part of a product.
    pub time: Seconds,
    /// The matrix, x and y on it, with what the exchange needs.
    pub memory: Bytes,
}

/// Some rows of a share.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PlannedRows {
    /// Number of rows.
    pub rows: u64,
    /// Non-zeros in them.
    pub nnz: u64,
    /// Candidate and predicted time; `None` for no rows.
    pub planned: Option<(Candidate, Prediction)>,
}

impl PlannedRows {
    /// The time of the prediction, or an end of its interval; 0 for no rows.
    fn predicted(&self, which: fn(&Prediction) -> Seconds) -> Seconds {
        self.planned.as_ref().map_or(Seconds(0.0), |(_, prediction)| which(prediction))
    }
}

/// The limit of a product on several GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GpuLimit {
    /// Entries of x that come from other GPUs.
    Exchange,
    /// Imbalance: one GPU has more to do than the others.
    Imbalance,
    /// Queueing and launching: the shares are so small that these take longer than what is computed.
    Launch,
    /// The products of the shares.
    Product,
}

impl GpuLimit {
    /// Name of the limit.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exchange => "exchange",
            Self::Imbalance => "imbalance",
            Self::Launch => "launch",
            Self::Product => "product",
        }
    }
}

/// A plan with the shares that it is for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Distributed<T: Scalar> {
    /// The plan.
    pub plan: DistributedPlan,
    /// The parts of the matrix.
    pub shares: Vec<Share<T>>,
}

/// Cuts are moved where one part takes this much longer than the mean of all. Chosen: about what predictions are off by.
const UNEVEN: f64 = 1.05;

/// Number of times that cuts are moved. Chosen: the second time moves little.
const MOVES: usize = 2;

/// The slowest GPU takes this many times the mean of all where that is what limits. Chosen.
const IMBALANCE: f64 = 1.3;

/// Half of the width, in logarithms, that a product on several GPUs has beside what the intervals of its parts say. Chosen: 43 of 47
/// products on two H100s lie within, 23 of 26 on two H200s.
const TOGETHER: f64 = 0.2;

/// Launches limit where shares take less than this many of them. Chosen.
const LAUNCHES: f64 = 4.0;

impl Advisor<'_> {
    /// Plan of `a` on `gpus` GPUs like that of the profile, joined by `links`. For rows in order the matrix is cut where all
    /// GPUs are predicted to take the same time, which may take three rounds, each O(nnz log). The shares are made: as
    /// much memory as the matrix takes.
    ///
    /// Kernels whose sums have no fixed order compute no share: y is the same bit by bit each time.
    ///
    /// The number of GPUs of a given distribution is that of its parts.
    ///
    /// # Errors
    /// As [`Advisor::advise`]; [`Error::Distribution`]; [`Error::NothingToRun`] if a share cannot be held by a GPU in any format.
    pub fn distribute<T: Scalar>(
        &self,
        a: &Csr<T>,
        gpus: usize,
        deal: &Deal,
        links: &Links,
        objective: &Objective,
    ) -> Result<Distributed<T>, Error> {
        let bytes = T::DTYPE.bytes() as f64;
        // What CSR moves for a row of that length.
        let moved = |length: u64| length as f64 * (bytes + 4.0) + 2.0 * bytes + 8.0;
        let mut way = match deal {
            Deal::Given(given) => given.clone(),
            Deal::InOrder => Distribution::balanced(a, gpus, |_, length| moved(length))?,
        };
        let mut best = self.planned(a, &way, links, objective)?;
        let mut rates = vec![1.0; gpus];
        for _ in 0..MOVES {
            let Some(cuts) = way.cuts().filter(|_| *deal == Deal::InOrder && gpus > 1) else { break };
            let times: Vec<f64> = best.plan.shares.iter().map(|share| share.time.0).collect();
            let mean = times.iter().sum::<f64>() / gpus as f64;
            if best.plan.time.0 <= UNEVEN * mean {
                break;
            }
            for (part, cut) in cuts.windows(2).enumerate() {
                let length = |row: usize| a.row_ptr()[row + 1] - a.row_ptr()[row];
                let weight: f64 = (cut[0]..cut[1]).map(|row| moved(length(row))).sum();
                rates[part] = if weight > 0.0 { times[part] / weight } else { rates[part] };
            }
            let part_of = |row: usize| way.owner_of_row(row) as usize;
            let next = Distribution::balanced(a, gpus, |row, length| rates[part_of(row)] * moved(length))?;
            let moved = match self.planned(a, &next, links, objective) {
                // The cuts before fit.
                Err(Error::NothingToRun { .. }) => break,
                moved => moved?,
            };
            if moved.plan.time.0 >= best.plan.time.0 {
                break;
            }
            (best, way) = (moved, next);
        }
        Ok(best)
    }

    fn planned<T: Scalar>(
        self,
        a: &Csr<T>,
        way: &Distribution,
        links: &Links,
        objective: &Objective,
    ) -> Result<Distributed<T>, Error> {
        let shares = way.shares(a)?;
        let plan_share =
            |(rank, share): (usize, &Share<T>)| self.planned_share(rank, share, links, objective);
        let planned: Vec<PlannedShare> =
            shares.par_iter().enumerate().map(plan_share).collect::<Result<_, Error>>()?;
        Ok(Distributed { plan: DistributedPlan::of(planned, links, self.profile()), shares })
    }

    fn planned_share<T: Scalar>(
        self,
        rank: usize,
        share: &Share<T>,
        links: &Links,
        objective: &Objective,
    ) -> Result<PlannedShare, Error> {
        let bytes = T::DTYPE.bytes();
        let exchange = share.exchange();
        let vectors = (share.rows().len() + share.columns().len() + share.halo().len()) as u64 * bytes;
        let packed = exchange.given() as u64 * (bytes + 4);
        // Both sets of rows have to find room beside vectors and what is exchanged.
        let held = vectors + packed;
        let (interior, interior_held) = self.planned_rows(share.interior(), held, objective)?;
        let held = held + interior_held;
        let (boundary, boundary_held) = self.planned_rows(share.boundary(), held, objective)?;
        let mut exchanged: Vec<Exchanged> = Vec::new();
        for &(peer, entries) in exchange.gets() {
            exchanged.push(Exchanged { peer, gets: entries as u64 * bytes, gives: 0 });
        }
        for (peer, places) in exchange.gives() {
            let gives = places.len() as u64 * bytes;
            match exchanged.iter_mut().find(|known| known.peer == *peer) {
                Some(known) => known.gives = gives,
                None => exchanged.push(Exchanged { peer: *peer, gets: 0, gives }),
            }
        }
        let times = ShareTimes {
            interior: interior.predicted(|prediction| prediction.time),
            exchange: links.exchange(rank, &exchanged),
            boundary: boundary.predicted(|prediction| prediction.time),
            queue: links.queue(rank, &exchanged),
        };
        let memory = Bytes(held + boundary_held);
        let time = links.product(&times);
        Ok(PlannedShare { interior, boundary, exchanged, times, time, memory })
    }

    /// The best repeatable candidate of ours for some rows that fits on the device beside `held` bytes, and what it takes there.
    fn planned_rows<T: Scalar>(
        self,
        a: &Csr<T>,
        held: u64,
        objective: &Objective,
    ) -> Result<(PlannedRows, u64), Error> {
        let (rows, nnz) = (a.nrows() as u64, a.nnz() as u64);
        if rows == 0 {
            return Ok((PlannedRows { rows, nnz, planned: None }, 0));
        }
        let advice = self.advise(&Features::of(a), T::DTYPE, objective)?;
        let have = self.profile().device.facts.memory_bytes;
        let with_others = |advised: &Advised| Bytes(held + advised.memory.0);
        let ours = || advice.ours().filter(|advised| advised.candidate.kernel.is_repeatable());
        let Some(best) = ours().find(|advised| with_others(advised) <= have) else {
            let why = match ours().map(with_others).min() {
                Some(need) => Infeasible::DoesNotFit { need, have }.to_string(),
                None => advice.why_nothing(),
            };
            return Err(Error::NothingToRun { why });
        };
        let planned = Some((best.candidate, best.prediction.clone()));
        Ok((PlannedRows { rows, nnz, planned }, best.memory.0))
    }
}

impl DistributedPlan {
    fn of(shares: Vec<PlannedShare>, links: &Links, profile: &Profile) -> Self {
        let slowest =
            (0..shares.len()).max_by(|&a, &b| shares[a].time.0.total_cmp(&shares[b].time.0)).unwrap_or(0);
        let ShareTimes { interior, exchange, queue, .. } = shares[slowest].times;
        // Without rows nothing is run on any GPU; who asks for a product waits for a launch all the same.
        let is_nothing = shares[slowest].time.0 == 0.0;
        let time = if is_nothing { profile.launch_s() } else { shares[slowest].time };
        let end = |end: fn(&Prediction) -> Seconds| {
            let of_share = |share: &PlannedShare| {
                let (interior, boundary) = (share.interior.predicted(end), share.boundary.predicted(end));
                links.product(&ShareTimes { interior, boundary, ..share.times }).0
            };
            Seconds(shares.iter().map(of_share).fold(0.0, f64::max))
        };
        let (low, high) = (end(|prediction| prediction.low), end(|prediction| prediction.high));
        // What the shares' own intervals do not know of: how steps come together.
        let wider = |end: Seconds| (end.0 / time.0).ln().hypot(TOGETHER).exp();
        let (low, high) = if is_nothing {
            (time, time)
        } else {
            (Seconds(time.0 / wider(low)), Seconds(time.0 * wider(high)))
        };
        let mean = shares.iter().map(|s| s.time.0).sum::<f64>() / shares.len() as f64;
        // Queueing or launching takes longer than what is computed.
        let is_queued = !is_nothing && time == queue && exchange < time;
        let limit = if is_nothing || is_queued {
            GpuLimit::Launch
        } else if exchange > interior {
            GpuLimit::Exchange
        } else if time.0 > IMBALANCE * mean {
            GpuLimit::Imbalance
        } else if time.0 < LAUNCHES * profile.launch_s().0 {
            GpuLimit::Launch
        } else {
            GpuLimit::Product
        };
        Self { shares, time, low, high, limit }
    }

    /// GPUs.
    pub fn gpus(&self) -> usize {
        self.shares.len()
    }

    /// Bytes that all GPUs together get in a product.
    pub fn exchanged(&self) -> Bytes {
        Bytes(self.shares.iter().flat_map(|share| &share.exchanged).map(|e| e.gets).sum())
    }

    /// The most that one GPU gets or gives in a product.
    pub fn most_exchanged(&self) -> Bytes {
        let of_share = |share: &PlannedShare| {
            let gets: u64 = share.exchanged.iter().map(|e| e.gets).sum();
            gets.max(share.exchanged.iter().map(|e| e.gives).sum())
        };
        Bytes(self.shares.iter().map(of_share).max().unwrap_or(0))
    }

    /// The most that one GPU holds.
    pub fn most_memory(&self) -> Bytes {
        self.shares.iter().map(|share| share.memory).max().unwrap_or_default()
    }

    /// The plan of each share, for vectors of that type.
    ///
    /// # Panics
    /// Never.
    pub fn share_plans(&self, dtype: Dtype) -> Vec<SharePlan> {
        let partition = |rows: &PlannedRows| {
            // Without rows nothing is run, and any will do.
            let nothing = || "csr-scalar/b256/f64".parse::<Candidate>().expect("a candidate");
            let candidate = rows.planned.as_ref().map_or_else(nothing, |(candidate, _)| *candidate);
            Partition::whole(rows.rows as usize, Candidate { dtype, ..candidate })
        };
        let plan = |share: &PlannedShare| SharePlan {
            interior: partition(&share.interior),
            boundary: partition(&share.boundary),
        };
        self.shares.iter().map(plan).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_matrix::gallery::Recipe;
    use sparsight_model::LinkRate;

    #[test]
    fn every_share_is_computed_by_the_fastest_kernel_that_gives_the_same_y_each_time() {
        let profile = Profile::shipped("nvidia-h200").unwrap();
        let host = LinkRate { latency_s: Seconds(1e-5), per_peer_s: Seconds(0.0), bytes_per_s: 1e11 };
        let (join_s, queue_s) = (Seconds(0.0), Seconds(0.0));
        let links = Links { gpus_per_host: 2, host, network: None, join_s, queue_s };
        let (advisor, objective) = (Advisor::new(&profile), Objective::default());
        let mut left_out = 0;
        for recipe in ["rmat,scale=11", "arrow,n=7000", "power-law,n=9000"] {
            let a: Csr<f64> = recipe.parse::<Recipe>().unwrap().generate().unwrap();
            let on = |gpus| advisor.distribute(&a, gpus, &Deal::InOrder, &links, &objective).unwrap().plan;
            let advice = advisor.advise(&Features::of(&a), Dtype::F64, &objective).unwrap();
            left_out += usize::from(!advice.ours().next().unwrap().candidate.kernel.is_repeatable());
            let best = advice.ours().find(|advised| advised.candidate.kernel.is_repeatable()).unwrap();
            let (alone, two) = (on(1), on(2));
            let planned = Some((best.candidate, best.prediction.clone()));
            assert_eq!(alone.shares[0].interior.planned, planned);
            assert_eq!(alone.time, best.prediction.time);
            for (share, run) in two.shares.iter().zip(two.share_plans(Dtype::F64)) {
                for (rows, run) in [(&share.interior, run.interior), (&share.boundary, run.boundary)] {
                    let Some((candidate, _)) = &rows.planned else { continue };
                    assert!(candidate.kernel.is_repeatable(), "{candidate} of {recipe}");
                    let predicted = Partition::whole(rows.rows as usize, *candidate);
                    assert_eq!(run, predicted, "what is predicted is run");
                }
            }
        }
        assert!(left_out > 0, "of these matrices none says anything");
    }
}
