//! Models in files of their own: read when they are asked for, refused when they are damaged, and the same as those of
//! older profiles, which hold all of them in one file.

#[path = "support/corpus.rs"]
mod corpus;
mod support;

use corpus::{profile, record};
use serde_json::{Value, json};
use sparsight::matrix::Dtype;
use sparsight::model::{Boosting, Linear, Neighbours, PlacementRule, RowLengthRule, Variant};
use sparsight::profile::{Models, ProfileFolder};
use sparsight::{Advice, Advised, Advisor, Error, ModelName, Objective, Profile, evaluate, fit};
use std::fs;
use std::path::Path;

/// The `models.json` of versions that had no other.
fn one_file(models: &Models) -> Value {
    let strip = |variant| models.strip(variant).unwrap().unwrap();
    let (strip, strip_cache) = (strip(Variant::Strip), strip(Variant::StripCache));
    json!({
        "schema": "sparsight/models/1",
        "strip": strip.model,
        "strip_cache": strip_cache.model,
        "strip_calibration": strip.calibration,
        "strip_cache_calibration": strip_cache.calibration,
        "boosting": models.of::<Boosting>().unwrap().unwrap(),
        "linear": models.of::<Linear>().unwrap().unwrap(),
        "neighbours": models.of::<Neighbours>().unwrap().unwrap(),
        "comparison": models.comparison().unwrap().unwrap(),
        "trained_on": models.index.trained_on,
    })
}

fn json_of(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn advise(profile: &Profile, model: Option<ModelName>) -> Result<Advice, Error> {
    let objective = Objective { model, ..Objective::default() };
    Advisor::new(profile).advise(&record(30).features, Dtype::F64, &objective)
}

/// What each model that the profile holds predicts.
fn predictions(profile: &Profile) -> Vec<(ModelName, Vec<Advised>)> {
    let held = |model| Some((model, advise(profile, Some(model)).ok()?.ranked));
    ModelName::ALL.into_iter().filter_map(held).collect()
}

#[test]
fn models_of_one_file_predict_the_same_and_are_written_to_files_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let (one, several) = (dir.path().join("models.json"), dir.path().join("models"));
    let new = profile(dir.path(), 25);
    let expected = predictions(&new);
    assert_eq!(expected.len(), 6, "all but those of drawn row lengths");
    let text = one_file(&new.models).to_string();
    fs::remove_dir_all(&several).unwrap();
    fs::write(&one, &text).unwrap();
    let old = Profile::load(dir.path()).unwrap();
    assert_eq!(predictions(&old), expected);
    ProfileFolder::open(dir.path()).unwrap().write_models(&old.models).unwrap();
    assert!(!one.exists(), "nothing is left to contradict them");
    let again = Profile::load(dir.path()).unwrap();
    assert_eq!(again.models.index, new.models.index, "the same checksums");
    assert_eq!(predictions(&again), expected);
    fs::write(&one, text.replace("models/1", "models/0")).unwrap();
    assert_eq!(predictions(&Profile::load(dir.path()).unwrap()), expected, "an index comes first");
    fs::remove_dir_all(&several).unwrap();
    assert!(matches!(Profile::load(dir.path()), Err(Error::Schema { .. })));
}

#[test]
fn models_from_before_there_were_several_still_load_and_answer() {
    let dir = tempfile::tempdir().unwrap();
    let mut json = one_file(&profile(dir.path(), 25).models);
    let models = json.as_object_mut().unwrap();
    models.remove("linear").unwrap();
    models.remove("neighbours").unwrap();
    for kernel in models["boosting"]["kernels"].as_array_mut().unwrap() {
        kernel.as_object_mut().unwrap().remove("log_error").unwrap();
    }
    fs::remove_dir_all(dir.path().join("models")).unwrap();
    fs::write(dir.path().join("models.json"), json.to_string()).unwrap();
    let advice = advise(&Profile::load(dir.path()).unwrap(), None).unwrap();
    assert!(advice.ranked.iter().all(|advised| advised.model == ModelName::Boosting));
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
    let error = advise(&profile, Some(ModelName::Linear)).unwrap_err();
    assert!(matches!(&error, Error::Damaged { path, .. } if path.ends_with("models/linear.gz")), "{error}");
    let error = advise(&profile, Some(ModelName::Neighbours)).unwrap_err();
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
fn another_version_is_refused_of_the_index_at_once_and_of_a_model_when_it_is_asked_for() {
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
    let other = |index: &mut Value| index["models"]["boosting"]["format"] = json!("sparsight/boosting/9");
    let profile = changed(&other).unwrap();
    assert!(advise(&profile, Some(ModelName::Strip)).is_ok());
    let error = advise(&profile, Some(ModelName::Boosting)).unwrap_err();
    assert!(matches!(error, Error::Schema { expected: "sparsight/boosting/3", .. }), "{error}");
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
            "strip.gz"
        ]
    );
    let folder = ProfileFolder::open(dir.path()).unwrap();
    folder.write_models(&fit(&folder, |_| false).unwrap()).unwrap();
    assert_eq!(names(), ["index.json", "strip-cache.gz", "strip.gz"]);
    let advice = advise(&Profile::load(dir.path()).unwrap(), None).unwrap();
    assert!(advice.ranked.iter().all(|advised| advised.model == ModelName::StripCache));
}
