//! Conjugate gradients with the format, kernel and block size that sparsight plans, and once more with the vendor's CSR.
//! On a GPU all vectors stay there; the host looks at the residual now and then. Without one it runs on the CPU.
//!
//! `cargo run --release -p sparsight --example conjugate_gradients -- gallery:stencil3d,n=150` (or a `.mtx` file), and
//! behind it the name or folder of another profile than the shipped one.
//!
//! The first run on a machine compiles the kernels, and its times show that.

use sparsight::device::cuda::{Argument, Cuda, CustomKernel, Shape};
use sparsight::device::gpu::DeviceArray;
use sparsight::device::{Device, cpu::Cpu};
use sparsight::matrix::{Csr, gallery::Recipe, io, reference};
use sparsight::{Advisor, Objective, Plan, Prepared, Profile};
use std::error::Error;
use std::path::Path;
use std::time::Instant;

/// |b - A x| / |b| at the end.
const TOLERANCE: f64 = 1e-8;
const MOST_ITERATIONS: u32 = 20_000;
/// Iterations from one look at the residual to the next.
const ITERATIONS_A_LOOK: u32 = 20;

/// A x = b, with x and everything else wherever the products are computed.
trait Solver {
    /// Some iterations; r.r after them.
    fn iterate(&mut self, count: u32) -> Result<f64, Box<dyn Error>>;
    fn x(&self) -> Result<Vec<f64>, Box<dyn Error>>;
}

struct OnCpu {
    a: Prepared<f64>,
    x: Vec<f64>,
    r: Vec<f64>,
    p: Vec<f64>,
    q: Vec<f64>,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl Solver for OnCpu {
    fn iterate(&mut self, count: u32) -> Result<f64, Box<dyn Error>> {
        let Self { a, x, r, p, q } = self;
        let mut rr = dot(r, r);
        for _ in 0..count {
            a.multiply(p, q)?;
            let pq = dot(p, q);
            let alpha = if pq > 0.0 { rr / pq } else { 0.0 };
            x.iter_mut().zip(&*p).for_each(|(x, p)| *x += alpha * p);
            r.iter_mut().zip(&*q).for_each(|(r, q)| *r -= alpha * q);
            let before = std::mem::replace(&mut rr, dot(r, r));
            let beta = if before > 0.0 { rr / before } else { 0.0 };
            p.iter_mut().zip(&*r).for_each(|(p, r)| *p = r + beta * *p);
        }
        Ok(rr)
    }

    fn x(&self) -> Result<Vec<f64>, Box<dyn Error>> {
        Ok(self.x.clone())
    }
}

/// The steps between products. s holds r.r, p.q and the next r.r, so that the host need not know them.
const STEPS: &str = r#"
typedef unsigned long long u64;
#define FOR_EACH(i) for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)

static __device__ void add_up(double* sum, double mine)
{
    __shared__ double of_warp[8];
    for (int distance = 16; distance > 0; distance /= 2) mine += __shfl_down_sync(0xffffffffu, mine, distance);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < 8; ++warp) mine += of_warp[warp];
        atomicAdd(sum, mine);
    }
}

extern "C" __global__ void dot_pq(u64 n, const double* p, const double* q, double* s)
{
    double sum = 0;
    FOR_EACH(i) sum += p[i] * q[i];
    add_up(s + 1, sum);
}

extern "C" __global__ void step(u64 n, const double* p, const double* q, double* x, double* r, double* s)
{
    const double alpha = s[1] > 0 ? s[0] / s[1] : 0;
    double sum = 0;
    FOR_EACH(i) {
        x[i] += alpha * p[i];
        r[i] -= alpha * q[i];
        sum += r[i] * r[i];
    }
    add_up(s + 2, sum);
}

extern "C" __global__ void turn(u64 n, const double* r, double* p, const double* s)
{
    const double beta = s[0] > 0 ? s[2] / s[0] : 0;
    FOR_EACH(i) p[i] = r[i] + beta * p[i];
}

extern "C" __global__ void next(double* s)
{
    s[0] = s[2];
    s[1] = s[2] = 0;
}
"#;

/// The compiled [`STEPS`], for any number of systems.
struct Steps<'d> {
    gpu: &'d Cuda,
    dot_pq: CustomKernel,
    step: CustomKernel,
    turn: CustomKernel,
    next: CustomKernel,
}

impl<'d> Steps<'d> {
    fn compile(gpu: &'d Cuda) -> Result<Self, Box<dyn Error>> {
        let kernel = |name| gpu.compile_and_load(STEPS, name, &[]);
        let (dot_pq, step) = (kernel("dot_pq")?, kernel("step")?);
        Ok(Self { gpu, dot_pq, step, turn: kernel("turn")?, next: kernel("next")? })
    }
}

struct OnGpu<'d> {
    steps: &'d Steps<'d>,
    a: Prepared<f64>,
    x: DeviceArray<f64>,
    r: DeviceArray<f64>,
    p: DeviceArray<f64>,
    q: DeviceArray<f64>,
    s: DeviceArray<f64>,
}

