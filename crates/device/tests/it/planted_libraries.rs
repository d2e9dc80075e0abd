//! Code is loaded only from absolute folders to which only root and this user can write. Libraries are planted
//! wherever an empty or relative value of the environment had them looked for, and in a folder that is open to everybody;
//! each leaves a mark if it is loaded.
//!
//! Takes a C compiler, no GPU. Each case is a process of its own, since a program looks for a library once.

use sparsight_device::cuda::{Cuda, cusparse_version, nvrtc_version};
use sparsight_device::hip::{Hip, hiprtc_version};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names by which the loader is asked, and those of the files that are looked for.
const LIBRARIES: [&str; 12] = [
    "libcuda.so",
    "libcuda.so.1",
    "libnvrtc.so",
    "libnvrtc.so.13",
    "libnvrtc-builtins.so.13.0",
    "libcusparse.so",
    "libcusparse.so.12",
    "libnvJitLink.so.13",
    "libamdhip64.so",
    "libamdhip64.so.6",
    "libhiprtc.so",
    "libhiprtc.so.6",
];

/// Folders of toolkits and Python packages, from the one that a variable names.
const FOLDERS: [&str; 8] = [
    ".",
    "lib64",
    "lib",
    "targets/x86_64-linux/lib",
    "lib/python3.11/site-packages/nvidia/cu13/lib",
    "lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib",
    "lib/python3.11/site-packages/nvidia/cusparse/lib",
    ".local/lib/python3.11/site-packages/nvidia/cu13/lib",
];

#[test]
#[ignore = "the other tests run it, each time with another environment"]
fn libraries_are_looked_for() {
    println!("{:?} {:?} {:?}", Cuda::count(), nvrtc_version(), cusparse_version());
    println!("{:?} {:?}", Hip::count(), hiprtc_version());
}

/// A folder full of planted libraries, in it another one, `here`, that is the current one.
struct Planted {
    folder: PathBuf,
}

impl Planted {
    /// `None`, said so, without a C compiler.
    fn new(name: &str) -> Option<Self> {
        let folder = std::env::temp_dir().join(format!("sparsight-planted-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("here/bin")).unwrap();
        let planted = Self { folder: fs::canonicalize(folder).unwrap() };
        let (source, library) = (planted.folder.join("planted.c"), planted.folder.join("planted.so"));
        let code = format!(
            "#include <stdio.h>\n\
             __attribute__((constructor)) static void mark(void) {{ fclose(fopen(\"{}\", \"w\")); }}\n",
            planted.mark().display()
        );
        fs::write(&source, code).unwrap();
        let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).output();
        let Ok(compiled) = compiled else {
            println!("skipped: no C compiler (cc)");
            return None;
        };
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        // Beside the current folder, too: that is where the libraries of a Python in it would be.
        for place in [planted.here(), planted.folder.clone()] {
            for place in FOLDERS.map(|name| place.join(name)) {
                fs::create_dir_all(&place).unwrap();
                for name in LIBRARIES {
                    fs::copy(&library, place.join(name)).unwrap();
                }
            }
        }
        for python in ["python3", "bin/python3"] {
            fs::write(planted.here().join(python), "").unwrap();
        }
        Some(planted)
    }

    fn here(&self) -> PathBuf {
        self.folder.join("here")
    }

    /// File that a planted library makes when it is loaded.
    fn mark(&self) -> PathBuf {
        self.folder.join("loaded")
    }

    /// Output of looking for the libraries with one variable set and no other, and whether a planted one was loaded.
    fn look(&self, variable: &str, value: &Path) -> (String, bool) {
        let _ = fs::remove_file(self.mark());
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["planted_libraries::libraries_are_looked_for", "--exact", "--ignored", "--nocapture"]);
        command.env_clear().env(variable, value).current_dir(self.here());
        let output = command.output().unwrap();
        let said = format!(
            "{variable}={}: {}{}",
            value.display(),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        let loaded = self.mark().exists();
        assert!(loaded || said.contains("1 passed"), "{said}");
        (said, loaded)
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn no_library_is_loaded_from_an_empty_or_relative_path() {
    let Some(planted) = Planted::new("relative") else { return };
    for variable in [
        "CUDA_PATH",
        "CUDA_HOME",
        "ROCM_PATH",
        "HIP_PATH",
        "CONDA_PREFIX",
        "VIRTUAL_ENV",
        "HOME",
        "PATH",
        "LD_LIBRARY_PATH",
    ] {
        for value in ["", ".", "../here"] {
            let (said, loaded) = planted.look(variable, Path::new(value));
            assert!(!loaded, "{said}");
        }
    }
    for value in [":", ":/usr/bin", "/usr/sbin:", "bin"] {
        let (said, loaded) = planted.look("PATH", Path::new(value));
        assert!(!loaded, "{said}");
    }
    for value in [":", ":/usr/lib", "/usr/lib:", "lib64", "/usr/lib;lib"] {
        let (said, loaded) = planted.look("LD_LIBRARY_PATH", Path::new(value));
        assert!(!loaded && said.matches("LoaderPath").count() == 5, "of the five libraries: {said}");
    }
}

/// A planted library is loaded from a folder that only this user can write to, or the tests here would prove nothing.
#[test]
fn libraries_in_world_writable_folders_are_not_loaded() {
    let Some(planted) = Planted::new("open") else { return };
    let set_mode = |folder: &Path, mode: u32| {
        fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
    };
    let look = || planted.look("CUDA_PATH", &planted.here());
    let (said, loaded) = look();
    if !said.contains("NoNvrtc") {
        println!("skipped: there is an NVRTC of this machine's own");
        return;
    }
    assert!(loaded, "{said}");
    for open in
        [planted.here(), planted.here().join("lib64"), planted.here().join("targets/x86_64-linux/lib")]
    {
        set_mode(&open, 0o777);
    }
    let (said, loaded) = look();
    assert!(!loaded && said.contains("lib64 (") && said.contains("writable by everybody)"), "{said}");
    // The folder alone is shut again: what holds it is still open.
    set_mode(&planted.here().join("lib64"), 0o755);
    let (said, loaded) = look();
    assert!(!loaded && said.contains("/here is writable by everybody)"), "{said}");
    set_mode(&planted.here(), 0o755);
    let (said, loaded) = look();
    assert!(loaded, "{said}");
}

/// Likewise of HIP's, whose folder is another.
#[test]
fn libraries_of_hip_in_world_writable_folders_are_not_loaded() {
    let Some(planted) = Planted::new("open-hip") else { return };
    let look = || planted.look("ROCM_PATH", &planted.here());
    let (said, loaded) = look();
    if !said.contains("NoHip {") && !loaded {
        println!("skipped: there is a HIP of this machine's own");
        return;
    }
    assert!(loaded, "{said}");
    let lib = planted.here().join("lib");
    fs::set_permissions(&lib, fs::Permissions::from_mode(0o777)).unwrap();
    let (said, loaded) = look();
    assert!(!loaded, "{said}");
    // A HIP of this machine's own may have been opened in its place.
    assert!(said.contains("lib (writable by everybody)") || !said.contains("NoHip {"), "{said}");
}
