//! Commands that measure, on the processor of this machine, with every measured number blanked.

use crate::support::{assert_exit, blanked, json, run, sparsight};
use insta::assert_snapshot;
use std::path::Path;

#[test]
fn bench_checks_and_times_and_lists_what_is_not_possible() {
    let dir = tempfile::tempdir().unwrap();
    // Quiet: a machine that is not says so.
    let flags = ["--quick", "--kernel", "csr-scalar,ell", "--block", "64", "-q"];
    let out = run(dir.path(), &[&["bench", "gallery:arrow,n=5000"][..], &flags].concat());
    let cpu = json(dir.path(), &["devices"])["here"][0]["name"].as_str().unwrap().to_owned();
    assert_snapshot!(blanked(&out.replace(&cpu, "CPU")));
}

#[test]
fn bench_of_several_matrices_is_one_object() {
    let dir = tempfile::tempdir().unwrap();
    let matrices = ["gallery:stencil2d,n=20", "gallery:banded,n=100"];
    let flags = ["--quick", "--cold", "--dtype", "f32", "--kernel", "coo", "--block", "64,128"];
    let object = json(dir.path(), &[&["bench"][..], &matrices, &flags].concat());
    assert_eq!(object["schema"], "sparsight/bench/1");
    assert_eq!(object["caches"], "cold");
    assert_eq!(object["matrices"].as_array().unwrap().len(), 2);
    for candidate in object["matrices"][1]["candidates"].as_array().unwrap() {
        assert!(candidate["measured_s"].as_f64().unwrap() > 0.0, "{candidate}");
        assert_eq!((&candidate["kernel"], &candidate["dtype"]), (&"coo".into(), &"f32".into()));
    }
}

#[test]
fn a_processor_is_profiled_fitted_measured_evaluated_and_advised_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    // Two workers, so that a strip is the same on every machine and two row lengths stay below the bound.
    let jobs = ["--device", "cpu", "--jobs", "2"];
    let profile = "lab profile -o p --dtype f64 --max-bytes 4MB --row-lengths constant";
    let profile = [&profile.split(' ').collect::<Vec<_>>()[..], &jobs].concat();
    let first = json(path, &profile);
    assert!(first["measured"].as_u64().unwrap() > 0 && first["failed"] == 0, "{first}");
    let again = json(path, &profile);
    assert_eq!(again["measured"], 0, "what is there is not measured again");
    for file in ["device.json", "benchmark.jsonl", "models/index.json", "models/strip.gz"] {
        assert!(path.join("p").join(file).is_file(), "{file}");
    }

    std::fs::create_dir(path.join("set")).unwrap();
    std::fs::write(path.join("set/broken.mtx"), "nothing\n").unwrap();
    std::fs::write(path.join("set/one.mtx"), "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 3\n")
        .unwrap();
    let measure =
        ["lab", "measure", "set", "gallery:stencil2d,n=40", "--device", "cpu", "-o", "p", "--dtype", "f64"];
    let out = sparsight(path).current_dir(path).args(measure).arg("--json").output().unwrap();
    assert_eq!(out.status.code(), Some(1), "one matrix is broken, the others are measured all the same");
    let counts: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!((&counts["measured"], &counts["unreadable"][0]["matrix"]), (&2.into(), &"set/broken".into()));

    let fitted = json(path, &["lab", "fit", "p"]);
    assert_eq!(fitted["trained_on"], 2);
    let models = || -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(path.join("p/models/index.json")).unwrap()).unwrap()
    };
    assert_eq!(models()["train"], serde_json::Value::Null, "all of the corpus");
    json(path, &["lab", "fit", "p", "--train", "set/,gallery:"]);
    assert_eq!(models()["train"], serde_json::json!(["set/", "gallery:"]), "the split stays with the models");
    let evaluated = json(path, &["lab", "evaluate", "p", "--test", "gallery:"]);
    assert_eq!(evaluated["matrices"][0]["all"], 1);

    let advise = ["advise", "gallery:stencil2d,n=60", "--profile", "p", "--verify", "--jobs", "2"];
    let advice = json(path, &advise);
    let measured = advice["candidates"].as_array().unwrap().iter().filter(|c| !c["measured_s"].is_null());
    assert!((5..=6).contains(&measured.count()), "the first, the best CSR and what may gain most: {advice}");
    let of_the_others = |name: &str| {
        let open = advice["candidates"].as_array().unwrap().iter().find(|c| !c[name].is_null());
        open.map(|c| c["measured_s"].is_null() && c[name].as_f64().unwrap() > 0.0)
    };
    for name in ["expected_s", "expected_low_s", "expected_high_s"] {
        assert_eq!(of_the_others(name), Some(true), "{name}: {advice}");
    }
    assert!(advice["next_run"]["gain_s"].as_f64().unwrap() >= 0.0, "{advice}");
    let text = run(path, &advise);
    assert_exit(&text, 0, "measured / predicted");
    assert!(text.contains("\nMeasured: ") && text.contains(" is the fastest of "), "{text}");
    let plan = ["plan", "gallery:stencil2d,n=60", "--profile", "p", "--run", "--jobs", "2"];
    let singles = |flags: &[&str]| {
        let answer = json(path, &[&plan[..], flags].concat());
        let measured = answer["matrices"][0]["measured"].as_array().unwrap().clone();
        let is_single = |one: &&serde_json::Value| one["what"].as_str().unwrap().starts_with("single");
        (measured.iter().filter(is_single).count(), answer["matrices"][0]["next_run"]["gain_s"].as_f64())
    };
    assert_eq!(singles(&[]), (1, None));
    let (tried, next) = singles(&["--try", "3"]);
    assert!((3..=4).contains(&tried) && next.is_some_and(|gain| gain >= 0.0), "{tried} {next:?}");
    let (few, next) = singles(&["--try", "auto", "--iterations", "1"]);
    assert!(few == 1 && next.is_none(), "one product is not worth a run: {few} {next:?}");
    let (many, _) = singles(&["--try", "auto", "--iterations", "1e9"]);
    assert!(many > 1, "{many}");
}

