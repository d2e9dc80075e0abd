//! A matrix on a device, ready for products.

use crate::arguments::{Out, free, held};
use crate::arrays::{self, disjoint};
use crate::device::{DeviceHandle, Opened};
use crate::error::guarded;
use crate::failure::Failure;
use crate::forked;
use crate::plan::{Pattern, PlanHandle};
use rayon::prelude::*;
use sparsight::device::gpu::{DeviceSlice, DeviceSliceMut, Stream};
use sparsight::matrix::{Csr, Scalar};
use sparsight::{Advised, Plan, Prepared};
use std::ffi::{c_int, c_void};
use std::sync::{Arc, PoisonError, RwLock};

/// A matrix on a device, in the format of a candidate, ready for products. Several threads may multiply with it at once.
pub struct OpHandle {
    // Freed before the device is, whose last owner this may be.
    operator: RwLock<AnyOperator>,
    device: Arc<Opened>,
}

/// Of either value type.
enum AnyOperator {
    F32(Operator<f32>),
    F64(Operator<f64>),
}

/// Does the same for both value types.
macro_rules! with_operator {
    ($any:expr, $operator:ident => $body:expr) => {
        match $any {
            AnyOperator::F32($operator) => $body,
            AnyOperator::F64($operator) => $body,
        }
    };
}

struct Operator<T: Scalar> {
    prepared: Prepared<T>,
    nrows: usize,
    ncols: usize,
    nnz: usize,
    /// Until values are replaced for the first time: what says where they stand. `None` where they stay where CSR has them.
    pattern: Option<Arc<Csr<T>>>,
}

impl<T: Scalar> Operator<T> {
    /// # Safety
    /// At `values` there is a `T` for each non-zero, or it is NULL.
    unsafe fn prepare(
        pattern: &Arc<Csr<T>>,
        advised: &Advised,
        device: &Opened,
        values: *const c_void,
    ) -> Result<Self, Failure> {
        // SAFETY: as the caller promises.
        let values = unsafe { arrays::read::<T>("values", values.cast(), pattern.nnz())? };
        let a = pattern.with_values(values.par_iter().copied().collect())?;
        let plan = Plan::whole(a.nrows(), advised.candidate, Some(advised.prediction.time));
        let prepared = plan.prepare(device.of::<T>(), &a)?;
        let is_moved = !advised.candidate.format().stays_in_csr();
        let pattern = is_moved.then(|| Arc::clone(pattern));
        Ok(Self { prepared, nrows: a.nrows(), ncols: a.ncols(), nnz: a.nnz(), pattern })
    }

    /// # Safety
    /// At `values` there is a `T` for each non-zero, or it is NULL.
    unsafe fn update(&mut self, values: *const c_void) -> Result<(), Failure> {
        // SAFETY: as the caller promises.
        let values = unsafe { arrays::read::<T>("values", values.cast(), self.nnz)? };
        if let Some(pattern) = &self.pattern {
            self.prepared.allow_updates(pattern)?;
            self.pattern = None;
        }
        Ok(self.prepared.update_values(values)?)
    }

    /// Vectors on the host.
    ///
    /// # Safety
    /// At `x` there is a `T` for each column and at `y` one for each row, which nobody uses meanwhile; or they are NULL.
    unsafe fn multiply(
        &self,
        (alpha, beta): (f64, f64),
        x: *const c_void,
        y: *mut c_void,
    ) -> Result<(), Failure> {
        let (x, y) = (x.cast::<T>(), y.cast::<T>());
        disjoint((x, self.ncols), (y.cast_const(), self.nrows))?;
        // SAFETY: as the caller promises; they share nothing.
        let (x, y) = unsafe { (arrays::read("x", x, self.ncols)?, arrays::write("y", y, self.nrows)?) };
        Ok(self.prepared.multiply_scaled(alpha, x, beta, y)?)
    }

