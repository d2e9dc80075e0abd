//! Settings, and what is told at the end.

use crate::stand_in::{Products, Run};
use serde_json::Value;

#[test]
fn off_leaves_everything_to_cusparse_and_an_unknown_setting_does_so_with_a_word() {
    let theirs = Products { plain: 0, tabled: 0, cusparse: 200 };
    for (setting, told) in
        [("off", ""), ("fast", "SPARSIGHT_CUSPARSE=fast is none of on, off, report, verify")]
    {
        let Some(said) = Run::of_theirs("many-products").with("SPARSIGHT_CUSPARSE", setting).said() else {
            return;
        };
        assert_eq!(said.only("steady"), theirs);
        assert!(said.errors.contains(told) && said.errors.is_empty() == told.is_empty(), "{said:?}");
    }
}

#[test]
fn a_report_tells_of_patterns_products_and_times() {
    let Some(said) = Run::of("many-products").with("SPARSIGHT_CUSPARSE", "report").said() else { return };
    assert!(said.errors.starts_with("sparsight: 1 pattern(s), "), "{said:?}");
    let line = said.errors.lines().nth(1).unwrap();
    assert!(line.starts_with("  700 x 600, 5000 non-zeros, f64: "), "{line}");
    assert!(line.contains("; cuSPARSE 20.00 us, csr-") && line.ends_with("/f64 10.00 us"), "{line}");
}

#[test]
fn a_report_in_a_file_holds_all_fields() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    let run = Run::of("many-products f32").with("SPARSIGHT_CUSPARSE_REPORT", &file);
    let Some(said) = run.said() else { return };
    assert_eq!(said.errors, "");
    let report: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(report["schema"], "sparsight/run/1");
    assert_eq!(report["left_to_cusparse"], Value::Array(Vec::new()));
    let pattern = &report["patterns"][0];
    for (field, wanted) in [("rows", 700), ("columns", 600), ("non_zeros", 5000)] {
        assert_eq!(pattern[field], wanted);
    }
    assert_eq!(pattern["dtype"], "f32");
    let number = |value: &Value| value.as_f64().unwrap();
    let close = |value: &Value, wanted: f64| (number(value) / wanted - 1.0).abs() < 1e-3;
    assert!(close(&pattern["cusparse_s"], 20e-6) && close(&pattern["sparsight_s"], 10e-6), "{report}");
    let ours = number(&pattern["products_by_sparsight"]);
    assert!(ours >= 200.0 && number(&pattern["products"]) > ours, "{report}");
    assert!(close(&pattern["saved_s"], 10e-6 * ours), "{report}");
    for field in ["products", "products_by_sparsight", "saved_s"] {
        assert_eq!(report[field], pattern[field]);
    }
    assert!(pattern["candidate"].as_str().unwrap().ends_with("/f32"), "{report}");
}

#[test]
fn a_report_that_cannot_be_written_is_printed() {
    let run = Run::of("many-products").with("SPARSIGHT_CUSPARSE_REPORT", "/is/not/there.json");
    let Some(said) = run.said() else { return };
    assert!(
        said.errors.starts_with("sparsight: cannot write the report to /is/not/there.json: "),
        "{said:?}"
    );
    assert!(said.errors.contains("1 pattern(s)"));
}

#[test]
fn verification_finds_right_kernels_right() {
    for arguments in
        ["many-products products=30 patience=100", "many-products preprocess f32 products=30 patience=100"]
    {
        let Some(said) = Run::of(arguments).with("SPARSIGHT_CUSPARSE", "verify").said() else { return };
        assert!(said.only("steady").cusparse == 30, "{said:?}");
        assert!(said.errors.contains(" of what rounding explains: right"), "{said:?}");
    }
}

#[test]
fn verification_finds_a_wrong_kernel() {
    for kernel in ["csr_vector", "csr_scalar"] {
        let run = Run::of("many-products products=30 patience=100").with("SPARSIGHT_CUSPARSE", "verify");
        let Some(said) = run.with("STAND_IN_WRONG", kernel).said() else { return };
        if said.errors.contains("please report it") {
            assert!(said.errors.contains(" of what rounding explains: WRONG"), "{said:?}");
            return;
        }
    }
    panic!("neither of the two kernels was tried");
}

#[test]
fn verification_that_fails_leaves_the_y_of_cusparse() {
    let run = Run::of("many-products products=30 patience=100").with("SPARSIGHT_CUSPARSE", "verify");
    let Some(said) = run.with("STAND_IN_FAILS", "csr_vector").said() else { return };
    assert_eq!(said.only("steady").cusparse, 30, "{said:?}");
}
