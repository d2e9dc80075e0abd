//! Commands of a user who has not read the help: understood, or refused with what to type instead.

use crate::support::{assert_exit, json, made_up_profile, run};
use std::fs;

const MATRIX: &str = "gallery:stencil2d,n=20";

#[test]
fn a_number_of_products_is_taken_as_people_write_it() {
    let dir = made_up_profile();
    for text in ["1e6", "1,000,000", "1000000"] {
        let answer = json(dir.path(), &["advise", MATRIX, "--profile", "made-up", "--iterations", text]);
        assert_eq!(answer["products"], 1_000_000);
    }
    let out = run(dir.path(), &["advise", MATRIX, "--iterations", "lots"]);
    assert!(out.contains("'lots' is not a number of products such as 1000 or 1e6"), "{out}");
}

#[test]
fn a_device_that_is_meant_is_named() {
    let dir = made_up_profile();
    for (typed, meant) in [("H200", "nvidia-h200"), ("NVIDIA H100", "nvidia-h100")] {
        let out = run(dir.path(), &["advise", MATRIX, "--device", typed]);
        assert!(out.contains(&format!("did you mean {meant}?")), "{out}");
    }
    let out = run(dir.path(), &["advise", MATRIX, "--device", "abacus"]);
    assert!(!out.contains("did you mean") && out.contains("a device is cpu"), "{out}");
    let out = run(dir.path(), &["lab", "fit", "nvidia-h200"]);
    assert!(out.contains("part of the program") && out.contains("profiles/nvidia-h200"), "{out}");
}

#[test]
fn a_missing_folder_is_named_with_the_command_that_makes_one() {
    let dir = made_up_profile();
    for command in [&["lab", "fit"][..], &["lab", "evaluate"], &["rules"], &["lab", "repair"]] {
        let out = run(dir.path(), &[command, &["gone"]].concat());
        let says = "error: gone: there is no such folder\n\nhint: this takes the folder of a profile: `sparsight lab profile";
        assert_exit(&out, 2, says);
    }
}

#[test]
fn rules_of_a_profile_without_times_say_what_to_do() {
    let dir = made_up_profile();
    let out = run(dir.path(), &["rules", "made-up"]);
    assert!(out.contains("hint: `sparsight lab measure MATRICES -o made-up`"), "{out}");
    let paper = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/tesla-c2050-paper");
    let out = run(dir.path(), &["rules", paper]);
    assert!(out.contains("was taken from elsewhere") && !out.contains("`sparsight lab measure"), "{out}");
}

#[test]
fn a_price_is_for_the_folder_however_it_is_written() {
    let dir = made_up_profile();
    let devices = ["--devices", "nvidia-h200,./made-up"];
    let all = [&["compare", MATRIX][..], &devices, &["--price", "made-up/=3,nvidia-h200=4"]].concat();
    let out = run(dir.path(), &all);
    assert!(!out.contains("is given for"), "{out}");
    // As answers call it, while only one is called so.
    let (elsewhere, third) = (made_up_profile(), made_up_profile());
    let [elsewhere, third] = [&elsewhere, &third].map(|dir| dir.path().join("made-up").display().to_string());
    let flags = |devices: &str| {
        ["compare", MATRIX, "--devices", devices, "--price", "made-up=3"].map(ToOwned::to_owned)
    };
    let answer = |devices: &str| json(dir.path(), &flags(devices).each_ref().map(String::as_str));
    assert_eq!(answer(&format!("nvidia-h200,{elsewhere}"))["devices"][1]["price"], 3.0);
    let here = answer(&format!("{elsewhere},made-up"));
    assert!(here["devices"][0]["price"].is_null() && here["devices"][1]["price"] == 3.0, "{here}");
    let out = run(dir.path(), &flags(&format!("{elsewhere},{third}")).each_ref().map(String::as_str));
    assert!(out.contains("are called so") && out.contains("hint: give the path of one"), "{out}");
}

