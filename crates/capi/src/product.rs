//! A matrix on a device, ready for products.

use crate::arguments::{Out, free, held, on};
use crate::arrays::{self, disjoint};
use crate::device::DeviceHandle;
use crate::error::guarded;
use crate::failure::Failure;
use crate::plan::{OfType, PlanHandle, with_type};
use crate::threads;
use sparsight::advise::Advised;
use sparsight::bindings;
use sparsight::calibrate::OpenDevice;
use sparsight::device::{DeviceError, DeviceSlice, DeviceSliceMut, Stream};
use sparsight::kernels::Epilogue;
use sparsight::matrix::{Csr, Scalar};
use sparsight::run::EpilogueProduct;
use sparsight::{Error, Plan, Prepared};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A matrix on a device, in the format of a candidate, ready for products. Several threads may multiply with it at once.
pub struct OpHandle(pub(crate) OfType<Operator<f32>, Operator<f64>>);

pub(crate) struct Operator<T: Scalar> {
    // Freed before the device is, whose last owner this may be.
    stored: RwLock<Stored<T>>,
    device: Arc<OpenDevice>,
    nrows: usize,
    ncols: usize,
    nnz: usize,
    memory_bytes: u64,
}

/// State that changes with the values.
struct Stored<T: Scalar> {
    prepared: Prepared<T>,
    /// Pattern that gives the places of the values, until they are first replaced. `None` where they stay where CSR has them.
    pattern: Option<Arc<Csr<T>>>,
    /// Set while values queued in a stream of the caller may not have arrived.
    has_queued_values: AtomicBool,
}

impl<T: Scalar> Stored<T> {
    /// Finds out where the values stand, unless that is known.
    fn allow_updates(&mut self) -> Result<(), Failure> {
        if let Some(pattern) = &self.pattern {
            self.prepared.allow_updates(pattern)?;
            self.pattern = None;
        }
        Ok(())
    }
}

impl<T: Scalar> Operator<T> {
    /// # Safety
    /// At `values` there is a `T` for each non-zero, or it is NULL.
    unsafe fn prepare(
        pattern: &Arc<Csr<T>>,
        advised: &Advised,
        device: &Arc<OpenDevice>,
        values: *const c_void,
    ) -> Result<Self, Failure> {
        // SAFETY: as the caller promises.
        let values = unsafe { arrays::read::<T>("values", values.cast(), pattern.nnz())? };
        let a = pattern.with_values(arrays::copied(values)?)?;
        let plan = Plan::whole(a.nrows(), advised.candidate, Some(advised.prediction.time));
        let prepared = plan.prepare(device.of::<T>(), &a)?;
        let memory_bytes = prepared.memory_bytes();
        let is_moved = !advised.candidate.format().stays_in_csr();
        let pattern = is_moved.then(|| Arc::clone(pattern));
        let stored = RwLock::new(Stored { prepared, pattern, has_queued_values: AtomicBool::new(false) });
        let (nrows, ncols, nnz) = (a.nrows(), a.ncols(), a.nnz());
        Ok(Self { stored, device: Arc::clone(device), nrows, ncols, nnz, memory_bytes })
    }

    /// A product with an epilogue, and the device, which it must not outlive.
    pub(crate) fn with_epilogue(
        &self,
        epilogue: &Epilogue,
    ) -> Result<(EpilogueProduct<T>, Arc<OpenDevice>), Failure> {
        let made = self.read().prepared.with_epilogue(epilogue);
        let made = made.map_err(|error| match error {
            // The only text that is compiled for the first time here is the caller's.
            Error::Device(error @ DeviceError::Compile { .. }) => Failure::bad_argument(error.to_string()),
            error => error.into(),
        })?;
        Ok((made, Arc::clone(&self.device)))
    }

