// y = alpha A x + beta y, A in SELL with columns of 16 bits (SELL16), TEAM threads a row.
//
// Mapping   TEAM neighbouring warps of a block do a slice of 32 rows: each of their lanes a row, warp w of them the pairs
//           of groups w, w + TEAM, ... of the slice; then the first of them adds up the sums. Group k of a slice is entry
//           k of its rows. Pair p has two bases in bases[p], two offsets of 16 bits for the row of lane j in
//           offsets[32 p + j], and values at 32 (2 p + h) + j for its groups h = 0, 1. A column is base + offset; where
//           the highest bit of the base is set, its other bits are the number of 32 columns in wide_cols.
// Knobs     BLOCK, threads a block, a multiple of 32 TEAM; TEAM, threads a row; sigma of the format.
// Limits    rows below 2^32 - 1, columns up to 2^31. A row ends at the width of its slice or at the first padding, whose
//           offset is PAD.
// Reads     2 bytes for each entry, rounded up to GROUP pairs a row, and 4 a group; 4 more for each entry of a wide group;
//           sizeof(VALUE) for each entry that is no padding; 8 bytes a slice and warp; 4 bytes a row if sorted; and x.
//           Writes y once. No atomics: the same y bit by bit on every run.
// Given     VALUE = float | double; TEAM = threads a row; SORTED = 1 with a permutation, 0 without.
//
// Source: of the slices Kreutzer et al., SIAM J. Sci. Comput. 36, 2014; of the columns this project.

// Marks padding among offsets: sparsight_matrix::Sell16::PAD.
static const unsigned int PAD = 0xffffu;

// Marks a column that is not there, and the base of a wide group.
static const unsigned int NONE = 0xffffffffu, WIDE = 0x80000000u;

static const unsigned int SLICE = 32;

// Pairs of a thread that are asked for before the first of them is looked at: as many entries as in sell.cu and
// sell_team.cu.
static const int GROUP = TEAM > 1 ? 4 : 2;

extern "C" __global__ void __launch_bounds__(BLOCK)
sell16(unsigned long long first_row, unsigned long long nrows, const unsigned long long* __restrict__ slice_ptr,
       const unsigned int* __restrict__ permutation, const unsigned long long* __restrict__ bases,
       const unsigned int* __restrict__ offsets, const unsigned int* __restrict__ wide_cols,
       const VALUE* __restrict__ values, const VALUE* __restrict__ x, VALUE* __restrict__ y, double alpha, double beta)
{
#if TEAM > 1
    __shared__ VALUE sums[BLOCK];
#endif
    const unsigned int warp = threadIdx.x / 32;
    const unsigned int lane = threadIdx.x % 32;
    const unsigned long long place =
        first_row + (unsigned long long)blockIdx.x * (BLOCK / TEAM) + warp / TEAM * SLICE + lane;
    // Of the last slice, places without a row are padding: they are read as the others are.
    const unsigned long long slice = place / SLICE;
    VALUE sum = 0;
    if (slice * SLICE < nrows) {
        const unsigned long long end = slice_ptr[slice + 1];
        for (unsigned long long pair = slice_ptr[slice] + warp % TEAM; pair < end; pair += GROUP * TEAM) {
            unsigned int both[GROUP], cols[2 * GROUP];
            unsigned long long base[GROUP];
#pragma unroll
            for (int i = 0; i < GROUP; ++i) {
                const bool inside = pair + i * TEAM < end;
                both[i] = inside ? offsets[(pair + i * TEAM) * SLICE + lane] : NONE;
                base[i] = inside ? bases[pair + i * TEAM] : 0;
            }
#pragma unroll
            for (int i = 0; i < 2 * GROUP; ++i) {
                const unsigned int offset = i % 2 ? both[i / 2] >> 16 : both[i / 2] & PAD;
                const unsigned int of_group = (unsigned int)(base[i / 2] >> (32 * (i % 2)));
                cols[i] = offset == PAD ? NONE : of_group + offset;
                if (of_group & WIDE) {
                    const unsigned int wide = wide_cols[(unsigned long long)(of_group & ~WIDE) * SLICE + lane];
                    cols[i] = offset == PAD ? NONE : wide;
                }
            }
#pragma unroll
            for (int i = 0; i < 2 * GROUP; ++i) {
                if (cols[i] != NONE) {
                    sum += values[((pair + i / 2 * TEAM) * 2 + i % 2) * SLICE + lane] * __ldg(x + cols[i]);
                }
            }
            if (cols[2 * GROUP - 1] == NONE) {
                break;
            }
        }
    }
#if TEAM > 1
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (warp % TEAM == 0) {
#pragma unroll
        for (unsigned int other = 1; other < TEAM; ++other) {
            sum += sums[threadIdx.x + 32 * other];
        }
    } else {
        return;
    }
#endif
    if (place < nrows) {
        store(y, SORTED ? permutation[place] : place, sum, alpha, beta);
    }
}
