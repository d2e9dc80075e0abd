//! `boosting`: learned from a made-up corpus, stored, read back, and asked absurd things.

use crate::made_up::{ell_alone, located, refused_with};
use sparsight_kernels::{Candidate, DeviceFacts, Kernel, catalogue, compulsory_bytes};
use sparsight_matrix::{Bytes, Dtype, Features, HybSplit, Loads, Locality, RowLengths, Seconds};
use sparsight_model::{
    BoostingModel, BoostingPredictor, LearnedKernel, LearningSample, MIN_MATRICES, Model, Origin,
    PredictError, Storable,
};
use std::sync::LazyLock;

fn facts() -> DeviceFacts {
    DeviceFacts { launch_s: Seconds(1e-6), ..crate::made_up::gpu("made up", 4, 2048) }
}

/// Square matrices whose rows are all alike.
fn corpus(count: u64) -> Vec<(String, Features)> {
    let matrix = |i: u64| {
        let (nrows, row) = (500 * (1 + i * 7 % 60), 1 + i * 13 % 90);
        let lengths = RowLengths::from_counts([(row, nrows)]);
        (format!("made/{i}"), located(Features::from_row_lengths(&lengths, nrows, row, 0.5)))
    };
    (0..count).map(matrix).collect()
}

/// A known law: bytes and launch, twice as slow in COO, slower in blocks of 1024; half a percent more or less by matrix, so that nothing
/// is predicted without an error.
fn law(candidate: &Candidate, features: &Features) -> Seconds {
    let streamed = 1e-6 + compulsory_bytes(candidate, features).0 as f64 / 1e12;
    let slower = if candidate.kernel == Kernel::known("coo") { 2.0 } else { 1.0 };
    let of_matrix = 0.995 + 0.005 * (features.nrows / 500 % 3) as f64;
    Seconds(streamed * slower * of_matrix * if candidate.block == 1024 { 1.5 } else { 1.0 })
}

fn fit(corpus: &[(String, Features)], candidates: &[Candidate]) -> Result<BoostingModel, PredictError> {
    let samples = corpus.iter().flat_map(|(matrix, features)| {
        candidates.iter().map(move |&candidate| {
            let time = law(&candidate, features);
            LearningSample { matrix, features, candidate, time, best: time, origin: Origin::Real }
        })
    });
    BoostingModel::fit(&facts(), &samples.collect::<Vec<_>>())
}

/// Learned from 40 matrices and all candidates, once for all tests.
static LEARNED: LazyLock<BoostingModel> = LazyLock::new(|| {
    let candidates: Vec<Candidate> = Dtype::ALL.into_iter().flat_map(catalogue).collect();
    fit(&corpus(40), &candidates).unwrap()
});

/// Of three kernels: one of all block sizes, one that lacks some, one of the vendor's.
fn few_candidates() -> Vec<Candidate> {
    let kernels = ["coo", "sell/c32/s256/t4", "cusparse-coo"].map(Kernel::known);
    let of = |kernel: Kernel| {
        kernel.blocks().iter().map(move |&block| Candidate { kernel, block, dtype: Dtype::F64 })
    };
    kernels.into_iter().flat_map(of).collect()
}

#[test]
fn a_law_in_block_and_kernel_is_learned_and_held_out_matrices_are_predicted() {
    let model = &*LEARNED;
    assert_eq!(model.matrices(), 40);
    let measured = Kernel::all().filter(|kernel| !kernel.is_retired()).count();
    assert_eq!(model.kernels().len(), measured);
    assert!(model.cross_validation().error.p90 < 0.03, "{:?}", model.cross_validation());
    assert!(model.cross_validation().choice.within_5_percent > 0.99);
    let facts = facts();
    let predictor = BoostingPredictor { model, facts: &facts };
    let (_, features) = &corpus(41)[40];
    for candidate in catalogue(Dtype::F64) {
        let p = predictor.predict(&candidate, features).unwrap();
        let expected = law(&candidate, features).0;
        assert!((p.time.0 / expected - 1.0).abs() < 0.03, "{candidate}: {} {expected}", p.time.0);
        assert!(p.low.0 > 0.0 && p.low <= p.time && p.time <= p.high);
        let terms = predictor.explain(&candidate, features).unwrap();
        assert_eq!(terms.last().unwrap().value.to_bits(), p.time.0.to_bits());
    }
}

#[test]
fn beyond_the_corpus_the_time_grows_with_the_bytes_and_the_answer_says_so() {
    let facts = facts();
    let predictor = BoostingPredictor { model: &LEARNED, facts: &facts };
    let candidate =
        Candidate { kernel: Kernel::known("csr-scalar"), ..crate::made_up::candidate(Kernel::known("ell")) };
    let lengths = RowLengths::from_counts([(50, 3_000_000)]);
    let huge = located(Features::from_row_lengths(&lengths, 3_000_000, 50, 0.5));
    let p = predictor.predict(&candidate, &huge).unwrap();
    assert!((p.time.0 / law(&candidate, &huge).0).ln().abs() < 0.2, "{}", p.time);
    let quantities: Vec<&str> = p.extrapolates.iter().map(|e| e.quantity).collect();
    assert_eq!(quantities, ["rows", "columns", "non-zeros", "working set"]);
    let nothing = located(Features::from_row_lengths(&RowLengths::from_counts([]), 0, 0, 0.5));
    let p = predictor.predict(&candidate, &nothing).unwrap();
    assert!(p.low.0 >= 5e-7 && p.low <= p.time, "{p:?}: half a launch");
    let inside = predictor.predict(&candidate, &corpus(1)[0].1).unwrap();
    assert!(inside.extrapolates.is_empty());
    let p = predictor.predict(&candidate, &huge).unwrap();
    assert!(p.high.0 / p.low.0 > inside.high.0 / inside.low.0, "the interval is widened");
}

