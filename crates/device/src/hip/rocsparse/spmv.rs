//! `rocsparse_spmv`, the library's generic product: matrix and vectors described, its preprocess stage and its buffer.

use super::api::{BY_COLUMNS, FROM_ZERO, NARROW, PLAIN, Rocsparse as Api, Stage, WIDE, named, value_type};
use super::{INDICES, Library};
use crate::DeviceError;
use crate::gpu::{DeviceArray, DeviceMatrix, Memory, Vectors};
use crate::vendor::{Offsets, pointer};
use sparsight_kernels::Rocsparse;
use sparsight_matrix::{Dtype, Scalar};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;

/// The library's description of a matrix.
#[derive(Debug)]
pub(super) struct Described {
    raw: *mut c_void,
    api: &'static Api,
    /// The library points to them.
    _offsets: Option<Offsets>,
}

// SAFETY: a handle that the library takes from any thread, one at a time.
unsafe impl Send for Described {}

impl Described {
    /// Describes a matrix with non-zeros.
    ///
    /// # Errors
    /// [`DeviceError::CannotRun`] if indices are too large for the library, or its ELL has gaps between columns; or a failed call.
    ///
    /// # Panics
    /// If `routine` reads another format.
    pub(super) fn new(
        library: &Library,
        routine: Rocsparse,
        matrix: &DeviceMatrix,
        dtype: Dtype,
    ) -> Result<Self, DeviceError> {
        let number = |name| matrix.number(name).expect("the format has the numbers that the library is told");
        let nnz = number("nnz");
        let (rows, cols, entries) = (number("nrows") as i64, number("ncols") as i64, nnz as i64);
        let (api, of, dtype) = (library.api, |name| pointer(matrix.address(name)), value_type(dtype));
        let (col_idx, values) = (of("col_idx"), of("values"));
        let (mut raw, mut offsets) = (ptr::null_mut(), None);
        // Calls the library with what all formats end with, and gives the name of the function and its status.
        macro_rules! create {
            ($create:ident($($argument:expr),*)) => {{
                // SAFETY: the arrays are on the device, as long as said and outlive the description, in which narrowed offsets live.
                let status = unsafe { (api.$create)(&raw mut raw, $($argument,)* NARROW, FROM_ZERO, dtype) };
                (stringify!($create), status)
            }};
        }
        let (call, status) = match routine {
            Rocsparse::Csr | Rocsparse::CsrAdaptive | Rocsparse::CsrStream | Rocsparse::CsrLrb => {
                let width = if matrix.offset_bytes() == 4 {
                    INDICES.limit(matrix, "non-zeros under offsets of 32 bits", nnz).map(|()| NARROW)?
                } else {
                    WIDE
                };
                create!(rocsparse_create_csr_descr(
                    rows,
                    cols,
                    entries,
                    of("row_ptr"),
                    col_idx,
                    values,
                    width
                ))
            }
            Rocsparse::Coo => {
                INDICES.limit(matrix, "non-zeros", nnz)?;
                create!(rocsparse_create_coo_descr(rows, cols, entries, of("row_idx"), col_idx, values))
            }
            Rocsparse::Ell => {
                let (width, stride) = (number("width"), number("stride"));
                INDICES.limit(matrix, "stored entries", width.saturating_mul(stride))?;
                if stride as i64 != rows {
                    let reason = format!(
                        "its columns have no gaps: rows must be a multiple of 32, and {rows} are not"
                    );
                    return Err(INDICES.refused(matrix, reason));
                }
                create!(rocsparse_create_ell_descr(rows, cols, col_idx, values, width as i64))
            }
            Rocsparse::Bsr => {
                let (stored, side) = (number("stored_blocks"), number("side"));
                INDICES.limit(matrix, "blocks", stored)?;
                // Nothing promises that it numbers values with more than 32 bits.
                INDICES.limit(matrix, "values", stored.saturating_mul(side * side))?;
                let memory: Arc<dyn Memory> = Arc::clone(&library.context) as _;
                let narrowed = Offsets::narrowed(matrix, stored, &memory)?.expect("the limit is the same");
                let row_ptr = pointer(offsets.insert(narrowed).address());
                let (stored, side) = (stored as i64, side as i64);
                let (rows, cols) = (rows / side, cols / side);
                create!(rocsparse_create_bsr_descr(
                    rows, cols, stored, BY_COLUMNS, side, row_ptr, col_idx, values, NARROW
                ))
            }
        };
        named(call, status)?;
        Ok(Self { raw, api, _offsets: offsets })
    }
}

impl Drop for Described {
    fn drop(&mut self) {
        // SAFETY: created in `new`, destroyed only here. Nothing can be done about a failure.
        let _ = unsafe { (self.api.rocsparse_destroy_spmat_descr)(self.raw) };
    }
}

/// The library's description of x or y.
#[derive(Debug)]
struct Vector {
    raw: *mut c_void,
    api: &'static Api,
}

