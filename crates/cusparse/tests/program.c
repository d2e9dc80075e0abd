/* A program of a user, who knows nothing of sparsight: products by cusparseSpMV, each compared with a loop.

       program SCENARIO [f32] [wide] [one] [preprocess] [plan] [fresh] [shifted] [products=N] [patience=N] [size=ROWS,COLUMNS,NONZEROS]

   f32: not f64; plan: products by cusparseSpMVOp, which cuSPARSE has since 12.8.1; wide: row offsets of 64 bits; one: indices from 1 on; fresh: descriptors made for each product; shifted: columns and values
   begin one entry behind the beginning of an allocation; patience: products after which no change is waited for.

   It calls the driver and cuSPARSE by their documented interfaces alone, so it runs on a GPU as well (`-lcuda -lcusparse`). Where the
   stand-ins are linked it asks them, too, who has computed what; elsewhere these counts are -1. Compiled with WITHOUT_DRIVER, memory is
   the host's. It prints what it saw as `name number` lines and fails if a y is wrong. */

#define _DEFAULT_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The driver. */
typedef unsigned long long address;
#ifndef WITHOUT_DRIVER
extern int cuInit(unsigned);
extern int cuDevicePrimaryCtxRetain(void **, int);
extern int cuDevicePrimaryCtxReset_v2(int);
extern int cuCtxCreate_v2(void **, unsigned, int);
extern int cuCtxSetCurrent(void *);
extern int cuMemAlloc_v2(address *, size_t);
extern int cuMemFree_v2(address);
extern int cuMemcpyHtoD_v2(address, const void *, size_t);
extern int cuMemcpyDtoH_v2(void *, address, size_t);
extern int cuStreamCreate(void **, unsigned);
extern int cuStreamSynchronize(void *);
extern int cuStreamBeginCapture_v2(void *, int);
extern int cuStreamEndCapture(void *, void **);
extern int cuGraphInstantiateWithFlags(void **, void *, unsigned long long);
extern int cuGraphLaunch(void *, void *);
extern int cuGraphGetNodes(void *, void **, size_t *);
extern int cuGraphDestroy(void *);
extern int cuGraphExecDestroy(void *);
#endif

/* cuSPARSE. */
enum { CSR_32I = 2, CSR_64I = 3, R_32F = 0, R_64F = 1, R_16F = 2, C_32F = 4, R_32I = 10 };
extern int cusparseCreate(void **);
extern int cusparseSetStream(void *, void *);
extern int cusparseSetPointerMode(void *, int);
extern int cusparseCreateCsr(void **, int64_t, int64_t, int64_t, void *, void *, void *, int, int, int, int);
extern int cusparseCreateConstCsr(void **, int64_t, int64_t, int64_t, const void *, const void *, const void *, int, int, int, int);
extern int cusparseCreateCoo(void **, int64_t, int64_t, int64_t, void *, void *, void *, int, int, int);
extern int cusparseDestroySpMat(const void *);
extern int cusparseSpMatSetValues(void *, void *);
extern int cusparseCreateDnVec(void **, int64_t, void *, int);
extern int cusparseDestroyDnVec(const void *);
extern int cusparseSpMV_bufferSize(void *, int, const void *, const void *, const void *, const void *, void *, int, int, size_t *);
extern int cusparseSpMV_preprocess(void *, int, const void *, const void *, const void *, const void *, void *, int, int, void *);
extern int cusparseSpMV(void *, int, const void *, const void *, const void *, const void *, void *, int, int, void *);
/* Of newer versions. */
#pragma weak cusparseSpMVOp_bufferSize
#pragma weak cusparseSpMVOp_createDescr
#pragma weak cusparseSpMVOp_createPlan
#pragma weak cusparseSpMVOp_destroyDescr
#pragma weak cusparseSpMVOp_destroyPlan
#pragma weak cusparseSpMVOp
extern int cusparseSpMVOp_bufferSize(void *, int, const void *, const void *, void *, void *, int, int, size_t *);
extern int cusparseSpMVOp_createDescr(void *, void **, int, const void *, const void *, void *, void *, int, int, void *);
extern int cusparseSpMVOp_createPlan(void *, void *, void **, const void *, size_t);
extern int cusparseSpMVOp_destroyDescr(void *);
extern int cusparseSpMVOp_destroyPlan(void *);
extern int cusparseSpMVOp(void *, void *, const void *, const void *, const void *, const void *, void *);

/* The stand-ins. */
extern long driver_count(const char *) __attribute__((weak));
extern long cusparse_count(const char *) __attribute__((weak));
extern int cusparse_saw(void *, int, const void *, const void *, const void *, const void *, void *, int, int, void *)
    __attribute__((weak));

static long of_driver(const char *what) { return driver_count ? driver_count(what) : -1; }
static long of_cusparse(const char *what) { return cusparse_count ? cusparse_count(what) : -1; }

static void fail(const char *what, long number)
{
    printf("failed: %s (%ld)\n", what, number);
    fflush(stdout);
    _exit(1);
}

#define DONE(call)                                            \
    do {                                                      \
        const int status_ = (call);                           \
        if (status_ != 0) fail(#call, status_);               \
    } while (0)

static void say(const char *name, long number) { printf("%s %ld\n", name, number); }

static void nap(long microseconds)
{
    const struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};
    nanosleep(&time, NULL);
}

/* Memory and streams. */

