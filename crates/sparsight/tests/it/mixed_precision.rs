//! A matrix in `f64` stored in `f32`: ranked with the others where that is asked for, never else; right for the rounded matrix.
//!
//! Without a driver the share of a GPU says that it is skipped; `SPARSIGHT_REQUIRE_GPU=1` turns that into a failure.

use crate::gpu::gpu;
use sparsight::bench::{Bench, bench};
use sparsight::device::random_x;
use sparsight::device::timing::StoppingRule;
use sparsight::kernels::{Candidate, catalogue};
use sparsight::matrix::{Csr, Dtype, Features, Narrowing, gallery::Recipe, reference};
use sparsight::records::Outcome;
use sparsight::run::{Tries, contest};
use sparsight::{Advice, Advisor, Objective, Plan, Profile, fastest};

fn matrix(recipe: &str) -> Csr<f64> {
    let a: Csr<f64> = recipe.parse::<Recipe>().unwrap().generate().unwrap();
    // Values that f32 cannot hold.
    let thirds = a.values().iter().map(|value| value / 3.0).collect();
    a.with_values(thirds).unwrap()
}

fn advised(a: &Csr<f64>, mixed_precision: bool) -> Advice {
    let profile = Profile::shipped("nvidia-h200").unwrap();
    let objective = Objective { mixed_precision, ..Objective::default() };
    Advisor::new(&profile).advise(&Features::of(a), Dtype::F64, &objective).unwrap()
}

#[test]
fn mixed_precision_is_ranked_on_request_beside_unchanged_candidates() {
    let a = matrix("fem,n=24");
    let (without, with) = (advised(&a, false), advised(&a, true));
    let is_mixed = |candidate: &Candidate| candidate.dtype == Dtype::Mixed;
    assert!(!without.ranked.iter().any(|one| is_mixed(&one.candidate)));
    let mut others = with.clone();
    others.ranked.retain(|one| !is_mixed(&one.candidate));
    others.refused.retain(|one| !is_mixed(&one.candidate));
    assert_eq!(others, without);
    let ranked = with.ranked.iter().filter(|one| is_mixed(&one.candidate)).count();
    let refused = with.refused.iter().filter(|one| is_mixed(&one.candidate)).count();
    assert_eq!(ranked + refused, catalogue(Dtype::Mixed).count());
    // Fewer bytes in every format, hardly slower than the same in f64 where others decide, and still beside CSR in f64.
    for one in with.ranked.iter().filter(|one| is_mixed(&one.candidate)) {
        let double = Candidate { dtype: Dtype::F64, ..one.candidate };
        let double = with.ranked.iter().find(|other| other.candidate == double).unwrap();
        assert!(
            one.bytes < double.bytes && one.prediction.time.0 <= double.prediction.time.0 * 1.3,
            "{one:?}"
        );
        assert_eq!(one.preparation, double.preparation);
    }
    let verdict = with.verdict(None).unwrap();
    assert!(is_mixed(&verdict.best.candidate) && verdict.plain_csr.unwrap().candidate.dtype == Dtype::F64);
    let before = without.verdict(None).unwrap();
    assert!(verdict.best.prediction.time < before.best.prediction.time);
}

#[test]
fn mixed_precision_changes_no_advice_in_f32() {
    let a = matrix("stencil2d,n=50");
    let profile = Profile::shipped("nvidia-h200").unwrap();
    let of = |mixed_precision| {
        let objective = Objective { mixed_precision, ..Objective::default() };
        Advisor::new(&profile).advise(&Features::of(&a), Dtype::F32, &objective).unwrap()
    };
    assert_eq!(of(true), of(false), "a matrix in f32 has nothing to save");
}

#[test]
fn on_a_gpu_it_is_planned_prepared_measured_and_right_for_the_rounded_matrix() {
    let Some(gpu) = gpu() else { return };
    let how = Bench { rule: StoppingRule::BRISK, ..Bench::default() };
    for recipe in ["fem,n=24", "power-law,n=30000", "long-rows,n=20000,long=5"] {
        let a = matrix(recipe);
        let x = random_x(a.ncols(), 3);
        let expected = reference(&Narrowing::rounded(&a), &x);
        let advice = advised(&a, true);
        let found =
            fastest(&*gpu, &a, &advice, Tries::Count(4.try_into().unwrap()), &how, |_| Ok(())).unwrap();
        let chosen = found.plan.partition().dtype();
        let mut y = vec![f64::NAN; a.nrows()];
        found.prepared.multiply(&x, &mut y).unwrap();
        let right = if chosen == Dtype::Mixed { expected.clone() } else { reference(&a, &x) };
        assert_eq!(right.first_wrong(&y), None, "{recipe} {}", found.plan);
        // The bound that is documented: |y - A x| <= e |A| |x|, beside the rounding of f64.
        let exact = reference(&a, &x);
        let error = Narrowing::of(&a).relative_error;
        for (row, got) in y.iter().enumerate() {
            let (cols, values) = a.row(row);
            let size: f64 = cols.iter().zip(values).map(|(&col, v)| (v * x[col as usize]).abs()).sum();
            let off = (got - exact.y[row]).abs();
            assert!(off <= error * size + exact.bound[row], "{recipe}: row {row} is off by {off:e}");
        }
        // All of them in turn, and one beside its likes.
        let candidates: Vec<Candidate> = catalogue(Dtype::Mixed).filter(|c| c.block == 128).collect();
        let record = bench(&*gpu, (recipe, &a), &Features::of(&a), &candidates, &how, |_| Ok(())).unwrap();
        assert_eq!(record.dtype, Dtype::Mixed);
        for measured in &record.results {
            assert!(!matches!(measured.outcome, Outcome::Failed { .. }), "{recipe}: {measured:?}");
        }
        let whole = |id: &str| Plan::whole(a.nrows(), id.parse().unwrap(), None);
        let plans = ["csr-scalar/b128/f32-f64", "csr-scalar/b128/f64"].map(whole);
        for one in contest(&*gpu, &a, &plans, &how) {
            assert!(one.unwrap().timing.time.0 > 0.0);
        }
    }
}
