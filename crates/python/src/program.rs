//! The program `sparsight` within the package: `python -m sparsight` and the script of that name. The rest of the package sees nothing
//! of it.

use pyo3::prelude::*;
use std::ffi::OsString;
use std::panic::catch_unwind;
use std::process;

/// Exit code of a program in Rust that panics: its message is printed by then.
const PANICKED: u8 = 101;

/// Runs the program and ends the process with its exit code, as the program does: the interpreter is not asked again. `words`: name and
/// arguments.
#[pyfunction]
pub(crate) fn run_program(py: Python<'_>, words: Vec<OsString>) {
    py.detach(|| {
        let exit = catch_unwind(|| sparsight_cli::main(words)).unwrap_or(PANICKED);
        process::exit(exit.into())
    });
}
