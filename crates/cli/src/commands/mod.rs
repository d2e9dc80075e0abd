//! The program's arguments and its commands, one file a command.

mod advise;
mod bench;
mod calibrate;
mod compare;
mod completions;
mod devices;
mod gallery;
mod info;
mod kernels;
mod lab;
mod plan;
mod profiles;
mod report;
mod rules;
mod run;

use crate::args::Global;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser};
use std::ffi::OsString;
use std::fmt::Write;

/// Predicts, before anything is run, how fast y = A x will be on a GPU or a CPU in every storage format, kernel and block size.
#[derive(Debug, Parser)]
#[command(name = "sparsight", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// A paragraph a line: clap breaks lines for the terminal.
const AFTER_HELP: &str = "\
A matrix is a file (.mtx, SuiteSparse .tar, both also with .gz, .xz, .bz2 or .zst, .npz of scipy.sparse; a file of another name is \
recognised by its content), a folder of them, - for standard input, gallery:NAME[,key=value...], or GROUP/NAME of the SuiteSparse \
collection (https://sparse.tamu.edu) whose file is here; derived:STEPS: before it makes another matrix from it (unknowns=B, \
layers=L, transpose, rcm, shuffle=SEED, rows=K, separated by commas).

A device is cpu, cuda[:N], M multiprocessors of it cuda[:N]/smM, the name or folder of a profile such as nvidia-h200, or a data \
sheet NAME.toml (docs/profile-format.md). A GPU without a profile is calibrated.

  sparsight advise gallery:stencil2d,n=1000
  sparsight advise A.mtx --iterations 1000
  sparsight advise A.mtx --device cpu --verify";

/// An enum of commands, and how one is run.
macro_rules! commands {
    ($(#[$of_all:meta])* $visible:vis enum $name:ident { $($(#[$of_one:meta])* $command:ident($flags:ty),)+ }) => {
        $(#[$of_all])*
        #[derive(Debug, clap::Subcommand)]
        $visible enum $name {
            $($(#[$of_one])* $command($flags),)+
        }

        impl $name {
            /// Runs the command.
            $visible fn run(&self, context: &Context) -> Result<Exit, Failure> {
                match self {
                    $(Self::$command(command) => command.run(context),)+
                }
            }
        }
    };
}
use commands;

commands! {
    /// Command of the program.
    pub(crate) enum Command {
        Advise(advise::Advise),
        Compare(compare::Compare),
        Plan(plan::Plan),
        Report(report::Report),
        Rules(rules::Rules),
        Run(run::Run),
        Bench(bench::Bench),
        Calibrate(calibrate::Calibrate),
        Profiles(profiles::Profiles),
        Info(info::Info),
        /// List the processor, the GPUs and the profiles
        Devices(devices::Args),
        Kernels(kernels::Kernels),
        Gallery(gallery::Gallery),
        Lab(lab::Lab),
        Completions(completions::Completions),
    }
}

/// Headings of `--help`, and the commands below each.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Predict and choose:", &["advise", "compare", "plan", "report", "rules"]),
    ("Run and measure:", &["run", "bench", "calibrate", "profiles"]),
    ("List and describe:", &["info", "devices", "kernels", "gallery"]),
    ("More:", &["lab", "completions", "help"]),
];

impl Args {
    /// Parses the command line: the program's name and arguments.
    ///
    /// # Errors
    /// Wrong flags, or a request for help or the version.
    pub(crate) fn of(words: &[OsString]) -> Result<Self, clap::Error> {
        let mut command = grouped(Self::command());
        let mut matches = command.try_get_matches_from_mut(words)?;
        Self::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
    }

    /// The laboratory's command of that name, if `error` refuses a command because it is one of the laboratory.
    pub(crate) fn moved_to_lab(error: &clap::Error) -> Option<String> {
        let (ErrorKind::InvalidSubcommand, Some(ContextValue::String(name))) =
            (error.kind(), error.get(ContextKind::InvalidSubcommand))
        else {
            return None;
        };
        Self::command().find_subcommand("lab")?.find_subcommand(name)?;
        Some(name.clone())
    }
}

/// `command` with its subcommands below the headings of [`GROUPS`] in its help.
fn grouped(mut command: clap::Command) -> clap::Command {
    command.build();
    let usage = command.render_usage().to_string().trim_start_matches("Usage: ").to_owned();
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let _ = writeln!(text, "{header}{heading}{header:#}");
        for name in names {
            // Hidden from the list that clap makes itself.
            command = command.mut_subcommand(name, |of| of.hide(true));
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.expect("every command has a description");
            let _ = writeln!(text, "  {literal}{name:<12}{literal:#} {about}");
        }
        text.push('\n');
    }
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}{{all-args}}{{after-help}}"
    );
    command.override_usage(usage).help_template(template)
}

impl Command {
    /// Returns whether values that a file does not store are drawn at random.
    pub(crate) fn random_values(&self) -> bool {
        match self {
            Self::Advise(command) => command.values.random(),
            Self::Plan(command) => command.values.random(),
            Self::Bench(command) => command.values.random(),
            Self::Lab(command) => command.random_values(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_do_not_contradict_each_other() {
        Args::command().debug_assert();
    }

    #[test]
    fn help_lists_every_command_once_within_a_line() {
        let mut command = Args::command();
        command.build();
        let mut named: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let mut known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        named.sort_unstable();
        known.sort_unstable();
        assert_eq!(named, known);
        let help = grouped(Args::command()).render_help().to_string();
        let listed: Vec<&str> = help.lines().filter(|line| line.starts_with("  ")).collect();
        for name in known {
            let start = format!("  {name:<12} ");
            assert_eq!(listed.iter().filter(|line| line.starts_with(&start)).count(), 1, "{name}: {help}");
        }
        assert!(
            help.contains("Usage: sparsight [OPTIONS] <COMMAND>") && help.contains("Common options:"),
            "{help}"
        );
        assert!(help.lines().all(|line| line.len() <= 100), "{help}");
    }

    /// Writes the man pages into the folder that `SPARSIGHT_MAN` names, for packages of the program. This is not a command of the
    /// program, which would become larger by 0.14 MB.
    #[test]
    fn every_command_has_a_man_page() {
        let own = tempfile::tempdir().unwrap();
        let folder =
            std::env::var_os("SPARSIGHT_MAN").map_or(own.path().to_owned(), std::path::PathBuf::from);
        std::fs::create_dir_all(&folder).unwrap();
        let mut command = Args::command();
        command.build();
        let names = |of: &clap::Command, before: &str| -> Vec<String> {
            let names = of.get_subcommands().map(clap::Command::get_name).filter(|name| *name != "help");
            names.map(|name| format!("{before}{name}")).collect()
        };
        let lab = names(command.find_subcommand("lab").unwrap(), "lab-");
        let names = [names(&command, ""), lab].concat();
        clap_mangen::generate_to(command, &folder).unwrap();
        let page = |name: &str| std::fs::read_to_string(folder.join(format!("{name}.1"))).unwrap();
        assert!(page("sparsight").contains("sparsight\\-advise(1)"), "{}", page("sparsight"));
        assert!(names.len() > 18, "{names:?}");
        for name in names {
            let page = page(&format!("sparsight-{name}"));
            assert!(page.contains(".SH SYNOPSIS") && page.contains(".SH OPTIONS"), "{name}: {page}");
        }
    }
}