impl Solver for OnGpu<'_> {
    fn iterate(&mut self, count: u32) -> Result<f64, Box<dyn Error>> {
        let gpu = self.steps.gpu;
        let n = self.x.len() as u64;
        let blocks = n.div_ceil(256).clamp(1, u64::from(gpu.facts().multiprocessors) * 8) as u32;
        let many = Shape { grid: (blocks, 1, 1), block: (256, 1, 1), shared_bytes: 0 };
        let one = Shape { grid: (1, 1, 1), block: (1, 1, 1), ..many };
        for _ in 0..count {
            self.a.multiply_on_device(self.p.as_slice(), self.q.as_mut_slice(), None)?;
            let [x, r, p, q, s] = [&self.x, &self.r, &self.p, &self.q, &self.s].map(|v| Argument::Array(v));
            let n = Argument::U64(n);
            // SAFETY: these are the kernels' parameters; vectors have n entries and s has 3; blocks have 8 warps. All of
            // it runs in one stream, and the arrays live as long as the solver.
            unsafe {
                self.steps.dot_pq.queue(many, &[n, p, q, s], gpu.stream())?;
                self.steps.step.queue(many, &[n, p, q, x, r, s], gpu.stream())?;
                self.steps.turn.queue(many, &[n, r, p, s], gpu.stream())?;
                self.steps.next.queue(one, &[s], gpu.stream())?;
            }
        }
        // The only wait.
        Ok(self.s.read()?[0])
    }

    fn x(&self) -> Result<Vec<f64>, Box<dyn Error>> {
        Ok(self.x.read()?)
    }
}

/// Solves A x = b from x = 0 and says what it took, `start` being before the matrix was prepared.
fn solve(
    name: &str,
    start: Instant,
    mut solver: impl Solver,
    a: &Csr<f64>,
    b: &[f64],
) -> Result<(), Box<dyn Error>> {
    let prepared = start.elapsed();
    let enough = TOLERANCE * TOLERANCE * dot(b, b);
    let mut iterations = 0;
    let mut rr = f64::INFINITY;
    while rr > enough && iterations < MOST_ITERATIONS {
        rr = solver.iterate(ITERATIONS_A_LOOK)?;
        iterations += ITERATIONS_A_LOOK;
        if !rr.is_finite() {
            return Err(format!("r.r = {rr}: is the matrix symmetric and positive definite?").into());
        }
    }
    let whole = start.elapsed();
    let ax = reference(a, &solver.x()?).y;
    let rest: Vec<f64> = b.iter().zip(ax).map(|(b, ax)| b - ax).collect();
    let residual = (dot(&rest, &rest) / dot(b, b)).sqrt();
    println!(
        "{name}: {iterations} iterations, residual {residual:.1e}, {:.2} ms with {:.2} ms of preparation",
        1e3 * whole.as_secs_f64(),
        1e3 * prepared.as_secs_f64(),
    );
    // What is computed by recurrence drifts from b - A x a little.
    if residual <= 10.0 * TOLERANCE { Ok(()) } else { Err("no solution".into()) }
}

/// The named matrix, else one of the gallery's.
fn matrix(otherwise: &str) -> Result<Csr<f64>, Box<dyn Error>> {
    let path = std::env::args().nth(1).filter(|a| a.contains('.') || a.starts_with("gallery:"));
    let path = path.unwrap_or_else(|| otherwise.to_owned());
    Ok(if path.starts_with("gallery:") {
        path.parse::<Recipe>()?.generate()?
    } else {
        io::read(Path::new(&path), &io::ReadOptions::default())?.matrix
    })
}

/// Solves with what is planned for `a`, then with the vendor's product; `place` puts a system to be solved on `device`.
fn compare<S: Solver>(
    device: &dyn Device<f64>,
    a: &Csr<f64>,
    place: impl Fn(Prepared<f64>, &[f64]) -> Result<S, Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let named = std::env::args().nth(2).filter(|name| !name.starts_with('-'));
    let objective = Objective { products: Some(1000), ..Objective::default() };
    let planned = if device.facts().kind.is_gpu() {
        let profile = Profile::find(&named.unwrap_or_else(|| "nvidia-h200".to_owned()))?;
        Advisor::new(&profile).plan(a, &objective)?
    } else {
        Plan::for_processor(device.facts(), a, &objective)?
    };
    let vendors = Plan::whole(a.nrows(), "cusparse-csr/a1/f64".parse()?, None);
    let b = vec![1.0; a.nrows()];
    for plan in [planned, vendors] {
        let start = Instant::now();
        match plan.prepare(device, a) {
            Ok(prepared) => solve(&plan.to_string(), start, place(prepared, &b)?, a, &b)?,
            Err(error) => println!("{plan}: not here: {error}"),
        }
    }
    Ok(())
}

fn on_gpu(gpu: &Cuda) -> Result<(), Box<dyn Error>> {
    let steps = &Steps::compile(gpu)?;
    compare(gpu, &matrix("gallery:stencil3d,n=150")?, |a, b| {
        let zeros = vec![0.0; b.len()];
        let (x, q) = (gpu.upload(&zeros)?, gpu.upload(&zeros)?);
        let (r, p, s) = (gpu.upload(b)?, gpu.upload(b)?, gpu.upload(&[dot(b, b), 0.0, 0.0])?);
        Ok(OnGpu { steps, a, x, r, p, q, s })
    })
}

fn on_cpu(cpu: &Cpu) -> Result<(), Box<dyn Error>> {
    compare(cpu, &matrix("gallery:stencil2d,n=100")?, |a, b| {
        let zeros = vec![0.0; b.len()];
        Ok(OnCpu { a, x: zeros.clone(), r: b.to_vec(), p: b.to_vec(), q: zeros })
    })
}

#[allow(missing_docs)]
pub fn main() -> Result<(), Box<dyn Error>> {
    match Cuda::open(0) {
        Ok(gpu) => on_gpu(&gpu),
        Err(error) => {
            println!("on the CPU, since there is no GPU: {error}");
            on_cpu(&Cpu::new())
        }
    }
}
