//! A JSON document that begins with its schema.

use crate::Error;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// What is in the text of the file `path`, if that is of the schema that is expected.
///
/// # Errors
/// [`Error::Malformed`], [`Error::Schema`].
pub(crate) fn parse<T: DeserializeOwned>(
    path: &Path,
    text: &str,
    expected: &'static str,
) -> Result<T, Error> {
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
