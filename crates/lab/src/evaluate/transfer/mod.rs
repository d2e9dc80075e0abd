//! Accuracy of transferred times where the target was measured after all: the evaluation of Guo and Wang 2013, and the
//! cost of choices by them.
//!
//! ```text
//! corpus of the target: a matrix, a candidate, its measured time
//!   -> T_ref of the same, measured or predicted     -> transferred   | against the measured time
//!                                                   -> scaled        |
//! the least transferred time of a matrix -> choice;   the least T_ref -> choice   | against the best measured one
//! ```
//! All methods are held against the same times: those that the transfer answers.

mod method;
mod row;

pub use method::TransferMethod;
pub use row::TransferRow;

use super::{ChoiceRow, Chooser, Judged, by_text, choice, like_benchmarks, matrix_counts, miss};
use crate::papers::guo_wang_2013::Transferred;
use crate::transfer::{Reference, ReferenceOrigin, TransferProfile, has_size_of};
use serde::Serialize;
use sparsight::Error;
use sparsight::profile::Missing;
use sparsight::records::CorpusRecord;
use sparsight_kernels::{Candidate, DeviceFacts, Format, Kernel};
use sparsight_matrix::{Dtype, Seconds};
use sparsight_model::Between;
use sparsight_model::accuracy::relative_error;
use std::collections::BTreeMap;

/// A transfer held against what the target measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TransferEvaluation {
    /// Matrices by value type: all, and those beyond the launch.
    #[serde(serialize_with = "matrix_counts")]
    pub matrices: BTreeMap<Dtype, (usize, usize)>,
    /// Times by where `T_ref` came from.
    #[serde(rename = "reference_origins", serialize_with = "by_text")]
    pub origins: BTreeMap<ReferenceOrigin, usize>,
    /// Rows, one for each kernel, method, value type and scope.
    #[serde(rename = "errors")]
    pub rows: Vec<TransferRow<Kernel>>,
    /// Rows by format.
    #[serde(rename = "errors_by_format")]
    pub formats: Vec<TransferRow<Format>>,
    /// Rows of choices, one for each chooser, value type and scope: by transferred and by rescaled times, by the times on the reference, and the
    /// best fixed choice.
    pub choices: Vec<ChoiceRow>,
    /// The worst matrices of each kernel and value type, worst first, at most `worst` each.
    #[serde(rename = "worst")]
    pub misses: Vec<TransferMiss>,
    /// Measured times that could not be transferred, by kernel.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedTimes>,
}

/// Measured times of one kernel that could not be transferred.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusedTimes {
    /// Kernel with its knobs.
    pub kernel: Kernel,
    /// Number of times.
    pub times: usize,
    /// Why the first of them was not, in words.
    pub why: String,
}

/// A matrix on which the transfer is far off.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TransferMiss {
    /// Matrix.
    pub matrix: String,
    /// Candidate that was run, in its worst block size.
    pub candidate: Candidate,
    /// `T_ref`.
    #[serde(rename = "reference_s")]
    pub reference: Seconds,
    /// Transferred time.
    #[serde(rename = "predicted_s")]
    pub predicted: Seconds,
    /// Measured time on the target.
    #[serde(rename = "measured_s")]
    pub measured: Seconds,
    /// `|predicted - measured| / measured`.
    pub error: f64,
}

/// A time of the target that was transferred, too.
struct Carried<'j> {
    of: &'j Judged<'j>,
    /// True if it looks like the benchmark matrices of both devices.
    like_benchmarks: bool,
    candidate: Candidate,
    transferred: Transferred,
    rescaled: Seconds,
    one_factor: Option<f64>,
    origin: ReferenceOrigin,
    measured: Seconds,
}

