//! The program on libraries that stand in for AMD's (crates/device/tests/it/hip). Without g++ it is skipped; `SPARSIGHT_REQUIRE_GXX=1` turns
//! that into a failure.

use crate::support::sparsight;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The stand-ins in `folder/lib`; false without g++ or the sources.
fn has_stand_ins(folder: &Path) -> bool {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../device/tests/it");
    if Command::new("g++").arg("--version").output().is_err() || !here.is_dir() {
        assert!(std::env::var_os("SPARSIGHT_REQUIRE_GXX").is_none(), "no g++, or no source tree");
        println!("skipped: no g++, or no source tree");
        return false;
    }
    let here = here.canonicalize().unwrap();
    fs::create_dir_all(folder.join("lib")).unwrap();
    for (library, source) in [
        ("libamdhip64.so.7", "runtime.cpp"),
        ("libhiprtc.so.7", "hiprtc.cpp"),
        ("librocsparse.so.1", "rocsparse.cpp"),
    ] {
        let (emulator, hip) = (here.join("emulator"), here.join("hip"));
        let made = Command::new("g++")
            .args(["-shared", "-fPIC", "-std=c++17", "-O1"])
            .args([format!("-DEMULATOR=\"{}\"", emulator.display()), format!("-DHERE=\"{}\"", hip.display())])
            .arg(format!("-Wl,-soname,{library}"))
            .arg("-o")
            .arg(folder.join("lib").join(library))
            .arg(hip.join(source))
            .args(["-ldl", "-lpthread"])
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
    true
}

#[test]
fn a_report_on_a_gpu_of_amd_runs_to_its_end() {
    let dir = tempfile::tempdir().unwrap();
    if !has_stand_ins(dir.path()) {
        return;
    }
    let report = |arguments: &[&str]| {
        let mut command = sparsight(dir.path());
        command.args(["devices", "--report"]).args(arguments);
        command.env("LD_LIBRARY_PATH", dir.path().join("lib")).env("HIP_STAND_IN_DEVICES", "1");
        command.output().unwrap()
    };
    let out = report(&["--json", "--kernel", "coo", "--kernel", "csr-scalar", "--kernel", "rocsparse"]);
    let said = || String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(0), "{}", said());
    let answer: Value = serde_json::from_slice(&out.stdout).unwrap();
    let here = answer["here"].as_array().unwrap();
    assert!(here.iter().any(|one| one["id"] == "hip:0"), "{answer}");
    let trials = answer["trials"].as_array().unwrap();
    let right = |kernel: &str, dtype: &str| {
        let is_it = |trial: &&Value| trial["kernel"] == kernel && trial["dtype"] == dtype;
        trials.iter().find(is_it).unwrap_or_else(|| panic!("{kernel} {dtype}: {answer}"))["right"].as_u64()
    };
    // In two block sizes on four matrices; the vendor's routines have none, and its ELL wants rows that are a multiple of 32.
    assert_eq!(right("csr-scalar", "f64"), Some(8));
    assert_eq!(right("coo", "f32-f64"), Some(8));
    assert_eq!(right("rocsparse-csr/a2", "f32"), Some(4));
    assert!(
        right("rocsparse-bsr/b6", "f64") >= Some(1) && right("rocsparse-ell", "f64") >= Some(1),
        "{answer}"
    );
    assert!(trials.iter().all(|trial| trial["failure"].is_null()), "{answer}");

    let out = report(&["--kernel", "no-such"]);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.code() == Some(2) && said.contains("no GPU here runs such a kernel"), "{said}");
    let table = report(&["--kernel", "csr-scalar"]);
    let table = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(table.contains("AMD Stand-in 0") && table.contains("Kernels on the GPUs here"), "{table}");
}
