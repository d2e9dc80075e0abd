//! What advice costs on a matrix of 50 million non-zeros: `cargo bench -p sparsight --bench advise`.
//!
//! Prints the time after reading (features and ranking), the peak of memory over the CSR, the time of one ranking
//! from features with each model, and the cost of the features in CPU products. A smaller matrix: `-- --n 60`; another
//! profile than the shipped one: `-- --profile FOLDER`.

use sparsight::bench::{Bench, bench};
use sparsight::device::cpu::Cpu;
use sparsight::device::timing::{StoppingRule, measure, wall_clock};
use sparsight::kernels::{Candidate, catalogue};
use sparsight::matrix::{Csr, Dtype, Features, Seconds, gallery::Recipe};
use sparsight::models::ModelName;
use sparsight::{Advisor, Objective, Profile};
use std::error::Error;
use std::fs;
use std::hint::black_box;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let given = |flag: &str| {
        let at = arguments.iter().position(|a| a == flag)?;
        arguments.get(at + 1).map(String::as_str)
    };
    let recipe = format!("stencil3d,points=27,n={}", given("--n").unwrap_or("123"));
    let a = recipe.parse::<Recipe>()?.generate::<f64>()?;
    let profile = Profile::find(given("--profile").unwrap_or("nvidia-h200"))?;
    let advisor = Advisor::new(&profile);
    let objective = Objective { products: Some(1000), ..Objective::default() };
    let csr_bytes = (8 * (a.nrows() + 1) + 12 * a.nnz()) as f64;
    println!("{recipe}: {} non-zeros, CSR {:.0} MB", a.nnz(), csr_bytes / 1e6);

    forget_peak();
    let before = peak_bytes();
    let advise =
        || advisor.advise(&Features::of(&a), Dtype::F64, &objective).map(|advice| advice.ranked.len());
    black_box(advise()?);
    if let (Some(before), Some(peak)) = (before, peak_bytes()) {
        let (all, added) = (peak / csr_bytes, (peak - before) / csr_bytes);
        println!("peak memory while advising: {all:.2} of the CSR, {added:.3} more than before");
    }
    let whole = time(|| drop(black_box(advise())))?;
    println!("advice after reading: {whole}");

    let features = Features::of(&a);
    for model in ModelName::all() {
        let objective = Objective { model: Some(model), ..objective };
        if let Err(lacking) = advisor.advise(&features, Dtype::F64, &objective) {
            println!("{lacking}");
            continue;
        }
        let ranking = time(|| drop(black_box(advisor.advise(&features, Dtype::F64, &objective))))?;
        println!("all {} candidates from features, {model}: {ranking}", catalogue(Dtype::F64).count());
    }

    let pass = time(|| {
        black_box(Features::of(&a));
    })?;
    let product = fastest_csr_product(&a, &features)?;
    println!("features: {pass}, {:.2} of the fastest CPU product in CSR ({product})", pass.0 / product.0);
    Ok(())
}

fn time(work: impl FnMut()) -> Result<Seconds, Box<dyn Error>> {
    Ok(measure(wall_clock(work), &StoppingRule::CAREFUL)?.time)
}

fn fastest_csr_product(a: &Csr<f64>, features: &Features) -> Result<Seconds, Box<dyn Error>> {
    let csr: Vec<Candidate> = catalogue(Dtype::F64).filter(|c| c.kernel.name().starts_with("csr")).collect();
    let how = Bench { rule: StoppingRule::BRISK, ..Bench::default() };
    let record = bench(&Cpu::new(), ("a", a), features, &csr, &how, |_| Ok(()))?;
    Ok(record.best().ok_or("no CSR candidate ran")?.1)
}

/// Sets the kernel's high-water mark of this process back to what it uses now (Linux; else nothing happens).
fn forget_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// High-water mark of resident memory, `None` where the system does not tell.
fn peak_bytes() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kb| kb * 1024.0)
}
