// What products with an epilogue have beside their kernels: dot products over all rows, and the launch behind kernels that do not
// write each row once.
//
// Mapping   a thread adds up what its own rows give; a block the sums of its threads, by shuffles; the last block of 256 adds up
//           these blocks' sums, and the last of all those of the groups. Who comes last is found by counters, which wrap to 0 by
//           themselves; what is added to what, and in which order, does not depend on it: the same sums bit by bit on every run.
// Knobs     BLOCK, threads a block, a multiple of 32.
// Limits    fewer than 2^32 blocks. Two products with the same partial sums must not run at the same time.
// Reads     what the lines name, once a row; writes y and the outputs once a row. 8 bytes a block and dot product.
// Given     VALUE = float | double; DOTS, 0 to 3; Epilogue and finish_row: the lines, made in epilogue/text.rs.
//
// Sums are double for both types.

// In place of store.cu: y is the epilogue, which knows where y is; a product with an epilogue has alpha = 1 and beta = 0.
static __device__ __forceinline__ void store(Epilogue& y, unsigned long long row, VALUE sum, double alpha, double beta)
{
    finish_row(y, row, sum);
}

// All rows of sums that lie in memory.
static __device__ __forceinline__ void finish_all(Epilogue& epilogue, unsigned long long nrows, const VALUE* sums)
{
    const unsigned long long step = (unsigned long long)gridDim.x * BLOCK;
    for (unsigned long long row = (unsigned long long)blockIdx.x * BLOCK + threadIdx.x; row < nrows; row += step) {
        finish_row(epilogue, row, sums[row]);
    }
}

// A scalar: its bits, or those of its address.
static __device__ __forceinline__ VALUE scalar_of(unsigned long long bits, bool is_address)
{
    return (VALUE)(is_address ? *(const double*)bits : __longlong_as_double((long long)bits));
}

#if DOTS > 0
// Blocks whose sums are added up before those of all are. Chosen: 8 loads a thread of a warp, all under way together.
static const unsigned int BLOCKS_OF_GROUP = 256;

static __device__ __forceinline__ double dot_of_warp(double sum)
{
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, distance);
    }
    return sum;
}

// Whether this warp is the last of `count` to come here; what the others wrote before is then there to be read.
static __device__ __forceinline__ bool comes_last(unsigned int* counter, unsigned int count)
{
    unsigned int before = 0;
    if (threadIdx.x == 0) {
        __threadfence();
        before = atomicInc(counter, count - 1);
    }
    before = __shfl_sync(0xffffffffu, before, 0);
    __threadfence();
    return before == count - 1;
}

// The sum of `count` partial sums, right in thread 0 of the warp.
static __device__ __forceinline__ double sum_of_partials(const double* partials, unsigned long long count)
{
    // Not from this multiprocessor's own cache.
    const volatile double* const from = partials;
    double sum = 0;
    for (unsigned long long k = threadIdx.x; k < count; k += BLOCKS_OF_GROUP) {
        double part[BLOCKS_OF_GROUP / 32];
#pragma unroll
        for (unsigned int j = 0; j < BLOCKS_OF_GROUP / 32; ++j) {
            part[j] = k + 32 * j < count ? from[k + 32 * j] : 0;
        }
#pragma unroll
        for (unsigned int j = 0; j < BLOCKS_OF_GROUP / 32; ++j) {
            sum += part[j];
        }
    }
    return dot_of_warp(sum);
}

// Adds up the dot products over all `blocks` of a product, of whose launches this one begins with block `blocks_before`. All threads of
// the block must call it. `partials` has room for DOTS times `blocks` and as many groups; `counters` for a group each and one.
static __device__ __forceinline__ void add_up(const Epilogue& epilogue, unsigned long long blocks_before,
                                              unsigned long long blocks, double* partials, unsigned int* counters,
                                              double* dots)
{
    __shared__ double of_warps[DOTS][BLOCK / 32];
#pragma unroll
    for (int dot = 0; dot < DOTS; ++dot) {
        const double sum = dot_of_warp(epilogue.dots[dot]);
        if (threadIdx.x % 32 == 0) {
            of_warps[dot][threadIdx.x / 32] = sum;
        }
    }
    __syncthreads();
    if (threadIdx.x >= 32) {
        return;
    }
    const unsigned long long block = blocks_before + blockIdx.x;
    const unsigned long long groups = (blocks + BLOCKS_OF_GROUP - 1) / BLOCKS_OF_GROUP;
    const unsigned long long group = block / BLOCKS_OF_GROUP;
    const unsigned long long first = group * BLOCKS_OF_GROUP;
    const unsigned int of_group = (unsigned int)(blocks - first < BLOCKS_OF_GROUP ? blocks - first : BLOCKS_OF_GROUP);
#pragma unroll
    for (int dot = 0; dot < DOTS; ++dot) {
        const double sum = dot_of_warp(threadIdx.x < BLOCK / 32 ? of_warps[dot][threadIdx.x] : 0);
        if (threadIdx.x == 0) {
            partials[dot * blocks + block] = sum;
        }
    }
    if (!comes_last(counters + group, of_group)) {
        return;
    }
    double* const of_groups = groups == 1 ? dots : partials + DOTS * blocks;
#pragma unroll
    for (int dot = 0; dot < DOTS; ++dot) {
        const double sum = sum_of_partials(partials + dot * blocks + first, of_group);
        if (threadIdx.x == 0) {
            of_groups[dot * groups + group] = sum;
        }
    }
    if (groups == 1 || !comes_last(counters + groups, (unsigned int)groups)) {
        return;
    }
#pragma unroll
    for (int dot = 0; dot < DOTS; ++dot) {
        const double sum = sum_of_partials(of_groups + dot * groups, groups);
        if (threadIdx.x == 0) {
            dots[dot] = sum;
        }
    }
}
#endif
