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
mod cpu_profile;
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
mod profile_cache;
mod profiling;
mod progress;
mod reordering;
mod report;
mod restart;
mod set_aside;
mod shard;
mod table;
mod terminal_plot;
mod text;
mod values;
mod workers;

use commands::Args;
use context::Context;
use failure::{Exit, Failure};
use printer::Printer;
use sparsight::answer::{Answer, ErrorAnswer};
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    restart::with_a_safe_loader_path();
    let args = match Args::of_command_line() {
        Ok(args) => args,
        Err(error) => return refused_flags(&error),
    };
    let printer = Printer::new(&args.global.printing);
    let random_values = args.command.random_values();
    let ended = Context::new(printer.clone(), &args.global, random_values)
        .and_then(|context| args.command.run(&context));
    match ended {
        Ok(exit) => exit.into(),
        Err(failure) => failed(&printer, &failure),
    }
}

fn failed(printer: &Printer, failure: &Failure) -> ExitCode {
    printer.failure(failure);
    failure.exit().into()
}

/// Prints why flags were refused, or the help that was asked for, as clap does; with `--json` an error is also an object.
fn refused_flags(error: &clap::Error) -> ExitCode {
    let asks = !error.use_stderr();
    let json = !asks && std::env::args_os().any(|word| word == "--json");
    if let Some(name) = Args::moved_to_lab(error) {
        let failure = Failure::input(format!("'{name}' is a command of `sparsight lab`"));
        return failed(&Printer::of_errors(json), &failure.hinted(format!("`sparsight lab {name}`")));
    }
    if json {
        let text = error.to_string();
        // What stands before the usage; what is missing is listed in lines of its own.
        let lines = text.trim_start_matches("error: ").lines().take_while(|line| !line.trim().is_empty());
        let first = lines.map(str::trim).collect::<Vec<_>>().join(" ");
        let hint = Some("`sparsight --help`, or the command with --help, lists the flags".to_owned());
        let answer = ErrorAnswer { error: first, hint, exit_code: Exit::Input as u8 };
        // A closed stdout cannot be reported anywhere.
        let _ = writeln!(std::io::stdout(), "{}", answer.to_json());
    }
    // As above.
    let _ = error.print();
    if asks { Exit::Done.into() } else { Exit::Input.into() }
}
