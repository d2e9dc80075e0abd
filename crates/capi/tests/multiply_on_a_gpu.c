/*
 * Products with vectors in the memory of a GPU, in the default stream and in one that the caller has made, by the driver's own
 * interface: nothing of CUDA is needed to build this. It ends with 77 where there is no driver or no GPU, with 0 if all is right.
 */

#include <dlfcn.h>
#include <sparsight.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 50000, COLUMNS = 40000, SKIPPED = 77, NON_BLOCKING = 1 };

typedef unsigned long long device_ptr;

static struct {
    int (*init)(unsigned);
    int (*count)(int *);
    int (*device)(int *, int);
    int (*retain)(void **, int);
    int (*set_current)(void *);
    int (*get_current)(void **);
    int (*alloc)(device_ptr *, size_t);
    int (*free)(device_ptr);
    int (*to_device)(device_ptr, const void *, size_t);
    int (*to_device_async)(device_ptr, const void *, size_t, void *);
    int (*to_host_async)(void *, device_ptr, size_t, void *);
    int (*stream_create)(void **, unsigned);
    int (*stream_wait)(void *);
} cu;

/* ISO C has no conversion from dlsym's pointer to one of a function; POSIX promises that they look alike. */
static int load(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static int load_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    return library && load(library, "cuInit", &cu.init) && load(library, "cuDeviceGetCount", &cu.count)
        && load(library, "cuDeviceGet", &cu.device) && load(library, "cuDevicePrimaryCtxRetain", &cu.retain)
        && load(library, "cuCtxSetCurrent", &cu.set_current) && load(library, "cuCtxGetCurrent", &cu.get_current)
        && load(library, "cuMemAlloc_v2", &cu.alloc) && load(library, "cuMemFree_v2", &cu.free)
        && load(library, "cuMemcpyHtoD_v2", &cu.to_device) && load(library, "cuMemcpyHtoDAsync_v2", &cu.to_device_async)
        && load(library, "cuMemcpyDtoHAsync_v2", &cu.to_host_async) && load(library, "cuStreamCreate", &cu.stream_create)
        && load(library, "cuStreamSynchronize", &cu.stream_wait);
}

static void check(int is_right, const char *what)
{
    if (!is_right) {
        fprintf(stderr, "%s: %s (%s)\n", what, ss_last_error(), ss_last_hint());
        exit(1);
    }
}

#define CHECK(call) check((call) == 0, #call)

/* Rows of 0 to 4 entries. What they hold is small and whole, so that sums are exact in either type. */
static int64_t fill(int64_t *row_ptr, int32_t *col_idx, float *values)
{
    int64_t nnz = 0;
    row_ptr[0] = 0;
    for (int64_t row = 0; row < ROWS; ++row) {
        for (int64_t k = 0; k < row % 5; ++k) {
            col_idx[nnz] = (int32_t)(row % 1000 + 7 * k * k * k);
            values[nnz] = (float)(nnz % 7 - 3);
            ++nnz;
        }
        row_ptr[row + 1] = nnz;
    }
    return nnz;
}

static void hold(const float *y, const int64_t *row_ptr, const int32_t *col_idx, const float *values, const float *x,
                 float alpha, float beta, float before, const char *what)
{
    for (int64_t row = 0; row < ROWS; ++row) {
        float sum = 0.0F;
        for (int64_t k = row_ptr[row]; k < row_ptr[row + 1]; ++k) sum += values[k] * x[col_idx[k]];
        const float expected = alpha * sum + (beta == 0.0F ? 0.0F : beta * before);
        if (y[row] != expected) {
            fprintf(stderr, "%s: y[%ld] = %g instead of %g\n", what, (long)row, (double)y[row], (double)expected);
            exit(1);
        }
    }
}

