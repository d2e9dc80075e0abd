//! `sparsight lab`: measures devices and corpora, fits models, and judges them. One file a command.

mod evaluate;
mod fit;
mod foreign;
mod measure;
mod predict;
mod profile;
mod repair;
mod transfer;

use super::commands;
use crate::context::Context;
use crate::failure::{Exit, Failure};

/// Measure devices and corpora, fit models, and judge them
#[derive(Debug, clap::Args)]
pub(crate) struct Lab {
    #[command(subcommand)]
    command: LabCommand,
}

commands! {
    /// Command of the laboratory.
    enum LabCommand {
        Profile(profile::Profile),
        Measure(measure::Measure),
        Fit(fit::Fit),
        Evaluate(evaluate::Evaluate),
        Predict(predict::Predict),
        Transfer(transfer::Transfer),
        Foreign(foreign::Foreign),
        Repair(repair::Repair),
    }
}

impl Lab {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        self.command.run(context)
    }

    /// Returns whether values that a file does not store are drawn at random.
    pub(crate) fn random_values(&self) -> bool {
        matches!(&self.command, LabCommand::Measure(measure) if measure.values.random())
    }
}
