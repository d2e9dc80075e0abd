//! Bad flags, broken files, missing devices: the message, the hint and the exit code.

use crate::support::{assert_exit, json, lines, made_up_profile, run, sparsight, spawn, wait_for_lines};
use insta::assert_snapshot;
use std::process::Child;
use std::time::Duration;

#[test]
fn a_broken_file_is_an_error_with_its_place() {
    let dir = made_up_profile();
    let text = "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1.0\n2 9 1.0\n";
    std::fs::write(dir.path().join("broken.mtx"), text).unwrap();
    assert_snapshot!(run(dir.path(), &["advise", "broken.mtx", "--profile", "made-up"]));
}

#[test]
fn a_missing_file_is_an_error() {
    let dir = made_up_profile();
    assert_snapshot!(run(dir.path(), &["advise", "nowhere.mtx", "--profile", "made-up"]));
}

#[test]
fn a_folder_without_a_matrix_is_no_batch() {
    let dir = made_up_profile();
    assert_snapshot!(run(dir.path(), &["bench", "made-up", "--device", "cpu"]));
}

#[test]
fn an_unknown_generator_is_an_error_with_the_known_ones() {
    let dir = made_up_profile();
    assert_snapshot!(run(dir.path(), &["advise", "gallery:stencil", "--profile", "made-up"]));
}

#[test]
fn an_unknown_device_is_no_profile() {
    let dir = tempfile::tempdir().unwrap();
    let out = run(dir.path(), &["advise", "gallery:stencil2d,n=10", "--device", "abacus"]);
    assert_exit(&out, 2, "error: unknown device 'abacus'");
    assert!(out.contains("\n\nhint: a device is cpu"), "{out}");
}

#[test]
fn gpus_are_nvidias_and_names_of_others_are_told_so() {
    let dir = made_up_profile();
    for (name, vendor) in
        [("mi250x", "AMD"), ("gfx90a", "AMD"), ("intel-max-1550", "Intel"), ("apple-m3", "Apple")]
    {
        for arguments in [
            ["advise", "--device"],
            ["lab predict", "--profile"],
            ["compare", "--devices"],
            ["plan", "--device"],
        ] {
            let command = arguments[0].split(' ');
            let mut words: Vec<_> = command.chain(["gallery:stencil2d,n=10", arguments[1], name]).collect();
            if arguments[0] == "lab predict" {
                words.extend(["--kernel", "csr-vector t8 b128"]);
            }
            let out = run(dir.path(), &words);
            let says =
                format!("error: '{name}' is the name of a GPU of {vendor}: profiles are of NVIDIA's today");
            assert_exit(&out, 2, &says);
            assert!(out.contains("hint: ") && out.contains("nvidia-h200 answers for an H200"), "{out}");
        }
    }
}

/// An A100, as its data sheet has it.
const SHEET: &str = "name = \"NVIDIA A100\"\nmultiprocessors = 108\nl2_bytes = 40e6\nmemory_bytes = 80e9\n\
                     memory_bytes_per_s = 1935e9\nlaunch_s = 2e-6\ncompute_capability = [8, 0]\n";

#[test]
fn a_data_sheet_in_other_units_or_of_another_vendors_gpu_is_refused_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    for (from, to, says) in [
        (
            "1935e9",
            "1935",
            "odd.toml:5: memory_bytes_per_s = 1935 looks like GB/s: write 1935e9 (bytes a second, 10 GB/s",
        ),
        ("40e6", "40", "odd.toml:3: l2_bytes = 40 looks like MB: write 40e6"),
        ("80e9", "80", "odd.toml:4: memory_bytes = 80 looks like GB: write 80e9"),
        ("2e-6", "2", "odd.toml:6: launch_s = 2 looks like us: write 2e-6"),
        ("108", "108000", "odd.toml:2: multiprocessors = 108000: a GPU has 1 to 1000"),
        ("[8, 0]", "[9, 4]", "odd.toml:7: compute_capability = [9, 4] is none of NVIDIA's"),
        ("[8, 0]", "[8, 0, 0]", "odd.toml:7: compute_capability = [8, 0, 0]: two numbers are expected"),
        ("NVIDIA A100", "Intel Max 1550", "odd.toml:1: 'Intel Max 1550' is a GPU of Intel"),
    ] {
        std::fs::write(dir.path().join("odd.toml"), SHEET.replace(from, to)).unwrap();
        let out = run(dir.path(), &["advise", "gallery:stencil2d,n=10", "--device", "odd.toml"]);
        assert_exit(&out, 2, says);
    }
}

