// Iterations of CG, BiCGStab and PDHG by cuSPARSE and cuBLAS, 20 of them in a CUDA graph, scalars on the GPU, f64: what `solvers.py` stands
// beside, and runs (`--cusparse`).
//
//     nvcc -O3 -arch=native solvers_cusparse.cu -lcusparse -lcublas -o solvers_cusparse
//     solvers_cusparse --solver cg|bicgstab|pdhg [--variants A,T] [FILE...]       files of standard input, one a line, if none is named
//
// FILE, as `write_system` of solvers.py writes it: rows, columns, non-zeros and iterations as int64; row offsets and columns as int32; then
// float64: values; of cg and bicgstab b; of pdhg the step, c, lower, upper, b, least.
//
// For each a line of JSON on standard output:
//
//     us              microseconds an iteration, median of three rounds of at least 15 ms:
//                     cusparse_fused: cuSPARSE's products, cuBLAS's dot products, one kernel for all updates between two of them
//                     cusparse_cublas: updates by cuBLAS, too, of cg alone
//     variants        of A and A^T: the algorithm, plus 3 for CUSPARSE_OPERATION_TRANSPOSE in place of a transposed CSR
//     prepare_s       with a CUDA context, from the matrix on the host to the graph: handles, copies, A^T, preprocessing, capture
//     iterations_s    the iterations that FILE asks for
//     cusparse        its version
//
// and x, then of pdhg y, after these iterations in FILE.x. Every product is preprocessed; of its variants the fastest is taken. With
// --variants nothing is tried or timed before, so that prepare_s is that of a program that knows its variant: the first FILE of a process counts.

#include "cusparse_products.cuh"

#include <cstdio>

// Scalars on the GPU. Of RHO there are two, of this iteration and of the next in turn: a kernel reads one and writes the other.
enum { RHO, RHO_NEXT, PQ, RR0V, TR, TT, TR0, ALPHA, MINUS, BETA, ONE, SCALARS };

__device__ double ratio(double a, double b)
{
    return b != 0 ? a / b : 0;
}

// x += alpha p, r -= alpha q
__global__ void cg_residual(int n, const double* rho, const double* s, const double* p, const double* q, double* x, double* r)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const double alpha = ratio(*rho, s[PQ]);
        x[i] += alpha * p[i];
        r[i] -= alpha * q[i];
    }
}

// p = r + beta p
__global__ void cg_direction(int n, const double* rho, const double* next, const double* r, double* p)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        p[i] = r[i] + ratio(*next, *rho) * p[i];
    }
}

// The scalars of CG, where cuBLAS updates the vectors.
__global__ void cg_alpha(double* s)
{
    s[ALPHA] = ratio(s[RHO], s[PQ]);
    s[MINUS] = -s[ALPHA];
}

__global__ void cg_beta(double* s)
{
    s[BETA] = ratio(s[RHO_NEXT], s[RHO]);
    s[RHO] = s[RHO_NEXT];
}

// r -= alpha v
__global__ void bicgstab_half(int n, const double* rho, const double* s, const double* v, double* r)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        r[i] -= ratio(*rho, s[RR0V]) * v[i];
    }
}

// x += alpha p + omega r, r -= omega t, p = r + beta (p - omega v); (r, r0) was 0 before, so the next rho is -omega (t, r0)
__global__ void bicgstab_step(int n, const double* rho, double* next, const double* s, const double* v, const double* t, double* x, double* r,
                              double* p)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const double alpha = ratio(*rho, s[RR0V]), omega = ratio(s[TR], s[TT]), new_rho = -omega * s[TR0];
    const double beta = ratio(new_rho, *rho) * ratio(alpha, omega);
    if (i < n) {
        const double old_r = r[i], old_p = p[i], new_r = old_r - omega * t[i];
        x[i] += alpha * old_p + omega * old_r;
        r[i] = new_r;
        p[i] = new_r + beta * (old_p - omega * v[i]);
    }
    if (i == 0) {
        *next = new_rho;
    }
}

// x = min(max(x - step (c - A^T y), lower), upper), v = 2 x - the old x
__global__ void pdhg_primal(int n, double step, const double* c, const double* lower, const double* upper, const double* of_y, double* x,
                            double* v)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const double old = x[i], now = fmin(fmax(old - step * (c[i] - of_y[i]), lower[i]), upper[i]);
        x[i] = now;
        v[i] = 2 * now - old;
    }
}

// y = max(y + step (b - A v), least)
__global__ void pdhg_dual(int n, double step, const double* b, const double* least, const double* of_v, double* y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = fmax(y[i] + step * (b[i] - of_v[i]), least[i]);
    }
}

