/*
 * sparsight: how fast y = A x will be on a GPU in every sparse format and kernel, before anything is run; the choice; and the
 * product itself.
 *
 *     ss_profile_open, ss_plan_csr      the candidates for a matrix, the best first. This needs no GPU.
 *     ss_device_open, ss_prepare        the matrix with its values on a device, as one of the candidates has it.
 *     ss_multiply, ss_multiply_host     y = alpha A x + beta y, as often as it is wanted.
 *     ss_epilogue_prepare               more done with each row in the launch of a product, and dot products.
 *
 * Functions return SS_OK, which is 0, or another of the codes below; `ss_last_error` says in words what went wrong, and
 * `ss_last_hint` what can be done about it. A call that fails gives no answer: a handle becomes NULL, other places stay as they
 * are, and y may hold anything.
 *
 * Handles are freed by the function of their name in any order: what was made from another one does not need it any more. To free
 * NULL does nothing. Several threads may use one handle at once; no thread may use it while or after it is freed. NULL where something
 * is needed, a negative size or a matrix that is none are errors; pointers to freed memory, or to less memory than is said here,
 * cannot be noticed.
 *
 * A process that was forked from one in which this library has worked has neither its threads nor its GPU: there, calls that would
 * ask these fail with SS_DEVICE, and devices and prepared matrices are not freed. The library must not be unloaded (dlclose) once it
 * was used: its worker threads live on.
 *
 * This file is what cbindgen makes of the crate sparsight-capi. Change that, not this.
 */

#ifndef SPARSIGHT_H
#define SPARSIGHT_H

#include <stddef.h>
#include <stdint.h>

/**
 * The call has done what it says.
 */
#define SS_OK 0

/**
 * An argument cannot be right: NULL, an address that is not aligned, a negative size, a number that is out of range, a device or
 * a type that there is none of, vectors that share memory, or vectors on a GPU for a matrix in the memory of the host.
 */
#define SS_BAD_ARGUMENT 1

/**
 * The arrays are no matrix in CSR: `row_ptr` does not begin with 0 or decreases, a column is out of range, or the columns of a
 * row do not increase.
 */
#define SS_BAD_MATRIX 2

/**
 * The candidate does not run on that device, or there is not the memory for it. Another candidate may do.
 */
#define SS_INFEASIBLE 3

/**
 * There is no such profile, or it cannot be read, or it does not hold what is asked of it.
 */
#define SS_NO_PROFILE 4

/**
 * There is no such GPU, or no driver or run-time compiler (NVRTC) for it.
 */
#define SS_NO_GPU 5

/**
 * A device has failed, or cannot be used: the text has the words of the driver. The system gives no threads, or the process was forked
 * from one in which the library has worked.
 */
#define SS_DEVICE 6

/**
 * There is a mistake in the library. Handles can be freed as ever; what the call was to change may have been changed in part.
 */
#define SS_PANIC 7

/**
 * Indices are `int32_t`.
 */
#define SS_I32 1

/**
 * Indices are `int64_t`.
 */
#define SS_I64 2

/**
 * Values, x and y are `float`.
 */
#define SS_F32 3

/**
 * Values, x and y are `double`.
 */
#define SS_F64 4

/**
 * A processor or a GPU of this machine on which products are computed.
 */
typedef struct ss_device ss_device;

/**
 * A prepared matrix with an epilogue: what is done with the sum of each row of A x where it would be stored, and dot products.
 */
typedef struct ss_epilogue ss_epilogue;

/**
 * A matrix on a device, in the format of a candidate, ready for products. Several threads may multiply with it at once.
 */
typedef struct ss_op ss_op;

/**
 * The candidates for a matrix, the best first: each is a format, a kernel and a block size. It has a copy of the pattern.
 */
typedef struct ss_plan ss_plan;

/**
 * Known facts of a device, on which predictions rest.
 */
typedef struct ss_profile ss_profile;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the library, such as "0.1.0". It is there for ever.
 */
const char *ss_version(void);

/**
 * Text of the last failure of this thread; "" if no call has failed. A call that succeeds leaves it as it
 * is. It is UTF-8, never NULL, and stays there until another call of this thread fails or the thread ends.
 */
const char *ss_last_error(void);

/**
 * Advice on the last failure of this thread; "" if none is known. It stays there as long as `ss_last_error`.
 */