#[test]
fn top_is_heeded_by_every_list() {
    let dir = made_up_profile();
    let length = |command: &[&str], list: &str| {
        let answer = json(dir.path(), &[command, &["--top", "2"]].concat());
        answer[list].as_array().unwrap().len()
    };
    assert_eq!(length(&["lab", "predict", MATRIX, "--device", "nvidia-h200"], "candidates"), 2);
    assert_eq!(length(&["kernels", "--device", "nvidia-h200"], "kernels"), 2);
    // What the verdict names stays.
    let answer = json(dir.path(), &["advise", MATRIX, "--device", "nvidia-h200", "--top", "1"]);
    let ids: Vec<&str> =
        answer["candidates"].as_array().unwrap().iter().filter_map(|one| one["id"].as_str()).collect();
    let verdict = &answer["verdict"];
    for named in [
        &verdict["best"],
        &verdict["recommended"],
        &verdict["plain_csr"]["id"],
        &verdict["vendors_csr"]["id"],
    ] {
        assert!(ids.contains(&named.as_str().unwrap()), "{named}: {ids:?}");
    }
    let out = run(dir.path(), &["lab", "predict", MATRIX, "--device", "nvidia-h200", "--top", "2"]);
    assert!(out.contains("197 candidates more: `--top 199`"), "{out}");
}

#[test]
fn a_matrix_of_the_suitesparse_collection_is_known_by_its_name() {
    let dir = made_up_profile();
    let out = run(dir.path(), &["info", "Williams/cant"]);
    assert_exit(&out, 2, "https://sparse.tamu.edu/Williams/cant");
    let says = "there is no such file or folder, nor a matrix cant here, in cant or in Williams";
    assert!(out.contains(&format!("error: Williams/cant: {says}\n")), "{out}");
    let text = "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 1\n2 3\n";
    fs::create_dir(dir.path().join("cant")).unwrap();
    fs::write(dir.path().join("cant/cant.mtx"), text).unwrap();
    let answer = json(dir.path(), &["info", "Williams/cant"]);
    assert_eq!((&answer["matrix"]["name"], &answer["matrix"]["nnz"]), (&"cant.mtx".into(), &2.into()));
    // What lies elsewhere than the name says is named.
    let out = run(dir.path(), &["info", "Williams/cant"]);
    assert_exit(&out, 0, "Williams/cant: there is no such file, so cant/cant.mtx is read\n");
    fs::rename(dir.path().join("cant"), dir.path().join("Williams")).unwrap();
    fs::write(dir.path().join("cant.mtx"), "another").unwrap();
    let out = run(dir.path(), &["info", "Williams/cant"]);
    assert!(out.starts_with("exit code: 0") && !out.contains("there is no such file"), "{out}");
}

#[test]
fn a_single_duplicate_is_reported_in_the_singular() {
    let dir = made_up_profile();
    let text = "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n1 1 2\n2 2 3\n";
    fs::write(dir.path().join("a.mtx"), text).unwrap();
    let out = run(dir.path(), &["info", "a.mtx"]);
    assert!(out.contains("a.mtx: 1 duplicate entry was merged"), "{out}");
}

#[test]
fn advice_begins_with_what_to_use() {
    let dir = made_up_profile();
    let out = run(dir.path(), &["advise", "gallery:fem,n=20", "--device", "nvidia-h200"]);
    let answer = json(dir.path(), &["advise", "gallery:fem,n=20", "--device", "nvidia-h200"]);
    let verdict = &answer["verdict"];
    assert_eq!(verdict["best"], answer["candidates"][0]["id"]);
    let used =
        answer["candidates"].as_array().unwrap().iter().find(|one| one["id"] == verdict["recommended"]);
    let time = |of: &serde_json::Value| of["predicted_s"].as_f64().unwrap();
    let speedup = time(&verdict["plain_csr"]) / time(used.unwrap());
    assert!(speedup > 1.05 && out.contains("\nUse "), "{out}");
    assert!(out.contains(&format!("{speedup:.1} times as fast as the best plain CSR")), "{out}");
    // Both CSRs stand in the table, however far down.
    for csr in ["plain_csr", "vendors_csr"] {
        let id = verdict[csr]["id"].as_str().unwrap();
        let name = id.rsplit_once('/').unwrap().0.rsplit_once("/b").map_or(id, |(name, _)| name);
        let shown = name.trim_end_matches("/f64").replace('/', " ");
        assert!(out.lines().filter(|line| line.contains(&shown)).count() >= 1, "{shown}: {out}");
    }
    let few = ["advise", "gallery:fem,n=20", "--device", "nvidia-h200", "--iterations", "2"];
    let out = run(dir.path(), &few);
    let answer = json(dir.path(), &[&few[..], &["--all"]].concat());
    let equal = answer["verdict"]["equal"].as_array().unwrap();
    let is_csr = |id: &serde_json::Value| {
        let one = answer["candidates"].as_array().unwrap().iter().find(|one| &one["id"] == id);
        one.unwrap()["format"] == "csr"
    };
    let words = if equal.iter().all(is_csr) { "Stay with CSR" } else { "CSR is as good as anything" };
    assert!(out.contains(&format!("\n{words}: csr-")) && !out.contains("is is"), "{out}");
    assert!(!out.contains("sooner ready"), "conversion is not recommended: {out}");
    assert_eq!(json(dir.path(), &few)["verdict"]["gains_nothing"], true);
}

