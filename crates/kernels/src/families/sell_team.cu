// y = alpha A x + beta y, A in SELL-C-sigma with slices of 32 rows, several warps a slice.
//
// Mapping   TEAM neighbouring warps of a block do a slice: each of their lanes a row, warp j of them the entries j,
//           j + TEAM, ... of every row, so that a warp reads whole lines as a thread a row does; then the first of
//           them adds up the sums. Block i of all blocks of the launch begins with place first_row + i BLOCK / TEAM.
//           Where rows are too few to fill the device, TEAM times as many threads wait for memory.
// Knobs     BLOCK, threads a block, a multiple of 32 TEAM; TEAM, threads a row; sigma of the format.
// Limits    rows below 2^32 - 1 if they are sorted, else none.
// Reads     as sell.cu: 4 bytes for each entry, sizeof(STORED) for each that is no padding, 8 bytes a slice and warp;
//           and x. Writes y once, scattered within a window of sigma rows. No atomics: the same y bit by bit on every
//           run.
// Given     STORED (of A), VALUE (of x, y and sums) = float | double; SORTED = 1 with a permutation, 0 without.
//
// Source: Kreutzer et al., SIAM J. Sci. Comput. 36, 2014; several threads a row of sliced ELL: Anzt, Tomov and
// Dongarra, 2014 (SELL-P).

// Marks padding: sparsight_matrix::Sell::PAD.
static const unsigned int PAD = 0xffffffffu;

// Entries of a thread whose columns are asked for before the first of them is looked at. Measured on an H200: of 2, 4
// and 8 the fastest in 65 of 80 cases (ten matrices, both value types, sorted or not, two threads a row or four).
static const int GROUP = 8;

static const unsigned int SLICE = 32;

extern "C" __global__ void __launch_bounds__(BLOCK)
sell_team(unsigned long long first_row, unsigned long long nrows, const unsigned long long* __restrict__ slice_ptr,
          const unsigned int* __restrict__ permutation, const unsigned int* __restrict__ col_idx,
          const STORED* __restrict__ values, const VALUE* __restrict__ x, VALUE* __restrict__ y,
          double alpha, double beta)
{
    __shared__ VALUE sums[BLOCK];

    const unsigned int warp = threadIdx.x / 32;
    const unsigned int lane = threadIdx.x % 32;
    const unsigned long long place =
        first_row + (unsigned long long)blockIdx.x * (BLOCK / TEAM) + warp / TEAM * SLICE + lane;
    // Of the last slice, places without a row are padding: they are read as the others are.
    const unsigned long long slice = place / SLICE;
    VALUE sum = 0;
    if (slice * SLICE < nrows) {
        const unsigned long long end = slice_ptr[slice + 1];
        for (unsigned long long at = slice_ptr[slice] + warp % TEAM * SLICE + lane; at < end;
             at += GROUP * TEAM * SLICE) {
            unsigned int cols[GROUP];
#pragma unroll
            for (int i = 0; i < GROUP; ++i) {
                cols[i] = stream_if(at + i * TEAM * SLICE < end, col_idx + at + i * TEAM * SLICE, PAD);
            }
            STORED value[GROUP];
            VALUE factor[GROUP];
#pragma unroll
            for (int i = 0; i < GROUP; ++i) {
                value[i] = stream_if(cols[i] != PAD, values + at + i * TEAM * SLICE, (STORED)0);
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
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (warp % TEAM == 0 && place < nrows) {
#pragma unroll
        for (unsigned int other = 1; other < TEAM; ++other) {
            sum += sums[threadIdx.x + 32 * other];
        }
        store(y, SORTED ? permutation[place] : place, sum, alpha, beta);
    }
}