#ifdef WITHOUT_DRIVER
static void begin(void) {}
static address memory(size_t bytes) { return (address)(uintptr_t)malloc(bytes); }
static void release(address at) { free((void *)(uintptr_t)at); }
static void write_to(address to, const void *from, size_t bytes) { memcpy((void *)(uintptr_t)to, from, bytes); }
static void read_from(void *to, address from, size_t bytes) { memcpy(to, (void *)(uintptr_t)from, bytes); }
static void *stream(void) { return NULL; }
static void wait_for(void *stream) { (void)stream; }
#else
static void *context;

static void begin(void)
{
    DONE(cuInit(0));
    DONE(cuDevicePrimaryCtxRetain(&context, 0));
    DONE(cuCtxSetCurrent(context));
}
static void enter(void) { DONE(cuCtxSetCurrent(context)); }
static address memory(size_t bytes)
{
    address at = 0;
    DONE(cuMemAlloc_v2(&at, bytes));
    return at;
}
static void release(address at) { DONE(cuMemFree_v2(at)); }
static void write_to(address to, const void *from, size_t bytes) { DONE(cuMemcpyHtoD_v2(to, from, bytes)); }
static void read_from(void *to, address from, size_t bytes) { DONE(cuMemcpyDtoH_v2(to, from, bytes)); }
static void *stream(void)
{
    void *made;
    DONE(cuStreamCreate(&made, 1));
    return made;
}
static void wait_for(void *stream) { DONE(cuStreamSynchronize(stream)); }
#endif

static void *pointer(address at) { return (void *)(uintptr_t)at; }

/* What the arguments of the program ask for. */

static int is_single, is_wide, base, is_preprocessed, is_planned, is_fresh, shift;
static long products = 200;
static int size[3] = {700, 600, 5000};
static int patience = 3000, is_unchecked;

static unsigned long long state = 88172645463325252ull;
static unsigned random_below(unsigned limit)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (unsigned)(state >> 33) % limit;
}

/* A matrix with its vectors, here and on the GPU. */
typedef struct {
    int rows, cols, nnz;
    int *row_ptr, *col_idx;
    double *values, *x, *y;
    address d_row_ptr, d_col_idx, d_values, d_x, d_y, d_buffer, d_plan;
    void *handle, *stream, *matrix, *vec_x, *vec_y, *description, *plan;
    double alpha, beta;
    float alpha32, beta32;
} Problem;

static size_t value_bytes(void) { return is_single ? 4 : 8; }
static int value_type(void) { return is_single ? R_32F : R_64F; }

static void upload_values(address to, const double *from, int count)
{
    float *narrow = malloc(4 * (size_t)count);
    for (int i = 0; i < count; ++i) narrow[i] = (float)from[i];
    write_to(to, is_single ? (void *)narrow : (void *)from, value_bytes() * (size_t)count);
    free(narrow);
}

/* Numbers that are exact in 32 bits. */
static double some_value(void) { return (random_below(2001) - 1000.0) / 256; }

static void new_values(Problem *p)
{
    for (int k = 0; k < p->nnz; ++k) p->values[k] = some_value();
    upload_values(p->d_values, p->values, p->nnz);
}

/* Another pattern of the same sizes: rows of random lengths, every 7th empty, one long, columns in order. */
static void new_pattern(Problem *p)
{
    int left = p->nnz, *length = calloc((size_t)p->rows, sizeof(int));
    const int long_row = (int)random_below((unsigned)p->rows), most = p->cols;
    length[long_row] = left / 4 < most ? left / 4 : most;
    left -= length[long_row];
    while (left > 0) {
        const int row = (int)random_below((unsigned)p->rows);
        if (row % 7 != 3 && row != long_row && length[row] < most) ++length[row], --left;
    }
    p->row_ptr[0] = 0;
    for (int row = 0; row < p->rows; ++row) {
        p->row_ptr[row + 1] = p->row_ptr[row] + length[row];
        const int first = (int)random_below((unsigned)(p->cols - length[row] + 1));
        for (int k = 0; k < length[row]; ++k) p->col_idx[p->row_ptr[row] + k] = first + k;
    }
    free(length);
    int64_t *wide = malloc(8 * ((size_t)p->rows + 1));
    int *narrow = malloc(4 * ((size_t)p->rows + 1)), *cols = malloc(4 * (size_t)p->nnz);
    for (int row = 0; row <= p->rows; ++row) wide[row] = narrow[row] = p->row_ptr[row] + base;
    for (int k = 0; k < p->nnz; ++k) cols[k] = p->col_idx[k] + base;
    if (is_wide) write_to(p->d_row_ptr, wide, 8 * ((size_t)p->rows + 1));
    else write_to(p->d_row_ptr, narrow, 4 * ((size_t)p->rows + 1));
    write_to(p->d_col_idx, cols, 4 * (size_t)p->nnz);
    free(wide), free(narrow), free(cols);
}

static void describe(Problem *p)
{
    DONE(cusparseCreateCsr(&p->matrix, p->rows, p->cols, p->nnz, pointer(p->d_row_ptr), pointer(p->d_col_idx), pointer(p->d_values),
                           is_wide ? CSR_64I : CSR_32I, CSR_32I, base, value_type()));
    DONE(cusparseCreateDnVec(&p->vec_x, p->cols, pointer(p->d_x), value_type()));
    DONE(cusparseCreateDnVec(&p->vec_y, p->rows, pointer(p->d_y), value_type()));
}

