//! A matrix, looked at once.

use crate::buffers::{Held, Indices, Value, fill_indices, fill_values};
use crate::failure::{Failure, Kind};
use crate::file_object::{FileObject, Raised};
use crate::forked;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use rayon::prelude::*;
use sparsight::advise::Told;
use sparsight::answer::MatrixSummary;
use sparsight::matrix::gallery::Recipe;
use sparsight::matrix::io::{self, Field, Loaded, ReadOptions, Remark, Stored};
use sparsight::matrix::{Csr, Dtype, Features};
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A matrix with values of either type.
pub(crate) enum AnyCsr {
    F32(Csr<f32>),
    F64(Csr<f64>),
}

/// Does the same for both value types.
macro_rules! with_csr {
    ($any:expr, $a:ident => $body:expr) => {
        match $any {
            AnyCsr::F32($a) => $body,
            AnyCsr::F64($a) => $body,
        }
    };
}

pub(crate) use with_csr;

/// A sparse matrix in CSR, checked, with what the models look at.
#[pyclass(frozen, module = "sparsight._core")]
pub(crate) struct Matrix {
    pub(crate) csr: AnyCsr,
    /// Facts of the file beside the matrix.
    pub(crate) told: Told,
    features: OnceLock<Features>,
}

impl Matrix {
    pub(crate) fn new(csr: AnyCsr) -> Self {
        Self::told(csr, Told { has_values: true, ..Told::default() })
    }

    fn told(csr: AnyCsr, told: Told) -> Self {
        Self { csr, told, features: OnceLock::new() }
    }

    /// Looked at when first asked.
    pub(crate) fn features(&self) -> &Features {
        self.features.get_or_init(|| with_csr!(&self.csr, a => Features::of(a)))
    }

    pub(crate) fn value_type(&self) -> Dtype {
        match self.csr {
            AnyCsr::F32(_) => Dtype::F32,
            AnyCsr::F64(_) => Dtype::F64,
        }
    }

    /// Rows and columns.
    pub(crate) fn size(&self) -> (usize, usize) {
        with_csr!(&self.csr, a => (a.nrows(), a.ncols()))
    }
}

/// "f32" or "f64".
pub(crate) fn dtype_of(name: &str) -> Result<Dtype, Failure> {
    let found = Dtype::ALL.into_iter().find(|dtype| dtype.to_string() == name);
    found.ok_or_else(|| Failure::new(Kind::BadMatrix, format!("'{name}' is neither 'f32' nor 'f64'")))
}

fn csr_of<T: Value>(
    py: Python<'_>,
    (nrows, ncols): (usize, usize),
    (row_ptr, col_idx): (&Indices, &Indices),
    values: Option<&Held<T>>,
) -> PyResult<Csr<T>> {
    let made = forked::work(py, || {
        let (row_ptr, col_idx) = (row_ptr.offsets(), col_idx.columns()?);
        // Values that are not needed are zeros, of which the system makes no memory until they are read.
        let values = values.map_or_else(
            || vec![T::default(); col_idx.len()],
            |values| values.entries().par_iter().copied().collect(),
        );
        Csr::try_new(nrows, ncols, row_ptr, col_idx, values).map_err(Failure::from)
    })?;
    made.map_err(PyErr::from)
}

#[pymethods]
impl Matrix {
    /// Builds a matrix from copies of the three arrays of CSR. `values` of float32 or float64, or None for the pattern alone.
    #[new]
    #[pyo3(signature = (nrows, ncols, indptr, indices, values, dtype))]
    fn from_arrays(
        py: Python<'_>,
        nrows: usize,
        ncols: usize,
        indptr: &Bound<'_, PyAny>,
        indices: &Bound<'_, PyAny>,
        values: Option<&Bound<'_, PyAny>>,
        dtype: &str,
    ) -> PyResult<Self> {
        let arrays = (&Indices::read("indptr", indptr)?, &Indices::read("indices", indices)?);
        let size = (nrows, ncols);
        Ok(Self::new(match dtype_of(dtype)? {
            Dtype::F32 => {
                let values = values.map(|values| Held::of("values", values)).transpose()?;
                AnyCsr::F32(csr_of(py, size, arrays, values.as_ref())?)
            }
            Dtype::F64 | Dtype::Mixed => {
                let values = values.map(|values| Held::of("values", values)).transpose()?;
                AnyCsr::F64(csr_of(py, size, arrays, values.as_ref())?)
            }
        }))
    }

