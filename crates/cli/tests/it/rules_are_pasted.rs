//! `sparsight rules`: the texts in docs/results/rules are what the program prints today; flags and profiles that make none are refused.

use crate::support::{json, run};
use std::path::Path;

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn the_committed_rules_are_those_of_the_command_in_them() {
    let mut made = 0;
    for entry in std::fs::read_dir(repository().join("docs/results/rules")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let command = text.split('`').nth(1).unwrap().strip_prefix("sparsight ").unwrap();
        let printed = run(repository(), &command.split(' ').collect::<Vec<_>>());
        assert!(printed.contains(text.trim_end()), "{}: `{command}` prints something else", path.display());
        made += 1;
    }
    assert_eq!(made, 12, "two GPUs, three sets of candidates, two value types");
}

#[test]
fn the_rules_of_the_drop_in_are_those_that_the_program_learns_today() {
    for profile in ["nvidia-h100", "nvidia-h200"] {
        let path = repository().join(format!("crates/cusparse/src/rules/{profile}.json"));
        let learned = |dtype: &str| {
            let folder = format!("profiles/{profile}");
            let set = ["rules", &folder, "--candidates", "csr", "--leaves", "128", "--dtype", dtype];
            let mut answer = json(repository(), &set);
            answer.as_object_mut().unwrap().remove("text").expect("C++ beside the tree");
            (dtype.to_owned(), answer)
        };
        let both = serde_json::Value::Object(["f32", "f64"].map(learned).into_iter().collect());
        if std::env::var_os("SPARSIGHT_WRITE_BOOK").is_some() {
            std::fs::write(&path, serde_json::to_string_pretty(&both).unwrap() + "\n").unwrap();
        }
        let committed: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert!(committed == both, "{}: SPARSIGHT_WRITE_BOOK=1 writes it again", path.display());
    }
}

#[test]
fn every_language_and_the_tree_say_the_same() {
    let answer = |format: &str| {
        json(
            repository(),
            &["rules", "profiles/nvidia-h100", "--candidates", "csr", "--leaves", "3", "--format", format],
        )
    };
    let [hpp, c, py, rs] = ["hpp", "c", "py", "rs"].map(answer);
    assert_eq!((&hpp["rule"], &hpp["judged"]), (&py["rule"], &c["judged"]));
    assert_eq!(hpp["leaves"], 3);
    assert_eq!(hpp["judged"]["seen"], false);
    let threshold = format!(
        "{} <= {:?}",
        hpp["rule"]["quantity"].as_str().unwrap(),
        hpp["rule"]["threshold"].as_f64().unwrap()
    );
    let otherwise = hpp["otherwise"].as_str().unwrap();
    for answer in [&hpp, &c, &py, &rs] {
        let text = answer["text"].as_str().unwrap();
        // In Rust it stands there only if the rule returns it: a constant that is not used is a warning.
        assert!(text.contains(&threshold) && (answer == &rs || text.contains(otherwise)), "{text}");
    }
}

#[test]
fn impossible_requests_for_rules_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (flags, complaint) in [
        (&["rules", "nowhere"][..], "nowhere"),
        (&["rules", "nowhere", "--leaves", "0"], "'0' is not a number of leaves from 1 to 256"),
        (&["rules", "nowhere", "--format", "rust"], "'rust' is none of hpp, c, py, rs, json"),
    ] {
        let out = run(dir.path(), flags);
        assert!(!out.starts_with("exit code: 0") && out.contains(complaint), "{out}");
    }
    // A profile without a corpus has nothing to learn from.
    let out = run(repository(), &["rules", "profiles/tesla-c2050-paper"]);
    assert!(!out.starts_with("exit code: 0") && out.contains("was taken from elsewhere"), "{out}");
}

#[test]
fn kernels_that_were_not_measured_are_named_with_the_folder_as_typed() {
    let rules = |folder| run(repository(), &["rules", folder, "--candidates", "cusparse"]);
    let (part, kernels) = ("profiles/nvidia-h200-sm40", "cusparse-csr,cusparse-coo,cusparse-sell");
    let out = rules(part);
    let says = format!("the profile {part} holds no time in f64 of {}\n", kernels.replace(',', ", "));
    assert!(out.starts_with("exit code: 2") && out.contains(&says), "{out}");
    let measure = format!("hint: `sparsight lab measure MATRICES --kernel {kernels} --dtype f64 -o {part}`");
    assert!(out.contains(&measure), "{out}");
    let out = rules("profiles/cpu-2-amd-epyc");
    let says = "--candidates cusparse: none of these runs on AMD EPYC, 2 threads\n\nhint: `--candidates csr`";
    assert!(out.starts_with("exit code: 2") && out.contains(says), "{out}");
}

/// A folder with a profile of an H100 under a name with everything that ends a comment in some language, and flags with it.
#[cfg(unix)]
#[test]
fn no_name_ends_the_comment_above_the_rules() {
    let dir = tempfile::tempdir().unwrap();
    let ends = ['\r', '\n', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}', '\u{202e}'];
    let injected = ends.map(|end| format!("{end}print('injected')")).concat();
    std::os::unix::fs::symlink(repository().join("profiles/nvidia-h100"), dir.path().join(&injected))
        .unwrap();
    let train = format!("a/,b/,{injected}");
    for format in ["hpp", "c", "py", "rs"] {
        let rules = ["rules", &injected, "--candidates", "cusparse", "--train", &train, "--format", format];
        let answer = json(dir.path(), &rules);
        let text = answer["text"].as_str().unwrap();
        assert!(!text.contains(|c: char| c != '\n' && (c.is_control() || ends.contains(&c))), "{text:?}");
        let comment = if format == "py" { "# " } else { "// " };
        let of_names = text.lines().filter(|line| line.contains("injected"));
        assert!(of_names.clone().count() > 0, "{text}");
        assert!(of_names.into_iter().all(|line| line.starts_with(comment)), "{text}");
    }
}
