// CUDA on a CPU, as far as our kernels use it: a warp is 32 fibers in lock step. Included before a .cu file.
//
// The blocks of a launch run one after another, and so do the warps of a block: the kernels have no barrier wider
// than a warp. At a shuffle or a vote a fiber hands over its operand and lets the others come up to the same place.
// What would be undefined on a GPU ends the program: a warp that does not come to a shuffle with all 32 threads, or
// whose threads come to different ones; accesses behind an array, which ends at a page that may not be touched.

#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>
#include <ucontext.h>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __grid_constant__

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

struct Fiber {
    ucontext_t context;
    char stack[64 * 1024];
    bool done;
    int operations;      // Shuffles and votes so far.
    const char* at;      // Kind of the last one.
};

static Fiber fibers[32];
static ucontext_t scheduler;
static int current;
static std::function<void()> kernel;
static unsigned char slots[2][32][8];

static void run()
{
    kernel();
    fibers[current].done = true;
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
    std::memset(slots[set][current], 0, 8);
    std::memcpy(slots[set][current], &value, sizeof value);
    me.operations += 1;
    me.at = kind;
    swapcontext(&me.context, &scheduler);
    return slots[set];
}

template <class T>
static T slot(const unsigned char (*set)[8], int lane)
{
    T value;
    std::memcpy(&value, set[lane], sizeof value);
    return value;
}

static int lane() { return current; }

static void run_warp(unsigned int first_thread)
{
    for (int i = 0; i < 32; ++i) {
        Fiber& fiber = fibers[i];
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack;
        fiber.context.uc_stack.ss_size = sizeof fiber.stack;
        fiber.context.uc_link = &scheduler;
        fiber.done = false;
        fiber.operations = 0;
        fiber.at = "";
        makecontext(&fiber.context, run, 0);
    }
    for (;;) {
        int running = 0;
        for (current = 0; current < 32; ++current) {
            if (!fibers[current].done) {
                threadIdx.x = first_thread + current;
                swapcontext(&scheduler, &fibers[current].context);
                running += !fibers[current].done;
            }
        }
        if (running == 0) {
            return;
        }
        for (int i = 0; i < 32; ++i) {
            threadIdx.x = first_thread + i;
            if (fibers[i].done) {
                fail("has ended while others of its warp wait at a shuffle");
            }
            if (fibers[i].operations != fibers[0].operations || std::strcmp(fibers[i].at, fibers[0].at) != 0) {
                fail("waits at another shuffle than the rest of its warp");
            }
        }
    }
}

// Runs all threads of a launch; `backwards` takes the warps in the opposite order, which a right kernel survives.
static void launch(unsigned int grid, unsigned int block, bool backwards, std::function<void()> body)
{
    kernel = std::move(body);
    gridDim = {grid, 1, 1};
    const unsigned int warps = block / 32;
    for (unsigned long long i = 0; i < (unsigned long long)grid * warps; ++i) {
        const unsigned long long warp = backwards ? (unsigned long long)grid * warps - 1 - i : i;
        blockIdx = {(unsigned int)(warp / warps), 0, 0};
        run_warp((unsigned int)(warp % warps) * 32);
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

static double __longlong_as_double(long long bits)
{
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
