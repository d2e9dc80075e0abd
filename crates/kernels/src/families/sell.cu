// y = alpha A x + beta y, A in SELL-C-sigma, one thread a row.
//
// Mapping   thread i of all threads of the launch does place first_row + i: place j = place % C of slice
//           s = place / C, which is row permutation[place] of the matrix, or row place if nothing is sorted. Entry k
//           of it lies at slice_ptr[s] + k C + j, so neighbouring threads read neighbouring words. A block may hold
//           several slices and a slice several blocks.
// Knobs     BLOCK, threads a block; C and sigma of the format.
// Limits    rows below 2^32 - 1 if they are sorted, else none. A row ends at the width of its slice or at the first
//           padding, whose column is PAD.
// Reads     4 bytes for each entry, rounded up to GROUP entries a row; sizeof(STORED) for each entry that is no
//           padding (in sectors of 32 bytes: a row's padding costs as much as its neighbours make it); 8 bytes a
//           slice; 4 bytes a row if sorted; and x. Slices start on a 128-byte line if C is a multiple of 32. Writes
//           y once, scattered within a window of sigma rows. No atomics: the same y bit by bit on every run.
// Given     STORED (of A), VALUE (of x, y and sums) = float | double;
//           SLICE = C; SORTED = 1 with a permutation, 0 without.
//
// Source: Kreutzer et al., SIAM J. Sci. Comput. 36, 2014.

// Marks padding: sparsight_matrix::Sell::PAD.
static const unsigned int PAD = 0xffffffffu;

// Entries whose columns are asked for before the first of them is looked at. Chosen as in ell.cu.
static const int GROUP = 4;

extern "C" __global__ void __launch_bounds__(BLOCK)
sell(unsigned long long first_row, unsigned long long nrows, const unsigned long long* __restrict__ slice_ptr,
     const unsigned int* __restrict__ permutation, const unsigned int* __restrict__ col_idx,
     const STORED* __restrict__ values, const VALUE* __restrict__ x, VALUE* __restrict__ y,
     double alpha, double beta)
{
    const unsigned long long place = first_row + (unsigned long long)blockIdx.x * BLOCK + threadIdx.x;
    if (place >= nrows) {
        return;
    }
    const unsigned long long slice = place / SLICE;
    const unsigned long long end = slice_ptr[slice + 1];
    VALUE sum = 0;
    for (unsigned long long at = slice_ptr[slice] + place % SLICE; at < end; at += GROUP * SLICE) {
        unsigned int cols[GROUP];
#pragma unroll
        for (int i = 0; i < GROUP; ++i) {
            cols[i] = stream_if(at + i * SLICE < end, col_idx + at + i * SLICE, PAD);
        }
        STORED value[GROUP];
        VALUE factor[GROUP];
#pragma unroll
        for (int i = 0; i < GROUP; ++i) {
            value[i] = stream_if(cols[i] != PAD, values + at + i * SLICE, (STORED)0);
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
    store(y, SORTED ? permutation[place] : place, sum, alpha, beta);
}
