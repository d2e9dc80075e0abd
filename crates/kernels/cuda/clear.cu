// y = 0: what COO needs before its contributions are added, since it does not visit empty rows.
//
// Mapping   thread i of all threads of the launch does row first_row + i.
// Knobs     BLOCK, threads a block.
// Limits    none.
// Reads     nothing; writes y once.
// Given     VALUE = float | double.

extern "C" __global__ void __launch_bounds__(BLOCK)
clear(unsigned long long first_row, unsigned long long nrows, VALUE* __restrict__ y)
{
    const unsigned long long row = first_row + (unsigned long long)blockIdx.x * BLOCK + threadIdx.x;
    if (row < nrows) {
        y[row] = 0;
    }
}
