//! Rules that a library can paste: a few questions about numbers that cost nothing, and what to run.
//!
//! ```text
//! CorpusRecord, candidates -> Case      regret of each candidate on each matrix
//!   grow -> Rule                        a tree of a few leaves for least regret      tree.rs
//!   Rules::text                         the same as nested ifs in C++, C or Python    text.rs
//! Rules::judge                          what it costs on matrices that it was not learned from
//! ```
//! It takes no model: what was measured is learned from as it is. What it loses against a model of all features, `evaluate` says.

mod guard;
mod quantity;
mod text;
mod tree;

pub use guard::Guard;
pub use quantity::Quantity;
pub use text::Language;
pub use tree::Rule;

use sparsight::Error;
use sparsight::profile::Missing;
use sparsight::records::CorpusRecord;
use sparsight_kernels::Candidate;
use sparsight_matrix::{Dtype, Features, Seconds};
use sparsight_model::{ChoiceQuality, Origin};
use std::collections::{BTreeMap, BTreeSet};
use tree::{Case, grow};

/// Weight of a real matrix beside a generated one: as in the comparison of `best`.
const REAL: f64 = 3.0;

/// Rules for one value type.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Value type.
    pub dtype: Dtype,
    /// Questions and choices.
    pub rule: Rule<Candidate>,
    /// Candidate where the format of the other could pad beyond the limit ([`Guard`]), or cannot hold the matrix: of those that held
    /// every matrix, and need no guard, the one with the least regret.
    pub otherwise: Candidate,
    /// Candidates to choose from.
    pub candidates: Vec<Candidate>,
    /// Matrices learned from.
    pub matrices: usize,
}

impl Rules {
    /// Learns rules of at most `leaves` leaves that choose among `candidates`, all of one value type, from records of times: those of
    /// that value type with a time of any of them. Deterministic.
    ///
    /// Regret is the logarithm of a time over the least of any of `candidates` on that matrix. A candidate without a time on a matrix, or that its guard refuses, counts as
    /// [`Rules::otherwise`], which stands in for it.
    ///
    /// # Errors
    /// [`Error::Lacking`], of the profile called `profile`, without a time of any candidate, or if no candidate has a time on every
    /// matrix: there is nothing to fall back on.
    pub fn learn<'r>(
        profile: &str,
        records: impl IntoIterator<Item = &'r CorpusRecord>,
        candidates: &[Candidate],
        leaves: usize,
    ) -> Result<Self, Error> {
        let lacking = |missing| Error::Lacking { profile: profile.to_owned(), missing };
        let records: Vec<&CorpusRecord> = records.into_iter().collect();
        let first = candidates.first().filter(|_| !records.is_empty());
        let dtype = first.ok_or_else(|| lacking(Missing::Times))?.dtype;
        let known: Vec<Regrets<'_>> =
            records.into_iter().filter_map(|r| Regrets::of(r, candidates)).collect();
        if known.is_empty() {
            let mut kernels: Vec<&'static str> = candidates.iter().map(|one| one.kernel.name()).collect();
            kernels.dedup();
            return Err(lacking(Missing::TimesOf { kernels, dtype }));
        }
        let weight = |one: &Regrets<'_>| if one.record.origin() == Origin::Real { REAL } else { 1.0 };
        // Of those with a time on every matrix the one with the least regret.
        let of_all = (0..candidates.len()).filter_map(|at| {
            let sum = |one: &Regrets<'_>| Some(weight(one) * one.regrets[at]?);
            if Guard::of(candidates[at].format()).is_some() {
                return None;
            }
            Some((at, known.iter().map(sum).sum::<Option<f64>>()?))
        });
        let fallback = of_all.min_by(|a, b| a.1.total_cmp(&b.1));
        let (fallback, _) = fallback.ok_or_else(|| lacking(Missing::TimesOnEach))?;
        let case = |one: &Regrets<'_>| {
            let instead = one.regrets[fallback].unwrap_or_default();
            Case {
                quantities: Quantity::ALL.map(|quantity| quantity.of(&one.record.features)),
                regrets: candidates
                    .iter()
                    .zip(&one.regrets)
                    .map(|(taken, regret)| {
                        regret.filter(|_| is_safe(*taken, &one.record.features)).unwrap_or(instead)
                    })
                    .collect(),
                weight: weight(one),
            }
        };
        let rule = grow(&known.iter().map(case).collect::<Vec<_>>(), leaves);
        Ok(Self {
            dtype,
            rule: rule.map(&|at| candidates[at]),
            otherwise: candidates[fallback],
            candidates: candidates.to_vec(),
            matrices: known.iter().map(|one| one.record.matrix.as_str()).collect::<BTreeSet<_>>().len(),
        })
    }

    /// Candidate for a matrix: [`Rules::otherwise`] where the format of the other could pad beyond the limit.
    pub fn choose(&self, features: &Features) -> Candidate {
        let taken = self.rule.take(&|quantity| quantity.of(features));
        if is_safe(taken, features) { taken } else { self.otherwise }
    }

    /// Cost of choosing by the rules: time of the chosen candidate over the least of all candidates, on those of `records` that have the
    /// value type and a time of the chosen one, or of [`Rules::otherwise`], which is run where it has none. `None` without any.
    pub fn judge<'r>(&self, records: impl IntoIterator<Item = &'r CorpusRecord>) -> Option<ChoiceQuality> {
        let chosen = |record: &CorpusRecord| {
            let known = Regrets::of(record, &self.candidates)?;
            let regret = |candidate: Candidate| {
                known.regrets[self.candidates.iter().position(|one| *one == candidate)?]
            };
            let taken = regret(self.choose(&record.features)).or_else(|| regret(self.otherwise))?;
            Some((Seconds(taken.exp()), Seconds(1.0)))
        };
        ChoiceQuality::of(records.into_iter().filter_map(chosen))
    }
}

/// Returns whether row lengths alone say that the padding of its format is within the limit, or nothing is known of it.
fn is_safe(candidate: Candidate, features: &Features) -> bool {
    Guard::of(candidate.format()).is_none_or(|guard| guard.holds(&|quantity: Quantity| quantity.of(features)))
}

/// Cost of each candidate on one matrix.
struct Regrets<'r> {
    record: &'r CorpusRecord,
    /// Logarithms of time over least time; `None` without a time.
    regrets: Vec<Option<f64>>,
}

impl<'r> Regrets<'r> {
    /// `None` of another value type, or without a time of any candidate.
    fn of(record: &'r CorpusRecord, candidates: &[Candidate]) -> Option<Self> {
        if candidates.first()?.dtype != record.dtype {
            return None;
        }
        let times: BTreeMap<Candidate, Seconds> = record.times().collect();
        let time = |candidate: &Candidate| times.get(candidate).map(|time| time.0);
        let best = candidates.iter().filter_map(time).min_by(f64::total_cmp)?;
        let regrets = candidates.iter().map(|candidate| Some((time(candidate)? / best).ln())).collect();
        Some(Self { record, regrets })
    }
}
