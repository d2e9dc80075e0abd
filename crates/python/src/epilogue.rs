//! Products with an epilogue: a line for y, further vectors that are written, dot products.

use crate::addresses::{self, At};
use crate::buffers::{Held, Value};
use crate::failure::{Failure, Kind, READ_ONLY, SHARED};
use crate::freeable::Freeable;
use crate::prepared::{AnyPrepared, Prepared, stream};
use crate::typed::{Typed, map_typed, with_typed};
use pyo3::prelude::*;
use sparsight::Error;
use sparsight::device::{
    DeviceError, DeviceOperands, DeviceScalar, DeviceSlice, DeviceSliceMut, HostOperands,
};
use sparsight::kernels::Epilogue;

/// A product with an epilogue of either value type.
type AnyProduct = Typed<sparsight::run::EpilogueProduct<f32>, sparsight::run::EpilogueProduct<f64>>;

/// A prepared matrix with an epilogue. Several threads may multiply with it.
#[pyclass(frozen, module = "sparsight._core")]
pub(crate) struct EpilogueProduct {
    product: Freeable<AnyProduct>,
    /// Value type of the vectors: known without the lock.
    is_single: bool,
    /// True if everything is done in the launches of the product; else a launch behind it reads the sums and writes y.
    #[pyo3(get)]
    is_in_launch: bool,
}

/// Names of vectors and scalars, names and lines of outputs, and the factors of dot products.
type Named = (Vec<String>, Vec<String>, Vec<(String, String)>, Vec<(String, String)>);

/// A prepared matrix with an epilogue, whose kernel is compiled the first time.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // Lists of Python become vectors.
pub(crate) fn with_epilogue(
    py: Python<'_>,
    prepared: &Prepared,
    line: &str,
    named: Named,
) -> PyResult<EpilogueProduct> {
    prepared.product.with(py, |prepared| load(prepared, line, &named))
}

fn texts(all: &[String]) -> Vec<&str> {
    all.iter().map(String::as_str).collect()
}

fn load(prepared: &AnyPrepared, line: &str, named: &Named) -> Result<EpilogueProduct, Failure> {
    let bad = |error: &dyn std::fmt::Display| {
        Failure::new(Kind::BadEpilogue, error.to_string()).hinted(
            "a line is one expression of C over s, i, y[i], scalars by name and vectors at [i], such as \"s * d[i] + beta * z[i]\"",
        )
    };
    let (vectors, scalars, outputs, dots) = named;
    let lines: Vec<(&str, &str)> =
        outputs.iter().map(|(name, line)| (name.as_str(), line.as_str())).collect();
    let mut epilogue =
        Epilogue::of_lines(line, &texts(vectors), &texts(scalars), &lines).map_err(|error| bad(&error))?;
    for (first, second) in dots {
        epilogue = epilogue.with_dot(first, second).map_err(|error| bad(&error))?;
    }
    let loaded = |error: Error| match &error {
        Error::Device(why @ (DeviceError::Compile { .. } | DeviceError::Epilogue(_))) => bad(why),
        _ => error.into(),
    };
    let product = map_typed!(prepared, prepared => prepared.with_epilogue(&epilogue).map_err(loaded)?);
    let is_in_launch = with_typed!(&product, product => product.is_in_launch());
    let is_single = matches!(product, Typed::F32(_));
    Ok(EpilogueProduct { product: Freeable::new(product), is_single, is_in_launch })
}

/// A scalar: a number, or the address of a float64 on the GPU.
#[derive(Debug, Clone, Copy, FromPyObject)]
pub(crate) enum Scalar {
    #[pyo3(transparent)]
    Number(f64),
    #[pyo3(transparent)]
    At((u64,)),
}

/// Arrays of the host, held while they are read and written.
struct OnHost<T: Value> {
    x: Held<T>,
    y: Held<T>,
    vectors: Vec<Held<T>>,
    outputs: Vec<Held<T>>,
    dots: Option<Held<f64>>,
}

