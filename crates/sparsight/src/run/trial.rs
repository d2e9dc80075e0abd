//! Choice of the next candidate to run, and of the end: by the predictions of all and the cost of a run.

use crate::advise::Advised;
use sparsight_kernels::Candidate;
use sparsight_matrix::{Infeasible, Seconds};
use sparsight_model::{Conditioned, Iteration, NextRun};
use std::num::NonZeroUsize;

/// Number of candidates to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tries {
    /// At most this many; if it is one, the first of the ranking is taken without a run.
    Count(NonZeroUsize),
    /// As many as pay off for this many products, or iterations, to come: before each run, its expected gain over all of them is compared
    /// with the cost of preparing and running it. If no run pays off, only the first is run, or none if there is no other.
    WorthIt {
        /// y = A x to come.
        products: u64,
    },
}

/// Time to try a candidate beside its preparation, before one was tried. Chosen: that of a small matrix on an H200 whose kernels
/// were compiled before.
const FIRST_TRY: Seconds = Seconds(5e-3);

/// Products that a try takes at least: one to check y, one to warm up, three samples.
const PRODUCTS_OF_A_TRY: f64 = 5.0;

/// State of the trials.
pub(super) struct Trial<'a> {
    ranked: &'a [&'a Advised],
    /// The iteration whose predicted times are compared; of products without. What is run are products in any case.
    iteration: Option<Iteration>,
    pub(super) conditioned: Conditioned,
    tries: Tries,
    /// Products that were timed.
    timed: usize,
    /// Runs, with those that failed, and what they took beside their preparations.
    ended: u32,
    spent: Seconds,
}

/// A decision.
pub(super) enum Next {
    Run(Candidate),
    /// Although so much may still be gained.
    Stop(Option<NextRun>),
}

