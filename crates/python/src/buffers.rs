//! Arrays of Python's buffer protocol: numpy's, and whatever else lies in the host's memory.

use crate::failure::{COLUMNS, Failure, Kind, READ_ONLY, SHARED};
use crate::forked;
use crate::typed::{Typed, with_typed};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;
use rayon::prelude::*;
use sparsight::matrix::Scalar;
use std::ptr::NonNull;

/// A value type as a Python array holds it.
pub(crate) trait Value: Scalar + Element {}
impl Value for f32 {}
impl Value for f64 {}

/// Contiguous numbers in the memory of a Python object, which is held as long as this lives.
pub(crate) struct Held<T: Element> {
    // Dropped with the interpreter attached, as all that holds it is.
    buffer: PyBuffer<T>,
    entries: NonNull<[T]>,
}

// SAFETY: an address. The memory stays where it is while the buffer is held; the caller of a function that reads an array
// does not write to it before it returns, as everywhere in numerical Python.
unsafe impl<T: Element> Send for Held<T> {}
// SAFETY: as above.
unsafe impl<T: Element> Sync for Held<T> {}

impl<T: Element> Held<T> {
    /// `None` if the array holds another type; `what` is how errors call it.
    fn of_type(what: &str, array: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let Ok(buffer) = PyBuffer::<T>::get(array) else { return Ok(None) };
        let entries = buffer.as_slice_ptr().filter(|_| buffer.dimensions() == 1);
        let Some(entries) = entries else {
            let text = format!("{what} is not a contiguous array of one dimension");
            return Err(Failure::new(Kind::BadVector, text).into());
        };
        Ok(Some(Self { buffer, entries }))
    }

    /// Holds an array of this type.
    pub(crate) fn of(what: &str, array: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::of_type(what, array)?.ok_or_else(|| {
            let text = format!("{what} holds no {} of this machine", std::any::type_name::<T>());
            Failure::new(Kind::BadVector, text).into()
        })
    }

    pub(crate) fn entries(&self) -> &[T] {
        // SAFETY: the buffer is held, and not written to meanwhile.
        unsafe { self.entries.as_ref() }
    }

    /// # Safety
    /// The memory may be written to, and no other thread reads it meanwhile.
    pub(crate) unsafe fn entries_mut(&mut self) -> &mut [T] {
        // SAFETY: as the caller promises.
        unsafe { self.entries.as_mut() }
    }

    /// Returns true if the memory must not be written to.
    pub(crate) fn is_readonly(&self) -> bool {
        self.buffer.readonly()
    }

    /// Returns true if both share memory.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let ends = |held: &Self| held.entries().as_ptr_range();
        let (one, other) = (ends(self), ends(other));
        one.start < other.end && other.start < one.end
    }
}

/// Values of either type.
pub(crate) type Values = Typed<Held<f32>, Held<f64>>;

impl Values {
    /// Holds an array for reading.
    pub(crate) fn read(what: &str, array: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Some(held) = Held::of_type(what, array)? {
            return Ok(Self::F32(held));
        }
        Held::of_type(what, array)?.map(Self::F64).ok_or_else(|| {
            Failure::new(Kind::BadVector, format!("{what} holds neither float32 nor float64")).into()
        })
    }
}

/// An x to be read and a y to be written.
pub(crate) type Vectors = Typed<(Held<f32>, Held<f32>), (Held<f64>, Held<f64>)>;

impl Vectors {
    /// Holds both arrays, which share no memory.
    pub(crate) fn of(x: &Bound<'_, PyAny>, out: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (x, y) = (Values::read("x", x)?, Values::read("out", out)?);
        if x.dtype() != y.dtype() {
            return Err(Failure::new(Kind::BadVector, "x and out hold different types").into());
        }
        let both = x.with(y)?;
        let (readonly, overlaps) = with_typed!(&both, (x, y) => (y.is_readonly(), y.overlaps(x)));
        if readonly || overlaps {
            let (why, hint) =
                if readonly { ("is read-only", READ_ONLY) } else { ("shares memory with x", SHARED) };
            return Err(Failure::new(Kind::BadVector, format!("out {why}")).hinted(hint).into());
        }
        Ok(both)
    }
}

/// Indices of 32 or 64 bits.
pub(crate) enum Indices {
    I32(Held<i32>),
    I64(Held<i64>),
}

impl Indices {
    pub(crate) fn read(what: &str, array: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Some(held) = Held::of_type(what, array)? {
            return Ok(Self::I32(held));
        }
        Held::of_type(what, array)?.map(Self::I64).ok_or_else(|| {
            Failure::new(Kind::BadMatrix, format!("{what} holds neither int32 nor int64"))
                .hinted("give index arrays of numpy.int32 or numpy.int64")
                .into()
        })
    }

    /// All of them without a sign. Negative ones become larger than any index that is allowed.
    pub(crate) fn offsets(&self) -> Vec<u64> {
        match self {
            Self::I32(held) => held.entries().par_iter().map(|&i| i64::from(i) as u64).collect(),
            Self::I64(held) => held.entries().par_iter().map(|&i| i as u64).collect(),
        }
    }

    /// All of them as columns.
    pub(crate) fn columns(&self) -> Result<Vec<u32>, Failure> {
        let is_none = |i: i64| u32::try_from(i).is_err();
        let wrong = match self {
            Self::I32(held) => held.entries().par_iter().find_any(|&&i| i < 0).map(|&i| i.into()),
            Self::I64(held) => held.entries().par_iter().find_any(|&&i| is_none(i)).copied(),
        };
        if let Some(i) = wrong {
            let text = format!("column {i} is no column of any matrix");
            return Err(Failure::new(Kind::BadMatrix, text).hinted(COLUMNS));
        }
        Ok(match self {
            Self::I32(held) => held.entries().par_iter().map(|&i| i as u32).collect(),
            Self::I64(held) => held.entries().par_iter().map(|&i| i as u32).collect(),
        })
    }
}

/// Fills an array of the package's own.
fn fill<E: Element + Send, I: Copy + Sync>(
    py: Python<'_>,
    mut held: Held<E>,
    from: &[I],
    cast: impl Fn(I) -> E + Sync + Send,
) -> PyResult<()> {
    if held.entries().len() != from.len() {
        return Err(Failure::new(Kind::BadVector, "an array of another length").into());
    }
    forked::work(py, || {
        // SAFETY: the package made the array and has not given it out.
        let to = unsafe { held.entries_mut() };
        to.par_iter_mut().zip(from).for_each(|(to, &from)| *to = cast(from));
    })
}

/// Fills an array with indices, of the type that it has.
pub(crate) fn fill_indices<I>(
    py: Python<'_>,
    what: &str,
    array: &Bound<'_, PyAny>,
    from: &[I],
) -> PyResult<()>
where
    I: Copy + Into<u64> + Sync,
{
    if let Some(held) = Held::<i32>::of_type(what, array)? {
        return fill(py, held, from, |i: I| i.into() as i32);
    }
    fill(py, Held::<i64>::of(what, array)?, from, |i: I| i.into() as i64)
}

/// Copies values into an array.
pub(crate) fn fill_values<T: Value>(py: Python<'_>, array: &Bound<'_, PyAny>, from: &[T]) -> PyResult<()> {
    fill(py, Held::<T>::of("values", array)?, from, |value| value)
}
