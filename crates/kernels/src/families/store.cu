// What every kernel does with the sum of a row: y = alpha sum + beta y, where it writes a row alone.
//
// With beta = 0, y is not read: it may hold anything, NaN included. With alpha = 1 and beta = 0 the sum is stored bit
// by bit. alpha and beta are doubles for kernels of every value type, so that all parameters are 64 bits wide; a
// float given as one loses nothing.
//
// Given     VALUE = float | double.

static __device__ __forceinline__ void store(VALUE* y, unsigned long long row, VALUE sum, double alpha, double beta)
{
    const VALUE product = (VALUE)alpha * sum;
    y[row] = beta == 0 ? product : product + (VALUE)beta * y[row];
}
