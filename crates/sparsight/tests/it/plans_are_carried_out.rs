//! A plan computes the right y on the device that it is prepared for, and is refused where it does not fit.

use sparsight::advise::Advised;
use sparsight::bench::Bench;
use sparsight::device::timing::{Caches, StoppingRule};
use sparsight::device::{DeviceError, PartitionError, cpu::Cpu, random_x};
use sparsight::kernels::{Candidate, DeviceKind, Execution};
use sparsight::matrix::{Csr, Dtype, Features, Seconds, gallery::Recipe, reference};
use sparsight::run::{TriedRun, Tries, run_partition};
use sparsight::{Advice, Advisor, Error, Objective, Plan, Profile, fastest};
use std::ops::Range;

fn matrix(recipe: &str) -> Csr<f64> {
    recipe.parse::<Recipe>().unwrap().generate().unwrap()
}

fn parts() -> Vec<(Range<usize>, Candidate)> {
    let part = |rows: Range<usize>, id: &str| (rows, id.parse().unwrap());
    vec![part(0..400, "sell/c32/s1024/b256/f64"), part(400..900, "csr-vector/t4/b256/f64")]
}

#[test]
fn a_plan_of_parts_computes_what_the_reference_computes() {
    let a = matrix("stencil2d,n=30");
    let plan = Plan::try_new(parts(), Execution::Fused, Some(Seconds(1e-5))).unwrap();
    assert_eq!(plan.predicted(), Some(Seconds(1e-5)));
    let text = "fused: 0..400 sell/c32/s1024/b256/f64, 400..900 csr-vector/t4/b256/f64";
    assert_eq!(plan.to_string(), text);

    let cpu = Cpu::with_threads(2).unwrap();
    let prepared = plan.prepare(&cpu, &a).unwrap();
    assert!(prepared.preparation().convert.0 > 0.0);
    let x = random_x(a.ncols(), 1);
    let expected = reference(&a, &x);
    let mut y = vec![f64::NAN; a.nrows()];
    prepared.multiply(&x, &mut y).unwrap();
    assert_eq!(expected.first_wrong(&y), None);
    // 3 A x - 2 A x.
    prepared.multiply_scaled(3.0, &x, -2.0, &mut y).unwrap();
    for (row, (y, expected_y)) in y.iter().zip(&expected.y).enumerate() {
        assert!((y - expected_y).abs() <= 5.0 * expected.bound[row] + 1e-15, "{row}: {y}, {expected_y}");
    }
    assert!(prepared.batch(3, Caches::Warm).unwrap().time.0 > 0.0);
}

#[test]
fn the_fastest_of_those_that_are_tried_is_one_that_can_run() {
    let cpu = Cpu::with_threads(2).unwrap();
    let a = matrix("arrow,n=3000");
    let how = Bench { rule: StoppingRule::BRISK, ..Bench::default() };
    let profile = Profile::shipped("nvidia-h200").unwrap();
    let objective = Objective::default();
    let ask = |a: &Csr<f64>| Advisor::new(&profile).advise(&Features::of(a), Dtype::F64, &objective).unwrap();
    // Advice about a grid ranks ELL, which cannot hold the long rows of an arrow.
    let of_grid = ask(&matrix("stencil2d,n=60"));
    let is_padded = |advised: &&Advised| advised.candidate.kernel.to_string() == "ell";
    let padded: Vec<Advised> = of_grid.ranked.iter().filter(is_padded).cloned().collect();
    let mut advice = ask(&a);
    advice.ranked.splice(0..0, padded.clone());
    // The processor stands for the GPU.
    advice.kind = DeviceKind::Cpu;
    let fastest_of = |advice: &Advice| {
        fastest(&cpu, &a, advice, Tries::Count(padded.len().max(4).try_into().unwrap()), &how, |_| Ok(()))
    };
    let found = fastest_of(&advice).unwrap();
    assert!(found.runs[0].outcome.is_err() && found.runs.len() >= 4);
    let ran: Vec<&TriedRun> = found.runs.iter().filter(|run| run.outcome.is_ok()).collect();
    assert!(
        ran.iter()
            .any(|run| found.plan.partition() == Plan::whole(a.nrows(), run.candidate, None).partition())
    );
    assert!(found.measured().unwrap().timing.time.0 > 0.0);
    let none = fastest_of(&Advice { ranked: padded.clone(), ..advice }).map(|_| ()).unwrap_err();
    assert!(matches!(none, Error::Device(DeviceError::Infeasible(_))), "that of the first: {none}");
}

#[test]
fn the_plans_are_the_candidates_that_are_ranked_first() {
    let a = matrix("stencil2d,n=100");
    let profile = Profile::shipped("nvidia-h200").unwrap();
    let (advisor, objective) = (Advisor::new(&profile), Objective::default());
    let plans = advisor.plans(&a, &objective, 4.try_into().unwrap()).unwrap();
    let ranked = advisor.advise(&Features::of(&a), Dtype::F64, &objective).unwrap().ranked;
    let ours = ranked.iter().filter(|advised| !advised.candidate.kernel.is_vendors()).take(4);
    let expected: Vec<_> =
        ours.map(|advised| (advised.candidate.to_string(), Some(advised.prediction.time))).collect();
    let planned: Vec<_> = plans.iter().map(|plan| (plan.to_string(), plan.predicted())).collect();
    assert_eq!(planned, expected);
    assert_eq!(advisor.plan(&a, &objective).unwrap(), plans[0]);
}

#[test]
fn a_plan_for_another_matrix_or_of_parts_with_a_gap_is_refused() {
    let cpu = Cpu::with_threads(1).unwrap();
    let plan = Plan::try_new(parts(), Execution::Sequential, None).unwrap();
    let other = plan.prepare(&cpu, &matrix("stencil2d,n=31")).err();
    let expected = PartitionError::OtherMatrix { parts: 900, nrows: 961 };
    assert!(matches!(other, Some(Error::Device(DeviceError::Partition(e))) if e == expected));

    let mut gap = parts();
    gap[1].0 = 401..900;
    let gap = Plan::try_new(gap, Execution::Sequential, None).unwrap_err();
    assert_eq!(gap.to_string(), "part 1 has the rows 401 to 900, where rows from 400 on are left");
}

#[test]
fn a_partition_is_checked_and_measured() {
    let cpu = Cpu::with_threads(2).unwrap();
    let a = matrix("stencil2d,n=30");
    let how = Bench { rule: StoppingRule::BRISK, ..Bench::default() };
    let measured = run_partition(&cpu, &a, &parts(), Execution::Sequential, &how).unwrap();
    assert!(measured.timing.time.0 > 0.0 && measured.timing.samples > 0, "{measured:?}");
    assert!(measured.preparation.convert.0 > 0.0);
}

#[test]
fn the_advisor_plans_the_candidate_that_it_ranks_first_for_the_products_to_come() {
    let a = matrix("stencil2d,n=300");
    let profile = Profile::shipped("nvidia-h200").unwrap();
    let advisor = Advisor::new(&profile);
    for products in [None, Some(1), Some(1_000_000)] {
        let objective = Objective { products, ..Objective::default() };
        let features = sparsight::matrix::Features::of(&a);
        let best = advisor.advise(&features, Dtype::F64, &objective).unwrap().ranked.remove(0);
        let plan = advisor.plan(&a, &objective).unwrap();
        assert_eq!(plan.partition().parts(), [(0..a.nrows(), best.candidate)]);
        assert_eq!(plan.predicted(), Some(best.prediction.time));
    }
}
