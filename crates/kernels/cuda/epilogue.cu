// What products with an epilogue have beside their kernels: dot products over all rows, and the launch behind kernels that do not
// write each row once.
//
// Mapping   a thread adds up what its own rows give, a block the sums of its threads by shuffles. If all blocks run at once, the last
//           one adds up the sums of the blocks; which that is, a counter tells, which wraps to 0 by itself. Of more blocks, each would
//           keep its place for the microsecond that the counter takes: they only store their sums, and dots_pass adds these up behind
//           them. What is added to what, and in which order, does not depend on who comes last: the same sums bit by bit on every run.
// Knobs     BLOCK, threads a block, a power of two from 32 on.
// Limits    fewer than 2^32 blocks. Two products with the same partial sums must not run at the same time.
// Reads     what the lines name, once a row; writes y and the outputs once a row. 8 bytes a block and dot product.
// Given     VALUE = float | double; DOTS, 0 to 3; Epilogue and finish_row: the lines, made in epilogue/text.rs.
//
// Sums are double for both types.

// In place of store.cu: y is the epilogue, which knows where y is; a product with an epilogue has alpha = 1 and beta = 0.
static __device__ __forceinline__ void store(Epilogue& y, unsigned long long row, VALUE sum, double alpha, double beta)
{
    finish_row(y, row, sum);
}

// All rows of sums that lie in memory.
static __device__ __forceinline__ void finish_all(Epilogue& epilogue, unsigned long long nrows, const VALUE* sums)
{
    const unsigned long long step = (unsigned long long)gridDim.x * BLOCK;
    for (unsigned long long row = (unsigned long long)blockIdx.x * BLOCK + threadIdx.x; row < nrows; row += step) {
        finish_row(epilogue, row, sums[row]);
    }
}

// A scalar: its bits, or those of its address.
static __device__ __forceinline__ VALUE scalar_of(unsigned long long bits, bool is_address)
{
    return (VALUE)(is_address ? *(const double*)bits : __longlong_as_double((long long)bits));
}
