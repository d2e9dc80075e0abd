// libhiprtc.so.7 without ROCm: an image is a library in which the emulator executes the kernels in waves of 64. Its compiler is g++.
//
// Given     EMULATOR, the folder of warp.hpp; HERE, that of launch.hpp.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>

namespace {

struct Program {
    std::string source, image, log;
};

std::string content(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

// `LAUNCHED(kernel)` for each kernel: its name stands behind the bounds of its launch.
std::string launches(const std::string& source)
{
    std::string all;
    const std::string begin = "extern \"C\" __global__ void";
    for (size_t at = 0; (at = source.find(begin, at)) != std::string::npos;) {
        at += begin.size();
        if (source.compare(at, 18, " __launch_bounds__") == 0) {
            at = source.find(')', at) + 1;
        }
        const size_t name = source.find_first_not_of(" \n", at);
        all += "LAUNCHED(" + source.substr(name, source.find('(', name) - name) + ")\n";
    }
    return all;
}

} // namespace

extern "C" {

const char* hiprtcGetErrorString(int status) { return status == 6 ? "HIPRTC_ERROR_COMPILATION" : "HIPRTC_ERROR"; }

int hiprtcVersion(int* major, int* minor)
{
    *major = 6;
    *minor = 2;
    return 0;
}

int hiprtcCreateProgram(void** program, const char* source, const char*, int, const char**, const char**)
{
    *program = new Program{source, "", ""};
    return 0;
}

int hiprtcDestroyProgram(void** program)
{
    delete (Program*)*program;
    return 0;
}

int hiprtcCompileProgram(void* handle, int, const char**)
{
    Program& program = *(Program*)handle;
    char folder[] = "/tmp/sparsight-hiprtc-XXXXXX";
    if (mkdtemp(folder) == nullptr) {
        return 1;
    }
    const std::string base = std::string(folder) + "/kernels";
    std::ofstream(base + ".cpp") << "#define WAVE 64\n#include \"" EMULATOR "/warp.hpp\"\n#include \"" HERE "/launch.hpp\"\n"
                                 << program.source << "\n"
                                 << launches(program.source);
    const std::string command = "g++ -shared -fPIC -U_FORTIFY_SOURCE -std=c++17 -O1 -w -o " + base + ".so " + base + ".cpp 2>" + base
                                + ".log";
    const bool compiled = std::system(command.c_str()) == 0;
    program.log = content(base + ".log");
    program.image = compiled ? content(base + ".so") : "";
    for (const char* end : {".cpp", ".so", ".log"}) {
        std::remove((base + end).c_str());
    }
    rmdir(folder);
    return compiled ? 0 : 6;
}

int hiprtcGetProgramLogSize(void* program, size_t* size)
{
    *size = ((Program*)program)->log.size() + 1;
    return 0;
}

int hiprtcGetProgramLog(void* program, char* log)
{
    std::strcpy(log, ((Program*)program)->log.c_str());
    return 0;
}

// The image says how long it is: the runtime is given its address alone.
int hiprtcGetCodeSize(void* program, size_t* size)
{
    *size = sizeof(size_t) + ((Program*)program)->image.size();
    return 0;
}

int hiprtcGetCode(void* program, char* code)
{
    const std::string& image = ((Program*)program)->image;
    const size_t size = image.size();
    std::memcpy(code, &size, sizeof size);
    std::memcpy(code + sizeof size, image.data(), size);
    return 0;
}
}