#[test]
fn a_data_sheet_with_an_unknown_reference_is_refused_with_its_line_by_every_command() {
    let dir = tempfile::tempdir().unwrap();
    let grid = "gallery:stencil2d,n=10";
    for name in ["nope", "", "cpu", "NVIDIA H200"] {
        std::fs::write(dir.path().join("odd.toml"), format!("{SHEET}reference = \"{name}\"\n")).unwrap();
        let says = format!(
            "error: odd.toml:8: reference = \"{name}\": there is no such profile (shipped: nvidia-h200, nvidia-h100)\n\nhint: "
        );
        for words in [
            &["advise", grid, "--device", "odd.toml"][..],
            &["plan", grid, "--profile", "odd.toml"],
            &["info", grid, "--device", "odd.toml"],
            &["compare", grid, "--devices", "nvidia-h200,odd.toml"],
            &["kernels", "--device", "odd.toml"],
            &["lab", "transfer", grid, "--to", "odd.toml"],
        ] {
            assert_exit(&run(dir.path(), words), 2, &says);
        }
    }
}

#[test]
fn assumptions_beyond_a_data_sheet_are_listed_in_the_answer() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a100.toml"), SHEET).unwrap();
    let assumed = "\n  assumed: 0.6 of the L2, 24.0 MB, holds what the product before has read\n";
    let grid = "gallery:stencil2d,n=10";
    for words in [
        &["advise", grid, "--device", "a100.toml"][..],
        &["advise", grid, "gallery:arrow,n=40", "--device", "a100.toml"],
        &["plan", grid, "--device", "a100.toml"],
        &["lab", "predict", grid, "--device", "a100.toml", "--kernel", "csr-vector t8 b128"],
        &["lab", "transfer", grid, "--from", "nvidia-h200", "--to", "a100.toml"],
    ] {
        let out = run(dir.path(), words);
        assert!(out.starts_with("exit code: 0") && out.contains(assumed), "{words:?}: {out}");
        assert!(out.contains("assumed: copies reach 0.9 of the stated bandwidth, 1.74 TB/s"), "{out}");
    }
    let compared = run(dir.path(), &["compare", grid, "--devices", "nvidia-h200,a100.toml"]);
    assert_eq!(compared.matches("assumed: 0.6 of the L2").count(), 1, "{compared}");
    let answer = json(dir.path(), &["advise", grid, "--device", "a100.toml"]);
    let said = answer["device"]["assumptions"].as_array().unwrap();
    assert!(said.iter().any(|text| text.as_str().unwrap().contains("as fast as on nvidia-h200")), "{said:?}");
    let shipped = json(dir.path(), &["advise", grid, "--device", "nvidia-h200"]);
    assert!(shipped["device"].get("assumptions").is_none());
}

