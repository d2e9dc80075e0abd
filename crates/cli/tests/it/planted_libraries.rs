//! Libraries in the current directory are not loaded, whatever empty or relative values the environment holds. Each that is
//! planted leaves a mark if it is loaded. Takes a C compiler, no GPU.

use crate::support::sparsight;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Names by which the loader is asked, and those of the files that are looked for.
const LIBRARIES: [&str; 6] =
    ["libcuda.so", "libcuda.so.1", "libnvrtc.so", "libnvrtc.so.13", "libcusparse.so", "libcusparse.so.12"];

/// Folders in which they were looked for, from the current directory.
const FOLDERS: [&str; 6] = [
    ".",
    "lib64",
    "lib",
    "targets/x86_64-linux/lib",
    "lib/python3.11/site-packages/nvidia/cu13/lib",
    ".local/lib/python3.11/site-packages/nvidia/cu13/lib",
];

const VARIABLES: [&str; 7] =
    ["CUDA_PATH", "CUDA_HOME", "CONDA_PREFIX", "VIRTUAL_ENV", "HOME", "PATH", "LD_LIBRARY_PATH"];

/// Builds `library` of C. Whether there is a compiler.
fn compiled(code: &str, library: &Path) -> bool {
    let source = library.with_extension("c");
    fs::write(&source, code).unwrap();
    let Ok(built) = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([library, &source]).output()
    else {
        eprintln!("skipped: no C compiler (cc)");
        return false;
    };
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    true
}

/// Builds the library, which makes the file `mark` when it is loaded, and plants it in `folder`. Whether there is a compiler.
fn plant(folder: &Path, mark: &Path) -> bool {
    let library = mark.with_extension("so");
    let code = format!(
        "#include <stdio.h>\n__attribute__((constructor)) static void mark(void) {{ fclose(fopen(\"{}\", \"w\")); }}\n",
        mark.display()
    );
    if !compiled(&code, &library) {
        return false;
    }
    for place in FOLDERS.map(|name| folder.join(name)) {
        fs::create_dir_all(&place).unwrap();
        for name in LIBRARIES {
            fs::copy(&library, place.join(name)).unwrap();
        }
    }
    fs::create_dir(folder.join("bin")).unwrap();
    for python in ["python3", "bin/python3"] {
        fs::write(folder.join(python), "").unwrap();
    }
    true
}

#[test]
fn libraries_in_the_current_directory_are_not_loaded() {
    let dir = tempfile::tempdir().unwrap();
    let (here, mark) = (dir.path().join("here"), dir.path().join("loaded"));
    fs::create_dir(&here).unwrap();
    if !plant(&here, &mark) {
        return;
    }
    let devices = |variable: &str, value: &str| {
        let mut command = sparsight(dir.path());
        for other in VARIABLES {
            command.env_remove(other);
        }
        let output = command.env(variable, value).current_dir(&here).arg("devices").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!mark.exists(), "{variable}={value}: {text}");
        assert_eq!(output.status.code(), Some(0), "{variable}={value}: {text}");
        text
    };
    for variable in VARIABLES {
        devices(variable, "");
    }
    for value in [":/usr/bin", "bin"] {
        devices("PATH", value);
    }
    for value in [":", "/usr/lib:", "lib64", "/usr/lib;lib"] {
        // The program leaves out what is unsafe and goes on.
        let text = devices("LD_LIBRARY_PATH", value);
        assert!(!text.contains("LD_LIBRARY_PATH"), "{value}: {text}");
    }
}

#[test]
fn a_planted_library_that_is_loaded_leaves_its_mark() {
    let dir = tempfile::tempdir().unwrap();
    let (here, mark) = (dir.path().join("here"), dir.path().join("loaded"));
    fs::create_dir(&here).unwrap();
    if plant(&here, &mark) {
        // A user may name this very folder.
        let mut command = sparsight(dir.path());
        let _ = command.env("LD_LIBRARY_PATH", &here).arg("devices").output().unwrap();
        assert!(mark.exists());
    }
}

#[test]
fn devices_names_the_libraries_that_were_found() {
    let dir = tempfile::tempdir().unwrap();
    let here = dir.path();
    let nvrtc = "int nvrtcVersion(int* major, int* minor) { *major = 13; *minor = 5; return 0; }\n";
    if !compiled(nvrtc, &here.join("libnvrtc.so")) {
        return;
    }
    let devices = |flags: &[&str]| {
        let mut command = sparsight(here);
        for other in VARIABLES {
            command.env_remove(other);
        }
        let output = command.env("LD_LIBRARY_PATH", here).arg("devices").args(flags).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let text = devices(&[]);
    assert!(text.contains("\n  libraries: NVRTC 13.5"), "{text}");
    let json = devices(&["--json"]);
    assert!(json.contains("\"nvrtc\": \"13.5\""), "{json}");
}
