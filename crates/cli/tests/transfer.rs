//! `profile --quick` and `transfer`: word for word from a made-up profile, and end to end on the processor of this machine.

mod support;

use insta::assert_snapshot;
use serde_json::Value;
use sparsight::matrix::gallery::Recipe;
use std::path::Path;
use support::{add_corpus, json, made_up_profile, made_up_profiles, run};

const MATRIX: &str = "gallery:stencil2d,n=60";

/// How it is recorded: with all its parameters.
fn recorded() -> String {
    MATRIX.parse::<Recipe>().unwrap().to_string()
}

fn f64_of(object: &Value, key: &str) -> f64 {
    object[key].as_f64().unwrap_or_else(|| panic!("no {key} in {object}"))
}

/// The candidates that have a time, each of which obeys the equation.
fn transferred(object: &Value) -> Vec<&Value> {
    assert_eq!(object["schema"], "sparsight/transfer/1");
    let candidates = object["candidates"].as_array().unwrap();
    // Of a GPU, or of a processor.
    assert!([196, 145].contains(&candidates.len()), "every candidate of the catalogue, or why not");
    let answered: Vec<&Value> = candidates.iter().filter(|c| c["infeasible"].is_null()).collect();
    for c in &answered {
        let of = |key| f64_of(c, key);
        let equation =
            of("init_target_s") + of("relative_performance") * (of("reference_s") - of("init_reference_s"));
        if c["at_launch_cost"] == false {
            assert!((of("predicted_s") / equation - 1.0).abs() < 1e-9, "{c}");
        }
        assert!(of("predicted_s") > 0.0 && of("relative_performance") > 0.0, "{c}");
    }
    let times: Vec<f64> = answered.iter().map(|c| f64_of(c, "predicted_s")).collect();
    assert!(times.is_sorted(), "best first");
    answered
}

fn assert_itself(object: &Value) {
    for c in transferred(object) {
        assert!((f64_of(c, "relative_performance") - 1.0).abs() < 1e-12, "{c}");
        assert!((f64_of(c, "predicted_s") / f64_of(c, "reference_s") - 1.0).abs() < 1e-12, "{c}");
    }
}

#[test]
fn a_device_transferred_to_itself_keeps_its_times_predicted_or_measured() {
    let dir = made_up_profile();
    json(dir.path(), &["fit", "made-up"]);
    let transfer = ["transfer", MATRIX, "--from", "made-up", "--to", "made-up"];
    assert_snapshot!(run(dir.path(), &[&transfer[..], &["--top", "3"]].concat()));
    let predicted = json(dir.path(), &transfer);
    assert_itself(&predicted);
    let origins = |object: &Value| -> Vec<String> {
        transferred(object).iter().map(|c| c["reference_origin"].as_str().unwrap().to_owned()).collect()
    };
    assert!(origins(&predicted).iter().all(|origin| origin == "strip-cache"));
    add_corpus(&dir.path().join("made-up"), &[(&recorded(), "stencil2d,n=60", 1.5)]);
    let measured = json(dir.path(), &transfer);
    assert_itself(&measured);
    assert!(origins(&measured).iter().all(|origin| origin == "measured"));
    // Half as slow again as the model says, and that is what is carried over.
    let (first, before) = (&measured["candidates"][0], &predicted["candidates"][0]);
    assert_eq!(first["id"], before["id"]);
    assert!((f64_of(first, "predicted_s") / f64_of(before, "predicted_s") - 1.5).abs() < 1e-4);
}

#[test]
fn another_matrix_of_the_same_name_is_not_taken_for_this_one() {
    let dir = made_up_profile();
    json(dir.path(), &["fit", "made-up"]);
    add_corpus(&dir.path().join("made-up"), &[(&recorded(), "stencil2d,n=61", 1.5)]);
    let text = run(dir.path(), &["transfer", MATRIX, "--from", "made-up", "--to", "made-up"]);
    assert!(text.contains("holds another matrix called") && text.contains("strip-cache"), "{text}");
}

