//! `--csv`: what docs/csv.md says, for one matrix, several and folders; and the answers for several matrices.

use crate::support::{assert_exit, json, made_up_profiles, run, sparsight};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Rows of cells, read as RFC 4180 says.
fn rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut is_quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => cell.extend(letters.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            other => cell.push(other),
        }
    }
    assert!(cell.is_empty() && row.is_empty() && !is_quoted, "the last line has an end");
    rows
}

fn csv(folder: &Path, arguments: &[&str]) -> Vec<Vec<String>> {
    let output = sparsight(folder).current_dir(folder).args(arguments).arg("--csv").output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {err}");
    let rows = rows(&String::from_utf8(output.stdout).unwrap());
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{arguments:?}: {rows:?}");
    rows
}

fn cell<'t>(table: &'t [Vec<String>], row: usize, column: &str) -> &'t str {
    let at = table[0]
        .iter()
        .position(|name| name == column)
        .unwrap_or_else(|| panic!("no {column}: {:?}", table[0]));
    &table[row][at]
}

/// Both profiles, with what a transfer takes.
fn with_transfers() -> tempfile::TempDir {
    let dir = made_up_profiles();
    for profile in ["made-up", "made-up-cpu"] {
        json(dir.path(), &["lab", "fit", profile]);
    }
    dir
}

/// The header that docs/csv.md promises for a command.
fn documented(command: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/csv.md");
    let text = fs::read_to_string(path).unwrap();
    let header = |text: &str| text.split("```\n").nth(1).unwrap().trim().to_owned();
    let (first, _) = text.split_once("\n## ").unwrap();
    let own = text.split("\n## ").find(|section| section.starts_with(&format!("`{command}`"))).unwrap();
    format!("{},{}", header(first), header(own)).split(',').map(str::to_owned).collect()
}

const ARROW: &str = "gallery:arrow,n=2000";
const GRID: &str = "gallery:stencil2d,n=60";

#[test]
fn tables_have_the_documented_headers_and_quote_commas() {
    let dir = with_transfers();
    for (command, candidates) in [
        (&["advise", ARROW, "--profile", "made-up"][..], true),
        (&["advise", ARROW, GRID, "--profile", "made-up"], true),
        (&["compare", ARROW, "--devices", "made-up,made-up-cpu"], true),
        (&["compare", ARROW, GRID, "--devices", "made-up,made-up-cpu"], true),
        (&["lab", "predict", ARROW, "--profile", "made-up", "--model", "strip"], true),
        (&["lab", "predict", ARROW, GRID, "--profile", "made-up", "--model", "strip"], true),
        (&["lab", "transfer", ARROW, "--from", "made-up", "--to", "made-up"], true),
        (&["info", ARROW, "--profile", "made-up"], false),
        (&["info", ARROW, GRID, "--profile", "made-up"], false),
        (&["bench", ARROW, "--device", "cpu", "--quick", "--kernel", "csr-scalar,ell"], true),
    ] {
        let table = csv(dir.path(), command);
        let name = if command[0] == "lab" { command[..2].join(" ") } else { command[0].to_owned() };
        assert_eq!(table[0], documented(&name), "{command:?}");
        assert!(table.len() > 1, "{command:?}");
        assert_eq!((cell(&table, 1, "matrix"), cell(&table, 1, "nrows")), (ARROW, "2000"));
        if candidates {
            assert!(!cell(&table, 1, "id").is_empty(), "{command:?}");
        }
    }
}

