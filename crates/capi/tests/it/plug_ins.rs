//! The examples for `PETSc` and Ginkgo are compiled and run if these libraries are installed. A test whose library is missing says so and
//! passes; `SPARSIGHT_REQUIRE_PETSC=1` and `SPARSIGHT_REQUIRE_GINKGO=1` turn that into a failure.

use std::path::Path;
use std::process::Command;

use crate::compile::{compiler, done, first_of, folder, is_required, ran, with_dynamic_library, words};

/// Flags (`--cflags` or `--libs`) of the first of these packages that pkg-config knows. Include folders become those of the system, whose
/// headers give no warnings.
fn flags_of(packages: &[&str], which: &str) -> Option<Vec<String>> {
    let ask = |package: &&str| Command::new("pkg-config").args([which, package]).output().ok();
    let known = packages.iter().filter_map(ask).find(|answer| answer.status.success())?;
    let flags = String::from_utf8(known.stdout).unwrap();
    let of_system = |flag: &str| match flag.strip_prefix("-I") {
        Some(path) => format!("-isystem{path}"),
        None => flag.to_owned(),
    };
    Some(flags.split_whitespace().map(of_system).collect())
}

/// True if this text compiles.
fn is_accepted(compiler: &str, arguments: &[&str], flags: &[String], text: &str) -> bool {
    let scratch = tempfile::tempdir().unwrap();
    let source = scratch.path().join("asked");
    std::fs::write(&source, text).unwrap();
    let mut command = Command::new(compiler);
    ran(command.args(arguments).args(flags).arg("-fsyntax-only").arg(&source)).status.success()
}

/// Says that a library is missing.
///
/// # Panics
/// If the environment has `variable`.
fn missing(variable: &str, what: &str) {
    assert!(!is_required(variable), "{what}");
    eprintln!("skipped: {what}");
}

/// A compiler for programs of `PETSc`, and its flags.
fn petsc() -> Option<(&'static str, Vec<String>)> {
    let flags = flags_of(&["PETSc", "petsc"], "--cflags").unwrap_or_default();
    let real_doubles = "#include <petscksp.h>\n\
                        #if defined(PETSC_USE_COMPLEX) || !defined(PETSC_USE_REAL_DOUBLE)\n#error\n#endif\n";
    // mpicc knows where the headers of MPI are; a PETSc without MPI needs none.
    let compilers = ["mpicc", "cc", "gcc", "clang"];
    let found = compilers.into_iter().find(|&compiler| {
        first_of(&[compiler]).is_some() && is_accepted(compiler, &["-O1", "-x", "c"], &flags, real_doubles)
    });
    if found.is_none() {
        missing(
            "SPARSIGHT_REQUIRE_PETSC",
            "pkg-config knows no PETSc with real doubles that a compiler here accepts",
        );
    }
    Some((found?, flags))
}

/// The compilation of the example for `PETSc`, with warnings as errors.
fn petsc_example(compiler: &str, flags: &[String], program: &Path) -> Command {
    let mut command = Command::new(compiler);
    command.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1"]).args(flags);
    command.arg("-I").arg(folder().join("include")).arg(folder().join("examples-c/petsc_matshell.c"));
    command.arg("-o").arg(program);
    command
}

#[test]
fn petsc_solves_a_system_with_the_shell_as_with_its_own_matrix() {
    let Some((compiler, flags)) = petsc() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let program = scratch.path().join("petsc_matshell");
    let libraries = flags_of(&["PETSc", "petsc"], "--libs").unwrap_or_default();
    done(petsc_example(compiler, &flags, &program).args(libraries).args(with_dynamic_library()));
    // No calibration of this processor: CSR is the first candidate.
    let run = |device: &str| {
        ran(Command::new(&program).args(["-device", device]).env("SPARSIGHT_CACHE", scratch.path()))
    };
    let output = run("cpu");
    let said = words(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("prepared on cpu: "), "{said}");
    assert!(said.contains("the shell is right\n"), "{said}");
    let output = run("abacus");
    let said = words(&output);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("there is no profile 'abacus'"), "{said}");
}

/// Stand-ins for CUDA's headers with what those of `PETSc` need: types, and a macro of its configuration.
const CUDA_HEADERS: [(&str, &str); 6] = [
    ("cuda.h", "#define PETSC_PKG_CUDA_VERSION_GE(major, minor, subminor) 1\n"),
    ("cuda_runtime.h", "typedef struct CUstream_st *cudaStream_t;"),
    ("cublas_v2.h", "typedef struct cublasContext *cublasHandle_t; typedef int cublasStatus_t;"),
    ("cusolverDn.h", "typedef struct cusolverDnContext *cusolverDnHandle_t; typedef int cusolverStatus_t;"),
    ("cusolverSp.h", ""),
    ("cufft.h", "typedef int cufftResult;"),
];

#[test]
fn the_shell_of_petsc_compiles_with_vectors_on_a_gpu() {
    let Some((compiler, mut flags)) = petsc() else { return };
    let scratch = tempfile::tempdir().unwrap();
    for (name, text) in CUDA_HEADERS {
        std::fs::write(scratch.path().join(name), text).unwrap();
    }
    // Behind those of a PETSc with CUDA.
    flags.extend([format!("-isystem{}", scratch.path().display()), "-DPETSC_HAVE_CUDA=1".to_owned()]);
    let object = scratch.path().join("petsc_matshell.o");
    done(petsc_example(compiler, &flags, &object).arg("-c"));
    let object = std::fs::read(&object).unwrap();
    let text = String::from_utf8_lossy(&object);
    for called in ["VecCUDAGetArrayRead", "VecCUDAGetArrayWrite", "ss_multiply"] {
        assert!(text.contains(&format!("\0{called}\0")), "{called} is not called");
    }
}

#[test]
fn ginkgo_solves_a_system_with_the_operator_as_with_its_own_matrix() {
    let Some(compiler) = compiler(&["c++", "g++", "clang++"]) else { return };
    let flags = flags_of(&["ginkgo"], "--cflags").unwrap_or_default();
    let standard = ["-x", "c++", "-std=c++17"];
    if !is_accepted(compiler, &standard, &flags, "#include <ginkgo/ginkgo.hpp>\n") {
        missing("SPARSIGHT_REQUIRE_GINKGO", "pkg-config knows no Ginkgo, and its headers are not here");
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let program = scratch.path().join("ginkgo_linop");
    let libraries = flags_of(&["ginkgo"], "--libs").unwrap_or_else(|| vec!["-lginkgo".to_owned()]);
    let mut command = Command::new(compiler);
    // A release newer than the example may deprecate what it calls.
    let warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-error=deprecated-declarations"];
    command.args(["-std=c++17", "-O1"]).args(warnings).args(flags);
    command.arg("-I").arg(folder().join("include")).arg(folder().join("examples-c/ginkgo_linop.cpp"));
    done(command.arg("-o").arg(&program).args(libraries).args(with_dynamic_library()));
    let said = done(Command::new(&program).env("SPARSIGHT_CACHE", scratch.path()));
    assert!(said.contains("prepared on cpu: "), "{said}");
    assert!(said.ends_with("the LinOp is right\n"), "{said}");
}
