// CUDA on a CPU, as far as our kernels use it: a warp is 32 fibers in lock step. Included before a .cu file.
//
// The blocks of a launch run one after another, and the warps of a block one after another from barrier to barrier. At
// a shuffle or a vote a fiber hands over its operand and lets the others come up to the same place; at a barrier it
// waits for all threads of the block. Shared memory holds NaN when a block begins.
// What would be undefined on a GPU ends the program: a warp that does not come to a shuffle with all 32 threads, or
// whose threads come to different ones; a block that does not come to a barrier with all its threads; accesses behind
// an array, which ends at a page that may not be touched.

#pragma once
// Of C alone: the headers of the C++ library take longer to compile than a kernel.
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
// One block at a time: what belongs to a block may belong to the program. A section of its own, to be found again.
#define __shared__ static __attribute__((section("of_block")))

// Where the linker puts that section; null in a program without it.
extern unsigned char __start_of_block[] __attribute__((weak));
extern unsigned char __stop_of_block[] __attribute__((weak));

struct Index {
    unsigned int x, y, z;
};
static Index blockIdx, threadIdx, gridDim;

struct uint4 {
    unsigned int x, y, z, w;
};

namespace emulator {

[[noreturn]] static void fail(const char* what)
{
    std::fprintf(stderr, "block %u, thread %u: %s\n", blockIdx.x, threadIdx.x, what);
    std::exit(3);
}

// A fiber begins by a context; from then on it is left and entered by jumps, which take no system call.
struct Fiber {
    ucontext_t context;
    std::jmp_buf jump;
    char stack[64 * 1024];
    bool begun;
    bool done;
    int operations;      // Shuffles and votes so far.
    const char* at;      // Kind of the last one.
};

// Of a block: warp after warp.
static Fiber fibers[1024];
static std::jmp_buf scheduler;
static int current;
static void (*kernel)();
static unsigned char slots[2][32][8];

static const char* const BARRIER = "barrier";

static int lane() { return current % 32; }

static void run()
{
    kernel();
    fibers[current].done = true;
    _longjmp(scheduler, 1);
}

// Goes on with a fiber until it hands over or ends.
static void resume(Fiber& fiber)
{
    if (_setjmp(scheduler) == 0) {
        if (fiber.begun) {
            _longjmp(fiber.jump, 1);
        }
        fiber.begun = true;
        setcontext(&fiber.context);
    }
}

// Hands over `value` and waits for the other threads. Two sets of slots in turn: no thread can be two operations
// ahead of another.
template <class T>
static const unsigned char (*exchange(const char* kind, unsigned int mask, T value))[8]
{
    if (mask != 0xffffffffu) {
        fail("a mask with fewer than 32 threads");
    }
    Fiber& me = fibers[current];
    const int set = me.operations % 2;
    std::memset(slots[set][lane()], 0, 8);
    std::memcpy(slots[set][lane()], &value, sizeof value);
    me.operations += 1;
    me.at = kind;
    if (_setjmp(me.jump) == 0) {
        _longjmp(scheduler, 1);
    }
    return slots[set];
}

template <class T>
static T slot(const unsigned char (*set)[8], int lane)
{
    T value;
    std::memcpy(&value, set[lane], sizeof value);
    return value;
}

// Makes the fiber of each thread of a block.
static void begin_block(int threads)
{
    if (__start_of_block) {
        std::memset(__start_of_block, 0xff, __stop_of_block - __start_of_block);
    }
    for (int i = 0; i < threads; ++i) {
        Fiber& fiber = fibers[i];
        if (fiber.context.uc_stack.ss_sp == nullptr) {
            getcontext(&fiber.context);
            fiber.context.uc_stack.ss_sp = fiber.stack;
            fiber.context.uc_stack.ss_size = sizeof fiber.stack;
        }
        fiber.begun = false;
        fiber.done = false;
        fiber.operations = 0;
        fiber.at = "";
        makecontext(&fiber.context, run, 0);
    }
}

// Runs a warp to its next barrier or to its end; says whether it has ended.
static bool run_warp(int first_thread)
{
    const Fiber& first = fibers[first_thread];
    for (;;) {
        int running = 0;
        for (current = first_thread; current < first_thread + 32; ++current) {
            if (!fibers[current].done) {
                threadIdx.x = current;
                resume(fibers[current]);
                running += !fibers[current].done;
            }
        }
        if (running == 0) {
            return true;
        }
        for (int i = first_thread; i < first_thread + 32; ++i) {
            threadIdx.x = i;
            if (fibers[i].done) {
                fail("has ended while others of its warp wait at a shuffle or a barrier");
            }
            if (fibers[i].operations != first.operations || std::strcmp(fibers[i].at, first.at) != 0) {
                fail("waits at another shuffle than the rest of its warp");
            }
        }
        if (first.at == BARRIER) {
            return false;
        }
    }
}

// Runs a block from barrier to barrier.
static void run_block(int warps, bool backwards)
{
    begin_block(32 * warps);
    for (int ended = 0; ended < warps;) {
        ended = 0;
        for (int i = 0; i < warps; ++i) {
            ended += run_warp(32 * (backwards ? warps - 1 - i : i));
        }
        if (ended > 0 && ended < warps) {
            fail("has come to a barrier, or to its end, and others of its block have not");
        }
    }
}

// Runs all threads of a launch; `backwards` takes blocks and warps in the opposite order, which a right kernel survives.
static void launch(unsigned int grid, unsigned int block, bool backwards, void (*body)())
{
    kernel = body;
    gridDim = {grid, 1, 1};
    for (unsigned int i = 0; i < grid; ++i) {
        blockIdx = {backwards ? grid - 1 - i : i, 0, 0};
        run_block((int)(block / 32), backwards);
    }
}

} // namespace emulator

