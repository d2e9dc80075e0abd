//! Running the program, a made-up profile to predict from, and blanking what differs from run to run.

use assert_cmd::Command;
use sparsight::device::timing::{Caches, Stopped};
use sparsight::kernels::{
    BLOCKS, DeviceFacts, DeviceKind, Format, Kernel, Placement, RowLengthDistribution, StripRule, strip,
};
use sparsight::matrix::gallery::Recipe;
use sparsight::matrix::{Bytes, Dtype, Features, Seconds};
use sparsight::profile::{
    ConversionCost, DEVICE_SCHEMA, GridName, ProfileFolder, ProfiledDevice, Provenance,
};
use sparsight::records::{BenchmarkOutcome, BenchmarkRecord, BlockTiming, CorpusRecord, Measured, Outcome};
use sparsight::{Advisor, Objective, Profile};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The program with a cache of its own and nothing from the environment that changes its output.
pub fn sparsight(cache: &Path) -> Command {
    let mut command = Command::cargo_bin("sparsight").expect("the program was built");
    command.env("SPARSIGHT_CACHE", cache).env("NO_COLOR", "1").env_remove("RAYON_NUM_THREADS");
    command.env("XDG_DATA_HOME", cache);
    command
}

/// Exit code, stdout and stderr as one text, with `folder` called DIR.
pub fn run(folder: &Path, arguments: &[&str]) -> String {
    let output = sparsight(folder).current_dir(folder).args(arguments).output().expect("the program starts");
    let text = |bytes: &[u8]| {
        let text = String::from_utf8(bytes.to_vec()).expect("output is UTF-8");
        text.replace(&folder.display().to_string(), "DIR")
    };
    let code = output.status.code().expect("the program ends by itself");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let mut all = format!("exit code: {code}\n----- stdout -----\n{out}");
    if !err.is_empty() {
        all.push_str("----- stderr -----\n");
        all.push_str(&err);
    }
    all
}

/// Asserts that what [`run`] returned ended with this exit code and says so.
#[track_caller]
pub fn assert_exit(out: &str, code: u8, says: &str) {
    assert!(out.starts_with(&format!("exit code: {code}")) && out.contains(says), "{out}");
}

/// The program, begun and not waited for, with a cache of its own.
pub fn spawn(folder: &Path, arguments: &[&str]) -> std::process::Child {
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("sparsight"));
    if cfg!(target_os = "linux") {
        // What runs the tests may ignore Ctrl-C, as a shell's background jobs do: then so would the program.
        command = std::process::Command::new("env");
        command.arg("--default-signal=INT").arg(assert_cmd::cargo::cargo_bin("sparsight"));
    }
    command.current_dir(folder).args(arguments).env("SPARSIGHT_CACHE", folder).env("NO_COLOR", "1");
    command.env_remove("RAYON_NUM_THREADS");
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
}

/// Whole lines of a file; none where there is no file.
pub fn lines(file: &Path) -> usize {
    std::fs::read_to_string(file).map_or(0, |text| text.matches('\n').count())
}

