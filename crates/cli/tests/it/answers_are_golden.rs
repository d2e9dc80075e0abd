//! Output of the program, word for word, from an invented profile; nothing here is measured.

use crate::support::{add_corpus, assert_exit, json, made_up_profile, made_up_profiles, rounded, run};
use insta::assert_snapshot;
use sparsight::kernels::catalogue;
use sparsight::matrix::Dtype;

const GRID: &str = "gallery:stencil2d,n=500";

#[test]
fn advise_ranks_and_says_how_sure_it_is() {
    let dir = made_up_profile();
    assert_snapshot!(run(dir.path(), &["advise", GRID, "--profile", "made-up", "--iterations", "1000"]));
}

#[test]
fn advise_names_what_is_not_possible_and_why() {
    let dir = made_up_profile();
    let arrow = "gallery:arrow,n=20000";
    assert_snapshot!(run(dir.path(), &["advise", arrow, "--profile", "made-up", "--top", "3"]));
}

#[test]
fn advise_in_json_has_every_candidate() {
    let dir = made_up_profile();
    let arguments = ["advise", "gallery:arrow,n=20000", "--profile", "made-up"];
    let all = json(dir.path(), &arguments);
    assert_eq!(all["schema"], "sparsight/advise/1");
    let candidates = all["candidates"].as_array().unwrap();
    assert_eq!(candidates.len(), catalogue(Dtype::F64).count());
    let impossible = |format| {
        candidates
            .iter()
            .filter(|c| c["format"] == format && !c["infeasible"].is_null() && c["vendor"].is_null())
            .count()
    };
    assert_eq!((impossible("ell"), impossible("bro-ell/r256")), (5, 5), "in five block sizes");
    assert_eq!((impossible("csr"), impossible("jad")), (0, 0));
    let spy = all["structure"]["spy"]["cells"].as_array().unwrap();
    let (head, end) = (spy[0].as_str().unwrap(), spy[127].as_str().unwrap());
    let is_arrow =
        head.starts_with('z') && !head.contains('.') && !end.starts_with('.') && !end.ends_with('.');
    assert!(spy.len() == 128 && is_arrow && end.contains(&".".repeat(126)), "{head} {end}");
    let few = run(dir.path(), &[&arguments[..], &["--json", "--top", "1"]].concat());
    // A picture is looked at above, and a day is no other answer.
    let is_picture = |line: &&str| line.len() > 128 && !line.contains(": ");
    let few: Vec<&str> = few.lines().filter(|line| !is_picture(line)).collect();
    let today = sparsight::device::timing::today();
    assert_snapshot!(rounded(&few.join("\n")).replace(&today, "TODAY"));
}

#[test]
fn advise_without_non_zeros_still_answers() {
    let dir = made_up_profile();
    std::fs::write(dir.path().join("empty.mtx"), "%%MatrixMarket matrix coordinate real general\n5 5 0\n")
        .unwrap();
    assert_snapshot!(run(dir.path(), &["advise", "empty.mtx", "--profile", "made-up", "--top", "2"]));
}

/// Rows of about 85 non-zeros, then rows of 200.
const HALVES: &str = "gallery:kkt,n=20000,m=8000,row=200";

#[test]
fn plan_shows_the_parts_beside_the_best_single_candidate() {
    let dir = made_up_profile();
    let plan = ["plan", HALVES, "--profile", "made-up", "--formats", "csr,ell,coo,hyb"];
    assert_snapshot!(run(dir.path(), &plan));
    assert_snapshot!(run(dir.path(), &[&plan[..], &["--strips", "1", "--execution", "fused"]].concat()));
}

