//! `sparsight kernels`: the catalogue, as far as the device has it.

use crate::args::kernel;
use crate::context::Context;
use crate::device_choice::ProfileFlags;
use crate::failure::{Exit, Failure};
use crate::printer::Printer;
use crate::table::{Table, cell_or};
use crate::text::{self, BOLD, described, grouped, words};
use sparsight::answer::{KernelSourceAnswer, KernelsAnswer};
use sparsight::kernels::{Candidate, DeviceFacts, Kernel, Selection, every_candidate};
use sparsight::matrix::{Dtype, suggested};

/// List the catalogue: formats, kernels, and block sizes
#[derive(Debug, clap::Args)]
pub(crate) struct Kernels {
    /// Only these kernels, as any answer prints them, with their names in other libraries
    #[arg(value_name = "NAME", value_parser = kernel)]
    names: Vec<Selection>,
    #[command(flatten)]
    profile: ProfileFlags,
    /// Print the CUDA source of one candidate, as tables and ids name it: "bsr b3 t4 b128" or bsr/b3/t4/b128/f64
    #[arg(long, value_name = "CANDIDATE", conflicts_with_all = ["device", "profile", "names"])]
    source: Option<String>,
}

impl Kernels {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        if let Some(name) = &self.source {
            return source(name, context);
        }
        let facts = &self.profile.facts(context)?;
        let mut answer = KernelsAnswer::from(facts);
        if !self.names.is_empty() {
            let is_named = |kernel: Kernel| self.names.iter().any(|name| name.names(kernel));
            answer.kernels.retain(|kernel| kernel.id.parse().is_ok_and(is_named));
        }
        answer.kernels.truncate(context.top_in_json());
        context.printer.answer(&answer, || print(&answer, !self.names.is_empty(), facts, &context.printer))
    }
}

/// The source of one candidate, with what it takes to compile and launch it on top.
fn source(name: &str, context: &Context) -> Result<Exit, Failure> {
    let candidate = pasted(name, context.dtype())?;
    let Some(answer) = KernelSourceAnswer::of(candidate, 4) else {
        let text = format!("{} is a closed-source routine of NVIDIA's", text::candidate(&candidate));
        return Err(Failure::input(text).hinted("`sparsight kernels` lists ours"));
    };
    context.printer.answer(&answer, || {
        let out = &context.printer;
        let (name, dtype, format) =
            (text::candidate(&candidate), candidate.dtype, words(answer.candidate.format));
        out.line(format_args!("// {name} in {dtype}: reads {format}, y = alpha A x + beta y."))?;
        out.line(format_args!("// Elsewhere: {}.", text::in_other_libraries(&answer.elsewhere)))?;
        for launch in &answer.launches {
            let block = answer.candidate.block;
            out.line(format_args!("// {}<<<blocks, {block}>>>(first, {})", launch.entry, launch.args.join(", ")))?;
        }
        out.line("// Every parameter takes 64 bits; `first` is 0.")?;
        if answer.is_exclusive {
            out.line("// Two products of one matrix must not run at the same time: blocks share memory of the matrix.")?;
        }
        out.line(format_args!("//\n// {format}:"))?;
        let text = answer.layout.trim_end().lines().filter(|line| !line.starts_with("```"));
        for line in text {
            out.line(format_args!("// {line}").to_string().trim_end())?;
        }
        for definition in &answer.definitions {
            out.line(format_args!("#define {}", definition.replacen('=', " ", 1)))?;
        }
        out.line(answer.text.trim_end())
    })
}

/// Threads of a block where none are named.
const USUAL_BLOCK: u32 = 256;

/// A candidate as any output of this program shows it: `bsr b3 t4 b128` of a table, or an id with or without its value type.
fn pasted(name: &str, dtype: Dtype) -> Result<Candidate, Failure> {
    // A block size only makes launches different, not the text: without one the usual one stands for all.
    let found = name.parse().ok().and_then(|selection: Selection| {
        selection.candidate(dtype).or_else(|| selection.with_block(USUAL_BLOCK).candidate(dtype))
    });
    found.ok_or_else(|| {
        let all: Vec<String> = every_candidate(dtype).map(|one| text::candidate(&one)).collect();
        Failure::input(format!("'{name}' is no candidate such as \"bsr b3 t4 b128\" or bsr/b3/t4/b128/f64"))
            .hinted(suggested(
                &words(name),
                all.iter().map(String::as_str),
                "`sparsight kernels` lists kernels and block sizes",
            ))
    })
}

/// `named`: whether some were asked for, of which more is told.
fn print(answer: &KernelsAnswer, named: bool, facts: &DeviceFacts, out: &Printer) -> Result<(), Failure> {
    let title = format!("strip on {}", described(facts));
    out.line(Table::of(
        &answer.kernels,
        [
            ("<kernel", &|one| if one.retired { format!("({})", words(&one.id)) } else { words(&one.id) }),
            ("<format", &|one| words(one.format)),
            ("threads a row", &|one| cell_or("", one.threads_per_row)),
            (&title, &|one| cell_or("", one.strip.map(grouped))),
            ("<", &|one| one.strip_unit.unwrap_or("vendor's library").to_owned()),
        ],
    ))?;
    if named {
        for of_family in answer.kernels.chunk_by(|a, b| a.kernel == b.kernel && a.elsewhere == b.elsewhere) {
            let kernel = &of_family[0];
            out.line(format_args!("\n{BOLD}{}{BOLD:#}: {}", kernel.kernel, kernel.summary))?;
            out.line(format_args!("  elsewhere: {}", text::in_other_libraries(&kernel.elsewhere)))?;
        }
        if answer.kernels.is_empty() {
            out.line("none of these runs there")?;
        }
        return out.line("\n`--source \"NAME bBLOCK\"`: its CUDA source");
    }
    let blocks: Vec<String> = answer.blocks.iter().map(ToString::to_string).collect();
    out.line(format_args!(
        "\nEach with blocks of {} threads, in f32 and f64: {BOLD}csr-vector t8 b256{BOLD:#}, in JSON and CSV csr-vector/t8/b256/f64",
        blocks.join(", ")
    ))?;
    out.line(
        "t: threads a row; i: rows and non-zeros of a tile, or non-zeros that a thread takes of a run (coo); c, s: rows of a \
         slice, and of a window in which they are sorted by length; r: rows of a slice",
    )?;
    if answer.kernels.iter().any(|kernel| kernel.retired) {
        out.line("(in parentheses): not ranked, since no matrix was found on which it gains more than 3 %; run where it is named")?;
    }
    if facts.kind.has_cusparse() {
        out.line("sell with four threads a row has no blocks of 64: a slice takes 128 threads")?;
        out.line(format_args!(
            "cuSPARSE, where it is found, chooses its threads itself: {BOLD}cusparse-csr a1{BOLD:#}"
        ))?;
    }
    out.line("`sparsight kernels NAME`: what it does, and what it is called in other libraries")
}