#[test]
fn an_output_takes_the_place_of_no_input_and_of_no_matrix() {
    let dir = made_up_profile();
    let at = |name: &str| dir.path().join(name);
    let matrix = "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1\n3 2 1\n";
    let sheet = format!("{SHEET}reference = \"./made-up\"\n");
    let files = [
        ("a.mtx", matrix),
        ("b.mtx", matrix),
        ("V", matrix),
        ("b.json", "{}"),
        ("t.toml", SHEET),
        ("s.toml", sheet.as_str()),
    ];
    for (name, text) in files {
        std::fs::write(at(name), text).unwrap();
    }
    std::fs::create_dir(at("x")).unwrap();
    std::os::unix::fs::symlink("V", at("link")).unwrap();
    std::os::unix::fs::symlink("made-up/benchmark.jsonl", at("page.html")).unwrap();
    let of_profile = ["made-up/device.json", "made-up/models/index.json", "made-up/benchmark.jsonl"];
    let profile = of_profile.map(|name| std::fs::read(at(name)).unwrap());
    let of_matrix = "would take the place of a matrix";
    let of_input = "would take the place of a file that is read";
    let in_profile = "would take the place of a file of a profile";
    for (words, says) in [
        ("info --svg a.mtx b.mtx", of_matrix),
        ("advise --report a.mtx b.mtx", of_matrix),
        ("advise b.mtx --report V", of_matrix),
        ("info V --svg V", of_input),
        ("advise V --report x/../V", of_input),
        ("plan derived:transpose:V --report link", of_input),
        ("bench V --device cpu --export-csv V", of_input),
        ("bench V --device cpu --compare b.json --export-csv b.json", of_input),
        ("advise V --device t.toml --report t.toml", of_input),
        ("report b.json -o ./b.json", of_input),
        ("advise b.mtx --profile made-up --report made-up/device.json", in_profile),
        ("plan b.mtx --device ./made-up --report made-up/models/index.json", in_profile),
        ("info b.mtx --profile made-up --svg page.html", in_profile),
        // Profiles that no flag names: the reference of a data sheet, one of the user.
        ("advise b.mtx --device s.toml --report made-up/device.json", in_profile),
        ("advise b.mtx --report made-up/benchmark.jsonl", in_profile),
        ("bench b.mtx --device cpu --export-csv made-up/device.json", in_profile),
    ] {
        let out = run(dir.path(), &words.split(' ').collect::<Vec<_>>());
        assert_exit(&out, 2, says);
        assert!(out.contains("\n\nhint: -") && out.contains("give it a name of its own"), "{words}: {out}");
    }
    for (name, text) in files {
        assert_eq!(std::fs::read_to_string(at(name)).unwrap(), text, "{name}");
    }
    assert_eq!(of_profile.map(|name| std::fs::read(at(name)).unwrap()), profile);
    // A page of before may lie in the folder of a profile.
    for _ in 0..2 {
        let words = ["info", "b.mtx", "--profile", "made-up", "--svg", "made-up/b.svg"];
        assert_exit(&run(dir.path(), &words), 0, "the pictures are in made-up/b.svg");
    }
}

#[test]
fn an_output_that_is_called_as_a_folder_is_refused_before_anything_is_computed() {
    let dir = tempfile::tempdir().unwrap();
    let grid = "gallery:stencil2d,n=10";
    for (words, out, what) in [
        (&["advise", grid, "--device", "nvidia-h200", "--report"][..], "out/", "the page"),
        (&["plan", grid, "--device", "nvidia-h200", "--report"], "out/.", "the page"),
        (&["info", grid, "--device", "nvidia-h200", "--svg"], "out/", "the picture"),
        (&["bench", grid, "--device", "cpu", "--export-csv"], "x/", "the table"),
        (&["report", "b.json", "-o"], "x/", "the page"),
    ] {
        let refused = run(dir.path(), &[words, &[out]].concat());
        let says = format!("{out}: {what} is a file, and this is the name of a folder\n\nhint: ");
        assert_exit(&refused, 2, &format!("- stdout -----\n----- stderr -----\nerror: {says}"));
    }
}

