//! Arrays in the memory of a GPU.

use super::{Extent, Memory};
use crate::{DeviceError, DeviceSlice, DeviceSliceMut};
use bytemuck::{Pod, cast_slice, cast_slice_mut};
use sparsight_matrix::{Bytes, Infeasible};
use std::marker::PhantomData;
use std::sync::Arc;

/// Memory of a GPU without a type, freed when dropped. None takes no memory and has the address 0.
#[derive(Debug)]
pub(crate) struct DeviceBytes {
    memory: Arc<dyn Memory>,
    address: u64,
    bytes: u64,
}

impl DeviceBytes {
    /// Not initialised.
    pub(crate) fn new(memory: &Arc<dyn Memory>, bytes: u64) -> Result<Self, DeviceError> {
        let address = if bytes == 0 { 0 } else { memory.allocate(bytes)? };
        Ok(Self { memory: Arc::clone(memory), address, bytes })
    }

    /// A copy of `data`.
    pub(crate) fn of(memory: &Arc<dyn Memory>, data: &[u8]) -> Result<Self, DeviceError> {
        let mut new = Self::new(memory, data.len() as u64)?;
        new.write(data)?;
        Ok(new)
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn extent(&self) -> Extent {
        Extent { address: self.address, bytes: self.bytes }
    }

    fn write(&mut self, data: &[u8]) -> Result<(), DeviceError> {
        assert_eq!(data.len() as u64, self.bytes, "as many bytes as there is room for");
        if data.is_empty() {
            return Ok(());
        }
        // SAFETY: so many bytes were allocated.
        unsafe { self.memory.write(self.address, data) }
    }

    pub(crate) fn zero(&mut self) -> Result<(), DeviceError> {
        if self.bytes == 0 {
            return Ok(());
        }
        // SAFETY: so many bytes were allocated.
        unsafe { self.memory.zero(self.address, self.bytes) }
    }

    pub(crate) fn read(&self, data: &mut [u8]) -> Result<(), DeviceError> {
        assert_eq!(data.len() as u64, self.bytes, "as many bytes as there are");
        if data.is_empty() {
            return Ok(());
        }
        // SAFETY: so many bytes were allocated.
        unsafe { self.memory.read(self.address, data) }
    }

    /// All of it as words of 64 bits.
    pub(crate) fn read_words(&self) -> Result<Vec<u64>, DeviceError> {
        let mut words = vec![0_u64; self.bytes as usize / 8];
        self.read(cast_slice_mut(&mut words))?;
        Ok(words)
    }
}

impl Drop for DeviceBytes {
    fn drop(&mut self) {
        if self.address != 0 {
            // SAFETY: allocated in `new`, freed only here.
            unsafe { self.memory.free(self.address) };
        }
    }
}

/// An array on a device, freed when dropped. An empty one takes no memory.
#[derive(Debug)]
pub struct DeviceArray<T> {
    bytes: DeviceBytes,
    element: PhantomData<T>,
}

impl<T: Pod> DeviceArray<T> {
    /// Room for `len` elements, not initialised.
    ///
    /// # Errors
    /// [`Infeasible::DoesNotFit`] if there is not that much memory.
    pub(crate) fn new(memory: &Arc<dyn Memory>, len: usize) -> Result<Self, DeviceError> {
        let need = (len as u64).checked_mul(size_of::<T>() as u64);
        let too_large = || Infeasible::DoesNotFit { need: Bytes(u64::MAX), have: Bytes(0) };
        let bytes = DeviceBytes::new(memory, need.ok_or_else(too_large)?)?;
        Ok(Self { bytes, element: PhantomData })
    }

    /// All bits zero.
    pub(crate) fn zeroed(memory: &Arc<dyn Memory>, len: usize) -> Result<Self, DeviceError> {
        let mut array = Self::new(memory, len)?;
        array.bytes.zero()?;
        Ok(array)
    }

    /// A copy of `data`.
    pub(crate) fn of(memory: &Arc<dyn Memory>, data: &[T]) -> Result<Self, DeviceError> {
        Ok(Self { bytes: DeviceBytes::of(memory, cast_slice(data))?, element: PhantomData })
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.bytes.bytes as usize / size_of::<T>()
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.bytes.bytes == 0
    }

    /// Address, as a kernel's argument and for other libraries; 0 if it is empty.
    pub fn address(&self) -> u64 {
        self.bytes.address
    }

    pub(crate) fn extent(&self) -> Extent {
        self.bytes.extent()
    }

    /// Copies `data` here and waits for it.
    ///
    /// # Errors
    /// [`DeviceError::Driver`].
    ///
    /// # Panics
    /// If `data` has another length.
    pub fn write(&mut self, data: &[T]) -> Result<(), DeviceError> {
        assert_eq!(data.len(), self.len(), "as many elements as the array has");
        self.bytes.write(cast_slice(data))
    }

    /// All of it, to be read by a product.
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        DeviceSlice::new(self.bytes.address, self.len(), Some(self.bytes.memory.id()))
    }

    /// All of it, to be written by a product.
    pub fn as_mut_slice(&mut self) -> DeviceSliceMut<'_, T> {
        DeviceSliceMut::new(self.bytes.address, self.len(), Some(self.bytes.memory.id()))
    }

    /// A copy on the host, after everything that was queued before it in the stream of its own device. For other streams the caller
    /// must wait.
    ///
    /// # Errors
    /// [`DeviceError::Driver`].
    pub fn read(&self) -> Result<Vec<T>, DeviceError> {
        let mut data = Vec::new();
        self.read_into(&mut data)?;
        Ok(data)
    }

    /// Reads into memory that is there already: touching gigabytes of new memory takes longer than the copy.
    ///
    /// # Errors
    /// [`DeviceError::Driver`].
    pub(crate) fn read_into(&self, data: &mut Vec<T>) -> Result<(), DeviceError> {
        data.resize(self.len(), T::zeroed());
        self.read_to(data)
    }

    /// Reads into a slice as long as the array.
    pub(crate) fn read_to(&self, data: &mut [T]) -> Result<(), DeviceError> {
        self.bytes.read(cast_slice_mut(data))
    }
}

impl DeviceArray<f64> {
    /// The first number, after everything that was queued before it in the stream of its own device.
    pub(crate) fn read_number(&self) -> Result<f64, DeviceError> {
        let mut first = [0.0];
        assert!(!self.is_empty(), "there is a first number");
        // SAFETY: so many bytes are there.
        unsafe { self.bytes.memory.read(self.bytes.address, cast_slice_mut(&mut first))? };
        Ok(first[0])
    }
}

/// Refuses a slice that is known to be `of` another device than `memory`.
pub(crate) fn check_device(
    of: Option<usize>,
    vector: &'static str,
    memory: &dyn Memory,
) -> Result<(), DeviceError> {
    match of {
        Some(id) if id != memory.id() => Err(DeviceError::OtherDevice { vector }),
        _ => Ok(()),
    }
}
