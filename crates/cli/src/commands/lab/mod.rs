//! `sparsight lab`: measures devices and corpora, fits models, and judges them. One file a command.

mod evaluate;
mod fit;
mod foreign;
mod measure;
mod predict;
mod profile;
mod repair;
mod transfer;

use crate::context::Context;
use crate::failure::{Exit, Failure};
use clap::Subcommand;

/// Measure devices and corpora, fit models, and judge them
#[derive(Debug, clap::Args)]
pub(crate) struct Lab {
    #[command(subcommand)]
    command: LabCommand,
}

/// Command of the laboratory.
#[derive(Debug, Subcommand)]
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

impl Lab {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        match &self.command {
            LabCommand::Profile(profile) => profile.run(context),
            LabCommand::Measure(measure) => measure.run(context),
            LabCommand::Fit(fit) => fit.run(context),
            LabCommand::Evaluate(evaluate) => evaluate.run(context),
            LabCommand::Predict(predict) => predict.run(context),
            LabCommand::Transfer(transfer) => transfer.run(context),
            LabCommand::Foreign(foreign) => foreign.run(context),
            LabCommand::Repair(repair) => repair.run(context),
        }
    }

    /// Returns whether values that a file does not store are drawn at random.
    pub(crate) fn random_values(&self) -> bool {
        matches!(&self.command, LabCommand::Measure(measure) if measure.values.random())
    }
}
