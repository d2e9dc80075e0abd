//! The pages of docs/ are a book, and what they say to type works: every page has its place, every link its aim, and every command
//! of a `console` block prints what the page shows.
//!
//! ```text
//! console            run without a GPU; what it prints is held to the page, numbers apart; `...` stands for any lines
//! console varies     run; what it prints depends on the machine
//! console gpu        not run, since it takes a GPU or files that are not here; its flags are looked up
//! ```
//! `SPARSIGHT_WRITE_BOOK=1` writes what is printed into the pages, as many lines as stood there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All files `*.md` below a folder.
fn pages(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(pages(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.insert(path);
        }
    }
    found
}

/// The pages that are read with the project.
fn all_pages() -> BTreeSet<PathBuf> {
    let of_root = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "CODE_OF_CONDUCT.md",
    ];
    let of_crates = ["crates/python/README.md", "crates/capi/README.md"];
    let others = of_root.iter().chain(&of_crates).map(|page| root().join(page));
    pages(&root().join("docs")).into_iter().chain(others).collect()
}

/// Text without code, in which brackets are no links.
fn prose(text: &str) -> String {
    let mut inside = false;
    let lines = text.lines().map(|line| {
        let is_fence = line.trim_start().starts_with("```");
        inside ^= is_fence;
        if inside || is_fence {
            String::new()
        } else {
            line.split('`').step_by(2).collect::<Vec<_>>().join("code")
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Aims of the links of a page.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    let behind = prose.split("](").skip(1);
    behind.filter_map(|rest| rest.split_once(')')).map(|(aim, _)| aim.to_owned()).collect()
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
        plain
    })
}

/// Anchors of the headings of a page in links.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut inside = false;
    let headings = text.lines().filter(|line| {
        inside ^= line.starts_with("```");
        !inside && line.starts_with('#')
    });
    let anchor = |line: &str| {
        let kept = |c: char| c.is_alphanumeric() || c == '-' || c == '_' || c == ' ';
        let text: String =
            line.trim_start_matches('#').trim().to_lowercase().chars().filter(|c| kept(*c)).collect();
        text.replace(' ', "-")
    };
    headings.map(anchor).collect()
}

#[test]
fn every_page_has_its_place_in_the_book() {
    let docs = root().join("docs");
    let summary = read(&docs.join("SUMMARY.md"));
    let listed: Vec<PathBuf> = links(&summary).iter().map(|aim| docs.join(aim)).collect();
    let once: BTreeSet<PathBuf> = listed.iter().cloned().collect();
    assert_eq!(once.len(), listed.len(), "a page is a chapter twice");
    let there: BTreeSet<PathBuf> =
        pages(&docs).into_iter().filter(|page| !page.ends_with("SUMMARY.md")).collect();
    assert_eq!(once, there, "chapters of docs/SUMMARY.md, and pages of docs/");
    let book = read(&root().join("book.toml"));
    assert!(book.contains("src = \"docs\""), "{book}");
}

