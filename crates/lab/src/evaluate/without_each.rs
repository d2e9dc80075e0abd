//! Effect of each part of the catalogue: the fastest time without it over that with it, matrix by matrix, from recorded
//! times alone.

use super::{TimeClass, is_ranked};
use serde::Serialize;
use sparsight::records::CorpusRecord;
use sparsight_kernels::{Candidate, DeviceKind, Kernel, every_candidate_on};
use sparsight_matrix::{Dtype, Seconds, serialize_as_text};
use sparsight_model::accuracy::geometric_mean;
use std::collections::BTreeSet;
use std::fmt;

/// Candidates that are left out together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// All kernels of a family, by its name.
    Family(&'static str),
    /// All kernels that give a row to several threads.
    Teams,
    /// A kernel with its knobs, of a family that has several.
    Kernel(Kernel),
    /// All thread blocks of so many threads.
    Block(u32),
}

impl Part {
    const fn kind(self) -> &'static str {
        match self {
            Self::Family(_) => "family",
            Self::Teams => "teams",
            Self::Kernel(_) => "kernel",
            Self::Block(_) => "block",
        }
    }

    fn holds(self, candidate: &Candidate) -> bool {
        match self {
            Self::Family(name) => candidate.kernel.name() == name,
            Self::Teams => candidate.kernel.threads_per_row().is_some_and(|threads| threads > 1),
            Self::Kernel(kernel) => candidate.kernel == kernel,
            Self::Block(block) => candidate.block == block,
        }
    }

    /// All of `catalogue`: families, teams, kernels, blocks, each in the order of the catalogue.
    fn all(catalogue: &[Candidate]) -> Vec<Self> {
        let kernels: BTreeSet<Kernel> = catalogue.iter().map(|c| c.kernel).collect();
        let mut families: Vec<&str> = kernels.iter().map(|kernel| kernel.name()).collect();
        families.dedup();
        let has_several =
            |kernel: &Kernel| kernels.iter().filter(|other| other.name() == kernel.name()).count() > 1;
        let blocks: BTreeSet<u32> = catalogue.iter().map(|c| c.block).collect();
        let mut all: Vec<Self> = families.into_iter().map(Self::Family).chain([Self::Teams]).collect();
        all.extend(kernels.iter().copied().filter(has_several).map(Self::Kernel));
        all.extend(blocks.into_iter().map(Self::Block));
        // Everything at once has nothing beside it.
        all.retain(|part| {
            let held = catalogue.iter().filter(|c| part.holds(c)).count();
            held > 0 && held < catalogue.len()
        });
        all
    }
}

serialize_as_text!(Part);

/// `csr-vector`, `several threads a row`, `csr-vector/t8` or `b256`.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Family(name) => f.pad(name),
            Self::Teams => f.pad("several threads a row"),
            Self::Kernel(kernel) => kernel.fmt(f),
            Self::Block(block) => f.pad(&format!("b{block}")),
        }
    }
}

/// Gain by one part on the matrices of one class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WithoutRow {
    /// Kind of the part: `family`, `teams`, `kernel` or `block`.
    pub kind: &'static str,
    /// Part that is left out: `csr-vector`, `several threads a row`, `csr-vector/t8` or `b256`.
    pub part: Part,
    /// Value type.
    pub dtype: Dtype,
    /// Matrices counted, by the time of the fastest of all.
    pub class: TimeClass,
    /// The counts.
    #[serde(flatten)]
    pub gain: Gain,
}

/// Fastest time without a part over that with it, one a matrix, at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gain {
    /// Matrices counted.
    pub count: usize,
    /// Number of these on which the part has a time at all.
    pub timed: usize,
    /// Geometric mean.
    pub mean: f64,
    /// The largest.
    pub largest: f64,
    /// Number of matrices on which the part holds the fastest candidate; ties do not count.
    pub fastest: usize,
    /// Matrices on which all others take over 3 % longer.
    pub needed: usize,
    /// Matrices on which the part takes at most 3 % longer than the fastest.
    pub near: usize,
}

/// Differences up to this factor count as none.
const NEAR: f64 = 1.03;

/// The fastest of a part and of the rest, on one matrix.
#[derive(Debug, Clone, Copy)]
struct Split {
    part: Option<Seconds>,
    rest: Seconds,
}

impl Split {
    fn fastest(self) -> Seconds {
        self.part.filter(|part| part.0 < self.rest.0).unwrap_or(self.rest)
    }

    fn gain(self) -> f64 {
        self.rest.0 / self.fastest().0
    }
}

impl Gain {
    /// `None` of no matrix.
    fn of(splits: &[Split]) -> Option<Self> {
        let gains = || splits.iter().map(|split| split.gain());
        let near = |split: &&Split| split.part.is_some_and(|part| part.0 <= NEAR * split.fastest().0);
        Some(Self {
            count: splits.len(),
            timed: splits.iter().filter(|split| split.part.is_some()).count(),
            mean: geometric_mean(gains())?,
            largest: gains().fold(1.0, f64::max),
            fastest: gains().filter(|gain| *gain > 1.0).count(),
            needed: gains().filter(|gain| *gain > NEAR).count(),
            near: splits.iter().filter(near).count(),
        })
    }
}