#[test]
fn a_candidate_of_a_table_can_be_pasted_to_see_its_source() {
    let dir = made_up_profile();
    let of_table = run(dir.path(), &["kernels", "--source", "bsr b3 t4 b128"]);
    let of_id = run(dir.path(), &["kernels", "--source", "bsr/b3/t4/b128/f64"]);
    assert_eq!(of_table, of_id);
    assert!(of_id.contains("#define BLOCK 128") && of_id.contains("extern \"C\" __global__"), "{of_id}");
    assert!(!of_id.contains("#line"), "{of_id}");
    // What its arrays are is told, too.
    assert!(of_id.contains("// slice_ptr  unsigned long long  ") && !of_id.contains("```"), "{of_id}");
    let answer = json(dir.path(), &["kernels", "--source", "coo/b256/f32"]);
    let launches = answer["launches"].as_array().unwrap();
    assert!(
        launches
            .iter()
            .all(|launch| answer["text"].as_str().unwrap().contains(launch["entry"].as_str().unwrap()))
    );
    let out = run(dir.path(), &["kernels", "--source", "cusparse-csr a1 (vendor)"]);
    assert!(out.contains("is a closed-source routine of NVIDIA's"), "{out}");
    let out = run(dir.path(), &["kernels", "--source", "sell c32 s1 t4"]);
    assert!(out.contains("sell c32 s1 t4 b256 in f64"), "{out}");
    let out = run(dir.path(), &["kernels", "--source", "magic"]);
    assert!(out.contains("is no candidate such as") && out.contains("hint: `sparsight kernels`"), "{out}");
    let out = run(dir.path(), &["kernels", "--source", "csr-vektor t8 b256"]);
    assert!(out.contains("did you mean csr-vector t8 b256?"), "{out}");
}

