/*
 * sparsight as a LinOp of Ginkgo: its solvers take it as one of their own matrices, with vectors that stay on the GPU, in the
 * stream of the executor.
 *
 * Needs Ginkgo 1.7 or newer with its CUDA backend.
 *
 *     c++ -std=c++17 ginkgo_linop.cpp -lginkgo $(pkg-config --cflags --libs sparsight) -o ginkgo_linop
 *
 * It was written by Ginkgo's documentation; tests compile it where Ginkgo is, and do not run it.
 */

#include <ginkgo/ginkgo.hpp>
#include <sparsight.h>

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

class SparsightOp : public gko::EnableLinOp<SparsightOp> {
    friend class gko::EnablePolymorphicObject<SparsightOp, gko::LinOp>;

public:
    /* As is best for so many products. `a` is on the host: its columns are sorted here, which values follow. */
    static std::unique_ptr<SparsightOp> create(std::shared_ptr<const gko::CudaExecutor> exec, Csr *a, int64_t products)
    {
        a->sort_by_column_index();
        const auto rows = static_cast<int64_t>(a->get_size()[0]), columns = static_cast<int64_t>(a->get_size()[1]);
        ss_profile *profile = nullptr;
        ss_plan *plan = nullptr;
        ss_device *device = nullptr;
        ss_op *op = nullptr;
        check(ss_profile_open(nullptr, &profile));
        const std::unique_ptr<ss_profile, Free> has_profile(profile);
        check(ss_plan_csr(profile, rows, columns, a->get_const_row_ptrs(), SS_I32, a->get_const_col_idxs(), SS_I32, SS_F64,
                          products, &plan));
        const std::unique_ptr<ss_plan, Free> has_plan(plan);
        check(ss_device_open(("cuda:" + std::to_string(exec->get_device_id())).c_str(), &device));
        const std::unique_ptr<ss_device, Free> has_device(device);
        check(ss_prepare(plan, 0, device, a->get_const_values(), &op));
        std::shared_ptr<ss_op> shared(op, Free{});
        return std::unique_ptr<SparsightOp>(new SparsightOp(exec, a->get_size(), shared, exec->get_device_id()));
    }

protected:
    explicit SparsightOp(std::shared_ptr<const gko::Executor> exec) : gko::EnableLinOp<SparsightOp>(exec) {}

    SparsightOp(std::shared_ptr<const gko::Executor> exec, gko::dim<2> size, std::shared_ptr<ss_op> op, int device_id)
        : gko::EnableLinOp<SparsightOp>(exec, size), op_(op), device_id_(device_id)
    {}

    /* x = A b */
    void apply_impl(const gko::LinOp *b, gko::LinOp *x) const override
    {
        multiply(1.0, gko::as<Dense>(b), 0.0, gko::as<Dense>(x));
    }

    /* x = alpha A b + beta x. The factors lie on the GPU, and ours are numbers: they are fetched, which waits. */
    void apply_impl(const gko::LinOp *alpha, const gko::LinOp *b, const gko::LinOp *beta, gko::LinOp *x) const override
    {
        const auto host = this->get_executor()->get_master();
        const auto on_host = [&](const gko::LinOp *factor) { return gko::clone(host, gko::as<Dense>(factor))->at(0, 0); };
        multiply(on_host(alpha), gko::as<Dense>(b), on_host(beta), gko::as<Dense>(x));
    }

private:
    void multiply(double alpha, const Dense *b, double beta, Dense *x) const
    {
        const auto exec = std::dynamic_pointer_cast<const gko::CudaExecutor>(this->get_executor());
        if (!exec || b->get_size()[1] != 1 || b->get_stride() != 1 || x->get_stride() != 1) {
            throw std::runtime_error("one vector without gaps on a CUDA executor is wanted");
        }
        /* A copy may belong to another executor; the matrix stays where it was prepared. */
        if (!op_ || exec->get_device_id() != device_id_) {
            throw std::runtime_error("the matrix was prepared on another GPU than that of the executor");
        }
        check(ss_multiply(op_.get(), alpha, b->get_const_values(), beta, x->get_values(), exec->get_stream()));
    }

    std::shared_ptr<ss_op> op_;
    int device_id_ = -1;
};

}  // namespace

int main()
{
    const int n = 100000;
    const auto host = gko::OmpExecutor::create();
    const auto exec = gko::CudaExecutor::create(0, host);

    gko::matrix_data<double, int> data{gko::dim<2>(n, n)};
    for (int i = 0; i < n; ++i) {
        if (i > 0) data.nonzeros.emplace_back(i, i - 1, -1.0);
        data.nonzeros.emplace_back(i, i, 2.5);
        if (i < n - 1) data.nonzeros.emplace_back(i, i + 1, -1.0);
    }
    auto a = gko::share(Csr::create(host));
    a->read(data);
    std::shared_ptr<gko::LinOp> op = SparsightOp::create(exec, a.get(), 1000);

    auto b = Dense::create(exec, gko::dim<2>(n, 1)), x = Dense::create(exec, gko::dim<2>(n, 1));
    b->fill(1.0);
    x->fill(0.0);
    gko::solver::Cg<double>::build()
        .with_criteria(gko::stop::Iteration::build().with_max_iters(1000u).on(exec),
                       gko::stop::ResidualNorm<double>::build().with_reduction_factor(1e-8).on(exec))
        .on(exec)
        ->generate(op)
        ->apply(b, x);
    std::cout << "x in the middle: " << gko::clone(host, x)->at(n / 2, 0) << " (2 is right)\n";
}
