//! Folders of toolkits and Python packages, searched for libraries that the loader does not find.
//!
//! ```text
//! folders that the program added, and of packages in them
//! $CUDA_PATH, $CUDA_HOME, /usr/local/cuda     lib64, targets/x86_64-linux/lib, targets/sbsa-linux/lib
//! $CONDA_PREFIX                               lib
//! $VIRTUAL_ENV or $CONDA_PREFIX               lib/python3*/site-packages/nvidia/cu13/lib (cuda_nvrtc, cusparse, nccl)
//! the python3 of $PATH, $HOME/.local, /usr    likewise
//!
//! of HIP: folders that the program added
//! $ROCM_PATH, $HIP_PATH, /opt/rocm            lib
//! $CONDA_PREFIX                               lib
//! ```
//! A value that is empty or relative would mean the current directory, to which others may write: it is ignored, and so are
//! such elements of `PATH`. Nothing is run to find anything.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// What a library is a part of, which is where it is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Toolkit {
    /// Of NVIDIA.
    Cuda,
    /// Of AMD.
    Rocm,
}

/// The variables that name places.
#[derive(Debug, Clone, Default)]
pub(super) struct Environment {
    cuda_path: Option<OsString>,
    cuda_home: Option<OsString>,
    rocm_path: Option<OsString>,
    hip_path: Option<OsString>,
    conda_prefix: Option<OsString>,
    virtual_env: Option<OsString>,
    home: Option<OsString>,
    path: Option<OsString>,
}

impl Environment {
    /// The environment of this program.
    pub(super) fn of_this_program() -> Self {
        Self {
            cuda_path: env::var_os("CUDA_PATH"),
            cuda_home: env::var_os("CUDA_HOME"),
            rocm_path: env::var_os("ROCM_PATH"),
            hip_path: env::var_os("HIP_PATH"),
            conda_prefix: env::var_os("CONDA_PREFIX"),
            virtual_env: env::var_os("VIRTUAL_ENV"),
            home: env::var_os("HOME"),
            path: env::var_os("PATH"),
        }
    }

    /// Folders that are there and may hold the libraries, in the order in which they are tried; all of them absolute.
    /// `added` come first: each as it is, and as one that holds Python packages.
    pub(super) fn folders(&self, toolkit: Toolkit, added: &[PathBuf]) -> Vec<PathBuf> {
        let packages: fn(&Path) -> Vec<PathBuf> = match toolkit {
            Toolkit::Cuda => |packages| of_packages(packages).to_vec(),
            Toolkit::Rocm => |_| Vec::new(),
        };
        let (variables, usual, libraries): (_, _, &[&str]) = match toolkit {
            Toolkit::Cuda => (
                [&self.cuda_path, &self.cuda_home],
                "/usr/local/cuda",
                &["lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"],
            ),
            Toolkit::Rocm => ([&self.rocm_path, &self.hip_path], "/opt/rocm", &["lib"]),
        };
        let mut folders = Vec::new();
        for folder in added {
            folders.push(folder.clone());
            folders.extend(packages(folder));
        }
        let named = variables.into_iter().filter_map(|value| absolute(value.as_ref()));
        for root in named.chain([Path::new(usual)]) {
            folders.extend(libraries.iter().map(|name| root.join(name)));
        }
        folders.extend(absolute(self.conda_prefix.as_ref()).map(|prefix| prefix.join("lib")));
        folders.extend(self.site_packages().iter().flat_map(|folder| packages(folder)));
        folders.retain(|folder| folder.is_absolute() && folder.is_dir());
        folders
    }

    /// Folders of Python packages: of the active environment, of the `python3` on the path, the user's own and the
    /// system's.
    fn site_packages(&self) -> Vec<PathBuf> {
        let active = absolute(self.virtual_env.as_ref()).or_else(|| absolute(self.conda_prefix.as_ref()));
        let mut libs: Vec<PathBuf> = active.into_iter().map(|prefix| prefix.join("lib")).collect();
        libs.extend(self.libs_of_python());
        libs.extend(absolute(self.home.as_ref()).map(|home| home.join(".local/lib")));
        libs.extend(["/usr/local/lib", "/usr/lib"].map(PathBuf::from));

        let mut found = Vec::new();
        for lib in libs {
            let Ok(entries) = fs::read_dir(&lib) else { continue };
            let mut pythons: Vec<PathBuf> = entries
                .filter_map(|entry| Some(entry.ok()?.path()))
                .filter(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("python3")))
                .collect();
            pythons.sort_unstable_by(|a, b| b.cmp(a));
            for python in pythons {
                for packages in ["site-packages", "dist-packages"].map(|name| python.join(name)) {
                    if packages.is_dir() && !found.contains(&packages) {
                        found.push(packages);
                    }
                }
            }
        }
        found
    }

    /// The `lib` beside the folder of the first `python3` on the path, both where it is named and where it really lies: a
    /// virtual environment links to the system's.
    fn libs_of_python(&self) -> Vec<PathBuf> {
        let path = self.path.clone().unwrap_or_default();
        let folders = env::split_paths(&path).filter(|folder| folder.is_absolute());
        let python = folders.map(|folder| folder.join("python3")).find(|python| python.is_file());
        let Some(python) = python else { return Vec::new() };
        let real = fs::canonicalize(&python).ok();
        let prefixes = [Some(python), real].into_iter().flatten();
        prefixes.filter_map(|program| Some(program.parent()?.parent()?.join("lib"))).collect()
    }
}

