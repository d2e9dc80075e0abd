//! `best`: for each kernel the learned model that the profile's own cross-validation found best.
//!
//! All learned models are judged by the same held-out matrices, so their errors can be compared; which error and why:
//! [`LearnedKernel::log_error`](sparsight_model::LearnedKernel::log_error). A kernel that none of them knows, since the
//! corpus is older than the kernel or too small, is answered by a strip model: a ranking may mix models.
//!
//! Models of single kernels err for each kernel in their own way. Where the profile holds a [`Comparison`], learned from
//! all candidates together, it says which are near the best and by how much: [`Comparison::joined`] joins the two.

use super::{Answered, Predictor, predictions};
use crate::model_name::ModelName;
use crate::models::{KnownKernels, registry};
use crate::{Error, Profile};
use rayon::prelude::*;
use sparsight_kernels::{Candidate, Kernel, catalogue_on, feasible};
use sparsight_matrix::{Dtype, Features, Limits, Seconds};
use sparsight_model::{Comparison, Model, PlacementRule, PredictError, Predicted, RowLengthRule, Term};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

impl Profile {
    /// Learned models that know a kernel in a value type, with their cross-validated error (the mean of
    /// `|ln(predicted / measured)|`, over all value types), least first. Reads none of them.
    pub fn learned_models(&self, kernel: Kernel, dtype: Dtype) -> Vec<(ModelName, f64)> {
        let mut known: Vec<(ModelName, f64)> = errors(&self.known_models(), kernel, dtype).collect();
        known.sort_by(|a, b| a.1.total_cmp(&b.1));
        known
    }

    /// The model that answers for a kernel when none is named: the best learned one, else [`Profile::strip_model`].
    pub fn best_model(&self, kernel: Kernel, dtype: Dtype) -> ModelName {
        self.best_of(&self.known_models(), kernel, dtype)
    }

    /// The learned models that are here, with what they know.
    fn known_models(&self) -> Vec<(ModelName, &KnownKernels)> {
        registry::learned().filter_map(|kind| Some((kind.name, self.models.known(kind.name)?))).collect()
    }

    /// [`Profile::best_model`] of what [`Profile::known_models`] says, for a caller that asks for many kernels.
    fn best_of(&self, known: &[(ModelName, &KnownKernels)], kernel: Kernel, dtype: Dtype) -> ModelName {
        let best = errors(known, kernel, dtype).min_by(|a, b| a.1.total_cmp(&b.1));
        best.map_or(self.strip_model(), |(model, _)| model)
    }

    /// The strip model that answers where nothing was learned: on a GPU `strip-cache` and on a CPU `strip` (the second
    /// regime was seen on a GPU, and a coarse profile has too few benchmarks beyond a CPU's caches to hold its lines).
    pub fn strip_model(&self) -> ModelName {
        if self.device.facts.kind.is_gpu() { ModelName::StripCache } else { ModelName::Strip }
    }
}

/// The errors of those models that know a kernel in a value type.
fn errors(
    known: &[(ModelName, &KnownKernels)],
    kernel: Kernel,
    dtype: Dtype,
) -> impl Iterator<Item = (ModelName, f64)> {
    known.iter().filter_map(move |(model, known)| Some((*model, known.error(kernel, dtype)?)))
}

/// Asks for each kernel the model that knows it best.
#[derive(Debug, Clone, Copy)]
pub struct BestPredictor<'p> {
    profile: &'p Profile,
    comparison: Option<&'p Comparison>,
    placement: PlacementRule,
    row_length: RowLengthRule,
}

impl<'p> BestPredictor<'p> {
    /// Reads the comparison and the models that are asked first: so a damaged file is an error
    /// here and not of a prediction. What only answers where these do not is read if that happens.
    ///
    /// # Errors
    /// Errors of reading them.
    pub(crate) fn new(
        profile: &'p Profile,
        placement: PlacementRule,
        row_length: RowLengthRule,
    ) -> Result<Self, Error> {
        profile.models.read_first(|| Self::read(profile, placement, row_length))?;
        Ok(Self { profile, comparison: profile.models.comparison()?, placement, row_length })
    }

