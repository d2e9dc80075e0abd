//! A profile that was shared is examined before it is used: `sparsight profiles add` and `index`.

use crate::support::{add_corpus, assert_exit, json, made_up_profile, run};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A made-up profile with a corpus of so many matrices, fitted and shared as `gpu.tar.gz`. `ratio`: how much longer than the strip model
/// says the matrix with that number takes.
fn shared(matrices: usize, ratio: impl Fn(usize) -> f64) -> TempDir {
    let dir = made_up_profile();
    let recipes: Vec<(String, String, f64)> = (0..matrices)
        .map(|i| (format!("a/m{i}"), format!("gallery:stencil2d,n={}", 20 + 9 * i), ratio(i)))
        .collect();
    let corpus: Vec<(&str, &str, f64)> =
        recipes.iter().map(|(name, recipe, ratio)| (name.as_str(), recipe.as_str(), *ratio)).collect();
    add_corpus(&dir.path().join("made-up"), &corpus);
    let fitted = run(dir.path(), &["lab", "fit", "made-up", "--share", "gpu.tar.gz"]);
    assert!(fitted.starts_with("exit code: 0"), "{fitted}");
    dir
}

fn edit(file: &Path, change: impl Fn(&str) -> String) {
    let text = fs::read_to_string(file).unwrap();
    let changed = change(&text);
    assert_ne!(text, changed, "{}", file.display());
    fs::write(file, changed).unwrap();
}

#[test]
fn a_shared_profile_is_indexed_examined_and_found_by_its_name() {
    let dir = shared(26, |_| 1.1);
    let path = dir.path();
    let indexed = json(path, &["profiles", "index", "gpu.tar.gz"]);
    let one = &indexed["profiles"][0];
    assert_eq!((&one["name"], &one["chip"]), (&"gpu".into(), &"Made-up GPU".into()));
    assert_eq!((&one["date"], &one["file"]), (&"2026-01-02".into(), &"gpu.tar.gz".into()));
    assert_eq!(one["quality"][0]["matrices"], 6, "every fifth of 26: {indexed}");
    assert!(one["quality"][0]["best_over_chosen"].as_f64().unwrap() > 0.9, "{indexed}");
    let before = fs::read_to_string(path.join("index.json")).unwrap();

    let added = json(path, &["profiles", "add", "gpu.tar.gz"]);
    assert_eq!(added["sha256"], one["sha256"]);
    assert_eq!(added["quality"], added["indexed_quality"], "the same file gives the same quality");
    assert_eq!(added["same_kernels"], false, "the made-up profile states no kernels");
    let advice = json(path, &["advise", "gallery:stencil2d,n=50", "--device", "gpu"]);
    assert_eq!(advice["device"]["name"], "Made-up GPU");
    let again = run(path, &["profiles", "add", "gpu.tar.gz"]);
    assert_exit(&again, 2, "there is a profile of that name");

    // Indexed again it is listed once, and nothing is left behind.
    let text = run(path, &["profiles", "index", "gpu.tar.gz"]);
    assert_exit(&text, 0, "best / chosen");
    assert_eq!(fs::read_to_string(path.join("index.json")).unwrap(), before);
    for folder in [path.to_owned(), path.join("sparsight/profiles")] {
        let left = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(!left.into_iter().any(|name| name.to_string_lossy().starts_with(".examined")));
    }
}

#[test]
fn a_file_that_is_not_what_the_index_says_is_not_used() {
    let dir = shared(26, |_| 1.1);
    let path = dir.path();
    let refused = |expected: &str| {
        let said = run(path, &["profiles", "add", "gpu.tar.gz"]);
        assert!(said.starts_with("exit code: 2") && said.contains(expected), "{expected}: {said}");
        assert!(!path.join("sparsight/profiles/gpu").exists(), "{expected}");
    };
    refused("there is no such index");
    run(path, &["profiles", "index", "gpu.tar.gz"]);
    let index = path.join("index.json");
    let (right, archive) = (fs::read_to_string(&index).unwrap(), fs::read(path.join("gpu.tar.gz")).unwrap());
    edit(&index, |text| text.replace("Made-up GPU", "NVIDIA Z900"));
    refused("its chip is 'Made-up GPU', and the index says 'NVIDIA Z900'");
    edit(&index, |text| text.replace("gpu.tar.gz", "other.tar.gz"));
    refused("does not list gpu.tar.gz");
    edit(&index, |text| text.replace("profiles-index/1", "profiles-index/9"));
    refused("profiles-index/9");
    fs::write(&index, &right).unwrap();
    fs::write(path.join("gpu.tar.gz"), &archive[..archive.len() - 1]).unwrap();
    refused("its SHA-256 is");
    let address = "https://host.example/profiles/gpu.tar.gz";
    let fetched = run(path, &["profiles", "add", address]);
    assert!(fetched.starts_with("exit code: 2"), "{fetched}");
    assert!(fetched.contains("curl -fLO https://host.example/profiles/index.json"), "{fetched}");
    // The right file still passes.
    fs::write(path.join("gpu.tar.gz"), &archive).unwrap();
    assert!(run(path, &["profiles", "add", "gpu.tar.gz"]).starts_with("exit code: 0"));
}

#[test]
fn a_profile_of_which_too_little_or_nothing_sensible_was_measured_is_refused() {
    let few = shared(22, |_| 1.1);
    let said = run(few.path(), &["profiles", "index", "gpu.tar.gz"]);
    assert_exit(&said, 2, "22 measured matrices");
    assert!(said.contains("at least 25") && said.contains("lab measure"), "{said}");

    // Times below 10 ns.
    let fast = shared(26, |i| if i % 2 == 0 { 1e-4 } else { 1.1 });
    let said = run(fast.path(), &["profiles", "index", "gpu.tar.gz"]);
    assert_exit(&said, 2, "no product can take");
    assert!(!fast.path().join("index.json").exists());

    // The matrices that are held out take a thousand times as long as what is learned from the others.
    let names: Vec<String> = (1..=26).map(|i| format!("matrix/{i}")).collect();
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort();
    let held_out: Vec<&String> = sorted.into_iter().step_by(5).collect();
    let odd = shared(26, |i| if held_out.contains(&&format!("matrix/{}", i + 1)) { 1100.0 } else { 1.1 });
    let said = run(odd.path(), &["profiles", "index", "gpu.tar.gz"]);
    assert_exit(&said, 2, "90 % intervals hold 0.00");
}
