//! A matrix of a corpus on one device.

use super::corpus_line::CorpusLine;
use super::{is_plausible, is_plausible_preparation, recorded, significant};
use serde::{Deserialize, Serialize};
use sparsight_device::Preparation;
use sparsight_device::timing::{Caches, Timing};
use sparsight_kernels::{Candidate, Format, Kernel, LaunchCost};
use sparsight_matrix::{Dtype, Features, Infeasible, Seconds, derived, gallery};
use sparsight_model::Origin;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Features of a matrix and what every candidate did on it.
///
/// # Invariants
/// No candidate twice, and all of the record's value type. Written compactly, in the catalogue's order: see
/// `docs/profile-format.md`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "CorpusLine", try_from = "CorpusLine")]
pub struct CorpusRecord {
    /// Folder and file, or gallery recipe.
    pub matrix: String,
    /// Value type.
    pub dtype: Dtype,
    /// Warm or cold.
    pub caches: Caches,
    /// Structure.
    pub features: Features,
    /// Time to convert and upload each format.
    pub preparation: BTreeMap<Format, PreparationRecord>,
    /// Time of the vendor's library to analyse the matrix before its first product, by routine.
    pub preprocess: BTreeMap<Kernel, Seconds>,
    /// Clock of the device during the measurement; `None` where it did not say, and in earlier files.
    pub clock: Option<ClockRecord>,
    /// What every product costs on the machine that measured it; `None` where it is not known, on a processor and in earlier files.
    pub launch: Option<LaunchCost>,
    /// Samples of this run that were far from the median of theirs ([`Timing::far`]); not kept in a file.
    pub far: u32,
    /// Every candidate that the device has.
    pub results: Vec<Measured>,
}

/// Clock of a device while candidates were measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClockRecord {
    /// Slowest clock with which a sample of a candidate ended: the least and the largest of all candidates, millions of cycles
    /// a second.
    pub sm_mhz: [u32; 2],
    /// Samples that were thrown away, since the clock had been slowed down.
    #[serde(default)]
    pub throttled: u32,
}

impl ClockRecord {
    /// Clock of all `timings` that hold one.
    pub fn of<'t>(timings: impl IntoIterator<Item = &'t Timing>) -> Option<Self> {
        timings.into_iter().filter_map(Self::of_one).reduce(Self::and)
    }

    fn of_one(timing: &Timing) -> Option<Self> {
        Some(Self { sm_mhz: [timing.sm_mhz?; 2], throttled: timing.throttled })
    }

    /// Combines two clock records.
    pub(crate) fn and(self, other: Self) -> Self {
        let ([least, largest], [other_least, other_largest]) = (self.sm_mhz, other.sm_mhz);
        let sm_mhz = [least.min(other_least), largest.max(other_largest)];
        Self { sm_mhz, throttled: self.throttled + other.throttled }
    }
}

/// Recorded cost of getting a format ready.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PreparationRecord {
    /// CSR to the format.
    pub convert_s: Seconds,
    /// Host to device.
    pub upload_s: Seconds,
    /// True if the CSR was uploaded and converted there; absent in lines of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_device: Option<bool>,
}

impl From<Preparation> for PreparationRecord {
    fn from(p: Preparation) -> Self {
        Self { convert_s: recorded(p.convert), upload_s: recorded(p.upload), on_device: Some(p.on_device) }
    }
}

/// A candidate with its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The candidate.
    pub id: Candidate,
    /// Measured time, or why there is none.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// A time or a reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Outcome {
    /// Checked and timed.
    Time {
        /// Time of one product.
        time_s: Seconds,
        /// Interquartile range over median; 0 of one sample, where it means nothing.
        spread: f64,
        /// Samples; 1 if the first product took so long that it was not run again.
        samples: u32,
    },
    /// Cannot be held.
    Infeasible {
        /// The reason.
        infeasible: Infeasible,
    },
    /// Failed or was wrong.
    Failed {
        /// The device's words.
        failed: String,
    },
}

impl Outcome {
    /// Timing of a hopeless candidate that was run once.
    pub fn once(time: Seconds) -> Self {
        Self::Time { time_s: recorded(time), spread: 0.0, samples: 1 }
    }

    /// The part of a timing that is recorded.
    pub fn time(timing: &Timing) -> Self {
        Self::Time {
            time_s: recorded(timing.time),
            spread: significant(timing.spread, 2),
            samples: timing.samples,
        }
    }
}

/// Non-zeros from which on a matrix is called large: a product takes 20 us and more on the GPUs of today.
const LARGE: u64 = 20_000_000;

