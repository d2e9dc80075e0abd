//! Our kernels beside the vendor's library, matrix by matrix: how much faster the best of ours is, and the one that is chosen.

use super::{Judged, TimeClass};
use serde::Serialize;
use sparsight_kernels::{Candidate, Vendor};
use sparsight_matrix::{Dtype, Seconds};
use sparsight_model::Ranking;
use sparsight_model::accuracy::{geometric_mean, quantile};

/// Selection of our candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ours {
    /// The fastest, known after everything was run.
    Known,
    /// The one that `best` ranks first, of those that have a time.
    First,
    /// The faster of the first two of those, after both were run.
    FasterOfTwo,
}

impl Ours {
    const ALL: [Self; 3] = [Self::Known, Self::First, Self::FasterOfTwo];

    /// The one name used in tables and answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Known => "known afterwards",
            Self::First => "first choice",
            Self::FasterOfTwo => "faster of two",
        }
    }
}

/// Selection of the vendor's routines: always the fastest of them on each matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theirs {
    /// All but those on blocks: what takes no knowledge of the matrix.
    WithoutBsr,
    /// All.
    All,
}

impl Theirs {
    const ALL: [Self; 2] = [Self::WithoutBsr, Self::All];

    /// The one name used in tables and answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WithoutBsr => "without BSR",
            Self::All => "all",
        }
    }

    const fn counts(self, routine: Vendor) -> bool {
        matches!(self, Self::All) || !matches!(routine, Vendor::Bsr | Vendor::Bsrmv)
    }
}

/// Time of the vendor's fastest routine over ours, on the matrices of one class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VendorRow {
    /// Candidates of this project.
    pub ours: Ours,
    /// Candidates of the vendor.
    pub theirs: Theirs,
    /// Value type.
    pub dtype: Dtype,
    /// Matrices counted, by the time of the fastest of ours.
    pub class: TimeClass,
    /// The ratios.
    pub ratios: Ratios,
}

/// Theirs over ours, one a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ratios {
    /// Number of ratios.
    pub count: usize,
    /// Geometric mean; above 1 we are faster.
    pub mean: f64,
    /// Tenth percentile.
    pub p10: f64,
    /// Ninetieth percentile.
    pub p90: f64,
    /// The least.
    pub worst: f64,
    /// Matrices on which ours is faster.
    pub wins: usize,
    /// Matrices on which ours is more than 3 % slower.
    pub behind: usize,
}

/// Ours more than so much slower counts as behind.
const BEHIND: f64 = 1.03;

/// Times of one matrix.
struct Pair {
    dtype: Dtype,
    /// Our times in the order of [`Ours::ALL`], the fastest first.
    ours: [Seconds; 3],
    /// The vendor's times in the order of [`Theirs::ALL`].
    theirs: [Seconds; 2],
}

impl Pair {
    /// `None` where one of them has no time.
    fn of(of: &Judged<'_>, ranking: &Ranking) -> Option<Self> {
        let times = || of.record.times();
        let best = least(times().filter(|(c, _)| !c.kernel.is_vendors()).map(|(_, time)| time))?;
        let ranked = ranking.ranked.iter().map(|r| r.candidate).filter(|c| !c.kernel.is_vendors());
        let mut tried = ranked.filter_map(|c| of.time(c)).filter(|time| time.0 > 0.0);
        let first = tried.next()?;
        let second = tried.next().unwrap_or(first);
        let vendors = |theirs: Theirs| {
            let counted = |(c, time): (Candidate, Seconds)| {
                c.kernel.vendor().is_some_and(|routine| theirs.counts(routine)).then_some(time)
            };
            least(times().filter_map(counted))
        };
        let theirs = [vendors(Theirs::WithoutBsr)?, vendors(Theirs::All)?];
        let ours = [best, first, if second.0 < first.0 { second } else { first }];
        Some(Self { dtype: of.record.dtype, ours, theirs })
    }
}

