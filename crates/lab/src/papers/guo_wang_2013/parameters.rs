//! Parameters of one device in a transfer, for each candidate and placement, as they are stored.

use super::handful::{STRIPS, coo_strips};
use super::{CooParameters, CsrParameters, EllParameters, TransferRule};
use serde::{Deserialize, Serialize};
use sparsight_kernels::{Candidate, DeviceFacts, Placement, StripUnit, strip};
use sparsight_model::{Line, Observation, Point};
use std::collections::BTreeMap;

/// The parameters of one candidate: those of the paper's Table II.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Parameters {
    /// A team of threads a row.
    Csr(CsrParameters),
    /// A thread a row.
    Ell(EllParameters),
    /// A thread a non-zero.
    Coo(CooParameters),
}

/// A candidate at one placement of the columns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MeasuredCandidate {
    /// Candidate that was run.
    pub candidate: Candidate,
    /// Placement of the columns of its benchmark matrices.
    pub placement: Placement,
    /// Parameters from them.
    #[serde(flatten)]
    pub parameters: Parameters,
}

/// All parameters of one device.
///
/// Invariant, made by [`TransferParameters::fit`] and restored when read: sorted by candidate and placement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored")]
pub struct TransferParameters {
    candidates: Vec<MeasuredCandidate>,
}

/// The stored form, before it is sorted.
#[derive(Deserialize)]
struct Stored {
    candidates: Vec<MeasuredCandidate>,
}

impl From<Stored> for TransferParameters {
    fn from(Stored { mut candidates }: Stored) -> Self {
        candidates.sort_by_key(MeasuredCandidate::key);
        Self { candidates }
    }
}

/// Times of one candidate at one placement by p and I (COO: by I alone), seconds.
#[derive(Debug, Default)]
pub(super) struct Times(BTreeMap<(u64, u64), f64>);

impl Times {
    fn add(&mut self, unit: StripUnit, point: &Point) {
        let row_length = match unit {
            StripUnit::Rows => point.row_length,
            StripUnit::NonZeros | StripUnit::Items => 0,
        };
        // Of one matrix measured twice the last counts.
        self.0.insert((row_length, point.strips), point.time_s);
    }

    fn line(&self, places: impl IntoIterator<Item = (u64, u64, u64)>) -> Option<Line> {
        let measured = |(x, p, i)| Some((x as f64, *self.0.get(&(p, i))?));
        Line::fit(places.into_iter().filter_map(measured))
    }

    /// The line over p at the fewest strips; `None` without the first of `row_lengths` and another one.
    pub(super) fn over_row_length(&self, row_lengths: &[u64; 3]) -> Option<Line> {
        self.0.get(&(row_lengths[0], STRIPS[0]))?;
        self.line(row_lengths.map(|p| (p, p, STRIPS[0])))
    }

    /// The line over I at `row_length`; `None` without two of [`STRIPS`].
    pub(super) fn over_strips(&self, row_length: u64) -> Option<Line> {
        self.line(STRIPS.map(|i| (i, row_length, i)))
    }

    /// The line over `strips` whatever the row lengths; `None` without the first of them and another one.
    pub(super) fn over_all_strips(&self, strips: &[u64; 3]) -> Option<Line> {
        self.0.get(&(0, strips[0]))?;
        self.line(strips.map(|i| (i, 0, i)))
    }
}

impl MeasuredCandidate {
    fn key(&self) -> (Candidate, Placement) {
        (self.candidate, self.placement)
    }
}

impl TransferParameters {
    /// Fits every candidate and placement for which enough of the [`handful`](super::handful) was measured; other
    /// benchmark matrices are not looked at, so that a quick and a full profile of a device say the same.
    pub fn fit(facts: &DeviceFacts, observations: &[Observation]) -> Self {
        let mut groups: BTreeMap<(Candidate, Placement), Times> = BTreeMap::new();
        for observation in observations.iter().filter(|o| !o.lengths.is_drawn()) {
            let unit = strip(observation.candidate.kernel, facts).unit;
            if let Some(point) = Point::of(observation, facts) {
                let key = (observation.candidate, observation.placement);
                groups.entry(key).or_default().add(unit, &point);
            }
        }
        let threshold = facts.max_threads_per_block.map(u64::from);
        let fit = |((candidate, placement), times): ((Candidate, Placement), Times)| {
            let size = strip(candidate.kernel, facts).size;
            let parameters = match TransferRule::of(candidate.kernel) {
                TransferRule::Csr => CsrParameters::fit(size, threshold, &times).map(Parameters::Csr),
                TransferRule::Ell { measured } if measured == candidate.kernel => {
                    EllParameters::fit(size, &times).map(Parameters::Ell)
                }
                TransferRule::Coo { measured } if measured == candidate.kernel => {
                    CooParameters::fit(size, coo_strips(measured), &times).map(Parameters::Coo)
                }
                TransferRule::Ell { .. }
                | TransferRule::Coo { .. }
                | TransferRule::Hyb { .. }
                | TransferRule::None => None,
            }?;
            Some(MeasuredCandidate { candidate, placement, parameters })
        };
        Self { candidates: groups.into_iter().filter_map(fit).collect() }
    }

    /// All, sorted by candidate and placement.
    pub fn candidates(&self) -> &[MeasuredCandidate] {
        &self.candidates
    }

    /// The parameters of a candidate at a placement. O(log candidates).
    pub fn find(&self, candidate: &Candidate, placement: Placement) -> Option<&Parameters> {
        let key = (*candidate, placement);
        let at = self.candidates.binary_search_by_key(&key, MeasuredCandidate::key);
        at.ok().map(|at| &self.candidates[at].parameters)
    }
}
