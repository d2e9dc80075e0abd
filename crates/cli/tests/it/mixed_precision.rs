//! `--values f32`: what is ranked, what is said of the error, and where it is refused.

use crate::support::{json, run};
use tempfile::tempdir;

const DEVICE: [&str; 2] = ["--device", "nvidia-h200"];
const VALUES: [&str; 2] = ["--values", "f32"];

fn words<'a>(matrix: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["advise", matrix], &DEVICE[..], more].concat()
}

#[test]
fn lost_precision_is_reported_in_text_and_json() {
    let dir = tempdir().unwrap();
    let matrix = "gallery:stencil3d,n=90";
    let text = run(dir.path(), &words(matrix, &VALUES));
    assert!(text.contains("(f32 values)"), "{text}");
    assert!(text.contains("every value is an f32 already: with the values in f32 nothing is lost"), "{text}");
    let answer = json(dir.path(), &words(matrix, &VALUES));
    assert_eq!(answer["narrowing"]["changed"], 0);
    assert!(answer["verdict"]["best"].as_str().unwrap().ends_with("/f32-f64"), "{}", answer["verdict"]);
    let vendors = &answer["verdict"]["vendors_csr"]["id"];
    assert!(vendors.as_str().unwrap().ends_with("/f64"), "what people use today stays in f64: {vendors}");
    let plain = json(dir.path(), &words(matrix, &[]));
    assert!(plain.get("narrowing").is_none());
    assert!(plain["candidates"].as_array().unwrap().iter().all(|one| one["dtype"] == "f64"), "never unasked");
}

#[test]
fn values_that_change_and_values_that_f32_cannot_hold_are_counted() {
    let dir = tempdir().unwrap();
    let with = |values: [&str; 3]| {
        let [a, b, c] = values;
        let text =
            format!("%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 {a}\n2 2 {b}\n3 3 {c}\n");
        std::fs::write(dir.path().join("a.mtx"), text).unwrap();
        run(dir.path(), &words("a.mtx", &VALUES))
    };
    let text = with(["0.1", "2", "1e-42"]);
    assert!(text.contains("|A| |x| in each row (2 of the values change, 1 of them below"), "{text}");
    let text = with(["1e300", "2", "3"]);
    assert!(text.contains("1 of the values is too large for f32: nothing in mixed precision"), "{text}");
    assert!(!text.contains("(f32 values)"), "{text}");
    let answer = json(dir.path(), &words("a.mtx", &VALUES));
    let lost = &answer["narrowing"];
    assert!(lost["relative_error"].is_null() && lost["too_large"] == 1, "{lost}");
    let many = run(dir.path(), &words("a.mtx", &["gallery:stencil2d,n=30", "--values", "f32"]));
    assert_eq!(many.matches("y changes by at most 0.0e0").count(), 1, "of the other: {many}");
}

#[test]
fn a_plan_names_the_best_candidate_with_values_in_f32_and_what_is_lost() {
    let dir = tempdir().unwrap();
    let plan = ["plan", "gallery:stencil3d,n=40", "--strips", "4", "--device", "nvidia-h200"];
    let asked = [&plan[..], &VALUES].concat();
    let text = run(dir.path(), &asked);
    let shown = text.lines().find(|line| line.starts_with("values in f32   ")).expect(&text);
    assert!(
        shown.contains("(f32 values)") && shown.contains(" % ") && shown.contains("than the best single")
    );
    assert!(text.contains("every value is an f32 already: with the values in f32 nothing is lost"), "{text}");
    let answer = json(dir.path(), &asked);
    let one = &answer["matrices"][0];
    assert_eq!((&one["mixed"]["dtype"], &one["narrowing"]["changed"]), (&"f32-f64".into(), &0.into()));
    let parts = one["strategies"].as_array().unwrap().iter().flat_map(|s| s["parts"].as_array().unwrap());
    assert!(parts.chain([&one["single"]]).all(|part| part["dtype"] == "f64"), "cuts stay in f64");
    let plain = json(dir.path(), &plan);
    let plain = &plain["matrices"][0];
    assert!(plain.get("mixed").is_none() && plain.get("narrowing").is_none(), "never unasked");
    let refused = run(dir.path(), &[&asked[..], &["--dtype", "f32"]].concat());
    assert!(refused.starts_with("exit code: 2"), "{refused}");
    std::fs::write(
        dir.path().join("a.mtx"),
        "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1e300\n",
    )
    .unwrap();
    let text = run(dir.path(), &[&["plan", "a.mtx"], &DEVICE[..], &VALUES[..]].concat());
    assert!(text.contains("too large for f32") && !text.contains("(f32 values)"), "{text}");
}

#[test]
fn it_is_refused_where_there_is_none() {
    let dir = tempdir().unwrap();
    let refused = |more: &[&str], why: &str| {
        let text = run(dir.path(), &words("gallery:stencil2d,n=30", more));
        assert!(text.starts_with("exit code: 2") && text.contains(why), "{more:?}: {text}");
    };
    refused(&["--values", "f32", "--dtype", "f32"], "with --dtype f32 all of it is f32");
    refused(&["--values", "f64"], "invalid value 'f64' for '--values <f32|random>'");
    refused(&["--dtype", "f32-f64"], "unknown value type 'f32-f64': f32 or f64");
}
