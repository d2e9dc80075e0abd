//! `sparsight completions`: scripts for shells.

use super::Args;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use clap::CommandFactory;
use clap_complete::Shell;

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// Shell to print for
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Args::command(), "sparsight", &mut script);
        context.printer.raw(&script)?;
        Ok(Exit::Done)
    }
}
