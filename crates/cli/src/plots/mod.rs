//! The figures of `lab evaluate --plots`: what the library counted, drawn as SVG.
//!
//! ```text
//! Evaluation, benchmark records -> scatter, fits, choices: a Chart each (plain data) -> Chart::svg -> files
//! ```

mod chart;
mod choices;
mod fits;
mod scatter;

use crate::failure::Failure;
use crate::output_file;
use sparsight::Profile;
use sparsight::kernels::Kernel;
use sparsight::matrix::Dtype;
use sparsight::records::BenchmarkRecord;
use sparsight_lab::evaluate::Evaluation;
use std::fs;
use std::path::{Path, PathBuf};

use chart::Chart;

/// A figure with the name of its file.
#[derive(Debug)]
pub(crate) struct Plot {
    /// Name without extension; the same for the same content.
    name: String,
    chart: Chart,
}

/// Every figure that the evaluation and the benchmark matrices give.
pub(crate) fn all(
    profile: &Profile,
    evaluation: &Evaluation,
    benchmark: &[BenchmarkRecord],
    dtypes: &[Dtype],
) -> Result<Vec<Plot>, Failure> {
    let mut plots = scatter::plots(profile, evaluation);
    plots.extend(fits::plots(profile, benchmark, dtypes)?);
    plots.extend(choices::plots(profile, evaluation));
    Ok(plots)
}

/// Writes each as `NAME.svg` into `folder`, which is made if it is not there; the files' paths.
pub(crate) fn write(folder: &Path, plots: &[Plot]) -> Result<Vec<PathBuf>, Failure> {
    fs::create_dir_all(folder).map_err(|error| {
        let hint = "--plots takes a folder that can be made and written to";
        Failure::input(format!("{}: {error}", folder.display())).hinted(hint)
    })?;
    let write = |plot: &Plot| {
        let path = folder.join(&plot.name).with_extension("svg");
        output_file::write(&path, plot.chart.svg().as_bytes())?;
        Ok(path)
    };
    plots.iter().map(write).collect()
}

/// `csr-vector/t32` as a part of a file name: `csr-vector-t32`.
fn in_file_name(name: Kernel) -> String {
    name.to_string().replace('/', "-")
}
