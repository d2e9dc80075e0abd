//! The profiles that are part of the program, so that `cargo install` alone gives one that advises. The devices are compiled in; models
//! and calibrations are in the file of `files/profiles_file.rs`, which is compiled in, too, or lies beside the program.

use super::vendor::other_vendor;
use super::{CALIBRATION_SCHEMA, CalibrationFile, KnownLinks, Models, Profile, ProfiledDevice, folder};
use crate::Error;
use crate::files::{self, profiles_file::ProfilesFile};
use crate::models::Source;
use std::path::{Path, PathBuf};

struct Shipped {
    name: &'static str,
    device: &'static str,
    /// `links.json`, of several of the device that were measured together.
    links: &'static str,
}

/// A profile of the program.
macro_rules! shipped {
    ($name:literal) => {
        Shipped {
            name: $name,
            device: include_str!(concat!("../../profiles/", $name, "/device.json")),
            links: include_str!(concat!("../../profiles/", $name, "/links.json")),
        }
    };
}

/// `profiles` in this crate is a link to the folder of that name at the root. What is named here and in `build.rs` has to stand in
/// `include` of the crate's Cargo.toml.
static SHIPPED: [Shipped; 2] = [shipped!("nvidia-h200"), shipped!("nvidia-h100")];

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|s| s.name)
}

/// Reads only the device of the profile.
pub(super) fn load_device(name: &str) -> Result<ProfiledDevice, Error> {
    let (shipped, path) = find(name)?;
    folder::parse_device(&path.join("device.json"), shipped.device)
}

pub(super) fn load(name: &str) -> Result<Profile, Error> {
    let (_, path) = find(name)?;
    let (file, models) = (ProfilesFile::of_this_program()?, path.join("models"));
    let (index, source) = (models.join("index.json"), Source::Shipped(models, file));
    let device = load_device(name)?;
    let models = Models::stored(&index, &file.text(&index)?, source)?;
    Ok(Profile::of(name.to_owned(), None, device, models))
}

pub(super) fn load_calibration(name: &str) -> Result<CalibrationFile, Error> {
    let path = find(name)?.1.join("calibration.json");
    files::parse(&path, &ProfilesFile::of_this_program()?.text(&path)?, CALIBRATION_SCHEMA)
}

/// Links between several of the device.
pub(super) fn load_links(name: &str) -> Result<KnownLinks, Error> {
    let (shipped, path) = find(name)?;
    KnownLinks::measured(&path.join("links.json"), shipped.links)
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
