// How the stand-in for HIP's runtime launches a kernel of an image: behind the text of the kernels, which the emulator executes.

#pragma once

#include <cstring>
#include <tuple>

namespace launching {

// Bytes of a parameter among the copied ones: whole words.
template <class P>
static constexpr size_t words()
{
    return (sizeof(P) + 7) / 8 * 8;
}

// Copies the parameters of a kernel to `to`, as the runtime does before a launch returns; `to` may be null. How many bytes they take.
template <class... P>
static size_t copied(void (*)(P...), void** parameters, unsigned char* to)
{
    size_t at = 0, number = 0;
    const auto copy = [&](size_t bytes, size_t room) {
        if (to != nullptr) {
            std::memcpy(to + at, parameters[number++], bytes);
        }
        at += room;
    };
    (copy(sizeof(P), words<P>()), ...);
    return at;
}

template <class P>
static P taken(const unsigned char*& from)
{
    P parameter;
    std::memcpy((void*)&parameter, from, sizeof parameter);
    from += words<P>();
    return parameter;
}

template <class... P>
static void call(void (*kernel)(P...), const unsigned char* from)
{
    // From left to right, as in every list in braces.
    std::tuple<P...> parameters{taken<P>(from)...};
    std::apply(kernel, parameters);
}

static const unsigned char* parameters;

} // namespace launching

#define LAUNCHED(kernel)                                                                                                   \
    extern "C" size_t copy_##kernel(void** parameters, unsigned char* to)                                                  \
    {                                                                                                                      \
        return launching::copied(kernel, parameters, to);                                                                  \
    }                                                                                                                      \
    extern "C" void launch_##kernel(unsigned int grid, unsigned int block, const unsigned char* parameters)                \
    {                                                                                                                      \
        launching::parameters = parameters;                                                                                \
        emulator::launch(grid, block, false, [] { launching::call(kernel, launching::parameters); });                      \
    }
