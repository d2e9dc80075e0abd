//! `transfer` and its evaluation: word for word from a made-up profile, and end to end on the processor of this machine.

use crate::support::{add_corpus, assert_exit, json, made_up_profile, made_up_profiles, run};
use insta::assert_snapshot;
use serde_json::Value;
use sparsight::matrix::gallery::Recipe;
use std::path::Path;

const MATRIX: &str = "gallery:stencil2d,n=60";

/// Name in records: with all its parameters.
fn recorded() -> String {
    MATRIX.parse::<Recipe>().unwrap().to_string()
}

fn f64_of(object: &Value, key: &str) -> f64 {
    object[key].as_f64().unwrap_or_else(|| panic!("no {key} in {object}"))
}

/// Flags of the model of 2013.
const PAPER: [&str; 2] = ["--model", "guo-wang-2013"];

/// The candidates that have a time, each of which has an interval or obeys the equation.
fn transferred(object: &Value) -> Vec<&Value> {
    assert_eq!(object["schema"], "sparsight/transfer/2");
    let candidates = object["candidates"].as_array().unwrap();
    // Of a GPU, or of a processor.
    assert!([199, 145].contains(&candidates.len()), "every candidate of the catalogue, or why not");
    let answered: Vec<&Value> = candidates.iter().filter(|c| c["infeasible"].is_null()).collect();
    for c in &answered {
        let of = |key| f64_of(c, key);
        assert!(of("predicted_s") > 0.0, "{c}");
        if object["model"] == "rescaling" {
            assert!(of("low_s") <= of("predicted_s") && of("predicted_s") <= of("high_s"), "{c}");
            continue;
        }
        let equation =
            of("init_target_s") + of("relative_performance") * (of("reference_s") - of("init_reference_s"));
        if c["floor"].is_null() {
            assert!((of("predicted_s") / equation - 1.0).abs() < 1e-9, "{c}");
        } else {
            assert!(of("predicted_s") > equation, "{c}");
        }
        assert!(of("relative_performance") > 0.0, "{c}");
    }
    let times: Vec<f64> = answered.iter().map(|c| f64_of(c, "predicted_s")).collect();
    assert!(times.is_sorted(), "best first");
    answered
}

fn assert_itself(object: &Value) {
    for c in transferred(object) {
        if object["model"] == "guo-wang-2013" {
            assert!((f64_of(c, "relative_performance") - 1.0).abs() < 1e-12, "{c}");
        }
        assert!((f64_of(c, "predicted_s") / f64_of(c, "reference_s") - 1.0).abs() < 1e-12, "{c}");
    }
}

