//! The functions that stand in front of cuSPARSE's own.

use crate::pattern::Pattern;
use crate::product::{Call, Matrix, PlannedCall, Product};
use crate::real::{Cusparse, Getters, NOT_INITIALIZED, Real, SUCCESS, Status};
use crate::settings::{Mode, Settings};
use crate::{gpu, pattern, patterns, process, verify, worker};
use libc::{c_int, c_void};
use sparsight::device::cuda::Cuda;
use std::cell::Cell;
use std::ffi::CStr;
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
    let getters = Cusparse::get().and_then(|cusparse| cusparse.getters.as_ref());
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

/// Defines functions that stand in front of cuSPARSE's of the same names and types. `theirs` calls that with the arguments of the caller.
macro_rules! in_front {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) |$theirs:ident| $body:block)*) => { $(
        $(#[$doc])*
        ///
        /// # Safety
        /// As cuSPARSE's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> Status {
            static REAL: Real<unsafe extern "C" fn($($type),*) -> Status> = Real::new();
            const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a name has no zeros"),
            };
            // SAFETY: the type is that of cuSPARSE 12's reference.
            let Some(real) = (unsafe { REAL.get(NAME) }) else { return NOT_INITIALIZED };
            // SAFETY: the arguments are the caller's.
            let $theirs = || unsafe { real($($argument),*) };
            $body
        }
    )* };
}

