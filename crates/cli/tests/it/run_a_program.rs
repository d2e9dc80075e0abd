//! `sparsight run`: the environment of the program that is run, and the library that is named.

#![cfg(unix)]

use crate::support::{assert_exit, run, sparsight};
use std::fs;
use std::path::Path;

const NAMED: &str = "SPARSIGHT_CUSPARSE_LIBRARY";
const SHOW: &str = "echo \"$LD_PRELOAD|$SPARSIGHT_CUSPARSE|$SPARSIGHT_CUSPARSE_REPORT\"";

/// What a shell that is run so prints. The loader complains on stderr about a library that is none.
fn shown(folder: &Path, library: &Path, flags: &[&str], before: &str) -> String {
    let mut command = sparsight(folder);
    command.current_dir(folder).env(NAMED, library).env("LD_PRELOAD", before).arg("run").args(flags);
    let output = command.args(["sh", "-c", SHOW]).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_program_is_run_behind_the_library() {
    let dir = tempfile::tempdir().unwrap();
    let dir = &dir.path().canonicalize().unwrap();
    let library = dir.join("libsparsight_cusparse.so");
    fs::write(&library, "").unwrap();
    let own = library.display();
    assert_eq!(shown(dir, &library, &[], ""), format!("{own}||\n"));
    assert_eq!(shown(dir, &library, &["--report"], "liba.so"), format!("{own}:liba.so|report|\n"));
    assert_eq!(shown(dir, &library, &["--verify"], ""), format!("{own}|verify|\n"));
    let told = dir.join("told.json");
    let flags = ["--report-file", "told.json"];
    assert_eq!(shown(dir, &library, &flags, ""), format!("{own}|report|{}\n", told.display()));
}

#[test]
fn arguments_and_the_exit_status_are_those_of_the_program() {
    let dir = tempfile::tempdir().unwrap();
    let library = dir.path().join("libsparsight_cusparse.so");
    fs::write(&library, "").unwrap();
    let mut command = sparsight(dir.path());
    command.env(NAMED, &library).args(["run", "sh", "-c", "echo $1; exit 7", "sh", "--json"]);
    let output = command.output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(7), b"--json\n".as_slice()));
}

#[test]
fn what_cannot_be_run_is_an_error_that_says_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    let with = |library: &Path, arguments: &[&str]| {
        let output = sparsight(folder).env(NAMED, library).arg("run").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let said = with(&folder.join("absent.so"), &["true"]);
    assert!(said.contains("was not found (looked for: ") && said.contains("cargo build --release"), "{said}");
    let spaced = folder.join("a folder");
    fs::create_dir(&spaced).unwrap();
    let library = spaced.join("libsparsight_cusparse.so");
    fs::write(&library, "").unwrap();
    let said = with(&library, &["true"]);
    assert!(said.contains("a path with a space or a colon"), "{said}");
    let library = folder.join("libsparsight_cusparse.so");
    fs::write(&library, "").unwrap();
    let said = with(&library, &["no-such-program-anywhere"]);
    assert!(said.contains("cannot run no-such-program-anywhere: No such file"), "{said}");
    let said = run(folder, &["run"]);
    assert_exit(&said, 2, "<PROGRAM>");
}
