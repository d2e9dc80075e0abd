//! `advise`: every candidate, predicted and ranked.

use super::{
    DeviceSummary, MatrixSummary, MeasuredOutcome, NamedCandidate, NextRunAnswer, PlannedMatrix,
    ReorderedAnswer, Structure,
};
use crate::advise::{Advised, ByIteration, Reason, RunNow, Verdict, Why};
use crate::profile::{Nearby, Provenance};
use crate::run::Verified;
use crate::{Advice, Objective, Profile};
use serde::Serialize;
use serde_with::skip_serializing_none;
use sparsight_kernels::Candidate;
use sparsight_matrix::{Bytes, Dtype, Narrowing, Seconds};
use sparsight_model::{PlacementRule, Prediction, RowLengthRule};

/// `sparsight/advise/1`: which format, kernel and block size will be fastest.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AdviseAnswer {
    /// The matrix.
    pub matrix: MatrixSummary,
    /// The device that is predicted for.
    pub device: DeviceSummary,
    /// Value type.
    pub dtype: Dtype,
    /// Products to come, by all of which candidates are ranked; absent if one product counts.
    pub products: Option<u64>,
    /// The iteration of a solver by which candidates are ranked; absent if by products. `products` are then iterations, and speedups,
    /// break-evens and `run_now` of the verdict are of these.
    pub iteration: Option<ByIteration>,
    /// Rule that picked the benchmark matrices for the columns.
    pub placement: PlacementRule,
    /// Statistic of the row lengths that was used.
    pub row_length: RowLengthRule,
    /// Gain by reordering rows and columns; the other fields are then of the reordered matrix. Absent if not asked for.
    pub reordered: Option<ReorderedAnswer>,
    /// Effect of storing the values in `f32`; absent if not asked for.
    pub narrowing: Option<Narrowing>,
    /// Verdict; absent if no candidate is possible.
    pub verdict: Option<VerdictAnswer>,
    /// Why a product takes as long as it does, what costs most first: at most two, each as a sentence and with its numbers. Empty
    /// where nothing stands out.
    pub reasons: Vec<ReasonAnswer>,
    /// Expected gain of another run; absent if no candidate was run or all were.
    pub next_run: Option<NextRunAnswer>,
    /// The matrices that were learned from and are most like this one; absent where the profile keeps none.
    pub nearby: Option<Nearby>,
    /// Row lengths and positions of the non-zeros; absent if not computed.
    pub structure: Option<Structure>,
    /// The best cut of its rows into parts, whether it gains or not; absent if no page was asked for.
    pub plan: Option<PlannedMatrix>,
    /// The device's last cache: up to about this, times are not bound to `copy_bytes_per_s`; absent if not known.
    pub cache_bytes: Option<Bytes>,
    /// Origin of the answer.
    pub provenance: AdviceProvenance,
    /// Best first, then those that are not ranked.
    pub candidates: Vec<AdvisedCandidate>,
}

/// Origin of advice or a plan, beside the profile.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AdviceProvenance {
    /// Version of this program or library.
    pub version: &'static str,
    /// Driver of the device when the profile was measured, as it names itself.
    pub driver: String,
    /// Version of the vendor's library when the profile was measured; absent if there was none.
    pub cusparse: Option<String>,
    /// The command line; absent where it was no command.
    pub command: Option<String>,
    /// UTC date; absent where it was no command.
    pub date: Option<String>,
}

impl From<&Profile> for AdviceProvenance {
    fn from(profile: &Profile) -> Self {
        let Provenance { driver, cusparse, .. } = profile.device.provenance.clone();
        let cusparse = Some(cusparse).filter(|version| !version.is_empty());
        Self { version: env!("CARGO_PKG_VERSION"), driver, cusparse, command: None, date: None }
    }
}

impl AdviceProvenance {
    /// Adds the command as typed and the UTC date.
    #[must_use]
    pub fn with_command(self, command: String, date: String) -> Self {
        Self { command: Some(command), date: Some(date), ..self }
    }
}

/// Expected time of a candidate after others were measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Expected {
    /// Seconds of one product.
    pub expected_s: Seconds,
    /// Lower end of the 90 % interval, seconds.
    pub expected_low_s: Seconds,
    /// Upper end of the 90 % interval, seconds.
    pub expected_high_s: Seconds,
}

impl From<Prediction> for Expected {
    fn from(Prediction { time, low, high, .. }: Prediction) -> Self {
        Self { expected_s: time, expected_low_s: low, expected_high_s: high }
    }
}