// What a file holds.
struct System {
    Csr a;
    int64_t iterations = 0;
    double step = 0;
    std::vector<double> c, lower, upper, b, least;
};

template <typename T>
static std::vector<T> numbers(FILE* in, int64_t count)
{
    std::vector<T> found(count);
    if (fread(found.data(), sizeof(T), count, in) != (size_t)count) {
        throw std::runtime_error("the file is cut off");
    }
    return found;
}

static System system_of(const std::string& file, bool is_lp)
{
    std::unique_ptr<FILE, int (*)(FILE*)> in(fopen(file.c_str(), "rb"), [](FILE* open) { return open ? fclose(open) : 0; });
    if (!in) {
        throw std::runtime_error("cannot be read");
    }
    const auto size = numbers<int64_t>(in.get(), 4);
    System s;
    if (*std::max_element(size.begin(), size.begin() + 3) >= INT32_MAX) {
        throw std::runtime_error("2^31 rows, columns or non-zeros, or more");
    }
    s.a.rows = (int)size[0], s.a.columns = (int)size[1], s.iterations = size[3];
    if (!is_lp && size[0] != size[1]) {
        throw std::runtime_error("the matrix is not square");
    }
    s.a.offsets = numbers<int>(in.get(), size[0] + 1);
    s.a.cols = numbers<int>(in.get(), size[2]);
    s.a.values = numbers<double>(in.get(), size[2]);
    if (is_lp) {
        s.step = numbers<double>(in.get(), 1)[0];
        s.c = numbers<double>(in.get(), size[1]);
        s.lower = numbers<double>(in.get(), size[1]);
        s.upper = numbers<double>(in.get(), size[1]);
    }
    s.b = numbers<double>(in.get(), size[0]);
    if (is_lp) {
        s.least = numbers<double>(in.get(), size[0]);
    }
    return s;
}

static const int THREADS = 256;

static int blocks(int n)
{
    return std::max(1, (n + THREADS - 1) / THREADS);
}

// A solver on the GPU: where it begins, and LOOK iterations.
struct Loop {
    std::function<void()> start, fused, by_cublas;
    // What is written at the end.
    std::vector<std::pair<double*, int>> results;
};

// The product of cg and bicgstab.
static std::shared_ptr<Product> product_of(Gpu& gpu, const System& system, int& variant, double* x, double* y)
{
    const Stored a(gpu, system.a);
    return chosen(gpu, variant, ALGORITHMS, [&](int one) {
        return std::make_unique<Product>(gpu, a, CUSPARSE_OPERATION_NON_TRANSPOSE, ALGORITHM[one], x, y);
    });
}

// x = 0, the other vectors b, and rho = (b, b).
static std::function<void()> start_of(Gpu& gpu, const System& system, double* x, std::vector<double*> as_b, double* s)
{
    return [&gpu, &system, x, as_b, s] {
        const int n = system.a.rows;
        gpu.set(x, std::vector<double>(n, 0.0));
        gpu.set(s, std::vector<double>(SCALARS, 1.0));
        for (double* vector : as_b) {
            gpu.set(vector, system.b);
        }
        CHECK(cublasDdot(gpu.dense, n, as_b[0], 1, as_b[0], 1, s + RHO));
    };
}

static Loop cg(Gpu& gpu, const System& system, int& variant)
{
    const int n = system.a.rows;
    double *x = gpu.zeros(n), *r = gpu.zeros(n), *p = gpu.zeros(n), *q = gpu.zeros(n), *s = gpu.zeros(SCALARS);
    const auto product = product_of(gpu, system, variant, p, q);
    Loop loop;
    loop.start = start_of(gpu, system, x, {r, p}, s);
    loop.fused = [=, &gpu] {
        for (int k = 0; k < LOOK; ++k) {
            double *rho = s + k % 2, *next = s + 1 - k % 2;
            product->multiply();
            CHECK(cublasDdot(gpu.dense, n, p, 1, q, 1, s + PQ));
            cg_residual<<<blocks(n), THREADS, 0, gpu.stream>>>(n, rho, s, p, q, x, r);
            CHECK(cublasDdot(gpu.dense, n, r, 1, r, 1, next));
            cg_direction<<<blocks(n), THREADS, 0, gpu.stream>>>(n, rho, next, r, p);
            CHECK(cudaPeekAtLastError());
        }
    };
    loop.by_cublas = [=, &gpu] {
        for (int k = 0; k < LOOK; ++k) {
            product->multiply();
            CHECK(cublasDdot(gpu.dense, n, p, 1, q, 1, s + PQ));
            cg_alpha<<<1, 1, 0, gpu.stream>>>(s);
            CHECK(cublasDaxpy(gpu.dense, n, s + ALPHA, p, 1, x, 1));
            CHECK(cublasDaxpy(gpu.dense, n, s + MINUS, q, 1, r, 1));
            CHECK(cublasDdot(gpu.dense, n, r, 1, r, 1, s + RHO_NEXT));
            cg_beta<<<1, 1, 0, gpu.stream>>>(s);
            CHECK(cublasDscal(gpu.dense, n, s + BETA, p, 1));
            CHECK(cublasDaxpy(gpu.dense, n, s + ONE, r, 1, p, 1));
            CHECK(cudaPeekAtLastError());
        }
    };
    loop.results = {{x, n}};
    return loop;
}

