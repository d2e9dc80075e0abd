//! Limits of the system: memory, threads, the terminal.
#![cfg(target_os = "linux")]

use crate::support::{made_up_profile, run, wait_for_lines};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The program under what `before` sets up in a shell. A hangup ends it unless that says otherwise, also where it is ignored around
/// the tests.
fn under(before: &str, folder: &Path, arguments: &str) -> Command {
    let program = assert_cmd::cargo::cargo_bin("sparsight");
    let mut shell = Command::new("env");
    shell
        .args(["--default-signal=HUP", "bash", "-c"])
        .arg(format!("{before}; exec {} {arguments}", program.display()));
    shell.current_dir(folder).env("SPARSIGHT_CACHE", folder).env("NO_COLOR", "1");
    shell.env_remove("RAYON_NUM_THREADS");
    shell
}

fn ended(mut shell: Command) -> (Option<i32>, String) {
    let output = shell.output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn declared_rows_beyond_memory_are_an_error() {
    let dir = tempfile::tempdir().unwrap();
    // 16 GB of row offsets from 60 bytes.
    let text = "%%MatrixMarket matrix coordinate real general\n2000000000 1 1\n1 1 1\n";
    fs::write(dir.path().join("rows.mtx"), text).unwrap();
    let (code, err) = ended(under("ulimit -v 6000000", dir.path(), "info rows.mtx -j 2"));
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("rows.mtx: the matrix needs 16.0 GB of memory"), "{err}");
    // A job of Slurm with 500 MiB, where nothing but this number says so.
    let (code, err) = ended(under("export SLURM_MEM_PER_NODE=500", dir.path(), "info rows.mtx -j 2"));
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("MB may be used"), "{err}");
}

#[test]
fn records_that_unpack_beyond_memory_are_an_error() {
    let dir = made_up_profile();
    // 400 MB of zeros in 60 kB.
    let pack = "import lzma, sys; c = lzma.LZMACompressor(preset=0); zeros = bytes(4000000); \
                sys.stdout.buffer.write(b''.join(c.compress(zeros) for _ in range(100)) + c.flush())";
    let bomb = format!("python3 -c \"{pack}\" > made-up/corpus.jsonl.xz");
    let (code, err) = ended(under(&format!("{bomb}; ulimit -v 1200000"), dir.path(), "lab fit made-up -j 2"));
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("corpus.jsonl.xz: holds more than"), "{err}");
    // And is no damage.
    let packed = dir.path().join("made-up/corpus.jsonl.xz");
    let before = fs::read(&packed).unwrap();
    let (code, err) = ended(under("ulimit -v 1200000", dir.path(), "lab repair made-up -j 2"));
    assert!(code == Some(2) && err.contains("corpus.jsonl.xz: holds more than"), "{err}");
    assert_eq!(fs::read(&packed).unwrap(), before);
}

#[test]
fn threads_that_cannot_be_had_mean_fewer_threads() {
    let dir = made_up_profile();
    // Each takes 1 GiB of address space for its stack, so that there is none for eight beside all else.
    let limits = "export RUST_MIN_STACK=1073741824; ulimit -v 6000000";
    let advise = "advise gallery:stencil2d,n=20 --profile made-up -j 8";
    let (code, err) = ended(under(limits, dir.path(), advise));
    assert!(code == Some(0) && err.contains(" of 8 worker threads"), "{err}");
}

#[test]
fn more_threads_than_four_a_cpu_are_not_started() {
    let dir = made_up_profile();
    let out = run(dir.path(), &["advise", "gallery:stencil2d,n=20", "--profile", "made-up", "-j", "100000"]);
    assert!(out.starts_with("exit code: 0"), "{out}");
    assert!(out.contains("warning: 100000 worker threads are more than 4 a logical CPU"), "{out}");
}

#[test]
fn a_hangup_that_is_ignored_stays_ignored() {
    let dir = tempfile::tempdir().unwrap();
    let journal = dir.path().join("p/corpus.jsonl");
    for (nohup, expected) in [(true, Some(0)), (false, Some(130))] {
        _ = fs::remove_dir_all(dir.path().join("p"));
        let recipes = "gallery:stencil2d,n=100 gallery:stencil2d,n=101 gallery:stencil2d,n=102";
        let measure = format!("lab measure {recipes} --device cpu -j 2 -o p --dtype f32");
        let mut shell = under(if nohup { "trap '' HUP" } else { "true" }, dir.path(), &measure);
        let mut child = shell.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_for_lines(&journal, 1, Duration::from_secs(120));
        let sent = Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        assert_eq!(child.wait().unwrap().code(), expected, "ignored: {nohup}");
    }
}

#[test]
fn a_name_that_would_clear_the_screen_is_shown() {
    let dir = made_up_profile();
    let out = run(dir.path(), &["info", "no\u{1b}[2J\nerror: forged.mtx"]);
    assert!(out.starts_with("exit code: 2") && !out.contains('\u{1b}'), "{out}");
    assert!(!out.contains("\nerror: forged"), "{out}");
}
