//! Quality of the first choice: the evaluation of Lehnert et al. 2016, of models and of choices without one.

use super::{Baseline, Judged, Rules, Scope};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use sparsight::models::ModelName;
use sparsight::records::Outcome;
use sparsight::{Advisor, Error, Objective};
use sparsight_kernels::{Candidate, every_candidate};
use sparsight_matrix::{Dtype, Limits, Seconds};
use sparsight_model::{ChoiceQuality, Conditioned, PlacementRule, Ranked, Ranking, RowLengthRule};
use std::collections::BTreeMap;
use std::fmt;

/// A way to choose a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chooser {
    /// The candidate that a model ranks first.
    Model {
        /// Model.
        model: ModelName,
        /// Rule that picked the benchmark matrices for the columns.
        placement: PlacementRule,
        /// Statistic that stands for the row lengths.
        row_length: RowLengthRule,
    },
    /// Recommendation of `advise` by [`ModelName::Best`]: of those that are as good the one that is ready soonest
    /// ([`Verdict::recommended`](sparsight::advise::Verdict::recommended)).
    Recommended,
    /// The fastest of so many runs: the first is what [`ModelName::Best`] ranks first, the others follow from what was measured
    /// ([`Conditioned`]).
    Runs(usize),
    /// No model.
    Baseline(Baseline),
    /// The least time that was rescaled from another device, part by part.
    Rescaling,
    /// The least time that was transferred from there by the model of Guo and Wang 2013.
    GuoWang2013,
    /// The least time on that other device: as if both were alike but for their speed.
    Reference,
}

impl fmt::Display for Chooser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model { model, .. } => model.fmt(f),
            Self::Recommended => f.pad("recommended"),
            Self::Runs(runs) => f.pad(&format!("{} after {runs} runs", ModelName::Best)),
            Self::Baseline(baseline) => baseline.fmt(f),
            Self::Rescaling => f.pad("rescaling"),
            Self::GuoWang2013 => f.pad("guo-wang-2013"),
            Self::Reference => f.pad("as-on-reference"),
        }
    }
}

/// Serialises the name, and the rules of a model.
impl Serialize for Chooser {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", &self.to_string())?;
        if let Self::Model { placement, row_length, .. } = self {
            map.serialize_entry("placement", placement)?;
            map.serialize_entry("row_length", row_length)?;
        }
        map.end()
    }
}

/// Cost of the choices of one chooser.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChoiceRow {
    /// The chooser.
    #[serde(flatten)]
    pub chooser: Chooser,
    /// Value type.
    pub dtype: Dtype,
    /// Matrices counted.
    pub scope: Scope,
    /// The candidate that [`Baseline::BestSingle`] stands for; `None` for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidate: Option<Candidate>,
    /// Measured time of the chosen candidate against the best measured one.
    #[serde(flatten)]
    pub quality: ChoiceQuality,
    /// Chosen / best, one a matrix, increasing.
    #[serde(skip)]
    pub ratios: Vec<f64>,
    /// Matrices whose first choice was recorded as not possible: how often a model would mislead that is not asked
    /// behind a check of what fits. The first candidate with a time stands in.
    pub first_infeasible: usize,
    /// Matrices whose first choice has no time for another reason: failed, wrong, or not in the record.
    pub first_unmeasured: usize,
}

/// The choice for one matrix.
struct Choice<'j, 'r> {
    of: &'j Judged<'r>,
    first: Candidate,
    /// Measured time of the first choice that has one.
    time: Option<Seconds>,
}

impl<'j, 'r> Choice<'j, 'r> {
    fn fixed(of: &'j Judged<'r>, first: Candidate) -> Self {
        Self { of, first, time: of.time(first) }
    }

    fn ranked(of: &'j Judged<'r>, ranking: &Ranking) -> Option<Self> {
        let time = ranking.ranked.iter().find_map(|r| of.time(r.candidate));
        Some(Self { of, first: ranking.best()?.candidate, time })
    }
}

impl ChoiceRow {
    /// `None` if no choice has a time.
    fn of(chooser: Chooser, dtype: Dtype, scope: Scope, choices: &[&Choice<'_, '_>]) -> Option<Self> {
        let pairs = || choices.iter().filter_map(|c| Some((c.time?, c.of.best?)));
        let quality = ChoiceQuality::of(pairs())?;
        let mut ratios: Vec<f64> =
            pairs().map(|(time, best)| time.0 / best.0).filter(|r| r.is_finite()).collect();
        ratios.sort_by(f64::total_cmp);
        let without_time = || choices.iter().filter(|c| c.of.time(c.first).is_none());
        let infeasible =
            |c: &&&Choice<'_, '_>| matches!(c.of.outcome(c.first), Some(Outcome::Infeasible { .. }));
        let first_infeasible = without_time().filter(infeasible).count();
        let first_unmeasured = without_time().count() - first_infeasible;
        let candidate = match chooser {
            Chooser::Baseline(Baseline::BestSingle(candidate)) => Some(candidate),
            _ => None,
        };
        Some(Self { chooser, dtype, scope, candidate, quality, ratios, first_infeasible, first_unmeasured })
    }
}

