//! Verdict of advice: the candidate to use, its gain over present practice, and the candidates that are as good.

use crate::Advice;
use crate::advise::{Advised, RunNow, RunNowKind};
use sparsight_kernels::Candidate;
use sparsight_matrix::{Dtype, grouped};
use sparsight_model::Extrapolation;

/// Predicted costs this close are a tie: about what predictions are off by. Chosen.
pub const TIE: f64 = 0.05;

/// Ratio of preparation times below which one candidate is ready sooner. Chosen: preparations are known to about a tenth.
const SOONER: f64 = 0.9;

/// The first of the ranking, beside what it is to be compared with.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Verdict<'a> {
    /// The first.
    pub best: &'a Advised,
    /// Equals of the best, within [`TIE`]: of each kernel the first block size, without the kernel of the best.
    pub equal: Vec<&'a Advised>,
    /// The fastest of our kernels for CSR as it is: what takes no conversion.
    pub plain_csr: Option<&'a Advised>,
    /// The vendor's routine for CSR that is predicted to be the fastest: what most people call.
    pub vendors_csr: Option<&'a Advised>,
    /// Present implementation, from which break-evens are counted; `None` if no CSR is ranked and no other one was named.
    pub run_now: Option<RunNow>,
    /// Products that were asked for: all of them count, and conversion and upload.
    products: Option<u64>,
    /// True if there is nothing to multiply.
    is_empty: bool,
}

impl Verdict<'_> {
    /// Speedup of the best over another candidate, in one product or in all with conversion and upload.
    pub fn speedup(&self, other: &Advised) -> f64 {
        other.cost(self.products) / self.best.cost(self.products)
    }

    /// Returns whether another candidate is as good, within [`TIE`]. Where preparation counts, one of unknown preparation is not, but
    /// beside such a best.
    pub fn is_as_good(&self, other: &Advised) -> bool {
        let is_in_part = |one: &Advised| one.order(self.products).0;
        is_in_part(other) == is_in_part(self.best) && self.speedup(other) <= 1.0 + TIE
    }

    /// Number of products from which on changing to the recommended candidate pays off, as a sentence; `None` without a present
    /// implementation, for a matrix without non-zeros and where candidates are ranked by iterations.
    pub fn break_even(&self) -> Option<String> {
        let (used, now) = (self.recommended(), self.run_now.filter(|_| !self.is_empty)?);
        if used.iteration.is_some() {
            return None;
        }
        if now.is(used.candidate) {
            let what = match now.kind {
                RunNowKind::VendorsCsr => "cuSPARSE's CSR",
                _ => "what is run now",
            };
            return Some(format!("It is {what}: nothing to convert."));
        }
        let is_scipy = now.kind == RunNowKind::Scipy;
        if used.reads_csr_as_it_is() && !is_scipy {
            return Some("It reads CSR as it is: nothing to convert.".to_owned());
        }
        let change = if is_scipy { "changing" } else { "converting" };
        let remark = match now.kind {
            RunNowKind::Scipy => " on one thread of this processor",
            RunNowKind::WithoutVendors => " (the profile has no time of cuSPARSE's CSR)",
            _ => "",
        };
        let of_now = format!("Against {now}{remark}");
        Some(match used.pays_off_after {
            Some(0 | 1) => format!("{of_now} {change} pays from the first product on."),
            Some(products) => format!("{of_now} {change} pays from {} products on.", grouped(products)),
            None if used.ranked_by().0 >= now.time.0 => format!("{of_now} {change} does not pay."),
            None => format!("{of_now} it is not known when {change} pays: what it takes was not measured."),
        })
    }

    /// Speedup over the present implementation.
    pub fn speedup_over(&self, now: RunNow) -> f64 {
        now.cost(self.products).0 / self.best.cost(self.products)
    }

    /// Returns whether plain CSR is as good as anything, as it is for every matrix without non-zeros, and for one smaller than all that was
    /// measured where the interval of the best does not tell them apart.
    pub fn gains_nothing(&self) -> bool {
        let is_as_good = |csr: &Advised| self.is_empty || self.is_as_good(csr) || self.is_tiny_beside(csr);
        self.plain_csr.is_some_and(is_as_good)
    }

    /// Such times are of launches, of which no measured matrix says which is the shorter one.
    fn is_tiny_beside(&self, csr: &Advised) -> bool {
        let best = &self.best.prediction;
        let is_below = |e: &Extrapolation| e.quantity == "working set" && e.value < e.from;
        best.extrapolates.iter().any(is_below) && csr.prediction.time.0 <= best.high.0
    }

    /// Returns whether nothing but CSR is the best or as good: there is no reason to convert.
    pub fn stays_in_csr(&self) -> bool {
        let reads_csr = |advised: &Advised| advised.candidate.format().is_csr();
        reads_csr(self.best) && self.equal.iter().all(|equal| reads_csr(equal))
    }

    /// The candidate that is ready soonest among the best and its equals; of several the smallest.
    pub fn soonest_ready(&self) -> &Advised {
        let others = self.equal.iter().copied();
        others.fold(self.best, |best, other| if other.is_cheaper(best) { other } else { best })
    }

    /// Recommended candidate: plain CSR where nothing is gained, else the best. Where one product counts, the ranking ignores
    /// preparation; so among the candidates that are as good, and gain as surely over plain CSR, the one that is ready soonest
    /// replaces the best, if it is ready sooner by a tenth; of several the smallest. A candidate that changes the values does not
    /// replace one that keeps them.
    pub fn recommended(&self) -> &Advised {
        if let Some(csr) = self.plain_csr.filter(|_| self.gains_nothing()) {
            return csr;
        }
        if self.products.is_some() {
            return self.best;
        }
        let stored = self.best.candidate.dtype;
        let others = self.equal.iter().copied().filter(|one| {
            let gains = |csr: &Advised| csr.cost(None) > one.cost(None) * (1.0 + TIE);
            let keeps = one.candidate.dtype == stored || one.candidate.dtype != Dtype::Mixed;
            keeps && self.plain_csr.is_none_or(gains) && one.ready() < SOONER * self.best.ready()
        });
        others.reduce(|first, other| if other.is_cheaper(first) { other } else { first }).unwrap_or(self.best)
    }
}