const char *ss_last_hint(void);

/**
 * Opens the profile that `name_or_path` names: one that is part of the library ("nvidia-h200", "nvidia-h100"), a GPU of this machine
 * ("cuda:0"), its processor ("cpu"), the folder of a profile, or a data sheet (a file that ends in ".toml"). NULL stands for the first GPU of this machine
 * if it is known, else for "nvidia-h200". It reads models when they are first asked.
 *
 * "cpu" is what `sparsight calibrate --device cpu`, `sparsight advise --device cpu` or Python's `calibrate("cpu")` have found out about
 * the processor; nothing is measured here. If that was not done, plans have plain CSR first and then the other candidates by the bytes
 * that they move, with times that are assumed: their intervals span a factor of 64.
 *
 * A GPU that is named is opened, and launches and products of a small matrix on it are timed, once as long as it stays open: machines with
 * the same GPU differ in these, and every predicted time is moved by what they take more or less here than in the profile. Where it cannot
 * be opened, for want of NVRTC, times are those of the profile.
 *
 * A GPU that is named and has no profile is calibrated: up to ten matrices are run on it, once, in about 20 s (longer on a slow
 * machine), and a line on standard error says so. What was measured is kept in the folder that the environment variable
 * `SPARSIGHT_CACHE` names, else in the user's cache (~/.cache/sparsight), and found there by every later call, by the program
 * `sparsight` and from Python. Of several threads or processes of one machine that ask at once one measures, and the others wait for
 * it. Where `SPARSIGHT_CALIBRATE` is 0 in the environment, nothing is measured: such a GPU is then `SS_NO_PROFILE`. NULL and other
 * names never wait.
 *
 * `SS_NO_PROFILE` if there is none, if it cannot be read, or if there is no folder to keep it in; `SS_NO_GPU` if a GPU is named that
 * is not there, or that cannot be calibrated for want of NVRTC; `SS_DEVICE` if it fails meanwhile, if no kernel runs, if the system
 * gives no threads, and for NULL or a GPU in a forked process.
 *
 * # Safety
 * `name_or_path` is NULL or ends with a NUL. `profile` is a place for a handle, to be freed by `ss_profile_free`.
 */
int ss_profile_open(const char *name_or_path,
                    ss_profile **profile);

/**
 * Frees a profile. Plans that were made with it do not need it.
 *
 * # Safety
 * `profile` is NULL or a handle that is no longer in use.
 */
void ss_profile_free(ss_profile *profile);

/**
 * Opens a device: "cpu", "cuda" (the first GPU), "cuda:N" (counted from 0), or "hip" and "hip:N" for GPUs of AMD, on which nothing has run
 * yet (docs/hip.md). A GPU of NVIDIA is used through its primary context, which is
 * the one of the CUDA runtime and of the libraries on top of it; which context and device are current in the calling thread does
 * not matter and stays as it is. Opening a GPU for the first time on a machine compiles kernels, which takes some seconds.
 *
 * `SS_BAD_ARGUMENT` for another name; `SS_NO_GPU` if that GPU, the driver or NVRTC is not there.
 *
 * # Safety
 * `name` is NULL or ends with a NUL. `device` is a place for a handle, to be freed by `ss_device_free`.
 */
int ss_device_open(const char *name,
                   ss_device **device);

/**
 * Frees a device. Matrices that were prepared on it keep what they need of it. In a forked process it does nothing.
 *
 * # Safety
 * `device` is NULL or a handle that is no longer in use.
 */
void ss_device_free(ss_device *device);

/**
 * Looks at the pattern of a sparse matrix in CSR and ranks every candidate that a device of the profile's kind has for it. No GPU
 * is needed, and nothing is run. It takes some milliseconds per million non-zeros; the first plan with a profile reads models, too.
 *
 * The matrix has `nrows` rows and `ncols` columns. `row_ptr` holds `nrows + 1` offsets, of which the first is 0 and the last the
 * number of non-zeros; `col_idx` holds a column for each non-zero, counted from 0, and increasing within a row. `row_ptr_type` and
 * `col_idx_type` are `SS_I32` or `SS_I64`, each by itself; `value_type` is `SS_F32` or `SS_F64`: what values, x and y will be. The
 * arrays are copied. There may be at most 2^32 - 2 columns, and as many non-zeros as there is memory for.
 *
 * `products` is how many products y = A x will be computed: the candidates are ranked by what conversion, upload and so many
 * products take together; with 0 by the time of one product. Routines of the vendor's library are not among them.
 *
 * `SS_BAD_MATRIX` if the arrays are no such matrix; `SS_INFEASIBLE` if the device of the profile can hold it in no format;
 * `SS_NO_PROFILE` if the profile cannot predict; `SS_DEVICE` if the system gives no threads; `SS_BAD_ARGUMENT`.
 *
 * # Safety
 * `row_ptr` has `nrows + 1` entries and `col_idx` has `row_ptr[nrows]`, of the types that are named; they are not written to during
 * the call. `plan` is a place for a handle, to be freed by `ss_plan_free`.
 */
