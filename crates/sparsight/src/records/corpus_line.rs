//! Line format of a [`CorpusRecord`]: results grouped by kernel, a third of the size of single results.
//!
//! ```text
//! "blocks":[64,128,256,512,1024],
//! "results":{
//!   "csr-scalar":[[1.2e-4,0.003,5],[1.2e-4,0.002,5],[1.3e-4,0.002,5],[1.4e-4],null],   one entry a block size
//!   "ell":{"infeasible":{"why":"padding","factor":13.9,"limit":8.0}},                  the same for all of them
//!   "cusparse-coo":[[1.1e-4,0.002,5]]}                                                  no block size: one entry
//! ```
//! An entry is `[time_s, spread, samples]`, `[time_s]` of a product that was run once, a reason, or null where the
//! candidate was not asked for. Numbers are written as they are held, so reading gives back what was written. Lines
//! of before, whose `results` list candidates one by one under their ids, are read too.

use super::{ClockRecord, CorpusRecord, Measured, Outcome, PreparationRecord};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_with::skip_serializing_none;
use sparsight_device::timing::Caches;
use sparsight_kernels::{Candidate, Format, Kernel, LaunchCost};
use sparsight_matrix::{Dtype, Features, Infeasible, Seconds};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A line of `corpus.jsonl`.
#[skip_serializing_none]
#[derive(Serialize, Deserialize)]
pub(super) struct CorpusLine {
    matrix: String,
    dtype: Dtype,
    caches: Caches,
    features: Features,
    preparation: BTreeMap<Format, PreparationRecord>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    preprocess: BTreeMap<Kernel, Seconds>,
    clock: Option<ClockRecord>,
    launch_s: Option<Seconds>,
    small_product_s: Option<Seconds>,
    /// Block sizes of the entries of each kernel that has any; absent in lines of before.
    #[serde(default)]
    blocks: Vec<u32>,
    results: Results,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Results {
    Grouped(BTreeMap<Kernel, Group>),
    OneByOne(Vec<Measured>),
}

/// An object is grouped, an array is a line of before; by hand, since a derived one would not say what is wrong.
impl<'de> Deserialize<'de> for Results {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EitherForm;
        impl<'de> Visitor<'de> for EitherForm {
            type Value = Results;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "results by kernel, or a list of them")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Results, A::Error> {
                Deserialize::deserialize(MapAccessDeserializer::new(map)).map(Results::Grouped)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Results, A::Error> {
                Deserialize::deserialize(SeqAccessDeserializer::new(list)).map(Results::OneByOne)
            }
        }
        deserializer.deserialize_any(EitherForm)
    }
}

/// Outcome of a kernel.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Group {
    /// Entries, one for each block size.
    Each(Vec<Option<Entry>>),
    /// One entry for every block size.
    All(Entry),
}

/// Outcome of a candidate.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Entry {
    Time(Seconds, f64, u32),
    Once((Seconds,)),
    Infeasible { infeasible: Infeasible },
    Failed { failed: String },
}

impl From<Outcome> for Entry {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Time { time_s, spread: 0.0, samples: 1 } => Self::Once((time_s,)),
            Outcome::Time { time_s, spread, samples } => Self::Time(time_s, spread, samples),
            Outcome::Infeasible { infeasible } => Self::Infeasible { infeasible },
            Outcome::Failed { failed } => Self::Failed { failed },
        }
    }
}

impl From<Entry> for Outcome {
    fn from(entry: Entry) -> Self {
        match entry {
            Entry::Time(time_s, spread, samples) => Self::Time { time_s, spread, samples },
            Entry::Once((time_s,)) => Self::Time { time_s, spread: 0.0, samples: 1 },
            Entry::Infeasible { infeasible } => Self::Infeasible { infeasible },
            Entry::Failed { failed } => Self::Failed { failed },
        }
    }
}

/// The block sizes to which the entries of `kernel` belong, on a line with `blocks`.
fn blocks_of(kernel: Kernel, blocks: &[u32]) -> &[u32] {
    if kernel.is_vendors() { kernel.blocks() } else { blocks }
}

