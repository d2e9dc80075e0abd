// libnvrtc.so.13 without a compiler: an image is the list of the definitions and the entry points, which the driver beside it reads.
//
//     STAND_IN_COMPILE_MS      milliseconds of a compilation
//     STAND_IN_NOT_COMPILED    an entry point whose source is refused

#include "counts.hpp"

#include <chrono>
#include <thread>

struct Program {
    std::string source, image, log;
};

extern "C" {

long nvrtc_count(const char* what) { return counter(what); }

int nvrtcVersion(int* major, int* minor)
{
    *major = 13;
    *minor = 0;
    return 0;
}
int nvrtcGetNumSupportedArchs(int* count)
{
    *count = 1;
    return 0;
}
int nvrtcGetSupportedArchs(int* archs)
{
    archs[0] = 90;
    return 0;
}
const char* nvrtcGetErrorString(int) { return "the stand-in refuses"; }

int nvrtcCreateProgram(void** program, const char* source, const char*, int, const char* const*, const char* const*)
{
    *program = new Program{source, "", ""};
    return 0;
}
int nvrtcDestroyProgram(void** program)
{
    delete (Program*)*program;
    return 0;
}
int nvrtcCompileProgram(void* handle, int count, const char* const* options)
{
    Program& program = *(Program*)handle;
    COUNT("compilations begun");
    std::this_thread::sleep_for(std::chrono::milliseconds((int)setting("STAND_IN_COMPILE_MS", 0)));
    program.image = "stand-in\n";
    for (int i = 0; i < count; ++i) {
        if (std::strncmp(options[i], "-D", 2) == 0) {
            program.image += std::string(options[i] + 2) + "\n";
        }
    }
    // The name of a kernel stands behind `extern "C" __global__ void` and its bounds, on that line or the next.
    const std::string &source = program.source, begin = "\nextern \"C\" __global__ void", bounds = "__launch_bounds__(";
    for (size_t at = 0; (at = source.find(begin, at)) != std::string::npos; ++at) {
        size_t name = source.find_first_not_of(" \n", at + begin.size());
        if (source.compare(name, bounds.size(), bounds) == 0) {
            name = source.find_first_not_of(" \n", source.find(')', name) + 1);
        }
        program.image += "entry " + source.substr(name, source.find('(', name) - name) + "\n";
    }
    const char* const refused = std::getenv("STAND_IN_NOT_COMPILED");
    if (refused && program.image.find("\nentry " + std::string(refused) + "\n") != std::string::npos) {
        program.log = "refused by the test";
        return 6;
    }
    COUNT("compilations ended");
    return 0;
}
int nvrtcGetProgramLogSize(void* program, size_t* size)
{
    *size = ((Program*)program)->log.size() + 1;
    return 0;
}
int nvrtcGetProgramLog(void* program, char* log)
{
    std::strcpy(log, ((Program*)program)->log.c_str());
    return 0;
}
int nvrtcGetCUBINSize(void* program, size_t* size)
{
    *size = ((Program*)program)->image.size() + 1;
    return 0;
}
int nvrtcGetCUBIN(void* program, char* image)
{
    std::strcpy(image, ((Program*)program)->image.c_str());
    return 0;
}
}