/// Functions with the arguments of a product, with what stands in front of them.
macro_rules! of_products {
    ($($(#[$doc:meta])* $name:ident = $ours:ident;)*) => { in_front! { $(
        $(#[$doc])*
        fn $name(
            handle: *mut c_void,
            operation: c_int,
            alpha: *const c_void,
            matrix: *const c_void,
            x: *const c_void,
            beta: *const c_void,
            y: *mut c_void,
            compute_type: c_int,
            algorithm: c_int,
            buffer: *mut c_void
        ) |theirs| {
            let call = Call { handle, operation, alpha, matrix, x, beta, y, compute_type, algorithm, buffer };
            // SAFETY: the arguments are the caller's.
            unsafe { $ours(&call, theirs) }
        }
    )* } };
}

of_products! {
    /// y = alpha A x + beta y: `cusparseSpMV`.
    cusparseSpMV = multiply_called;
    /// Looks at a pattern before products: `cusparseSpMV_preprocess`.
    cusparseSpMV_preprocess = preprocess;
}

in_front! {
    /// z = alpha A x + beta y by a plan: `cusparseSpMVOp`.
    fn cusparseSpMVOp(
        handle: *mut c_void,
        plan: *mut c_void,
        alpha: *const c_void,
        beta: *const c_void,
        x: *const c_void,
        y: *const c_void,
        z: *mut c_void
    ) |theirs| {
        // SAFETY: the arguments are the caller's.
        unsafe { multiply_planned(plan as usize, &PlannedCall { handle, alpha, beta, x, y, z }, theirs) }
    }

    /// Describes a product to be planned: `cusparseSpMVOp_createDescr`. Since 12.8.1 it is given an algorithm and a buffer, before that the
    /// buffer alone: the tenth argument is then what lies behind them in the caller's frame, and is passed on to a function that does not
    /// read it.
    fn cusparseSpMVOp_createDescr(
        handle: *mut c_void,
        description: *mut *mut c_void,
        operation: c_int,
        matrix: *const c_void,
        x: *const c_void,
        y: *mut c_void,
        z: *mut c_void,
        compute_type: c_int,
        algorithm_or_buffer: usize,
        buffer: usize
    ) |theirs| {
        let describe = |description| {
            let getters = active()?;
            patterns::forget_plans(description);
            // SAFETY: the arguments are the caller's.
            let of_plan = unsafe { Matrix::of_plan(operation, matrix, compute_type, getters) }?;
            patterns::described(description, matrix as usize, of_plan);
            Some(())
        };
        // SAFETY: as above.
        unsafe { making(description, theirs, describe) }
    }

    /// Plans a product: `cusparseSpMVOp_createPlan`. One with an epilogue, `code`, is cuSPARSE's.
    fn cusparseSpMVOp_createPlan(
        handle: *mut c_void,
        description: *mut c_void,
        plan: *mut *mut c_void,
        code: *const c_void,
        size: usize
    ) |theirs| {
        let planned = |plan| {
            active()?;
            patterns::forget_plans(plan);
            if code.is_null() {
                patterns::planned(plan, description as usize);
            }
            Some(())
        };
        // SAFETY: the arguments are the caller's.
        unsafe { making(plan, theirs, planned) }
    }
}

/// Functions that describe a matrix. Nothing that is known of an earlier description at its address holds for it.
macro_rules! describing {
    ($($(#[$doc:meta])* $name:ident;)*) => { in_front! { $(
        $(#[$doc])*
        fn $name(
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
            value_type: c_int
        ) |theirs| {
            // SAFETY: the arguments are the caller's.
            unsafe { making(matrix, theirs, |matrix| Some(patterns::forget(matrix))) }
        }
    )* } };
}

describing! {
    /// Describes a matrix in CSR: `cusparseCreateCsr`.
    cusparseCreateCsr;
    /// Describes a matrix in CSR that is not written to: `cusparseCreateConstCsr`.
    cusparseCreateConstCsr;
}

/// Functions that end what is known of their first argument: it is forgotten before cuSPARSE's own is called.
macro_rules! forgetting {
    ($($(#[$doc:meta])* $name:ident($first:ident: $type:ty $(, $rest:ident)*) after $forget:path;)*) => { in_front! { $(
        $(#[$doc])*
        fn $name($first: $type $(, $rest: *mut c_void)*) |theirs| {
            guarded(|| $forget($first as usize));
            theirs()
        }
    )* } };
}

forgetting! {
    /// Destroys a description of a matrix: `cusparseDestroySpMat`.
    cusparseDestroySpMat(matrix: *const c_void) after patterns::forget;
    /// Destroys a description of a product: `cusparseSpMVOp_destroyDescr`.
    cusparseSpMVOp_destroyDescr(description: *const c_void) after patterns::forget_plans;
    /// Destroys a plan: `cusparseSpMVOp_destroyPlan`.
    cusparseSpMVOp_destroyPlan(plan: *const c_void) after patterns::forget_plans;
    /// Gives other values to a matrix: `cusparseSpMatSetValues`.
    cusparseSpMatSetValues(matrix: *mut c_void, values) after patterns::forget_plans;
    /// Gives other arrays to a matrix: `cusparseCsrSetPointers`.
    cusparseCsrSetPointers(matrix: *mut c_void, row_ptr, col_idx, values) after patterns::forget_plans;
}

/// Answers `cusparseSpMV`.
///
/// # Safety
/// `theirs` passes on the call, whose arguments are those of a caller.
unsafe fn multiply_called(call: &Call, theirs: impl Fn() -> Status) -> Status {
    let ours = || {
        let getters = active()?;
        // SAFETY: as the caller promises.
        let product = unsafe { Product::of(call, getters) }?;
        Some((product, patterns::of(call, &product)))
    };
    // SAFETY: as above.
    unsafe { multiply(call.matrix as usize, theirs, ours) }
}

/// Answers `cusparseSpMVOp`.
///
/// # Safety
/// As for [`multiply_called`].
unsafe fn multiply_planned(plan: usize, call: &PlannedCall, theirs: impl Fn() -> Status) -> Status {
    let ours = || {
        let getters = active()?;
        // Not of a device that was reset since.
        let plan = patterns::plan_at(plan)
            .filter(|plan| Cuda::current_context() == Some(plan.matrix.key.context))?;
        // SAFETY: as the caller promises.
        let product = unsafe { Product::with(&plan.matrix, call, getters) }?;
        Some((product, patterns::of_plan(plan, &product)))
    };
    // SAFETY: as above.
    unsafe { multiply(plan, theirs, ours) }
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

/// Answers `cusparseSpMV_preprocess`.
///
/// # Safety
/// As for [`multiply_called`].
unsafe fn preprocess(call: &Call, theirs: impl Fn() -> Status) -> Status {
    let status = theirs();
    guarded(|| {
        let getters = active()?;
        // A step that is captured into a graph runs at each launch of it, and looks at another pattern each time.
        let has_run = |product: &Product| {
            status == SUCCESS && !Cuda::is_captured(pattern::stream(product)).unwrap_or(true)
        };
        // SAFETY: as the caller promises.
        match unsafe { Product::of(call, getters) }.filter(has_run) {
            Some(product) => patterns::preprocessed(call, &product),
            None => patterns::forget(call.matrix as usize),
        }
        Some(())
    });
    status
}

/// Answers a function that makes a handle, which it writes to `place`: tells `ours` its address.
///
/// # Safety
/// `place` is NULL, or `theirs` writes to it if it succeeds.
unsafe fn making(
    place: *mut *mut c_void,
    theirs: impl Fn() -> Status,
    ours: impl FnOnce(usize) -> Option<()>,
) -> Status {
    let status = theirs();
    if status == SUCCESS && !place.is_null() {
        // SAFETY: as the caller promises.
        let made = unsafe { *place } as usize;
        guarded(|| ours(made));
    }
    status
}
