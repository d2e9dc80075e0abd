//! Profiles and records that say what cannot be: refused with the place, or left out and counted; never learned from.

use crate::support::{assert_exit, json, lines, made_up_profile, run};
use std::fs;
use std::path::Path;

/// Changes text of a file, which must be there.
fn replaced(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from} in {text}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn an_impossible_fact_is_an_error_with_file_line_and_field() {
    for (field, absurd) in [
        ("multiprocessors", "0"),
        ("copy_bytes_per_s", "-1e12"),
        ("launch_s", "1e300"),
        ("launch_s", "-1e-6"),
        ("warps_per_multiprocessor", "0"),
    ] {
        let dir = made_up_profile();
        let path = dir.path().join("made-up/device.json");
        let text = fs::read_to_string(&path).unwrap();
        let line = text.lines().find(|line| line.contains(&format!("\"{field}\""))).unwrap();
        let changed = format!("\"{field}\": {absurd},");
        replaced(
            &path,
            line.trim(),
            if line.trim_end().ends_with(',') { &changed } else { changed.trim_end_matches(',') },
        );
        let out = run(dir.path(), &["advise", "gallery:stencil2d,n=10", "--profile", "made-up"]);
        assert!(out.starts_with("exit code: 2"), "{field}: {out}");
        assert!(out.contains("device.json:") && out.contains(&format!("{field} is ")), "{field}: {out}");
    }
}

#[test]
fn an_impossible_time_is_left_out_and_counted() {
    let dir = made_up_profile();
    let predicted = || {
        let advice = json(dir.path(), &["advise", "gallery:stencil2d,n=50", "--profile", "made-up"]);
        advice["candidates"][0]["predicted_s"].as_f64().unwrap()
    };
    let fitted = || run(dir.path(), &["lab", "fit", "made-up"]);
    let before = fitted();
    let expected = predicted();
    assert!(!before.contains("nothing takes"), "{before}");
    let corpus = dir.path().join("made-up/corpus.jsonl");
    let journal = dir.path().join("made-up/benchmark.jsonl");
    let path = if corpus.exists() { corpus } else { journal };
    // One more line with times that cannot be.
    let text = fs::read_to_string(&path).unwrap();
    let line = text.lines().find(|line| line.contains("\"time_s\":")).unwrap();
    let at = line.find("\"time_s\":").unwrap() + "\"time_s\":".len();
    let end = at + line[at..].find(',').unwrap();
    for absurd in ["-1.0", "0.0", "1e308"] {
        let wrong = format!("{}{absurd}{}", &line[..at], &line[end..]);
        let wrong = wrong.split(",\"crc32\"").next().unwrap().to_owned();
        let wrong = if wrong.ends_with('}') { wrong } else { wrong + "}" };
        fs::write(&path, format!("{text}{wrong}\n")).unwrap();
        let out = fitted();
        assert!(out.starts_with("exit code: 0"), "{out}");
        assert!(out.contains("1 time in made-up that nothing takes"), "{absurd}: {out}");
        // The other times of that line stand there twice now, which moves a fit by less.
        let now = predicted();
        assert!((now / expected - 1.0).abs() < 0.02, "{absurd}: {now} {expected}");
    }
}

#[test]
fn wrong_checksums_and_pipes_in_a_profile_are_refused() {
    let dir = made_up_profile();
    let journal = dir.path().join("made-up/benchmark.jsonl");
    replaced(&journal, "\"strips\":1", "\"strips\":7");
    let out = run(dir.path(), &["lab", "fit", "made-up"]);
    assert_exit(&out, 2, "benchmark.jsonl:1: its checksum does not match");
    assert!(out.contains("hint: `sparsight lab repair DIR` keeps every record that can be read"), "{out}");
    let device = dir.path().join("made-up/device.json");
    fs::remove_file(&device).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&device).status().unwrap().success());
    let out = run(dir.path(), &["advise", "gallery:stencil2d,n=10", "--profile", "made-up"]);
    assert_exit(&out, 2, "not a regular file");
}

#[test]
fn a_damaged_journal_is_repaired_and_the_original_is_kept() {
    let dir = made_up_profile();
    let journal = dir.path().join("made-up/benchmark.jsonl");
    let whole = run(dir.path(), &["lab", "repair", "made-up"]);
    assert_exit(&whole, 0, "made-up: no record is damaged");
    replaced(&journal, "\"strips\":1", "\"strips\":7");
    let (damaged, records) = (fs::read(&journal).unwrap(), lines(&journal));
    assert!(run(dir.path(), &["lab", "fit", "made-up"]).starts_with("exit code: 2"));
    let out = run(dir.path(), &["lab", "repair", "made-up"]);
    assert_exit(&out, 0, ", 1 line left out");
    assert!(out.contains("line 1: its checksum does not match"), "{out}");
    assert_eq!(fs::read(dir.path().join("made-up/benchmark.jsonl.set-aside-1")).unwrap(), damaged);
    assert_eq!(lines(&journal), records - 1);
    assert!(run(dir.path(), &["lab", "fit", "made-up"]).starts_with("exit code: 0"));
}

