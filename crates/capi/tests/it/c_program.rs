//! Programs in C are compiled against the header and the library as cargo has built them, and run; those in other languages, where
//! their compilers are. Without a compiler a test says that it is skipped; `SPARSIGHT_REQUIRE_GXX=1` turns that into a failure for
//! C and C++, `SPARSIGHT_REQUIRE_GPU=1` where a GPU is missing.

use std::path::Path;
use std::process::Command;

use crate::compile::{
    compiler, done, dynamic_library, first_of, folder, is_required, library, ran, with_dynamic_library, words,
};

/// Exit code of a program that has found no GPU.
const SKIPPED: i32 = 77;

/// Compiles `source`, of this crate, with warnings as errors.
fn compile(compiler: &str, source: &str, program: &Path, library: &[&str]) {
    let warnings = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1"];
    let mut command = Command::new(compiler);
    command.args(warnings).arg("-I").arg(folder().join("include"));
    command.arg(folder().join(source)).arg("-o").arg(program).args(library);
    done(&mut command);
}

/// The words as `&str`.
fn borrowed(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

fn hold_spmv(program: &Path) {
    let said = done(&mut Command::new(program));
    assert!(said.contains("14400 rows, 71520 non-zeros"), "{said}");
    assert!(said.contains("prepared on cpu: "), "{said}");
    assert!(said.ends_with("0 of 43200 entries of y are wrong\n"), "{said}");
    // A title, five candidates, the one that is prepared, what came out.
    assert_eq!(said.lines().count(), 8, "{said}");
    let elsewhere = ran(Command::new(program).arg("abacus"));
    assert_eq!(elsewhere.status.code(), Some(1));
    let said = words(&elsewhere);
    assert!(said.contains("code 4: there is no profile 'abacus'"), "{said}");
    assert!(said.contains("hint: a profile is one of those names"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_program_in_c_runs_with_the_dynamic_library() {
    let Some(compiler) = compiler(&["cc", "gcc", "clang"]) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let program = scratch.path().join("spmv");
    compile(compiler, "examples-c/spmv.c", &program, &borrowed(&with_dynamic_library()));
    hold_spmv(&program);
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_in_c_runs_with_the_static_library() {
    let Some(compiler) = compiler(&["cc", "gcc", "clang"]) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let program = scratch.path().join("spmv");
    let library = library("libsparsight_c.a").display().to_string();
    // What `rustc --print native-static-libs` says.
    let system = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"];
    let libraries: Vec<&str> = std::iter::once(library.as_str()).chain(system).collect();
    compile(compiler, "examples-c/spmv.c", &program, &libraries);
    hold_spmv(&program);
}

#[cfg(unix)]
#[test]
fn a_forked_child_is_refused_and_does_not_wait() {
    let Some(compiler) = compiler(&["cc", "gcc", "clang"]) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let program = scratch.path().join("forked");
    compile(compiler, "tests/forked.c", &program, &borrowed(&with_dynamic_library()));
    assert_eq!(done(&mut Command::new(&program)), "a forked child is refused\n");
}

#[cfg(target_os = "linux")]
#[test]
fn a_system_that_gives_no_threads_is_an_error_with_a_hint() {
    let Some(compiler) = compiler(&["cc", "gcc", "clang"]) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let program = scratch.path().join("spmv");
    compile(compiler, "examples-c/spmv.c", &program, &borrowed(&with_dynamic_library()));
    // A stack for each thread that is larger than what can be addressed.
    let output = ran(Command::new(&program).env("RUST_MIN_STACK", (1_u64 << 52).to_string()));
    let said = words(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("code 6: the system gives no worker threads: "), "{said}");
    assert!(said.contains("hint: raise the limits"), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_in_c_multiplies_on_a_gpu_in_streams_of_its_own() {
    let Some(compiler) = compiler(&["cc", "gcc", "clang"]) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let program = scratch.path().join("multiply_on_a_gpu");
    let mut libraries = with_dynamic_library();
    libraries.push("-ldl".to_owned());
    compile(compiler, "tests/multiply_on_a_gpu.c", &program, &borrowed(&libraries));
    let output = ran(Command::new(&program).env("SPARSIGHT_CACHE", scratch.path()));
    if output.status.code() == Some(SKIPPED) {
        assert!(!is_required("SPARSIGHT_REQUIRE_GPU"), "{}", words(&output));
        eprintln!("skipped: {}", words(&output));
        return;
    }
    assert!(output.status.success(), "{}\n{}", output.status, words(&output));
    assert!(words(&output).contains("candidates are right"), "{}", words(&output));
}

/// A GPU without a profile, and no NVRTC: a library answers in the place of the driver.
#[cfg(target_os = "linux")]
#[test]
fn a_gpu_without_a_profile_is_calibrated_unless_forbidden() {
    if first_of(&["nvidia-smi"]).is_some() {
        eprintln!("skipped: the libraries of a real GPU are here, of whose calls a stand-in knows few");
        return;
    }
    let Some(compiler) = compiler(&["cc", "gcc", "clang"]) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let (driver, cache) = (scratch.path().join("driver"), scratch.path().join("cache"));
    std::fs::create_dir(&driver).unwrap();
    let stand_in = folder().join("../python/tests/fake_cuda.c");
    let mut command = Command::new(compiler);
    done(command.args(["-shared", "-fPIC", "-o"]).arg(driver.join("libcuda.so.1")).arg(stand_in));
    std::os::unix::fs::symlink("libcuda.so.1", driver.join("libcuda.so")).unwrap();
    let program = scratch.path().join("unknown_gpu");
    compile(compiler, "tests/unknown_gpu.c", &program, &borrowed(&with_dynamic_library()));
    let run = |calibrate: &str| {
        let mut command = Command::new(&program);
        // No NVRTC but one that the system itself names.
        for variable in ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT", "CONDA_PREFIX", "VIRTUAL_ENV"] {
            command.env_remove(variable);
        }
        command.env("LD_LIBRARY_PATH", &driver).env("SPARSIGHT_CACHE", &cache);
        let output = ran(command.env("SPARSIGHT_CALIBRATE", calibrate));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    };
    let (said, told) = run("0");
    assert!(said.contains("NULL: code 0\n"), "{said}");
    assert!(said.contains("cuda:0: code 4: Fake GPU has no profile and was not calibrated yet\n"), "{said}");
    assert!(said.contains("hint: without SPARSIGHT_CALIBRATE=0 it is calibrated now"), "{said}");
    assert!(told.is_empty() && !cache.join("profiles").exists(), "{told}");
    let (said, told) = run("1");
    let line = "sparsight: Fake GPU has no profile and was not calibrated yet: it is calibrated now, once, in about 20 s\n";
    assert!(told.starts_with(line), "{told}");
    assert!(["cuda:0: code 5: ", "cuda:0: code 6: "].iter().any(|code| said.contains(code)), "{said}");
    if !said.contains("cuda:0: code 5: no NVRTC library was found") {
        eprintln!("skipped: NVRTC is found here without being named: {said}");
    }
}

/// Driver and compiler are libraries that stand in, on whose clock launches and small products take what they are told.
#[cfg(target_os = "linux")]
#[test]
fn a_gpu_that_is_named_is_predicted_with_what_products_cost_there() {
    let (Some(c), Some(cpp)) = (compiler(&["cc", "gcc", "clang"]), compiler(&["g++", "clang++"])) else {
        return;
    };
    let scratch = tempfile::tempdir().unwrap();
    for (source, file) in [("driver.cpp", "libcuda.so.1"), ("nvrtc.cpp", "libnvrtc.so.13")] {
        let mut command = Command::new(cpp);
        command
            .args(["-std=c++17", "-O1", "-pthread", "-shared", "-fPIC"])
            .arg(format!("-Wl,-soname,{file}"));
        command.arg(folder().join("../cusparse/tests/stand_in").join(source));
        done(command.arg("-o").arg(scratch.path().join(file)));
        let link = scratch.path().join(&file[..file.find(".so").unwrap() + 3]);
        std::os::unix::fs::symlink(file, link).unwrap();
    }
    let program = scratch.path().join("launch_at_hand");
    compile(c, "tests/launch_at_hand.c", &program, &borrowed(&with_dynamic_library()));
    let times = |us: &str| -> Vec<f64> {
        let mut command = Command::new(&program);
        for variable in ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT", "CONDA_PREFIX", "VIRTUAL_ENV"] {
            command.env_remove(variable);
        }
        command.env("LD_LIBRARY_PATH", scratch.path()).env("SPARSIGHT_CACHE", scratch.path().join("cache"));
        let said = done(command.env("STAND_IN_US", us));
        said.lines().map(|line| line.parse().unwrap_or_else(|_| panic!("{said}"))).collect()
    };
    let (short, long) = (times("empty=1.3,small_product=2.25"), times("empty=1.5,small_product=3.05"));
    assert_eq!((short.len(), long.len()), (3, 3));
    // In the shipped profile a launch takes 1.29 us, and a small product 2.17: the mean of both differences counts.
    assert!(short[1] > short[0] + 0.02 && short[1] < short[0] + 0.06, "{short:?}");
    assert!((long[1] - short[1] - 0.5).abs() < 1e-3, "{short:?} {long:?}");
    // The profile by its name stays what it is.
    let same = [short[0], long[0], short[2], long[2]].map(f64::to_bits);
    assert_eq!(same, [short[0].to_bits(); 4]);
}

#[cfg(unix)]
#[test]
fn the_header_is_c_and_cpp_without_warnings() {
    let header = folder().join("include/sparsight.h");
    let both: [(&[&'static str], &str, &str); 2] =
        [(&["cc", "gcc", "clang"], "c", "-std=c99"), (&["c++", "g++", "clang++"], "c++", "-std=c++11")];
    for (names, language, standard) in both {
        let Some(compiler) = compiler(names) else { continue };
        let warnings = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"];
        let mut command = Command::new(compiler);
        done(command.args(["-x", language, standard]).args(warnings).arg(&header));
    }
}

#[cfg(unix)]
#[test]
fn a_program_in_fortran_runs() {
    let Some(compiler) = first_of(&["gfortran", "flang"]) else {
        eprintln!("skipped: no Fortran compiler is here");
        return;
    };
    let scratch = tempfile::tempdir().unwrap();
    let program = scratch.path().join("laplacian");
    let mut command = Command::new(compiler);
    // It writes a file for the module where it is run.
    command.current_dir(scratch.path()).arg(folder().join("examples-c/fortran_iso_c_binding.f90"));
    done(command.arg("-o").arg(&program).args(with_dynamic_library()));
    let said = done(&mut Command::new(&program));
    assert!(said.contains("y is right"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_program_in_julia_runs() {
    let Some(julia) = first_of(&["julia"]) else {
        eprintln!("skipped: Julia is not here");
        return;
    };
    let mut command = Command::new(julia);
    command.env("SPARSIGHT_LIBRARY", dynamic_library());
    let said = done(command.arg(folder().join("examples-c/julia_ccall.jl")));
    assert!(said.contains("y is right"), "{said}");
}
