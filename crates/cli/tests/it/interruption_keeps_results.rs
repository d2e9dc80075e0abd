//! Ctrl-C and a reader that goes away.
#![cfg(target_os = "linux")]

use crate::support::{json, lines, run, spawn, wait_for_lines};
use std::io::{BufRead, BufReader};
use std::process::Command;
use std::time::Duration;

#[test]
fn an_interrupted_profile_continues_where_it_stopped() {
    let dir = tempfile::tempdir().unwrap();
    // Two workers, so that a strip is the same on every machine and two row lengths stay below the bound.
    let profile = "lab profile --device cpu --jobs 2 -o p --dtype f32 --max-bytes 3MB --row-lengths constant";
    let profile: Vec<&str> = profile.split(' ').collect();
    let child = spawn(dir.path(), &profile);
    let journal = dir.path().join("p/benchmark.jsonl");
    wait_for_lines(&journal, 3, Duration::from_secs(60));
    // Twice at once, as `timeout` does it, which signals the process and its group: that is one wish to stop.
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id, &id]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(err.contains("kept in p; the same command continues"), "{err}");
    let kept = lines(&journal);
    assert!(kept >= 3);
    let rest = json(dir.path(), &profile);
    let of = |name: &str| rest[name].as_u64().unwrap() as usize;
    assert_eq!(of("measured") + of("beyond_bound") + of("failed"), of("points") - kept);
}

#[test]
fn a_killed_measure_loses_the_current_matrix_and_continues() {
    let dir = tempfile::tempdir().unwrap();
    let recipes: Vec<String> = (0..12).map(|i| format!("gallery:stencil2d,n={}", 100 + i)).collect();
    let mut measure = vec!["lab", "measure", "--device", "cpu", "-o", "p", "--dtype", "f64"];
    measure.extend(recipes.iter().map(String::as_str));
    let mut child = spawn(dir.path(), &measure);
    let journal = dir.path().join("p/corpus.jsonl");
    wait_for_lines(&journal, 2, Duration::from_secs(120));
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = lines(&journal) as u64;
    assert!((2..12).contains(&kept), "killed in the middle; {kept} are kept");
    let rest = json(dir.path(), &measure);
    assert_eq!((rest["skipped"].as_u64(), rest["measured"].as_u64()), (Some(kept), Some(12 - kept)));
    assert_eq!(lines(&journal), 12);
}

#[test]
fn a_reader_that_goes_away_ends_the_program_quietly() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = spawn(dir.path(), &["gallery", "--json"]);
    let mut first = String::new();
    BufReader::with_capacity(1, child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert_eq!(first, "{\n");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(run(dir.path(), &["gallery"]).starts_with("exit code: 0"));
}
