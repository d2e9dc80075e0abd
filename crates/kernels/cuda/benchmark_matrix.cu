// Generates the benchmark matrices of src/benchmark_matrix.rs, number by number the same, and fills vectors.
//
// Mapping   generate_entries: warp w of all warps of the launch does the rows w, w + warps, ..., its threads the
//           entries of a row. Every other kernel: thread i of all threads of the launch does the elements
//           i, i + threads, ... of what it writes. The number of blocks is free.
// Knobs     BLOCK, threads a block; a multiple of 32.
// Limits    a row has at most nrows < 2^32 - 1 entries (so that k nrows fits in 64 bits); nnz needs 64 bits only.
// Reads     row offsets where the lengths of the rows were drawn (the host draws them), of JAD the order of the rows
//           and where diagonals begin, else nothing; writes each element once.
// Given     VALUE = float | double, OFFSET = unsigned int | unsigned long long.
//
// `longest`: entries that the longest row may have; entries are numbered as if every row had so many. `row_ptr`: where
// each row begins, or null if every row has `longest` entries.

// The finaliser of SplitMix64.
static __device__ __forceinline__ unsigned long long mix(unsigned long long z)
{
    z += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

// First entry of a row, and the number of its entries.
static __device__ __forceinline__ unsigned long long row_start(const OFFSET* row_ptr, unsigned long long longest,
                                                               unsigned long long row)
{
    return row_ptr ? row_ptr[row] : row * longest;
}

static __device__ __forceinline__ unsigned long long row_length(const OFFSET* row_ptr, unsigned long long longest,
                                                                unsigned long long row)
{
    return row_ptr ? row_ptr[row + 1] - row_ptr[row] : longest;
}

// Column of entry k, number `entry`, of a row of `length`. `scattered`: 0 for Placement::Banded, 1 for Placement::Scattered.
static __device__ __forceinline__ unsigned int column(unsigned long long nrows, unsigned long long length,
                                                      unsigned long long scattered, unsigned long long seed,
                                                      unsigned long long row, unsigned long long k,
                                                      unsigned long long entry)
{
    if (!scattered) {
        const unsigned long long first = row > length / 2 ? row - length / 2 : 0;
        const unsigned long long last = nrows - length;
        return (unsigned int)((first < last ? first : last) + k);
    }
    const unsigned long long start = k * nrows / length;
    const unsigned long long end = (k + 1) * nrows / length;
    const unsigned long long r = mix(seed ^ mix(entry));
    return (unsigned int)(start + (((r >> 32) * (end - start)) >> 32));
}

// Value of entry number `entry` = row longest + k: in [-1, 1), never 0, exact in float.
static __device__ __forceinline__ VALUE value(unsigned long long seed, unsigned long long entry)
{
    const unsigned long long r = mix(~seed ^ mix(entry));
    return (VALUE)((double)(2 * (r >> 41) + 1) / 8388608.0 - 1.0);
}

static __device__ __forceinline__ unsigned long long first_element()
{
    return (unsigned long long)blockIdx.x * BLOCK + threadIdx.x;
}

static __device__ __forceinline__ unsigned long long all_threads()
{
    return (unsigned long long)gridDim.x * BLOCK;
}

// Row offsets of CSR with rows of one length: nrows + 1 of them.
extern "C" __global__ void __launch_bounds__(BLOCK)
generate_row_ptr(unsigned long long nrows, unsigned long long length, OFFSET* __restrict__ row_ptr)
{
    for (unsigned long long row = first_element(); row <= nrows; row += all_threads()) {
        row_ptr[row] = (OFFSET)(row * length);
    }
}

// Columns and values of CSR: nnz of each.
extern "C" __global__ void __launch_bounds__(BLOCK)
generate_entries(unsigned long long nrows, unsigned long long longest, unsigned long long scattered,
                 unsigned long long seed, const OFFSET* __restrict__ row_ptr, unsigned int* __restrict__ col_idx,
                 VALUE* __restrict__ values)
{
    for (unsigned long long row = first_element() / 32; row < nrows; row += all_threads() / 32) {
        const unsigned long long start = row_start(row_ptr, longest, row);
        const unsigned long long length = row_length(row_ptr, longest, row);
        for (unsigned long long k = threadIdx.x % 32; k < length; k += 32) {
            const unsigned long long entry = row * longest + k;
            col_idx[start + k] = column(nrows, length, scattered, seed, row, k, entry);
            values[start + k] = value(seed, entry);
        }
    }
}

// Columns and values of ELL: width stride of each. Behind a row's entries, and in the rows that only align the stride,
// is padding.
extern "C" __global__ void __launch_bounds__(BLOCK)
generate_ell(unsigned long long nrows, unsigned long long longest, unsigned long long scattered,
             unsigned long long seed, const OFFSET* __restrict__ row_ptr, unsigned long long width,
             unsigned long long stride, unsigned int* __restrict__ col_idx, VALUE* __restrict__ values)
{
    for (unsigned long long at = first_element(); at < width * stride; at += all_threads()) {
        const unsigned long long k = at / stride;
        const unsigned long long row = at - k * stride;
        const unsigned long long length = row < nrows ? row_length(row_ptr, longest, row) : 0;
        const unsigned long long entry = row * longest + k;
        const bool inside = k < length;
        col_idx[at] = inside ? column(nrows, length, scattered, seed, row, k, entry) : 0xffffffffu;
        values[at] = inside ? value(seed, entry) : (VALUE)0;
    }
}

// Columns and values of JAD: nnz of each. `permutation`: the row at each place; `diagonal_ptr`: where diagonals begin.
extern "C" __global__ void __launch_bounds__(BLOCK)
generate_jad(unsigned long long nrows, unsigned long long longest, unsigned long long scattered,
             unsigned long long seed, const OFFSET* __restrict__ row_ptr,
             const unsigned int* __restrict__ permutation, const unsigned long long* __restrict__ diagonal_ptr,
             unsigned int* __restrict__ col_idx, VALUE* __restrict__ values)
{
    for (unsigned long long place = first_element(); place < nrows; place += all_threads()) {
        const unsigned long long row = permutation[place];
        const unsigned long long length = row_length(row_ptr, longest, row);
        for (unsigned long long k = 0; k < length; ++k) {
            const unsigned long long entry = row * longest + k;
            const unsigned long long at = diagonal_ptr[k] + place;
            col_idx[at] = column(nrows, length, scattered, seed, row, k, entry);
            values[at] = value(seed, entry);
        }
    }
}

// x as sparsight_device::random_x gives it: the values of a benchmark matrix with one entry a row.
extern "C" __global__ void __launch_bounds__(BLOCK)
random_x(unsigned long long count, unsigned long long seed, VALUE* __restrict__ x)
{
    for (unsigned long long i = first_element(); i < count; i += all_threads()) {
        x[i] = value(seed, i);
    }
}

// NaN, so that an entry of y that a kernel forgets is seen.
extern "C" __global__ void __launch_bounds__(BLOCK)
poison(unsigned long long count, VALUE* __restrict__ y)
{
    const VALUE nan = (VALUE)__longlong_as_double(0x7ff8000000000000ll);
    for (unsigned long long i = first_element(); i < count; i += all_threads()) {
        y[i] = nan;
    }
}