impl Advised {
    /// Seconds of one product; with a number of products, of all of them with conversion and upload, as far as these are known.
    pub(crate) fn cost(&self, products: Option<u64>) -> f64 {
        let all = |products| self.in_all(products).map_or(products as f64 * self.ranked_by().0, |all| all.0);
        products.map_or(self.ranked_by().0, all)
    }

    /// Place in a ranking, the least first: by the cost; what it takes to convert may be unknown, but it is not nothing, so behind all
    /// others where that counts.
    pub(super) fn order(&self, products: Option<u64>) -> (bool, f64) {
        (products.is_some() && self.preparation.is_none(), self.cost(products))
    }

    /// Seconds until it is ready; infinite where that was not measured.
    fn ready(&self) -> f64 {
        self.preparation.map_or(f64::INFINITY, |preparation| preparation.0)
    }

    /// Returns whether it is ready sooner, or as soon and smaller.
    fn is_cheaper(&self, other: &Advised) -> bool {
        self.ready().total_cmp(&other.ready()).then(self.memory.0.cmp(&other.memory.0)).is_lt()
    }

    /// Returns whether it is the vendor's product with CSR.
    pub(crate) fn is_vendors_csr(&self) -> bool {
        self.candidate.format().is_csr() && self.candidate.kernel.is_vendors()
    }

    /// Returns whether the arrays of CSR are all that it reads, so that nothing is converted.
    fn reads_csr_as_it_is(&self) -> bool {
        self.is_plain_csr() || self.is_vendors_csr()
    }

