//! Laws of fitting: on a device whose times obey a model's equation exactly, that model predicts exactly.

use crate::made_up::*;
use sparsight_kernels::{
    DeviceFacts, DeviceKind, Kernel, Placement, StripRule, StripUnit, compulsory_bytes, strip,
};
use sparsight_matrix::{Features, RowLengths, Seconds};
use sparsight_model::{
    Model, Observation, PlacementRule, PredictError, Regimes, RowLengthRule, SplitBy, StripModel,
    StripPredictor, Variant, rank,
};

fn at<'a>(model: &'a StripModel, facts: &'a DeviceFacts, placement: PlacementRule) -> StripPredictor<'a> {
    StripPredictor { placement, ..StripPredictor::new(model, facts) }
}

fn seconds(predictor: &StripPredictor, kernel: Kernel, features: &Features) -> f64 {
    let prediction = predictor.predict(&candidate(kernel), features).unwrap();
    assert!(prediction.low <= prediction.time && prediction.time <= prediction.high);
    let terms = predictor.explain(&candidate(kernel), features).unwrap();
    assert_eq!(terms.last().unwrap().value.to_bits(), prediction.time.0.to_bits());
    prediction.time.0
}

#[test]
fn predictions_are_exact_on_both_sides_of_the_threshold() {
    let facts = device();
    let mut observations = observe_all(&facts);
    observations.extend(drawn(&observations));
    for variant in Variant::ALL {
        let model = StripModel::fit(&facts, &observations, variant).unwrap();
        // Two placements of nine kernels, four sizes of tiles and two shorter runs of COO; COO and these have no benchmark matrices with drawn
        // lengths.
        let kernels = if variant.lengths().is_drawn() { 8 } else { 15 };
        assert_eq!((model.fitted().len(), model.unfitted().len()), (2 * kernels, 0));
        for (rule, placement) in
            [(PlacementRule::Banded, Placement::Banded), (PlacementRule::Scattered, Placement::Scattered)]
        {
            let predictor = at(&model, &facts, rule);
            assert_eq!(predictor.name(), variant.name());
            for (nrows, mode, max) in
                [(2_000, 7, 90), (30_000, 3, 3), (77_777, 256, 900), (5_000, 257, 300), (40_000, 700, 2_000)]
            {
                let f = matrix(nrows, mode, max);
                for kernel in measured() {
                    if kernel.unit() != StripUnit::Rows && variant.lengths().is_drawn() {
                        let refused = predictor.predict(&candidate(kernel), &f);
                        assert!(matches!(refused, Err(PredictError::NotFitted { .. })), "{refused:?}");
                        continue;
                    }
                    let i = strip(kernel, &facts).strips_of(&f) as f64;
                    let p = if kernel.strip_rule() == StripRule::Csr { mode } else { max };
                    let what = format!("{} {kernel} {placement} {nrows} {mode} {max}", variant.name());
                    assert_close(
                        seconds(&predictor, kernel, &f),
                        slower(variant.lengths()) * time(kernel, placement, i, p as f64),
                        &what,
                    );
                }
            }
        }
    }
}

#[test]
fn csr_vector_takes_the_mode_and_the_others_the_maximum_of_the_row_lengths() {
    let facts = device();
    let model = StripModel::fit(&facts, &observe_all(&facts), Variant::Strip).unwrap();
    let predictor = at(&model, &facts, PlacementRule::Banded);
    let (short, long) = (matrix(9_000, 5, 40), matrix(9_000, 5, 400));
    for kernel in predicted() {
        let (a, b) = (seconds(&predictor, kernel, &short), seconds(&predictor, kernel, &long));
        match kernel.strip_rule() {
            // One row of 400 among 9,000 makes no difference to the mode, and the COO part of HYB is as tiny.
            StripRule::Csr => assert_eq!(a.to_bits(), b.to_bits(), "{kernel}"),
            StripRule::Ell => {
                assert!(b > 2.0 * a, "{kernel}");
            }
            _ => assert!(b < 1.2 * a, "{kernel}"),
        }
    }
}

