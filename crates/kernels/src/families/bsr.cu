// y = alpha A x + beta y, A as blocks of SIDE x SIDE in slices, TEAM threads a row.
//
// Mapping   32 neighbouring rows are done by TEAM neighbouring warps: thread j of each does row j of the 32, warp w the
//           blocks w, w + TEAM, ... of the row of blocks. A slice is 32 rows of blocks. The column of block k of row of
//           blocks r of the slice lies at slice_ptr[slice] + 32 k + r; column c of the block at
//           SIDE^2 (slice_ptr[slice] + 32 k) + 32 SIDE c + i for row i of the slice. So neighbouring threads read
//           neighbouring values; the SIDE threads of a row of blocks read one column, and the same entries of x.
// Knobs     BLOCK, threads a block; SIDE of the format; TEAM.
// Limits    none on rows. A row of blocks ends at the width of its slice or at the first padding, whose column is PAD. What
//           a block stores beside non-zeros is 0 and adds nothing; columns behind the last one are not read.
// Reads     4 bytes for each block and SIDE^2 sizeof(STORED); 8 bytes a slice; and x. Writes y once. No atomics: the same y
//           bit by bit on every run.
// Given     STORED (of A), VALUE (of x, y and sums) = float | double;
//           SIDE = rows and columns of a block; TEAM = threads a row.
//
// Sources: Choi, Singh and Vuduc, PPoPP 2010; Kreutzer et al., SIAM J. Sci. Comput. 36, 2014.

// Marks padding: sparsight_matrix::Bsr::PAD.
static const unsigned int PAD = 0xffffffffu;

static const unsigned int SLICE_ROWS = 32 * SIDE;

// Blocks whose columns are asked for before the first of them is looked at. Chosen: as many values as in sell.cu.
static const int GROUP = SIDE > 2 ? 2 : 4;

// Blocks whose values and entries of x are asked for together. Measured on an H200: more of them in f64 take the registers of
// so many threads that less is under way.
static const int TOGETHER = sizeof(STORED) == 4 ? GROUP : 1;

extern "C" __global__ void __launch_bounds__(BLOCK)
bsr(unsigned long long first_row, unsigned long long nrows, unsigned long long ncols,
    const unsigned long long* __restrict__ slice_ptr, const unsigned int* __restrict__ col_idx,
    const STORED* __restrict__ values, const VALUE* __restrict__ x, VALUE* __restrict__ y, double alpha, double beta)
{
#if TEAM > 1
    __shared__ VALUE sums[BLOCK];
#endif
    const unsigned int warp = threadIdx.x / 32;
    const unsigned int lane = threadIdx.x % 32;
    const unsigned long long row =
        first_row + (unsigned long long)blockIdx.x * (BLOCK / TEAM) + warp / TEAM * 32 + lane;
    VALUE sum = 0;
    if (row < nrows) {
        const unsigned long long slice = row / SLICE_ROWS;
        const unsigned int in_slice = (unsigned int)(row % SLICE_ROWS);
        const unsigned int place = in_slice / SIDE;
        const unsigned long long end = slice_ptr[slice + 1];
        for (unsigned long long at = slice_ptr[slice] + warp % TEAM * 32; at < end; at += GROUP * TEAM * 32) {
            unsigned int cols[GROUP];
#pragma unroll
            for (int i = 0; i < GROUP; ++i) {
                cols[i] = at + i * TEAM * 32 < end ? col_idx[at + i * TEAM * 32 + place] : PAD;
            }
#pragma unroll
            for (int done = 0; done < GROUP; done += TOGETHER) {
                STORED value[TOGETHER][SIDE];
                VALUE factor[TOGETHER][SIDE];
#pragma unroll
                for (int i = 0; i < TOGETHER; ++i) {
                    const bool has = cols[done + i] != PAD;
                    const STORED* const block = values + (at + (done + i) * TEAM * 32) * (SIDE * SIDE) + in_slice;
                    const unsigned long long first = (unsigned long long)cols[done + i] * SIDE;
#pragma unroll
                    for (int c = 0; c < SIDE; ++c) {
                        value[i][c] = stream_if(has, block + c * SLICE_ROWS, (STORED)0);
                        // What a block has behind the last column is 0.
                        factor[i][c] = gather_if(has, x + (first + c < ncols ? first + c : first));
                    }
                }
#pragma unroll
                for (int i = 0; i < TOGETHER; ++i) {
#pragma unroll
                    for (int c = 0; c < SIDE; ++c) {
                        sum += value[i][c] == 0 ? (VALUE)0 : value[i][c] * factor[i][c];
                    }
                }
            }
            if (cols[GROUP - 1] == PAD) {
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
    if (row < nrows) {
        store(y, row, sum, alpha, beta);
    }
}
