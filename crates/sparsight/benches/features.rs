//! What the features of a matrix cost, in products y = A x with a row a thread on this CPU:
//! `cargo bench -p sparsight --bench features`. Both use all cores.
//!
//! The aim is 1.5 products; what is reached: docs/results/host.md.

use sparsight::bench::{Bench, bench};
use sparsight::device::cpu::Cpu;
use sparsight::device::timing::{StoppingRule, measure, wall_clock};
use sparsight::kernels::{Candidate, Kernel, catalogue};
use sparsight::matrix::{Csr, Features, Scalar, Seconds, gallery::Recipe};
use std::error::Error;
use std::hint::black_box;

/// Matrices of about 10 million non-zeros: short rows, long rows, columns near and scattered, rows alike and not.
const MATRICES: [&str; 8] = [
    "stencil2d,points=5,n=1500",
    "stencil3d,points=27,n=75",
    "fem,n=50,unknowns=3",
    "random,rows=1000000,cols=1000000,row=10",
    "power-law,n=1000000,degree=10",
    "rmat,scale=19,degree=16",
    "dense,rows=3200,cols=3200",
    "long-rows,n=2000000,long=20,length=100000",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("{:<44} {:>10} {:>10} {:>8} {:>8}", "matrix", "non-zeros", "features", "f64", "f32");
    for text in MATRICES {
        let a = text.parse::<Recipe>()?.generate::<f64>()?;
        let pass = measure(
            wall_clock(|| {
                black_box(Features::of(&a));
            }),
            &StoppingRule::CAREFUL,
        )?
        .time;
        let single = a.to_dtype::<f32>();
        let over = |product: Seconds| pass.0 / product.0;
        let (double, single) = (over(product(&a)?), over(product(&single)?));
        println!("{text:<44} {:>10} {:>10} {double:>8.2} {single:>8.2}", a.nnz(), pass.to_string());
    }
    Ok(())
}

/// y = A x by rows, the fastest of its block sizes.
fn product<T: Scalar>(a: &Csr<T>) -> Result<Seconds, Box<dyn Error>>
where
    Cpu: sparsight::device::Device<T>,
{
    let by_rows: Vec<Candidate> =
        catalogue(T::DTYPE).filter(|c| c.kernel == Kernel::known("csr-scalar")).collect();
    let how = Bench { rule: StoppingRule::CAREFUL, ..Bench::default() };
    let record = bench(&Cpu::new(), ("a", a), &Features::of(a), &by_rows, &how, |_| Ok(()))?;
    Ok(record.best().ok_or("no candidate ran")?.1)
}
