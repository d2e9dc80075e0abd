// y = alpha A x + beta y, A in ELLPACK, one thread a row.
//
// Mapping   thread i of all threads of the launch does row first_row + i. Entry k of row i lies at
//           k stride + i, so neighbouring threads read neighbouring words.
// Knobs     BLOCK, threads a block.
// Limits    none on rows. A row ends at width or at the first padding, whose column is PAD.
// Reads     4 bytes for each entry, rounded up to GROUP entries a row; sizeof(STORED) for each entry that is no
//           padding (in sectors of 32 bytes: a row's padding costs as much as its neighbours make it);
//           and x. Writes y once, also for width 0. No atomics: the same y bit by bit on every run.
// Given     STORED (of A), VALUE (of x, y and sums) = float | double;
//           FOLLOWED = 1 if the COO part of HYB is added afterwards, else 0.
//
// Source: Bell and Garland, SC 2009.

// Marks padding: sparsight_matrix::Ell::PAD.
static const unsigned int PAD = 0xffffffffu;

// Entries whose columns are asked for before the first of them is looked at. Chosen: one column at a time would
// wait a memory latency an entry to learn whether the row goes on; 4 hides most of it and reads at most
// 3 columns of padding too many.
static const int GROUP = 4;

extern "C" __global__ void __launch_bounds__(BLOCK)
ell(unsigned long long first_row, unsigned long long nrows, unsigned long long width,
    unsigned long long stride, const unsigned int* __restrict__ col_idx,
    const STORED* __restrict__ values, const VALUE* __restrict__ x, VALUE* __restrict__ y,
    double alpha, double beta)
{
    if (FOLLOWED) {
        let_next_launch_begin();
    }
    const unsigned long long row = first_row + (unsigned long long)blockIdx.x * BLOCK + threadIdx.x;
    if (row >= nrows) {
        return;
    }
    VALUE sum = 0;
    for (unsigned long long k = 0; k < width; k += GROUP) {
        const unsigned long long first = k * stride + row;
        unsigned int cols[GROUP];
#pragma unroll
        for (int i = 0; i < GROUP; ++i) {
            cols[i] = stream_if(k + i < width, col_idx + first + i * stride, PAD);
        }
        STORED value[GROUP];
        VALUE factor[GROUP];
#pragma unroll
        for (int i = 0; i < GROUP; ++i) {
            value[i] = stream_if(cols[i] != PAD, values + first + i * stride, (STORED)0);
            factor[i] = gather_if(cols[i] != PAD, x + cols[i]);
        }
#pragma unroll
        for (int i = 0; i < GROUP; ++i) {
            sum += value[i] * factor[i];
        }
        if (cols[GROUP - 1] == PAD) {
            break;
        }
    }
    store(y, row, sum, alpha, beta);
}
