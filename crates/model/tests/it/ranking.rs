//! Ranking candidates, those that cannot be predicted included.

use crate::made_up::*;
use sparsight_kernels::{Kernel, Placement};
use sparsight_model::{Model, PredictError, StripModel, StripPredictor, Variant, rank};

#[test]
fn missing_and_insufficient_measurements_are_named() {
    let facts = device();
    let mut observations = observe_all(&facts);
    observations.retain(|o| o.candidate.kernel != Kernel::known("coo"));
    let scalar: Vec<_> =
        observations.iter().copied().filter(|o| o.candidate.kernel == Kernel::known("csr-scalar")).collect();
    observations.retain(|o| o.candidate.kernel != Kernel::known("csr-scalar"));
    observations.push(scalar[0]);
    let model = StripModel::fit(&facts, &observations, Variant::Strip).unwrap();
    assert_eq!(model.unfitted().len(), 1);
    assert_eq!((model.unfitted()[0].candidate, model.unfitted()[0].observations), (scalar[0].candidate, 1));
    let predictor = StripPredictor::new(&model, &facts);
    let f = hyb_matrix(100_000, 12, 50_000, 0.5);
    let error = predictor.predict(&candidate(Kernel::known("hyb")), &f).unwrap_err();
    assert_eq!(error.to_string(), "the profile holds no strip model for hyb/b128/f32");
    // JAD, ELL, csr-vector, csr-balanced and the shorter runs of COO are left; COO, csr-scalar and HYB were not measured, the others never are.
    let ranking = rank(&predictor, Kernel::all().map(candidate), &f);
    assert_eq!((ranking.ranked.len(), ranking.refused.len()), (13, Kernel::all().len() - 13));
    let sell = Kernel::known("sell/c32/s1024");
    let error = predictor.predict(&candidate(sell), &f).unwrap_err();
    assert_eq!(error.to_string(), "the profile holds no strip model for sell/c32/s1024/b128/f32");
    assert!(ranking.ranked.is_sorted_by(|a, b| a.prediction.time <= b.prediction.time));
    // Without a COO part HYB needs only ELL.
    assert!(predictor.predict(&candidate(Kernel::known("hyb")), &hyb_matrix(100_000, 12, 0, 0.5)).is_ok());

    let nothing = StripModel::fit(&facts, &scalar[..1], Variant::StripCache).unwrap_err();
    assert_eq!(nothing, PredictError::NothingFitted { model: "strip-cache", got: 1 });
}

#[test]
fn equal_times_are_ranked_by_id_and_within_counts_the_near_ones() {
    let facts = device();
    // All teams are given the same times for the same rows.
    let kernels = ["csr-vector/t2", "csr-vector/t4", "csr-vector/t8"].map(Kernel::known);
    let observations: Vec<_> = kernels
        .into_iter()
        .flat_map(|k| observe(&facts, candidate(k), Placement::Banded, |i, p, _| csr_time(i, p)))
        .collect();
    let model = StripModel::fit(&facts, &observations, Variant::Strip).unwrap();
    let predictor = StripPredictor::new(&model, &facts);
    // 100 rows are one strip of each.
    let ranking = rank(&predictor, kernels.map(candidate).into_iter().rev(), &matrix(100, 8, 8));
    let ids: Vec<_> = ranking.ranked.iter().map(|r| r.candidate.to_string()).collect();
    assert_eq!(ids, ["csr-vector/t2/b128/f32", "csr-vector/t4/b128/f32", "csr-vector/t8/b128/f32"]);
    assert_eq!(ranking.within(0.05).len(), 3);
    // 2,000 rows: 2, 4 and 8 strips.
    let ranking = rank(&predictor, kernels.map(candidate), &matrix(2_000, 8, 8));
    assert_eq!(ranking.within(0.05).len(), 1);
    assert_eq!(ranking.best().unwrap().candidate, candidate(kernels[0]));
}
