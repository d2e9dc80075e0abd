//! The program `sparsight`: flags, printer, progress, exit codes. What it does is in the library `sparsight`.
//!
//! ```text
//! args -> commands/NAME.rs -> library -> answer -> printer (stdout: text or one JSON object; stderr: progress, notes)
//! ```
//! Exit codes: 0 done; 1 done and the answer is no; 2 bad flags or input; 3 no usable device or library;
//! 101 a bug; 130 interrupted.

mod args;
mod budget;
mod calibration;
mod commands;
mod context;
mod cpu_profile;
mod device_choice;
mod failure;
mod interrupt;
mod matrix_source;
mod name_prefixes;
mod plots;
mod printer;
mod products;
mod profile_cache;
mod profiling;
mod progress;
mod reordering;
mod restart;
mod set_aside;
mod shard;
mod table;
mod text;
mod workers;

use args::Args;
use clap::Parser;
use context::Context;
use printer::Printer;
use std::process::ExitCode;

fn main() -> ExitCode {
    restart::with_a_safe_loader_path();
    let args = Args::parse();
    let printer = Printer::new(&args.global);
    let ended =
        Context::new(printer.clone(), &args.global).and_then(|context| commands::run(args.command, &context));
    match ended {
        Ok(exit) => exit.into(),
        Err(failure) => {
            printer.failure(&failure);
            failure.exit().into()
        }
    }
}
