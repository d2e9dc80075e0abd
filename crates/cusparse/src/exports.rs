//! The functions that stand in front of cuSPARSE's own.

use crate::pattern::Pattern;
use crate::product::{Call, Matrix, PlannedCall, Product};
use crate::real::{
    CreateCsr, CreateDescription, CreatePlan, Cusparse, Destroy, Getters, NOT_INITIALIZED, SUCCESS,
    SetPointers, SetValues, SpMv, SpMvOp, Status,
};
use crate::settings::{Mode, Settings};
use crate::{gpu, pattern, patterns, process, verify, worker};
use libc::{c_int, c_void};
use sparsight::device::cuda::Cuda;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Products with a matrix left to cuSPARSE whose arguments are not read, before those of one are read again. Another matrix that was
/// described at the same address is tried that much later.
const UNSEEN: u64 = 63;

thread_local! {
    /// Addresses of the descriptors or plans of such products in this thread, and how many of them are still to come. Two addresses may
    /// share a place: then arguments are read more often.
    static LEFT: [Cell<(usize, u64)>; 8] = const { [const { Cell::new((0, 0)) }; 8] };
}

/// Set by the first panic.
static HAS_FAILED: AtomicBool = AtomicBool::new(false);

/// The functions that read descriptors; `None` if everything is left to cuSPARSE: by the settings, without a driver, in a child process, with
/// another version of cuSPARSE, after a panic.
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

/// Runs `ours`; `None` if it panics: then cuSPARSE computes everything from now on.
fn guarded<R>(ours: impl FnOnce() -> R) -> Option<R> {
    let ran = catch_unwind(AssertUnwindSafe(ours));
    ran.inspect_err(|_| HAS_FAILED.store(true, Ordering::Relaxed)).ok()
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
    // SAFETY: the arguments are the caller's.
    let theirs = || unsafe { call.pass(spmv) };
    let ours = || {
        let getters = active()?;
        // SAFETY: as above.
        let product = unsafe { Product::of(&call, getters) }?;
        Some((product, patterns::of(&call, &product)))
    };
    // SAFETY: as above.
    unsafe { multiply(matrix as usize, theirs, ours) }
}

/// Multiplies by cuSPARSE, `theirs`, or by our kernels if the call asks for a product that they compute. `of`: the address of its
/// descriptor or plan.
///
/// # Safety
/// `theirs` passes on the call whose product `ours` gives.
unsafe fn multiply(
    of: usize,
    theirs: impl Fn() -> Status,
    ours: impl FnOnce() -> Option<(Product, Arc<Pattern>)>,
) -> Status {
    // Descriptors lie 16 bytes apart at least.
    let place = of / 16 % 8;
    let (left, unseen) = LEFT.with(|left| left[place].get());
    if left == of && unseen > 0 {
        LEFT.with(|left| left[place].set((of, unseen - 1)));
        return theirs();
    }
    let answered = Cell::new(None);
    let theirs = || {
        let status = theirs();
        answered.set(Some(status));
        status
    };
    let Some((product, pattern)) = guarded(ours).flatten() else { return theirs() };
    pattern.source.totals.count();
    // SAFETY: as the caller promises.
    let multiply = || unsafe {
        if Settings::get().mode == Mode::Verify {
            verify::multiply(&pattern, &product, &theirs)
        } else {
            pattern.multiply(&product, &theirs)
        }
    };
    if Settings::get().mode == Mode::On && pattern.is_left_to_cusparse() {
        pattern.pass_over(UNSEEN);
        LEFT.with(|left| left[place].set((of, UNSEEN)));
    }
    // A second product would be wrong where y is added to.
    guarded(multiply).or_else(|| answered.get()).unwrap_or_else(theirs)
}

/// z = alpha A x + beta y by a plan: `cusparseSpMVOp`.
///
/// # Safety
/// As cuSPARSE's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusparseSpMVOp(
    handle: *mut c_void,
    plan: *mut c_void,
    alpha: *const c_void,
    beta: *const c_void,
    x: *const c_void,
    y: *const c_void,
    z: *mut c_void,
) -> Status {
    let Some(spmv_op) = Cusparse::get().spmv_op else { return NOT_INITIALIZED };
    // SAFETY: the arguments are the caller's.
    let theirs = || unsafe { spmv_op(handle, plan, alpha, beta, x, y, z) };
    let ours = || {
        let getters = active()?;
        // Not of a device that was reset since.
        let plan = patterns::plan_at(plan as usize)
            .filter(|plan| Cuda::current_context() == Some(plan.matrix.key.context))?;
        let call = PlannedCall { handle, alpha, beta, x, y, z };
        // SAFETY: as above.
        let product = unsafe { Product::with(&plan.matrix, &call, getters) }?;
        Some((product, patterns::of_plan(plan, &product)))
    };
    // SAFETY: as above.
    unsafe { multiply(plan as usize, theirs, ours) }
}