static void undescribe(Problem *p)
{
    DONE(cusparseDestroySpMat(p->matrix));
    DONE(cusparseDestroyDnVec(p->vec_x));
    DONE(cusparseDestroyDnVec(p->vec_y));
}

static const void *alpha_of(const Problem *p) { return is_single ? (const void *)&p->alpha32 : &p->alpha; }
static const void *beta_of(const Problem *p) { return is_single ? (const void *)&p->beta32 : &p->beta; }

static void scale(Problem *p, double alpha, double beta)
{
    p->alpha = alpha, p->beta = beta;
    p->alpha32 = (float)alpha, p->beta32 = (float)beta;
}

static int spmv(Problem *p, address buffer)
{
    if (p->plan) return cusparseSpMVOp(p->handle, p->plan, alpha_of(p), beta_of(p), p->vec_x, p->vec_y, p->vec_y);
    return cusparseSpMV(p->handle, 0, alpha_of(p), p->matrix, p->vec_x, beta_of(p), p->vec_y, value_type(), 0, pointer(buffer));
}

static void preprocess(Problem *p, address buffer)
{
    DONE(cusparseSpMV_preprocess(p->handle, 0, alpha_of(p), p->matrix, p->vec_x, beta_of(p), p->vec_y, value_type(), 0,
                                 pointer(buffer)));
}

/* A plan of the matrix as it is described now. */
static void make_plan(Problem *p, const void *code)
{
    size_t bytes = 0;
    DONE(cusparseSpMVOp_bufferSize(p->handle, 0, p->matrix, p->vec_x, p->vec_y, p->vec_y, value_type(), 1, &bytes));
    p->d_plan = memory(bytes + 1);
    DONE(cusparseSpMVOp_createDescr(p->handle, &p->description, 0, p->matrix, p->vec_x, p->vec_y, p->vec_y, value_type(), 1,
                                    pointer(p->d_plan)));
    DONE(cusparseSpMVOp_createPlan(p->handle, p->description, &p->plan, code, code ? 1 : 0));
}

static void end_plan(Problem *p)
{
    DONE(cusparseSpMVOp_destroyPlan(p->plan));
    DONE(cusparseSpMVOp_destroyDescr(p->description));
    release(p->d_plan);
    p->plan = NULL;
}

static Problem *problem(int rows, int cols, int nnz)
{
    Problem *p = calloc(1, sizeof *p);
    p->rows = rows, p->cols = cols, p->nnz = nnz;
    p->row_ptr = malloc(4 * ((size_t)rows + 1)), p->col_idx = malloc(4 * (size_t)nnz);
    p->values = malloc(8 * (size_t)nnz), p->x = malloc(8 * (size_t)cols), p->y = malloc(8 * (size_t)rows);
    p->d_row_ptr = memory((is_wide ? 8 : 4) * ((size_t)rows + 1));
    /* Arrays that begin behind the beginning of an allocation. */
    p->d_col_idx = memory(4 * (size_t)(nnz + shift)) + 4 * (address)shift;
    p->d_values = memory(value_bytes() * (size_t)(nnz + shift)) + value_bytes() * (address)shift;
    p->d_x = memory(value_bytes() * (size_t)cols), p->d_y = memory(value_bytes() * (size_t)rows);
    p->d_buffer = memory(64);
    new_pattern(p);
    new_values(p);
    for (int i = 0; i < cols; ++i) p->x[i] = some_value();
    upload_values(p->d_x, p->x, cols);
    scale(p, 1, 0);
    DONE(cusparseCreate(&p->handle));
    p->stream = stream();
    DONE(cusparseSetStream(p->handle, p->stream));
    describe(p);
    return p;
}

static void dispose(Problem *p)
{
    if (p->plan) end_plan(p);
    undescribe(p);
    release(p->d_row_ptr), release(p->d_col_idx - 4 * (address)shift), release(p->d_values - value_bytes() * (address)shift);
    release(p->d_x), release(p->d_y), release(p->d_buffer);
    free(p->row_ptr), free(p->col_idx), free(p->values), free(p->x), free(p->y), free(p);
}

/* Fills y: with NaN if it is not read. */
static void fill(Problem *p)
{
    for (int i = 0; i < p->rows; ++i) p->y[i] = p->beta == 0 ? NAN : some_value();
    upload_values(p->d_y, p->y, p->rows);
}

/* Compares y with the product of what `fill` has left. */
static void check(Problem *p)
{
    float *narrow = malloc(4 * (size_t)p->rows);
    double *y = malloc(8 * (size_t)p->rows);
    read_from(is_single ? (void *)narrow : (void *)y, p->d_y, value_bytes() * (size_t)p->rows);
    for (int row = 0; row < p->rows; ++row) {
        double sum = 0, size = 1e-30;
        for (int k = p->row_ptr[row]; k < p->row_ptr[row + 1]; ++k) {
            sum += p->values[k] * p->x[p->col_idx[k]];
            size += fabs(p->values[k] * p->x[p->col_idx[k]]);
        }
        const double before = p->beta == 0 ? 0 : p->beta * p->y[row];
        const double got = is_single ? narrow[row] : y[row], wanted = p->alpha * sum + before;
        if (!(fabs(got - wanted) <= (is_single ? 1e-5 : 1e-13) * (fabs(p->alpha) * size + fabs(before)))) {
            printf("row %d: %.17g in place of %.17g\n", row, got, wanted);
            fail("a wrong y", row);
        }
    }
    free(narrow), free(y);
}

