// y = beta y: what COO needs before its contributions are added, since it does not visit empty rows. With beta = 0,
// y is not read.
//
// Mapping   thread i of all threads of the launch does row first_row + i.
// Knobs     BLOCK, threads a block.
// Limits    none.
// Reads     y unless beta is 0; writes y once.
// Given     VALUE = float | double.

extern "C" __global__ void __launch_bounds__(BLOCK)
clear(unsigned long long first_row, unsigned long long nrows, VALUE* __restrict__ y, double beta)
{
    let_next_launch_begin();
    const unsigned long long row = first_row + (unsigned long long)blockIdx.x * BLOCK + threadIdx.x;
    if (row < nrows) {
        y[row] = beta == 0 ? 0 : (VALUE)beta * y[row];
    }
}
