//! A disk that is full at any moment: everything that a command writes is tried with a fault at its first write, at its second,
//! and so on, until there are none left. What was there before is there afterwards, and the same command goes on.
//!
//! The faults are made by a library that is loaded before the C library (`faults/full_disk.c`). Without g++ this is skipped;
//! `SPARSIGHT_REQUIRE_GXX=1` turns that into a failure.
#![cfg(target_os = "linux")]

use crate::support::{add_corpus, json, lines, made_up_profile, sparsight};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The library that makes the faults.
struct Faults(TempDir);

impl Faults {
    fn built() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/full_disk.c");
        let mut compiler = Command::new("g++");
        compiler.args(["-x", "c", "-shared", "-fPIC", "-O1", "-o"]).arg(dir.path().join("faults.so"));
        let Ok(built) = compiler.arg(source).arg("-ldl").status() else {
            assert!(std::env::var_os("SPARSIGHT_REQUIRE_GXX").is_none(), "no g++");
            println!("skipped: no g++");
            return None;
        };
        assert!(built.success());
        Some(Self(dir))
    }

    /// Runs a command with a fault at write number `at`: whether it ended well, and what it said.
    fn run(&self, folder: &Path, arguments: &str, fault: &str, at: u32) -> (bool, String) {
        let mut command = sparsight(&folder.join("cache"));
        command.current_dir(folder).args(arguments.split(' '));
        command.env("LD_PRELOAD", self.0.path().join("faults.so"));
        command.env("FAULT", fault).env("FAULT_AT", at.to_string());
        let output = command.output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 2)), "{arguments}, {fault} {at}: {code:?} {err}");
        (code == Some(0), err)
    }

    /// Runs a command in copies of `before`, with a fault later each time, until none is met. `check` looks at what is there
    /// after each of them.
    fn at_every_write(&self, before: &Path, arguments: &str, check: impl Fn(&Path, &str)) {
        for fault in ["full", "half", "once"] {
            for at in 1.. {
                let dir = tempfile::tempdir().unwrap();
                copy(before, dir.path());
                let (done, err) = self.run(dir.path(), arguments, fault, at);
                let what = format!("{arguments}, {fault} {at}");
                check(dir.path(), &what);
                if fault == "once" {
                    assert!(done, "{what}: half of a write is no error: {err}");
                } else if !done {
                    assert!(err.contains("No space left on device"), "{what}: {err}");
                    assert!(err.contains("hint: free some space"), "{what}: {err}");
                }
                // The same command without a fault does what it should have done.
                let left = left_over(dir.path());
                assert!(left.is_empty(), "{what} leaves {left:?}");
                json(dir.path(), &arguments.split(' ').collect::<Vec<_>>());
                if done && (fault != "once" || at > 12) {
                    assert!(at > 3 || fault == "once", "{what}: nothing was written");
                    break;
                }
            }
        }
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir(&to).unwrap();
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Files that were begun and not finished.
fn left_over(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(left_over(&path));
        } else if path.extension().is_some_and(|end| end == "new") {
            found.push(path);
        }
    }
    found
}

#[test]
fn a_fit_on_a_full_disk_leaves_the_models_as_they_were() {
    let Some(faults) = Faults::built() else { return };
    let dir = made_up_profile();
    let advise = ["advise", "gallery:stencil2d,n=100", "--profile", "made-up"];
    let before = json(dir.path(), &advise);
    // From now on `fit` makes others.
    let corpus = [("a/grid", "gallery:stencil2d,n=300", 1.25), ("b/cube", "gallery:stencil3d,n=30", 1.3)];
    add_corpus(&dir.path().join("made-up"), &corpus);
    let fitted = tempfile::tempdir().unwrap();
    copy(dir.path(), fitted.path());
    json(fitted.path(), &["lab", "fit", "made-up"]);
    let after = json(fitted.path(), &advise);
    assert!(before != after);
    faults.at_every_write(dir.path(), "lab fit made-up", |folder, what| {
        let now = json(folder, &advise);
        assert!(now == before || now == after, "{what}");
    });
}