#[test]
fn a_table_holds_what_json_holds() {
    let dir = made_up_profiles();
    let advise = ["advise", ARROW, "--profile", "made-up", "--iterations", "100"];
    let (table, object) = (csv(dir.path(), &advise), json(dir.path(), &advise));
    let candidates = object["candidates"].as_array().unwrap();
    assert_eq!(table.len(), candidates.len() + 1);
    for (at, candidate) in candidates.iter().enumerate() {
        for column in
            ["id", "predicted_s", "conversion_s", "pays_off_after", "infeasible", "in_all_s", "model"]
        {
            let expected = match &candidate[column] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                number => number.to_string(),
            };
            assert_eq!(cell(&table, at + 1, column), expected, "{column}");
        }
    }
    let ratio = object["verdict"]["plain_csr"]["speedup"].to_string();
    assert_eq!(
        (cell(&table, 1, "products"), cell(&table, 1, "best_over_plain_csr")),
        ("100", ratio.as_str())
    );
    let many = csv(dir.path(), &["advise", ARROW, GRID, "--profile", "made-up", "--iterations", "100"]);
    assert_eq!(many.len(), 3, "the best of each");
    assert_eq!((&many[0], &many[1]), (&table[0], &table[1]));
    let info = csv(dir.path(), &["info", GRID, "--profile", "made-up"]);
    assert_eq!(
        [cell(&info, 1, "nnz"), cell(&info, 1, "bandwidth"), cell(&info, 1, "row_p50")],
        ["17760", "60", "5"]
    );
}

#[test]
fn one_table_or_one_object() {
    let dir = made_up_profiles();
    for command in [&["advise"][..], &["lab", "predict"], &["info"], &["bench"]] {
        let out = run(dir.path(), &[command, &[GRID, "--csv", "--json"]].concat());
        assert!(out.contains("cannot be used with"), "{command:?}: {out}");
    }
}

/// Two matrices, and a file that is none.
fn folder(path: &Path) {
    fs::create_dir(path.join("corpus")).unwrap();
    let banner = "%%MatrixMarket matrix coordinate pattern general\n";
    fs::write(path.join("corpus/a.mtx"), format!("{banner}2 2 2\n1 1\n2 2\n")).unwrap();
    fs::write(path.join("corpus/b.mtx"), format!("{banner}3 3 3\n1 1\n1 2\n1 3\n")).unwrap();
    fs::write(path.join("corpus/c.mtx"), "no matrix\n").unwrap();
}

#[test]
fn unreadable_files_of_a_folder_are_named() {
    let dir = with_transfers();
    folder(dir.path());
    for command in [
        &["info", "corpus", "--profile", "made-up"][..],
        &["lab", "predict", "corpus", "--profile", "made-up", "--kernel", "coo", "--block", "64"],
        &["lab", "transfer", "corpus", "--from", "made-up", "--to", "made-up", "--kernel", "coo"],
        &["compare", "corpus", "--devices", "made-up,made-up-cpu"],
    ] {
        let out = run(dir.path(), command);
        assert!(out.starts_with("exit code: 1"), "{out}");
        assert!(out.contains("a.mtx") && out.contains("b.mtx"), "{out}");
        assert!(out.contains("skipped: corpus/c.mtx:1:1: expected"), "{out}");
    }
}

#[test]
fn tied_devices_over_a_folder_are_reported_with_products_per_price() {
    let dir = tempfile::tempdir().unwrap();
    let sheet = "name = \"Nearly the same\"\nmultiprocessors = 132\nl2_bytes = 62e6\nmemory_bytes = 140e9\n\
                 copy_bytes_per_s = 4.2e12\nlaunch_s = 1.3e-6\ncompute_capability = [9, 0]\n";
    fs::write(dir.path().join("same.toml"), sheet).unwrap();
    let compare = ["compare", ARROW, GRID, "--devices", "nvidia-h200,same.toml"];
    let worth =
        ["--price", "nvidia-h200=4,same.toml=1", "--unit", "EUR", "--power", "nvidia-h200=700,same.toml=350"];
    let object = json(dir.path(), &[&compare[..], &worth].concat());
    let of = |at: usize, name: &str| object["mean_speeds"][at][name].as_f64().unwrap();
    assert!(of(1, "mean_speed_low") < 1.0 && of(1, "mean_speed_high") > 1.0, "{object}");
    let speed = of(1, "mean_speed");
    let per_price = of(1, "mean_products_per_s_per_price") / of(0, "mean_products_per_s_per_price");
    let per_joule = of(1, "mean_products_per_joule") / of(0, "mean_products_per_joule");
    assert!((per_price / (4.0 * speed) - 1.0).abs() < 1e-9, "{object}");
    assert!((per_joule / (2.0 * speed) - 1.0).abs() < 1e-9, "{object}");
    let text = run(dir.path(), &[&compare[..], &worth].concat());
    assert!(text.contains(": either may be the faster one)."), "{text}");
    assert!(text.contains("For the same price, ") && text.contains("For the same energy, "), "{text}");
    let single = run(dir.path(), &["compare", ARROW, "--devices", "nvidia-h200,same.toml"]);
    assert!(single.contains("faster or slower than nvidia-h200 is open"), "{single}");
}

