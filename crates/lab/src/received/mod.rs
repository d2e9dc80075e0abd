//! A shared profile of another machine: what it has to pass before it is used.
//!
//! ```text
//! index        what a folder of shared profiles says of each: chip, date, kernels, quality, checksum
//! unpack       the files of NAME.tar.gz, of the names that a profile has, and no others
//! held_out     choices and predicted times on matrices that the models have not seen
//! refused      why a profile is not accepted
//! ```
//! In this order: the checksum is that of the index; the archive has the files of a profile; the device is what the index says and has
//! facts that a device can have; nearly all times are ones that a product can take; and on matrices that the models have not learned
//! from they choose no worse than a fixed candidate would, with intervals that hold. Nothing is fetched here.

mod held_out;
mod index;
mod refused;
mod unpack;

pub use held_out::HeldOutQuality;
pub use index::{INDEX_SCHEMA, IndexedProfile, ProfilesIndex};
pub use refused::RefusedProfile;

use held_out::held_out;
use sparsight::profile::ProfileFolder;
use std::path::Path;
use unpack::unpack;

/// Name of the index in a folder of shared profiles.
pub const INDEX_FILE: &str = "index.json";

/// Unpacks the profile of `archive`, the bytes of a file called `file`, into the folder `into`, which is made, and examines it. Models
/// that have seen nearly every matrix are fitted again without a fifth of them, which takes as long as `lab fit`.
///
/// # Errors
/// [`RefusedProfile`]; the folder `into` may be there then, and is the caller's to remove.
pub fn examine(archive: &[u8], file: &str, into: &Path) -> Result<IndexedProfile, RefusedProfile> {
    let name = unpack(archive, into)?;
    let folder = ProfileFolder::open(into)?;
    let device = folder.device()?;
    let quality = held_out(&folder)?;
    Ok(IndexedProfile {
        name,
        chip: device.facts.name,
        date: device.provenance.date,
        kernels: device.provenance.kernels,
        quality,
        file: file.to_owned(),
        bytes: archive.len() as u64,
        sha256: index::sha256(archive),
    })
}

/// Examines like [`examine`] a profile that `indexed` speaks of: it has to be what the index says.
///
/// # Errors
/// As [`examine`].
pub fn accept(
    archive: &[u8],
    indexed: &IndexedProfile,
    into: &Path,
) -> Result<IndexedProfile, RefusedProfile> {
    let sha256 = index::sha256(archive);
    if sha256 != indexed.sha256 {
        return Err(RefusedProfile::OtherFile { found: sha256, indexed: indexed.sha256.clone() });
    }
    let examined = examine(archive, &indexed.file, into)?;
    let said = |profile: &IndexedProfile| {
        let IndexedProfile { name, chip, date, kernels, .. } = profile.clone();
        [("name", name), ("chip", chip), ("date", date), ("kernels", kernels)]
    };
    for ((field, found), (_, indexed)) in said(&examined).into_iter().zip(said(indexed)) {
        if found != indexed {
            return Err(RefusedProfile::NotAsIndexed { field, found, indexed });
        }
    }
    Ok(examined)
}
