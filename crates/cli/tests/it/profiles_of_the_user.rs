//! Profiles of the user come before shipped ones, and one file of a profile tells no names.

use crate::support::{add_corpus, assert_exit, json, made_up_profile, made_up_profiles, run, sparsight};
use std::fs;
use std::process::Command;

#[test]
fn a_profile_of_the_user_comes_before_a_shipped_one_of_the_same_name() {
    let dir = made_up_profile();
    let folder = |name: &str| dir.path().join(name);
    fs::create_dir_all(folder("mine")).unwrap();
    fs::rename(folder("made-up"), folder("mine/nvidia-h200")).unwrap();
    let device = |profiles: &str, more: &[&str]| {
        let mut command = sparsight(dir.path());
        command.current_dir(dir.path()).env("SPARSIGHT_PROFILES", profiles);
        let advise = ["advise", "gallery:stencil2d,n=20", "--model", "strip", "--json"];
        let output = command.args(advise).args(more).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{profiles} {more:?}: {err}");
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        answer["device"]["name"].as_str().unwrap().to_owned()
    };
    let both = format!(":{}:{}", folder("nowhere").display(), folder("mine").display());
    for flag in ["--device", "--profile"] {
        assert_eq!(device(&both, &[flag, "nvidia-h200"]), "Made-up GPU");
        assert_eq!(device(&both, &[flag, "nvidia-h100"]), "NVIDIA H100 80GB HBM3");
        assert_eq!(device("", &[flag, "nvidia-h200"]), "NVIDIA H200");
    }
    // By a path it is what the path says.
    fs::create_dir_all(folder("other")).unwrap();
    assert_eq!(device(&both, &["--profile", "mine/nvidia-h200"]), "Made-up GPU");
    let compared = {
        let mut command = sparsight(dir.path());
        command.current_dir(dir.path()).env("SPARSIGHT_PROFILES", &both);
        let compare =
            ["compare", "gallery:stencil2d,n=20", "--devices", "nvidia-h200,nvidia-h100", "--model", "strip"];
        String::from_utf8(command.args(compare).output().unwrap().stdout).unwrap()
    };
    assert!(compared.contains("Made-up GPU") && compared.contains("NVIDIA H100"), "{compared}");
}

#[test]
fn a_shared_profile_answers_as_the_profile_does_and_holds_no_name_of_a_matrix() {
    let dir = made_up_profiles();
    let path = dir.path();
    let recipes: Vec<(String, String)> = (0..22)
        .map(|i| (format!("secret/wing{i}"), format!("gallery:stencil2d,n={}", 20 + 15 * i)))
        .chain([("gallery:banded,n=900,seed=1".to_owned(), "gallery:banded,n=900".to_owned())])
        .collect();
    let corpus: Vec<(&str, &str, f64)> =
        recipes.iter().map(|(name, recipe)| (name.as_str(), recipe.as_str(), 1.1)).collect();
    add_corpus(&path.join("made-up"), &corpus);
    let fitted = run(path, &["lab", "fit", "made-up", "--train", "secret/", "--share", "for-all.tar.gz"]);
    assert_exit(&fitted, 0, "--profile for-all");
    assert!(
        Command::new("tar").args(["xzf", "for-all.tar.gz"]).current_dir(path).status().unwrap().success()
    );

    let advise = |profile: &str| json(path, &["advise", "gallery:arrow,n=3000", "--profile", profile]);
    assert_eq!(advise("for-all")["candidates"], advise("made-up")["candidates"]);
    let mut names = 0;
    for folder in ["for-all", "for-all/models"] {
        for file in fs::read_dir(path.join(folder)).unwrap().map(|file| file.unwrap().path()) {
            if file.is_file() {
                let unpacked = Command::new("gzip").args(["-dcf"]).arg(&file).output().unwrap().stdout;
                let text = String::from_utf8_lossy(&unpacked);
                assert!(!text.contains("wing") && !text.contains("secret"), "{}", file.display());
                names += text.matches("\"matrix/22\"").count();
            }
        }
    }
    assert_eq!(names, 2, "in the corpus, and among those that were learned from");
    let corpus = fs::read_to_string(path.join("for-all/corpus.jsonl")).unwrap();
    assert!(corpus.contains("gallery:banded"), "generated ones keep their names");
    let again = run(path, &["lab", "fit", "for-all"]);
    assert_exit(&again, 0, "learned from 23 matrices");
    let wrong = run(path, &["lab", "fit", "made-up", "--share", "for-all.zip"]);
    assert_exit(&wrong, 2, "ends in .tar.gz");
}
