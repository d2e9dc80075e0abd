//! The functions that stand in front of cuSPARSE's own.

use crate::product::{Call, Product};
use crate::real::{CreateCsr, Cusparse, Getters, NOT_INITIALIZED, SUCCESS, SpMv, Status};
use crate::settings::{Mode, Settings};
use crate::{gpu, pattern, patterns, process, verify, worker};
use libc::{c_int, c_void};
use sparsight::device::cuda::Cuda;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by the first panic.
static HAS_FAILED: AtomicBool = AtomicBool::new(false);

/// What is asked about descriptors; `None` if all is left to cuSPARSE: by the settings, without a driver, in a child, with another version,
/// after a panic.
fn active() -> Option<&'static Getters> {
    static USABLE: OnceLock<bool> = OnceLock::new();
    if Settings::get().mode == Mode::Off || worker::is_stopped() || HAS_FAILED.load(Ordering::Relaxed) {
        return None;
    }
    let getters = Cusparse::get().getters.as_ref();
    let is_usable = *USABLE.get_or_init(|| {
        if Settings::get().reports() {
            process::watch();
        }
        let why = match (getters, Cuda::count()) {
            (None, _) => "this is not cuSPARSE 12, whose contract is known, or it lacks functions".to_owned(),
            (_, Err(error)) => error.to_string(),
            (_, Ok(0)) => "the driver reports no GPU".to_owned(),
            _ => {
                process::watch();
                return true;
            }
        };
        gpu::leave_all(why);
        false
    });
    getters.filter(|_| is_usable)
}

/// Runs `ours`; `None` if it panics: the program goes on with cuSPARSE, which computes all that follows.
fn guarded<R>(ours: impl FnOnce() -> Option<R>) -> Option<R> {
    let failed = |_| {
        HAS_FAILED.store(true, Ordering::Relaxed);
        None
    };
    catch_unwind(AssertUnwindSafe(ours)).unwrap_or_else(failed)
}

/// y = alpha A x + beta y: `cusparseSpMV`.
///
/// # Safety
/// As cuSPARSE's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusparseSpMV(
    handle: *mut c_void,
    operation: c_int,
    alpha: *const c_void,
    matrix: *const c_void,
    x: *const c_void,
    beta: *const c_void,
    y: *mut c_void,
    compute_type: c_int,
    algorithm: c_int,
    buffer: *mut c_void,
) -> Status {
    let call = Call { handle, operation, alpha, matrix, x, beta, y, compute_type, algorithm, buffer };
    let Some(spmv) = Cusparse::get().spmv else { return NOT_INITIALIZED };
    let answered = Cell::new(None);
    let theirs = || {
        // SAFETY: the arguments are the caller's.
        let status = unsafe { call.pass(spmv) };
        answered.set(Some(status));
        status
    };
    let ours = || {
        let getters = active()?;
        // SAFETY: as above.
        let product = unsafe { Product::of(&call, getters) }?;
        Some((product, patterns::of(&call, &product)))
    };
    let Some((product, pattern)) = guarded(ours) else { return theirs() };
    pattern.source.totals.count();
    // SAFETY: as above.
    let multiply = || unsafe {
        Some(if Settings::get().mode == Mode::Verify {
            verify::multiply(&pattern, &product, &theirs)
        } else {
            pattern.multiply(&product, &theirs)
        })
    };
    // A second product would be wrong where y is added to.
    guarded(multiply).or_else(|| answered.get()).unwrap_or_else(theirs)
}