impl<'a> Trial<'a> {
    /// `iteration`: by which all are ranked, `None` by products.
    pub(super) fn of(ranked: &'a [&'a Advised], tries: Tries, iteration: Option<Iteration>) -> Self {
        let conditioned = Conditioned::new(ranked.iter().map(|one| (one.candidate, one.predicted())));
        Self { ranked, iteration, conditioned, tries, timed: 0, ended: 0, spent: Seconds(0.0) }
    }

    fn own(&self, candidate: &Candidate) -> Option<&'a Advised> {
        self.ranked.iter().find(|one| one.candidate == *candidate).copied()
    }

    /// The time by which a candidate is ranked whose product takes `product`.
    pub(super) fn ranked_by(&self, candidate: &Candidate, product: Seconds) -> Seconds {
        self.own(candidate).map_or(product, |own| own.with_product(product, self.iteration))
    }

    /// Cost of trying one beside its preparation, seconds.
    fn of_a_run(&self, candidate: &Candidate) -> f64 {
        if self.ended > 0 {
            return self.spent.0 / f64::from(self.ended);
        }
        // Products are run, also where iterations are compared.
        let product = self.own(candidate).map_or(0.0, |own| own.prediction.time.0);
        FIRST_TRY.0 + PRODUCTS_OF_A_TRY * product
    }

    /// The first of the ranking that is not known to fail.
    pub(super) fn first(&self) -> Option<Candidate> {
        let is_possible = |one: &&&Advised| self.conditioned.expected(&one.candidate).is_some();
        self.ranked.iter().find(is_possible).map(|one| one.candidate)
    }

    pub(super) fn next(&self) -> Next {
        let fastest = self.conditioned.fastest().map(|(candidate, _)| candidate);
        let Some(best) = fastest.or_else(|| self.first()) else { return Next::Stop(None) };
        let products = match self.tries {
            Tries::Count(_) => 1,
            Tries::WorthIt { products } => products,
        };
        let cost = |candidate: &Candidate| match self.tries {
            Tries::Count(_) => Seconds(0.0),
            Tries::WorthIt { .. } => {
                let preparation = self.own(candidate).and_then(|one| one.preparation).unwrap_or_default();
                Seconds(preparation.0 + self.of_a_run(candidate))
            }
        };
        let next = self.conditioned.next(&best, products, cost);
        let goes_on = match self.tries {
            Tries::Count(count) => self.timed < count.get() && count.get() > 1,
            Tries::WorthIt { .. } => next.is_some_and(|NextRun { candidate, gain }| {
                // The first is prepared in any case, but has to be timed before the second says anything.
                let of_the_first = if fastest.is_none() { self.of_a_run(&best) } else { 0.0 };
                products as f64 * gain.0 > cost(&candidate).0 + of_the_first
            }),
        };
        match (goes_on, fastest, next) {
            (true, None, _) => Next::Run(best),
            (true, Some(_), Some(next)) => Next::Run(next.candidate),
            _ => Next::Stop(self.left(&best)),
        }
    }

    /// Possible gain over the fastest, without the cost of another run.
    pub(super) fn left(&self, fastest: &Candidate) -> Option<NextRun> {
        self.conditioned.next(fastest, 1, |_| Seconds(0.0))
    }

    /// A product was timed; with its preparation left out, trying the candidate took `spent`.
    pub(super) fn took(&mut self, candidate: &Candidate, time: Seconds, spent: Seconds) {
        self.conditioned.took(candidate, self.ranked_by(candidate, time));
        self.timed += 1;
        self.spent(spent);
    }

    /// A candidate cannot be run; nor can any of its format and value type, if that is why; nor anything in mixed precision, if
    /// `f32` cannot hold the values.
    pub(super) fn failed(&mut self, candidate: &Candidate, why: Option<&Infeasible>, spent: Seconds) {
        let is_alike = |other: &Candidate| match why {
            None => other == candidate,
            Some(Infeasible::BeyondSingle { .. }) => other.dtype == candidate.dtype,
            Some(_) => (other.format(), other.dtype) == (candidate.format(), candidate.dtype),
        };
        for one in self.ranked.iter().filter(|one| is_alike(&one.candidate)) {
            self.conditioned.failed(&one.candidate);
        }
        self.spent(spent);
    }

    fn spent(&mut self, spent: Seconds) {
        self.spent.0 += spent.0.max(0.0);
        self.ended += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model_name::ModelName;
    use sparsight_matrix::Bytes;
    use sparsight_model::{IterationTime, Prediction};

    /// Predicted to take `time_us`, within a quarter, after 1 ms of preparation.
    fn advised(id: &str, time_us: f64) -> Advised {
        let at = |us: f64| Seconds(1e-6 * us);
        Advised {
            iteration: None,
            candidate: id.parse().unwrap(),
            prediction: Prediction {
                time: at(time_us),
                low: at(time_us / 1.25),
                high: at(time_us * 1.25),
                extrapolates: Vec::new(),
            },
            model: ModelName::Boosting,
            bytes: Bytes(0),
            memory: Bytes(0),
            bandwidth_fraction: None,
            preparation: Some(Seconds(1e-3)),
            pays_off_after: None,
        }
    }

    /// Runs until it stops, each taking what `times` says and 4 ms beside.
    fn runs(tries: Tries, times: &[(&str, f64)]) -> (Vec<String>, Option<NextRun>) {
        let ranked: Vec<Advised> =
            [10.0, 10.2, 10.4].iter().zip(times).map(|(t, (id, _))| advised(id, *t)).collect();
        let ranked: Vec<&Advised> = ranked.iter().collect();
        let mut trial = Trial::of(&ranked, tries, None);
        let mut made: Vec<String> = Vec::new();
        loop {
            match trial.next() {
                Next::Stop(left) => return (made, left),
                Next::Run(candidate) => {
                    let (_, time) = times.iter().find(|(id, _)| candidate.to_string() == *id).unwrap();
                    trial.took(&candidate, Seconds(1e-6 * time), Seconds(4e-3));
                    made.push(candidate.to_string());
                }
            }
        }
    }

    const THREE: [(&str, f64); 3] =
        [("csr-vector/t8/b128/f64", 12.0), ("csr-vector/t8/b256/f64", 13.0), ("coo/b128/f64", 9.0)];

    #[test]
    fn trying_is_worth_it_only_where_enough_products_are_to_come() {
        assert_eq!(runs(Tries::WorthIt { products: 100 }, &THREE).0, Vec::<String>::new());
        let (made, left) = runs(Tries::WorthIt { products: 1_000_000 }, &THREE);
        // The first took longer than it was predicted to: what is least related to it may gain most, and what is a block
        // size of it hardly anything afterwards.
        assert_eq!(made, ["csr-vector/t8/b128/f64", "coo/b128/f64"]);
        assert!(left.is_some_and(|left| left.gain.0 < 1e-8), "{left:?}");
        let (all, left) = runs(Tries::WorthIt { products: u64::MAX }, &THREE);
        assert_eq!((all.len(), left), (3, None), "for ever");
    }

    /// The same as one of which an iteration takes `time_us`, so much longer that a product saves less than its launches cost.
    fn iterated(id: &str, product_us: f64, time_us: f64) -> Advised {
        let of = advised(id, time_us).prediction;
        let iteration = IterationTime {
            time: of.time,
            low: of.low,
            high: of.high,
            in_products: Seconds(1e-6 * product_us),
            launches: 2,
            bytes: Bytes(0),
        };
        Advised { iteration: Some(iteration), ..advised(id, product_us) }
    }

    #[test]
    fn candidates_are_compared_by_the_iteration_with_the_product_that_was_measured() {
        let (ours, behind) = ("csr-vector/t8/b128/f64", "coo/b128/f64");
        // Behind the second a launch of 3 us.
        let ranked = [iterated(ours, 10.0, 15.0), iterated(behind, 10.0, 18.0)];
        let ranked: Vec<&Advised> = ranked.iter().collect();
        let mut trial = Trial::of(&ranked, Tries::Count(NonZeroUsize::new(2).unwrap()), Some(Iteration::Cg));
        for (id, product) in [(ours, 12e-6), (behind, 10e-6)] {
            let Next::Run(candidate) = trial.next() else { panic!("two are run") };
            assert_eq!(candidate.to_string(), id);
            trial.took(&candidate, Seconds(product), Seconds(4e-3));
        }
        let (fastest, time) = trial.conditioned.fastest().unwrap();
        assert_eq!(fastest.to_string(), ours, "17 us an iteration, and not 18");
        assert!((time.0 / 17e-6 - 1.0).abs() < 1e-9, "{time:?}");
        assert_eq!(trial.ranked_by(&fastest, Seconds(12e-6)), time);
        // Two products an iteration count twice.
        let twice = Trial::of(&ranked, Tries::WorthIt { products: 1 }, Some(Iteration::Bicgstab));
        assert!((twice.ranked_by(&fastest, Seconds(12e-6)).0 / 19e-6 - 1.0).abs() < 1e-9);
        // A try runs products.
        let of_a_try = FIRST_TRY.0 + PRODUCTS_OF_A_TRY * 10e-6;
        assert!((twice.of_a_run(&fastest) / of_a_try - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_requested_number_of_candidates_is_run() {
        for (count, expected) in [(1, 0), (2, 2), (9, 3)] {
            let (made, left) = runs(Tries::Count(NonZeroUsize::new(count).unwrap()), &THREE);
            assert_eq!((made.len(), left.is_some()), (expected, expected < 3));
        }
    }
}
