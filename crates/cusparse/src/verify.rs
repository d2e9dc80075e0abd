//! Each product by cuSPARSE and by each kernel that may be used, compared row by row. Slow: the matrix is read at each product.

use crate::gpu::{self, Gpu};
use crate::pattern::{Pattern, stream, suits};
use crate::product::{Key, Product};
use crate::real::{SUCCESS, Status};
use crate::worker;
use sparsight::device::DeviceError;
use sparsight::device::cuda::Cuda;
use sparsight::device::gpu::{DeviceArray, Vectors};
use sparsight::matrix::Scalar;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Held while a product is verified: kernels that must not run twice at a time would give a wrong y to compare with.
static ALONE: Mutex<()> = Mutex::new(());

/// Multiplies by cuSPARSE, whose result is what the program gets, and compares what our kernels give.
///
/// # Safety
/// As [`Pattern::multiply`].
pub(crate) unsafe fn multiply(
    pattern: &Arc<Pattern>,
    product: &Product,
    theirs: &dyn Fn() -> Status,
) -> Status {
    let is_captured = Cuda::is_captured(stream(product)).unwrap_or(true);
    let Some(gpu) = opened(product.key.context).filter(|_| !is_captured) else { return theirs() };
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let _beside = Cuda::beside_captures();
    if pattern.entrants.get().is_none() {
        // SAFETY: as the caller promises.
        let status = unsafe { pattern.multiply(product, theirs) };
        // The next product finds the row lengths, and then the kernels.
        let _ = gpu.cuda.wait_for(stream(product));
        wait_until(|| !pattern.is_loading());
        return status;
    }
    // SAFETY: as the caller promises.
    let compared = unsafe {
        if product.key.is_double {
            compare::<f64>(pattern, &gpu, product, theirs)
        } else {
            compare::<f32>(pattern, &gpu, product, theirs)
        }
    };
    compared.unwrap_or_else(|error| {
        warn(&error);
        theirs()
    })
}

/// Prints that a product was not verified.
fn warn(error: &DeviceError) {
    eprintln!("sparsight: a product was not verified: {error}");
}

/// The GPU, once it is open; `None` if it is left to cuSPARSE.
fn opened(context: u64) -> Option<Arc<Gpu>> {
    wait_until(|| !matches!(gpu::of_context(context), Ok(None)));
    gpu::of_context(context).ok().flatten()
}

/// Waits for the worker, but not for ever.
fn wait_until(is_done: impl Fn() -> bool) {
    for _ in 0..60_000 {
        if is_done() || worker::is_stopped() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Multiplies by cuSPARSE, then by each kernel, and compares.
///
/// # Errors
/// A failed call before cuSPARSE has multiplied.
///
/// # Safety
/// As [`multiply`].
unsafe fn compare<T: Scalar>(
    pattern: &Pattern,
    gpu: &Gpu,
    product: &Product,
    theirs: &dyn Fn() -> Status,
) -> Result<Status, DeviceError> {
    let Key { nrows, ncols, nnz, base, .. } = product.key;
    let device = gpu.cuda.as_gpu();
    let source = &pattern.source;
    let read = |address: u64, len: u64| {
        let gone = || DeviceError::Driver {
            call: "reading the program's arrays".to_owned(),
            reason: "they are not there".to_owned(),
        };
        source.read::<T>(gpu, address, len as usize).ok_or_else(gone)
    };
    gpu.cuda.wait_for(stream(product))?;
    let shift = base * T::DTYPE.bytes();
    let (values, x) = (read(product.csr.values + shift, nnz)?, read(product.v.x + shift, ncols)?);
    let before = if product.v.beta == 0.0 { Vec::new() } else { read(product.v.y, nrows)? };
    let (Some(row_ptr), Some(columns)) = (source.row_offsets(gpu), source.columns(gpu)) else {
        return Ok(theirs());
    };

    let status = theirs();
    if status != SUCCESS {
        return Ok(status);
    }
    // An error from now on is printed, and y stays as cuSPARSE computed it.
    let hold = || {
        gpu.cuda.wait_for(stream(product))?;
        let wanted = read(product.v.y, nrows)?;
        // What rounding explains: each of the additions and multiplications of a row, with any order of the sum, twice.
        let (alpha, beta) = (product.v.alpha.abs(), product.v.beta.abs());
        let bound = |row: usize| {
            let entries = row_ptr[row] as usize..row_ptr[row + 1] as usize;
            let count = entries.len() as f64 + 4.0;
            let term = |at: usize| {
                let column = columns[at] as usize;
                (values[at].to_f64() * x.get(column).map_or(f64::NAN, |x| x.to_f64())).abs()
            };
            let sum: f64 = entries.map(term).sum();
            let before = before.get(row).map_or(0.0, |y| y.to_f64().abs());
            2.0 * count * T::EPSILON.to_f64() * (alpha * sum + beta * before)
        };
        let entrants = pattern.entrants.get().map_or(&[][..], |entrants| entrants);
        let nowhere = vec![T::from_f64(f64::NAN); nrows as usize];
        for (candidate, kernel) in entrants.iter().filter(|(_, kernel)| suits(kernel, product)) {
            let y: DeviceArray<T> = device.upload(if before.is_empty() { &nowhere } else { &before })?;
            let v = Vectors { y: y.address(), ..product.v };
            // SAFETY: as the caller promises, and y is that long.
            unsafe { kernel.queue(&product.csr, &v, stream(product)).map_err(|(_, error)| error)? };
            gpu.cuda.wait_for(stream(product))?;
            let got = read(y.address(), nrows)?;
            let off = |row: usize| (difference(wanted[row].to_f64(), got[row].to_f64(), || bound(row)), row);
            let worst = (0..nrows as usize).map(off).max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default();
            if worst.0 > 1.0 {
                let (theirs, ours) = (wanted[worst.1].to_f64(), got[worst.1].to_f64());
                eprintln!(
                    "sparsight: {candidate} gives {ours:e} where cuSPARSE gives {theirs:e}, in row {} of {nrows} x {ncols} with \
                     {nnz} non-zeros; please report it",
                    worst.1
                );
            }
            source.totals.record(|record| {
                record.verified += 1;
                record.worst = record.worst.max(worst.0);
            });
        }
        Ok(())
    };
    hold().unwrap_or_else(|error| warn(&error));
    Ok(status)
}

/// Difference of two results in units of what rounding explains; infinite if one is a number and the other is none.
fn difference(wanted: f64, got: f64, bound: impl FnOnce() -> f64) -> f64 {
    match (wanted.is_finite(), got.is_finite()) {
        (true, true) if wanted.total_cmp(&got).is_eq() => 0.0,
        (true, true) => (wanted - got).abs() / bound().max(f64::MIN_POSITIVE),
        // Whether it is Inf or NaN depends on the order of a sum.
        (false, false) if wanted.is_nan() || got.is_nan() || wanted.total_cmp(&got).is_eq() => 0.0,
        _ => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn differences_are_told_in_units_of_rounding() {
        let off = |wanted: f64, got: f64, bound: f64| difference(wanted, got, || bound).to_string();
        assert_eq!(off(1.0, 1.0, 0.0), "0");
        assert_eq!(off(1.0, 1.5, 0.25), "2");
        assert_eq!(off(f64::NAN, f64::INFINITY, 0.0), "0");
        assert_eq!(off(f64::INFINITY, f64::NEG_INFINITY, 1.0), "inf");
        assert_eq!(off(f64::NAN, 0.0, 1.0), "inf");
        assert_eq!(off(1.0, f64::NEG_INFINITY, 1.0), "inf");
    }
}
