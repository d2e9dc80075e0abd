/*
 * sparsight under a Krylov solver of PETSc: MatMult of a shell matrix is a product of ours. A Poisson system on a square grid is solved
 * by conjugate gradients with PETSc's own MATSEQAIJ and with the shell, and the two solutions are compared.
 *
 *     petsc_matshell [-device DEVICE] [-side N] [options of PETSc, such as -ksp_monitor]
 *
 * DEVICE is "cpu" unless another one is named, such as "cuda:0"; N is the number of grid points per side. Where PETSc was configured with
 * CUDA and the device is a GPU, vectors stay on the GPU and products are queued in PETSc's own stream; where it was not, vectors are in the
 * memory of the host.
 *
 * Needs PETSc 3.18 or newer with real double precision, and 32- or 64-bit indices. Built as PETSc's programs are, mpicc being the compiler
 * where PETSc has MPI:
 *
 *     mpicc petsc_matshell.c $(pkg-config --cflags --libs PETSc sparsight) -o petsc_matshell
 *
 * One process: of a distributed matrix, the diagonal and the off-diagonal block of each process (MatMPIAIJGetSeqAIJ) are planned each by
 * itself.
 */

#include <petscksp.h>
#include <sparsight.h>

#if defined(PETSC_HAVE_CUDA)
  #include <petscdevice_cuda.h>
#endif

#if defined(PETSC_USE_COMPLEX) || !defined(PETSC_USE_REAL_DOUBLE)
  #error "PetscScalar has to be a real double: SS_F64 says so below"
#endif

#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS 0
#endif

