//! A prepared strip model says what the strip model says.

use crate::made_up::*;
use sparsight_kernels::{BLOCKS, Candidate, DeviceFacts, Kernel};
use sparsight_matrix::{Features, RowLengths, Seconds};
use sparsight_model::{
    Model, Observation, PlacementRule, RowLengthRule, StripModel, StripPredictor, Variant,
};

/// The observations of the made-up device in every block size, larger ones slower, and one that was not measured.
fn observations(facts: &DeviceFacts, kinked: bool) -> Vec<Observation> {
    let all = observe_all(facts);
    let with = |block: u32, o: &Observation| {
        // Beyond the L2, all takes longer: two regimes.
        let far = kinked && o.nrows * o.row_length > 200_000;
        let time = Seconds(o.time.0 * (1.0 + f64::from(block) / 4096.0) * if far { 3.0 } else { 1.0 });
        Observation { candidate: Candidate { block, ..o.candidate }, time, ..*o }
    };
    let blocks = BLOCKS.into_iter().filter(|&block| block != 512);
    blocks.flat_map(|block| all.iter().map(move |o| with(block, o))).collect()
}

/// Rows of two or three lengths, few and many, empty, with HYB's parts full and empty, and columns of all kinds. Each one 20
/// times growing: neighbours that are alike, and enough of them to leave out block sizes.
fn matrices(ncols: u64) -> Vec<Vec<Features>> {
    let lengths: [&[(u64, u64)]; 9] = [
        &[],
        &[(0, 500)],
        &[(3, 100)],
        &[(3, 20_000)],
        &[(2, 9_000), (40, 8_000), (900, 3)],
        &[(5, 30_000), (300, 20_000)],
        &[(256, 5_000)],
        &[(257, 5_000), (1, 20)],
        &[(1, 400_000), (2_000, 1)],
    ];
    let features = |at: usize, times: u64| {
        let lengths =
            RowLengths::from_counts(lengths[at].iter().map(|&(length, rows)| (length, times * rows)));
        Features::from_row_lengths(
            &lengths,
            ncols,
            ncols,
            [0.0, 0.3, 1.0, f64::NAN][(at + times as usize) % 4],
        )
    };
    (0..lengths.len()).map(|at| (1..=20).map(|times| features(at, times)).collect()).collect()
}

fn assert_alike(predictor: &StripPredictor<'_>, ncols: u64) {
    let mut kernels: Vec<Kernel> = measured().collect();
    kernels.extend([Kernel::known("hyb"), Kernel::known("sell/c32/s1")]);
    let dtype = candidate(Kernel::known("ell")).dtype;
    let candidates: Vec<Candidate> = kernels
        .iter()
        .flat_map(|&kernel| BLOCKS.map(|block| Candidate { kernel, block, dtype }))
        // Not everything is asked for.
        .filter(|c| c.block != 64 || c.kernel != Kernel::known("ell"))
        .collect();
    let is_guarded = |kernel| kernel == Kernel::known("ell");
    let is_possible = |features: &Features| features.row_max < 300;
    let mut prepared =
        predictor.prepared(&candidates, ncols, is_guarded).expect("nothing is out of the ordinary");
    let matrices = matrices(ncols);
    // What was asked about before must not matter.
    for asked in matrices.iter().flat_map(|growing| [&growing[..7], growing]) {
        prepared.clear();
        for features in asked {
            prepared.push(features, |kernel| {
                assert!(is_guarded(kernel), "{kernel}");
                is_possible(features)
            });
        }
        let expected = |candidate: &Candidate, features: &Features| {
            let is_held = !is_guarded(candidate.kernel) || is_possible(features);
            let predicted = predictor.predict(candidate, features).ok().filter(|_| is_held);
            predicted.filter(|_| candidates.contains(candidate)).map_or(f64::INFINITY, |found| found.time.0)
        };
        let mut check = |wanted: &dyn Fn(&Candidate) -> bool, what: &str| {
            let mut least = vec![f64::INFINITY; asked.len()];
            prepared.lower(wanted, &mut least);
            for (at, (features, &time)) in asked.iter().zip(&least).enumerate() {
                let what = format!("{} {what} matrix {at} of {ncols} columns", predictor.name());
                let of_all = candidates.iter().filter(|c| wanted(c)).map(|c| expected(c, features));
                let expected = of_all.fold(f64::INFINITY, f64::min);
                assert!(
                    time.is_infinite() && expected.is_infinite() || (time / expected - 1.0).abs() < 1e-9,
                    "{what}: {time} for {expected}"
                );
            }
        };
        for &kernel in &kernels {
            for block in BLOCKS {
                let one = Candidate { kernel, block, dtype };
                check(&|c| *c == one, &one.to_string());
            }
            check(&|c| c.kernel == kernel, &kernel.to_string());
        }
        check(&|_| true, "all");
    }
}

#[test]
fn every_variant_and_rule_gives_the_times_of_the_strip_model() {
    for (launch, kinked) in [(0.0, false), (2e-6, true)] {
        let facts = DeviceFacts { launch_s: Seconds(launch), ..device() };
        let mut all = observations(&facts, kinked);
        all.extend(drawn(&all));
        for variant in Variant::ALL {
            let model = StripModel::fit(&facts, &all, variant).unwrap();
            let splits = model.fitted().iter().filter(|fit| !fit.regimes.is_single()).count();
            assert_eq!(splits > 0, kinked && variant == Variant::StripCache, "{} {splits}", variant.name());
            for placement in [PlacementRule::Blend, PlacementRule::Banded, PlacementRule::Scattered] {
                for row_length in [RowLengthRule::Paper, RowLengthRule::Mean] {
                    let predictor =
                        StripPredictor { placement, row_length, ..StripPredictor::new(&model, &facts) };
                    // x on either side of what fits in an L1.
                    for ncols in [100, 5_000, 3_000_000] {
                        assert_alike(&predictor, ncols);
                    }
                }
            }
        }
    }
}

#[test]
fn unpreparable_candidates_are_left_out() {
    let facts = device();
    let mut all = observations(&facts, false);
    let hyb = [Candidate { kernel: Kernel::known("hyb"), ..candidate(Kernel::known("ell")) }];
    let model = StripModel::fit(&facts, &all, Variant::Strip).unwrap();
    let predictor = StripPredictor::new(&model, &facts);
    assert!(predictor.prepared(&hyb, 100, |_| false).is_some());
    assert!(predictor.prepared(&[], 100, |_| false).is_none());
    let median = "median".parse().unwrap();
    assert!(StripPredictor { row_length: median, ..predictor }.prepared(&hyb, 100, |_| false).is_none());
    // COO with scattered columns was never measured: HYB is banded where both parts are there, and a blend where not.
    let is_coo = |o: &Observation| o.candidate.kernel == Kernel::known("coo");
    all.retain(|o| !is_coo(o) || o.placement == sparsight_kernels::Placement::Banded);
    let model = StripModel::fit(&facts, &all, Variant::Strip).unwrap();
    assert!(StripPredictor::new(&model, &facts).prepared(&hyb, 100, |_| false).is_none());
}