impl From<CorpusRecord> for CorpusLine {
    fn from(record: CorpusRecord) -> Self {
        assert!(
            record.results.iter().all(|m| m.id.dtype == record.dtype),
            "a record holds results of its own value type"
        );
        let blocks = record.results.iter().filter(|m| !m.id.kernel.is_vendors()).map(|m| m.id.block);
        let blocks: Vec<u32> = blocks.collect::<BTreeSet<_>>().into_iter().collect();
        let mut kernels: BTreeMap<Kernel, Vec<Option<Entry>>> = BTreeMap::new();
        for Measured { id, outcome } in record.results {
            let blocks = blocks_of(id.kernel, &blocks);
            let entries = kernels.entry(id.kernel).or_insert_with(|| vec![None; blocks.len()]);
            let place = blocks.binary_search(&id.block).expect("every block size was collected");
            entries[place] = Some(outcome.into());
        }
        Self {
            matrix: record.matrix,
            dtype: record.dtype,
            caches: record.caches,
            features: record.features,
            preparation: record.preparation,
            preprocess: record.preprocess,
            clock: record.clock,
            launch_s: record.launch.map(|cost| cost.launch_s),
            small_product_s: record.launch.and_then(|cost| cost.small_product_s),
            blocks,
            results: Results::Grouped(kernels.into_iter().map(|(k, entries)| (k, entries.into())).collect()),
        }
    }
}

impl From<Vec<Option<Entry>>> for Group {
    fn from(entries: Vec<Option<Entry>>) -> Self {
        match entries.first() {
            Some(Some(first @ (Entry::Infeasible { .. } | Entry::Failed { .. })))
                if entries.iter().all(|entry| entry.as_ref() == Some(first)) =>
            {
                Self::All(first.clone())
            }
            _ => Self::Each(entries),
        }
    }
}

impl TryFrom<CorpusLine> for CorpusRecord {
    type Error = String;

    fn try_from(line: CorpusLine) -> Result<Self, String> {
        let results = match line.results {
            Results::OneByOne(results) => results,
            Results::Grouped(kernels) => ungrouped(kernels, &line.blocks, line.dtype)?,
        };
        Ok(Self {
            preparation: line.preparation,
            preprocess: line.preprocess,
            clock: line.clock,
            launch: line
                .launch_s
                .map(|launch_s| LaunchCost { launch_s, small_product_s: line.small_product_s }),
            results,
            ..Self::new(line.matrix, line.dtype, line.caches, line.features)
        })
    }
}