/// A pipe without a writer, a device that never ends and a file with a hole that memory would not hold.
#[cfg(target_os = "linux")]
#[test]
fn special_files_and_too_large_documents_are_refused_at_once() {
    let dir = made_up_profile();
    let at = |name: &str| dir.path().join(name);
    assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    std::fs::File::create(at("huge")).unwrap().set_len(1 << 40).unwrap();
    std::fs::create_dir(at("folder")).unwrap();
    let grid = "gallery:stencil2d,n=10";
    for (file, says) in [
        ("/dev/zero", "/dev/zero: not a regular file"),
        ("pipe", "pipe: not a regular file"),
        ("huge", "huge: larger than 256 mb"),
        ("folder", "older: is a directory"),
    ] {
        for words in [
            &["bench", grid, "--device", "cpu", "--kernel-file", file][..],
            &["bench", grid, "--device", "cpu", "--compare", file],
            &["compare", grid, grid, "--devices", "nvidia-h200", "--weights", file],
            &["advise", grid, "--device", "nvidia-h200", "--gpus", "2", "--links", file],
            &["report", file, "-o", "page.html"],
        ] {
            let begun = std::time::Instant::now();
            let out = run(dir.path(), words);
            assert!(out.starts_with("exit code: 2") && out.to_lowercase().contains(says), "{words:?}: {out}");
            assert!(begun.elapsed().as_secs() < 20, "{words:?} took {:?}", begun.elapsed());
        }
    }
}

#[test]
fn unknown_quantiles_and_absent_models_are_refused_with_the_available_ones() {
    let dir = made_up_profile();
    let advise = |more: &[&str]| {
        run(dir.path(), &[&["advise", "gallery:stencil2d,n=10", "--profile", "made-up"], more].concat())
    };
    let quantile = advise(&["--row-length", "p98"]);
    assert!(quantile.starts_with("exit code: 2"), "{quantile}");
    assert!(quantile.contains("not among the features of a matrix: p5, p25, median, p75"), "{quantile}");
    let model = advise(&["--model", "strip-normal"]);
    assert!(model.starts_with("exit code: 2"), "{model}");
    assert!(model.contains("no strip-normal model, which takes benchmark matrices with normal"), "{model}");
}

#[test]
fn a_profile_cannot_run_anything() {
    let dir = tempfile::tempdir().unwrap();
    assert_snapshot!(run(dir.path(), &["bench", "gallery:stencil2d,n=10", "--device", "nvidia-h200"]));
}

#[test]
fn a_profile_without_models_says_how_to_fit_them() {
    let dir = made_up_profile();
    std::fs::remove_dir_all(dir.path().join("made-up/models")).unwrap();
    assert_snapshot!(run(dir.path(), &["advise", "gallery:stencil2d,n=10", "--profile", "made-up"]));
}

#[test]
fn a_damaged_model_is_an_error_only_of_commands_that_use_it() {
    let dir = made_up_profile();
    std::fs::write(dir.path().join("made-up/models/strip-cache.gz"), "no gzip").unwrap();
    let advise = ["advise", "gallery:stencil2d,n=10", "--profile", "made-up"];
    let other = run(dir.path(), &[&advise[..], &["--model", "strip"]].concat());
    assert!(other.starts_with("exit code: 0"), "{other}");
    let damaged = run(dir.path(), &advise);
    assert!(damaged.starts_with("exit code: 2"), "{damaged}");
    assert!(damaged.contains("error: made-up/models/strip-cache.gz: "), "{damaged}");
    assert!(damaged.contains("hint: `sparsight lab fit DIR` writes the models again"), "{damaged}");
}

#[test]
fn what_fitting_makes_again_is_told_from_what_it_does_not() {
    let dir = made_up_profile();
    let models = dir.path().join("made-up/models");
    let advise = || run(dir.path(), &["advise", "gallery:stencil2d,n=10", "--profile", "made-up"]);
    let fit = "\n\nhint: `sparsight lab fit DIR` writes the models again";
    std::fs::remove_file(models.join("strip-cache.gz")).unwrap();
    let out = advise();
    assert_exit(&out, 2, "error: made-up/models/strip-cache.gz: ");
    assert!(out.contains(fit), "{out}");
    std::fs::write(models.join("index.json"), "{\n").unwrap();
    let out = advise();
    assert_exit(&out, 2, "error: made-up/models/index.json:");
    assert!(out.contains(fit), "{out}");
    std::fs::remove_file(models.join("index.json")).unwrap();
    assert_exit(&advise(), 2, "\n\nhint: `sparsight lab fit made-up` fits them");
    assert_exit(&run(dir.path(), &["lab", "fit", "made-up"]), 0, "strip-cache");
    assert!(advise().starts_with("exit code: 0"));
    let device = dir.path().join("made-up/device.json");
    let text = std::fs::read_to_string(&device).unwrap();
    std::fs::write(&device, text.replace("sparsight/device/1", "sparsight/device/9")).unwrap();
    let out = advise();
    assert_exit(&out, 2, "schema sparsight/device/9 is not sparsight/device/1");
    assert!(out.contains("update sparsight") && !out.contains("lab fit"), "{out}");
}

