// Generates the benchmark matrices of src/benchmark_matrix.rs, number by number the same, and fills vectors.
//
// Mapping   every kernel: thread i of all threads of the launch does the elements i, i + threads, ... of what it
//           writes; the number of blocks is free.
// Knobs     BLOCK, threads a block.
// Limits    row_length <= nrows < 2^32 - 1 (so that k nrows fits in 64 bits); nnz needs 64 bits only.
// Reads     nothing; writes each element once.
// Given     VALUE = float | double, OFFSET = unsigned int | unsigned long long.

// The finaliser of SplitMix64.
static __device__ __forceinline__ unsigned long long mix(unsigned long long z)
{
    z += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

// Column of entry k of a row. `strewn`: 0 for Placement::Banded, 1 for Placement::Strewn.
static __device__ __forceinline__ unsigned int column(unsigned long long nrows, unsigned long long row_length,
                                                      unsigned long long strewn, unsigned long long seed,
                                                      unsigned long long row, unsigned long long k)
{
    if (!strewn) {
        const unsigned long long first = row > row_length / 2 ? row - row_length / 2 : 0;
        const unsigned long long last = nrows - row_length;
        return (unsigned int)((first < last ? first : last) + k);
    }
    const unsigned long long start = k * nrows / row_length;
    const unsigned long long end = (k + 1) * nrows / row_length;
    const unsigned long long r = mix(seed ^ mix(row * row_length + k));
    return (unsigned int)(start + (((r >> 32) * (end - start)) >> 32));
}

// Value of entry number `entry` = row row_length + k: in [-1, 1), never 0, exact in float.
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

// Row offsets of CSR: nrows + 1 of them.
extern "C" __global__ void __launch_bounds__(BLOCK)
generate_row_ptr(unsigned long long nrows, unsigned long long row_length, OFFSET* __restrict__ row_ptr)
{
    for (unsigned long long row = first_element(); row <= nrows; row += all_threads()) {
        row_ptr[row] = (OFFSET)(row * row_length);
    }
}

// Row indices of COO: nnz of them.
extern "C" __global__ void __launch_bounds__(BLOCK)
generate_row_idx(unsigned long long nnz, unsigned long long row_length, unsigned int* __restrict__ row_idx)
{
    for (unsigned long long entry = first_element(); entry < nnz; entry += all_threads()) {
        row_idx[entry] = (unsigned int)(entry / row_length);
    }
}

// Columns and values of CSR and COO: nnz of each.
extern "C" __global__ void __launch_bounds__(BLOCK)
generate_entries(unsigned long long nrows, unsigned long long row_length, unsigned long long strewn,
                 unsigned long long seed, unsigned int* __restrict__ col_idx, VALUE* __restrict__ values)
{
    const unsigned long long nnz = nrows * row_length;
    for (unsigned long long entry = first_element(); entry < nnz; entry += all_threads()) {
        const unsigned long long row = entry / row_length;
        col_idx[entry] = column(nrows, row_length, strewn, seed, row, entry - row * row_length);
        values[entry] = value(seed, entry);
    }
}

// Columns and values of ELL: row_length stride of each. The rows that only align the stride are padding.
extern "C" __global__ void __launch_bounds__(BLOCK)
generate_ell(unsigned long long nrows, unsigned long long row_length, unsigned long long strewn,
             unsigned long long seed, unsigned long long stride, unsigned int* __restrict__ col_idx,
             VALUE* __restrict__ values)
{
    for (unsigned long long at = first_element(); at < row_length * stride; at += all_threads()) {
        const unsigned long long k = at / stride;
        const unsigned long long row = at - k * stride;
        const bool inside = row < nrows;
        col_idx[at] = inside ? column(nrows, row_length, strewn, seed, row, k) : 0xffffffffu;
        values[at] = inside ? value(seed, row * row_length + k) : (VALUE)0;
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
