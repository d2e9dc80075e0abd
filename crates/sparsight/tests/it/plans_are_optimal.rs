//! Plans from the shipped profile: what holds for every one of them.

use sparsight::answer::PlannedMatrix;
use sparsight::kernels::{BLOCKS, Candidate, Execution, Format, Kernel, catalogue};
use sparsight::matrix::gallery::Recipe;
use sparsight::matrix::{Csr, Dtype, Features, Seconds, StripDetail, Strips};
use sparsight::model::Piece;
use sparsight::models::ModelName;
use sparsight::partition::{MOST_CUT, PartitionObjective, Partitioning, Strategy};
use sparsight::{Advisor, Objective, Profile};
use std::num::NonZeroUsize;
use std::ops::Range;

/// Rows of about 31 non-zeros, then half as many of 200.
const HALVES: &str = "kkt,n=320000,m=40000,row=200";

fn matrix(recipe: &str) -> Csr<f64> {
    recipe.parse::<Recipe>().unwrap().generate().unwrap()
}

fn all() -> Vec<Candidate> {
    catalogue(Dtype::F64).collect()
}

fn plan(a: &Csr<f64>, candidates: &[Candidate], model: ModelName, strips: usize) -> Partitioning {
    let profile = Profile::shipped("nvidia-h200").unwrap();
    let objective = PartitionObjective {
        model: Some(model),
        strips: NonZeroUsize::new(strips),
        ..PartitionObjective::default()
    };
    Advisor::new(&profile).partition(a, candidates, &objective).unwrap()
}

/// A part of `a` as the cost of cutting sees it.
fn piece(time: Seconds, rows: Range<u64>, a: &Csr<f64>) -> Piece {
    let nnz = a.row_ptr()[rows.end as usize] - a.row_ptr()[rows.start as usize];
    Piece { time, bytes: Csr::<f64>::device_bytes(rows.end - rows.start, nnz, Dtype::F64) }
}

/// Checks the invariants of every plan.
fn check(plan: &Partitioning, a: &Csr<f64>) {
    for strategy in &plan.strategies {
        let Strategy { kind: _, execution, parts, predicted, interval, cost, single } = strategy;
        let mut row = 0;
        for part in parts {
            assert_eq!(part.rows.start, row, "without a gap");
            assert_eq!(part.rows.start, part.strips.start as u64 * plan.rows_per_strip);
            let rows = part.rows.start as usize..part.rows.end as usize;
            assert_eq!(part.nnz, a.row_ptr()[rows.end] - a.row_ptr()[rows.start]);
            row = part.rows.end;
        }
        assert_eq!(row, a.nrows() as u64);
        let pieces: Vec<Piece> =
            parts.iter().map(|part| piece(part.prediction.time, part.rows.clone(), a)).collect();
        assert!((predicted.0 / cost.total(&pieces).0 - 1.0).abs() < 1e-12);
        assert!(interval.0 <= *predicted && *predicted <= interval.1);
        assert_eq!(single.rows, 0..a.nrows() as u64);
        match execution {
            Execution::Sequential => assert!(strategy.gain() >= 0.0, "never worse than the best single"),
            Execution::Fused => {
                let block = parts[0].candidate.block;
                let fits = |c: &Candidate| c.block == block && c.kernel.shares_a_launch();
                assert!(parts.iter().all(|part| fits(&part.candidate)), "{parts:?}");
            }
        }
    }
}

#[test]
fn the_best_single_candidate_is_what_advise_ranks_first() {
    let profile = Profile::shipped("nvidia-h200").unwrap();
    let a = matrix(HALVES);
    for model in [ModelName::Best, ModelName::Strip, ModelName::StripCache] {
        let found = plan(&a, &all(), model, 20);
        check(&found, &a);
        let objective = Objective { model: Some(model), ..Objective::default() };
        let advice = Advisor::new(&profile).advise(&Features::of(&a), Dtype::F64, &objective).unwrap();
        let (first, single) = (&advice.ranked[0], &found.strategies[0].single);
        assert_eq!((first.candidate, first.model), (single.candidate, single.model), "{model}");
        assert_eq!(first.prediction, single.prediction);
    }
}

