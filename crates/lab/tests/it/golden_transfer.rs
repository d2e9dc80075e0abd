//! Numbers printed by Guo and Wang 2013: tables I and II, and every case of section 4 worked by hand with them.
//!
//! Times are milliseconds, as in the paper. Parameters of targets are not printed there; those used here are made up.

use crate::made_up::{gpu, hyb_matrix, matrix};
use sparsight_kernels::{Candidate, DeviceFacts, Kernel, Placement, strip};
use sparsight_lab::papers::guo_wang_2013::{
    CooParameters, CsrParameters, CsrSide, EllParameters, MeasuredCandidate, Parameters, Relative, Role,
    Transfer, TransferError, TransferParameters, TransferSide,
};
use sparsight_matrix::{Dtype, Features, Seconds};
use sparsight_model::Line;

/// The parameters of the C2050 as they are shipped.
const C2050: &str = include_str!("../../../../profiles/tesla-c2050-paper/transfer.json");
/// A warp per row of CSR.
fn warp() -> Kernel {
    Kernel::known("csr-vector/t32")
}

/// Table I.
fn c2050() -> DeviceFacts {
    gpu("Tesla C2050", 14, 1536)
}
fn m2090() -> DeviceFacts {
    gpu("Tesla M2090", 16, 1536)
}
fn k20m() -> DeviceFacts {
    gpu("Tesla K20m", 13, 2048)
}
fn gtx_295() -> DeviceFacts {
    DeviceFacts { max_threads_per_block: Some(512), ..gpu("GeForce GTX 295", 30, 1024) }
}

fn paper(kernel: Kernel) -> Candidate {
    Candidate { kernel, block: 256, dtype: Dtype::F32 }
}

/// Parameters of the C2050; `coo_least` is the time of its smallest COO matrix, which the paper does not print.
fn reference(coo_least: Option<f64>) -> TransferParameters {
    let mut read: serde_json::Value = serde_json::from_str(C2050).unwrap();
    if let Some(ms) = coo_least {
        read["candidates"][1]["coo"]["least_s"] = (1e-3 * ms).into();
    }
    serde_json::from_value(read).unwrap()
}

fn parameters(candidates: &[(Kernel, Parameters)]) -> TransferParameters {
    let one = |(kernel, parameters): &(Kernel, Parameters)| MeasuredCandidate {
        candidate: paper(*kernel),
        placement: Placement::Banded,
        parameters: *parameters,
    };
    let candidates: Vec<MeasuredCandidate> = candidates.iter().map(one).collect();
    serde_json::from_value(serde_json::json!({ "candidates": candidates })).unwrap()
}

fn line(slope_ms: f64, intercept_ms: f64) -> Line {
    Line { slope: 1e-3 * slope_ms, intercept: 1e-3 * intercept_ms }
}

fn side(c1: f64, b0: f64, c2: f64, row_length: u64) -> CsrSide {
    CsrSide { over_row_length: line(c1, b0), strip_s: 1e-3 * c2, row_length }
}

/// The transfer from the C2050 to a target of Table I that has these parameters.
fn relative(
    target: &DeviceFacts,
    reference: &TransferParameters,
    measured: &TransferParameters,
    kernel: Kernel,
    features: &Features,
) -> Result<Relative, TransferError> {
    let (from, to) = (c2050(), target.clone());
    let transfer = Transfer {
        reference: TransferSide { facts: &from, parameters: reference },
        target: TransferSide { facts: &to, parameters: measured },
    };
    transfer.relative(&paper(kernel), features)
}

/// P and the initialization times in milliseconds, to nine digits.
fn assert_is(found: &Relative, p: f64, init_reference: f64, init_target: f64) {
    for (found, wanted, what) in [
        (found.performance(), p, "P"),
        (1e3 * found.init_reference().0, init_reference, "T_init_ref"),
        (1e3 * found.init_target().0, init_target, "T_init_tar"),
    ] {
        assert!((found / wanted - 1.0).abs() < 1e-9, "{what}: {found}, by hand {wanted}");
    }
}

#[test]
fn the_four_devices_of_table_1_have_the_strips_of_section_3() {
    // S_CSR = SM warps, S_ELL = S_COO = SM threads.
    for (facts, sm, warps, threads, csr, ell) in [
        (c2050(), 14, 48, 1536, 672, 21_504),
        (m2090(), 16, 48, 1536, 768, 24_576),
        (k20m(), 13, 64, 2048, 832, 26_624),
        (gtx_295(), 30, 32, 1024, 960, 30_720),
    ] {
        let own = (facts.multiprocessors, facts.warps_per_multiprocessor, facts.threads_per_multiprocessor);
        assert_eq!(own, (sm, warps, threads), "{}", facts.name);
        assert_eq!(strip(warp(), &facts).size, csr, "{}", facts.name);
        assert_eq!(strip(Kernel::known("ell"), &facts).size, ell, "{}", facts.name);
        assert_eq!(strip(Kernel::known("coo"), &facts).size, ell, "{}", facts.name);
    }
}

