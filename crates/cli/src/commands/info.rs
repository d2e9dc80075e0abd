//! `sparsight info`: a matrix' structure and its size in every format.

use crate::context::{Context, with_scalar};
use crate::csv::{CsvFlag, Layout};
use crate::device_choice::ProfileFlags;
use crate::failure::{Exit, Failure};
use crate::many::{show, structures};
use crate::matrix_source::{MatrixSource, matrices};
use crate::output_file;
use crate::printer::Printer;
use crate::reordering::OrderFlags;
use crate::report::figure;
use crate::table::{Table, cell_or};
use crate::terminal_plot;
use crate::text::{counted, grouped, percent, title, words};
use sparsight::answer::{FormatSize, InfoAnswer, InfoManyAnswer, Structure};
use sparsight::matrix::{Features, Limits, Locality, Scalar};
use std::io::IsTerminal;
use std::path::PathBuf;

/// Describe a matrix: its structure, and its size in each format
#[derive(Debug, clap::Args)]
pub(crate) struct Info {
    #[arg(required = true, help = matrices!("; of several a line each"))]
    paths: Vec<String>,
    #[command(flatten)]
    profile: ProfileFlags,
    #[command(flatten)]
    order: OrderFlags,
    /// Draw the non-zeros and the row lengths, also if the output is not a terminal
    #[arg(long)]
    plot: bool,
    /// Also write both pictures into a file, as one SVG (docs/report.md)
    #[arg(long, value_name = "FILE", conflicts_with = "csv")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    csv: CsvFlag,
}

/// A row a matrix; the sizes in all formats are in the JSON answer.
const TABLE: Layout = Layout {
    rows: &[],
    outer: &[],
    inner: &[&[
        "dtype",
        "empty_rows=features.empty_rows",
        "row_mode=features.row_mode",
        "row_std=features.row_std",
        "row_p5=features.row_quantiles.0",
        "row_p25=features.row_quantiles.1",
        "row_p50=features.row_quantiles.2",
        "row_p75=features.row_quantiles.3",
        "row_p90=features.row_quantiles.4",
        "row_p95=features.row_quantiles.5",
        "row_p99=features.row_quantiles.6",
        "bandwidth=features.bandwidth",
        "diagonals=features.diagonals",
        "x_reuse=features.x_reuse",
        "min_distance=features.locality.min_distance",
        "max_distance=features.locality.max_distance",
    ]],
};

impl Info {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let sources = self.order.of_all(MatrixSource::batch(&self.paths, &context.printer)?);
        output_file::check(self.svg.as_deref(), ("the picture", "--svg"), &self.profile.inputs(&sources))?;
        let device = self.profile.facts(context)?;
        let limits = Limits::with_memory(device.memory_bytes);
        let out = &context.printer;
        if self.svg.is_some() && sources.len() != 1 {
            return Err(Failure::one_matrix("--svg", sources.len()));
        }
        if let ([source], false) = (&sources[..], self.csv.csv) {
            let (features, structure, spy) =
                with_scalar!(context.dtype(), T => self.looked_at::<T>(source, context))?;
            let answer = InfoAnswer::of(source.title(), features, context.dtype(), &limits);
            let answer = InfoAnswer { structure: Some(structure), ..answer };
            // Before stdout is written to, whose reader may go away; an error comes behind the answer.
            let drawn = self.svg.as_ref().zip(answer.structure.as_ref()).map(|(file, structure)| {
                output_file::write(file, figure(&answer.matrix, structure).as_bytes())
            });
            out.answer(&answer, || {
                print(&answer, out)?;
                print_pictures(&answer, &spy, out)?;
                print_formats(&answer, &device.name, out)
            })?;
            drawn.transpose()?;
            if let Some(file) = &self.svg {
                out.note(format_args!("the pictures are in {}", file.display()));
            }
            return Ok(Exit::Done);
        }
        let mut matrices = Vec::new();
        let looked = structures(&sources, context, |source, features| {
            matrices.push(InfoAnswer::of(source.title(), features, context.dtype(), &limits));
            Ok(())
        })?;
        let many = |matrices| InfoManyAnswer { matrices };
        show(matrices, &sources, self.csv.csv.then_some(&TABLE), many, (out, |all| out.line(lines(all))))?;
        looked.exit(true, "looked at")
    }

    /// The features of the matrix, and its picture in characters if it is printed.
    fn looked_at<T: Scalar>(
        &self,
        source: &MatrixSource,
        context: &Context,
    ) -> Result<(Features, Structure, Vec<String>), Failure> {
        let matrix = source.load_places::<T>(context)?;
        let is_seen = !context.printer.is_json() && (self.plot || std::io::stdout().is_terminal());
        let spy = if is_seen { terminal_plot::spy(&matrix) } else { Vec::new() };
        Ok((Features::of(&matrix), Structure::of(&matrix), spy))
    }
}

