//! A GPU that was not measured here, from the numbers of its data sheet.
//!
//! ```toml
//! name = "Some GPU"
//! multiprocessors = 108
//! l2_bytes = 40e6
//! memory_bytes = 80e9
//! memory_bytes_per_s = 1.935e12    # the bandwidth that the data sheet states; or copy_bytes_per_s, measured: bytes read plus written
//! launch_s = 2.0e-6
//! compute_capability = [8, 0]         # of a GPU of AMD, the first numbers of its chip: [9, 4] for gfx942
//! threads_per_multiprocessor = 2048   # these four may be left out
//! wave_size = 32                      # 64 on GPUs of AMD before gfx10
//! upload_bytes_per_s = 20e9
//! reference = "nvidia-h200"           # the profile whose predictions are carried over
//! ```
//! The other names are those of `device.json`. A number that the field cannot have is refused, with the unit that was likely meant.
//! What a data sheet does not say is assumed, and each answer says what: `Provenance::assumptions`.

use super::vendor::{AMD, is_nvidias, other_vendor};
use super::{DEVICE_SCHEMA, GridName, Profile, ProfiledDevice, Provenance};
use crate::Error;
use crate::files::{self, written_number::Range};
use serde::Deserialize;
use sparsight_kernels::{DeviceFacts, DeviceKind};
use sparsight_matrix::{Bytes, Seconds};
use sparsight_model::{Between, Rescaling};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;

