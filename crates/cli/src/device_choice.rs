//! Choice of the device: `cpu`, `cuda[:N]`, a part of one `cuda[:N]/smM`, `hip[:N]`, or the name or folder of a profile.

use crate::calibration;
use crate::context::{Context, command_as_typed};
use crate::failure::Failure;
use crate::matrix_source::MatrixSource;
use crate::text::{described, shown, words};
use sparsight::calibrate::{CALIBRATION_BUDGET, CalibrationTarget, OpenDevice, may_calibrate};
use sparsight::device::DeviceError;
use sparsight::device::cuda::{Cuda, Nccl, PartSizes, cusparse_version, nvrtc_version};
use sparsight::device::gpu::{GpuDevice, Link};
use sparsight::device::hip::Hip;
use sparsight::kernels::{Candidate, DeviceFacts, DeviceKind};
use sparsight::matrix::{Dtype, Scalar};
use sparsight::profile::{ProfileFolder, folder_of};
use sparsight::{Error, Profile};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

/// A device as it is named on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DeviceName {
    /// A device of this machine.
    Here(CalibrationTarget),
    /// A measured device, wherever it is.
    Profile(String),
}

impl DeviceName {
    /// This machine's processor.
    pub(crate) const CPU: Self = Self::Here(CalibrationTarget::Processor);

    /// A GPU if there is one.
    pub(crate) fn best_here() -> Self {
        if Cuda::count().is_ok_and(|count| count > 0) {
            Self::Here(CalibrationTarget::Gpu(0))
        } else {
            Self::CPU
        }
    }

    /// The device of this machine; an error for a profile.
    pub(crate) fn here(&self) -> Result<CalibrationTarget, Failure> {
        match self {
            Self::Here(target) => Ok(*target),
            Self::Profile(profile) => Err(Failure::device(format!(
                "'{profile}' is a profile and nothing can be run on it"
            ))
            .hinted(
                "devices of this machine are cpu, cuda[:N], cuda[:N]/smM and hip[:N]; `sparsight devices` lists them",
            )),
        }
    }

    /// The name of a profile as a path, which it may be.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Profile(name) => Some(Path::new(name)),
            Self::Here(_) => None,
        }
    }

    /// Opens a device of this machine.
    pub(crate) fn open(&self) -> Result<OpenDevice, Failure> {
        Ok(OpenDevice::open(self.here()?)?)
    }
}

impl FromStr for DeviceName {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (device, part) = match text.split_once("/sm") {
            Some((device, multiprocessors)) => (device, Some(multiprocessors)),
            None => (text, None),
        };
        let index = match device.split_once(':') {
            _ if text == "cpu" => return Ok(Self::CPU),
            _ if text == "hip" => return Ok(Self::Here(CalibrationTarget::Hip(0))),
            // Parts of its multiprocessors are CUDA's.
            Some(("hip", _)) => {
                let index = &text["hip:".len()..];
                let wrong = |_| format!("'{index}' is not the number of a HIP device");
                return index.parse().map(CalibrationTarget::Hip).map(Self::Here).map_err(wrong);
            }
            _ if device == "cuda" => 0,
            Some(("cuda", index)) => {
                index.parse().map_err(|_| format!("'{index}' is not the number of a CUDA device"))?
            }
            _ => return Ok(Self::Profile(text.to_owned())),
        };
        let target = part.map_or(Ok(CalibrationTarget::Gpu(index)), |part| {
            let wrong = |_| format!("'{part}' is not a number of multiprocessors such as 40 in cuda:0/sm40");
            part.parse().map(|count| CalibrationTarget::GpuPart(index, count)).map_err(wrong)
        });
        target.map(Self::Here)
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here(target) => target.fmt(f),
            Self::Profile(name) => f.pad(name),
        }
    }
}

/// The `candidates` that the device runs. A warning gives the reason for the others; it is an error if none is left.
pub(crate) fn runnable<T: Scalar>(
    device: &OpenDevice,
    mut candidates: Vec<Candidate>,
    context: &Context,
) -> Result<Vec<Candidate>, Failure> {
    let mut left_out = BTreeMap::new();
    candidates.retain(|candidate| match device.of::<T>().runs(candidate.kernel) {
        Ok(()) => true,
        Err(why) => {
            left_out.insert(candidate.kernel, why);
            false
        }
    });
    let Some(why) = left_out.values().next() else { return Ok(candidates) };
    if candidates.is_empty() {
        return Err(why.clone().into());
    }
    let names: Vec<String> = left_out.keys().map(words).collect();
    let hint = why.hint().map(|hint| format!(": {hint}")).unwrap_or_default();
    context.printer.warning(format_args!("without {}: {why}{hint}", names.join(", ")));
    Ok(candidates)
}