#[test]
fn halves_that_differ_are_cut() {
    let a = matrix(HALVES);
    let papers = [Format::csr(), Format::known("ell"), Format::known("coo"), Format::known("hyb")];
    let candidates: Vec<Candidate> = all().into_iter().filter(|c| papers.contains(&c.format())).collect();
    let found = plan(&a, &candidates, ModelName::Strip, 90);
    check(&found, &a);
    for strategy in &found.strategies {
        assert!(strategy.parts.len() > 1, "{strategy:#?}");
        assert!(strategy.parts.iter().all(|part| papers.contains(&part.candidate.format())));
    }
}

/// No part takes less than a launch.
#[test]
fn matrices_faster_than_two_launches_are_not_cut() {
    let a = matrix("banded,n=2000,band=1");
    let launch = Profile::shipped("nvidia-h200").unwrap().device.facts.launch_s;
    for model in [ModelName::Best, ModelName::Strip, ModelName::StripCache] {
        let found = plan(&a, &all(), model, 60);
        check(&found, &a);
        let sequential = &found.strategies[0];
        assert!(sequential.single.prediction.time.0 < 2.0 * launch.0, "{model}: {:?}", sequential.single);
        assert_eq!(sequential.parts, std::slice::from_ref(&sequential.single), "{model}");
    }
}

/// Every partition of six strips, and every block size, put together by hand from predictions of blocks.
#[test]
fn no_other_partition_is_predicted_to_be_faster() {
    let profile = Profile::shipped("nvidia-h200").unwrap();
    let a = matrix("kkt,n=60000,m=30000,row=100");
    let strips = Strips::of(&a, 15_008, StripDetail::All);
    let advisor = Advisor::new(&profile);
    for model in [ModelName::Best, ModelName::Boosting] {
        let found = plan(&a, &all(), model, 6);
        assert_eq!((found.strips, found.rows_per_strip), (6, 15_008));
        check(&found, &a);
        let objective = Objective { model: Some(model), ..Objective::default() };
        let time = |start: usize, end: usize, fits: &dyn Fn(&Candidate) -> bool| {
            let whole = (start, end) == (0, 6);
            let features = if whole { Features::of(&a) } else { strips.block(start..end).features() };
            let advice = advisor.advise(&features, Dtype::F64, &objective).unwrap();
            let first = advice.ranked.into_iter().find(|advised| fits(&advised.candidate));
            first.map_or(Seconds(f64::INFINITY), |advised| advised.prediction.time)
        };
        for strategy in &found.strategies {
            let cost = profile.cut_cost(model, strategy.execution, strategy.single.prediction.time);
            let blocks: &[Option<u32>] = match strategy.execution {
                Execution::Sequential => &[None],
                Execution::Fused => &BLOCKS.map(Some),
            };
            let mut least = f64::INFINITY;
            for &block in blocks {
                let fits = |c: &Candidate| block.is_none_or(|b| c.block == b && c.kernel.shares_a_launch());
                let table: Vec<Vec<Seconds>> = (0..6)
                    .map(|i| {
                        (0..6).map(|j| if j < i { Seconds(0.0) } else { time(i, j + 1, &fits) }).collect()
                    })
                    .collect();
                for cuts in 0..32_u32 {
                    let mut start = 0;
                    let mut pieces = Vec::new();
                    for end in 1..=6 {
                        if end == 6 || cuts >> (end - 1) & 1 == 1 {
                            let rows = 15_008 * start as u64..(15_008 * end as u64).min(a.nrows() as u64);
                            pieces.push(piece(table[start][end - 1], rows, &a));
                            start = end;
                        }
                    }
                    least = least.min(cost.total(&pieces).0);
                }
            }
            assert!((strategy.predicted.0 / least - 1.0).abs() < 1e-9, "{model} {}", strategy.execution);
        }
    }
}

