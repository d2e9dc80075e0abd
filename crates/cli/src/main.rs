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
mod command_line;
mod commands;
mod context;
mod csv;
mod device_choice;
mod earlier_bench;
mod failure;
mod interrupt;
mod links;
mod many;
mod matrix_source;
mod name_prefixes;
mod noise;
mod output_file;
mod own_kernels;
mod plots;
mod printer;
mod products;
mod profiling;
mod progress;
mod reordering;
mod report;
mod restart;
mod shard;
mod svg;
mod table;
mod terminal_plot;
mod text;
mod values;
mod workers;

use args::Args;
use clap::Parser;
use context::Context;
use failure::Exit;
use printer::Printer;
use sparsight::answer::{Answer, ErrorAnswer};
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    restart::with_a_safe_loader_path();
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return refused_flags(&error),
    };
    let printer = Printer::new(&args.global);
    let random_values = args.command.random_values();
    let ended = Context::new(printer.clone(), &args.global, random_values)
        .and_then(|context| commands::run(args.command, &context));
    match ended {
        Ok(exit) => exit.into(),
        Err(failure) => {
            printer.failure(&failure);
            failure.exit().into()
        }
    }
}

/// Flags that make no sense, or a question about them: shown as clap does, and with `--json` an object like any other error.
fn refused_flags(error: &clap::Error) -> ExitCode {
    let asks = !error.use_stderr();
    if !asks && std::env::args_os().any(|word| word == "--json") {
        let text = error.to_string();
        // What stands before the usage; what is missing is listed in lines of its own.
        let lines = text.trim_start_matches("error: ").lines().take_while(|line| !line.trim().is_empty());
        let first = lines.map(str::trim).collect::<Vec<_>>().join(" ");
        let hint = Some("`sparsight --help`, or the command with --help, lists the flags".to_owned());
        let answer = ErrorAnswer { error: first, hint, exit_code: Exit::Input as u8 };
        // Nobody is left to be told that stdout is closed.
        let _ = writeln!(std::io::stdout(), "{}", answer.to_json());
    }
    // As above.
    let _ = error.print();
    if asks { Exit::Done.into() } else { Exit::Input.into() }
}
