// The least and the largest length of the rows of CSR, and the sum of the squares of the lengths: what decision rules ask of row offsets,
// counted in the stream of their owner.
//
// Mapping   thread i of all threads of the launch does the rows i, i + threads, ...; the number of blocks is free. The last block of
//           the launch to end writes the answer.
// Knobs     BLOCK, threads a block; a multiple of 32.
// Limits    nnz below 2^32, so that the sum of squares fits in 64 bits.
// Reads     4 (nrows + 1) bytes, or 8 (nrows + 1) if `wide` is not 0.
//
// sums      least, largest, sum of squares, blocks that have ended: ~0, 0, 0, 0 before the launch, and again after it.
// answer    in host memory: the three numbers in two words each, low word first, then 1 as the sign that they are there.

extern "C" __global__ void __launch_bounds__(BLOCK)
row_lengths(unsigned long long nrows, const void* __restrict__ row_ptr, unsigned long long wide,
            unsigned long long* sums, volatile unsigned int* answer)
{
    const unsigned int* const narrow_ptr = (const unsigned int*)row_ptr;
    const unsigned long long* const wide_ptr = (const unsigned long long*)row_ptr;
    unsigned long long least = ~0ull;
    unsigned long long largest = 0;
    unsigned long long squares = 0;
    const unsigned long long step = (unsigned long long)gridDim.x * BLOCK;
    for (unsigned long long row = (unsigned long long)blockIdx.x * BLOCK + threadIdx.x; row < nrows; row += step) {
        const unsigned long long length =
            wide ? wide_ptr[row + 1] - wide_ptr[row] : narrow_ptr[row + 1] - narrow_ptr[row];
        least = length < least ? length : least;
        largest = length > largest ? length : largest;
        squares += length * length;
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        const unsigned long long other_least = __shfl_xor_sync(0xffffffffu, least, distance);
        const unsigned long long other_largest = __shfl_xor_sync(0xffffffffu, largest, distance);
        squares += __shfl_xor_sync(0xffffffffu, squares, distance);
        least = other_least < least ? other_least : least;
        largest = other_largest > largest ? other_largest : largest;
    }
    if (threadIdx.x % 32 == 0) {
        atomicMin(sums, least);
        atomicMax(sums + 1, largest);
        atomicAdd(sums + 2, squares);
        __threadfence();
    }
    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd(sums + 3, 1ull) == gridDim.x - 1) {
        __threadfence();
        for (int i = 0; i < 3; ++i) {
            const unsigned long long sum = atomicExch(sums + i, i == 0 ? ~0ull : 0ull);
            answer[2 * i] = (unsigned int)sum;
            answer[2 * i + 1] = (unsigned int)(sum >> 32);
        }
        atomicExch(sums + 3, 0ull);
        __threadfence_system();
        answer[6] = 1;
    }
}
