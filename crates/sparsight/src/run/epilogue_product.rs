//! Products with an epilogue.

use super::shared_product::SharedProduct;
use crate::Error;
use sparsight_device::timing::{Batch, Caches};
use sparsight_device::{
    DeviceOperands, DeviceSlice, DeviceSliceMut, EpilogueVectors, HostOperands, LoadedEpilogue, Stream,
};
use sparsight_kernels::Epilogue;
use sparsight_matrix::Scalar;

/// A [`Prepared`](super::Prepared) matrix with an [`Epilogue`]: `y_i` and further outputs by its lines, from the sums of A x, and dot products.
///
/// The same product gives the same y and dot products bit by bit on every run, if that of its candidate does. After the first product
/// of a kind nothing is allocated. Several threads may multiply; products in several streams follow each other where they share
/// memory. One with vectors on a GPU can be captured into a CUDA graph; two graphs that hold the same one, with dot products or [behind
/// its product](EpilogueProduct::is_in_launch), must not run at the same time.
///
/// ```
/// use sparsight::device::{HostOperands, cpu::Cpu};
/// use sparsight::{Plan, kernels::Epilogue, matrix::gallery::Recipe};
/// let a = "stencil2d,n=30".parse::<Recipe>()?.generate::<f64>()?;
/// let plan = Plan::whole(a.nrows(), "csr-scalar/b256/f64".parse()?, None);
/// let prepared = plan.prepare(&Cpu::new(), &a)?;
/// // y = b - A x, and the square of its norm.
/// let epilogue = Epilogue::try_new("b[i] - s", &["b"], &[])?.with_dot("y", "y")?;
/// let residual = prepared.with_epilogue(&epilogue)?;
/// let (x, b, mut y) = (vec![0.0; a.ncols()], vec![2.0; a.nrows()], vec![0.0; a.nrows()]);
/// let mut dots = [0.0];
/// residual.multiply(&x, &mut y, HostOperands { vectors: &[&b], ..HostOperands::none() }, &mut dots)?;
/// assert_eq!((y, dots), (b, [4.0 * 900.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct EpilogueProduct<T: Scalar> {
    product: SharedProduct<T>,
    loaded: Box<dyn LoadedEpilogue<T>>,
}

impl<T: Scalar> EpilogueProduct<T> {
    pub(super) fn new(product: SharedProduct<T>, loaded: Box<dyn LoadedEpilogue<T>>) -> Self {
        Self { product, loaded }
    }

    /// The epilogue.
    pub fn epilogue(&self) -> &Epilogue {
        self.loaded.epilogue()
    }

    /// Returns whether everything is done in the launches of the product; otherwise a launch behind it reads the sums, and writes y.
    pub fn is_in_launch(&self) -> bool {
        self.loaded.is_in_launch()
    }

    /// The product with all vectors on the host; `dots` becomes the dot products, of which it must have room for as many as there are. y
    /// may hold anything unless a line names it.
    ///
    /// # Errors
    /// [`Error::Device`] if a vector or list has not the length that it must have, or of a failed call.
    pub fn multiply(
        &self,
        x: &[T],
        y: &mut [T],
        operands: HostOperands<'_, '_, T>,
        dots: &mut [f64],
    ) -> Result<(), Error> {
        Ok(self.loaded.multiply(self.product.read().as_ref(), x, y, operands, dots)?)
    }

    /// The product with all vectors on the GPU; it is queued in `stream`, `None` for the device's own, and not waited for. `dots`: room for the dot
    /// products, `None` without any; a later product takes them from there as [`DeviceScalar::At`](sparsight_device::DeviceScalar::At).
    ///
    /// # Errors
    /// As [`EpilogueProduct::multiply`]; [`DeviceError::NoDeviceVectors`](sparsight_device::DeviceError::NoDeviceVectors) on a
    /// CPU; [`DeviceError::OtherDevice`](sparsight_device::DeviceError::OtherDevice) for vectors of another GPU.
    pub fn multiply_on_device(
        &self,
        x: DeviceSlice<'_, T>,
        y: DeviceSliceMut<'_, T>,
        operands: DeviceOperands<'_, T>,
        dots: Option<DeviceSliceMut<'_, f64>>,
        stream: Option<Stream<'_>>,
    ) -> Result<(), Error> {
        let vectors = EpilogueVectors { x, y, operands, dots, stream };
        Ok(self.loaded.multiply_on_device(self.product.read().as_ref(), vectors)?)
    }

    /// Time of `products` products with random vectors, back to back, measured on the device.
    ///
    /// # Errors
    /// [`Error::Device`] if they cannot be launched or timed.
    pub fn batch(&self, products: u32, caches: Caches) -> Result<Batch, Error> {
        Ok(self.loaded.batch(self.product.read().as_ref(), products, caches)?)
    }
}