/* y = 2 A x + 3 y and the sum of the squares of A x, with 3 read from the GPU in the second of the two products. */
static void hold_epilogue(const ss_op *op, void *gpu_x, device_ptr on_y, const float *ones, float *y, void *stream,
                          const int64_t *row_ptr, const int32_t *col_idx, const float *values, const float *x,
                          const char *what)
{
    static const double three = 3.0;
    double expected = 0.0, dot;
    device_ptr on_numbers;
    ss_epilogue *epilogue;
    CHECK(ss_epilogue_prepare(op, "2.0f * s + beta * y[i]", NULL, "beta", NULL, "s * s", &epilogue));
    CHECK(cu.alloc(&on_numbers, 2 * sizeof three));
    CHECK(cu.to_device(on_numbers, &three, sizeof three));
    double *const place = (double *)(uintptr_t)on_numbers;
    const double *const places[1] = {place};
    for (int64_t row = 0; row < ROWS; ++row) {
        double sum = 0.0;
        for (int64_t k = row_ptr[row]; k < row_ptr[row + 1]; ++k) sum += (double)(values[k] * x[col_idx[k]]);
        expected += sum * sum;
    }
    for (int on_gpu = 0; on_gpu < 2; ++on_gpu) {
        void *const gpu_y = (void *)(uintptr_t)on_y;
        CHECK(cu.to_device_async(on_y, ones, ROWS * sizeof *ones, stream));
        CHECK(ss_epilogue_multiply(epilogue, gpu_x, gpu_y, NULL, NULL, on_gpu ? NULL : &three, on_gpu ? places : NULL,
                                   place + 1, stream));
        CHECK(cu.to_host_async(y, on_y, ROWS * sizeof *y, stream));
        CHECK(cu.to_host_async(&dot, on_numbers + sizeof dot, sizeof dot, stream));
        CHECK(cu.stream_wait(stream));
        hold(y, row_ptr, col_idx, values, x, 2.0F, 3.0F, 1.0F, what);
        check(dot == expected, "the dot product of an epilogue");
    }
    CHECK(cu.free(on_numbers));
    ss_epilogue_free(epilogue);
}

