//! A recipe: a generator with its arguments, as text and as a matrix.

use super::generator::Arguments;
use super::{GalleryError, Generator, PREFIX, Size, Value, generators, rows};
use crate::{Bytes, Csr, Scalar};
use std::fmt;
use std::str::FromStr;

/// Most non-zeros that the gallery makes: 100 GB in f64, more than any one device that is asked about has.
/// Chosen.
const MAX_NNZ: u64 = 1 << 33;
/// Most rows and columns: what a 32-bit index can name beside "padding".
pub(crate) const MAX_DIMENSION: u64 = u32::MAX as u64 - 1;

/// A generator with a value for each of its parameters.
///
/// Its text is canonical: all parameters in the generator's order, so that a record does not depend on
/// defaults that may change.
///
/// # Invariants
/// Checked when it is parsed: every value is accepted by its parameter; the size is within the gallery's limits.
#[derive(Debug, Clone)]
pub struct Recipe {
    generator: &'static Generator,
    values: Vec<Value>,
}

impl Recipe {
    /// The generator.
    pub fn generator(&self) -> &'static Generator {
        self.generator
    }

    /// Parameters with their values, in the generator's order.
    pub fn arguments(&self) -> impl Iterator<Item = (&'static str, Value)> {
        self.generator.parameters.iter().map(|parameter| parameter.name).zip(self.values.iter().copied())
    }

    /// Rows, columns and non-zeros that the matrix will have. O(1).
    pub fn size(&self) -> Size {
        (self.generator.size)(&self.as_arguments())
    }

    /// Makes the matrix. O(nnz), in parallel; takes twice the matrix' memory for a moment.
    ///
    /// # Errors
    /// [`GalleryError::OutOfMemory`] if the system refuses the memory outright.
    pub fn generate<T: Scalar>(&self) -> Result<Csr<T>, GalleryError> {
        let Size { nrows, ncols, nnz } = self.size();
        let need = 2 * ((4 + T::DTYPE.bytes()) * nnz as u64 + 8 * nrows as u64);
        // Asked for and given back at once: what is refused here would abort the program later.
        if Vec::<u8>::new().try_reserve_exact(need as usize).is_err() {
            return Err(GalleryError::OutOfMemory { generator: self.generator.name, need: Bytes(need) });
        }
        let arguments = self.as_arguments();
        let make_row = (self.generator.rows)(&arguments);
        Ok(rows::build(nrows as usize, ncols as usize, arguments.whole("seed"), &make_row))
    }

    fn as_arguments(&self) -> Arguments<'_> {
        Arguments { parameters: self.generator.parameters, values: &self.values }
    }

    fn check_size(&self) -> Result<(), GalleryError> {
        let Size { nrows, ncols, nnz } = self.size();
        for (what, count, limit) in
            [("rows", nrows, MAX_DIMENSION), ("columns", ncols, MAX_DIMENSION), ("non-zeros", nnz, MAX_NNZ)]
        {
            if count > u128::from(limit) {
                return Err(GalleryError::TooLarge { generator: self.generator.name, what, count, limit });
            }
        }
        Ok(())
    }
}

impl PartialEq for Recipe {
    fn eq(&self, other: &Self) -> bool {
        self.generator.name == other.generator.name && self.values == other.values
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.generator.name)?;
        self.arguments().try_for_each(|(name, value)| write!(f, ",{name}={value}"))
    }
}

/// Reads `NAME[,key=value...]`, with or without [`PREFIX`].
impl FromStr for Recipe {
    type Err = GalleryError;

    fn from_str(text: &str) -> Result<Self, GalleryError> {
        let mut parts = text.strip_prefix(PREFIX).unwrap_or(text).split(',');
        let name = parts.next().unwrap_or_default();
        let generator = generators()
            .iter()
            .find(|generator| generator.name == name)
            .ok_or_else(|| GalleryError::UnknownGenerator { name: name.to_owned() })?;

        let parameters = generator.parameters;
        let mut given = vec![None; parameters.len()];
        for part in parts {
            let generator = generator.name;
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| GalleryError::NotKeyValue { generator, text: part.to_owned() })?;
            let Some(at) = parameters.iter().position(|parameter| parameter.name == key) else {
                let known = parameters.iter().map(|parameter| parameter.name).collect();
                return Err(GalleryError::UnknownParameter { generator, key: key.to_owned(), known });
            };
            let (key, accepts) = (parameters[at].name, parameters[at].accepts);
            if given[at].is_some() {
                return Err(GalleryError::Repeated { generator, key });
            }
            given[at] = accepts.parse(value);
            if given[at].is_none() {
                return Err(GalleryError::BadValue { generator, key, value: value.to_owned(), accepts });
            }
        }
        let values = parameters.iter().zip(given).map(|(p, given)| given.unwrap_or(p.default)).collect();
        let recipe = Self { generator, values };
        recipe.check_size()?;
        Ok(recipe)
    }
}
