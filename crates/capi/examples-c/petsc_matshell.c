/*
 * sparsight under a Krylov solver of PETSc: MatMult of a shell matrix is a product of ours, with vectors that stay on the GPU, in
 * PETSc's own stream.
 *
 * Needs PETSc 3.20 or newer, configured with CUDA, real double precision and 32- or 64-bit indices. Built as PETSc's programs are:
 *
 *     cc petsc_matshell.c $(pkg-config --cflags --libs petsc sparsight) -o petsc_matshell
 *     ./petsc_matshell -ksp_monitor -ksp_type cg -pc_type none
 *
 * It was written by PETSc's manual; tests compile it where PETSc with CUDA is, and do not run it. One process: of a matrix that is distributed, the diagonal and the
 * off-diagonal block of each process (MatMPIAIJGetSeqAIJ) are planned each by itself.
 */

#include <cuda_runtime.h>
#include <petscdevice_cuda.h>
#include <petscksp.h>
#include <sparsight.h>

#if defined(PETSC_USE_COMPLEX) || !defined(PETSC_USE_REAL_DOUBLE)
  #error "PetscScalar has to be a real double: SS_F64 says so below"
#endif

/* Turns a code of sparsight into an error of PETSc. */
#define CallSparsight(call) \
  do { \
    const int code_ = (call); \
    PetscCheck(code_ == SS_OK, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s (%s)", ss_last_error(), ss_last_hint()); \
  } while (0)

/* y = A x */
static PetscErrorCode Multiply(Mat shell, Vec x, Vec y)
{
  ss_op             *op;
  const PetscScalar *on_x;
  PetscScalar       *on_y;
  cudaStream_t       stream;

  PetscFunctionBeginUser;
  PetscCall(MatShellGetContext(shell, &op));
  PetscCall(VecCUDAGetArrayRead(x, &on_x));
  PetscCall(VecCUDAGetArrayWrite(y, &on_y));
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  CallSparsight(ss_multiply(op, 1.0, on_x, 0.0, on_y, stream));
  PetscCall(VecCUDARestoreArrayWrite(y, &on_y));
  PetscCall(VecCUDARestoreArrayRead(x, &on_x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Mat shell)
{
  ss_op *op;

  PetscFunctionBeginUser;
  PetscCall(MatShellGetContext(shell, &op));
  ss_op_free(op);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A shell around the best candidate for `a`, a MATSEQAIJ, which is not needed any more afterwards. */
static PetscErrorCode Prepare(Mat a, PetscInt products, Mat *shell)
{
  const PetscInt    *row_ptr, *col_idx;
  const PetscScalar *values;
  PetscInt           rows, columns;
  PetscBool          done;
  ss_profile        *profile = NULL;
  ss_plan           *plan    = NULL;
  ss_device         *device  = NULL;
  ss_op             *op      = NULL;
  const int          index   = sizeof(PetscInt) == 8 ? SS_I64 : SS_I32;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(a, &rows, &columns));
  PetscCall(MatGetRowIJ(a, 0, PETSC_FALSE, PETSC_FALSE, &rows, &row_ptr, &col_idx, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "the matrix is no MATSEQAIJ");
  PetscCall(MatSeqAIJGetArrayRead(a, &values));
  CallSparsight(ss_profile_open(NULL, &profile));
  CallSparsight(ss_plan_csr(profile, rows, columns, row_ptr, index, col_idx, index, SS_F64, products, &plan));
  CallSparsight(ss_device_open("cuda:0", &device));
  CallSparsight(ss_prepare(plan, 0, device, values, &op));
  PetscCall(MatSeqAIJRestoreArrayRead(a, &values));
  PetscCall(MatRestoreRowIJ(a, 0, PETSC_FALSE, PETSC_FALSE, &rows, &row_ptr, &col_idx, &done));
  ss_plan_free(plan);
  ss_profile_free(profile);
  ss_device_free(device);

  PetscCall(MatGetSize(a, &rows, &columns));
  PetscCall(MatCreateShell(PETSC_COMM_SELF, rows, columns, rows, columns, op, shell));
  PetscCall(MatShellSetOperation(*shell, MATOP_MULT, (void (*)(void))Multiply));
  PetscCall(MatShellSetOperation(*shell, MATOP_DESTROY, (void (*)(void))Destroy));
  PetscCall(MatShellSetVecType(*shell, VECCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt side = 500, n = side * side;
  Mat            a, shell;
  Vec            x, b;
  KSP            ksp;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 5, NULL, &a));
  for (PetscInt row = 0; row < n; ++row) {
    const PetscInt i = row / side, j = row % side;
    if (i > 0) PetscCall(MatSetValue(a, row, row - side, -1.0, INSERT_VALUES));
    if (j > 0) PetscCall(MatSetValue(a, row, row - 1, -1.0, INSERT_VALUES));
    PetscCall(MatSetValue(a, row, row, 4.0, INSERT_VALUES));
    if (j < side - 1) PetscCall(MatSetValue(a, row, row + 1, -1.0, INSERT_VALUES));
    if (i < side - 1) PetscCall(MatSetValue(a, row, row + side, -1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
  PetscCall(Prepare(a, 1000, &shell));
  PetscCall(MatDestroy(&a));

  PetscCall(MatCreateVecs(shell, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, shell, shell));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&shell));
  PetscCall(PetscFinalize());
  return 0;
}