/// Waits until a run has written so many lines, for `patience` at most.
pub fn wait_for_lines(file: &Path, count: usize, patience: Duration) {
    let begun = Instant::now();
    while lines(file) < count {
        assert!(begun.elapsed() < patience, "nothing was measured");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Stdout of a run that must end well, as JSON.
pub fn json(folder: &Path, arguments: &[&str]) -> serde_json::Value {
    let output = sparsight(folder).current_dir(folder).args(arguments).arg("--json").output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?} ended with {}: {err}", output.status);
    serde_json::from_slice(&output.stdout).expect("stdout is one JSON object")
}

/// Below the exit code, numbers become `#` and runs of spaces one: what is left does not depend on the machine's
/// speed.
pub fn blanked(text: &str) -> String {
    let (code, rest) = text.split_once('\n').unwrap_or((text, ""));
    let blank = |word: &str| if word.parse::<f64>().is_ok() { "#".to_owned() } else { word.to_owned() };
    let line = |line: &str| line.split_whitespace().map(blank).collect::<Vec<_>>().join(" ");
    let rest = rest.lines().map(line).collect::<Vec<_>>().join("\n");
    format!("{code}\n{rest}").replace("# ms", "# us").replace("# ns", "# us").replace(" (cache)", "")
}

/// Numbers of a JSON text to six digits: the last ones depend on the mathematical library.
pub fn rounded(text: &str) -> String {
    let round = |line: &str| {
        let (key, value) = line.split_once(": ").unwrap_or(("", line));
        match value.trim_end_matches(',').parse::<f64>() {
            Ok(number) if !key.is_empty() && value.contains(['.', 'e']) => {
                format!("{key}: {number:.5e}{}", if value.ends_with(',') { "," } else { "" })
            }
            _ => line.to_owned(),
        }
    };
    text.lines().map(round).collect::<Vec<_>>().join("\n")
}

/// Facts of an invented GPU.
fn facts() -> DeviceFacts {
    DeviceFacts {
        l2_bytes: Bytes(30_000_000),
        memory_bytes: Bytes(8_000_000_000),
        compute_capability: Some((9, 0)),
        driver: "made up".to_owned(),
        copy_bytes_per_s: 1e12,
        launch_s: Seconds(2e-6),
        upload_bytes_per_s: Some(2e10),
        ..DeviceFacts::of_gpu("Made-up GPU", 10, 2048)
    }
}

/// Facts of an invented CPU: four workers and a twentieth of the GPU's bandwidth.
fn cpu_facts() -> DeviceFacts {
    DeviceFacts {
        name: "Made-up CPU".to_owned(),
        kind: DeviceKind::Cpu,
        multiprocessors: 4,
        warps_per_multiprocessor: 1,
        threads_per_multiprocessor: 1,
        max_threads_per_block: None,
        compute_capability: None,
        copy_bytes_per_s: 5e10,
        small_product_s: None,
        upload_bytes_per_s: None,
        ..facts()
    }
}

/// Microseconds that a benchmark matrix takes on the made-up GPU: a product of two lines, as the models say.
fn made_up_us(kernel: Kernel, block: u32, placement: Placement, p: u64, strips: u64) -> f64 {
    let knob = match kernel.name() {
        "csr-vector" => 1.0 + f64::from(kernel.knobs()[0]) / 64.0,
        "csr-scalar" => 1.4,
        _ => 1.0,
    };
    let block = 1.0 + (f64::from(block) - 256.0).abs() / 2560.0;
    let far = if placement == Placement::Scattered { 2.5 } else { 1.0 };
    match kernel.strip_rule() {
        StripRule::Coo => 2.0 + 0.4 * far * block * strips as f64,
        _ => 2.0 + knob * block * far * (0.02 * p as f64 + 0.4) * (strips as f64 + 0.5),
    }
}

/// Kernel, placement, p and I of every benchmark matrix: of its own, so that the answers do not change when the
/// library's grid grows.
fn made_up_grid() -> impl Iterator<Item = (Kernel, Placement, u64, u64)> {
    let kernels = Kernel::all().filter(|kernel| kernel.has_benchmark_matrices());
    let placed = kernels.flat_map(|kernel| Placement::ALL.map(|placement| (kernel, placement)));
    placed.flat_map(|(kernel, placement)| {
        let (lengths, strips): (&[u64], &[u64]) = match kernel.strip_rule() {
            StripRule::Coo => (&[1, 2, 5, 10, 20, 50, 100], &[1]),
            StripRule::Csr => (&[4, 16, 64, 256, 1024, 2048, 4096], &[1, 2, 4, 7, 10]),
            _ => (&[4, 16, 64, 256, 1024], &[1, 2, 4, 7, 10]),
        };
        let points = lengths.iter().flat_map(|&p| strips.iter().map(move |&strips| (p, strips)));
        points.map(move |(p, strips)| (kernel, placement, p, strips))
    })
}

/// A folder with a fitted profile of the made-up GPU, called `made-up`.
pub fn made_up_profile() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write_profile(&dir.path().join("made-up"), facts(), 1.0, |_| true);
    dir
}

