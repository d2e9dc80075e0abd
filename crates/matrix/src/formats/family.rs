//! Format families: everything that the rest of the program asks about a format, answered by its file.

use super::{Layout, NamedArrays, NamedNumbers, NumberOf};
use crate::{Bytes, Csr, Dtype, Features, Infeasible, Limits, MatrixSize, Scalar};
use rayon::prelude::*;
use std::any::Any;
use std::fmt;

/// Something that can be chosen of a format or kernel. In ids a letter and a number: `c32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Knob {
    /// Letter in ids.
    pub letter: char,
    /// Meaning in a few words.
    pub meaning: &'static str,
}

/// The values of a format's knobs, in their order; 0 where it has no such knob.
pub type Shape = [u32; 2];

/// A format as data: a table of everything that is asked about it. One `static` in the file of each format.
pub struct FormatFamily {
    /// The one name used in ids, reports and file names.
    pub name: &'static str,
    /// Knobs that its shapes differ in.
    pub knobs: &'static [Knob],
    /// Shapes of the catalogue, in the order in which tables list them.
    pub shapes: fn() -> Vec<Shape>,
    /// Description: a picture, and the table of its arrays and numbers with types and lengths, which a test holds to what the
    /// format hands out. The same text is the documentation of its module.
    pub description: &'static str,
    /// Bound on the padding that follows from row lengths.
    pub padding_bound: fn(Shape) -> PaddingBound,
    /// True if its entries stay where CSR has them, so that nothing is converted: only tables are added.
    pub stays_in_csr: bool,
    /// Routine with which a device makes benchmark matrices in it without a CSR; `None` if it makes a CSR and converts that.
    pub generator: Option<Generator>,
    /// True if row lengths hardly slow its kernels down, so that their times are never far from the best.
    pub is_steady: bool,
    /// Names of it, or of the nearest format, in other libraries; empty where its entries stay those of CSR.
    pub elsewhere: &'static [Elsewhere],
    /// Bytes on a device, exactly; saturates, and is `u64::MAX` where the features do not tell.
    pub device_bytes: fn(Shape, &Features, Dtype) -> Bytes,
    /// Entries that are stored, padding included; `u64::MAX` where the features do not tell.
    pub stored_entries: fn(Shape, &Features) -> u64,
    /// Bytes on a device of stored entries that the matrix does not have, part of `device_bytes`; saturates. `None` where
    /// there are none.
    pub padding: Option<fn(Shape, &Features, Dtype) -> Bytes>,
    /// Bits of a column index, in formats that compress them.
    pub bits_per_column: Option<fn(Shape, &Features) -> Option<f64>>,
    /// Conversions and refusals in `f32`.
    pub of_f32: &'static dyn FormatOf<f32>,
    /// Implementation in `f64`.
    pub of_f64: &'static dyn FormatOf<f64>,
}

/// Bytes of the values of those of `stored` entries that are padding.
pub(super) fn padded_values(stored: u64, f: &Features, dtype: Dtype) -> Bytes {
    Bytes(stored.saturating_sub(f.nnz).saturating_mul(dtype.bytes()))
}

/// Bytes of the padding among `stored` entries, each with a column of 32 bits.
pub(super) fn padded_entries(stored: u64, f: &Features, dtype: Dtype) -> Bytes {
    Bytes(stored.saturating_sub(f.nnz).saturating_mul(4 + dtype.bytes()))
}

/// Bound on the stored entries of a format from the lengths of the rows alone, whatever their order.
///
/// Rows that fill a format up are not in it and come on top: at most C - 1 in the last slice of C rows, and 31 in ELL and HYB, whose
/// stride is a multiple of 32, each stored as long as the longest in its slice. Where there are fewer rows than a slice has, that may
/// be C times the non-zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaddingBound {
    /// At most three times the non-zeros.
    AsEntries,
    /// Every row is stored as long as the longest: longest row over mean, times the non-zeros.
    LongestRow,
    /// So many rows at a time are stored as long as the longest of them. With n rows, mean row length m, standard deviation s, and in a
    /// slice c rows, C but in the last, with squared deviations D: its longest row has at most `m + sqrt(D)`, so the rows of all slices
    /// are stored with at most `sum c (m + sqrt(D)) <= nnz + sqrt(sum c^2 sum D) <= nnz + sqrt(C n) sqrt(n) s = nnz (1 + sqrt(C) s / m)`
    /// entries; and with no more than with [`PaddingBound::LongestRow`].
    Slices(u32),
    /// It depends on the columns.
    Unknown,
}

/// A format or a kernel by the name that another library has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Elsewhere {
    /// The library.
    pub library: &'static str,
    /// Name of the format, or of the kernel, there.
    pub name: &'static str,
}

