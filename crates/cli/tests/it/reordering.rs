//! `--reorder`: what it brings is said, the matrix is another one only when that was asked for.

use crate::support::{json, made_up_profile, run};

const SHUFFLED: &str = "gallery:stencil3d,n=20,shuffle=1";

#[test]
fn advice_for_a_reordered_matrix_reports_the_gain() {
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
fn with_products_to_come_all_of_them_decide() {
    let dir = made_up_profile();
    let products = |count: &str| {
        let flags = ["--profile", "made-up", "--reorder", "rcm", "--iterations", count];
        let answer = json(dir.path(), &[&["advise", SHUFFLED], &flags[..]].concat());
        let seconds = |place: usize| answer["reordered"]["in_all_s"][place].as_f64().unwrap();
        let text = run(dir.path(), &[&["advise", SHUFFLED], &flags[..]].concat());
        assert_eq!(text.contains(": leave it"), seconds(1) >= seconds(0), "{text}");
        seconds(1) < seconds(0)
    };
    assert!(!products("1"), "one product never pays for an order");
}

#[test]
fn other_commands_use_and_name_the_reordered_matrix() {
    let dir = made_up_profile();
    let of = |more: &[&str]| json(dir.path(), &[&["info", SHUFFLED, "--profile", "made-up"], more].concat());
    let (as_it_is, reordered) = (of(&[]), of(&["--reorder", "rcm"]));
    let bandwidth = |answer: &serde_json::Value| answer["features"]["bandwidth"].as_u64().unwrap();
    assert!(bandwidth(&as_it_is) > 5 * bandwidth(&reordered));
    let name = format!("{SHUFFLED}+rcm");
    assert_eq!(reordered["matrix"]["name"], *name);
    let few = ["--device", "cpu", "--quick", "--kernel", "csr-scalar", "--block", "64", "--reorder", "rcm"];
    let benched = json(dir.path(), &[&["bench", SHUFFLED], &few[..]].concat());
    assert_eq!(benched["matrices"][0]["matrix"]["name"], *name);
    assert!(benched["matrices"][0]["candidates"][0]["measured_s"].as_f64().unwrap() > 0.0);
    let few = ["--profile", "made-up", "--model", "strip", "--reorder", "rcm"];
    let plan = json(dir.path(), &[&["plan", SHUFFLED], &few[..]].concat());
    assert_eq!(plan["matrices"][0]["matrix"]["name"], *name);
}

#[test]
fn a_matrix_that_is_not_square_is_refused_as_bad_input() {
    let dir = made_up_profile();
    for command in ["advise", "info"] {
        let said = run(dir.path(), &[command, "gallery:tall", "--profile", "made-up", "--reorder", "rcm"]);
        assert!(
            said.contains("gallery:tall") && said.contains("the matrix is 500000 x 300: only a square one"),
            "{said}"
        );
        assert!(
            said.contains("exit code: 2") || said.contains("exit: 2") || said.contains("code: 2"),
            "{said}"
        );
    }
}