/// The path that a variable names, unless it depends on the current directory.
fn absolute(value: Option<&OsString>) -> Option<&Path> {
    value.map(Path::new).filter(|path| path.is_absolute())
}

/// Folders with libraries of NVIDIA's packages among the Python packages in `packages`.
fn of_packages(packages: &Path) -> [PathBuf; 4] {
    ["cu13", "cuda_nvrtc", "cusparse", "nccl"].map(|name| packages.join("nvidia").join(name).join("lib"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with everything in it that is looked for.
    fn planted(name: &str) -> PathBuf {
        let folder = env::temp_dir().join(format!("sparsight-places-{name}-{}", std::process::id()));
        for toolkit in ["lib64", "targets/x86_64-linux/lib", "bin"] {
            fs::create_dir_all(folder.join(toolkit)).unwrap();
        }
        for prefix in ["", ".local"] {
            let packages = folder.join(prefix).join("lib/python3.11/site-packages");
            fs::create_dir_all(packages.join("nvidia/cu13/lib")).unwrap();
        }
        fs::write(folder.join("bin/python3"), "").unwrap();
        fs::canonicalize(folder).unwrap()
    }

    /// The folder as a path from the current directory.
    fn relative(folder: &Path) -> PathBuf {
        let here = env::current_dir().unwrap();
        let up: PathBuf = here.components().skip(1).map(|_| "..").collect();
        up.join(folder.strip_prefix("/").unwrap())
    }

    /// An environment with one variable that names a folder.
    const ONE_VARIABLE: [fn(&Path) -> Environment; 6] = [
        |value| Environment { cuda_path: Some(value.into()), ..Environment::default() },
        |value| Environment { cuda_home: Some(value.into()), ..Environment::default() },
        |value| Environment { conda_prefix: Some(value.into()), ..Environment::default() },
        |value| Environment { virtual_env: Some(value.into()), ..Environment::default() },
        |value| Environment { home: Some(value.into()), ..Environment::default() },
        |value| Environment { path: Some(value.join("bin").into()), ..Environment::default() },
    ];

    #[test]
    fn an_absolute_value_is_looked_in_and_an_empty_or_relative_one_is_not() {
        let folder = planted("values");
        let named_from_here = relative(&folder);
        assert!(named_from_here.join("lib64").is_dir(), "{}", named_from_here.display());
        let system = Environment::default().folders(Toolkit::Cuda, &[]);
        for (place, environment) in ONE_VARIABLE.into_iter().enumerate() {
            let found = environment(&folder).folders(Toolkit::Cuda, &[]);
            assert!(found.iter().any(|place| place.starts_with(&folder)), "{place}: {found:?}");
            assert!(found.iter().all(|place| place.is_absolute()), "{place}: {found:?}");
            for value in [Path::new(""), Path::new("."), named_from_here.as_path()] {
                assert_eq!(
                    environment(value).folders(Toolkit::Cuda, &[]),
                    system,
                    "{place}: {}",
                    value.display()
                );
            }
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn libraries_of_rocm_are_looked_for_where_its_variables_say() {
        let folder = planted("rocm");
        let value = |path: &Path| Some(OsString::from(path));
        let environment = Environment { rocm_path: value(&folder), ..Environment::default() };
        assert_eq!(environment.folders(Toolkit::Rocm, &[])[0], folder.join("lib"));
        assert!(!environment.folders(Toolkit::Cuda, &[]).contains(&folder.join("lib")));
        for other in [Path::new(""), Path::new("."), &relative(&folder)] {
            let environment = Environment { hip_path: value(other), ..Environment::default() };
            let found = environment.folders(Toolkit::Rocm, &[]);
            assert_eq!(found, Environment::default().folders(Toolkit::Rocm, &[]), "{}", other.display());
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn an_empty_element_of_the_path_is_passed_over() {
        let folder = planted("path");
        let with_path = |path: String| Environment { path: Some(path.into()), ..Environment::default() };
        let bin = folder.join("bin").display().to_string();
        let system = Environment::default().folders(Toolkit::Cuda, &[]);
        for path in ["", ":", "::bin"] {
            assert_eq!(with_path(path.to_owned()).folders(Toolkit::Cuda, &[]), system, "{path}");
        }
        let found = with_path(format!(":{bin}:")).folders(Toolkit::Cuda, &[]);
        assert!(found.contains(&folder.join("lib/python3.11/site-packages/nvidia/cu13/lib")), "{found:?}");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn added_folders_come_first_and_relative_ones_are_passed_over() {
        let folder = planted("added");
        let packages = folder.join("lib/python3.11/site-packages");
        let toolkit = Environment { cuda_path: Some(folder.clone().into()), ..Environment::default() };
        let found = toolkit.folders(Toolkit::Cuda, &[PathBuf::new(), relative(&folder), packages.clone()]);
        let expected = [packages.clone(), packages.join("nvidia/cu13/lib"), folder.join("lib64")];
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(&found[..3], expected);
    }
}
