//! `sparsight info`: a matrix' structure and its size in every format.

use crate::context::Context;
use crate::device_choice::ProfileFlags;
use crate::failure::{Exit, Failure};
use crate::json::Document;
use crate::matrix_source::MatrixSource;
use crate::printer::BOLD;
use crate::table::Table;
use crate::text::{counted, grouped, percent, shape};
use serde::Serialize;
use sparsight::kernels::{Candidate, Format, catalogue, device_bytes, feasible};
use sparsight::matrix::{Bytes, Dtype, Features, Limits};

/// A matrix' structure, its size in each format, and which formats cannot hold it
#[derive(Debug, clap::Args)]
pub(crate) struct Info {
    /// Matrices: files, folders or gallery:NAME[,key=value...]
    #[arg(required = true)]
    paths: Vec<String>,
    #[command(flatten)]
    profile: ProfileFlags,
}

#[derive(Serialize)]
struct InfoJson {
    dtype: Dtype,
    matrices: Vec<MatrixInfoJson>,
}

#[derive(Serialize)]
struct MatrixInfoJson {
    name: String,
    features: Features,
    formats: Vec<FormatJson>,
}

#[derive(Serialize)]
struct FormatJson {
    format: Format,
    bytes: Bytes,
    /// Stored bytes over those of CSR.
    of_csr: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    infeasible: Option<String>,
}

impl Info {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let dtype = context.dtype();
        let sources = MatrixSource::batch(&self.paths)?;
        let profile = self.profile.resolve(context, dtype)?;
        let limits = Limits::with_memory(profile.device.facts.memory_bytes);
        let mut matrices = Vec::new();
        for (index, source) in sources.iter().enumerate() {
            let features = match dtype {
                Dtype::F32 => Features::of(&source.load::<f32>(context)?),
                Dtype::F64 => Features::of(&source.load::<f64>(context)?),
            };
            let formats = formats(&features, dtype, &limits);
            let info = MatrixInfoJson { name: source.title(), features, formats };
            if context.printer.is_json() {
                matrices.push(info);
                continue;
            }
            if index > 0 {
                context.printer.line("")?;
            }
            print(&info, dtype, &profile.device.facts.name, context)?;
        }
        if context.printer.is_json() {
            context.printer.object(&Document::new("sparsight/info/1", InfoJson { dtype, matrices }))?;
        }
        Ok(Exit::Done)
    }
}

fn formats(features: &Features, dtype: Dtype, limits: &Limits) -> Vec<FormatJson> {
    let mut representatives: Vec<Candidate> = catalogue(dtype).collect();
    representatives.dedup_by_key(|c| c.format());
    let csr = representatives.first().map_or(Bytes(0), |c| device_bytes(c, features));
    let of = |c: &Candidate| {
        let bytes = device_bytes(c, features);
        FormatJson {
            format: c.format(),
            bytes,
            of_csr: bytes.0 as f64 / csr.0.max(1) as f64,
            infeasible: feasible(c, features, limits).err().map(|why| why.to_string()),
        }
    };
    representatives.iter().map(of).collect()
}

fn print(info: &MatrixInfoJson, dtype: Dtype, device: &str, context: &Context) -> Result<(), Failure> {
    let (out, f) = (context.printer, &info.features);
    out.line(format_args!("{BOLD}{}{BOLD:#}   {}", info.name, shape(f)))?;
    out.line("")?;
    let quantiles: Vec<String> = f.row_quantiles.iter().map(|q| grouped(*q)).collect();
    let names: Vec<String> = Features::QUANTILES.iter().map(|q| format!("{:.0} %", 100.0 * q)).collect();
    for (label, value) in [
        ("empty rows", grouped(f.empty_rows)),
        ("most frequent row length", grouped(f.row_mode)),
        ("deviation of row lengths", format!("{:.1}", f.row_std)),
        ("row lengths at quantiles", format!("{}   ({})", quantiles.join(" "), names.join(" "))),
        ("farthest from the diagonal", grouped(f.bandwidth)),
        ("entries of x found in cache", percent(f.x_reuse)),
        ("hyb", format!("{} wide, then {} in coo", grouped(f.hyb.width), counted(f.hyb.coo_nnz, "non-zero"))),
    ] {
        out.line(format_args!("  {label:<28} {value}"))?;
    }
    out.line("")?;
    let mut table = Table::new(&["<format", &format!("bytes, {dtype}"), "of csr", &format!("<on {device}")]);
    for format in &info.formats {
        table.row([
            format.format.to_string(),
            format.bytes.to_string(),
            format!("{:.2}", format.of_csr),
            format
                .infeasible
                .as_ref()
                .map_or_else(|| "possible".to_owned(), |why| format!("not possible: {why}")),
        ]);
    }
    out.line(table)
}
