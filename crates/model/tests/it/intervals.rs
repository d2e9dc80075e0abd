//! Intervals: what widens them, what they cover, and that they are stored exactly.

use crate::made_up::*;
use sparsight_kernels::{Candidate, Kernel, Placement};
use sparsight_matrix::Seconds;
use sparsight_model::{
    Calibration, MeasuredPair, Model, Prediction, StripModel, StripPredictor, Variant, accuracy,
};

#[test]
fn leaving_the_grid_is_flagged_with_the_numbers_and_widens_the_interval() {
    let facts = device();
    let ell = candidate(Kernel::known("ell"));
    // A ripple of 10 % makes residuals.
    let ripple = |i: f64, p: f64, _| ell_time(i, p) * (1.0 + 0.1 * (7.0 * i + p).sin());
    let observations = observe(&facts, ell, Placement::Banded, ripple);
    let model = StripModel::fit(&facts, &observations, Variant::Strip).unwrap();
    let predictor = StripPredictor::new(&model, &facts);
    let inside = predictor.predict(&ell, &matrix(2_048 * 10, 64, 64)).unwrap();
    assert_eq!(inside.extrapolates, []);
    let outside = predictor.predict(&ell, &matrix(2_048 * 500, 64, 8_192)).unwrap();
    let flags: Vec<_> = outside.extrapolates.iter().map(|e| (e.quantity, e.value, e.from, e.to)).collect();
    assert_eq!(flags, [("I", 500.0, 1.0, 50.0), ("p", 8_192.0, 4.0, 1_024.0)]);
    // ln 10 beyond a length of ln 50, and ln 8 beyond ln 256 = 8 ln 2: 1 + 2 * 0.5886 + 2 * 3/8 = 2.927.
    let factor = 1.0 + 2.0 * 10_f64.ln() / 50_f64.ln() + 0.75;
    let width = |p: &Prediction| (p.high.0 / p.time.0).ln();
    assert!((width(&outside) / width(&inside) - factor).abs() < 1e-9);
    assert!(width(&inside) > 0.01);
}

#[test]
fn a_model_and_a_calibration_read_back_as_they_were_written() {
    let facts = device();
    let ripple = |i: f64, p: f64, b: u64| {
        csr_time(i, p) * (1.0 + 0.1 * (7.0 * i + p).sin()) * if b > 500_000 { 3.0 } else { 1.0 }
    };
    let csr = candidate(Kernel::known("csr-vector/t32"));
    let mut observations = observe_all(&facts);
    observations.extend(observe(&facts, Candidate { block: 64, ..csr }, Placement::Banded, ripple));
    observations.extend(drawn(&observations));
    for variant in Variant::ALL {
        let model = StripModel::fit(&facts, &observations, variant).unwrap();
        let text = serde_json::to_string(&model).unwrap();
        assert_eq!(serde_json::from_str::<StripModel>(&text).unwrap(), model);
    }
    let pairs: Vec<_> = (1..40)
        .map(|k| MeasuredPair {
            candidate: csr,
            predicted: Seconds(1.0),
            measured: Seconds(f64::from(k) / 17.0),
        })
        .collect();
    let calibration = Calibration::fit(&pairs);
    let text = serde_json::to_string(&calibration).unwrap();
    assert_eq!(serde_json::from_str::<Calibration>(&text).unwrap(), calibration);
}

#[test]
fn a_calibration_covers_ninety_percent_and_never_moves_the_time() {
    let facts = device();
    let observations = observe_all(&facts);
    let model = StripModel::fit(&facts, &observations, Variant::Strip).unwrap();
    let csr = Kernel::known("csr-vector/t32");
    // A matrix within the grid of a kernel: one of its benchmark matrices.
    let within = |kernel| {
        let o = observations.iter().find(|o| o.candidate == candidate(kernel)).unwrap();
        matrix(o.nrows, o.row_length, o.row_length)
    };
    let f = within(csr);
    // Measured 0.70 to 1.68 times the prediction for CSR, always 3 times for 5 pairs of COO.
    let pair = |kernel, ratio| MeasuredPair {
        candidate: candidate(kernel),
        predicted: Seconds(1e-5),
        measured: Seconds(1e-5 * ratio),
    };
    let mut pairs: Vec<_> = (0..99).map(|k| pair(csr, 0.7 + 0.01 * f64::from(k))).collect();
    pairs.extend((0..5).map(|_| pair(Kernel::known("coo"), 3.0)));
    let calibration = Calibration::fit(&pairs);
    assert_eq!((calibration.pairs(csr), calibration.pairs(Kernel::known("coo"))), (99, 0));
    let plain = StripPredictor::new(&model, &facts);
    let calibrated = StripPredictor { calibration: Some(&calibration), ..plain };
    let (a, b) =
        (plain.predict(&candidate(csr), &f).unwrap(), calibrated.predict(&candidate(csr), &f).unwrap());
    assert_eq!(a.time, b.time);
    // 99 residuals: k = floor(0.05 * 100) = 5: the 5th smallest ratio is 0.74, the 5th largest 1.64.
    assert_close(b.low.0, 0.74 * b.time.0, "low");
    assert_close(b.high.0, 1.64 * b.time.0, "high");
    // COO has 5 pairs: the pooled interval. 104 residuals, k = 5: the fifth largest ratio is 3.
    let coo = calibrated.predict(&candidate(Kernel::known("coo")), &within(Kernel::known("coo"))).unwrap();
    assert_close(coo.high.0, 3.0 * coo.time.0, "pooled");
    // Outside the grid a calibrated interval widens as any other.
    let far = calibrated.predict(&candidate(csr), &matrix(100_000_000, 5, 5)).unwrap();
    assert!(!far.extrapolates.is_empty());
    assert!(far.low.0 < 0.74 * far.time.0 && far.high.0 > 1.64 * far.time.0, "{far:?}");
    assert_eq!(Calibration::fit(&pairs[..18]), Calibration::default());
}

#[test]
fn the_interval_of_a_noisy_device_covers_nine_of_ten_of_its_benchmark_matrices() {
    let facts = gpu("H200", 132, 2048);
    let csr = candidate(Kernel::known("csr-vector/t32"));
    let noisy = |i: f64, p: f64, _| csr_time(i, p) * (0.3 * (13.0 * i + 0.7 * p).sin()).exp();
    let observations = observe(&facts, csr, Placement::Banded, noisy);
    let model = StripModel::fit(&facts, &observations, Variant::Strip).unwrap();
    let predictor = StripPredictor::new(&model, &facts);
    let predictions: Vec<_> = observations
        .iter()
        .map(|o| predictor.predict(&csr, &matrix(o.nrows, o.row_length, o.row_length)).unwrap())
        .collect();
    let pairs = predictions.iter().zip(&observations).map(|(p, o)| (p, o.time));
    assert!(accuracy::coverage(pairs).unwrap() >= 0.9);
}
