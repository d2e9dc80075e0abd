//! `advise --iteration`: candidates ranked by an iteration of a solver.

use crate::support::{json, run};

const GRID: &str = "gallery:stencil2d,n=300";

fn advise(more: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    run(dir.path(), &[&["advise", GRID, "--device", "nvidia-h200"], more].concat())
}

#[test]
fn the_time_of_an_iteration_stands_beside_its_part_in_products() {
    let dir = tempfile::tempdir().unwrap();
    let flags = ["advise", GRID, "--device", "nvidia-h200", "--iteration", "cg"];
    let (text, answer) = (run(dir.path(), &flags), json(dir.path(), &flags));
    let used = answer["verdict"]["recommended"].as_str().unwrap();
    let candidates = answer["candidates"].as_array().unwrap();
    let one = candidates.iter().find(|one| one["id"] == used).unwrap();
    let number = |name: &str| one[name].as_f64().unwrap();
    assert!(
        number("iteration_low_s") < number("iteration_s")
            && number("iteration_s") < number("iteration_high_s")
    );
    assert!(number("in_products_s") < number("predicted_s") && number("predicted_s") < number("iteration_s"));
    assert_eq!((&answer["iteration"]["name"], &one["launches"]), (&"cg".into(), &2.into()));
    // r and p for the dot products, nine passes of the update.
    assert_eq!(one["vector_bytes"], 11 * 8 * 90_000);
    assert!(answer["verdict"]["break_even"].is_null() && answer["reasons"].as_array().unwrap().is_empty());
    let said = text.lines().find(|line| line.contains("an iteration of CG")).unwrap();
    assert!(said.contains("Use ") && said.contains("of it in the product"), "{text}");
    assert!(text.contains("as fast as with cuSPARSE's CSR"), "{text}");
    assert!(text.contains("in 2 launches, captured in a CUDA graph"), "{text}");
}

#[test]
fn several_iterations_count_with_what_comes_before_them() {
    let text = advise(&["--iteration", "bicgstab", "--iterations", "1000"]);
    assert!(text.contains("in all for 1,000 iterations with conversion and upload"), "{text}");
    assert!(text.contains("of it in products") && text.contains("in 4 launches"), "{text}");
}

#[test]
fn an_iteration_with_the_transpose_names_a_candidate_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let flags = ["advise", "gallery:wide", "--device", "nvidia-h200", "--iteration", "pdhg"];
    let (text, answer) = (run(dir.path(), &flags), json(dir.path(), &flags));
    let turned = answer["iteration"]["transposed"]["id"].as_str().unwrap();
    assert!(
        text.contains(&format!("and, for A^T, {}", turned.trim_end_matches("/f64").replace('/', " "))),
        "{text}"
    );
    assert!(answer["iteration"]["transposed"]["memory_bytes"].as_u64().unwrap() > 0);
}

#[test]
fn what_does_not_go_with_an_iteration_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |flags: &[&str]| run(dir.path(), &[&["advise", "--device", "nvidia-h200"], flags].concat());
    let wide = refused(&["gallery:wide", "--iteration", "cg"]);
    assert!(wide.contains("CG is for square matrices") && wide.contains("hint: "), "{wide}");
    let two = refused(&[GRID, GRID, "--iteration", "cg"]);
    assert!(two.contains("--iteration takes one matrix, but 2 were given"), "{two}");
    let unknown = refused(&[GRID, "--iteration", "gmres"]);
    assert!(unknown.contains("unknown iteration 'gmres': cg, bicgstab or pdhg"), "{unknown}");
    let from = refused(&[GRID, "--iteration", "cg", "--from", "coo"]);
    assert!(from.contains("cannot be used with"), "{from}");
}