/// Effect of each part of the catalogue of a kind of device, by the times in `corpus`: of our own kernels that are ranked
/// there. A matrix counts where everything was asked for that the corpus holds times of in its value type: else a part would seem
/// needed only since another one was not measured. Parts that nothing else stands beside have no rows.
pub fn without_each(kind: DeviceKind, corpus: &[CorpusRecord]) -> Vec<WithoutRow> {
    let mut rows = Vec::new();
    for dtype in Dtype::ALL {
        let records: Vec<&CorpusRecord> = corpus.iter().filter(|record| record.dtype == dtype).collect();
        let measured: BTreeSet<Candidate> =
            records.iter().flat_map(|record| record.times()).map(|(candidate, _)| candidate).collect();
        let catalogue: Vec<Candidate> = every_candidate_on(kind, dtype)
            .filter(|candidate| is_ranked(candidate.kernel, kind) && measured.contains(candidate))
            .collect();
        let whole: Vec<Vec<(Candidate, Seconds)>> = records
            .into_iter()
            .filter(|record| {
                let asked: BTreeSet<Candidate> = record.results.iter().map(|m| m.id).collect();
                catalogue.iter().all(|candidate| asked.contains(candidate))
            })
            .map(|record| {
                record.times().filter(|(c, time)| is_ranked(c.kernel, kind) && time.0 > 0.0).collect()
            })
            .collect();
        for part in Part::all(&catalogue) {
            let splits: Vec<Split> = whole.iter().filter_map(|times| split(part, times)).collect();
            for class in TimeClass::EACH {
                let counted: Vec<Split> =
                    splits.iter().copied().filter(|split| class.holds(split.fastest())).collect();
                let kind = part.kind();
                rows.extend(Gain::of(&counted).map(|gain| WithoutRow { kind, part, dtype, class, gain }));
            }
        }
    }
    rows
}

/// `None` where nothing has a time but the part.
fn split(part: Part, times: &[(Candidate, Seconds)]) -> Option<Split> {
    let fastest = |is_in: bool| {
        let own = times.iter().filter(|(candidate, _)| part.holds(candidate) == is_in);
        own.map(|(_, time)| *time).min_by(|a, b| a.0.total_cmp(&b.0))
    };
    Some(Split { part: fastest(true), rest: fastest(false)? })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{record, time};
    use super::*;
    use sparsight::records::{Measured, Outcome};
    use sparsight_matrix::Infeasible;

    fn rows(corpus: &[CorpusRecord]) -> Vec<WithoutRow> {
        without_each(DeviceKind::Cuda, corpus)
    }

    fn gain(rows: &[WithoutRow], part: &str, class: TimeClass) -> Option<Gain> {
        rows.iter().find(|row| row.part.to_string() == part && row.class == class).map(|row| row.gain)
    }

    #[test]
    fn a_part_brings_what_the_others_take_longer() {
        let refused = Measured {
            id: "ell/b256/f64".parse().unwrap(),
            outcome: Outcome::Infeasible { infeasible: Infeasible::Padding { factor: 9.0, limit: 8.0 } },
        };
        let corpus = [
            record(
                "one",
                &[4],
                vec![
                    time("ell/b256/f64", 2e-6),
                    time("csr-vector/t8/b256/f64", 4e-6),
                    time("csr-vector/t16/b64/f64", 3e-6),
                    // Neither the vendor's nor what is retired counts.
                    time("cusparse-coo/f64", 1e-6),
                    time("csr-balanced/i256/b256/f64", 1e-6),
                ],
            ),
            record(
                "two",
                &[4],
                vec![refused, time("csr-vector/t8/b256/f64", 10.2e-6), time("csr-vector/t16/b64/f64", 10e-6)],
            ),
        ];
        let rows = rows(&corpus);
        let ell = gain(&rows, "ell", TimeClass::All).unwrap();
        assert_eq!((ell.count, ell.timed, ell.fastest, ell.needed, ell.near), (2, 1, 1, 1, 1));
        assert!((ell.largest - 1.5).abs() < 1e-12 && (ell.mean - 1.5_f64.sqrt()).abs() < 1e-12, "{ell:?}");
        // Nothing but csr-vector has a time on the second: what it would be without is not known.
        let vector = gain(&rows, "csr-vector", TimeClass::All).unwrap();
        assert_eq!((vector.count, vector.fastest, vector.near), (1, 0, 0));
        let t8 = gain(&rows, "csr-vector/t8", TimeClass::From8To20).unwrap();
        assert_eq!((t8.count, t8.fastest, t8.needed, t8.near), (1, 0, 0, 1));
        let b64 = gain(&rows, "b64", TimeClass::From8To20).unwrap();
        assert_eq!((b64.fastest, b64.needed, b64.near), (1, 0, 1));
        assert!((b64.largest - 1.02).abs() < 1e-12);
        let teams = gain(&rows, "several threads a row", TimeClass::Under4).unwrap();
        assert_eq!((teams.count, teams.fastest), (1, 0));
        for left_out in ["ell/b256", "cusparse-coo", "csr-balanced", "b1024"] {
            assert!(gain(&rows, left_out, TimeClass::All).is_none(), "{left_out}");
        }
    }

    #[test]
    fn a_matrix_on_which_not_all_was_asked_for_does_not_count() {
        let both = vec![time("ell/b256/f64", 2e-6), time("coo/b256/f64", 4e-6)];
        let corpus = [record("both", &[4], both), record("one", &[4], vec![time("coo/b256/f64", 9e-6)])];
        let rows = rows(&corpus);
        assert_eq!(gain(&rows, "coo", TimeClass::All).unwrap().count, 1);
        assert_eq!(gain(&rows, "coo", TimeClass::From8To20), None);
    }
}