    /// Reads the comparison and the models that are asked first.
    fn read(profile: &'p Profile, placement: PlacementRule, row_length: RowLengthRule) -> Result<(), Error> {
        let kind = profile.device.facts.kind;
        let kernels = || Kernel::all().filter(move |kernel| kernel.runs_on(kind));
        let known = profile.known_models();
        let asked =
            |dtype| kernels().map(|kernel| profile.best_of(&known, kernel, dtype)).collect::<Vec<_>>();
        let asked: BTreeSet<ModelName> = Dtype::ALL.into_iter().flat_map(asked).collect();
        // Unpacking is all that a first answer takes: the models are unpacked at the same time.
        let read = |model| Predictor::of_profile(profile, model, placement, row_length).map(drop);
        let (comparison, read) =
            rayon::join(|| profile.models.comparison(), || asked.into_par_iter().try_for_each(read));
        read.and(comparison.map(drop))
    }

    /// Predictor of one of the models that it asks.
    fn asked(&self, model: ModelName) -> Result<Predictor<'p>, PredictError> {
        let predictor = Predictor::of_profile(self.profile, model, self.placement, self.row_length);
        predictor.map_err(|e| PredictError::Unreadable { model: model.text(), reason: e.to_string() })
    }

    /// The answer of the first model that knows the candidate, with the name of that model.
    fn first<T>(
        &self,
        candidate: &Candidate,
        ask: impl Fn(&Predictor<'_>) -> Result<T, PredictError>,
    ) -> Result<(ModelName, T), PredictError> {
        let learned = self.profile.learned_models(candidate.kernel, candidate.dtype);
        let strip = self.profile.strip_model();
        // A learned model may still lack a block size; the next one may not.
        for (model, _) in learned {
            if let Ok(answer) = self.asked(model).and_then(|predictor| ask(&predictor)) {
                return Ok((model, answer));
            }
        }
        Ok((strip, ask(&self.asked(strip)?)?))
    }

    /// The prediction and the model that made it. It takes all candidates of the matrix to compare one with them:
    /// [`BestPredictor::answer_each`] costs hardly more.
    ///
    /// # Errors
    /// [`PredictError::NotFitted`] if neither a learned nor the strip model knows the candidate.
    pub fn answer(&self, candidate: &Candidate, features: &Features) -> Answered {
        self.answer_each(std::slice::from_ref(candidate), features).swap_remove(0)
    }

    /// [`BestPredictor::answer`] for each of `candidates`, in order.
    ///
    /// A candidate is compared with all of the catalogue that the device can hold, so its answer does not depend on which
    /// others are asked about; one that the device cannot hold is answered alone.
    pub fn answer_each(&self, candidates: &[Candidate], features: &Features) -> Vec<Answered> {
        let Some(comparison) = self.comparison else {
            return self.alone(candidates, features);
        };
        let dtypes = candidates.chunk_by(|a, b| a.dtype == b.dtype);
        dtypes.flat_map(|alike| self.compared(comparison, alike, features)).collect()
    }

    /// [`BestPredictor::answer_each`] of candidates of one value type.
    fn compared(
        &self,
        comparison: &Comparison,
        candidates: &[Candidate],
        features: &Features,
    ) -> Vec<Answered> {
        let Some(dtype) = candidates.first().map(|c| c.dtype) else { return Vec::new() };
        let facts = &self.profile.device.facts;
        let limits = Limits::with_memory(facts.memory_bytes);
        let possible: Vec<Candidate> =
            catalogue_on(facts.kind, dtype).filter(|c| feasible(c, features, &limits).is_ok()).collect();
        let answers = self.joined(comparison, &possible, features);
        let known: BTreeMap<Candidate, _> = possible.into_iter().zip(answers).collect();
        let alone = |c: &Candidate| self.alone(std::slice::from_ref(c), features).swap_remove(0);
        candidates.iter().map(|c| known.get(c).cloned().unwrap_or_else(|| alone(c))).collect()
    }

    /// [`BestPredictor::answer_each`] for all candidates of one value type that the device can hold, which saves finding
    /// out which they are.
    pub(crate) fn answer_possible(&self, possible: &[Candidate], features: &Features) -> Vec<Answered> {
        match self.comparison {
            Some(comparison) => self.joined(comparison, possible, features),
            None => self.alone(possible, features),
        }
    }

    /// The predictions of the models of single kernels for all possible candidates, joined with the comparison.
    fn joined(&self, comparison: &Comparison, possible: &[Candidate], features: &Features) -> Vec<Answered> {
        let mut ratios = Vec::new();
        let mut compare = || ratios = comparison.log_ratios(possible, features, &self.profile.device.facts);
        let mut answers = if rayon::current_num_threads() == 1 {
            compare();
            self.alone(possible, features)
        } else {
            // This thread goes on, while one of the pool wakes. With one thread a task of the pool would be a second one.
            rayon::in_place_scope(|scope| {
                scope.spawn(|_| compare());
                self.alone(possible, features)
            })
        };
        let alone: Vec<Option<Seconds>> = answers
            .iter()
            .map(|answer| answer.as_ref().ok().map(|(_, prediction)| prediction.time))
            .collect();
        let joined = Comparison::joined(&ratios, &alone);
        let factors = comparison.interval_factors(possible, &ratios, &joined);
        for ((answer, time), factor) in answers.iter_mut().zip(joined).zip(factors) {
            if let (Ok((_, prediction)), Some(time)) = (answer, time) {
                prediction.move_to(time);
                prediction.scale_interval(factor, self.profile.device.facts.launch_s);
            }
        }
        answers
    }

    /// Predictions by the models of single kernels: neighbouring candidates are put together to the model that knows their kernels
    /// best. Models share their work among threads.
    fn alone(&self, candidates: &[Candidate], features: &Features) -> Vec<Answered> {
        let known = self.profile.known_models();
        let best_of = |blocks: &[Candidate]| self.profile.best_of(&known, blocks[0].kernel, blocks[0].dtype);
        let mut asked: Vec<(ModelName, Range<usize>)> = Vec::new();
        for blocks in candidates.chunk_by(|a, b| (a.kernel, a.dtype) == (b.kernel, b.dtype)) {
            let (model, start) = (best_of(blocks), asked.last().map_or(0, |(_, range)| range.end));
            match asked.last_mut() {
                Some((last, range)) if *last == model => range.end += blocks.len(),
                _ => asked.push((model, start..start + blocks.len())),
            }
        }
        let answers = |(model, range): (ModelName, Range<usize>)| {
            let alike = &candidates[range];
            let predicted = match self.asked(model) {
                Ok(predictor) => predictor.predict_each(alike, features),
                Err(unreadable) => vec![Err(unreadable); alike.len()],
            };
            // What it does not know another model may.
            let answer = move |(prediction, candidate): (Predicted, &Candidate)| match prediction {
                Ok(prediction) => Ok((model, prediction)),
                Err(_) => self.first(candidate, |predictor| predictor.predict(candidate, features)),
            };
            predicted.into_iter().zip(alike).map(answer)
        };
        asked.into_iter().flat_map(answers).collect()
    }
}

impl Model for BestPredictor<'_> {
    fn name(&self) -> &'static str {
        "best"
    }

    fn predict(&self, candidate: &Candidate, features: &Features) -> Predicted {
        self.answer(candidate, features).map(|(_, prediction)| prediction)
    }

    fn predict_each(&self, candidates: &[Candidate], features: &Features) -> Vec<Predicted> {
        predictions(self.answer_each(candidates, features))
    }

    fn explain(&self, candidate: &Candidate, features: &Features) -> Result<Vec<Term>, PredictError> {
        let (_, mut terms) = self.first(candidate, |predictor| predictor.explain(candidate, features))?;
        if self.comparison.is_some() {
            let time = self.predict(candidate, features)?.time;
            terms.push(Term { part: "", name: "T beside the other candidates", value: time.0, unit: "s" });
        }
        Ok(terms)
    }
}
