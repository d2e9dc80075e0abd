// y = alpha A x + beta y, A in BRO-ELL, one thread a row.
//
// Mapping   thread i of all threads of the launch does row first_row + i. The rows of a slice share width and bit
//           widths; a warp lies within one slice, so its threads read the same bit widths (one word for all of
//           them), come to the end of a symbol at once, and read neighbouring symbols and values.
// Knobs     BLOCK, threads a block; SLICE, rows of a slice, a multiple of 32. Neither has to divide the other.
// Limits    none on rows; positions are computed in 64 bits. A row ends at its slice's width or at the first
//           difference 0. The last slice may have fewer rows.
// Reads     8 bytes for each symbol and 1 for each column of a slice, up to the longest row of the warp, and at most
//           one symbol a row more, which is asked for ahead; 32 bytes for each slice; sizeof(STORED) for each entry
//           that is no padding (in sectors of 32 bytes: a row's padding costs as much as its neighbours make it);
//           and x. Writes y once, also for width 0. No atomics: the same y bit by bit on every run.
// Given     STORED (of A), VALUE (of x, y and sums) = float | double.
//
// Sources: Tang et al., SC 2013; Lehnert et al. 2016.

// Columns that are unpacked before the first of them is used. Unpacking is a chain of dependent steps; with 4 columns
// at a time, their values and entries of x are asked for together.
static const int GROUP = 4;

static const unsigned int SYMBOL_BITS = 64;

extern "C" __global__ void __launch_bounds__(BLOCK)
bro_ell(unsigned long long first_row, unsigned long long nrows,
        const unsigned long long* __restrict__ column_ptr, const unsigned long long* __restrict__ symbol_ptr,
        const unsigned char* __restrict__ bits, const unsigned long long* __restrict__ symbols,
        const STORED* __restrict__ values, const VALUE* __restrict__ x, VALUE* __restrict__ y,
        double alpha, double beta)
{
    const unsigned long long row = first_row + (unsigned long long)blockIdx.x * BLOCK + threadIdx.x;
    if (row >= nrows) {
        return;
    }
    const unsigned long long slice = row / SLICE;
    const unsigned int lane = (unsigned int)(row % SLICE);
    const unsigned long long rows_left = nrows - slice * SLICE;
    const unsigned int stride = rows_left < SLICE ? (unsigned int)rows_left : SLICE;
    const unsigned long long first_column = column_ptr[slice];
    const unsigned long long width = column_ptr[slice + 1] - first_column;
    const unsigned char* const slice_bits = bits + first_column;
    const STORED* const slice_values = values + first_column * SLICE + lane;

    // The next symbol of the row is always on its way while the one before it is unpacked.
    unsigned long long next = symbol_ptr[slice] + lane;
    const unsigned long long end = symbol_ptr[slice + 1];
    unsigned long long ahead = next < end ? symbols[next] : 0;

    // `left` bits of `symbol` are still to be read; above them it holds zeros.
    unsigned long long symbol = 0;
    unsigned int left = 0;
    // Before the first column, whose difference is the column plus 1.
    unsigned int col = 0xffffffffu;
    VALUE sum = 0;
    for (unsigned long long k = 0; k < width; k += GROUP) {
        unsigned int widths[GROUP];
        unsigned int differences[GROUP];
        unsigned int cols[GROUP];
        STORED value[GROUP];
        VALUE factor[GROUP];
#pragma unroll
        for (int i = 0; i < GROUP; ++i) {
            widths[i] = k + i < width ? slice_bits[k + i] : 0;
        }
#pragma unroll
        for (int i = 0; i < GROUP; ++i) {
            const unsigned int width_here = widths[i];
            unsigned long long difference = symbol;
            if (left < width_here) {
                difference |= ahead << left;
                symbol = ahead >> (width_here - left);
                left += SYMBOL_BITS - width_here;
                next += stride;
                ahead = next < end ? symbols[next] : 0;
            } else {
                symbol >>= width_here;
                left -= width_here;
            }
            differences[i] = (unsigned int)(difference & ((1ull << width_here) - 1));
            col += differences[i];
            cols[i] = col;
        }
#pragma unroll
        for (int i = 0; i < GROUP; ++i) {
            value[i] = stream_if(differences[i] != 0, slice_values + (k + i) * stride, (STORED)0);
            factor[i] = gather_if(differences[i] != 0, x + cols[i]);
        }
#pragma unroll
        for (int i = 0; i < GROUP; ++i) {
            sum += value[i] * factor[i];
        }
        if (differences[GROUP - 1] == 0) {
            break;
        }
    }
    store(y, row, sum, alpha, beta);
}
