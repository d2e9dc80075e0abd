//! A kernel of your own, checked and timed exactly as ours are, beside the best of ours on this CPU.
//!
//! `cargo run --release -p sparsight --example time_your_own_kernel`

use sparsight::bench::{Bench, bench};
use sparsight::device::timing::{StoppingRule, measure, wall_clock};
use sparsight::device::{cpu::Cpu, random_x};
use sparsight::kernels::catalogue;
use sparsight::matrix::{Csr, Dtype, Features, gallery::Recipe, reference};
use std::error::Error;

/// The kernel under test: one row after another on one core.
fn my_kernel(a: &Csr<f64>, x: &[f64], y: &mut [f64]) {
    for (row, y) in y.iter_mut().enumerate() {
        let (cols, values) = a.row(row);
        *y = cols.iter().zip(values).map(|(&col, value)| value * x[col as usize]).sum();
    }
}

#[allow(missing_docs)]
pub fn main() -> Result<(), Box<dyn Error>> {
    let a = "stencil2d,n=200".parse::<Recipe>()?.generate::<f64>()?;
    let x = random_x(a.ncols(), 1);
    let mut y = vec![f64::NAN; a.nrows()];

    my_kernel(&a, &x, &mut y);
    if let Some((row, got, expected, _)) = reference(&a, &x).first_wrong(&y) {
        return Err(format!("y[{row}] = {got}, expected {expected}").into());
    }
    let mine = measure(wall_clock(|| my_kernel(&a, &x, &mut y)), &StoppingRule::BRISK)?;

    let candidates: Vec<_> = catalogue(Dtype::F64).collect();
    let how = Bench { rule: StoppingRule::BRISK, ..Bench::default() };
    let ours = bench(&Cpu::new(), ("5-point", &a), &Features::of(&a), &candidates, &how, |_| Ok(()))?;
    let (best, time) = ours.best().ok_or("no candidate ran")?;
    println!("mine {} (spread {:.3}), best of ours {best}: {time}", mine.time, mine.spread);
    Ok(())
}
