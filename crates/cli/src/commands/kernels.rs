//! `sparsight kernels`: the catalogue, as far as the device has it.

use crate::context::Context;
use crate::device_choice::{ProfileFlags, described};
use crate::failure::{Exit, Failure};
use crate::json::{DeviceJson, Document};
use crate::printer::BOLD;
use crate::table::Table;
use crate::text::grouped;
use serde::Serialize;
use sparsight::kernels::{BLOCKS, DeviceKind, Format, Kernel, Strip, strip};

/// The catalogue: formats, kernels, block sizes, and the strip of each kernel on a device
#[derive(Debug, clap::Args)]
pub(crate) struct Kernels {
    #[command(flatten)]
    profile: ProfileFlags,
}

#[derive(Serialize)]
struct KernelsJson {
    device: DeviceJson,
    blocks: [u32; 5],
    kernels: Vec<KernelJson>,
}

#[derive(Serialize)]
struct KernelJson {
    /// With its knobs.
    id: String,
    format: Format,
    kernel: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    threads_per_row: Option<u32>,
    /// Absent for routines of the vendor's library, which cuts the work as it likes.
    #[serde(skip_serializing_if = "Option::is_none")]
    strip: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strip_unit: Option<&'static str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    vendor: bool,
}

impl Kernels {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let facts = &self.profile.facts(context)?;
        let json = |kernel: Kernel| {
            let strip = (!kernel.is_vendors()).then(|| strip(kernel, facts));
            KernelJson {
                id: kernel.to_string(),
                format: kernel.format(),
                kernel: kernel.name(),
                threads_per_row: kernel.threads_per_row(),
                strip: strip.map(|strip| strip.size),
                strip_unit: strip.map(|strip: Strip| strip.unit.name()),
                vendor: kernel.is_vendors(),
            }
        };
        let here = Kernel::all().filter(|kernel| kernel.runs_on(facts.kind));
        let kernels: Vec<KernelJson> = here.map(json).collect();
        if context.printer.is_json() {
            let body = KernelsJson { device: DeviceJson::here(facts), blocks: BLOCKS, kernels };
            context.printer.object(&Document::new("sparsight/kernels/1", body))?;
            return Ok(Exit::Done);
        }
        let title = format!("strip on {}", described(facts));
        let mut table = Table::new(&["<kernel", "<format", "threads a row", &title, "<"]);
        for kernel in kernels {
            table.row([
                kernel.id,
                kernel.format.to_string(),
                kernel.threads_per_row.map_or_else(String::new, |threads| threads.to_string()),
                kernel.strip.map_or_else(String::new, grouped),
                kernel.strip_unit.unwrap_or("vendor's library").to_owned(),
            ]);
        }
        context.printer.line(table)?;
        let blocks = BLOCKS.map(|block| block.to_string()).join(", ");
        context.printer.line(format_args!(
            "\nEach with blocks of {blocks} threads, in f32 and f64: {BOLD}csr-vector/t8/b256/f64{BOLD:#}"
        ))?;
        context.printer.line(
            "t: threads a row; i: rows and non-zeros of a tile, or non-zeros that a thread takes of a run (coo); c, s: rows of a \
             slice, and of a window in which they are sorted by length; r: rows of a slice",
        )?;
        if facts.kind == DeviceKind::Cuda {
            context
                .printer
                .line("sell with four threads a row has no blocks of 64: a slice takes 128 threads")?;
            context.printer.line(format_args!(
                "cuSPARSE, where it is found, chooses its threads itself: {BOLD}cusparse-csr/a1/f64{BOLD:#}"
            ))?;
        }
        Ok(Exit::Done)
    }
}