#[test]
fn the_statistic_asked_for_stands_for_the_row_lengths_of_every_kernel() {
    let facts = device();
    let model = StripModel::fit(&facts, &observe_all(&facts), Variant::Strip).unwrap();
    // 4 is the mode and the median, 40 the 95th percentile, 400 the maximum; the mean 69,120 / 9,000 = 7.68 counts as 8.
    let lengths = RowLengths::from_counts([(4, 8_090), (40, 909), (400, 1)]);
    let f = Features::from_row_lengths(&lengths, 9_000, 0, 1.0);
    for (rule, p) in [("mode", 4), ("median", 4), ("mean", 8), ("p95", 40), ("max", 400)] {
        let row_length: RowLengthRule = rule.parse().unwrap();
        let predictor = StripPredictor { row_length, ..at(&model, &facts, PlacementRule::Banded) };
        for kernel in [Kernel::known("csr-vector/t8"), Kernel::known("csr-scalar"), Kernel::known("ell")] {
            let i = strip(kernel, &facts).strips_of(&f) as f64;
            let wanted = time(kernel, Placement::Banded, i, f64::from(p));
            assert_close(seconds(&predictor, kernel, &f), wanted, &format!("{kernel} {rule}"));
        }
    }
}

#[test]
fn a_ranking_with_drawn_row_lengths_holds_what_is_fitted_and_names_the_rest() {
    let facts = device();
    let observations = drawn(&observe_all(&facts));
    let model = StripModel::fit(&facts, &observations, Variant::StripNormal).unwrap();
    assert!(StripModel::fit(&facts, &observations, Variant::Strip).is_err(), "none has rows of one length");
    let predictor = StripPredictor::new(&model, &facts);
    // HYB with a COO part, which drawn lengths do not know.
    let f = hyb_matrix(100_000, 12, 50_000, 0.5);
    let ranking = rank(&predictor, Kernel::all().map(candidate), &f);
    // Six of CSR, ELL and JAD.
    assert_eq!(ranking.ranked.len(), 8);
    let refused: Vec<Kernel> = ranking.refused.iter().map(|(candidate, _)| candidate.kernel).collect();
    let by_non_zeros_or_unknown = |k: &Kernel| !k.has_benchmark_matrices() || k.unit() != StripUnit::Rows;
    assert_eq!(refused, Kernel::all().filter(by_non_zeros_or_unknown).collect::<Vec<_>>());
    assert!(ranking.refused[0].1.to_string().contains("no strip-normal model for csr-balanced/i256"));
}

#[test]
fn hyb_is_the_sum_of_its_parts_and_an_empty_part_costs_nothing() {
    let facts = device();
    let model = StripModel::fit(&facts, &observe_all(&facts), Variant::Strip).unwrap();
    let predictor = at(&model, &facts, PlacementRule::Banded);
    // Strips of 2,048: 100,000 rows are 49, 50,000 non-zeros 25.
    let both = ell_time(49.0, 12.0) + coo_time(25.0);
    assert_close(
        seconds(&predictor, Kernel::known("hyb"), &hyb_matrix(100_000, 12, 50_000, 1.0)),
        both,
        "both",
    );
    let ell = ell_time(49.0, 12.0);
    assert_close(
        seconds(&predictor, Kernel::known("hyb"), &hyb_matrix(100_000, 12, 0, 1.0)),
        ell,
        "ELL only",
    );
    let coo = coo_time(25.0);
    assert_close(
        seconds(&predictor, Kernel::known("hyb"), &hyb_matrix(100_000, 0, 50_000, 1.0)),
        coo,
        "COO only",
    );
    let terms =
        predictor.explain(&candidate(Kernel::known("hyb")), &hyb_matrix(100_000, 12, 50_000, 1.0)).unwrap();
    let of = |part| terms.iter().rfind(|t| t.part == part && t.name == "T").unwrap().value;
    assert_close(of("banded, ELL part") + of("banded, COO part"), both, "terms");
}

#[test]
fn the_blend_lies_between_the_placements_where_x_reuse_puts_it() {
    let facts = device();
    let model = StripModel::fit(&facts, &observe_all(&facts), Variant::Strip).unwrap();
    let blend = StripPredictor::new(&model, &facts);
    for kernel in predicted() {
        for reuse in [0.0, 0.25, 1.0, f64::NAN, 7.0] {
            let f = hyb_matrix(100_000, 12, 50_000, reuse);
            let banded = seconds(&at(&model, &facts, PlacementRule::Banded), kernel, &f);
            let scattered = seconds(&at(&model, &facts, PlacementRule::Scattered), kernel, &f);
            let r = if reuse.is_nan() { 0.0 } else { reuse.clamp(0.0, 1.0) };
            assert_close(seconds(&blend, kernel, &f), r * banded + (1.0 - r) * scattered, "blend");
            // At 1/2 either may be right: the interval spans both.
            let f = hyb_matrix(100_000, 12, 50_000, 0.5);
            let p = blend.predict(&candidate(kernel), &f).unwrap();
            assert!(p.low.0 <= banded * (1.0 + 1e-9) && p.high.0 >= scattered * (1.0 - 1e-9));
        }
    }
}

