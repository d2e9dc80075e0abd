//! A GPU that nobody here measured, from what its data sheet says.
//!
//! ```toml
//! name = "Some GPU"
//! multiprocessors = 108
//! l2_bytes = 40e6
//! memory_bytes = 80e9
//! copy_bytes_per_s = 1.75e12       # of large copies, read and written: about 0.9 of the bandwidth in data sheets
//! launch_s = 2.0e-6
//! compute_capability = [8, 0]
//! threads_per_multiprocessor = 2048   # these three may be left out
//! upload_bytes_per_s = 20e9
//! reference = "nvidia-h200"           # the profile whose predictions are carried over
//! ```
//! The names are those of `device.json`.

use super::{DEVICE_SCHEMA, GridName, Profile, ProfiledDevice, Provenance, document};
use crate::Error;
use serde::Deserialize;
use sparsight_kernels::{DeviceFacts, DeviceKind};
use sparsight_matrix::{Bytes, Seconds};
use sparsight_model::{Between, Rescaling};
use std::collections::BTreeMap;
use std::path::Path;

/// Ends the name of a file that holds one.
const EXTENSION: &str = "toml";
/// Whose predictions are carried over if nothing is said.
const REFERENCE: &str = "nvidia-h200";
/// Threads of a warp, on every GPU so far.
const WARP: u32 = 32;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DataSheet {
    name: String,
    multiprocessors: u32,
    l2_bytes: f64,
    memory_bytes: f64,
    copy_bytes_per_s: f64,
    launch_s: f64,
    compute_capability: (u32, u32),
    #[serde(default = "threads_per_multiprocessor")]
    threads_per_multiprocessor: u32,
    #[serde(default)]
    upload_bytes_per_s: Option<f64>,
    #[serde(default = "reference")]
    reference: String,
}

fn threads_per_multiprocessor() -> u32 {
    2048
}

fn reference() -> String {
    REFERENCE.to_owned()
}

/// Whether text that names a profile means a data sheet.
pub(super) fn is_data_sheet(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == EXTENSION)
}

/// The predictions of the reference that the file names, carried to the GPU that it describes.
pub(super) fn load(path: &Path) -> Result<Profile, Error> {
    let text = document::text_of(path)?;
    let malformed = |line, reason| Error::Malformed { path: path.to_owned(), line, reason };
    let sheet: DataSheet = document::parse_toml(path, &text)?;
    let line_of = |field: &str| {
        text.lines().position(|line| line.trim_start().starts_with(field)).map_or(1, |at| at + 1)
    };
    let whole = |field: &str, bytes: f64| {
        let is_size = (1.0..1e18).contains(&bytes);
        is_size
            .then_some(Bytes(bytes as u64))
            .ok_or_else(|| malformed(line_of(field), format!("{field} is {bytes}, no size")))
    };
    let facts = DeviceFacts {
        name: sheet.name,
        kind: DeviceKind::Cuda,
        multiprocessors: sheet.multiprocessors,
        warps_per_multiprocessor: sheet.threads_per_multiprocessor / WARP,
        threads_per_multiprocessor: sheet.threads_per_multiprocessor,
        max_threads_per_block: Some(1024),
        l2_bytes: whole("l2_bytes", sheet.l2_bytes)?,
        memory_bytes: whole("memory_bytes", sheet.memory_bytes)?,
        compute_capability: Some(sheet.compute_capability),
        driver: String::new(),
        copy_bytes_per_s: sheet.copy_bytes_per_s,
        launch_s: Seconds(sheet.launch_s),
        upload_bytes_per_s: sheet.upload_bytes_per_s,
    };
    facts.check().map_err(|implausible| malformed(line_of(implausible.field), implausible.to_string()))?;
    for (field, value) in [("copy_bytes_per_s", facts.copy_bytes_per_s), ("launch_s", facts.launch_s.0)] {
        if value <= 0.0 {
            return Err(malformed(line_of(field), format!("{field} is {value}: nothing follows from that")));
        }
    }
    let reference = Profile::with_models(&sheet.reference)?;
    let source = format!("the data sheet {}", path.display());
    let device = ProfiledDevice {
        schema: DEVICE_SCHEMA.to_owned(),
        grid: GridName::Quick,
        conversion: BTreeMap::new(),
        converts_from_nnz: None,
        provenance: Provenance { source: Some(source), ..Provenance::now("", 0) },
        facts,
    };
    let between = Between { from: &reference.device.facts, to: &device.facts };
    let rescaling = Rescaling::of_facts(between);
    Ok(reference.carried_to(device, &path.display().to_string(), rescaling))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const SHEET: &str = "name = \"Some GPU\"\nmultiprocessors = 108\nl2_bytes = 40e6\nmemory_bytes = 80e9\n\
                         copy_bytes_per_s = 1.75e12\nlaunch_s = 2.0e-6\ncompute_capability = [8, 0]\n";

    fn loaded(text: &str) -> Result<Profile, Error> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("some.toml");
        fs::write(&path, text).unwrap();
        Profile::find(path.to_str().unwrap())
    }

    #[test]
    fn a_data_sheet_answers_with_the_predictions_of_its_reference() {
        let profile = loaded(SHEET).unwrap();
        let rescaled = profile.rescaled.as_ref().unwrap();
        let between = Between { from: &rescaled.reference.device.facts, to: &profile.device.facts };
        let expected = (REFERENCE, Rescaling::of_facts(between));
        assert_eq!((rescaled.reference.name.as_str(), rescaled.rescaling), expected);
        assert_eq!(profile.device.facts.warps_per_multiprocessor, 64);
        let other = loaded(&format!("{SHEET}reference = \"nvidia-h100\"\n")).unwrap();
        assert_eq!(other.rescaled.unwrap().reference.name, "nvidia-h100");
    }

    #[test]
    fn a_data_sheet_knows_of_no_links_and_is_not_taken_for_a_profile_that_is_missing() {
        assert_eq!(loaded(SHEET).unwrap().links().unwrap(), None);
        let shipped = Profile::find(REFERENCE).unwrap();
        assert!(shipped.links().unwrap().is_some());
    }

    #[test]
    fn what_is_wrong_with_a_data_sheet_is_said_with_its_line() {
        let wrong = |from: &str, to: &str| loaded(&SHEET.replace(from, to)).unwrap_err().to_string();
        for (from, to, expected) in [
            ("launch_s = 2.0e-6\n", "", "missing field `launch_s`"),
            ("launch_s", "lunch_s", "toml:6: unknown field `lunch_s`"),
            ("108", "\"many\"", "toml:2: "),
            ("40e6", "-1", "toml:3: l2_bytes is -1, no size"),
            ("1.75e12", "0", "toml:5: copy_bytes_per_s is 0"),
            ("2.0e-6", "5.0", "toml:6: launch_s is 5e0"),
            ("= 108", "= ", "toml:2: "),
        ] {
            let why = wrong(from, to);
            assert!(why.contains(expected), "{why}");
        }
        assert!(matches!(Profile::find("absent/some.toml"), Err(Error::File { .. })));
    }
}
