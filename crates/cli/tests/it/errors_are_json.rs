//! Errors with `--json`: a command that ends early prints one object on stdout, whatever was wrong; stderr has the text, too.

use crate::support::sparsight;
use tempfile::tempdir;

/// Exit code, the object on stdout, and stderr.
fn refused(arguments: &[&str]) -> (i32, serde_json::Value, String) {
    let dir = tempdir().unwrap();
    let output = sparsight(dir.path()).current_dir(dir.path()).args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let object = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{arguments:?}: {e}: '{text}'"));
    (output.status.code().unwrap(), object, String::from_utf8(output.stderr).unwrap())
}

#[test]
fn input_flags_and_devices_that_are_wrong_are_objects() {
    for (arguments, code, why) in [
        (&["advise", "nowhere.mtx", "--device", "nvidia-h200", "--json"][..], 2, "nowhere.mtx"),
        (&["info", "gallery:nothing", "--json"], 2, "nothing"),
        (&["bench", "nowhere.mtx", "--device", "cpu", "--quick", "--json"], 2, "nowhere.mtx"),
        (&["plan", "nowhere.mtx", "--json"], 2, "nowhere.mtx"),
        (&["--json", "advise"], 2, "required"),
        (&["--json", "advise"], 2, "<PATHS>"),
        (&["bench", "gallery:fem", "--kernel", "none", "--json"], 2, "unknown kernel 'none'"),
        (
            &["advise", "gallery:stencil2d,n=20", "--device", "nvidia-h200", "--dtype", "f16", "--json"],
            2,
            "f16",
        ),
    ] {
        let (exit, object, words) = refused(arguments);
        assert_eq!((exit, object["exit_code"].as_i64()), (code, Some(code.into())), "{object}");
        assert_eq!(object["schema"], "sparsight/error/1");
        let error = object["error"].as_str().unwrap();
        assert!(error.contains(why), "{arguments:?}: {error}");
        assert!(words.contains(why), "{arguments:?}: {words}");
    }
}

#[test]
fn an_error_has_a_separate_hint() {
    let (_, object, words) = refused(&["advise", "gallery:stencil2d,n=20", "--device", "H2000", "--json"]);
    let hint = object["hint"].as_str().unwrap();
    assert!(!hint.is_empty() && words.contains("hint:"), "{object} {words}");
}

#[test]
fn without_json_stdout_stays_empty_and_help_is_help() {
    let dir = tempdir().unwrap();
    let output =
        sparsight(dir.path()).args(["advise", "nowhere.mtx", "--device", "nvidia-h200"]).output().unwrap();
    assert!(output.stdout.is_empty() && output.status.code() == Some(2));
    let help = sparsight(dir.path()).args(["advise", "--help", "--json"]).output().unwrap();
    assert!(help.status.success() && String::from_utf8(help.stdout).unwrap().contains("Usage:"));
}
