// libamdhip64.so.7 without a GPU: memory of the device is memory of the host, a stream is a thread, and kernels are executed by the
// emulator in waves of 64.
//
//     HIP_STAND_IN_DEVICES     number of devices (2)
//     HIP_STAND_IN_VERSION     version of the runtime (60241134)
//     HIP_STAND_IN_MEMORY      bytes of device memory (1 GiB)
//
// Rules of the runtime that are held here: a stream, an event or memory is used while its device is the thread's current one; memory is
// there when copies and kernels touch it, and each array ends at a page that may not be touched. What breaks one ends the program.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

enum Error { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_IMAGE = 200, NOT_FOUND = 500 };

[[noreturn]] void broken(const char* what)
{
    std::fprintf(stderr, "stand-in for HIP: %s\n", what);
    std::_Exit(3);
}

long setting(const char* name, long otherwise)
{
    const char* const value = std::getenv(name);
    return value ? std::atol(value) : otherwise;
}

thread_local int current = 0;

int devices() { return (int)setting("HIP_STAND_IN_DEVICES", 2); }

long now()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Runs what is queued, in its order.
struct Stream {
    int device;
    std::mutex lock;
    std::condition_variable changed;
    std::deque<std::function<void()>> queue;
    bool works = false, ends = false;
    std::thread worker;

    explicit Stream(int device) : device(device), worker([this] { run(); }) {}

    ~Stream()
    {
        wait();
        {
            std::lock_guard<std::mutex> held(lock);
            ends = true;
        }
        changed.notify_all();
        worker.join();
    }

    void run()
    {
        for (;;) {
            std::unique_lock<std::mutex> held(lock);
            changed.wait(held, [this] { return ends || !queue.empty(); });
            if (queue.empty()) {
                return;
            }
            const auto work = std::move(queue.front());
            queue.pop_front();
            works = true;
            held.unlock();
            work();
            held.lock();
            works = false;
            changed.notify_all();
        }
    }

    void enqueue(std::function<void()> work)
    {
        if (device != current) {
            broken("a stream of another device than the current one");
        }
        std::lock_guard<std::mutex> held(lock);
        queue.push_back(std::move(work));
        changed.notify_all();
    }

    void wait()
    {
        std::unique_lock<std::mutex> held(lock);
        changed.wait(held, [this] { return queue.empty() && !works; });
    }
};

// Never destroyed: their threads may still run when the program ends.
std::mutex& streams_lock = *new std::mutex;
std::set<Stream*>& streams = *new std::set<Stream*>;

Stream& stream_of(void* handle)
{
    static std::map<int, Stream*>& defaults = *new std::map<int, Stream*>;
    if (handle != nullptr) {
        return *(Stream*)handle;
    }
    std::lock_guard<std::mutex> held(streams_lock);
    Stream*& made = defaults[current];
    if (made == nullptr) {
        streams.insert(made = new Stream(current));
    }
    return *made;
}

struct Event {
    std::mutex lock;
    std::condition_variable changed;
    // Times that it was recorded, and reached; when it was last.
    long recorded = 0, reached = 0, time = 0;
};

struct Block {
    size_t bytes, mapped;
    void* mapping;
    int device;
};
std::mutex& memory_lock = *new std::mutex;
std::map<size_t, Block>& memory = *new std::map<size_t, Block>;
size_t used = 0;

// Ends the program unless so many bytes are there, on the current device.
void is_there(const void* address, size_t bytes)
{
    std::lock_guard<std::mutex> held(memory_lock);
    auto found = memory.upper_bound((size_t)address);
    if (found == memory.begin()) {
        broken("an address of no array");
    }
    --found;
    if ((size_t)address - found->first + bytes > found->second.bytes || found->second.device != current) {
        broken("bytes behind an array, or of another device");
    }
}

size_t all_memory() { return (size_t)setting("HIP_STAND_IN_MEMORY", 1l << 30); }

struct Module {
    void* library;
    // The emulator executes one launch of a module at a time.
    std::mutex lock;
};

struct Function {
    Module* module;
    size_t (*copy)(void**, unsigned char*);
    void (*launch)(unsigned int, unsigned int, const unsigned char*);
};

void wait_for_all()
{
    std::lock_guard<std::mutex> held(streams_lock);
    for (Stream* stream : streams) {
        if (stream->device == current) {
            stream->wait();
        }
    }
}

} // namespace

