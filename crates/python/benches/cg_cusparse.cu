// Time of an iteration of conjugate gradients by cuSPARSE and cuBLAS, 20 of them captured into a CUDA graph, scalars on the GPU: what
// `solvers.py` stands beside. cuSPARSE's product is preprocessed.
//
//     nvcc -O2 cg_cusparse.cu -lcusparse -lcublas -o cg_cusparse
//     cg_cusparse FILE...                                                  one JSON line a square matrix, microseconds, f64
//
// FILE: rows, columns, non-zeros as int64, then row offsets and columns as int32, as crates/cusparse/benches/to_binary.py writes them.
// All values are 1: the iteration does not converge, which takes as long.

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusparse.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#define CHECK(call)                                                                          \
    do {                                                                                     \
        const int status = (int)(call);                                                      \
        if (status != 0) {                                                                   \
            fprintf(stderr, "%s:%d: %s gives %d\n", __FILE__, __LINE__, #call, status);      \
            return 1;                                                                        \
        }                                                                                    \
    } while (0)

static const int LOOK = 20;

// Scalars on the GPU.
enum { RR, PQ, NEW, ALPHA, MINUS, BETA, ONE, SCALARS };

__global__ void step(double* s)
{
    s[ALPHA] = s[RR] / s[PQ];
    s[MINUS] = -s[ALPHA];
}

__global__ void turn(double* s)
{
    s[BETA] = s[NEW] / s[RR];
    s[RR] = s[NEW];
}

template <typename T>
static T* on_gpu(const std::vector<T>& host)
{
    T* device = nullptr;
    if (cudaMalloc(&device, std::max<size_t>(1, host.size()) * sizeof(T)) != cudaSuccess) {
        return nullptr;
    }
    cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
    return device;
}

static int run(const char* file, cusparseHandle_t sparse, cublasHandle_t dense, cudaStream_t stream)
{
    FILE* in = fopen(file, "rb");
    int64_t size[3];
    if (!in || fread(size, 8, 3, in) != 3) {
        fprintf(stderr, "cannot read %s\n", file);
        return 1;
    }
    const int64_t n = size[0], nnz = size[2];
    std::vector<int> offsets(n + 1), columns(nnz);
    const bool whole = fread(offsets.data(), 4, n + 1, in) == (size_t)n + 1 && fread(columns.data(), 4, nnz, in) == (size_t)nnz;
    fclose(in);
    if (!whole || size[1] != n) {
        fprintf(stderr, "%s: %s\n", file, whole ? "not square" : "cut off");
        return whole ? 0 : 1;
    }
    int *rows = on_gpu(offsets), *cols = on_gpu(columns);
    double* values = on_gpu(std::vector<double>(nnz, 1.0));
    double *x = on_gpu(std::vector<double>(n, 0.0)), *r = on_gpu(std::vector<double>(n, 1.0));
    double *p = on_gpu(std::vector<double>(n, 1.0)), *q = on_gpu(std::vector<double>(n, 0.0));
    double* s = on_gpu(std::vector<double>(SCALARS, 1.0));
    if (!rows || !cols || !values || !x || !r || !p || !q || !s) {
        fprintf(stderr, "%s: no memory\n", file);
        return 1;
    }
    cusparseSpMatDescr_t a;
    cusparseDnVecDescr_t of_p, of_q;
    CHECK(cusparseCreateCsr(&a, n, n, nnz, rows, cols, values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                            CUDA_R_64F));
    CHECK(cusparseCreateDnVec(&of_p, n, p, CUDA_R_64F));
    CHECK(cusparseCreateDnVec(&of_q, n, q, CUDA_R_64F));
    const double one = 1, zero = 0;
    const auto way = CUSPARSE_SPMV_ALG_DEFAULT;
    const auto plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
    size_t bytes = 0;
    void* buffer = nullptr;
    CHECK(cusparseSpMV_bufferSize(sparse, plain, &one, a, of_p, &zero, of_q, CUDA_R_64F, way, &bytes));
    CHECK(cudaMalloc(&buffer, std::max<size_t>(1, bytes)));
    CHECK(cusparseSpMV_preprocess(sparse, plain, &one, a, of_p, &zero, of_q, CUDA_R_64F, way, buffer));

    auto iterate = [&]() -> int {
        for (int k = 0; k < LOOK; ++k) {
            CHECK(cusparseSpMV(sparse, plain, &one, a, of_p, &zero, of_q, CUDA_R_64F, way, buffer));
            CHECK(cublasDdot(dense, n, p, 1, q, 1, s + PQ));
            step<<<1, 1, 0, stream>>>(s);
            CHECK(cublasDaxpy(dense, n, s + ALPHA, p, 1, x, 1));
            CHECK(cublasDaxpy(dense, n, s + MINUS, q, 1, r, 1));
            CHECK(cublasDdot(dense, n, r, 1, r, 1, s + NEW));
            turn<<<1, 1, 0, stream>>>(s);
            CHECK(cublasDscal(dense, n, s + BETA, p, 1));
            CHECK(cublasDaxpy(dense, n, s + ONE, r, 1, p, 1));
        }
        return 0;
    };
    CHECK(iterate());
    CHECK(cudaStreamSynchronize(stream));
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(iterate());
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&ready, graph, 0));
    // Three rounds of at least 30 ms; the median.
    double rounds[3], once = 0;
    for (int round = -1; round < 3; ++round) {
        const int times = round < 0 ? 3 : std::max(1, std::min(500, (int)(0.03 / once)));
        CHECK(cudaStreamSynchronize(stream));
        const auto begun = std::chrono::steady_clock::now();
        for (int k = 0; k < times; ++k) {
            CHECK(cudaGraphLaunch(ready, stream));
        }
        CHECK(cudaStreamSynchronize(stream));
        const double taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count() / times;
        (round < 0 ? once : rounds[round]) = taken;
    }
    std::sort(rounds, rounds + 3);
    printf("{\"file\": \"%s\", \"rows\": %lld, \"nnz\": %lld, \"us\": %.3f}\n", file, (long long)n, (long long)nnz, 1e6 * rounds[1] / LOOK);
    fflush(stdout);
    cudaGraphExecDestroy(ready);
    cudaGraphDestroy(graph);
    cusparseDestroyDnVec(of_p);
    cusparseDestroyDnVec(of_q);
    cusparseDestroySpMat(a);
    for (void* memory : {(void*)rows, (void*)cols, (void*)values, (void*)x, (void*)r, (void*)p, (void*)q, (void*)s, buffer}) {
        cudaFree(memory);
    }
    return 0;
}

int main(int count, char** files)
{
    cudaStream_t stream;
    cusparseHandle_t sparse;
    cublasHandle_t dense;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cusparseCreate(&sparse));
    CHECK(cublasCreate(&dense));
    CHECK(cusparseSetStream(sparse, stream));
    CHECK(cublasSetStream(dense, stream));
    CHECK(cublasSetPointerMode(dense, CUBLAS_POINTER_MODE_DEVICE));
    int failed = 0;
    for (int k = 1; k < count; ++k) {
        failed |= run(files[k], sparse, dense, stream);
    }
    return failed;
}