/// Pictures of the non-zeros and of the row lengths, if requested.
fn print_pictures(answer: &InfoAnswer, spy: &[String], out: &Printer) -> Result<(), Failure> {
    let lengths = answer.structure.as_ref().filter(|_| !spy.is_empty()).map(terminal_plot::row_lengths);
    for (title, lines) in [("where the non-zeros lie", spy), ("rows by length", &lengths.unwrap_or_default())]
    {
        if !lines.is_empty() {
            out.line(format_args!("  {title}\n"))?;
            for line in lines {
                out.line(format_args!("  {line}"))?;
            }
            out.line("")?;
        }
    }
    Ok(())
}

/// A line a matrix.
fn lines(answers: &[InfoAnswer]) -> Table {
    let all = answers.iter().map(|InfoAnswer { matrix, features, .. }| (matrix, features));
    Table::of(
        all,
        [
            ("<matrix", &|(matrix, _)| matrix.name.clone()),
            ("rows", &|(_, f)| grouped(f.nrows)),
            ("columns", &|(_, f)| grouped(f.ncols)),
            ("non-zeros", &|(_, f)| grouped(f.nnz)),
            ("a row", &|(_, f)| format!("{:.1}", f.row_mean())),
            ("least", &|(_, f)| grouped(f.row_min)),
            ("most", &|(_, f)| grouped(f.row_max)),
            ("deviation", &|(_, f)| format!("{:.1}", f.row_std)),
            ("empty rows", &|(_, f)| grouped(f.empty_rows)),
            ("farthest from the diagonal", &|(_, f)| grouped(f.bandwidth)),
            ("x found in cache", &|(_, f)| percent(f.x_reuse)),
        ],
    )
}

fn print(InfoAnswer { matrix, features: f, formats, .. }: &InfoAnswer, out: &Printer) -> Result<(), Failure> {
    out.line(title(matrix))?;
    out.line("")?;
    let quantiles: Vec<String> = f.row_quantiles.iter().map(|q| grouped(*q)).collect();
    let bits = |of: &FormatSize| {
        of.bits_a_column.map(|bits| format!("{bits:.1} bits in {} (padding included), ", words(of.format)))
    };
    let bits: String = formats.iter().filter_map(bits).collect();
    let names: Vec<String> = Features::QUANTILES.iter().map(|q| format!("{:.0} %", 100.0 * q)).collect();
    for (label, value) in [
        ("empty rows", grouped(f.empty_rows)),
        ("most frequent row length", grouped(f.row_mode)),
        ("deviation of row lengths", format!("{:.1}", f.row_std)),
        ("row lengths at quantiles", format!("{}   ({})", quantiles.join(" "), names.join(" "))),
        ("farthest from the diagonal", grouped(f.bandwidth)),
        ("distance of neighbours", distances(f)),
        ("entries of x found in cache", percent(f.x_reuse)),
        ("hyb", format!("{} wide, then {} in coo", grouped(f.hyb.width), counted(f.hyb.coo_nnz, "non-zero"))),
        ("a column index takes", format!("{bits}32 bits in csr")),
    ] {
        out.line(format_args!("  {label:<28} {value}"))?;
    }
    out.line("")?;
    Ok(())
}

/// Least and largest distance of neighbouring non-zeros of a row.
fn distances(f: &Features) -> String {
    let of = |l: &Locality| format!("{} to {}", grouped(l.min_distance), grouped(l.max_distance));
    f.locality.as_ref().map_or_else(String::new, of)
}

fn print_formats(answer: &InfoAnswer, device: &str, out: &Printer) -> Result<(), Failure> {
    let (bytes, on) = (format!("bytes, {}", answer.dtype), format!("~on {device}"));
    out.line(Table::of(
        &answer.formats,
        [
            ("<format", &|of| words(of.format)),
            (&bytes, &|of| cell_or("-", of.size.map(|size| size.bytes))),
            ("a non-zero", &|of| {
                cell_or(
                    "-",
                    of.size.and_then(|size| size.bytes_a_non_zero).map(|bytes| format!("{bytes:.1}")),
                )
            }),
            ("of csr", &|of| cell_or("-", of.size.map(|size| format!("{:.2}", size.of_csr)))),
            ("entries stored", &|of| cell_or("-", of.size.map(|size| grouped(size.stored)))),
            ("of non-zeros", &|of| cell_or("-", of.size.map(|size| format!("{:.2}", size.stored_of_nnz)))),
            (&on, &|of| {
                cell_or("possible", of.infeasible.as_ref().map(|why| format!("not possible: {why}")))
            }),
        ],
    ))
}