#[test]
fn a_candidate_can_be_pasted_into_every_flag_that_takes_a_kernel() {
    let dir = made_up_profile();
    let on = ["--device", "nvidia-h200"];
    let ids = |kernel: &str| {
        let answer = json(dir.path(), &[&["lab", "predict", MATRIX, "--kernel", kernel], &on[..]].concat());
        let all = answer["candidates"].as_array().unwrap();
        all.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for form in ["csr-vector t8 b256", "csr-vector/t8/b256", "csr-vector/t8/b256/f64"] {
        assert_eq!(ids(form), ["csr-vector/t8/b256/f64"], "{form}");
    }
    assert_eq!(ids("cusparse-csr a1 (vendor)"), ["cusparse-csr/a1/f64"]);
    assert_eq!((ids("csr-vector t8").len(), ids("csr-vector/t8").len()), (5, 5));
    // What is printed is spaced, in every command.
    let name = "csr-vector t8 b256";
    for (command, devices) in [
        (&["lab", "predict"][..], &on[..]),
        (&["compare"], &["--devices", "nvidia-h200,nvidia-h100"]),
        (&["lab", "transfer"], &["--to", "nvidia-h100"]),
    ] {
        let out = run(dir.path(), &[command, &[MATRIX, "--kernel", name], devices].concat());
        assert!(out.contains(name) && !out.contains("csr-vector/t8"), "{out}");
    }
    let single = ["lab", "predict", MATRIX, "--kernel", "csr-vector/t8/b256/f32", "--device", "nvidia-h200"];
    let out = run(dir.path(), &single);
    assert!(out.contains("csr-vector t8 b256 is evaluated in f64; use `--dtype f32` for f32"), "{out}");
    let out = run(dir.path(), &[&["lab", "predict", MATRIX, "--kernel", "csr-vector t9"], &on[..]].concat());
    assert!(out.contains("unknown kernel 'csr-vector t9': did you mean csr-vector t2? there are "), "{out}");
    let out =
        run(dir.path(), &[&["lab", "predict", MATRIX, "--kernel", "cusparse-scr a1"], &on[..]].concat());
    assert!(out.contains("did you mean cusparse-csr a1?"), "{out}");
    let out = run(dir.path(), &["kernels", "csr"]);
    assert_exit(&out, 2, "unknown kernel 'csr': did you mean csr-scalar, csr-vector, csr-balanced, ");
    let out = run(dir.path(), &[&["plan", MATRIX, "--formats", "sell c32 s1"], &on[..]].concat());
    assert!(out.starts_with("exit code: 0"), "{out}");
}

#[test]
fn a_kernel_lists_its_names_in_other_libraries() {
    let dir = made_up_profile();
    let out = run(dir.path(), &["kernels", "bsr", "csr-vector t8", "--device", "nvidia-h200"]);
    assert!(out.contains("SciPy: bsr_array") && out.contains("PETSc: MATBAIJ"), "{out}");
    assert!(out.contains("Ginkgo: matrix::Csr, strategy classical; cuSPARSE: cusparseCreateCsr"), "{out}");
    assert!(!out.contains("csr-vector t16"), "{out}");
    let answer = json(dir.path(), &["kernels", "--source", "sell c32 s1 b256"]);
    assert_eq!(answer["elsewhere"][0]["library"], "cuSPARSE");
    let out = run(dir.path(), &["advise", MATRIX, "--device", "nvidia-h200", "-v"]);
    assert!(out.contains(" elsewhere: "), "{out}");
}

#[test]
fn several_matrices_are_advised_in_a_line_each() {
    let dir = made_up_profile();
    let two = ["advise", "gallery:fem,n=20", "gallery:arrow,n=20000", "--device", "nvidia-h200"];
    let answer = json(dir.path(), &two);
    assert_eq!(answer["schema"], "sparsight/advise-many/1");
    let alone = json(dir.path(), &["advise", "gallery:arrow,n=20000", "--device", "nvidia-h200"]);
    let arrow = &answer["matrices"][1];
    assert_eq!(arrow["verdict"], alone["verdict"]);
    assert_eq!(arrow["predicted_s"], alone["candidates"][0]["predicted_s"]);
    let speedup = |at: usize| answer["matrices"][at]["verdict"]["plain_csr"]["speedup"].as_f64().unwrap();
    let mean = answer["over_plain_csr"].as_f64().unwrap();
    assert!((mean * mean - speedup(0) * speedup(1)).abs() < 1e-9 * mean * mean);
    let out = run(dir.path(), &two);
    assert!(out.contains("Predicted over all 2 matrices (geometric mean): "), "{out}");
    // What cannot be read is passed over, and remembered in how it ends.
    fs::write(dir.path().join("broken.mtx"), "nothing").unwrap();
    let out = run(dir.path(), &["advise", "broken.mtx", "gallery:fem,n=20", "--device", "nvidia-h200"]);
    assert_exit(&out, 1, "skipped: broken.mtx");
    assert!(!out.contains("Predicted over"), "one matrix has no mean: {out}");
    // Nor is one without non-zeros in it.
    let zeros = "%%MatrixMarket matrix coordinate real general\n3 3 0\n";
    fs::write(dir.path().join("zeros.mtx"), zeros).unwrap();
    let out = run(dir.path(), &[&two[..], &["zeros.mtx"]].concat());
    assert!(out.contains("Predicted over 2 of 3 matrices (geometric mean): "), "{out}");
    let out = run(dir.path(), &[&two[..], &["--verify"]].concat());
    assert!(out.contains("of one matrix") && out.contains("sparsight lab measure"), "{out}");
}
