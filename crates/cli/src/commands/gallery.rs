//! `sparsight gallery`: the generators.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::printer::Printer;
use crate::table::Table;
use crate::text::BOLD;
use sparsight::answer::GalleryAnswer;
use sparsight::matrix::gallery::{Generator, PREFIX, Recipe, generators};

/// List the matrix generators, or the parameters of one
#[derive(Debug, clap::Args)]
pub(crate) struct Gallery {
    /// Generator to describe
    name: Option<String>,
}

impl Gallery {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let generators: Vec<&'static Generator> = match &self.name {
            None => generators().iter().collect(),
            // The recipe knows what to say of a name that is not there.
            Some(name) => vec![name.parse::<Recipe>()?.generator()],
        };
        let answer = GalleryAnswer { generators };
        context.printer.answer(&answer, || match &answer.generators[..] {
            [one] if self.name.is_some() => describe(one, &context.printer),
            all => list(all, &context.printer),
        })
    }
}

fn list(generators: &[&Generator], out: &Printer) -> Result<(), Failure> {
    let mut table = Table::new(&["<name", "~what it looks like"]);
    for generator in generators {
        table.row([generator.name, generator.summary]);
    }
    out.line(table)?;
    out.line(format_args!(
        "\n`sparsight gallery NAME` shows its parameters; `sparsight advise {PREFIX}stencil2d,n=1000` uses one"
    ))
}

fn describe(generator: &Generator, out: &Printer) -> Result<(), Failure> {
    out.line(format_args!("{BOLD}{PREFIX}{}{BOLD:#}   {}", generator.name, generator.summary))?;
    out.line("")?;
    let mut table = Table::new(&["<parameter", "default", "~meaning", "~accepts"]);
    for p in generator.parameters {
        table.row([p.name, &p.default.to_string(), p.meaning, &p.accepts.to_string()]);
    }
    out.line(table)
}
