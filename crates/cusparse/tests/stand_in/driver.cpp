// libcuda.so.1 without a GPU, as far as the drop-in and its test program call it. Device memory is host memory, and the clock of a stream
// is advanced by what runs in it: each launch takes as long as the environment says, so that the drop-in's choices are those of the test.
//
//     STAND_IN_NAME            name of the GPU ("NVIDIA H200")
//     STAND_IN_DRIVER          CUDA version of the driver (13000)
//     STAND_IN_QUEUE           1: a thread runs what was queued; else it runs at once
//     STAND_IN_US              microseconds of a launch, by kernel: csr_vector=5,csr_scalar=8 (10)
//     STAND_IN_WRONG           a kernel that adds 1 to the first row that it writes
//     STAND_IN_FAILS           a kernel whose launches are refused, from launch STAND_IN_FAILS_FROM (0) on
//     STAND_IN_READ_MS         milliseconds of a copy to the host
//     STAND_IN_NOTHING         1: kernels compute nothing
//
// Rules of the real driver that are held here, each counted where it is broken: memory is alive when kernels and copies touch it, no
// call that may wait is made while a stream is captured unless the thread allows it, and nothing is used after a reset of the device that
// was made before. Host memory that a reset took is not there to be read.

#include "counts.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <sys/mman.h>
#include <thread>

#include "kernels.hpp"

namespace {

enum Result {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_CONTEXT = 201,
    INVALID_IMAGE = 200,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    OUT_OF_RESOURCES = 701,
    CONTEXT_IS_DESTROYED = 709,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALIDATED = 901,
    CAPTURED_EVENT = 907,
};

// After a fault of a kernel every call fails, as on a GPU.
std::atomic<int> broken{0};

std::mutex& memory_lock = made_lock();
struct Block {
    u64 bytes;
    bool is_of_host = false;
    std::atomic<int> readers{0};
};
std::map<u64, Block>& memory = *new std::map<u64, Block>;
// Addresses on the device that a reset took, by size: they are given out again.
std::multimap<u64, u64>& taken = *new std::multimap<u64, u64>;
constexpr u64 PAGE = 4096;

// Resets of the device so far, and whether its primary context is there.
std::atomic<u64> resets{0};
std::atomic<bool> has_primary{false};

// What is made in the primary context goes with a reset.
struct Made {
    const u64 by = resets;

