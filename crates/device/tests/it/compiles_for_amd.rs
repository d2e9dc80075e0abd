//! Every kernel in every variant compiles for AMD's GPUs of either size of wave, and every kernel for their successors. Needs clang 19 or
//! newer, but neither `ROCm` nor a GPU: `hip/device.hpp` stands for the headers of HIP. `SPARSIGHT_REQUIRE_AMD_CLANG=1` turns a skip into a
//! failure.

use crate::every_variant_compiles::{epilogue_sources, fused_sources, sources, sources_of_every_kernel};
use sparsight_device::DeviceError;
use sparsight_device::hip::{compile, hiprtc_version};
use sparsight_kernels::KernelSource;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// CDNA 2, with waves of 64, and RDNA 3, with waves of 32: for these every variant compiles.
const ARCHS: [(&str, u32); 2] = [("gfx90a", 64), ("gfx1100", 32)];

/// CDNA 3 and RDNA 4: for these every kernel compiles.
const SUCCESSORS: [(&str, u32); 2] = [("gfx942", 64), ("gfx1201", 32)];

/// Names under which systems have clang, the newest first, and the first version that knows all of these.
const CLANGS: [&str; 6] = ["clang-23", "clang-22", "clang-21", "clang-20", "clang-19", "clang"];
const OLDEST: u32 = 19;

/// Sources of one translation unit. Chosen: starting clang and reading what they share is little beside compiling so many, and there are
/// some tens of units for each chip, for as many processors.
const TOGETHER: usize = 24;

/// The name of a clang that knows the chips; `None`, said so, if there is none.
fn clang() -> Option<&'static str> {
    let version = |name: &&str| {
        let output = Command::new(name).arg("-dumpversion").output().ok()?;
        String::from_utf8_lossy(&output.stdout).split('.').next()?.trim().parse::<u32>().ok()
    };
    let has_headers = Path::new(HERE).join("device.hpp").is_file();
    let found = CLANGS.into_iter().find(|name| version(name).is_some_and(|version| version >= OLDEST));
    if found.is_none() || !has_headers {
        let missing = if has_headers { "no clang 19 or newer" } else { "no source tree" };
        assert!(std::env::var_os("SPARSIGHT_REQUIRE_AMD_CLANG").is_none(), "{missing}");
        println!("skipped: {missing}");
        return None;
    }
    found
}

const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/hip");

/// One text of many sources, each in a namespace with its definitions: there, kernels cannot have C's names.
fn unit(sources: &[(String, KernelSource)]) -> String {
    let prelude = KernelSource { text: String::new(), definitions: Vec::new(), entry_points: Vec::new() };
    let mut text = format!("#include \"{HERE}/device.hpp\"\n{}", prelude.for_hip().text);
    for (number, (name, source)) in sources.iter().enumerate() {
        let definitions: Vec<_> = source.definitions.iter().filter_map(|all| all.split_once('=')).collect();
        let _ = writeln!(text, "\n// {name}\nnamespace source_{number} {{");
        for (name, value) in &definitions {
            let _ = writeln!(text, "#define {name} {value}");
        }
        text.push_str(&source.text.replace("extern \"C\" ", ""));
        text.push_str("\n#undef VARIANTS\n");
        for (name, _) in &definitions {
            let _ = writeln!(text, "#undef {name}");
        }
        text.push_str("}\n");
    }
    text
}

/// Assembler text of a file for a chip.
fn assembled(clang: &str, file: &Path, arch: &str) -> Result<String, String> {
    let output = Command::new(clang)
        .args([
            "-x",
            "hip",
            "--cuda-device-only",
            "-nogpulib",
            "-nogpuinc",
            "-std=c++17",
            "-O3",
            "-w",
            "-S",
            "-o",
            "-",
        ])
        .arg(format!("--offload-arch={arch}"))
        .arg(file)
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(String::from_utf8_lossy(&output.stderr).chars().take(2000).collect())
}

#[test]
fn every_variant_compiles_for_waves_of_64_and_of_32() {
    let Some(clang) = clang() else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("amd-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    // Of epilogues a fifth, in either value type: they differ in the kernel that is compiled without them as well.
    let epilogues = epilogue_sources().into_iter().step_by(5);
    let all: Vec<_> = sources().into_iter().chain(fused_sources()).chain(epilogues).collect();
    let units_of = |name: &str, sources: &[(String, KernelSource)]| {
        let written = sources.chunks(TOGETHER).enumerate().map(|(number, sources)| {
            let file = folder.join(format!("{name}{number}.hip"));
            fs::write(&file, unit(sources)).unwrap();
            (file, sources.iter().map(|(_, source)| source.entry_points.len()).sum::<usize>())
        });
        written.collect::<Vec<_>>()
    };
    let (variants, kernels) = (units_of("variants", &all), units_of("kernels", &sources_of_every_kernel()));
    let jobs: Vec<_> = [(ARCHS, &variants), (SUCCESSORS, &kernels)]
        .into_iter()
        .flat_map(|(archs, units)| {
            archs.into_iter().flat_map(move |arch| units.iter().map(move |unit| (arch, unit)))
        })
        .collect();

    let start = Instant::now();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut failures = Vec::new();
        while let Some(((arch, wave), (file, kernels))) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            match assembled(clang, file, arch) {
                Ok(text) => {
                    let waves = text.matches(&format!(".wavefront_size: {wave}\n")).count();
                    if waves != *kernels {
                        failures.push(format!("{arch}: {waves} of {kernels} kernels have waves of {wave}"));
                    }
                }
                Err(log) => failures.push(format!("{arch}: {log}")),
            }
        }
        failures
    };
    let failures: Vec<String> = std::thread::scope(|scope| {
        let count = std::thread::available_parallelism().map_or(2, usize::from);
        let workers: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker does not panic")).collect()
    });
    println!("{} sources, {} compilations in {:.1} s", all.len(), jobs.len(), start.elapsed().as_secs_f64());
    fs::remove_dir_all(&folder).unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// AMD's own compiler with its own headers, where it is here: it needs no GPU.
#[test]
fn hiprtc_makes_code_of_some_of_every_kind() {
    match hiprtc_version() {
        Err(error @ (DeviceError::NoHiprtc { .. } | DeviceError::LoaderPath { .. })) => {
            return println!("skipped: {error}");
        }
        other => drop(other.unwrap()),
    }
    // Everything but candidates, and some of these.
    let all: Vec<_> = sources().into_iter().chain(fused_sources()).chain(epilogue_sources()).collect();
    let some = all.iter().enumerate().filter(|(at, _)| *at < 8 || at % 29 == 0 || at + 1 == all.len());
    for (_, (name, source)) in some {
        let code = compile(source, Some("gfx90a")).unwrap_or_else(|error| panic!("{name}: {error}"));
        for entry in &source.entry_points {
            let found = code.windows(entry.len()).any(|bytes| bytes == entry.as_bytes());
            assert!(found, "{name}: no {entry} in {} bytes of code", code.len());
        }
    }
}

#[test]
fn an_error_names_the_file_and_the_line_of_the_kernel() {
    let Some(clang) = clang() else { return };
    let mut source = sources().swap_remove(0).1;
    source.text.push_str("\n#line 7 \"broken.cu\"\nint broken(\n");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("broken-{}.hip", std::process::id()));
    fs::write(&file, unit(&[("broken".to_owned(), source)])).unwrap();
    let log = assembled(clang, &file, "gfx90a").unwrap_err();
    fs::remove_file(&file).unwrap();
    assert!(log.contains("broken.cu:"), "{log}");
}
