// y = y + alpha A^T x, A in compressed sparse rows as it lies: no transposed copy of A.
//
// Mapping   BLOCK / THREADS_PER_ROW teams a block; team i of all teams of the launch does row first_row + i. The threads of a team take the
//           entries of its row in turn, multiply each with the row's entry of x and add the product to y at its column.
// Knobs     BLOCK, threads a block, a multiple of 32; THREADS_PER_ROW = 1, 2, 4, 8, 16 or 32.
// Limits    none on rows; nnz must fit in OFFSET. y must hold beta times what it held (`clear` before it). Columns with many entries make
//           threads wait for each other.
// Reads     sizeof(OFFSET) (nrows + 1) + (4 + sizeof(STORED)) nnz, and x once; adds to y by atomics, an entry at a time, in an order that
//           may vary: y may differ in its last bits from run to run.
// Given     STORED (of A), VALUE (of x and y) = float | double, OFFSET = unsigned int | unsigned long long.

extern "C" __global__ void __launch_bounds__(BLOCK)
csr_transposed(unsigned long long first_row, unsigned long long nrows, const OFFSET* __restrict__ row_ptr,
               const unsigned int* __restrict__ col_idx, const STORED* __restrict__ values,
               const VALUE* __restrict__ x, VALUE* __restrict__ y, double alpha)
{
    const unsigned int team = threadIdx.x / THREADS_PER_ROW;
    const unsigned int member = threadIdx.x % THREADS_PER_ROW;
    const unsigned long long row =
        first_row + (unsigned long long)blockIdx.x * (BLOCK / THREADS_PER_ROW) + team;
    if (row < nrows) {
        const VALUE scaled = (VALUE)alpha * x[row];
        const unsigned long long end = row_ptr[row + 1];
        const unsigned long long begin = row_ptr[row];
        wait_for_launch_before();
        for (unsigned long long k = begin + (unsigned long long)member; k < end; k += THREADS_PER_ROW) {
            atomicAdd(y + col_idx[k], values[k] * scaled);
        }
    }
}
