//! `sparsight kernels`: the catalogue, as far as the device has it.

use crate::context::Context;
use crate::device_choice::{ProfileFlags, described};
use crate::failure::{Exit, Failure};
use crate::printer::{BOLD, Printer};
use crate::table::Table;
use crate::text::grouped;
use sparsight::answer::KernelsAnswer;
use sparsight::kernels::{DeviceFacts, DeviceKind};

/// The catalogue: formats, kernels, block sizes, and the strip of each kernel on a device
#[derive(Debug, clap::Args)]
pub(crate) struct Kernels {
    #[command(flatten)]
    profile: ProfileFlags,
}

impl Kernels {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let facts = &self.profile.facts(context)?;
        let mut answer = KernelsAnswer::from(facts);
        answer.kernels.truncate(context.top_in_json());
        context.printer.answer(&answer, || print(&answer, facts, &context.printer))?;
        Ok(Exit::Done)
    }
}

fn print(answer: &KernelsAnswer, facts: &DeviceFacts, out: &Printer) -> Result<(), Failure> {
    let title = format!("strip on {}", described(facts));
    let mut table = Table::new(&["<kernel", "<format", "threads a row", &title, "<"]);
    for kernel in &answer.kernels {
        table.row([
            kernel.id.clone(),
            kernel.format.to_string(),
            kernel.threads_per_row.map_or_else(String::new, |threads| threads.to_string()),
            kernel.strip.map_or_else(String::new, grouped),
            kernel.strip_unit.unwrap_or("vendor's library").to_owned(),
        ]);
    }
    out.line(table)?;
    let blocks: Vec<String> = answer.blocks.iter().map(ToString::to_string).collect();
    out.line(format_args!(
        "\nEach with blocks of {} threads, in f32 and f64: {BOLD}csr-vector/t8/b256/f64{BOLD:#}",
        blocks.join(", ")
    ))?;
    out.line(
        "t: threads a row; i: rows and non-zeros of a tile, or non-zeros that a thread takes of a run (coo); c, s: rows of a \
         slice, and of a window in which they are sorted by length; r: rows of a slice",
    )?;
    if facts.kind == DeviceKind::Cuda {
        out.line("sell with four threads a row has no blocks of 64: a slice takes 128 threads")?;
        out.line(format_args!(
            "cuSPARSE, where it is found, chooses its threads itself: {BOLD}cusparse-csr/a1/f64{BOLD:#}"
        ))?;
    }
    Ok(())
}