/* Turns a code of sparsight into an error of PETSc. */
#define CallSparsight(call) \
  do { \
    const int code_ = (call); \
    PetscCheck(code_ == SS_OK, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s (%s)", ss_last_error(), ss_last_hint()); \
  } while (0)

/* What a shell multiplies with. */
typedef struct {
  ss_op    *op;
  PetscBool on_gpu; /* The vectors are VECCUDA. */
} Product;

#if defined(PETSC_HAVE_CUDA)
/* y = A x in PETSc's stream, with vectors that stay on the GPU. */
static PetscErrorCode MultiplyOnGpu(const ss_op *op, Vec x, Vec y)
{
  const PetscScalar *x_values;
  PetscScalar       *y_values;
  cudaStream_t       stream;

  PetscFunctionBeginUser;
  #if PETSC_VERSION_LT(3, 20, 0)
  stream = PetscDefaultCudaStream;
  #else
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  #endif
  PetscCall(VecCUDAGetArrayRead(x, &x_values));
  PetscCall(VecCUDAGetArrayWrite(y, &y_values));
  CallSparsight(ss_multiply(op, 1.0, x_values, 0.0, y_values, stream));
  PetscCall(VecCUDARestoreArrayWrite(y, &y_values));
  PetscCall(VecCUDARestoreArrayRead(x, &x_values));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* y = A x */
static PetscErrorCode Multiply(Mat shell, Vec x, Vec y)
{
  Product           *product;
  const PetscScalar *x_values;
  PetscScalar       *y_values;

  PetscFunctionBeginUser;
  PetscCall(MatShellGetContext(shell, &product));
#if defined(PETSC_HAVE_CUDA)
  if (product->on_gpu) {
    PetscCall(MultiplyOnGpu(product->op, x, y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  PetscCall(VecGetArrayRead(x, &x_values));
  PetscCall(VecGetArrayWrite(y, &y_values));
  CallSparsight(ss_multiply_host(product->op, 1.0, x_values, 0.0, y_values));
  PetscCall(VecRestoreArrayWrite(y, &y_values));
  PetscCall(VecRestoreArrayRead(x, &x_values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Mat shell)
{
  Product *product;

  PetscFunctionBeginUser;
  PetscCall(MatShellGetContext(shell, &product));
  ss_op_free(product->op);
  PetscCall(PetscFree(product));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A shell around the best candidate for `a`, a MATSEQAIJ, that runs on the device. The shell does not need `a` afterwards. */
static PetscErrorCode Prepare(Mat a, const char *name, PetscInt products, Mat *shell)
{
  const PetscInt    *row_ptr, *col_idx;
  const PetscScalar *values;
  PetscInt           rows, columns;
  PetscBool          done, on_cpu;
  int64_t            count, candidate = 0;
  int                code;
  char               id[80];
  Product           *product;
  ss_profile        *profile = NULL;
  ss_plan           *plan    = NULL;
  ss_device         *device  = NULL;
  const int          index   = sizeof(PetscInt) == 8 ? SS_I64 : SS_I32;

  PetscFunctionBeginUser;
  PetscCall(PetscNew(&product));
  PetscCall(MatGetSize(a, &rows, &columns));
  PetscCall(MatGetRowIJ(a, 0, PETSC_FALSE, PETSC_FALSE, &rows, &row_ptr, &col_idx, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "the matrix is no MATSEQAIJ");
  PetscCall(MatSeqAIJGetArrayRead(a, &values));
  CallSparsight(ss_profile_open(name, &profile));
  CallSparsight(ss_plan_csr(profile, rows, columns, row_ptr, index, col_idx, index, SS_F64, products, &plan));
  CallSparsight(ss_plan_count(plan, &count));
  CallSparsight(ss_device_open(name, &device));
  do code = ss_prepare(plan, candidate, device, values, &product->op);
  while (code == SS_INFEASIBLE && ++candidate < count);
  CallSparsight(code);
  ss_plan_id(plan, candidate, id, sizeof id);
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "prepared on %s: %s\n", name, id));
  PetscCall(MatSeqAIJRestoreArrayRead(a, &values));
  PetscCall(MatRestoreRowIJ(a, 0, PETSC_FALSE, PETSC_FALSE, &rows, &row_ptr, &col_idx, &done));
  ss_plan_free(plan);
  ss_profile_free(profile);
  ss_device_free(device);

  PetscCall(PetscStrcmp(name, "cpu", &on_cpu));
  PetscCall(MatGetSize(a, &rows, &columns));
  PetscCall(MatCreateShell(PETSC_COMM_SELF, rows, columns, rows, columns, product, shell));
  PetscCall(MatShellSetOperation(*shell, MATOP_MULT, (void (*)(void))Multiply));
  PetscCall(MatShellSetOperation(*shell, MATOP_DESTROY, (void (*)(void))Destroy));
#if defined(PETSC_HAVE_CUDA)
  product->on_gpu = on_cpu ? PETSC_FALSE : PETSC_TRUE;
  if (product->on_gpu) PetscCall(MatShellSetVecType(*shell, VECCUDA));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The five-point stencil on a grid of `side` x `side` points: 4 at each point, -1 at each of its neighbours. */
static PetscErrorCode Laplacian(PetscInt side, Mat *a)
{
  const PetscInt n = side * side;

  PetscFunctionBeginUser;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 5, NULL, a));
  for (PetscInt row = 0; row < n; ++row) {
    const PetscInt i = row / side, j = row % side;
    if (i > 0) PetscCall(MatSetValue(*a, row, row - side, -1.0, INSERT_VALUES));
    if (j > 0) PetscCall(MatSetValue(*a, row, row - 1, -1.0, INSERT_VALUES));
    PetscCall(MatSetValue(*a, row, row, 4.0, INSERT_VALUES));
    if (j < side - 1) PetscCall(MatSetValue(*a, row, row + 1, -1.0, INSERT_VALUES));
    if (i < side - 1) PetscCall(MatSetValue(*a, row, row + side, -1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*a, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*a, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves A x = b by conjugate gradients without a preconditioner, unless options of PETSc ask for another method. */
static PetscErrorCode Solve(Mat a, Vec b, Vec x, PetscInt *iterations)
{
  KSP                ksp;
  PC                 pc;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, a, a));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCNONE));
  PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCheck(reason > 0, PETSC_COMM_SELF, PETSC_ERR_NOT_CONVERGED, "%s", KSPConvergedReasons[reason]);
  PetscCall(KSPGetIterationNumber(ksp, iterations));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest difference of two vectors, relative to the largest entry of `u`, which becomes the difference. */
static PetscErrorCode Difference(Vec u, Vec v, PetscReal *difference)
{
  PetscReal largest;

  PetscFunctionBeginUser;
  PetscCall(VecNorm(u, NORM_INFINITY, &largest));
  PetscCall(VecAXPY(u, -1.0, v));
  PetscCall(VecNorm(u, NORM_INFINITY, difference));
  *difference /= largest;
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char      device[16] = "cpu";
  PetscInt  side       = 100, aij_iterations, shell_iterations;
  PetscReal product, solutions, error;
  PetscBool equal;
  Mat       a, shell;
  Vec       truth, b, y, x_aij, x_shell;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-device", device, sizeof device, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-side", &side, NULL));
  PetscCall(Laplacian(side, &a));
  PetscCall(Prepare(a, device, 1000, &shell));
  PetscCall(MatCreateVecs(shell, &truth, &b));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(VecDuplicate(b, &x_aij));
  PetscCall(VecDuplicate(b, &x_shell));

  /* A system with a known solution, the numbers 1 to 7 in turn: the right-hand side is a sum of integers, the same by both products. */
  for (PetscInt row = 0; row < side * side; ++row) PetscCall(VecSetValue(truth, row, 1.0 + row % 7, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(truth));
  PetscCall(VecAssemblyEnd(truth));
  PetscCall(MatMult(a, truth, b));
  PetscCall(MatMult(shell, truth, y));
  PetscCall(Difference(y, b, &product));

  PetscCall(Solve(a, b, x_aij, &aij_iterations));
  PetscCall(Solve(shell, b, x_shell, &shell_iterations));
  PetscCall(Difference(truth, x_shell, &error));
  PetscCall(Difference(x_aij, x_shell, &solutions));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "y = A x: the products differ by %g\n", (double)product));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "iterations: %d with MATSEQAIJ, %d with the shell\n", (int)aij_iterations,
                        (int)shell_iterations));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "the solutions differ by %.1e, and by %.1e from the known one\n", (double)solutions, (double)error));
  equal = product == 0.0 && aij_iterations == shell_iterations && solutions < 1e-10 && error < 1e-8 ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, equal ? "the shell is right\n" : "the shell is WRONG\n"));

  PetscCall(VecDestroy(&truth));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&x_aij));
  PetscCall(VecDestroy(&x_shell));
  PetscCall(MatDestroy(&shell));
  PetscCall(MatDestroy(&a));
  PetscCall(PetscFinalize());
  return equal ? 0 : 1;
}
