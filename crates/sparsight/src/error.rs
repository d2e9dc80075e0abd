//! Errors above the devices: profiles on disk, records, and errors of the crates below.

use crate::missing::Missing;
use sparsight_device::DeviceError;
use sparsight_model::PredictError;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// An error of this library.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A record or profile does not parse.
    #[error("{}:{line}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Line, counted from 1.
        line: usize,
        /// The parser's reason.
        reason: String,
    },
    /// A data sheet that names no profile whose predictions can be carried over to a GPU.
    #[error("{}:{line}: reference = {name:?}: {why}", path.display())]
    NoReference {
        /// The data sheet.
        path: PathBuf,
        /// Line, counted from 1.
        line: usize,
        /// Name in the data sheet.
        name: String,
        /// Why that is none.
        why: String,
    },
    /// Another run writes the same file.
    #[error("{}: another run is writing here", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// A file of another version of the schema.
    #[error("{}: schema {found} is not {expected}, the one this version reads", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// Schema in the file.
        found: String,
        /// Expected schema.
        expected: &'static str,
    },
    /// A file of a model that is cut off, changed, or not of the fit that its index is of.
    #[error("{}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Description of the fault.
        reason: String,
    },
    /// A profile's folder that is not there.
    #[error("{}: there is no such folder", path.display())]
    NoFolder {
        /// The missing folder.
        path: PathBuf,
        /// Tells whether a profile that is part of the program has this name.
        is_shipped: bool,
    },
    /// A profile that is not shipped and no folder.
    #[error("there is no profile '{name}': shipped are {shipped}")]
    NoProfile {
        /// Name in the request.
        name: String,
        /// Existing names.
        shipped: String,
    },
    /// The file with the models of the shipped profiles is missing: this was built without the feature `shipped-profiles`.
    #[error("sparsight-profiles.tar was not found (looked for: {})", listed(looked))]
    NoProfilesFile {
        /// Where it was looked for.
        looked: Vec<PathBuf>,
    },
    /// The file with the models of the shipped profiles is of another build, cut off or damaged.
    #[error("{}: {reason}", path.display())]
    ProfilesFile {
        /// The file.
        path: PathBuf,
        /// Description of the fault.
        reason: String,
    },
    /// The name of a GPU that is not NVIDIA's.
    #[error("'{name}' is the name of a GPU of {vendor}: profiles are of NVIDIA's today")]
    OtherVendor {
        /// Name in the request.
        name: String,
        /// Vendor of that GPU.
        vendor: &'static str,
    },
    /// A profile without what is asked of it.
    #[error("the profile {profile} holds no {missing}")]
    Lacking {
        /// The profile's name.
        profile: String,
        /// Missing content.
        missing: Missing,
    },
    /// A model that a shipped profile holds and the program was not given.
    #[error("the {model} model of the profile {profile} is not part of the program")]
    NotShipped {
        /// The profile's name.
        profile: String,
        /// The model's.
        model: &'static str,
    },
    /// A profile without a measurement that a transfer takes.
    #[error("the profile {profile} holds no {missing}")]
    Unmeasured {
        /// The profile's name.
        profile: String,
        /// Name of the missing measurement.
        missing: String,
        /// Command that measures it.
        command: String,
    },
    /// A transfer between a GPU and a processor, of which nothing was measured.
    #[error(
        "times are not carried over from {from} to {to}: between GPUs and processors nothing was measured"
    )]
    OtherKind {
        /// The device that the times are of.
        from: String,
        /// The device that is asked about.
        to: String,
        /// The profile of that device.
        profile: String,
        /// Tells whether that device is a GPU.
        is_to_gpu: bool,
    },
    /// The folder holds another device.
    #[error("{} is a profile of {holds}, not of {here}", path.display())]
    OtherDevice {
        /// The folder.
        path: PathBuf,
        /// The device that it speaks of.
        holds: String,
        /// The device that was to be written into it.
        here: String,
    },
    /// A GPU for which no other one's predictions can be made to answer.
    #[error("{device} could not be calibrated: {why}")]
    NotCalibrated {
        /// Name of the device.
        device: String,
        /// Cause.
        why: String,
    },
    /// A device without a profile and without a calibration, which the environment forbids to make now.
    #[error("{device} has no profile and was not calibrated yet")]
    Uncalibrated {
        /// Name by the driver.
        device: String,
    },
    /// No folder for calibrations: the user has neither a home nor `SPARSIGHT_CACHE`.
    #[error("there is no folder to keep a calibration in")]
    NoCache,
    /// A cached calibration that cannot be read and cannot be renamed.
    #[error("{why}; {} could not be set aside: {source}", path.display())]
    NotSetAside {
        /// The folder.
        path: PathBuf,
        /// Why it cannot be read.
        why: Box<Self>,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A plan of a GPU's profile, to be carried out on a processor.
    #[error("the plan is for a GPU, and this is a processor ({device})")]
    PlannedForGpu {
        /// The processor's name.
        device: String,
    },
    /// The present implementation has no predicted time.
    #[error("break-evens cannot be counted from {name}: {why}")]
    NotRunNow {
        /// Name as typed.
        name: String,
        /// Why there is no time of it.
        why: String,
        /// Advice.
        hint: &'static str,
    },
    /// A solver for square matrices, and another matrix.
    #[error("{what} is for square matrices, and this one is {nrows} x {ncols}")]
    NotSquare {
        /// The solver.
        what: &'static str,
        /// Rows.
        nrows: u64,
        /// Columns.
        ncols: u64,
    },
    /// None of the candidates that were predicted can be run here.
    #[error("no candidate is possible: {why}")]
    NothingToRun {
        /// Why the first is not.
        why: String,
    },
    /// More GPUs are asked about than are predicted at one time.
    #[error("{together} GPUs over all numbers of them: at most {most} are predicted at one time")]
    TooManyGpus {
        /// Sum of all numbers of GPUs.
        together: usize,
        /// The limit.
        most: usize,
    },
    /// A matrix cannot be dealt out like that.
    #[error(transparent)]
    Distribution(#[from] sparsight_matrix::DistributionError),
    /// Measurements of a device that contradict each other.
    #[error("{reason}")]
    Contradictory {
        /// Name and contradiction.
        reason: String,
    },
    /// A device's refusal or failure.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A model's refusal.
    #[error(transparent)]
    Predict(#[from] PredictError),
}

impl Error {
    /// Advice for the user, if there is any.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Device(e) => e.hint()?,
            Self::NoFolder { path, is_shipped: true } => {
                return Some(format!(
                    "{0} is the name of a profile that is part of the program, and this takes a folder: the repository has it \
                     as profiles/{0}",
                    path.display()
                ));
            }
            Self::NoFolder { .. } => {
                "this takes the folder of a profile: `sparsight lab profile --device cuda:0 -o DIR` makes one"
            }
            Self::NoProfile { .. } => "`sparsight lab profile --device cuda:0 -o DIR` makes one",
            Self::NoReference { .. } => {
                "the reference is a GPU's profile that was fitted, by its name or folder; without that line it is nvidia-h200"
            }
            Self::OtherVendor { vendor: "AMD", .. } => {
                "a data sheet NAME.toml carries predictions there, unproven (docs/profile-format.md); hip:0 is a GPU of AMD in this machine; \
                 nvidia-h200 answers for an H200"
            }
            Self::OtherVendor { .. } => {
                "nothing that is known carries over to it; nvidia-h200 answers for an H200, and cpu for this machine's processor"
            }
            Self::NoProfilesFile { .. } | Self::ProfilesFile { .. } => {
                "the models of the shipped profiles are in this file: install sparsight again, with it, or name that of this \
                 build by SPARSIGHT_PROFILES_FILE=FILE"
            }
            Self::Lacking { profile, missing } => return Some(missing.hint(profile)),
            Self::NotShipped { profile, .. } => {
                return Some(format!(
                    "the repository of sparsight has all of it: --profile profiles/{profile}"
                ));
            }
            Self::OtherKind { is_to_gpu: true, .. } => {
                "`--from nvidia-h200` carries over from a GPU; `sparsight calibrate -o DIR` on a machine with the other one measures \
                 what lets it answer"
            }
            Self::OtherKind { profile, .. } => {
                return Some(format!(
                    "a processor answers from its own times: `sparsight lab fit {profile}` fits those that the folder holds, \
                     `sparsight lab profile --device cpu -o DIR` on that machine measures and fits; `--from` takes the profile of \
                     another processor"
                ));
            }
            Self::NotRunNow { hint, .. } => hint,
            Self::NotSquare { .. } => "of these iterations pdhg, for linear programs, takes any matrix",
            Self::OtherDevice { .. } => "give another folder with -o",
            Self::NotCalibrated { .. } => {
                "`sparsight devices` says what is missing, and the same command goes on; `sparsight lab profile -o DIR` and \
                 `sparsight lab measure` make a profile of its own"
            }
            Self::Uncalibrated { .. } => {
                "SPARSIGHT_CALIBRATE=0 forbids to calibrate it now: `sparsight calibrate -o DIR` does it by hand"
            }
            Self::NoCache => "set SPARSIGHT_CACHE to one",
            Self::NotSetAside { .. } => {
                "nothing was changed: make it readable or move it elsewhere, or set SPARSIGHT_CACHE to another folder"
            }
            Self::PlannedForGpu { .. } => {
                "`Plan::for_processor` plans for the processor: from its calibration (`sparsight calibrate --device cpu`, or \
                 `advise --device cpu`), else plain CSR"
            }
            Self::Unmeasured { command, .. } => return Some(format!("`{command}` measures it")),
            Self::TooManyGpus { .. } => "ask about fewer numbers, or smaller ones",
            Self::Contradictory { .. } => "measure the device again with nothing else running on it",
            _ => self.hint_on_file()?,
        };
        Some(hint.to_owned())
    }

    /// Advice on a file that cannot be read or written.
    fn hint_on_file(&self) -> Option<&'static str> {
        let hint = match self {
            Self::File { source, .. } if source.kind() == ErrorKind::StorageFull => {
                "free some space and run the same command again: it goes on where it stopped"
            }
            Self::Malformed { path, .. } if is_journal(path) => REPAIR,
            // What cannot be unpacked.
            Self::File { path, source } if is_journal(path) && is_content(source.kind()) => REPAIR,
            Self::Busy { .. } => {
                "wait for it, or give each run a folder of its own and put their .jsonl files together with cat"
            }
            Self::Schema { found, expected, .. } if age(found, expected).is_none() => {
                "it is another kind of file: check its name, and what was put there"
            }
            Self::Schema { found, expected, .. } if age(found, expected) == Some(Ordering::Greater) => {
                "a newer version of this program wrote the file: update sparsight"
            }
            Self::Schema { expected, .. } if expected.starts_with("sparsight/profiles-index/") => {
                "an older version of this program wrote the file: rename it, and `sparsight profiles index FILE...` writes \
                 a new one"
            }
            Self::Schema { path, .. } if name_of(path).starts_with("rescaling.json") => {
                "`sparsight calibrate -o DIR` computes it again from the recorded times, and measures nothing"
            }
            Self::Damaged { .. } => FIT,
            Self::Schema { path, .. } | Self::Malformed { path, .. } if is_fitted(path) => FIT,
            Self::File { path, source } if is_fitted(path) && is_lost(source.kind()) => FIT,
            Self::Schema { .. } => {
                "an older version of this program wrote the file: measure again, into another folder"
            }
            _ => return None,
        };
        Some(hint)
    }
}

