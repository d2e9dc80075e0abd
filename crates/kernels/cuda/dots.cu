// Dot products over all rows, from what the threads have added up: see epilogue.cu.
//
// Given     BLOCK, a multiple of 32; DOTS, 1 to 3.

// Sums over the threads of a block, right in thread 0.
static __device__ __forceinline__ void add_up_block(double* sums, double (*of_warps)[BLOCK / 32])
{
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
#pragma unroll
        for (int dot = 0; dot < DOTS; ++dot) {
            sums[dot] += __shfl_down_sync(0xffffffffu, sums[dot], distance);
        }
    }
    if (threadIdx.x % 32 == 0) {
#pragma unroll
        for (int dot = 0; dot < DOTS; ++dot) {
            of_warps[dot][threadIdx.x / 32] = sums[dot];
        }
    }
    __syncthreads();
    if (threadIdx.x < 32) {
#pragma unroll
        for (int dot = 0; dot < DOTS; ++dot) {
            sums[dot] = threadIdx.x < BLOCK / 32 ? of_warps[dot][threadIdx.x] : 0;
        }
#pragma unroll
        for (int distance = 16; distance > 0; distance /= 2) {
#pragma unroll
            for (int dot = 0; dot < DOTS; ++dot) {
                sums[dot] += __shfl_down_sync(0xffffffffu, sums[dot], distance);
            }
        }
    }
}

// Adds up `sums` of all threads of all `blocks` of a product, of whose launches this one begins with block `blocks_before`. All threads
// of the block must call it. `partials` has room for DOTS times `blocks`. Without a counter, the sums of the blocks are left there.
static __device__ __forceinline__ void add_up(double* sums, unsigned long long blocks_before, unsigned long long blocks,
                                              double* partials, unsigned int* counter, double* dots)
{
    __shared__ double of_warps[DOTS][BLOCK / 32];
    __shared__ unsigned int is_last;
    add_up_block(sums, of_warps);
    if (threadIdx.x == 0) {
        const bool is_only = counter != nullptr && blocks == 1;
        double* const to = is_only ? dots : partials + blocks_before + blockIdx.x;
#pragma unroll
        for (int dot = 0; dot < DOTS; ++dot) {
            to[dot * blocks] = sums[dot];
        }
        if (counter != nullptr && !is_only) {
            __threadfence();
            is_last = atomicInc(counter, (unsigned int)blocks - 1) == (unsigned int)blocks - 1;
        }
    }
    if (counter == nullptr || blocks == 1) {
        return;
    }
    __syncthreads();
    if (is_last == 0) {
        return;
    }
    __threadfence();
    // Not from this multiprocessor's own cache.
    const volatile double* const from = partials;
    double all[DOTS] = {};
    for (unsigned long long k = threadIdx.x; k < blocks; k += BLOCK) {
#pragma unroll
        for (int dot = 0; dot < DOTS; ++dot) {
            all[dot] += from[dot * blocks + k];
        }
    }
    add_up_block(all, of_warps);
    if (threadIdx.x == 0) {
#pragma unroll
        for (int dot = 0; dot < DOTS; ++dot) {
            dots[dot] = all[dot];
        }
    }
}
