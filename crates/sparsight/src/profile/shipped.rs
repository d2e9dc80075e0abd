//! The profiles that are part of the program, so that `cargo install` alone gives one that advises.

use super::{Profile, folder};
use crate::Error;
use std::path::Path;

struct Shipped {
    name: &'static str,
    device: &'static str,
    models: &'static str,
}

/// `profiles` in this crate is a link to the folder of that name at the root; packaging follows it.
const SHIPPED: [Shipped; 1] = [Shipped {
    name: "nvidia-h200",
    device: include_str!("../../profiles/nvidia-h200/device.json"),
    models: include_str!("../../profiles/nvidia-h200/models.json"),
}];

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|s| s.name)
}

pub(super) fn load(name: &str) -> Result<Profile, Error> {
    let Some(shipped) = SHIPPED.iter().find(|s| s.name == name) else {
        let shipped = names().collect::<Vec<_>>().join(", ");
        return Err(Error::NoProfile { name: name.to_owned(), shipped });
    };
    let path = Path::new("profiles").join(name);
    Ok(Profile {
        name: name.to_owned(),
        device: folder::parse_device(&path.join("device.json"), shipped.device)?,
        models: folder::parse_models(&path.join("models.json"), shipped.models)?,
    })
}