#[test]
fn a_transfer_is_evaluated_where_the_target_measured_matrices() {
    // Few kernels, so that the table does not change when the catalogue grows.
    let dir = made_up_profiles();
    json(dir.path(), &["fit", "made-up"]);
    let corpus = [("a/grid", "stencil2d,n=700", 1.25), ("b/cube", "stencil3d,n=40", 0.8)];
    add_corpus(&dir.path().join("made-up"), &corpus);
    // To itself: what was measured is carried over as it is, and so it is by both ratios, which are 1.
    let itself = ["evaluate", "made-up", "--from", "made-up", "--test", "b/"];
    assert_snapshot!(run(dir.path(), &[&itself[..], &["--worst", "1"]].concat()));
    let markdown = run(dir.path(), &[&itself[..], &["--by", "format", "--markdown"]].concat());
    assert!(markdown.contains("| ell | 5 | 0.0 % |"), "{markdown}");
    let both = run(dir.path(), &[&itself[..], &["--plots", "out"]].concat());
    assert!(both.starts_with("exit code: 2") && both.contains("cannot be used with"), "{both}");
}

#[test]
fn without_a_measured_time_on_the_reference_its_models_predict_it() {
    let dir = made_up_profiles();
    for name in ["made-up", "made-up-cpu"] {
        json(dir.path(), &["fit", name]);
    }
    add_corpus(&dir.path().join("made-up-cpu"), &[("a/grid", "stencil2d,n=700", 1.0)]);
    let object = json(dir.path(), &["evaluate", "made-up-cpu", "--from", "made-up"]);
    assert_eq!(object["schema"], "sparsight/evaluate-transfer/1");
    assert_eq!(
        (&object["reference"]["profile"], &object["matrices"][0]["all"]),
        (&"made-up".into(), &1.into())
    );
    let origins = object["reference_origins"].as_object().unwrap();
    assert_eq!(origins.keys().collect::<Vec<_>>(), ["strip-cache"]);
    let errors = object["errors"].as_array().unwrap();
    let mean = |method: &str| {
        let of = |e: &&Value| e["kernel"] == "ell" && e["method"] == method && e["scope"] == "all";
        f64_of(errors.iter().find(of).unwrap(), "mean")
    };
    let ell = errors.iter().find(|e| e["kernel"] == "ell").unwrap();
    assert_eq!(ell["count"], 5, "one a block size");
    // Ten times as slow a strip of other size: neither a twentieth of the bandwidth nor 4 of 10 workers says so.
    assert!(mean("transfer") < mean("by-bandwidth").min(mean("by-multiprocessors")), "{errors:?}");
    let choosers: Vec<&str> =
        object["choices"].as_array().unwrap().iter().map(|c| c["model"].as_str().unwrap()).collect();
    for chooser in ["transfer", "as-on-reference", "best-single"] {
        assert!(choosers.contains(&chooser), "{choosers:?}");
    }
    let nothing = run(dir.path(), &["evaluate", "made-up", "--from", "made-up-cpu"]);
    assert!(nothing.starts_with("exit code: 2") && nothing.contains("no matrix of the corpus"), "{nothing}");
}

#[test]
fn what_was_not_measured_is_named_with_the_command_that_measures_it() {
    let dir = made_up_profile();
    let transfer =
        |more: &[&str]| run(dir.path(), &[&["transfer", MATRIX, "--from", "made-up"], more].concat());
    let old = transfer(&["--to", "made-up"]);
    assert!(old.starts_with("exit code: 2"), "{old}");
    assert!(
        old.contains("the profile made-up holds no transfer.json, the parameters of a transfer"),
        "{old}"
    );
    assert!(old.contains("`sparsight fit made-up` fits"), "{old}");
    json(dir.path(), &["fit", "made-up"]);
    let single = transfer(&["--to", "made-up", "--dtype", "f32"]);
    assert!(single.starts_with("exit code: 2"), "{single}");
    assert!(single.contains("strip-cache model for csr-scalar/b64/f32"), "no T_ref: {single}");
    let single = run(dir.path(), &["transfer", MATRIX, "--to", "made-up", "--dtype", "f32"]);
    assert_snapshot!(single);
    let nowhere = transfer(&["--to", "nowhere"]);
    assert!(
        nowhere.starts_with("exit code: 2") && nowhere.contains("there is no profile 'nowhere'"),
        "{nowhere}"
    );
}