/// All rows that count a matrix.
pub(super) fn rows(rankings: &[(&Judged<'_>, Ranking)]) -> Vec<VendorRow> {
    let pairs: Vec<Pair> = rankings.iter().filter_map(|(of, ranking)| Pair::of(of, ranking)).collect();
    let mut rows = Vec::new();
    for dtype in Dtype::ALL {
        for class in TimeClass::EACH {
            let counted: Vec<&Pair> =
                pairs.iter().filter(|p| p.dtype == dtype && class.holds(p.ours[0])).collect();
            for (of_theirs, theirs) in Theirs::ALL.into_iter().enumerate() {
                for (of_ours, ours) in Ours::ALL.into_iter().enumerate() {
                    let ratios = counted.iter().map(|p| p.theirs[of_theirs].0 / p.ours[of_ours].0).collect();
                    let row = |ratios| VendorRow { ours, theirs, dtype, class, ratios };
                    rows.extend(Ratios::of(ratios).map(row));
                }
            }
        }
    }
    rows
}

fn least(times: impl Iterator<Item = Seconds>) -> Option<Seconds> {
    times.min_by(|a, b| a.0.total_cmp(&b.0))
}

impl Ratios {
    /// `None` of none.
    fn of(mut ratios: Vec<f64>) -> Option<Self> {
        ratios.sort_by(f64::total_cmp);
        Some(Self {
            count: ratios.len(),
            mean: geometric_mean(ratios.iter().copied())?,
            p10: quantile(&ratios, 0.1)?,
            p90: quantile(&ratios, 0.9)?,
            worst: *ratios.first()?,
            wins: ratios.iter().filter(|r| **r > 1.0).count(),
            behind: ratios.iter().filter(|r| **r * BEHIND < 1.0).count(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{record, time};
    use super::*;
    use sparsight_model::{Prediction, Ranked};

    #[test]
    fn each_of_ours_stands_beside_each_of_theirs() {
        let times = [
            time("ell/b256/f64", 2e-6),
            time("coo/b256/f64", 4e-6),
            time("csr-scalar/b256/f64", 8e-6),
            time("cusparse-csr/a1/f64", 6e-6),
            time("cusparse-bsr/b2/a2/f64", 3e-6),
        ];
        let corpus = [record("one", &[4, 4, 8], times.to_vec())];
        let judged = Judged::all(&corpus, 3e-7);
        let ranked = |id: &str| {
            let time = Seconds(1e-6);
            let prediction = Prediction { time, low: time, high: time, extrapolates: Vec::new() };
            Ranked { candidate: id.parse().unwrap(), prediction }
        };
        let order = ["cusparse-csr/a1/f64", "csr-scalar/b256/f64", "coo/b256/f64", "ell/b256/f64"];
        let ranking = Ranking { ranked: order.map(ranked).to_vec(), refused: Vec::new() };
        let rows = rows(&[(&judged[0], ranking)]);
        let of = |ours, theirs, class| {
            rows.iter().find(|r| (r.ours, r.theirs, r.class) == (ours, theirs, class)).copied()
        };
        let mean = |ours, theirs| of(ours, theirs, TimeClass::Under4).unwrap().ratios.mean;
        assert!((mean(Ours::Known, Theirs::WithoutBsr) - 3.0).abs() < 1e-12);
        assert!((mean(Ours::Known, Theirs::All) - 1.5).abs() < 1e-12);
        assert!((mean(Ours::First, Theirs::WithoutBsr) - 0.75).abs() < 1e-12);
        assert!((mean(Ours::FasterOfTwo, Theirs::WithoutBsr) - 1.5).abs() < 1e-12);
        let first = of(Ours::First, Theirs::All, TimeClass::All).unwrap().ratios;
        assert_eq!((first.count, first.wins, first.behind), (1, 0, 1));
        assert!(of(Ours::First, Theirs::All, TimeClass::From20).is_none());
    }
}
