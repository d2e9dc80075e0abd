//! A matrix on a device, ready for products.

use crate::addresses::{self, At};
use crate::advice::Advice;
use crate::buffers::{Value, Values, Vectors};
use crate::devices::{self, Opened};
use crate::failure::{Failure, Kind};
use crate::forked;
use crate::freeable::Freeable;
use crate::matrix::{Matrix, dtype_of};
use crate::typed::{Typed, map_typed, of_dtype, with_typed};
use pyo3::prelude::*;
use sparsight::bench::Bench;
use sparsight::calibrate::OpenDevice;
use sparsight::device::timing::StoppingRule;
use sparsight::device::{DeviceError, Stream};
use sparsight::matrix::{Csr, Dtype};
use sparsight::run::Tries;
use sparsight::{Objective, fastest};
use std::num::NonZeroUsize;

/// A prepared matrix of either value type.
pub(crate) type AnyPrepared = Typed<sparsight::Prepared<f32>, sparsight::Prepared<f64>>;

/// A matrix on a device. Several threads may multiply with it.
#[pyclass(frozen, module = "sparsight._core")]
pub(crate) struct Prepared {
    pub(crate) product: Freeable<AnyPrepared>,
    opened: Opened,
    /// Id of the candidate that runs.
    #[pyo3(get)]
    candidate: String,
    /// Seconds a product, if candidates were tried.
    #[pyo3(get)]
    measured_s: Option<f64>,
    /// Bytes of the matrix on the device, x and y not counted.
    #[pyo3(get)]
    memory_bytes: u64,
    /// Seconds of conversion and upload.
    #[pyo3(get)]
    preparation_s: f64,
}

impl Prepared {
    pub(crate) fn new(
        product: AnyPrepared,
        opened: Opened,
        candidate: String,
        measured_s: Option<f64>,
    ) -> Self {
        let (memory_bytes, preparation_s) =
            with_typed!(&product, p => (p.memory_bytes(), p.preparation().total().0));
        let product = Freeable::new(product);
        Self { product, opened, candidate, measured_s, memory_bytes, preparation_s }
    }
}

/// Queues a product with vectors at these addresses, of these lengths.
fn queue<T: Value>(
    prepared: &sparsight::Prepared<T>,
    (alpha, beta): (f64, f64),
    (x, y): (At, At),
    stream: Option<Stream<'_>>,
) -> Result<(), Failure> {
    let (x, y) = (addresses::read("x", x)?, addresses::write("out", y, x)?);
    Ok(prepared.multiply_scaled_on_device(alpha, x, beta, y, stream)?)
}

/// The stream with that handle, `None` for the device's own.
pub(crate) fn stream(handle: Option<usize>) -> Option<Stream<'static>> {
    // SAFETY: the package gives the handles of streams that live: of torch, CuPy, or the caller, who promises it.
    handle.map(|handle| unsafe { Stream::from_raw(handle as *mut std::ffi::c_void) })
}

#[pymethods]
impl Prepared {
    /// `cpu`, `cuda:0`, `hip:0`.
    #[getter]
    fn device(&self) -> String {
        self.opened.name()
    }

    /// Number of the GPU whose vectors it takes, None where it takes those of the host alone.
    #[getter]
    fn index(&self) -> Option<usize> {
        self.opened.index()
    }

    /// y = alpha A x + beta y with arrays of the host.
    fn multiply_host(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        alpha: f64,
        beta: f64,
    ) -> PyResult<()> {
        let mut vectors = Vectors::of(x, y)?;
        self.product.with(py, |product| {
            with_typed!(product.as_ref().with(vectors.as_mut())?, (product, (x, y)) => {
                // SAFETY: taken to be written, and shares nothing with x.
                let y = unsafe { y.entries_mut() };
                Ok(product.multiply_scaled(alpha, x.entries(), beta, y)?)
            })
        })
    }

    /// y = alpha A x + beta y with vectors at these addresses on the GPU, queued in a stream: its handle, None for the device's own.
    #[allow(clippy::too_many_arguments)]
    fn multiply_on_device(
        &self,
        py: Python<'_>,
        x: u64,
        x_len: usize,
        y: u64,
        y_len: usize,
        alpha: f64,
        beta: f64,
        stream_handle: Option<usize>,
    ) -> PyResult<()> {
        let vectors = ((x, x_len), (y, y_len));
        self.product.with(
            py,
            |product| with_typed!(product, p => queue(p, (alpha, beta), vectors, stream(stream_handle))),
        )
    }

    /// Replaces the values from an array of the host: after all that is queued on the GPU, and waited for.
    fn update_host(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let values = Values::read("values", values)?;
        self.product.change(py, &self.opened.device, |product| {
            let both = product.as_mut().with(values.as_ref())?;
            Ok(with_typed!(both, (product, values) => product.update_values(values.entries()))?)
        })
    }

    /// Replaces the values from an address on the GPU, likewise.
    fn update_on_device(&self, py: Python<'_>, values: u64, len: usize) -> PyResult<()> {
        self.product.change(py, &self.opened.device, |product| {
            with_typed!(product, p => {
                let values = addresses::read("values", (values, len))?;
                Ok(p.update_values_on_device(values, None)?)
            })
        })
    }