#[test]
fn a_quick_profile_of_the_processor_is_all_that_a_target_needs() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    let profile = |jobs: &str, folder: &str| {
        let quick = "profile --quick --device cpu --dtype f64 --max-bytes 24MB --jobs";
        let flags = [&quick.split(' ').collect::<Vec<_>>()[..], &[jobs, "-o", folder]].concat();
        json(path, &flags)
    };
    let one = profile("1", "one");
    assert_eq!((&one["grid"], &one["failed"]), (&"quick".into(), &0.into()), "{one}");
    // Five of each team, of csr-scalar, ELL and JAD, three of COO and of each size of tiles, both placements.
    assert_eq!(one["points"], 2 * (8 * 5 + 5 * 3));
    assert_eq!(profile("1", "one")["measured"], 0, "what is there is not measured again");
    profile("2", "two");
    let grid = |folder: &str| {
        let text = std::fs::read(path.join(folder).join("device.json")).unwrap();
        serde_json::from_slice::<Value>(&text).unwrap()["grid"].clone()
    };
    assert_eq!(grid("two"), "quick");
    assert!(!path.join("two/models").exists(), "too little for the strip models");
    let bytes: u64 =
        std::fs::read_dir(path.join("two")).unwrap().map(|f| f.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes < 100_000, "{bytes} bytes are too many to mail");

    // Nothing on the reference knows a time of this matrix until it is measured there.
    let transfer = ["transfer", MATRIX, "--from", "one", "--to", "two"];
    let unknown = run(path, &transfer);
    assert!(unknown.starts_with("exit code: 2"), "{unknown}");
    assert!(unknown.contains("the profile one holds no time of this matrix"), "{unknown}");
    assert!(unknown.contains("`sparsight measure MATRIX --device cpu -o one` measures it"), "{unknown}");
    json(path, &["measure", MATRIX, "--device", "cpu", "--dtype", "f64", "--jobs", "1", "-o", "one"]);

    assert_eq!(grid("one"), "quick", "a corpus is no benchmark matrix");

    // A machine that is busy may give some lines that fall; most do not.
    let object = json(path, &transfer);
    assert!(transferred(&object).len() > 30, "{object}");
    assert_itself(&json(path, &["transfer", MATRIX, "--from", "one", "--to", "one"]));

    // device.json and transfer.json alone travel.
    std::fs::remove_file(path.join("two/benchmark.jsonl")).unwrap();
    assert_eq!(json(path, &transfer), object);
}

#[test]
fn a_profile_from_a_paper_is_said_to_be_a_target_and_not_to_be_measured_into() {
    let dir = tempfile::tempdir().unwrap();
    let paper =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles/tesla-c2050-paper").display().to_string();
    let matrix = "gallery:stencil2d,n=300";
    for command in [
        &["advise", matrix, "--profile", &paper][..],
        &["transfer", matrix, "--from", &paper, "--to", "nvidia-h200", "--dtype", "f32"],
    ] {
        let out = run(dir.path(), command);
        assert!(out.starts_with("exit code: 2") && out.contains("was taken from elsewhere"), "{out}");
        let hint = out.split("hint: ").nth(1).unwrap();
        assert!(hint.contains("--from nvidia-h200 --to") && !hint.contains("sparsight profile"), "{out}");
    }
    let to =
        ["transfer", matrix, "--from", "nvidia-h200", "--to", &paper, "--dtype", "f32", "--kernel", "ell"];
    let out = run(dir.path(), &to);
    assert!(
        out.starts_with("exit code: 0") && out.contains("Tesla C2050"),
        "what the hint says works: {out}"
    );
}
