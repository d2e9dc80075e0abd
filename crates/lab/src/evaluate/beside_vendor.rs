//! Our kernels beside the vendor's library, matrix by matrix: how much faster the best of ours is, and the one that is chosen.

use super::{Judged, TimeClass};
use serde::Serialize;
use sparsight_kernels::Vendor;
use sparsight_matrix::{Dtype, Seconds};
use sparsight_model::Ranking;
use sparsight_model::accuracy::{geometric_mean, quantile};

/// Selections of our candidates: the fastest, known after everything was run; the one that `best` ranks first, of those that have a
/// time; the faster of the first two of those, after both were run.
const OURS: [&str; 3] = ["known afterwards", "first choice", "faster of two"];

/// Selections of the vendor's routines, of which always the fastest on each matrix counts: all but those on blocks, which take no
/// knowledge of the matrix; all.
const THEIRS: [&str; 2] = ["without BSR", "all"];

/// Time of the vendor's fastest routine over ours, on the matrices of one class: above 1 ours is faster.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct VendorRow {
    /// Candidates of this project: `known afterwards`, `first choice` or `faster of two`.
    pub ours: &'static str,
    /// Routines of the vendor: `all`, or those `without BSR`.
    pub theirs: &'static str,
    /// Value type.
    pub dtype: Dtype,
    /// Matrices counted, by the time of the fastest of ours.
    pub class: TimeClass,
    /// Number of ratios, and their quantiles.
    #[serde(flatten)]
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
    /// Our times in the order of [`OURS`], the fastest first.
    ours: [Seconds; 3],
    /// The vendor's times in the order of [`THEIRS`].
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
        let vendors = |counts: fn(Vendor) -> bool| {
            least(times().filter(|(c, _)| c.kernel.vendor().is_some_and(counts)).map(|(_, time)| time))
        };
        let without_bsr = vendors(|routine| !matches!(routine, Vendor::Bsr | Vendor::Bsrmv))?;
        let theirs = [without_bsr, vendors(|_| true)?];
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
            for (of_theirs, theirs) in THEIRS.into_iter().enumerate() {
                for (of_ours, ours) in OURS.into_iter().enumerate() {
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
        let ([known, first, faster], [without_bsr, all]) = (OURS, THEIRS);
        assert!((mean(known, without_bsr) - 3.0).abs() < 1e-12);
        assert!((mean(known, all) - 1.5).abs() < 1e-12);
        assert!((mean(first, without_bsr) - 0.75).abs() < 1e-12);
        assert!((mean(faster, without_bsr) - 1.5).abs() < 1e-12);
        let of_first = of(first, all, TimeClass::All).unwrap().ratios;
        assert_eq!((of_first.count, of_first.wins, of_first.behind), (1, 0, 1));
        assert!(of(first, all, TimeClass::From20).is_none());
    }
}
