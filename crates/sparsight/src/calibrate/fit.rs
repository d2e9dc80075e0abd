//! Fits every model to what a profile holds.

use super::{calibrated, calibration_of};
use crate::Error;
use crate::missing::Missing;
use crate::models::{
    CalibratedStrip, KnownKernels, LearnedKind, MODELS_SCHEMA, Models, ModelsIndex, registry,
};
use crate::profile::ProfileFolder;
use crate::records::{
    BenchmarkRecord, CorpusRecord, CutRecord, Measured, Outcome, is_plausible, is_plausible_preparation,
};
use sparsight_kernels::{Candidate, DeviceFacts, Execution, Kernel, device_bytes};
use sparsight_matrix::{Csr, Dtype, Seconds};
use sparsight_model::{
    Between, Calibration, Comparison, CutCost, Judged, LearningSample, MeasuredInAll, MeasuredPair,
    MeasuredPreparation, MixedPrecision, Model, Observation, PredictError, PreparationModel, StripModel,
    StripPredictor, Surroundings, Variant, saved_share,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Result of [`fit`].
#[derive(Debug, Clone)]
pub struct Fitted {
    /// The models.
    pub models: Models,
    /// Times that were not learned from: of products below 10 ns or beyond a day, of preparations below 0 or beyond a day.
    pub implausible: usize,
}

/// Writes what was fitted into the folder that it was fitted to, with the matrices of a calibration, if the folder holds any, which
/// carry its times to other devices.
///
/// # Errors
/// [`Error::File`], and errors of reading the folder.
pub fn write_fitted(folder: &ProfileFolder, fitted: &Fitted) -> Result<(), Error> {
    folder.write_models(&fitted.models)?;
    let records = calibration_of(&folder.measured()?);
    if !records.is_empty() {
        folder.write_calibration(&records.into())?;
    }
    Ok(())
}

/// Fits the strip models to the benchmark matrices of a profile (those for drawn row lengths if it holds such) and,
/// where it holds a corpus that may be trained on, calibrates their intervals with it and learns every model that learns,
/// how candidates compare, and what conversion and upload take from it; what cutting costs from the matrices that were
/// cut. Writes nothing.
///
/// `trainable` says which matrices of the corpus may be used, by name; a caller that selects them by the starts of their names
/// puts these into [`ModelsIndex::train`](crate::profile::ModelsIndex::train). With fewer than
/// [`MIN_MATRICES`](sparsight_model::MIN_MATRICES) of them no times are learned. Learning takes some seconds for a
/// hundred matrices.
///
/// `others` are profiles of GPUs that measured more: what they know of matrices that this device did not measure is carried over
/// to it ([`Rescaling`](sparsight_model::Rescaling), weights from the matrices that both measured) and learned from as if it
/// had been measured here.
///
/// # Errors
/// [`Error::Lacking`] without benchmark matrices, or where another profile has no matrix in common with this one; errors of
/// reading the folders.
pub fn fit(
    folder: &ProfileFolder,
    others: &[ProfileFolder],
    trainable: impl Fn(&str) -> bool,
) -> Result<Fitted, Error> {
    fit_each(folder, others, trainable, registry::learned())
}

/// Fits like [`fit`], with these of the models that learn.
pub(super) fn fit_each(
    folder: &ProfileFolder,
    others: &[ProfileFolder],
    trainable: impl Fn(&str) -> bool,
    learned_kinds: impl Iterator<Item = &'static LearnedKind>,
) -> Result<Fitted, Error> {
    let facts = folder.device()?.facts;
    let benchmark = folder.benchmark()?.into_records();
    let observations: Vec<Observation> = benchmark.iter().flat_map(BenchmarkRecord::observations).collect();
    if observations.is_empty() {
        let profile = folder.path().display().to_string();
        return Err(Error::Lacking { profile, missing: Missing::BenchmarkMatrices });
    }
    let corpus = folder.measured()?;
    let cuts = folder.cuts()?.into_records();
    let implausible = benchmark.iter().map(BenchmarkRecord::implausible).sum::<usize>()
        + corpus.iter().map(CorpusRecord::implausible).sum::<usize>()
        + cuts.iter().filter(|cut| !is_plausible(cut.time_s)).count();
    let corpus: Vec<CorpusRecord> = corpus.into_iter().filter(|r| trainable(&r.matrix)).collect();
    let (in_mixed_precision, corpus): (Vec<_>, Vec<_>) =
        corpus.into_iter().partition(|record| record.dtype == Dtype::Mixed);
    let mut carried = Vec::new();
    for other in others {
        carried.extend(carry_over(other, &facts, &corpus, &trainable)?);
    }
    let learned_from = || corpus.iter().chain(&carried);
    let samples: Vec<LearningSample<'_>> = learned_from().flat_map(samples).collect();
    // Only what is ranked has to be compared.
    let is_ranked = |s: &&LearningSample<'_>| s.candidate.kernel.is_ranked_on(facts.kind);
    let ranked: Vec<LearningSample<'_>> = samples.iter().filter(is_ranked).copied().collect();
    let mut strips = Vec::new();
    for variant in Variant::ALL {
        strips.extend(fit_strip(variant, &facts, &observations, &corpus)?.map(|strip| (variant, strip)));
    }
    let (mut learned, mut judged) = (Vec::new(), Vec::new());
    for kind in learned_kinds {
        if let Some((model, held_out)) = if_enough((kind.fit)(&facts, &samples))? {
            judged.push((model.known(), held_out));
            learned.push((kind.name, model));
        }
    }
    let comparison = if_enough(Comparison::fit(&facts, &ranked, &of_best(&judged)))?;
    let index = ModelsIndex {
        schema: MODELS_SCHEMA.to_owned(),
        train: Vec::new(),
        models: BTreeMap::new(),
        preparation: if_enough(fit_preparation(&corpus))?,
        cutting: fit_cutting(&facts, cuts.iter().filter(|cut| trainable(&cut.matrix))),
        mixed: fit_mixed(&in_mixed_precision, &corpus),
        trained_on: learned_from().map(|record| record.matrix.clone()).collect(),
        carried_from: others.iter().map(ProfileFolder::name).collect(),
    };
    let models = Models::made(index, strips, learned, comparison, surroundings(learned_from()));
    Ok(Fitted { models, implausible })
}

/// The times of held-out matrices by that model which answers for their kernel: the one of the least error.
fn of_best<'a>(judged: &[(KnownKernels, Vec<Judged<'a>>)]) -> Vec<Judged<'a>> {
    let of_model = |(at, (_, held_out)): (usize, &(KnownKernels, Vec<Judged<'a>>))| {
        let answers = |h: &&Judged<'a>| {
            let Candidate { kernel, dtype, .. } = h.sample.candidate;
            let errors = judged
                .iter()
                .enumerate()
                .filter_map(|(at, (known, _))| Some((at, known.error(kernel, dtype)?)));
            errors.min_by(|a, b| a.1.total_cmp(&b.1)).is_some_and(|(best, _)| best == at)
        };
        held_out.iter().filter(answers).copied().collect::<Vec<_>>()
    };
    judged.iter().enumerate().flat_map(of_model).collect()
}

