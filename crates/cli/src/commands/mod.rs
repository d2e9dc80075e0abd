//! One file a command.

pub(crate) mod advise;
pub(crate) mod bench;
pub(crate) mod calibrate;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod devices;
pub(crate) mod evaluate;
pub(crate) mod fit;
pub(crate) mod gallery;
pub(crate) mod info;
pub(crate) mod kernels;
pub(crate) mod measure;
pub(crate) mod plan;
pub(crate) mod predict;
pub(crate) mod profile;
pub(crate) mod repair;
pub(crate) mod report;
pub(crate) mod rules;
pub(crate) mod transfer;

use crate::args::Command;
use crate::context::Context;
use crate::failure::{Exit, Failure};

/// Runs one.
pub(crate) fn run(command: Command, context: &Context) -> Result<Exit, Failure> {
    match command {
        Command::Advise(advise) => advise.run(context),
        Command::Compare(compare) => compare.run(context),
        Command::Predict(predict) => predict.run(context),
        Command::Plan(plan) => plan.run(context),
        Command::Bench(bench) => bench.run(context),
        Command::Calibrate(calibrate) => calibrate.run(context),
        Command::Profile(profile) => profile.run(context),
        Command::Measure(measure) => measure.run(context),
        Command::Fit(fit) => fit.run(context),
        Command::Repair(repair) => repair.run(context),
        Command::Report(report) => report.run(context),
        Command::Rules(rules) => rules.run(context),
        Command::Evaluate(evaluate) => evaluate.run(context),
        Command::Transfer(transfer) => transfer.run(context),
        Command::Info(info) => info.run(context),
        Command::Devices => devices::run(context),
        Command::Kernels(kernels) => kernels.run(context),
        Command::Gallery(gallery) => gallery.run(context),
        Command::Completions(completions) => completions.run(context),
    }
}
