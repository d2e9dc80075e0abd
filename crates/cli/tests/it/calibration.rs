//! `calibrate`, data sheets and profiles that answer with another device's predictions, from what two shipped GPUs have measured.
//! The whole calibration of a processor is in `scripts/test-end-to-end`, by a release build: it takes a minute in a debug build.

use crate::support::{assert_exit, json, made_up_profile, run, sparsight, spawn};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Duration;
use std::{fs, thread};

const MATRIX: &str = "gallery:stencil2d,n=300";

fn calibrated(dir: &Path) -> Value {
    json(dir, &["calibrate", "--recorded", "nvidia-h100", "--reference", "nvidia-h200", "-o", "c"])
}

#[test]
fn a_calibration_from_recorded_times_answers_like_a_profile_and_is_marked() {
    let dir = tempfile::tempdir().unwrap();
    let made = calibrated(dir.path());
    assert_eq!(made["schema"], "sparsight/calibrate/1");
    assert_eq!((&made["matrices"], &made["device"]["rescaled_from"]), (&10.into(), &"nvidia-h200".into()));
    for weight in made["weights"].as_array().unwrap() {
        let weight = weight.as_f64().unwrap();
        assert!((0.5..2.0).contains(&weight), "two chips of one family: {made}");
    }
    let advise = |profile: &str| json(dir.path(), &["advise", MATRIX, "--profile", profile]);
    let (carried, own, from) = (advise("./c"), advise("nvidia-h100"), advise("nvidia-h200"));
    assert_eq!(carried["device"]["rescaled_from"], "nvidia-h200");
    assert!(own["device"]["rescaled_from"].is_null());
    let first = |answer: &Value| answer["candidates"][0]["predicted_s"].as_f64().unwrap();
    // The launch alone takes 0.36 us longer on the H100; what it predicts by itself is near.
    assert!(first(&carried) > first(&from), "{} {}", first(&carried), first(&from));
    assert!((first(&carried) / first(&own) - 1.0).abs() < 0.15, "{} {}", first(&carried), first(&own));
    let text = run(dir.path(), &["advise", MATRIX, "--profile", "./c", "--top", "2"]);
    assert!(text.contains("from the profile nvidia-h200, not profiled: intervals are wider"), "{text}");
    assert!(text.contains("NVIDIA H100 80GB HBM3   f64   calibrated "), "{text}");
    let explained =
        run(dir.path(), &["lab", "predict", MATRIX, "--profile", "./c", "--kernel", "csr-vector/t4", "-v"]);
    assert!(explained.contains("T / T on the reference") && explained.contains("T here"), "{explained}");
}

#[test]
fn impossible_calibrations_are_refused_with_a_hint() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |arguments: &[&str], expected: &str| {
        let text = run(dir.path(), arguments);
        assert!(text.contains("hint") && text.contains(expected), "{arguments:?}: {text}");
    };
    refused(
        &["calibrate", "--device", "cpu", "--reference", "nvidia-h200", "-o", "p"],
        "nothing is carried over to a processor",
    );
    for more in ["--budget 9s", "--max-bytes 1GB", "--share p.tar.gz", "--row-lengths constant"] {
        let flags = ["lab", "profile", "--quick", "--device", "cpu", "-o", "p"].into_iter();
        let text = run(dir.path(), &flags.chain(more.split(' ')).collect::<Vec<_>>());
        assert_exit(&text, 2, "cannot be used with");
    }
    refused(&["calibrate", "--recorded", "tesla", "-o", "p"], "nvidia-h200");
    let reference = ["calibrate", "--recorded", "nvidia-h100", "-o", "p", "--reference"];
    calibrated(dir.path());
    refused(&[&reference[..], &["./c"]].concat(), "holds no time of any of the matrices of a calibration");
    // Round in a circle, and weights that nothing gives.
    let file = dir.path().join("c/rescaling.json");
    let text = fs::read_to_string(&file).unwrap();
    let here = dir.path().join("c").display().to_string();
    fs::write(&file, text.replace("nvidia-h200", &here)).unwrap();
    refused(&["advise", MATRIX, "--profile", "./c"], "holds no fitted models");
    fs::write(&file, text.replace("\"log_sd\": 0", "\"log_sd\": 1e300, \"was\": 0")).unwrap();
    let answer = run(dir.path(), &["advise", MATRIX, "--profile", "./c"]);
    assert!(answer.contains("rescaling.json:1: no measured times give such weights"), "{answer}");
    fs::write(&file, text.replace("sparsight/rescaling/2", "sparsight/rescaling/1")).unwrap();
    let answer = run(dir.path(), &["advise", MATRIX, "--profile", "./c"]);
    assert!(answer.contains("schema sparsight/rescaling/1 is not sparsight/rescaling/2"), "{answer}");
    assert!(answer.contains("`sparsight calibrate -o DIR` computes it again"), "{answer}");
    calibrated(dir.path());
    assert!(fs::read_to_string(&file).unwrap() == text, "computed again");
    let sheet = "name = \"Circle\"\nmultiprocessors = 66\nl2_bytes = 25e6\nmemory_bytes = 40e9\ncopy_bytes_per_s = 1.5e12\n\
                 launch_s = 2.5e-6\ncompute_capability = [9, 0]\nreference = \"circle.toml\"\n";
    fs::write(dir.path().join("circle.toml"), sheet).unwrap();
    refused(&["advise", MATRIX, "--device", "circle.toml"], "circle.toml");
    fs::create_dir_all(dir.path().join("m/models")).unwrap();
    fs::write(dir.path().join("m/models/index.json"), "{\"schema\":\"sparsight/models/0\"}").unwrap();
    let text = run(dir.path(), &["calibrate", "--recorded", "nvidia-h100", "-o", "m"]);
    assert!(text.contains("sparsight/models/0"), "a folder with models is left alone: {text}");
}

