// librocsparse.so.1 without ROCm: the generic product of rocSPARSE, computed on the host in the stream of the stand-in for HIP.
//
//     ROCSPARSE_STAND_IN_VERSION   version of the library (300200, which is 3.2)
//     ROCSPARSE_STAND_IN_BUFFER    bytes that a product wants for a buffer (48)
//     ROCSPARSE_STAND_IN_FULL      1: there is no memory for what the preprocess stage finds
//
// Rules of the library that are held here: an algorithm is one of the matrix's format; adaptive and LRB are preprocessed before they
// compute; a product has the buffer that it asked for; alpha and beta are read before the call returns; a handle is used on its own
// device. What breaks one ends the program, or is refused with the library's status where it documents one.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <functional>

namespace {

enum Status { SUCCESS = 0, INVALID_HANDLE = 1, NOT_IMPLEMENTED = 2, INVALID_POINTER = 3, INVALID_SIZE = 4, MEMORY_ERROR = 5, INVALID_VALUE = 7 };
enum Format { CSR, COO, ELL, BSR };
enum Stage { BUFFER_SIZE = 1, PREPROCESS = 2, COMPUTE = 3 };

[[noreturn]] void broken(const char* what)
{
    std::fprintf(stderr, "stand-in for rocSPARSE: %s\n", what);
    std::_Exit(3);
}

long setting(const char* name, long otherwise)
{
    const char* const value = std::getenv(name);
    return value ? std::atol(value) : otherwise;
}

// A function of the runtime that is open already.
template <typename Function>
Function* of_runtime(const char* name)
{
    static void* const runtime = dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_NOLOAD);
    void* const found = runtime ? dlsym(runtime, name) : nullptr;
    if (found == nullptr) {
        broken(name);
    }
    return (Function*)found;
}

int current_device()
{
    int device = -1;
    of_runtime<int(int*)>("hipGetDevice")(&device);
    return device;
}

struct Handle {
    int device;
    void* stream;
};

struct Matrix {
    Format format;
    int64_t rows, cols, count, side;
    const void *offsets, *indices, *values;
    int offset_type, value_type;
};

struct Described {
    Matrix matrix;
    // Algorithm that has looked at it, and its buffer.
    int preprocessed = -1;
    const void* buffer = nullptr;
};

struct Vector {
    int64_t len;
    void* values;
    int type;
};

bool is_of(Format format, int algorithm)
{
    switch (algorithm) {
        case 0: return true;
        case 1: return format == COO;
        case 2: case 3: case 7: return format == CSR;
        case 4: return format == ELL;
        case 6: return format == BSR;
        default: return false;
    }
}

template <typename T>
void multiply(const Matrix& a, T alpha, const T* x, T beta, T* y)
{
    const T* const values = (const T*)a.values;
    const int32_t* const indices = (const int32_t*)a.indices;
    const auto offset = [&a](int64_t at) {
        return a.offset_type == 3 ? ((const int64_t*)a.offsets)[at] : (int64_t)((const int32_t*)a.offsets)[at];
    };
    const auto store = [&](int64_t row, T sum) { y[row] = beta == T(0) ? alpha * sum : alpha * sum + beta * y[row]; };
    const int64_t height = a.rows * a.side;
    if (a.format == COO) {
        for (int64_t row = 0; row < a.rows; ++row) {
            store(row, T(0));
        }
        for (int64_t k = 0; k < a.count; ++k) {
            y[((const int32_t*)a.offsets)[k]] += alpha * values[k] * x[indices[k]];
        }
        return;
    }
    for (int64_t row = 0; row < height; ++row) {
        T sum = T(0);
        if (a.format == CSR) {
            for (int64_t k = offset(row); k < offset(row + 1); ++k) {
                sum += values[k] * x[indices[k]];
            }
        } else if (a.format == ELL) {
            for (int64_t k = 0; k < a.count; ++k) {
                const int32_t col = indices[k * a.rows + row];
                sum += col >= 0 && col < a.cols ? values[k * a.rows + row] * x[col] : T(0);
            }
        } else {
            const int64_t b = a.side, inner = row % b;
            for (int64_t k = offset(row / b); k < offset(row / b + 1); ++k) {
                for (int64_t c = 0; c < b; ++c) {
                    sum += values[k * b * b + c * b + inner] * x[indices[k] * b + c];
                }
            }
        }
        store(row, sum);
    }
}

void run(void* data)
{
    const auto* const work = (const std::function<void()>*)data;
    (*work)();
    delete work;
}

template <typename T>
int queue(const Handle& handle, const Matrix& a, const void* alpha, const Vector& x, const void* beta, const Vector& y)
{
    const T of_product = *(const T*)alpha, of_y = *(const T*)beta;
    const T* const from = (const T*)x.values;
    T* const to = (T*)y.values;
    auto* const work = new std::function<void()>([=] { multiply<T>(a, of_product, from, of_y, to); });
    return of_runtime<int(void*, void (*)(void*), void*)>("hipLaunchHostFunc")(handle.stream, run, work);
}

