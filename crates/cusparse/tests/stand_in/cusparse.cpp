// libcusparse.so.12 without a GPU: descriptors, and the product in loops, which run in the stream of the stand-in driver where there is one.
//
//     STAND_IN_CUSPARSE_US     microseconds of a product (20)
//     STAND_IN_MAJOR           major version that it states (12)
//     STAND_IN_STATUS          what products and preprocess steps answer (0)
//     STAND_IN_NOTHING         1: products compute nothing

#include "counts.hpp"

#include <cstdint>
#include <vector>

// Of the stand-in driver.
extern "C" int driver_queue(void*, void (*)(const void*), const void*, size_t, double) __attribute__((weak));

namespace {

enum Status { SUCCESS = 0, INVALID_VALUE = 3 };
enum Format { CSR = 1, COO = 3 };

struct Handle {
    void* stream = nullptr;
    int pointer_mode = 0;
};
struct Matrix {
    int format;
    int64_t rows, cols, nnz;
    const void *row_ptr, *col_idx, *values;
    int row_type, col_type, base, type;
};
struct Vector {
    int64_t size;
    const void* values;
    int type;
};

// Of cusparseSpMVOp: a description, and a plan, which holds one.
struct Plan {
    const Matrix* matrix;
    int type;
    bool has_epilogue;
};

// A descriptor that was destroyed is the next one that is made: addresses come again at once.
template <typename T>
struct Pool {
    std::mutex& lock = made_lock();
    std::vector<T*> free;

    T* take()
    {
        std::lock_guard<std::mutex> held(lock);
        if (free.empty()) {
            return new T{};
        }
        T* const last = free.back();
        free.pop_back();
        return last;
    }
    void give(T* one)
    {
        std::lock_guard<std::mutex> held(lock);
        free.push_back(one);
    }
};
Pool<Matrix>& matrices = *new Pool<Matrix>;
Pool<Vector>& vectors = *new Pool<Vector>;
Pool<Plan>& plans = *new Pool<Plan>;

// The arguments of a product.
struct Call {
    void* handle;
    int operation;
    const void *alpha, *matrix, *x, *beta;
    void* y;
    int compute_type, algorithm;
    void* buffer;
};
thread_local Call last;

// What runs in the stream.
struct Product {
    Matrix a;
    const void *x, *y;
    void* z;
    double alpha, beta;
    const void *alpha_at, *beta_at;
    bool is_transposed;
};

template <typename T>
void multiply(const Product& p)
{
    const Matrix& a = p.a;
    const double alpha = p.alpha_at ? *(const T*)p.alpha_at : p.alpha, beta = p.beta_at ? *(const T*)p.beta_at : p.beta;
    std::vector<double> sums(p.is_transposed ? a.cols : a.rows);
    const auto index = [](const void* array, int type, int64_t at) {
        return type == 3 ? ((const int64_t*)array)[at] : (int64_t)((const int32_t*)array)[at];
    };
    const auto add = [&](int64_t row, int64_t k) {
        const int64_t col = index(a.col_idx, a.col_type, k) - a.base;
        const double value = ((const T*)a.values)[k];
        if (p.is_transposed) {
            sums[col] += value * ((const T*)p.x)[row];
        } else {
            sums[row] += value * ((const T*)p.x)[col];
        }
    };
    if (a.format == COO) {
        for (int64_t k = 0; k < a.nnz; ++k) {
            add(index(a.row_ptr, a.row_type, k) - a.base, k);
        }
    } else {
        for (int64_t row = 0; row < a.rows && a.nnz > 0; ++row) {
            for (int64_t k = index(a.row_ptr, a.row_type, row); k < index(a.row_ptr, a.row_type, row + 1); ++k) {
                add(row, k - a.base);
            }
        }
    }
    const T* const y = (const T*)p.y;
    for (size_t row = 0; row < sums.size(); ++row) {
        ((T*)p.z)[row] = (T)(beta == 0 ? alpha * sums[row] : alpha * sums[row] + beta * y[row]);
    }
}

void run(const void* data)
{
    static const bool does_nothing = setting("STAND_IN_NOTHING", 0) != 0;
    const Product& product = *(const Product*)data;
    COUNT("products run");
    if (does_nothing) {
        return;
    }
    if (product.a.type == 0) {
        multiply<float>(product);
    } else if (product.a.type == 1) {
        multiply<double>(product);
    }
}

int check(const Call& c)
{
    static const int status = (int)setting("STAND_IN_STATUS", SUCCESS);
    if (status != SUCCESS) {
        return status;
    }
    if (!c.handle || !c.alpha || !c.matrix || !c.x || !c.beta || !c.y) {
        return INVALID_VALUE;
    }
    const Matrix& a = *(const Matrix*)c.matrix;
    const bool is_transposed = c.operation != 0;
    const int64_t of_x = is_transposed ? a.rows : a.cols, of_y = is_transposed ? a.cols : a.rows;
    return ((const Vector*)c.x)->size == of_x && ((const Vector*)c.y)->size == of_y ? SUCCESS : INVALID_VALUE;
}

int create(void** to, const Matrix& matrix)
{
    Matrix* const made = matrices.take();
    *made = matrix;
    *to = made;
    return SUCCESS;
}

// Queues z = alpha A x + beta y.
int multiply_by(void* handle, const Matrix& matrix, bool is_transposed, int compute_type, const void* alpha, const Vector* x,
                const void* beta, const Vector* y, const Vector* z)
{
    static const double microseconds = setting("STAND_IN_CUSPARSE_US", 20);
    const Handle& of = *(const Handle*)handle;
    Product product = {matrix, x->values, y->values, (void*)z->values, 0, 0, nullptr, nullptr, is_transposed};
    if (of.pointer_mode != 0) {
        product.alpha_at = alpha, product.beta_at = beta;
    } else if (compute_type == 0) {
        product.alpha = *(const float*)alpha, product.beta = *(const float*)beta;
    } else {
        product.alpha = *(const double*)alpha, product.beta = *(const double*)beta;
    }
    if (driver_queue == nullptr) {
        run(&product);
        return SUCCESS;
    }
    return driver_queue(of.stream, run, &product, sizeof product, microseconds) == 0 ? SUCCESS : 6;
}

} // namespace