// SAFETY: as of a matrix.
unsafe impl Send for Vector {}

impl Vector {
    fn new(api: &'static Api, address: u64, len: u64, dtype: Dtype) -> Result<Self, DeviceError> {
        let mut raw = ptr::null_mut();
        // SAFETY: the pointer is to a live handle; the caller that queues a product vouches for the address.
        let status = unsafe {
            (api.rocsparse_create_dnvec_descr)(&raw mut raw, len as i64, pointer(address), value_type(dtype))
        };
        named("rocsparse_create_dnvec_descr", status)?;
        Ok(Self { raw, api })
    }

    fn point_to(&self, address: u64) -> Result<(), DeviceError> {
        // SAFETY: the description is alive; the caller that queues a product vouches for the address.
        let status = unsafe { (self.api.rocsparse_dnvec_set_values)(self.raw, pointer(address)) };
        named("rocsparse_dnvec_set_values", status)
    }
}

impl Drop for Vector {
    fn drop(&mut self) {
        // SAFETY: created in `new`, destroyed only here.
        let _ = unsafe { (self.api.rocsparse_destroy_dnvec_descr)(self.raw) };
    }
}

/// The arguments of `rocsparse_spmv`.
#[derive(Debug)]
pub(in crate::hip) struct SpMv<T> {
    algorithm: c_int,
    // Descriptors point to the arrays, of which the buffer is one: they go first.
    matrix: Described,
    x: Vector,
    y: Vector,
    buffer: DeviceArray<u8>,
    /// Bytes that the library asked for.
    bytes: usize,
    /// alpha and beta of y = alpha A x + beta y, in host memory, where the library looks for them.
    scalars: (T, T),
}

impl<T: Scalar> SpMv<T> {
    /// Describes the vectors and lets the library look at the matrix.
    ///
    /// # Errors
    /// [`DeviceError::Infeasible`] if there is no memory for its buffer, or a failed call.
    pub(super) fn new(
        library: &Library,
        routine: Rocsparse,
        described: Described,
        matrix: &DeviceMatrix,
        v: &Vectors,
    ) -> Result<Self, DeviceError> {
        let (api, len) =
            (library.api, |name| matrix.number(name).expect("every matrix has rows and columns"));
        let x = Vector::new(api, v.x, len("ncols"), T::DTYPE)?;
        let y = Vector::new(api, v.y, len("nrows"), T::DTYPE)?;
        let memory: Arc<dyn Memory> = Arc::clone(&library.context) as _;
        let scalars = (T::from_f64(1.0), T::from_f64(0.0));
        // Never no memory at all: with null the library would only say how much it wants.
        let buffer = DeviceArray::<u8>::new(&memory, 1)?;
        let mut call =
            Self { algorithm: algorithm(routine), matrix: described, x, y, buffer, bytes: 0, scalars };
        call.run(library, Stage::BufferSize)?;
        if call.bytes > 1 {
            call.buffer = DeviceArray::<u8>::new(&memory, call.bytes)?;
        }
        call.run(library, Stage::Preprocess)?;
        Ok(call)
    }

    /// Queues one product.
    pub(super) fn queue(&mut self, library: &Library, v: &Vectors) -> Result<(), DeviceError> {
        self.x.point_to(v.x)?;
        self.y.point_to(v.y)?;
        self.scalars = (T::from_f64(v.alpha), T::from_f64(v.beta));
        self.run(library, Stage::Compute)
    }

    fn run(&mut self, library: &Library, stage: Stage) -> Result<(), DeviceError> {
        let (alpha, beta) = (&raw const self.scalars.0, &raw const self.scalars.1);
        let buffer =
            if matches!(stage, Stage::BufferSize) { ptr::null_mut() } else { pointer(self.buffer.address()) };
        // SAFETY: handle and descriptors are alive, and so are the arrays that they point to; alpha and beta are of the compute type
        // and are read before the call returns; the buffer is as large as the library asked for.
        let status = unsafe {
            (library.api.rocsparse_spmv)(
                library.raw,
                PLAIN,
                alpha.cast(),
                self.matrix.raw,
                self.x.raw,
                beta.cast(),
                self.y.raw,
                value_type(T::DTYPE),
                self.algorithm,
                stage as c_int,
                &raw mut self.bytes,
                buffer,
            )
        };
        named("rocsparse_spmv", status)
    }
}

/// Its number in `rocsparse_spmv_alg`.
const fn algorithm(routine: Rocsparse) -> c_int {
    match routine {
        Rocsparse::Csr => 0,
        Rocsparse::Coo => 1,
        Rocsparse::CsrAdaptive => 2,
        Rocsparse::CsrStream => 3,
        Rocsparse::Ell => 4,
        Rocsparse::Bsr => 6,
        Rocsparse::CsrLrb => 7,
    }
}