#[test]
fn cuts_that_were_run_teach_what_cutting_costs() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    let profile = "lab profile -o p --dtype f64 --max-bytes 2MB --row-lengths constant --device cpu --jobs 2";
    json(path, &profile.split(' ').collect::<Vec<_>>());
    let matrices = ["gallery:banded,n=2000,band=2", "gallery:banded,n=3000,band=4", "gallery:stencil2d,n=60"];
    let flags = "--profile p --model strip --strips 4 --run --cut --record --jobs 2";
    let plan = [&["plan"][..], &matrices, &flags.split(' ').collect::<Vec<_>>()].concat();
    let planned = json(path, &plan);
    let of = |object: &serde_json::Value| object["matrices"].as_array().unwrap().clone();
    assert_eq!(of(&planned).len(), 3);
    for strategy in of(&planned).iter().flat_map(|matrix| matrix["strategies"].as_array().unwrap()) {
        assert!(strategy["parts"].as_array().unwrap().len() > 1, "cut in any case: {strategy}");
    }
    let cuts = path.join("p/cuts.jsonl");
    let lines = || -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(&cuts).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    assert_eq!(lines().len(), 6, "sequential and fused");
    for cut in lines() {
        let parts = cut["parts"].as_array().unwrap();
        let rows: u64 = parts.iter().map(|part| part["nrows"].as_u64().unwrap()).sum();
        assert_eq!(Some(rows), cut["single"]["nrows"].as_u64());
        assert!(parts.iter().all(|part| part["time_s"].as_f64().unwrap() > 0.0), "{cut}");
    }
    let again = run(path, &plan);
    assert!(again.contains("0 cuts added to p/cuts.jsonl, 6 known before"), "{again}");
    assert_eq!(lines().len(), 6, "what is there is not run again");
    // Another cut of the same matrix is; what cannot be read is left out, what has a single strip is not cut.
    std::fs::write(path.join("broken.mtx"), "nothing\n").unwrap();
    let others = ["plan", matrices[0], "broken.mtx", "gallery:banded,n=20,band=1"];
    let flags = "--profile p --model strip --strips 7 --run --cut --record --jobs 2 --execution fused";
    let text = run(path, &[&others[..], &flags.split(' ').collect::<Vec<_>>()].concat());
    assert_exit(&text, 1, "warning: skipped: broken.mtx");
    assert!(text.contains("1 cut added to p/cuts.jsonl, 0 known before"), "{text}");

    let cut_once = ["plan", matrices[0], "--profile", "p", "--model", "strip", "--strips", "4", "--cut"];
    let text = run(path, &cut_once);
    assert!(text.contains("is learned by `plan --run --cut --record`, then `lab fit`"), "{text}");
    // As if 40 fused cuts into two parts had taken 1.3 times what was predicted.
    let mut made = String::new();
    for i in 0..40 {
        let mut cut = lines().into_iter().find(|cut| cut["execution"] == "fused").unwrap();
        let part = cut["parts"][0].clone();
        cut["parts"] = serde_json::json!([part, part]);
        let time = 1e-6 * 1.2_f64.powi(i);
        cut["parts"][0]["predicted_s"] = time.into();
        cut["parts"][1]["predicted_s"] = (2.0 * time).into();
        cut["time_s"] = (1.3 * 3.0 * time).into();
        cut["matrix"] = format!("made-up/{i}").into();
        made += &(cut.to_string() + "\n");
    }
    std::fs::write(&cuts, made).unwrap();
    let text = run(path, &["lab", "fit", "p"]);
    assert!(text.contains("40 cuts by strip, fused: took 1.30 times the sum"), "{text}");
    assert!(!text.contains("sequential"), "{text}");
    let text = run(path, &cut_once);
    assert!(text.contains("1.30 x what each part takes") && text.contains("learned from 40 cuts"), "{text}");
    assert!(text.contains("is learned by `plan --run --cut --record`, then `lab fit`"), "sequential: {text}");
    let shipped = ["--profile", "nvidia-h200", "--run", "--cut", "--record"];
    let text = run(path, &[&cut_once[..2], &shipped].concat());
    assert!(text.contains("'nvidia-h200' is not a folder, so records cannot be added to it"), "{text}");
}