    bool is_gone() const
    {
        if (by != resets) {
            COUNT("uses of what a reset took");
        }
        return by != resets;
    }
};

// The block that holds these bytes.
Block* block_of(u64 address, u64 bytes)
{
    auto above = memory.upper_bound(address);
    if (above == memory.begin()) {
        return nullptr;
    }
    --above;
    return address - above->first + bytes <= above->second.bytes ? &above->second : nullptr;
}

struct Stream;
using Work = std::function<void(Stream&)>;

struct Graph {
    std::vector<Work> nodes;
};

struct Stream : Made {
    std::mutex lock;
    // Nanoseconds of work so far.
    std::atomic<u64> clock{0};
    std::atomic<long> waiting{0};
    // 0 none, 1 active, 2 broken.
    int capture = 0;
    int mode = 0;
    std::thread::id capturer;
    std::unique_ptr<Graph> graph;
};

Stream& legacy = *new Stream;
// Captures begun and not ended.
std::atomic<int> captures{0};
std::mutex& streams_lock = made_lock();
std::set<Stream*>& streams = *new std::set<Stream*>{&legacy};

thread_local std::vector<void*> contexts;
thread_local int capture_mode = 0;
char primary, other;

Stream& stream_of(void* handle)
{
    thread_local Stream* own = nullptr;
    if (handle == (void*)2) {
        if (own == nullptr) {
            own = new Stream;
        }
        return *own;
    }
    if (handle == nullptr || handle == (void*)1) {
        return legacy;
    }
    ((Stream*)handle)->is_gone();
    return *(Stream*)handle;
}

bool is_queued()
{
    static const bool queued = setting("STAND_IN_QUEUE", 0) != 0;
    return queued;
}

// Not destroyed when the program ends: the thread goes on.
std::mutex& queue_lock = made_lock();
std::condition_variable& queue_changed = *new std::condition_variable;
std::deque<std::pair<Stream*, Work>>& queue = *new std::deque<std::pair<Stream*, Work>>;

void run_queue()
{
    for (;;) {
        std::unique_lock<std::mutex> lock(queue_lock);
        queue_changed.wait(lock, [] { return !queue.empty(); });
        auto [stream, work] = std::move(queue.front());
        queue.pop_front();
        lock.unlock();
        work(*stream);
        lock.lock();
        stream->waiting -= 1;
        queue_changed.notify_all();
    }
}

int enqueue(Stream& stream, Work work)
{
    if (broken) {
        return broken;
    }
    std::unique_lock<std::mutex> lock(stream.lock);
    if (stream.capture != 0) {
        if (stream.capture == 2) {
            return CAPTURE_INVALIDATED;
        }
        stream.graph->nodes.push_back(std::move(work));
        return SUCCESS;
    }
    if (!is_queued()) {
        work(stream);
        return broken;
    }
    lock.unlock();
    static std::thread& worker = *new std::thread(run_queue);
    (void)worker;
    std::lock_guard<std::mutex> queued(queue_lock);
    stream.waiting += 1;
    queue.emplace_back(&stream, std::move(work));
    queue_changed.notify_all();
    return SUCCESS;
}

int wait_for(Stream& stream)
{
    if (is_queued()) {
        std::unique_lock<std::mutex> lock(queue_lock);
        queue_changed.wait(lock, [&] { return stream.waiting == 0; });
    }
    return broken;
}

// What a call answers that may wait for the GPU: it breaks captures of others, and those of its own thread, unless they allow it.
int may_wait()
{
    if (broken) {
        return broken;
    }
    if (captures == 0 || capture_mode == 2) {
        return SUCCESS;
    }
    std::lock_guard<std::mutex> lock(streams_lock);
    int answer = SUCCESS;
    for (Stream* stream : streams) {
        std::lock_guard<std::mutex> held(stream->lock);
        const bool own = stream->capturer == std::this_thread::get_id();
        const bool forbids = stream->mode == 0 ? capture_mode == 0 || own : stream->mode == 1 && own;
        if (stream->capture == 1 && forbids) {
            stream->capture = 2;
            COUNT("broken captures");
            answer = CAPTURE_UNSUPPORTED;
        }
    }
    return answer;
}

struct Event : Made {
    std::atomic<u64> clock{0};
    std::atomic<int> waiting{0};
    bool is_captured = false;
};

int record(Event* event, void* handle)
{
    if (event->is_gone()) {
        return INVALID_VALUE;
    }
    Stream& stream = stream_of(handle);
    {
        std::lock_guard<std::mutex> lock(stream.lock);
        if (stream.capture == 1) {
            event->is_captured = true;
            COUNT("captured events");
            return SUCCESS;
        }
    }
    event->is_captured = false;
    event->waiting += 1;
    return enqueue(stream, [event](Stream& stream) {
        event->clock = stream.clock.load();
        event->waiting -= 1;
    });
}

int copy(u64 to, u64 from, u64 bytes, u64 device, Stream& stream)
{
    {
        std::lock_guard<std::mutex> lock(memory_lock);
        if (block_of(device, bytes) == nullptr) {
            COUNT("copies of what is not there");
            return INVALID_VALUE;
        }
    }
    return enqueue(stream, [=](Stream&) {
        static const int slow = (int)setting("STAND_IN_READ_MS", 0);
        Block* block;
        {
            std::lock_guard<std::mutex> lock(memory_lock);
            block = block_of(device, bytes);
            if (block == nullptr) {
                COUNT("copies of freed memory");
                return;
            }
            block->readers += 1;
        }
        if (slow > 0 && device == from) {
            std::this_thread::sleep_for(std::chrono::milliseconds(slow));
        }
        std::memcpy((void*)to, (const void*)from, bytes);
        block->readers -= 1;
    });
}

struct Module {
    bool is_double, is_wide;
    u32 block = 1, threads_per_row = 1;
    std::string text;
    Made made{};
};

struct Function {
    const Kernel* kernel;
    Body body;
    Shape shape;
    u64 nanoseconds;
    bool is_wrong;
    std::atomic<long>* launches;
    std::atomic<long>* tabled;
    Made made{};
};

// What stands behind `name=` in the image.
std::string definition(const std::string& text, const std::string& name)
{
    const size_t at = text.find("\n" + name + "=");
    return at == std::string::npos ? "" : text.substr(at + name.size() + 2, text.find('\n', at + 1) - at - name.size() - 2);
}

struct Config {
    u32 grid_x, grid_y, grid_z, block_x, block_y, block_z, shared;
    void* stream;
    void* attributes;
    u32 count;
};

} // namespace