#[test]
fn a_measured_profile_of_a_processor_is_to_be_fitted_and_no_target_of_a_gpu() {
    let dir = tempfile::tempdir().unwrap();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/cpu-2-amd-epyc");
    let out = run(dir.path(), &["advise", "gallery:stencil2d,n=10", "--profile", folder]);
    assert_exit(&out, 2, "holds no fitted models, but measurements to fit them to");
    assert!(
        out.contains(&format!("hint: `sparsight lab fit {folder}`")) && !out.contains("transfer"),
        "{out}"
    );
}

#[test]
fn a_model_outside_the_program_is_refused_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let advise = ["advise", "gallery:stencil2d,n=10", "--device", "nvidia-h200", "--model", "linear"];
    let refused = run(dir.path(), &advise);
    assert!(refused.starts_with("exit code: 2"), "{refused}");
    assert!(refused.contains("the linear model of the profile nvidia-h200 is not part of"), "{refused}");
    assert!(refused.contains("--profile profiles/nvidia-h200"), "{refused}");
}

#[test]
fn impossible_comparisons_are_refused_with_a_hint() {
    let dir = made_up_profile();
    let compare = |more: &[&str]| {
        run(dir.path(), &[&["compare", "gallery:stencil2d,n=10", "--devices"], more].concat())
    };
    let stranger = compare(&["made-up", "--price", "other=1"]);
    assert_exit(&stranger, 2, "hint: compared are made-up");
    let lacking = compare(&["nvidia-h200,made-up", "--dtype", "f32"]);
    assert!(lacking.starts_with("exit code: 2"), "{lacking}");
    let command =
        "hint: `sparsight lab profile --device cuda:0 --dtype f32 -o made-up` on a machine with Made-up GPU";
    assert!(lacking.contains(command), "{lacking}");
    std::fs::remove_dir_all(dir.path().join("made-up/models")).unwrap();
    let unfitted = compare(&["made-up"]);
    assert!(unfitted.contains("hint: ") && unfitted.contains("`sparsight lab fit made-up`"), "{unfitted}");
}

#[test]
fn a_profile_of_another_device_is_not_written_over() {
    let dir = made_up_profile();
    let out = run(dir.path(), &["lab", "profile", "--device", "cpu", "-o", "made-up"]);
    assert_exit(&out, 2, "is a profile of Made-up GPU, not of");
}

#[test]
fn try_auto_requires_the_number_of_products() {
    let dir = tempfile::tempdir().unwrap();
    let plan = ["plan", "gallery:stencil2d,n=10", "--run", "--device", "cpu", "--try"];
    let out = run(dir.path(), &[&plan[..], &["auto"]].concat());
    assert!(out.contains("\n\nhint: say how many products are to come: --iterations 1e6"), "{out}");
    let out = run(dir.path(), &[&plan[..], &["many"]].concat());
    assert!(out.contains("'many' is neither a number of candidates nor auto"), "{out}");
}

#[test]
fn verifying_on_a_device_that_is_not_here_is_refused() {
    let dir = made_up_profile();
    let out = run(dir.path(), &["advise", "gallery:stencil2d,n=10", "--profile", "made-up", "--verify"]);
    assert!(out.starts_with("exit code: 3"), "{out}");
    assert!(out.contains("\n\nhint: leave out --verify"), "{out}");
}