#[test]
fn a_stored_model_reads_back_bit_for_bit_and_damage_is_refused() {
    let model = &*LEARNED;
    let (text, body) = model.split();
    let json = serde_json::to_string(&text).unwrap();
    let refused = |from: &str, to: &str| refused_with::<BoostingModel>(&json, from, to);
    let error = refused("sparsight/boosting/13", "sparsight/boosting/9");
    assert!(error.contains("format 'sparsight/boosting/9'") && error.contains("fit it again"), "{error}");
    let error = refused(": block,", ": blocks,");
    assert!(error.contains("other inputs"), "{error}");
    let error = refused("csr-scalar", "csr-scaler");
    assert!(error.contains("'csr-scaler' is no kernel"), "{error}");
    let text: BoostingModel = serde_json::from_str(&json).unwrap();
    assert_eq!(text.clone().join(&body).unwrap(), *model);
    let error = text.clone().join(&body[..body.len() - 1]).unwrap_err();
    assert!(error.contains("the network ends early"), "{error}");
    let learned = Kernel::all().filter(|kernel| !kernel.is_retired());
    let last = learned.last().unwrap().family().name;
    let error = text.clone().join(&body[..body.len() - 2]).unwrap_err();
    assert!(error.contains(&format!(": {last}: ")), "{error}");
    let mut one_less: serde_json::Value = serde_json::from_str(&json).unwrap();
    one_less["groups"].as_array_mut().unwrap().pop();
    let one_less: BoostingModel = serde_json::from_value(one_less).unwrap();
    let error = one_less.join(&body).unwrap_err();
    assert!(error.contains("groups") && error.contains("were learned"), "{error}");
    let error = text.join(&[&body[..], &[0]].concat()).unwrap_err();
    assert!(error.contains("1 unexpected bytes follow"), "{error}");
}

#[test]
fn all_candidates_together_are_predicted_as_each_alone() {
    let facts = facts();
    let predictor = BoostingPredictor { model: &LEARNED, facts: &facts };
    let candidates: Vec<Candidate> = Dtype::ALL.into_iter().flat_map(catalogue).collect();
    let mut without = corpus(1)[0].1.clone();
    without.locality = None;
    for features in [&corpus(50)[49].1, &without] {
        let each: Vec<_> = candidates.iter().map(|c| predictor.predict(c, features)).collect();
        assert_eq!(predictor.predict_each(&candidates, features), each);
    }
}

#[test]
fn with_a_network_answers_are_alike_together_alone_and_read_back() {
    // Enough matrices for one.
    let (model, facts) = (fit(&corpus(260), &few_candidates()).unwrap(), facts());
    assert!(model.cross_validation().error.p90 < 0.03, "{:?}", model.cross_validation());
    let (text, body) = model.split();
    assert!(body.len() > 20_000, "{} bytes hold no network", body.len());
    assert_eq!(text.clone().join(&body).unwrap(), model);
    let error = text.join(&body[..body.len() - 1]).unwrap_err();
    assert!(error.contains("the network ends early"), "{error}");
    let predictor = BoostingPredictor { model: &model, facts: &facts };
    let (_, features) = &corpus(41)[40];
    for kernel in model.kernels().iter().map(LearnedKernel::kernel) {
        let of = |&block| Candidate { kernel, block, dtype: Dtype::F64 };
        let all: Vec<Candidate> = kernel.blocks().iter().map(of).collect();
        let each: Vec<_> = all.iter().map(|c| predictor.predict(c, features)).collect();
        assert_eq!(predictor.predict_each(&all, features), each);
        // Without the middle one, at which the network sees the kernel.
        assert_eq!(predictor.predict_each(&all[..1], features), each[..1]);
        let terms = predictor.explain(&all[0], features).unwrap();
        assert!(terms.iter().any(|term| term.name == "factor of the network"), "{kernel:?}");
        let time = each[0].as_ref().unwrap().time.0;
        assert!((time / law(&all[0], features).0 - 1.0).abs() < 0.05, "{kernel:?}: {time}");
    }
    let nothing = located(Features::from_row_lengths(&RowLengths::from_counts([]), 0, 0, 0.5));
    let p = predictor.predict(&"coo/b256/f64".parse().unwrap(), &nothing).unwrap();
    assert!(p.low.0 > 0.0 && p.time.0.is_finite(), "{p:?}");
}

