//! Rules learned from the profile in this repository, compiled and run in every language they come in: they choose what the library
//! says they choose, and cost on unseen matrices what they promise.
//!
//! Without g++ or python3 the test of that language says that it is skipped; `SPARSIGHT_REQUIRE_GXX=1` turns that into a failure.

use sparsight::kernels::{Candidate, catalogue};
use sparsight::matrix::Dtype;
use sparsight::profile::ProfileFolder;
use sparsight::records::CorpusRecord;
use sparsight_lab::rules::{Language, Quantity, Rule, Rules};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

fn corpus() -> Vec<CorpusRecord> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles/nvidia-h200");
    ProfileFolder::open(&folder).unwrap().measured().unwrap()
}

/// Folders e and f, and what was derived from them, judge.
fn is_learned_from(record: &CorpusRecord) -> bool {
    !["e/", "f/"].iter().any(|folder| record.matrix.starts_with(folder))
}

/// Kernels for CSR as it is.
fn csr(dtype: Dtype) -> Vec<Candidate> {
    catalogue(dtype).filter(|c| c.format().is_csr() && !c.kernel.is_vendors()).collect()
}

fn learned(corpus: &[CorpusRecord], dtype: Dtype, leaves: usize) -> Rules {
    Rules::learn("nvidia-h200", corpus.iter().filter(|r| is_learned_from(r)), &csr(dtype), leaves).unwrap()
}

/// The arguments of a generated function for each record, as numbers of the language.
fn calls(records: &[&CorpusRecord], name: &str) -> Vec<String> {
    let call = |record: &&CorpusRecord| {
        let values: Vec<String> =
            Quantity::ARGUMENTS.iter().map(|q| format!("{:?}", q.of(&record.features))).collect();
        format!("{name}({})", values.join(", "))
    };
    records.iter().map(call).collect()
}

/// Output of a program, line by line; `None` if it is not here.
fn printed(program: &str, arguments: &[&str]) -> Option<Vec<String>> {
    let output = match Command::new(program).args(arguments).output() {
        Ok(output) => output,
        Err(error) => {
            let required = std::env::var_os("SPARSIGHT_REQUIRE_GXX").is_some_and(|value| value == "1");
            assert!(!required, "{program}: {error}");
            eprintln!("skipped: {program}: {error}");
            return None;
        }
    };
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}

/// Choices of the rules for each record when they are run as `language`.
fn run(rules: &Rules, records: &[&CorpusRecord], language: Language, dir: &Path) -> Option<Vec<String>> {
    let mut text = rules.text(language, "1 GPU-csr", "made in a test\n\nof a \"corpus\"");
    let dtype = rules.dtype;
    let path = |name: &str| dir.join(format!("{name}-{dtype}")).to_str().unwrap().to_owned();
    let compiled = |text: &str, compiler: &str, flags: &[&str], ending: &str| {
        let (source, program) = (path("rules") + ending, path("program"));
        std::fs::write(&source, text).unwrap();
        let warnings = ["-Wall", "-Wextra", "-Werror", "-o", &program, &source];
        printed(compiler, &[flags, &warnings[..]].concat())?;
        printed(&program, &[])
    };
    match language {
        Language::Py => {
            for call in calls(records, &format!("gpu_1_GPU_csr_{dtype}")) {
                let _ = writeln!(text, "print({call})");
            }
            let _ = writeln!(
                text,
                "assert isinstance(GPU_1_GPU_CSR_{}_OTHERWISE, str)",
                dtype.to_string().to_uppercase()
            );
            std::fs::write(path("rules.py"), text).unwrap();
            printed("python3", &[&path("rules.py")])
        }
        Language::C => {
            text.insert_str(0, "#include <stdio.h>\n");
            text.push_str("int main(void)\n{\n");
            for call in calls(records, &format!("sparsight_gpu_1_GPU_csr_{dtype}")) {
                let _ = writeln!(text, "    puts({call});");
            }
            let _ = writeln!(text, "    return sparsight_gpu_1_GPU_csr_{dtype}_otherwise[0] == 0;\n}}");
            compiled(&text, "cc", &["-std=c99", "-pedantic"], ".c")
        }
        Language::Hpp => {
            // As a library would: the header alone, then included twice.
            std::fs::write(path("rules.hpp"), &text).unwrap();
            let mut main = format!(
                "#include \"{0}\"\n#include \"{0}\"\n#include <cstdio>\nint main()\n{{\n",
                path("rules.hpp")
            );
            for call in calls(records, &format!("sparsight_rules::gpu_1_GPU_csr_{dtype}")) {
                let _ = writeln!(main, "    std::puts({call});");
            }
            let _ =
                writeln!(main, "    return sparsight_rules::gpu_1_GPU_csr_{dtype}_otherwise[0] == 0;\n}}");
            compiled(&main, "g++", &["-std=c++11"], ".cpp")
        }
        Language::Rs => {
            text.push_str("fn main() {\n");
            for call in calls(records, &format!("gpu_1_GPU_csr_{dtype}")) {
                let _ = writeln!(text, "    println!(\"{{}}\", {call});");
            }
            text.push_str("}\n");
            let (source, program) = (path("rules") + ".rs", path("program"));
            std::fs::write(&source, text).unwrap();
            printed("rustc", &["-A", "non_snake_case", "-D", "warnings", "-o", &program, &source])?;
            printed(&program, &[])
        }
    }
}

