// Times cusparseSpMV of a CSR matrix in a program that uses cuSPARSE well: descriptors and buffer made once, cusparseSpMV_preprocess
// before the first product. It knows nothing of sparsight.
//
//     g++ -O2 with_preprocess.cpp -lcusparse -lcudart -o with_preprocess
//     with_preprocess [--no-preprocess] [--op 1|2] [--few] f32|f64 FILE... one JSON line a matrix; --few: 24 products, not timed
//     sparsight run with_preprocess ...                                    the same, with the drop-in
//
// --op: by cusparseSpMVOp with that algorithm, which needs the header and library of cuSPARSE 12.8.1 or newer.
//
// FILE: rows, columns, non-zeros as int64, then row offsets and columns as int32, as `to_binary.py` writes them.

#define CUSPARSE_ENABLE_EXPERIMENTAL_API
#include <cuda_runtime.h>
#include <cusparse.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(call)                                                                     \
    do {                                                                                \
        auto status = (call);                                                           \
        if (status != 0) {                                                              \
            fprintf(stderr, "%s:%d: %s gives %d\n", __FILE__, __LINE__, #call, (int)status); \
            return 1;                                                                   \
        }                                                                               \
    } while (0)

template <typename T>
int run(const char* file, cudaDataType type, bool preprocess, int op, bool few)
{
    FILE* in = fopen(file, "rb");
    int64_t size[3];
    if (!in || fread(size, 8, 3, in) != 3) {
        fprintf(stderr, "cannot read %s\n", file);
        return 1;
    }
    const int64_t rows = size[0], columns = size[1], nnz = size[2];
    std::vector<int32_t> row_ptr(rows + 1), col_idx(nnz);
    if (fread(row_ptr.data(), 4, rows + 1, in) != (size_t)rows + 1 || fread(col_idx.data(), 4, nnz, in) != (size_t)nnz) {
        fprintf(stderr, "%s is cut off\n", file);
        return 1;
    }
    fclose(in);
    std::vector<T> values(nnz), x(columns), y(rows);
    for (int64_t i = 0; i < nnz; ++i) values[i] = T(0.5 + (i * 7919 % 1000) / 1000.0);
    for (int64_t i = 0; i < columns; ++i) x[i] = T((i * 104729 % 2000) / 1000.0 - 1.0);
    void *d_row, *d_col, *d_val, *d_x, *d_y, *buffer;
    CHECK(cudaMalloc(&d_row, 4 * (rows + 1)));
    CHECK(cudaMalloc(&d_col, 4 * nnz));
    CHECK(cudaMalloc(&d_val, sizeof(T) * nnz));
    CHECK(cudaMalloc(&d_x, sizeof(T) * columns));
    CHECK(cudaMalloc(&d_y, sizeof(T) * rows));
    CHECK(cudaMemcpy(d_row, row_ptr.data(), 4 * (rows + 1), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_col, col_idx.data(), 4 * nnz, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_val, values.data(), sizeof(T) * nnz, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_x, x.data(), sizeof(T) * columns, cudaMemcpyHostToDevice));
    cusparseHandle_t handle;
    cusparseSpMatDescr_t a;
    cusparseDnVecDescr_t vx, vy;
    CHECK(cusparseCreate(&handle));
    CHECK(cusparseCreateCsr(&a, rows, columns, nnz, d_row, d_col, d_val, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                            CUSPARSE_INDEX_BASE_ZERO, type));
    CHECK(cusparseCreateDnVec(&vx, columns, d_x, type));
    CHECK(cusparseCreateDnVec(&vy, rows, d_y, type));
    const T alpha = 1, beta = 0;
    size_t bytes = 0;
    const auto plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
    const auto algorithm = CUSPARSE_SPMV_ALG_DEFAULT;
    CHECK(cusparseSpMV_bufferSize(handle, plain, &alpha, a, vx, &beta, vy, type, algorithm, &bytes));
    CHECK(cudaMalloc(&buffer, bytes + 16));
    if (preprocess) CHECK(cusparseSpMV_preprocess(handle, plain, &alpha, a, vx, &beta, vy, type, algorithm, buffer));
#if CUSPARSE_VERSION >= 12801
    cusparseSpMVOpDescr_t description = nullptr;
    cusparseSpMVOpPlan_t plan = nullptr;
    void* op_buffer = nullptr;
    if (op) {
        const auto op_algorithm = (cusparseSpMVOpAlg_t)op;
        CHECK(cusparseSpMVOp_bufferSize(handle, plain, a, vx, vy, vy, type, op_algorithm, &bytes));
        CHECK(cudaMalloc(&op_buffer, bytes + 16));
        CHECK(cusparseSpMVOp_createDescr(handle, &description, plain, a, vx, vy, vy, type, op_algorithm, op_buffer));
        CHECK(cusparseSpMVOp_createPlan(handle, description, &plan, nullptr, 0));
    }
    const auto planned = [&] { return cusparseSpMVOp(handle, plan, &alpha, &beta, vx, vy, vy); };
#else
    const auto planned = [] { return CUSPARSE_STATUS_NOT_SUPPORTED; };
#endif
    auto products = [&](int count) {
        for (int i = 0; op && i < count; ++i)
            if (planned() != 0) return 1;
        for (int i = 0; !op && i < count; ++i)
            if (cusparseSpMV(handle, plain, &alpha, a, vx, &beta, vy, type, algorithm, buffer) != 0) return 1;
        return (int)cudaDeviceSynchronize();
    };
    // A solver runs for longer than kernels take to be compiled.
    for (int i = 0; i < (few ? 2 : 8); ++i) {
        CHECK(products(few ? 12 : 200));
        struct timespec nap = {0, 20000000};
        nanosleep(&nap, nullptr);
    }
    double least = 1e9;
    for (int repeat = 0; repeat < (few ? 0 : 3); ++repeat) {
        auto start = std::chrono::steady_clock::now();
        CHECK(products(500));
        least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 500);
    }
    CHECK(cudaMemcpy(y.data(), d_y, sizeof(T) * rows, cudaMemcpyDeviceToHost));
    double off = 0;
    for (int64_t i = 0; i < rows; ++i) {
        double sum = 0, magnitude = 1e-300;
        for (int32_t k = row_ptr[i]; k < row_ptr[i + 1]; ++k) {
            const double term = (double)values[k] * (double)x[col_idx[k]];
            sum += term;
            magnitude += std::fabs(term);
        }
        off = std::max(off, std::fabs((double)y[i] - sum) / magnitude);
    }
    const std::string path = file;
    const auto slash = path.rfind('/', path.rfind('/') - 1);
    printf("{\"matrix\": \"%s\", \"nnz\": %lld, \"time_s\": %.9g, \"off\": %.3g}\n",
           path.substr(slash + 1, path.rfind('.') - slash - 1).c_str(), (long long)nnz, least, off);
    fflush(stdout);
#if CUSPARSE_VERSION >= 12801
    if (op) {
        cusparseSpMVOp_destroyPlan(plan);
        cusparseSpMVOp_destroyDescr(description);
        cudaFree(op_buffer);
    }
#endif
    cusparseDestroySpMat(a);
    cusparseDestroyDnVec(vx);
    cusparseDestroyDnVec(vy);
    cusparseDestroy(handle);
    for (void* memory : {d_row, d_col, d_val, d_x, d_y, buffer}) cudaFree(memory);
    return 0;
}

int main(int count, char** arguments)
{
    int first = 1;
    bool preprocess = true;
    bool few = false;
    int op = 0;
    for (; first < count && arguments[first][0] == '-'; ++first) {
        if (!strcmp(arguments[first], "--no-preprocess")) preprocess = false;
        if (!strcmp(arguments[first], "--few")) few = true;
        if (!strcmp(arguments[first], "--op") && first + 1 < count) op = atoi(arguments[++first]);
    }
    if (first >= count) {
        fprintf(stderr, "usage: with_preprocess [--no-preprocess] [--op 1|2] [--few] f32|f64 FILE...\n");
        return 2;
    }
    const bool is_double = !strcmp(arguments[first], "f64");
    for (int i = first + 1; i < count; ++i) {
        const int failed = is_double ? run<double>(arguments[i], CUDA_R_64F, preprocess, op, few)
                                     : run<float>(arguments[i], CUDA_R_32F, preprocess, op, few);
        if (failed) return failed;
    }
    return 0;
}