    /// Returns whether it reads CSR as it is, with a kernel of ours: the vendor's routines look at the matrix beforehand, and in mixed
    /// precision its values are others.
    pub(crate) fn is_plain_csr(&self) -> bool {
        let Candidate { kernel, dtype, .. } = self.candidate;
        kernel.format().is_csr() && !kernel.is_vendors() && dtype != Dtype::Mixed
    }
}

impl Advice {
    /// Verdict for `products` as in the [`Objective`](crate::Objective) of the advice. `None` if no candidate is
    /// possible.
    pub fn verdict(&self, products: Option<u64>) -> Option<Verdict<'_>> {
        let best = self.ranked.first()?;
        let plain_csr = self.fastest(Advised::is_plain_csr, products);
        let vendors_csr = self.fastest(Advised::is_vendors_csr, products);
        let (run_now, is_empty, equal) = (self.run_now, self.is_empty, Vec::new());
        let mut verdict = Verdict { best, equal, plain_csr, vendors_csr, run_now, products, is_empty };
        let of = |one: &Advised| (one.candidate.kernel, one.candidate.dtype);
        for advised in &self.ranked {
            let is_other = of(advised) != of(best) && verdict.equal.iter().all(|one| of(one) != of(advised));
            if is_other && verdict.is_as_good(advised) {
                verdict.equal.push(advised);
            }
        }
        Some(verdict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Advisor, Objective, Profile};
    use sparsight_matrix::{Bytes, Csr, Dtype, Features, Seconds, gallery::Recipe};

    fn advice(recipe: &str, products: Option<u64>) -> Advice {
        let a: Csr<f64> = recipe.parse::<Recipe>().unwrap().generate().unwrap();
        let profile = Profile::shipped("nvidia-h200").unwrap();
        let objective = Objective { products, ..Objective::default() };
        Advisor::new(&profile).advise(&Features::of(&a), Dtype::F64, &objective).unwrap()
    }

    #[test]
    fn the_first_is_compared_with_csr_and_its_equals_are_other_kernels() {
        let advice = advice("fem,n=24", None);
        let verdict = advice.verdict(None).unwrap();
        assert_eq!(verdict.best, &advice.ranked[0]);
        let (csr, vendors) = (verdict.plain_csr.unwrap(), verdict.vendors_csr.unwrap());
        assert!(vendors.pays_off_after == Some(0) && vendors.candidate.kernel.is_vendors());
        assert!(verdict.speedup(csr) > 1.2 && verdict.speedup(vendors) > 1.2 && !verdict.gains_nothing());
        for equal in &verdict.equal {
            assert!((1.0..=1.0 + TIE).contains(&verdict.speedup(equal)));
            assert_ne!(equal.candidate.kernel, verdict.best.candidate.kernel);
        }
        let soonest = verdict.soonest_ready().preparation.unwrap();
        assert!(verdict.equal.iter().all(|equal| equal.preparation.is_none_or(|s| s.0 >= soonest.0)));
    }

    #[test]
    fn a_candidate_of_unknown_preparation_is_no_equal_where_preparation_counts() {
        let mut advice = advice("fem,n=6", Some(10));
        let [first, second] = [0, 1].map(|at: usize| advice.ranked[at].clone());
        let fast = Advised { preparation: None, ..second };
        assert!(fast.cost(Some(10)) < 0.9 * first.cost(Some(10)) && fast.in_all(10).is_none());
        advice.ranked = vec![fast.clone(), first.clone()];
        advice.rank(Some(10));
        assert_eq!([&first, &fast], [&advice.ranked[0], &advice.ranked[1]], "it comes last");
        let verdict = advice.verdict(Some(10)).unwrap();
        assert!(verdict.equal.is_empty() && !verdict.is_as_good(&fast));
        // Where nothing is known of any, products alone count.
        advice.ranked.iter_mut().for_each(|one| one.preparation = None);
        advice.rank(Some(10));
        assert!(advice.ranked[0].ranked_by() <= advice.ranked[1].ranked_by());
    }

