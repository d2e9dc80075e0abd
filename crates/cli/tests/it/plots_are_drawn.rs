//! `lab evaluate --plots`: the files are there, parse, say what their axes are, and hold every point.

use crate::support::{add_corpus, assert_exit, json, made_up_profile, run};
use std::collections::BTreeSet;
use std::path::Path;
use tempfile::TempDir;

const GRID: &str = "gallery:stencil2d,n=500";

fn evaluated() -> TempDir {
    let dir = made_up_profile();
    let corpus = [("a/grid", GRID, 1.25), ("b/cube", "gallery:stencil3d,n=40", 0.8)];
    add_corpus(&dir.path().join("made-up"), &corpus);
    dir
}

/// Fails unless every element of `text` is closed in order and every attribute and text is escaped; counts the
/// elements called `name`.
fn count_elements(text: &str, name: &str) -> usize {
    let (mut open, mut count) = (Vec::new(), 0);
    for part in text.split('<').skip(1) {
        let (tag, content) = part.split_once('>').expect("a tag ends");
        for (place, _) in content.match_indices('&').chain(tag.match_indices('&')) {
            let entity = content.get(place..).filter(|c| c.starts_with('&')).unwrap_or_else(|| &tag[place..]);
            assert!(
                ["&amp;", "&lt;", "&gt;", "&quot;", "&apos;"].iter().any(|e| entity.starts_with(e)),
                "{part}"
            );
        }
        if tag.starts_with(['?', '!']) {
            continue;
        }
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed.trim()), "closed in order");
            continue;
        }
        assert!(tag.matches('"').count().is_multiple_of(2), "{tag}");
        let element = tag.split([' ', '/']).next().unwrap();
        count += usize::from(element == name);
        if !tag.ends_with('/') {
            open.push(element);
        }
    }
    assert!(open.is_empty(), "not closed: {open:?}");
    count
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn every_plot_is_written_under_a_stable_name_and_reported() {
    let dir = evaluated();
    let object = json(dir.path(), &["lab", "evaluate", "made-up", "--plots", "out/figures"]);
    let reported: BTreeSet<&str> =
        object["plots"].as_array().unwrap().iter().map(|p| p.as_str().unwrap()).collect();
    let files = std::fs::read_dir(dir.path().join("out/figures")).unwrap();
    let files: Vec<String> =
        files.map(|f| format!("out/figures/{}", f.unwrap().file_name().display())).collect();
    assert_eq!(reported, files.iter().map(String::as_str).collect());
    // 15 kernels with times, those that are ranked; fits of 15, csr-balanced/i256 among them (hyb has none) over p and I, COO and csr-balanced over I alone, by two models; one of
    // choices.
    assert_eq!(files.len(), 15 + 2 * (8 * 2 + 7) + 1);
    for name in [
        "predicted-csr-vector-t32-f64.svg",
        "fit-csr-vector-t32-f64-over-p.svg",
        "fit-csr-vector-t32-f64-over-I-strip-cache.svg",
        "choices-f64.svg",
    ] {
        assert!(reported.contains(format!("out/figures/{name}").as_str()), "{name}");
    }
    for file in &files {
        assert!(
            count_elements(&read(dir.path(), file), "text") > 8,
            "{file}: title, axes, numbers and legend"
        );
        assert!(!read(dir.path(), file).contains(" opacity=\"1\""), "{file}: what is so anyway is not said");
    }
    let out = run(dir.path(), &["lab", "evaluate", "made-up", "--plots", "out/figures"]);
    assert!(out.contains("62 plots in out/figures"), "{out}");
}

#[test]
fn a_plot_holds_every_point_and_names_its_axes() {
    let dir = evaluated();
    json(dir.path(), &["lab", "evaluate", "made-up", "--plots", "out"]);
    let out = dir.path().join("out");
    let predicted = read(&out, "predicted-ell-f64.svg");
    for label in ["measured time (us)", "predicted time (us)", "strip (2 matrices)", "predicted = measured"] {
        assert!(predicted.contains(label), "{label}");
    }
    assert_eq!(count_elements(&predicted, "circle"), 2 * 2 + 2, "two matrices by two models, and the legend");
    let fit = read(&out, "fit-csr-vector-t32-f64-over-p.svg");
    for label in ["non-zeros a row, p", "time of one product (us)", "p &lt;= 1024", "p &gt; 1024"] {
        assert!(fit.contains(label), "{label}");
    }
    // Circles are the points of the first and the fourth line: banded at 4, 16, 64, 256 and 1024 a row, strewn at
    // 1024, 2048 and 4096.
    assert_eq!(count_elements(&fit, "circle"), 5 + 3 + 2);
    assert!(read(&out, "fit-coo-f64-over-I.svg").contains("strips, I"));
}

#[test]
fn only_the_matrices_asked_for_are_drawn() {
    let dir = evaluated();
    json(dir.path(), &["lab", "evaluate", "made-up", "--test", "b/", "--plots", "out"]);
    let predicted = read(&dir.path().join("out"), "predicted-coo-f64.svg");
    assert!(predicted.contains("strip-cache (1 matrix)"), "{predicted}");
    assert_eq!(count_elements(&predicted, "circle"), 2 + 2);
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error_that_names_it() {
    let dir = evaluated();
    std::fs::write(dir.path().join("taken"), "a file").unwrap();
    for out in ["taken", "taken/below"] {
        let out_text = run(dir.path(), &["lab", "evaluate", "made-up", "--plots", out]);
        assert_exit(&out_text, 2, &format!("error: {out}: "));
        assert!(out_text.contains("hint: --plots takes a folder"), "{out_text}");
    }
}
