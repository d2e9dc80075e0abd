//! A matrix on a device as planned, ready for products.

use super::EpilogueProduct;
use super::shared_product::SharedProduct;
use crate::Error;
use sparsight_device::timing::{Batch, Caches};
use sparsight_device::{
    Device, DeviceSlice, DeviceSliceMut, DeviceVectors, LoadRequest, Preparation, Product, Stream,
};
use sparsight_kernels::Epilogue;
use sparsight_matrix::{Csr, Scalar};

/// A matrix that was [prepared](crate::Plan::prepare) on a device.
///
/// Products allocate nothing once each kind of product in use has been computed a first time: the launches are made when
/// the matrix is prepared, and later only told other vectors and factors. It keeps what it needs of the device, and several
/// threads may multiply with it.
///
/// ```
/// use sparsight::{Plan, device::cpu::Cpu, matrix::gallery::Recipe};
/// let a = "stencil2d,n=30".parse::<Recipe>()?.generate::<f64>()?;
/// let cpu = Cpu::new();
/// let plan = Plan::whole(a.nrows(), "csr-scalar/b256/f64".parse()?, None);
/// let prepared = plan.prepare(&cpu, &a)?;
/// let (x, mut y) = (vec![1.0; a.ncols()], vec![f64::NAN; a.nrows()]);
/// prepared.multiply(&x, &mut y)?;
/// // y - A x
/// prepared.multiply_scaled(-1.0, &x, 1.0, &mut y)?;
/// assert!(y.iter().all(|&y| y == 0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Prepared<T: Scalar> {
    product: SharedProduct<T>,
}

impl<T: Scalar> Prepared<T> {
    pub(super) fn new(product: Box<dyn Product<T>>) -> Self {
        Self { product: SharedProduct::of(product) }
    }

    /// The identity matrix of so many rows on a device: y = x, in no memory. With an [epilogue](Prepared::with_epilogue), whose `s` is then
    /// `x_i`, its product is what a solver does with vectors between two others: several vectors and dot products in one launch.
    ///
    /// ```
    /// use sparsight::{Prepared, device::{HostOperands, cpu::Cpu}, kernels::Epilogue};
    /// // r = r - alpha q and x = x + alpha p, with the square of the new r's norm: an iteration of CG behind its product q = A p.
    /// let step = Epilogue::try_new("y[i] - alpha * s", &["p"], &["alpha"])?
    ///     .with_output("x0", "x0[i] + alpha * p[i]")?
    ///     .with_dot("y", "y")?;
    /// let update = Prepared::identity(&Cpu::new(), 3)?.with_epilogue(&step)?;
    /// let (q, p, mut r, mut x) = ([1.0, 2.0, 3.0], [1.0, 1.0, 1.0], [4.0, 4.0, 6.0], [0.0; 3]);
    /// let mut norm = [0.0];
    /// let operands = HostOperands { vectors: &[&p[..]], outputs: &mut [&mut x[..]], scalars: &[2.0] };
    /// update.multiply(&q, &mut r, operands, &mut norm)?;
    /// assert_eq!((r, x, norm), ([2.0, 0.0, 0.0], [2.0; 3], [4.0]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Device`] if its kernels cannot be loaded.
    pub fn identity(device: &dyn Device<T>, rows: usize) -> Result<Self, Error> {
        Ok(Self::new(device.load(LoadRequest::Identity { rows })?))
    }

    /// Time to convert and upload the matrix, without compiling kernels.
    pub fn preparation(&self) -> Preparation {
        self.product.read().preparation()
    }

    /// Bytes of the matrix on the device, x and y not counted.
    pub fn memory_bytes(&self) -> u64 {
        self.product.read().memory_bytes()
    }

    /// y = A x, vectors on the host; y may hold anything.
    ///
    /// # Errors
    /// [`Error::Device`] if a vector has the wrong length, or of a failed call.
    pub fn multiply(&self, x: &[T], y: &mut [T]) -> Result<(), Error> {
        self.multiply_scaled(1.0, x, 0.0, y)
    }

    /// y = alpha A x + beta y, vectors on the host; with `beta = 0`, y may hold anything.
    ///
    /// # Errors
    /// As [`Prepared::multiply`].
    pub fn multiply_scaled(&self, alpha: f64, x: &[T], beta: f64, y: &mut [T]) -> Result<(), Error> {
        Ok(self.product.read().multiply(alpha, x, beta, y)?)
    }

    /// y = A x, vectors on the GPU; it is queued in `stream`, `None` for the device's own, and not waited for. A raw handle
    /// becomes a stream by [`Stream::from_raw`]. No other stream is waited for: what fills x and reads y has to stand
    /// in the same.
    ///
    /// # Errors
    /// As [`Prepared::multiply`]; [`DeviceError::NoDeviceVectors`](sparsight_device::DeviceError::NoDeviceVectors) on a
    /// CPU; [`DeviceError::OtherDevice`](sparsight_device::DeviceError::OtherDevice) for vectors of another GPU.
    pub fn multiply_on_device(
        &self,
        x: DeviceSlice<'_, T>,
        y: DeviceSliceMut<'_, T>,
        stream: Option<Stream<'_>>,
    ) -> Result<(), Error> {
        self.multiply_scaled_on_device(1.0, x, 0.0, y, stream)
    }