/// Holds the transfer from `reference` to `target` against `corpus`, which the target measured. `T_ref` of a matrix is the
/// time that the reference measured of the one of the same name and size, else what its models predict. `worst`
/// matrices are named for each kernel.
///
/// # Errors
/// Where no time at all can be transferred: the first reason, or [`Error::Lacking`] if `corpus` holds none.
pub fn evaluate_transfer(
    reference: &Reference,
    target: &TransferProfile,
    corpus: &[CorpusRecord],
    worst: usize,
) -> Result<TransferEvaluation, Error> {
    let facts = [&reference.profile.device.facts, &target.device.facts];
    let between = Between { from: facts[0], to: facts[1] };
    let (rescaling, one_factor) = (reference.rescaling(target)?, reference.one_factor(target)?);
    let judged = Judged::all(corpus, facts[1].launch_s.0);
    let (mut samples, mut refused, mut first) = (Vec::new(), BTreeMap::new(), None);
    for of in &judged {
        let CorpusRecord { matrix, dtype, caches, features, .. } = of.record;
        let known = reference.named(matrix, *dtype, *caches).filter(|known| has_size_of(known, features));
        let across = reference.to(target, known);
        for (candidate, measured) in of.record.times() {
            match across.time(&candidate, features) {
                Ok((transferred, origin)) => {
                    let like = |facts: &&DeviceFacts| like_benchmarks(candidate.kernel, features, facts);
                    let like_benchmarks = facts.iter().all(like);
                    let rescaled = rescaling.time(&candidate, features, transferred.reference, between);
                    samples.push(Carried {
                        of,
                        like_benchmarks,
                        candidate,
                        transferred,
                        rescaled,
                        one_factor,
                        origin,
                        measured,
                    });
                }
                Err(why) => {
                    refused.entry(candidate.kernel).or_insert_with(|| (0, why.to_string())).0 += 1;
                    first.get_or_insert(why);
                }
            }
        }
    }
    if samples.is_empty() {
        let (profile, missing) = (target.name.clone(), Missing::Times);
        return Err(first.unwrap_or(Error::Lacking { profile, missing }));
    }
    let refused_times = |(kernel, (times, why))| RefusedTimes { kernel, times, why };
    let mut origins = BTreeMap::new();
    for s in &samples {
        *origins.entry(s.origin).or_default() += 1;
    }
    Ok(TransferEvaluation {
        rows: TransferRow::rows(&samples, |kernel| kernel, facts),
        formats: TransferRow::rows(&samples, Kernel::format, facts),
        choices: choices(&judged, &samples),
        misses: misses(&samples, worst),
        matrices: Judged::counts(&judged),
        origins,
        refused: refused.into_iter().map(refused_times).collect(),
    })
}

/// Matrix by matrix the least transferred and the least rescaled time, the least time on the reference, and one candidate for all.
fn choices(judged: &[Judged<'_>], samples: &[Carried<'_>]) -> Vec<ChoiceRow> {
    let of_matrix = |a: &Carried<'_>, b: &Carried<'_>| a.of.at == b.of.at;
    let by = |chooser, time: fn(&Carried<'_>) -> Seconds| {
        let least = |of_one: &[Carried<'_>]| {
            let chosen = of_one
                .iter()
                .min_by(|a, b| time(a).0.total_cmp(&time(b).0).then_with(|| a.candidate.cmp(&b.candidate)));
            chosen.map(|s| (&judged[s.of.at], s.candidate))
        };
        choice::of_chosen(chooser, samples.chunk_by(of_matrix).filter_map(least))
    };
    let mut rows = by(Chooser::Rescaling, |s| s.rescaled);
    rows.extend(by(Chooser::GuoWang2013, |s| s.transferred.time));
    rows.extend(by(Chooser::Reference, |s| s.transferred.reference));
    rows.extend(choice::of_best_single(judged));
    rows
}

fn misses(samples: &[Carried<'_>], worst: usize) -> Vec<TransferMiss> {
    let mut groups: BTreeMap<(Dtype, Kernel), Vec<&Carried<'_>>> = BTreeMap::new();
    for s in samples {
        groups.entry((s.candidate.dtype, s.candidate.kernel)).or_default().push(s);
    }
    let error = |s: &&Carried<'_>| relative_error(s.transferred.time, s.measured);
    let named = |s: &&Carried<'_>| TransferMiss {
        matrix: s.of.record.matrix.clone(),
        candidate: s.candidate,
        reference: s.transferred.reference,
        predicted: s.transferred.time,
        measured: s.measured,
        error: error(s),
    };
    groups
        .values()
        .flat_map(|of_one| miss::worst_matrices(of_one, |s| s.of.at, error, worst))
        .map(named)
        .collect()
}
