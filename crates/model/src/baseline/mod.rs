//! The time that a product would take if a sum of physical terms were all: what learned models correct.
//!
//! ```text
//! candidate, features, facts -> terms t_1 .. t_15, seconds        terms.rs
//! b = x_1 t_1 + ... + x_15 t_15,  x >= 0                           fitted for each kernel, block size and value type
//! ```
//! Trees and networks are constant beyond the matrices that they saw, and so are neighbours. Relative to b, a matrix ten times as
//! large as the largest of them is predicted to take ten times as long and not the same time. x is the least sum of squares of
//! relative errors.

mod terms;

pub use terms::Terms;
pub(crate) use terms::{
    KEPT_OF_L2, TERMS, bytes_per_s, fetched_bytes, launch_s, longest_and_turns, positive_or, reuse,
};

use crate::non_negative;
use serde::{Deserialize, Serialize};
use sparsight_kernels::Candidate;
use sparsight_matrix::Dtype;
use std::collections::BTreeMap;

/// b of one kernel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Baseline {
    /// Coefficients by block size and value type, where there are enough times.
    own: Vec<(u32, Dtype, [f32; TERMS])>,
    /// Coefficients of all of them together, for the others.
    pooled: [f32; TERMS],
}

/// The terms of a candidate, and its time.
type Timed = ([f64; TERMS], f64);

/// Times that a block size and value type must have for an x of their own. Chosen: twice as many as there are terms.
const ENOUGH: usize = 2 * TERMS;

/// b is no less than so much of launch and compulsory bytes. Chosen: less is no time that a product takes, and a logarithm of
/// something over it has to stay finite.
const LEAST: f64 = 0.1;

impl Baseline {
    /// Fits the terms of candidates to measured seconds, positive.
    pub fn fit<'a>(times: impl Iterator<Item = (&'a Candidate, &'a Terms, f64)> + Clone) -> Self {
        let mut apart: BTreeMap<(u32, Dtype), Vec<Timed>> = BTreeMap::new();
        for (candidate, terms, time_s) in times {
            apart.entry((candidate.block, candidate.dtype)).or_default().push((terms.seconds, time_s));
        }
        let fit = |samples: Vec<Timed>| non_negative::fit(samples).map(|x| x.map(|x| x as f32));
        let pooled = fit(apart.values().flatten().copied().collect());
        let own = apart.into_iter().filter(|(_, samples)| samples.len() >= ENOUGH);
        let own = own.filter_map(|((block, dtype), samples)| Some((block, dtype, fit(samples)?))).collect();
        // Without times: what cannot be avoided.
        let unavoidable = std::array::from_fn(|at| if at < 2 { 1.0 } else { 0.0 });
        Self { own, pooled: pooled.unwrap_or(unavoidable) }
    }

    fn weights(&self, candidate: &Candidate) -> &[f32; TERMS] {
        let own =
            self.own.iter().find(|(block, dtype, _)| (*block, *dtype) == (candidate.block, candidate.dtype));
        own.map_or(&self.pooled, |(_, _, weights)| weights)
    }

    /// b, seconds; finite and positive for any features.
    pub fn seconds(&self, candidate: &Candidate, terms: &Terms) -> f64 {
        self.parts(candidate, terms).0
    }

    /// b, and each term's share of it.
    pub(crate) fn parts(&self, candidate: &Candidate, terms: &Terms) -> (f64, [f64; TERMS]) {
        let weights = self.weights(candidate);
        let parts: [f64; TERMS] = std::array::from_fn(|at| f64::from(weights[at]) * terms.seconds[at]);
        let whole = parts.iter().sum::<f64>().max(LEAST * terms.streamed_s());
        (whole, parts.map(|part| part / whole))
    }
}

#[cfg(test)]
mod tests {
    use super::terms::Lookups;
    use super::*;

    #[test]
    fn the_weights_of_made_up_times_are_found_by_block_size_and_value_type() {
        let candidates: [Candidate; 3] =
            ["coo/b64/f64", "coo/b128/f64", "coo/b64/f32"].map(|id| id.parse().unwrap());
        let weights = |of: usize, at: usize| if at % 3 == of { 1.0 + at as f64 } else { 0.0 };
        let mut made = Vec::new();
        let mut state = 1_u64;
        for _ in 0..60 {
            let terms = std::array::from_fn(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                1e-6 * (1.0 + (state >> 40) as f64 / 1e6)
            });
            for (of, candidate) in candidates.iter().enumerate() {
                let time = (0..TERMS).map(|at| weights(of, at) * terms[at]).sum::<f64>();
                made.push((*candidate, Terms { seconds: terms, lookups: Lookups::default() }, time));
            }
        }
        let baseline = Baseline::fit(made.iter().map(|(c, t, s)| (c, t, *s)));
        for (candidate, terms, time) in &made {
            let (found, shares) = baseline.parts(candidate, terms);
            assert!((found / time - 1.0).abs() < 1e-4, "{candidate}: {found} {time}");
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-6);
        }
        // A block size without measurements gets what is pooled, and with no times at all there is a time.
        let other: Candidate = "coo/b256/f64".parse().unwrap();
        assert!(baseline.seconds(&other, &made[0].1) > 0.0);
        let none = Baseline::fit(std::iter::empty());
        assert!((none.seconds(&other, &made[0].1) - made[0].1.streamed_s()).abs() < 1e-12);
    }
}
