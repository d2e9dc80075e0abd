// Lays the entries of a CSR matrix out in other formats, number by number as sparsight_matrix does it. The host has
// found out from the row offsets alone where everything goes.
//
// Mapping   lay_slices, lay_diagonals, lay_offsets: thread i of all threads of the launch does the places i,
//           i + threads, ...; neighbouring threads write neighbouring words; so do place_values, to_order and from_order. lay_coo, mark_diagonals: one warp per
//           row, its threads the entries. count_blocks, lay_blocks: one thread per row of blocks. bro_widths: one warp
//           per slice, its threads the columns. bro_pack: one thread per row. The number of thread blocks is free.
// Knobs     BLOCK, threads a block; a multiple of 32.
// Limits    rows below 2^32 - 1 where a format names them with 32 bits; positions are computed in 64 bits.
// Reads     the CSR once (where a thread does a row, in pieces that its neighbours share), the offsets of the format
//           once; writes each element of the format once, padding included.
// Given     VALUE (stored in A), ENTRY (of x, y and new values) = float | double, OFFSET = unsigned int | unsigned long long.
//
// Sources: of the formats, in sparsight_matrix.

// Marks padding: sparsight_matrix::Ell::PAD, and of SELL.
static const unsigned int PAD = 0xffffffffu;

// The column before a row's first in BRO-ELL, so that the first difference is the column plus 1.
static const unsigned int BEFORE_FIRST = 0xffffffffu;

static const unsigned int SYMBOL_BITS = 64;

static __device__ __forceinline__ unsigned long long first_element()
{
    return (unsigned long long)blockIdx.x * BLOCK + threadIdx.x;
}

static __device__ __forceinline__ unsigned long long all_threads()
{
    return (unsigned long long)gridDim.x * BLOCK;
}

// ELL, the ELL part of HYB, and SELL: slices of `slice` places, `slice_ptr` where each begins. `places` are those of
// all slices; behind the nrows first there is no row. `permutation`: the row at each place, or null if place i is
// row i. Of a row longer than its slice is wide the first entries are taken.
extern "C" __global__ void __launch_bounds__(BLOCK)
lay_slices(unsigned long long places, unsigned long long nrows, unsigned long long slice,
           const OFFSET* __restrict__ csr_row_ptr, const unsigned int* __restrict__ csr_col_idx,
           const VALUE* __restrict__ csr_values, const unsigned int* __restrict__ permutation,
           const unsigned long long* __restrict__ slice_ptr, unsigned int* __restrict__ col_idx,
           VALUE* __restrict__ values)
{
    for (unsigned long long place = first_element(); place < places; place += all_threads()) {
        unsigned long long start = 0, length = 0;
        if (place < nrows) {
            const unsigned long long row = permutation ? permutation[place] : place;
            start = csr_row_ptr[row];
            length = csr_row_ptr[row + 1] - start;
        }
        const unsigned long long begin = slice_ptr[place / slice];
        const unsigned long long width = (slice_ptr[place / slice + 1] - begin) / slice;
        for (unsigned long long k = 0; k < width; ++k) {
            const unsigned long long at = begin + k * slice + place % slice;
            const bool inside = k < length;
            col_idx[at] = inside ? csr_col_idx[start + k] : PAD;
            values[at] = inside ? csr_values[start + k] : (VALUE)0;
        }
    }
}

// JAD. `permutation`: the row at each place; `diagonal_ptr`: where diagonals begin.
extern "C" __global__ void __launch_bounds__(BLOCK)
lay_diagonals(unsigned long long nrows, const OFFSET* __restrict__ csr_row_ptr,
              const unsigned int* __restrict__ csr_col_idx, const VALUE* __restrict__ csr_values,
              const unsigned int* __restrict__ permutation, const unsigned long long* __restrict__ diagonal_ptr,
              unsigned int* __restrict__ col_idx, VALUE* __restrict__ values)
{
    for (unsigned long long place = first_element(); place < nrows; place += all_threads()) {
        const unsigned long long row = permutation[place];
        const unsigned long long start = csr_row_ptr[row];
        const unsigned long long length = csr_row_ptr[row + 1] - start;
        for (unsigned long long k = 0; k < length; ++k) {
            const unsigned long long at = diagonal_ptr[k] + place;
            col_idx[at] = csr_col_idx[start + k];
            values[at] = csr_values[start + k];
        }
    }
}

