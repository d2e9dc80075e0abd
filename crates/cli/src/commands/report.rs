//! `sparsight report`: an answer of `advise` or `plan` as a page.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output_file;
use crate::report::{Page, Reported};
use crate::text::shown;
use sparsight::answer::ReportAnswer;
use sparsight::matrix::io::{read_document_text, read_regular_text};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Draw an answer of `advise --json` or `plan --json` as one HTML page
///
/// `advise --report` and `plan --report` write the same at once. docs/report.md says what each picture shows.
#[derive(Debug, clap::Args)]
pub(crate) struct Report {
    /// Output of `advise --json` or `plan --json`; - for standard input
    answer: PathBuf,
    /// File to write [default: beside the answer, with .html at the end]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Report {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let from_stdin = self.answer.as_os_str() == "-";
        let name = shown(&self.answer.display().to_string());
        let file = match &self.output {
            Some(file) => file.clone(),
            None if from_stdin => {
                return Err(Failure::input("an answer from standard input has no name to call the page by")
                    .hinted("-o FILE says where the page goes"));
            }
            None => self.answer.with_extension("html"),
        };
        let input = if from_stdin { Path::new("/dev/stdin") } else { &self.answer };
        output_file::check(Some(&file), ("the page", "-o"), &[input])?;
        let read = if from_stdin {
            read_document_text(std::io::stdin().lock())
        } else {
            read_regular_text(&self.answer)
        };
        let hint = "`sparsight advise A.mtx --json > advice.json` writes an answer that `report` reads, and so does `sparsight plan`";
        let text = read.map_err(|error| {
            let failure = Failure::input(format!("{name}: {error}"));
            match error.kind() {
                ErrorKind::InvalidData | ErrorKind::FileTooLarge => failure.hinted(hint),
                _ => failure,
            }
        })?;
        let reported = Reported::from_json(&text)
            .map_err(|why| Failure::input(format!("{name}: {why}")).hinted(hint))?;
        let page = Page::of(&reported);
        page.write(&file)?;
        let answer = ReportAnswer { file, panels: page.panels };
        context.printer.answer(&answer, || {
            let panels = answer.panels.join(", ");
            context.printer.line(format_args!("{}: {panels}", shown(&answer.file.display().to_string())))
        })
    }
}
