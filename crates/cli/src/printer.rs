//! Output: stdout is data, stderr is progress, notes and errors.

use crate::csv::{Csv, Layout};
use crate::failure::{Exit, Failure};
use crate::progress::{Bars, Progress, Shown};
use crate::text::{DIM, shown_lines};
use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use sparsight::answer::Answer;
use sparsight::bench::Noise;
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// Flags of every command that say what is printed.
#[derive(Debug, clap::Args)]
pub(crate) struct PrintFlags {
    /// Print one JSON object instead of a table
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Only errors and skipped matrices on stderr
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Details on stderr
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorWhen,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless the environment says otherwise (`NO_COLOR`)
    Auto,
    Always,
    Never,
}

/// Prints results, notes and errors. The streams drop colours where these are unwanted.
#[derive(Debug, Clone)]
pub(crate) struct Printer {
    json: bool,
    quiet: bool,
    verbose: bool,
    bars: Bars,
    /// Set once the object of `--json` is printed.
    has_answered: Arc<AtomicBool>,
}

impl Printer {
    pub(crate) fn new(flags: &PrintFlags) -> Self {
        let choice = match flags.color {
            // `auto` of anstream looks at the terminal, NO_COLOR and CLICOLOR.
            ColorWhen::Auto => anstream::ColorChoice::Auto,
            ColorWhen::Always => anstream::ColorChoice::Always,
            ColorWhen::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
        let shown = match (flags.quiet, std::io::stderr().is_terminal()) {
            (true, _) => Shown::No,
            (false, true) => Shown::Bars,
            (false, false) => Shown::Lines,
        };
        let has_answered = Arc::default();
        let PrintFlags { json, quiet, verbose, .. } = *flags;
        Self { json, quiet, verbose, bars: Bars::new(shown), has_answered }
    }

    /// A printer of errors alone.
    pub(crate) fn of_errors(json: bool) -> Self {
        let has_answered = Arc::default();
        Self { json, quiet: true, verbose: false, bars: Bars::new(Shown::No), has_answered }
    }

    /// Prints the answer of a command, which then is done: with `--json` as one object, else in the lines that `text` prints.
    pub(crate) fn answer(
        &self,
        answer: &impl Answer,
        text: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<Exit, Failure> {
        if self.json {
            let object = answer.to_json();
            self.has_answered.store(true, Ordering::Relaxed);
            self.to_stdout(|| writeln!(anstream::stdout().lock(), "{object}"))?;
        } else {
            text()?;
        }
        Ok(Exit::Done)
    }

    /// Prints a line of data for people.
    pub(crate) fn line(&self, text: impl Display) -> Result<(), Failure> {
        debug_assert!(!self.json, "with --json stdout carries one object and nothing else");
        self.to_stdout(|| writeln!(anstream::stdout().lock(), "{text}"))
    }

    /// Prints each of `all`, with an empty line between.
    pub(crate) fn apart<I>(
        &self,
        all: impl IntoIterator<Item = I>,
        mut print: impl FnMut(I) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        for (at, one) in all.into_iter().enumerate() {
            if at > 0 {
                self.line("")?;
            }
            print(one)?;
        }
        Ok(())
    }

    /// Prints text as it is, such as a completion script.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Result<(), Failure> {
        self.to_stdout(|| std::io::stdout().lock().write_all(bytes))
    }

    /// Prints answers as one table of comma-separated values.
    pub(crate) fn csv<A: Answer>(&self, layout: &'static Layout, answers: &[A]) -> Result<(), Failure> {
        let mut table = Csv::new(layout);
        for answer in answers {
            table.add(answer);
        }
        self.raw(table.into_text().as_bytes())
    }

    fn to_stdout(&self, write: impl FnOnce() -> std::io::Result<()>) -> Result<(), Failure> {
        let mut written = Ok(());
        self.bars.above(|| written = write().and_then(|()| std::io::stdout().flush()));
        written.map_err(Failure::from)
    }

    /// Returns whether stdout carries one object and nothing else.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints a note on stderr; `-q` hides it.
    pub(crate) fn note(&self, text: impl Display) {
        if !self.quiet {
            self.to_stderr(&shown_lines(&text.to_string()));
        }
    }

    /// Returns whether `-v` was given.
    pub(crate) fn shows_details(&self) -> bool {
        self.verbose
    }

    /// Prints a detail on stderr with `-v`.
    pub(crate) fn detail(&self, text: impl Display) {
        if self.shows_details() {
            self.to_stderr(&format!("{DIM}{}{DIM:#}", shown_lines(&text.to_string())));
        }
    }

    /// Prints a warning on stderr; `-q` hides it.
    pub(crate) fn warning(&self, text: impl Display) {
        if !self.quiet {
            self.warn(&text.to_string());
        }
    }

    /// Prints why something of a batch is skipped, also with `-q`: an answer without it is not the whole one.
    pub(crate) fn skipped(&self, why: &str) {
        self.warn(&format!("skipped: {why}"));
    }

    fn warn(&self, text: &str) {
        self.to_stderr(&format!("{WARNING}warning:{WARNING:#} {}", shown_lines(text)));
    }

    /// Warns that a machine was not quiet while it was measured on, if it was not.
    pub(crate) fn warn_of(&self, noise: &Noise) {
        self.warn_not_quiet(noise.reasons().as_deref());
    }

    /// A warning for these reasons, if there are any.
    pub(crate) fn warn_not_quiet(&self, reasons: Option<&str>) {
        if let Some(reasons) = reasons {
            self.warning(format_args!("the machine was not quiet, and times may be off: {reasons}"));
        }
    }

    /// Prints why a command failed: in words, and with `--json` as an object in place of the answer.
    pub(crate) fn failure(&self, failure: &Failure) {
        let error = failure.answer().filter(|_| self.json && !self.has_answered.load(Ordering::Relaxed));
        if let Some(error) = error {
            // A closed stdout cannot be reported anywhere.
            let _ = self.answer(&error, || Ok(()));
        }
        match failure {
            Failure::ClosedOutput => {}
            Failure::Interrupted(kept) if kept.is_empty() => self.to_stderr(&"interrupted"),
            Failure::Interrupted(kept) => self.to_stderr(&format!("interrupted: {}", shown_lines(kept))),
            Failure::Reported { message, hint, .. } => {
                self.to_stderr(&format!("{ERROR}error:{ERROR:#} {}", shown_lines(message)));
                if let Some(hint) = hint {
                    self.to_stderr(&format!("\n{HINT}hint:{HINT:#} {}", shown_lines(hint)));
                }
            }
        }
    }

    /// Progress over `total` steps, hidden with `-q`; where stderr is no terminal, a line a minute.
    pub(crate) fn progress(&self, total: u64, what: &str) -> Progress {
        self.bars.add(total, what)
    }

    fn to_stderr(&self, text: &dyn Display) {
        // A closed stderr cannot be reported anywhere.
        self.bars.above(|| _ = writeln!(anstream::stderr().lock(), "{text}"));
    }
}
