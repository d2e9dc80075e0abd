// What the headers of HIP give the kernels, as far as they use it, for a clang without ROCm: the functions that its run-time compiler
// declares by itself. Included before a text that begins with hip.cu.

#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))

#define INTRINSIC static __device__ __forceinline__

struct Index {
    unsigned int x;
};
#define threadIdx (Index{__builtin_amdgcn_workitem_id_x()})
#define blockIdx (Index{__builtin_amdgcn_workgroup_id_x()})
#define gridDim (Index{__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x()})

struct __attribute__((aligned(16))) uint4 {
    unsigned int x, y, z, w;
};

INTRINSIC unsigned int __lane_id()
{
    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}

// The bits of the threads that are there and vote, of a wave of 32 or 64.
INTRINSIC unsigned long long __ballot(int vote) { return __builtin_amdgcn_uicmp((unsigned int)vote, 0u, 33); }

// The value of another lane, a word at a time.
template <typename T>
INTRINSIC T of_lane(T value, int lane)
{
    union {
        T value;
        int words[sizeof(T) / 4];
    } words;
    words.value = value;
    for (unsigned int i = 0; i < sizeof(T) / 4; ++i) {
        words.words[i] = __builtin_amdgcn_ds_bpermute(lane * 4, words.words[i]);
    }
    return words.value;
}

template <typename T>
INTRINSIC T __shfl(T value, int lane, int width)
{
    const int own = (int)__lane_id();
    return of_lane(value, own / width * width + lane % width);
}

template <typename T>
INTRINSIC T __shfl_up(T value, unsigned int distance, int width)
{
    const int own = (int)__lane_id();
    return of_lane(value, own % width < (int)distance ? own : own - (int)distance);
}

template <typename T>
INTRINSIC T __shfl_down(T value, unsigned int distance, int width)
{
    const int own = (int)__lane_id();
    return of_lane(value, own % width + (int)distance < width ? own + (int)distance : own);
}

template <typename T>
INTRINSIC T __shfl_xor(T value, int lanes, int width)
{
    const int own = (int)__lane_id(), other = own ^ lanes;
    return of_lane(value, other / width == own / width ? other : own);
}

INTRINSIC void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
INTRINSIC void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }

INTRINSIC void __syncthreads()
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

INTRINSIC int __ffs(unsigned int bits) { return __builtin_ffs((int)bits); }
INTRINSIC int __popc(unsigned int bits) { return __builtin_popcount(bits); }
INTRINSIC int __clz(unsigned int bits) { return bits == 0 ? 32 : __builtin_clz(bits); }

template <typename T>
INTRINSIC T __ldg(const T* at)
{
    return *at;
}

#define RELAXED __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT

template <typename T>
INTRINSIC T atomicAdd(T* at, T value)
{
    return __hip_atomic_fetch_add(at, value, RELAXED);
}

template <typename T>
INTRINSIC T atomicMin(T* at, T value)
{
    return __hip_atomic_fetch_min(at, value, RELAXED);
}

template <typename T>
INTRINSIC T atomicMax(T* at, T value)
{
    return __hip_atomic_fetch_max(at, value, RELAXED);
}

template <typename T>
INTRINSIC T atomicExch(T* at, T value)
{
    return __hip_atomic_exchange(at, value, RELAXED);
}

INTRINSIC unsigned int atomicInc(unsigned int* at, unsigned int most)
{
    return __builtin_amdgcn_atomic_inc32(at, most, __ATOMIC_RELAXED, "agent");
}

INTRINSIC double __longlong_as_double(long long bits) { return __builtin_bit_cast(double, bits); }

// Any clock: nothing here runs.
INTRINSIC long long wall_clock64() { return (long long)__builtin_readcyclecounter(); }