impl CorpusRecord {
    /// Record of a matrix of which nothing was measured yet.
    pub fn new(matrix: impl Into<String>, dtype: Dtype, caches: Caches, features: Features) -> Self {
        Self {
            matrix: matrix.into(),
            dtype,
            caches,
            features,
            preparation: BTreeMap::new(),
            preprocess: BTreeMap::new(),
            clock: None,
            launch: None,
            far: 0,
            results: Vec::new(),
        }
    }

    /// Returns whether the matrix came from the gallery.
    pub fn is_generated(&self) -> bool {
        self.matrix.starts_with(gallery::PREFIX)
    }

    /// Origin of the matrix by its name: [`derived::origin`]. Large derived matrices stand for real ones, of which
    /// there are hardly any.
    pub fn origin(&self) -> Origin {
        let is_derived = derived::origin(&self.matrix) != self.matrix;
        match () {
            () if self.is_generated() => Origin::Generated,
            () if is_derived && self.features.nnz < LARGE => Origin::Derived,
            () => Origin::Real,
        }
    }

    /// Candidates that have a time.
    ///
    /// Those that no product can take, below 10 ns or beyond a day, are left out: [`CorpusRecord::implausible`].
    pub fn times(&self) -> impl Iterator<Item = (Candidate, Seconds)> + '_ {
        self.recorded_times().filter(|(_, time)| is_plausible(*time))
    }

    /// Number of recorded times that no product can take.
    pub fn implausible(&self) -> usize {
        let products = self.recorded_times().filter(|(_, time)| !is_plausible(*time)).count();
        let took = self.preparation.values().map(|took| Seconds(took.convert_s.0 + took.upload_s.0));
        let preparations = took.chain(self.preprocess.values().copied());
        products + preparations.filter(|time| !is_plausible_preparation(*time)).count()
    }

    fn recorded_times(&self) -> impl Iterator<Item = (Candidate, Seconds)> + '_ {
        self.results.iter().filter_map(|m| match m.outcome {
            Outcome::Time { time_s, .. } => Some((m.id, time_s)),
            _ => None,
        })
    }

    /// Merges records to one for each matrix, value type and state of the caches, in the order in which these first came: a later
    /// measurement replaces an earlier one of the same candidate and is added otherwise. So a new kernel can be
    /// measured alone.
    pub fn merged(records: Vec<Self>) -> Vec<Self> {
        let mut places = HashMap::new();
        let mut merged: Vec<Self> = Vec::new();
        for record in records {
            let key = (record.matrix.clone(), record.dtype, record.caches);
            match places.entry(key) {
                Entry::Vacant(place) => {
                    place.insert(merged.len());
                    merged.push(record);
                }
                Entry::Occupied(place) => merged[*place.get()].add(record),
            }
        }
        merged
    }

    /// Takes over what `newer`, of the same matrix, holds: its features, and its results and preparations beside and
    /// instead of the own ones. A time that no product takes is instead of nothing.
    fn add(&mut self, mut newer: Self) {
        let known: HashSet<Candidate> = self.times().map(|(candidate, _)| candidate).collect();
        let is_plausible =
            |m: &Measured| !matches!(m.outcome, Outcome::Time { time_s, .. } if !is_plausible(time_s));
        newer.results.retain(|m| is_plausible(m) || !known.contains(&m.id));
        let measured: HashSet<Candidate> = newer.results.iter().map(|m| m.id).collect();
        self.results.retain(|m| !measured.contains(&m.id));
        self.results.extend(newer.results);
        self.results.sort_by_key(|m| m.id);
        let took = |took: &PreparationRecord| Seconds(took.convert_s.0 + took.upload_s.0);
        newer.preparation.retain(|format, new| {
            is_plausible_preparation(took(new)) || !self.preparation.contains_key(format)
        });
        self.preparation.extend(newer.preparation);
        newer
            .preprocess
            .retain(|kernel, new| is_plausible_preparation(*new) || !self.preprocess.contains_key(kernel));
        self.preprocess.extend(newer.preprocess);
        self.far += newer.far;
        self.clock = self.clock.into_iter().chain(newer.clock).reduce(ClockRecord::and);
        self.features = newer.features;
    }

    /// A record that holds only features: added to this record, it replaces the features.
    #[must_use]
    pub fn with_features(self, features: Features) -> Self {
        Self::new(self.matrix, self.dtype, self.caches, features)
    }

    /// The record as if the machine of `profile` had measured it: every time is moved by what [a product costs](LaunchCost::above) more
    /// or less there, if both say so. No time becomes less than half of what it was.
    #[must_use]
    pub fn brought_to(mut self, profile: &LaunchCost) -> Self {
        let Some(above) = self.launch.take().and_then(|own| own.above(profile)) else { return self };
        for Measured { outcome, .. } in &mut self.results {
            if let Outcome::Time { time_s, .. } = outcome {
                *time_s = Seconds((time_s.0 - above).max(0.5 * time_s.0));
            }
        }
        self
    }

    /// The least time of all candidates.
    pub fn best(&self) -> Option<(Candidate, Seconds)> {
        self.times().min_by(|a, b| a.1.0.total_cmp(&b.1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_one_matrix_are_united_and_the_newer_result_counts() {
        let line = |results: &str| {
            format!(
                r#"{{"matrix":"a/m","dtype":"f32","caches":"warm","features":{{"nrows":2,"ncols":3,"nnz":4,"empty_rows":0,"row_min":2,"row_max":2,"row_mode":2,"row_quantiles":[2,2,2,2,2,2,2],"row_std":0.0,"hyb":{{"width":0,"coo_nnz":4}},"bandwidth":2,"x_reuse":0.75}},"preparation":{{}},"blocks":[64],"results":{results}}}"#
            )
        };
        let lines = [r#"{"coo":[[3e-6]],"ell":[[2e-6]]}"#, r#"{"ell":[[1e-6]],"jad":[[5e-6]]}"#].map(line);
        let records = lines.map(|line| serde_json::from_str(&line).unwrap());
        let merged = CorpusRecord::merged(records.to_vec());
        let expected = line(r#"{"coo":[[3e-6]],"ell":[[1e-6]],"jad":[[5e-6]]}"#);
        assert_eq!(merged, [serde_json::from_str(&expected).unwrap()]);
    }

    #[test]
    fn times_of_another_machine_are_brought_to_that_of_the_profile() {
        let line = r#"{"matrix":"a/m","dtype":"f32","caches":"warm","features":{"nrows":2,"ncols":3,"nnz":4,"empty_rows":0,"row_min":2,"row_max":2,"row_mode":2,"row_quantiles":[2,2,2,2,2,2,2],"row_std":0.0,"hyb":{"width":0,"coo_nnz":4},"bandwidth":2,"x_reuse":0.75},"preparation":{},"launch_s":1.5e-6,"blocks":[64],"results":{"coo":[[3e-6]],"ell":{"failed":"it did"}}}"#;
        let record: CorpusRecord = serde_json::from_str(line).unwrap();
        let launch = |launch| LaunchCost { launch_s: Seconds(launch), small_product_s: None };
        assert_eq!(record.launch, Some(launch(1.5e-6)));
        let takes = |record: &CorpusRecord, time: f64| {
            let found = record.best().unwrap().1.0;
            assert!((found / time - 1.0).abs() < 1e-9, "{found}");
        };
        // The profile does not know its own.
        takes(&record.clone().brought_to(&launch(0.0)), 3e-6);
        let here = record.clone().brought_to(&launch(1.25e-6));
        takes(&here, 2.75e-6);
        // Once is enough.
        takes(&here.brought_to(&launch(9.0)), 2.75e-6);
        // Where both machines know small products, the mean of both differences counts.
        let known = r#""launch_s":1.5e-6,"small_product_s":2.1e-6,"#;
        let both: CorpusRecord = serde_json::from_str(&line.replace(r#""launch_s":1.5e-6,"#, known)).unwrap();
        assert!(serde_json::to_string(&both).unwrap().contains(known));
        takes(&both.clone().brought_to(&launch(1.25e-6)), 2.75e-6);
        let profile = LaunchCost { small_product_s: Some(Seconds(2.0e-6)), ..launch(1.25e-6) };
        takes(&both.brought_to(&profile), 2.825e-6);
    }

    #[test]
    fn a_record_from_before_locality_loads_and_is_written_as_it_was() {
        let line = r#"{"matrix":"a/old","dtype":"f32","caches":"warm","features":{"nrows":2,"ncols":3,"nnz":4,"empty_rows":0,"row_min":2,"row_max":2,"row_mode":2,"row_quantiles":[2,2,2,2,2,2,2],"row_std":0.0,"hyb":{"width":0,"coo_nnz":4},"bandwidth":2,"x_reuse":0.75},"preparation":{},"blocks":[],"results":{}}"#;
        let record: CorpusRecord = serde_json::from_str(line).unwrap();
        assert_eq!(record.features.locality, None);
        assert_eq!(serde_json::to_string(&record).unwrap(), line);
    }
}