    /// y = alpha A x + beta y, vectors on the GPU, likewise.
    ///
    /// # Errors
    /// As [`Prepared::multiply_on_device`].
    pub fn multiply_scaled_on_device(
        &self,
        alpha: f64,
        x: DeviceSlice<'_, T>,
        beta: f64,
        y: DeviceSliceMut<'_, T>,
        stream: Option<Stream<'_>>,
    ) -> Result<(), Error> {
        Ok(self.product.read().multiply_on_device(DeviceVectors { alpha, x, beta, y, stream })?)
    }

    /// Compiles an epilogue for this matrix: what is done with the sum of each row where it would be stored, and dot products in the
    /// same launch where the candidate allows it. The product with it stands beside this one, and sees values that are replaced here.
    ///
    /// # Errors
    /// [`Error::Device`]: [`DeviceError::Epilogue`](sparsight_device::DeviceError::Epilogue) for a line that a processor does not
    /// compute, [`DeviceError::Compile`](sparsight_device::DeviceError::Compile) with the compiler's log for one that is wrong,
    /// [`DeviceError::Length`](sparsight_device::DeviceError::Length) if it names x and the matrix is not square,
    /// [`DeviceError::Infeasible`](sparsight_device::DeviceError::Infeasible) if there is not the memory.
    pub fn with_epilogue(&self, epilogue: &Epilogue) -> Result<EpilogueProduct<T>, Error> {
        let loaded = self.product.read().load_epilogue(epilogue)?;
        Ok(EpilogueProduct::new(self.product.clone(), loaded))
    }

    /// Finds out where the values of `a`, the matrix that was prepared, stand, so that
    /// [`update_values`](Prepared::update_values) may replace them. `a` is converted once more, and as much memory as its stored
    /// values take is kept; in CSR and what stays in it there is nothing to find out.
    ///
    /// # Errors
    /// [`Error::Device`]: [`DeviceError::OtherPattern`](sparsight_device::DeviceError::OtherPattern) if `a` is seen to have
    /// another pattern, [`DeviceError::Infeasible`](sparsight_device::DeviceError::Infeasible) if there is not the memory.
    pub fn allow_updates(&mut self, a: &Csr<T>) -> Result<(), Error> {
        Ok(self.product.write().allow_updates(a)?)
    }

    /// Replaces all values, in the order of [`Csr::values`]: the same pattern, which is not looked at again. Products queued in
    /// other streams than the device's own must have ended.
    ///
    /// ```
    /// # use sparsight::{Plan, device::cpu::Cpu, matrix::gallery::Recipe};
    /// # let a = "stencil2d,n=30".parse::<Recipe>()?.generate::<f64>()?;
    /// # let plan = Plan::whole(a.nrows(), "ell/b256/f64".parse()?, None);
    /// let mut prepared = plan.prepare(&Cpu::new(), &a)?;
    /// prepared.allow_updates(&a)?;
    /// let doubled: Vec<f64> = a.values().iter().map(|value| 2.0 * value).collect();
    /// prepared.update_values(&doubled)?;
    /// # let (x, mut y, mut twice) = (vec![1.0; a.ncols()], vec![0.0; a.nrows()], vec![0.0; a.nrows()]);
    /// # prepared.multiply(&x, &mut twice)?;
    /// # plan.prepare(&Cpu::new(), &a)?.multiply_scaled(2.0, &x, 0.0, &mut y)?;
    /// # assert_eq!(y, twice);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Device`]: [`DeviceError::PlacesUnknown`](sparsight_device::DeviceError::PlacesUnknown) before
    /// [`allow_updates`](Prepared::allow_updates), [`DeviceError::Length`](sparsight_device::DeviceError::Length) if there is
    /// not a value for each non-zero.
    pub fn update_values(&mut self, values: &[T]) -> Result<(), Error> {
        Ok(self.product.write().update_values(values)?)
    }

    /// Replaces the values by an array on the GPU; it is queued in `stream`, `None` for the device's own, and not waited for.
    /// Work queued in other streams, the device's own too, must have ended before. Until this has ended, products may only be
    /// queued in the same stream ([`Prepared::multiply`] takes the device's own), and the values must stay as they are.
    ///
    /// # Errors
    /// As [`Prepared::update_values`] and [`Prepared::multiply_on_device`].
    pub fn update_values_on_device(
        &mut self,
        values: DeviceSlice<'_, T>,
        stream: Option<Stream<'_>>,
    ) -> Result<(), Error> {
        Ok(self.product.write().update_values_on_device(values, stream)?)
    }

    /// Time of `products` products y = A x with a random x, back to back, measured on the device: to be given to
    /// [`measure`](sparsight_device::timing::measure).
    ///
    /// # Errors
    /// [`Error::Device`] if they cannot be launched or timed.
    pub fn batch(&self, products: u32, caches: Caches) -> Result<Batch, Error> {
        Ok(self.product.read().batch(products, caches)?)
    }
}
