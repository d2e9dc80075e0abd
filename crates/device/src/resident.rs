//! Vectors, matrices and streams that are on a device already: of another library or another language.

use std::ffi::c_void;
use std::marker::PhantomData;

/// Entries on a GPU that a product reads: of a [`DeviceArray`](crate::gpu::DeviceArray), or memory of another owner.
#[derive(Debug, Clone, Copy)]
pub struct DeviceSlice<'a, T> {
    pub(crate) address: u64,
    len: usize,
    /// Number of the device, if it is known.
    pub(crate) of: Option<usize>,
    borrowed: PhantomData<&'a T>,
}

/// Entries on a GPU that a product writes.
#[derive(Debug)]
pub struct DeviceSliceMut<'a, T> {
    pub(crate) address: u64,
    len: usize,
    pub(crate) of: Option<usize>,
    borrowed: PhantomData<&'a mut T>,
}

impl<T> DeviceSlice<'_, T> {
    /// Wraps `len` entries at `address` that another library or language has allocated.
    ///
    /// # Safety
    /// They lie in the memory of the GPU with which they are used, in its primary context, aligned for `T`; they live as long
    /// as this and every product that was queued with it, and are not written to meanwhile.
    pub unsafe fn from_raw(address: u64, len: usize) -> Self {
        Self::new(address, len, None)
    }
}

impl<T> DeviceSliceMut<'_, T> {
    /// Wraps entries as [`DeviceSlice::from_raw`] does, to be written.
    ///
    /// # Safety
    /// As there; and they are not read before the product has ended.
    pub unsafe fn from_raw(address: u64, len: usize) -> Self {
        Self::new(address, len, None)
    }
}

macro_rules! length {
    ($($slice:ident),*) => { $(
        impl<T> $slice<'_, T> {
            pub(crate) fn new(address: u64, len: usize, of: Option<usize>) -> Self {
                Self { address, len, of, borrowed: PhantomData }
            }

            /// Number of entries.
            pub fn len(&self) -> usize {
                self.len
            }

            /// Returns whether there are no entries.
            pub fn is_empty(&self) -> bool {
                self.len == 0
            }
        }
    )* };
}

length!(DeviceSlice, DeviceSliceMut);

/// A matrix in CSR on a GPU, in memory of another owner. It is read while a product is prepared, and no longer.
///
/// Everything that writes to it must have ended before: preparing a product does not wait for other streams.
#[derive(Debug, Clone, Copy)]
pub struct DeviceCsr<'a, T> {
    /// Rows.
    pub nrows: usize,
    /// Columns.
    pub ncols: usize,
    /// `nrows + 1` offsets into the entries.
    pub row_ptr: DeviceIndices<'a>,
    /// The column of every entry, row by row, increasing within a row.
    pub col_idx: DeviceIndices<'a>,
    /// The value of every entry.
    pub values: DeviceSlice<'a, T>,
}

/// Indices on a GPU. Signed ones are given as unsigned ones: none is negative.
#[derive(Debug, Clone, Copy)]
pub enum DeviceIndices<'a> {
    /// Indices of 32 bits.
    U32(DeviceSlice<'a, u32>),
    /// Indices of 64 bits.
    U64(DeviceSlice<'a, u64>),
}

impl DeviceIndices<'_> {
    /// Number of indices.
    pub fn len(&self) -> usize {
        match self {
            Self::U32(slice) => slice.len(),
            Self::U64(slice) => slice.len(),
        }
    }

    /// Returns whether there are no indices.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A stream of a GPU: what is queued in it runs in the order of queueing.
#[derive(Debug, Clone, Copy)]
pub struct Stream<'d> {
    raw: *mut c_void,
    device: PhantomData<&'d ()>,
}

// SAFETY: a handle that the driver takes from any thread.
unsafe impl Send for Stream<'_> {}
// SAFETY: nothing is changed through a shared reference.
unsafe impl Sync for Stream<'_> {}

impl Stream<'_> {
    /// Wraps the stream of another owner: `handle` is its `CUstream` (the runtime's `cudaStream_t` is the same), null for the
    /// default stream.
    ///
    /// # Safety
    /// It must be a stream of the primary context of the device with which it is used, and must not be destroyed while
    /// this lives.
    pub unsafe fn from_raw(handle: *mut c_void) -> Self {
        Self { raw: handle, device: PhantomData }
    }

    /// The handle, to be given to other libraries.
    pub fn as_raw(self) -> *mut c_void {
        self.raw
    }
}
