//! `sparsight info`: a matrix' structure and its size in every format.

use crate::context::Context;
use crate::device_choice::ProfileFlags;
use crate::failure::{Exit, Failure};
use crate::json::{Document, MatrixJson};
use crate::matrix_source::MatrixSource;
use crate::printer::BOLD;
use crate::table::Table;
use crate::text::{counted, grouped, percent, shape};
use serde::Serialize;
use sparsight::kernels::{Candidate, Format, catalogue, device_bytes, feasible, stored_entries};
use sparsight::matrix::{Bytes, Dtype, Features, Limits, Locality};

/// A matrix' structure, its size in each format, and which formats cannot hold it
#[derive(Debug, clap::Args)]
pub(crate) struct Info {
    /// The matrix: a file or gallery:NAME[,key=value...]
    path: String,
    #[command(flatten)]
    profile: ProfileFlags,
}

#[derive(Serialize)]
struct InfoJson {
    matrix: MatrixJson,
    dtype: Dtype,
    features: Features,
    formats: Vec<FormatJson>,
}

#[derive(Serialize)]
struct FormatJson {
    format: Format,
    bytes: Bytes,
    /// Stored bytes over those of CSR.
    of_csr: f64,
    /// Entries stored, padding included.
    stored: u64,
    /// Of which there are so many for each non-zero.
    stored_of_nnz: f64,
    /// Bits that hold one column index, where indices are compressed.
    #[serde(skip_serializing_if = "Option::is_none")]
    bits_a_column: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    infeasible: Option<String>,
}

impl Info {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let dtype = context.dtype();
        let source = MatrixSource::named(&self.path)?;
        let device = self.profile.facts(context)?;
        let features = match dtype {
            Dtype::F32 => Features::of(&source.load::<f32>(context)?),
            Dtype::F64 => Features::of(&source.load::<f64>(context)?),
        };
        let formats = formats(&features, dtype, &Limits::with_memory(device.memory_bytes));
        if context.printer.is_json() {
            let matrix = MatrixJson::new(source.title(), &features);
            let body = InfoJson { matrix, dtype, features, formats };
            context.printer.object(&Document::new("sparsight/info/1", body))?;
        } else {
            print(&source.title(), &features, context)?;
            print_formats(&formats, dtype, &device.name, context)?;
        }
        Ok(Exit::Done)
    }
}

fn formats(features: &Features, dtype: Dtype, limits: &Limits) -> Vec<FormatJson> {
    // The vendor's routines read formats of ours.
    let mut representatives: Vec<Candidate> = catalogue(dtype).filter(|c| !c.kernel.is_vendors()).collect();
    representatives.dedup_by_key(|c| c.format());
    let csr = representatives.first().map_or(Bytes(0), |c| device_bytes(c, features));
    let of = |c: &Candidate| {
        let (bytes, stored) = (device_bytes(c, features), stored_entries(c.format(), features));
        FormatJson {
            format: c.format(),
            bytes,
            of_csr: bytes.0 as f64 / csr.0.max(1) as f64,
            stored,
            stored_of_nnz: if features.nnz == 0 { 1.0 } else { stored as f64 / features.nnz as f64 },
            bits_a_column: bits_a_column(c.format(), features),
            infeasible: feasible(c, features, limits).err().map(|why| why.to_string()),
        }
    };
    representatives.iter().map(of).collect()
}

/// Bits a column index of a format that compresses them.
fn bits_a_column(format: Format, f: &Features) -> Option<f64> {
    format.bits_per_column(f)
}

fn print(title: &str, f: &Features, context: &Context) -> Result<(), Failure> {
    let out = &context.printer;
    out.line(format_args!("{BOLD}{title}{BOLD:#}   {}", shape(f)))?;
    out.line("")?;
    let quantiles: Vec<String> = f.row_quantiles.iter().map(|q| grouped(*q)).collect();
    let bits = |format| bits_a_column(format, f).map(|bits| format!("{bits:.1} in {format}, "));
    let bits: String = Format::all().filter_map(bits).collect();
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
        ("bits of a column index", format!("{bits}32 in csr")),
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

fn print_formats(
    formats: &[FormatJson],
    dtype: Dtype,
    device: &str,
    context: &Context,
) -> Result<(), Failure> {
    let (bytes, on) = (format!("bytes, {dtype}"), format!("~on {device}"));
    let mut table = Table::new(&["<format", &bytes, "of csr", "entries stored", "of non-zeros", &on]);
    for format in formats {
        table.row([
            format.format.to_string(),
            format.bytes.to_string(),
            format!("{:.2}", format.of_csr),
            grouped(format.stored),
            format!("{:.2}", format.stored_of_nnz),
            format
                .infeasible
                .as_ref()
                .map_or_else(|| "possible".to_owned(), |why| format!("not possible: {why}")),
        ]);
    }
    context.printer.line(table)
}