/* One product, right. */
static void product(Problem *p, address buffer)
{
    fill(p);
    if (is_fresh) undescribe(p), describe(p);
    DONE(spmv(p, buffer));
    wait_for(p->stream);
    if (!is_unchecked) check(p);
}

static long ours(void) { return of_driver("plain") + of_driver("tabled"); }
/* Those before the last reset of the device. */
static long ours_before;

/* Products until twenty in a row are ours, or a hundred are cuSPARSE's after ours were tried, or `patience`. */
static void settle(Problem *p)
{
    int same = 0, were_ours = 0;
    for (int i = 0; i < patience && same < (were_ours ? 20 : 100); ++i) {
        const long before = ours(), theirs = of_cusparse("products");
        product(p, p->d_buffer);
        const int are_ours = ours() > before && of_cusparse("products") == theirs;
        same = are_ours == were_ours && ours() > ours_before ? same + 1 : 0;
        were_ours = are_ours;
        nap(1000);
    }
}

/* `products` products with other values, factors and y at each; prints who computed them. */
static void steady(Problem *p, const char *name)
{
    const long plain = of_driver("plain"), tabled = of_driver("tabled"), theirs = of_cusparse("products");
    const double alphas[] = {1, -2, 0.5}, betas[] = {0, 1, -0.25, 0};
    for (long i = 0; i < products; ++i) {
        if (i % 3 == 0) new_values(p);
        scale(p, alphas[i % 3], betas[i % 4]);
        product(p, p->d_buffer);
    }
    scale(p, 1, 0);
    printf("%s: plain %ld tabled %ld cusparse %ld\n", name, of_driver("plain") - plain, of_driver("tabled") - tabled,
           of_cusparse("products") - theirs);
}

static void prepared(Problem *p)
{
    if (is_planned) make_plan(p, NULL);
    if (is_preprocessed) preprocess(p, p->d_buffer);
}

static Problem *usual(void) { return problem(size[0], size[1], size[2]); }

/* The scenarios. */

static void many_products(void)
{
    Problem *p = usual();
    prepared(p);
    settle(p);
    steady(p, "steady");
    dispose(p);
}

/* The same arrays hold another matrix from some product on, and again later. */
static void another_pattern(void)
{
    Problem *p = usual();
    for (int round = 0; round < 3; ++round) {
        settle(p);
        new_pattern(p), new_values(p);
        steady(p, "steady");
    }
}

static void another_buffer(void)
{
    Problem *p = usual();
    const address own = p->d_buffer, other = memory(64);
    preprocess(p, own);
    settle(p);
    steady(p, "own");
    p->d_buffer = other;
    settle(p);
    steady(p, "other");
    preprocess(p, other);
    p->d_buffer = own;
    steady(p, "before");
    p->d_buffer = other;
    settle(p);
    steady(p, "active");
}

/* A plan, one of another pattern at its address, other values in the matrix of a plan, and plans that are not ours to compute. */
static void plans(void)
{
    Problem *p = usual();
    make_plan(p, NULL);
    settle(p);
    steady(p, "first");
    const void *const address_before = p->plan;
    end_plan(p), undescribe(p);
    new_pattern(p), new_values(p);
    describe(p), make_plan(p, NULL);
    say("same address", p->plan == address_before);
    settle(p);
    steady(p, "second");
    const address own = p->d_values;
    p->d_values = memory(value_bytes() * (size_t)p->nnz);
    DONE(cusparseSpMatSetValues(p->matrix, pointer(p->d_values)));
    new_values(p);
    settle(p);
    steady(p, "other values");
    release(own);
    /* z = A x + y with y in another array. */
    end_plan(p), make_plan(p, NULL);
    void *addend;
    const address d_addend = memory(value_bytes() * (size_t)p->rows);
    DONE(cusparseCreateDnVec(&addend, p->rows, pointer(d_addend), value_type()));
    const long before = ours();
    for (int i = 0; i < 60; ++i) {
        scale(p, 2, 1);
        fill(p);
        upload_values(d_addend, p->y, p->rows);
        DONE(cusparseSpMVOp(p->handle, p->plan, alpha_of(p), beta_of(p), p->vec_x, addend, p->vec_y));
        wait_for(p->stream);
        check(p);
        nap(1000);
    }
    say("ours with another y", ours() - before);
    end_plan(p);
    if (!cusparse_count) return;
    /* The epilogue of the stand-in doubles z. */
    make_plan(p, "code");
    scale(p, 1, 0);
    for (int i = 0; i < 60; ++i) {
        fill(p);
        DONE(spmv(p, p->d_buffer));
        wait_for(p->stream);
        nap(1000);
    }
    scale(p, 2, 0);
    check(p);
    say("ours with an epilogue", ours() - before);
    end_plan(p);
    dispose(p);
}

/* A descriptor of another pattern at the address of the one that was preprocessed. */
static void another_descriptor(void)
{
    Problem *p = usual();
    preprocess(p, p->d_buffer);
    settle(p);
    steady(p, "first");
    const void *const address_before = p->matrix;
    undescribe(p);
    new_pattern(p), new_values(p);
    describe(p);
    say("same address", p->matrix == address_before);
    steady(p, "second");
    preprocess(p, p->d_buffer);
    settle(p);
    steady(p, "third");
}