#[test]
fn shards_share_a_corpus_and_their_files_are_put_together() {
    let dir = tempfile::tempdir().unwrap();
    let recipes: Vec<String> = (10..16).map(|n| format!("gallery:stencil2d,n={n}")).collect();
    let mut together = String::new();
    let mut sizes = Vec::new();
    for shard in 1..=2_usize {
        let (share, folder) = (format!("{shard}/2"), format!("p{shard}"));
        let mut measure =
            vec!["lab", "measure", "--device", "cpu", "--dtype", "f64", "--shard", &share, "-o", &folder];
        // In another order, as when two machines list a folder differently.
        let listed = recipes.iter().map(String::as_str);
        if shard == 1 {
            measure.extend(listed);
        } else {
            measure.extend(listed.rev());
        }
        let done = json(dir.path(), &measure);
        assert_eq!((&done["shard"], &done["unreadable"]), (&share.as_str().into(), &serde_json::json!([])));
        let count = |name: &str| done[name].as_u64().unwrap();
        assert_eq!(count("measured") + count("elsewhere"), 6);
        sizes.push(count("measured"));
        together +=
            &std::fs::read_to_string(dir.path().join(folder).join("corpus.jsonl")).unwrap_or_default();
    }
    assert_eq!(sizes.iter().sum::<u64>(), 6, "each matrix is in one shard");
    // All of them, put together in a third folder, are known there.
    std::fs::create_dir(dir.path().join("all")).unwrap();
    std::fs::copy(dir.path().join("p1/device.json"), dir.path().join("all/device.json")).unwrap();
    std::fs::write(dir.path().join("all/corpus.jsonl"), together).unwrap();
    let mut measure = vec!["lab", "measure", "--device", "cpu", "--dtype", "f64", "-o", "all"];
    measure.extend(recipes.iter().map(String::as_str));
    let done = json(dir.path(), &measure);
    assert_eq!((&done["measured"], &done["skipped"]), (&0.into(), &6.into()));
}

