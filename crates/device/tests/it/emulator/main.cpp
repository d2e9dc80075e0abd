// Runs launches that a file describes, on arrays that it holds. Included behind a .cu file; DISPATCH calls its kernels.
//
//     u64 arrays                                   then for each: u64 bytes, the bytes
//     u64 launches                                 then for each: u64 kernel, grid, block, backwards, arguments,
//                                                  and for each argument: u64 kind (0 number, 1 array), u64 value, u64 offset
// Afterwards, the arrays are written back to the second file in the same form.

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

static void read(void* data, u64 bytes, FILE* in)
{
    if (std::fread(data, 1, bytes, in) != bytes) {
        emulator::fail("the file of launches ends early");
    }
}

static u64 number(FILE* in)
{
    u64 value;
    read(&value, sizeof value, in);
    return value;
}

// Room for `count` things, never given back: a program runs one file.
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

int main(int, char** files)
{
    FILE* in = std::fopen(files[1], "rb");
    if (in == nullptr) {
        emulator::fail("no file of launches");
    }
    const u64 count = number(in);
    Array* arrays = several<Array>(count);
    for (u64 i = 0; i < count; ++i) {
        arrays[i] = guarded(number(in));
        read(arrays[i].data, arrays[i].bytes, in);
    }
    for (u64 launches = number(in); launches > 0; --launches) {
        kernel = number(in);
        const u64 grid = number(in), block = number(in), backwards = number(in);
        a.count = number(in);
        a.words = several<Argument>(a.count);
        for (u64 i = 0; i < a.count; ++i) {
            const bool is_array = number(in) == 1;
            const u64 value = number(in);
            const u64 offset = number(in);
            if (is_array && value >= count) {
                emulator::fail("an argument is an array that is not there");
            }
            a.words[i].value = is_array ? (u64)(uintptr_t)arrays[value].data + offset : value;
        }
        emulator::launch((unsigned int)grid, (unsigned int)block, backwards != 0, dispatch);
    }
    FILE* out = std::fopen(files[2], "wb");
    if (out == nullptr) {
        return 1;
    }
    for (u64 i = 0; i < count; ++i) {
        std::fwrite(&arrays[i].bytes, sizeof arrays[i].bytes, 1, out);
        std::fwrite(arrays[i].data, 1, arrays[i].bytes, out);
    }
    return std::ferror(out) == 0 && std::fclose(out) == 0 ? 0 : 1;
}
