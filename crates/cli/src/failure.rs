//! Reasons why a command ended early, each with a hint and an exit code.

use sparsight::Error;
use sparsight::answer::ErrorAnswer;
use sparsight::device::DeviceError;
use sparsight::matrix::gallery::GalleryError;
use sparsight::matrix::io::ReadError;
use std::io::ErrorKind;

/// The exit code of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// Done, and the answer is no.
    No = 1,
    /// Bad flags or input.
    Input = 2,
    /// No usable device or library.
    Device = 3,
    /// Ctrl-C: what shells expect of a program ended by SIGINT, 128 + 2.
    Interrupted = 130,
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader of stdout has closed it: `sparsight ... | head`.
    ClosedOutput,
    /// Ctrl-C. Holds what is kept and how to continue.
    Interrupted(String),
    /// Anything else.
    Reported { exit: Exit, message: String, hint: Option<String> },
}

impl Failure {
    /// Bad flags or input.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::Reported { exit: Exit::Input, message: message.into(), hint: None }
    }

    /// No usable device or library.
    pub(crate) fn device(message: impl Into<String>) -> Self {
        Self::Reported { exit: Exit::Device, message: message.into(), hint: None }
    }

    /// Several matrices where `flag` takes one.
    pub(crate) fn one_matrix(flag: &str, given: usize) -> Self {
        let text = format!("{flag} takes one matrix, but {given} were given");
        Self::input(text).hinted(format!("name one of them, or leave out {flag}"))
    }

    /// Adds a hint: what the user can do.
    #[must_use]
    pub(crate) fn hinted(mut self, text: impl Into<String>) -> Self {
        if let Self::Reported { hint, .. } = &mut self {
            *hint = Some(text.into());
        }
        self
    }

    /// Adds to an interruption what is kept and how to continue.
    #[must_use]
    pub(crate) fn keeping(self, what: impl FnOnce() -> String) -> Self {
        if let Self::Interrupted(_) = self { Self::Interrupted(what()) } else { self }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::ClosedOutput => Exit::Done,
            Self::Interrupted(_) => Exit::Interrupted,
            Self::Reported { exit, .. } => *exit,
        }
    }
}

impl Failure {
    /// The answer of `--json`; `None` if stdout is closed.
    pub(crate) fn answer(&self) -> Option<ErrorAnswer> {
        let (error, hint) = match self {
            Self::ClosedOutput => return None,
            Self::Interrupted(kept) if kept.is_empty() => ("interrupted".to_owned(), None),
            Self::Interrupted(kept) => (format!("interrupted: {kept}"), None),
            Self::Reported { message, hint, .. } => (message.clone(), hint.clone()),
        };
        Some(ErrorAnswer { error, hint, exit_code: self.exit() as u8 })
    }
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        let exit = match error {
            DeviceError::Interrupted => return Self::Interrupted(String::new()),
            DeviceError::WrongResult { .. } => Exit::No,
            DeviceError::Infeasible(_) => Exit::Input,
            _ => Exit::Device,
        };
        Self::Reported { exit, message: error.to_string(), hint: error.hint().map(ToOwned::to_owned) }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let hint = error.hint();
        match error {
            Error::Device(error) => error.into(),
            error => Self::Reported { exit: Exit::Input, message: error.to_string(), hint },
        }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        let hint = error.hint().map(Into::into);
        Self::Reported { exit: Exit::Input, message: error.to_string(), hint }
    }
}

impl From<GalleryError> for Failure {
    fn from(error: GalleryError) -> Self {
        Self::Reported { exit: Exit::Input, message: error.to_string(), hint: error.hint() }
    }
}

/// A failure to write to stdout.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe => Self::ClosedOutput,
            _ => Self::input(format!("standard output: {error}")),
        }
    }
}
