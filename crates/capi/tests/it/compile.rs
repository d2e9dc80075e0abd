//! Compilers of this machine, the C library as cargo has built it, and programs that are compiled with it and run.

use std::env::{self, consts};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// True if the environment has the variable.
pub fn is_required(variable: &str) -> bool {
    env::var_os(variable).is_some()
}

/// The folder of this crate.
pub fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The first of these programs that is there.
pub fn first_of(names: &[&'static str]) -> Option<&'static str> {
    names.iter().copied().find(|name| Command::new(name).arg("--version").output().is_ok())
}

/// The first of these compilers that is there. Without one the test says that it is skipped, or fails if compilers are required.
pub fn compiler(names: &[&'static str]) -> Option<&'static str> {
    let found = first_of(names);
    if found.is_none() {
        assert!(!is_required("SPARSIGHT_REQUIRE_GXX"), "none of {names:?} is here");
        eprintln!("skipped: none of {names:?} is here");
    }
    found
}

/// A library that cargo has built with this test: beside the test as a dependency of it, one folder higher as a target of its own.
pub fn library(name: &str) -> PathBuf {
    let test = env::current_exe().unwrap();
    let beside = test.parent().unwrap();
    let places = [beside.join(name), beside.with_file_name(name)];
    let found = places.iter().find(|place| place.is_file());
    found.unwrap_or_else(|| panic!("none of {places:?} is there")).clone()
}

/// The C library as a dynamic one.
pub fn dynamic_library() -> PathBuf {
    library(&format!("{}sparsight_c{}", consts::DLL_PREFIX, consts::DLL_SUFFIX))
}

/// What a program has printed, standard output first.
pub fn words(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

/// Runs a command to its end.
pub fn ran(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Runs a command and returns what it has printed.
///
/// # Panics
/// If the command fails.
pub fn done(command: &mut Command) -> String {
    let output = ran(command);
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, words(&output));
    words(&output)
}

/// Flags that link a program with the dynamic library in the folder of the build.
pub fn with_dynamic_library() -> Vec<String> {
    let library = dynamic_library();
    let rpath = format!("-Wl,-rpath,{}", library.parent().unwrap().display());
    vec![library.display().to_string(), rpath]
}
