// Kernels of the drop-in as loops over the rows, tiles or bins of their blocks, in terms of the arguments that the real kernels get. What they
// read and write must be live memory. csr-segmented is missing: it is tried for matrices that are too large for these tests.

#pragma once
#include <cstdint>
#include <string>
#include <vector>

using u32 = unsigned int;
using u64 = unsigned long long;

// True if all of these bytes are device memory, of the driver.
bool is_memory(u64 address, u64 bytes);

struct Quad {
    u32 x, y, z, w;
};

// What the definitions of a module and the launch say.
struct Shape {
    bool is_double, is_wide;
    u32 block, threads_per_row;
    u64 grid;
};

// What a kernel finds wrong; nullptr if all is right.
using Fault = const char*;

template <typename T>
static const T* array(u64 address, u64 count, Fault& fault)
{
    if (count > 0 && !is_memory(address, count * sizeof(T))) {
        fault = "an array of a kernel is not in memory";
    }
    return (const T*)address;
}

// A CSR whose rows are taken one by one, with the y of a product.
template <typename VALUE>
struct Rows {
    const u32* cols;
    const VALUE* values;
    const VALUE* x;
    VALUE* y;
    double alpha, beta;
    Fault& fault;

    VALUE sum(u64 from, u64 to) const
    {
        array<u32>((u64)(cols + from), to - from, fault);
        array<VALUE>((u64)(values + from), to - from, fault);
        VALUE sum = 0;
        for (u64 k = from; k < to && !fault; ++k) {
            sum += values[k] * *array<VALUE>((u64)(x + cols[k]), 1, fault);
        }
        return sum;
    }

    void store(u64 row, VALUE sum) const
    {
        array<VALUE>((u64)(y + row), 1, fault);
        if (!fault) {
            y[row] = beta == 0 ? (VALUE)alpha * sum : (VALUE)alpha * sum + (VALUE)beta * y[row];
        }
    }

    // A segment of a long row; the one that comes last stores the sum of all.
    void segment(u64 at, const Quad* segments, VALUE* partials, u32* counters) const
    {
        const Quad where = *array<Quad>((u64)(segments + 2 * at), 2, fault), which = segments[2 * at + 1];
        const u64 start = where.x | (u64)where.y << 32;
        VALUE all = sum(start, start + where.z);
        if (which.y > 1) {
            partials[at] = all;
            if (++counters[which.x] < which.y) {
                return;
            }
            counters[which.x] = 0;
            all = 0;
            for (u32 k = 0; k < which.y; ++k) {
                all += partials[which.x + k];
            }
        }
        store(where.w, all);
    }
};

