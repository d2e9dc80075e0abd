// y = alpha A x + beta y, A in compressed sparse rows, a thread block a tile: about as many rows and non-zeros for
// every block, however long the rows are.
//
// Mapping   block i of all blocks of the launch does tile first_tile + i, in three steps:
//
//               1  all threads      products of the tile's non-zeros, neighbours by neighbouring threads -> shared memory
//               2  teams            the sum of each row; as many threads a row as the block has for its rows. A row far
//                                   longer than the others is left to the whole warp
//               3  the whole block  the segment of a long row, if the tile has one (segment.cu)
//
// Knobs     BLOCK, threads a block, a multiple of 32; ITEMS, rows and non-zeros of a tile, counted together.
// Limits    rows below 2^32 - 1; a tile has at most ITEMS rows and 2 ITEMS non-zeros beside its segment. Two products
//           of the same matrix must not run at the same time if it has rows of more than ITEMS non-zeros.
// Reads     16 bytes a tile, sizeof(OFFSET) (nrows + 1) + (4 + sizeof(STORED)) nnz, and x; of long rows 32 bytes and a
//           partial sum a tile more; writes y once. No atomics on y: the same y bit by bit on every run.
// Given     STORED (of A), VALUE (of x, y and sums) = float | double, OFFSET = unsigned int | unsigned long long.
//
// Sources: Merrill and Garland, SC 2016 (rows and non-zeros counted together); Greathouse and Daga, SC 2014 (products
// of whole rows in shared memory, long rows apart).

// Products that a thread asks for before it uses the first: its share of a tile and one more, since a tile's last row may
// hang over. More than that would take registers for nothing.
static const unsigned int AHEAD = ITEMS / BLOCK < 8 ? ITEMS / BLOCK + 1 : 9;

// Steps in shared memory beyond which a row is left to the whole warp. Chosen: twice a thread's share of a tile, and no
// fewer than the warp's own sum with its shuffles takes.
static const unsigned int MOST_STEPS = 2 * ITEMS / BLOCK < 16 ? 16 : 2 * ITEMS / BLOCK;

// Place of product k. One left out in 32: teams of rows of 8, 16 or 32 entries would else all wait for the same bank.
static __device__ __forceinline__ unsigned int place(unsigned int k)
{
    return k + k / 32;
}

// Whether a product is no larger than a value; not so in mixed precision.
static const bool FITS = sizeof(VALUE) == sizeof(STORED);

extern "C" __global__ void __launch_bounds__(BLOCK)
csr_balanced(unsigned long long first_tile, const uint4* __restrict__ tiles, const uint4* __restrict__ segments,
             VALUE* partials, unsigned int* counters, const OFFSET* __restrict__ row_ptr,
             const unsigned int* __restrict__ col_idx, const STORED* __restrict__ values,
             const VALUE* __restrict__ x, VALUE* __restrict__ y, double alpha, double beta)
{
    __shared__ VALUE products[2 * ITEMS + 2 * ITEMS / 32];

    // Tile::words of the host.
    const unsigned long long at = first_tile + blockIdx.x;
    const uint4 tile = tiles[at];
    const unsigned int rows = tile.y & 0xffffu;
    const unsigned int non_zeros = tile.y >> 16;
    const unsigned long long start = tile.z | (unsigned long long)(tile.w & 0x7fffffffu) << 32;

    // A team for each row at once if the block is large enough; no more threads than a row has entries on average.
    unsigned int threads = 1;
    while (threads < 32 && 2 * threads * rows <= BLOCK && threads * rows < non_zeros) {
        threads *= 2;
    }
    const unsigned int teams = BLOCK / threads;
    const unsigned int member = threadIdx.x % threads;
    unsigned int row = threadIdx.x / threads;
    OFFSET from = 0;
    OFFSET to = 0;
    if (row < rows) {
        from = row_ptr[tile.x + (unsigned long long)row];
        to = row_ptr[tile.x + (unsigned long long)row + 1];
    }

    const unsigned int* const cols = col_idx + start;
    const STORED* const tile_values = values + start;
    // From the beginning of a line on, so that warps read whole lines; what lies before the tile is left out: its numbers,
    // below 0, wrap to large ones.
    const unsigned int lead = (unsigned int)(start % 32);
    for (unsigned int step = threadIdx.x; step < lead + non_zeros; step += BLOCK * AHEAD) {
        const unsigned int k = step - lead;
        unsigned int col[AHEAD];
        STORED value[AHEAD];
        // Products take the places of values where they fit: places of their own are registers, and with these fewer blocks are under
        // way.
        VALUE product[FITS ? 1 : AHEAD];
#pragma unroll
        for (unsigned int i = 0; i < AHEAD; ++i) {
            const bool has = k + i * BLOCK < non_zeros;
            col[i] = stream_if(has, cols + (k + i * BLOCK), 0u);
            value[i] = stream_if(has, tile_values + (k + i * BLOCK), (STORED)0);
        }
#pragma unroll
        for (unsigned int i = 0; i < AHEAD; ++i) {
            if (k + i * BLOCK < non_zeros) {
                if (FITS) {
                    value[i] *= __ldg(x + col[i]);
                } else {
                    product[FITS ? 0 : i] = value[i] * __ldg(x + col[i]);
                }
            }
        }
#pragma unroll
        for (unsigned int i = 0; i < AHEAD; ++i) {
            if (k + i * BLOCK < non_zeros) {
                products[place(k + i * BLOCK)] = FITS ? value[i] : product[FITS ? 0 : i];
            }
        }
    }
    __syncthreads();

    // All threads take every round, for the sake of the shuffles.
    for (unsigned int done = 0; done < rows; done += teams, row += teams) {
        const bool has_row = row < rows;
        const unsigned int begin = has_row ? (unsigned int)(from - start) : 0;
        const unsigned int end = has_row ? (unsigned int)(to - start) : 0;
        // Asked for one round ahead.
        if (row + teams < rows) {
            from = row_ptr[tile.x + (unsigned long long)row + teams];
            to = row_ptr[tile.x + (unsigned long long)row + teams + 1];
        }
        const bool too_long = threads < 32 && end - begin > MOST_STEPS * threads;
        VALUE sum = 0;
        if (!too_long) {
            for (unsigned int k = begin + member; k < end; k += threads) {
                sum += products[place(k)];
            }
        }
        sum = sum_of_team(sum, threads);
        unsigned int left = __ballot_sync(0xffffffffu, too_long && member == 0);
        while (left != 0) {
            const int owner = __ffs(left) - 1;
            left &= left - 1;
            const unsigned int long_begin = __shfl_sync(0xffffffffu, begin, owner);
            const unsigned int long_end = __shfl_sync(0xffffffffu, end, owner);
            VALUE long_sum = 0;
            for (unsigned int k = long_begin + threadIdx.x % 32; k < long_end; k += 32) {
                long_sum += products[place(k)];
            }
            long_sum = __shfl_sync(0xffffffffu, sum_of_team(long_sum, 32), 0);
            if (threadIdx.x % 32 == owner) {
                sum = long_sum;
            }
        }
        if (has_row && member == 0) {
            store(y, tile.x + (unsigned long long)row, sum, alpha, beta);
        }
    }

    if (tile.w >> 31) {
        do_segment(at, segments, partials, counters, col_idx, values, x, y, alpha, beta);
    }
}