    /// Vectors on the GPU.
    ///
    /// # Safety
    /// As [`Operator::multiply`] in the memory of the GPU, until what is queued has ended; `stream` is one of the GPU's, or NULL.
    unsafe fn queue(
        &self,
        (alpha, beta): (f64, f64),
        x: *const c_void,
        y: *mut c_void,
        stream: *mut c_void,
    ) -> Result<(), Failure> {
        let (x, y) = (x.cast::<T>(), y.cast::<T>());
        arrays::check("x", x, self.ncols)?;
        arrays::check("y", y.cast_const(), self.nrows)?;
        disjoint((x, self.ncols), (y.cast_const(), self.nrows))?;
        // SAFETY: as the caller promises. NULL is the default stream of CUDA, which everybody has.
        let (x, y, stream) = unsafe {
            (
                DeviceSlice::from_raw(x.addr() as u64, self.ncols),
                DeviceSliceMut::from_raw(y.addr() as u64, self.nrows),
                Stream::from_raw(stream),
            )
        };
        Ok(self.prepared.multiply_scaled_on_device(alpha, x, beta, y, Some(stream))?)
    }
}

/// Brings the matrix to a device as candidate `i` of the plan has it: with these values, converted, and with what is launched made
/// and loaded. `values` are in the memory of the host, in the order of `col_idx`, of the type that the plan was made for, and are
/// copied; NaN and infinity are values as others are. Candidates that were never used on this machine are compiled first, which takes
/// some seconds at most and is kept on disk.
///
/// A plan for one device may be carried out on any other, the processor included: its times are then those of another device. Some
/// candidates are for GPUs alone; `SS_INFEASIBLE` says so, and the next one may do.
///
/// `SS_INFEASIBLE` if the candidate does not run there or does not fit in the memory that is free now; `SS_NO_GPU` if the kernel
/// cannot be compiled for want of NVRTC; `SS_DEVICE`; `SS_BAD_ARGUMENT`.
///
/// # Safety
/// `plan` and `device` are NULL or handles; `values` has as many entries as the matrix has non-zeros, or is NULL. `op` is a place
/// for a handle, to be freed by `ss_op_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ss_prepare(
    plan: *const PlanHandle,
    i: i64,
    device: *const DeviceHandle,
    values: *const c_void,
    op: *mut *mut OpHandle,
) -> c_int {
    guarded(|| {
        // SAFETY: as the caller promises.
        let (op, plan, device) =
            unsafe { (Out::of_handle("op", op)?, held("plan", plan)?, held("device", device)?) };
        let advised = plan.candidate(i)?;
        forked::refuse()?;
        let opened = &device.0;
        // SAFETY: as the caller promises.
        let operator = unsafe {
            match &plan.pattern {
                Pattern::F32(pattern) => {
                    AnyOperator::F32(Operator::prepare(pattern, advised, opened, values)?)
                }
                Pattern::F64(pattern) => {
                    AnyOperator::F64(Operator::prepare(pattern, advised, opened, values)?)
                }
            }
        };
        op.give(OpHandle { operator: RwLock::new(operator), device: Arc::clone(opened) });
        Ok(())
    })
}

/// Replaces all values of the matrix by others in the memory of the host, in the order of `col_idx`. The pattern stays and is not
/// looked at again. It waits for everything that this process has queued on the device, and until the values are there; products
/// of other threads wait meanwhile.
///
/// The first call for a matrix in a format that moves values finds out where they stand: it takes as long as the conversion did,
/// and as much memory on the device as the stored values take. Until then a copy of the pattern stays in the memory of the host.
///
/// `SS_INFEASIBLE` if there is not that memory; `SS_DEVICE`, also while a stream is captured into a graph; `SS_BAD_ARGUMENT`.
///
/// # Safety
/// `op` is NULL or a handle; `values` has as many entries as the matrix has non-zeros, or is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ss_update_values(op: *mut OpHandle, values: *const c_void) -> c_int {
    guarded(|| {
        // SAFETY: as the caller promises. It is changed behind its lock.
        let op = unsafe { held("op", op.cast_const())? };
        forked::refuse()?;
        let mut operator = op.operator.write().unwrap_or_else(PoisonError::into_inner);
        // Products may be under way in any stream, and whoever queues the next one knows nothing of this.
        op.device.wait()?;
        // SAFETY: as the caller promises.
        unsafe { with_operator!(&mut *operator, operator => operator.update(values))? };
        op.device.wait()
    })
}

