//! Where the values of a prepared matrix stand, so that new ones can take their places: what is the same on a CPU and on a GPU.

use crate::DeviceError;
use sparsight_matrix::Format;

/// Where the values of a matrix in a format come from; `N` holds the number of the entry at each place of its arrays of values,
/// see [`numbered`](sparsight_matrix::numbered).
#[derive(Debug)]
pub(crate) enum ValuePlaces<N> {
    /// Entry i stands at place i.
    AsInCsr,
    /// At each place the entry of that number.
    Numbers(N),
    /// Nobody has found out.
    Unknown,
}

impl<N> ValuePlaces<N> {
    /// What is known without looking at the pattern.
    pub(crate) fn of(format: Format) -> Self {
        if format.stays_in_csr() { Self::AsInCsr } else { Self::Unknown }
    }

    /// Finds out with `find`, unless the format says it.
    ///
    /// # Errors
    /// That of `find`.
    pub(crate) fn found(
        format: Format,
        find: impl FnOnce() -> Result<N, DeviceError>,
    ) -> Result<Self, DeviceError> {
        if format.stays_in_csr() { Ok(Self::AsInCsr) } else { Ok(Self::Numbers(find()?)) }
    }

    /// The numbers, `None` where entry i stands at place i.
    ///
    /// # Errors
    /// [`DeviceError::PlacesUnknown`].
    pub(crate) fn numbers(&self, format: Format) -> Result<Option<&N>, DeviceError> {
        match self {
            Self::AsInCsr => Ok(None),
            Self::Numbers(numbers) => Ok(Some(numbers)),
            Self::Unknown => Err(DeviceError::PlacesUnknown { format: format.to_string() }),
        }
    }
}
