//! Products with epilogues: lines, their operands, dot products.

use crate::arguments::{Out, free, held, on, text};
use crate::arrays::{self, disjoint};
use crate::error::guarded;
use crate::failure::Failure;
use crate::plan::{OfType, with_type};
use crate::product::{OpHandle, Operator};
use crate::threads;
use sparsight::bindings;
use sparsight::calibrate::OpenDevice;
use sparsight::device::{
    DeviceError, DeviceOperands, DeviceScalar, DeviceSlice, DeviceSliceMut, HostOperands, Stream,
};
use sparsight::kernels::{Epilogue, MOST_OUTPUTS, MOST_SCALARS, MOST_VECTORS};
use sparsight::matrix::Scalar;
use sparsight::run::EpilogueProduct;
use std::array;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

/// A prepared matrix with an epilogue: what is done with the sum of each row of A x where it would be stored, and dot products.
pub struct EpilogueHandle(OfType<Compiled<f32>, Compiled<f64>>);

struct Compiled<T: Scalar> {
    // Freed before the device is, whose last owner this may be.
    product: EpilogueProduct<T>,
    device: Arc<OpenDevice>,
    nrows: usize,
    ncols: usize,
}

/// The arrays of a product, as C gives them.
#[derive(Clone, Copy)]
struct Arrays {
    x: *const c_void,
    y: *mut c_void,
    vectors: *const *const c_void,
    outputs: *const *mut c_void,
    scalars: *const f64,
    dots: *mut f64,
}

/// An epilogue from the words of C.
fn parsed(
    line: &str,
    vectors: Option<&str>,
    scalars: Option<&str>,
    outputs: Option<&str>,
    dots: Option<&str>,
) -> Result<Epilogue, Failure> {
    let (vectors, scalars) = (names(vectors), names(scalars));
    let named = |output| -> Result<(&str, &str), Failure> {
        let (name, line) = str::split_once(output, '=').ok_or_else(|| {
            Failure::bad_argument(format!("the output '{output}' is not written as NAME = LINE"))
        })?;
        Ok((name.trim(), line.trim()))
    };
    let outputs = items(outputs).map(named).collect::<Result<Vec<_>, _>>()?;
    let mut epilogue = Epilogue::of_lines(line, &vectors, &scalars, &outputs).map_err(DeviceError::from)?;
    for dot in items(dots) {
        let (first, second) = dot.split_once('*').ok_or_else(|| {
            Failure::bad_argument(format!("the dot product '{dot}' is not written as NAME * NAME"))
        })?;
        epilogue = epilogue.with_dot(first.trim(), second.trim()).map_err(DeviceError::from)?;
    }
    Ok(epilogue)
}

/// What stands between blanks.
fn names(text: Option<&str>) -> Vec<&str> {
    text.unwrap_or_default().split_whitespace().collect()
}

/// What stands between semicolons.
fn items(text: Option<&str>) -> impl Iterator<Item = &str> {
    text.unwrap_or_default().split(';').map(str::trim).filter(|item| !item.is_empty())
}

impl<T: Scalar> Compiled<T> {
    fn new(operator: &Operator<T>, epilogue: &Epilogue) -> Result<Self, Failure> {
        let (product, device) = operator.with_epilogue(epilogue)?;
        let (nrows, ncols) = operator.size();
        Ok(Self { product, device, nrows, ncols })
    }

    fn epilogue(&self) -> &Epilogue {
        self.product.epilogue()
    }

