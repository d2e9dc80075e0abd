// CUDA on a CPU, as far as our kernels use it: a warp is 32 fibers in lock step. Included before a .cu file. With WAVE=64 it is HIP
// on a GPU with waves of 64, and the file begins with hip.cu.
//
// The blocks of a launch run one after another, and the warps of a block one after another from barrier to barrier. At
// a shuffle or a vote a fiber hands over its operand and lets the others come up to the same place; at a barrier it
// waits for all threads of the block. Shared memory holds NaN when a block begins.
// What would be undefined on a GPU ends the program: a warp that does not come to a shuffle with all 32 threads, or
// whose threads come to different ones; a block that does not come to a barrier with all its threads; accesses behind
// an array, which ends at a page that may not be touched. Threads of a wave of 64 may come to different shuffles: each is done by those
// that are there, and a thread that reads from another one, or votes without all of its 32 neighbours, ends the program.

#pragma once
// Of C alone: the headers of the C++ library take longer to compile than a kernel.
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <ucontext.h>

#ifndef WAVE
#define WAVE 32
#endif

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

// A fiber begins by a context; from then on it is left and entered by jumps, which take no system call, also for thread after thread.
struct Fiber {
    ucontext_t context;
    std::jmp_buf jump;
    char stack[64 * 1024];
    bool begun;
    bool done;
    int operations;      // Shuffles and votes so far.
    const char* at;      // Kind of the last one.
    bool waits;          // For the others, at the last one.
};

// Of a block: warp after warp.
static Fiber fibers[1024];
static std::jmp_buf scheduler;
static int current;
static void (*kernel)();
static unsigned char slots[2][WAVE][8];
// Threads of the wave that do the same operation as the one that runs.
static unsigned long long present;

static const char* const BARRIER = "barrier";

static int lane() { return current % WAVE; }

// One thread after another.
static void run()
{
    for (;;) {
        kernel();
        Fiber& me = fibers[current];
        me.done = true;
        if (_setjmp(me.jump) == 0) {
            _longjmp(scheduler, 1);
        }
    }
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
// ahead of another that does the same.
template <class T>
static const unsigned char (*exchange(const char* kind, T value))[8]
{
    Fiber& me = fibers[current];
    const int set = me.operations % 2;
    std::memset(slots[set][lane()], 0, 8);
    std::memcpy(slots[set][lane()], &value, sizeof value);
    me.operations += 1;
    me.at = kind;
    me.waits = true;
    if (_setjmp(me.jump) == 0) {
        _longjmp(scheduler, 1);
    }
    return slots[set];
}

template <class T>
static T slot(const unsigned char (*set)[8], int lane)
{
    if ((present >> lane & 1) == 0) {
        fail("reads from a thread that is not there");
    }
    T value;
    std::memcpy(&value, set[lane], sizeof value);
    return value;
}

// The lane that a shuffle reads from, of the `width` neighbours that take part: `from` if it is one of them.
static int within(int from, int width)
{
    const int first = lane() - lane() % width;
    return from >= first && from < first + width ? from : lane();
}

// The votes of the threads that are there.
static unsigned long long votes(bool value)
{
    const auto set = exchange("vote", value);
    unsigned long long all = 0;
    for (int lane = 0; lane < WAVE; ++lane) {
        all |= (unsigned long long)(present >> lane & 1 ? slot<bool>(set, lane) : 0) << lane;
    }
    return all;
}

// Makes the fiber of each thread of a block; of its last warp some may be missing.
static void begin_block(int threads, int present_ones)
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
            makecontext(&fiber.context, run, 0);
        }
        fiber.done = i >= present_ones;
        fiber.operations = 0;
        fiber.at = "";
    }
}

// Whether both threads wait at the same operation.
static bool are_together(const Fiber& one, const Fiber& other)
{
    return one.operations == other.operations && std::strcmp(one.at, other.at) == 0;
}

// Lets those threads of a wave go on that are first in it: of those that wait at a shuffle, the ones that have done the fewest.
static void let_go(int first_thread)
{
    const Fiber* next = nullptr;
    for (int i = first_thread; i < first_thread + WAVE; ++i) {
        const Fiber& fiber = fibers[i];
        if (!fiber.done && fiber.at != BARRIER && (next == nullptr || fiber.operations < next->operations)) {
            next = &fiber;
        }
    }
    present = 0;
    for (int i = 0; i < WAVE; ++i) {
        Fiber& fiber = fibers[first_thread + i];
        fiber.waits = fiber.done || !are_together(fiber, *next);
        present |= (unsigned long long)!fiber.waits << i;
    }
    // Of a warp of NVIDIA's GPUs all threads go on.
    for (int i = 0; i < WAVE; ++i) {
        if (WAVE == 32 && (present >> i & 1) == 0) {
            threadIdx.x = first_thread + i;
            fail(fibers[first_thread + i].done ? "has ended while others of its warp wait at a shuffle"
                                               : "waits at another shuffle than the rest of its warp");
        }
    }
}

