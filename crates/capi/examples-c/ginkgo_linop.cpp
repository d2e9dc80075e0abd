/*
 * sparsight as a LinOp of Ginkgo: its solvers take it as one of their own matrices. A Poisson system on a square grid is solved by conjugate
 * gradients with Ginkgo's own Csr and with the LinOp, and the two solutions are compared.
 *
 *     ginkgo_linop [reference|omp|cuda]        the executor, "reference" unless another one is named
 *
 * On "cuda", the first GPU, vectors stay on the GPU and products are queued in the stream of the executor; on the others they are computed
 * by sparsight on the processor.
 *
 * Needs Ginkgo 1.7 or newer.
 *
 *     c++ -std=c++17 ginkgo_linop.cpp $(pkg-config --cflags --libs ginkgo sparsight) -o ginkgo_linop
 *
 * scripts/ginkgo-example builds Ginkgo 1.11.0 for the processor, and this with it, and runs it. That was not done with a real Ginkgo yet: the
 * base classes, constructors and functions of SparsightOp are those that include/ginkgo/core/base/lin_op.hpp of 1.11.0 declares.
 */

#include <ginkgo/ginkgo.hpp>
#include <sparsight.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

void check(int code)
{
    if (code != SS_OK) {
        throw std::runtime_error(std::string(ss_last_error()) + " (" + ss_last_hint() + ")");
    }
}

/* Handles that free themselves. A prepared matrix is shared by the copies of its LinOp. */
struct Free {
    void operator()(ss_profile *profile) const { ss_profile_free(profile); }
    void operator()(ss_device *device) const { ss_device_free(device); }
    void operator()(ss_plan *plan) const { ss_plan_free(plan); }
    void operator()(ss_op *op) const { ss_op_free(op); }
};

using Dense = gko::matrix::Dense<double>;
using Csr = gko::matrix::Csr<double, int>;

/* The name that sparsight has for the device of an executor. */
std::string device_of(const gko::Executor &exec)
{
    if (const auto *cuda = dynamic_cast<const gko::CudaExecutor *>(&exec)) return "cuda:" + std::to_string(cuda->get_device_id());
    /* The reference executor is an OpenMP executor, too. */
    if (dynamic_cast<const gko::OmpExecutor *>(&exec)) return "cpu";
    throw std::runtime_error("sparsight multiplies on the processor and on GPUs with CUDA");
}

class SparsightOp : public gko::EnableLinOp<SparsightOp> {
    friend class gko::EnablePolymorphicObject<SparsightOp, gko::LinOp>;

public:
    /*
     * The best candidate for so many products that runs on the device of the executor. `a` is in the memory of the host: its columns are
     * sorted here, and values with them.
     */
    static std::unique_ptr<SparsightOp> create(std::shared_ptr<const gko::Executor> exec, Csr *a, int64_t products)
    {
        a->sort_by_column_index();
        const auto rows = static_cast<int64_t>(a->get_size()[0]), columns = static_cast<int64_t>(a->get_size()[1]);
        const std::string name = device_of(*exec);
        ss_profile *profile = nullptr;
        ss_plan *plan = nullptr;
        ss_device *device = nullptr;
        ss_op *op = nullptr;
        check(ss_profile_open(name.c_str(), &profile));
        const std::unique_ptr<ss_profile, Free> has_profile(profile);
        check(ss_plan_csr(profile, rows, columns, a->get_const_row_ptrs(), SS_I32, a->get_const_col_idxs(), SS_I32, SS_F64,
                          products, &plan));
        const std::unique_ptr<ss_plan, Free> has_plan(plan);
        check(ss_device_open(name.c_str(), &device));
        const std::unique_ptr<ss_device, Free> has_device(device);
        int64_t count = 0, candidate = 0;
        check(ss_plan_count(plan, &count));
        int code = SS_OK;
        do {
            code = ss_prepare(plan, candidate, device, a->get_const_values(), &op);
        } while (code == SS_INFEASIBLE && ++candidate < count);
        check(code);
        std::shared_ptr<ss_op> shared(op, Free{});
        char id[80];
        ss_plan_id(plan, candidate, id, sizeof id);
        std::cout << "prepared on " << name << ": " << id << "\n";
        return std::unique_ptr<SparsightOp>(new SparsightOp(exec, a->get_size(), shared, name));
    }

protected:
    explicit SparsightOp(std::shared_ptr<const gko::Executor> exec) : gko::EnableLinOp<SparsightOp>(exec) {}

    SparsightOp(std::shared_ptr<const gko::Executor> exec, gko::dim<2> size, std::shared_ptr<ss_op> op, std::string device)
        : gko::EnableLinOp<SparsightOp>(exec, size), op_(op), device_(device)
    {}

    /* x = A b */
    void apply_impl(const gko::LinOp *b, gko::LinOp *x) const override
    {
        multiply(1.0, gko::as<Dense>(b), 0.0, gko::as<Dense>(x));
    }