/// Times that another device measured of matrices that are not in `corpus`, converted to this device.
fn carry_over(
    other: &ProfileFolder,
    facts: &DeviceFacts,
    corpus: &[CorpusRecord],
    trainable: impl Fn(&str) -> bool,
) -> Result<Vec<CorpusRecord>, Error> {
    let from = other.device()?.facts;
    let is_known = |r: &CorpusRecord| trainable(&r.matrix) && r.dtype != Dtype::Mixed;
    let known: Vec<CorpusRecord> = other.measured()?.into_iter().filter(is_known).collect();
    let Some(rescaling) = calibrated((&from, &known), (facts, corpus)) else {
        let profile = other.path().display().to_string();
        return Err(Error::Lacking { profile, missing: Missing::Times });
    };
    let between = Between { from: &from, to: facts };
    let here: BTreeSet<_> = corpus.iter().map(|r| (r.matrix.as_str(), r.dtype)).collect();
    let elsewhere = known.into_iter().filter(|r| !here.contains(&(r.matrix.as_str(), r.dtype)));
    Ok(elsewhere
        .map(|mut record| {
            for Measured { id, outcome } in &mut record.results {
                if let Outcome::Time { time_s, .. } = outcome {
                    *time_s = rescaling.time(id, &record.features, *time_s, between);
                }
            }
            record
        })
        .collect())
}

/// Fits where mixed precision lies between the other two, on the matrices that were measured in all three.
fn fit_mixed(mixed: &[CorpusRecord], corpus: &[CorpusRecord]) -> Option<MixedPrecision> {
    let times: HashMap<(&str, Candidate), Seconds> = corpus
        .iter()
        .flat_map(|record| record.times().map(move |(id, time)| ((record.matrix.as_str(), id), time)))
        .collect();
    let in_all = |record: &CorpusRecord, candidate: Candidate, mixed: Seconds| {
        let of = |dtype| times.get(&(record.matrix.as_str(), Candidate { dtype, ..candidate })).copied();
        let (single, double) = (of(Dtype::F32)?, of(Dtype::F64)?);
        let saved = saved_share(&candidate, &record.features);
        Some(MeasuredInAll { candidate, saved, single, double, mixed })
    };
    let measured: Vec<MeasuredInAll> = mixed
        .iter()
        .flat_map(|record| record.times().filter_map(move |(id, time)| in_all(record, id, time)))
        .collect();
    MixedPrecision::fit(&measured)
}

/// Surroundings of every matrix once, by name: in both value types the features are the same but for what was drawn.
fn surroundings<'r>(records: impl Iterator<Item = &'r CorpusRecord>) -> Option<Surroundings> {
    let mut matrices = BTreeMap::new();
    for record in records {
        matrices.entry(record.matrix.as_str()).or_insert(&record.features);
    }
    Surroundings::of(&matrices.into_iter().collect::<Vec<_>>())
}

