// Dot products over all rows, from what the threads have added up: see epilogue.cu.
//
// Given     BLOCK, a power of two from 32 on; DOTS, 1 to 3.

// Sums over the threads of a block, right in thread 0. Of most kernels each thread of a warp brings something, but of those that give a
// team to a row its first thread alone: then steps of less than a team are left out, which else take longer than the team's own sums.
static __device__ __forceinline__ void add_up_block(double* sums, double (*of_warps)[BLOCK / 32])
{
    bool brings = false;
#pragma unroll
    for (int dot = 0; dot < DOTS; ++dot) {
        brings |= sums[dot] != 0;
    }
    const unsigned int bringing = __ballot_sync(0xffffffffu, brings);
    // Threads whose number has this bit.
    const unsigned int with_bit[5] = {0xaaaaaaaau, 0xccccccccu, 0xf0f0f0f0u, 0xff00ff00u, 0xffff0000u};
#pragma unroll
    for (int bit = 4; bit >= 0; --bit) {
        if ((bringing & with_bit[bit]) != 0) {
#pragma unroll
            for (int dot = 0; dot < DOTS; ++dot) {
                sums[dot] += __shfl_down_sync(0xffffffffu, sums[dot], 1 << bit);
            }
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
        for (int distance = BLOCK / 64; distance > 0; distance /= 2) {
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