static void preprocessed_again(void)
{
    Problem *p = usual();
    for (int round = 0; round < 3; ++round) {
        new_pattern(p), new_values(p);
        preprocess(p, p->d_buffer);
        steady(p, "soon");
        settle(p);
        steady(p, "steady");
    }
}

/* Arrays are freed with their descriptors after few products. */
static void destroyed_early(void)
{
    for (int round = 0; round < 40; ++round) {
        Problem *p = usual();
        preprocess(p, p->d_buffer);
        for (int i = 0; i < 11; ++i) product(p, p->d_buffer);
        nap(random_below(3000));
        dispose(p);
    }
    nap(100000);
    say("freed while it was read", of_driver("freed while it was read"));
    say("copies of freed memory", of_driver("copies of freed memory"));
    say("copies of what is not there", of_driver("copies of what is not there"));
    say("reads", of_driver("reads"));
}

/* A call as it is; cuSPARSE must see it, and nothing else computes. */
static void pass(Problem *p, const char *name, int operation, const void *alpha, void *matrix, void *x, void *y, int type, int algorithm)
{
    const long before = ours(), theirs = of_cusparse("products");
    for (int i = 0; i < 60; ++i) {
        cusparseSpMV(p->handle, operation, alpha, matrix, x, beta_of(p), y, type, algorithm, pointer(p->d_buffer));
        if (cusparse_saw &&
            !cusparse_saw(p->handle, operation, alpha, matrix, x, beta_of(p), y, type, algorithm, pointer(p->d_buffer)))
            fail(name, i);
        if (i % 10 == 0) nap(2000);
    }
    printf("%s: ours %ld cusparse %ld\n", name, ours() - before, of_cusparse("products") - theirs);
}

static void calls_that_pass(void)
{
    Problem *p = problem(600, 600, 5000);
    void *made, *vec_x, *vec_y;
    const double alpha = 1, zero = 0;
    const address complex = memory(16 * 5000);
    char *zeros = calloc(16, 5000);
    write_to(complex, zeros, 16 * 5000);
    pass(p, "transposed", 1, &alpha, p->matrix, p->vec_x, p->vec_y, R_64F, 0);
    pass(p, "conjugate", 2, &alpha, p->matrix, p->vec_x, p->vec_y, R_64F, 0);
    pass(p, "alpha 0", 0, &zero, p->matrix, p->vec_x, p->vec_y, R_64F, 0);
    pass(p, "another algorithm", 0, &alpha, p->matrix, p->vec_x, p->vec_y, R_64F, 77);
    pass(p, "another compute type", 0, &alpha, p->matrix, p->vec_x, p->vec_y, R_32F, 0);
    DONE(cusparseSetPointerMode(p->handle, 1));
    const address d_alpha = memory(8), d_beta = memory(8);
    write_to(d_alpha, &alpha, 8), write_to(d_beta, &zero, 8);
    {
        fill(p);
        const long before = ours(), theirs = of_cusparse("products");
        for (int i = 0; i < 60; ++i)
            DONE(cusparseSpMV(p->handle, 0, pointer(d_alpha), p->matrix, p->vec_x, pointer(d_beta), p->vec_y, R_64F, 0,
                              pointer(p->d_buffer)));
        wait_for(p->stream);
        check(p);
        printf("device pointers: ours %ld cusparse %ld\n", ours() - before, of_cusparse("products") - theirs);
    }
    DONE(cusparseSetPointerMode(p->handle, 0));
    DONE(cusparseCreateDnVec(&vec_x, 599, pointer(p->d_x), R_64F));
    DONE(cusparseCreateDnVec(&vec_y, 601, pointer(p->d_y), R_64F));
    pass(p, "short x", 0, &alpha, p->matrix, vec_x, p->vec_y, R_64F, 0);
    pass(p, "long y", 0, &alpha, p->matrix, p->vec_x, vec_y, R_64F, 0);
    DONE(cusparseCreateDnVec(&vec_x, 600, pointer(complex), R_32F));
    pass(p, "x of another type", 0, &alpha, p->matrix, vec_x, p->vec_y, R_64F, 0);
    pass(p, "no matrix", 0, &alpha, NULL, p->vec_x, p->vec_y, R_64F, 0);
    pass(p, "no x", 0, &alpha, p->matrix, NULL, p->vec_y, R_64F, 0);
    pass(p, "no alpha", 0, NULL, p->matrix, p->vec_x, p->vec_y, R_64F, 0);
    DONE(cusparseCreateCoo(&made, 600, 600, 5000, pointer(complex), pointer(complex), pointer(p->d_values), CSR_32I, 0, R_64F));
    pass(p, "COO", 0, &alpha, made, p->vec_x, p->vec_y, R_64F, 0);
    DONE(cusparseCreateCsr(&made, 600, 600, 5000, pointer(complex), pointer(complex), pointer(p->d_values), CSR_64I, CSR_64I, 0, R_64F));
    pass(p, "columns of 64 bits", 0, &alpha, made, p->vec_x, p->vec_y, R_64F, 0);
    DONE(cusparseCreateConstCsr(&made, 600, 600, 0, pointer(complex), NULL, NULL, CSR_32I, CSR_32I, 0, R_64F));
    pass(p, "no non-zeros", 0, &alpha, made, p->vec_x, p->vec_y, R_64F, 0);
    DONE(cusparseCreateCsr(&made, 600, 600, 5000, pointer(p->d_row_ptr), pointer(p->d_col_idx), pointer(complex), CSR_32I, CSR_32I, 0,
                           R_32F));
    pass(p, "mixed types", 0, &alpha, made, p->vec_x, p->vec_y, R_64F, 0);
    const int types[] = {R_16F, C_32F, R_32I};
    const char *const names[] = {"half", "complex", "integers"};
    for (int i = 0; i < 3; ++i) {
        DONE(cusparseCreateCsr(&made, 600, 600, 5000, pointer(p->d_row_ptr), pointer(p->d_col_idx), pointer(complex), CSR_32I, CSR_32I,
                               0, types[i]));
        DONE(cusparseCreateDnVec(&vec_x, 600, pointer(complex), types[i]));
        DONE(cusparseCreateDnVec(&vec_y, 600, pointer(complex), types[i]));
        pass(p, names[i], 0, &alpha, made, vec_x, vec_y, types[i], 0);
    }
}