/// A GPU of this machine.
pub(crate) struct GpuHere {
    pub(crate) name: CalibrationTarget,
    pub(crate) facts: DeviceFacts,
    /// Numbers of multiprocessors that a part of it may have.
    pub(crate) parts: Result<PartSizes, DeviceError>,
}

/// The GPUs of this machine; an error without a driver.
pub(crate) fn gpus_here() -> Result<Vec<GpuHere>, DeviceError> {
    let gpu = |index| {
        let (name, facts) = (CalibrationTarget::Gpu(index), Cuda::open(index)?.facts().clone());
        Ok(GpuHere { name, facts, parts: Cuda::parts(index) })
    };
    (0..Cuda::count()?).map(gpu).collect()
}

/// The GPUs of AMD on this machine, and what opening each gave; an error without HIP.
pub(crate) fn hip_gpus_here() -> Result<Vec<Result<DeviceFacts, DeviceError>>, DeviceError> {
    let facts = |index| Hip::open(index).map(|hip| hip.as_gpu().facts().clone());
    Ok((0..Hip::count()?).map(facts).collect())
}

/// Version of the vendor's library here, `12.6.3`.
pub(crate) fn vendors_library() -> Result<String, DeviceError> {
    cusparse_version().map(dotted)
}

/// Version of NVRTC here, `13.0`.
pub(crate) fn nvrtc() -> Result<String, DeviceError> {
    nvrtc_version().map(|(major, minor)| format!("{major}.{minor}"))
}

/// GPUs of this machine that share a matrix.
#[derive(Debug)]
pub(crate) struct LinkedGpus(Vec<Cuda>);

impl LinkedGpus {
    /// Number of GPUs of this machine.
    pub(crate) fn here() -> Result<usize, DeviceError> {
        Cuda::count()
    }

    /// The version of what links them.
    pub(crate) fn library() -> Result<String, DeviceError> {
        Nccl::version().map(dotted)
    }

    /// The first `count`.
    pub(crate) fn open(count: usize) -> Result<Self, DeviceError> {
        (0..count).map(Cuda::open_without_rates).collect::<Result<_, _>>().map(Self)
    }

    /// Opens the first `most` GPUs, which must be of the profile's kind.
    pub(crate) fn of(profile: &Profile, most: usize) -> Result<Self, Failure> {
        let here = Self::here()?;
        if here < most {
            let text = format!("--verify runs the matrix on {most} GPUs, but this machine has {here}");
            return Err(Failure::device(text).hinted("leave out --verify, or ask for fewer"));
        }
        for index in 0..most {
            let name = Cuda::name(index)?;
            if name != profile.device.facts.name {
                let text = format!(
                    "cuda:{index} is {}, the profile is of {}",
                    shown(&name),
                    described(&profile.device.facts)
                );
                return Err(Failure::device(text).hinted("GPUs that share a matrix must be of one kind"));
            }
        }
        Ok(Self::open(most)?)
    }

    pub(crate) fn devices(&self) -> Vec<GpuDevice> {
        self.0.iter().map(|gpu| gpu.as_gpu().clone()).collect()
    }

    /// Ends of the first `count`.
    pub(crate) fn link(&self, count: usize) -> Result<Vec<Arc<dyn Link>>, DeviceError> {
        Nccl::link(&self.0[..count])
    }
}

/// `12.6.3`.
fn dotted((major, minor, patch): (u32, u32, u32)) -> String {
    format!("{major}.{minor}.{patch}")
}

/// Flags of commands that predict.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ProfileFlags {
    /// Device to predict for: cpu, cuda[:N], a part cuda[:N]/smM, hip[:N], or the name or folder of a profile. A GPU without a profile
    /// is calibrated when it is first named [default: cuda:0 if it is profiled or calibrated, else nvidia-h200]
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<DeviceName>,
    /// Profile to predict from, by name or folder, whatever the device is
    #[arg(long, value_name = "NAME|DIR")]
    pub(crate) profile: Option<String>,
}