// COO, and the COO part of HYB: what each row has behind its first `skip` entries. `starts`: where that goes, or null
// if it stays where it is; then only row_idx is written.
extern "C" __global__ void __launch_bounds__(BLOCK)
lay_coo(unsigned long long nrows, unsigned long long skip, const OFFSET* __restrict__ csr_row_ptr,
        const unsigned int* __restrict__ csr_col_idx, const VALUE* __restrict__ csr_values,
        const unsigned long long* __restrict__ starts, unsigned int* __restrict__ row_idx,
        unsigned int* __restrict__ col_idx, VALUE* __restrict__ values)
{
    for (unsigned long long row = first_element() / 32; row < nrows; row += all_threads() / 32) {
        const unsigned long long start = csr_row_ptr[row];
        const unsigned long long length = csr_row_ptr[row + 1] - start;
        const unsigned long long first = starts ? starts[row] : start;
        for (unsigned long long k = skip + threadIdx.x % 32; k < length; k += 32) {
            const unsigned long long at = first + k - skip;
            row_idx[at] = (unsigned int)row;
            if (starts) {
                col_idx[at] = csr_col_idx[start + k];
                values[at] = csr_values[start + k];
            }
        }
    }
}

// DIA: marks the diagonals that hold an entry. Byte j - i + nrows - 1 of `marks` belongs to entry (i, j).
extern "C" __global__ void __launch_bounds__(BLOCK)
mark_diagonals(unsigned long long nrows, const OFFSET* __restrict__ csr_row_ptr,
               const unsigned int* __restrict__ csr_col_idx, unsigned char* marks)
{
    for (unsigned long long row = first_element() / 32; row < nrows; row += all_threads() / 32) {
        const unsigned long long end = csr_row_ptr[row + 1];
        for (unsigned long long k = csr_row_ptr[row] + threadIdx.x % 32; k < end; k += 32) {
            unsigned char* const mark = marks + (csr_col_idx[k] + (nrows - 1 - row));
            // Nearly always the mark is set already, and then nothing is written.
            if (!*mark) {
                *mark = 1;
            }
        }
    }
}

// DIA: entry (i, i + offsets[d]) at d stride + i, 0 where there is none. `offsets` ascend, as columns do.
extern "C" __global__ void __launch_bounds__(BLOCK)
lay_offsets(unsigned long long stride, unsigned long long nrows, unsigned long long diagonals,
            const OFFSET* __restrict__ csr_row_ptr, const unsigned int* __restrict__ csr_col_idx,
            const VALUE* __restrict__ csr_values, const long long* __restrict__ offsets, VALUE* __restrict__ values)
{
    for (unsigned long long row = first_element(); row < stride; row += all_threads()) {
        unsigned long long k = row < nrows ? csr_row_ptr[row] : 0;
        const unsigned long long end = row < nrows ? csr_row_ptr[row + 1] : 0;
        for (unsigned long long d = 0; d < diagonals; ++d) {
            const bool here = k < end && (long long)csr_col_idx[k] - (long long)row == offsets[d];
            values[d * stride + row] = here ? csr_values[k] : (VALUE)0;
            k += here;
        }
    }
}

// BSR: the row of blocks of one thread, of at most six rows, and how far each of them was read.
struct BlockRow {
    unsigned long long at[6], end[6];
};

static __device__ __forceinline__ void open_block_row(BlockRow& rows, unsigned long long first, unsigned long long nrows,
                                                      unsigned int side, const OFFSET* csr_row_ptr)
{
    for (unsigned int i = 0; i < side; ++i) {
        rows.at[i] = first + i < nrows ? csr_row_ptr[first + i] : 0;
        rows.end[i] = first + i < nrows ? csr_row_ptr[first + i + 1] : 0;
    }
}

// The column of the next block, counted in blocks; PAD behind the last.
static __device__ __forceinline__ unsigned int next_block(const BlockRow& rows, unsigned int side,
                                                          const unsigned int* csr_col_idx)
{
    unsigned int next = PAD;
    for (unsigned int i = 0; i < side; ++i) {
        if (rows.at[i] < rows.end[i]) {
            const unsigned int block = csr_col_idx[rows.at[i]] / side;
            next = block < next ? block : next;
        }
    }
    return next;
}

