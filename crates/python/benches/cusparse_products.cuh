// Products by cuSPARSE: a matrix on the GPU, its products by each algorithm, and the fastest of them; for solvers_cusparse.cu.

#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusparse.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#define CHECK(call)                                                                                                       \
    do {                                                                                                                  \
        const int status = (int)(call);                                                                                   \
        if (status != 0) {                                                                                                \
            throw std::runtime_error(std::string(#call).substr(0, 60) + " gives " + std::to_string(status) + " in line " + \
                                     std::to_string(__LINE__));                                                           \
        }                                                                                                                 \
    } while (0)

using Clock = std::chrono::steady_clock;

static double since(Clock::time_point begun)
{
    return std::chrono::duration<double>(Clock::now() - begun).count();
}

// Iterations of a graph.
static const int LOOK = 20;
static const int ALGORITHMS = 3;
static const cusparseSpMVAlg_t ALGORITHM[ALGORITHMS] = {CUSPARSE_SPMV_ALG_DEFAULT, CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMV_CSR_ALG2};

// A matrix on the host.
struct Csr {
    int rows = 0, columns = 0;
    std::vector<int> offsets, cols;
    std::vector<double> values;

    Csr transposed() const
    {
        Csr t{columns, rows, std::vector<int>(columns + 1, 0), std::vector<int>(cols.size()), std::vector<double>(cols.size())};
        for (int column : cols) {
            ++t.offsets[column + 1];
        }
        for (int k = 0; k < columns; ++k) {
            t.offsets[k + 1] += t.offsets[k];
        }
        std::vector<int> next(t.offsets.begin(), t.offsets.end() - 1);
        for (int row = 0; row < rows; ++row) {
            for (int k = offsets[row]; k < offsets[row + 1]; ++k) {
                const int to = next[cols[k]]++;
                t.cols[to] = row;
                t.values[to] = values[k];
            }
        }
        return t;
    }
};

// Everything on the GPU; given back at the end.
class Gpu {
public:
    cudaStream_t stream = nullptr;
    cusparseHandle_t sparse = nullptr;
    cublasHandle_t dense = nullptr;

    Gpu()
    {
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cusparseCreate(&sparse));
        CHECK(cublasCreate(&dense));
        CHECK(cusparseSetStream(sparse, stream));
        CHECK(cublasSetStream(dense, stream));
        CHECK(cublasSetPointerMode(dense, CUBLAS_POINTER_MODE_DEVICE));
    }

    ~Gpu()
    {
        for (const auto& give_back : owned) {
            give_back();
        }
        cublasDestroy(dense);
        cusparseDestroy(sparse);
        cudaStreamDestroy(stream);
    }

    template <typename T>
    T* room(size_t count)
    {
        T* device = nullptr;
        CHECK(cudaMalloc((void**)&device, std::max<size_t>(1, count) * sizeof(T)));
        owned.push_back([device] { cudaFree(device); });
        return device;
    }

    template <typename T>
    T* copied(const std::vector<T>& host)
    {
        T* device = room<T>(host.size());
        set(device, host);
        return device;
    }

    template <typename T>
    void set(T* device, const std::vector<T>& host)
    {
        if (!host.empty()) {
            CHECK(cudaMemcpyAsync(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice, stream));
            wait();
        }
    }

    double* zeros(size_t count) { return copied(std::vector<double>(count, 0.0)); }

    void wait() { CHECK(cudaStreamSynchronize(stream)); }

    // A CUDA graph of `work`, which has run once before.
    cudaGraphExec_t captured(const std::function<void()>& work)
    {
        cudaGraph_t graph;
        cudaGraphExec_t ready;
        work();
        wait();
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        try {
            work();
        } catch (...) {
            cudaStreamEndCapture(stream, &graph);
            throw;
        }
        CHECK(cudaStreamEndCapture(stream, &graph));
        CHECK(cudaGraphInstantiate(&ready, graph, 0));
        cudaGraphDestroy(graph);
        owned.push_back([ready] { cudaGraphExecDestroy(ready); });
        return ready;
    }

    // Microseconds of one of the LOOK iterations of a graph: median of three rounds of at least so many seconds.
    double us(cudaGraphExec_t graph, double least_s)
    {
        double rounds[3], once = 0;
        for (int round = -1; round < 3; ++round) {
            const int times = round < 0 ? 3 : std::max(1, std::min(1000, (int)(least_s / once)));
            wait();
            const auto begun = Clock::now();
            for (int k = 0; k < times; ++k) {
                CHECK(cudaGraphLaunch(graph, stream));
            }
            wait();
            (round < 0 ? once : rounds[round]) = since(begun) / times;
        }
        std::sort(rounds, rounds + 3);
        return 1e6 * rounds[1] / LOOK;
    }

    std::vector<std::function<void()>> owned;
};

