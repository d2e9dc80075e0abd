//! Learning how candidates compare, judging it by held-out matrices, and joining it with predicted times.

use super::growth::GROWTH;
use super::samples::{Compared, Row};
use crate::boosting::{Matrix, names_without_block};
use crate::learned::{FOLDS, Folds, HeldTo, Judged, SizeClasses, enough_real};
use crate::trees::{self, VectorForest};
use crate::{ChoiceQuality, LearningSample, MIN_MATRICES, PredictError, Storable, packed};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sparsight_kernels::{Candidate, DeviceFacts};
use sparsight_matrix::{Dtype, Features, Seconds};
use std::collections::{BTreeSet, HashMap};

/// Candidates that are at most so far behind, as `ln(T / T_best)`, get their times from the comparison. Chosen: beyond it
/// little was measured with weight, and times of single kernels are better.
const NEAR: f64 = 0.2;

/// Decay of a candidate's weight in the reference time with its distance from the first: one that is 6 % behind counts 0.4 of
/// it. Chosen.
const DECAY: f64 = 16.0;

/// Weight of the comparison near the best; the rest is that of the prediction for the candidate alone. Chosen by holding out
/// folders a, b, c and d in turn, with all that was made from their matrices, each with two seeds of the trees and three of the
/// comparison: of 1,208 choices on an H200 best / chosen was 0.9753, 0.9768, 0.9773, 0.9759 and 0.9713 with 0, 0.25, 0.5, 0.75 and 1, of
/// 408 on an H100 0.9746, 0.9774, 0.9789, 0.9779 and 0.9725.
const SHARE: f64 = 0.5;

/// Comparison of the candidates of a matrix, learned from measured matrices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Comparison {
    matrices: usize,
    dtypes: Vec<Dtype>,
    choice: ChoiceQuality,
    size_classes: SizeClasses,
    compared: Vec<Compared>,
    trees: VectorForest,
}

