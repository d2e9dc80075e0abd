//! The first entry of a stored model: which format, which inputs. Others are refused, never guessed at.

use super::Learner;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::marker::PhantomData;

/// `sparsight/boosting/1: block, rows, ...`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Format<L>(PhantomData<L>);

impl<L> Format<L> {
    pub(super) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<L: Learner> Format<L> {
    fn text() -> String {
        format!("{}: {}", L::FORMAT, L::inputs().join(", "))
    }
}

impl<L: Learner> Serialize for Format<L> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&Self::text())
    }
}

impl<'de, L: Learner> Deserialize<'de> for Format<L> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = String::deserialize(deserializer)?;
        if found == Self::text() {
            return Ok(Self::new());
        }
        let (model, format) = (L::NAME, found.split(':').next().unwrap_or_default());
        Err(D::Error::custom(if format == L::FORMAT {
            let count = L::inputs().len();
            format!("the {model} model looks at other inputs than the {count} of this version: fit it again")
        } else {
            let read = L::FORMAT;
            format!("the {model} model is of format '{format}', this version reads '{read}': fit it again")
        }))
    }
}