#[test]
fn a_gpu_is_compared_from_its_data_sheet() {
    let dir = tempfile::tempdir().unwrap();
    let sheet = "name = \"Some GPU\"\nmultiprocessors = 66\nl2_bytes = 25e6\nmemory_bytes = 40e9\n\
                 copy_bytes_per_s = 1.5e12\nlaunch_s = 2.5e-6\ncompute_capability = [9, 0]\n";
    fs::write(dir.path().join("some.toml"), sheet).unwrap();
    let devices = ["compare", MATRIX, "--devices", "nvidia-h200,some.toml"];
    let compared = json(dir.path(), &devices);
    let of = |at: usize| &compared["devices"][at];
    assert_eq!(of(1)["rescaled_from"], "nvidia-h200");
    let best = |at: usize| of(at)["candidates"][0]["predicted_s"].as_f64().unwrap();
    assert!(best(1) > best(0), "smaller in every respect: {compared}");
    let text = run(dir.path(), &devices);
    assert!(
        text.contains("from its data sheet and the profile nvidia-h200, not measured: intervals are wider"),
        "{text}"
    );
    fs::write(dir.path().join("older.toml"), sheet.replace("[9, 0]", "[8, 0]")).unwrap();
    let text = run(dir.path(), &["advise", MATRIX, "--device", "older.toml"]);
    let said = "of another architecture: intervals are wider, and held 79 to 94 % of the times on each of six other GPUs";
    assert!(text.contains(said), "{text}");
    fs::write(dir.path().join("wrong.toml"), sheet.replace("66", "0")).unwrap();
    let text = run(dir.path(), &["advise", MATRIX, "--device", "wrong.toml"]);
    assert!(text.contains("wrong.toml:2: multiprocessors"), "{text}");
}

#[test]
fn a_profile_of_a_busy_machine_says_so_in_every_answer() {
    fn of<'a>(command: &[&'a str]) -> Vec<&'a str> {
        [command, &["--profile", "made-up"]].concat()
    }
    let dir = made_up_profile();
    let file = dir.path().join("made-up/device.json");
    let mut device: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let advise = ["advise", MATRIX, "--top", "1"];
    let quiet = run(dir.path(), &of(&advise));
    assert!(quiet.contains("profile of 2026-01-02\n") && !quiet.contains("busy"), "{quiet}");
    assert!(json(dir.path(), &of(&advise))["device"]["noise"].is_null());
    let why = "a load average of 9.0 on 2 logical CPUs";
    device["provenance"]["noise"] = why.into();
    fs::write(&file, device.to_string()).unwrap();
    for command in [&advise[..], &["lab", "predict", MATRIX, "--kernel", "ell"], &["plan", MATRIX]] {
        let text = run(dir.path(), &of(command));
        let expected = "profile of 2026-01-02; the machine was busy then and times may be off, to measure again: \
                        `sparsight lab profile -o quiet`, then `--profile quiet`";
        assert_eq!(text.matches(expected).count(), 1, "{text}");
    }
    assert_eq!(json(dir.path(), &of(&advise))["device"]["noise"], why);
}

#[test]
fn concurrent_calibration_of_the_processor_measures_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = spawn(dir.path(), &["advise", MATRIX, "--device", "cpu"]);
    let profiles = dir.path().join("profiles");
    let is_measuring = || {
        let folder = fs::read_dir(&profiles).ok().and_then(|mut folders| folders.next()?.ok());
        folder.is_some_and(|folder| folder.path().join("benchmark.jsonl").exists())
    };
    while !is_measuring() {
        assert!(first.try_wait().unwrap().is_none(), "it has ended before it measured anything");
        thread::sleep(Duration::from_millis(5));
    }
    let mut second = spawn(dir.path(), &["advise", MATRIX, "--device", "cpu"]);
    let said = BufReader::new(second.stderr.take().unwrap()).lines().next().unwrap().unwrap();
    assert!(said.contains("another run is calibrating this processor: waiting for it"), "{said}");
    for child in [&mut first, &mut second] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn the_environment_can_forbid_calibration_of_the_processor() {
    let dir = tempfile::tempdir().unwrap();
    let mut program = sparsight(dir.path());
    let program = program.current_dir(dir.path()).env("SPARSIGHT_CALIBRATE", "0");
    let output = program.args(["advise", MATRIX, "--device", "cpu"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("SPARSIGHT_CALIBRATE=0 says not to do it now") && said.contains("hint: "),
        "{said}"
    );
    assert!(!dir.path().join("profiles").exists());
}
