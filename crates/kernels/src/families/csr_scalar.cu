// y = alpha A x + beta y, A in compressed sparse rows, one thread a row.
//
// Mapping   thread i of all threads of the launch does row first_row + i.
// Knobs     BLOCK, threads a block.
// Limits    none on rows; nnz must fit in OFFSET. Neighbouring threads read neighbouring rows, not neighbouring
//           entries, so long rows cost a memory sector an entry, and a warp lasts as long as its longest row.
// Reads     sizeof(OFFSET) (nrows + 1) + (4 + sizeof(STORED)) nnz, and x; writes y once. No atomics: the same
//           y bit by bit on every run.
// Given     STORED (of A), VALUE (of x, y and sums) = float | double, OFFSET = unsigned int | unsigned long long.
//
// Source: Bell and Garland, SC 2009.

extern "C" __global__ void __launch_bounds__(BLOCK)
csr_scalar(unsigned long long first_row, unsigned long long nrows,
           const OFFSET* __restrict__ row_ptr, const unsigned int* __restrict__ col_idx,
           const STORED* __restrict__ values, const VALUE* __restrict__ x, VALUE* __restrict__ y,
           double alpha, double beta)
{
    const unsigned long long row = first_row + (unsigned long long)blockIdx.x * BLOCK + threadIdx.x;
    if (row >= nrows) {
        return;
    }
    // k stays below end, so it does not wrap even when end is the largest OFFSET.
    const OFFSET end = row_ptr[row + 1];
    VALUE sum = 0;
    // 4 at a time: more would take registers that full occupancy needs.
#pragma unroll 4
    for (OFFSET k = row_ptr[row]; k < end; ++k) {
        sum += values[k] * __ldg(x + col_idx[k]);
    }
    store(y, row, sum, alpha, beta);
}