#[test]
fn a_kernel_that_was_measured_with_another_block_size_alone_has_no_network() {
    let corpus = corpus(210);
    let candidate: Candidate = "coo/b128/f64".parse().unwrap();
    let (model, facts) = (fit(&corpus, &[candidate]).unwrap(), facts());
    let predictor = BoostingPredictor { model: &model, facts: &facts };
    let terms = predictor.explain(&candidate, &corpus[0].1).unwrap();
    assert!(!terms.iter().any(|term| term.name == "factor of the network"));
}

fn drop_loads(features: &mut Features) {
    features.locality.as_mut().unwrap().loads = None;
}

#[test]
fn features_without_locality_or_lines_of_loads_are_left_out_of_training_and_refused() {
    let (mut some, candidates) = (corpus(30), few_candidates());
    let model = fit(&some, &candidates).unwrap();
    for (at, (_, features)) in some.iter_mut().enumerate().take(8) {
        drop_loads(features);
        features.locality = features.locality.take().filter(|_| at % 2 == 0);
    }
    assert_eq!(fit(&some, &candidates).unwrap().matrices(), 22, "8 are left out");
    let facts = facts();
    let predictor = BoostingPredictor { model: &model, facts: &facts };
    for locality in [None, Some(Locality::default())] {
        for (_, features) in &mut some {
            features.locality.clone_from(&locality);
        }
        assert!(matches!(fit(&some, &candidates), Err(PredictError::TooFewMatrices { got: 0, .. })));
        let error = predictor.predict(&candidates[0], &some[0].1).unwrap_err();
        assert_eq!(error, PredictError::NoLocality { model: "boosting" });
    }
}

#[test]
fn too_few_matrices_are_refused_with_the_number_it_takes() {
    let few = corpus(MIN_MATRICES as u64 - 1);
    let error = fit(&few, &few_candidates()).unwrap_err();
    assert_eq!(error, PredictError::TooFewMatrices { model: "boosting", got: 19, needed: 20 });
    assert!(matches!(BoostingModel::fit(&facts(), &[]), Err(PredictError::TooFewMatrices { got: 0, .. })));
}

#[test]
fn a_kernel_or_value_type_that_was_not_measured_is_refused() {
    let corpus = corpus(20);
    let samples = ell_alone(&corpus);
    let (model, facts) = (BoostingModel::fit(&facts(), &samples).unwrap(), facts());
    assert!(model.knows(Dtype::F32) && !model.knows(Dtype::F64));
    let predictor = BoostingPredictor { model: &model, facts: &facts };
    let (known, features) = (crate::made_up::candidate(Kernel::known("ell")), &corpus[0].1);
    assert!(predictor.predict(&known, features).is_ok());
    for unknown in [crate::made_up::candidate(Kernel::known("coo")), Candidate { dtype: Dtype::F64, ..known }]
    {
        let error = predictor.predict(&unknown, features).unwrap_err();
        assert!(matches!(error, PredictError::NotFitted { model: "boosting", .. }), "{error}");
    }
}

#[test]
fn every_prediction_is_a_positive_finite_number_whatever_the_features() {
    let mut devices = vec![facts()];
    devices.push(DeviceFacts {
        launch_s: Seconds(f64::NAN),
        copy_bytes_per_s: 0.0,
        l2_bytes: Bytes(0),
        multiprocessors: 0,
        ..facts()
    });
    let counts = [0, 1, 1 << 20, 1 << 60];
    let numbers = [0.0, -1.0, 1e300, f64::NAN, f64::INFINITY];
    for facts in &devices {
        let predictor = BoostingPredictor { model: &LEARNED, facts };
        for nrows in counts {
            for nnz in counts {
                for length in counts {
                    for number in numbers {
                        let features = Features {
                            nrows,
                            ncols: length,
                            nnz,
                            empty_rows: length,
                            row_min: length,
                            row_max: length,
                            row_mode: length,
                            row_quantiles: [length; 7],
                            row_std: number,
                            hyb: HybSplit { width: length, coo_nnz: nnz },
                            bandwidth: length,
                            diagonals: Some(length),
                            x_reuse: number,
                            locality: Some(Locality {
                                min_distance: nnz,
                                max_distance: length,
                                team_steps: [length; 6],
                                warp_sectors: [number; 2],
                                multiprocessor_sectors: [number; 2],
                                loads: Some(Loads {
                                    x: [[length; 6]; 2],
                                    rows: [[nnz; 6]; 2],
                                    heaviest_x: [[length; 6]; 2],
                                    heaviest_rows: [[nnz; 6]; 2],
                                    heaviest_steps: [nrows; 6],
                                }),
                            }),
                            ..Features::default()
                        };
                        for candidate in catalogue(Dtype::F32) {
                            let p = predictor.predict(&candidate, &features).unwrap();
                            let sound = p.low.0 > 0.0 && p.low <= p.time && p.time <= p.high;
                            assert!(sound && p.high.0.is_finite(), "{candidate} {features:?}: {p:?}");
                            if facts.launch_s.0 > 0.0 {
                                assert!(p.time >= facts.launch_s);
                            }
                        }
                    }
                }
            }
        }
    }
}