#[test]
fn speeds_over_several_matrices_are_a_geometric_mean_with_their_weights() {
    let dir = made_up_profiles();
    let compare = ["compare", ARROW, GRID, "--devices", "made-up,made-up-cpu"];
    let speeds = |more: &[&str]| {
        let object = json(dir.path(), &[&compare[..], more].concat());
        let of = |at: usize| object["matrices"][at]["devices"][1]["candidates"][0]["speed"].as_f64().unwrap();
        (of(0), of(1), object["mean_speeds"].clone())
    };
    let (first, second, means) = speeds(&[]);
    let mean = |means: &Value, at: usize| means[at]["mean_speed"].as_f64().unwrap();
    assert!((mean(&means, 1) - (first * second).sqrt()).abs() < 1e-12 && (first - second).abs() > 1e-6);
    assert_eq!(
        (mean(&means, 0), &means[1]["id"], &means[1]["count"]),
        (1.0, &"made-up-cpu".into(), &2.into())
    );
    fs::write(dir.path().join("weights.csv"), format!("matrix,weight\n\"{ARROW}\",3\n")).unwrap();
    let (_, _, means) = speeds(&["--weights", "weights.csv"]);
    assert!((mean(&means, 1).ln() - (3.0 * first.ln() + second.ln()) / 4.0).abs() < 1e-12);
    fs::write(dir.path().join("weights.csv"), format!("{ARROW},0\n")).unwrap();
    let (_, _, means) = speeds(&["--weights", "weights.csv"]);
    assert!((mean(&means, 1) - second).abs() < 1e-12 && means[1]["count"] == 1);
    let text = run(dir.path(), &compare);
    assert!(
        text.contains("times as fast as made-up over 2 matrices (geometric mean; 90 % between "),
        "{text}"
    );
    assert!(!text.contains("either may be") && !text.contains("For the same"), "ten times as slow: {text}");
    let no_weight = "line 2 is no NAME,WEIGHT";
    for (wrong, says) in [
        ("a,1\nb", no_weight),
        ("a,1\nb,-1", no_weight),
        ("a,1\nb,much", no_weight),
        (&format!("{ARROW},1\nb.mtx,1\n")[..], "line 2: b.mtx is none of the matrices"),
        (&format!("{ARROW},1\n{ARROW},2\n")[..], " has a weight already, in line 1"),
        (&format!("{ARROW},0\n{GRID},0\n")[..], "line 2: every matrix has weight 0"),
    ] {
        fs::write(dir.path().join("weights.csv"), wrong).unwrap();
        let out = run(dir.path(), &[&compare[..], &["--weights", "weights.csv"]].concat());
        assert_exit(&out, 2, "weights.csv: line 2");
        assert!(out.contains(says), "{wrong}: {out}");
    }
    fs::write(dir.path().join("bad.mtx"), "no matrix").unwrap();
    fs::write(dir.path().join("weights.csv"), format!("{ARROW},0\n")).unwrap();
    let of_bad = ["compare", ARROW, "bad.mtx", "--devices", "made-up", "--weights", "weights.csv"];
    let says = "error: weights.csv: no matrix with a weight above 0 could be read";
    assert_exit(&run(dir.path(), &of_bad), 2, says);
}
