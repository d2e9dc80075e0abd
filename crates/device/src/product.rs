//! A matrix ready to be multiplied with again and again, as a solver does it.

use crate::timing::{Batch, Caches};
use crate::{DeviceError, DeviceOperands, DeviceSlice, DeviceSliceMut, HostOperands, Preparation, Stream};
use sparsight_kernels::Epilogue;
use sparsight_matrix::{Csr, Format, Reference, Scalar};

/// Vectors of a product y = alpha A x + beta y on a device, and where it is queued.
#[derive(Debug)]
pub struct DeviceVectors<'a, T> {
    /// Factor of A x.
    pub alpha: f64,
    /// An entry a column.
    pub x: DeviceSlice<'a, T>,
    /// Factor of y as it was.
    pub beta: f64,
    /// An entry a row.
    pub y: DeviceSliceMut<'a, T>,
    /// Stream, the device's own for `None`.
    pub stream: Option<Stream<'a>>,
}

/// Vectors of a product with an epilogue on a device, and where it is queued.
#[derive(Debug)]
pub struct EpilogueVectors<'a, T> {
    /// An entry a column.
    pub x: DeviceSlice<'a, T>,
    /// An entry a row.
    pub y: DeviceSliceMut<'a, T>,
    /// Vectors, outputs and scalars of the epilogue.
    pub operands: DeviceOperands<'a, T>,
    /// Room for the dot products; `None` if there are none.
    pub dots: Option<DeviceSliceMut<'a, f64>>,
    /// Stream, the device's own for `None`.
    pub stream: Option<Stream<'a>>,
}

/// y = alpha A x + beta y with the row blocks of a [`Partition`](crate::Partition), each in its format.
///
/// With `beta = 0`, y is not read: it may hold anything. After the first product of a kind, products allocate
/// nothing: neither on the device nor, but for what the thread pool keeps for itself, on the host.
///
/// It keeps what it needs of the device, and several threads may multiply with it; where its kernels forbid two products at
/// once, they follow each other.
pub trait Product<T: Scalar>: Send + Sync {
    /// Seconds spent converting the parts from CSR, with the vendor's library's look at the matrix, and bringing them to
    /// the device. Kernels that had to be compiled are not counted.
    fn preparation(&self) -> Preparation;

    /// Bytes of the matrix on the device, x and y not counted.
    fn memory_bytes(&self) -> u64;

    /// The product with x and y on the host; on return, y is computed. A GPU is sent x (and y, unless `beta` is 0),
    /// and sends y back.
    ///
    /// # Errors
    /// [`DeviceError::Length`] if x has not one entry a column or y not one a row; a failed call.
    fn multiply(&self, alpha: f64, x: &[T], beta: f64, y: &mut [T]) -> Result<(), DeviceError>;

    /// The product with x and y on the device, queued there; it does not wait.
    ///
    /// # Errors
    /// As [`Product::multiply`]; [`DeviceError::NoDeviceVectors`] if the device works in the host's memory,
    /// [`DeviceError::OtherDevice`] if a vector is known to lie elsewhere.
    fn multiply_on_device(&self, _vectors: DeviceVectors<'_, T>) -> Result<(), DeviceError> {
        Err(DeviceError::NoDeviceVectors)
    }

    /// Finds the places of the values of `a`, the matrix that was prepared, so that [`Product::update_values`] can replace
    /// them: `a` is converted once more, and as much memory as its stored values take is kept. Nothing to do, and nothing kept,
    /// for the parts whose entries stay where CSR has them.
    ///
    /// # Errors
    /// [`DeviceError::OtherPattern`] if `a` is seen to have another pattern; [`DeviceError::Infeasible`] if there is not the
    /// memory.
    fn allow_updates(&mut self, a: &Csr<T>) -> Result<(), DeviceError>;

    /// Replaces all values, in the order of CSR, and waits for it. The pattern is not looked at again. Products queued in other
    /// streams than the device's own must have ended.
    ///
    /// # Errors
    /// [`DeviceError::PlacesUnknown`] before [`Product::allow_updates`], but for parts whose entries stay where CSR has them;
    /// [`DeviceError::Length`] if there is not a value for each non-zero; a failed call.
    fn update_values(&mut self, values: &[T]) -> Result<(), DeviceError>;

    /// Replaces the values by an array on the device, queued in `stream`, else in the device's own, and not waited for.
    /// Work queued in other streams, the device's own too, must have ended before. Until this has ended, products may only be
    /// queued in the same stream, and the values must stay as they are.
    ///
    /// # Errors
    /// As [`Product::update_values`]; [`DeviceError::NoDeviceVectors`], [`DeviceError::OtherDevice`].
    fn update_values_on_device(
        &mut self,
        _values: DeviceSlice<'_, T>,
        _stream: Option<Stream<'_>>,
    ) -> Result<(), DeviceError> {
        Err(DeviceError::NoDeviceVectors)
    }