bool is_memory(u64 address, u64 bytes)
{
    std::lock_guard<std::mutex> lock(memory_lock);
    return block_of(address, bytes) != nullptr;
}

extern "C" {

int cuCtxSynchronize();

// Of the tests.
long driver_count(const char* what) { return counter(what); }

// Queues work of another stand-in, which takes that long; copies of `data` are kept with it. The result of `work` is an error if not 0.
int driver_queue(void* stream, void (*work)(const void*), const void* data, size_t bytes, double microseconds)
{
    const std::string kept((const char*)data, bytes);
    return enqueue(stream_of(stream), [=](Stream& stream) {
        work(kept.data());
        stream.clock += (u64)(microseconds * 1e3);
    });
}

int cuInit(unsigned) { return SUCCESS; }
int cuDriverGetVersion(int* version)
{
    *version = (int)setting("STAND_IN_DRIVER", 13000);
    return SUCCESS;
}
int cuDeviceGetCount(int* count)
{
    *count = 1;
    return SUCCESS;
}
int cuDeviceGet(int* device, int index)
{
    *device = index;
    return SUCCESS;
}
int cuDeviceGetName(char* name, int length, int)
{
    const char* set = std::getenv("STAND_IN_NAME");
    std::snprintf(name, (size_t)length, "%s", set ? set : "NVIDIA H200");
    return SUCCESS;
}
int cuDeviceTotalMem_v2(size_t* bytes, int)
{
    *bytes = (size_t)140 << 30;
    return SUCCESS;
}
int cuDeviceGetPCIBusId(char*, int, int) { return INVALID_VALUE; }
int cuDeviceGetAttribute(int* value, int attribute, int)
{
    switch (attribute) {
        case 1: *value = 1024; break;       // threads a block
        case 10: *value = 32; break;        // a warp
        case 16: *value = 132; break;       // multiprocessors
        case 38: *value = 60 << 20; break;  // L2
        case 39: *value = 2048; break;      // threads a multiprocessor
        case 75: *value = 9; break;         // compute capability
        default: *value = 0;
    }
    return SUCCESS;
}

static std::atomic<int> primary_retained{0};

int cuDevicePrimaryCtxRetain(void** context, int)
{
    ++primary_retained;
    has_primary = true;
    *context = &primary;
    return SUCCESS;
}
int cuDevicePrimaryCtxRelease_v2(int)
{
    --primary_retained;
    return SUCCESS;
}

int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active)
{
    *flags = 0;
    *active = primary_retained > 0 && has_primary;
    return SUCCESS;
}
int cuDevicePrimaryCtxReset_v2(int)
{
    cuCtxSynchronize();
    std::lock_guard<std::mutex> lock(memory_lock);
    has_primary = false;
    ++resets;
    for (const auto& [address, block] : memory) {
        if (block.bytes >= PAGE) {
            mprotect((void*)address, block.bytes, PROT_NONE);
        }
        if (!block.is_of_host) {
            taken.emplace(block.bytes, address);
        }
    }
    memory.clear();
    return SUCCESS;
}
int cuCtxGetId(void* context, unsigned long long* id)
{
    if (context == nullptr) {
        context = contexts.empty() ? nullptr : contexts.back();
    }
    if (context == nullptr) {
        return INVALID_CONTEXT;
    }
    *id = context == &primary ? 2 + resets : 1;
    return context == &primary && !has_primary ? CONTEXT_IS_DESTROYED : SUCCESS;
}
int cuCtxCreate_v2(void** context, unsigned, int)
{
    contexts.push_back(*context = &other);
    return SUCCESS;
}
int cuCtxSetCurrent(void* context)
{
    contexts.assign(1, context);
    return SUCCESS;
}
int cuCtxPushCurrent_v2(void* context)
{
    contexts.push_back(context);
    return SUCCESS;
}
int cuCtxPopCurrent_v2(void** context)
{
    if (contexts.empty()) {
        return INVALID_CONTEXT;
    }
    *context = contexts.back();
    contexts.pop_back();
    return SUCCESS;
}
int cuCtxGetDevice(int* device)
{
    *device = 0;
    return contexts.empty() ? INVALID_CONTEXT : SUCCESS;
}
int cuCtxSynchronize()
{
    const int answer = may_wait();
    if (answer == SUCCESS && is_queued()) {
        std::unique_lock<std::mutex> lock(queue_lock);
        queue_changed.wait(lock, [] { return queue.empty(); });
    }
    return answer;
}