#[test]
fn a_placement_that_was_not_measured_is_replaced_by_the_other() {
    let facts = device();
    for only in Placement::ALL {
        let observations: Vec<_> = observe_all(&facts).into_iter().filter(|o| o.placement == only).collect();
        let model = StripModel::fit(&facts, &observations, Variant::Strip).unwrap();
        let f = hyb_matrix(100_000, 12, 50_000, 0.5);
        for kernel in predicted() {
            let [a, b, c] = [PlacementRule::Banded, PlacementRule::Scattered, PlacementRule::Blend]
                .map(|rule| seconds(&at(&model, &facts, rule), kernel, &f).to_bits());
            assert!(a == b && b == c, "{kernel} {only}");
        }
    }
}

#[test]
fn a_break_where_the_matrix_leaves_the_l2_is_found_and_both_regimes_are_exact() {
    let facts = device();
    // The true border is at 0.6 of the L2; beyond it every line is another, over p and over I.
    let border = facts.l2_bytes.0 * 6 / 10;
    let broken = |k: Kernel, i: f64, p: f64, bytes: u64| {
        if bytes <= border {
            time(k, Placement::Banded, i, p)
        } else if k.strip_rule() == StripRule::Csr {
            (9e-8 * p + 2e-6) * (1.1 * i + 0.4)
        } else if k.unit() != StripUnit::Rows {
            2e-6 * i + 1e-6
        } else {
            (9e-8 * i + 3e-8) * p + (9e-7 * i + 1e-6)
        }
    };
    let observations: Vec<_> = measured()
        .flat_map(|k| observe(&facts, candidate(k), Placement::Banded, move |i, p, b| broken(k, i, p, b)))
        .collect();
    let model = StripModel::fit(&facts, &observations, Variant::StripCache).unwrap();
    let predictor = StripPredictor::new(&model, &facts);
    let (mut cached, mut beyond) = (0, 0);
    for kernel in measured() {
        for (nrows, p) in [(500, 20), (2_000, 9), (3_000, 13), (4_000, 250), (70_000, 40), (100_000, 900)] {
            let f = matrix(nrows, p, p);
            let bytes = compulsory_bytes(&candidate(kernel), &f).0;
            let i = strip(kernel, &facts).strips_of(&f) as f64;
            let what = format!("{kernel} {nrows} x {p}, {bytes} bytes");
            assert_close(seconds(&predictor, kernel, &f), broken(kernel, i, p as f64, bytes), &what);
            *if bytes <= border { &mut cached } else { &mut beyond } += 1;
        }
        let fit = model.find(&candidate(kernel), Placement::Banded).unwrap();
        let Regimes::Split(split) = &fit.regimes else { panic!("{kernel}: no border") };
        assert!(split.below.is_single() && split.above.is_single());
        assert_eq!(split.by, SplitBy::WorkingSet, "{kernel}");
        let found = split.border_bytes.0 as f64 / border as f64;
        assert!((0.5..2.0).contains(&found), "{kernel}: border at {found} of the true one");
    }
    assert!(cached >= 8 && beyond >= 8, "{cached} {beyond}");
}

#[test]
fn a_break_of_x_and_one_of_the_working_set_are_both_found() {
    let facts = device();
    let csr = candidate(Kernel::known("csr-vector/t32"));
    // x leaves a small cache above 5 kB, the matrix a large one above 700 kB: four regimes, no two alike.
    let broken = |i: f64, p: f64, bytes: u64, x: u64| {
        let (slow_x, slow_a) = (f64::from(u8::from(x > 5_000)), f64::from(u8::from(bytes > 700_000)));
        (2e-8 * p * (1.0 + 4.0 * slow_x + slow_a) + 1e-6) * ((0.7 + slow_a) * i + 0.3 + slow_x)
    };
    let size = strip(csr.kernel, &facts).size;
    let observations: Vec<_> = observe(&facts, csr, Placement::Banded, |_, _, _| 1.0)
        .into_iter()
        .map(|mut o| {
            let f = matrix(o.nrows, o.row_length, o.row_length);
            let i = o.nrows.div_ceil(size) as f64;
            o.time = Seconds(broken(i, o.row_length as f64, compulsory_bytes(&csr, &f).0, o.nrows * 4));
            o
        })
        .collect();
    let model = StripModel::fit(&facts, &observations, Variant::StripCache).unwrap();
    let predictor = StripPredictor::new(&model, &facts);
    for (nrows, p) in [(500, 20), (640, 16), (2_000, 9), (2_500, 13), (3_000, 250), (3_100, 120)] {
        let f = matrix(nrows, p, p);
        let i = nrows.div_ceil(size) as f64;
        let wanted = broken(i, p as f64, compulsory_bytes(&csr, &f).0, nrows * 4);
        assert_close(seconds(&predictor, csr.kernel, &f), wanted, &format!("{nrows} x {p}"));
    }
}