static Loop bicgstab(Gpu& gpu, const System& system, int& variant)
{
    const int n = system.a.rows;
    double *x = gpu.zeros(n), *r = gpu.zeros(n), *r0 = gpu.zeros(n), *p = gpu.zeros(n), *v = gpu.zeros(n), *t = gpu.zeros(n);
    double* s = gpu.zeros(SCALARS);
    const auto product = product_of(gpu, system, variant, p, v);
    const auto second = product->with(r, t);
    Loop loop;
    loop.start = start_of(gpu, system, x, {r, r0, p}, s);
    loop.fused = [=, &gpu] {
        for (int k = 0; k < LOOK; ++k) {
            double *rho = s + k % 2, *next = s + 1 - k % 2;
            product->multiply();
            CHECK(cublasDdot(gpu.dense, n, v, 1, r0, 1, s + RR0V));
            bicgstab_half<<<blocks(n), THREADS, 0, gpu.stream>>>(n, rho, s, v, r);
            second();
            CHECK(cublasDdot(gpu.dense, n, t, 1, r, 1, s + TR));
            CHECK(cublasDdot(gpu.dense, n, t, 1, t, 1, s + TT));
            CHECK(cublasDdot(gpu.dense, n, t, 1, r0, 1, s + TR0));
            bicgstab_step<<<blocks(n), THREADS, 0, gpu.stream>>>(n, rho, next, s, v, t, x, r, p);
            CHECK(cudaPeekAtLastError());
        }
    };
    loop.results = {{x, n}};
    return loop;
}

static Loop pdhg(Gpu& gpu, const System& system, int& variant, int& turned_variant)
{
    const int rows = system.a.rows, columns = system.a.columns;
    double *x = gpu.zeros(columns), *v = gpu.zeros(columns), *of_y = gpu.zeros(columns), *y = gpu.zeros(rows), *of_v = gpu.zeros(rows);
    const double *c = gpu.copied(system.c), *lower = gpu.copied(system.lower), *upper = gpu.copied(system.upper);
    const double *b = gpu.copied(system.b), *least = gpu.copied(system.least);
    const double step = system.step;
    const Stored a(gpu, system.a);
    std::unique_ptr<Stored> turned;
    if (turned_variant < ALGORITHMS) {
        turned = std::make_unique<Stored>(gpu, system.a.transposed());
    }
    const std::shared_ptr<Product> product = chosen(gpu, variant, ALGORITHMS, [&](int one) {
        return std::make_unique<Product>(gpu, a, CUSPARSE_OPERATION_NON_TRANSPOSE, ALGORITHM[one], v, of_v);
    });
    const std::shared_ptr<Product> transposed = chosen(gpu, turned_variant, 2 * ALGORITHMS, [&](int one) {
        const auto how = ALGORITHM[one % ALGORITHMS];
        return one < ALGORITHMS ? std::make_unique<Product>(gpu, *turned, CUSPARSE_OPERATION_NON_TRANSPOSE, how, y, of_y)
                                : std::make_unique<Product>(gpu, a, CUSPARSE_OPERATION_TRANSPOSE, how, y, of_y);
    });
    Loop loop;
    loop.start = [=, &gpu, &system] {
        // As near to 0 as the bounds allow.
        std::vector<double> nearest(columns);
        for (int k = 0; k < columns; ++k) {
            nearest[k] = std::min(std::max(0.0, system.lower[k]), system.upper[k]);
        }
        gpu.set(x, nearest);
        gpu.set(y, std::vector<double>(rows, 0.0));
    };
    loop.fused = [=, &gpu] {
        for (int k = 0; k < LOOK; ++k) {
            transposed->multiply();
            pdhg_primal<<<blocks(columns), THREADS, 0, gpu.stream>>>(columns, step, c, lower, upper, of_y, x, v);
            product->multiply();
            pdhg_dual<<<blocks(rows), THREADS, 0, gpu.stream>>>(rows, step, b, least, of_v, y);
            CHECK(cudaPeekAtLastError());
        }
    };
    loop.results = {{x, columns}, {y, rows}};
    return loop;
}