int cuMemAlloc_v2(u64* address, size_t bytes)
{
    if (const int answer = may_wait()) {
        return answer;
    }
    // Whole pages for what is as large as one, so that a reset can take it.
    const size_t aligned = bytes < PAGE ? 256 : PAGE, room = (std::max<size_t>(bytes, 1) + aligned - 1) / aligned * aligned;
    std::lock_guard<std::mutex> lock(memory_lock);
    void* made;
    if (const auto found = taken.find(bytes); found != taken.end()) {
        made = (void*)found->second;
        taken.erase(found);
        if (bytes >= PAGE) {
            mprotect(made, room, PROT_READ | PROT_WRITE);
        }
    } else if ((made = std::aligned_alloc(aligned, room)) == nullptr) {
        return OUT_OF_MEMORY;
    }
    std::memset(made, 0xff, room);
    memory[*address = (u64)made].bytes = bytes;
    return SUCCESS;
}
int cuMemFree_v2(u64 address)
{
    if (const int answer = may_wait()) {
        return answer;
    }
    cuCtxSynchronize();
    std::lock_guard<std::mutex> lock(memory_lock);
    const auto found = memory.find(address);
    if (found == memory.end()) {
        COUNT("freed twice");
        return INVALID_VALUE;
    }
    if (found->second.readers > 0) {
        COUNT("freed while it was read");
    }
    std::memset((void*)address, 0xa5, found->second.bytes);
    memory.erase(found);
    std::free((void*)address);
    return SUCCESS;
}
int cuMemHostAlloc(void** address, size_t bytes, unsigned)
{
    const int answer = cuMemAlloc_v2((u64*)address, bytes);
    std::lock_guard<std::mutex> lock(memory_lock);
    if (answer == SUCCESS) {
        memory[(u64)*address].is_of_host = true;
    }
    return answer;
}
int cuMemFreeHost(void* address) { return cuMemFree_v2((u64)address); }
int cuMemHostGetDevicePointer_v2(u64* device, void* host, unsigned)
{
    *device = (u64)host;
    return SUCCESS;
}
int cuMemGetInfo_v2(size_t* free, size_t* total)
{
    *free = (size_t)64 << 30;
    *total = (size_t)140 << 30;
    return SUCCESS;
}
int cuMemcpyHtoDAsync_v2(u64 to, const void* from, size_t bytes, void* stream)
{
    return copy(to, (u64)from, bytes, to, stream_of(stream));
}
int cuMemcpyDtoHAsync_v2(void* to, u64 from, size_t bytes, void* stream)
{
    COUNT("reads");
    return copy((u64)to, from, bytes, from, stream_of(stream));
}
int cuMemcpyHtoD_v2(u64 to, const void* from, size_t bytes)
{
    const int answer = cuMemcpyHtoDAsync_v2(to, from, bytes, nullptr);
    return answer ? answer : wait_for(legacy);
}
int cuMemcpyDtoH_v2(void* to, u64 from, size_t bytes)
{
    const int answer = copy((u64)to, from, bytes, from, legacy);
    return answer ? answer : wait_for(legacy);
}
int cuMemsetD8Async(u64 address, unsigned char value, size_t bytes, void* stream)
{
    return enqueue(stream_of(stream), [=](Stream&) { std::memset((void*)address, value, bytes); });
}

