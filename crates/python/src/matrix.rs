//! A matrix, looked at once.

use crate::buffers::{Held, Indices, Value, fill_indices, fill_values};
use crate::failure::{Failure, Kind};
use crate::file_object::{FileObject, Raised};
use crate::forked;
use crate::typed::{Typed, map_typed, of_dtype, with_typed};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use rayon::prelude::*;
use sparsight::advise::Told;
use sparsight::answer::MatrixSummary;
use sparsight::matrix::gallery::{GalleryError, Recipe};
use sparsight::matrix::io::{self, Field, Loaded, ReadOptions, Stored};
use sparsight::matrix::{Csr, CsrError, Dtype, Features};
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A matrix with values of either type.
pub(crate) type AnyCsr = Typed<Csr<f32>, Csr<f64>>;

type AnyLoaded = Typed<Loaded<f32>, Loaded<f64>>;

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
        self.features.get_or_init(|| with_typed!(&self.csr, a => Features::of(a)))
    }

    /// Features of A^T.
    pub(crate) fn transposed_features(&self) -> Result<Features, Failure> {
        with_typed!(&self.csr, a => Ok(Features::of(&a.transposed()?)))
    }

    /// Rows and columns.
    pub(crate) fn size(&self) -> (usize, usize) {
        with_typed!(&self.csr, a => (a.nrows(), a.ncols()))
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
        Ok(Self::new(of_dtype!(dtype_of(dtype)? => {
            let values = values.map(|values| Held::of("values", values)).transpose()?;
            csr_of(py, (nrows, ncols), arrays, values.as_ref())?
        })))
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
        with_typed!(&self.csr, a => a.nnz())
    }

    /// "f32" or "f64"
    #[getter]
    fn dtype(&self) -> String {
        self.csr.dtype().to_string()
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
        let csr = forked::work(py, || with_typed!(&self.csr, a => of_dtype!(dtype => a.to_dtype())))?;
        Ok(Self::told(csr, self.told))
    }

    /// Copies the pattern with other values, which are copied: of the matrix' own type.
    fn with_values(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self::new(map_typed!(&self.csr, a => {
            let values = Held::of("values", values)?;
            let made = forked::work(py, || a.with_values(values.entries().par_iter().copied().collect()))?;
            made.map_err(Failure::from)?
        })))
    }

    fn transposed(&self, py: Python<'_>) -> PyResult<Self> {
        let made: Result<_, CsrError> = forked::work(py, || Ok(map_typed!(&self.csr, a => a.transposed()?)))?;
        Ok(Self::told(made.map_err(Failure::from)?, self.told))
    }

    /// Writes where each entry of the transposed matrix stands in this one into an int64 array.
    fn transposed_order(&self, py: Python<'_>, order: &Bound<'_, PyAny>) -> PyResult<()> {
        let made = forked::work(py, || with_typed!(&self.csr, a => a.transposed_order()))?;
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
        with_typed!(&self.csr, a => {
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
        let of = |places_only| -> Result<_, io::ReadError> {
            let options = ReadOptions { places_only, ..ReadOptions::default() };
            Ok((of_dtype!(dtype => io::read(&path, &options)?), !places_only))
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
        Ok((of_dtype!(dtype => io::read_stream(reader, &name, &options)?), true))
    })?;
    raised.check()?;
    with_warnings(py, &name, read)
}

/// The matrix that was read, and whether its values are those of the file; what its owner should know of the file becomes warnings of
/// Python.
fn with_warnings(
    py: Python<'_>,
    path: &Path,
    read: Result<(AnyLoaded, bool), io::ReadError>,
) -> PyResult<Matrix> {
    let (loaded, has_values) = read.map_err(Failure::from)?;
    let (Stored { field, duplicates, .. }, remarks) = with_typed!(&loaded, one => (one.stored, &one.remarks));
    for remark in remarks.iter().filter(|remark| remark.is_worth_saying()) {
        let text = CString::new(format!("{}: {remark}", path.display())).unwrap_or_default();
        // Of the line that called `sparsight.read`.
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 2)?;
    }
    let told = Told { has_values, is_complex: field == Field::Complex, duplicates, ..Told::default() };
    Ok(Matrix::told(map_typed!(loaded, one => one.matrix), told))
}

/// A matrix of the gallery.
#[pyfunction]
pub(crate) fn generate(py: Python<'_>, recipe: &str, dtype: &str) -> PyResult<Matrix> {
    let dtype = dtype_of(dtype)?;
    let made: Result<_, GalleryError> = forked::work(py, || {
        let recipe: Recipe = recipe.parse()?;
        Ok(of_dtype!(dtype => recipe.generate()?))
    })?;
    Ok(Matrix::new(made.map_err(Failure::from)?))
}
