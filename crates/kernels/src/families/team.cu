// What teams of threads do together on the rows of CSR.
//
// Given     STORED (of A), VALUE (of x, y and sums) = float | double.

// The sum over the `threads` threads of a team, 1 to 32 of them and a power of two, right in its first thread. All 32
// threads of the warp must call it.
static __device__ __forceinline__ VALUE sum_of_team(VALUE sum, int threads)
{
#pragma unroll
    for (int distance = threads / 2; distance > 0; distance /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, distance, threads);
    }
    return sum;
}

// The products of the entries member, member + STRIDE, ... of a run of `length`, added up. AHEAD of them are asked for
// before the first is used. member + AHEAD STRIDE steps must stay below 2^32.
template <unsigned int STRIDE, unsigned int AHEAD>
static __device__ __forceinline__ VALUE sum_of_entries(const unsigned int* cols, const STORED* values, const VALUE* x,
                                                       unsigned int member, unsigned int length)
{
    VALUE sum = 0;
    for (unsigned int k = member; k < length; k += STRIDE * AHEAD) {
        unsigned int col[AHEAD];
        STORED value[AHEAD];
#pragma unroll
        for (unsigned int i = 0; i < AHEAD; ++i) {
            if (k + i * STRIDE < length) {
                col[i] = cols[k + i * STRIDE];
                value[i] = values[k + i * STRIDE];
            }
        }
#pragma unroll
        for (unsigned int i = 0; i < AHEAD; ++i) {
            if (k + i * STRIDE < length) {
                sum += value[i] * __ldg(x + col[i]);
            }
        }
    }
    return sum;
}
