//! `sparsight lab repair`: keeps of damaged records what can be read.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::printer::Printer;
use crate::text::{counted, shown};
use sparsight::profile::ProfileFolder;
use sparsight_lab::answer::RepairAnswer;
use std::path::PathBuf;

/// Remove unreadable lines from the records of a profile
///
/// The original files are kept under another name.
#[derive(Debug, clap::Args)]
pub(crate) struct Repair {
    /// Folder of the profile
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Repair {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let folder = ProfileFolder::open(&self.folder)?;
        let repaired = folder.repair()?;
        let answer = RepairAnswer { folder: self.folder.clone(), repaired };
        context.printer.answer(&answer, || print(&answer, folder.has_records(), &context.printer))
    }
}

fn print(answer: &RepairAnswer, has_records: bool, out: &Printer) -> Result<(), Failure> {
    let folder = shown(&answer.folder.display().to_string());
    for file in &answer.repaired {
        out.line(format_args!(
            "{}: {} kept, {} left out",
            shown(&file.path.display().to_string()),
            counted(file.kept as u64, "record"),
            counted(file.damaged.len() as u64, "line")
        ))?;
        for damaged in &file.damaged {
            out.line(format_args!("  line {}: {}", damaged.line, shown(&damaged.reason)))?;
        }
        for reason in &file.unpacking {
            out.line(format_args!("  not unpacked as it was packed {}", shown(reason)))?;
        }
        if file.unproven > 0 {
            out.line(format_args!(
                "  {} left out that may have changed: a copy from before, of a backup or of git, is better",
                counted(file.unproven as u64, "record")
            ))?;
        }
        out.line(format_args!("  as it was: {}", shown(&file.set_aside.display().to_string())))?;
    }
    if !answer.repaired.is_empty() {
        if answer.repaired.iter().any(|file| file.kept > 0) {
            out.line(format_args!("`sparsight lab fit {folder}` fits the models to what is left"))?;
        }
    } else if has_records {
        out.line(format_args!("{folder}: no record is damaged"))?;
    } else {
        out.line(format_args!("{folder}: there are no records here"))?;
    }
    Ok(())
}
