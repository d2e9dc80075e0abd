// Runs launches that stdin describes, on arrays that it holds, until it ends. Included behind a .cu file; DISPATCH calls its kernels.
//
//     u64 arrays                                   then for each: u64 bytes, the bytes
//     u64 launches                                 then for each: u64 kernel, grid, block, backwards, arguments,
//                                                  and for each argument: u64 kind (0 number, 1 array), u64 value, u64 offset
// Afterwards, the arrays are written to stdout in the same form.

#include <cstdint>
#include <sys/mman.h>
#include <unistd.h>

using u64 = unsigned long long;

struct Array {
    u64 bytes;
    unsigned char* data;
};

// An array that ends where a page begins that may not be touched.
static Array guarded(u64 bytes)
{
    const u64 page = (u64)sysconf(_SC_PAGESIZE);
    const u64 room = (bytes + page - 1) / page * page;
    void* memory = mmap(nullptr, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect((unsigned char*)memory + room, page, PROT_NONE) != 0) {
        emulator::fail("no memory");
    }
    return {bytes, (unsigned char*)memory + room - bytes};
}

static void give_back(const Array& array)
{
    const u64 page = (u64)sysconf(_SC_PAGESIZE);
    const u64 room = (array.bytes + page - 1) / page * page;
    munmap(array.data + array.bytes - room, room + page);
}

static void read(void* data, u64 bytes)
{
    if (std::fread(data, 1, bytes, stdin) != bytes) {
        emulator::fail("what stdin describes ends early");
    }
}

static u64 number()
{
    u64 value;
    read(&value, sizeof value);
    return value;
}

// Room for `count` things.
template <class T>
static T* several(u64 count)
{
    T* made = (T*)std::calloc(count + 1, sizeof(T));
    if (made == nullptr) {
        emulator::fail("no memory");
    }
    return made;
}

struct Argument {
    u64 value;
    // Whatever the parameter is, its bits lie in the low bytes of the word.
    template <class T>
    operator T() const
    {
        static_assert(sizeof(T) <= sizeof value, "a word");
        T parameter;
        std::memcpy((void*)&parameter, &value, sizeof parameter);
        return parameter;
    }
};

struct Arguments {
    u64 count;
    Argument* words;

    const Argument& at(u64 i) const
    {
        if (i >= count) {
            emulator::fail("fewer arguments than parameters");
        }
        return words[i];
    }
};

// All arguments as the words of one parameter.
template <class T>
static T whole(const Arguments& arguments)
{
    static_assert(sizeof(Argument) == 8, "a word");
    T parameter;
    if (arguments.count * sizeof(Argument) != sizeof parameter) {
        emulator::fail("a parameter of another size");
    }
    std::memcpy((void*)&parameter, arguments.words, sizeof parameter);
    return parameter;
}

// The launch that runs: number of its kernel, and its arguments.
static u64 kernel;
static Arguments a;

static void dispatch() { DISPATCH }

// Runs the launches that follow, on `count` arrays.
static void run(u64 count)
{
    Array* arrays = several<Array>(count);
    for (u64 i = 0; i < count; ++i) {
        arrays[i] = guarded(number());
        read(arrays[i].data, arrays[i].bytes);
    }
    for (u64 launches = number(); launches > 0; --launches) {
        kernel = number();
        const u64 grid = number(), block = number(), backwards = number();
        a.count = number();
        a.words = several<Argument>(a.count);
        for (u64 i = 0; i < a.count; ++i) {
            const bool is_array = number() == 1;
            const u64 value = number();
            const u64 offset = number();
            if (is_array && value >= count) {
                emulator::fail("an argument is an array that is not there");
            }
            a.words[i].value = is_array ? (u64)(uintptr_t)arrays[value].data + offset : value;
        }
        emulator::launch((unsigned int)grid, (unsigned int)block, backwards != 0, dispatch);
        std::free(a.words);
    }
    std::fwrite(&count, sizeof count, 1, stdout);
    for (u64 i = 0; i < count; ++i) {
        std::fwrite(&arrays[i].bytes, sizeof arrays[i].bytes, 1, stdout);
        std::fwrite(arrays[i].data, 1, arrays[i].bytes, stdout);
        give_back(arrays[i]);
    }
    std::free(arrays);
}

int main()
{
    u64 count;
    while (std::fread(&count, 1, sizeof count, stdin) == sizeof count) {
        run(count);
        if (std::fflush(stdout) != 0) {
            return 1;
        }
    }
    return 0;
}