/// y = alpha A x + beta y with vectors in the memory of the GPU, queued in `stream`, a `cudaStream_t` or `CUstream` of that GPU, and
/// not waited for: this returns when the product is queued. NULL is the default stream of CUDA (the legacy one; `cudaStreamPerThread`
/// is a handle as others are). What fills x and what reads y has to stand in the same stream, or to wait for it. It can be captured
/// into a CUDA graph; the handle has to live as long as the graph. With `beta` = 0, y is not read and may hold anything.
///
/// x has an entry for each column and y one for each row, of the type that the plan was made for; they share no memory.
///
/// `SS_BAD_ARGUMENT`, also for a matrix that was prepared on the processor; `SS_DEVICE`: CUDA tells of the failures of what ran
/// before, too.
///
/// # Safety
/// `op` is NULL or a handle, which is not freed before the product has ended. x and y lie in the primary context of the GPU (what
/// `cudaMalloc` gives does), are as long as is said above, and stay until the product has ended; nobody writes to x or uses y
/// meanwhile. `stream` is one of that GPU.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ss_multiply(
    op: *const OpHandle,
    alpha: f64,
    x: *const c_void,
    beta: f64,
    y: *mut c_void,
    stream: *mut c_void,
) -> c_int {
    guarded(|| {
        // SAFETY: as the caller promises.
        let op = unsafe { held("op", op)? };
        let operator = op.operator.read().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: as the caller promises.
        unsafe { with_operator!(&*operator, operator => operator.queue((alpha, beta), x, y, stream)) }
    })
}

/// y = alpha A x + beta y with vectors in the memory of the host, on whatever device the matrix was prepared; when this returns, y is
/// computed. A GPU is sent x (and y, unless `beta` is 0) and sends y back, in a stream of its own. With `beta` = 0, y is not read
/// and may hold anything.
///
/// x has an entry for each column and y one for each row, of the type that the plan was made for; they share no memory.
///
/// `SS_BAD_ARGUMENT`; `SS_DEVICE`; `SS_INFEASIBLE` if a GPU has no memory for x and y.
///
/// # Safety
/// `op` is NULL or a handle; x and y are NULL or as long as is said above; nobody writes to x or uses y meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ss_multiply_host(
    op: *const OpHandle,
    alpha: f64,
    x: *const c_void,
    beta: f64,
    y: *mut c_void,
) -> c_int {
    guarded(|| {
        // SAFETY: as the caller promises.
        let op = unsafe { held("op", op)? };
        forked::refuse()?;
        let operator = op.operator.read().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: as the caller promises.
        unsafe { with_operator!(&*operator, operator => operator.multiply((alpha, beta), x, y)) }
    })
}

/// Writes to `bytes` what the matrix takes on its device, in bytes, x and y not counted.
///
/// # Safety
/// `op` is NULL or a handle, `bytes` NULL or a place for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ss_memory_bytes(op: *const OpHandle, bytes: *mut u64) -> c_int {
    guarded(|| {
        // SAFETY: as the caller promises.
        let (op, bytes) = unsafe { (held("op", op)?, Out::of("bytes", bytes)?) };
        let operator = op.operator.read().unwrap_or_else(PoisonError::into_inner);
        bytes.set(with_operator!(&*operator, operator => operator.prepared.memory_bytes()));
        Ok(())
    })
}

/// Frees a prepared matrix, and with it its memory on the device. On a GPU this waits for products that are under way.
///
/// # Safety
/// `op` is NULL or a handle that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ss_op_free(op: *mut OpHandle) {
    // SAFETY: as the caller promises.
    unsafe { free(op) };
}
