//! Stored form of a model: text, and beside it as bytes what would take many times as long to read as text.

use crate::packed;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A model that is stored in a file of its own. Its text is what `serde` makes of [`Storable::split`].
pub trait Storable: Clone + Serialize + DeserializeOwned {
    /// Name and version of the stored form; another one is not read.
    const FORMAT: &'static str;

    /// Itself without what is stored as bytes, and these bytes: none, unless a model says otherwise.
    fn split(&self) -> (Self, Vec<u8>) {
        (self.clone(), Vec::new())
    }

    /// The whole, from what [`Storable::split`] made of it.
    ///
    /// # Errors
    /// A description of the fault in the bytes.
    fn join(self, body: &[u8]) -> Result<Self, String> {
        packed::end(body)?;
        Ok(self)
    }
}