    /// Runs `products` products y = A x back to back, with a random x, and gives the time of all of them together,
    /// measured on the device: what [`measure`](crate::timing::measure) asks for.
    ///
    /// # Errors
    /// [`DeviceError`] if they cannot be launched or timed.
    fn batch(&self, products: u32, caches: Caches) -> Result<Batch, DeviceError>;

    /// Compiles an epilogue for products of this matrix, and allocates what they need beside their operands.
    ///
    /// # Errors
    /// [`DeviceError::Epilogue`] for a line that this device does not compute, [`DeviceError::Compile`] with the compiler's log for one
    /// that is wrong; [`DeviceError::Length`] if it reads entries of x by the number of the row and the matrix is not square;
    /// [`DeviceError::Infeasible`] if there is not the memory.
    fn load_epilogue(&self, epilogue: &Epilogue) -> Result<Box<dyn LoadedEpilogue<T>>, DeviceError>;

    /// Number of what was prepared, if an epilogue may be loaded for this alone.
    fn identity(&self) -> Option<usize> {
        None
    }
}

/// An epilogue that was [loaded](Product::load_epilogue) for a matrix: `y_i` and outputs by its lines, from the sums of A x.
///
/// It holds no matrix: each product is given the one that it was loaded for, whose values may be replaced in between.
pub trait LoadedEpilogue<T: Scalar>: Send + Sync {
    /// The epilogue.
    fn epilogue(&self) -> &Epilogue;

    /// Returns whether everything is done in the launches of the product; otherwise another launch follows it.
    fn is_in_launch(&self) -> bool;

    /// The product with all vectors on the host; on return, y, outputs and `dots` are computed. y is read only if a line names it.
    ///
    /// # Errors
    /// [`DeviceError::Length`] if a vector or list has not the length that it must have; [`DeviceError::OtherEpilogue`] if it was loaded
    /// for another product; a failed call.
    fn multiply(
        &self,
        product: &dyn Product<T>,
        x: &[T],
        y: &mut [T],
        operands: HostOperands<'_, '_, T>,
        dots: &mut [f64],
    ) -> Result<(), DeviceError>;

    /// The product with all vectors on the device, queued there; it does not wait.
    ///
    /// # Errors
    /// As [`LoadedEpilogue::multiply`]; [`DeviceError::NoDeviceVectors`], [`DeviceError::OtherDevice`].
    fn multiply_on_device(
        &self,
        _product: &dyn Product<T>,
        _vectors: EpilogueVectors<'_, T>,
    ) -> Result<(), DeviceError> {
        Err(DeviceError::NoDeviceVectors)
    }

    /// Time of `products` products with random vectors, as [`Product::batch`] gives it.
    ///
    /// # Errors
    /// As [`LoadedEpilogue::multiply`].
    fn batch(&self, product: &dyn Product<T>, products: u32, caches: Caches) -> Result<Batch, DeviceError>;
}

/// Compares a product with `expected`, the right A x, before its time is trusted; errors call it `name`.
///
/// # Errors
/// [`DeviceError::WrongResult`] with the first wrong row, or the failure of the run.
pub fn check_product<T: Scalar>(
    product: &dyn Product<T>,
    name: &str,
    x: &[T],
    expected: &Reference,
) -> Result<(), DeviceError> {
    let mut y = vec![T::from_f64(f64::NAN); expected.y.len()];
    product.multiply(1.0, x, 0.0, &mut y)?;
    crate::check::first_wrong(expected, &y, || name.to_owned())
}

/// Places of the values of a prepared matrix, so that new ones can replace them. `N` holds the number of the entry at each place of
/// its arrays of values, see [`numbered`](sparsight_matrix::numbered).
#[derive(Debug)]
pub(crate) enum ValuePlaces<N> {
    /// Entry i stands at place i.
    AsInCsr,
    /// Entry numbers, one at each place.
    Numbers(N),
    /// Not known yet.
    Unknown,
}

impl<N> ValuePlaces<N> {
    /// The places that follow from the format alone.
    pub(crate) fn of(format: Format) -> Self {
        if format.stays_in_csr() { Self::AsInCsr } else { Self::Unknown }
    }

    /// The places by `find`, unless they follow from the format.
    ///
    /// # Errors
    /// That of `find`.
    pub(crate) fn found(
        format: Format,
        find: impl FnOnce() -> Result<N, DeviceError>,
    ) -> Result<Self, DeviceError> {
        if format.stays_in_csr() { Ok(Self::AsInCsr) } else { Ok(Self::Numbers(find()?)) }
    }

    /// The numbers, `None` where entry i stands at place i.
    ///
    /// # Errors
    /// [`DeviceError::PlacesUnknown`].
    pub(crate) fn numbers(&self, format: Format) -> Result<Option<&N>, DeviceError> {
        match self {
            Self::AsInCsr => Ok(None),
            Self::Numbers(numbers) => Ok(Some(numbers)),
            Self::Unknown => Err(DeviceError::PlacesUnknown { format: format.to_string() }),
        }
    }
}