impl ProfileFlags {
    /// The profile that the flags ask for; for a CPU without one, a coarse one is measured.
    pub(crate) fn resolve(&self, context: &Context, dtype: Dtype) -> Result<Profile, Failure> {
        if let Some(name) = &self.profile {
            return Profile::find(name).map_err(Failure::from);
        }
        match &self.device {
            Some(DeviceName::Here(device)) => {
                let shipped = device.gpu_name()?.map(|name| Profile::shipped_for_gpu(&name));
                match shipped.transpose()?.flatten() {
                    Some(profile) => Ok(profile),
                    None => calibration::find_or_measure(*device, dtype, context),
                }
            }
            Some(DeviceName::Profile(device)) => Profile::find(device).map_err(|error| match error {
                Error::NoProfile { name, shipped } if name == *device => {
                    let hint = match meant(device) {
                        Some(meant) => format!("did you mean {meant}?"),
                        None => format!(
                            "a device is cpu, cuda[:N] of an NVIDIA GPU here, a profile ({shipped}), a profile's folder, or a \
                             data sheet NAME.toml of a GPU of NVIDIA or AMD that was not measured (docs/profile-format.md)"
                        ),
                    };
                    Failure::input(format!("unknown device '{device}'")).hinted(hint)
                }
                other => other.into(),
            }),
            None => of_this_machine(context)?
                .map_or_else(|| Profile::find(Profile::DEFAULT).map_err(Failure::from), Ok),
        }
    }

    /// `profile`, which the flags asked for, with what products cost on the machine at hand if `--device` names a GPU of NVIDIA. Opens the
    /// GPU for that, unless it is `open` already. Where that fails they cost what they do in the profile: nothing is to be run on it.
    pub(crate) fn at_hand(&self, profile: Profile, open: Option<&OpenDevice>, context: &Context) -> Profile {
        let launch = match (open, &self.profile, &self.device) {
            (Some(device), ..) => Ok(device.facts().launch_cost()),
            (None, None, Some(DeviceName::Here(CalibrationTarget::Gpu(index)))) => {
                Cuda::open_without_rates(*index).and_then(|gpu| gpu.launch_cost())
            }
            _ => return profile,
        };
        let profile = match launch {
            Ok(launch) => profile.on_machine(&launch),
            Err(why) => {
                context.printer.detail(format_args!(
                    "what launches and small products take was not measured here: {why}"
                ));
                return profile;
            }
        };
        if let Some(here) = profile.launch_here {
            let more_us = (here.0 - profile.device.facts.launch_s.0) * 1e6;
            context
                .printer
                .detail(format_args!("products take {more_us:+.2} us more here than in the profile"));
        }
        profile
    }

    /// What a command about `sources` reads: their files, and the profile or data sheet as it is named. Files of profiles are no outputs
    /// whichever are read.
    pub(crate) fn inputs<'f>(&'f self, sources: &'f [MatrixSource]) -> Vec<&'f Path> {
        let device = self.device.as_ref().and_then(DeviceName::path);
        let profile = self.profile.as_deref().map(Path::new);
        sources.iter().filter_map(MatrixSource::file).chain(device).chain(profile).collect()
    }

    /// The folder of the profile, to add to it.
    pub(crate) fn folder(&self) -> Result<ProfileFolder, Failure> {
        let name = self.profile.as_deref().unwrap_or_default();
        if let Some(folder) = folder_of(name) {
            return Ok(ProfileFolder::open(&folder)?);
        }
        Err(Failure::input(format!("'{name}' is not a folder, so records cannot be added to it"))
            .hinted("use --profile DIR with the folder of a profile"))
    }

    /// The device's facts alone: of a device that is here, nothing is measured but what opening it takes.
    pub(crate) fn facts(&self, context: &Context) -> Result<DeviceFacts, Failure> {
        match (&self.profile, &self.device) {
            (None, Some(name @ DeviceName::Here(_))) => Ok(name.open()?.facts().clone()),
            _ => Ok(self.resolve(context, context.dtype())?.device.facts),
        }
    }

    /// The GPUs of this machine that may be the one of these facts.
    fn gpus_like(facts: &DeviceFacts) -> Result<Vec<CalibrationTarget>, DeviceError> {
        // The whole GPU, or the part of it that the facts are of.
        let cuda = |index| {
            let part = CalibrationTarget::GpuPart(index, facts.multiprocessors);
            let known = part.gpu_name().is_ok_and(|name| name.as_ref() == Some(&facts.name));
            if known { part } else { CalibrationTarget::Gpu(index) }
        };
        Ok(match facts.kind {
            DeviceKind::Hip => (0..Hip::count()?).map(CalibrationTarget::Hip).collect(),
            _ => (0..Cuda::count()?).map(cuda).collect(),
        })
    }

