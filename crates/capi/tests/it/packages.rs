//! The C example, built by what pkg-config and cmake are told of an installed library, in a folder that was moved since.

use crate::compile::{compiler, done, dynamic_library, first_of, folder, ran, words};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Lays the library out below a folder of this name, with the files that `scripts/c-package-files` writes.
fn installed(below: &Path, name: &str) -> PathBuf {
    let (first, prefix) = (below.join("first"), below.join(name));
    fs::create_dir_all(first.join("lib")).unwrap();
    done(Command::new(folder().join("../../scripts/c-package-files")).arg(&first));
    fs::copy(dynamic_library(), first.join(format!("lib/libsparsight.so.{VERSION}"))).unwrap();
    fs::rename(first, &prefix).unwrap();
    prefix
}

/// Text without the line ends that `CMake` puts into its messages.
fn unwrapped(said: &str) -> String {
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The example says what it has computed.
fn runs(program: &Path, prefix: &Path) {
    let said = done(Command::new(program).env("LD_LIBRARY_PATH", prefix.join("lib")));
    assert!(said.contains("non-zeros"), "{said}");
}

#[test]
fn the_example_is_compiled_by_what_pkg_config_says() {
    let (Some(compiler), Some(_)) = (compiler(&["cc", "gcc", "clang"]), first_of(&["pkg-config"])) else {
        eprintln!("skipped: no pkg-config is here");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let prefix = installed(dir.path(), "moved");
    let ask = |flags: &[&str]| {
        let mut command = Command::new("pkg-config");
        done(command.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")).args(flags).arg("sparsight"))
    };
    assert_eq!(ask(&["--modversion"]).trim(), VERSION);
    let program = dir.path().join("spmv");
    let mut compile = Command::new(compiler);
    compile.arg(folder().join("examples-c/spmv.c"));
    done(compile.args(ask(&["--cflags", "--libs"]).split_whitespace()).arg("-o").arg(&program));
    runs(&program, &prefix);
}

#[test]
fn the_example_is_built_by_cmake_for_this_version_and_no_other() {
    let (Some(_), Some(cmake)) = (compiler(&["cc", "gcc", "clang"]), first_of(&["cmake"])) else {
        eprintln!("skipped: no cmake is here");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    // A blank in a path is usual where people install into a home of their own.
    let prefix = installed(dir.path(), "moved here");
    let configure = |source: &Path, build: &str| {
        let mut command = Command::new(cmake);
        command.arg("-S").arg(source).arg("-B").arg(dir.path().join(build));
        ran(command.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())))
    };
    let output = configure(&folder().join("examples-c"), "build");
    assert!(output.status.success(), "{}", words(&output));
    done(Command::new(cmake).arg("--build").arg(dir.path().join("build")));
    runs(&dir.path().join("build/spmv"), &prefix);

    let later = dir.path().join("later");
    fs::create_dir(&later).unwrap();
    let text = fs::read_to_string(folder().join("examples-c/CMakeLists.txt")).unwrap();
    fs::write(later.join("CMakeLists.txt"), text.replace("sparsight 0.1 ", "sparsight 0.2 ")).unwrap();
    let output = configure(&later, "refused");
    let said = unwrapped(&words(&output));
    assert!(!output.status.success() && said.contains("compatible with requested version \"0.2\""), "{said}");

    fs::remove_file(prefix.join(format!("lib/libsparsight.so.{VERSION}"))).unwrap();
    let said = unwrapped(&words(&configure(&folder().join("examples-c"), "without")));
    assert!(said.contains("is not there: install sparsight again"), "{said}");
}