#[test]
fn a_device_transferred_to_itself_keeps_its_times_predicted_or_measured() {
    let dir = made_up_profile();
    json(dir.path(), &["lab", "fit", "made-up"]);
    let transfer = ["lab", "transfer", MATRIX, "--from", "made-up", "--to", "made-up"];
    assert_snapshot!(run(dir.path(), &[&transfer[..], &["--top", "3"]].concat()));
    assert_snapshot!(run(dir.path(), &[&transfer[..], &PAPER, &["--top", "3"]].concat()));
    assert_itself(&json(dir.path(), &[&transfer[..], &PAPER].concat()));
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
fn a_different_matrix_of_the_same_name_is_not_used() {
    let dir = made_up_profile();
    json(dir.path(), &["lab", "fit", "made-up"]);
    add_corpus(&dir.path().join("made-up"), &[(&recorded(), "stencil2d,n=61", 1.5)]);
    let text = run(dir.path(), &["lab", "transfer", MATRIX, "--from", "made-up", "--to", "made-up"]);
    assert!(text.contains("holds another matrix called") && text.contains("strip-cache"), "{text}");
}

#[test]
fn a_transfer_is_evaluated_where_the_target_measured_matrices() {
    // Few kernels, so that the table does not change when the catalogue grows.
    let dir = made_up_profiles();
    json(dir.path(), &["lab", "fit", "made-up"]);
    let corpus = [("a/grid", "stencil2d,n=700", 1.25), ("b/cube", "stencil3d,n=40", 0.8)];
    add_corpus(&dir.path().join("made-up"), &corpus);
    // To itself: what was measured is carried over as it is, and so it is by both ratios, which are 1.
    let itself = ["lab", "evaluate", "made-up", "--from", "made-up", "--test", "b/"];
    assert_snapshot!(run(dir.path(), &[&itself[..], &["--worst", "1"]].concat()));
    let markdown = run(dir.path(), &[&itself[..], &["--by", "format", "--markdown"]].concat());
    assert!(markdown.contains("| ell | 5 | 0.0 % |"), "{markdown}");
    let both = run(dir.path(), &[&itself[..], &["--plots", "out"]].concat());
    assert_exit(&both, 2, "cannot be used with");
}

#[test]
fn without_a_measured_time_on_the_reference_its_models_predict_it() {
    let dir = made_up_profiles();
    for name in ["made-up", "made-up-cpu"] {
        json(dir.path(), &["lab", "fit", name]);
    }
    add_corpus(&dir.path().join("made-up-cpu"), &[("a/grid", "stencil2d,n=700", 1.0)]);
    let object = json(dir.path(), &["lab", "evaluate", "made-up-cpu", "--from", "made-up"]);
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
    assert!(mean("guo-wang-2013") < mean("by-bandwidth").min(mean("by-multiprocessors")), "{errors:?}");
    let choosers: Vec<&str> =
        object["choices"].as_array().unwrap().iter().map(|c| c["model"].as_str().unwrap()).collect();
    for chooser in ["rescaling", "guo-wang-2013", "as-on-reference", "best-single"] {
        assert!(choosers.contains(&chooser), "{choosers:?}");
    }
    let nothing = run(dir.path(), &["lab", "evaluate", "made-up", "--from", "made-up-cpu"]);
    assert_exit(&nothing, 2, "no matrix of the corpus");
}

#[test]
fn missing_measurements_are_named_with_the_command_that_makes_them() {
    let dir = made_up_profile();
    let transfer =
        |more: &[&str]| run(dir.path(), &[&["lab", "transfer", MATRIX, "--from", "made-up"], more].concat());
    // Parameters that `fit` has not written are fitted to the benchmark matrices.
    let by_paper = || transfer(&["--to", "made-up", "--model", "guo-wang-2013"]);
    let without_file = by_paper();
    assert!(without_file.starts_with("exit code: 0"), "{without_file}");
    json(dir.path(), &["lab", "fit", "made-up"]);
    assert_eq!(by_paper(), without_file);
    let single = transfer(&["--to", "made-up", "--dtype", "f32"]);
    assert!(single.starts_with("exit code: 2"), "{single}");
    assert!(single.contains("strip-cache model for csr-scalar/b64/f32"), "no T_ref: {single}");
    let to_single = ["lab", "transfer", MATRIX, "--to", "made-up", "--dtype", "f32"];
    let single = run(dir.path(), &[&to_single[..], &PAPER].concat());
    assert_snapshot!(single);
    for file in ["transfer.json", "benchmark.jsonl"] {
        std::fs::remove_file(dir.path().join("made-up").join(file)).unwrap();
    }
    let neither = by_paper();
    assert!(neither.starts_with("exit code: 2"), "{neither}");
    assert!(
        neither.contains("the profile made-up holds no transfer.json, the parameters of a transfer"),
        "{neither}"
    );
    let nowhere = transfer(&["--to", "nowhere"]);
    assert_exit(&nowhere, 2, "there is no profile 'nowhere'");
}

#[test]
fn transfers_to_a_part_respect_the_floors_of_the_whole_gpu_and_of_copies() {
    let dir = tempfile::tempdir().unwrap();
    let part =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles/nvidia-h200-sm16").display().to_string();
    for matrix in ["gallery:stencil2d,n=300", "gallery:stencil3d,n=30", "gallery:random,rows=400000,row=40"] {
        for model in [&[][..], &PAPER] {
            let transfer = ["lab", "transfer", matrix, "--from", "nvidia-h200", "--to", &part];
            let object = json(dir.path(), &[&transfer[..], model].concat());
            let (launch, copies) =
                (f64_of(&object["target"], "launch_s"), f64_of(&object["target"], "copy_bytes_per_s"));
            let nnz = f64_of(&object["matrix"], "nnz");
            let answered = transferred(&object);
            assert!(answered.len() > 50);
            for c in &answered {
                assert!(f64_of(c, "predicted_s") >= f64_of(c, "reference_s") * (1.0 - 1e-9), "{c}");
                assert!(f64_of(c, "predicted_s") > 1.05 * launch, "nothing is at the launch floor: {c}");
                // Values and, but for packed and dense formats, columns: what exceeds an L2 of 63 MB is copied.
                let least = (8.0 * nnz - 63e6) / copies;
                assert!(f64_of(c, "predicted_s") >= least, "{c}");
            }
            let as_there = answered.iter().filter(|c| c["floor"] == "smaller").count();
            if model.is_empty() {
                assert!(
                    as_there * 10 < answered.len(),
                    "the rule of parts says more than a floor: {as_there}"
                );
            }
        }
    }
}

#[test]
fn a_target_is_a_data_sheet_or_a_measured_device_and_lacking_data_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let sheet = "name = \"Some GPU\"\nmultiprocessors = 66\nl2_bytes = 25e6\nmemory_bytes = 40e9\n\
                 copy_bytes_per_s = 1.5e12\nlaunch_s = 2.5e-6\ncompute_capability = [9, 0]\n";
    std::fs::write(dir.path().join("some.toml"), sheet).unwrap();
    let to = ["lab", "transfer", MATRIX, "--from", "nvidia-h200", "--to"];
    let answer = |target: &str| json(dir.path(), &[&to[..], &[target]].concat());
    let (facts, measured) = (answer("some.toml"), answer("nvidia-h100"));
    assert_eq!((&facts["model"], &facts["calibrated_with"]), (&"rescaling".into(), &0.into()));
    assert_eq!(measured["calibrated_with"], 10, "both have measured these");
    let width = |object: &Value| {
        let first = transferred(object)[0];
        f64_of(first, "high_s") / f64_of(first, "low_s")
    };
    assert!(width(&facts) > width(&measured), "half as many multiprocessors are less sure");
    let text = run(dir.path(), &[&to[..], &["some.toml"]].concat());
    assert!(text.contains("by the facts of both devices alone"), "{text}");
    let text = run(dir.path(), &[&to[..], &["some.toml"], &PAPER].concat());
    assert_exit(&text, 2, "holds no transfer.json");
    std::fs::write(dir.path().join("older.toml"), sheet.replace("[9, 0]", "[8, 0]")).unwrap();
    let text = run(dir.path(), &[&to[..], &["older.toml"]].concat());
    assert!(text.contains("of another architecture: "), "{text}");
}

