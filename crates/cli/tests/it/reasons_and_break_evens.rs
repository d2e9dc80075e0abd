//! `advise` counts break-evens from what is run now, and says in a sentence what about the matrix costs time.

use crate::support::{json, run};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const FEM: &str = "gallery:fem,n=24";

fn advise(folder: &Path, matrix: &str, flags: &[&str]) -> Value {
    json(folder, &[&["advise", matrix, "--device", "nvidia-h200"], flags].concat())
}

/// Kinds of the reasons of an answer.
fn kinds(answer: &Value) -> Vec<&str> {
    answer["reasons"].as_array().unwrap().iter().map(|reason| reason["kind"].as_str().unwrap()).collect()
}

/// A grid of 300 x 300 points as a file: its `field` and how an entry of it is written.
fn grid(folder: &Path, name: &str, field: &str, entry: impl Fn(usize, usize, usize) -> String) {
    let (n, mut lines, mut count) = (300_usize, String::new(), 0);
    let mut add = |row: usize, col: usize| {
        let text = entry(count, row + 1, col + 1);
        count += text.lines().count();
        let _ = writeln!(lines, "{text}");
    };
    for at in 0..n * n {
        let near = [at.checked_sub(n), (at % n > 0).then(|| at - 1), Some(at)];
        let after = [(at % n + 1 < n).then(|| at + 1), (at + n < n * n).then_some(at + n)];
        near.into_iter().chain(after).flatten().for_each(|col| add(at, col));
    }
    let head = format!("%%MatrixMarket matrix coordinate {field} general\n{0} {0} {count}\n", n * n);
    fs::write(folder.join(name), head + &lines).unwrap();
}

#[test]
fn break_evens_refer_to_cusparse_or_to_from() {
    let dir = tempfile::tempdir().unwrap();
    let usual = advise(dir.path(), FEM, &[]);
    let verdict = &usual["verdict"];
    assert_eq!(verdict["run_now"]["kind"], "vendors-csr");
    assert_eq!(verdict["run_now"]["id"], verdict["vendors_csr"]["id"]);
    assert_eq!(verdict["run_now"]["speedup"], verdict["vendors_csr"]["speedup"]);
    let said = verdict["break_even"].as_str().unwrap();
    assert!(said.starts_with("Against cuSPARSE's CSR converting pays from "), "{said}");
    let best = &usual["candidates"][0];
    assert!(said.contains(&format!(" {} products", best["pays_off_after"])), "{said}");
    let named = advise(dir.path(), FEM, &["--from", "csr-scalar/b256/f64"]);
    assert_eq!(named["verdict"]["run_now"]["kind"], "named");
    let text = run(dir.path(), &["advise", FEM, "--device", "nvidia-h200", "--from", "csr-scalar b256"]);
    let said = named["verdict"]["break_even"].as_str().unwrap();
    assert!(
        said.starts_with("Against csr-scalar b256 converting pays from ") && text.contains(said),
        "{text}"
    );
    assert!(text.contains("times as fast as csr-scalar b256 ("), "{text}");
    assert!(
        text.lines().any(|line| line.contains("csr-scalar b256 ") && line.trim_end().ends_with("run now"))
    );
    for few in
        [advise(dir.path(), FEM, &["--iterations", "2"]), advise(dir.path(), "gallery:banded,n=20000", &[])]
    {
        let words = few["verdict"]["break_even"].as_str().unwrap();
        let is_csr = few["verdict"]["recommended"].as_str().unwrap().starts_with("csr-");
        assert_eq!(is_csr, words.ends_with("nothing to convert."), "{words}");
    }
}

#[test]
fn a_folder_is_counted_from_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let many = |flags: &[&str]| {
        let paths = ["advise", FEM, "gallery:stencil2d,n=300", "--device", "nvidia-h200"];
        (json(dir.path(), &[&paths[..], flags].concat()), run(dir.path(), &[&paths[..], flags].concat()))
    };
    let (usual, text) = many(&[]);
    assert!(text.contains("Worth from so many products on, against cuSPARSE's CSR."), "{text}");
    let alone = advise(dir.path(), FEM, &[]);
    assert_eq!(usual["matrices"][0]["verdict"], alone["verdict"]);
    assert_eq!(usual["matrices"][0]["pays_off_after"], alone["candidates"][0]["pays_off_after"]);
    let (named, text) = many(&["--from", "csr-vector"]);
    assert!(text.contains("against csr-vector."), "{text}");
    assert_ne!(named["matrices"][0]["pays_off_after"], usual["matrices"][0]["pays_off_after"]);
}