int describe(void** described, const Matrix& matrix)
{
    if (matrix.values == nullptr || matrix.indices == nullptr) {
        return INVALID_POINTER;
    }
    if (matrix.rows <= 0 || matrix.cols <= 0 || matrix.count <= 0) {
        return INVALID_SIZE;
    }
    *described = new Described{matrix};
    return SUCCESS;
}

} // namespace

extern "C" {

int rocsparse_create_handle(void** handle)
{
    *handle = new Handle{current_device(), nullptr};
    return SUCCESS;
}
int rocsparse_destroy_handle(void* handle)
{
    delete (Handle*)handle;
    return SUCCESS;
}
int rocsparse_get_version(void* handle, int* version)
{
    *version = (int)setting("ROCSPARSE_STAND_IN_VERSION", 300200);
    return handle ? SUCCESS : INVALID_HANDLE;
}
int rocsparse_set_stream(void* handle, void* stream)
{
    ((Handle*)handle)->stream = stream;
    return SUCCESS;
}

int rocsparse_create_csr_descr(void** described, int64_t rows, int64_t cols, int64_t nnz, void* offsets, void* indices, void* values,
                               int offset_type, int index_type, int base, int type)
{
    const bool known = (offset_type == 2 || offset_type == 3) && index_type == 2 && base == 0;
    return known ? describe(described, {CSR, rows, cols, nnz, 1, offsets, indices, values, offset_type, type}) : INVALID_VALUE;
}
int rocsparse_create_coo_descr(void** described, int64_t rows, int64_t cols, int64_t nnz, void* row_indices, void* indices, void* values,
                               int index_type, int base, int type)
{
    const bool known = index_type == 2 && base == 0;
    return known ? describe(described, {COO, rows, cols, nnz, 1, row_indices, indices, values, 2, type}) : INVALID_VALUE;
}
int rocsparse_create_ell_descr(void** described, int64_t rows, int64_t cols, void* indices, void* values, int64_t width, int index_type,
                               int base, int type)
{
    const bool known = index_type == 2 && base == 0;
    return known ? describe(described, {ELL, rows, cols, width, 1, nullptr, indices, values, 2, type}) : INVALID_VALUE;
}
int rocsparse_create_bsr_descr(void** described, int64_t rows, int64_t cols, int64_t blocks, int direction, int64_t side, void* offsets,
                               void* indices, void* values, int offset_type, int index_type, int base, int type)
{
    const bool known = offset_type == 2 && index_type == 2 && base == 0 && direction == 1;
    return known ? describe(described, {BSR, rows, cols, blocks, side, offsets, indices, values, 2, type}) : INVALID_VALUE;
}
int rocsparse_destroy_spmat_descr(void* described)
{
    delete (Described*)described;
    return SUCCESS;
}

int rocsparse_create_dnvec_descr(void** vector, int64_t len, void* values, int type)
{
    *vector = new Vector{len, values, type};
    return len > 0 && values == nullptr ? INVALID_POINTER : SUCCESS;
}
int rocsparse_dnvec_set_values(void* vector, void* values)
{
    ((Vector*)vector)->values = values;
    return SUCCESS;
}
int rocsparse_destroy_dnvec_descr(void* vector)
{
    delete (Vector*)vector;
    return SUCCESS;
}

#ifndef LACKS_SPMV
int rocsparse_spmv(void* handle, int operation, const void* alpha, void* described, void* x, const void* beta, void* y, int compute_type,
                   int algorithm, int stage, size_t* buffer_size, void* buffer)
{
    const Handle& in = *(const Handle*)handle;
    Described& of = *(Described*)described;
    const Matrix& a = of.matrix;
    const Vector &from = *(const Vector*)x, &to = *(const Vector*)y;
    if (in.device != current_device()) {
        broken("a handle of another device than the current one");
    }
    if (operation != 111 || !is_of(a.format, algorithm)) {
        return INVALID_VALUE;
    }
    if (compute_type != a.value_type || compute_type != from.type || compute_type != to.type || (compute_type != 151 && compute_type != 152)) {
        return NOT_IMPLEMENTED;
    }
    if (from.len != a.cols * a.side || to.len != a.rows * a.side) {
        return INVALID_SIZE;
    }
    const size_t wanted = (size_t)setting("ROCSPARSE_STAND_IN_BUFFER", 48);
    if (stage == BUFFER_SIZE || buffer == nullptr) {
        *buffer_size = wanted;
        return SUCCESS;
    }
    if (*buffer_size != wanted) {
        broken("a buffer of another size");
    }
    if (stage == PREPROCESS) {
        if (setting("ROCSPARSE_STAND_IN_FULL", 0) != 0) {
            return MEMORY_ERROR;
        }
        of.preprocessed = algorithm;
        of.buffer = buffer;
        return SUCCESS;
    }
    if (stage != COMPUTE) {
        return INVALID_VALUE;
    }
    if ((algorithm == 2 || algorithm == 7) && (of.preprocessed != algorithm || of.buffer != buffer)) {
        broken("a product before its preprocess stage");
    }
    return compute_type == 151 ? queue<float>(in, a, alpha, from, beta, to) : queue<double>(in, a, alpha, from, beta, to);
}
#endif
}
