//! Bad flags, broken files, missing devices: the message, the hint and the exit code.

mod support;

use insta::assert_snapshot;
use support::{json, made_up_profile, run};

#[test]
fn a_broken_file_is_an_error_with_its_place() {
    let dir = made_up_profile();
    let text = "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1.0\n2 9 1.0\n";
    std::fs::write(dir.path().join("broken.mtx"), text).unwrap();
    assert_snapshot!(run(dir.path(), &["advise", "broken.mtx", "--profile", "made-up"]));
}

#[test]
fn a_missing_file_is_an_error() {
    let dir = made_up_profile();
    assert_snapshot!(run(dir.path(), &["advise", "nowhere.mtx", "--profile", "made-up"]));
}

#[test]
fn a_folder_is_no_matrix_for_a_command_that_takes_one() {
    let dir = made_up_profile();
    assert_snapshot!(run(dir.path(), &["advise", "made-up", "--profile", "made-up"]));
}

#[test]
fn a_folder_without_a_matrix_is_no_batch() {
    let dir = made_up_profile();
    assert_snapshot!(run(dir.path(), &["bench", "made-up", "--device", "cpu"]));
}

#[test]
fn an_unknown_generator_is_an_error_with_the_known_ones() {
    let dir = made_up_profile();
    assert_snapshot!(run(dir.path(), &["advise", "gallery:stencil", "--profile", "made-up"]));
}

#[test]
fn an_unknown_device_is_no_profile() {
    let dir = tempfile::tempdir().unwrap();
    let out = run(dir.path(), &["advise", "gallery:stencil2d,n=10", "--device", "abacus"]);
    assert!(out.starts_with("exit code: 2") && out.contains("error: unknown device 'abacus'"), "{out}");
    assert!(out.contains("\n\nhint: a device is cpu"), "{out}");
}

#[test]
fn a_profile_cannot_run_anything() {
    let dir = tempfile::tempdir().unwrap();
    assert_snapshot!(run(dir.path(), &["bench", "gallery:stencil2d,n=10", "--device", "nvidia-h200"]));
}

#[test]
fn a_profile_without_models_says_how_to_fit_them() {
    let dir = made_up_profile();
    std::fs::remove_file(dir.path().join("made-up/models.json")).unwrap();
    assert_snapshot!(run(dir.path(), &["advise", "gallery:stencil2d,n=10", "--profile", "made-up"]));
}

#[test]
fn a_profile_of_another_device_is_not_written_over() {
    let dir = made_up_profile();
    let out = run(dir.path(), &["profile", "--device", "cpu", "-o", "made-up"]);
    assert!(out.starts_with("exit code: 2") && out.contains("is a profile of Made-up GPU, not of"), "{out}");
}

#[test]
fn verifying_on_a_device_that_is_not_here_is_refused() {
    let dir = made_up_profile();
    let out = run(dir.path(), &["advise", "gallery:stencil2d,n=10", "--profile", "made-up", "--verify"]);
    assert!(out.starts_with("exit code: 3"), "{out}");
    assert!(out.contains("\n\nhint: leave out --verify"), "{out}");
}

#[test]
fn a_machine_without_a_gpu_says_so_and_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let here = json(dir.path(), &["devices"]);
    if here["no_cuda"].is_null() {
        eprintln!("skipped: there is a CUDA device here");
        return;
    }
    let out = run(dir.path(), &["bench", "gallery:stencil2d,n=10", "--device", "cuda:0"]);
    assert!(out.starts_with("exit code: 3") && out.contains("\n\nhint: "), "{out}");
}

#[test]
fn bad_flags_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    for flags in [
        &["advise"][..],
        &["advise", "a.mtx", "--model", "oracle"],
        &["advise", "a.mtx", "--placement", "anywhere"],
        &["advise", "a.mtx", "--iterations", "0"],
        &["advise", "a.mtx", "--top", "0"],
        &["advise", "a.mtx", "--dtype", "f16"],
        &["advise", "a.mtx", "-q", "-v"],
        &["predict", "a.mtx", "--kernel", "csr-vector/t3"],
        &["predict", "a.mtx", "--block", "100"],
        &["bench", "a.mtx", "--device", "cuda:x"],
        &["profile", "--device", "cpu"],
        &["profile", "--device", "cpu", "-o", "p", "--max-bytes", "much"],
        &["plan", "a.mtx"],
    ] {
        let out = run(dir.path(), flags);
        assert!(out.starts_with("exit code: 2") && out.contains("error: "), "{flags:?}: {out}");
    }
}