int ss_plan_csr(const ss_profile *profile,
                int64_t nrows,
                int64_t ncols,
                const void *row_ptr,
                int row_ptr_type,
                const void *col_idx,
                int col_idx_type,
                int value_type,
                int64_t products,
                ss_plan **plan);

/**
 * Writes to `count` how many candidates the plan has: at least one. They are counted from 0, the best first.
 *
 * # Safety
 * `plan` is NULL or a handle, `count` NULL or a place for a number.
 */
int ss_plan_count(const ss_plan *plan,
                  int64_t *count);

/**
 * Writes the id of candidate `i`, such as "csr-vector/t8/b256/f64", to `buf`: at most `n` bytes with the NUL at the end, as
 * `snprintf` does. The id says kernel, knobs, block size and value type, and keeps its meaning for ever.
 *
 * It returns the length of the id without the NUL, which is at least `n` if `buf` was too short; `buf` may be NULL if `n` is 0.
 * If it fails, it returns a code as other functions do, but negative: `-SS_BAD_ARGUMENT`.
 *
 * # Safety
 * `plan` is NULL or a handle; at `buf` there is room for `n` bytes.
 */
int ss_plan_id(const ss_plan *plan,
               int64_t i,
               char *buf,
               size_t n);

/**
 * Writes how long one product y = A x with candidate `i` is predicted to take on the device of the profile, in seconds, launches
 * included: the time, and the ends of its 90 % interval. `*low_s <= *time_s <= *high_s`, and all are above 0.
 *
 * # Safety
 * `plan` is NULL or a handle, the others are NULL or places for numbers.
 */
int ss_plan_predicted_s(const ss_plan *plan,
                        int64_t i,
                        double *time_s,
                        double *low_s,
                        double *high_s);

/**
 * Writes to `bytes` what the matrix takes on a device in the format of candidate `i`, in bytes, x and y not counted.
 *
 * # Safety
 * `plan` is NULL or a handle, `bytes` NULL or a place for a number.
 */
int ss_plan_memory_bytes(const ss_plan *plan,
                         int64_t i,
                         uint64_t *bytes);

/**
 * Frees a plan. Matrices that were prepared by it do not need it.
 *
 * # Safety
 * `plan` is NULL or a handle that is no longer in use.
 */
void ss_plan_free(ss_plan *plan);

/**
 * Brings the matrix to a device as candidate `i` of the plan has it: with these values, converted, and with what is launched made
 * and loaded. `values` are in the memory of the host, in the order of `col_idx`, of the type that the plan was made for, and are
 * copied; NaN and infinity are values as others are. Candidates that were never used on this machine are compiled first, which takes
 * some seconds at most and is kept on disk.
 *
 * A plan for one GPU may be carried out on any other: its times are then those of another device. The processor has plans of its own,
 * of the profile "cpu": what a GPU likes may take it twice as long as plain CSR.
 *
 * `SS_INFEASIBLE` if the candidate does not run there or does not fit in the memory that is free now; `SS_NO_GPU` if the kernel
 * cannot be compiled for want of NVRTC; `SS_DEVICE`; `SS_BAD_ARGUMENT`, also for a GPU's plan on the processor.
 *
 * # Safety
 * `plan` and `device` are NULL or handles; `values` has as many entries as the matrix has non-zeros, or is NULL. `op` is a place
 * for a handle, to be freed by `ss_op_free`.
 */
int ss_prepare(const ss_plan *plan,
               int64_t i,
               const ss_device *device,
               const void *values,
               ss_op **op);

