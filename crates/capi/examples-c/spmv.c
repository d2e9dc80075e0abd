/*
 * A 2D Laplacian: which format and kernel would be the fastest on an H200, and the product with the first candidate that runs here.
 *
 *     spmv [DEVICE]        "cpu" unless another one is named, such as "cuda:0"
 *
 * How to build it, from a checkout:
 *
 *     cargo build --release -p sparsight-capi
 *     cc -I crates/capi/include crates/capi/examples-c/spmv.c -L target/release -Wl,-rpath,$PWD/target/release \
 *         -lsparsight_c -o spmv
 *
 * Where the library is installed: cc spmv.c $(pkg-config --cflags --libs sparsight) -o spmv
 */

#include <sparsight.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Points of a grid line. */
enum { SIDE = 120, ROWS = SIDE * SIDE };

/* Says what went wrong and what to do about it, and gives up. */
static void check(int code, const char *call)
{
    if (code != SS_OK) {
        fprintf(stderr, "%s: code %d: %s\n", call, code, ss_last_error());
        if (ss_last_hint()[0] != '\0') fprintf(stderr, "hint: %s\n", ss_last_hint());
        exit(1);
    }
}

#define CHECK(call) check((call), #call)

/* 4 at each point, -1 at each of its neighbours: at most 5 non-zeros per row, columns in order. */
static int32_t laplacian(int32_t *row_ptr, int32_t *col_idx, double *values)
{
    int32_t nnz = 0;
    row_ptr[0] = 0;
    for (int32_t row = 0; row < ROWS; ++row) {
        const int32_t i = row / SIDE, j = row % SIDE;
        const int32_t columns[5] = {row - SIDE, row - 1, row, row + 1, row + SIDE};
        const int inside[5] = {i > 0, j > 0, 1, j < SIDE - 1, i < SIDE - 1};
        for (int k = 0; k < 5; ++k) {
            if (!inside[k]) continue;
            col_idx[nnz] = columns[k];
            values[nnz] = k == 2 ? 4.0 : -1.0;
            ++nnz;
        }
        row_ptr[row + 1] = nnz;
    }
    return nnz;
}

/* How many entries of y are not the sum of their row, which A times ones is: all numbers here are exact in double. */
static int wrong(const double *y, const int32_t *row_ptr, const double *values)
{
    int count = 0;
    for (int32_t row = 0; row < ROWS; ++row) {
        double sum = 0.0;
        for (int32_t k = row_ptr[row]; k < row_ptr[row + 1]; ++k) sum += values[k];
        if (y[row] != sum) ++count;
    }
    return count;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "cpu";
    int32_t *row_ptr = malloc((ROWS + 1) * sizeof *row_ptr);
    int32_t *col_idx = malloc(5 * ROWS * sizeof *col_idx);
    double *values = malloc(5 * ROWS * sizeof *values);
    double *x = malloc(ROWS * sizeof *x), *y = malloc(ROWS * sizeof *y);
    if (!row_ptr || !col_idx || !values || !x || !y) return 1;
    const int32_t nnz = laplacian(row_ptr, col_idx, values);

    /* Which candidates there are, for this device; for "nvidia-h200" no GPU is needed to ask. */
    ss_profile *profile;
    ss_plan *plan;
    CHECK(ss_profile_open(name, &profile));
    CHECK(ss_plan_csr(profile, ROWS, ROWS, row_ptr, SS_I32, col_idx, SS_I32, SS_F64, 1000, &plan));
    ss_profile_free(profile);

    int64_t count;
    CHECK(ss_plan_count(plan, &count));
    printf("sparsight %s: %d rows, %d non-zeros, %d candidates on %s\n", ss_version(), (int)ROWS, (int)nnz, (int)count, name);
    for (int64_t i = 0; i < count && i < 5; ++i) {
        char id[80];
        double time, low, high;
        uint64_t bytes;
        const int length = ss_plan_id(plan, i, id, sizeof id);
        check(length < 0 ? -length : SS_OK, "ss_plan_id");
        CHECK(ss_plan_predicted_s(plan, i, &time, &low, &high));
        CHECK(ss_plan_memory_bytes(plan, i, &bytes));
        printf("%-28s %6.2f us (%.2f to %.2f), %.2f MB\n", id, 1e6 * time, 1e6 * low, 1e6 * high, 1e-6 * (double)bytes);
    }

    /* The first that runs on the device: some are for GPUs alone. */
    ss_device *device;
    ss_op *op = NULL;
    CHECK(ss_device_open(name, &device));
    int64_t chosen = 0;
    int code = SS_INFEASIBLE;
    for (; chosen < count; ++chosen) {
        code = ss_prepare(plan, chosen, device, values, &op);
        if (code != SS_INFEASIBLE) break;
    }
    check(code, "ss_prepare");
    char id[80];
    uint64_t bytes;
    ss_plan_id(plan, chosen, id, sizeof id);
    CHECK(ss_memory_bytes(op, &bytes));
    printf("prepared on %s: %s, %.2f MB\n", name, id, 1e-6 * (double)bytes);
    ss_plan_free(plan);
    ss_device_free(device);

    /* y = A x, then y = 2 A x - y, then with values that are three times as large. */
    int errors = 0;
    for (int32_t row = 0; row < ROWS; ++row) x[row] = 1.0;
    CHECK(ss_multiply_host(op, 1.0, x, 0.0, y));
    errors += wrong(y, row_ptr, values);
    CHECK(ss_multiply_host(op, 2.0, x, -1.0, y));
    errors += wrong(y, row_ptr, values);
    for (int32_t k = 0; k < nnz; ++k) values[k] *= 3.0;
    CHECK(ss_update_values_host(op, values));
    CHECK(ss_multiply_host(op, 1.0, x, 0.0, y));
    errors += wrong(y, row_ptr, values);
    ss_op_free(op);
    printf("%d of %d entries of y are wrong\n", errors, 3 * (int)ROWS);

    free(row_ptr);
    free(col_idx);
    free(values);
    free(x);
    free(y);
    return errors != 0;
}
