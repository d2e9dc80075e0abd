//! `plan --transpose`: A and A^T planned together.

use crate::support::{json, made_up_profile, run};

const WIDE: &str = "gallery:wide";

#[test]
fn the_transpose_is_planned_as_a_matrix_of_its_own() {
    let dir = made_up_profile();
    let planned = |paths: &[&str], flags: &[&str]| {
        json(dir.path(), &[&["plan"], paths, &["--profile", "made-up"], flags].concat())
    };
    let pair = planned(&[WIDE], &["--transpose"]);
    // Of one matrix alone its structure is told, too.
    let one = |path: &str| {
        let mut answer = planned(&[path], &[]);
        assert!(answer["matrices"][0].as_object_mut().unwrap().remove("structure").is_some());
        answer
    };
    let alone = one(WIDE);
    let transposed = one("derived:transpose:gallery:wide");
    assert_eq!(pair["matrices"].as_array().unwrap().len(), 2);
    assert_eq!(pair["matrices"][0], alone["matrices"][0]);
    assert_eq!(pair["matrices"][1], transposed["matrices"][0]);
    assert_eq!(pair["matrices"][1]["matrix"]["nrows"], pair["matrices"][0]["matrix"]["ncols"]);
    assert!(pair["matrices"][1]["memory_bytes"].as_u64().unwrap() > 0);
}

#[test]
fn times_of_both_products_are_added() {
    let dir = made_up_profile();
    let text = run(dir.path(), &["plan", WIDE, "--transpose", "--profile", "made-up"]);
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("A and A^T") && last.contains("for a product with each"), "{text}");
    assert!(last.ends_with("on the device"), "{text}");
}
