//! Calls and programs of which cuSPARSE computes everything.

use crate::stand_in::{Products, Run};

const THEIRS: Products = Products { plain: 0, tabled: 0, cusparse: 200 };

#[test]
fn calls_that_our_kernels_do_not_compute_reach_cusparse_as_they_are() {
    let Some(said) = Run::of("calls-that-pass").said() else { return };
    let passed: Vec<&str> = said.told.lines().filter(|line| line.contains(": ")).collect();
    assert!(passed.len() >= 18, "{said:?}");
    for line in passed {
        assert!(line.ends_with(": ours 0 cusparse 60"), "{line}");
    }
}

#[test]
fn what_cusparse_answers_is_the_answer() {
    for status in [3, 6, 7] {
        let Some(said) = Run::of("answers").with("STAND_IN_STATUS", status.to_string()).said() else {
            return;
        };
        assert_eq!((said.number("status"), said.number("preprocess")), (status, status), "{said:?}");
        assert_eq!(said.number("ours"), 0);
    }
}

/// All is left to cuSPARSE, and the report says why.
fn check(run: Run, reason: &str) {
    let Some(said) = run.with("SPARSIGHT_CUSPARSE", "report").said() else { return };
    assert_eq!(said.products("steady")[0].cusparse, 200, "{said:?}");
    assert_eq!(said.number("faults").max(0), 0);
    assert!(said.errors.contains(reason), "{reason} in {said:?}");
}

#[test]
fn another_version_of_cusparse_gets_everything() {
    check(
        Run::of_theirs("many-products").with("STAND_IN_MAJOR", "13"),
        "left to cuSPARSE: this is not cuSPARSE 12",
    );
}

#[test]
fn without_a_driver_cusparse_gets_everything() {
    check(Run::of_theirs("many-products").without_driver(), "left to cuSPARSE: no CUDA driver");
    check(
        Run::of_theirs("many-products").with("STAND_IN_DRIVER", "12000"),
        "left to cuSPARSE: opening the CUDA driver failed",
    );
}

#[test]
fn without_nvrtc_cusparse_gets_everything() {
    let run = Run::of_theirs("many-products").with_libraries(&["cuda", "cusparse"]);
    let Some(said) = run.with("SPARSIGHT_CUSPARSE", "report").said() else { return };
    if said.errors.contains("no NVRTC library was found") {
        assert_eq!(said.only("steady"), THEIRS, "{said:?}");
    } else {
        eprintln!("skipped: an NVRTC is found here without being named");
    }
}

#[test]
fn a_gpu_without_a_profile_is_left_to_cusparse() {
    let run = Run::of_theirs("many-products").with("STAND_IN_NAME", "Some GPU");
    check(
        run,
        "left to cuSPARSE: Some GPU has no profile, so that nothing is known of it; `sparsight calibrate` measures it",
    );
}

#[test]
fn a_context_of_the_programs_own_is_left_to_cusparse() {
    check(Run::of_theirs("another-context"), "the program works in a context of its own");
}

#[test]
fn a_driver_that_refuses_counts_leaves_everything_to_cusparse() {
    let Some(said) = Run::of_theirs("many-products").with("STAND_IN_FAILS", "row_lengths").said() else {
        return;
    };
    assert_eq!(said.only("steady"), THEIRS, "{said:?}");
}