#[test]
fn every_link_has_an_aim() {
    let (mut dead, mut count) = (Vec::new(), 0);
    for page in all_pages() {
        let text = read(&page);
        for aim in links(&text) {
            // PyPI shows a page of this project without those beside it.
            let (folder, aim) = match aim.strip_prefix(concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/")) {
                Some(aim) => (root(), aim),
                None if aim.starts_with("http") => continue,
                None => (page.parent().unwrap().to_owned(), aim.as_str()),
            };
            count += 1;
            let (file, anchor) = aim.split_once('#').unwrap_or((aim, ""));
            let path = if file.is_empty() { page.clone() } else { plain(&folder.join(file)) };
            let is_there = path.exists()
                && (anchor.is_empty() || !path.is_file() || anchors(&read(&path)).contains(anchor));
            if !is_there {
                dead.push(format!("{}: {aim}", page.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(count > 100, "{count}");
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}

#[test]
fn the_readme_fits_on_three_screens() {
    let text = read(&root().join("README.md"));
    let lines: usize = text.lines().map(|line| line.chars().count().div_ceil(100).max(1)).sum();
    assert!(lines <= 120, "{lines} lines of 100 columns");
}

/// A block of commands and what they print.
struct Console {
    page: PathBuf,
    /// Word behind `console`.
    kind: String,
    /// Commands, and the lines that the page shows below each.
    commands: Vec<(String, Vec<String>)>,
    /// Bytes of the page between the fences.
    place: std::ops::Range<usize>,
}

/// All blocks of a page.
fn consoles(page: &Path) -> Vec<Console> {
    let text = read(page);
    let mut found = Vec::new();
    for (at, fence) in text.match_indices("\n```console") {
        let head = at + fence.len();
        let start = head + text[head..].find('\n').unwrap() + 1;
        let end = start + text[start..].find("\n```").unwrap() + 1;
        let kind = text[head..start].trim().to_owned();
        let mut commands: Vec<(String, Vec<String>)> = Vec::new();
        let mut goes_on = false;
        for line in text[start..end].lines() {
            if goes_on {
                let (command, _) = commands.last_mut().unwrap();
                let _ = write!(command, "\n{line}");
            } else if let Some(command) = line.strip_prefix("$ ") {
                commands.push((command.to_owned(), Vec::new()));
            } else {
                commands.last_mut().expect("a block begins with a command").1.push(line.to_owned());
            }
            let is_command = goes_on || line.starts_with("$ ");
            goes_on = is_command && line.ends_with('\\');
        }
        found.push(Console { page: page.to_owned(), kind, commands, place: start..end });
    }
    found
}

/// A folder with what the pages name: a matrix, a folder of two, a kernel, the profiles.
fn folder() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let grid = |n: usize| {
        let mut entries = Vec::new();
        for (row, col) in (0..n).flat_map(|row| (0..n).map(move |col| (row, col))) {
            let at = row * n + col + 1;
            entries.push((at, at, 4));
            if col + 1 < n {
                entries.extend([(at, at + 1, -1), (at + 1, at, -1)]);
            }
            if row + 1 < n {
                entries.extend([(at, at + n, -1), (at + n, at, -1)]);
            }
        }
        let mut text =
            format!("%%MatrixMarket matrix coordinate real general\n{0} {0} {1}\n", n * n, entries.len());
        for (row, col, value) in entries {
            let _ = writeln!(text, "{row} {col} {value}");
        }
        text
    };
    fs::create_dir(dir.path().join("matrices")).unwrap();
    for (name, n) in [("A.mtx", 300), ("matrices/large.mtx", 300), ("matrices/small.mtx", 40)] {
        fs::write(dir.path().join(name), grid(n)).unwrap();
    }
    let page = read(&root().join("docs/own-kernel.md"));
    let kernel = page.split_once("```cuda\n").unwrap().1.split_once("```").unwrap().0;
    fs::write(dir.path().join("my.cu"), kernel).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(root().join("profiles"), dir.path().join("profiles")).unwrap();
    dir
}

/// Output of a command, and true if it ended as it should: with 0, or with an error that the page shows.
fn run(command: &str, folder: &Path) -> (bool, String) {
    let program = assert_cmd::cargo::cargo_bin("sparsight");
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash")
        .args(["-c", command])
        .current_dir(folder)
        .env("PATH", path)
        .env("SPARSIGHT_CACHE", folder.join("cache"))
        .env("NO_COLOR", "1")
        // The output must not depend on the GPU of the machine that runs this.
        .env("CUDA_VISIBLE_DEVICES", "-1")
        .output()
        .unwrap();
    let is_right = output.status.success() || command.contains("2>&1");
    let text = String::from_utf8(output.stdout).unwrap();
    (is_right, if is_right { text } else { text + &String::from_utf8_lossy(&output.stderr) })
}

/// A line with its numbers and the width of its columns taken out.
fn normalised(line: &str) -> String {
    let mut plain = String::new();
    let mut in_number = false;
    for c in line.chars() {
        let is_part = c.is_ascii_digit() || in_number && (c == '.' || c == ',');
        if is_part && !in_number {
            plain.push('#');
        } else if !is_part {
            plain.push(c);
        }
        in_number = is_part;
    }
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// True if `printed` is what the page shows.
fn matches(shown: &[String], printed: &[&str]) -> bool {
    let Some((first, rest)) = shown.split_first() else { return printed.is_empty() };
    if first.trim() == "..." {
        return (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..]));
    }
    printed
        .split_first()
        .is_some_and(|(line, others)| normalised(line) == normalised(first) && matches(rest, others))
}

/// The lines to show of what was printed: as many as there were before a `...`, or all.
fn rewritten(shown: &[String], printed: &[&str]) -> Vec<String> {
    let kept = shown.iter().position(|line| line.trim() == "...").filter(|kept| *kept < printed.len());
    // A page that shows nothing yet gets all of it.
    let kept = kept.filter(|kept| *kept > 0);
    let mut lines: Vec<String> =
        printed[..kept.unwrap_or(printed.len())].iter().map(|line| line.trim_end().to_owned()).collect();
    if kept.is_some() {
        lines.push("...".to_owned());
    }
    lines
}

#[test]
fn the_commands_of_the_pages_print_what_the_pages_show() {
    let writes = std::env::var_os("SPARSIGHT_WRITE_BOOK").is_some();
    let (mut wrong, mut count) = (Vec::new(), 0);
    let own = ["README.md"].map(|page| root().join(page));
    let all = pages(&root().join("docs")).into_iter().chain(own);
    for page in all {
        let folder = folder();
        let mut text = read(&page);
        let mut later = Vec::new();
        for Console { page, kind, commands, place } in consoles(&page) {
            if kind == "gpu" {
                continue;
            }
            assert!(["", "varies"].contains(&kind.as_str()), "{}: console {kind}", page.display());
            let mut block = String::new();
            for (command, shown) in commands {
                count += 1;
                let (is_right, printed) = run(&command, folder.path());
                let lines: Vec<&str> = printed.lines().collect();
                let fits = kind == "varies" || matches(&shown, &lines);
                if !(is_right && (fits || writes)) {
                    wrong.push(format!("{}: $ {command}\n{printed}", page.display()));
                }
                let lines = if kind == "varies" { shown } else { rewritten(&shown, &lines) };
                let _ = writeln!(block, "$ {command}");
                for line in lines {
                    let _ = writeln!(block, "{line}");
                }
            }
            later.push((place, block));
        }
        if writes {
            later.into_iter().rev().for_each(|(place, block)| text.replace_range(place, &block));
            fs::write(&page, text).unwrap();
        }
    }
    assert!(count >= 8, "{count}");
    assert!(wrong.is_empty(), "SPARSIGHT_WRITE_BOOK=1 writes what is printed\n{}", wrong.join("\n"));
}

#[test]
fn every_flag_that_a_page_names_is_one_of_its_command() {
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    let (mut unknown, mut count) = (Vec::new(), 0);
    let docs = root().join("docs");
    let own = fs::read_dir(&docs).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    for page in own.chain([root().join("README.md")]) {
        let text = read(&page).replace("\\\n", " ");
        // In blocks and in the text, up to where a command ends.
        for rest in text.split("sparsight ").skip(1) {
            let command: &str = rest.split(['`', '\n', '|', '>', ';', '#']).next().unwrap();
            let mut words = command.split_whitespace();
            let Some(name) = words.next().filter(|name| name.chars().all(|c| c.is_ascii_lowercase())) else {
                continue;
            };
            let name = match name {
                "lab" => format!("lab {}", words.next().unwrap_or_default()),
                name => name.to_owned(),
            };
            let flags: Vec<&str> = words.filter(|word| word.starts_with("--")).collect();
            if flags.is_empty() {
                continue;
            }
            let help = known
                .entry(name.clone())
                .or_insert_with(|| run(&format!("sparsight {name} --help"), &docs).1);
            for flag in flags {
                let flag = flag.split(['=', ',', '.', ')', ':']).next().unwrap();
                count += 1;
                let is_known = |end: char| help.contains(&format!("{flag}{end}"));
                if ![' ', '\n', ',', '[', '.'].into_iter().any(is_known) {
                    unknown.push(format!("{}: sparsight {name} {flag}", page.display()));
                }
            }
        }
    }
    assert!(count > 50, "{count}");
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}

#[test]
fn numbers_and_widths_do_not_count_and_words_do() {
    let lines = |text: &str| text.lines().map(ToOwned::to_owned).collect::<Vec<_>>();
    let holds = |shown: &str, printed: &str| matches(&lines(shown), &printed.lines().collect::<Vec<_>>());
    assert!(holds("Use ell b128:   7.33 us\n...\n  end", "Use ell b64: 1,000.5 us\na\nb\nend"));
    assert!(holds("a\n...", "a") && !holds("a", "a\nb") && !holds("a\nb", "a"));
    assert!(!holds("Use ell b128: 7.33 us", "Use hyb b128: 7.33 us"));
    assert!(!holds("7.33 us", "7.33 ms"));
    assert_eq!(links("[a](b.md) `[c](d)`\n```\n[e](f)\n```\n"), ["b.md"]);
    assert!(anchors("# A page\n## `sparsight/bench/1`\n").contains("sparsightbench1"));
}
