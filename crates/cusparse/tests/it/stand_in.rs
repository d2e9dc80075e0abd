//! The stand-ins and the program, built once, and runs of the program with the drop-in in front.

use std::collections::hash_map::DefaultHasher;
use std::env::{self, consts};
use std::ffi::OsString;
use std::fs;
use std::hash::{Hash, Hasher};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const SOURCES: [&str; 6] = [
    "program.c",
    "stand_in/counts.hpp",
    "stand_in/kernels.hpp",
    "stand_in/driver.cpp",
    "stand_in/nvrtc.cpp",
    "stand_in/cusparse.cpp",
];

/// The libraries, each in a folder of its own: folder, source, file, further flags.
const LIBRARIES: [(&str, &str, &str, &str); 4] = [
    ("cuda", "stand_in/driver.cpp", "libcuda.so.1", "-DWHOLE"),
    ("lacking", "stand_in/driver.cpp", "libcuda.so.1", "-DLACKS_LAUNCH"),
    ("nvrtc", "stand_in/nvrtc.cpp", "libnvrtc.so.13", "-DWHOLE"),
    ("cusparse", "stand_in/cusparse.cpp", "libcusparse.so.12", "-DWHOLE"),
];

/// The libraries that most runs find.
pub const ALL: &[&str] = &["cuda", "nvrtc", "cusparse"];

/// Folder with everything built; `None`, with a word on it, where it cannot be built.
pub fn built() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(build).as_deref()
}

fn build() -> Option<PathBuf> {
    let has = |compiler: &str| Command::new(compiler).arg("--version").output().is_ok();
    if !has("g++") || !has("gcc") {
        assert!(env::var_os("SPARSIGHT_REQUIRE_GXX").is_none(), "g++ is required and not here");
        eprintln!("skipped: g++ is not here");
        return None;
    }
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut hasher = DefaultHasher::new();
    LIBRARIES.hash(&mut hasher);
    SOURCES.map(|file| fs::read(sources.join(file)).unwrap()).hash(&mut hasher);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("stand-in-{:016x}", hasher.finish()));
    if folder.is_dir() {
        return Some(folder);
    }
    // Finished beside its place, so that another process never finds half of it.
    let unfinished = folder.with_extension(std::process::id().to_string());
    let compile = |compiler: &str, standard: &str| {
        let mut command = Command::new(compiler);
        command.args([standard, "-O1", "-Wall", "-Wextra", "-Werror", "-pthread"]);
        command
    };
    let mut builds = Vec::new();
    for (place, source, file, flag) in LIBRARIES {
        let place = unfinished.join(place);
        fs::create_dir_all(&place).unwrap();
        symlink(file, place.join(&file[..file.find(".so").unwrap() + 3])).unwrap();
        let mut command = compile("g++", "-std=c++17");
        command.args(["-fPIC", "-shared", flag, &format!("-Wl,-soname,{file}")]);
        builds.push(command.arg(sources.join(source)).arg("-o").arg(place.join(file)).spawn().unwrap());
    }
    let is_built = |mut child: std::process::Child| child.wait().unwrap().success();
    assert!(builds.into_iter().all(is_built), "a stand-in is not built");
    let (cuda, cusparse) =
        (unfinished.join("cuda/libcuda.so.1"), unfinished.join("cusparse/libcusparse.so.12"));
    for (program, flag, libraries) in [
        ("program", "-DWITH_DRIVER", &[&cusparse, &cuda][..]),
        ("program-without-driver", "-DWITHOUT_DRIVER", &[&cusparse][..]),
    ] {
        let mut command = compile("gcc", "-std=c99");
        command.args(["-pedantic", flag]).arg(sources.join("program.c")).args(libraries);
        let status = command.arg("-lm").arg("-o").arg(unfinished.join(program)).status().unwrap();
        assert!(status.success(), "{program} is not built");
    }
    if fs::rename(&unfinished, &folder).is_err() {
        // Another process was faster.
        fs::remove_dir_all(&unfinished).unwrap();
    }
    Some(folder)
}

/// The drop-in as cargo has built it for this test, which depends on it.
fn drop_in() -> PathBuf {
    let name = format!("{}sparsight_cusparse{}", consts::DLL_PREFIX, consts::DLL_SUFFIX);
    let test = env::current_exe().unwrap();
    let library = test.with_file_name(name);
    assert!(library.is_file(), "{} is not there", library.display());
    library
}