#[test]
fn a_profile_within_a_budget_fits_the_finished_part() {
    let dir = tempfile::tempdir().unwrap();
    let profile = ["lab", "profile", "--device", "cpu", "--dtype", "f64", "-o", "p", "--budget", "20s"];
    let done = json(dir.path(), &profile);
    let of = |name: &str| done[name].as_u64().unwrap();
    assert!(of("measured") > 0 && of("left") > 0, "{done}");
    assert_eq!(of("measured") + of("beyond_bound") + of("left"), of("points"));
    assert!(dir.path().join("p/transfer.json").exists() && dir.path().join("p/models/index.json").exists());
}

#[test]
fn a_budget_leaves_the_rest_for_the_same_command() {
    let dir = tempfile::tempdir().unwrap();
    let recipes = ["gallery:stencil2d,n=10", "gallery:stencil2d,n=12", "gallery:stencil2d,n=14"];
    let measure = |budget: &'static str| {
        let flags =
            ["lab", "measure", "--device", "cpu", "--dtype", "f64", "--kernel", "csr-scalar", "-o", "p"];
        json(dir.path(), &[&flags[..], &["--budget", budget], &recipes].concat())
    };
    let done = measure("0s");
    assert_eq!((&done["measured"], &done["left"]), (&0.into(), &3.into()), "it was spent before the first");
    let done = measure("1h");
    assert_eq!((&done["measured"], &done["left"]), (&3.into(), &0.into()));
    let done = measure("1h");
    assert_eq!((&done["measured"], &done["skipped"]), (&0.into(), &3.into()));
}

#[test]
fn another_matrix_of_the_same_folder_and_name_is_not_added_to_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    write_a(path, "here", [3, 2]);
    write_a(path, "there", [4, 2]);
    // Of the same size, with other numbers.
    write_a(path, "elsewhere", [3, 3]);
    let by = |kernel: &'static str| ["--device", "cpu", "--dtype", "f64", "--kernel", kernel];
    let (code, first) = measure(path, &[&by("csr-scalar")[..], &["here/set/a.mtx"]].concat());
    assert_eq!((code, &first["measured"]), (Some(0), &1.into()));
    let why = "the folder holds another matrix of this name, 3 x 3 with 1 non-zero in a band of 1";
    for other in ["there/set/a.mtx", "elsewhere/set/a.mtx"] {
        for how in [&by("coo")[..], &["--features-only"]] {
            let (code, counts) = measure(path, &[how, &[other]].concat());
            assert_eq!((code, &counts["unreadable"][0]["why"]), (Some(1), &why.into()), "{other}: {counts}");
            assert_eq!((&counts["measured"], &counts["renewed"]), (&0.into(), &0.into()), "{other}");
        }
    }
    let (code, same) = measure(path, &[&by("coo")[..], &["here/set/a.mtx"]].concat());
    assert_eq!((code, &same["measured"]), (Some(0), &1.into()));
}

/// Writes `PLACE/set/a.mtx`, of so many rows and columns, with one non-zero in this column of its first row.
fn write_a(path: &Path, place: &str, [n, column]: [u32; 2]) {
    let set = path.join(place).join("set");
    std::fs::create_dir_all(&set).unwrap();
    let text = format!("%%MatrixMarket matrix coordinate real general\n{n} {n} 1\n1 {column} 3\n");
    std::fs::write(set.join("a.mtx"), text).unwrap();
}

