//! The program `sparsight`: see the library of this crate.

use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    sparsight_cli::main(env::args_os().collect()).into()
}