/// Advice on a file that fitting makes.
const FIT: &str = "`sparsight lab fit DIR` writes the models again";

/// Advice on a damaged journal.
const REPAIR: &str = "`sparsight lab repair DIR` keeps every record that can be read, and the file as it is under another name";

/// Kind and version of a schema: `sparsight/boosting` and 12 of `sparsight/boosting/12: block`.
fn kind_and_version(schema: &str) -> Option<(&str, u32)> {
    let (kind, version) = schema.split(':').next()?.rsplit_once('/')?;
    Some((kind, version.parse().ok()?))
}

/// Compares the version of the schema `found` with that of `expected`; `None` if they are of two kinds of files.
fn age(found: &str, expected: &str) -> Option<Ordering> {
    let ((found, version), (expected, read)) = (kind_and_version(found)?, kind_and_version(expected)?);
    (found == expected).then(|| version.cmp(&read))
}

/// Paths, for a sentence.
fn listed(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// The last part of a path.
fn name_of(path: &Path) -> Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}

/// Tells whether a file holds records, packed or not.
fn is_journal(path: &Path) -> bool {
    let name = name_of(path);
    name.ends_with(".jsonl") || name.ends_with(".jsonl.xz")
}

/// Tells whether fitting makes a file: a model, the index of the models, or what is written beside them.
fn is_fitted(path: &Path) -> bool {
    let is_model = path.parent().is_some_and(|folder| folder.ends_with("models"));
    let name = name_of(path);
    is_model || ["transfer.json", "calibration.json"].iter().any(|fitted| name.starts_with(fitted))
}

