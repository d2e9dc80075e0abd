//! What a partition costs on the host: `cargo bench -p sparsight --bench partition`.
//!
//! For each matrix and model the time of a plan in 1,500 strips (48 for learned models), without what the features of the
//! whole and of the strips take, which stands beside it. Formats as in the paper: CSR, ELL, COO and HYB, with all their
//! kernels and block sizes; `-- --all` for the whole catalogue.
//!
//! The aim is 50 ms for `strip`, sequential, on two cores.

use sparsight::device::timing::{StoppingRule, measure, wall_clock};
use sparsight::kernels::{Candidate, Execution, Format, catalogue};
use sparsight::matrix::gallery::Recipe;
use sparsight::matrix::{Csr, Dtype, Features, Seconds, StripDetail, Strips};
use sparsight::models::ModelName;
use sparsight::partition::PartitionObjective;
use sparsight::{Advisor, Profile};
use std::error::Error;
use std::hint::black_box;
use std::num::NonZeroUsize;

/// About a million rows: alike, of a few lengths, and of very many.
const MATRICES: [&str; 4] =
    ["stencil2d,n=1000", "fem,n=70,unknowns=3", "kkt,n=900000,m=100000", "power-law,n=1000000,degree=3"];

fn main() -> Result<(), Box<dyn Error>> {
    let all = std::env::args().any(|argument| argument == "--all");
    let papers = [Format::csr(), Format::known("ell"), Format::known("coo"), Format::known("hyb")];
    let candidates: Vec<Candidate> =
        catalogue(Dtype::F64).filter(|c| all || papers.contains(&c.format())).collect();
    let profile = Profile::shipped("nvidia-h200")?;
    println!("{} candidates", candidates.len());
    println!(
        "{:<30} {:<12} {:>6} {:>10} {:>10} {:>10}",
        "matrix", "model", "strips", "features", "sequential", "both"
    );
    for text in MATRICES {
        let a = text.parse::<Recipe>()?.generate::<f64>()?;
        for model in [ModelName::Strip, ModelName::StripCache, ModelName::Best] {
            let (strips, detail) =
                if model.is_learned() { (48, StripDetail::All) } else { (1500, StripDetail::RowLengths) };
            let objective = |executions: &[Execution]| PartitionObjective {
                model: Some(model),
                strips: NonZeroUsize::new(strips),
                executions: executions.to_vec(),
                ..PartitionObjective::default()
            };
            let advisor = Advisor::new(&profile);
            let plan = |executions: &[Execution]| advisor.partition(&a, &candidates, &objective(executions));
            let found = plan(&[Execution::Sequential])?;
            let features = time(|| drop(black_box(features(&a, found.rows_per_strip as usize, detail))))?;
            let of = |executions: &[Execution]| {
                let whole = time(|| drop(black_box(plan(executions))))?;
                Ok::<_, Box<dyn Error>>(Seconds(whole.0 - features.0))
            };
            let (sequential, both) = (of(&[Execution::Sequential])?, of(&Execution::ALL)?);
            let columns =
                [features, sequential, both].map(|time| format!("{:>10}", time.to_string())).join(" ");
            println!("{text:<30} {:<12} {:>6} {columns}", model.to_string(), found.strips);
        }
    }
    Ok(())
}

/// What a plan needs to know of the matrix.
fn features(a: &Csr<f64>, rows_per_strip: usize, detail: StripDetail) -> (Features, Strips) {
    (Features::of(a), Strips::of(a, rows_per_strip, detail))
}

fn time(work: impl FnMut()) -> Result<Seconds, Box<dyn Error>> {
    Ok(measure(wall_clock(work), &StoppingRule::BRISK)?.time)
}