int cuStreamCreate(void** stream, unsigned)
{
    Stream* const made = new Stream;
    std::lock_guard<std::mutex> lock(streams_lock);
    streams.insert(made);
    *stream = made;
    return SUCCESS;
}
int cuStreamDestroy_v2(void* stream)
{
    wait_for(stream_of(stream));
    std::lock_guard<std::mutex> lock(streams_lock);
    streams.erase((Stream*)stream);
    delete (Stream*)stream;
    return SUCCESS;
}
int cuStreamSynchronize(void* stream)
{
    const int answer = may_wait();
    return answer ? answer : wait_for(stream_of(stream));
}
int cuStreamIsCapturing(void* handle, int* status)
{
    Stream& stream = stream_of(handle);
    std::lock_guard<std::mutex> lock(stream.lock);
    *status = stream.capture;
    return SUCCESS;
}
int cuStreamWaitEvent(void*, void*, unsigned) { return SUCCESS; }
int cuThreadExchangeStreamCaptureMode(int* mode)
{
    std::swap(*mode, capture_mode);
    return SUCCESS;
}
int cuStreamBeginCapture_v2(void* handle, int mode)
{
    Stream& stream = stream_of(handle);
    std::lock_guard<std::mutex> lock(stream.lock);
    stream.capture = 1;
    stream.mode = mode;
    stream.capturer = std::this_thread::get_id();
    stream.graph = std::make_unique<Graph>();
    captures += 1;
    return SUCCESS;
}
int cuStreamEndCapture(void* handle, void** graph)
{
    Stream& stream = stream_of(handle);
    std::lock_guard<std::mutex> lock(stream.lock);
    const bool is_whole = stream.capture == 1;
    stream.capture = 0;
    captures -= 1;
    *graph = is_whole ? stream.graph.release() : nullptr;
    return is_whole ? SUCCESS : CAPTURE_INVALIDATED;
}
int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long)
{
    *executable = new Graph(*(Graph*)graph);
    return SUCCESS;
}
int cuGraphLaunch(void* executable, void* stream)
{
    int answer = SUCCESS;
    for (const Work& node : ((Graph*)executable)->nodes) {
        answer = answer ? answer : enqueue(stream_of(stream), node);
    }
    return answer;
}
int cuGraphGetNodes(void* graph, void**, size_t* count)
{
    *count = ((Graph*)graph)->nodes.size();
    return SUCCESS;
}
int cuGraphDestroy(void* graph)
{
    delete (Graph*)graph;
    return SUCCESS;
}
int cuGraphExecDestroy(void* executable) { return cuGraphDestroy(executable); }

int cuEventCreate(void** event, unsigned)
{
    COUNT("events made");
    *event = new Event;
    return SUCCESS;
}
int cuEventDestroy_v2(void* event)
{
    COUNT("events destroyed");
    // Kept: it may be queued.
    return ((Event*)event)->is_gone() ? INVALID_VALUE : SUCCESS;
}
int cuEventRecord(void* event, void* stream) { return record((Event*)event, stream); }
int cuEventRecordWithFlags(void* event, void* stream, unsigned) { return record((Event*)event, stream); }
int cuEventQuery(void* event)
{
    if (const int answer = may_wait()) {
        return answer;
    }
    if (((Event*)event)->is_gone()) {
        return INVALID_VALUE;
    }
    if (((Event*)event)->is_captured) {
        return CAPTURED_EVENT;
    }
    return ((Event*)event)->waiting > 0 ? NOT_READY : SUCCESS;
}
int cuEventElapsedTime_v2(float* milliseconds, void* begin, void* end)
{
    *milliseconds = (float)((double)(((Event*)end)->clock - ((Event*)begin)->clock) / 1e6);
    return SUCCESS;
}