    /// Waits for everything that is queued on its GPU.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        Ok(forked::work(py, || self.opened.device.wait_for_all().map_err(Failure::from))??)
    }

    /// Gives its memory back now. Waits for what is queued. In a forked process it is the parent's, and stays.
    fn free(&self, py: Python<'_>) {
        self.product.free(py);
    }

    /// True if `free` was called.
    #[getter]
    fn is_freed(&self) -> bool {
        self.product.is_freed()
    }
}

/// Request beside the matrix.
struct Wanted<'a> {
    matrix: &'a Matrix,
    device: &'a OpenDevice,
    candidate: Option<&'a str>,
    tries: Tries,
    updates: bool,
}

/// The prepared matrix, with the id of its candidate and what it took if several were tried.
type Made<T> = (sparsight::Prepared<T>, (String, Option<f64>));

/// The ranking for the processor, where that is wanted and the advice is for a GPU.
fn of_processor(advice: &Advice, wanted: &Wanted<'_>) -> Result<Option<sparsight::Advice>, Failure> {
    let OpenDevice::Processor(cpu) = wanted.device else { return Ok(None) };
    if !advice.ranking.kind.is_gpu() {
        return Ok(None);
    }
    let objective = Objective { products: advice.objective.products, ..Objective::default() };
    let calibration = devices::of_processor()?;
    let (features, dtype) = (wanted.matrix.features(), advice.dtype);
    Ok(Some(sparsight::Advice::for_processor(
        cpu.facts(),
        calibration.as_deref(),
        features,
        dtype,
        &objective,
    )?))
}

/// `go_on` is asked after every run of a candidate.
fn make<T: Value>(
    a: &Csr<T>,
    advice: &Advice,
    wanted: &Wanted<'_>,
    go_on: &mut dyn FnMut() -> Result<(), DeviceError>,
) -> Result<Made<T>, Failure> {
    let device = wanted.device.of::<T>();
    let (plan, mut prepared, measured) = if let Some(id) = wanted.candidate {
        let plan = advice.plan_of(id)?;
        let prepared = plan.prepare(device, a)?;
        (plan, prepared, None)
    } else {
        let how = Bench { rule: StoppingRule::BRISK, ..Bench::default() };
        let of_processor = of_processor(advice, wanted)?;
        let ranking = of_processor.as_ref().unwrap_or(&advice.ranking);
        let fastest = fastest(device, a, ranking, wanted.tries, &how, |_| go_on())?;
        let measured = fastest.measured().map(|measured| measured.timing.time.0);
        (fastest.plan, fastest.prepared, measured)
    };
    if wanted.updates {
        prepared.allow_updates(a)?;
    }
    Ok((prepared, (plan.to_string(), measured)))
}

/// Prepares the matrix as advised, or, on the processor where the advice is for a GPU, as is known of the processor: the first candidate, the fastest of `tries` (0: of as many as are worth it for the products to come),
/// or the one that is named.
#[pyfunction]
#[pyo3(signature = (matrix, advice, device, candidate, tries, updates))]
pub(crate) fn prepare(
    py: Python<'_>,
    matrix: &Matrix,
    advice: &Advice,
    device: &str,
    candidate: Option<&str>,
    tries: usize,
    updates: bool,
) -> PyResult<Prepared> {
    let tries = match (NonZeroUsize::new(tries), advice.objective.products) {
        (Some(count), _) => Tries::Count(count),
        (None, Some(products)) => Tries::WorthIt { products },
        (None, None) => {
            let failure =
                Failure::new(Kind::SparsightError, "try_=\"auto\" without a number of products to come");
            return Err(failure.hinted("plan(A, products=100_000) says how many").into());
        }
    };
    let mut interrupted = None;
    let made = forked::work(py, || {
        let mut go_on = || {
            let asked: PyResult<()> = Python::attach(|py| {
                py.check_signals()?;
                Ok(())
            });
            asked.map_err(|error| {
                interrupted = Some(error);
                DeviceError::Interrupted
            })
        };
        let opened = Opened::open(device)?;
        let wanted = Wanted { matrix, device: &opened.device, candidate, tries, updates };
        let made = map_typed!(&matrix.csr, a => make(a, advice, &wanted, &mut go_on)?);
        let (product, (candidate, measured_s)) = made.split();
        Ok::<_, Failure>(Prepared::new(product, opened, candidate, measured_s))
    })?;
    match interrupted {
        Some(error) => Err(error),
        None => Ok(made?),
    }
}

/// The identity matrix on a device, in no memory: with an epilogue its product is an update of vectors.
#[pyfunction]
pub(crate) fn prepare_identity(py: Python<'_>, rows: usize, device: &str, dtype: &str) -> PyResult<Prepared> {
    let made = forked::work(py, || {
        let (opened, dtype) = (Opened::open(device)?, dtype_of(dtype)?);
        let product = of_dtype!(dtype => sparsight::Prepared::identity(opened.device.of(), rows)?);
        Ok::<_, Failure>(Prepared::new(product, opened, "identity".to_owned(), None))
    })?;
    Ok(made?)
}
