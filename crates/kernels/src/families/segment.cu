// A row that several thread blocks share: each adds up a segment of it, the one that comes last adds up their sums.
//
// Who comes last is found by a counter; what is added to what, and in which order, does not depend on it: the same y bit
// by bit on every run. The counter wraps to 0 by itself, so that nothing has to be cleared between two products. Two
// products with the same arrays must not run at the same time: they would share partial sums and counters.
//
// Knobs     BLOCK, threads a block, a multiple of 32.
// Given     STORED (of A), VALUE (of x, y and sums) = float | double.

// Entries that a thread asks for before it uses the first.
static const unsigned int SEGMENT_AHEAD = 4;

// The sum over all threads of the block, right in thread 0. All of them must call it.
static __device__ __forceinline__ VALUE sum_of_block(VALUE sum)
{
    __shared__ VALUE sums[BLOCK / 32];
    sum = sum_of_team(sum, 32);
    // Other warps may still read the sums of the call before.
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < BLOCK / 32 ? sums[threadIdx.x] : 0;
        sum = sum_of_team(sum, 32);
    }
    return sum;
}

// Adds up the segment at place `at`; the last block of a row stores it. Two loads of 16 bytes tell of it:
// Segment::words of the host.
static __device__ __forceinline__ void do_segment(unsigned long long at, const uint4* segments, VALUE* partials,
                                                  unsigned int* counters, const unsigned int* col_idx,
                                                  const STORED* values, const VALUE* x, VALUE* y, double alpha,
                                                  double beta)
{
    __shared__ bool is_last;
    const uint4 where = segments[2 * at];
    const uint4 which = segments[2 * at + 1];
    const unsigned long long start = where.x | (unsigned long long)where.y << 32;
    const unsigned int first = which.x;
    const unsigned int count = which.y;
    VALUE sum = sum_of_block(
        sum_of_entries<BLOCK, SEGMENT_AHEAD>(col_idx + start, values + start, x, threadIdx.x, where.z));
    if (count > 1) {
        if (threadIdx.x == 0) {
            partials[at] = sum;
            __threadfence();
            is_last = atomicInc(counters + first, count - 1) == count - 1;
        }
        __syncthreads();
        if (!is_last) {
            return;
        }
        __threadfence();
        sum = 0;
        // Not from this multiprocessor's own cache.
        const volatile VALUE* const of_row = partials + first;
        for (unsigned int k = threadIdx.x; k < count; k += BLOCK) {
            sum += of_row[k];
        }
        sum = sum_of_block(sum);
    }
    if (threadIdx.x == 0) {
        store(y, where.w, sum, alpha, beta);
    }
}
