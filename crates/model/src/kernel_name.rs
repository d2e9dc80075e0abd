//! A kernel by its name with knobs, as it is stored: for `#[serde(with = "...")]`.

use serde::{Deserialize, Deserializer, Serializer, de::Error};
use sparsight_kernels::Kernel;

pub(crate) fn serialize<S: Serializer>(kernel: &Kernel, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(kernel)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Kernel, D::Error> {
    let text = String::deserialize(deserializer)?;
    let found = Kernel::all().find(|k| k.to_string() == text);
    found.ok_or_else(|| D::Error::custom(format!("'{text}' is no kernel of the catalogue")))
}