/// Training samples of a record.
fn samples(record: &CorpusRecord) -> impl Iterator<Item = LearningSample<'_>> {
    let best = record.best().map(|best| best.1);
    record.times().map(move |(candidate, time)| LearningSample {
        best: best.unwrap_or(time),
        matrix: &record.matrix,
        features: &record.features,
        candidate,
        time,
        origin: record.origin(),
    })
}

/// Fits preparation times from the records that say where the format was converted; from all of them if none does.
fn fit_preparation(corpus: &[CorpusRecord]) -> Result<PreparationModel, PredictError> {
    let some_say = corpus.iter().flat_map(|r| r.preparation.values()).any(|took| took.on_device.is_some());
    let (mut formats, mut on_device) = (BTreeMap::<_, Vec<_>>::new(), BTreeMap::<_, Vec<_>>::new());
    let mut preprocess = BTreeMap::<_, Vec<_>>::new();
    for record in corpus {
        let (f, dtype) = (&record.features, record.dtype);
        let csr = Csr::<f32>::device_bytes(f.nrows, f.nnz, dtype);
        let held = |kernel| device_bytes(&Candidate { kernel, block: 0, dtype }, f);
        for (&format, took) in &record.preparation {
            let Some(kernel) = Kernel::all().find(|k| k.format() == format) else { continue };
            let time = Seconds(took.convert_s.0 + took.upload_s.0);
            if !is_plausible_preparation(time) {
                continue;
            }
            let known = MeasuredPreparation { csr, held: held(kernel), time };
            match took.on_device {
                Some(true) => on_device.entry(format).or_default().push(known),
                None if some_say => {}
                _ => formats.entry(format).or_default().push(known),
            }
        }
        for (&kernel, &time) in record.preprocess.iter().filter(|(_, time)| is_plausible_preparation(**time))
        {
            preprocess.entry(kernel).or_default().push(MeasuredPreparation { csr, held: held(kernel), time });
        }
    }
    PreparationModel::fit(&formats, &on_device, &preprocess)
}

/// Fits the cost of cutting for each model and execution with enough cuts; of repeated cuts the last time counts.
fn fit_cutting<'a>(
    facts: &DeviceFacts,
    cuts: impl Iterator<Item = &'a CutRecord>,
) -> BTreeMap<String, BTreeMap<Execution, CutCost>> {
    let mut known = BTreeMap::<_, BTreeMap<_, _>>::new();
    for cut in cuts.filter(|cut| is_plausible(cut.time_s)) {
        let parts: Vec<_> = cut.parts.iter().map(|part| (part.nrows, part.id)).collect();
        let of = known.entry((&cut.model, cut.execution)).or_default();
        of.insert((&cut.matrix, cut.dtype, parts), cut.measured());
    }
    let mut costs = BTreeMap::<String, BTreeMap<Execution, CutCost>>::new();
    for ((model, execution), cuts) in known {
        let cuts: Vec<_> = cuts.into_values().collect();
        if let Some(cost) = CutCost::fit(execution, facts.launch_s, facts.l2_bytes, &cuts) {
            costs.entry(model.clone()).or_default().insert(execution, cost);
        }
    }
    costs
}

/// `None` with too few benchmark matrices of drawn row lengths; rows of one length there have to be.
fn fit_strip(
    variant: Variant,
    facts: &DeviceFacts,
    observations: &[Observation],
    corpus: &[CorpusRecord],
) -> Result<Option<CalibratedStrip>, Error> {
    match StripModel::fit(facts, observations, variant) {
        Ok(model) => {
            let calibration = calibrate(&model, facts, corpus);
            Ok(Some(CalibratedStrip { model, calibration }))
        }
        Err(PredictError::NothingFitted { .. }) if variant.lengths().is_drawn() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// `None` with too few matrices.
fn if_enough<T>(learned: Result<T, PredictError>) -> Result<Option<T>, Error> {
    match learned {
        Ok(model) => Ok(Some(model)),
        Err(PredictError::TooFewMatrices { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// `None` without a corpus.
fn calibrate(model: &StripModel, facts: &DeviceFacts, corpus: &[CorpusRecord]) -> Option<Calibration> {
    let predictor = StripPredictor::new(model, facts);
    // What a generator makes is easier to predict than what people compute with: it does not count where others do.
    let real = corpus.iter().any(|record| !record.is_generated());
    let pairs: Vec<MeasuredPair> = corpus
        .iter()
        .filter(|record| !(real && record.is_generated()))
        .flat_map(|record| record.times().map(move |(candidate, measured)| (record, candidate, measured)))
        .filter_map(|(record, candidate, measured)| {
            let predicted = predictor.predict(&candidate, &record.features).ok()?.time;
            Some(MeasuredPair { candidate, predicted, measured })
        })
        .collect();
    (!pairs.is_empty()).then(|| Calibration::fit(&pairs))
}
