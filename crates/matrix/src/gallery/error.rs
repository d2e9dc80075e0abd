//! Errors of the gallery: text that is no recipe, and recipes without a matrix.

use super::{Accepts, generators};
use crate::Bytes;
use thiserror::Error;

/// A refusal of the gallery. Hints on what to write instead are given by [`GalleryError::hint`].
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum GalleryError {
    /// No generator of that name.
    #[error("the gallery has no generator '{name}'")]
    UnknownGenerator {
        /// The text as written.
        name: String,
    },
    /// The generator has no such parameter.
    #[error("{generator} has no parameter '{key}'")]
    UnknownParameter {
        /// Name of the generator.
        generator: &'static str,
        /// The text as written.
        key: String,
        /// Parameters that it has.
        known: Vec<&'static str>,
    },
    /// Something between commas that is not `key=value`.
    #[error("{generator}: '{text}' is not key=value")]
    NotKeyValue {
        /// Generator.
        generator: &'static str,
        /// The text as written.
        text: String,
    },
    /// A parameter written twice.
    #[error("{generator}: {key} is given twice")]
    Repeated {
        /// Generator.
        generator: &'static str,
        /// Parameter.
        key: &'static str,
    },
    /// A value out of range or of the wrong kind.
    #[error("{generator}: {key} must be {accepts}, got '{value}'")]
    BadValue {
        /// Generator.
        generator: &'static str,
        /// Parameter.
        key: &'static str,
        /// The text as written.
        value: String,
        /// Accepted values.
        accepts: Accepts,
    },
    /// Larger than the gallery makes.
    #[error("{generator}: {count} {what} are more than the limit of {limit}")]
    TooLarge {
        /// Generator.
        generator: &'static str,
        /// `rows`, `columns` or `non-zeros`.
        what: &'static str,
        /// Number that it would have.
        count: u128,
        /// Number that it may have.
        limit: u64,
    },
    /// The system does not give the memory.
    #[error("{generator}: the system does not give the {need} that making this matrix takes")]
    OutOfMemory {
        /// Generator.
        generator: &'static str,
        /// Bytes of the matrix and of the pieces that it is put together from.
        need: Bytes,
    },
}

impl GalleryError {
    /// Text that the user can write instead, if any is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownGenerator { name } => {
                let names: Vec<&str> = generators().iter().map(|generator| generator.name).collect();
                let all = format!("the gallery has {}", names.join(", "));
                Some(suggested(name, names, all))
            }
            Self::UnknownParameter { key, known, .. } => {
                let all = format!("its parameters are {}", known.join(", "));
                Some(suggested(key, known.iter().copied(), all))
            }
            Self::NotKeyValue { generator, .. } => Some(format!(
                "parameters follow the name, separated by commas: gallery:{generator},key=value"
            )),
            _ => None,
        }
    }
}

/// The name nearest to `text` by edit distance (Levenshtein 1966), the first of several; `None` if more than half of it would change.
fn meant<'n>(text: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let apart = |name| (strsim::levenshtein(text, name), name);
    let (edits, near) = names.into_iter().map(apart).min_by_key(|near| near.0)?;
    (2 * edits <= near.chars().count()).then_some(near)
}

/// The list of all names, after `did you mean NAME?` if a name is near to `text`.
pub fn suggested<'n>(
    text: &str,
    names: impl IntoIterator<Item = &'n str>,
    all: impl std::fmt::Display,
) -> String {
    match meant(text, names) {
        Some(near) => format!("did you mean {near}? {all}"),
        None => all.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_suggests_the_nearest_name_and_nonsense_none() {
        let names = ["stencil2d", "stencil3d", "arrow"];
        assert_eq!(meant("stencil_2d", names), Some("stencil2d"));
        assert_eq!(meant("arow", names), Some("arrow"));
        assert_eq!((meant("poisson", names), meant("", names), meant("arrow", [])), (None, None, None));
        assert_eq!(suggested("arow", names, "there are three"), "did you mean arrow? there are three");
        assert_eq!(suggested("poisson", names, "there are three"), "there are three");
    }
}
