//! The profiles that are part of the program, so that `cargo install` alone gives one that advises.

use super::{Profile, TransferProfile, folder};
use crate::Error;
use std::path::{Path, PathBuf};

struct Shipped {
    name: &'static str,
    device: &'static str,
    models: &'static str,
    transfer: &'static str,
}

/// `profiles` in this crate is a link to the folder of that name at the root; packaging follows it.
static SHIPPED: [Shipped; 1] = [Shipped {
    name: "nvidia-h200",
    device: include_str!("../../profiles/nvidia-h200/device.json"),
    models: include_str!("../../profiles/nvidia-h200/models.json"),
    transfer: include_str!("../../profiles/nvidia-h200/transfer.json"),
}];

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|s| s.name)
}

pub(super) fn load(name: &str) -> Result<Profile, Error> {
    let (shipped, path) = find(name)?;
    Ok(Profile {
        name: name.to_owned(),
        device: folder::parse_device(&path.join("device.json"), shipped.device)?,
        models: folder::parse_models(&path.join("models.json"), shipped.models)?,
    })
}

pub(super) fn load_transfer(name: &str) -> Result<TransferProfile, Error> {
    let (shipped, path) = find(name)?;
    Ok(TransferProfile {
        name: name.to_owned(),
        device: folder::parse_device(&path.join("device.json"), shipped.device)?,
        parameters: folder::parse_transfer(&path.join("transfer.json"), shipped.transfer)?.parameters,
    })
}

/// With the path that its files have in the repository.
fn find(name: &str) -> Result<(&'static Shipped, PathBuf), Error> {
    let Some(shipped) = SHIPPED.iter().find(|s| s.name == name) else {
        let shipped = names().collect::<Vec<_>>().join(", ");
        return Err(Error::NoProfile { name: name.to_owned(), shipped });
    };
    Ok((shipped, Path::new("profiles").join(name)))
}