int main(void)
{
    int devices = 0, device;
    if (!load_driver() || cu.init(0) != 0 || cu.count(&devices) != 0 || devices == 0) {
        printf("no GPU here\n");
        return SKIPPED;
    }
    void *context, *current, *stream;
    CHECK(cu.device(&device, 0));
    CHECK(cu.retain(&context, device));
    CHECK(cu.set_current(context));
    CHECK(cu.stream_create(&stream, NON_BLOCKING));

    int64_t *row_ptr = malloc((ROWS + 1) * sizeof *row_ptr);
    int32_t *col_idx = malloc(4 * ROWS * sizeof *col_idx);
    float *values = malloc(4 * ROWS * sizeof *values);
    float *x = malloc(COLUMNS * sizeof *x), *y = malloc(ROWS * sizeof *y), *ones = malloc(ROWS * sizeof *ones);
    check(row_ptr && col_idx && values && x && y && ones, "malloc");
    const int64_t nnz = fill(row_ptr, col_idx, values);
    for (int64_t i = 0; i < COLUMNS; ++i) x[i] = (float)(i % 5 - 2);
    for (int64_t i = 0; i < ROWS; ++i) ones[i] = 1.0F;

    device_ptr on_x, on_y, on_values;
    CHECK(cu.alloc(&on_x, COLUMNS * sizeof *x));
    CHECK(cu.alloc(&on_y, ROWS * sizeof *y));
    CHECK(cu.alloc(&on_values, 4 * ROWS * sizeof *values));
    CHECK(cu.to_device(on_x, x, COLUMNS * sizeof *x));
    void *const gpu_x = (void *)(uintptr_t)on_x, *const gpu_y = (void *)(uintptr_t)on_y;
    void *const gpu_values = (void *)(uintptr_t)on_values;

    /* By its name, too: a GPU without a profile is calibrated now. */
    ss_profile *profile;
    CHECK(ss_profile_open("cuda:0", &profile));
    ss_profile_free(profile);
    ss_plan *plan;
    ss_device *gpu;
    CHECK(ss_profile_open(NULL, &profile));
    CHECK(ss_plan_csr(profile, ROWS, COLUMNS, row_ptr, SS_I64, col_idx, SS_I32, SS_F32, 0, &plan));
    CHECK(ss_device_open("cuda:0", &gpu));
    int64_t count, prepared = 0;
    CHECK(ss_plan_count(plan, &count));
    for (int64_t i = 0; i < count && prepared < 20; i += 3) {
        char id[80];
        ss_op *op;
        const int code = ss_prepare(plan, i, gpu, values, &op);
        if (code == SS_INFEASIBLE) continue;
        CHECK(code);
        check(ss_plan_id(plan, i, id, sizeof id) > 0, "ss_plan_id");
        ++prepared;
        void *const streams[2] = {NULL, stream};
        for (int s = 0; s < 2; ++s) {
            CHECK(ss_multiply(op, 1.0, gpu_x, 0.0, gpu_y, streams[s]));
            CHECK(cu.to_host_async(y, on_y, ROWS * sizeof *y, streams[s]));
            CHECK(cu.stream_wait(streams[s]));
            hold(y, row_ptr, col_idx, values, x, 1.0F, 0.0F, 0.0F, id);
            CHECK(cu.to_device_async(on_y, ones, ROWS * sizeof *ones, streams[s]));
            CHECK(ss_multiply(op, -2.0, gpu_x, 3.0, gpu_y, streams[s]));
            CHECK(cu.to_host_async(y, on_y, ROWS * sizeof *y, streams[s]));
            CHECK(cu.stream_wait(streams[s]));
            hold(y, row_ptr, col_idx, values, x, -2.0F, 3.0F, 1.0F, id);
            hold_epilogue(op, gpu_x, on_y, ones, y, streams[s], row_ptr, col_idx, values, x, id);
        }
        CHECK(ss_multiply_host(op, 1.0, x, 0.0, y));
        hold(y, row_ptr, col_idx, values, x, 1.0F, 0.0F, 0.0F, id);

        /* Other values, in whatever format; of every second candidate the first update is one from the memory of the GPU, below. */
        for (int64_t k = 0; k < nnz; ++k) values[k] += 1.0F;
        if (prepared % 2 == 1) {
            CHECK(ss_update_values_host(op, values));
            CHECK(ss_multiply(op, 1.0, gpu_x, 0.0, gpu_y, stream));
            CHECK(cu.to_host_async(y, on_y, ROWS * sizeof *y, stream));
            CHECK(cu.stream_wait(stream));
            hold(y, row_ptr, col_idx, values, x, 1.0F, 0.0F, 0.0F, id);
        }

        /* From the memory of the GPU, in one stream with what fills it and with the product; then a product with vectors of the
         * host, which waits for the new values by itself. */
        for (int s = 0; s < 2; ++s) {
            for (int64_t k = 0; k < nnz; ++k) values[k] -= 1.0F;
            CHECK(cu.to_device_async(on_values, values, (size_t)nnz * sizeof *values, streams[s]));
            CHECK(ss_update_values(op, gpu_values, streams[s]));
            CHECK(ss_multiply(op, 1.0, gpu_x, 0.0, gpu_y, streams[s]));
            CHECK(cu.to_host_async(y, on_y, ROWS * sizeof *y, streams[s]));
            CHECK(cu.stream_wait(streams[s]));
            hold(y, row_ptr, col_idx, values, x, 1.0F, 0.0F, 0.0F, id);
            for (int64_t k = 0; k < nnz; ++k) values[k] += 1.0F;
            CHECK(cu.to_device_async(on_values, values, (size_t)nnz * sizeof *values, streams[s]));
            CHECK(ss_update_values(op, gpu_values, streams[s]));
            CHECK(ss_multiply_host(op, 1.0, x, 0.0, y));
            hold(y, row_ptr, col_idx, values, x, 1.0F, 0.0F, 0.0F, id);
        }
        for (int64_t k = 0; k < nnz; ++k) values[k] -= 1.0F;

        check(ss_update_values(op, NULL, stream) == SS_BAD_ARGUMENT, "no values");
        check(ss_multiply(op, 1.0, gpu_x, 0.0, gpu_x, stream) == SS_BAD_ARGUMENT, "vectors that share memory");
        ss_op_free(op);
    }
    check(prepared > 0, "no candidate was prepared");
    CHECK(cu.get_current(&current));
    check(current == context, "another context is current now");

    /* What a matrix needs of the device stays when the handles go. */
    ss_op *last;
    CHECK(ss_prepare(plan, 0, gpu, values, &last));
    ss_device_free(gpu);
    ss_profile_free(profile);
    ss_plan_free(plan);
    CHECK(ss_multiply(last, 1.0, gpu_x, 0.0, gpu_y, NULL));
    CHECK(cu.stream_wait(NULL));
    ss_op_free(last);
    printf("%ld candidates are right\n", (long)prepared);

    CHECK(cu.free(on_x));
    CHECK(cu.free(on_y));
    CHECK(cu.free(on_values));
    free(row_ptr);
    free(col_idx);
    free(values);
    free(x);
    free(y);
    free(ones);
    return 0;
}
