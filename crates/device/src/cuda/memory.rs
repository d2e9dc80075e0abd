//! Memory: arrays on the device, and words of host memory that the device can see.

use super::context::{Context, named};
use crate::DeviceError;
use cudarc::driver::{result, sys};
use sparsight_matrix::{Bytes, Infeasible, Scalar};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// An array on the device, freed when dropped. An empty one takes no memory.
#[derive(Debug)]
pub struct DeviceArray<T> {
    context: Arc<Context>,
    address: sys::CUdeviceptr,
    len: usize,
    element: PhantomData<T>,
}

impl<T: Copy> DeviceArray<T> {
    /// Room for `len` elements, not initialised.
    ///
    /// # Errors
    /// [`Infeasible::DoesNotFit`] if there is not that much memory.
    pub(super) fn new(context: &Arc<Context>, len: usize) -> Result<Self, DeviceError> {
        context.bind()?;
        let bytes = len as u128 * size_of::<T>() as u128;
        let too_large = |have: u64| {
            let need = Bytes(u64::try_from(bytes).unwrap_or(u64::MAX));
            DeviceError::Infeasible(Infeasible::DoesNotFit { need, have: Bytes(have) })
        };
        let address = if bytes == 0 {
            0
        } else {
            let count = usize::try_from(bytes).map_err(|_| too_large(0))?;
            // SAFETY: the memory is freed in `drop`; whoever reads it has written it before.
            let allocated = unsafe { result::malloc_sync(count) };
            if allocated.is_err_and(|e| e.0 == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY) {
                return Err(too_large(context.memory().map_or(0, |(free, _)| free)));
            }
            named("cuMemAlloc", allocated)?
        };
        Ok(Self { context: Arc::clone(context), address, len, element: PhantomData })
    }

    /// All bits zero.
    pub(super) fn zeroed(context: &Arc<Context>, len: usize) -> Result<Self, DeviceError> {
        let array = Self::new(context, len)?;
        if len > 0 {
            // SAFETY: the array is that long; the stream is the context's.
            let set = unsafe { result::memset_d8_async(array.address, 0, array.bytes(), context.stream()) };
            named("cuMemsetD8Async", set)?;
            context.synchronize()?;
        }
        Ok(array)
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where it lies, as a kernel's argument; 0 if it is empty.
    pub(super) fn address(&self) -> u64 {
        self.address
    }

    /// Where it was allocated.
    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub(super) fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }
}

impl<T: Copy> DeviceArray<T> {
    /// A copy of `data`.
    pub(super) fn of(context: &Arc<Context>, data: &[T]) -> Result<Self, DeviceError> {
        let mut array = Self::new(context, data.len())?;
        array.write(data)?;
        Ok(array)
    }

    /// Copies `data` here and waits for it.
    ///
    /// # Errors
    /// [`DeviceError::Driver`].
    ///
    /// # Panics
    /// If `data` has another length.
    pub fn write(&mut self, data: &[T]) -> Result<(), DeviceError> {
        assert_eq!(data.len(), self.len, "as many elements as the array has");
        if data.is_empty() {
            return Ok(());
        }
        // SAFETY: elements are numbers without padding, so that all their bytes are initialised.
        let bytes = unsafe { std::slice::from_raw_parts(data.as_ptr().cast::<u8>(), size_of_val(data)) };
        // SAFETY: the array is as long as `data`.
        unsafe { self.context.upload(self.address, bytes) }
    }
}

impl<T: Scalar> DeviceArray<T> {
    /// A copy on the host, after everything queued before it.
    ///
    /// # Errors
    /// [`DeviceError::Driver`].
    pub fn read(&self) -> Result<Vec<T>, DeviceError> {
        let mut data = Vec::new();
        self.read_into(&mut data)?;
        Ok(data)
    }

    /// The same into memory that is there already: touching gigabytes of new memory takes longer than the copy.
    ///
    /// # Errors
    /// [`DeviceError::Driver`].
    pub(super) fn read_into(&self, data: &mut Vec<T>) -> Result<(), DeviceError> {
        // SAFETY: every bit pattern is a float.
        unsafe { self.read_bits(data) }
    }

