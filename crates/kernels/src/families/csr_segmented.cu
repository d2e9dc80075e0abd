// y = alpha A x + beta y, A in compressed sparse rows with a bit for each entry that says whether a row begins there; as many
// non-zeros for every warp, however long the rows are.
//
// Mapping   warp w of all warps of the first launch takes run first_run + w: 1,024 neighbouring non-zeros, in 8 steps of 128,
//           4 neighbouring ones a thread. Within a step each thread adds up its own, row by row, and a segmented scan over
//           the warp brings together what threads have of one row. What the last row of a step has is carried into the next.
//
//               entries of thread     0123 | 4567 | 89..            bits     1001 | 0000 | 0100
//               rows                  aaab   bbbb   bccc            stored   a by thread 0, b by thread 2 with what 0 and 1 have
//
//           What a run has of a row that began before it goes to heads[run]. The second launch adds these to y, a thread for
//           each row that reaches beyond its run, a warp for those over many; and it does the rows without entries.
//
// Knobs     BLOCK, threads a block, a multiple of 32.
// Limits    rows below 2^32 - 1. What a row has in other runs is added up by one warp at most: some tenths of a millisecond for a
//           row of 10^8. Two products of the same matrix must not run at the same time: they would share heads.
// Reads     (4 + sizeof(STORED)) nnz + nnz / 8, and x; the number of each row once where some are empty; writes each row
//           once, and once more for those that reach beyond their run. No atomics: the same y bit by bit on every run.
// Given     STORED (of A), VALUE (of x, y and sums) = float | double.
//
// Sources: Blelloch, Heroux and Zagha 1993 (segmented sums); Liu and Vinter, ICS 2015 (CSR5: a bit an entry).

static const unsigned int ALL_THREADS = 0xffffffffu;
static const unsigned int EACH = 4;
static const unsigned int STEPS = 8;
static const unsigned int STEP = 32 * EACH;
static const unsigned int RUN = STEPS * STEP;

// Whether the next step is loaded before the products of this one are added up, and for how many threads of a multiprocessor
// there are to be registers (1,024 with blocks of 512): what was fastest on an H200, docs/results/h200-segmented.md.
static const bool EARLY = sizeof(VALUE) == 4;
static const unsigned int RESIDENT = 1280;

// Four neighbouring words or values of the matrix, from a place that is a multiple of four on. Of a run that the matrix does
// not fill, those behind `left` entries are 0; a whole run has no condition between its loads, so that they are under way
// together.
template <bool WHOLE, typename T>
static __device__ __forceinline__ void load_four(T* to, const T* at, long long left)
{
#ifdef __CUDA_ARCH__
    if (WHOLE && sizeof(T) == 4) {
        union {
            uint4 words;
            T values[EACH];
        } read;
        read.words = __ldcs((const uint4*)at);
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            to[i] = read.values[i];
        }
        return;
    }
    if (WHOLE) {
#pragma unroll
        for (int i = 0; i < EACH; i += 2) {
            union {
                ulonglong2 words;
                T values[2];
            } read;
            read.words = __ldcs((const ulonglong2*)(at + i));
            to[i] = read.values[0];
            to[i + 1] = read.values[1];
        }
        return;
    }
#endif
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
        to[i] = WHOLE || i < left ? at[i] : (T)0;
    }
}

// Which row is at this place among those with entries.
static __device__ __forceinline__ unsigned long long row_at(const unsigned int* rows, unsigned long long named,
                                                            unsigned int place)
{
    return named != 0 ? rows[place] : place;
}

// What a warp does with a run: all of it, or, of the last one, as much as there is.
template <bool WHOLE>
static __device__ __forceinline__ void do_run(unsigned long long run, unsigned long long nnz, unsigned long long named,
                                              const unsigned int* __restrict__ begins,
                                              const unsigned int* __restrict__ bases,
                                              const unsigned int* __restrict__ rows,
                                              const unsigned int* __restrict__ col_idx,
                                              const STORED* __restrict__ values, VALUE* heads,
                                              const VALUE* __restrict__ x, VALUE* __restrict__ y, double alpha,
                                              double beta)
{
    const unsigned int lane = threadIdx.x % 32;
    const unsigned long long start = run * RUN;
    const unsigned int* cols = col_idx + start + lane * EACH;
    const STORED* vals = values + start + lane * EACH;
    const uint4* bits = (const uint4*)(begins + start / 32);
    long long left = WHOLE ? 0 : (long long)(nnz - start) - lane * EACH;

    // Rows with entries that have begun: the open one is that before.
    const unsigned int first = bases[run];
    unsigned int begun = first;
    // The open row is the sum of it over the threads; while `spread` is false, all of it is with thread 31.
    VALUE open = 0;
    bool spread = false;

    unsigned int col[EACH];
    STORED value[EACH];
    if (EARLY) {
        load_four<WHOLE>(col, cols, left);
        load_four<WHOLE>(value, vals, left);
    }
#pragma unroll 1
    for (unsigned int step = 0; step < STEPS; ++step) {
        if (!EARLY) {
            load_four<WHOLE>(col, cols + step * STEP, left);
            load_four<WHOLE>(value, vals + step * STEP, left);
        }
        const uint4 words = bits[step];
        VALUE product[EACH];
        STORED own[EACH];
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            product[i] = gather_if(WHOLE || i < left, x + col[i]);
            own[i] = value[i];
        }
        left -= STEP;
        if (EARLY && step + 1 < STEPS) {
            load_four<WHOLE>(col, cols + (step + 1) * STEP, left);
            load_four<WHOLE>(value, vals + (step + 1) * STEP, left);
        }
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            product[i] *= own[i];
        }
        if ((words.x | words.y | words.z | words.w) == 0) {
#pragma unroll
            for (int i = 0; i < EACH; ++i) {
                open += product[i];
            }
            spread = true;
            continue;
        }
        const VALUE carried = spread ? sum_of_team(open, 32) : __shfl_sync(ALL_THREADS, open, 31);

        // Eight threads share a word of bits.
        const unsigned int of_word[EACH] = {words.x, words.y, words.z, words.w};
        unsigned int word = 0;
        unsigned int before = 0;
        unsigned int all = 0;