// What the command line asks for.
struct Asked {
    std::string solver;
    int variants[2] = {-1, -1};
    std::vector<std::string> files;
};

static std::string measured(const Asked& asked, const std::string& file)
{
    const bool is_lp = asked.solver == "pdhg", is_known = asked.variants[0] >= 0;
    const System system = system_of(file, is_lp);
    int variant = asked.variants[0], turned = asked.variants[1];
    const auto begun = Clock::now();
    Gpu gpu;
    const Loop loop = is_lp ? pdhg(gpu, system, variant, turned) : asked.solver == "cg" ? cg(gpu, system, variant) : bicgstab(gpu, system, variant);
    const auto graph = gpu.captured(loop.fused);
    loop.start();
    gpu.wait();
    const double prepare_s = since(begun);
    std::string told;
    if (is_known) {
        told = "\"prepare_s\": " + std::to_string(prepare_s);
    } else {
        const double least_s = 0.015;
        told = "\"us\": {\"cusparse_fused\": " + std::to_string(gpu.us(graph, least_s));
        if (loop.by_cublas) {
            told += ", \"cusparse_cublas\": " + std::to_string(gpu.us(gpu.captured(loop.by_cublas), least_s));
        }
        told += "}";
        loop.start();
        gpu.wait();
    }
    const auto started = Clock::now();
    for (int64_t done = 0; done < system.iterations; done += LOOK) {
        CHECK(cudaGraphLaunch(graph, gpu.stream));
    }
    gpu.wait();
    told += ", \"iterations_s\": " + std::to_string(since(started));
    int version = 0;
    CHECK(cusparseGetVersion(gpu.sparse, &version));
    told += ", \"cusparse\": " + std::to_string(version);
    told += ", \"variants\": \"" + std::to_string(variant) + "," + std::to_string(turned) + "\"";
    std::unique_ptr<FILE, int (*)(FILE*)> out(fopen((file + ".x").c_str(), "wb"), [](FILE* open) { return open ? fclose(open) : 0; });
    for (const auto& [entries, count] : loop.results) {
        std::vector<double> host(count);
        CHECK(cudaMemcpy(host.data(), entries, count * sizeof(double), cudaMemcpyDeviceToHost));
        if (!out || fwrite(host.data(), sizeof(double), count, out.get()) != (size_t)count) {
            throw std::runtime_error("the result cannot be written beside the file");
        }
    }
    return told;
}

static std::string quoted(const std::string& text)
{
    std::string found = "\"";
    for (char one : text) {
        if (one == '"' || one == '\\') {
            found += '\\';
        }
        found += one;
    }
    return found + '"';
}

// False if it failed.
static bool tell(const Asked& asked, const std::string& file)
{
    std::string told;
    bool is_well = true;
    try {
        told = measured(asked, file);
    } catch (const std::exception& why) {
        told = "\"failed\": " + quoted(why.what());
        is_well = false;
    }
    std::cout << "{\"file\": " << quoted(file) << ", " << told << "}" << std::endl;
    return is_well;
}

static Asked asked_for(int count, char** words)
{
    Asked asked;
    for (int k = 1; k < count; ++k) {
        const std::string word = words[k];
        if (word == "--solver" && k + 1 < count) {
            asked.solver = words[++k];
        } else if (word == "--variants" && k + 1 < count) {
            const bool are_two = sscanf(words[++k], "%d,%d", &asked.variants[0], &asked.variants[1]) == 2;
            if (!are_two || asked.variants[0] < 0 || asked.variants[0] >= ALGORITHMS || asked.variants[1] >= 2 * ALGORITHMS) {
                throw std::runtime_error("--variants takes two numbers, as an earlier run tells them: 1,4");
            }
        } else {
            asked.files.push_back(word);
        }
    }
    if (asked.solver != "cg" && asked.solver != "bicgstab" && asked.solver != "pdhg") {
        throw std::runtime_error("give --solver cg, bicgstab or pdhg");
    }
    if (asked.solver == "pdhg" && asked.variants[0] >= 0 && asked.variants[1] < 0) {
        throw std::runtime_error("--variants of pdhg takes one of A^T, too: 1,4");
    }
    return asked;
}

int main(int count, char** words)
{
    Asked asked;
    try {
        asked = asked_for(count, words);
        // The context.
        CHECK(cudaFree(nullptr));
    } catch (const std::exception& why) {
        std::cerr << "error: " << why.what() << "\n";
        return 2;
    }
    bool is_well = true;
    for (const auto& file : asked.files) {
        is_well &= tell(asked, file);
    }
    if (asked.files.empty()) {
        for (std::string file; std::getline(std::cin, file);) {
            is_well &= tell(asked, file);
        }
    }
    return is_well ? 0 : 1;
}
