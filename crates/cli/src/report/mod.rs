//! The page of `report`, `advise --report` and `plan --report`: an answer as one HTML file, with pictures in SVG and no script.
//!
//! ```text
//! Reported -> a file a panel (HTML with an Svg in it) -> page (the panels in a grid, below the verdict)
//! ```
//! A picture is as wide as a column of the page on every screen, so that its letters have one size. Text may come from an untrusted file:
//! all of it goes through [`escaped`].

mod axis;
mod break_even;
mod figure;
mod labels;
mod partition;
mod provenance;
mod refused;
mod reported;
mod roles;
mod roofline;
mod row_lengths;
mod spy;
mod times;
mod verdict;

use crate::failure::Failure;
use crate::output_file;
use crate::svg::escaped;
pub(crate) use figure::figure;
pub(crate) use reported::Reported;
use reported::ReportedAdvice;
use roles::Roles;
use std::fmt::Write;
use std::path::Path;
pub(crate) use verdict::Sentences;

/// Style of the page, with all colours at the top.
const STYLE: &str = include_str!("style.css");
/// Style of the pictures.
const PICTURES: &str = include_str!("pictures.css");

/// A section of the page.
#[derive(Debug)]
struct Panel {
    /// Id of the section in HTML, and in the answer.
    id: &'static str,
    title: &'static str,
    /// HTML.
    body: String,
}

/// A page, and the ids of its panels from the top.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) html: String,
    pub(crate) panels: Vec<&'static str>,
}

impl Page {
    /// Draws an answer; a panel without data is left out.
    pub(crate) fn of(answer: &Reported) -> Self {
        match answer {
            Reported::Advice(advice) => Self::of_advice(advice),
            Reported::Plan(plan) => partition::page(plan),
        }
    }

    fn of_advice(advice: &ReportedAdvice) -> Self {
        let roles = Roles::of(advice);
        // Of a matrix without non-zeros nothing is worth a picture.
        let is_empty = advice.matrix.nnz == 0;
        let of_times = |panel: Option<Panel>| panel.filter(|_| !is_empty);
        let panels = [
            of_times(times::panel(advice, &roles)),
            of_times(break_even::panel(advice, &roles)),
            row_lengths::panel(advice, &roles),
            advice.structure.as_ref().and_then(|structure| spy::panel(&advice.matrix, &structure.spy)),
            of_times(roofline::panel(advice, &roles)),
            of_times(advice.plan.as_ref().and_then(partition::panel)),
            Some(refused::panel(advice)),
            Some(provenance::panel(&advice.device, advice.provenance.as_ref(), advice.reordered.as_ref())),
        ];
        let panels: Vec<Panel> = panels.into_iter().flatten().collect();
        Self::put_together(&advice.matrix.name, &verdict::header(advice, &roles), &panels)
    }

    fn put_together(name: &str, header: &str, panels: &[Panel]) -> Self {
        let name = escaped(name);
        let mut html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{name} - sparsight</title>\n\
             <style>\n{STYLE}{PICTURES}</style>\n</head>\n<body>\n{header}<main>\n",
        );
        for Panel { id, title, body } in panels {
            // Writing to a String does not fail.
            let _ = writeln!(html, "<section id=\"{id}\">\n<h2>{title}</h2>\n{body}</section>");
        }
        html += "</main>\n</body>\n</html>\n";
        Self { html, panels: std::iter::once("verdict").chain(panels.iter().map(|panel| panel.id)).collect() }
    }

    /// Writes it to `file`.
    pub(crate) fn write(&self, file: &Path) -> Result<(), Failure> {
        output_file::write(file, self.html.as_bytes())
    }
}

/// A remark below a picture.
fn remark(text: &str) -> String {
    format!("<p>{}</p>\n", escaped(text))
}
