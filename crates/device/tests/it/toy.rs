//! A kernel family outside of the catalogue: this file alone describes it, as the file of a new family would.

use sparsight_kernels::{CpuProducts, CpuTask, Family, Kernel, LaunchStep, Recipe, Run, Teams};
use sparsight_matrix::{Csr, Scalar};
use std::any::Any;

/// Two threads per row of CSR, one from its front and one from its back, which meet in shared memory.
static FAMILY: Family = Family {
    name: "toy",
    summary: "two threads per row of CSR, from both ends",
    run: |_| Run::Launches(&RECIPE),
    cpu: Some(CpuProducts { f32: product, f64: product }),
    threads_per_row: |_| Some(2),
    warp_work: |_, _, _| None,
    thread_blocks: |_, block, f| 2.0 * f.nrows as f64 / f64::from(block),
    ..Family::BASE
};

static RECIPE: Recipe = Recipe {
    sources: &[SOURCE],
    definitions: |_| Vec::new(),
    reads_offsets: true,
    steps: &[LaunchStep {
        entry: "toy",
        part: "",
        teams: |number, _, _| Teams { count: number("nrows"), threads: 2 },
        may_overlap: false,
    }],
    shared_bytes: |_, dtype| 1024 * dtype.bytes(),
    is_exclusive: false,
};

const SOURCE: &str = r#"
extern "C" __global__ void __launch_bounds__(BLOCK)
toy(unsigned long long first_row, unsigned long long nrows,
    const OFFSET* __restrict__ row_ptr, const unsigned int* __restrict__ col_idx,
    const VALUE* __restrict__ values, const VALUE* __restrict__ x, VALUE* __restrict__ y,
    double alpha, double beta)
{
    __shared__ VALUE halves[BLOCK];
    const unsigned long long row = first_row + ((unsigned long long)blockIdx.x * BLOCK + threadIdx.x) / 2;
    const bool is_back = threadIdx.x % 2;
    VALUE sum = 0;
    if (row < nrows) {
        const OFFSET start = row_ptr[row], end = row_ptr[row + 1], middle = start + (end - start) / 2;
        for (OFFSET k = is_back ? middle : start; k < (is_back ? end : middle); ++k) {
            sum += values[k] * x[col_idx[k]];
        }
    }
    halves[threadIdx.x] = sum;
    __syncthreads();
    if (row < nrows && !is_back) {
        const VALUE whole = sum + halves[threadIdx.x + 1];
        y[row] = beta == 0 ? (VALUE)alpha * whole : (VALUE)alpha * whole + (VALUE)beta * y[row];
    }
}
"#;

fn product<T: Scalar>(task: &mut CpuTask<'_, T>) {
    let matrix: &dyn Any = task.matrix;
    let a: &Csr<T> = matrix.downcast_ref().expect("the family reads CSR");
    for (row, y) in task.y.iter_mut().enumerate() {
        let entries = a.row_ptr()[row] as usize..a.row_ptr()[row + 1] as usize;
        *y = T::default();
        for k in entries {
            *y += a.values()[k] * task.x[a.col_idx()[k] as usize];
        }
    }
}

/// The only kernel of the family.
pub fn kernel() -> Kernel {
    Kernel::outside_the_catalogue(&FAMILY, [0; 3])
}
