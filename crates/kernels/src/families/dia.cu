// y = alpha A x + beta y, A as its diagonals, one thread per row.
//
// Mapping   thread i of all threads of the launch does row first_row + i. Its entry of diagonal d lies at
//           d stride + i and has column i + offsets[d], so neighbouring threads read neighbouring values and
//           neighbouring entries of x.
// Knobs     BLOCK, threads a block.
// Limits    none on rows. What lies outside of the matrix, or is 0, adds nothing.
// Reads     sizeof(STORED) for each row and diagonal; offsets, which all threads share; and x, once a diagonal, of which
//           all but the first reading hits a cache where the diagonals lie near each other. Writes y once, also
//           without diagonals. No atomics: the same y bit by bit on every run.
// Given     STORED (of A), VALUE (of x, y and sums) = float | double.
//
// Source: Bell and Garland, SC 2009.

// Diagonals whose values and entries of x are asked for before the first of them is added. Chosen: what it takes to hide
// the latency of memory with the threads that a multiprocessor holds.
static const int GROUP = 4;

extern "C" __global__ void __launch_bounds__(BLOCK)
dia(unsigned long long first_row, unsigned long long nrows, unsigned long long ncols, unsigned long long diagonals,
    unsigned long long stride, const long long* __restrict__ offsets, const STORED* __restrict__ values,
    const VALUE* __restrict__ x, VALUE* __restrict__ y, double alpha, double beta)
{
    const unsigned long long row = first_row + (unsigned long long)blockIdx.x * BLOCK + threadIdx.x;
    if (row >= nrows) {
        return;
    }
    VALUE sum = 0;
    for (unsigned long long d = 0; d < diagonals; d += GROUP) {
        STORED value[GROUP];
        VALUE factor[GROUP];
#pragma unroll
        for (int i = 0; i < GROUP; ++i) {
            // Below 0 it is larger than any column.
            const unsigned long long col = d + i < diagonals ? row + (unsigned long long)offsets[d + i] : ncols;
            const bool inside = col < ncols;
            value[i] = inside ? values[(d + i) * stride + row] : (STORED)0;
            factor[i] = inside ? __ldg(x + col) : (VALUE)0;
        }
#pragma unroll
        for (int i = 0; i < GROUP; ++i) {
            sum += value[i] == 0 ? (VALUE)0 : value[i] * factor[i];
        }
    }
    store(y, row, sum, alpha, beta);
}