impl Comparison {
    /// Learns from measured matrices. Samples without a positive time, those whose features do not hold
    /// [`Locality`](sparsight_matrix::Locality) and candidates with fewer than [`MIN_MATRICES`] matrices are left out.
    ///
    /// `judged`: what models of single kernels predicted of held-out matrices ([`LearnedModel::fit_judged`](crate::LearnedModel::fit_judged)),
    /// by which the intervals around joined times are fitted; without any they are as wide as around the times of these models.
    ///
    /// Deterministic. Learns six times, five of them for cross-validation, side by side.
    ///
    /// # Errors
    /// [`PredictError::TooFewMatrices`] if no candidate has enough.
    pub fn fit(
        facts: &DeviceFacts,
        samples: &[LearningSample<'_>],
        judged: &[Judged<'_>],
    ) -> Result<Self, PredictError> {
        let usable: Vec<LearningSample<'_>> =
            samples.iter().copied().filter(LearningSample::is_usable).collect();
        let compared = Compared::of(&usable);
        let rows = Row::all(&compared, &usable, facts);
        let folds = Folds::of(rows.iter().map(|row| row.matrix));
        let matrices = folds.matrices().count();
        let too_few =
            PredictError::TooFewMatrices { model: "comparison", got: matrices, needed: MIN_MATRICES };
        if rows.is_empty() {
            return Err(too_few);
        }
        let dtypes: BTreeSet<Dtype> = usable.iter().map(|s| s.candidate.dtype).collect();
        let all: Vec<&Row<'_>> = rows.iter().collect();
        let (held_out, trees) = rayon::join(|| held_out(&rows, &folds), || grow(&all));
        let choice = choice(&held_out).ok_or(too_few)?;
        let size_classes = size_classes(&held_out, &compared, judged);
        Ok(Self { matrices, dtypes: dtypes.into_iter().collect(), choice, size_classes, compared, trees })
    }

    /// Matrices learned from.
    pub fn matrices(&self) -> usize {
        self.matrices
    }

    /// Quality of the first choice on held-out matrices: five folds, a value type counted apart, of real ones alone where
    /// there are enough.
    pub fn choice(&self) -> &ChoiceQuality {
        &self.choice
    }

    /// `ln(T / T_best)` of each candidate, the least of them 0; `None` for one of which nothing was learned, and for all of
    /// what [`Storable::split`] leaves. All are of one value type. Which candidates stand beside each other matters: give
    /// those that are possible.
    pub fn log_ratios(
        &self,
        candidates: &[Candidate],
        features: &Features,
        facts: &DeviceFacts,
    ) -> Vec<Option<f64>> {
        let has_trees = self.trees.outputs() > 0;
        let known = candidates.first().filter(|first| has_trees && self.dtypes.contains(&first.dtype));
        let inputs = known.and_then(|first| Compared::inputs(&self.compared, features, first.dtype, facts));
        let Some(inputs) = inputs else { return vec![None; candidates.len()] };
        let sums = self.trees.sums(&inputs);
        let ratio = |candidate| Compared::output(&self.compared, candidate).map(|output| sums[output]);
        let mut ratios: Vec<Option<f64>> = candidates.iter().map(ratio).collect();
        from_least(&mut ratios);
        ratios
    }

    /// Factors of the intervals around joined times, beside those of the models that they were joined from, in the order of
    /// `candidates`: by the family of the kernel and the least joined time of the matrix. 1 for a candidate that was not compared.
    ///
    /// `ratios` and `joined`: of [`Comparison::log_ratios`] and [`Comparison::joined`].
    pub fn interval_factors(
        &self,
        candidates: &[Candidate],
        ratios: &[Option<f64>],
        joined: &[Option<Seconds>],
    ) -> Vec<f64> {
        let least_s = least_s(ratios, joined);
        let of_kernel = |blocks: &[Candidate]| {
            let factor = self.size_classes.of_kernel(blocks[0].kernel).at(least_s);
            std::iter::repeat_n(factor, blocks.len())
        };
        let factors = candidates.chunk_by(|a, b| a.kernel == b.kernel).flat_map(of_kernel);
        factors.zip(ratios).map(|(factor, ratio)| ratio.map_or(1.0, |_| factor)).collect()
    }

    /// The times of candidates of one value type, joined from how they compare (r, [`Comparison::log_ratios`]) and what was
    /// predicted for each alone (p), in the same order. A candidate without a prediction gets `None`; one without a ratio keeps its
    /// own time:
    ///
    /// ```text
    /// ln q = mean of ln p - r over candidates, weighed by exp(-16 r)     the time of the best, never below the least p
    /// T = (q e^r p)^(1/2)        for r up to 0.2: near the best, the comparison tells them apart
    /// T = max(p, q e^0.2)        for those beyond
    /// T = p                      where nothing was learned
    /// ```
    /// Errors of p that candidates have for themselves are averaged in q, and have half of the say.
    pub fn joined(ratios: &[Option<f64>], alone: &[Option<Seconds>]) -> Vec<Option<Seconds>> {
        debug_assert_eq!(ratios.len(), alone.len(), "a ratio and a time for each candidate");
        // The least of those of which there is a time.
        let mut ratios: Vec<Option<f64>> = ratios.iter().zip(alone).map(|(r, p)| p.and(*r)).collect();
        from_least(&mut ratios);
        let both = || ratios.iter().zip(alone).filter_map(|(r, p)| Some(((*r)?, (*p)?.0.ln())));
        let (weight, sum) = both().fold((0.0, 0.0), |(weight, sum), (r, p)| {
            let own = (-DECAY * r).exp();
            (weight + own, sum + own * (p - r))
        });
        let least = both().map(|(_, p)| p).fold(f64::INFINITY, f64::min);
        let best = f64::max(sum / weight, least);
        let time = |(ratio, alone): (&Option<f64>, &Option<Seconds>)| {
            let alone = (*alone)?;
            Some(match ratio {
                None => alone,
                Some(r) if *r <= NEAR => Seconds((SHARE * (best + r) + (1.0 - SHARE) * alone.0.ln()).exp()),
                Some(_) => Seconds(alone.0.max((best + NEAR).exp())),
            })
        };
        ratios.iter().zip(alone).map(time).collect()
    }
}

/// The least time of those candidates that were compared, seconds.
fn least_s(ratios: &[Option<f64>], joined: &[Option<Seconds>]) -> f64 {
    let compared = ratios.iter().zip(joined).filter_map(|(ratio, time)| ratio.and(*time));
    compared.fold(f64::INFINITY, |least, time| least.min(time.0))
}

/// Makes the least of them 0.
fn from_least(ratios: &mut [Option<f64>]) {
    let least = ratios.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    ratios.iter_mut().flatten().for_each(|ratio| *ratio -= least);
}

/// The trees of at least one row.
fn grow(rows: &[&Row<'_>]) -> VectorForest {
    let taught = rows.iter().map(|row| trees::Row {
        inputs: &row.inputs,
        responses: &row.responses,
        weights: &row.weights,
    });
    VectorForest::grow(&taught.collect::<Vec<_>>(), &GROWTH)
}

/// A row and what trees grown without its matrix say of it, `ln(T / T_best)` of each output.
type HeldOutRow<'r, 'a> = (&'r Row<'a>, Vec<f64>);

/// Every row that judges: all of them, or those of real matrices where there are enough.
fn held_out<'r, 'a>(rows: &'r [Row<'a>], folds: &Folds<'_>) -> Vec<HeldOutRow<'r, 'a>> {
    let only_real = enough_real(rows.iter().map(|row| (row.matrix, !row.real)));
    let of_fold = |fold: usize| -> Vec<HeldOutRow<'r, 'a>> {
        let (own, others): (Vec<&Row<'_>>, Vec<&Row<'_>>) =
            rows.iter().partition(|row| folds.fold(row.matrix) == fold);
        if others.is_empty() {
            return Vec::new();
        }
        let trees = grow(&others);
        let judged = own.into_iter().filter(|row| !only_real || row.real);
        judged.map(|row| (row, trees.sums(&row.inputs))).collect()
    };
    (0..FOLDS).into_par_iter().flat_map_iter(of_fold).collect()
}

/// Cost of the first choice on held-out matrices.
fn choice(held_out: &[HeldOutRow<'_, '_>]) -> Option<ChoiceQuality> {
    let ratios = held_out.iter().filter_map(|(row, sums)| row.chosen(sums));
    ChoiceQuality::of(ratios.map(|ratio| (Seconds(ratio), Seconds(1.0))))
}

/// How far joined times of held-out matrices are off, beside the intervals of the times that they are joined from.
fn size_classes(
    held_out: &[HeldOutRow<'_, '_>],
    compared: &[Compared],
    judged: &[Judged<'_>],
) -> SizeClasses {
    let alone: HashMap<(&str, Candidate), &Judged<'_>> =
        judged.iter().map(|one| ((one.sample.matrix, one.sample.candidate), one)).collect();
    let mut held_to = Vec::new();
    for (row, sums) in held_out {
        let outputs = Compared::candidates(compared, row.dtype).zip(sums);
        let known: Vec<(&Judged<'_>, Option<f64>)> = outputs
            .filter_map(|(candidate, ratio)| Some((*alone.get(&(row.matrix, candidate))?, Some(*ratio))))
            .collect();
        let (ratios, times): (Vec<_>, Vec<_>) =
            known.iter().map(|(one, ratio)| (*ratio, Some(one.predicted))).unzip();
        let joined = Comparison::joined(&ratios, &times);
        let least_s = least_s(&ratios, &joined);
        held_to.extend(known.iter().zip(&joined).filter_map(|((one, _), joined)| {
            Some(HeldTo {
                matrix: row.matrix,
                kernel: one.sample.candidate.kernel,
                interval: one.interval,
                time_s: least_s,
                residual: (one.sample.time.0 / (*joined)?.0).ln(),
            })
        }));
    }
    SizeClasses::of(&held_to)
}

/// Stored form.
#[derive(Serialize, Deserialize)]
struct Stored {
    /// Version and inputs.
    format: String,
    matrices: usize,
    dtypes: Vec<Dtype>,
    choice: ChoiceQuality,
    #[serde(default)]
    size_classes: SizeClasses,
    compared: Vec<Compared>,
}

/// Changes whenever the meaning of an input does.
fn format() -> String {
    format!("{}: {}", Comparison::FORMAT, names_without_block().collect::<Vec<_>>().join(", "))
}

impl Storable for Comparison {
    const FORMAT: &'static str = "sparsight/comparison/6";

    fn split(&self) -> (Self, Vec<u8>) {
        let mut body = Vec::new();
        self.trees.pack(&mut body);
        let (dtypes, compared) = (self.dtypes.clone(), self.compared.clone());
        let (matrices, choice, size_classes) = (self.matrices, self.choice, self.size_classes.clone());
        (Self { matrices, dtypes, choice, size_classes, compared, trees: VectorForest::default() }, body)
    }

    fn join(self, mut body: &[u8]) -> Result<Self, String> {
        let trees = VectorForest::unpack(&mut body)?;
        packed::end(body)?;
        let outputs = Compared::outputs(&self.compared);
        let inputs = Matrix::count_side_by_side(self.compared.len());
        if trees.outputs() != outputs || trees.inputs() > inputs {
            return Err(format!(
                "the trees of the comparison are not of its {outputs} candidates: fit it again"
            ));
        }
        Ok(Self { trees, ..self })
    }
}

impl From<Comparison> for Stored {
    /// The comparison without the trees, which are stored as bytes beside it.
    fn from(Comparison { matrices, dtypes, choice, size_classes, compared, trees: _ }: Comparison) -> Self {
        Self { format: format(), matrices, dtypes, choice, size_classes, compared }
    }
}

impl TryFrom<Stored> for Comparison {
    type Error = String;
    fn try_from(stored: Stored) -> Result<Self, String> {
        let Stored { format: found, matrices, dtypes, choice, size_classes, compared } = stored;
        if found != format() {
            return Err(format!(
                "the comparison is of another format or other inputs ('{found}'): fit it again"
            ));
        }
        Ok(Self { matrices, dtypes, choice, size_classes, compared, trees: VectorForest::default() })
    }
}