/// The candidate to use, beside what it is to be compared with.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerdictAnswer {
    /// The first.
    pub best: Candidate,
    /// Recommended candidate: plain CSR where nothing is gained; without `products` an equally good one that is ready clearly sooner;
    /// else the best.
    pub recommended: Candidate,
    /// True if no candidate is faster than plain CSR, as for every matrix without non-zeros.
    pub gains_nothing: bool,
    /// Equals of the best, within 5 %: of each kernel the first block size, without the kernel of the best.
    pub equal: Vec<Candidate>,
    /// The one that is ready soonest among the best and its equals.
    pub soonest_ready: Candidate,
    /// The fastest of our kernels for CSR as it is; absent if none is ranked.
    pub plain_csr: Option<Compared>,
    /// The vendor's fastest routine for CSR; absent if none is ranked.
    pub vendors_csr: Option<Compared>,
    /// Present implementation, from which break-evens are counted; absent if no CSR is ranked.
    pub run_now: Option<RunNowAnswer>,
    /// Number of products from which on changing to `recommended` pays off, as a sentence; absent without `run_now` and for a matrix
    /// without non-zeros.
    pub break_even: Option<String>,
}

/// Why a product takes as long as it does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReasonAnswer {
    /// Kind and numbers.
    #[serde(flatten)]
    pub reason: Reason,
    /// The reason as a sentence.
    pub text: String,
}

impl From<Reason> for ReasonAnswer {
    fn from(reason: Reason) -> Self {
        Self { reason, text: reason.to_string() }
    }
}

/// The present implementation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RunNowAnswer {
    /// `vendors-csr`, `plain-csr`, `scipy` or `named`.
    pub kind: &'static str,
    /// The candidate, or for scipy the one on a processor that stands for it.
    #[serde(flatten)]
    pub compared: Compared,
    /// Conversion and upload, seconds; absent if not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversion_s: Option<Seconds>,
}

impl VerdictAnswer {
    /// Candidates that the verdict recommends or compares with, without the equals.
    fn named(&self) -> impl Iterator<Item = Candidate> {
        let run_now = self.run_now.map(|run_now| run_now.compared);
        let compared = [self.plain_csr, self.vendors_csr, run_now].into_iter().flatten().map(|csr| csr.id);
        [self.best, self.recommended, self.soonest_ready].into_iter().chain(compared)
    }
}

/// A candidate that is common practice without advice.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Compared {
    /// The candidate.
    pub id: Candidate,
    /// Seconds of one product.
    pub predicted_s: Seconds,
    /// Speedup of the best over it: in one product, or with `products` in all with conversion and upload.
    pub speedup: f64,
}

impl From<&Verdict<'_>> for VerdictAnswer {
    fn from(verdict: &Verdict<'_>) -> Self {
        let compared = |other: &Advised| Compared {
            id: other.candidate,
            predicted_s: other.prediction.time,
            speedup: verdict.speedup(other),
        };
        let run_now = |now: RunNow| RunNowAnswer {
            kind: now.kind.id(),
            compared: Compared {
                id: now.candidate,
                predicted_s: now.time,
                speedup: verdict.speedup_over(now),
            },
            conversion_s: now.preparation,
        };
        Self {
            best: verdict.best.candidate,
            recommended: verdict.recommended().candidate,
            gains_nothing: verdict.gains_nothing(),
            equal: verdict.equal.iter().map(|advised| advised.candidate).collect(),
            soonest_ready: verdict.soonest_ready().candidate,
            plain_csr: verdict.plain_csr.map(compared),
            vendors_csr: verdict.vendors_csr.map(compared),
            run_now: verdict.run_now.map(run_now),
            break_even: verdict.break_even(),
        }
    }
}

impl AdviseAnswer {
    /// Answer from the advice that `profile` gave for the matrix.
    pub fn of(
        matrix: MatrixSummary,
        profile: &Profile,
        dtype: Dtype,
        objective: &Objective,
        advice: &Advice,
    ) -> Self {
        let Objective { products, placement, row_length, .. } = *objective;
        let ranked = advice.ranked.iter().map(|advised| {
            let in_all_s = products.and_then(|products| advised.in_all(products));
            AdvisedCandidate::ranked(advised, in_all_s)
        });
        let refused = advice.refused.iter().map(|r| AdvisedCandidate::refused(r.candidate, &r.why));
        let candidates = ranked.chain(refused).collect();
        let device = profile.into();
        let verdict = advice.verdict(products).as_ref().map(VerdictAnswer::from);
        Self {
            matrix,
            device,
            dtype,
            products,
            iteration: advice.iteration.clone(),
            placement,
            row_length,
            reordered: None,
            narrowing: None,
            verdict,
            reasons: Vec::new(),
            next_run: None,
            nearby: None,
            structure: None,
            plan: None,
            cache_bytes: Some(profile.device.facts.l2_bytes).filter(|bytes| bytes.0 > 0),
            provenance: profile.into(),
            candidates,
        }
    }

    /// Adds the reasons for the time of a product.
    #[must_use]
    pub fn with_reasons(mut self, reasons: Vec<Reason>) -> Self {
        self.reasons = reasons.into_iter().map(ReasonAnswer::from).collect();
        self
    }

    /// Adds the command and its date.
    #[must_use]
    pub fn with_command(mut self, command: String, date: String) -> Self {
        self.provenance = self.provenance.with_command(command, date);
        self
    }

