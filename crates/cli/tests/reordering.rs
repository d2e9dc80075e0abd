//! `--reorder`: what it brings is said, the matrix is another one only when that was asked for.

mod support;

use support::{json, made_up_profile, run};

const SHUFFLED: &str = "gallery:stencil3d,n=20,shuffle=1";

#[test]
fn advice_for_a_reordered_matrix_says_what_the_order_brings() {
    let dir = made_up_profile();
    let text = run(dir.path(), &["advise", SHUFFLED, "--profile", "made-up", "--reorder", "rcm"]);
    assert!(text.contains("reordered by reverse Cuthill-McKee in "), "{text}");
    let with = json(dir.path(), &["advise", SHUFFLED, "--profile", "made-up", "--reorder", "rcm"]);
    let reordered = &with["reordered"];
    assert_eq!(reordered["by"], "rcm");
    assert!(reordered["reorder_s"].as_f64().unwrap() > 0.0);
    let bandwidth = |place: usize| reordered["bandwidth"][place].as_u64().unwrap();
    assert!(bandwidth(0) > 5 * bandwidth(1), "{reordered}");
    let without = json(dir.path(), &["advise", SHUFFLED, "--profile", "made-up"]);
    assert!(without["reordered"].is_null(), "never unasked");
    assert_eq!(reordered["as_it_is"]["id"], without["candidates"][0]["id"]);
    assert_eq!(reordered["as_it_is"]["predicted_s"], without["candidates"][0]["predicted_s"]);
    let ratio = without["candidates"][0]["predicted_s"].as_f64().unwrap()
        / with["candidates"][0]["predicted_s"].as_f64().unwrap();
    assert!((reordered["speedup"].as_f64().unwrap() / ratio - 1.0).abs() < 1e-12);
}

#[test]
fn other_commands_look_at_the_reordered_matrix() {
    let dir = made_up_profile();
    let bandwidth = |more: &[&str]| {
        let answer = json(dir.path(), &[&["info", SHUFFLED, "--profile", "made-up"], more].concat());
        answer["features"]["bandwidth"].as_u64().unwrap()
    };
    assert!(bandwidth(&[]) > 5 * bandwidth(&["--reorder", "rcm"]));
    let few = ["--device", "cpu", "--quick", "--kernel", "csr-scalar", "--block", "64", "--reorder", "rcm"];
    let benched = json(dir.path(), &[&["bench", SHUFFLED], &few[..]].concat());
    assert!(benched["matrices"][0]["candidates"][0]["measured_s"].as_f64().unwrap() > 0.0);
    let plan =
        json(dir.path(), &["plan", SHUFFLED, "--profile", "made-up", "--model", "strip", "--reorder", "rcm"]);
    assert_eq!(plan["matrices"].as_array().unwrap().len(), 1);
}

#[test]
fn a_matrix_that_is_not_square_is_refused_as_bad_input() {
    let dir = made_up_profile();
    let said = run(dir.path(), &["advise", "gallery:tall", "--profile", "made-up", "--reorder", "rcm"]);
    assert!(
        said.contains("500000 x 300: rows and columns can be numbered alike in a square matrix alone"),
        "{said}"
    );
}