/// Exit code and answer of `lab measure` into the folder `p`.
fn measure(path: &Path, more: &[&str]) -> (Option<i32>, serde_json::Value) {
    let flags = ["lab", "measure", "-o", "p", "--json"];
    let out = sparsight(path).current_dir(path).args(flags).args(more).output().unwrap();
    (out.status.code(), serde_json::from_slice(&out.stdout).unwrap())
}

#[test]
fn of_two_sources_with_one_name_the_first_is_measured_and_what_is_named_twice_counts_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    write_a(path, "here", [3, 2]);
    write_a(path, "there", [4, 2]);
    let by = ["--device", "cpu", "--dtype", "f64", "--kernel", "csr-scalar"];
    let sources = [
        "derived:transpose:here/set/a.mtx",
        "derived:transpose:there/set/a.mtx",
        "derived:transpose:./here/set/a.mtx",
    ];
    for (how, did) in [(&by[..], "measured"), (&["--features-only"], "skipped")] {
        let (code, counts) = measure(path, &[how, &sources].concat());
        let of = ["measured", "skipped", "unknown"].map(|name| counts[name] == u64::from(name == did));
        assert_eq!((code, of), (Some(1), [true; 3]), "{counts}");
        let left_out = serde_json::json!([{
            "matrix": "set/a+transpose",
            "why": "another file before it has this folder and name"
        }]);
        assert_eq!(counts["unreadable"], left_out);
    }
    std::fs::copy(path.join("here/set/a.mtx"), path.join("here/set/a.mtx.gz")).unwrap();
    let out = run(path, &[&["lab", "measure", "here", "-o", "q"][..], &by].concat());
    assert_exit(&out, 1, "1 measured, 0 known before, 1 left out; q holds 1 record\n");
}

#[test]
fn a_bench_is_exported_and_compared_with_an_earlier_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    let bench =
        ["bench", "gallery:stencil2d,n=30", "--device", "cpu", "--quick", "--kernel", "csr-scalar,coo"];
    let mut before = json(path, &[&bench[..], &["--export-csv", "now.csv"]].concat());
    let table = std::fs::read_to_string(path.join("now.csv")).unwrap();
    let candidates = before["matrices"][0]["candidates"].as_array().unwrap().len();
    assert_eq!(table.lines().count(), candidates + 1);
    assert!(table.starts_with("matrix,nrows,") && table.contains("csr-scalar/b64/f64"), "{table}");

    // One that was ten times as slow, one ten times as fast; the rest as now with the widest of spreads.
    let mut ids = Vec::new();
    for (at, candidate) in before["matrices"][0]["candidates"].as_array_mut().unwrap().iter_mut().enumerate()
    {
        let factor = [10.0, 0.1].get(at).copied().unwrap_or(1.0);
        let spread = if at < 2 { 0.0 } else { 100.0 };
        candidate["measured_s"] = (factor * candidate["measured_s"].as_f64().unwrap()).into();
        (candidate["spread"], candidate["samples"]) = (spread.into(), 9.into());
        ids.push(candidate["id"].clone());
    }
    std::fs::write(path.join("before.json"), before.to_string()).unwrap();
    let compare = [&bench[..], &["--compare", "before.json"]].concat();
    let now = json(path, &compare);
    let of = |at: usize| {
        let all = now["matrices"][0]["candidates"].as_array().unwrap();
        all.iter().find(|candidate| candidate["id"] == ids[at]).unwrap().clone()
    };
    let (slow, fast, wide) = (of(0), of(1), of(2));
    let ratio = slow["measured_s"].as_f64().unwrap() / slow["before_s"].as_f64().unwrap();
    assert!((slow["over_before"].as_f64().unwrap() - ratio).abs() < 1e-12 && ratio < 1.0, "{slow}");
    assert!(fast["over_before"].as_f64().unwrap() > 1.0, "{fast}");
    assert_eq!(wide["beyond_spread"], false);
    let text = run(path, &compare);
    assert!(text.contains("now / before") && text.contains("faster") && text.contains("slower"), "{text}");

    before["device"]["name"] = "Another CPU".into();
    before["matrices"] = serde_json::json!([]);
    std::fs::write(path.join("before.json"), before.to_string()).unwrap();
    let text = run(path, &compare);
    assert!(text.contains("times of another device: Another CPU, now "), "{text}");
    assert!(text.contains("none of these candidates was measured before"), "{text}");
    for (name, content) in [("a.json", "no"), ("b.json", "{\"schema\": \"sparsight/info/1\"}")] {
        std::fs::write(path.join(name), content).unwrap();
        let out = run(path, &[&bench[..], &["--compare", name]].concat());
        assert_exit(&out, 2, "hint: `sparsight bench A.mtx --json");
    }
}

