//! `linear`: power laws are recovered exactly, what it stores is checked, what it never saw is refused.

use crate::made_up::{ell_alone, refused_with};
use sparsight_kernels::{Candidate, DeviceFacts, Kernel, catalogue};
use sparsight_lab::papers::linear::{LinearModel, LinearPredictor};
use sparsight_matrix::{Dtype, Features, HybSplit, Loads, Locality, Seconds};
use sparsight_model::{LearningSample, Model, Origin, PredictError};

fn facts() -> DeviceFacts {
    DeviceFacts { launch_s: Seconds(1e-9), ..crate::made_up::gpu("made up", 4, 2048) }
}

/// Features that vary apart from each other, as those of no single family of matrices do.
fn corpus(count: u64) -> Vec<(String, Features)> {
    let pick = |i: u64, step: u64, modulus: u64| 1 + i * step % modulus;
    let features = |i: u64| Features {
        nrows: 1000 * pick(i, 7, 61),
        ncols: 1000 * pick(i, 11, 53),
        nnz: 9000 * pick(i, 5, 59),
        row_min: pick(i, 3, 17),
        row_max: 100 * pick(i, 13, 47),
        row_mode: pick(i, 17, 37),
        row_quantiles: [pick(i, 19, 43); 7],
        row_std: pick(i, 23, 41) as f64 / 2.0,
        hyb: HybSplit { width: 5, coo_nnz: 100 },
        bandwidth: pick(i, 29, 67),
        x_reuse: 0.5,
        locality: Some(Locality {
            min_distance: pick(i, 31, 19),
            max_distance: 50 * pick(i, 37, 71),
            team_steps: [1000; 6],
            warp_sectors: [0.5; 2],
            multiprocessor_sectors: [0.5; 2],
            loads: Some(Loads::default()),
        }),
        ..Features::default()
    };
    (0..count).map(|i| (format!("made/{i}"), features(i))).collect()
}

/// A power law in features that every format's model looks at.
fn law(candidate: &Candidate, f: &Features) -> Seconds {
    let median = (f.row_quantiles[2] as f64).powf(0.25);
    let time = 1e-9 * (f.nnz as f64).powf(0.75) * median;
    Seconds(time * f64::from(candidate.block.max(1)).sqrt() * candidate.dtype.bytes() as f64)
}

fn fit(corpus: &[(String, Features)], generated: impl Fn(usize) -> bool) -> LinearModel {
    let generated = &generated;
    let samples: Vec<LearningSample<'_>> = corpus
        .iter()
        .enumerate()
        .flat_map(|(at, (matrix, features))| {
            Dtype::ALL.into_iter().flat_map(catalogue).map(move |candidate| {
                let wild = if generated(at) { 7.0 + (at % 3) as f64 } else { 1.0 };
                let time = Seconds(wild * law(&candidate, features).0);
                LearningSample {
                    matrix,
                    features,
                    candidate,
                    time,
                    best: time,
                    origin: if generated(at) { Origin::Generated } else { Origin::Real },
                }
            })
        })
        .collect();
    LinearModel::fit(&facts(), &samples).unwrap()
}

#[test]
fn an_exact_power_law_is_recovered() {
    let (model, facts) = (fit(&corpus(60), |_| false), facts());
    let predictor = LinearPredictor { model: &model, facts: &facts };
    let measured = Kernel::all().filter(|kernel| !kernel.is_retired()).count();
    assert_eq!(model.kernels().len(), measured);
    // Also far beyond the matrices learned from.
    let mut far = corpus(70).remove(69).1;
    far.nnz *= 1000;
    for features in [&corpus(70)[65].1, &far] {
        for candidate in catalogue(Dtype::F64) {
            let p = predictor.predict(&candidate, features).unwrap();
            crate::made_up::assert_close(p.time.0, law(&candidate, features).0, &candidate.to_string());
            let terms = predictor.explain(&candidate, features).unwrap();
            assert_eq!(terms.last().unwrap().value.to_bits(), p.time.0.to_bits());
        }
    }
    let p = predictor.predict(&crate::made_up::candidate(Kernel::known("coo")), &far).unwrap();
    let quantities: Vec<&str> = p.extrapolates.iter().map(|e| e.quantity).collect();
    assert_eq!(quantities, ["non-zeros", "working set"]);
    assert!(model.kernels().iter().all(|k| k.log_error < 1e-9), "held out too");
}

#[test]
fn generated_matrices_do_not_tilt_what_is_judged_by_real_ones() {
    let (model, facts) = (fit(&corpus(120), |at| at >= 60), facts());
    let predictor = LinearPredictor { model: &model, facts: &facts };
    let (candidate, features) = (crate::made_up::candidate(Kernel::known("ell")), &corpus(1)[0].1);
    let p = predictor.predict(&candidate, features).unwrap();
    crate::made_up::assert_close(p.time.0, law(&candidate, features).0, "ell");
}

#[test]
fn a_stored_model_is_read_back_and_another_version_or_other_features_are_refused() {
    let model = fit(&corpus(25), |_| false);
    let text = serde_json::to_string(&model).unwrap();
    assert_eq!(serde_json::from_str::<LinearModel>(&text).unwrap(), model);
    let refused = |from: &str, to: &str| refused_with::<LinearModel>(&text, from, to);
    let error = refused("sparsight/linear/2", "sparsight/linear/9");
    assert!(error.contains("'sparsight/linear/9'") && error.contains("fit it again"), "{error}");
    let error = refused("nnz of COO", "nnz of CSR");
    assert!(error.contains("the linear model looks at other inputs"), "{error}");
}

#[test]
fn a_block_size_that_was_not_measured_is_refused() {
    let corpus = corpus(20);
    let samples = ell_alone(&corpus);
    let (model, facts) = (LinearModel::fit(&facts(), &samples).unwrap(), facts());
    let predictor = LinearPredictor { model: &model, facts: &facts };
    let known = crate::made_up::candidate(Kernel::known("ell"));
    crate::made_up::assert_close(predictor.predict(&known, &corpus[3].1).unwrap().time.0, 1e-5, "constant");
    let error = predictor.predict(&Candidate { block: 512, ..known }, &corpus[3].1).unwrap_err();
    assert!(matches!(error, PredictError::NotFitted { model: "linear", .. }), "{error}");
}
