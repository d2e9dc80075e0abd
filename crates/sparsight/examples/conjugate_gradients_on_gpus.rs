//! Conjugate gradients on several GPUs of this machine: vectors stay there, products exchange what they need of each other, dot
//! products are added up over all of them.
//!
//! In one process, or, where torchrun, mpirun or srun starts one process a GPU, in all of them.
//!
//! `cargo run --release -p sparsight --example conjugate_gradients_on_gpus -- gallery:stencil3d,n=300 2 links.json`: a matrix, which
//! has to be symmetric and positive definite, a number of GPUs, and their links (`sparsight lab profile --links -o DIR`).

use sparsight::device::DeviceError;
use sparsight::device::cuda::{Cuda, Nccl, Ranks};
use sparsight::device::gpu::{DeviceArray, GpuShare};
use sparsight::distributed::{Deal, Distributed};
use sparsight::matrix::{Csr, Seconds, gallery::Recipe, io};
use sparsight::model::Links;
use sparsight::profile::KnownLinks;
use sparsight::{Advisor, Objective, Profile};
use std::error::Error;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

/// |b - A x| / |b| at the end.
const TOLERANCE: f64 = 1e-8;
const MOST_ITERATIONS: u32 = 20_000;
/// How long a process waits for the others.
const LIMIT: Duration = Duration::from_secs(60);

/// Entries of vectors that an iteration reads and writes for each row beside its product: dot products of p and q (2) and of r with
/// itself (1), and three combinations (3 each).
const VECTOR_ENTRIES: f64 = 12.0;

/// What an iteration is predicted to take: its product; vectors at the rate of large copies; on several GPUs two sums over all of them,
/// each as long as an exchange of a few bytes. What the host waits for after a dot product is not part of it.
fn predicted_iteration(distributed: &Distributed<f64>, profile: &Profile, links: &Links) -> Seconds {
    let rows = distributed.shares.iter().map(|share| share.rows().len()).max().unwrap_or(0);
    let vectors = VECTOR_ENTRIES * 8.0 * rows as f64 / profile.device.facts.copy_bytes_per_s;
    let farthest = links.network.filter(|_| distributed.shares.len() > links.gpus_per_host);
    let is_alone = distributed.shares.len() == 1;
    let sums = if is_alone { 0.0 } else { 2.0 * farthest.unwrap_or(links.host).latency_s.0 };
    Seconds(distributed.plan.time.0 + vectors + sums)
}

/// What one rank has to say at the end.
#[derive(Debug, Clone, Copy)]
struct Solved {
    iterations: u32,
    seconds: f64,
    /// |b - A x| / |b|, recomputed.
    residual: f64,
}

/// A x = b with b = A (1, ..., 1), from x = 0. Every rank runs this; numbers that decide are the same on all.
fn solve(share: &mut GpuShare<f64>) -> Result<Solved, DeviceError> {
    let (rows, width) = (share.rows(), share.width());
    let vector = |len: usize| share.zeroed(len);
    let (mut x, mut r, mut q, mut b) = (vector(width)?, vector(rows)?, vector(rows)?, vector(rows)?);
    let mut p: DeviceArray<f64> = vector(width)?;
    p.write(&vec![1.0; width])?;
    share.multiply(1.0, &mut p, 0.0, &mut b)?;
    share.combine(1.0, &b, 0.0, &mut r)?;
    share.combine(1.0, &b, 0.0, &mut p)?;
    let bb = share.dot(&b, &b)?;
    let (mut rr, mut iterations) = (bb, 0);
    let start = Instant::now();
    while rr > TOLERANCE * TOLERANCE * bb && iterations < MOST_ITERATIONS {
        share.multiply(1.0, &mut p, 0.0, &mut q)?;
        let alpha = rr / share.dot(&p, &q)?;
        share.combine(alpha, &p, 1.0, &mut x)?;
        share.combine(-alpha, &q, 1.0, &mut r)?;
        let before = std::mem::replace(&mut rr, share.dot(&r, &r)?);
        share.combine(1.0, &r, rr / before, &mut p)?;
        iterations += 1;
    }
    let seconds = start.elapsed().as_secs_f64();
    share.multiply(-1.0, &mut x, 1.0, &mut b)?;
    let residual = (share.dot(&b, &b)? / bb).sqrt();
    Ok(Solved { iterations, seconds, residual })
}

/// Numbers of the GPUs of this process.
fn own(count: usize, ranks: Option<&Ranks>) -> Result<Range<usize>, DeviceError> {
    let Some(ranks) = ranks else { return Ok(0..count) };
    // Launchers may show each rank its own GPU alone.
    let gpu = ranks.gpu(Cuda::count()?)?;
    Ok(gpu..gpu + 1)
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [matrix, gpus, links] = args.as_slice() else {
        return Err("give a matrix, a number of GPUs and a links.json".into());
    };
    let a: Csr<f64> = match matrix.strip_prefix("gallery:") {
        Some(recipe) => recipe.parse::<Recipe>()?.generate()?,
        None => io::read(Path::new(matrix), &io::ReadOptions::default())?.matrix,
    };
    println!("{matrix}: {} rows, {} non-zeros", a.nrows(), a.nnz());
    // One process a GPU, as torchrun, mpirun and srun start them.
    let ranks = Ranks::from_environment()?;
    let count: usize = gpus.parse()?;
    if let Some(ranks) = ranks.as_ref().filter(|ranks| ranks.ranks != count) {
        return Err(format!("{} processes for {count} GPUs", ranks.ranks).into());
    }
    let gpus: Vec<Cuda> =
        own(count, ranks.as_ref())?.map(Cuda::open_without_rates).collect::<Result<_, _>>()?;
    let name = &gpus.first().ok_or("no GPU")?.facts().name;
    let profile = Profile::shipped_for_gpu(name)?.ok_or("a GPU without a profile")?;
    let known = KnownLinks::read(Path::new(links))?;
    let advisor = Advisor::new(&profile);
    let distributed = advisor.distribute(&a, count, &Deal::InOrder, &known.links, &Objective::default())?;
    println!("{count} x {name}: {} a product predicted", distributed.plan.time);
    let solved = if let Some(ranks) = &ranks {
        // Each has planned by itself: that all have planned the same is seen where they meet.
        let identity = ranks.identity(&distributed.digest(name), LIMIT)?;
        let link = Nccl::join(&gpus[0], &identity, ranks.rank, ranks.ranks, LIMIT)?;
        vec![solve(&mut distributed.prepare_rank(gpus[0].as_gpu(), link)?)?]
    } else {
        let devices: Vec<_> = gpus.iter().map(|gpu| gpu.as_gpu().clone()).collect();
        let mut product = distributed.prepare((a.nrows(), a.ncols()), &devices, Nccl::link(&gpus)?)?;
        product.each(|share, _, _| solve(share))?
    };
    let first = solved[0];
    assert!(solved.iter().all(|one| one.iterations == first.iterations), "{solved:?}");
    let seconds = solved.iter().map(|one| one.seconds).fold(0.0, f64::max);
    let iterations = f64::from(first.iterations);
    println!(
        "{} iterations in {:.3} s, {:.1} us each; predicted are {:.1} us, {:.1} of them for the product; |b - A x| / |b| = {:.1e}",
        first.iterations,
        seconds,
        1e6 * seconds / iterations,
        1e6 * predicted_iteration(&distributed, &profile, &known.links).0,
        1e6 * distributed.plan.time.0,
        first.residual
    );
    if first.residual <= 2.0 * TOLERANCE { Ok(()) } else { Err("it did not converge".into()) }
}