/// Results, one for each kernel and block size, in the catalogue's order.
fn ungrouped(
    kernels: BTreeMap<Kernel, Group>,
    blocks: &[u32],
    dtype: Dtype,
) -> Result<Vec<Measured>, String> {
    let mut results = Vec::new();
    for (kernel, group) in kernels {
        let blocks = blocks_of(kernel, blocks);
        let entries = match group {
            Group::All(entry) => vec![Some(entry); blocks.len()],
            Group::Each(entries) if entries.len() == blocks.len() => entries,
            Group::Each(entries) => {
                return Err(format!("{kernel}: {} results for {} block sizes", entries.len(), blocks.len()));
            }
        };
        for (&block, entry) in blocks.iter().zip(entries) {
            let Some(entry) = entry else { continue };
            results.push(Measured { id: Candidate { kernel, block, dtype }, outcome: entry.into() });
        }
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_kernels::catalogue;
    use sparsight_matrix::RowLengths;

    fn record(results: Vec<Measured>) -> CorpusRecord {
        let features = Features::from_row_lengths(&RowLengths::from_counts([(3, 10)]), 10, 4, 0.1);
        CorpusRecord { results, ..CorpusRecord::new("a/x", Dtype::F32, Caches::Warm, features) }
    }

    /// Every kind of outcome somewhere in the catalogue.
    fn all_kinds() -> CorpusRecord {
        let infeasible = Infeasible::Padding { factor: 13.9, limit: 8.0 };
        let outcome = |id: &Candidate| match (id.kernel.name(), id.block) {
            ("ell", _) => Outcome::Infeasible { infeasible: infeasible.clone() },
            ("hyb", 128) => Outcome::Failed { failed: "out of luck".to_owned() },
            ("hyb", 256) => Outcome::Time { time_s: Seconds(1.2346e-2), spread: 0.0, samples: 1 },
            (_, block) => {
                let time_s = Seconds(f64::from(block.max(1)) * 1.2345e-9);
                Outcome::Time { time_s, spread: 0.0031, samples: 5 }
            }
        };
        record(catalogue(Dtype::F32).map(|id| Measured { outcome: outcome(&id), id }).collect())
    }

    fn parsed(line: &str) -> serde_json::Result<CorpusRecord> {
        serde_json::from_str(line)
    }

    #[test]
    fn corpus_lines_read_back_exactly() {
        let all = all_kinds();
        assert_eq!(parsed(&serde_json::to_string(&all).unwrap()).unwrap(), all);
        // Some block sizes of some kernels, as a user may choose to measure.
        let mut some = all;
        some.results
            .retain(|m| m.id.block != 512 && (m.id.kernel != Kernel::known("ell") || m.id.block == 64));
        assert_eq!(parsed(&serde_json::to_string(&some).unwrap()).unwrap(), some);
        let none = record(Vec::new());
        assert_eq!(parsed(&serde_json::to_string(&none).unwrap()).unwrap(), none);
    }

    #[test]
    fn the_vendors_routines_take_one_entry_and_leave_lines_without_them_as_they_were() {
        let mut all = all_kinds();
        let coo = Kernel::known("cusparse-coo");
        let with_coo = |of: &CorpusRecord, outcome: Outcome| {
            let id = Candidate { kernel: coo, block: 0, dtype: Dtype::F32 };
            let mut results: Vec<Measured> = of.results.iter().filter(|m| m.id != id).cloned().collect();
            results.push(Measured { id, outcome });
            results.sort_by_key(|m| m.id);
            CorpusRecord { results, preprocess: [(coo, Seconds(2e-5))].into(), ..of.clone() }
        };
        let timed = with_coo(&all, Outcome::Time { time_s: Seconds(3e-6), spread: 0.001, samples: 5 });
        let line = serde_json::to_string(&timed).unwrap();
        assert!(
            line.contains(r#""preprocess":{"cusparse-coo":0.00002},"blocks":[64,128,256,512,1024],"#),
            "{line}"
        );
        assert!(line.contains(r#""cusparse-coo":[[3e-6,0.001,5]]"#), "{line}");
        assert_eq!(parsed(&line).unwrap(), timed);
        let failed = with_coo(&all, Outcome::Failed { failed: "no library".to_owned() });
        let line = serde_json::to_string(&failed).unwrap();
        assert!(line.contains(r#""cusparse-coo":{"failed":"no library"}"#), "{line}");
        assert_eq!(parsed(&line).unwrap(), failed);
        // Two entries are one too many for something without block sizes.
        let two = line.replace(r#""cusparse-coo":{"failed":"no library"}"#, r#""cusparse-coo":[null,null]"#);
        let error = parsed(&two).unwrap_err().to_string();
        assert!(error.contains("cusparse-coo: 2 results for 1 block sizes"), "{error}");
        all.results.retain(|m| !m.id.kernel.is_vendors());
        let line = serde_json::to_string(&all).unwrap();
        assert!(!line.contains("preprocess") && !line.contains("cusparse"), "{line}");
    }

    #[test]
    fn lines_of_the_old_form_give_the_same_record() {
        let all = all_kinds();
        let line = CorpusLine::from(all.clone());
        let before =
            CorpusLine { blocks: Vec::new(), results: Results::OneByOne(all.results.clone()), ..line };
        let before = serde_json::to_string(&before).unwrap();
        let before = before.replace(r#""blocks":[],"#, "");
        assert!(
            before.contains(r#"{"id":"csr-scalar/b64/f32","time_s":7.9008e-8,"spread":0.0031,"samples":5}"#)
        );
        assert_eq!(parsed(&before).unwrap(), all);
        let now = serde_json::to_string(&all).unwrap();
        assert!(now.contains(r#""ell":{"infeasible":{"why":"padding","factor":13.9,"limit":8.0}}"#), "{now}");
        assert!(now.contains(r#",{"failed":"out of luck"},[0.012346],"#), "{now}");
        let results = |line: &str| line.len() - line.find(r#""results""#).unwrap();
        assert!(2 * results(&now) < results(&before), "{} and {}", results(&now), results(&before));
    }

    #[test]
    fn an_unknown_kernel_and_a_missing_result_are_refused_by_name() {
        let line = serde_json::to_string(&all_kinds()).unwrap();
        let refused = |line: String| parsed(&line).unwrap_err().to_string();
        let unknown = refused(line.replace("csr-scalar", "oracle"));
        assert!(unknown.contains("'oracle' is no kernel of the catalogue"), "{unknown}");
        let short = refused(line.replace(r#""blocks":[64,"#, r#""blocks":[32,64,"#));
        assert!(short.contains("csr-scalar: 5 results for 6 block sizes"), "{short}");
    }
}
