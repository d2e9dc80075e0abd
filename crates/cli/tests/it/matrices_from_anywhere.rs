//! Standard input, pipes, files without a telling extension, and unused values.
#![cfg(unix)]

use crate::support::{assert_exit, made_up_profile, run, sparsight};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const MATRIX: &str = "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 1\n2 2 1\n3 3 1\n3 1 2\n";

/// Stdout of a run that is given `input`, and whether it ended well.
fn fed(folder: &Path, arguments: &[&str], input: &[u8]) -> (String, bool) {
    let mut command = sparsight(folder);
    let output = command.current_dir(folder).args(arguments).write_stdin(input).output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), output.status.success())
}

#[test]
fn a_dash_reads_standard_input_of_any_kind_once() {
    let dir = made_up_profile();
    let path = dir.path();
    fs::write(path.join("a.mtx"), MATRIX).unwrap();
    let archive = Command::new("tar").args(["-czf", "-", "a.mtx"]).current_dir(path).output().unwrap();
    let zipped = Command::new("gzip").args(["-c", "a.mtx"]).current_dir(path).output().unwrap();
    for input in [MATRIX.as_bytes(), &archive.stdout, &zipped.stdout] {
        for command in [
            &["info", "-", "--profile", "made-up"][..],
            &["advise", "-", "--profile", "made-up"],
            &["lab", "predict", "-", "--profile", "made-up", "--kernel", "coo"],
            &["compare", "-", "--devices", "made-up"],
            &["bench", "-", "--device", "cpu", "--quick", "--kernel", "csr-scalar"],
        ] {
            let (out, is_good) = fed(path, command, input);
            assert!(is_good && out.starts_with("stdin   3 x 3   5 non-zeros"), "{command:?}: {out}");
        }
    }
    let (_, is_good) = fed(path, &["advise", "-", "--profile", "made-up"], &[0; 600]);
    assert!(!is_good, "no matrix");
    // Named twice it is still one, as a file is; made into another beside itself it cannot be had.
    let (out, is_good) = fed(path, &["advise", "-", "-", "--profile", "made-up"], MATRIX.as_bytes());
    assert!(is_good && out.starts_with("stdin   3 x 3"), "{out}");
}

#[test]
fn a_named_pipe_is_read_and_a_pipe_in_a_folder_is_skipped() {
    let dir = made_up_profile();
    let (path, text) = (dir.path(), MATRIX.to_owned());
    let pipe = path.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let writer = std::thread::spawn(move || fs::File::create(pipe).unwrap().write_all(text.as_bytes()));
    let out = run(path, &["advise", "pipe", "--profile", "made-up"]);
    writer.join().unwrap().unwrap();
    assert!(out.starts_with("exit code: 0\n----- stdout -----\npipe   3 x 3   5 non-zeros"), "{out}");

    let program = assert_cmd::cargo::cargo_bin("sparsight");
    let mut child = Command::new(program)
        .args(["info", "/dev/fd/0", "--device", "nvidia-h200", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(MATRIX.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["matrix"]["nnz"], 5);

    fs::create_dir(path.join("folder")).unwrap();
    fs::write(path.join("folder/a.mtx"), MATRIX).unwrap();
    assert!(Command::new("mkfifo").arg(path.join("folder/b.mtx")).status().unwrap().success());
    let out = run(path, &["advise", "folder", "--profile", "made-up"]);
    assert_exit(&out, 1, "not a regular file");
}

#[test]
fn a_matrix_unpacked_into_a_folder_of_its_name_is_read_without_its_right_hand_sides() {
    let dir = made_up_profile();
    let path = dir.path();
    fs::create_dir_all(path.join("Williams/cant")).unwrap();
    fs::write(path.join("Williams/cant/cant.mtx"), MATRIX).unwrap();
    let side = "%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n";
    fs::write(path.join("Williams/cant/cant_b.mtx"), side).unwrap();
    for (name, title) in [
        ("Williams/cant", "cant.mtx   3 x 3   5 non-zeros"),
        ("derived:transpose:Williams/cant", "cant.mtx+transpose   3 x 3   5 non-zeros"),
    ] {
        let out = run(path, &["advise", name, "--profile", "made-up"]);
        assert!(out.starts_with(&format!("exit code: 0\n----- stdout -----\n{title}")), "{name}: {out}");
        assert!(!out.contains("cant_b"), "{name}: {out}");
    }
    // With a slash at its end it is the folder, and so is one without the matrix.
    let out = run(path, &["advise", "Williams/cant/", "--profile", "made-up"]);
    assert!(out.contains("cant_b"), "{out}");
    fs::rename(path.join("Williams/cant/cant.mtx"), path.join("Williams/cant/other.mtx")).unwrap();
    let out = run(path, &["advise", "Williams/cant", "--profile", "made-up"]);
    assert!(out.contains("other") && out.contains("cant_b"), "{out}");
}

#[test]
fn an_endless_device_is_refused_at_once() {
    let dir = made_up_profile();
    for device in ["/dev/zero", "/dev/urandom"] {
        let out = run(dir.path(), &["advise", device, "--profile", "made-up"]);
        assert_exit(&out, 2, "this is no matrix file that is known");
    }
}

#[test]
fn complex_and_non_finite_values_are_accepted_when_nothing_is_run() {
    let dir = made_up_profile();
    let path = dir.path();
    fs::write(path.join("nan"), MATRIX.replace("3 1 2", "3 1 nan")).unwrap();
    let fitted = run(path, &["lab", "fit", "made-up"]);
    assert!(fitted.starts_with("exit code: 0"), "{fitted}");
    let complex =
        "%%MatrixMarket matrix coordinate complex hermitian\n3 3 4\n1 1 1 0\n2 2 1 0\n3 3 1 0\n3 1 0 2\n";
    fs::write(path.join("complex"), complex).unwrap();
    for file in ["nan", "complex"] {
        for command in [
            &["info", file, "--profile", "made-up"][..],
            &["advise", file, "--profile", "made-up"],
            &["advise", file, "--profile", "made-up", "--csv"],
            &["advise", file, file, "gallery:arrow,n=50", "--profile", "made-up"],
            &["plan", file, "--profile", "made-up"],
            &["lab", "predict", file, "--profile", "made-up", "--kernel", "coo"],
            &["compare", file, "--devices", "made-up"],
            &["lab", "transfer", file, "--from", "made-up", "--to", "made-up"],
        ] {
            let out = run(path, command);
            assert!(out.starts_with("exit code: 0"), "{command:?}: {out}");
            let says = out.matches("he values are complex").count();
            assert_eq!(says, usize::from(file == "complex"), "{command:?}: {out}");
        }
        let out = run(path, &["bench", file, "--device", "cpu"]);
        assert!(out.starts_with("exit code: 2"), "{out}");
    }
}