int cuModuleLoadData(void** module, const void* image)
{
    if (const int answer = may_wait()) {
        return answer;
    }
    const std::string text = (const char*)image;
    if (text.rfind("stand-in\n", 0) != 0) {
        return INVALID_IMAGE;
    }
    COUNT("modules loaded");
    const std::string threads = definition(text, "THREADS_PER_ROW"), block = definition(text, "BLOCK");
    *module = new Module{definition(text, "VALUE") == "double", definition(text, "OFFSET") == "unsigned long long",
                         (u32)std::atoi(block.c_str()), threads.empty() ? 1 : (u32)std::atoi(threads.c_str()), text};
    return SUCCESS;
}
int cuModuleUnload(void* module)
{
    COUNT("modules unloaded");
    return ((Module*)module)->made.is_gone() ? INVALID_VALUE : SUCCESS;
}
int cuModuleGetFunction(void** function, void* module, const char* name)
{
    const Module& of = *(const Module*)module;
    if (of.text.find("\nentry " + std::string(name) + "\n") == std::string::npos) {
        return NOT_FOUND;
    }
    for (const Kernel& kernel : KERNELS) {
        if (std::strcmp(kernel.name, name) == 0) {
            const char* const wrong = std::getenv("STAND_IN_WRONG");
            const bool is_tabled = kernel.parameters > 9;
            *function = new Function{
                &kernel,
                kernel.bodies[of.is_double][of.is_wide],
                {of.is_double, of.is_wide, of.block, of.threads_per_row, 0},
                (u64)(1e3 * setting_of("STAND_IN_US", name, 10)),
                wrong && std::strcmp(wrong, name) == 0,
                &counter(name),
                &counter(std::strcmp(name, "row_lengths") == 0 ? "counts" : is_tabled ? "tabled" : "plain"),
            };
            return SUCCESS;
        }
    }
    return NOT_FOUND;
}
#ifndef LACKS_FUNC_LOAD
int cuFuncLoad(void*) { return SUCCESS; }
#endif

#ifndef LACKS_LAUNCH
int cuLaunchKernelEx(const Config* config, void* handle, void** parameters, void**)
{
    static const bool does_nothing = setting("STAND_IN_NOTHING", 0) != 0;
    static const std::string failing = std::getenv("STAND_IN_FAILS") ? std::getenv("STAND_IN_FAILS") : "";
    static const long failing_from = (long)setting("STAND_IN_FAILS_FROM", 0);
    const Function& function = *(const Function*)handle;
    if (function.made.is_gone()) {
        return INVALID_VALUE;
    }
    if (function.kernel->name == failing && counter("launches of " + failing)++ >= failing_from) {
        COUNT("refused launches");
        return OUT_OF_RESOURCES;
    }
    // Of the kernels for timing, which have few parameters, two are launched as one thread; the small product has blocks of its own.
    const bool is_one = config->block_x == 1 && function.kernel->parameters <= 4;
    const unsigned block = std::strcmp(function.kernel->name, "small_product") == 0 ? 32 : function.shape.block;
    if (!is_one && (config->block_x % 32 != 0 || config->block_x != block)) {
        return INVALID_VALUE;
    }
    struct {
        u64 words[24];
    } arguments;
    for (unsigned i = 0; i < function.kernel->parameters; ++i) {
        arguments.words[i] = *(const u64*)parameters[i];
    }
    Shape shape = function.shape;
    shape.grid = config->grid_x;
    return enqueue(stream_of(config->stream), [&function, shape, arguments](Stream& stream) {
        *function.launches += 1;
        *function.tabled += 1;
        stream.clock += function.nanoseconds;
        if (does_nothing && function.kernel->parameters != 5) {
            return;
        }
        if (const Fault fault = function.body(shape, arguments.words)) {
            std::fprintf(stderr, "stand-in: %s: %s\n", function.kernel->name, fault);
            COUNT("faults");
            broken = ILLEGAL_ADDRESS;
            return;
        }
        if (function.is_wrong) {
            // y is the third from the end.
            const u64 y = arguments.words[function.kernel->parameters - 3];
            if (shape.is_double) {
                *(double*)y += 1;
            } else {
                *(float*)y += 1;
            }
        }
    });
}
#endif

int cuGetErrorName(int, const char** text)
{
    *text = "CUDA_ERROR_OF_STAND_IN";
    return SUCCESS;
}
int cuGetErrorString(int, const char** text)
{
    *text = "the stand-in refuses";
    return SUCCESS;
}
}