extern "C" {

long cusparse_count(const char* what) { return counter(what); }

// Returns whether these are the arguments of the last product or preprocess step of this thread.
int cusparse_saw(void* handle, int operation, const void* alpha, const void* matrix, const void* x, const void* beta, void* y,
                 int compute_type, int algorithm, void* buffer)
{
    const Call& c = last;
    return c.handle == handle && c.operation == operation && c.alpha == alpha && c.matrix == matrix && c.x == x &&
           c.beta == beta && c.y == y && c.compute_type == compute_type && c.algorithm == algorithm && c.buffer == buffer;
}

int cusparseGetProperty(int type, int* value)
{
    *value = type == 0 ? (int)setting("STAND_IN_MAJOR", 12) : 0;
    return SUCCESS;
}
int cusparseCreate(void** handle)
{
    *handle = new Handle;
    return SUCCESS;
}
int cusparseDestroy(void* handle)
{
    delete (Handle*)handle;
    return SUCCESS;
}
int cusparseSetStream(void* handle, void* stream)
{
    ((Handle*)handle)->stream = stream;
    return SUCCESS;
}
int cusparseGetStream(void* handle, void** stream)
{
    *stream = ((Handle*)handle)->stream;
    return SUCCESS;
}
int cusparseSetPointerMode(void* handle, int mode)
{
    ((Handle*)handle)->pointer_mode = mode;
    return SUCCESS;
}
int cusparseGetPointerMode(void* handle, int* mode)
{
    *mode = ((Handle*)handle)->pointer_mode;
    return SUCCESS;
}

int cusparseCreateCsr(void** to, int64_t rows, int64_t cols, int64_t nnz, void* row_ptr, void* col_idx, void* values, int row_type,
                      int col_type, int base, int type)
{
    return create(to, {CSR, rows, cols, nnz, row_ptr, col_idx, values, row_type, col_type, base, type});
}
int cusparseCreateConstCsr(void** to, int64_t rows, int64_t cols, int64_t nnz, const void* row_ptr, const void* col_idx,
                           const void* values, int row_type, int col_type, int base, int type)
{
    return create(to, {CSR, rows, cols, nnz, row_ptr, col_idx, values, row_type, col_type, base, type});
}
int cusparseCreateCoo(void** to, int64_t rows, int64_t cols, int64_t nnz, void* row_idx, void* col_idx, void* values, int index_type,
                      int base, int type)
{
    return create(to, {COO, rows, cols, nnz, row_idx, col_idx, values, index_type, index_type, base, type});
}
int cusparseDestroySpMat(const void* matrix)
{
    COUNT("matrices destroyed");
    matrices.give((Matrix*)matrix);
    return SUCCESS;
}
int cusparseSpMatGetFormat(const void* matrix, int* format)
{
    *format = ((const Matrix*)matrix)->format;
    return SUCCESS;
}
int cusparseConstCsrGet(const void* matrix, int64_t* rows, int64_t* cols, int64_t* nnz, const void** row_ptr, const void** col_idx,
                        const void** values, int* row_type, int* col_type, int* base, int* type)
{
    const Matrix& a = *(const Matrix*)matrix;
    *rows = a.rows, *cols = a.cols, *nnz = a.nnz;
    *row_ptr = a.row_ptr, *col_idx = a.col_idx, *values = a.values;
    *row_type = a.row_type, *col_type = a.col_type, *base = a.base, *type = a.type;
    return SUCCESS;
}
int cusparseSpMatSetValues(void* matrix, void* values)
{
    ((Matrix*)matrix)->values = values;
    return SUCCESS;
}
int cusparseCreateDnVec(void** to, int64_t size, void* values, int type)
{
    Vector* const made = vectors.take();
    *made = {size, values, type};
    *to = made;
    return SUCCESS;
}
int cusparseDestroyDnVec(const void* vector)
{
    vectors.give((Vector*)vector);
    return SUCCESS;
}
int cusparseConstDnVecGet(const void* vector, int64_t* size, const void** values, int* type)
{
    const Vector& of = *(const Vector*)vector;
    *size = of.size, *values = of.values, *type = of.type;
    return SUCCESS;
}

int cusparseSpMV_bufferSize(void*, int, const void*, const void*, const void*, const void*, void*, int, int, size_t* bytes)
{
    *bytes = 64;
    return SUCCESS;
}
int cusparseSpMV_preprocess(void* handle, int operation, const void* alpha, const void* matrix, const void* x, const void* beta,
                            void* y, int compute_type, int algorithm, void* buffer)
{
    COUNT("preprocess steps");
    last = {handle, operation, alpha, matrix, x, beta, y, compute_type, algorithm, buffer};
    return check(last);
}
int cusparseSpMV(void* handle, int operation, const void* alpha, const void* matrix, const void* x, const void* beta, void* y,
                 int compute_type, int algorithm, void* buffer)
{
    COUNT("products");
    last = {handle, operation, alpha, matrix, x, beta, y, compute_type, algorithm, buffer};
    if (const int status = check(last)) {
        return status;
    }
    return multiply_by(handle, *(const Matrix*)matrix, operation != 0, compute_type, alpha, (const Vector*)x, beta, (const Vector*)y,
                       (const Vector*)y);
}

// As since 12.8.1. An epilogue doubles z.
int cusparseSpMVOp_bufferSize(void*, int, const void*, const void*, void*, void*, int, int, size_t* bytes)
{
    *bytes = 96;
    return SUCCESS;
}
int cusparseSpMVOp_createDescr(void*, void** description, int operation, const void* matrix, const void*, void*, void*, int type,
                               int algorithm, void* buffer)
{
    if (operation != 0 || algorithm < 0 || algorithm > 2 || buffer == nullptr) {
        return INVALID_VALUE;
    }
    Plan* const made = plans.take();
    *made = {(const Matrix*)matrix, type, false};
    *description = made;
    return SUCCESS;
}
int cusparseSpMVOp_createPlan(void*, void* description, void** plan, const void* code, size_t)
{
    Plan* const made = plans.take();
    *made = *(const Plan*)description;
    made->has_epilogue = code != nullptr;
    *plan = made;
    return SUCCESS;
}
int cusparseSpMVOp_destroyDescr(const void* description)
{
    plans.give((Plan*)description);
    return SUCCESS;
}
int cusparseSpMVOp_destroyPlan(const void* plan)
{
    COUNT("plans destroyed");
    plans.give((Plan*)plan);
    return SUCCESS;
}
int cusparseSpMVOp(void* handle, const void* plan, const void* alpha, const void* beta, const void* x, const void* y, void* z)
{
    COUNT("products");
    const Plan& of = *(const Plan*)plan;
    const double twice[] = {2 * *(const double*)alpha, 2 * *(const double*)beta};
    if (of.has_epilogue) {
        alpha = &twice[0], beta = &twice[1];
    }
    return multiply_by(handle, *of.matrix, false, of.type, alpha, (const Vector*)x, beta, (const Vector*)y, (const Vector*)z);
}
}
