//! `sparsight run`: a program whose sparse products sparsight makes faster.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use sparsight::bindings::own_folder;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library that stands in front of cuSPARSE.
const LIBRARY: &str = "libsparsight_cusparse.so";
/// Names the library, where it does not lie beside this program or Python package.
const PLACE: &str = "SPARSIGHT_CUSPARSE_LIBRARY";

/// Run a program, with its cuSPARSE products by sparsight where that is faster
///
/// The program is not changed: `LD_PRELOAD` of this one process (and of those that it starts) names a library that stands in front of
/// cusparseSpMV. Products of a CSR matrix in f32 or f64 are tried with kernels of sparsight beside cuSPARSE, and the faster one stays;
/// everything else goes to cuSPARSE untouched. Without `sparsight run`, or with `SPARSIGHT_CUSPARSE=off`, the program is what it was.
#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// Tell on stderr at the end what was seen and saved, and what another format would bring
    #[arg(long)]
    report: bool,
    /// Write that report as JSON to a file; %p in its name stands for the number of the process
    #[arg(long, value_name = "FILE")]
    report_file: Option<PathBuf>,
    /// Compute each product by both and compare them: slow
    #[arg(long, conflicts_with = "report")]
    verify: bool,
    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    program: Vec<OsString>,
}

impl Run {
    pub(crate) fn run(&self, _: &Context) -> Result<Exit, Failure> {
        let library = library()?;
        let mut preload = library.clone().into_os_string();
        if let Some(before) = env::var_os("LD_PRELOAD").filter(|before| !before.is_empty()) {
            preload.push(":");
            preload.push(before);
        }
        let mut command = Command::new(&self.program[0]);
        command.args(&self.program[1..]).env("LD_PRELOAD", preload);
        // Without a flag the environment says what is done.
        if self.verify || self.report || self.report_file.is_some() {
            command.env("SPARSIGHT_CUSPARSE", if self.verify { "verify" } else { "report" });
        }
        if let Some(file) = &self.report_file {
            let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
            command.env("SPARSIGHT_CUSPARSE_REPORT", file);
        }
        Err(start(command, &self.program[0]))
    }
}

/// Becomes the program; returns only if that fails.
#[cfg(unix)]
fn start(mut command: Command, name: &OsStr) -> Failure {
    use std::os::unix::process::CommandExt;
    let error = command.exec();
    Failure::input(format!("cannot run {}: {error}", Path::new(name).display()))
        .hinted("`sparsight run PROGRAM ARGUMENTS...` takes a program of PATH, or its path")
}

#[cfg(not(unix))]
fn start(_: Command, _: &OsStr) -> Failure {
    Failure::input("`sparsight run` needs LD_PRELOAD, which this system does not have")
}

/// The absolute path of the library.
fn library() -> Result<PathBuf, Failure> {
    let own = own_folder();
    let beside = own.iter().flat_map(|folder| [folder.join(LIBRARY), folder.join("../lib").join(LIBRARY)]);
    let named = env::var_os(PLACE).filter(|place| !place.is_empty()).map(PathBuf::from);
    let mut places: Vec<PathBuf> = named.map_or_else(|| beside.collect(), |named| vec![named]);
    let Some(found) = places.iter().find(|place| place.is_file()) else {
        places.dedup();
        let looked: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        let text = format!("{LIBRARY} was not found (looked for: {})", looked.join(", "));
        let hint = format!(
            "wheels and archives of a release have it; `cargo build --release -p sparsight-cusparse` makes it, and {PLACE}=FILE names it"
        );
        return Err(Failure::input(text).hinted(hint));
    };
    let found = found.canonicalize().unwrap_or_else(|_| found.clone());
    // The loader takes both for the end of a name.
    if found.to_string_lossy().contains([' ', ':']) {
        let text = format!("LD_PRELOAD cannot name {}: a path with a space or a colon", found.display());
        return Err(Failure::input(text).hinted(format!("copy it, and name the copy by {PLACE}=FILE")));
    }
    Ok(found)
}