#[test]
fn a_bench_of_a_folder_skips_unreadable_files() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("broken.mtx"), "nothing\n").unwrap();
    let bench =
        ["bench", "broken.mtx", "gallery:banded,n=50", "--device", "cpu", "--quick", "--kernel", "coo"];
    let out = run(dir.path(), &bench);
    assert_exit(&out, 1, "skipped: broken.mtx:1:1");
    assert!(out.contains("gallery:banded,n=50   50 x 50"), "{out}");
}

#[test]
fn a_matrix_is_compared_with_the_one_of_its_name_and_size_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    for (folder, n) in [("a", 2), ("b", 3)] {
        std::fs::create_dir(path.join(folder)).unwrap();
        let text = format!("%%MatrixMarket matrix coordinate real general\n{n} {n} 1\n1 1 1\n");
        std::fs::write(path.join(folder).join("x.mtx"), text).unwrap();
    }
    let bench = |more: &[&'static str]| {
        [&["bench", "--device", "cpu", "--quick", "--kernel", "coo", "--block", "64"][..], more].concat()
    };
    let times = |answer: &serde_json::Value, at: usize, name: &str| {
        let candidates = answer["matrices"][at]["candidates"].as_array().unwrap();
        let time = |one: &serde_json::Value| Some((one["id"].as_str()?.to_owned(), one[name].as_f64()?));
        candidates.iter().filter_map(time).collect::<std::collections::HashMap<_, _>>()
    };
    let mut before = json(path, &bench(&["a/x.mtx", "b/x.mtx"]));
    std::fs::write(path.join("before.json"), before.to_string()).unwrap();
    let compare = bench(&["b/x.mtx", "--compare", "before.json"]);
    let now = json(path, &compare);
    assert!(!times(&before, 1, "measured_s").is_empty(), "{before}");
    assert_eq!(times(&now, 0, "before_s"), times(&before, 1, "measured_s"));
    before["matrices"].as_array_mut().unwrap().pop();
    std::fs::write(path.join("before.json"), before.to_string()).unwrap();
    let out = run(path, &compare);
    assert_exit(&out, 0, "warning: x.mtx: another matrix of this name was measured before");
    assert!(!out.contains("none of these candidates"), "{out}");
}

#[test]
fn a_bench_is_not_begun_if_its_export_cannot_be_written_and_is_shown_if_that_fails_later() {
    let dir = tempfile::tempdir().unwrap();
    let export = |file: &str| {
        let bench = ["bench", "gallery:banded,n=50", "--device", "cpu", "--quick", "--kernel", "coo"];
        run(dir.path(), &[&bench[..], &["--export-csv", file]].concat())
    };
    let out = export("gone/now.csv");
    assert_exit(&out, 2, "----- stdout -----\n----- stderr -----\nerror: gone/now.csv: No such file");
    if cfg!(target_os = "linux") {
        let out = export("/dev/full");
        assert_exit(&out, 2, "gallery:banded,n=50   50 x 50");
        assert!(out.contains("error: /dev/full: No space left"), "{out}");
    }
}