    /* x = alpha A b + beta x. The factors are where the vectors are, and ours are numbers: from a GPU they are fetched, which waits. */
    void apply_impl(const gko::LinOp *alpha, const gko::LinOp *b, const gko::LinOp *beta, gko::LinOp *x) const override
    {
        const auto host = this->get_executor()->get_master();
        const auto on_host = [&](const gko::LinOp *factor) { return gko::clone(host, gko::as<Dense>(factor))->at(0, 0); };
        multiply(on_host(alpha), gko::as<Dense>(b), on_host(beta), gko::as<Dense>(x));
    }

private:
    void multiply(double alpha, const Dense *b, double beta, Dense *x) const
    {
        const auto exec = this->get_executor();
        if (b->get_size()[1] != 1 || b->get_stride() != 1 || x->get_stride() != 1) {
            throw std::runtime_error("one vector without gaps is wanted");
        }
        /* A copy may belong to another executor; the matrix stays where it was prepared. */
        if (!op_ || device_of(*exec) != device_) {
            throw std::runtime_error("the matrix was prepared on another device than that of the executor");
        }
        if (const auto cuda = std::dynamic_pointer_cast<const gko::CudaExecutor>(exec)) {
            check(ss_multiply(op_.get(), alpha, b->get_const_values(), beta, x->get_values(), cuda->get_stream()));
        } else {
            check(ss_multiply_host(op_.get(), alpha, b->get_const_values(), beta, x->get_values()));
        }
    }

    std::shared_ptr<ss_op> op_;
    std::string device_;
};

/* The five-point stencil on a grid of side x side points: 4 at each point, -1 at each of its neighbours. */
gko::matrix_data<double, int> laplacian(int side)
{
    const int n = side * side;
    gko::matrix_data<double, int> data{gko::dim<2>(n, n)};
    for (int row = 0; row < n; ++row) {
        const int i = row / side, j = row % side;
        if (i > 0) data.nonzeros.emplace_back(row, row - side, -1.0);
        if (j > 0) data.nonzeros.emplace_back(row, row - 1, -1.0);
        data.nonzeros.emplace_back(row, row, 4.0);
        if (j < side - 1) data.nonzeros.emplace_back(row, row + 1, -1.0);
        if (i < side - 1) data.nonzeros.emplace_back(row, row + side, -1.0);
    }
    return data;
}

/* Solves A x = b by conjugate gradients, and gives the number of iterations. */
std::size_t solve(std::shared_ptr<const gko::Executor> exec, std::shared_ptr<const gko::LinOp> a, const Dense *b, Dense *x)
{
    const auto limit = gko::share(gko::stop::Iteration::build().with_max_iters(1000u).on(exec));
    const auto residual = gko::share(gko::stop::ResidualNorm<double>::build().with_reduction_factor(1e-10).on(exec));
    const std::shared_ptr<gko::log::Convergence<double>> logger = gko::log::Convergence<double>::create();
    limit->add_logger(logger);
    residual->add_logger(logger);
    gko::solver::Cg<double>::build().with_criteria(limit, residual).on(exec)->generate(a)->apply(b, x);
    return logger->get_num_iterations();
}

/* The largest difference of two vectors in the memory of the host, relative to the largest entry of the second. */
double difference(const Dense *u, const Dense *v)
{
    double largest = 0.0, result = 0.0;
    for (gko::size_type i = 0; i < v->get_size()[0]; ++i) {
        largest = std::max(largest, std::abs(v->at(i, 0)));
        result = std::max(result, std::abs(u->at(i, 0) - v->at(i, 0)));
    }
    return result / largest;
}

std::shared_ptr<gko::Executor> executor(const std::string &name)
{
    if (name == "reference") return gko::ReferenceExecutor::create();
    if (name == "omp") return gko::OmpExecutor::create();
    if (name == "cuda") return gko::CudaExecutor::create(0, gko::OmpExecutor::create());
    throw std::runtime_error("the executor is reference, omp or cuda, not " + name);
}

bool is_right(const std::string &where)
{
    const int side = 100, n = side * side;
    const auto exec = executor(where);
    const auto host = exec->get_master();
    auto a = gko::share(Csr::create(host));
    a->read(laplacian(side));
    const std::shared_ptr<gko::LinOp> csr = gko::clone(exec, a), op = SparsightOp::create(exec, a.get(), 1000);

    /* A system with a known solution, the numbers 1 to 7 in turn: the right-hand side is a sum of integers, the same by both products. */
    auto truth = Dense::create(host, gko::dim<2>(n, 1));
    for (int row = 0; row < n; ++row) truth->at(row, 0) = 1.0 + row % 7;
    auto known = gko::clone(exec, truth);
    auto b = Dense::create(exec, gko::dim<2>(n, 1)), y = Dense::create(exec, gko::dim<2>(n, 1));
    csr->apply(known, b);
    op->apply(known, y);
    const double product = difference(gko::clone(host, y).get(), gko::clone(host, b).get());

    auto x_csr = Dense::create(exec, gko::dim<2>(n, 1)), x_op = Dense::create(exec, gko::dim<2>(n, 1));
    x_csr->fill(0.0);
    x_op->fill(0.0);
    const auto csr_iterations = solve(exec, csr, b.get(), x_csr.get()), op_iterations = solve(exec, op, b.get(), x_op.get());
    const auto by_csr = gko::clone(host, x_csr), by_op = gko::clone(host, x_op);
    const double solutions = difference(by_op.get(), by_csr.get()), error = difference(by_op.get(), truth.get());
    std::cout << "y = A x: the products differ by " << product << "\n"
              << "iterations: " << csr_iterations << " with Csr, " << op_iterations << " with the LinOp\n"
              << "the solutions differ by " << solutions << ", and by " << error << " from the known one\n";
    return product == 0.0 && csr_iterations == op_iterations && solutions < 1e-10 && error < 1e-8;
}

}  // namespace

int main(int argc, char **argv)
{
    try {
        const bool right = is_right(argc > 1 ? argv[1] : "reference");
        std::cout << (right ? "the LinOp is right\n" : "the LinOp is WRONG\n");
        return right ? 0 : 1;
    } catch (const std::exception &error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}
