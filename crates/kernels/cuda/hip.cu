// CUDA C++ of the kernels in HIP: in front of every text that is compiled for AMD's GPUs.
//
// Warps     A kernel's warp is 32 neighbouring threads. A wave of the GPU has 32 threads or 64, as the chip and the compiler have it;
//           one of 64 holds two warps, whose branches and loops may differ. A shuffle stays within the warp by its width, and of the
//           bits of a vote a thread takes those of its own warp: what the other warp of the wave does at that time is of no meaning.
//
//               wave of 64    threads  0 .. 31 | 32 .. 63
//               vote          bits     0 .. 31 | 32 .. 63        the upper ones shifted down for the upper warp
//
// Masks     are dropped: the kernels name all threads of a warp.
// Limits    the threads of a warp come to a shuffle or a vote together, as on NVIDIA's GPUs; blocks are whole waves.
// Given     by the headers of HIP, which its run-time compiler includes by itself: __shfl and its like, __ballot, __lane_id.
//
// Source: HIP C++ language extensions, "Warp cross-lane functions".

static const int THREADS_OF_WARP = 32;

template <typename T>
static __device__ __forceinline__ T shuffle(unsigned int, T value, int lane)
{
    return __shfl(value, lane, THREADS_OF_WARP);
}

template <typename T>
static __device__ __forceinline__ T shuffle_up(unsigned int, T value, unsigned int distance)
{
    return __shfl_up(value, distance, THREADS_OF_WARP);
}

template <typename T>
static __device__ __forceinline__ T shuffle_down(unsigned int, T value, unsigned int distance,
                                                 int width = THREADS_OF_WARP)
{
    return __shfl_down(value, distance, width);
}

template <typename T>
static __device__ __forceinline__ T shuffle_xor(unsigned int, T value, int lanes)
{
    return __shfl_xor(value, lanes, THREADS_OF_WARP);
}

static __device__ __forceinline__ unsigned int ballot_of_warp(unsigned int, bool vote)
{
    return (unsigned int)((unsigned long long)__ballot(vote) >> (__lane_id() & 32u));
}

static __device__ __forceinline__ bool all_of_warp(unsigned int mask, bool vote)
{
    return ballot_of_warp(mask, !vote) == 0;
}

// A load that is kept in the L2 alone on NVIDIA's GPUs.
template <typename T>
static __device__ __forceinline__ T plain_load(const T* at)
{
    return *at;
}

// Newer headers have functions of some of these names, with masks of 64 bits.
#define __shfl_sync shuffle
#define __shfl_up_sync shuffle_up
#define __shfl_down_sync shuffle_down
#define __shfl_xor_sync shuffle_xor
#define __ballot_sync ballot_of_warp
#define __all_sync all_of_warp
#define __ldcg plain_load

// A parameter that is read where it lies.
#undef __grid_constant__
#define __grid_constant__

// CUDA's second number is thread blocks of a multiprocessor, HIP's waves of one of its SIMDs.
#ifdef __AMDGCN__
#undef __launch_bounds__
#define __launch_bounds__(threads, ...) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#endif