    /// The addresses of x, y and the listed vectors, of whatever memory; those that an epilogue lacks are NULL.
    ///
    /// # Safety
    /// The lists are NULL or have an address for each vector and output.
    #[expect(clippy::type_complexity, reason = "four kinds of vectors")]
    unsafe fn addresses(
        &self,
        arrays: Arrays,
    ) -> Result<(*const T, *mut T, [*const T; MOST_VECTORS], [*mut T; MOST_OUTPUTS]), Failure> {
        let (vectors, outputs) = (self.epilogue().vectors(), self.epilogue().outputs());
        // SAFETY: as the caller promises.
        let (given, written) = unsafe {
            (
                arrays::read("vectors", arrays.vectors, vectors.len())?,
                arrays::read("outputs", arrays.outputs, outputs.len())?,
            )
        };
        arrays::check("x", arrays.x.cast::<T>(), self.ncols)?;
        arrays::check("y", arrays.y.cast::<T>().cast_const(), self.nrows)?;
        for (name, at) in vectors.iter().zip(given) {
            arrays::check(name, at.cast::<T>(), self.nrows)?;
        }
        for (output, at) in outputs.iter().zip(written) {
            arrays::check(&output.name, at.cast::<T>().cast_const(), self.nrows)?;
        }
        self.check_dots(arrays, given, written)?;
        let vectors = array::from_fn(|at| given.get(at).map_or(std::ptr::null(), |at| at.cast()));
        let outputs = array::from_fn(|at| written.get(at).map_or(std::ptr::null_mut(), |at| at.cast()));
        Ok((arrays.x.cast(), arrays.y.cast(), vectors, outputs))
    }

    /// Refuses dot products that would be stored within a vector, whose entries need not have their size.
    fn check_dots(
        &self,
        arrays: Arrays,
        vectors: &[*const c_void],
        outputs: &[*mut c_void],
    ) -> Result<(), Failure> {
        let count = self.epilogue().dots().len();
        arrays::check("dots", arrays.dots.cast_const(), count)?;
        let dots = (arrays.dots.cast_const().cast::<u8>(), count * size_of::<f64>());
        let bytes_of = |rows: usize| rows * size_of::<T>();
        let of_rows = vectors.iter().copied().chain(outputs.iter().map(|at| at.cast_const()));
        let of_rows = of_rows.chain([arrays.y.cast_const()]).map(|at| (at, self.nrows));
        for (at, entries) in of_rows.chain([(arrays.x, self.ncols)]) {
            disjoint((at.cast::<u8>(), bytes_of(entries)), dots).map_err(|_| {
                Failure::bad_argument("dots shares memory with x, y or another vector")
                    .hinted("give an array of doubles of its own")
            })?;
        }
        Ok(())
    }

    /// Vectors on the host.
    ///
    /// # Safety
    /// The arrays are as long as they must be, or NULL, and are not used meanwhile.
    unsafe fn multiply(&self, arrays: Arrays) -> Result<(), Failure> {
        let epilogue = self.epilogue();
        let (count, written) = (epilogue.vectors().len(), epilogue.outputs().len());
        // SAFETY: as the caller promises.
        let (x, y, vectors, outputs) = unsafe { self.addresses(arrays)? };
        let (n, all) = (self.nrows, &outputs[..written]);
        let overlap = |_| Failure::bad_argument("y or an output shares memory with another vector");
        for (at, to) in std::iter::once(&y).chain(all).enumerate() {
            let to = (to.cast_const(), n);
            disjoint((x, self.ncols), to).map_err(overlap)?;
            vectors[..count].iter().try_for_each(|from| disjoint((*from, n), to)).map_err(overlap)?;
            all.iter()
                .skip(at)
                .try_for_each(|other| disjoint((other.cast_const(), n), to))
                .map_err(overlap)?;
        }
        // SAFETY: as the caller promises; what is written shares nothing with the others.
        let (x, y, scalars, dots) = unsafe {
            (
                arrays::read("x", x, self.ncols)?,
                arrays::write("y", y, n)?,
                // A copy: the same doubles may take the dot products.
                arrays::read("scalars", arrays.scalars, epilogue.scalars().len())?.to_vec(),
                arrays::write("dots", arrays.dots, epilogue.dots().len())?,
            )
        };
        // SAFETY: likewise.
        let vectors =
            vectors.map(|at| unsafe { arrays::read("a vector", at, if at.is_null() { 0 } else { n }) });
        // SAFETY: likewise.
        let outputs =
            outputs.map(|at| unsafe { arrays::write("an output", at, if at.is_null() { 0 } else { n }) });
        let vectors = vectors.map(Result::unwrap_or_default);
        let mut outputs = outputs.map(Result::unwrap_or_default);
        let operands =
            HostOperands { vectors: &vectors[..count], outputs: &mut outputs[..written], scalars: &scalars };
        // New values may be under way in a stream of the caller.
        self.device.wait_for_all()?;
        Ok(self.product.multiply(x, y, operands, dots)?)
    }