#[test]
fn a_device_without_a_break_gets_one_regime() {
    let facts = device();
    let model = StripModel::fit(&facts, &observe_all(&facts), Variant::StripCache).unwrap();
    assert!(model.fitted().iter().all(|f| f.regimes.is_single()));
}

#[test]
fn too_few_benchmark_matrices_beyond_the_l2_leave_one_regime_and_a_flag() {
    let facts = device();
    let ell = candidate(Kernel::known("ell"));
    let small = |o: &Observation| o.nrows * o.row_length * 8 < facts.l2_bytes.0 / 2;
    let observations: Vec<_> =
        observe(&facts, ell, Placement::Banded, |i, p, _| ell_time(i, p)).into_iter().filter(small).collect();
    let model = StripModel::fit(&facts, &observations, Variant::StripCache).unwrap();
    assert!(model.fitted()[0].regimes.is_single());
    let p = StripPredictor::new(&model, &facts).predict(&ell, &matrix(1 << 20, 8, 8)).unwrap();
    assert!(p.extrapolates.iter().any(|e| (e.quantity, e.value as u64, e.from as u64) == ("I", 512, 1)));
}

#[test]
fn a_side_with_too_few_matrices_is_answered_by_the_other_and_flagged() {
    let facts = device();
    let csr = candidate(Kernel::known("csr-vector/t32"));
    let all = observe(&facts, csr, Placement::Banded, |i, p, _| csr_time(i, p));
    for (keep_short, p) in [(true, 600), (false, 20)] {
        let kept: Vec<_> = all.iter().copied().filter(|o| (o.row_length <= 256) == keep_short).collect();
        let model = StripModel::fit(&facts, &kept, Variant::Strip).unwrap();
        let prediction = StripPredictor::new(&model, &facts).predict(&csr, &matrix(640, p, p)).unwrap();
        let found = prediction.extrapolates.iter().find(|e| e.quantity == "p").unwrap();
        assert_eq!(found.value as u64, p);
    }
}

#[test]
fn a_cpu_has_no_threshold() {
    let facts =
        DeviceFacts { kind: DeviceKind::Cpu, max_threads_per_block: None, multiprocessors: 2, ..device() };
    let csr = candidate(Kernel::known("csr-vector/t8"));
    let line = |i: f64, p: f64| (2e-8 * p + 1e-6) * (0.7 * i + 0.3);
    let observations = observe(&facts, csr, Placement::Banded, |i, p, _| line(i, p));
    let model = StripModel::fit(&facts, &observations, Variant::Strip).unwrap();
    for p in [5, 255, 257, 900] {
        let got = StripPredictor::new(&model, &facts).predict(&csr, &matrix(81_920, p, p)).unwrap();
        assert_close(got.time.0, line(10.0, p as f64), "CPU");
    }
}

#[test]
fn the_launch_cost_is_the_floor_and_without_one_the_shortest_time_measured() {
    let mut facts = device();
    let observations = observe_all(&facts);
    let empty = matrix(1, 0, 0);
    for launch in [0.0, 2.5e-3] {
        facts.launch_s = Seconds(launch);
        let model = StripModel::fit(&facts, &observations, Variant::Strip).unwrap();
        for kernel in predicted() {
            let got = seconds(&at(&model, &facts, PlacementRule::Banded), kernel, &empty);
            if launch > 0.0 {
                assert_close(got, launch, "launch");
            } else {
                let part = if kernel == Kernel::known("hyb") { Kernel::known("ell") } else { kernel };
                let least = model.find(&candidate(part), Placement::Banded).unwrap().least.0;
                assert!(got >= least && got < 1e-4, "{kernel} {got}");
            }
        }
    }
}
