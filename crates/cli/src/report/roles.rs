//! Roles of candidates: the best, plain CSR, the vendor's.

use super::reported::{ReportedAdvice, ReportedCandidate, ReportedId};
use crate::text;
use sparsight::kernels::Candidate;
use std::collections::HashSet;

/// The candidates that the verdict names; each is ranked.
#[derive(Debug, Default)]
pub(super) struct Roles<'a> {
    pub(super) best: Option<&'a ReportedCandidate>,
    /// The candidate to use.
    pub(super) recommended: Option<&'a ReportedCandidate>,
    pub(super) plain_csr: Option<&'a ReportedCandidate>,
    pub(super) vendors_csr: Option<&'a ReportedCandidate>,
    /// The candidate that is run now, if it is ranked.
    pub(super) run_now: Option<&'a ReportedCandidate>,
    pub(super) soonest_ready: Option<&'a ReportedCandidate>,
}

impl<'a> Roles<'a> {
    pub(super) fn of(advice: &'a ReportedAdvice) -> Self {
        let Some(verdict) = &advice.verdict else {
            // Older answers have none; the first is what it says.
            let first = advice.candidates.first().filter(|one| one.time().is_some());
            return Self { best: first, recommended: first, ..Self::default() };
        };
        let ranked = |id: &str| advice.candidate(id).filter(|one| one.time().is_some());
        let compared = |csr: &Option<ReportedId>| csr.as_ref().and_then(|csr| ranked(&csr.id));
        let (best, plain_csr) = (ranked(&verdict.best), compared(&verdict.plain_csr));
        // Older answers do not say.
        let otherwise = || plain_csr.filter(|_| verdict.gains_nothing).or(best);
        Self {
            best,
            recommended: verdict.recommended.as_deref().and_then(ranked).or_else(otherwise),
            plain_csr,
            vendors_csr: compared(&verdict.vendors_csr),
            run_now: compared(&verdict.run_now),
            soonest_ready: ranked(&verdict.soonest_ready),
        }
    }

    /// Each candidate once, with its role and the class of its colour; the best last, so that it is drawn over the others.
    pub(super) fn named(&self) -> Vec<(&'a ReportedCandidate, &'static str, &'static str)> {
        let is_best = |one: &ReportedCandidate| self.best.is_some_and(|best| best.id == one.id);
        let run_now = self.run_now.filter(|now| self.role(now) == Some("run now"));
        let compared = [
            (run_now, "run now", "plain"),
            (self.vendors_csr, "cuSPARSE's CSR", "vendor"),
            (self.plain_csr, "plain CSR", "plain"),
        ];
        let others = compared.into_iter().filter_map(|(one, role, class)| Some((one?, role, class)));
        let others = others.filter(|(one, ..)| !is_best(one));
        let best = self.best.map(|best| (best, self.role(best).unwrap_or("best"), "best"));
        others.chain(best).collect()
    }

    /// Role of a candidate, if the verdict names it: `plain CSR`.
    pub(super) fn role(&self, candidate: &ReportedCandidate) -> Option<&'static str> {
        let is = |one: Option<&ReportedCandidate>| one.is_some_and(|one| one.id == candidate.id);
        match () {
            () if is(self.plain_csr) => Some("plain CSR"),
            () if is(self.vendors_csr) => Some("cuSPARSE's CSR"),
            () if is(self.run_now) => Some("run now"),
            () => None,
        }
    }
}

/// Name of a candidate, as in the other commands.
pub(super) fn name(candidate: &ReportedCandidate) -> String {
    name_of(&candidate.id)
}

/// Name of the candidate with an id; the id itself if it is unknown.
pub(super) fn name_of(id: &str) -> String {
    id.parse::<Candidate>().map_or_else(|_| id.to_owned(), |known| text::candidate(&known))
}

/// The first block size of each kernel, best first, and the candidates that were measured or have a role.
pub(super) fn best_of_each_kernel<'a>(
    advice: &'a ReportedAdvice,
    roles: &Roles<'_>,
) -> Vec<&'a ReportedCandidate> {
    let mut kernels = HashSet::new();
    let kernel = |id: &str| match id.parse::<Candidate>() {
        Ok(known) => format!("{} {}", known.kernel, known.dtype),
        Err(_) => id.to_owned(),
    };
    let ranked = advice.candidates.iter().filter(|one| one.time().is_some());
    ranked
        .filter(|one| {
            kernels.insert(kernel(&one.id)) || one.measured_s.is_some() || roles.role(one).is_some()
        })
        .collect()
}
