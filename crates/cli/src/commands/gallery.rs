//! `sparsight gallery`: the generators.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::json::Document;
use crate::printer::BOLD;
use crate::table::Table;
use serde::Serialize;
use sparsight::matrix::gallery::{Generator, PREFIX, Recipe, generators};

/// Built-in generated matrices: all of them, or the parameters of one
#[derive(Debug, clap::Args)]
pub(crate) struct Gallery {
    /// Generator to describe
    name: Option<String>,
}

#[derive(Serialize)]
struct GalleryJson {
    generators: Vec<GeneratorJson>,
}

#[derive(Serialize)]
struct GeneratorJson {
    name: &'static str,
    summary: &'static str,
    parameters: Vec<ParameterJson>,
}

#[derive(Serialize)]
struct ParameterJson {
    name: &'static str,
    default: String,
    accepts: String,
    meaning: &'static str,
}

impl Gallery {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let shown: Vec<&Generator> = match &self.name {
            None => generators().iter().collect(),
            // The recipe knows what to say of a name that is not there.
            Some(name) => vec![name.parse::<Recipe>()?.generator()],
        };
        if context.printer.is_json() {
            let generators = shown.into_iter().map(GeneratorJson::from).collect();
            context.printer.object(&Document::new("sparsight/gallery/1", GalleryJson { generators }))?;
        } else if self.name.is_some() {
            describe(shown[0], context)?;
        } else {
            let mut table = Table::new(&["<name", "~what it looks like"]);
            for generator in shown {
                table.row([generator.name, generator.summary]);
            }
            context.printer.line(table)?;
            context.printer.line(format_args!(
                "\n`sparsight gallery NAME` shows its parameters; `sparsight advise {PREFIX}stencil2d,n=1000` uses one"
            ))?;
        }
        Ok(Exit::Done)
    }
}

fn describe(generator: &Generator, context: &Context) -> Result<(), Failure> {
    let out = &context.printer;
    out.line(format_args!("{BOLD}{PREFIX}{}{BOLD:#}   {}", generator.name, generator.summary))?;
    out.line("")?;
    let mut table = Table::new(&["<parameter", "default", "~meaning", "~accepts"]);
    for p in generator.parameters {
        table.row([p.name.to_owned(), p.default.to_string(), p.meaning.to_owned(), p.accepts.to_string()]);
    }
    out.line(table)
}

impl From<&Generator> for GeneratorJson {
    fn from(generator: &Generator) -> Self {
        let parameters = generator.parameters.iter().map(|p| ParameterJson {
            name: p.name,
            default: p.default.to_string(),
            accepts: p.accepts.to_string(),
            meaning: p.meaning,
        });
        Self { name: generator.name, summary: generator.summary, parameters: parameters.collect() }
    }
}
