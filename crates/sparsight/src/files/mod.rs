//! Files of a profile: JSON documents that begin with their schema, TOML that people write, the models of the shipped profiles, and
//! the writing of whole files.

pub(crate) mod profiles_file;
pub mod whole_file;
pub(crate) mod written_number;

use crate::Error;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sparsight_matrix::io::read_regular_text;
use std::path::Path;

/// Parses the text of the file `path`, which has to be of the expected schema.
///
/// # Errors
/// [`Error::Malformed`], [`Error::Schema`].
pub fn parse<T: DeserializeOwned>(path: &Path, text: &str, expected: &'static str) -> Result<T, Error> {
    #[derive(Deserialize)]
    struct Schema {
        schema: String,
    }
    let malformed = |e: serde_json::Error| Error::Malformed {
        path: path.to_owned(),
        line: e.line(),
        reason: e.to_string(),
    };
    // The schema is looked at first: a file of another version should say so and not complain of a field.
    let Schema { schema: found } = serde_json::from_str(text).map_err(malformed)?;
    if found != expected {
        return Err(Error::Schema { path: path.to_owned(), found, expected });
    }
    serde_json::from_str(text).map_err(malformed)
}

/// The text of the file `path`, which is no pipe or device and not too large for a document.
///
/// # Errors
/// [`Error::File`].
pub(crate) fn text_of(path: &Path) -> Result<String, Error> {
    read_regular_text(path).map_err(|source| Error::File { path: path.to_owned(), source })
}

/// Parses the TOML text of the file `path`.
///
/// # Errors
/// [`Error::Malformed`] with the line.
pub(crate) fn parse_toml<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, Error> {
    toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let (line, reason) = (1 + before.matches('\n').count(), error.message().to_owned());
        Error::Malformed { path: path.to_owned(), line, reason }
    })
}