    /// Vectors on the GPU.
    ///
    /// # Safety
    /// As [`Compiled::multiply`] in the memory of the GPU, until what is queued has ended; `places` is NULL or has an address or NULL for
    /// each scalar; `stream` is one of the GPU's, or NULL.
    unsafe fn queue(
        &self,
        arrays: Arrays,
        places: *const *const f64,
        stream: *mut c_void,
    ) -> Result<(), Failure> {
        let epilogue = self.epilogue();
        let names = epilogue.scalars().len();
        // SAFETY: as the caller promises.
        let (x, y, vectors, outputs) = unsafe { self.addresses(arrays)? };
        // SAFETY: as the caller promises.
        let places =
            unsafe { arrays::read("scalar_places", places, if places.is_null() { 0 } else { names })? };
        let is_placed = |at: usize| places.get(at).is_some_and(|place| !place.is_null());
        let numbers = if (0..names).all(is_placed) { 0 } else { names };
        // SAFETY: as the caller promises.
        let numbers = unsafe { arrays::read("scalars", arrays.scalars, numbers)? };
        let (n, address) = (self.nrows, |at: *const T| at.addr() as u64);
        // SAFETY: as the caller promises. NULL is the default stream of CUDA, which always exists.
        let (x, y, stream) = unsafe {
            (
                DeviceSlice::from_raw(address(x), self.ncols),
                DeviceSliceMut::from_raw(address(y), n),
                Stream::from_raw(stream),
            )
        };
        // SAFETY: likewise.
        let vectors = vectors.map(|at| unsafe { DeviceSlice::from_raw(address(at), n) });
        // SAFETY: likewise.
        let outputs = outputs.map(|at| unsafe { DeviceSliceMut::from_raw(address(at), n) });
        let scalars: [DeviceScalar<'_>; MOST_SCALARS] = array::from_fn(|at| {
            if !is_placed(at) {
                return DeviceScalar::Number(numbers.get(at).copied().unwrap_or_default());
            }
            // SAFETY: likewise.
            DeviceScalar::At(unsafe { DeviceSlice::from_raw(places[at].addr() as u64, 1) }, 0)
        });
        let (dots, results) = (epilogue.dots().len(), arrays.dots.addr() as u64);
        // SAFETY: likewise.
        let dots = (dots > 0).then(|| unsafe { DeviceSliceMut::from_raw(results, dots) });
        let operands = DeviceOperands {
            vectors: &vectors[..epilogue.vectors().len()],
            outputs: &outputs[..epilogue.outputs().len()],
            scalars: &scalars[..names],
        };
        Ok(self.product.multiply_on_device(x, y, operands, dots, Some(stream))?)
    }
}

/// Compiles an epilogue for a prepared matrix: `y[i]` = `line`, an expression of C in which `s` is the sum of the row, `(A x)[i]`, `i` its
/// number, `y[i]` the entry before the product and `x[i]` that of x, if the matrix is square. It may name the `vectors`, as `d[i]`,
/// and the `scalars`; both are names with blanks between them: "d z". `outputs` are further vectors that are written, each by
/// a line of its own, `w = 2 * out - w[i]`, where `out` is the new `y[i]`; `dots` are sums over all rows, "y * x", of the new y, x, s, vectors and outputs. Several of either
/// have semicolons between them. NULL is none. At most 8 vectors, 8 scalars, 3 outputs and 3 dot products.
///
/// The handle is independent of `op`, and sees values that are replaced there. docs/epilogues.md says what is done in the launch of the
/// product, and what in one behind it.
///
/// `SS_BAD_ARGUMENT` for names and lines that are none, with the message of the compiler; `SS_INFEASIBLE` if there is not the memory
/// beside the matrix; `SS_DEVICE`.
///
/// # Safety
/// `op` is NULL or a handle; the texts are NULL or end with a NUL. `epilogue` is a place for a handle, to be freed by `ss_epilogue_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ss_epilogue_prepare(
    op: *const OpHandle,
    line: *const c_char,
    vectors: *const c_char,
    scalars: *const c_char,
    outputs: *const c_char,
    dots: *const c_char,
    epilogue: *mut *mut EpilogueHandle,
) -> c_int {
    guarded(|| {
        // SAFETY: as the caller promises.
        let (epilogue, op) = unsafe { (Out::of_handle("epilogue", epilogue)?, held("op", op)?) };
        // SAFETY: as the caller promises.
        let parsed = unsafe {
            let line = text("line", line)?.ok_or_else(|| Failure::null("line"))?;
            let (vectors, scalars) = (text("vectors", vectors)?, text("scalars", scalars)?);
            parsed(line, vectors, scalars, text("outputs", outputs)?, text("dots", dots)?)?
        };
        threads::refuse_forked()?;
        let made = match &op.0 {
            OfType::F32(operator) => OfType::F32(Compiled::new(operator, &parsed)?),
            OfType::F64(operator) => OfType::F64(Compiled::new(operator, &parsed)?),
        };
        epilogue.give(EpilogueHandle(made));
        Ok(())
    })
}