    /// Adds measured times beside the predicted ones, and the expected times of the other candidates.
    #[must_use]
    pub fn with_verified(mut self, verified: Option<&Verified>) -> Self {
        let Some(Verified { measured, expected, next, .. }) = verified else { return self };
        for one in self.candidates.iter_mut().filter(|one| one.advised.is_some()) {
            let id = &one.candidate.id;
            one.outcome = measured.get(id).map(MeasuredOutcome::from);
            one.expected = expected.expected(id).filter(|_| one.outcome.is_none()).map(Expected::from);
        }
        self.next_run = next.as_ref().map(NextRunAnswer::from);
        self
    }

    /// Keeps the first `top` ranked candidates, those that were measured or that the verdict names, and all unranked ones.
    #[must_use]
    pub fn shortened(mut self, top: usize) -> Self {
        let named: Vec<Candidate> = self.verdict.iter().flat_map(VerdictAnswer::named).collect();
        let mut ranked = 0;
        self.candidates.retain(|one| {
            let is_ranked = one.advised.is_some();
            ranked += usize::from(is_ranked);
            !is_ranked || ranked <= top || one.outcome.is_some() || named.contains(&one.candidate.id)
        });
        self
    }
}

/// A candidate, ranked or not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AdvisedCandidate {
    /// The candidate.
    #[serde(flatten)]
    pub candidate: NamedCandidate,
    /// Predicted time and what it takes; absent if the candidate is not ranked.
    #[serde(flatten)]
    pub advised: Option<Advised>,
    /// Conversion, upload and all products, seconds; absent if one product counts, or if what the first two take was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_all_s: Option<Seconds>,
    /// Measured time, or why the candidate is not ranked.
    #[serde(flatten)]
    pub outcome: Option<MeasuredOutcome>,
    /// Expected time after others were measured; absent if it was measured itself.
    #[serde(flatten)]
    pub expected: Option<Expected>,
}

impl AdvisedCandidate {
    /// Answer from a ranked candidate; `in_all_s` is [`AdvisedCandidate::in_all_s`].
    pub fn ranked(advised: &Advised, in_all_s: Option<Seconds>) -> Self {
        let candidate = advised.candidate.into();
        Self { candidate, advised: Some(advised.clone()), in_all_s, outcome: None, expected: None }
    }

    /// Candidates that are impossible or not predictable.
    pub fn refused(candidate: Candidate, why: &Why) -> Self {
        let infeasible = why.to_string();
        let outcome = match why {
            Why::Unmeasured(_) => MeasuredOutcome::Unmeasured { infeasible, unmeasured: true },
            Why::Infeasible(_) | Why::NoModel(_) => MeasuredOutcome::Infeasible { infeasible },
        };
        let candidate = candidate.into();
        Self { candidate, advised: None, in_all_s: None, outcome: Some(outcome), expected: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Advisor;
    use crate::records::Outcome;
    use sparsight_matrix::{Features, gallery::Recipe};
    use sparsight_model::Conditioned;
    use std::collections::BTreeMap;

    #[test]
    fn a_shortened_answer_keeps_the_first_and_what_was_measured_named_or_refused() {
        let arrow = "arrow,n=20000".parse::<Recipe>().unwrap().generate::<f32>().unwrap();
        let (features, profile) = (Features::of(&arrow), Profile::shipped("nvidia-h200").unwrap());
        let objective = Objective { products: Some(10), ..Objective::default() };
        let advice = Advisor::new(&profile).advise(&features, Dtype::F32, &objective).unwrap();
        let fifth = advice.ranked[4].candidate;
        let expected =
            Conditioned::new(advice.ranked.iter().map(|one| (one.candidate, one.prediction.clone())));
        let measured = BTreeMap::from([(fifth, Outcome::once(Seconds(1e-3)))]);
        let verified = Verified { measured, expected, next: None, clock: None, far: 0 };
        let matrix = MatrixSummary::of("arrow", &features);
        let all = AdviseAnswer::of(matrix, &profile, Dtype::F32, &objective, &advice);
        assert_eq!(all.candidates.len(), advice.ranked.len() + advice.refused.len());
        assert_eq!(all.candidates[0].in_all_s, advice.ranked[0].in_all(10));
        let few = all.with_verified(Some(&verified)).shortened(2);
        let named: Vec<Candidate> = few.verdict.as_ref().unwrap().named().collect();
        let first = [advice.ranked[0].candidate, advice.ranked[1].candidate];
        let ranked = advice.ranked.iter().map(|one| one.candidate);
        let kept = ranked.filter(|one| first.contains(one) || *one == fifth || named.contains(one));
        let kept: Vec<Candidate> = kept.collect();
        assert!(few.verdict.as_ref().unwrap().vendors_csr.is_some() && (4..8).contains(&kept.len()));
        let (ranked, refused) = few.candidates.split_at(kept.len());
        assert_eq!(ranked.iter().map(|one| one.candidate.id).collect::<Vec<_>>(), kept);
        assert!(ranked.iter().all(|one| one.expected.is_some() != (one.candidate.id == fifth)));
        assert!(!refused.is_empty() && refused.len() == advice.refused.len());
        assert!(refused.iter().all(|one| one.advised.is_none() && one.outcome.is_some()));
    }
}