// The blocks of each slice of `slice` rows of blocks, 32 or 1: `touched` those that hold an entry, `stored` `slice` times those of
// its longest row of blocks.
extern "C" __global__ void __launch_bounds__(BLOCK)
count_blocks(unsigned long long nrows, unsigned long long wide_side, unsigned long long slice,
             const OFFSET* __restrict__ csr_row_ptr, const unsigned int* __restrict__ csr_col_idx,
             unsigned long long* __restrict__ stored, unsigned long long* __restrict__ touched)
{
    const unsigned int side = (unsigned int)wide_side;
    const unsigned long long slices = (nrows + slice * side - 1) / (slice * side);
    // A whole number of warps where a slice is one.
    for (unsigned long long place = first_element(); place < slices * slice; place += all_threads()) {
        BlockRow rows;
        open_block_row(rows, place * side, nrows, side, csr_row_ptr);
        unsigned long long length = 0;
        for (unsigned int block; (block = next_block(rows, side, csr_col_idx)) != PAD; ++length) {
            for (unsigned int i = 0; i < side; ++i) {
                while (rows.at[i] < rows.end[i] && csr_col_idx[rows.at[i]] / side == block) {
                    ++rows.at[i];
                }
            }
        }
        unsigned long long longest = length;
        for (int lanes = slice == 32 ? 16 : 0; lanes > 0; lanes /= 2) {
            length += __shfl_xor_sync(0xffffffffu, length, lanes);
            const unsigned long long other = __shfl_xor_sync(0xffffffffu, longest, lanes);
            longest = other > longest ? other : longest;
        }
        if (place % slice == 0) {
            touched[place / slice] = length;
            stored[place / slice] = slice * longest;
        }
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
lay_blocks(unsigned long long nrows, unsigned long long wide_side, unsigned long long slice,
           const OFFSET* __restrict__ csr_row_ptr, const unsigned int* __restrict__ csr_col_idx,
           const VALUE* __restrict__ csr_values, const unsigned long long* __restrict__ slice_ptr,
           unsigned int* __restrict__ col_idx, VALUE* __restrict__ values)
{
    const unsigned int side = (unsigned int)wide_side;
    const unsigned long long slices = (nrows + slice * side - 1) / (slice * side);
    for (unsigned long long place = first_element(); place < slices * slice; place += all_threads()) {
        const unsigned long long s = place / slice, lane = place % slice;
        BlockRow rows;
        open_block_row(rows, place * side, nrows, side, csr_row_ptr);
        for (unsigned long long at = slice_ptr[s]; at < slice_ptr[s + 1]; at += slice) {
            const unsigned int block = next_block(rows, side, csr_col_idx);
            col_idx[at + lane] = block;
            for (unsigned int i = 0; i < side; ++i) {
                for (unsigned int c = 0; c < side; ++c) {
                    const bool here = rows.at[i] < rows.end[i] && block != PAD
                                      && csr_col_idx[rows.at[i]] == block * side + c;
                    values[(at * side + slice * c + lane) * side + i] = here ? csr_values[rows.at[i]] : (VALUE)0;
                    rows.at[i] += here;
                }
            }
        }
    }
}

// A vector in another order: entry i of the new one is entry old_of_new[i] of the old one.
extern "C" __global__ void __launch_bounds__(BLOCK)
to_order(unsigned long long count, const unsigned int* __restrict__ old_of_new, const ENTRY* __restrict__ old,
         ENTRY* __restrict__ ordered)
{
    for (unsigned long long at = first_element(); at < count; at += all_threads()) {
        ordered[at] = old[old_of_new[at]];
    }
}

// Back again, added to beta times what is there; with beta = 0 that is not read.
extern "C" __global__ void __launch_bounds__(BLOCK)
from_order(unsigned long long count, const unsigned int* __restrict__ old_of_new, const ENTRY* __restrict__ ordered,
           ENTRY* __restrict__ old, double beta)
{
    for (unsigned long long at = first_element(); at < count; at += all_threads()) {
        const unsigned long long place = old_of_new[at];
        old[place] = beta == 0 ? ordered[at] : ordered[at] + (ENTRY)beta * old[place];
    }
}

// New values for a matrix that is there. `numbers`: at each place the number of the entry that stands there, counted from
// 1 and 0 for padding, a word as wide as a value; or null if entry i stands at place i.
extern "C" __global__ void __launch_bounds__(BLOCK)
place_values(unsigned long long places, const VALUE* __restrict__ numbers, const ENTRY* __restrict__ entries,
             VALUE* __restrict__ values)
{
    for (unsigned long long place = first_element(); place < places; place += all_threads()) {
        unsigned long long number = place + 1;
        if (numbers) {
            number = sizeof(VALUE) == 4 ? ((const unsigned int*)numbers)[place]
                                        : ((const unsigned long long*)numbers)[place];
        }
        values[place] = number ? (VALUE)entries[number - 1] : (VALUE)0;
    }
}

// The columns of a CSR from another library, of 32 or of 64 bits. `broken` becomes a row, counted from 1, whose
// columns do not increase or lie outside of the matrix, if there is one.
static __device__ __forceinline__ unsigned long long column_at(const unsigned int* source, unsigned long long is_wide,
                                                               unsigned long long k)
{
    return is_wide ? ((const unsigned long long*)source)[k] : source[k];
}

extern "C" __global__ void __launch_bounds__(BLOCK)
take_columns(unsigned long long nrows, unsigned long long ncols, unsigned long long is_wide,
             const OFFSET* __restrict__ row_ptr, const unsigned int* __restrict__ source,
             unsigned int* __restrict__ col_idx, unsigned long long* broken)
{
    for (unsigned long long row = first_element() / 32; row < nrows; row += all_threads() / 32) {
        const unsigned long long start = row_ptr[row], end = row_ptr[row + 1];
        for (unsigned long long k = start + threadIdx.x % 32; k < end; k += 32) {
            const unsigned long long col = column_at(source, is_wide, k);
            col_idx[k] = (unsigned int)col;
            if (col >= ncols || (k > start && column_at(source, is_wide, k - 1) >= col)) {
                *broken = row + 1;
            }
        }
    }
}

// Difference of entry k of a row from the column before it.
static __device__ __forceinline__ unsigned int difference(const unsigned int* csr_col_idx, unsigned long long start,
                                                          unsigned long long k)
{
    return csr_col_idx[start + k] - (k ? csr_col_idx[start + k - 1] : BEFORE_FIRST);
}

// BRO-ELL: the bits that the differences in each column of each slice need, and the symbols of each slice.
// `column_ptr`: the first column of each slice.
extern "C" __global__ void __launch_bounds__(BLOCK)
bro_widths(unsigned long long nrows, unsigned long long slice, const OFFSET* __restrict__ csr_row_ptr,
           const unsigned int* __restrict__ csr_col_idx, const unsigned long long* __restrict__ column_ptr,
           unsigned char* __restrict__ bits, unsigned long long* __restrict__ symbols_per_slice)
{
    const unsigned long long slices = (nrows + slice - 1) / slice;
    const unsigned int lane = threadIdx.x % 32;
    for (unsigned long long s = first_element() / 32; s < slices; s += all_threads() / 32) {
        const unsigned long long first = s * slice;
        const unsigned long long rows = nrows - first < slice ? nrows - first : slice;
        const unsigned long long width = column_ptr[s + 1] - column_ptr[s];
        // A number has as many bits as the OR of it with smaller ones.
        unsigned long long total = 0;
        for (unsigned long long k = lane; k < width; k += 32) {
            unsigned int all = 0;
            for (unsigned long long row = first; row < first + rows; ++row) {
                const unsigned long long start = csr_row_ptr[row];
                if (k < csr_row_ptr[row + 1] - start) {
                    all |= difference(csr_col_idx, start, k);
                }
            }
            const unsigned int needed = 32 - __clz(all);
            bits[column_ptr[s] + k] = (unsigned char)needed;
            total += needed;
        }
        for (int lanes = 16; lanes > 0; lanes /= 2) {
            total += __shfl_xor_sync(0xffffffffu, total, lanes);
        }
        if (lane == 0) {
            symbols_per_slice[s] = rows * ((total + SYMBOL_BITS - 1) / SYMBOL_BITS);
        }
    }
}

// BRO-ELL: symbols and values. `symbol_ptr`: the first symbol of each slice; `bits`: as bro_widths found them.
extern "C" __global__ void __launch_bounds__(BLOCK)
bro_pack(unsigned long long nrows, unsigned long long slice, const OFFSET* __restrict__ csr_row_ptr,
         const unsigned int* __restrict__ csr_col_idx, const VALUE* __restrict__ csr_values,
         const unsigned long long* __restrict__ column_ptr, const unsigned long long* __restrict__ symbol_ptr,
         const unsigned char* __restrict__ bits, unsigned long long* __restrict__ symbols,
         VALUE* __restrict__ values)
{
    for (unsigned long long row = first_element(); row < nrows; row += all_threads()) {
        const unsigned long long s = row / slice;
        const unsigned long long left = nrows - s * slice;
        const unsigned long long stride = left < slice ? left : slice;
        const unsigned long long first_column = column_ptr[s];
        const unsigned long long width = column_ptr[s + 1] - first_column;
        const unsigned long long start = csr_row_ptr[row];
        const unsigned long long length = csr_row_ptr[row + 1] - start;
        VALUE* const row_values = values + first_column * slice + row % slice;
        unsigned long long next = symbol_ptr[s] + row % slice;
        unsigned long long symbol = 0;
        unsigned int filled = 0;
        for (unsigned long long k = 0; k < width; ++k) {
            row_values[k * stride] = k < length ? csr_values[start + k] : (VALUE)0;
            if (k < length) {
                const unsigned long long here = difference(csr_col_idx, start, k);
                const unsigned int needed = bits[first_column + k];
                symbol |= here << filled;
                filled += needed;
                if (filled >= SYMBOL_BITS) {
                    symbols[next] = symbol;
                    next += stride;
                    filled -= SYMBOL_BITS;
                    symbol = here >> (needed - filled);
                }
            }
        }
        // The last one that holds anything, and those that the longest row of the slice needs.
        for (; next < symbol_ptr[s + 1]; next += stride) {
            symbols[next] = symbol;
            symbol = 0;
        }
    }
}