    /// (rows, columns)
    #[getter]
    fn shape(&self) -> (usize, usize) {
        self.size()
    }

    /// True if the values are those of the matrix; false for a file of which only the places could be read.
    #[getter]
    fn has_values(&self) -> bool {
        self.told.has_values
    }

    /// Stored non-zeros.
    #[getter]
    fn nnz(&self) -> usize {
        with_csr!(&self.csr, a => a.nnz())
    }

    /// "f32" or "f64"
    #[getter]
    fn dtype(&self) -> String {
        self.value_type().to_string()
    }

    /// (mean, shortest, longest) row, non-zeros.
    #[getter]
    fn row_lengths(&self, py: Python<'_>) -> PyResult<(f64, u64, u64)> {
        let features = match self.features.get() {
            Some(known) => known,
            None => forked::work(py, || self.features())?,
        };
        let summary = MatrixSummary::of("", features);
        Ok((summary.row_mean, summary.row_min, summary.row_max))
    }

    /// Converts the values to another type.
    fn astype(&self, py: Python<'_>, dtype: &str) -> PyResult<Self> {
        let dtype = dtype_of(dtype)?;
        let csr = forked::work(py, || {
            with_csr!(&self.csr, a => match dtype {
                Dtype::F32 => AnyCsr::F32(a.to_dtype()),
                Dtype::F64 | Dtype::Mixed => AnyCsr::F64(a.to_dtype()),
            })
        })?;
        Ok(Self::told(csr, self.told))
    }