static double number(u64 bits)
{
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// The last four arguments of every product.
template <typename VALUE>
static Rows<VALUE> rows_of(const u64* cols_and_values, const u64* last_four, Fault& fault)
{
    return {(const u32*)cols_and_values[0], (const VALUE*)cols_and_values[1], (const VALUE*)last_four[0],
            (VALUE*)last_four[1], number(last_four[2]), number(last_four[3]), fault};
}

// first_row, nrows, row_ptr, col_idx, values, x, y, alpha, beta
template <typename VALUE, typename OFFSET>
static Fault csr_by_rows(const Shape& shape, const u64* a)
{
    Fault fault = nullptr;
    const u64 end = std::min(a[1], a[0] + shape.grid * (shape.block / shape.threads_per_row));
    const OFFSET* const row_ptr = array<OFFSET>(a[2], a[1] + 1, fault);
    const Rows<VALUE> rows = rows_of<VALUE>(a + 3, a + 5, fault);
    for (u64 row = a[0]; row < end && !fault; ++row) {
        rows.store(row, rows.sum(row_ptr[row], row_ptr[row + 1]));
    }
    return fault;
}

// first_tile, tiles, segments, partials, counters, row_ptr, col_idx, values, x, y, alpha, beta
template <typename VALUE, typename OFFSET>
static Fault csr_balanced(const Shape& shape, const u64* a)
{
    Fault fault = nullptr;
    const Quad* const tiles = array<Quad>(a[1] + a[0] * sizeof(Quad), shape.grid, fault) - a[0];
    const OFFSET* const row_ptr = (const OFFSET*)a[5];
    const Rows<VALUE> rows = rows_of<VALUE>(a + 6, a + 8, fault);
    for (u64 at = a[0]; at < a[0] + shape.grid && !fault; ++at) {
        const Quad tile = tiles[at];
        array<OFFSET>((u64)(row_ptr + tile.x), (tile.y & 0xffff) + 1, fault);
        u64 entries = 0;
        for (u64 row = tile.x; row < tile.x + (u64)(tile.y & 0xffff) && !fault; ++row) {
            entries += row_ptr[row + 1] - row_ptr[row];
            // The real kernel has no more products than the tile says.
            rows.store(row, entries > tile.y >> 16 ? (VALUE)NAN : rows.sum(row_ptr[row], row_ptr[row + 1]));
        }
        if (tile.w >> 31) {
            rows.segment(at, (const Quad*)a[2], (VALUE*)a[3], (u32*)a[4]);
        }
    }
    return fault;
}

// first_block, segment_count, cut, end_32 .. end_1, order, starts, lengths, segments, partials, counters, col_idx, values, x, y, alpha, beta
template <typename VALUE, typename OFFSET>
static Fault csr_binned(const Shape& shape, const u64* a)
{
    Fault fault = nullptr;
    const u32* const order = array<u32>(a[9], a[8], fault);
    const OFFSET* const starts = array<OFFSET>(a[10], a[8], fault);
    const u32* const lengths = array<u32>(a[11], a[8], fault);
    const Rows<VALUE> rows = rows_of<VALUE>(a + 15, a + 17, fault);
    for (u64 at = a[0]; at < a[0] + shape.grid && !fault; ++at) {
        if (at < a[1]) {
            rows.segment(at, (const Quad*)a[12], (VALUE*)a[13], (u32*)a[14]);
            continue;
        }
        u64 block = at - a[1];
        for (u32 bin = 0, threads = 32; threads > 0; ++bin, threads /= 2) {
            const u64 begin = a[2 + bin], end = a[3 + bin], teams = shape.block / threads;
            const u64 blocks = (end - begin + teams - 1) / teams;
            if (block >= blocks) {
                block -= blocks;
                continue;
            }
            for (u64 place = begin + block * teams; place < std::min(end, begin + (block + 1) * teams); ++place) {
                rows.store(order[place], rows.sum(starts[place], starts[place] + lengths[place]));
            }
            break;
        }
    }
    return fault;
}

// nrows, row_ptr, wide, sums, answer
template <typename, typename>
static Fault row_lengths(const Shape&, const u64* a)
{
    Fault fault = nullptr;
    array<unsigned char>(a[1], (a[0] + 1) * (a[2] ? 8 : 4), fault);
    volatile u32* const answer = (volatile u32*)array<u32>(a[4], 8, fault);
    u64 numbers[3] = {~0ull, 0, 0};
    for (u64 row = 0; row < a[0] && !fault; ++row) {
        const u64 length = a[2] ? ((const u64*)a[1])[row + 1] - ((const u64*)a[1])[row]
                                : ((const u32*)a[1])[row + 1] - ((const u32*)a[1])[row];
        numbers[0] = std::min(numbers[0], length);
        numbers[1] = std::max(numbers[1], length);
        numbers[2] += length * length;
    }
    for (int i = 0; i < 3 && !fault; ++i) {
        answer[2 * i] = (u32)numbers[i];
        answer[2 * i + 1] = (u32)(numbers[i] >> 32);
    }
    if (!fault) {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        answer[6] = 1;
    }
    return fault;
}

// Kernels of `spin.cu`: what is queued here waits for nothing, and time is only counted.
template <typename, typename>
static Fault timing(const Shape&, const u64*)
{
    return nullptr;
}

using Body = Fault (*)(const Shape&, const u64*);

// A kernel with each type of values (float, double) and offsets (4, 8 bytes), and how many parameters it has.
struct Kernel {
    const char* name;
    unsigned parameters;
    Body bodies[2][2];
};

#define KERNEL(name, body, parameters) \
    {name, parameters, {{body<float, u32>, body<float, u64>}, {body<double, u32>, body<double, u64>}}}

static const Kernel KERNELS[] = {
    KERNEL("csr_scalar", csr_by_rows, 9),    KERNEL("csr_vector", csr_by_rows, 9), KERNEL("csr_balanced", csr_balanced, 12),
    KERNEL("csr_binned", csr_binned, 21),    KERNEL("row_lengths", row_lengths, 5), KERNEL("spin", timing, 4),
    KERNEL("empty", timing, 0),              KERNEL("read_all", timing, 4), KERNEL("small_product", timing, 6),
};