/// The same, and beside it one of a CPU that takes ten times as long for a strip, called `made-up-cpu`. Both know a few
/// kernels alone, so that what is best does not change when the catalogue grows.
pub fn made_up_profiles() -> TempDir {
    let few = |kernel: Kernel| ["csr-scalar", "csr-vector", "coo", "ell"].contains(&kernel.name());
    let dir = tempfile::tempdir().unwrap();
    write_profile(&dir.path().join("made-up"), facts(), 1.0, few);
    write_profile(&dir.path().join("made-up-cpu"), cpu_facts(), 10.0, few);
    dir
}

/// A fitted profile of a device on which everything takes `slowness` times as long as [`made_up_us`], of the kernels that
/// `known` accepts.
fn write_profile(path: &Path, facts: DeviceFacts, slowness: f64, known: impl Fn(Kernel) -> bool) {
    let folder = ProfileFolder::create(path).unwrap();
    let conversion = Format::all().map(|format| {
        let s_per_byte = if format.is_csr() { 0.0 } else { 1e-9 };
        (format, ConversionCost { s_per_byte, on_device: false })
    });
    let provenance = Provenance {
        date: "2026-01-02".to_owned(),
        version: "0.0.0".to_owned(),
        commit: "unknown".to_owned(),
        kernels: String::new(),
        source: None,
        assumptions: Vec::new(),
        driver: "made up".to_owned(),
        cusparse: String::new(),
        host_threads: 1,
        noise: None,
    };
    let device = ProfiledDevice {
        schema: DEVICE_SCHEMA.to_owned(),
        grid: GridName::Full,
        facts,
        conversion: conversion.collect(),
        converts_from_nnz: None,
        provenance,
    };
    folder.write_device(&device).unwrap();
    let mut journal = folder.benchmark().unwrap();
    for (kernel, placement, p, strips) in made_up_grid().filter(|point| known(point.0)) {
        let strip = strip(kernel, &device.facts);
        let nrows = strip.size * strips;
        // COO counts strips of non-zeros; one strip of rows holds p of them.
        let strips = strip.strips(strip.unit.count(nrows, nrows * p));
        let timing = |block| BlockTiming {
            block,
            time_s: Seconds(1e-6 * slowness * made_up_us(kernel, block, placement, p, strips)),
            spread: 0.01,
            samples: 5,
            beta: 50,
            stopped: Stopped::Spread,
        };
        let outcome = BenchmarkOutcome::Blocks(BLOCKS.map(timing).to_vec());
        let (kernel, dtype, seed) = (kernel.to_string(), Dtype::F64, 1);
        let (lengths, drawn) = (RowLengthDistribution::Constant, None);
        let record =
            BenchmarkRecord { kernel, dtype, placement, lengths, p, strips, nrows, seed, drawn, outcome };
        journal.append(record).unwrap();
    }
    folder.write_models(&sparsight::calibrate::fit(&folder, &[], |_| true).unwrap().models).unwrap();
}

/// Adds a corpus on which the made-up GPU takes `ratio` times as long as `strip-cache` predicts.
pub fn add_corpus(folder: &Path, matrices: &[(&str, &str, f64)]) {
    let profile = Profile::load(folder).unwrap();
    let mut corpus = ProfileFolder::open(folder).unwrap().corpus().unwrap();
    for &(name, recipe, ratio) in matrices {
        let features = Features::of(&recipe.parse::<Recipe>().unwrap().generate::<f64>().unwrap());
        let advice = Advisor::new(&profile).advise(&features, Dtype::F64, &Objective::default()).unwrap();
        let measured = |a: &sparsight::advise::Advised| Measured {
            id: a.candidate,
            outcome: Outcome::Time { time_s: Seconds(ratio * a.prediction.time.0), spread: 0.01, samples: 5 },
        };
        let results = advice.ranked.iter().map(measured).collect();
        let new = CorpusRecord::new(name, Dtype::F64, Caches::Warm, features);
        corpus.append(CorpusRecord { results, ..new }).unwrap();
    }
}
