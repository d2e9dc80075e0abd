// y = y + alpha A x, A in coordinates sorted by row; as many non-zeros for every warp, however long the rows are.
//
// Mapping   warp w of all warps of the launch takes the run of 32 ITEMS non-zeros that starts at
//           (first_warp + w) 32 ITEMS, in ITEMS steps of 32 neighbouring ones, one a thread. Within a step,
//           products of one row are added up by a segmented scan; what the last row of a step has is carried
//           into the next step.
//
//               row of thread     3 3 3 4 4 7 7 7 | 7 7 7 7 7 7 7 7 | 7 8 ...
//               stored at         - - 3 - 4 - - carry       carry     7
//
// Knobs     BLOCK, threads a block, a multiple of 32; ITEMS, steps a warp: long runs share what a warp does once, short ones
//           give a small matrix to more warps.
// Limits    rows and columns below 2^32 - 1; positions are computed in 64 bits. y must hold beta times
//           what it held (`clear` before it; beta says whether that is known to be 0) or, with ACCUMULATE = 1, what
//           the product is to be added to (HYB: the ELL part).
// Reads     (8 + sizeof(STORED)) nnz, and x; two rows more for each warp; writes each row with entries once, and
//           once more for each further run that it reaches into. Reads y where it adds to what is there.
// Given     STORED (of A), VALUE (of x, y and sums) = float | double, ACCUMULATE = 0 | 1.
//
// Sums. Atomics on float flush subnormal numbers to zero; plain stores keep them.
// Order of summation. A row that lies within one run is written by one thread: the same bits on every run of the
// program. A row that reaches into two runs is 0 + a + b in either order: the same, too, unless ACCUMULATE adds to
// something else than 0. A row over three or more runs is summed by atomics in an order that may vary.
//
// Sources: Bell and Garland, SC 2009 (segmented reduction of COO); Blelloch, Heroux and Zagha 1993.

static const unsigned int ALL_THREADS = 0xffffffffu;

// No row: more than any row index (rows stay below 2^32 - 1).
static const unsigned int NO_ROW = 0xffffffffu;

// The sum over the warp, in every thread.
static __device__ __forceinline__ VALUE sum_of_warp(VALUE sum)
{
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(ALL_THREADS, sum, distance);
    }
    return sum;
}

// Adds to each product those of the same row in lower threads. Rows do not decrease from thread to thread, so two
// threads of the same row have no other row between them.
static __device__ __forceinline__ VALUE scan_of_rows(unsigned int row, VALUE sum, unsigned int lane)
{
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        const unsigned int row_before = __shfl_up_sync(ALL_THREADS, row, distance);
        const VALUE sum_before = __shfl_up_sync(ALL_THREADS, sum, distance);
        if (lane >= distance && row_before == row) {
            sum += sum_before;
        }
    }
    return sum;
}

// Brings the sum of a row to y: a plain store if no other thread writes that row, an atomic addition otherwise.
static __device__ __forceinline__ void emit(VALUE* y, unsigned int row, VALUE sum, unsigned int row_before,
                                            unsigned int row_after, VALUE alpha, bool adds)
{
    if (ACCUMULATE || row == row_before || row == row_after) {
        atomicAdd(y + row, alpha * sum);
    } else {
        y[row] = adds ? y[row] + alpha * sum : alpha * sum;
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
coo(unsigned long long first_warp, unsigned long long nnz, const unsigned int* __restrict__ row_idx,
    const unsigned int* __restrict__ col_idx, const STORED* __restrict__ values,
    const VALUE* __restrict__ x, VALUE* __restrict__ y,
    double alpha, double beta)
{
    const unsigned int lane = threadIdx.x % 32;
    const unsigned long long warp =
        first_warp + (unsigned long long)blockIdx.x * (BLOCK / 32) + threadIdx.x / 32;
    const unsigned long long start = warp * (32 * ITEMS);
    if (start >= nnz) {
        return; // The whole warp at once.
    }
    const unsigned long long end = start + 32 * ITEMS;
    const unsigned int row_before = start > 0 ? row_idx[start - 1] : NO_ROW;
    const unsigned int row_after = end < nnz ? row_idx[end] : NO_ROW;

    // Everything is asked for before anything is used. Behind the last non-zero, threads repeat its row with
    // products of 0, which changes no sum.
    unsigned int rows[ITEMS];
    unsigned int cols[ITEMS];
    VALUE products[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const unsigned long long k = start + 32 * i + lane;
        const bool inside = k < nnz;
        rows[i] = stream_if(true, row_idx + (inside ? k : nnz - 1), 0u);
        cols[i] = stream_if(inside, col_idx + k, 0u);
        products[i] = stream_if(inside, values + k, (STORED)0);
    }
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        products[i] *= gather_if(start + 32 * i + lane < nnz, x + cols[i]);
    }

    // Everything so far overlaps with the launch that scales y or stores the ELL part.
    wait_for_launch_before();

    // The open row is that of the last entry seen; its sum so far is the sum of `carry` over the threads. While
    // `spread` is false, all of it is with thread 31.
    unsigned int open = __shfl_sync(ALL_THREADS, rows[0], 0);
    VALUE carry = 0;
    bool spread = false;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        if (__all_sync(ALL_THREADS, rows[i] == open)) {
            carry += products[i];
            spread = true;
            continue;
        }
        const VALUE carried = spread ? sum_of_warp(carry) : __shfl_sync(ALL_THREADS, carry, 31);
        VALUE sum = products[i];
        if (i > 0 && lane == 0) {
            if (rows[i] == open) {
                sum += carried;
            } else {
                emit(y, open, carried, row_before, row_after, (VALUE)alpha, beta != 0);
            }
        }
        sum = scan_of_rows(rows[i], sum, lane);
        const unsigned int row_next = __shfl_down_sync(ALL_THREADS, rows[i], 1);
        if (lane < 31 && row_next != rows[i]) {
            emit(y, rows[i], sum, row_before, row_after, (VALUE)alpha, beta != 0);
        }
        open = __shfl_sync(ALL_THREADS, rows[i], 31);
        carry = lane == 31 ? sum : (VALUE)0;
        spread = false;
    }
    const VALUE carried = spread ? sum_of_warp(carry) : __shfl_sync(ALL_THREADS, carry, 31);
    if (lane == 0) {
        emit(y, open, carried, row_before, row_after, (VALUE)alpha, beta != 0);
    }
}