/**
 * Replaces all values of the matrix by others in the memory of the GPU, in the order of `col_idx`, of the type that the plan was made
 * for. It is queued in `stream`, as a product is (see `ss_multiply`), and not waited for. The pattern stays and is not looked at
 * again.
 *
 * It is a kernel that writes to the matrix, and products are kernels that read it: what was queued before in other streams must have
 * ended, or `stream` must wait for it, and what is queued afterwards stands in `stream` or waits for it. `ss_multiply_host` waits for
 * it by itself, unless it was captured into a CUDA graph: who launches that waits.
 *
 * The first call for a matrix in a format that moves values, this or `ss_update_values_host`, finds out where they stand: it takes as
 * long as the conversion did, and as much memory on the device as the stored values take. Until then a copy of the pattern stays in the
 * memory of the host. Only later calls can be captured into a graph.
 *
 * `SS_BAD_ARGUMENT`, also for a matrix that was prepared on the processor; `SS_INFEASIBLE` if there is not that memory;
 * `SS_DEVICE`.
 *
 * # Safety
 * `op` is NULL or a handle. `values` is NULL, or has as many entries as the matrix has non-zeros, lies in the primary context of the
 * GPU, and stays as it is until what is queued has ended. `stream` is one of that GPU. The order of the streams is as is said above.
 */
int ss_update_values(ss_op *op,
                     const void *values,
                     void *stream);

/**
 * Replaces all values of the matrix by others in the memory of the host, in the same order and of the same type, on whatever device
 * the matrix was prepared; when this returns, they are there. It waits for everything that this process has queued on the device;
 * products of other threads wait meanwhile.
 *
 * `SS_INFEASIBLE` if there is not the memory that the first call takes; `SS_DEVICE`, also while a stream is captured into a graph;
 * `SS_BAD_ARGUMENT`.
 *
 * # Safety
 * `op` is NULL or a handle; `values` has as many entries as the matrix has non-zeros, or is NULL.
 */
int ss_update_values_host(ss_op *op,
                          const void *values);

/**
 * y = alpha A x + beta y with vectors in the memory of the GPU, queued in `stream`, a `cudaStream_t` or `CUstream` of that GPU, and
 * not waited for: this returns when the product is queued. NULL is the default stream of CUDA (the legacy one; `cudaStreamPerThread`
 * is a handle as others are). What fills x and what reads y has to stand in the same stream, or to wait for it. It can be captured
 * into a CUDA graph; the handle has to live as long as the graph. With `beta` = 0, y is not read and may hold anything.
 *
 * x has an entry for each column and y one for each row, of the type that the plan was made for; they share no memory.
 *
 * `SS_BAD_ARGUMENT`, also for a matrix that was prepared on the processor; `SS_DEVICE`: CUDA tells of the failures of what ran
 * before, too.
 *
 * # Safety
 * `op` is NULL or a handle, which is not freed before the product has ended. x and y lie in the primary context of the GPU (what
 * `cudaMalloc` gives does), are as long as is said above, and stay until the product has ended; x is not written to and y not used
 * meanwhile. `stream` is one of that GPU.
 */
int ss_multiply(const ss_op *op,
                double alpha,
                const void *x,
                double beta,
                void *y,
                void *stream);

/**
 * y = alpha A x + beta y with vectors in the memory of the host, on whatever device the matrix was prepared; when this returns, y is
 * computed. A GPU is sent x (and y, unless `beta` is 0) and sends y back, in a stream of its own. With `beta` = 0, y is not read
 * and may hold anything.
 *
 * x has an entry for each column and y one for each row, of the type that the plan was made for; they share no memory.
 *
 * `SS_BAD_ARGUMENT`; `SS_DEVICE`; `SS_INFEASIBLE` if a GPU has no memory for x and y.
 *
 * # Safety
 * `op` is NULL or a handle; x and y are NULL or as long as is said above; x is not written to and y not used meanwhile.
 */
int ss_multiply_host(const ss_op *op,
                     double alpha,
                     const void *x,
                     double beta,
                     void *y);

/**
 * Writes to `bytes` what the matrix takes on its device, in bytes, x and y not counted, and neither what the first
 * `ss_update_values` adds.
 *
 * # Safety
 * `op` is NULL or a handle, `bytes` NULL or a place for a number.
 */
int ss_memory_bytes(const ss_op *op,
                    uint64_t *bytes);