/* What products and preprocess steps answer, whatever it is. */
static void answers(void)
{
    Problem *p = usual();
    for (int i = 0; i < 100; ++i) {
        fill(p);
        const int status = spmv(p, p->d_buffer);
        if (i == 99) say("status", status);
        nap(500);
    }
    say("preprocess", cusparseSpMV_preprocess(p->handle, 0, alpha_of(p), p->matrix, p->vec_x, beta_of(p), p->vec_y, value_type(), 0,
                                              pointer(p->d_buffer)));
    say("ours", ours());
}

#ifndef WITHOUT_DRIVER
/* In a context that is not the primary one. */
static void another_context(void)
{
    DONE(cuCtxCreate_v2(&context, 0, 0));
    many_products();
}

/* The device is reset after few products and after many, as cudaDeviceReset does it. The arrays of the next matrix lie where those of the
   one before did, whose descriptor and plan end later. */
static void reset(void)
{
    for (int round = 0; round < 6; ++round) {
        Problem *p = usual();
        const address before = p->d_row_ptr;
        prepared(p);
        if (round < 4) {
            /* The drop-in opens the device meanwhile. */
            for (int i = 0; i < 9; ++i) product(p, p->d_buffer);
            nap(100000);
            for (int i = 0; i <= round; ++i) product(p, p->d_buffer);
        } else {
            settle(p);
            steady(p, "steady");
        }
        DONE(cuDevicePrimaryCtxReset_v2(0));
        begin();
        ours_before = ours();
        Problem *next = usual();
        say("same address", next->d_row_ptr == before);
        for (int i = 0; i < 20; ++i) product(next, next->d_buffer);
        if (p->plan) {
            DONE(cusparseSpMVOp_destroyPlan(p->plan));
            DONE(cusparseSpMVOp_destroyDescr(p->description));
        }
        undescribe(p);
        dispose(next);
        nap(20000);
    }
    /* So many other patterns that those from before a reset are dropped. */
    for (int i = 0; cusparse_count && i < 1100; ++i) {
        Problem *p = problem(30, 40, 60);
        product(p, p->d_buffer);
    }
    nap(100000);
    say("uses of what a reset took", of_driver("uses of what a reset took"));
    say("freed twice", of_driver("freed twice"));
}

/* Products captured into a graph, which is launched with other values. */
static void captured(void)
{
    Problem *p = usual();
    prepared(p);
    void *graph, *executable;
    size_t nodes = 0;
    for (int round = 0; round < 2; ++round) {
        /* The first before anything is known of the pattern. */
        if (round == 1) settle(p);
        const long plain = of_driver("plain"), tabled = of_driver("tabled"), theirs = of_cusparse("products run");
        const long counts = of_driver("counts");
        DONE(cuStreamBeginCapture_v2(p->stream, 0));
        for (int i = 0; i < 20; ++i) DONE(spmv(p, p->d_buffer));
        DONE(cuStreamEndCapture(p->stream, &graph));
        DONE(cuGraphGetNodes(graph, NULL, &nodes));
        say("nodes", (long)nodes);
        DONE(cuGraphInstantiateWithFlags(&executable, graph, 0));
        DONE(cuGraphDestroy(graph));
        for (int i = 0; i < 5; ++i) {
            new_values(p);
            fill(p);
            DONE(cuGraphLaunch(executable, p->stream));
            wait_for(p->stream);
            check(p);
        }
        printf("replayed: plain %ld tabled %ld cusparse %ld counts %ld\n", of_driver("plain") - plain, of_driver("tabled") - tabled,
               of_cusparse("products run") - theirs, of_driver("counts") - counts);
        /* The pattern begins from the start, and the graph still holds. */
        if (round == 1 && !is_preprocessed) {
            for (int i = 0; i < 4400; ++i) DONE(spmv(p, p->d_buffer));
            settle(p);
            new_values(p);
            fill(p);
            DONE(cuGraphLaunch(executable, p->stream));
            wait_for(p->stream);
            check(p);
        }
        DONE(cuGraphExecDestroy(executable));
    }
    say("captured events", of_driver("captured events"));
    say("broken captures", of_driver("broken captures"));
}

/* A preprocess step in a graph, which is launched after the pattern was changed. */
static void preprocess_captured(void)
{
    Problem *p = usual();
    void *graph, *executable;
    DONE(cuStreamBeginCapture_v2(p->stream, 0));
    preprocess(p, p->d_buffer);
    DONE(spmv(p, p->d_buffer));
    DONE(cuStreamEndCapture(p->stream, &graph));
    DONE(cuGraphInstantiateWithFlags(&executable, graph, 0));
    for (int round = 0; round < 2; ++round) {
        new_pattern(p), new_values(p);
        fill(p);
        DONE(cuGraphLaunch(executable, p->stream));
        wait_for(p->stream);
        check(p);
        settle(p);
        steady(p, "steady");
    }
}

