//! Trying candidates on a GPU: runs teach which to try next, the fastest is returned ready to use, and y is right.
//!
//! Without a driver the test says that it is skipped; `SPARSIGHT_REQUIRE_GPU=1` turns that into a failure.

use crate::gpu::gpu;
use sparsight::bench::Bench;
use sparsight::device::cuda::{Cuda, cusparse_version};
use sparsight::device::timing::StoppingRule;
use sparsight::device::{Device, random_x};
use sparsight::matrix::gallery::Recipe;
use sparsight::matrix::{Csr, Dtype, Features, Scalar, reference};
use sparsight::records::Outcome;
use sparsight::run::Tries;
use sparsight::{Advice, Advisor, Objective, Profile, fastest, verify};

fn advised(a: &Csr<impl Scalar>, dtype: Dtype, products: Option<u64>) -> (Features, Advice) {
    let profile = Profile::shipped("nvidia-h200").unwrap();
    let features = Features::of(a);
    let objective = Objective { products, ..Objective::default() };
    let advice = Advisor::new(&profile).advise(&features, dtype, &objective).unwrap();
    (features, advice)
}

const RECIPES: [&str; 4] = ["stencil2d,n=200", "fem,n=14", "power-law,n=30000", "long-rows,n=20000,long=5"];

fn the_fastest_computes_the_right_y<T: Scalar>(gpu: &Cuda) {
    let how = Bench { rule: StoppingRule::BRISK, ..Bench::default() };
    for recipe in RECIPES {
        let a: Csr<T> = recipe.parse::<Recipe>().unwrap().generate().unwrap();
        let x = random_x(a.ncols(), 3);
        let expected = reference(&a, &x);
        let (_, advice) = advised(&a, T::DTYPE, Some(1_000_000_000));
        let all = [
            Tries::Count(4.try_into().unwrap()),
            Tries::WorthIt { products: 1_000_000_000 },
            Tries::WorthIt { products: 1 },
        ];
        for tries in all {
            let found = fastest(gpu, &a, &advice, tries, &how, |_| Ok(())).unwrap();
            let times: Vec<f64> =
                found.runs.iter().map(|run| run.outcome.as_ref().unwrap().timing.time.0).collect();
            eprintln!("{recipe} {} {tries:?}: {} of {times:?}, left {:?}", T::DTYPE, found.plan, found.left);
            match tries {
                Tries::Count(count) => assert_eq!(times.len(), count.get()),
                Tries::WorthIt { products: 1 } => assert!(times.is_empty(), "one product is over before"),
                Tries::WorthIt { .. } => {
                    assert!(times.len() > 1, "a thousand seconds of products are to come");
                }
            }
            let least = times.iter().copied().fold(f64::INFINITY, f64::min);
            assert!(found.measured().is_none_or(|chosen| chosen.timing.time.0 <= least));
            let mut y = vec![T::from_f64(f64::NAN); a.nrows()];
            found.prepared.multiply(&x, &mut y).unwrap();
            assert_eq!(expected.first_wrong(&y), None, "{recipe} {}", found.plan);
        }
    }
}

#[test]
fn the_fastest_of_those_tried_is_ready_and_right() {
    let Some(gpu) = gpu() else { return };
    the_fastest_computes_the_right_y::<f32>(&gpu);
    the_fastest_computes_the_right_y::<f64>(&gpu);
}

#[test]
fn verifying_measures_the_first_and_what_it_is_compared_with() {
    let Some(gpu) = gpu() else { return };
    for recipe in RECIPES {
        let a: Csr<f64> = recipe.parse::<Recipe>().unwrap().generate().unwrap();
        let (features, advice) = advised(&a, Dtype::F64, None);
        let tries = Tries::Count(5.try_into().unwrap());
        let verified =
            verify(&*gpu, (recipe, &a), &features, &advice, tries, &Bench::default(), |_| Ok(())).unwrap();
        let verdict = advice.verdict(None).unwrap();
        let time = |candidate| match verified.measured.get(&candidate) {
            Some(Outcome::Time { time_s, .. }) => Some(time_s.0),
            _ => None,
        };
        assert!(verified.measured.len() >= 5, "{recipe}: {:?}", verified.measured);
        let first = advice.ranked.iter().find(|one| Device::<f64>::runs(&*gpu, one.candidate.kernel).is_ok());
        assert!(time(first.unwrap().candidate).is_some(), "{recipe}: the first was not run");
        assert!(time(verdict.plain_csr.unwrap().candidate).is_some());
        if cusparse_version().is_ok() {
            assert!(time(verdict.vendors_csr.unwrap().candidate).is_some());
        }
        // What was measured moves what is expected of the others, and makes it surer.
        let mut surer = 0;
        for one in advice.ranked.iter().filter(|one| time(one.candidate).is_none()) {
            let Some(expected) = verified.expected.expected(&one.candidate) else { continue };
            let width = |low: f64, high: f64| (high / low).ln();
            let before = width(one.prediction.low.0, one.prediction.high.0);
            surer += usize::from(width(expected.low.0, expected.high.0) < before);
        }
        assert!(surer > 50, "{recipe}: {surer}");
    }
}