/// Ends the name of a file that holds one.
const EXTENSION: &str = "toml";
/// Default profile whose predictions are carried over.
const REFERENCE: &str = "nvidia-h200";
/// Threads of a warp on every GPU of NVIDIA, and of a wave on those of AMD from gfx10 on; before, there were twice as many.
const WARP: u32 = 32;
const WAVE: u32 = 64;
/// The first chips of AMD with waves of 32.
const FIRST_OF_32: u32 = 10;
/// Major numbers of AMD's chips that HIP compiles for.
const CHIPS: RangeInclusive<u32> = 6..=99;
/// Large copies reach this share of the memory's bandwidth in a data sheet: 0.89 on an H200, 0.90 on an H100.
const COPIES: f64 = 0.9;
/// Multiprocessors of a GPU: one, or several times as many as the largest has. Chosen.
const MULTIPROCESSORS: RangeInclusive<u32> = 1..=1_000;
/// Resident threads of a multiprocessor: those of a block at least, twice as many as any has at most. Chosen.
const THREADS: RangeInclusive<u32> = 1_024..=4_096;
/// Compute capabilities of GPUs, each major number with its minor ones, as NVIDIA's documentation lists them up to CUDA 13. Later ones
/// begin with a larger number.
const CAPABILITIES: [(u32, &[u32]); 9] = [
    (3, &[0, 2, 5, 7]),
    (5, &[0, 2, 3]),
    (6, &[0, 1, 2]),
    (7, &[0, 2, 5]),
    (8, &[0, 6, 7, 8, 9]),
    (9, &[0]),
    (10, &[0, 1, 3]),
    (11, &[0]),
    (12, &[0]),
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DataSheet {
    name: String,
    multiprocessors: u32,
    l2_bytes: f64,
    memory_bytes: f64,
    memory_bytes_per_s: Option<f64>,
    copy_bytes_per_s: Option<f64>,
    launch_s: f64,
    /// Two numbers; the parser takes no notice of further ones in a pair.
    compute_capability: Vec<u32>,
    #[serde(default = "threads_per_multiprocessor")]
    threads_per_multiprocessor: u32,
    wave_size: Option<u32>,
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

/// Returns whether text that names a profile means a data sheet.
pub fn is_data_sheet(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == EXTENSION)
}

/// The predictions of the reference that the file names, carried to the GPU that it describes.
pub(super) fn load(path: &Path) -> Result<Profile, Error> {
    let text = files::text_of(path)?;
    let malformed = |line, reason| Error::Malformed { path: path.to_owned(), line, reason };
    let sheet: DataSheet = files::parse_toml(path, &text)?;
    let line_of = |field: &str| {
        let is_of = |line: &str| {
            line.trim_start().strip_prefix(field).is_some_and(|rest| rest.trim_start().starts_with('='))
        };
        text.lines().position(is_of).map_or(1, |at| at + 1)
    };
    let wrong = |field: &str, reason: String| malformed(line_of(field), reason);
    let in_unit = |field: &str, value: f64, range: Range| {
        range.check(field, value).map_err(|reason| wrong(field, reason))
    };
    let count = |field: &str, value: u32, within: &RangeInclusive<u32>| {
        let is_possible = within.contains(&value);
        is_possible.then_some(value).ok_or_else(|| {
            wrong(field, format!("{field} = {value}: a GPU has {} to {}", within.start(), within.end()))
        })
    };
    let kind = match other_vendor(&sheet.name) {
        None => DeviceKind::Cuda,
        Some(AMD) => DeviceKind::Hip,
        Some(vendor) => {
            let reason =
                format!("'{}' is a GPU of {vendor}, and a data sheet is of one of NVIDIA or AMD", sheet.name);
            return Err(wrong("name", reason));
        }
    };
    let capability =
        capability(kind, &sheet.compute_capability).map_err(|reason| wrong("compute_capability", reason))?;
    let wave = wave_size(kind, capability.0, sheet.wave_size).map_err(|reason| wrong("wave_size", reason))?;
    let threads = count("threads_per_multiprocessor", sheet.threads_per_multiprocessor, &THREADS)?;
    in_unit("l2_bytes", sheet.l2_bytes, Range::L2)?;
    in_unit("memory_bytes", sheet.memory_bytes, Range::MEMORY)?;
    in_unit("launch_s", sheet.launch_s, Range::LAUNCH)?;
    if let Some(rate) = sheet.upload_bytes_per_s {
        in_unit("upload_bytes_per_s", rate, Range::LINK_RATE)?;
    }
    let copy_bytes_per_s = match (sheet.memory_bytes_per_s, sheet.copy_bytes_per_s) {
        (Some(rate), None) => {
            in_unit("memory_bytes_per_s", rate, Range::MEMORY_RATE).map(|()| COPIES * rate)?
        }
        (None, Some(rate)) => in_unit("copy_bytes_per_s", rate, Range::MEMORY_RATE).map(|()| rate)?,
        (None, None) => {
            let reason = "missing field `memory_bytes_per_s`, the bandwidth that the data sheet states";
            return Err(malformed(1, reason.to_owned()));
        }
        (Some(_), Some(_)) => {
            let reason = "memory_bytes_per_s and copy_bytes_per_s say the same: one of them is enough";
            return Err(wrong("memory_bytes_per_s", reason.to_owned()));
        }
    };
    let multiprocessors = count("multiprocessors", sheet.multiprocessors, &MULTIPROCESSORS)?;
    let facts = DeviceFacts {
        kind,
        warps_per_multiprocessor: threads / wave,
        l2_bytes: Bytes(sheet.l2_bytes as u64),
        memory_bytes: Bytes(sheet.memory_bytes as u64),
        compute_capability: Some(capability),
        copy_bytes_per_s,
        launch_s: Seconds(sheet.launch_s),
        upload_bytes_per_s: sheet.upload_bytes_per_s,
        ..DeviceFacts::of_gpu(&sheet.name, multiprocessors, threads)
    };
    let reference = reference_of(&sheet.reference, |name, why| {
        let (path, line) = (path.to_owned(), line_of("reference"));
        Error::NoReference { path, line, name, why }
    })?;
    let assumptions = assumptions(&facts, sheet.memory_bytes_per_s.is_some(), &reference.name);
    let source = format!("the data sheet {}", path.display());
    let device = ProfiledDevice {
        schema: DEVICE_SCHEMA.to_owned(),
        grid: GridName::Quick,
        conversion: BTreeMap::new(),
        converts_from_nnz: None,
        provenance: Provenance { source: Some(source), assumptions, ..Provenance::now("", 0) },
        facts,
    };
    let between = Between { from: &reference.device.facts, to: &device.facts };
    let rescaling = Rescaling::of_facts(between);
    Ok(reference.carried_to(device, &path.display().to_string(), rescaling))
}

/// The profile whose predictions are carried over: a GPU's. `refused`: the error for its name and what is wrong with it.
fn reference_of(name: &str, refused: impl Fn(String, String) -> Error) -> Result<Profile, Error> {
    let wrong = |why: String| refused(name.to_owned(), why);
    let reference = Profile::with_models(name).map_err(|error| match error {
        Error::NoProfile { shipped, .. } => wrong(format!("there is no such profile (shipped: {shipped})")),
        Error::OtherVendor { vendor, .. } => wrong(format!("there is no profile of a GPU of {vendor}")),
        Error::Lacking { .. } => wrong(error.to_string()),
        other => other,
    })?;
    if reference.device.facts.kind.is_gpu() {
        return Ok(reference);
    }
    Err(wrong("that is the profile of a processor, and nothing is carried over from one to a GPU".to_owned()))
}

/// Threads of a wave: as stated if such GPUs have that, else as chips of that maker have. `major`: number of the chip.
fn wave_size(kind: DeviceKind, major: u32, stated: Option<u32>) -> Result<u32, String> {
    let usual = if kind == DeviceKind::Hip && major < FIRST_OF_32 { WAVE } else { WARP };
    match stated {
        None => Ok(usual),
        Some(size) if size == WARP || size == WAVE && kind == DeviceKind::Hip => Ok(size),
        Some(size) => Err(format!("wave_size = {size}: a GPU of NVIDIA has 32, one of AMD 32 or 64")),
    }
}

/// The two numbers of a compute capability that a GPU can have.
fn capability(kind: DeviceKind, numbers: &[u32]) -> Result<(u32, u32), String> {
    let &[major, minor] = numbers else {
        return Err(format!("compute_capability = {numbers:?}: two numbers are expected, such as [8, 0]"));
    };
    check_capability(kind, (major, minor)).map(|()| (major, minor))
}

/// Returns whether a GPU can have it; one beyond the newest known may.
fn check_capability(kind: DeviceKind, (major, minor): (u32, u32)) -> Result<(), String> {
    if kind == DeviceKind::Hip {
        let is_chip = CHIPS.contains(&major) && minor < 16;
        return is_chip.then_some(()).ok_or_else(|| {
            format!(
                "compute_capability = [{major}, {minor}] is no chip of AMD's: gfx90a is [9, 0], gfx942 [9, 4]"
            )
        });
    }
    let newest = CAPABILITIES[CAPABILITIES.len() - 1].0;
    let is_newer = (newest..100).contains(&major) && minor < 10;
    let is_known = CAPABILITIES.iter().any(|&(known, minors)| known == major && minors.contains(&minor));
    if is_known || is_newer {
        return Ok(());
    }
    Err(format!(
        "compute_capability = [{major}, {minor}] is none of NVIDIA's: an A100 has [8, 0], an H100 [9, 0]"
    ))
}

/// The assumptions of the answers for a GPU beside its data sheet.
fn assumptions(facts: &DeviceFacts, is_bandwidth: bool, reference: &str) -> Vec<String> {
    let mut all = Vec::new();
    if facts.kind == DeviceKind::Hip {
        all.push(format!("kernels do on {} as on {reference}: none has run on a GPU of AMD yet", facts.name));
    } else if !is_nvidias(&facts.name) {
        all.push(format!("{} is a GPU of NVIDIA", facts.name));
    }
    let rate = format!("{:.2} TB/s", facts.copy_bytes_per_s / 1e12);
    all.push(if is_bandwidth {
        format!("copies reach {COPIES} of the stated bandwidth, {rate}")
    } else {
        format!("copies reach {rate}, as stated; of the bandwidth in data sheets copies reach about {COPIES}")
    });
    let share = Rescaling::KEPT_OF_L2;
    let kept = Bytes((share * facts.l2_bytes.0 as f64) as u64);
    all.push(format!("{share} of the L2, {kept}, holds what the product before has read"));
    all.push(format!(
        "the L2 serves each multiprocessor, and each computes, as fast as on {reference}; what the L2 does not hold comes from memory as \
         near to the rate of copies as there, nearer where memory is slower"
    ));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::ProfileFolder;
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
    fn the_copy_rate_is_derived_from_the_bandwidth_and_assumptions_are_listed() {
        let stated = SHEET.replace("copy_bytes_per_s = 1.75e12", "memory_bytes_per_s = 2e12");
        let device = loaded(&stated).unwrap().device;
        assert!((device.facts.copy_bytes_per_s / 1.8e12 - 1.0).abs() < 1e-12);
        let said = device.provenance.assumptions.join("\n");
        for part in [
            "Some GPU is a GPU of NVIDIA",
            "copies reach 0.9 of the stated bandwidth, 1.80 TB/s",
            "0.6 of the L2, 24.0 MB, holds",
            "as fast as on nvidia-h200",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        let named = loaded(&SHEET.replace("Some GPU", "NVIDIA A100")).unwrap().device.provenance.assumptions;
        assert!(named[0].starts_with("copies reach 1.75 TB/s, as stated"), "{named:?}");
        assert!(Profile::find(REFERENCE).unwrap().device.provenance.assumptions.is_empty());
    }

    #[test]
    fn a_compute_capability_is_one_of_nvidias_or_newer_than_all_that_are_known() {
        for known in [(8, 0), (9, 0), (12, 1), (13, 0)] {
            assert_eq!(check_capability(DeviceKind::Cuda, known), Ok(()));
        }
        for invented in [(0, 0), (4, 0), (9, 4), (13, 10), (900, 0)] {
            assert!(check_capability(DeviceKind::Cuda, invented).is_err(), "{invented:?}");
        }
    }

    #[test]
    fn a_data_sheet_of_amd_says_that_nothing_ran_there_and_counts_waves() {
        let amd = |name: &str, chip: &str| {
            loaded(&SHEET.replace("Some GPU", name).replace("[8, 0]", chip)).map(|profile| profile.device)
        };
        let device = amd("AMD Instinct MI250X", "[9, 0]").unwrap();
        let facts = &device.facts;
        assert_eq!(
            (facts.kind, facts.warps_per_multiprocessor, facts.warps_of_32()),
            (DeviceKind::Hip, 32, 64)
        );
        let said = device.provenance.assumptions.join("\n");
        assert!(
            said.contains("none has run on a GPU of AMD yet") && !said.contains("a GPU of NVIDIA"),
            "{said}"
        );
        assert_eq!(amd("AMD Radeon RX7900", "[11, 0]").unwrap().facts.warps_per_multiprocessor, 64);
        let stated = amd("AMD Radeon RX7900", "[11, 0]\nwave_size = 64").unwrap().facts;
        assert_eq!(stated.warps_per_multiprocessor, 32);
        let wrong = amd("AMD Instinct MI250X", "[2, 0]").unwrap_err().to_string();
        assert!(wrong.contains("toml:7: compute_capability = [2, 0] is no chip of AMD's"), "{wrong}");
        // Wide: as six GPUs showed that are of other architectures than each other.
        let rescaled =
            |chip| loaded(&SHEET.replace("[8, 0]", chip)).unwrap().rescaled.unwrap().rescaling.log_sd;
        assert!(rescaled("[8, 0]") > 3.0 * rescaled("[9, 0]"));
    }

    #[test]
    fn the_example_in_the_docs_is_a_data_sheet() {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/amd-mi250x-die.toml");
        let profile = Profile::find(example.to_str().unwrap()).unwrap();
        assert_eq!(profile.device.facts.kind, DeviceKind::Hip);
    }

    #[test]
    fn a_data_sheet_knows_of_no_links_and_is_not_taken_for_a_profile_that_is_missing() {
        assert_eq!(loaded(SHEET).unwrap().links().unwrap(), None);
        let shipped = Profile::find(REFERENCE).unwrap();
        assert!(shipped.links().unwrap().is_some());
    }

    #[test]
    fn errors_in_a_data_sheet_name_the_line() {
        let wrong = |from: &str, to: &str| loaded(&SHEET.replace(from, to)).unwrap_err().to_string();
        for (from, to, expected) in [
            ("launch_s = 2.0e-6\n", "", "missing field `launch_s`"),
            ("launch_s", "lunch_s", "toml:6: unknown field `lunch_s`"),
            ("108", "\"many\"", "toml:2: "),
            ("40e6", "-1", "toml:3: l2_bytes = -1e0 is not possible (bytes, 256 KB to 1 GB)"),
            ("40e6", "40", "toml:3: l2_bytes = 40 looks like MB: write 40e6"),
            ("80e9", "80", "toml:4: memory_bytes = 80 looks like GB: write 80e9"),
            ("1.75e12", "0", "toml:5: copy_bytes_per_s = 0e0 is not possible"),
            ("1.75e12", "1935", "toml:5: copy_bytes_per_s = 1935 looks like GB/s: write 1935e9"),
            ("2.0e-6", "5.0", "toml:6: launch_s = 5 looks like us: write 5e-6"),
            ("= 108", "= ", "toml:2: "),
            ("= 108", "= 108000", "toml:2: multiprocessors = 108000: a GPU has 1 to 1000"),
            ("[8, 0]", "[9, 4]", "toml:7: compute_capability = [9, 4] is none of NVIDIA's"),
            ("[8, 0]", "[8, 0, 0]", "toml:7: compute_capability = [8, 0, 0]: two numbers are expected"),
            ("[8, 0]", "[8]", "toml:7: compute_capability = [8]: two numbers are expected, such as [8, 0]"),
            (
                "Some GPU",
                "Intel Max 1550",
                "toml:1: 'Intel Max 1550' is a GPU of Intel, and a data sheet is of one of NVIDIA",
            ),
            ("launch_s", "wave_size = 64\nlaunch_s", "toml:6: wave_size = 64: a GPU of NVIDIA has 32"),
            (
                "[8, 0]",
                "[8, 0]\nwave_size = 16",
                "toml:8: wave_size = 16: a GPU of NVIDIA has 32, one of AMD 32 or 64",
            ),
            ("copy_bytes_per_s = 1.75e12\n", "", "missing field `memory_bytes_per_s`"),
            (
                "launch_s",
                "memory_bytes_per_s = 2e12\nlaunch_s",
                "toml:6: memory_bytes_per_s and copy_bytes_per_s",
            ),
        ] {
            let why = wrong(from, to);
            assert!(why.contains(expected), "{why}");
        }
        assert!(matches!(Profile::find("absent/some.toml"), Err(Error::File { .. })));
    }

    #[test]
    fn a_reference_that_is_no_profile_of_a_gpu_is_refused_with_its_line() {
        let (dir, reference) = (tempfile::tempdir().unwrap(), Profile::find(REFERENCE).unwrap());
        let folder = ProfileFolder::create(&dir.path().join("processor")).unwrap();
        let mut device = reference.device;
        (device.facts.kind, device.facts.max_threads_per_block) = (DeviceKind::Cpu, None);
        folder.write_device(&device).unwrap();
        fs::create_dir(folder.path().join("models")).unwrap();
        folder.write_document("models/index.json", &reference.models.index).unwrap();
        let processor = folder.path().display().to_string();
        let unfitted = dir.path().join("unfitted").display().to_string();
        ProfileFolder::create(Path::new(&unfitted)).unwrap().write_device(&device).unwrap();
        let lacks = format!("the profile {unfitted} holds no fitted models");
        for (name, why) in [
            ("nope", "there is no such profile (shipped: nvidia-h200, nvidia-h100)"),
            ("", "there is no such profile"),
            ("cpu", "there is no such profile"),
            ("NVIDIA H200", "there is no such profile"),
            ("mi300x", "there is no profile of a GPU of AMD"),
            (processor.as_str(), "that is the profile of a processor"),
            (unfitted.as_str(), lacks.as_str()),
        ] {
            let error = loaded(&format!("{SHEET}reference = \"{name}\"\n")).unwrap_err();
            let said = error.to_string();
            assert!(said.contains(&format!("toml:8: reference = \"{name}\": {why}")), "{said}");
            assert!(error.hint().unwrap().contains("nvidia-h200"), "{said}");
        }
    }
}