template <class T>
static T __shfl_sync(unsigned int mask, T value, int lane)
{
    return emulator::slot<T>(emulator::exchange("shfl", mask, value), lane % 32);
}

template <class T>
static T __shfl_up_sync(unsigned int mask, T value, unsigned int distance)
{
    const auto set = emulator::exchange("shfl_up", mask, value);
    const int from = emulator::lane() - (int)distance;
    return emulator::slot<T>(set, from < 0 ? emulator::lane() : from);
}

template <class T>
static T __shfl_down_sync(unsigned int mask, T value, unsigned int distance, int width = 32)
{
    const auto set = emulator::exchange("shfl_down", mask, value);
    const int lane = emulator::lane();
    return emulator::slot<T>(set, lane % width + (int)distance < width ? lane + (int)distance : lane);
}

template <class T>
static T __shfl_xor_sync(unsigned int mask, T value, int lanes)
{
    const auto set = emulator::exchange("shfl_xor", mask, value);
    return emulator::slot<T>(set, emulator::lane() ^ lanes);
}

static bool __all_sync(unsigned int mask, bool value)
{
    const auto set = emulator::exchange("all", mask, value);
    for (int lane = 0; lane < 32; ++lane) {
        if (!emulator::slot<bool>(set, lane)) {
            return false;
        }
    }
    return true;
}

static unsigned int __ballot_sync(unsigned int mask, bool value)
{
    const auto set = emulator::exchange("ballot", mask, value);
    unsigned int votes = 0;
    for (int lane = 0; lane < 32; ++lane) {
        votes |= (unsigned int)emulator::slot<bool>(set, lane) << lane;
    }
    return votes;
}

static void __syncthreads() { emulator::exchange(emulator::BARRIER, 0xffffffffu, 0); }

// Blocks run one after another: what one has written, the next one sees.
static void __threadfence() {}
static void __threadfence_system() {}

// 1 for the lowest bit, 0 if none is set.
static int __ffs(unsigned int bits) { return __builtin_ffs((int)bits); }

// Bits that are set.
static int __popc(unsigned int bits) { return __builtin_popcount(bits); }

// Zeros above the highest set bit.
static int __clz(unsigned int bits) { return bits == 0 ? 32 : __builtin_clz(bits); }

template <class T>
static T __ldg(const T* address)
{
    return *address;
}

template <class T>
static T atomicAdd(T* address, T value)
{
    const T before = *address;
    *address += value;
    return before;
}

template <class T>
static T atomicExch(T* address, T value)
{
    const T before = *address;
    *address = value;
    return before;
}

template <class T>
static T atomicMin(T* address, T value)
{
    return atomicExch(address, value < *address ? value : *address);
}

template <class T>
static T atomicMax(T* address, T value)
{
    return atomicExch(address, value > *address ? value : *address);
}

static unsigned int atomicInc(unsigned int* address, unsigned int most)
{
    const unsigned int before = *address;
    *address = before >= most ? 0 : before + 1;
    return before;
}

static double __longlong_as_double(long long bits)
{
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