    /// Rows and columns.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.nrows, self.ncols)
    }

    fn read(&self) -> RwLockReadGuard<'_, Stored<T>> {
        self.stored.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Stored<T>> {
        self.stored.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Values on the GPU.
    ///
    /// # Safety
    /// At `values` there is a `T` for each non-zero in the memory of the GPU, until what is queued has ended, or it is NULL; `stream` is
    /// one of the GPU's, or NULL.
    unsafe fn queue_values(&self, values: *const c_void, stream: *mut c_void) -> Result<(), Failure> {
        let values = values.cast::<T>();
        arrays::check("values", values, self.nnz)?;
        if let OpenDevice::Processor(_) = *self.device {
            return Err(DeviceError::NoDeviceVectors.into());
        }
        // SAFETY: as the caller promises. NULL is the default stream of CUDA, which always exists.
        let (values, stream) =
            unsafe { (DeviceSlice::from_raw(values.addr() as u64, self.nnz), Stream::from_raw(stream)) };
        let mut stored = self.write();
        stored.allow_updates()?;
        // Also if only a part of it can be queued.
        *stored.has_queued_values.get_mut() = true;
        Ok(stored.prepared.update_values_on_device(values, Some(stream))?)
    }

    /// Values on the host.
    ///
    /// # Safety
    /// At `values` there is a `T` for each non-zero, or it is NULL.
    unsafe fn update(&self, values: *const c_void) -> Result<(), Failure> {
        // SAFETY: as the caller promises.
        let values = unsafe { arrays::read::<T>("values", values.cast(), self.nnz)? };
        let mut stored = self.write();
        // Products may be under way in any stream, and the next one may be queued in another.
        self.device.wait_for_all()?;
        *stored.has_queued_values.get_mut() = false;
        stored.allow_updates()?;
        stored.prepared.update_values(values)?;
        Ok(self.device.wait_for_all()?)
    }

    /// Vectors on the host.
    ///
    /// # Safety
    /// At `x` there is a `T` for each column and at `y` one for each row, not used meanwhile; or they are NULL.
    unsafe fn multiply(
        &self,
        (alpha, beta): (f64, f64),
        x: *const c_void,
        y: *mut c_void,
    ) -> Result<(), Failure> {
        let (x, y) = self.vectors(x, y)?;
        // SAFETY: as the caller promises; they share nothing.
        let (x, y) = unsafe { (arrays::read("x", x, self.ncols)?, arrays::write("y", y, self.nrows)?) };
        let stored = self.read();
        // The stream of the product is another one.
        if stored.has_queued_values.load(Ordering::Relaxed) {
            self.device.wait_for_all()?;
            stored.has_queued_values.store(false, Ordering::Relaxed);
        }
        Ok(stored.prepared.multiply_scaled(alpha, x, beta, y)?)
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
        let (x, y) = self.vectors(x, y)?;
        // SAFETY: as the caller promises. NULL is the default stream of CUDA, which always exists.
        let (x, y, stream) = unsafe {
            (
                DeviceSlice::from_raw(x.addr() as u64, self.ncols),
                DeviceSliceMut::from_raw(y.addr() as u64, self.nrows),
                Stream::from_raw(stream),
            )
        };
        Ok(self.read().prepared.multiply_scaled_on_device(alpha, x, beta, y, Some(stream))?)
    }

    /// The addresses of two vectors that can be such ones, of whatever memory.
    fn vectors(&self, x: *const c_void, y: *mut c_void) -> Result<(*const T, *mut T), Failure> {
        let (x, y) = (x.cast::<T>(), y.cast::<T>());
        arrays::check("x", x, self.ncols)?;
        arrays::check("y", y.cast_const(), self.nrows)?;
        disjoint((x, self.ncols), (y.cast_const(), self.nrows))?;
        Ok((x, y))
    }
}

/// Brings the matrix to a device as candidate `i` of the plan has it: with these values, converted, and with what is launched made
/// and loaded. `values` are in the memory of the host, in the order of `col_idx`, of the type that the plan was made for, and are
/// copied; NaN and infinity are values as others are. Candidates that were never used on this machine are compiled first, which takes
/// some seconds at most and is kept on disk.
///
/// A plan for one GPU may be carried out on any other: its times are then those of another device. The processor has plans of its own,
/// of the profile "cpu": what a GPU likes may take it twice as long as plain CSR.
///
/// `SS_INFEASIBLE` if the candidate does not run there or does not fit in the memory that is free now; `SS_NO_GPU` if the kernel
/// cannot be compiled for want of NVRTC; `SS_DEVICE`; `SS_BAD_ARGUMENT`, also for a GPU's plan on the processor.
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
        threads::begin()?;
        let opened = &device.0;
        if let (true, OpenDevice::Processor(cpu)) = (plan.kind().is_gpu(), opened.as_ref()) {
            return Err(Error::PlannedForGpu { device: cpu.facts().name.clone() }.into());
        }
        // SAFETY: as the caller promises.
        let operator = unsafe {
            match &plan.pattern {
                OfType::F32(pattern) => OfType::F32(Operator::prepare(pattern, advised, opened, values)?),
                OfType::F64(pattern) => OfType::F64(Operator::prepare(pattern, advised, opened, values)?),
            }
        };
        op.give(OpHandle(operator));
        Ok(())
    })
}

