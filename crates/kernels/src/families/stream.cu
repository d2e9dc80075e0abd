// Loads of kernels that read whole lines of the matrix, each line once a product, and x wherever the columns say.
//
// The condition is part of the load: no branch stands between two loads, so that those of a group are on their way
// together. The matrix is read so that it leaves the caches first, which leaves more of them to x.
//
// Measured on an H200, docs/results/h200-streams.md: up to a third of the time where the matrix exceeds the L2. Not
// for kernels whose threads share lines with others that come later (a few threads a row of CSR).

// What is at `at` if it is wanted, else `otherwise`. T has 4 or 8 bytes.
template <typename T>
static __device__ __forceinline__ T stream_if(bool wanted, const T* at, T otherwise)
{
#ifdef __CUDA_ARCH__
    union {
        T value;
        unsigned int word;
        unsigned long long long_word;
    } read;
    read.value = otherwise;
    if (sizeof(T) == 4) {
        asm("{\n .reg .pred p;\n setp.ne.u32 p, %2, 0;\n @p ld.global.cs.b32 %0, [%1];\n}"
            : "+r"(read.word)
            : "l"(at), "r"((unsigned int)wanted));
    } else {
        asm("{\n .reg .pred p;\n setp.ne.u32 p, %2, 0;\n @p ld.global.cs.b64 %0, [%1];\n}"
            : "+l"(read.long_word)
            : "l"(at), "r"((unsigned int)wanted));
    }
    return read.value;
#else
    return wanted ? *at : otherwise;
#endif
}

// The entry of x at `at` if it is wanted, else 0.
static __device__ __forceinline__ VALUE gather_if(bool wanted, const VALUE* at)
{
#ifdef __CUDA_ARCH__
    union {
        VALUE value;
        unsigned int word;
        unsigned long long long_word;
    } read;
    read.value = 0;
    if (sizeof(VALUE) == 4) {
        asm("{\n .reg .pred p;\n setp.ne.u32 p, %2, 0;\n @p ld.global.nc.b32 %0, [%1];\n}"
            : "+r"(read.word)
            : "l"(at), "r"((unsigned int)wanted));
    } else {
        asm("{\n .reg .pred p;\n setp.ne.u32 p, %2, 0;\n @p ld.global.nc.b64 %0, [%1];\n}"
            : "+l"(read.long_word)
            : "l"(at), "r"((unsigned int)wanted));
    }
    return read.value;
#else
    return wanted ? *at : (VALUE)0;
#endif
}