impl<T: Value> OnHost<T> {
    fn of<'py>(
        [x, y]: [&Bound<'py, PyAny>; 2],
        [vectors, outputs]: [&[Bound<'py, PyAny>]; 2],
        dots: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let all = |what: &str, arrays: &[Bound<'py, PyAny>]| {
            arrays.iter().map(|array| Held::of(what, array)).collect::<PyResult<Vec<_>>>()
        };
        let made = Self {
            x: Held::of("x", x)?,
            y: Held::of("out", y)?,
            vectors: all("a vector of the epilogue", vectors)?,
            outputs: all("an output of the epilogue", outputs)?,
            dots: dots.map(|dots| Held::of("dots", dots)).transpose()?,
        };
        made.check()?;
        Ok(made)
    }

    /// Refuses what is written and cannot be, or is read as well.
    fn check(&self) -> Result<(), Failure> {
        let written: Vec<&Held<T>> = std::iter::once(&self.y).chain(&self.outputs).collect();
        for (at, one) in written.iter().enumerate() {
            let name = if at == 0 { "out" } else { "an output of the epilogue" };
            if one.is_readonly() {
                return Err(Failure::new(Kind::BadVector, format!("{name} is read-only")).hinted(READ_ONLY));
            }
            if one.overlaps(&self.x) {
                return Err(
                    Failure::new(Kind::BadVector, format!("{name} shares memory with x")).hinted(SHARED)
                );
            }
            if written[..at].iter().any(|other| one.overlaps(other)) {
                let text = format!("{name} shares memory with another vector that is written");
                return Err(Failure::new(Kind::BadVector, text).hinted("give an array of its own"));
            }
            if self.vectors.iter().any(|vector| one.overlaps(vector)) {
                let text = format!("{name} shares memory with a vector of the epilogue");
                return Err(Failure::new(Kind::BadVector, text)
                    .hinted("the line sees the old entries of what is written: y[i] is that of out, w[i] that of an output w"));
            }
        }
        if self.dots.as_ref().is_some_and(Held::is_readonly) {
            return Err(Failure::new(Kind::BadVector, "dots is read-only").hinted(READ_ONLY));
        }
        Ok(())
    }

    fn multiply(
        &mut self,
        product: &sparsight::run::EpilogueProduct<T>,
        scalars: &[f64],
    ) -> Result<(), Failure> {
        let vectors: Vec<&[T]> = self.vectors.iter().map(Held::entries).collect();
        // SAFETY: taken to be written, and they share nothing with what is read nor with each other, as was checked.
        let mut outputs: Vec<&mut [T]> =
            self.outputs.iter_mut().map(|output| unsafe { output.entries_mut() }).collect();
        // SAFETY: as above.
        let y = unsafe { self.y.entries_mut() };
        // SAFETY: as above; of another type than the vectors, or an array of the package's own.
        let dots = self.dots.as_mut().map_or(&mut [][..], |dots| unsafe { dots.entries_mut() });
        let operands = HostOperands { vectors: &vectors, outputs: &mut outputs, scalars };
        Ok(product.multiply(self.x.entries(), y, operands, dots)?)
    }
}

/// Queues a product with vectors at these addresses.
fn queue<T: Value>(
    product: &sparsight::run::EpilogueProduct<T>,
    (x, y): (At, At),
    (vectors, outputs): (&[At], &[At]),
    scalars: &[Scalar],
    dots: Option<At>,
    handle: Option<usize>,
) -> Result<(), Failure> {
    let written: Vec<At> = std::iter::once(y).chain(outputs.iter().copied()).collect();
    for (at, one) in written.iter().enumerate() {
        for other in &written[..at] {
            if addresses::overlap::<T>(*one, *other) {
                let text = "an output of the epilogue shares memory with another vector that is written";
                return Err(Failure::new(Kind::BadVector, text).hinted("give an array of its own"));
            }
        }
        // Each entry is read before its own place is written.
        let shifted = |vector: &&At| vector.0 != one.0 && addresses::overlap::<T>(*one, **vector);
        if vectors.iter().any(|vector| shifted(&vector)) {
            let text = "a vector of the epilogue overlaps one that is written";
            return Err(Failure::new(Kind::BadVector, text).hinted("it may be the same one, or one apart"));
        }
    }
    let of_vectors: Vec<DeviceSlice<'_, T>> = vectors
        .iter()
        .map(|&at| addresses::read("a vector of the epilogue", at))
        .collect::<Result<_, _>>()?;
    let of_outputs: Vec<DeviceSliceMut<'_, T>> = outputs
        .iter()
        .map(|&at| addresses::write("an output of the epilogue", at, x))
        .collect::<Result<_, _>>()?;
    let of_scalars: Vec<DeviceScalar<'_>> = scalars
        .iter()
        .map(|scalar| match *scalar {
            Scalar::Number(number) => Ok(DeviceScalar::Number(number)),
            Scalar::At((address,)) => {
                Ok(DeviceScalar::At(addresses::read("a scalar of the epilogue", (address, 1))?, 0))
            }
        })
        .collect::<Result<_, Failure>>()?;
    let dots: Option<DeviceSliceMut<'_, f64>> =
        dots.map(|at| addresses::write("dots", at, (0, 0))).transpose()?;
    let operands = DeviceOperands { vectors: &of_vectors, outputs: &of_outputs, scalars: &of_scalars };
    let (x, y) = (addresses::read("x", x)?, addresses::write("out", y, x)?);
    Ok(product.multiply_on_device(x, y, operands, dots, stream(handle))?)
}

#[pymethods]
impl EpilogueProduct {
    /// The product with arrays of the host; `dots` becomes the dot products.
    #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // Lists of Python become vectors.
    fn multiply_host<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        y: &Bound<'py, PyAny>,
        vectors: Vec<Bound<'py, PyAny>>,
        outputs: Vec<Bound<'py, PyAny>>,
        scalars: Vec<f64>,
        dots: Option<Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        let operands = [&vectors[..], &outputs[..]];
        let mut held = if self.is_single {
            Typed::F32(OnHost::<f32>::of([x, y], operands, dots.as_ref())?)
        } else {
            Typed::F64(OnHost::<f64>::of([x, y], operands, dots.as_ref())?)
        };
        self.product.with(py, |product| {
            with_typed!(product.as_ref().with(held.as_mut())?, (product, held) => held.multiply(product, &scalars))
        })
    }

    /// The product with arrays at these addresses on the GPU, each with its length, queued in a stream: its handle, None for the device's
    /// own.
    #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // Lists of Python become vectors.
    fn multiply_on_device(
        &self,
        py: Python<'_>,
        x: At,
        y: At,
        vectors: Vec<At>,
        outputs: Vec<At>,
        scalars: Vec<Scalar>,
        dots: Option<At>,
        stream_handle: Option<usize>,
    ) -> PyResult<()> {
        self.product.with(py, |product| {
            with_typed!(product, product => {
                queue(product, (x, y), (&vectors, &outputs), &scalars, dots, stream_handle)
            })
        })
    }

    /// Gives its memory back now. In a forked process it is the parent's, and stays.
    fn free(&self, py: Python<'_>) {
        self.product.free(py);
    }
}