// Runs a warp, or wave, to its next barrier or to its end; says whether it has ended.
static bool run_warp(int first_thread)
{
    // At a barrier all of them waited.
    for (int i = first_thread; i < first_thread + WAVE; ++i) {
        fibers[i].waits = false;
    }
    for (;;) {
        int running = 0, at_barrier = 0;
        for (current = first_thread; current < first_thread + WAVE; ++current) {
            if (!fibers[current].done && !fibers[current].waits) {
                threadIdx.x = current;
                resume(fibers[current]);
            }
            running += !fibers[current].done;
            at_barrier += !fibers[current].done && fibers[current].at == BARRIER;
        }
        if (running == 0) {
            return true;
        }
        if (at_barrier == WAVE) {
            return false;
        }
        if (at_barrier == running) {
            fail("waits at a barrier, and others of its warp have ended");
        }
        let_go(first_thread);
    }
}

// Runs a block from barrier to barrier.
static void run_block(int threads, bool backwards)
{
    const int warps = (threads + WAVE - 1) / WAVE;
    begin_block(WAVE * warps, threads);
    for (int ended = 0; ended < warps;) {
        ended = 0;
        for (int i = 0; i < warps; ++i) {
            ended += run_warp(WAVE * (backwards ? warps - 1 - i : i));
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
        run_block((int)block, backwards);
    }
}

} // namespace emulator

#if WAVE == 32

static void whole_warp(unsigned int mask)
{
    if (mask != 0xffffffffu) {
        emulator::fail("a mask with fewer than 32 threads");
    }
}

template <class T>
static T __shfl_sync(unsigned int mask, T value, int lane)
{
    whole_warp(mask);
    return emulator::slot<T>(emulator::exchange("shfl", value), lane % 32);
}

template <class T>
static T __shfl_up_sync(unsigned int mask, T value, unsigned int distance)
{
    whole_warp(mask);
    const auto set = emulator::exchange("shfl_up", value);
    return emulator::slot<T>(set, emulator::within(emulator::lane() - (int)distance, 32));
}

template <class T>
static T __shfl_down_sync(unsigned int mask, T value, unsigned int distance, int width = 32)
{
    whole_warp(mask);
    const auto set = emulator::exchange("shfl_down", value);
    return emulator::slot<T>(set, emulator::within(emulator::lane() + (int)distance, width));
}

template <class T>
static T __shfl_xor_sync(unsigned int mask, T value, int lanes)
{
    whole_warp(mask);
    return emulator::slot<T>(emulator::exchange("shfl_xor", value), emulator::lane() ^ lanes);
}

static bool __all_sync(unsigned int mask, bool value)
{
    whole_warp(mask);
    return emulator::votes(value) == 0xffffffffu;
}

static unsigned int __ballot_sync(unsigned int mask, bool value)
{
    whole_warp(mask);
    return (unsigned int)emulator::votes(value);
}

#else

template <class T>
static T __shfl(T value, int lane, int width = WAVE)
{
    const auto set = emulator::exchange("shfl", value);
    return emulator::slot<T>(set, emulator::lane() / width * width + lane % width);
}

template <class T>
static T __shfl_up(T value, unsigned int distance, int width = WAVE)
{
    const auto set = emulator::exchange("shfl_up", value);
    return emulator::slot<T>(set, emulator::within(emulator::lane() - (int)distance, width));
}

template <class T>
static T __shfl_down(T value, unsigned int distance, int width = WAVE)
{
    const auto set = emulator::exchange("shfl_down", value);
    return emulator::slot<T>(set, emulator::within(emulator::lane() + (int)distance, width));
}

template <class T>
static T __shfl_xor(T value, int lanes, int width = WAVE)
{
    const auto set = emulator::exchange("shfl_xor", value);
    return emulator::slot<T>(set, emulator::within(emulator::lane() ^ lanes, width));
}

static unsigned long long __ballot(int value)
{
    const unsigned long long all = emulator::votes(value != 0);
    const unsigned int here = (unsigned int)(emulator::present >> emulator::lane() / 32 * 32);
    if (here != 0xffffffffu) {
        emulator::fail("a vote without all 32 threads");
    }
    return all;
}

static unsigned int __lane_id() { return (unsigned int)emulator::lane(); }

// A clock of 100 MHz.
static long long wall_clock64()
{
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 100000000ll + time.tv_nsec / 10;
}

#endif

static void __syncthreads() { emulator::exchange(emulator::BARRIER, 0); }

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

// What lines of epilogues may call, as CUDA has it for both types.
static double fmin(double a, double b) { return __builtin_fmin(a, b); }
static double fmax(double a, double b) { return __builtin_fmax(a, b); }
static double fabs(double a) { return __builtin_fabs(a); }
static double sqrt(double a) { return __builtin_sqrt(a); }