#[test]
fn the_c2050_is_shipped_with_the_parameters_of_table_2() {
    let parameters = reference(None);
    let find = |kernel| *parameters.find(&paper(kernel), Placement::Banded).unwrap();
    let csr = CsrParameters {
        strip: 672,
        threshold: Some(1024),
        below: side(0.00027, 0.078, 0.0061, 4),
        above: Some(side(0.00029, 0.066, 0.06, 1024)),
    };
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-12;
    let Parameters::Csr(found) = find(warp()) else { panic!("CSR") };
    for (found, wanted) in [(found.below, csr.below), (found.above.unwrap(), csr.above.unwrap())] {
        assert!(close(found.over_row_length.slope, wanted.over_row_length.slope));
        assert!(close(found.over_row_length.intercept, wanted.over_row_length.intercept));
        assert!(close(found.strip_s, wanted.strip_s));
        assert_eq!(found.row_length, wanted.row_length);
    }
    assert_eq!((found.strip, found.threshold), (csr.strip, csr.threshold));
    let Parameters::Ell(ell) = find(Kernel::known("ell")) else { panic!("ELL") };
    assert!(close(1e3 * ell.row_length_s, 0.002) && ell.strip == 21_504);
    assert!(close(1e3 * ell.over_strips.slope, 0.011) && close(1e3 * ell.over_strips.intercept, 0.062));
    let Parameters::Coo(coo) = find(Kernel::known("coo")) else { panic!("COO") };
    assert!(close(1e3 * coo.strip_s, 0.0084) && coo.strip == 21_504);
    // Its strips are those of the device beside it.
    assert_eq!(
        [found.strip, ell.strip, coo.strip],
        [warp(), Kernel::known("ell"), Kernel::known("coo")].map(|k| strip(k, &c2050()).size)
    );
}

/// A GTX 295 with made-up times: its threshold, 512, is below the C2050's 1,024.
fn measured_gtx_295() -> TransferParameters {
    let csr = CsrParameters {
        strip: 960,
        threshold: Some(512),
        below: side(0.0004, 0.09, 0.008, 4),
        above: Some(side(0.0005, 0.04, 0.07, 512)),
    };
    let ell =
        EllParameters { strip: 30_720, row_length_s: 3e-6, over_strips: line(0.017, 0.08), row_length: 4 };
    let coo = CooParameters { strip: 30_720, strip_s: 10.5e-6, least_s: Some(25e-6) };
    parameters(&[
        (warp(), Parameters::Csr(csr)),
        (Kernel::known("ell"), Parameters::Ell(ell)),
        (Kernel::known("coo"), Parameters::Coo(coo)),
    ])
}

fn csr_of(p: u64) -> Relative {
    relative(&gtx_295(), &reference(None), &measured_gtx_295(), warp(), &matrix(96_000, p, p)).unwrap()
}

#[test]
fn csr_below_both_thresholds() {
    // p = 64, X0 = X_00 = 4, left lines.
    // T0_ref = 0.00027 * 4 + 0.078 = 0.07908      T1_ref = 0.00027 * 64 + 0.078 = 0.09528
    // T0_tar = 0.0004 * 4 + 0.09 = 0.0916
    // P1 as printed: (C1_tar / C1_ref) (T0_ref / T0_tar) (1 - T0_ref / T1_ref) + T0_ref / T1_ref
    let p1 = 0.0004 / 0.00027 * (0.07908 / 0.0916) * (1.0 - 0.07908 / 0.09528) + 0.07908 / 0.09528;
    // P2 = (0.008 / 0.0061) (672 / 960)
    let p2 = 0.008 / 0.0061 * 672.0 / 960.0;
    assert_is(&csr_of(64), p1 * p2, 0.07908, 0.0916);
    // T_ref = 0.5 ms: T_tar = 0.0916 + P (0.5 - 0.07908).
    let by_hand = 0.0916 + 0.961_580_094_678_88 * (0.5 - 0.07908);
    assert!((1e3 * csr_of(64).time_s(Seconds(5e-4)) / by_hand - 1.0).abs() < 1e-9);
    // The threshold itself still belongs to the left side.
    let p1 = 0.0004 / 0.00027 * (0.07908 / 0.0916) * (1.0 - 0.07908 / 0.21624) + 0.07908 / 0.21624;
    assert_is(&csr_of(512), p1 * p2, 0.07908, 0.0916);
}

