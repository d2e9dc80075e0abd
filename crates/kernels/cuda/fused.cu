// y = alpha A x + beta y, A in parts of neighbouring rows, each in a format and with a kernel of its own: one launch
// for all of them.
//
// Mapping   block b of the launch belongs to the first part whose end_block is beyond b, and does there what the kernel
//           of that part does with its block; the first argument of each part is moved by the blocks before it, so that
//           no kernel knows that it is not alone. All threads of a block have the same part: barriers stay uniform.
// Knobs     BLOCK, threads a block, the same for all parts.
// Limits    PARTS parts, ARGS arguments each.
// Reads     what the parts' kernels read, and the parts once a block, from constant memory.
// Given     PARTS, ARGS; VARIANTS = for each kernel in use: case NUMBER: KERNEL(ARGUMENTS of parts.part[p]); break;

// An argument: the bits of a number or the address of device memory.
struct Word {
    unsigned long long bits;

    __device__ operator unsigned long long() const { return bits; }
    __device__ operator double() const { return __longlong_as_double((long long)bits); }
    template <class T>
    __device__ operator T*() const
    {
        return (T*)bits;
    }
};

struct Part {
    // First block behind the part's own.
    unsigned long long end_block;
    // Which of VARIANTS.
    unsigned long long variant;
    Word args[ARGS];
};

struct Parts {
    Part part[PARTS];
};

extern "C" __global__ void __launch_bounds__(BLOCK)
fused(const __grid_constant__ Parts parts)
{
    // The last part ends with the launch.
    unsigned int p = 0;
    while (blockIdx.x >= parts.part[p].end_block) {
        ++p;
    }
    switch (parts.part[p].variant) {
        VARIANTS
    }
}