/// Looks at a pattern before products: `cusparseSpMV_preprocess`.
///
/// # Safety
/// As cuSPARSE's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusparseSpMV_preprocess(
    handle: *mut c_void,
    operation: c_int,
    alpha: *const c_void,
    matrix: *const c_void,
    x: *const c_void,
    beta: *const c_void,
    y: *mut c_void,
    compute_type: c_int,
    algorithm: c_int,
    buffer: *mut c_void,
) -> Status {
    let call = Call { handle, operation, alpha, matrix, x, beta, y, compute_type, algorithm, buffer };
    let Some(preprocess) = Cusparse::get().preprocess else { return NOT_INITIALIZED };
    // SAFETY: the arguments are the caller's.
    let status = unsafe { call.pass(preprocess) };
    guarded(|| {
        let getters = active()?;
        // A step that is captured into a graph runs at each launch of it, and looks at another pattern each time.
        let has_run = |product: &Product| {
            status == SUCCESS && !Cuda::is_captured(pattern::stream(product)).unwrap_or(true)
        };
        // SAFETY: as above.
        match unsafe { Product::of(&call, getters) }.filter(has_run) {
            Some(product) => patterns::preprocessed(&call, &product),
            None => patterns::forget(matrix as usize),
        }
        Some(())
    });
    status
}

/// Destroys a description of a matrix: `cusparseDestroySpMat`.
///
/// # Safety
/// As cuSPARSE's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusparseDestroySpMat(matrix: *const c_void) -> Status {
    guarded(|| {
        patterns::forget(matrix as usize);
        Some(())
    });
    // SAFETY: the argument is the caller's.
    Cusparse::get().destroy_matrix.map_or(NOT_INITIALIZED, |destroy| unsafe { destroy(matrix) })
}

/// Describes a matrix in CSR: `cusparseCreateCsr`.
///
/// # Safety
/// As cuSPARSE's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusparseCreateCsr(
    matrix: *mut *mut c_void,
    nrows: i64,
    ncols: i64,
    nnz: i64,
    row_ptr: *const c_void,
    col_idx: *const c_void,
    values: *const c_void,
    row_type: c_int,
    col_type: c_int,
    base: c_int,
    value_type: c_int,
) -> Status {
    let of = Cusparse::get().create_csr;
    // SAFETY: the arguments are the caller's.
    unsafe {
        create(
            of,
            (matrix, nrows, ncols, nnz),
            (row_ptr, col_idx, values),
            [row_type, col_type, base, value_type],
        )
    }
}

/// Describes a matrix in CSR that is not written to: `cusparseCreateConstCsr`.
///
/// # Safety
/// As cuSPARSE's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusparseCreateConstCsr(
    matrix: *mut *mut c_void,
    nrows: i64,
    ncols: i64,
    nnz: i64,
    row_ptr: *const c_void,
    col_idx: *const c_void,
    values: *const c_void,
    row_type: c_int,
    col_type: c_int,
    base: c_int,
    value_type: c_int,
) -> Status {
    let of = Cusparse::get().create_const_csr;
    // SAFETY: the arguments are the caller's.
    unsafe {
        create(
            of,
            (matrix, nrows, ncols, nnz),
            (row_ptr, col_idx, values),
            [row_type, col_type, base, value_type],
        )
    }
}

/// Makes a description. What is known of a former one at its address is of the past.
///
/// # Safety
/// As cuSPARSE's.
unsafe fn create(
    of: Option<CreateCsr>,
    (matrix, nrows, ncols, nnz): (*mut *mut c_void, i64, i64, i64),
    (row_ptr, col_idx, values): (*const c_void, *const c_void, *const c_void),
    [row_type, col_type, base, value_type]: [c_int; 4],
) -> Status {
    let Some(of) = of else { return NOT_INITIALIZED };
    // SAFETY: the arguments are the caller's; on success a handle was written.
    unsafe {
        let status =
            of(matrix, nrows, ncols, nnz, row_ptr, col_idx, values, row_type, col_type, base, value_type);
        if status == SUCCESS && !matrix.is_null() {
            guarded(|| {
                patterns::forget(*matrix as usize);
                Some(())
            });
        }
        status
    }
}

// The types of the functions that stand in front of cuSPARSE's are those of what they stand in front of.
const _: [SpMv; 2] = [cusparseSpMV, cusparseSpMV_preprocess];
const _: [CreateCsr; 2] = [cusparseCreateCsr, cusparseCreateConstCsr];
