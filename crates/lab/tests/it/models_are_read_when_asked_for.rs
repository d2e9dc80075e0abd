//! Models in files of their own: read when they are asked for, refused when they are damaged.

use crate::corpus::{profile, record};
use serde_json::{Value, json};
use sparsight::calibrate::fit;
use sparsight::matrix::Dtype;
use sparsight::model::{PlacementRule, RowLengthRule};
use sparsight::models::ModelName;
use sparsight::profile::ProfileFolder;
use sparsight::{Advice, Advisor, Error, Objective, Profile};
use sparsight_lab::evaluate::evaluate;
use sparsight_lab::papers::{LINEAR, NEIGHBOURS};
use std::fs;
use std::path::Path;

fn json_of(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn advise(profile: &Profile, model: Option<ModelName>) -> Result<Advice, Error> {
    let objective = Objective { model, ..Objective::default() };
    Advisor::new(profile).advise(&record(30).features, Dtype::F64, &objective)
}

#[test]
fn a_damaged_model_disturbs_those_alone_who_ask_for_it() {
    let dir = tempfile::tempdir().unwrap();
    profile(dir.path(), 25);
    let models = dir.path().join("models");
    let mut index = json_of(&models.join("index.json"));
    for name in ["linear", "neighbours"] {
        let errors = index["models"][name]["known"]["log_errors"].as_object_mut().unwrap();
        errors.values_mut().for_each(|error| *error = json!(9.0));
    }
    fs::write(models.join("index.json"), index.to_string()).unwrap();
    let linear = fs::read(models.join("linear.gz")).unwrap();
    fs::write(models.join("linear.gz"), &linear[..linear.len() / 2]).unwrap();
    fs::remove_file(models.join("neighbours.gz")).unwrap();

    let profile = Profile::load(dir.path()).unwrap();
    let advice = advise(&profile, None).unwrap();
    assert!(advice.ranked.iter().all(|advised| advised.model == ModelName::Boosting));
    let error = advise(&profile, Some(LINEAR)).unwrap_err();
    assert!(matches!(&error, Error::Damaged { path, .. } if path.ends_with("models/linear.gz")), "{error}");
    let error = advise(&profile, Some(NEIGHBOURS)).unwrap_err();
    assert!(matches!(&error, Error::File { path, .. } if path.ends_with("models/neighbours.gz")), "{error}");
    let evaluated = evaluate(&profile, &[record(30)], &[PlacementRule::Blend], &[RowLengthRule::Paper], 3);
    assert!(matches!(evaluated, Err(Error::Damaged { .. })), "it asks all of them");

    // A file of another model, whole as it is, is not the one that the index speaks of.
    fs::copy(models.join("comparison.gz"), models.join("boosting.gz")).unwrap();
    let error = advise(&Profile::load(dir.path()).unwrap(), None).unwrap_err();
    assert!(matches!(&error, Error::Damaged { path, .. } if path.ends_with("models/boosting.gz")), "{error}");
    assert!(advise(&profile, None).is_ok(), "what was read is not read again");
}

#[test]
fn an_index_of_another_version_fails_at_once_and_a_model_on_first_use() {
    let dir = tempfile::tempdir().unwrap();
    profile(dir.path(), 25);
    let path = dir.path().join("models/index.json");
    let index = json_of(&path);
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut index = index.clone();
        change(&mut index);
        fs::write(&path, index.to_string()).unwrap();
        Profile::load(dir.path())
    };
    let error = changed(&|index| index["schema"] = json!("sparsight/models/3")).unwrap_err();
    assert!(matches!(error, Error::Schema { expected: "sparsight/models/2", .. }), "{error}");
    let error =
        changed(&|index| index["models"]["boosting"]["known"]["log_errors"]["csr-scaler"] = json!(0.1));
    assert!(error.unwrap_err().to_string().contains("'csr-scaler' is no kernel"));
    let other = |index: &mut Value| index["models"]["boosting"]["format"] = json!("sparsight/boosting/8");
    let profile = changed(&other).unwrap();
    assert!(advise(&profile, Some(ModelName::Strip)).is_ok());
    let error = advise(&profile, Some(ModelName::Boosting)).unwrap_err();
    assert!(matches!(error, Error::Schema { expected: "sparsight/boosting/13", .. }), "{error}");
}

#[test]
fn a_new_fit_leaves_neither_models_of_the_old_one_nor_half_a_file() {
    let dir = tempfile::tempdir().unwrap();
    profile(dir.path(), 25);
    let names = || {
        let files = fs::read_dir(dir.path().join("models")).unwrap();
        let mut names: Vec<String> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(
        names(),
        [
            "boosting.gz",
            "comparison.gz",
            "index.json",
            "linear.gz",
            "neighbours.gz",
            "strip-cache.gz",
            "strip.gz",
            "surroundings.gz"
        ]
    );
    let folder = ProfileFolder::open(dir.path()).unwrap();
    let mut fitted = fit(&folder, &[], |_| true).unwrap().models;
    fitted.leave_out(NEIGHBOURS);
    folder.write_models(&fitted).unwrap();
    assert!(names().contains(&"linear.gz".to_owned()) && !names().contains(&"neighbours.gz".to_owned()));
    let error = advise(&Profile::load(dir.path()).unwrap(), Some(NEIGHBOURS));
    assert!(error.is_err() || error.unwrap().ranked.is_empty(), "nothing answers for it");
    folder.write_models(&fit(&folder, &[], |_| false).unwrap().models).unwrap();
    assert_eq!(names(), ["index.json", "strip-cache.gz", "strip.gz"]);
    let advice = advise(&Profile::load(dir.path()).unwrap(), None).unwrap();
    assert!(advice.ranked.iter().all(|advised| advised.model == ModelName::StripCache));
}

#[test]
fn models_are_not_written_by_two_at_once() {
    let dir = tempfile::tempdir().unwrap();
    profile(dir.path(), 25);
    let folder = ProfileFolder::open(dir.path()).unwrap();
    let held = std::fs::File::open(dir.path().join("models")).unwrap();
    held.lock().unwrap();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| folder.write_models(&folder.models().unwrap().unwrap()));
        std::thread::sleep(std::time::Duration::from_millis(500));
        assert!(!writing.is_finished());
        held.unlock().unwrap();
        writing.join().unwrap().unwrap();
    });
}