/// A routine of a device that fills the arrays of a [`Layout`] from the formula of benchmark matrices.
#[derive(Debug)]
pub struct Generator {
    /// Name of the routine.
    pub routine: &'static str,
    /// Threads that have something to do; `number` looks up a number of the format.
    pub threads: fn(number: &NumberOf<'_>) -> u64,
    /// Arguments behind the formula, by name.
    pub args: &'static [&'static str],
}

impl fmt::Debug for FormatFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl FormatFamily {
    /// A format without knobs that stores no entries beside those of the matrix, with these conversions. The file of a format states its
    /// name, description and size, and what else differs.
    pub(super) const fn base<F: FormatOf<f32> + FormatOf<f64>>(of: &'static F) -> Self {
        Self {
            name: "",
            knobs: &[],
            shapes: || vec![Shape::default()],
            description: "",
            padding_bound: |_| PaddingBound::AsEntries,
            stays_in_csr: false,
            generator: None,
            is_steady: false,
            elsewhere: &[],
            device_bytes: |_, f, dtype| Csr::<f32>::device_bytes(f.nrows, f.nnz, dtype),
            stored_entries: |_, f| f.nnz,
            padding: None,
            bits_per_column: None,
            of_f32: of,
            of_f64: of,
        }
    }

    /// Conversions for the value type.
    pub(super) fn of<T: Scalar>(&self) -> &'static dyn FormatOf<T> {
        let found: &dyn Any = match T::DTYPE {
            Dtype::F32 => &self.of_f32,
            Dtype::F64 | Dtype::Mixed => &self.of_f64,
        };
        *found.downcast_ref::<&'static dyn FormatOf<T>>().expect("the value type has that name")
    }
}

/// Conversions and refusals of a format, which depend on the value type.
pub trait FormatOf<T: Scalar>: Sync {
    /// Returns whether a matrix with these features may be held with its x and y; the bytes of the matrix if so.
    ///
    /// # Errors
    /// [`Infeasible`] with the numbers.
    fn check(&self, shape: Shape, features: &Features, limits: &Limits) -> Result<Bytes, Infeasible>;

    /// Converts on the host, with all of its cores; CSR is copied.
    ///
    /// # Errors
    /// [`Infeasible`] if `limits` are exceeded; nothing large has been allocated then.
    fn convert(&self, shape: Shape, a: &Csr<T>, limits: &Limits) -> Result<Box<dyn Stored<T>>, Infeasible>;

    /// Steps that convert on a device that holds the CSR, from the row offsets alone. O(nrows).
    ///
    /// # Errors
    /// As [`FormatOf::convert`].
    fn layout(&self, shape: Shape, csr: CsrRows<'_>, limits: &Limits) -> Result<Layout<T>, Infeasible>;
}

/// The rows of a matrix in CSR without its entries.
#[derive(Debug, Clone, Copy)]
pub struct CsrRows<'a> {
    /// `nrows + 1` offsets into the entries.
    pub row_ptr: &'a [u64],
    /// Columns of the matrix.
    pub ncols: u64,
}

impl CsrRows<'_> {
    /// Rows, columns and non-zeros.
    pub(super) fn size(self) -> MatrixSize {
        let nrows = self.row_ptr.len() - 1;
        MatrixSize { nrows: nrows as u64, ncols: self.ncols, nnz: self.row_ptr[nrows] }
    }

    /// Longest row, 0 without rows. O(nrows), in parallel.
    pub(super) fn longest(self) -> u64 {
        longest_row(self.row_ptr)
    }
}

impl<'a, T: Scalar> From<&'a Csr<T>> for CsrRows<'a> {
    fn from(a: &'a Csr<T>) -> Self {
        Self { row_ptr: a.row_ptr(), ncols: a.ncols() as u64 }
    }
}

/// Longest of the rows with these offsets, 0 without rows. O(nrows), in parallel.
pub(super) fn longest_row(row_ptr: &[u64]) -> u64 {
    row_ptr.par_windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0)
}

/// A matrix in a storage format, as named arrays and numbers.
pub trait Stored<T: Scalar>: Any + fmt::Debug + Send + Sync {
    /// Numbers that kernels are given beside the arrays.
    fn numbers(&self) -> NamedNumbers {
        Vec::new()
    }

    /// The arrays.
    fn arrays(&self) -> NamedArrays<'_, T>;

    /// Arrays that hold values of the matrix, in the same order.
    fn values_mut(&mut self) -> Vec<&mut [T]>;

    /// Bytes of all arrays on a device.
    fn bytes(&self) -> u64 {
        self.arrays().iter().map(|(_, array)| array.bytes()).sum()
    }

    /// The row at each place, if rows change places; else nothing.
    fn row_order(&self) -> &[u32] {
        &[]
    }
}
