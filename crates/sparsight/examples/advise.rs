//! Which format, kernel and block size for a matrix, on a GPU that is not here.
//!
//! `cargo run --release -p sparsight --example advise -- gallery:fem` (or a `.mtx` file)

use sparsight::matrix::{Dtype, Features, gallery::Recipe, io};
use sparsight::{Advisor, Objective, Profile};
use std::error::Error;
use std::path::Path;

#[allow(missing_docs)]
pub fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).filter(|a| a.contains('.') || a.starts_with("gallery:"));
    let path = path.unwrap_or_else(|| "gallery:stencil2d".to_owned());
    let a = if path.starts_with("gallery:") {
        path.parse::<Recipe>()?.generate::<f64>()?
    } else {
        io::read::<f64>(Path::new(&path), &io::ReadOptions::default())?.matrix
    };

    let profile = Profile::shipped("nvidia-h200")?;
    let advice = Advisor::new(&profile).advise(&Features::of(&a), Dtype::F64, &Objective::default())?;
    for advised in advice.ranked.iter().take(5) {
        let p = &advised.prediction;
        println!("{:<24} {} ({} to {})", advised.candidate.to_string(), p.time, p.low, p.high);
    }
    for refused in &advice.refused {
        println!("{:<24} not possible: {}", refused.candidate.to_string(), refused.why);
    }
    Ok(())
}