#[test]
fn plan_in_json_has_rows_without_a_gap() {
    let dir = made_up_profile();
    let arguments = ["plan", HALVES, "--profile", "made-up", "--model", "strip"];
    let all = json(dir.path(), &arguments);
    assert_eq!(all["schema"], "sparsight/plan/1");
    let all = &all["matrices"][0];
    assert_eq!((&all["strips"], &all["strip_rows"]), (&44.into(), &640.into()));
    let strategies = all["strategies"].as_array().unwrap();
    assert_eq!(strategies.len(), 2);
    for strategy in strategies {
        let parts = strategy["parts"].as_array().unwrap();
        assert!(parts.len() > 1, "{strategy}");
        assert_eq!((&parts[0]["rows"][0], &parts[parts.len() - 1]["rows"][1]), (&0.into(), &28_000.into()));
        assert!(parts.windows(2).all(|pair| pair[0]["rows"][1] == pair[1]["rows"][0]), "{strategy}");
        let gain =
            1.0 - strategy["predicted_s"].as_f64().unwrap() / all["single"]["predicted_s"].as_f64().unwrap();
        assert!((gain - strategy["gain"].as_f64().unwrap()).abs() < 1e-12);
    }
    let few = ["--json", "--top", "1", "--execution", "sequential"];
    let few = run(dir.path(), &[&arguments[..], &few].concat());
    // How it looks and which day it is.
    let (head, rest) = few.split_once("      \"structure\": {").unwrap();
    let rest = rest.split_once("\n      },\n").unwrap().1;
    let today = sparsight::device::timing::today();
    assert_snapshot!(rounded(&format!("{head}{rest}")).replace(&today, "TODAY"));
}

#[test]
fn plan_refuses_what_it_does_not_know() {
    let dir = made_up_profile();
    for (flag, value, says) in [
        ("--formats", "band", "unknown format 'band': there are csr, csr-balanced i256"),
        ("--execution", "parallel", "sequential or fused, or both"),
        ("--strips", "0", "from 1 to 4096"),
        ("--strips", "5000", "from 1 to 4096"),
    ] {
        let out = run(dir.path(), &["plan", HALVES, "--profile", "made-up", flag, value]);
        assert_exit(&out, 2, says);
    }
    let out = run(dir.path(), &["plan", HALVES, "--profile", "made-up", "--formats", "sell"]);
    assert!(out.starts_with("exit code: ") && out.contains("holds no best model for f64"), "{out}");
}

/// Rows of one non-zero, and three of a thousand.
const LONG: &str = "gallery:long-rows,n=3000,long=3,length=1000";

#[test]
fn a_plan_without_a_possible_candidate_has_every_reason() {
    let dir = made_up_profile();
    let plan = ["plan", LONG, "--profile", "made-up", "--formats", "ell"];
    let why = "would pad by 500.5x, the limit is 8x";
    let says = format!("No candidate is possible.\n  not possible: ell ({why})\n");
    assert_exit(&run(dir.path(), &plan), 1, &says);
    let out = run(dir.path(), &[&plan[..], &["--json"]].concat());
    assert!(out.starts_with("exit code: 1") && out.contains("\"strategies\": []"), "{out}");
    assert_eq!(out.matches(&format!("\"infeasible\": \"{why}\"")).count(), 5, "in five block sizes: {out}");
}

#[test]
fn a_matrix_without_non_zeros_needs_no_plan() {
    let dir = tempfile::tempdir().unwrap();
    for size in ["0 0", "5 5"] {
        let text = format!("%%MatrixMarket matrix coordinate real general\n{size} 0\n");
        std::fs::write(dir.path().join("empty.mtx"), text).unwrap();
        let out = run(dir.path(), &["plan", "empty.mtx", "--device", "nvidia-h200"]);
        assert_exit(&out, 0, "\nCSR is as good as anything: there are no non-zeros to multiply.\n");
        assert!(!out.contains("strip") && !out.contains("Leave it whole"), "{out}");
    }
}

#[test]
fn a_prediction_of_no_candidate_that_is_possible_is_a_no() {
    let dir = made_up_profile();
    let predict =
        |kernels| run(dir.path(), &["lab", "predict", LONG, "--profile", "made-up", "--kernel", kernels]);
    assert_exit(&predict("ell"), 1, "ell b64  not possible: would pad by 500.5x");
    assert_exit(&predict("ell,csr-scalar"), 0, "ell b64  not possible: would pad by 500.5x");
}