    /// Copies the pattern with other values, which are copied: of the matrix' own type.
    fn with_values(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<Self> {
        fn of<T: Value>(py: Python<'_>, a: &Csr<T>, values: &Held<T>) -> PyResult<Csr<T>> {
            let made = forked::work(py, || a.with_values(values.entries().par_iter().copied().collect()))?;
            made.map_err(|error| Failure::from(error).into())
        }
        Ok(Self::new(match &self.csr {
            AnyCsr::F32(a) => AnyCsr::F32(of(py, a, &Held::of("values", values)?)?),
            AnyCsr::F64(a) => AnyCsr::F64(of(py, a, &Held::of("values", values)?)?),
        }))
    }

    fn transposed(&self, py: Python<'_>) -> PyResult<Self> {
        let made = forked::work(py, || {
            Ok(match &self.csr {
                AnyCsr::F32(a) => AnyCsr::F32(a.transposed()?),
                AnyCsr::F64(a) => AnyCsr::F64(a.transposed()?),
            })
        })?;
        let told = |csr| Self::told(csr, self.told);
        made.map(told).map_err(|error: sparsight::matrix::CsrError| Failure::from(error).into())
    }

    /// Writes where each entry of the transposed matrix stands in this one into an int64 array.
    fn transposed_order(&self, py: Python<'_>, order: &Bound<'_, PyAny>) -> PyResult<()> {
        let made = forked::work(py, || with_csr!(&self.csr, a => a.transposed_order()))?;
        fill_indices(py, "order", order, &made.map_err(Failure::from)?)
    }

    /// Writes the three arrays into arrays of the caller's: int32 or int64 twice, and of the matrix' own type.
    fn fill(
        &self,
        py: Python<'_>,
        indptr: &Bound<'_, PyAny>,
        indices: &Bound<'_, PyAny>,
        values: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        with_csr!(&self.csr, a => {
            fill_indices(py, "indptr", indptr, a.row_ptr())?;
            fill_indices(py, "indices", indices, a.col_idx())?;
            fill_values(py, values, a.values())
        })
    }
}

/// The matrix in a file that [`io::read`] reads. With `or_places`, where its values cannot be had, as of complex ones, those of its
/// places alone: [`Told::has_values`] is then not set.
#[pyfunction]
#[pyo3(signature = (path, dtype, or_places=false))]
#[allow(clippy::needless_pass_by_value)] // Python gives a path, which becomes ours.
pub(crate) fn read(py: Python<'_>, path: PathBuf, dtype: &str, or_places: bool) -> PyResult<Matrix> {
    let dtype = dtype_of(dtype)?;
    let read = forked::work(py, || {
        let of = |places_only| {
            let options = ReadOptions { places_only, ..ReadOptions::default() };
            match dtype {
                Dtype::F32 => io::read(&path, &options).map(|loaded| said(loaded, AnyCsr::F32, !places_only)),
                Dtype::F64 | Dtype::Mixed => {
                    io::read(&path, &options).map(|loaded| said(loaded, AnyCsr::F64, !places_only))
                }
            }
        };
        of(false).or_else(|why| if or_places { of(true).map_err(|_| why) } else { Err(why) })
    })?;
    with_warnings(py, &path, read)
}

/// The matrix that comes out of an object with `read(bytes)`, from where it stands to its end; `name` is what errors call it.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // Python gives a path, which becomes ours.
pub(crate) fn read_stream(py: Python<'_>, file: Py<PyAny>, name: PathBuf, dtype: &str) -> PyResult<Matrix> {
    let dtype = dtype_of(dtype)?;
    let raised = Raised::default();
    let options = ReadOptions::default();
    let read = forked::work(py, || {
        let reader = FileObject::new(file, &raised);
        match dtype {
            Dtype::F32 => {
                io::read_stream(reader, &name, &options).map(|loaded| said(loaded, AnyCsr::F32, true))
            }
            Dtype::F64 | Dtype::Mixed => {
                io::read_stream(reader, &name, &options).map(|loaded| said(loaded, AnyCsr::F64, true))
            }
        }
    })?;
    raised.check()?;
    with_warnings(py, &name, read)
}

/// A matrix that was read, and what is to be said of its file.
fn said<T>(loaded: Loaded<T>, kind: fn(Csr<T>) -> AnyCsr, has_values: bool) -> (Matrix, Vec<Remark>) {
    let Stored { field, duplicates, .. } = loaded.stored;
    let told = Told { has_values, is_complex: field == Field::Complex, duplicates, ..Told::default() };
    (Matrix::told(kind(loaded.matrix), told), loaded.remarks)
}

/// The matrix; what its owner should know of the file becomes warnings of Python.
fn with_warnings(
    py: Python<'_>,
    path: &Path,
    read: Result<(Matrix, Vec<Remark>), io::ReadError>,
) -> PyResult<Matrix> {
    let (matrix, remarks) = read.map_err(Failure::from)?;
    for remark in remarks.iter().filter(|remark| remark.is_worth_saying()) {
        let text = CString::new(format!("{}: {remark}", path.display())).unwrap_or_default();
        // Of the line that called `sparsight.read`.
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 2)?;
    }
    Ok(matrix)
}

/// A matrix of the gallery.
#[pyfunction]
pub(crate) fn generate(py: Python<'_>, recipe: &str, dtype: &str) -> PyResult<Matrix> {
    let dtype = dtype_of(dtype)?;
    let made = forked::work(py, || {
        let recipe: Recipe = recipe.parse()?;
        Ok(match dtype {
            Dtype::F32 => AnyCsr::F32(recipe.generate()?),
            Dtype::F64 | Dtype::Mixed => AnyCsr::F64(recipe.generate()?),
        })
    })?;
    made.map(Matrix::new)
        .map_err(|error: sparsight::matrix::gallery::GalleryError| Failure::from(error).into())
}