    #[test]
    fn among_equals_the_soonest_ready_then_the_smallest_is_recommended() {
        let advice = advice("fem,n=24", None);
        let verdict = advice.verdict(None).unwrap();
        let (best, csr) = (verdict.best.clone(), verdict.plain_csr.unwrap().clone());
        let like = |id: &str, slower: f64, ready_s: f64, memory: u64| {
            let mut one = Advised { candidate: id.parse().unwrap(), ..best.clone() };
            one.prediction.time.0 *= slower;
            (one.preparation, one.memory) = (Some(Seconds(ready_s)), Bytes(memory));
            one
        };
        let best = like("hyb/b256/f64", 1.0, 1e-3, 100);
        let chosen = |others: &[Advised], products| {
            let equal = others.iter().collect();
            let verdict = Verdict { best: &best, equal, plain_csr: Some(&csr), products, ..verdict.clone() };
            verdict.recommended().candidate.to_string()
        };
        let [sell, jad] = ["sell/c32/s1/b256/f64", "jad/b256/f64"];
        let soon = [like(jad, 1.02, 0.5e-3, 90), like(sell, 1.03, 0.5e-3, 80)];
        assert_eq!(chosen(&soon, None), sell, "as soon, and smaller");
        assert_eq!(chosen(&soon, Some(1000)), "hyb/b256/f64", "what all products cost has preparing in it");
        assert_eq!(chosen(&[like(jad, 1.02, 0.95e-3, 10)], None), "hyb/b256/f64", "hardly sooner");
        let slow = csr.prediction.time.0 / best.prediction.time.0 / 1.02;
        assert_eq!(chosen(&[like(jad, slow, 0.5e-3, 10)], None), "hyb/b256/f64", "gains nothing itself");
        let rounded = like("sell/c32/s1/b256/f32-f64", 1.0, 0.5e-3, 10);
        assert_eq!(chosen(&[rounded], None), "hyb/b256/f64", "digits are not given up without a gain");
    }

    #[test]
    fn without_non_zeros_there_is_nothing_to_gain_however_fast_the_first_would_be() {
        let a = Csr::<f64>::try_new(1000, 1000, vec![0; 1001], Vec::new(), Vec::new()).unwrap();
        let profile = Profile::shipped("nvidia-h200").unwrap();
        let advisor = Advisor::new(&profile);
        let mut advice = advisor.advise(&Features::of(&a), Dtype::F64, &Objective::default()).unwrap();
        assert!(advice.is_empty && advice.verdict(None).unwrap().gains_nothing());
        advice.ranked[0].prediction.time.0 /= 100.0;
        assert!(advice.verdict(None).unwrap().gains_nothing() && !advice.ranked.is_empty());
    }

    #[test]
    fn below_the_measured_range_a_gain_must_exceed_the_intervals() {
        let advice = advice("fem,n=24", None);
        let verdict = advice.verdict(None).unwrap();
        let csr = verdict.plain_csr.unwrap().prediction.time;
        let gains_nothing = |value: f64, high: f64| {
            let mut best = verdict.best.clone();
            best.prediction.high.0 = high * csr.0;
            best.prediction.extrapolates =
                vec![Extrapolation { quantity: "working set", value, from: 1e4, to: 1e9 }];
            Verdict { best: &best, ..verdict.clone() }.gains_nothing()
        };
        assert!(gains_nothing(152.0, 1.01) && !gains_nothing(152.0, 0.99) && !gains_nothing(1e10, 1.01));
    }

    #[test]
    fn for_few_products_there_is_nothing_to_gain() {
        let advice = advice("stencil2d,n=200", Some(2));
        let verdict = advice.verdict(Some(2)).unwrap();
        assert!(verdict.gains_nothing() && verdict.best.is_plain_csr() && verdict.stays_in_csr());
        // Where something else is as good, CSR is not all that there is.
        let other = advice.ranked.iter().find(|advised| !advised.candidate.format().is_csr()).unwrap();
        let one_more = Verdict { equal: vec![other], ..verdict.clone() };
        assert!(one_more.gains_nothing() && !one_more.stays_in_csr());
    }
}