/// The product with its epilogue, vectors in the memory of the GPU, queued in `stream` as `ss_multiply` does it and not waited for. It can
/// be captured into a CUDA graph; two graphs with the same epilogue must not run at the same time.
///
/// `vectors` and `outputs` are arrays, in the memory of the host, of the addresses of vectors on the GPU, in the order of their names; each
/// has an entry for each row. `scalars` are numbers in the memory of the host; where `scalar_places` is not NULL and has an address, in
/// the memory of the GPU, the scalar of that number is read from there while the product runs. `dots` is a place for the dot products in
/// the memory of the GPU, apart from all vectors. Scalars and dot products are double for vectors of either type. Of these, NULL will do
/// where there are none.
///
/// A vector that is read may be y or an output; x is none that is written.
///
/// `SS_BAD_ARGUMENT`, also for a matrix that was prepared on the processor; `SS_DEVICE`.
///
/// # Safety
/// `epilogue` is NULL or a handle, which is not freed before the product has ended, nor the matrix. For vectors and `stream` holds what
/// `ss_multiply` says; `dots` and places of scalars lie in the memory of that GPU likewise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ss_epilogue_multiply(
    epilogue: *const EpilogueHandle,
    x: *const c_void,
    y: *mut c_void,
    vectors: *const *const c_void,
    outputs: *const *mut c_void,
    scalars: *const f64,
    scalar_places: *const *const f64,
    dots: *mut f64,
    stream: *mut c_void,
) -> c_int {
    let arrays = Arrays { x, y, vectors, outputs, scalars, dots };
    // SAFETY: as the caller promises.
    unsafe {
        on(
            "epilogue",
            epilogue,
            |epilogue| with_type!(&epilogue.0, compiled => compiled.queue(arrays, scalar_places, stream)),
        )
    }
}

/// The product with its epilogue, vectors, scalars and `dots` in the memory of the host, on whatever device the matrix was prepared; when
/// this returns, y, outputs and dot products are computed. y, outputs and `dots` share no memory with each other or another vector.
///
/// `SS_BAD_ARGUMENT`; `SS_DEVICE`; `SS_INFEASIBLE` if a GPU has no memory for the vectors.
///
/// # Safety
/// `epilogue` is NULL or a handle; arrays and vectors are NULL or as long as `ss_epilogue_multiply` says; what is read is not written to
/// and what is written not used meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ss_epilogue_multiply_host(
    epilogue: *const EpilogueHandle,
    x: *const c_void,
    y: *mut c_void,
    vectors: *const *const c_void,
    outputs: *const *mut c_void,
    scalars: *const f64,
    dots: *mut f64,
) -> c_int {
    let arrays = Arrays { x, y, vectors, outputs, scalars, dots };
    // SAFETY: as the caller promises.
    unsafe {
        on("epilogue", epilogue, |epilogue| with_type!(&epilogue.0, compiled => compiled.multiply(arrays)))
    }
}

/// Frees an epilogue. On a GPU this waits for products that are under way. In a forked process it does nothing.
///
/// # Safety
/// `epilogue` is NULL or a handle that is no longer in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ss_epilogue_free(epilogue: *mut EpilogueHandle) {
    // What it has of its parent cannot be given back there.
    if !bindings::is_child() {
        // SAFETY: as the caller promises.
        unsafe { free(epilogue) };
    }
}