#[test]
fn a_locked_folder_is_refused_before_anything_is_measured() {
    let dir = tempfile::tempdir().unwrap();
    let measure = |matrix| {
        let on_cpu = ["--device", "cpu", "-j", "2", "-o", "p", "--dtype", "f32"];
        run(dir.path(), &[&["lab", "measure", matrix][..], &on_cpu].concat())
    };
    let out = measure("gallery:stencil2d,n=20");
    assert!(out.starts_with("exit code: 0"), "{out}");
    let held = fs::OpenOptions::new().append(true).open(dir.path().join("p/corpus.jsonl")).unwrap();
    held.lock().unwrap();
    let out = measure("gallery:stencil2d,n=21");
    assert_exit(&out, 2, "another run is writing here");
}

#[test]
fn an_unwritable_profile_is_refused_before_rates_are_measured() {
    let dir = tempfile::tempdir().unwrap();
    let profile = ["lab", "profile", "--device", "cpu", "-j", "2", "-o", "p", "--quick"];
    fs::create_dir(dir.path().join("p")).unwrap();
    let journal = dir.path().join("p/benchmark.jsonl");
    let held = fs::File::create(&journal).unwrap();
    held.lock().unwrap();
    let out = run(dir.path(), &profile);
    assert_exit(&out, 2, "another run is writing here");
    drop(held);
    fs::remove_file(&journal).unwrap();
    fs::create_dir(&journal).unwrap();
    let out = run(dir.path(), &profile);
    assert_exit(&out, 2, "benchmark.jsonl: ");
    assert!(!dir.path().join("p/device.json").exists(), "the rates were measured");
}

#[test]
fn the_text_of_a_damaged_record_is_escaped() {
    let dir = made_up_profile();
    let corpus = dir.path().join("made-up/corpus.jsonl");
    fs::write(&corpus, "{\"matrix\":\"a\",\"dtype\":\"\\u001b[2J\\nerror: forged\"}\n").unwrap();
    for command in ["fit", "repair"] {
        let out = run(dir.path(), &["lab", command, "made-up"]);
        assert!(out.contains("error: forged") && !out.contains('\u{1b}'), "{out}");
        assert!(!out.contains("\nerror: forged"), "{out}");
    }
    assert_eq!(lines(&corpus), 0);
    let out = run(dir.path(), &["lab", "repair", "."]);
    assert!(out.contains(".: there are no records here"), "{out}");
}

#[test]
fn a_batch_reports_skipped_matrices_even_when_quiet() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("bad.mtx"), "%%MatrixMarket matrix coordinate real general\n2 2 1\n9 9 1\n")
        .unwrap();
    let measure = [
        "lab",
        "measure",
        "bad.mtx",
        "gallery:stencil2d,n=20",
        "--device",
        "cpu",
        "-j",
        "2",
        "-o",
        "p",
        "-q",
    ];
    let out = run(dir.path(), &measure);
    assert!(out.contains("1 left out") && out.contains("bad.mtx:3:1: row index 9"), "{out}");
    fs::create_dir(dir.path().join("empty")).unwrap();
    let info = ["info", "bad.mtx", "empty", "gallery:stencil2d,n=20", "--device", "nvidia-h200", "-q"];
    let out = run(dir.path(), &info);
    for why in ["bad.mtx:3:1: row index 9", "empty: there is no matrix in this folder"] {
        assert_exit(&out, 1, &format!("warning: skipped: {why}"));
    }
}

#[test]
fn a_batch_continues_after_a_folder_without_a_matrix_and_after_one_that_cannot_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let sub = dir.path().join("set/sub");
    fs::create_dir_all(&sub).unwrap();
    fs::create_dir(dir.path().join("empty")).unwrap();
    let text = "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n";
    fs::write(dir.path().join("set/one.mtx"), text).unwrap();
    let info = |paths: &[&str]| {
        run(dir.path(), &[&["info", "--device", "nvidia-h200", "--csv"][..], paths].concat())
    };
    let out = info(&["empty", "set"]);
    assert_exit(&out, 1, "warning: skipped: empty: there is no matrix in this folder");
    assert!(out.contains("\none.mtx,2,2,1,"), "{out}");
    assert_exit(&info(&["empty"]), 2, "error: empty: there is no matrix in this folder");
    fs::set_permissions(&sub, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read_dir(&sub).is_ok() {
        eprintln!("skipped in half, of a folder that cannot be read: this user reads every folder");
        return;
    }
    let (out, alone) = (info(&["set"]), info(&["set/sub"]));
    fs::set_permissions(&sub, fs::Permissions::from_mode(0o700)).unwrap();
    assert_exit(&out, 1, "warning: skipped: set/sub: Permission denied");
    assert!(out.contains("\none.mtx,2,2,1,"), "{out}");
    assert_exit(&alone, 2, "error: set/sub: Permission denied");
}