#[test]
fn kernels_with_two_launches_are_not_fused() {
    let a = matrix("power-law,n=30000");
    let only = |formats: &[Format]| -> Vec<Candidate> {
        all().into_iter().filter(|c| formats.contains(&c.format())).collect()
    };
    let found = plan(&a, &only(&[Format::known("coo"), Format::known("hyb")]), ModelName::StripCache, 10);
    let executions: Vec<Execution> = found.strategies.iter().map(|s| s.execution).collect();
    assert_eq!(executions, [Execution::Sequential]);
    check(&found, &a);
    let alone = |kernel: &Kernel| !kernel.shares_a_launch() && !kernel.is_vendors();
    let alone: Vec<&str> = Kernel::all().filter(alone).map(Kernel::name).collect();
    assert_eq!(alone, ["csr-segmented", "coo", "coo", "coo", "hyb"]);
}

#[test]
fn a_statistic_that_blocks_do_not_carry_along_is_planned_with_fewer_strips() {
    let profile = Profile::shipped("nvidia-h200").unwrap();
    let a = matrix("banded,n=4000000,band=0");
    let with = |row_length: &str| {
        let objective = PartitionObjective {
            model: Some(ModelName::Strip),
            row_length: row_length.parse().unwrap(),
            executions: vec![Execution::Sequential],
            ..PartitionObjective::default()
        };
        Advisor::new(&profile).partition(&a, &all(), &objective).unwrap()
    };
    // 4,000,000 rows in strips of 8,448 are 474.
    assert_eq!((with("paper").strips, with("p95").strips), (474, 48));
}

#[test]
fn a_matrix_without_rows_is_one_part() {
    let a = Csr::<f64>::try_new(0, 7, vec![0], vec![], vec![]).unwrap();
    let found = plan(&a, &all(), ModelName::Best, 10);
    check(&found, &a);
    assert!(found.strategies.len() == 2 && found.strategies.iter().all(|s| s.parts.len() == 1));
}

#[test]
fn a_model_that_knows_none_of_the_candidates_is_an_error() {
    let profile = Profile::shipped("nvidia-h200").unwrap();
    let sell: Vec<Candidate> = all().into_iter().filter(|c| c.format().name() == "sell").collect();
    let objective = PartitionObjective { model: Some(ModelName::Strip), ..PartitionObjective::default() };
    let refused = Advisor::new(&profile).partition(&matrix("stencil2d,n=30"), &sell, &objective);
    assert!(refused.unwrap_err().to_string().contains("strip model for f64"));
}

#[test]
fn no_gain_is_claimed_for_cuts_of_large_matrices() {
    let profile = Profile::shipped("nvidia-h200").unwrap();
    let large = matrix("kkt,n=400000,m=50000,row=200");
    assert!(large.nnz() as u64 > MOST_CUT);
    let planned = |cut_always| {
        let objective = PartitionObjective { cut_always, ..PartitionObjective::default() };
        Advisor::new(&profile).partition(&large, &all(), &objective).unwrap()
    };
    let whole = planned(false);
    assert!(!whole.strategies.is_empty());
    for strategy in &whole.strategies {
        assert_eq!(strategy.parts.len(), 1);
        assert!(strategy.gain() <= 0.0);
    }
    check(&whole, &large);
    let cut = planned(true);
    assert!(cut.strategies.iter().all(|strategy| strategy.parts.len() > 1 && !strategy.is_learned()));
    for planned in [&whole, &cut] {
        let verdict = PlannedMatrix::of("large", planned).verdict;
        assert_eq!(verdict.execution, None);
        let why = ". Cuts of more than 20,000,000 non-zeros hardly ever gain, so no gain is claimed for one.";
        assert!(
            verdict.text.starts_with("Leave it whole: ") && verdict.text.ends_with(why),
            "{}",
            verdict.text
        );
    }
}

#[test]
fn a_plan_without_a_possible_candidate_lists_each_with_its_reason() {
    let ell: Vec<Candidate> = all().into_iter().filter(|c| c.format().name() == "ell").collect();
    let planned = plan(&matrix("long-rows,n=3000,long=3,length=1000"), &ell, ModelName::Best, 4);
    assert!(planned.strategies.is_empty());
    assert_eq!(planned.refused.iter().map(|one| one.candidate).collect::<Vec<_>>(), ell);
    assert!(planned.refused.iter().all(|one| one.why.to_string().starts_with("would pad by 500.5x")));
}
