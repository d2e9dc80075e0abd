// y = alpha A x + beta y, A in compressed sparse rows, a team of THREADS_PER_ROW threads a row.
//
// Mapping   BLOCK / THREADS_PER_ROW teams a block; team i of all teams of the launch does row first_row + i.
//           The threads of a team take the entries of its row in turn and add up their sums by warp shuffles.
// Knobs     BLOCK, threads a block, a multiple of 32; THREADS_PER_ROW = 2, 4, 8, 16 or 32, so that a team lies
//           within one warp.
// Limits    none on rows; nnz must fit in OFFSET. Rows shorter than the team leave threads idle.
// Reads     sizeof(OFFSET) (nrows + 1) + (4 + sizeof(STORED)) nnz, and x; writes y once. No atomics: the same
//           y bit by bit on every run.
// Given     STORED (of A), VALUE (of x, y and sums) = float | double, OFFSET = unsigned int | unsigned long long.
//
// Sources: Bell and Garland, SC 2009 (a warp a row); Wang, Gu and Li 2017 (half a warp a row).

extern "C" __global__ void __launch_bounds__(BLOCK)
csr_vector(unsigned long long first_row, unsigned long long nrows,
           const OFFSET* __restrict__ row_ptr, const unsigned int* __restrict__ col_idx,
           const STORED* __restrict__ values, const VALUE* __restrict__ x, VALUE* __restrict__ y,
           double alpha, double beta)
{
    const unsigned int team = threadIdx.x / THREADS_PER_ROW;
    const unsigned int member = threadIdx.x % THREADS_PER_ROW;
    const unsigned long long row =
        first_row + (unsigned long long)blockIdx.x * (BLOCK / THREADS_PER_ROW) + team;

    // A team without a row stays for the shuffles, in which every thread of the warp takes part.
    VALUE sum = 0;
    if (row < nrows) {
        // 64 bits, since a step of a whole team beyond the largest OFFSET would wrap.
        const unsigned long long end = row_ptr[row + 1];
        for (unsigned long long k = row_ptr[row] + (unsigned long long)member; k < end; k += THREADS_PER_ROW) {
            sum += values[k] * __ldg(x + col_idx[k]);
        }
    }
    sum = sum_of_team(sum, THREADS_PER_ROW);
    if (member == 0 && row < nrows) {
        store(y, row, sum, alpha, beta);
    }
}