#[test]
fn csr_between_the_thresholds() {
    // p = 800, X0 = X_01 = 512: the target's right line, the reference's left one.
    // T0_ref = 0.00027 * 512 + 0.078 = 0.21624    T1_ref = 0.00027 * 800 + 0.078 = 0.294
    // T0_tar = 0.0005 * 512 + 0.04 = 0.296
    let p1 = 0.0005 / 0.00027 * (0.21624 / 0.296) * (1.0 - 0.21624 / 0.294) + 0.21624 / 0.294;
    // C2_tar was measured at 512. C2_ref at 4 non-zeros a row, so at 512 it is 0.0061 E(512) / E(4).
    let c2_ref = 0.0061 * 0.21624 / 0.07908;
    let p2 = 0.07 / c2_ref * 672.0 / 960.0;
    assert_is(&csr_of(800), p1 * p2, 0.21624, 0.296);
}

#[test]
fn csr_above_both_thresholds() {
    // p = 2000, X0 = X_02 = 1024, right lines.
    // T0_ref = 0.00029 * 1024 + 0.066 = 0.36296   T1_ref = 0.00029 * 2000 + 0.066 = 0.646
    // T0_tar = 0.0005 * 1024 + 0.04 = 0.552
    let p1 = 0.0005 / 0.00029 * (0.36296 / 0.552) * (1.0 - 0.36296 / 0.646) + 0.36296 / 0.646;
    // C2_ref was measured at 1024, C2_tar at 512: there E = 0.296.
    let c2_tar = 0.07 * 0.552 / 0.296;
    let p2 = c2_tar / 0.06 * 672.0 / 960.0;
    assert_is(&csr_of(2000), p1 * p2, 0.36296, 0.552);
}

#[test]
fn csr_above_one_threshold_that_both_share_is_as_the_paper_prints_it() {
    // M2090: 1,024 as the C2050, S = 768; no C2 needs to be brought anywhere.
    let csr = CsrParameters {
        strip: 768,
        threshold: Some(1024),
        below: side(0.0002, 0.06, 0.005, 4),
        above: Some(side(0.00022, 0.05, 0.05, 1024)),
    };
    let measured = parameters(&[(warp(), Parameters::Csr(csr))]);
    let found = relative(&m2090(), &reference(None), &measured, warp(), &matrix(96_000, 2000, 2000)).unwrap();
    // T0_tar = 0.00022 * 1024 + 0.05 = 0.27528
    let p1 = 0.00022 / 0.00029 * (0.36296 / 0.27528) * (1.0 - 0.36296 / 0.646) + 0.36296 / 0.646;
    assert_is(&found, p1 * (0.05 / 0.06) * (672.0 / 768.0), 0.36296, 0.27528);
}

/// A matrix whose HYB has `width` entries a row in ELL and `coo` non-zeros in COO: 100,000 rows.
fn hyb(width: u64, coo: u64) -> Features {
    hyb_matrix(100_000, width, coo, 1.0)
}

// 100,000 rows: I_ref = ceil(100000 / 21504) = 5, I_tar = ceil(100000 / 30720) = 4.
// B_1 = 0.011 * 5 + 0.062 - 0.002 * 4 * 5 = 0.077         B_2 = 0.017 * 4 + 0.08 - 0.003 * 4 * 4 = 0.1
// P_ELL = (0.003 / 0.002) (21504 / 30720) = 1.5 * 0.7 = 1.05
// P_COO = (0.0105 / 0.0084) (21504 / 30720) = 1.25 * 0.7 = 0.875
// T_init of COO: 0.02 on the reference (not in the paper), 0.025 on the target.

#[test]
fn ell_and_coo() {
    let (from, to) = (reference(Some(0.02)), measured_gtx_295());
    let of = |kernel| relative(&gtx_295(), &from, &to, kernel, &hyb(12, 50_000)).unwrap();
    assert_is(&of(Kernel::known("ell")), 1.05, 0.077, 0.1);
    assert_is(&of(Kernel::known("coo")), 0.875, 0.02, 0.025);
}

#[test]
fn hyb_in_ell_alone_in_coo_alone_and_in_both() {
    let (from, to) = (reference(Some(0.02)), measured_gtx_295());
    let of = |features: &Features| relative(&gtx_295(), &from, &to, Kernel::known("hyb"), features).unwrap();
    assert_is(&of(&hyb(12, 0)), 1.05, 0.077, 0.1);
    assert_is(&of(&hyb(0, 50_000)), 0.875, 0.02, 0.025);
    // T_init_ref = 0.077 + (0.875 / 1.05) 0.02 = 0.0936666..   T_init_tar = 0.1 + 0.025
    assert_is(&of(&hyb(12, 50_000)), 1.05, 0.077 + 0.875 / 1.05 * 0.02, 0.125);
}

#[test]
fn parameters_missing_from_the_paper_are_reported() {
    let (from, to) = (reference(None), measured_gtx_295());
    let refused = relative(&gtx_295(), &from, &to, Kernel::known("coo"), &hyb(0, 50_000)).unwrap_err();
    assert!(matches!(refused, TransferError::Missing { role: Role::Reference, .. }), "{refused:?}");
    let wanted = "the reference holds no time of the smallest benchmark matrix of coo f32";
    assert_eq!(refused.to_string(), wanted);
}
