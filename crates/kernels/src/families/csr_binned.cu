// y = alpha A x + beta y, A in compressed sparse rows with its rows binned by length: as many threads a row as its length
// asks for.
//
// Mapping   blocks are dealt out in this order: a block a segment of a row of more than 512 entries, then blocks of
//           teams of 32, 16, 8, 4, 2 and 1 threads a row. The longest rows begin first, the shortest fill up the end.
// Knobs     BLOCK, threads a block, a multiple of 32.
// Limits    rows below 2^32 - 1. Two products of the same matrix must not run at the same time if it has rows of more
//           than 4096 entries.
// Reads     (8 + sizeof(OFFSET)) nrows + (4 + sizeof(STORED)) nnz, and x; 32 bytes a segment, and a partial sum; writes
//           y once. No atomics on y: the same y bit by bit on every run.
// Given     STORED (of A), VALUE (of x, y and sums) = float | double, OFFSET = unsigned int | unsigned long long.
//
// Source: Ashari et al., SC 2014 (ACSR).

// What all bins have in common. `order`, `starts` and `lengths` have an entry a place: the row there, its first entry,
// and how many it has.
struct Binned {
    const unsigned int* order;
    const OFFSET* starts;
    const unsigned int* lengths;
    const unsigned int* col_idx;
    const STORED* values;
    const VALUE* x;
    VALUE* y;
    double alpha;
    double beta;
};

// Does the rows at the places begin .. end with THREADS each if `block` is one of the blocks that they take; else takes
// those off `block`.
template <unsigned int THREADS>
static __device__ __forceinline__ bool do_bin(const Binned& a, unsigned long long& block, unsigned long long begin,
                                              unsigned long long end)
{
    const unsigned int teams = BLOCK / THREADS;
    const unsigned long long blocks = (end - begin + teams - 1) / teams;
    if (block >= blocks) {
        block -= blocks;
        return false;
    }
    const unsigned long long place = begin + block * teams + threadIdx.x / THREADS;
    const unsigned int member = threadIdx.x % THREADS;
    // A team without a row stays for the shuffles, in which every thread of the warp takes part.
    VALUE sum = 0;
    unsigned int row = 0;
    if (place < end) {
        row = a.order[place];
        const OFFSET start = a.starts[place];
        sum = sum_of_entries<THREADS, 4>(a.col_idx + start, a.values + start, a.x, member, a.lengths[place]);
    }
    sum = sum_of_team(sum, THREADS);
    if (member == 0 && place < end) {
        store(a.y, row, sum, a.alpha, a.beta);
    }
    return true;
}

// `cut`: end of the rows that are cut into segments, in places; `end_32` to `end_1`: of the bins of so many threads.
extern "C" __global__ void __launch_bounds__(BLOCK)
csr_binned(unsigned long long first_block, unsigned long long segment_count, unsigned long long cut,
           unsigned long long end_32, unsigned long long end_16, unsigned long long end_8, unsigned long long end_4,
           unsigned long long end_2, unsigned long long end_1, const unsigned int* __restrict__ order,
           const OFFSET* __restrict__ starts, const unsigned int* __restrict__ lengths,
           const uint4* __restrict__ segments, VALUE* partials, unsigned int* counters,
           const unsigned int* __restrict__ col_idx, const STORED* __restrict__ values,
           const VALUE* __restrict__ x, VALUE* __restrict__ y, double alpha, double beta)
{
    unsigned long long block = first_block + blockIdx.x;
    if (block < segment_count) {
        do_segment(block, segments, partials, counters, col_idx, values, x, y, alpha, beta);
        return;
    }
    block -= segment_count;
    const Binned a = {order, starts, lengths, col_idx, values, x, y, alpha, beta};
    do_bin<32>(a, block, cut, end_32) || do_bin<16>(a, block, end_32, end_16) ||
        do_bin<8>(a, block, end_16, end_8) || do_bin<4>(a, block, end_8, end_4) ||
        do_bin<2>(a, block, end_4, end_2) || do_bin<1>(a, block, end_2, end_1);
}