    /// The device that `profile` speaks of, opened, if it is here.
    pub(crate) fn open(&self, profile: &Profile) -> Result<OpenDevice, Failure> {
        let facts = &profile.device.facts;
        let wanted = described(facts);
        let candidates = match (&self.device, facts.kind) {
            (Some(DeviceName::Here(target)), _) => vec![*target],
            (_, DeviceKind::Cpu) => vec![CalibrationTarget::Processor],
            _ => match Self::gpus_like(facts) {
                Ok(gpus) => gpus,
                Err(error) => {
                    let text = format!("nothing can be measured on {wanted} here: {error}");
                    return Err(Failure::device(text).hinted(ELSEWHERE));
                }
            },
        };
        let mut seen = Vec::new();
        for name in candidates {
            // Opening a GPU takes a second; its name does not.
            if let Some(own) = name.gpu_name()?.filter(|own| *own != facts.name) {
                seen.push(format!("{name} is {own}"));
                continue;
            }
            let mut device = OpenDevice::open(name)?;
            if device.facts().is_same_device(facts) {
                device.convert_from(profile.device.converts_from_nnz);
                return Ok(device);
            }
            seen.push(format!("{name} is {}", described(device.facts())));
        }
        let none =
            if facts.kind == DeviceKind::Hip { "there is no HIP device" } else { "there is no CUDA device" };
        let seen = if seen.is_empty() { none.to_owned() } else { seen.join(", ") };
        Err(Failure::device(format!("the profile is of {wanted}, but here {seen}")).hinted(ELSEWHERE))
    }
}

const ELSEWHERE: &str = "leave out --verify or --run to predict only, or use --device cpu to see predicted beside measured \
                         on this machine";

/// The shipped profile in whose name all words of `name` stand: `H200`, `NVIDIA H100`.
fn meant(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    Profile::shipped_names()
        .filter(|_| !words.is_empty())
        .find(|shipped| words.iter().all(|word| shipped.split('-').any(|part| part == *word)))
}

/// The profile of the first GPU here, if it is shipped or was calibrated before.
fn of_this_machine(context: &Context) -> Result<Option<Profile>, Failure> {
    let Ok(name) = Cuda::name(0) else { return Ok(None) };
    let found = Profile::known_for_gpu(&name, || Cuda::driver().ok())?;
    match &found {
        Some(Profile { rescaled: Some(_), folder: Some(folder), .. }) => {
            context.printer.detail(format_args!("calibration of this GPU: {}", folder.display()));
        }
        Some(_) => {}
        None => context.printer.note(unknown(&shown(&name), &command_as_typed())),
    }
    Ok(found)
}

/// The note about a GPU here that has no profile, with the command that calibrates it.
fn unknown(name: &str, command: &str) -> String {
    let (seconds, default) = (CALIBRATION_BUDGET.0, Profile::DEFAULT);
    let allow = if may_calibrate() { "" } else { "SPARSIGHT_CALIBRATE=1 " };
    format!(
        "{name} has no profile, so this is for {default}; `{allow}{command} --device cuda:0` calibrates it first, in some \
         {seconds:.0} s, once"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_about_an_unknown_gpu_names_the_calibrating_command() {
        assert_eq!(
            unknown("Some GPU", "sparsight advise a.mtx"),
            "Some GPU has no profile, so this is for nvidia-h200; `sparsight advise a.mtx --device cuda:0` calibrates it first, in \
             some 20 s, once"
        );
    }

    #[test]
    fn devices_are_told_from_profiles() {
        let here = |text: &str| text.parse::<DeviceName>().unwrap().here().unwrap();
        assert_eq!(here("cpu"), CalibrationTarget::Processor);
        assert_eq!(here("cuda"), CalibrationTarget::Gpu(0));
        assert_eq!(here("cuda:3"), CalibrationTarget::Gpu(3));
        assert_eq!("nvidia-h200".parse(), Ok(DeviceName::Profile("nvidia-h200".to_owned())));
        assert_eq!(here("cuda:1/sm40"), CalibrationTarget::GpuPart(1, 40));
        assert_eq!(here("cuda/sm8"), CalibrationTarget::GpuPart(0, 8));
        assert_eq!(here("hip"), CalibrationTarget::Hip(0));
        assert_eq!(here("hip:2"), CalibrationTarget::Hip(2));
        assert_eq!("hipster".parse(), Ok(DeviceName::Profile("hipster".to_owned())));
        assert_eq!("runs/sm_90".parse(), Ok(DeviceName::Profile("runs/sm_90".to_owned())));
        for wrong in ["cuda:x", "cuda:0/sm", "cuda:0/sm-8", "cuda:0/smx", "cuda:0/mp8", "hip:x", "hip:0/sm8"]
        {
            assert!(wrong.parse::<DeviceName>().is_err(), "{wrong}");
        }
        for name in ["cpu", "cuda:3", "cuda:1/sm40", "hip:1", "nvidia-h200"] {
            assert_eq!(name.parse::<DeviceName>().unwrap().to_string(), name);
        }
    }
}