#[test]
fn a_machine_without_a_gpu_says_so_and_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let here = json(dir.path(), &["devices"]);
    if here["no_cuda"].is_null() {
        eprintln!("skipped: there is a CUDA device here");
        return;
    }
    let out = run(dir.path(), &["bench", "gallery:stencil2d,n=10", "--device", "cuda:0"]);
    assert_exit(&out, 3, "\n\nhint: ");
}

#[test]
fn training_on_unknown_prefixes_names_the_known_ones() {
    let dir = made_up_profile();
    let none = run(dir.path(), &["lab", "fit", "made-up", "--train", "z/"]);
    assert_exit(&none, 2, "hint: the profile holds no corpus");
    crate::support::add_corpus(&dir.path().join("made-up"), &[("a/grid", "gallery:stencil2d,n=20", 1.0)]);
    let other = run(dir.path(), &["lab", "fit", "made-up", "--train", "z/"]);
    assert_exit(&other, 2, "hint: the corpus holds a/");
}

#[test]
fn a_damaged_cached_cpu_profile_is_set_aside_and_measured_again() {
    let dir = tempfile::tempdir().unwrap();
    let cpu = json(dir.path(), &["devices", "--jobs", "2"])["here"][0]["name"].as_str().unwrap().to_owned();
    let words = cpu.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let slug = words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-");
    let folder = dir.path().join(format!("profiles/cpu-2-{slug}"));
    let aside = |number: u32| dir.path().join(format!("profiles/cpu-2-{slug}.set-aside-{number}"));
    std::fs::create_dir_all(&folder).unwrap();
    let (device, corpus) = ("no device\n", "{\"matrix\":\"a/grid\"}\n");
    std::fs::write(folder.join("device.json"), device).unwrap();
    std::fs::write(folder.join("corpus.jsonl"), corpus).unwrap();

    let advise = ["advise", "gallery:stencil2d,n=10", "--device", "cpu", "--jobs", "2"];
    let said = |text: &str, file: &str, number: u32| {
        let name = format!("profiles/cpu-2-{slug}.set-aside-{number}");
        text.lines().any(|line| line.contains(file) && line.contains("set aside") && line.contains(&name))
    };
    let stopped = |mut child: Child| {
        child.kill().unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap()
    };
    // It is set aside before anything is measured again; no calibration is waited for: calibration.rs does that.
    let begun = |number: u32| {
        let child = spawn(dir.path(), &advise);
        wait_for_lines(&aside(number).join("device.json"), 1, Duration::from_secs(60));
        wait_for_lines(&folder.join("benchmark.jsonl"), 3, Duration::from_secs(60));
        stopped(child)
    };
    let continued = || {
        let lines = lines(&folder.join("benchmark.jsonl"));
        let child = spawn(dir.path(), &advise);
        wait_for_lines(&folder.join("benchmark.jsonl"), lines + 1, Duration::from_secs(60));
        stopped(child)
    };
    let first = begun(1);
    assert!(said(&first, "device.json:1: ", 1), "{first}");
    assert_eq!(std::fs::read_to_string(aside(1).join("device.json")).unwrap(), device);
    assert_eq!(std::fs::read_to_string(aside(1).join("corpus.jsonl")).unwrap(), corpus);

    // One bad byte in a file that the stopped calibration had begun.
    let damage = || {
        let mut measured = std::fs::read(folder.join("benchmark.jsonl")).unwrap();
        measured[0] = b'?';
        std::fs::write(folder.join("benchmark.jsonl"), &measured).unwrap();
        measured
    };
    let measured = damage();
    let second = begun(2);
    assert!(said(&second, "benchmark.jsonl:1: ", 2), "{second}");
    assert_eq!(std::fs::read(aside(2).join("benchmark.jsonl")).unwrap(), measured);
    assert_eq!(std::fs::read_to_string(aside(1).join("corpus.jsonl")).unwrap(), corpus);
    let new = std::fs::read_to_string(folder.join("benchmark.jsonl")).unwrap();
    assert!(new.starts_with('{'), "{new}");
    let corpus_now = std::fs::read_to_string(folder.join("corpus.jsonl")).unwrap_or_default();
    assert!(!corpus_now.contains("a/grid"), "{corpus_now}");

    // A stopped calibration whose files are whole is continued.
    let third = continued();
    assert!(!third.contains("set aside"), "{third}");
}