static volatile int is_over;

/* Captures all the time, in the mode that forbids other threads to wait. */
static void *capture_elsewhere(void *data)
{
    (void)data;
    enter();
    void *own = stream(), *graph;
    long broken = 0, whole = 0;
    while (!is_over) {
        DONE(cuStreamBeginCapture_v2(own, 0));
        nap(500);
        if (cuStreamEndCapture(own, &graph) == 0) ++whole, cuGraphDestroy(graph);
        else ++broken;
        nap(200);
    }
    say("whole captures", whole > 50 ? 1 : whole);
    say("broken captures", broken);
    return NULL;
}

/* Products in a thread of which another one captures all the time. This thread itself waits for nothing. */
static void beside_captures(void)
{
    Problem *p[6];
    for (int i = 0; i < 6; ++i) {
        p[i] = usual();
        if (i % 2) preprocess(p[i], p[i]->d_buffer);
    }
    pthread_t thread;
    DONE(pthread_create(&thread, NULL, capture_elsewhere, NULL));
    for (int i = 0; i < 600; ++i) {
        for (int k = 0; k < 6; ++k) DONE(spmv(p[k], p[k]->d_buffer));
        nap(1000);
    }
    for (int k = 1; k < 6; k += 2) DONE(cusparseDestroySpMat(p[k]->matrix));
    nap(20000);
    is_over = 1;
    DONE(pthread_join(thread, NULL));
    say("ours", ours() > 0);
}

/* Threads. */

typedef struct {
    Problem *p;
    long count;
} Job;

static void *multiply(void *data)
{
    const Job *job = data;
    enter();
    for (long i = 0; i < job->count; ++i) DONE(spmv(job->p, job->p->d_buffer));
    wait_for(job->p->stream);
    return NULL;
}

static long resident_kb(void)
{
    char line[256];
    long kb = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) sscanf(line, "VmRSS: %ld", &kb);
    if (status) fclose(status);
    return kb;
}

/* Four threads with a matrix each and a stream each, or all with one matrix in streams of their own. */
static void threads(int is_shared)
{
    Problem *p[4];
    pthread_t thread[4];
    Job job[4];
    /* Kernels with tables are not tried on matrices as small as the others. */
    const int small[] = {40, 50, 90}, *of = is_preprocessed ? size : small;
    p[0] = problem(of[0], of[1], of[2]);
    for (int i = 1; i < 4; ++i) {
        if (!is_shared) {
            p[i] = problem(of[0] + 10 * i, of[1], of[2] + 20 * i);
            continue;
        }
        /* A y, a handle and descriptors of its own; the arrays of the matrix are those of the first. */
        p[i] = malloc(sizeof **p);
        *p[i] = *p[0];
        p[i]->y = malloc(8 * (size_t)p[0]->rows);
        p[i]->d_y = memory(value_bytes() * (size_t)p[0]->rows);
        DONE(cusparseCreate(&p[i]->handle));
        p[i]->stream = stream();
        DONE(cusparseSetStream(p[i]->handle, p[i]->stream));
        describe(p[i]);
    }
    long kb = 0;
    for (int round = 0; round < 10; ++round) {
        for (int i = 0; i < 4; ++i) {
            prepared(p[i]);
            if (is_preprocessed) settle(p[i]);
            fill(p[i]);
            job[i] = (Job){p[i], products / 40};
            DONE(pthread_create(&thread[i], NULL, multiply, &job[i]));
        }
        for (int i = 0; i < 4; ++i) DONE(pthread_join(thread[i], NULL));
        for (int i = 0; i < 4; ++i) check(p[i]);
        /* What is made once is there after the third part. */
        if (round == 2) kb = resident_kb();
    }
    say("grown by kB", resident_kb() - kb);
    say("ours", ours());
    say("tabled", of_driver("tabled"));
    say("cusparse", of_cusparse("products"));
    say("events", of_driver("events made") - of_driver("events destroyed"));
}

static void four_matrices(void) { threads(0); }
static void one_matrix(void) { threads(1); }

/* Two threads, each in the stream of its own that has one handle for all threads. */
static void per_thread_streams(void)
{
    Problem *p = problem(3000, 600, 30000);
    p->stream = (void *)2;
    DONE(cusparseSetStream(p->handle, p->stream));
    preprocess(p, p->d_buffer);
    settle(p);
    const long before = of_driver("tabled");
    Problem other = *p;
    other.y = malloc(8 * (size_t)p->rows);
    other.d_y = memory(8 * (size_t)p->rows);
    DONE(cusparseCreateDnVec(&other.vec_y, p->rows, pointer(other.d_y), value_type()));
    fill(p), fill(&other);
    Job jobs[2] = {{p, 300}, {&other, 300}};
    pthread_t thread[2];
    for (int i = 0; i < 2; ++i) DONE(pthread_create(&thread[i], NULL, multiply, &jobs[i]));
    for (int i = 0; i < 2; ++i) DONE(pthread_join(thread[i], NULL));
    check(p), check(&other);
    say("tabled", of_driver("tabled"));
    say("tabled in threads", of_driver("tabled") - before);
}
#endif