#[test]
fn measure_on_a_full_disk_loses_at_most_the_current_matrix() {
    let Some(faults) = Faults::built() else { return };
    let dir = tempfile::tempdir().unwrap();
    let flags = "--device cpu --jobs 2 -o p --dtype f64 --kernel csr-scalar --block 64";
    let measure = format!("lab measure gallery:stencil2d,n=20 gallery:stencil2d,n=21 {flags}");
    json(dir.path(), &measure.split(' ').collect::<Vec<_>>());
    let (device, corpus) = ("p/device.json", "p/corpus.jsonl");
    let known = fs::read(dir.path().join(corpus)).unwrap();
    let before = fs::read(dir.path().join(device)).unwrap();
    let measure = format!("lab measure gallery:stencil2d,n=22 gallery:stencil2d,n=23 {flags}");
    faults.at_every_write(dir.path(), &measure, |folder, what| {
        assert_eq!(fs::read(folder.join(device)).unwrap(), before, "{what}");
        let now = fs::read(folder.join(corpus)).unwrap();
        assert!(now.starts_with(&known), "{what}");
        assert!(now.ends_with(b"\n"), "{what}: half a record is taken back");
    });
}

#[test]
fn a_first_measure_on_a_full_disk_leaves_no_half_profile() {
    let Some(faults) = Faults::built() else { return };
    let nothing = tempfile::tempdir().unwrap();
    let measure = "lab measure gallery:stencil2d,n=20 --device cpu --jobs 2 -o p --dtype f64 --kernel csr-scalar --block 64";
    // Rates are measured, which takes a second: one kind of fault.
    for at in 1..20 {
        let dir = tempfile::tempdir().unwrap();
        copy(nothing.path(), dir.path());
        let (done, _) = faults.run(dir.path(), measure, "half", at);
        if let Ok(text) = fs::read(dir.path().join("p/device.json")) {
            serde_json::from_slice::<serde_json::Value>(&text).unwrap();
        }
        if done {
            assert!(at > 3 && lines(&dir.path().join("p/corpus.jsonl")) == 1);
            return;
        }
    }
    panic!("20 writes for one record");
}

#[test]
fn a_repair_on_a_full_disk_loses_no_record() {
    let Some(faults) = Faults::built() else { return };
    let dir = made_up_profile();
    let journal = dir.path().join("made-up/benchmark.jsonl");
    let whole = fs::read_to_string(&journal).unwrap();
    let damaged = format!("rubbish\n{whole}");
    fs::write(&journal, &damaged).unwrap();
    faults.at_every_write(dir.path(), "lab repair made-up", |folder, what| {
        let now = fs::read_to_string(folder.join("made-up/benchmark.jsonl")).unwrap();
        assert!(now == damaged || now == whole, "{what}");
        if now == whole {
            let aside = fs::read_to_string(folder.join("made-up/benchmark.jsonl.set-aside-1")).unwrap();
            assert!(aside == damaged, "{what}");
        }
    });
}

#[test]
fn a_page_or_picture_on_a_full_disk_leaves_the_one_of_before() {
    let Some(faults) = Faults::built() else { return };
    let dir = tempfile::tempdir().unwrap();
    let advice = json(dir.path(), &["advise", "gallery:arrow,n=9", "--device", "nvidia-h200"]);
    fs::write(dir.path().join("a.json"), advice.to_string()).unwrap();
    for (command, file) in
        [("info gallery:arrow,n=9 --svg a.svg", "a.svg"), ("report a.json -o a.html", "a.html")]
    {
        fs::write(dir.path().join(file), "of before").unwrap();
        faults.at_every_write(dir.path(), command, |folder, what| {
            let now = fs::read_to_string(folder.join(file)).unwrap();
            assert!(now == "of before" || now.ends_with("</svg>\n") || now.ends_with("</html>\n"), "{what}");
        });
    }
}