/// A run of the program.
pub struct Run {
    arguments: String,
    libraries: &'static [&'static str],
    program: &'static str,
    variables: Vec<(&'static str, OsString)>,
}

impl Run {
    /// Of a scenario, with further arguments behind blanks.
    pub fn of(arguments: &str) -> Self {
        Self { arguments: arguments.to_owned(), libraries: ALL, program: "program", variables: Vec::new() }
    }

    /// Of products that cuSPARSE computes to the end: no change is waited for.
    pub fn of_theirs(arguments: &str) -> Self {
        Self::of(&format!("{arguments} patience=300"))
    }

    /// Kernels with tables are faster than those without.
    pub fn with_fast_tables(self) -> Self {
        self.with("STAND_IN_US", "csr_balanced=1,csr_binned=2")
    }

    pub fn with(mut self, variable: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((variable, value.into()));
        self
    }

    pub fn with_libraries(mut self, libraries: &'static [&'static str]) -> Self {
        self.libraries = libraries;
        self
    }

    pub fn without_driver(mut self) -> Self {
        (self.program, self.libraries) = ("program-without-driver", &["nvrtc", "cusparse"]);
        self
    }

    /// What it said; `None` where nothing can be built.
    ///
    /// # Panics
    /// If it fails, which it does if a y is wrong.
    pub fn said(self) -> Option<Said> {
        let folder = built()?;
        let cache = tempfile::tempdir().unwrap();
        let paths = self.libraries.iter().map(|name| folder.join(name));
        let mut command = Command::new(folder.join(self.program));
        command.args(self.arguments.split(' ')).env("LD_LIBRARY_PATH", env::join_paths(paths).unwrap());
        for (variable, _) in env::vars_os() {
            let name = variable.to_string_lossy();
            let is_of_cuda = ["CUDA_", "CONDA_PREFIX", "VIRTUAL_ENV"].iter().any(|of| name.starts_with(of));
            if is_of_cuda || name.starts_with("SPARSIGHT_") || name.starts_with("STAND_IN_") {
                command.env_remove(&variable);
            }
        }
        command.env("SPARSIGHT_CACHE", cache.path());
        command.env("LD_PRELOAD", drop_in());
        command.envs(self.variables);
        let start = Instant::now();
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let said = Said {
            told: text(&output.stdout),
            errors: text(&output.stderr),
            status: output.status,
            time: start.elapsed(),
        };
        let is_whole = said.status.success() && said.told.ends_with("done\n");
        assert!(is_whole, "{}: {}\n{}\n{}", self.arguments, said.status, said.told, said.errors);
        assert!(!said.told.contains("faults 1"), "{}", said.errors);
        Some(said)
    }
}

/// Output of a run.
#[derive(Debug)]
pub struct Said {
    /// What the program printed.
    pub told: String,
    /// What the drop-in printed.
    pub errors: String,
    status: ExitStatus,
    pub time: Duration,
}

/// Products of a part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Products {
    /// Launches of kernels without tables, and of those with.
    pub plain: u64,
    pub tabled: u64,
    /// Calls of cuSPARSE.
    pub cusparse: u64,
}

impl Said {
    /// The number behind a name.
    pub fn number(&self, name: &str) -> i64 {
        let line = self.told.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in {}", self.told)).parse().unwrap()
    }

    /// The products of each part of that name.
    pub fn products(&self, name: &str) -> Vec<Products> {
        let of = |line: &str| {
            let words: Vec<&str> = line.strip_prefix(name)?.strip_prefix(": ")?.split(' ').collect();
            let number = |name: &str| words[words.iter().position(|word| *word == name)? + 1].parse().ok();
            Some(Products {
                plain: number("plain")?,
                tabled: number("tabled")?,
                cusparse: number("cusparse")?,
            })
        };
        self.told.lines().filter_map(of).collect()
    }

    /// The products of the only part of that name.
    pub fn only(&self, name: &str) -> Products {
        let all = self.products(name);
        assert_eq!(all.len(), 1, "{}", self.told);
        all[0]
    }
}