#[test]
fn a_present_implementation_without_a_time_is_an_error_with_a_hint() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |name: &str| {
        let text = run(dir.path(), &["advise", FEM, "--device", "nvidia-h200", "--from", name]);
        assert!(text.starts_with("exit code: 2") && !text.contains("Use "), "{text}");
        text
    };
    let scipy = refused("scipy");
    assert!(scipy.contains("one thread of this processor was not calibrated"), "{scipy}");
    assert!(scipy.contains("hint: `sparsight advise MATRIX --device cpu --jobs 1`"), "{scipy}");
    let padded = refused("bsr b4");
    let why = "break-evens cannot be counted from bsr b4: blocks would be more than 25 % padding, the limit";
    assert!(padded.contains(why), "{padded}");
    assert!(refused("bsr b6").contains("it is not ranked for NVIDIA H200"), "a retired shape");
    assert!(refused("nonsense").contains("'nonsense' is no kernel or candidate"));
}

#[test]
fn facts_of_the_file_are_named_as_reasons() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    grid(folder, "plain.mtx", "real", |_, row, col| format!("{row} {col} 1.5"));
    assert_eq!(kinds(&advise(folder, "plain.mtx", &[])), Vec::<&str>::new());
    grid(folder, "zeros.mtx", "real", |at, row, col| format!("{row} {col} {}", u8::from(at % 4 == 0)));
    let zeros = advise(folder, "zeros.mtx", &[]);
    assert_eq!(kinds(&zeros), ["stored-zeros"]);
    assert_eq!(zeros["reasons"][0]["zeros"], 336_600);
    grid(folder, "twice.mtx", "real", |_, row, col| format!("{row} {col} 1\n{row} {col} 2"));
    let twice = advise(folder, "twice.mtx", &[]);
    assert_eq!((kinds(&twice), &twice["reasons"][0]["duplicates"]), (vec!["duplicates"], &448_800.into()));
    grid(folder, "complex.mtx", "complex", |_, row, col| format!("{row} {col} 1 0"));
    let complex = advise(folder, "complex.mtx", &[]);
    assert_eq!(kinds(&complex), ["complex"]);
    let text = run(folder, &["advise", "complex.mtx", "--device", "nvidia-h200"]);
    let said = complex["reasons"][0]["text"].as_str().unwrap();
    assert!(
        text.contains(said) && said.starts_with("The values are complex and the times are for real ones")
    );
    let page = run(folder, &["advise", "zeros.mtx", "--device", "nvidia-h200", "--report", "page.html"]);
    assert!(page.starts_with("exit code: 0"), "{page}");
    let page = fs::read_to_string(folder.join("page.html")).unwrap();
    assert!(page.contains("336,600 of the 448,800 stored entries are zeros and cost "), "the page says so");
}

#[test]
fn top_limits_the_rows_and_the_rest_is_summarised() {
    let dir = tempfile::tempdir().unwrap();
    for top in [1_usize, 3, 5] {
        let text = run(dir.path(), &["advise", FEM, "--device", "nvidia-h200", "--top", &top.to_string()]);
        let rows = text.lines().skip_while(|line| !line.contains("90 % between")).skip(1);
        let first: Vec<&str> = rows.take_while(|line| !line.contains("for comparison:")).collect();
        assert_eq!(first.len(), top, "{text}");
    }
}

#[test]
fn a_matrix_and_its_transpose_are_advised_together() {
    let dir = tempfile::tempdir().unwrap();
    let wide = "gallery:wide";
    let pair = advise(dir.path(), wide, &["--transpose"]);
    let [a, transposed] = pair["matrices"].as_array().unwrap().as_slice() else { panic!("{pair}") };
    let alone = advise(dir.path(), "derived:transpose:gallery:wide", &[]);
    assert_eq!(transposed["verdict"], alone["verdict"]);
    assert_eq!(transposed["matrix"]["nrows"], a["matrix"]["ncols"]);
    assert!(transposed["memory_bytes"].as_u64().unwrap() > 0);
    let text = run(dir.path(), &["advise", wide, "--transpose", "--device", "nvidia-h200"]);
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("A and A^T") && last.ends_with("on the device"), "{text}");
}

#[test]
fn a_plan_ends_in_a_verdict() {
    let dir = tempfile::tempdir().unwrap();
    let plan = ["plan", "gallery:stencil2d,n=300", "--device", "nvidia-h200"];
    let text = run(dir.path(), &plan);
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("Leave it whole: ") && last.ends_with('.'), "{text}");
    let answer = json(dir.path(), &plan);
    assert_eq!(answer["matrices"][0]["verdict"]["text"], last);
    assert!(answer["matrices"][0]["verdict"].get("execution").is_none());
}
