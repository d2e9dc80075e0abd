//! Errors of `best` by how long a product takes.

use super::{Sample, Samples, TimeClass, is_ranked};
use serde::Serialize;
use sparsight_kernels::DeviceKind;
use sparsight_matrix::{Dtype, Seconds};
use sparsight_model::accuracy::{Accuracy, coverage};
use std::collections::{BTreeMap, BTreeSet};

/// Error of `best` on the matrices of one class, over all candidates that are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ClassRow {
    /// Value type.
    pub dtype: Dtype,
    /// Matrices counted, by the least measured time of the ranked candidates of ours.
    pub class: TimeClass,
    /// Number of matrices.
    pub matrices: usize,
    /// Accuracy of `|predicted - measured| / measured`, over matrices and candidates.
    #[serde(flatten)]
    pub error: Accuracy,
    /// Share of the times inside their 90 % interval.
    pub covered: f64,
    /// Mean of `ln(high / low)` of the intervals.
    pub log_width: f64,
}

/// Rows, one for each value type and class that counts anything; of samples of matrices that took no part in learning. On a GPU the vendor's
/// routines and retired kernels, which are not ours to choose, do not count.
pub(super) fn rows(samples: &Samples<'_>, kind: DeviceKind) -> Vec<ClassRow> {
    let mut by_dtype: BTreeMap<Dtype, Vec<&Sample<'_>>> = BTreeMap::new();
    for (&(dtype, kernel), of_kernel) in samples {
        if is_ranked(kernel, kind) {
            by_dtype.entry(dtype).or_default().extend(of_kernel);
        }
    }
    let of_dtype = |(dtype, samples): (Dtype, Vec<&Sample<'_>>)| {
        let mut fastest: BTreeMap<usize, Seconds> = BTreeMap::new();
        for s in &samples {
            let least = fastest.entry(s.of.at).or_insert(s.measured);
            least.0 = least.0.min(s.measured.0);
        }
        let of_class = |class: TimeClass| {
            let counted: Vec<&Sample<'_>> =
                samples.iter().copied().filter(|s| class.holds(fastest[&s.of.at])).collect();
            let widths = counted.iter().map(|s| (s.prediction.high.0 / s.prediction.low.0).ln());
            Some(ClassRow {
                dtype,
                class,
                matrices: counted.iter().map(|s| s.of.at).collect::<BTreeSet<_>>().len(),
                error: Accuracy::of(counted.iter().map(|s| (s.prediction.time, s.measured)))?,
                covered: coverage(counted.iter().map(|s| (&s.prediction, s.measured)))?,
                log_width: widths.sum::<f64>() / counted.len() as f64,
            })
        };
        TimeClass::EACH.into_iter().filter_map(of_class).collect::<Vec<_>>()
    };
    by_dtype.into_iter().flat_map(of_dtype).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Judged;
    use super::super::tests::{record, time};
    use super::*;
    use sparsight_model::Prediction;

    #[test]
    fn a_matrix_counts_in_the_class_of_its_fastest_unretired_candidate() {
        let ids = ["coo/b256/f64", "hyb/b256/f64", "sell/c64/s1024/b256/f64", "cusparse-coo/f64"];
        let times = |us: [f64; 4]| ids.iter().zip(us).map(|(id, us)| time(id, us * 1e-6)).collect();
        let corpus = [
            record("small", &[1, 2], times([3.0, 5.0, 1.0, 1.0])),
            record("large", &[3, 4], times([30.0, 50.0, 1.0, 1.0])),
        ];
        let judged = Judged::all(&corpus, 1e-6);
        let mut samples = Samples::new();
        for of in &judged {
            for measured in &of.record.results {
                let (candidate, measured) = (measured.id, of.time(measured.id).unwrap());
                let time = Seconds(1.1 * measured.0);
                let (low, high) = (Seconds(time.0 / 2.0), Seconds(time.0 * 2.0));
                let prediction = Prediction { time, low, high, extrapolates: Vec::new() };
                let sample = Sample { of, like_benchmarks: false, candidate, prediction, measured };
                samples.entry((Dtype::F64, candidate.kernel)).or_default().push(sample);
            }
        }
        let rows = rows(&samples, DeviceKind::Cuda);
        let counts: Vec<_> = rows.iter().map(|row| (row.class, row.matrices, row.error.count)).collect();
        assert_eq!(counts, [(TimeClass::All, 2, 4), (TimeClass::Under4, 1, 2), (TimeClass::From20, 1, 2)]);
        for row in rows {
            assert!((row.error.mean - 0.1).abs() < 1e-9 && row.covered > 0.999);
            assert!((row.log_width - 4_f64.ln()).abs() < 1e-9);
        }
    }
}