#pragma unroll
        for (unsigned int i = 0; i < EACH; ++i) {
            const unsigned int count = __popc(of_word[i]);
            before += i < lane / 8 ? count : 0;
            word = i == lane / 8 ? of_word[i] : word;
            all += count;
        }
        const unsigned int shift = lane % 8 * EACH;
        before += __popc(word & ((1u << shift) - 1));

        // Its own entries, row by row: what it has of the row that is open when it comes is `head`, of the last one `tail`.
        VALUE head = 0;
        VALUE tail = 0;
        bool has_begin = false;
        const unsigned int place = begun + before;
        unsigned int next = place;
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            if (word >> (shift + i) & 1) {
                if (has_begin) {
                    store(y, row_at(rows, named, next - 1), tail, alpha, beta);
                } else {
                    head = tail;
                }
                tail = 0;
                has_begin = true;
                ++next;
            }
            tail += product[i];
        }
        if (lane == 0) {
            if (has_begin) {
                head += carried;
            } else {
                tail += carried;
            }
        }

        // `tail` and those of the threads below, back to the last one in which a row begins.
        const unsigned int beginners = __ballot_sync(ALL_THREADS, has_begin) & (0xffffffffu >> (31 - lane));
        const unsigned int reach = beginners != 0 ? lane - (31 - __clz(beginners)) : lane;
        VALUE sum = tail;
#pragma unroll
        for (unsigned int distance = 1; distance < 32; distance *= 2) {
            const VALUE other = __shfl_up_sync(ALL_THREADS, sum, distance);
            if (distance <= reach) {
                sum += other;
            }
        }
        VALUE below = __shfl_up_sync(ALL_THREADS, sum, 1);
        if (lane == 0) {
            below = 0;
        }
        if (has_begin) {
            if (place == first) {
                heads[run] = below + head;
            } else {
                store(y, row_at(rows, named, place - 1), below + head, alpha, beta);
            }
        }
        begun += all;
        open = lane == 31 ? sum : (VALUE)0;
        spread = false;
    }
    open = sum_of_team(open, 32);
    if (lane == 0) {
        if (begun == first) {
            heads[run] = open;
        } else {
            store(y, row_at(rows, named, begun - 1), open, alpha, beta);
        }
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT / BLOCK)
csr_segmented(unsigned long long first_run, unsigned long long run_count, unsigned long long nnz,
              unsigned long long named, const unsigned int* __restrict__ begins,
              const unsigned int* __restrict__ bases, const unsigned int* __restrict__ rows,
              const unsigned int* __restrict__ col_idx, const STORED* __restrict__ values, VALUE* heads,
              const VALUE* __restrict__ x, VALUE* __restrict__ y, double alpha, double beta)
{
    let_next_launch_begin();
    const unsigned long long run = first_run + (unsigned long long)blockIdx.x * (BLOCK / 32) + threadIdx.x / 32;
    // The same for a whole warp.
    if (run >= run_count) {
        return;
    }
    if ((run + 1) * RUN <= nnz) {
        do_run<true>(run, nnz, named, begins, bases, rows, col_idx, values, heads, x, y, alpha, beta);
    } else {
        do_run<false>(run, nnz, named, begins, bases, rows, col_idx, values, heads, x, y, alpha, beta);
    }
}

// Runs of a row that one thread adds up; more are left to the whole warp. Chosen.
static const unsigned int MOST_RUNS = 32;

extern "C" __global__ void __launch_bounds__(BLOCK)
csr_segmented_rest(unsigned long long first_row, unsigned long long carry_count, unsigned long long empty_count,
                   const uint4* __restrict__ carries, const unsigned int* __restrict__ empty, const VALUE* heads,
                   VALUE* y, double alpha, double beta)
{
    const unsigned long long at = first_row + (unsigned long long)blockIdx.x * BLOCK + threadIdx.x;
    // Carry::words of the host: row, first run, runs.
    uint4 carry = {0, 0, 0, 0};
    if (at < carry_count) {
        carry = carries[at];
    }
    wait_for_launch_before();

    VALUE sum = 0;
    if (carry.z <= MOST_RUNS) {
        for (unsigned int run = 0; run < carry.z; ++run) {
            sum += heads[carry.y + run];
        }
    }
    unsigned int many = __ballot_sync(ALL_THREADS, carry.z > MOST_RUNS);
    while (many != 0) {
        const int owner = __ffs(many) - 1;
        many &= many - 1;
        const unsigned int from = __shfl_sync(ALL_THREADS, carry.y, owner);
        const unsigned int count = __shfl_sync(ALL_THREADS, carry.z, owner);
        VALUE of_row = 0;
        for (unsigned int run = threadIdx.x % 32; run < count; run += 32) {
            of_row += heads[from + run];
        }
        of_row = __shfl_sync(ALL_THREADS, sum_of_team(of_row, 32), 0);
        if (threadIdx.x % 32 == owner) {
            sum = of_row;
        }
    }
    if (at < carry_count) {
        y[carry.x] += (VALUE)alpha * sum;
    } else if (at - carry_count < empty_count) {
        store(y, empty[at - carry_count], 0, alpha, beta);
    }
}
