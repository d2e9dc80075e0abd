// y = alpha A x + beta y, A in jagged diagonals, one thread a row.
//
// Mapping   thread i of all threads of the launch does place first_row + i, which is row permutation[place] of the
//           matrix. Rows are sorted by decreasing length: neighbouring threads have rows of about the same length,
//           and their entries k lie next to each other on diagonal k, at diagonal_ptr[k] + place.
// Knobs     BLOCK, threads a block.
// Limits    rows below 2^32 - 1. A row ends with the first diagonal that is not as long as its place is far; no
//           padding is stored and none is looked for.
// Reads     4 + sizeof(STORED) bytes for each entry, 4 bytes a row, 8 bytes a diagonal, the same for all threads of
//           a warp; and x. Diagonals follow each other without gaps, so a warp's words rarely start with a sector
//           of 32 bytes: it asks the caches for one sector more than it needs, which its neighbour asks for, too.
//           Writes y once, scattered as the permutation says. No atomics: the same y bit by bit on every run.
// Given     STORED (of A), VALUE (of x, y and sums) = float | double.
//
// Source: Saad, SIAM J. Sci. Stat. Comput. 10, 1989.

// Diagonals that a thread reads at once. Chosen: enough loads in flight to hide most of a memory latency, few enough
// registers to keep all thread slots filled. A row knows its length from the diagonals alone, so that nothing is read
// beyond its end.
static const int GROUP = 4;

extern "C" __global__ void __launch_bounds__(BLOCK)
jad(unsigned long long first_row, unsigned long long nrows, unsigned long long diagonals,
    const unsigned int* __restrict__ permutation, const unsigned long long* __restrict__ diagonal_ptr,
    const unsigned int* __restrict__ col_idx, const STORED* __restrict__ values,
    const VALUE* __restrict__ x, VALUE* __restrict__ y,
    double alpha, double beta)
{
    const unsigned long long place = first_row + (unsigned long long)blockIdx.x * BLOCK + threadIdx.x;
    if (place >= nrows) {
        return;
    }
    VALUE sum = 0;
    bool goes_on = true;
    for (unsigned long long k = 0; goes_on && k < diagonals; k += GROUP) {
        unsigned long long at[GROUP];
        bool has[GROUP];
#pragma unroll
        for (int i = 0; i < GROUP; ++i) {
            has[i] = false;
            if (k + i < diagonals) {
                at[i] = __ldg(diagonal_ptr + k + i) + place;
                has[i] = at[i] < __ldg(diagonal_ptr + k + i + 1);
            }
        }
        unsigned int cols[GROUP];
        STORED vals[GROUP];
        VALUE factor[GROUP];
#pragma unroll
        for (int i = 0; i < GROUP; ++i) {
            cols[i] = has[i] ? col_idx[at[i]] : 0;
            vals[i] = has[i] ? values[at[i]] : (STORED)0;
        }
#pragma unroll
        for (int i = 0; i < GROUP; ++i) {
            factor[i] = has[i] ? __ldg(x + cols[i]) : (VALUE)0;
        }
#pragma unroll
        for (int i = 0; i < GROUP; ++i) {
            sum += vals[i] * factor[i];
        }
        goes_on = has[GROUP - 1];
    }
    store(y, permutation[place], sum, alpha, beta);
}