/// Replaces all values of the matrix by others in the memory of the GPU, in the order of `col_idx`, of the type that the plan was made
/// for. It is queued in `stream`, as a product is (see `ss_multiply`), and not waited for. The pattern stays and is not looked at
/// again.
///
/// It is a kernel that writes to the matrix, and products are kernels that read it: what was queued before in other streams must have
/// ended, or `stream` must wait for it, and what is queued afterwards stands in `stream` or waits for it. `ss_multiply_host` waits for
/// it by itself, unless it was captured into a CUDA graph: who launches that waits.
///
/// The first call for a matrix in a format that moves values, this or `ss_update_values_host`, finds out where they stand: it takes as
/// long as the conversion did, and as much memory on the device as the stored values take. Until then a copy of the pattern stays in the
/// memory of the host. Only later calls can be captured into a graph.
///
/// `SS_BAD_ARGUMENT`, also for a matrix that was prepared on the processor; `SS_INFEASIBLE` if there is not that memory;
/// `SS_DEVICE`.
///
/// # Safety
/// `op` is NULL or a handle. `values` is NULL, or has as many entries as the matrix has non-zeros, lies in the primary context of the
/// GPU, and stays as it is until what is queued has ended. `stream` is one of that GPU. The order of the streams is as is said above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ss_update_values(
    op: *mut OpHandle,
    values: *const c_void,
    stream: *mut c_void,
) -> c_int {
    // SAFETY: as the caller promises. It is changed behind its lock.
    unsafe {
        on("op", op.cast_const(), |op| with_type!(&op.0, operator => operator.queue_values(values, stream)))
    }
}

/// Replaces all values of the matrix by others in the memory of the host, in the same order and of the same type, on whatever device
/// the matrix was prepared; when this returns, they are there. It waits for everything that this process has queued on the device;
/// products of other threads wait meanwhile.
///
/// `SS_INFEASIBLE` if there is not the memory that the first call takes; `SS_DEVICE`, also while a stream is captured into a graph;
/// `SS_BAD_ARGUMENT`.
///
/// # Safety
/// `op` is NULL or a handle; `values` has as many entries as the matrix has non-zeros, or is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ss_update_values_host(op: *mut OpHandle, values: *const c_void) -> c_int {
    // SAFETY: as the caller promises. It is changed behind its lock.
    unsafe { on("op", op.cast_const(), |op| with_type!(&op.0, operator => operator.update(values))) }
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
/// `cudaMalloc` gives does), are as long as is said above, and stay until the product has ended; x is not written to and y not used
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
    // SAFETY: as the caller promises.
    unsafe { on("op", op, |op| with_type!(&op.0, operator => operator.queue((alpha, beta), x, y, stream))) }
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
/// `op` is NULL or a handle; x and y are NULL or as long as is said above; x is not written to and y not used meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ss_multiply_host(
    op: *const OpHandle,
    alpha: f64,
    x: *const c_void,
    beta: f64,
    y: *mut c_void,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { on("op", op, |op| with_type!(&op.0, operator => operator.multiply((alpha, beta), x, y))) }
}

/// Writes to `bytes` what the matrix takes on its device, in bytes, x and y not counted, and neither what the first
/// `ss_update_values` adds.
///
/// # Safety
/// `op` is NULL or a handle, `bytes` NULL or a place for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ss_memory_bytes(op: *const OpHandle, bytes: *mut u64) -> c_int {
    guarded(|| {
        // SAFETY: as the caller promises.
        let (op, bytes) = unsafe { (held("op", op)?, Out::of("bytes", bytes)?) };
        bytes.set(with_type!(&op.0, operator => operator.memory_bytes));
        Ok(())
    })
}

/// Frees a prepared matrix, and with it its memory on the device. On a GPU this waits for products that are under way.
/// In a forked process it does nothing.
///
/// # Safety
/// `op` is NULL or a handle that is no longer in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ss_op_free(op: *mut OpHandle) {
    // What it has of its parent cannot be given back there.
    if !bindings::is_child() {
        // SAFETY: as the caller promises.
        unsafe { free(op) };
    }
}