#[test]
fn bad_flags_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    for flags in [
        &["advise"][..],
        &["advise", "a.mtx", "--model", "oracle"],
        &["advise", "a.mtx", "--placement", "anywhere"],
        &["advise", "a.mtx", "--iterations", "0"],
        &["advise", "a.mtx", "--top", "0"],
        &["advise", "a.mtx", "--dtype", "f16"],
        &["advise", "a.mtx", "-q", "-v"],
        &["lab", "predict", "a.mtx", "--kernel", "csr-vector/t3"],
        &["lab", "predict", "a.mtx", "--block", "100"],
        &["bench", "a.mtx", "--device", "cuda:x"],
        &["lab", "profile", "--device", "cpu"],
        &["lab", "profile", "--device", "cpu", "-o", "p", "--max-bytes", "much"],
        &["lab", "measure", "a.mtx", "--device", "cpu", "-o", "p", "--shard", "0/4"],
        &["lab", "measure", "a.mtx", "--device", "cpu", "-o", "p", "--shard", "5/4"],
        &["lab", "measure", "a.mtx", "--device", "cpu", "-o", "p", "--shard", "half"],
        &["lab", "measure", "a.mtx", "--device", "cpu", "-o", "p", "--budget", "8"],
        &["bench", "a.mtx", "--device", "cuda:0/sm"],
        &["compare", "a.mtx"],
        &["compare", "a.mtx", "--devices", "nvidia-h200", "--price", "nvidia-h200"],
        &["compare", "a.mtx", "--devices", "nvidia-h200", "--power", "nvidia-h200=0"],
        &["compare", "a.mtx", "--devices", "nvidia-h200", "--price", "nvidia-h200=1e-320"],
        &["compare", "a.mtx", "--devices", "nvidia-h200", "--unit", "EUR"],
        &["compare", "a.mtx", "--devices", "nvidia-h200", "--block", "64"],
        &["plan", "a.mtx"],
    ] {
        let out = run(dir.path(), flags);
        assert!(out.starts_with("exit code: 2") && out.contains("error: "), "{flags:?}: {out}");
    }
}

#[test]
fn the_former_name_of_a_lab_command_says_where_it_is() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["predict", "profile", "measure", "fit", "evaluate", "transfer", "repair"] {
        let error = format!("'{name}' is a command of `sparsight lab`");
        let hint = format!("`sparsight lab {name}`");
        let expected =
            format!("exit code: 2\n----- stdout -----\n----- stderr -----\nerror: {error}\n\nhint: {hint}\n");
        assert_eq!(run(dir.path(), &[name, "made-up", "--plots", "out"]), expected);
        let out = sparsight(dir.path()).args([name, "made-up", "--json"]).output().unwrap();
        let object: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!((&object["error"], &object["hint"]), (&error.into(), &hint.into()));
        assert_eq!((&object["schema"], &object["exit_code"]), (&"sparsight/error/1".into(), &2.into()));
        let help = run(dir.path(), &["lab", name, "--help"]);
        assert_exit(&help, 0, &format!("Usage: sparsight lab {name} "));
    }
    let unknown = run(dir.path(), &["judge", "made-up"]);
    assert!(
        unknown.contains("unrecognized subcommand 'judge'") && !unknown.contains("sparsight lab"),
        "{unknown}"
    );
}

#[test]
fn a_number_of_rows_or_threads_begins_with_1() {
    let dir = tempfile::tempdir().unwrap();
    for flags in [
        &["advise", "a.mtx", "--top", "0"][..],
        &["advise", "a.mtx", "-j", "0"],
        &["info", "a", "-j", "many"],
    ] {
        let out = run(dir.path(), flags);
        assert_exit(&out, 2, "is not a whole number from 1 on");
    }
}