#[test]
fn a_short_cpu_profile_is_a_target_of_either_model() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    let profile = |jobs: &str, folder: &str| {
        let flags = "lab profile --device cpu --dtype f64 --max-bytes 24MB --row-lengths constant --budget 20s --jobs";
        let flags = [&flags.split(' ').collect::<Vec<_>>()[..], &[jobs, "-o", folder]].concat();
        json(path, &flags)
    };
    profile("1", "one");
    profile("2", "two");
    // Nothing on the reference knows a time of this matrix by that kernel until it is measured there.
    json(path, &["lab", "measure", MATRIX, "--device", "cpu", "--dtype", "f64", "--jobs", "1", "-o", "one"]);
    let transfer = ["lab", "transfer", MATRIX, "--from", "one", "--to", "two"];
    for model in [&[][..], &PAPER] {
        let object = json(path, &[&transfer[..], model].concat());
        // A machine that is busy may give some lines that fall; most do not.
        assert!(transferred(&object).len() > 30, "{object}");
        assert_itself(&json(
            path,
            &[&["lab", "transfer", MATRIX, "--from", "one", "--to", "one"], model].concat(),
        ));
    }
    // device.json alone travels; of the paper's model transfer.json as well.
    let before = json(path, &[&transfer[..], &PAPER].concat());
    for file in ["benchmark.jsonl", "models"] {
        let file = path.join("two").join(file);
        _ = std::fs::remove_file(&file).or_else(|_| std::fs::remove_dir_all(&file));
    }
    assert_eq!(json(path, &[&transfer[..], &PAPER].concat()), before);
}

#[test]
fn a_profile_from_a_paper_is_a_target_and_takes_no_measurements() {
    let dir = tempfile::tempdir().unwrap();
    let paper =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles/tesla-c2050-paper").display().to_string();
    let matrix = "gallery:stencil2d,n=300";
    for command in [
        &["advise", matrix, "--profile", &paper][..],
        &[
            "lab",
            "transfer",
            matrix,
            "--from",
            &paper,
            "--to",
            "nvidia-h200",
            "--dtype",
            "f32",
            PAPER[0],
            PAPER[1],
        ],
    ] {
        let out = run(dir.path(), command);
        assert_exit(&out, 2, "was taken from elsewhere");
        let hint = out.split("hint: ").nth(1).unwrap();
        assert!(hint.contains("--from nvidia-h200 --to") && !hint.contains("sparsight lab profile"), "{out}");
        assert!(hint.contains("--model guo-wang-2013"), "{out}");
    }
    let out = run(dir.path(), &["lab", "transfer", matrix, "--from", "nvidia-h200", "--to", &paper]);
    assert!(out.contains("holds no copy rate and launch cost") && out.contains("my-gpu.toml"), "{out}");
    let to = [
        "lab",
        "transfer",
        matrix,
        "--from",
        "nvidia-h200",
        "--to",
        &paper,
        "--dtype",
        "f32",
        "--kernel",
        "ell",
    ];
    let out = run(dir.path(), &[&to[..], &PAPER].concat());
    assert!(
        out.starts_with("exit code: 0") && out.contains("Tesla C2050"),
        "what the hint says works: {out}"
    );
}

#[test]
fn nothing_is_carried_over_between_gpus_and_processors() {
    let dir = made_up_profiles();
    for (from, to, hint) in [
        ("made-up", "made-up-cpu", "`sparsight lab fit made-up-cpu` fits those that the folder holds"),
        ("made-up-cpu", "made-up", "`--from nvidia-h200` carries over from a GPU"),
    ] {
        for model in [&[][..], &PAPER] {
            let transfer = ["lab", "transfer", MATRIX, "--from", from, "--to", to];
            let out = run(dir.path(), &[&transfer[..], model].concat());
            assert_exit(&out, 2, "between GPUs and processors nothing was measured");
            assert!(out.contains(hint), "{out}");
        }
    }
}

#[test]
fn a_transfer_of_no_candidate_that_is_possible_is_a_no() {
    let dir = tempfile::tempdir().unwrap();
    let long = "gallery:long-rows,n=3000,long=3,length=1000";
    let transfer =
        |kernels| run(dir.path(), &["lab", "transfer", long, "--to", "nvidia-h100", "--kernel", kernels]);
    assert_exit(&transfer("ell"), 1, "would pad by 500.5x, the limit is 8x");
    assert_exit(&transfer("ell,csr-scalar"), 0, "would pad by 500.5x, the limit is 8x");
}