/**
 * Frees a prepared matrix, and with it its memory on the device. On a GPU this waits for products that are under way.
 * In a forked process it does nothing.
 *
 * # Safety
 * `op` is NULL or a handle that is no longer in use.
 */
void ss_op_free(ss_op *op);

/**
 * Compiles an epilogue for a prepared matrix: `y[i]` = `line`, an expression of C in which `s` is the sum of the row, `(A x)[i]`, `i` its
 * number, `y[i]` the entry before the product and `x[i]` that of x, if the matrix is square. It may name the `vectors`, as `d[i]`,
 * and the `scalars`; both are names with blanks between them: "d z". `outputs` are further vectors that are written, each by
 * a line of its own, `w = 2 * out - w[i]`, where `out` is the new `y[i]`; `dots` are sums over all rows, "y * x", of the new y, x, s, vectors and outputs. Several of either
 * have semicolons between them. NULL is none. At most 8 vectors, 8 scalars, 3 outputs and 3 dot products.
 *
 * The handle is independent of `op`, and sees values that are replaced there. docs/epilogues.md says what is done in the launch of the
 * product, and what in one behind it.
 *
 * `SS_BAD_ARGUMENT` for names and lines that are none, with the message of the compiler; `SS_INFEASIBLE` if there is not the memory
 * beside the matrix; `SS_DEVICE`.
 *
 * # Safety
 * `op` is NULL or a handle; the texts are NULL or end with a NUL. `epilogue` is a place for a handle, to be freed by `ss_epilogue_free`.
 */
int ss_epilogue_prepare(const ss_op *op,
                        const char *line,
                        const char *vectors,
                        const char *scalars,
                        const char *outputs,
                        const char *dots,
                        ss_epilogue **epilogue);

/**
 * The product with its epilogue, vectors in the memory of the GPU, queued in `stream` as `ss_multiply` does it and not waited for. It can
 * be captured into a CUDA graph; two graphs with the same epilogue must not run at the same time.
 *
 * `vectors` and `outputs` are arrays, in the memory of the host, of the addresses of vectors on the GPU, in the order of their names; each
 * has an entry for each row. `scalars` are numbers in the memory of the host; where `scalar_places` is not NULL and has an address, in
 * the memory of the GPU, the scalar of that number is read from there while the product runs. `dots` is a place for the dot products in
 * the memory of the GPU, apart from all vectors. Scalars and dot products are double for vectors of either type. Of these, NULL will do
 * where there are none.
 *
 * A vector that is read may be y or an output; x is none that is written.
 *
 * `SS_BAD_ARGUMENT`, also for a matrix that was prepared on the processor; `SS_DEVICE`.
 *
 * # Safety
 * `epilogue` is NULL or a handle, which is not freed before the product has ended, nor the matrix. For vectors and `stream` holds what
 * `ss_multiply` says; `dots` and places of scalars lie in the memory of that GPU likewise.
 */
int ss_epilogue_multiply(const ss_epilogue *epilogue,
                         const void *x,
                         void *y,
                         const void *const *vectors,
                         void *const *outputs,
                         const double *scalars,
                         const double *const *scalar_places,
                         double *dots,
                         void *stream);

/**
 * The product with its epilogue, vectors, scalars and `dots` in the memory of the host, on whatever device the matrix was prepared; when
 * this returns, y, outputs and dot products are computed. y, outputs and `dots` share no memory with each other or another vector.
 *
 * `SS_BAD_ARGUMENT`; `SS_DEVICE`; `SS_INFEASIBLE` if a GPU has no memory for the vectors.
 *
 * # Safety
 * `epilogue` is NULL or a handle; arrays and vectors are NULL or as long as `ss_epilogue_multiply` says; what is read is not written to
 * and what is written not used meanwhile.
 */
int ss_epilogue_multiply_host(const ss_epilogue *epilogue,
                              const void *x,
                              void *y,
                              const void *const *vectors,
                              void *const *outputs,
                              const double *scalars,
                              double *dots);

/**
 * Frees an epilogue. On a GPU this waits for products that are under way. In a forked process it does nothing.
 *
 * # Safety
 * `epilogue` is NULL or a handle that is no longer in use.
 */
void ss_epilogue_free(ss_epilogue *epilogue);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SPARSIGHT_H */
