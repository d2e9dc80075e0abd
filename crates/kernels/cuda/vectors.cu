// What solvers do with vectors between two products, where a matrix is dealt out to several GPUs and a library of one GPU's
// vectors would not know of the others.
//
// Mapping   `combine`: thread i of all threads of the launch does the entries i, i + threads, ...; the number of blocks is
//           free. `dot_pieces`: PIECES pieces of 32 threads each, which the warps of the launch take in turn; thread k of
//           piece p the entries 32 p + k, 32 (p + PIECES) + k, ... `dot_sum`: one warp.
// Knobs     BLOCK, threads a block; a multiple of 32. PIECES, a multiple of 32.
// Limits    none.
// Reads     `combine`: x and, unless beta is 0, y once; writes y. `dot_pieces`: x and y once. `dot_sum`: PIECES sums.
// Order     sums are added up in an order that depends on PIECES alone: whatever the launch and the GPU, the same result.
// Given     VALUE (of vectors) = float | double. Sums are double.

static const unsigned int ALL_THREADS = 0xffffffffu;

static __device__ __forceinline__ double sum_of_warp(double sum)
{
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(ALL_THREADS, sum, distance);
    }
    return sum;
}

// y = alpha x + beta y; with beta = 0, y is not read.
extern "C" __global__ void __launch_bounds__(BLOCK)
combine(unsigned long long count, double alpha, const VALUE* __restrict__ x, double beta, VALUE* __restrict__ y)
{
    const unsigned long long step = (unsigned long long)gridDim.x * BLOCK;
    for (unsigned long long at = (unsigned long long)blockIdx.x * BLOCK + threadIdx.x; at < count; at += step) {
        const double scaled = alpha * (double)x[at];
        y[at] = (VALUE)(beta == 0.0 ? scaled : scaled + beta * (double)y[at]);
    }
}

// The sum of x[i] y[i] of each piece.
extern "C" __global__ void __launch_bounds__(BLOCK)
dot_pieces(unsigned long long count, const VALUE* __restrict__ x, const VALUE* __restrict__ y,
           double* __restrict__ pieces)
{
    const unsigned int lane = threadIdx.x % 32;
    const unsigned int warps = gridDim.x * (BLOCK / 32);
    for (unsigned int piece = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32; piece < PIECES; piece += warps) {
        double sum = 0.0;
        for (unsigned long long at = 32ull * piece + lane; at < count; at += 32ull * PIECES) {
            sum += (double)x[at] * (double)y[at];
        }
        sum = sum_of_warp(sum);
        if (lane == 0) {
            pieces[piece] = sum;
        }
    }
}

// The sum of the pieces.
extern "C" __global__ void __launch_bounds__(BLOCK)
dot_sum(const double* __restrict__ pieces, double* __restrict__ result)
{
    if (blockIdx.x > 0 || threadIdx.x >= 32) {
        return;
    }
    double sum = 0.0;
    for (unsigned int piece = threadIdx.x; piece < PIECES; piece += 32) {
        sum += pieces[piece];
    }
    sum = sum_of_warp(sum);
    if (threadIdx.x == 0) {
        *result = sum;
    }
}
