//! The profiles that are part of the program, so that `cargo install` alone gives one that advises.

use super::vendor::other_vendor;
use super::{CALIBRATION_SCHEMA, CalibrationFile, KnownLinks, Models, Profile, ProfiledDevice, folder};
use crate::Error;
use crate::files;
use crate::models::{Files, Source};
use flate2::bufread::GzDecoder;
use std::io::Read;
use std::path::{Path, PathBuf};

struct Shipped {
    name: &'static str,
    device: &'static str,
    /// `models/index.json`, packed by `build.rs` as `calibration` below.
    index: &'static [u8],
    /// Files of `models/`: those that `best` asks. The others are in the repository.
    models: Files,
    calibration: &'static [u8],
    /// `links.json`, of several of the device that were measured together.
    links: &'static str,
}

/// A profile of the program, with these files of its models.
macro_rules! shipped {
    ($name:literal; $($model:literal),+) => {
        Shipped {
            name: $name,
            device: include_str!(concat!("../../profiles/", $name, "/device.json")),
            index: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, "/models/index.json")),
            models: &[$((
                $model,
                include_bytes!(concat!("../../profiles/", $name, "/models/", $model)).as_slice(),
            )),+],
            calibration: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, "/calibration.json")),
            links: include_str!(concat!("../../profiles/", $name, "/links.json")),
        }
    };
}

/// `profiles` in this crate is a link to the folder of that name at the root. What is named here has to stand in `include` of
/// the crate's Cargo.toml.
static SHIPPED: [Shipped; 2] = [
    shipped!(
        "nvidia-h200";
        "strip.gz", "strip-cache.gz", "strip-uniform.gz", "strip-normal.gz", "boosting.gz", "comparison.gz",
        "surroundings.gz"
    ),
    shipped!(
        "nvidia-h100";
        "strip.gz", "strip-cache.gz", "strip-uniform.gz", "strip-normal.gz", "boosting.gz", "comparison.gz",
        "surroundings.gz"
    ),
];

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|s| s.name)
}

/// Reads only the device of the profile.
pub(super) fn load_device(name: &str) -> Result<ProfiledDevice, Error> {
    let (shipped, path) = find(name)?;
    folder::parse_device(&path.join("device.json"), shipped.device)
}

pub(super) fn load(name: &str) -> Result<Profile, Error> {
    let (shipped, path) = find(name)?;
    let models = path.join("models");
    let source = Source::Program(models.clone(), shipped.models);
    Ok(Profile {
        name: name.to_owned(),
        folder: None,
        device: load_device(name)?,
        models: Models::stored(&models.join("index.json"), &text(shipped.index), source)?,
        rescaled: None,
        launch_here: None,
    })
}

pub(super) fn load_calibration(name: &str) -> Result<CalibrationFile, Error> {
    let (shipped, path) = find(name)?;
    files::parse(&path.join("calibration.json"), &text(shipped.calibration), CALIBRATION_SCHEMA)
}

/// Links between several of the device.
pub(super) fn load_links(name: &str) -> Result<KnownLinks, Error> {
    let (shipped, path) = find(name)?;
    KnownLinks::measured(&path.join("links.json"), shipped.links)
}

/// The text that `build.rs` packed.
fn text(packed: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(packed).read_to_string(&mut text).expect("what was packed when this was built");
    text
}

/// Finds a shipped profile, with the path that its files have in the repository.
fn find(name: &str) -> Result<(&'static Shipped, PathBuf), Error> {
    let Some(shipped) = SHIPPED.iter().find(|s| s.name == name) else {
        if let Some(vendor) = other_vendor(name) {
            return Err(Error::OtherVendor { name: name.to_owned(), vendor });
        }
        let shipped = names().collect::<Vec<_>>().join(", ");
        return Err(Error::NoProfile { name: name.to_owned(), shipped });
    };
    Ok((shipped, Path::new("profiles").join(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model_name::ModelName;
    use sparsight_kernels::{Kernel, catalogue_on};
    use sparsight_matrix::Dtype;

    #[test]
    fn every_model_that_is_shipped_can_be_read_and_those_that_best_asks_are_shipped() {
        for profile in names().map(|name| load(name).unwrap()) {
            let models = &profile.models;
            assert_eq!(models.strips().unwrap().len(), 4);
            assert!(models.comparison().unwrap().is_some());
            let learned_from = models.index.trained_on.len();
            assert_eq!(models.surroundings().unwrap().unwrap().matrices(), learned_from);
            let kind = profile.device.facts.kind;
            for dtype in Dtype::ALL {
                for candidate in catalogue_on(kind, dtype) {
                    let everywhere = models.index.models.iter().filter_map(|(name, indexed)| {
                        let error = indexed.known.as_ref()?.error(candidate.kernel, dtype)?;
                        Some((error, name))
                    });
                    let best = everywhere.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name);
                    let Some(best) = best.map(|name| name.parse().unwrap()) else { continue };
                    assert!(models.learned(best).unwrap().is_some(), "{best} for {candidate}");
                    assert_eq!(profile.best_model(candidate.kernel, dtype), best, "{candidate}");
                }
            }
        }
    }

    #[test]
    fn a_model_that_is_not_shipped_is_told_from_one_that_was_never_fitted() {
        let profile = load("nvidia-h200").unwrap();
        // A name of a model that the laboratory adds; its file is in the repository.
        let model = ModelName::Added("linear");
        assert!(profile.models.index.models.contains_key("linear"));
        assert!(profile.models.learned(model).unwrap().is_none() && profile.models.leaves_out(model));
        let known = profile.learned_models(Kernel::known("coo"), Dtype::F32);
        assert!(known.iter().all(|(known, _)| *known != model), "{known:?}");
        assert!(!profile.models.leaves_out(ModelName::Boosting));
    }
}