#[test]
fn generated_source_chooses_like_the_library() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = corpus();
    for dtype in Dtype::ALL {
        let rules = learned(&corpus, dtype, 16);
        let records: Vec<&CorpusRecord> = corpus.iter().filter(|r| r.dtype == dtype).collect();
        let expected: Vec<String> = records.iter().map(|r| rules.choose(&r.features).to_string()).collect();
        let kinds = expected.iter().collect::<std::collections::BTreeSet<_>>().len();
        assert!(records.len() > 900 && kinds > 5, "{} matrices, {kinds} choices", records.len());
        for language in Language::ALL {
            if let Some(chosen) = run(&rules, &records, language, dir.path()) {
                assert_eq!(chosen, expected, "{language:?}");
            }
        }
    }
}

/// The rules of several GPUs, of several sets of candidates and in both value types in one program: none hides another.
#[test]
fn all_headers_of_the_repository_can_be_included_together() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/rules");
    let dir = tempfile::tempdir().unwrap();
    let (mut main, mut calls) = (String::new(), String::new());
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().replace('-', "_");
        let _ = writeln!(main, "#include \"{}\"", path.canonicalize().unwrap().display());
        let _ =
            writeln!(calls, "    std::puts(sparsight_rules::{name}(1000.0, 1000.0, 5000.0, 5.0, 5.0, 0.0));");
    }
    let count = calls.lines().count();
    let text = format!("{main}#include <cstdio>\nint main()\n{{\n{calls}}}\n");
    let [source, program] = ["all.cpp", "all"].map(|name| dir.path().join(name).to_str().unwrap().to_owned());
    std::fs::write(&source, text).unwrap();
    let flags = ["-std=c++11", "-Wall", "-Wextra", "-Werror", "-o", &program, &source];
    if printed("g++", &flags).is_none() {
        return;
    }
    let chosen = printed(&program, &[]).unwrap();
    assert_eq!((chosen.len(), count), (12, 12));
    assert!(chosen.iter().all(|id| id.parse::<Candidate>().is_ok()), "{chosen:?}");
}

#[test]
fn the_stated_regret_matches_the_recorded_times() {
    let corpus = corpus();
    let rules = learned(&corpus, Dtype::F64, 8);
    assert!(rules.rule.leaves() <= 8 && rules.matrices > 700);
    let unseen = || corpus.iter().filter(|r| !is_learned_from(r) && r.dtype == Dtype::F64);
    let promised = rules.judge(unseen()).unwrap();
    // Again, by hand.
    let (mut sum, mut worst) = (0.0, 1.0_f64);
    for record in unseen() {
        let times: Vec<(Candidate, f64)> = record.times().map(|(c, t)| (c, t.0)).collect();
        let of = |wanted: Candidate| times.iter().find(|(c, _)| *c == wanted).map(|(_, t)| *t);
        let best = rules.candidates.iter().filter_map(|&c| of(c)).fold(f64::INFINITY, f64::min);
        let ratio = of(rules.choose(&record.features)).or_else(|| of(rules.otherwise)).unwrap() / best;
        sum += ratio.ln();
        worst = worst.max(ratio);
    }
    let count = unseen().count();
    assert_eq!(promised.count, count);
    assert!((promised.mean_ratio.ln() - sum / count as f64).abs() < 1e-9);
    assert!((promised.worst_ratio - worst).abs() < 1e-9);
    // More leaves cost less where they were learned, and none costs more than what everybody takes.
    let mean = |leaves: usize| {
        let rules = learned(&corpus, Dtype::F64, leaves);
        rules.judge(corpus.iter().filter(|r| is_learned_from(r))).unwrap().mean_ratio
    };
    let (one, few, many) = (mean(1), mean(4), mean(16));
    assert!(one > few && few > many && many < 1.2, "{one} {few} {many}");
    assert!(promised.mean_ratio < 1.2, "{promised:?}");
}

#[test]
fn rules_without_records_are_refused_and_one_leaf_has_no_condition() {
    let corpus = corpus();
    let none = Rules::learn("empty", [], &csr(Dtype::F64), 4).unwrap_err();
    assert!(none.to_string().contains("empty"), "{none}");
    assert!(matches!(learned(&corpus, Dtype::F32, 1).rule, Rule::Take(_)));
}
