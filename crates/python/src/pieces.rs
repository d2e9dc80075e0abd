//! Vectors of which each GPU has a piece.

use crate::buffers::Value;
use crate::forked;
use crate::typed::{Typed, map_typed, with_typed};
use pyo3::prelude::*;
use sparsight::device::gpu::{DeviceArray, GpuShare};
use sparsight::device::{DeviceError, DeviceSliceMut};
use std::sync::atomic::{AtomicU64, Ordering};

/// Entries on a GPU, of either value type.
pub(crate) type Entries = Typed<DeviceArray<f32>, DeviceArray<f64>>;

/// A value type of which there are pieces.
pub(crate) trait Piecewise: Value {
    fn wrap(array: DeviceArray<Self>) -> Entries;
    /// `None` of the other type.
    fn unwrap(entries: &Entries) -> Option<&DeviceArray<Self>>;
}

impl Piecewise for f32 {
    fn wrap(array: DeviceArray<Self>) -> Entries {
        Entries::F32(array)
    }

    fn unwrap(entries: &Entries) -> Option<&DeviceArray<Self>> {
        if let Entries::F32(array) = entries { Some(array) } else { None }
    }
}

impl Piecewise for f64 {
    fn wrap(array: DeviceArray<Self>) -> Entries {
        Entries::F64(array)
    }

    fn unwrap(entries: &Entries) -> Option<&DeviceArray<Self>> {
        if let Entries::F64(array) = entries { Some(array) } else { None }
    }
}

/// A number for an operator that makes pieces.
pub(crate) fn next_operator() -> u64 {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    NUMBERS.fetch_add(1, Ordering::Relaxed)
}

/// Vector to which a piece belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Whole {
    /// The number of the operator that made it.
    pub(crate) operator: u64,
    /// Rank of the GPU.
    pub(crate) rank: usize,
    /// True if the operator multiplies with such a vector; of a square matrix also if it gives one.
    pub(crate) is_x: bool,
    pub(crate) is_y: bool,
}

impl Whole {
    /// An x, or a y, of an operator whose matrix may be square.
    pub(crate) fn new(operator: u64, rank: usize, is_x: bool, is_square: bool) -> Self {
        Self { operator, rank, is_x: is_x || is_square, is_y: !is_x || is_square }
    }

    /// Entries that its piece on that GPU has room for: an x takes what other GPUs give.
    pub(crate) fn room<T: Piecewise>(&self, share: &GpuShare<T>) -> usize {
        if self.is_x { share.width() } else { share.rows() }
    }
}

/// y = alpha A x + beta y with the pieces of one GPU, waited for. All GPUs do it; the stream in which a piece was written is unknown, so
/// these have to be waited for before.
pub(crate) fn multiply<T: Piecewise>(
    share: &mut GpuShare<T>,
    (alpha, beta): (f64, f64),
    (x, y): (&Piece, &Piece),
) -> Result<(), DeviceError> {
    // SAFETY: the caller does not work on the pieces before this returns, as everywhere in numerical Python; x is no y.
    let (x, y) = unsafe { (x.slice(share.width()), y.slice(share.rows())) };
    share.multiply_slices(alpha, x, beta, y)?;
    share.wait()
}

/// The entries of a vector that one GPU owns, with room behind them for those that other GPUs give. The memory is its own: it is there as
/// long as this is, whatever becomes of the operator.
#[pyclass(frozen, module = "sparsight._core")]
pub(crate) struct Piece {
    /// `None` only while it is dropped.
    entries: Option<Entries>,
    own: usize,
    /// Number of its GPU.
    #[pyo3(get)]
    index: usize,
    pub(crate) whole: Whole,
}

impl Piece {
    /// A piece of the first `own` entries of `array`.
    pub(crate) fn new<T: Piecewise>(array: DeviceArray<T>, own: usize, index: usize, whole: Whole) -> Self {
        Self { entries: Some(T::wrap(array)), own, index, whole }
    }

    /// # Panics
    /// If it is a piece of another operator than the one with these values.
    pub(crate) fn array<T: Piecewise>(&self) -> &DeviceArray<T> {
        self.entries.as_ref().and_then(T::unwrap).expect("pieces have the value type of their operator")
    }

    /// Copies its own entries to the host.
    pub(crate) fn read(&self) -> Result<Typed<Vec<f32>, Vec<f64>>, DeviceError> {
        let entries = self.entries.as_ref().expect("they are there until it is dropped");
        Ok(map_typed!(entries, array => {
            let mut all = array.read()?;
            all.truncate(self.own);
            all
        }))
    }

    /// The first `len` entries, for a product.
    ///
    /// # Safety
    /// No other thread reads or writes them meanwhile.
    pub(crate) unsafe fn slice<T: Piecewise>(&self, len: usize) -> DeviceSliceMut<'_, T> {
        let array = self.array::<T>();
        assert!(len <= array.len(), "a piece has room for what its operator multiplies with");
        // SAFETY: so many are there, on the GPU of the rank, as long as this is; else as the caller promises.
        unsafe { DeviceSliceMut::from_raw(array.address(), len) }
    }
}

/// Waits for all readers before the memory is given back: other threads go on meanwhile.
impl Drop for Piece {
    fn drop(&mut self) {
        forked::give_back(self.entries.take());
    }
}

#[pymethods]
impl Piece {
    /// Address, 0 if it has no entries.
    #[getter]
    fn address(&self) -> u64 {
        let address = |entries: &Entries| with_typed!(entries, array => array.address());
        self.entries.as_ref().filter(|_| self.own > 0).map_or(0, address)
    }

    /// Number of own entries.
    fn __len__(&self) -> usize {
        self.own
    }

    /// "f32" or "f64"
    #[getter]
    fn dtype(&self) -> Option<String> {
        Some(self.entries.as_ref()?.dtype().to_string())
    }
}