    /// The same into a slice as long as the array.
    pub(super) fn read_to(&self, data: &mut [T]) -> Result<(), DeviceError> {
        // SAFETY: every bit pattern is a float.
        unsafe { self.read_bits_to(data) }
    }
}

impl DeviceArray<u64> {
    /// A copy on the host, after everything queued before it.
    pub(super) fn to_host(&self) -> Result<Vec<u64>, DeviceError> {
        let mut data = Vec::new();
        // SAFETY: every bit pattern is a number.
        unsafe { self.read_bits(&mut data) }?;
        Ok(data)
    }
}

impl<T: Copy + Default> DeviceArray<T> {
    /// Copies what is here to `data`.
    ///
    /// # Safety
    /// Every bit pattern must be a `T`.
    unsafe fn read_bits(&self, data: &mut Vec<T>) -> Result<(), DeviceError> {
        data.resize(self.len, T::default());
        // SAFETY: the caller vouches for the bits.
        unsafe { self.read_bits_to(data) }
    }

    /// The same into a slice as long as the array.
    ///
    /// # Safety
    /// As above.
    unsafe fn read_bits_to(&self, data: &mut [T]) -> Result<(), DeviceError> {
        assert_eq!(data.len(), self.len, "as many elements as the array has");
        self.context.bind()?;
        if !data.is_empty() {
            // SAFETY: as long as `data`, which stays borrowed until the copy is done; the caller vouches for the bits.
            let copied = unsafe { result::memcpy_dtoh_async(data, self.address, self.context.stream()) };
            // Waited for even after a failure: part of the copy may be under way.
            let waited = self.context.synchronize();
            named("cuMemcpyDtoHAsync", copied)?;
            waited?;
        }
        Ok(())
    }
}

impl<T> Drop for DeviceArray<T> {
    fn drop(&mut self) {
        if self.address != 0 && self.context.bind().is_ok() {
            // SAFETY: allocated in `new`, freed only here. The driver waits for kernels that may use it.
            let _ = unsafe { result::free_sync(self.address) };
        }
    }
}

/// A 32-bit word of pinned host memory that kernels read and write, 0 at first.
#[derive(Debug)]
pub(super) struct SharedWord {
    context: Arc<Context>,
    host: *mut u32,
    device: sys::CUdeviceptr,
}

// SAFETY: the word is only touched atomically; the pointer is owned by this struct.
unsafe impl Send for SharedWord {}

impl SharedWord {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, DeviceError> {
        context.bind()?;
        // SAFETY: 4 bytes, initialised below before anybody reads them, freed in `drop`.
        let host = unsafe { result::malloc_host(size_of::<u32>(), sys::CU_MEMHOSTALLOC_DEVICEMAP) };
        let host = named("cuMemHostAlloc", host)?.cast::<u32>();
        let mut word = Self { context: Arc::clone(context), host, device: 0 };
        word.set(0);
        // SAFETY: `host` was allocated with the flag that maps it for the device.
        let mapped = unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut word.device, host.cast(), 0) };
        named("cuMemHostGetDevicePointer", mapped.result())?;
        Ok(word)
    }

    fn atomic(&self) -> &AtomicU32 {
        // SAFETY: page-aligned, alive as long as `self`, and only ever touched as an atomic on this side.
        unsafe { AtomicU32::from_ptr(self.host) }
    }

    pub(super) fn set(&self, value: u32) {
        self.atomic().store(value, Ordering::SeqCst);
    }

    pub(super) fn get(&self) -> u32 {
        self.atomic().load(Ordering::SeqCst)
    }

    /// Where the device sees it.
    pub(super) fn address(&self) -> u64 {
        self.device
    }
}

impl Drop for SharedWord {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: allocated in `new`, freed only here; no kernel that uses it is queued any more.
            let _ = unsafe { result::free_host(self.host.cast()) };
        }
    }
}