/// Scopes in which choices are counted: the third asks for a kernel, and here there is none yet.
const SCOPES: [Scope; 2] = [Scope::All, Scope::BeyondLaunch];

fn counts(judged: &Judged<'_>, dtype: Dtype, scope: Scope) -> bool {
    judged.record.dtype == dtype && (scope == Scope::All || judged.beyond_launch)
}

/// Rows, one for each value type and scope.
fn rows(chooser: Chooser, choices: &[Choice<'_, '_>]) -> Vec<ChoiceRow> {
    let each = Dtype::ALL.into_iter().flat_map(|dtype| SCOPES.map(|scope| (dtype, scope)));
    each.filter_map(|(dtype, scope)| {
        let counted: Vec<_> = choices.iter().filter(|c| counts(c.of, dtype, scope)).collect();
        ChoiceRow::of(chooser, dtype, scope, &counted)
    })
    .collect()
}

/// Cost of the first choice of a model.
pub(super) fn of_model(
    model: ModelName,
    Rules { placement, row_length }: Rules,
    rankings: &[(&Judged<'_>, Ranking)],
) -> Vec<ChoiceRow> {
    let choices: Vec<_> = rankings.iter().filter_map(|(of, ranking)| Choice::ranked(of, ranking)).collect();
    rows(Chooser::Model { model, placement, row_length }, &choices)
}

/// Cost of the recommendation of `advise` for one product.
///
/// # Errors
/// Those of [`Advisor::advise`].
pub(super) fn of_advice(advisor: Advisor<'_>, tested: &[&Judged<'_>]) -> Result<Vec<ChoiceRow>, Error> {
    let mut chosen = Vec::new();
    for &of in tested {
        let advice = advisor.advise(&of.record.features, of.record.dtype, &Objective::default())?;
        chosen.extend(advice.verdict(None).map(|verdict| (of, verdict.recommended().candidate)));
    }
    Ok(of_chosen(Chooser::Recommended, chosen.into_iter()))
}

/// Numbers of runs in the rows of [`Chooser::Runs`].
const RUNS: [usize; 4] = [2, 3, 4, 6];

/// Cost of the fastest of some runs, of our candidates that have a time: one after another in the order of
/// [`fastest`](sparsight::fastest), but chosen by the very times by which it is judged.
pub(super) fn of_runs(rankings: &[(&Judged<'_>, Ranking)]) -> Vec<ChoiceRow> {
    let most = RUNS.into_iter().max().unwrap_or_default();
    // The fastest after each run, matrix by matrix.
    let found: Vec<(&Judged<'_>, Vec<Candidate>)> =
        rankings.iter().map(|&(of, ref ranking)| (of, fastest_of_runs(of, ranking, most))).collect();
    let after = |runs: usize| {
        let chosen = found
            .iter()
            .filter_map(move |(of, fastest)| Some((*of, *fastest.get(runs - 1).or(fastest.last())?)));
        of_chosen(Chooser::Runs(runs), chosen)
    };
    RUNS.into_iter().flat_map(after).collect()
}

/// The fastest after 1, 2, ... runs, at most `most`; fewer if no more candidates have a time.
fn fastest_of_runs(of: &Judged<'_>, ranking: &Ranking, most: usize) -> Vec<Candidate> {
    let timed = |r: &&Ranked| of.time(r.candidate).is_some() && !r.candidate.kernel.is_vendors();
    let ranked: Vec<&Ranked> = ranking.ranked.iter().filter(timed).collect();
    let mut known = Conditioned::new(ranked.iter().map(|r| (r.candidate, r.prediction.clone())));
    let mut next = ranked.first().map(|r| r.candidate);
    let mut fastest = Vec::new();
    while let Some((candidate, time)) = next.and_then(|candidate| Some((candidate, of.time(candidate)?))) {
        known.took(&candidate, time);
        let Some((best, _)) = known.fastest().filter(|_| fastest.len() < most) else { break };
        fastest.push(best);
        next = known.next(&best, 1, |_| Seconds(0.0)).map(|next| next.candidate);
    }
    fastest
}

/// Cost of choices that were made elsewhere, one a matrix.
pub(super) fn of_chosen<'j, 'r: 'j>(
    chooser: Chooser,
    chosen: impl Iterator<Item = (&'j Judged<'r>, Candidate)>,
) -> Vec<ChoiceRow> {
    rows(chooser, &chosen.map(|(of, first)| Choice::fixed(of, first)).collect::<Vec<_>>())
}

/// Cost of the choices without a model.
pub(super) fn of_baselines(judged: &[Judged<'_>], limits: &Limits) -> Vec<ChoiceRow> {
    let mut all = Vec::new();
    for rule in Baseline::RULES {
        let choose = |j: &Judged<'_>| rule.choose(&j.record.features, j.record.dtype, limits);
        all.extend(of_chosen(Chooser::Baseline(rule), judged.iter().map(|j| (j, choose(j)))));
    }
    all.extend(of_best_single(judged));
    all
}

/// Cost of the best fixed choice.
pub(super) fn of_best_single(judged: &[Judged<'_>]) -> Vec<ChoiceRow> {
    let mut all = Vec::new();
    for (dtype, scope) in Dtype::ALL.into_iter().flat_map(|dtype| SCOPES.map(|scope| (dtype, scope))) {
        let counted: Vec<&Judged<'_>> = judged.iter().filter(|j| counts(j, dtype, scope)).collect();
        let Some(best) = best_single(dtype, &counted) else { continue };
        let choices: Vec<_> = counted.into_iter().map(|j| Choice::fixed(j, best)).collect();
        let chooser = Chooser::Baseline(Baseline::BestSingle(best));
        all.extend(ChoiceRow::of(chooser, dtype, scope, &choices.iter().collect::<Vec<_>>()));
    }
    all
}

/// The candidate with the least geometric mean of its time over the best, among those that have a time on the most
/// matrices: a choice that is to be made once has to be possible everywhere. Of equal ones the first of the catalogue.
fn best_single(dtype: Dtype, judged: &[&Judged<'_>]) -> Option<Candidate> {
    let mut found: BTreeMap<Candidate, (usize, f64)> = BTreeMap::new();
    for j in judged {
        for (candidate, time) in j.record.times().filter(|(_, t)| t.0 > 0.0) {
            let (count, sum) = found.entry(candidate).or_default();
            *count += 1;
            *sum += (time.0 / j.best?.0).ln();
        }
    }
    let most = found.values().map(|v| v.0).max()?;
    let mean = |c: &Candidate| found.get(c).filter(|v| v.0 == most).map(|v| v.1);
    every_candidate(dtype)
        .filter_map(|c| Some((c, mean(&c)?)))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(candidate, _)| candidate)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{record, time};
    use super::*;
    use sparsight::records::{CorpusRecord, Measured};
    use sparsight_matrix::Infeasible;
    use sparsight_model::{Prediction, Ranked};

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    /// Two matrices of three rows of lengths 4, 4, 8: the rules choose csr-vector/t4/b256 (mean 16 / 3), ell/b256 and
    /// csr-vector/t32/b256.
    fn corpus() -> [CorpusRecord; 2] {
        let first = [
            time("csr-vector/t4/b256/f64", 2e-6),
            time("csr-vector/t32/b256/f64", 4e-6),
            time("ell/b256/f64", 1e-6),
        ];
        let second = [time("csr-vector/t4/b256/f64", 8e-6), time("csr-vector/t32/b256/f64", 2e-6)];
        [record("one", &[4, 4, 8], first.to_vec()), record("two", &[4, 4, 8], second.to_vec())]
    }

    #[test]
    fn a_first_choice_without_a_time_is_counted_and_the_next_one_stands_in() {
        let infeasible = Infeasible::Padding { factor: 9.0, limit: 8.0 };
        let ell = "ell/b256/f64".parse().unwrap();
        let refused = Measured { id: ell, outcome: Outcome::Infeasible { infeasible } };
        let csr = time("csr-scalar/b64/f64", 3e-6);
        let corpus = [
            record("refused", &[1], vec![refused, csr.clone(), time("coo/b64/f64", 1e-6)]),
            record("missing", &[1], vec![csr]),
        ];
        let ranked = |id: &str| Ranked {
            candidate: id.parse().unwrap(),
            prediction: Prediction {
                time: Seconds(1e-6),
                low: Seconds(1e-6),
                high: Seconds(1e-6),
                extrapolates: Vec::new(),
            },
        };
        let ids = ["ell/b256/f64", "csr-scalar/b64/f64", "coo/b64/f64"];
        let ranking = Ranking { ranked: ids.map(ranked).to_vec(), refused: Vec::new() };
        let judged = Judged::all(&corpus, 3e-7);
        let rankings: Vec<_> = judged.iter().map(|j| (j, ranking.clone())).collect();
        let rules = Rules { placement: PlacementRule::Blend, row_length: RowLengthRule::Paper };
        let rows = of_model(ModelName::Strip, rules, &rankings);
        let all = rows.iter().find(|r| r.scope == Scope::All).unwrap();
        assert_eq!((all.first_infeasible, all.first_unmeasured, all.quality.count), (1, 1, 2));
        assert_eq!(all.ratios.len(), 2);
        assert!(close(all.quality.worst_ratio, 3.0), "csr-scalar stands in, coo is best");
    }

    #[test]
    fn the_fastest_of_several_runs_counts_and_the_first_follows_the_ranking() {
        let times = [("coo/b64/f64", 4e-6), ("csr-scalar/b64/f64", 3e-6), ("jad/b64/f64", 2e-6)];
        let corpus = [record("three", &[1], times.map(|(id, t)| time(id, t)).to_vec())];
        let ranked = |(id, at): (&str, f64)| {
            let (time, low, high) = (Seconds(at), Seconds(at / 1.1), Seconds(at * 1.1));
            let prediction = Prediction { time, low, high, extrapolates: Vec::new() };
            Ranked { candidate: id.parse().unwrap(), prediction }
        };
        // Predicted the other way round, with a candidate between them that was not run.
        let predicted = [
            ("coo/b64/f64", 2e-6),
            ("ell/b64/f64", 2.05e-6),
            ("csr-scalar/b64/f64", 2.1e-6),
            ("jad/b64/f64", 2.2e-6),
        ];
        let ranking = Ranking { ranked: predicted.map(ranked).to_vec(), refused: Vec::new() };
        let judged = Judged::all(&corpus, 3e-7);
        let rows = of_runs(&[(&judged[0], ranking)]);
        let ratio = |runs: usize| {
            rows.iter().find(|r| r.chooser == Chooser::Runs(runs) && r.scope == Scope::All).unwrap().ratios[0]
        };
        assert!(close(ratio(2), 1.5) && close(ratio(3), 1.0) && close(ratio(6), 1.0), "{rows:?}");
    }

    #[test]
    fn the_vendors_csr_has_a_row_where_it_was_measured() {
        let results = [time("csr-vector/t4/b256/f64", 2e-6), time("cusparse-csr/a1/f64", 3e-6)];
        let corpus = [record("one", &[4, 4, 8], results.to_vec()), corpus()[1].clone()];
        let rows = of_baselines(&Judged::all(&corpus, 3e-7), &Limits::NONE);
        let vendor = Chooser::Baseline(Baseline::VendorCsr);
        let row = rows.iter().find(|r| r.chooser == vendor && r.scope == Scope::All).unwrap();
        assert_eq!((row.ratios.as_slice(), row.quality.count, row.first_unmeasured), (&[1.5][..], 1, 1));
    }

    #[test]
    fn baselines_are_what_they_are_by_hand() {
        let corpus = corpus();
        let judged = Judged::all(&corpus, 3e-7);
        let rows = of_baselines(&judged, &Limits::NONE);
        let row = |name: &str| {
            rows.iter().find(|r| r.chooser.to_string() == name && r.scope == Scope::All).unwrap()
        };
        // Chosen / best: 2 and 4, 1 and nothing, 4 and 1.
        assert_eq!(row("csr-by-mean").ratios, [2.0, 4.0]);
        assert!(close(row("csr-by-mean").quality.mean_ratio, 8.0_f64.sqrt()));
        assert_eq!((row("ell-rule").quality.count, row("ell-rule").first_unmeasured), (1, 1));
        assert_eq!(row("csr-vector/t32/b256").ratios, [1.0, 4.0]);
        assert!(
            rows.iter().all(|r| r.chooser != Chooser::Baseline(Baseline::VendorCsr)),
            "the vendor's library was not run"
        );
        // ELL has no time on the second matrix; of the two others t32 has 2 on average and t4 2.83.
        let single = row("best-single");
        let t32 = "csr-vector/t32/b256/f64".parse().unwrap();
        assert_eq!(single.chooser, Chooser::Baseline(Baseline::BestSingle(t32)));
        assert!(close(single.quality.mean_ratio, 2.0));
    }
}