/// Describes a product to be planned: `cusparseSpMVOp_createDescr`.
///
/// # Safety
/// As cuSPARSE's. Versions before 12.8.1 have nine arguments: the tenth is then what lies behind them in the caller's frame, and is passed
/// on to a function that does not read it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusparseSpMVOp_createDescr(
    handle: *mut c_void,
    description: *mut *mut c_void,
    operation: c_int,
    matrix: *const c_void,
    x: *const c_void,
    y: *mut c_void,
    z: *mut c_void,
    compute_type: c_int,
    algorithm_or_buffer: usize,
    buffer: usize,
) -> Status {
    let Some(create) = Cusparse::get().create_description else { return NOT_INITIALIZED };
    // SAFETY: the arguments are the caller's; on success a handle was written.
    unsafe {
        let status = create(
            handle,
            description,
            operation,
            matrix,
            x,
            y,
            z,
            compute_type,
            algorithm_or_buffer,
            buffer,
        );
        if status == SUCCESS && !description.is_null() {
            guarded(|| {
                let getters = active()?;
                patterns::forget_plans(*description as usize);
                let of_plan = Matrix::of_plan(operation, matrix, compute_type, getters)?;
                patterns::described(*description as usize, matrix as usize, of_plan);
                Some(())
            });
        }
        status
    }
}

/// Plans a product: `cusparseSpMVOp_createPlan`. One with an epilogue, `code`, is cuSPARSE's.
///
/// # Safety
/// As cuSPARSE's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusparseSpMVOp_createPlan(
    handle: *mut c_void,
    description: *mut c_void,
    plan: *mut *mut c_void,
    code: *const c_void,
    size: usize,
) -> Status {
    let Some(create) = Cusparse::get().create_plan else { return NOT_INITIALIZED };
    // SAFETY: as above.
    unsafe {
        let status = create(handle, description, plan, code, size);
        if status == SUCCESS && !plan.is_null() {
            guarded(|| {
                active()?;
                patterns::forget_plans(*plan as usize);
                if code.is_null() {
                    patterns::planned(*plan as usize, description as usize);
                }
                Some(())
            });
        }
        status
    }
}

/// Functions that end what is known of their first argument: it is forgotten, and cuSPARSE's own function called.
macro_rules! forgetting {
    ($($(#[$doc:meta])* $name:ident($first:ident: $type:ty $(, $rest:ident)*) = $theirs:ident after $forget:path;)*) => { $(
        $(#[$doc])*
        ///
        /// # Safety
        /// As cuSPARSE's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($first: $type $(, $rest: *mut c_void)*) -> Status {
            guarded(|| $forget($first as usize));
            let Some(theirs) = Cusparse::get().$theirs else { return NOT_INITIALIZED };
            // SAFETY: the arguments are the caller's.
            unsafe { theirs($first $(, $rest)*) }
        }
    )* };
}

forgetting! {
    /// Destroys a description of a matrix: `cusparseDestroySpMat`.
    cusparseDestroySpMat(matrix: *const c_void) = destroy_matrix after patterns::forget;
    /// Destroys a description of a product: `cusparseSpMVOp_destroyDescr`.
    cusparseSpMVOp_destroyDescr(description: *const c_void) = destroy_description after patterns::forget_plans;
    /// Destroys a plan: `cusparseSpMVOp_destroyPlan`.
    cusparseSpMVOp_destroyPlan(plan: *const c_void) = destroy_plan after patterns::forget_plans;
    /// Gives other values to a matrix: `cusparseSpMatSetValues`.
    cusparseSpMatSetValues(matrix: *mut c_void, values) = set_values after patterns::forget_plans;
    /// Gives other arrays to a matrix: `cusparseCsrSetPointers`.
    cusparseCsrSetPointers(matrix: *mut c_void, row_ptr, col_idx, values) = set_pointers after patterns::forget_plans;
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

/// Functions that describe a matrix. Nothing that is known of an earlier description at its address holds for it.
macro_rules! describing {
    ($($(#[$doc:meta])* $name:ident = $theirs:ident;)*) => { $(
        $(#[$doc])*
        ///
        /// # Safety
        /// As cuSPARSE's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
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
            let Some(create) = Cusparse::get().$theirs else { return NOT_INITIALIZED };
            // SAFETY: the arguments are the caller's; on success a handle was written.
            unsafe {
                let status = create(
                    matrix, nrows, ncols, nnz, row_ptr, col_idx, values, row_type, col_type, base, value_type,
                );
                if status == SUCCESS && !matrix.is_null() {
                    guarded(|| patterns::forget(*matrix as usize));
                }
                status
            }
        }
    )* };
}

describing! {
    /// Describes a matrix in CSR: `cusparseCreateCsr`.
    cusparseCreateCsr = create_csr;
    /// Describes a matrix in CSR that is not written to: `cusparseCreateConstCsr`.
    cusparseCreateConstCsr = create_const_csr;
}

// The types of the functions that stand in front of cuSPARSE's are those of what they stand in front of.
const _: [SpMv; 2] = [cusparseSpMV, cusparseSpMV_preprocess];
const _: [CreateCsr; 2] = [cusparseCreateCsr, cusparseCreateConstCsr];
const _: (SpMvOp, CreateDescription, CreatePlan) =
    (cusparseSpMVOp, cusparseSpMVOp_createDescr, cusparseSpMVOp_createPlan);
const _: [Destroy; 3] = [cusparseDestroySpMat, cusparseSpMVOp_destroyDescr, cusparseSpMVOp_destroyPlan];
const _: (SetValues, SetPointers) = (cusparseSpMatSetValues, cusparseCsrSetPointers);
