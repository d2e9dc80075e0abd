// Runs launches that a file describes, on arrays that it holds. Included behind a .cu file; DISPATCH calls its kernels.
//
//     u64 arrays                                   then for each: u64 bytes, the bytes
//     u64 launches                                 then for each: u64 kernel, grid, block, backwards, arguments,
//                                                  and for each argument: u64 kind (0 number, 1 array), u64 value, u64 offset
// Afterwards, the arrays are written back to the second file in the same form.

#include <cstdint>
#include <fstream>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

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

static u64 number(std::istream& in)
{
    u64 value = 0;
    in.read((char*)&value, sizeof value);
    return value;
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

// All arguments as the words of one parameter.
template <class T>
static T whole(const std::vector<Argument>& arguments)
{
    static_assert(sizeof(Argument) == 8, "a word");
    T parameter;
    if (arguments.size() * sizeof(Argument) != sizeof parameter) {
        emulator::fail("a parameter of another size");
    }
    std::memcpy((void*)&parameter, arguments.data(), sizeof parameter);
    return parameter;
}

static void dispatch(u64 kernel, const std::vector<Argument>& a) { DISPATCH }

int main(int, char** files)
{
    std::ifstream in(files[1], std::ios::binary);
    std::vector<Array> arrays(number(in));
    for (Array& array : arrays) {
        array = guarded(number(in));
        in.read((char*)array.data, (std::streamsize)array.bytes);
    }
    for (u64 launches = number(in); launches > 0; --launches) {
        const u64 kernel = number(in), grid = number(in), block = number(in), backwards = number(in);
        std::vector<Argument> arguments(number(in));
        for (Argument& argument : arguments) {
            const bool is_array = number(in) == 1;
            const u64 value = number(in);
            const u64 offset = number(in);
            argument.value = is_array ? (u64)(uintptr_t)arrays.at(value).data + offset : value;
        }
        emulator::launch((unsigned int)grid, (unsigned int)block, backwards != 0,
                         [&] { dispatch(kernel, arguments); });
    }
    std::ofstream out(files[2], std::ios::binary);
    for (const Array& array : arrays) {
        out.write((const char*)&array.bytes, sizeof array.bytes);
        out.write((const char*)array.data, (std::streamsize)array.bytes);
    }
    return out.good() ? 0 : 1;
}
