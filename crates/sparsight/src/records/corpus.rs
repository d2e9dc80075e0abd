//! One matrix of a corpus on one device.

use super::corpus_line::CorpusLine;
use super::{recorded, significant};
use serde::{Deserialize, Serialize};
use sparsight_device::Preparation;
use sparsight_device::timing::{Caches, Timing};
use sparsight_kernels::{Candidate, Format, Kernel};
use sparsight_matrix::{Dtype, Features, Infeasible, Seconds, gallery};
use std::collections::{BTreeMap, HashMap};

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
    /// What it took to convert and upload each format.
    pub preparation: BTreeMap<Format, PreparationRecord>,
    /// What the vendor's library took to look at the matrix before its first product, by routine.
    pub preprocess: BTreeMap<Kernel, Seconds>,
    /// Every candidate that the device has.
    pub results: Vec<Measured>,
}

/// Recorded cost of getting a format ready.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PreparationRecord {
    /// CSR to the format, on the host.
    pub convert_s: Seconds,
    /// Host to device.
    pub upload_s: Seconds,
}

impl From<Preparation> for PreparationRecord {
    fn from(p: Preparation) -> Self {
        Self { convert_s: recorded(p.convert), upload_s: recorded(p.upload) }
    }
}

/// One candidate and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The candidate.
    pub id: Candidate,
    /// Its time, or why there is none.
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
    /// Of a hopeless candidate that was run once.
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

impl CorpusRecord {
    /// Whether the matrix came from the gallery.
    pub fn is_generated(&self) -> bool {
        self.matrix.starts_with(gallery::PREFIX)
    }

    /// Candidates that have a time.
    pub fn times(&self) -> impl Iterator<Item = (Candidate, Seconds)> + '_ {
        self.results.iter().filter_map(|m| match m.outcome {
            Outcome::Time { time_s, .. } => Some((m.id, time_s)),
            _ => None,
        })
    }

    /// Of several records of one matrix, value type and state of the caches the last, in the order in which these
    /// first came: a matrix that is measured again replaces what was known of it.
    pub fn latest(records: Vec<Self>) -> Vec<Self> {
        let mut places = HashMap::new();
        let mut latest: Vec<Self> = Vec::new();
        for record in records {
            let place =
                *places.entry((record.matrix.clone(), record.dtype, record.caches)).or_insert(latest.len());
            if place == latest.len() {
                latest.push(record);
            } else {
                latest[place] = record;
            }
        }
        latest
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
    fn a_record_from_before_locality_loads_and_is_written_as_it_was() {
        let line = r#"{"matrix":"a/old","dtype":"f32","caches":"warm","features":{"nrows":2,"ncols":3,"nnz":4,"empty_rows":0,"row_min":2,"row_max":2,"row_mode":2,"row_quantiles":[2,2,2,2,2,2,2],"row_std":0.0,"hyb":{"width":0,"coo_nnz":4},"bandwidth":2,"x_reuse":0.75},"preparation":{},"blocks":[],"results":{}}"#;
        let record: CorpusRecord = serde_json::from_str(line).unwrap();
        assert_eq!(record.features.locality, None);
        assert_eq!(serde_json::to_string(&record).unwrap(), line);
    }
}
