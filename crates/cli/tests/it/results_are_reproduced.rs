//! `docs/results/reproduce`: the commands of a page run, those that cannot are named, and one that fails is noticed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn reproduce(arguments: &[&str]) -> (Option<i32>, String, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/reproduce");
    let program: PathBuf = assert_cmd::cargo::cargo_bin("sparsight");
    let cache = tempfile::tempdir().unwrap();
    let Output { status, stdout, stderr } = Command::new(script)
        .args(arguments)
        .env("SPARSIGHT", program)
        .env("SPARSIGHT_CACHE", cache.path())
        .output()
        .expect("Python is installed");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn the_page_of_the_rules_is_reproduced() {
    let (code, out, err) = reproduce(&["rules"]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.starts_with("$ sparsight rules profiles/nvidia-h200 --candidates csr"), "{out}");
}

#[test]
fn commands_that_need_a_gpu_or_matrices_are_listed_and_not_run() {
    let (code, out, _) = reproduce(&["--list"]);
    assert_eq!(code, Some(0));
    let of = |page: &str| -> Vec<&str> { out.lines().filter(|line| line.starts_with(page)).collect() };
    assert!(of("h200-bsr: ").iter().all(|line| line.starts_with("h200-bsr: needs a GPU: ")), "{out}");
    assert!(of("h200-strip: ").iter().all(|line| line.starts_with("h200-strip: runs: ")), "{out}");
    assert!(
        of("h200-plans: ").len() >= 3 && of("h100: ").iter().any(|line| line.contains(": runs: ")),
        "{out}"
    );
}

#[test]
fn multi_line_commands_run_and_failures_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("page.md");
    let text = "# Page\n\n```sh\nsparsight kernels \\\n    --top 1\nsparsight bench A --device cuda:0\n\
                it() { sparsight info \"$1\" --device nvidia-h200\n}\nit gallery:arrow,n=50  # quick\n```\n";
    std::fs::write(&page, text).unwrap();
    let name = page.display().to_string();
    let (code, out, err) = reproduce(&[&name]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(
        out.contains("# needs a GPU: sparsight bench A") && out.contains("gallery:arrow,n=50   50 x 50"),
        "{out}"
    );
    std::fs::write(&page, "```sh\nsparsight info nowhere.mtx\nsparsight kernels --top 1\n```\n").unwrap();
    let (code, out, err) = reproduce(&[&name]);
    assert_eq!(code, Some(1), "{out}");
    assert!(
        err.contains("failed: sparsight info nowhere.mtx") && out.contains("$ sparsight kernels"),
        "{out}{err}"
    );
    let (code, _, err) = reproduce(&["no-such-page"]);
    assert!(code == Some(2) && err.contains("there are") && err.contains("rules"), "{err}");
}
