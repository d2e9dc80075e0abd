// What timing needs on the device: a kernel that holds the stream until the host lets go, one that empties the
// L2 cache, one that does nothing, and one that does the least that a product does.
//
// Mapping   `spin` and `empty`: one thread. `small_product`: one thread for each row. `read_all`: thread i of all threads of the
//           launch reads the elements i, i + threads, ...; the number of blocks is free.
// Knobs     BLOCK, threads a block of read_all; SMALL_BLOCK, of small_product.
// Limits    a spinning kernel that is not let go within `limit` ticks gives up and says so.
// Reads     `spin`: 4 bytes of host memory again and again. `read_all`: 16 count bytes.

// A clock that all multiprocessors share: its ticks are nanoseconds on NVIDIA's GPUs, and what the driver says on AMD's.
static __device__ __forceinline__ unsigned long long now()
{
#ifdef __CUDA_ARCH__
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
#else
    return wall_clock64();
#endif
}

// Waits until `*released` has reached `ticket`. After `limit` ticks it writes the ticket to `*timed_out` and ends: what
// was queued behind it may then have started before all of it was queued.
extern "C" __global__ void spin(const volatile unsigned int* released, unsigned long long ticket,
                                volatile unsigned int* timed_out, unsigned long long limit)
{
    const unsigned long long start = now();
    // The difference as a signed number, so that tickets may wrap.
    while ((int)(*released - (unsigned int)ticket) < 0) {
        if (now() - start > limit) {
            *timed_out = (unsigned int)ticket;
            __threadfence_system();
            return;
        }
    }
}

// How far an element moves from pass to pass. Chosen: coprime to the numbers of multiprocessors that GPUs have.
static const unsigned long long BLOCKS_BETWEEN_PASSES = 37;

// Nothing: the cost of a launch.
extern "C" __global__ void empty()
{
}

// y = A x of a CSR matrix, one thread for each row: what a product costs however small it is. Its loads wait for each other as those of
// every product do.
extern "C" __global__ void __launch_bounds__(SMALL_BLOCK)
small_product(unsigned long long nrows, const unsigned int* offsets, const unsigned int* columns, const float* values,
              const float* x, float* y)
{
    const unsigned int row = blockIdx.x * SMALL_BLOCK + threadIdx.x;
    if (row < nrows) {
        float sum = 0.0f;
        for (unsigned int i = offsets[row]; i < offsets[row + 1]; ++i) {
            sum += values[i] * x[columns[i]];
        }
        y[row] = sum;
    }
}

// Reads `count` elements of 16 bytes, `passes` times, so that they are in the L2 cache, or, where they are many, nothing else
// is. It reads rather than writes because written lines would have to be written back during the product that is timed next.
// Each pass gives an element to another block and so, mostly, to another multiprocessor: where the L2 consists of parts that
// each serve some of the multiprocessors and keep copies of what lies in another, an element ends up in all of them. `never` is
// a word of no meaning that is written if a thread has seen all bits set: the compiler cannot know, so the reads stay.
extern "C" __global__ void __launch_bounds__(BLOCK)
read_all(unsigned long long count, const uint4* buffer, unsigned int* never, unsigned long long passes)
{
    unsigned int bits = 0;
    const unsigned long long step = (unsigned long long)gridDim.x * BLOCK;
    for (unsigned long long pass = 0; pass < passes; ++pass) {
        const unsigned long long shift = pass * BLOCKS_BETWEEN_PASSES * BLOCK % count;
        for (unsigned long long i = (unsigned long long)blockIdx.x * BLOCK + threadIdx.x; i < count; i += step) {
            const unsigned long long at = i + shift < count ? i + shift : i + shift - count;
            const uint4 element = __ldcg(buffer + at);
            bits |= element.x | element.y | element.z | element.w;
        }
    }
    if (bits == 0xffffffffu) {
        *never = bits;
    }
}