/// Tells whether an error is about a file that is missing or whose content is wrong.
fn is_lost(kind: ErrorKind) -> bool {
    kind == ErrorKind::NotFound || is_content(kind)
}

/// Tells whether an error is about the content of a file.
fn is_content(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::UnexpectedEof)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_a_newer_version_wants_a_newer_program_and_one_of_an_older_is_made_again() {
        let beside = |path: &str, found: &str, expected: &'static str| {
            Error::Schema { path: PathBuf::from(path), found: found.to_owned(), expected }.hint().unwrap()
        };
        let hint = |path: &str, found: &str| beside(path, found, "sparsight/boosting/12: block");
        let fitted =
            ["p/models/index.json", "p/models/boosting.gz", "p/transfer.json.gz", "calibration.json"];
        for path in fitted.iter().chain(&["p/device.json", "p/links.json", "p/rescaling.json"]) {
            let newer = hint(path, "sparsight/boosting/13: block");
            assert!(newer.starts_with("a newer version") && newer.ends_with("update sparsight"), "{path}");
        }
        for path in fitted {
            assert_eq!(hint(path, "sparsight/boosting/9: block"), FIT, "{path}");
        }
        assert!(hint("p/device.json", "sparsight/boosting/9").ends_with("into another folder"));
        assert!(hint("p/rescaling.json", "sparsight/boosting/1").starts_with("`sparsight calibrate"));
        let index = beside("index.json", "sparsight/profiles-index/1", "sparsight/profiles-index/2");
        assert!(index.ends_with("`sparsight profiles index FILE...` writes a new one"), "{index}");
        for found in ["sparsight/models/2", "sparsight/models/0", "something else"] {
            for path in ["index.json", "p/models/index.json"] {
                let hint = beside(path, found, "sparsight/profiles-index/1");
                assert!(hint.starts_with("it is another kind of file"), "{found}: {hint}");
            }
        }
    }

    #[test]
    fn a_model_that_is_missing_and_a_broken_index_are_fitted_again() {
        let file =
            |path: &str, kind: ErrorKind| Error::File { path: PathBuf::from(path), source: kind.into() };
        let model = "p/models/boosting.gz";
        assert_eq!(file(model, ErrorKind::NotFound).hint().as_deref(), Some(FIT));
        assert_eq!(file(model, ErrorKind::PermissionDenied).hint(), None);
        assert_eq!(file("p/device.json", ErrorKind::NotFound).hint(), None);
        let (path, reason) = (PathBuf::from("p/models/index.json"), "EOF".to_owned());
        assert_eq!(Error::Malformed { path, line: 2, reason }.hint().as_deref(), Some(FIT));
    }
}
