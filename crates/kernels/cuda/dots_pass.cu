// Adds up the sums that the thread blocks of a product have left: the launch behind products of more blocks than run at once.
//
// Mapping   a thread adds up every so many sums of blocks; then dots.cu.
// Knobs     BLOCK.
// Reads     8 bytes a block of the product and dot product.
// Given     DOTS, 1 to 3.

extern "C" __global__ void __launch_bounds__(BLOCK)
dots_pass(const double* __restrict__ of_blocks, unsigned long long count, double* partials, unsigned int* counter, double* dots)
{
    double sums[DOTS] = {};
    const unsigned long long step = (unsigned long long)gridDim.x * BLOCK;
    for (unsigned long long k = (unsigned long long)blockIdx.x * BLOCK + threadIdx.x; k < count; k += step) {
#pragma unroll
        for (int dot = 0; dot < DOTS; ++dot) {
            sums[dot] += of_blocks[dot * count + k];
        }
    }
    add_up(sums, 0, gridDim.x, partials, counter, dots);
}