// A matrix in the GPU's memory, as products take it.
struct Stored {
    const int *offsets, *cols;
    const double* values;
    int64_t rows, columns, nnz;

    Stored(Gpu& gpu, const Csr& a)
        : offsets(gpu.copied(a.offsets)), cols(gpu.copied(a.cols)), values(gpu.copied(a.values)), rows(a.rows), columns(a.columns),
          nnz((int64_t)a.cols.size())
    {
    }
};

// y = op(A) x by an algorithm, preprocessed.
class Product {
public:
    Product(Gpu& gpu, const Stored& a, cusparseOperation_t operation, cusparseSpMVAlg_t algorithm, double* x, double* y)
        : gpu(gpu), operation(operation), algorithm(algorithm), is_turned(operation == CUSPARSE_OPERATION_TRANSPOSE), a(a)
    {
        // A descriptor of its own, to which preprocessing belongs. No routine writes to the matrix.
        CHECK(cusparseCreateCsr(&matrix, a.rows, a.columns, a.nnz, (void*)a.offsets, (void*)a.cols, (void*)a.values, CUSPARSE_INDEX_32I,
                                CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
        gpu.owned.push_back([matrix = matrix] { cusparseDestroySpMat(matrix); });
        const auto of_x = vector(is_turned ? a.rows : a.columns, x), of_y = vector(is_turned ? a.columns : a.rows, y);
        size_t bytes = 0;
        CHECK(cusparseSpMV_bufferSize(gpu.sparse, operation, &one, matrix, of_x, &zero, of_y, CUDA_R_64F, algorithm, &bytes));
        buffer = gpu.room<char>(bytes);
        CHECK(cusparseSpMV_preprocess(gpu.sparse, operation, &one, matrix, of_x, &zero, of_y, CUDA_R_64F, algorithm, buffer));
        multiply = between(of_x, of_y);
    }

    // The product for other vectors.
    std::function<void()> with(double* x, double* y) const
    {
        return between(vector(is_turned ? a.rows : a.columns, x), vector(is_turned ? a.columns : a.rows, y));
    }

    std::function<void()> multiply;

private:
    std::function<void()> between(cusparseDnVecDescr_t x, cusparseDnVecDescr_t y) const
    {
        return [handle = gpu.sparse, operation = operation, matrix = matrix, x, y, algorithm = algorithm, buffer = buffer] {
            CHECK(cusparseSpMV(handle, operation, &one, matrix, x, &zero, y, CUDA_R_64F, algorithm, buffer));
        };
    }

    cusparseDnVecDescr_t vector(int64_t count, double* entries) const
    {
        cusparseDnVecDescr_t made;
        CHECK(cusparseCreateDnVec(&made, count, entries, CUDA_R_64F));
        gpu.owned.push_back([made] { cusparseDestroyDnVec(made); });
        return made;
    }

    static constexpr double one = 1, zero = 0;
    Gpu& gpu;
    cusparseOperation_t operation;
    cusparseSpMVAlg_t algorithm;
    bool is_turned;
    Stored a;
    cusparseSpMatDescr_t matrix;
    void* buffer;
};

// A product by the variant that is given or, with -1, by the fastest, whose number is then written there. `make` makes one.
static std::unique_ptr<Product> chosen(Gpu& gpu, int& variant, int variants, const std::function<std::unique_ptr<Product>(int)>& make)
{
    if (variant >= 0) {
        return make(variant);
    }
    std::unique_ptr<Product> best;
    double least = 0;
    for (int one = 0; one < variants; ++one) {
        try {
            auto product = make(one);
            const auto graph = gpu.captured([&] {
                for (int k = 0; k < LOOK; ++k) {
                    product->multiply();
                }
            });
            const double us = gpu.us(graph, 0.003);
            if (!best || us < least) {
                best = std::move(product), least = us, variant = one;
            }
        } catch (const std::runtime_error& why) {
            std::cerr << "variant " << one << ": " << why.what() << "\n";
        }
    }
    if (!best) {
        throw std::runtime_error("cuSPARSE multiplies by no algorithm");
    }
    return best;
}
