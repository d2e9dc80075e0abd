//! The program `sparsight`: flags, printer, progress, exit codes. What it does is in the library `sparsight`. It is a library with one
//! function, so that the Python package has the program within its own: [`main()`].
//!
//! ```text
//! args -> commands/NAME.rs -> library -> answer -> printer (stdout: text or one JSON object; stderr: progress, notes)
//!
//! matrix_source, many, reordering, values   the matrix or matrices of a command
//! device_choice, links                      the device, or GPUs that share a matrix
//! profiling, calibration, progress          measuring with progress; budget, shard and interrupt end it early
//! text, table, csv, terminal_plot           text for people, tables of values
//! report/, plots/, svg                      an answer as a page, figures, pictures
//! failure, context, workers                 exit codes and hints, what commands share, threads
//! output_file, file_id                      files that are written, and what they must not replace
//! ```
//! Exit codes: 0 done; 1 done and the answer is no; 2 bad flags or input; 3 no usable device or library;
//! 101 a bug; 130 interrupted.

mod args;
mod budget;
mod calibration;
mod commands;
mod context;
mod csv;
mod device_choice;
mod earlier_bench;
mod failure;
mod file_id;
mod interrupt;
mod links;
mod many;
mod matrix_source;
mod name_prefixes;
mod output_file;
mod plots;
mod printer;
mod profiling;
mod progress;
mod reordering;
mod report;
mod shard;
mod svg;
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
use sparsight::device::cuda::safe_loader_path;
use std::env;
use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Runs the program to its end and returns its exit code. `words`: its name and arguments; they are those of the process, unless
/// an interpreter runs it.
pub fn main(words: Vec<OsString>) -> u8 {
    restart_with_a_safe_loader_path();
    sparsight_lab::add_papers_models();
    let exit = run(context::typed(words));
    // Where `main` is not that of a program, the standard library does not. A closed stdout cannot be reported anywhere.
    let _ = io::stdout().flush();
    exit as u8
}

fn run(words: &[OsString]) -> Exit {
    let args = match Args::of(words) {
        Ok(args) => args,
        Err(error) => return refused_flags(&error, words),
    };
    let printer = Printer::new(&args.global.printing);
    let random_values = args.command.random_values();
    let ended = Context::new(printer.clone(), &args.global, random_values)
        .and_then(|context| args.command.run(&context));
    match ended {
        Ok(exit) => exit,
        Err(failure) => failed(&printer, &failure),
    }
}

fn failed(printer: &Printer, failure: &Failure) -> Exit {
    printer.failure(failure);
    failure.exit()
}

/// Prints why flags were refused, or the help that was asked for, as clap does; with `--json` an error is also an object.
fn refused_flags(error: &clap::Error, words: &[OsString]) -> Exit {
    let asks = !error.use_stderr();
    let json = !asks && words.iter().any(|word| word == "--json");
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
        let _ = writeln!(io::stdout(), "{}", answer.to_json());
    }
    match error.print() {
        // A reader that went away has seen what it wanted.
        Err(why) if asks && why.kind() != ErrorKind::BrokenPipe => {
            failed(&Printer::of_errors(false), &Failure::input(format!("stdout: {why}")))
        }
        _ if asks => Exit::Done,
        _ => Exit::Input,
    }
}

/// Restarts the program, or the interpreter that runs it, as the same process, if `LD_LIBRARY_PATH` has elements that are no absolute folders.
///
/// ```text
/// LD_LIBRARY_PATH=$LD_LIBRARY_PATH:/opt/cuda/lib64      of a variable that was not set: an empty element, then the folder
/// ```
/// An empty element means the current directory. The library then loads nothing for a GPU
/// ([`DeviceError::LoaderPath`](sparsight::device::DeviceError::LoaderPath)), but such a line is common in start-up files, and
/// the loader reads the variable before `main` alone. What the program is linked to, the C library, is loaded before anything
/// here runs. If the restart fails, the library reports the element where it matters.
fn restart_with_a_safe_loader_path() {
    let (Some(path), Ok(program)) = (safe_loader_path(), env::current_exe()) else { return };
    // A library is not told the arguments on every system.
    let mut arguments = env::args_os();
    let Some(name) = arguments.next() else { return };
    let _ = Command::new(program).arg0(name).args(arguments).env("LD_LIBRARY_PATH", path).exec();
}
