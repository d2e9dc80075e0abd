//! `neighbours`: a matrix that was measured gets its own time, others the mean of those around them.

use crate::made_up::{located, refused_with};
use sparsight_kernels::{Candidate, DeviceFacts, Kernel, catalogue, compulsory_bytes};
use sparsight_lab::papers::neighbours::{NeighboursModel, NeighboursPredictor};
use sparsight_matrix::{Dtype, Features, RowLengths, Seconds};
use sparsight_model::{LearningSample, Model, Origin, PredictError, Storable};

const LAUNCH: f64 = 1e-6;
const RATE: f64 = 1e12;

fn facts() -> DeviceFacts {
    DeviceFacts {
        launch_s: Seconds(LAUNCH),
        copy_bytes_per_s: RATE,
        ..crate::made_up::gpu("made up", 4, 2048)
    }
}

/// `nnz` non-zeros in rows of one.
fn diagonal(nnz: u64) -> Features {
    located(Features::from_row_lengths(&RowLengths::from_counts([(1, nnz)]), nnz, 0, 0.5))
}

/// Non-zeros 2^0, 2^1, ...: on the axis of COO, whose one feature is nnz, they lie at equal distances.
fn corpus() -> Vec<(String, Features)> {
    (0..24).map(|i| (format!("made/{i}"), diagonal(1 << i))).collect()
}

/// Over the baseline a whole number of its own for each matrix.
fn factor(nnz: u64) -> f64 {
    2.0 + f64::from(nnz.ilog2() * 7 % 5)
}

fn baseline(candidate: &Candidate, features: &Features) -> f64 {
    LAUNCH + compulsory_bytes(candidate, features).0 as f64 / RATE
}

fn fit(kernels: &[Kernel]) -> NeighboursModel {
    let corpus = corpus();
    let samples: Vec<LearningSample<'_>> = corpus
        .iter()
        .flat_map(|(matrix, features)| {
            let own = Dtype::ALL.into_iter().flat_map(catalogue).filter(|c| kernels.contains(&c.kernel));
            own.map(move |candidate| {
                let time = Seconds(factor(features.nnz) * baseline(&candidate, features));
                LearningSample { matrix, features, candidate, time, best: time, origin: Origin::Real }
            })
        })
        .collect();
    NeighboursModel::fit(&facts(), &samples).unwrap()
}

fn assert_near(got: f64, wanted: f64, what: &str) {
    // Factors are kept in steps of a quarter of a percent.
    assert!((got / wanted - 1.0).abs() < 1.3e-3, "{what}: got {got:e}, wanted {wanted:e}");
}

#[test]
fn a_matrix_that_was_measured_gets_its_measured_time() {
    // One of each family.
    let mut kernels: Vec<Kernel> = Kernel::all().filter(|kernel| !kernel.is_retired()).collect();
    kernels.dedup_by_key(|kernel| kernel.family().name);
    let (model, facts) = (fit(&kernels), facts());
    let predictor = NeighboursPredictor { model: &model, facts: &facts };
    for (_, features) in corpus() {
        for candidate in catalogue(Dtype::F64).filter(|candidate| kernels.contains(&candidate.kernel)) {
            let p = predictor.predict(&candidate, &features).unwrap();
            let wanted = factor(features.nnz) * baseline(&candidate, &features);
            assert_near(p.time.0, wanted, &format!("{candidate} {}", features.nnz));
            let terms = predictor.explain(&candidate, &features).unwrap();
            assert_eq!(terms.last().unwrap().value.to_bits(), p.time.0.to_bits());
        }
    }
}

#[test]
fn between_matrices_the_mean_is_the_one_worked_by_hand() {
    let (model, facts) = (fit(&[Kernel::known("coo")]), facts());
    let predictor = NeighboursPredictor { model: &model, facts: &facts };
    let candidate = crate::made_up::candidate(Kernel::known("coo"));
    // 724 lies at log2 = 9.4998: 9 and 10 are half a step away, 8 and 11 one and a half.
    let features = diagonal(724);
    let at = 724_f64.log2();
    let (mut sum, mut weights) = (0.0, 0.0);
    for exponent in [8_u32, 9, 10, 11] {
        let weight = 1.0 / (at - f64::from(exponent)).abs();
        sum += weight * factor(1 << exponent).ln();
        weights += weight;
    }
    let wanted = baseline(&candidate, &features) * (sum / weights).exp();
    let got = predictor.predict(&candidate, &features).unwrap().time.0;
    assert!(
        (got / wanted - 1.0).abs() < 1e-3,
        "coordinates have four digits: got {got:e}, wanted {wanted:e}"
    );
}

#[test]
fn a_stored_model_is_read_back_and_another_version_or_other_features_are_refused() {
    let model = fit(&[Kernel::known("coo"), Kernel::known("ell")]);
    let (text, body) = model.split();
    let text = serde_json::to_string(&text).unwrap();
    assert_eq!(serde_json::from_str::<NeighboursModel>(&text).unwrap().join(&body).unwrap(), model);
    let refused = |from: &str, to: &str| refused_with::<NeighboursModel>(&text, from, to);
    let error = refused("sparsight/neighbours/7", "sparsight/neighbours/0");
    assert!(error.contains("'sparsight/neighbours/0'") && error.contains("fit it again"), "{error}");
    let error = refused("nnz of COO", "nnz of CSR");
    assert!(error.contains("the neighbours model looks at other inputs"), "{error}");
}

#[test]
fn a_kernel_that_was_not_measured_is_refused_and_absurd_features_are_not() {
    let (model, facts) = (fit(&[Kernel::known("coo")]), facts());
    let predictor = NeighboursPredictor { model: &model, facts: &facts };
    let error =
        predictor.predict(&crate::made_up::candidate(Kernel::known("ell")), &diagonal(5)).unwrap_err();
    assert!(matches!(error, PredictError::NotFitted { model: "neighbours", .. }), "{error}");
    let absurd = Features { nnz: u64::MAX, row_std: f64::NAN, ..diagonal(0) };
    let p = predictor.predict(&crate::made_up::candidate(Kernel::known("coo")), &absurd).unwrap();
    assert!(p.low.0 > 0.0 && p.low <= p.time && p.time <= p.high && p.high.0.is_finite(), "{p:?}");
}