/* A child passes through, and the parent goes on. The child destroys descriptors while other threads of the parent make some. */
static volatile int ends;
static void *churn(void *data)
{
    Problem *p = data;
#ifndef WITHOUT_DRIVER
    enter();
#endif
    while (!ends) {
        void *made;
        DONE(cusparseCreateCsr(&made, p->rows, p->cols, p->nnz, pointer(p->d_row_ptr), pointer(p->d_col_idx), pointer(p->d_values),
                               CSR_32I, CSR_32I, 0, value_type()));
        DONE(cusparseSpMV_preprocess(p->handle, 0, alpha_of(p), made, p->vec_x, beta_of(p), p->vec_y, value_type(), 0,
                                     pointer(p->d_buffer)));
        DONE(cusparseDestroySpMat(made));
    }
    return NULL;
}

static void forked(void)
{
    Problem *p = usual(), *other = usual();
    preprocess(p, p->d_buffer);
    settle(p);
    pthread_t thread;
    DONE(pthread_create(&thread, NULL, churn, other));
    int right = 0;
    for (int i = 0; i < 30; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(10);
            const long before = ours();
            for (int k = 0; k < 20; ++k) product(p, p->d_buffer);
            undescribe(p);
            describe(p);
            product(p, p->d_buffer);
            _exit(ours() == before ? 0 : 3);
        }
        int status = -1;
        waitpid(child, &status, 0);
        right += WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (!(WIFEXITED(status) && WEXITSTATUS(status) == 0)) say("child's status", status);
    }
    ends = 1;
    DONE(pthread_join(thread, NULL));
    say("right children", right);
    /* A child that ends as programs do prints no report. */
    const pid_t child = fork();
    if (child == 0) exit(0);
    waitpid(child, NULL, 0);
    steady(p, "parent");
}

/* The program ends while kernels are compiled. */
static void ended(void)
{
    Problem *p = usual();
    for (int i = 0; i < 15; ++i) product(p, p->d_buffer), nap(20000);
    say("ours", ours());
}

/* Patterns that come and go, and one that stays. */
static void many_patterns(void)
{
    for (int i = 0; i < 1500; ++i) {
        Problem *p = problem(30, 40, 60 + i % 50);
        /* Fewer than it takes to come to an end. */
        for (int k = 0; k < 9 + i % 3; ++k) product(p, p->d_buffer);
        undescribe(p);
        if (i % 100 == 0) nap(2000);
    }
    Problem *p = usual();
    settle(p);
    steady(p, "steady");
}

/* Time of a call in a loop: with STAND_IN_NOTHING=1, with and without the drop-in, what it costs. */
static void cost(void)
{
    is_unchecked = 1;
    Problem *p = problem(40, 50, 90);
    prepared(p);
    settle(p);
    double least = 1e9;
    for (int round = 0; round < 7; ++round) {
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        for (long i = 0; i < products; ++i) spmv(p, p->d_buffer);
        clock_gettime(CLOCK_MONOTONIC, &b);
        const double time = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / (double)products;
        least = time < least ? time : least;
    }
    say("nanoseconds", (long)least);
    say("ours", ours());
}

int main(int count, char **arguments)
{
    const struct {
        const char *name;
        void (*run)(void);
    } scenarios[] = {
        {"many-products", many_products},
        {"another-pattern", another_pattern},
        {"another-buffer", another_buffer},
        {"another-descriptor", another_descriptor},
        {"plans", plans},
        {"preprocessed-again", preprocessed_again},
        {"destroyed-early", destroyed_early},
        {"calls-that-pass", calls_that_pass},
        {"answers", answers},
#ifndef WITHOUT_DRIVER
        {"another-context", another_context},
        {"reset", reset},
        {"captured", captured},
        {"preprocess-captured", preprocess_captured},
        {"beside-captures", beside_captures},
        {"four-matrices", four_matrices},
        {"one-matrix", one_matrix},
        {"per-thread-streams", per_thread_streams},
#endif
        {"forked", forked},
        {"ended", ended},
        {"many-patterns", many_patterns},
        {"cost", cost},
    };
    for (int i = 2; i < count; ++i) {
        is_single |= !strcmp(arguments[i], "f32");
        is_wide |= !strcmp(arguments[i], "wide");
        base |= !strcmp(arguments[i], "one");
        is_preprocessed |= !strcmp(arguments[i], "preprocess");
        is_planned |= !strcmp(arguments[i], "plan");
        is_fresh |= !strcmp(arguments[i], "fresh");
        shift |= !strcmp(arguments[i], "shifted");
        sscanf(arguments[i], "products=%ld", &products);
        sscanf(arguments[i], "patience=%d", &patience);
        sscanf(arguments[i], "size=%d,%d,%d", &size[0], &size[1], &size[2]);
    }
    /* A program that hangs ends. */
    alarm(100);
    begin();
    for (size_t i = 0; count > 1 && i < sizeof scenarios / sizeof *scenarios; ++i) {
        if (!strcmp(arguments[1], scenarios[i].name)) {
            scenarios[i].run();
            say("faults", of_driver("faults"));
            printf("done\n");
            return 0;
        }
    }
    fprintf(stderr, "usage: program SCENARIO [f32] [wide] [one] [preprocess] [fresh] [shifted] [products=N] "
                    "[patience=N] [size=ROWS,COLUMNS,NONZEROS]\n");
    return 2;
}
