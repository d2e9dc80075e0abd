//! A format with its shape: a name, and a look-up of everything else.

use super::family::Shape;
use super::{CsrRows, FAMILIES, FormatFamily, Layout, PaddingBound, Stored};
use crate::{Bytes, Csr, Dtype, Features, Infeasible, Limits, Scalar};
use std::fmt::{self, Write as _};
use std::str::FromStr;
use std::sync::LazyLock;
use thiserror::Error;

/// A storage format with its shape. Its text, `sell/c32/s1024`, is stable and is how it is recorded.
///
/// Ordered as [`Format::all`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Format(usize);

struct Variant {
    family: &'static FormatFamily,
    shape: Shape,
    /// The stable text.
    id: String,
}

static ALL: LazyLock<Vec<Variant>> = LazyLock::new(|| {
    let shapes =
        |family: &'static FormatFamily| (family.shapes)().into_iter().map(move |shape| (family, shape));
    FAMILIES.into_iter().flat_map(shapes).map(|(family, shape)| Variant::new(family, shape)).collect()
});

impl Variant {
    fn new(family: &'static FormatFamily, shape: Shape) -> Self {
        let mut id = family.name.to_owned();
        for (knob, value) in family.knobs.iter().zip(shape) {
            let _ = write!(id, "/{}{value}", knob.letter);
        }
        Self { family, shape, id }
    }
}

impl Format {
    /// All of the catalogue, in the order in which tables list them.
    pub fn all() -> impl ExactSizeIterator<Item = Self> + Clone {
        (0..ALL.len()).map(Self)
    }

    /// Compressed sparse rows: what every matrix is in before anything is decided.
    pub fn csr() -> Self {
        Self(0)
    }

    fn variant(self) -> &'static Variant {
        &ALL[self.0]
    }

    /// The format of that name, of which the program itself knows that there is one.
    ///
    /// # Panics
    /// If there is none.
    pub fn known(id: &str) -> Self {
        id.parse().expect("the catalogue has the formats that the program names")
    }

    /// The format of `family` with that shape.
    ///
    /// # Panics
    /// If the catalogue has none.
    pub fn of(family: &str, shape: Shape) -> Self {
        let found = Self::all().find(|f| f.name() == family && f.shape() == shape);
        found.expect("the catalogue has the shapes that its kernels read")
    }

    /// Returns whether it is plain CSR.
    pub fn is_csr(self) -> bool {
        self.0 == 0
    }

    /// The one name used in ids, reports and file names, without the shape.
    pub fn name(self) -> &'static str {
        self.family().name
    }

    /// The values of its knobs.
    pub fn shape(self) -> Shape {
        self.variant().shape
    }

    /// Family, the same for all its shapes.
    pub fn family(self) -> &'static FormatFamily {
        self.variant().family
    }

    /// Returns whether its entries stay where CSR has them.
    pub fn stays_in_csr(self) -> bool {
        self.family().stays_in_csr
    }

    /// Bytes on a device of a matrix with these features, x and y not counted; saturates.
    pub fn device_bytes(self, features: &Features, dtype: Dtype) -> Bytes {
        (self.family().device_bytes)(self.shape(), features, dtype)
    }

    /// Returns whether it stores entries that the matrix does not have.
    pub fn is_padded(self) -> bool {
        self.family().padding.is_some()
    }

    /// Bytes on a device without padding: the non-zeros' values, what the format says of where they are, and its tables;
    /// saturates.
    pub fn useful_bytes(self, features: &Features, dtype: Dtype) -> Bytes {
        let padding = self.family().padding.map_or(0, |padding| padding(self.shape(), features, dtype).0);
        Bytes(self.device_bytes(features, dtype).0.saturating_sub(padding))
    }

    /// Bound on the padding that follows from row lengths.
    pub fn padding_bound(self) -> PaddingBound {
        (self.family().padding_bound)(self.shape())
    }

    /// Entries that are stored, padding included.
    pub fn stored_entries(self, features: &Features) -> u64 {
        (self.family().stored_entries)(self.shape(), features)
    }

    /// Bits of a column index, in formats that compress them; `None` also where the features do not tell.
    pub fn bits_per_column(self, features: &Features) -> Option<f64> {
        self.family().bits_per_column.and_then(|bits| bits(self.shape(), features))
    }

    /// Returns whether a matrix with these features may be held with its x and y; the bytes of the matrix if so.
    ///
    /// # Errors
    /// [`Infeasible`] with the numbers.
    pub fn check(self, features: &Features, dtype: Dtype, limits: &Limits) -> Result<Bytes, Infeasible> {
        let (family, shape) = (self.family(), self.shape());
        match dtype {
            Dtype::F32 => family.of_f32.check(shape, features, limits),
            Dtype::F64 => family.of_f64.check(shape, features, limits),
            Dtype::Mixed => {
                // Held as in `f32`, beside larger vectors.
                let entries = features.nrows.saturating_add(features.ncols);
                let more = entries.saturating_mul(dtype.vector_bytes() - dtype.bytes());
                let memory = Bytes(limits.memory.0.saturating_sub(more));
                family.of_f32.check(shape, features, &Limits { memory, ..*limits })
            }
        }
    }

    /// `a` in this format, converted on the host; CSR is copied. O(stored entries), in parallel.
    ///
    /// # Errors
    /// [`Infeasible`] if `limits` are exceeded; nothing large has been allocated then.
    pub fn convert<T: Scalar>(self, a: &Csr<T>, limits: &Limits) -> Result<Box<dyn Stored<T>>, Infeasible> {
        self.family().of::<T>().convert(self.shape(), a, limits)
    }

    /// Steps that convert on a device that holds the CSR. O(nrows).
    ///
    /// # Errors
    /// As [`Format::convert`].
    pub fn layout<T: Scalar>(
        self,
        row_ptr: &[u64],
        ncols: u64,
        limits: &Limits,
    ) -> Result<Layout<T>, Infeasible> {
        self.family().of::<T>().layout(self.shape(), CsrRows { row_ptr, ncols }, limits)
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.variant().id)
    }
}

/// The name with its shape: `sell/c32/s1024`.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.variant().id)
    }
}

/// Text that names no format of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("'{0}' is no format of the catalogue, such as csr or sell/c32/s1024")]
pub struct ParseFormatError(pub String);

impl FromStr for Format {
    type Err = ParseFormatError;
    fn from_str(text: &str) -> Result<Self, ParseFormatError> {
        Self::all().find(|f| f.variant().id == text).ok_or_else(|| ParseFormatError(text.to_owned()))
    }
}

serde_as_text!(Format);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_unique_and_reads_back() {
        let ids: std::collections::BTreeSet<String> = Format::all().map(|f| f.to_string()).collect();
        assert_eq!(ids.len(), Format::all().len());
        for format in Format::all() {
            assert_eq!(format.to_string().parse(), Ok(format));
            assert_eq!(Format::of(format.name(), format.shape()), format);
            assert!(!format.name().is_empty() && !format.family().description.is_empty(), "{format:?}");
        }
        assert!(Format::all().is_sorted() && Format::csr().to_string() == "csr");
        assert!("dense".parse::<Format>().is_err());
    }
}