extern "C" {

int hipRuntimeGetVersion(int* version)
{
    *version = (int)setting("HIP_STAND_IN_VERSION", 60241134);
    return SUCCESS;
}
const char* hipGetErrorName(int status) { return status == INVALID_IMAGE ? "hipErrorInvalidImage" : "hipErrorOfStandIn"; }
const char* hipGetErrorString(int) { return "the stand-in refuses"; }

int hipGetDeviceCount(int* count)
{
    *count = devices();
    return *count > 0 ? SUCCESS : NO_DEVICE;
}
int hipGetDevice(int* device)
{
    *device = current;
    return SUCCESS;
}
int hipSetDevice(int device)
{
    if (device < 0 || device >= devices()) {
        return INVALID_DEVICE;
    }
    current = device;
    return SUCCESS;
}
int hipDeviceGetName(char* name, int length, int device)
{
    std::snprintf(name, (size_t)length, "AMD Stand-in %d", device);
    return SUCCESS;
}
int hipDeviceTotalMem(size_t* bytes, int)
{
    *bytes = all_memory();
    return SUCCESS;
}
int hipDeviceGetAttribute(int* value, int attribute, int)
{
    switch (attribute) {
        case 19: *value = 1 << 16; break;       // L2
        case 23: *value = 9; break;             // version of the chip
        case 56: *value = 1024; break;          // threads a block
        case 57: *value = 2048; break;          // threads a multiprocessor
        case 61: *value = 4; break;
        case 63: *value = 1; break;             // multiprocessors
        case 87: *value = 64; break;            // a wave
        case 10017: *value = 100000; break;     // the clock, kHz
        default: return INVALID_VALUE;
    }
    return SUCCESS;
}
int hipDeviceSynchronize()
{
    wait_for_all();
    return SUCCESS;
}

int hipMemGetInfo(size_t* free, size_t* total)
{
    std::lock_guard<std::mutex> held(memory_lock);
    *total = all_memory();
    *free = *total - used;
    return SUCCESS;
}
int hipMalloc(void** address, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    // As a kernel's loads of several words want it; what lies behind an array up to there is not found.
    const size_t aligned = (bytes + 15) / 16 * 16, room = (aligned + page - 1) / page * page;
    std::lock_guard<std::mutex> held(memory_lock);
    if (bytes > all_memory() - used) {
        return OUT_OF_MEMORY;
    }
    void* const mapping = mmap(nullptr, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED || mprotect((char*)mapping + room, page, PROT_NONE) != 0) {
        broken("no memory");
    }
    *address = (char*)mapping + room - aligned;
    // NaN, and no index.
    std::memset(*address, 0xff, bytes);
    memory[(size_t)*address] = {bytes, room + page, mapping, current};
    used += bytes;
    return SUCCESS;
}
int hipFree(void* address)
{
    wait_for_all();
    std::lock_guard<std::mutex> held(memory_lock);
    const auto found = memory.find((size_t)address);
    if (found == memory.end()) {
        broken("memory that is not there is freed");
    }
    used -= found->second.bytes;
    munmap(found->second.mapping, found->second.mapped);
    memory.erase(found);
    return SUCCESS;
}
int hipHostMalloc(void** address, size_t bytes, unsigned)
{
    *address = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    return *address ? SUCCESS : OUT_OF_MEMORY;
}
int hipHostGetDevicePointer(void** device, void* host, unsigned)
{
    *device = host;
    return SUCCESS;
}
int hipHostFree(void* address)
{
    std::free(address);
    return SUCCESS;
}

int hipMemcpyHtoDAsync(void* to, const void* from, size_t bytes, void* stream)
{
    is_there(to, bytes);
    stream_of(stream).enqueue([=] { std::memcpy(to, from, bytes); });
    return SUCCESS;
}
int hipMemcpyDtoHAsync(void* to, void* from, size_t bytes, void* stream)
{
    is_there(from, bytes);
    stream_of(stream).enqueue([=] { std::memcpy(to, from, bytes); });
    return SUCCESS;
}
int hipMemcpyDtoDAsync(void* to, void* from, size_t bytes, void* stream)
{
    is_there(to, bytes);
    return hipMemcpyDtoHAsync(to, from, bytes, stream);
}
int hipMemsetD8Async(void* to, unsigned char value, size_t bytes, void* stream)
{
    is_there(to, bytes);
    stream_of(stream).enqueue([=] { std::memset(to, value, bytes); });
    return SUCCESS;
}

int hipStreamCreateWithFlags(void** stream, unsigned)
{
    Stream* const made = new Stream(current);
    std::lock_guard<std::mutex> held(streams_lock);
    streams.insert(made);
    *stream = made;
    return SUCCESS;
}
int hipStreamDestroy(void* stream)
{
    {
        std::lock_guard<std::mutex> held(streams_lock);
        streams.erase((Stream*)stream);
    }
    delete (Stream*)stream;
    return SUCCESS;
}
int hipStreamSynchronize(void* stream)
{
    stream_of(stream).wait();
    return SUCCESS;
}
int hipStreamWaitEvent(void* stream, void* handle, unsigned)
{
    Event& event = *(Event*)handle;
    std::unique_lock<std::mutex> held(event.lock);
    const long awaited = event.recorded;
    held.unlock();
    stream_of(stream).enqueue([&event, awaited] {
        std::unique_lock<std::mutex> held(event.lock);
        event.changed.wait(held, [&] { return event.reached >= awaited; });
    });
    return SUCCESS;
}

// What the stand-in for rocSPARSE queues.
int hipLaunchHostFunc(void* stream, void (*function)(void*), void* data)
{
    stream_of(stream).enqueue([=] { function(data); });
    return SUCCESS;
}

int hipEventCreateWithFlags(void** event, unsigned)
{
    *event = new Event;
    return SUCCESS;
}
int hipEventRecord(void* handle, void* stream)
{
    Event& event = *(Event*)handle;
    std::unique_lock<std::mutex> held(event.lock);
    const long number = ++event.recorded;
    held.unlock();
    stream_of(stream).enqueue([&event, number] {
        std::lock_guard<std::mutex> held(event.lock);
        event.reached = number;
        event.time = now();
        event.changed.notify_all();
    });
    return SUCCESS;
}
#ifndef LACKS_ELAPSED_TIME
int hipEventElapsedTime(float* milliseconds, void* begin, void* end)
{
    *milliseconds = (float)((double)(((Event*)end)->time - ((Event*)begin)->time) / 1e6);
    return SUCCESS;
}
#endif
int hipEventDestroy(void*)
{
    // Kept: it may be queued.
    return SUCCESS;
}

int hipModuleLoadData(void** module, const void* image)
{
    size_t size;
    std::memcpy(&size, image, sizeof size);
    char path[] = "/tmp/sparsight-hip-XXXXXX";
    const int file = mkstemp(path);
    if (file < 0 || write(file, (const char*)image + sizeof size, size) != (ssize_t)size) {
        broken("no room for an image");
    }
    close(file);
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    unlink(path);
    if (library == nullptr) {
        return INVALID_IMAGE;
    }
    Module* const loaded = new Module;
    loaded->library = library;
    *module = loaded;
    return SUCCESS;
}
int hipModuleUnload(void* module)
{
    wait_for_all();
    dlclose(((Module*)module)->library);
    delete (Module*)module;
    return SUCCESS;
}
int hipModuleGetFunction(void** function, void* handle, const char* name)
{
    Module* const module = (Module*)handle;
    void* const copy = dlsym(module->library, ("copy_" + std::string(name)).c_str());
    void* const launch = dlsym(module->library, ("launch_" + std::string(name)).c_str());
    if (copy == nullptr || launch == nullptr) {
        return NOT_FOUND;
    }
    *function = new Function{module, (size_t(*)(void**, unsigned char*))copy,
                             (void (*)(unsigned int, unsigned int, const unsigned char*))launch};
    return SUCCESS;
}
int hipModuleLaunchKernel(void* handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                          unsigned block_z, unsigned shared, void* stream, void** parameters, void** extra)
{
    const Function& function = *(const Function*)handle;
    if (grid_x == 0 || block_x == 0 || block_x > 1024 || (unsigned long long)grid_x * block_x >> 32 || grid_y * grid_z != 1
        || block_y * block_z != 1 || shared != 0 || extra != nullptr) {
        return INVALID_VALUE;
    }
    std::vector<unsigned char> copied(function.copy(nullptr, nullptr));
    function.copy(parameters, copied.data());
    stream_of(stream).enqueue([&function, grid_x, block_x, copied] {
        std::lock_guard<std::mutex> held(function.module->lock);
        function.launch(grid_x, block_x, copied.data());
    });
    return SUCCESS;
}
}