const PREDICT: [&str; 7] = ["lab", "predict", GRID, "--profile", "made-up", "--model", "strip"];

#[test]
fn predict_shows_the_numbers_behind_a_time() {
    let dir = made_up_profile();
    let of = ["--kernel", "csr-vector/t8,hyb", "--block", "256"];
    assert_snapshot!(run(dir.path(), &[&PREDICT[..], &of].concat()));
}

#[test]
fn predict_in_json_carries_the_terms() {
    let dir = made_up_profile();
    let of = ["--kernel", "coo", "--block", "64", "--json"];
    assert_snapshot!(rounded(&run(dir.path(), &[&PREDICT[..], &of].concat())));
}

#[test]
fn compare_shows_devices_and_products_per_price() {
    let dir = made_up_profiles();
    let devices = ["compare", GRID, "--devices", "made-up,made-up-cpu"];
    assert_snapshot!(run(dir.path(), &devices));
    let worth = ["--price", "made-up=8000,made-up-cpu=500", "--unit", "EUR", "--power", "made-up-cpu=100"];
    let more = ["--kernel", "csr-vector/t8", "--iterations", "1000", "--top", "2"];
    assert_snapshot!(run(dir.path(), &[&devices[..], &worth, &more].concat()));
}

#[test]
fn compare_in_json_holds_its_numbers_together() {
    let dir = made_up_profiles();
    let devices = ["compare", GRID, "--devices", "made-up-cpu,nvidia-h200,made-up"];
    let more = ["--kernel", "coo", "--block", "128", "--power", "nvidia-h200=700"];
    let answer = json(dir.path(), &[&devices[..], &more].concat());
    assert_eq!(
        (&answer["schema"], &answer["common"]),
        (&"sparsight/compare/1".into(), &"coo/b128/f64".into())
    );
    let devices = answer["devices"].as_array().unwrap();
    let ids: Vec<_> = devices.iter().map(|device| device["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["made-up-cpu", "nvidia-h200", "made-up"]);
    let number = |of: &serde_json::Value, key: &str| of[key].as_f64().unwrap();
    let first = &devices[0]["candidates"][0];
    for device in devices {
        let candidates = device["candidates"].as_array().unwrap();
        assert_eq!(candidates.len(), 1, "the best alone");
        for (one, first) in [(&candidates[0], first), (&device["common"], &devices[0]["common"])] {
            let speed = number(first, "predicted_s") / number(one, "predicted_s");
            assert!((number(one, "speed") / speed - 1.0).abs() < 1e-9, "{one}");
            assert!(number(one, "speed_low") <= speed && speed <= number(one, "speed_high"));
            assert!((number(one, "products_per_s") * number(one, "predicted_s") - 1.0).abs() < 1e-9);
        }
        assert_eq!(device["common"]["id"], "coo/b128/f64");
    }
    let h200 = &devices[1]["candidates"][0];
    let joule = number(h200, "products_per_s") / 700.0;
    assert!((number(h200, "products_per_joule") / joule - 1.0).abs() < 1e-9);
    assert!(first["products_per_joule"].is_null() && h200["products_per_s_per_price"].is_null());
}

#[test]
fn compare_names_the_device_on_which_a_format_is_not_possible() {
    let dir = made_up_profiles();
    let arguments =
        ["compare", "gallery:arrow,n=20000", "--devices", "made-up,made-up-cpu", "--kernel", "ell"];
    let out = run(dir.path(), &arguments);
    assert_exit(&out, 0, "no device has a prediction for --kernel");
}

#[test]
fn info_shows_the_structure_and_every_format() {
    let dir = made_up_profile();
    assert_snapshot!(run(dir.path(), &["info", "gallery:arrow,n=20000", "--profile", "made-up"]));
    assert_snapshot!(run(dir.path(), &["info", "gallery:arrow,n=9", "--profile", "made-up", "--plot"]));
    let (info, advise) = (
        json(dir.path(), &["info", GRID, "--plot"]),
        json(dir.path(), &["advise", GRID, "--profile", "made-up"]),
    );
    assert_eq!(info["structure"], advise["structure"], "the same numbers");
    let lengths = info["structure"]["row_lengths"].as_array().unwrap();
    let rows: u64 = lengths.iter().map(|bin| bin["rows"].as_u64().unwrap()).sum();
    assert_eq!(rows, 250_000);
}

#[test]
fn kernels_shows_the_catalogue_with_its_strips() {
    let dir = made_up_profile();
    assert_snapshot!(run(dir.path(), &["kernels", "--profile", "made-up"]));
}

#[test]
fn fit_says_what_it_fitted_and_on_what() {
    let dir = made_up_profile();
    add_corpus(
        &dir.path().join("made-up"),
        &[("a/grid", GRID, 1.2), ("b/grid", "gallery:stencil3d,n=40", 0.9)],
    );
    assert_snapshot!(run(dir.path(), &["lab", "fit", "made-up", "--train", "a/"]));
}

/// Sets what cross-validation found: boosting is best, but linear for coo, and hyb was never learned.
fn with_linear_best_for_coo(folder: &std::path::Path) {
    let path = folder.join("models/index.json");
    let mut index: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    for (name, error) in [("boosting", 0.2), ("linear", 0.3), ("neighbours", 0.4)] {
        let errors = index["models"][name]["known"]["log_errors"].as_object_mut().unwrap();
        errors.retain(|kernel, _| kernel != "hyb");
        for (kernel, known) in errors {
            let linear_for_coo = name == "linear" && kernel == "coo";
            *known = if linear_for_coo { 0.1 } else { error }.into();
        }
    }
    std::fs::write(path, index.to_string()).unwrap();
}

#[test]
fn answers_say_which_learned_model_they_come_from() {
    let dir = made_up_profile();
    let folder = dir.path().join("made-up");
    let recipes: Vec<(String, String)> =
        (0..22).map(|i| (format!("a/{i}"), format!("gallery:stencil2d,n={}", 20 + 15 * i))).collect();
    let corpus: Vec<(&str, &str, f64)> =
        recipes.iter().map(|(name, recipe)| (name.as_str(), recipe.as_str(), 1.1)).collect();
    add_corpus(&folder, &corpus);
    let fitted = run(dir.path(), &["lab", "fit", "made-up"]);
    for model in ["boosting", "linear", "neighbours"] {
        assert!(fitted.contains(&format!("{model} learned from 22 matrices")), "{fitted}");
    }
    with_linear_best_for_coo(&folder);
    let advise = ["advise", GRID, "--profile", "made-up"];
    let text = run(dir.path(), &advise);
    let said = "predicted by the model boosting, learned from measured matrices; hyb by strip-cache, of which nothing was learned; coo by \
                linear";
    assert!(text.contains(said), "{text}");
    let named = run(dir.path(), &[&advise[..], &["--model", "neighbours"]].concat());
    assert!(!named.contains("predicted by"), "asked and answered: {named}");
    // No model knows SELL-C-sigma here: nothing was measured with it.
    let answer = json(dir.path(), &advise);
    for candidate in answer["candidates"].as_array().unwrap().iter().filter(|c| c["infeasible"].is_null()) {
        let wanted = match candidate["id"].as_str().unwrap() {
            id if id.starts_with("hyb/") => "strip-cache",
            id if id.starts_with("coo/b") => "linear",
            _ => "boosting",
        };
        assert_eq!(candidate["model"], wanted, "{candidate}");
    }
    let coo = run(
        dir.path(),
        &["lab", "predict", GRID, "--profile", "made-up", "--kernel", "coo", "--block", "128"],
    );
    assert!(coo.contains("model best") && coo.contains("by linear") && coo.contains("e^w_0"), "{coo}");
}

#[test]
fn evaluate_prints_the_papers_table() {
    let dir = made_up_profile();
    let folder = dir.path().join("made-up");
    add_corpus(&folder, &[("a/grid", GRID, 1.25), ("b/cube", "gallery:stencil3d,n=40", 0.8)]);
    assert_snapshot!(run(dir.path(), &["lab", "evaluate", "made-up", "--worst", "1"]));
    assert_snapshot!(run(
        dir.path(),
        &["lab", "evaluate", "made-up", "--test", "b/", "--markdown", "--worst", "0"]
    ));
    let by_format = ["lab", "evaluate", "made-up", "--test", "b/", "--by", "format", "--worst", "0"];
    assert_snapshot!(run(dir.path(), &by_format));
    let object = json(dir.path(), &["lab", "evaluate", "made-up", "--test", "a/"]);
    let first = &object["errors"][0];
    assert_eq!((&object["schema"], &first["kernel"]), (&"sparsight/evaluate/1".into(), &"csr-scalar".into()));
    assert_eq!(object["matrices"][0]["all"], 1);
    assert_eq!(object["errors_by_format"][0]["format"], "csr");
    let choices = object["choices"].as_array().unwrap();
    let of = |name: &str| choices.iter().find(|c| c["model"] == name).unwrap();
    assert!(of("strip")["placement"] == "blend" && of("csr-by-mean")["placement"].is_null());
    // The corpus was made from the predictions of strip-cache: what it ranks first is the best of all.
    assert_eq!(of("strip-cache")["mean_ratio"], 1.0);
    assert_eq!(of("best-single")["mean_ratio"], 1.0, "of a single matrix");
    assert!(of("csr-by-mean")["mean_ratio"].as_f64().unwrap() >= 1.0);
    assert_eq!(of("ell-rule")["first_infeasible"], 0);
    assert!(object["plots"].is_null(), "none were asked for");
    // Several statistics of the row lengths are rows of one table.
    let arguments = ["lab", "evaluate", "made-up", "--row-length", "paper,mean,p95"];
    let rows = json(dir.path(), &arguments)["errors"].as_array().unwrap().clone();
    let count = |rule: &str| rows.iter().filter(|row| row["row_length"] == rule).count();
    assert!(count("paper") > 0 && count("paper") == count("mean") && count("mean") == count("p95"));
    assert_eq!(rows.len(), 3 * count("paper"));
}

#[test]
fn advise_names_the_measured_matrices_that_are_nearest() {
    let dir = tempfile::tempdir().unwrap();
    let advise = ["advise", "gallery:stencil2d,n=200", "--device", "nvidia-h200", "-v"];
    let text = run(dir.path(), &advise);
    assert!(text.contains("nearest training matrices: gallery:stencil2d,n="), "{text}");
    let nearby = json(dir.path(), &advise[..4])["nearby"].clone();
    let nearest = nearby["nearest"].as_array().unwrap();
    assert_eq!(nearest.len(), 3);
    assert!(nearest.is_sorted_by_key(|near| near["distance"].as_f64().unwrap()), "{nearby}");
    let line = format!(
        "{} ({:.2})",
        nearest[0]["matrix"].as_str().unwrap(),
        nearest[0]["distance"].as_f64().unwrap()
    );
    assert!(text.contains(&line), "{line} in {text}");
    // No matrix of nine rows was measured.
    let far = ["advise", "gallery:stencil2d,n=3", "--device", "nvidia-h200", "-v"];
    let far = run(dir.path(), &far);
    assert!(far.contains("unlike the training matrices: intervals may be too narrow"), "{far}");
}

#[test]
fn evaluate_shows_the_gain_by_each_part_of_the_catalogue() {
    let dir = made_up_profile();
    let folder = dir.path().join("made-up");
    add_corpus(&folder, &[("a/grid", GRID, 1.25), ("b/cube", "gallery:stencil3d,n=40", 0.8)]);
    assert_snapshot!(run(dir.path(), &["lab", "evaluate", "made-up", "--without-each", "--markdown"]));
    // No model is asked.
    std::fs::remove_dir_all(folder.join("models")).unwrap();
    let object = json(dir.path(), &["lab", "evaluate", "made-up", "--without-each", "--test", "a/"]);
    assert_eq!(object["schema"], "sparsight/evaluate-without/1");
    let without = object["without"].as_array().unwrap();
    let alone = |entry: &&serde_json::Value| entry["kind"] == "family" && entry["class"] == "all";
    let fastest = without.iter().filter(alone).filter(|entry| entry["fastest"] == 1).count();
    assert!(fastest <= 1 && without.iter().all(|entry| entry["mean"].as_f64().unwrap() >= 1.0));
    let wrong = run(dir.path(), &["lab", "evaluate", "made-up", "--without-each", "--model", "best"]);
    assert!(wrong.contains("cannot be used with"), "{wrong}");
}

#[test]
fn evaluate_says_first_whether_a_profile_is_good() {
    let dir = made_up_profile();
    let folder = dir.path().join("made-up");
    add_corpus(&folder, &[("a/grid", GRID, 1.25), ("b/cube", "gallery:stencil3d,n=40", 0.8)]);
    let short = run(dir.path(), &["lab", "evaluate", "made-up"]);
    assert!(short.lines().count() <= 22, "twenty lines below exit code and stdout: {short}");
    assert_snapshot!(short);
    let object = json(dir.path(), &["lab", "evaluate", "made-up"]);
    // The mean over all is that over the kernels, each with its times.
    for of_all in object["errors_overall"].as_array().unwrap() {
        let same = |row: &&serde_json::Value| {
            ["model", "dtype", "scope"].iter().all(|key| row[*key] == of_all[*key])
        };
        let rows: Vec<_> = object["errors"].as_array().unwrap().iter().filter(same).collect();
        let number = |row: &serde_json::Value, key: &str| row[key].as_f64().unwrap();
        let times: f64 = rows.iter().map(|row| number(row, "count")).sum();
        let mean: f64 =
            rows.iter().map(|row| number(row, "mean") * number(row, "count")).sum::<f64>() / times;
        assert!(
            (times - number(of_all, "count")).abs() < 0.5 && (mean - number(of_all, "mean")).abs() < 1e-9,
            "{of_all}"
        );
    }
    let full = run(dir.path(), &["lab", "evaluate", "made-up", "--full"]);
    assert_eq!(
        full,
        run(dir.path(), &["lab", "evaluate", "made-up", "--worst", "3"]),
        "what shapes the tables asks for them"
    );
    let one =
        run(dir.path(), &["lab", "evaluate", "made-up", "--kernel", "coo/i1,ell", "--model", "strip-cache"]);
    assert!(one.contains("coo i1") && one.contains("ell "), "{one}");
    assert!(
        !one.contains("csr-scalar  ") && !one.contains("coo i2") && !one.contains("best-single:"),
        "{one}"
    );
    assert!(!one.contains(" strip  "), "{one}");
    let from = run(dir.path(), &["lab", "evaluate", "made-up", "--from", "made-up", "--full"]);
    assert!(from.starts_with("exit code: 2"), "{from}");
}

#[test]
fn the_gallery_lists_generators_and_describes_one() {
    let dir = tempfile::tempdir().unwrap();
    let all = json(dir.path(), &["gallery"]);
    assert!(all["generators"].as_array().unwrap().len() >= 12);
    assert_snapshot!(run(dir.path(), &["gallery", "stencil2d"]));
}

#[test]
fn completions_are_printed_for_every_shell() {
    let dir = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let out = run(dir.path(), &["completions", shell]);
        assert!(out.starts_with("exit code: 0") && out.contains("advise"), "{shell}");
    }
}

#[test]
fn colour_comes_only_when_it_is_asked_for() {
    let dir = made_up_profile();
    let with = |when: &str| {
        let mut command = crate::support::sparsight(dir.path());
        command.current_dir(dir.path()).env_remove("NO_COLOR");
        command.args(["advise", GRID, "--profile", "made-up", "--color", when]);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert!(!with("auto").contains('\u{1b}'), "stdout is no terminal");
    assert!(with("always").contains('\u{1b}'));
}
