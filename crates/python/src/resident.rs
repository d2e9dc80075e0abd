//! A CSR that lies on a GPU already, prepared where it lies.

use crate::addresses::{At, IndicesAt, indices, read};
use crate::advice::Advice;
use crate::buffers::Value;
use crate::devices::Opened;
use crate::failure::Failure;
use crate::forked;
use crate::matrix::Matrix;
use crate::prepared::Prepared;
use crate::typed::map_typed;
use pyo3::prelude::*;
use sparsight::calibrate::OpenDevice;
use sparsight::device::DeviceCsr;
use sparsight::matrix::Csr;

/// Request beside the matrix.
struct Wanted<'a> {
    device: &'a OpenDevice,
    candidate: Option<&'a str>,
    updates: bool,
}

fn make<T: Value>(
    pattern: &Csr<T>,
    advice: &Advice,
    wanted: &Wanted<'_>,
    (indptr, columns, values): (IndicesAt, IndicesAt, At),
) -> Result<(sparsight::Prepared<T>, String), Failure> {
    let a = DeviceCsr {
        nrows: pattern.nrows(),
        ncols: pattern.ncols(),
        row_ptr: indices("indptr", indptr)?,
        col_idx: indices("indices", columns)?,
        values: read("data", values)?,
    };
    let device = wanted.device.of::<T>();
    let (plan, mut prepared) = match wanted.candidate {
        Some(id) => {
            let plan = advice.plan_of(id)?;
            let prepared = plan.prepare_resident(device, a)?;
            (plan, prepared)
        }
        None => advice.ranking.prepare_resident(device, a)?,
    };
    if wanted.updates {
        // Where values stand follows from the pattern.
        prepared.allow_updates(pattern)?;
    }
    Ok((prepared, plan.to_string()))
}

/// Prepares a matrix from the arrays of CSR at these addresses, after everything that is queued on the GPU: the first candidate of the
/// advice that fits, or the one that is named. Of `matrix`, which has the same pattern, no value is looked at. When it returns,
/// the arrays are not read any more.
#[pyfunction]
#[pyo3(signature = (matrix, advice, device, candidate, updates, indptr, indices, values))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn prepare_resident(
    py: Python<'_>,
    matrix: &Matrix,
    advice: &Advice,
    device: &str,
    candidate: Option<&str>,
    updates: bool,
    indptr: IndicesAt,
    indices: IndicesAt,
    values: At,
) -> PyResult<Prepared> {
    let made = forked::work(py, || {
        let opened = Opened::open(device)?;
        // The stream in which the arrays were written is unknown.
        opened.device.wait_for_all()?;
        let wanted = Wanted { device: &opened.device, candidate, updates };
        let arrays = (indptr, indices, values);
        let made = map_typed!(&matrix.csr, pattern => make(pattern, advice, &wanted, arrays)?);
        let (product, candidate) = made.split();
        Ok::<_, Failure>(Prepared::new(product, opened, candidate, None))
    })?;
    Ok(made?)
}
