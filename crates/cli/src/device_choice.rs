//! Choice of the device: `cpu`, `cuda[:N]`, a part of one `cuda[:N]/smM`, `hip[:N]`, or the name or folder of a profile.

use crate::calibration;
use crate::context::{Context, command_as_typed};
use crate::failure::Failure;
use crate::text::{described, shown, words};
use sparsight::calibrate::{
    CALIBRATION_BUDGET, CalibrationTarget, may_calibrate, measure_conversion_threshold,
};
use sparsight::device::cpu::Cpu;
use sparsight::device::cuda::{Cuda, Nccl, PartSizes, cusparse_version, nvrtc_version};
use sparsight::device::gpu::{ConvertOn, GpuDevice, Link};
use sparsight::device::hip::Hip;
use sparsight::device::{Device, DeviceError};
use sparsight::kernels::{Candidate, DeviceFacts, DeviceKind};
use sparsight::matrix::{Dtype, Scalar};
use sparsight::profile::{ProfileFolder, ProfiledDevice, folder_of};
use sparsight::{Error, Profile};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A device as it is named on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DeviceName {
    /// This machine's processor.
    Cpu,
    /// A GPU of this machine.
    Cuda(usize),
    /// A part with this many multiprocessors.
    Part(usize, u32),
    /// A GPU of AMD.
    Hip(usize),
    /// A measured device, wherever it is.
    Profile(String),
}

impl DeviceName {
    /// A GPU if there is one.
    pub(crate) fn best_here() -> Self {
        if Cuda::count().is_ok_and(|count| count > 0) { Self::Cuda(0) } else { Self::Cpu }
    }

    /// Returns whether it is a device of this machine, not a profile.
    fn is_here(&self) -> bool {
        !matches!(self, Self::Profile(_))
    }

    /// GPU number `index`, or the part of it that `facts` are of.
    fn gpu_of(facts: &DeviceFacts, index: usize) -> Self {
        let part = Self::Part(index, facts.multiprocessors);
        let known = part.gpu_name().is_ok_and(|name| name.as_ref() == Some(&facts.name));
        if known { part } else { Self::Cuda(index) }
    }

    /// The device to calibrate; an error for a profile.
    pub(crate) fn calibration_target(&self) -> Result<CalibrationTarget, Failure> {
        match self {
            Self::Cpu => Ok(CalibrationTarget::Processor),
            Self::Cuda(index) => Ok(CalibrationTarget::Gpu(*index)),
            Self::Part(index, multiprocessors) => Ok(CalibrationTarget::GpuPart(*index, *multiprocessors)),
            Self::Hip(_) => Err(Failure::device(format!("{self} has no profile, and GPUs of AMD are not calibrated yet"))
                .hinted(format!("`sparsight lab profile --device {self} -o DIR` measures one; products run without: `sparsight bench`"))),
            Self::Profile(name) => Err(nothing_runs_on(name)),
        }
    }

    /// Name of a GPU or a part of one in its facts. Opens nothing.
    fn gpu_name(&self) -> Result<Option<String>, DeviceError> {
        match *self {
            Self::Cuda(index) => Cuda::name(index).map(Some),
            Self::Part(index, multiprocessors) => Cuda::name_of_part(index, multiprocessors).map(Some),
            Self::Hip(index) => Hip::name(index).map(Some),
            Self::Cpu | Self::Profile(_) => Ok(None),
        }
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
            _ if text == "cpu" => return Ok(Self::Cpu),
            _ if text == "hip" => return Ok(Self::Hip(0)),
            // Parts of its multiprocessors are CUDA's.
            Some(("hip", _)) => {
                let index = &text["hip:".len()..];
                let wrong = |_| format!("'{index}' is not the number of a HIP device");
                return index.parse().map(Self::Hip).map_err(wrong);
            }
            _ if device == "cuda" => 0,
            Some(("cuda", index)) => {
                index.parse().map_err(|_| format!("'{index}' is not the number of a CUDA device"))?
            }
            _ => return Ok(Self::Profile(text.to_owned())),
        };
        part.map_or(Ok(Self::Cuda(index)), |part| {
            let wrong = || format!("'{part}' is not a number of multiprocessors such as 40 in cuda:0/sm40");
            part.parse().map(|multiprocessors| Self::Part(index, multiprocessors)).map_err(|_| wrong())
        })
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.pad("cpu"),
            Self::Cuda(index) => f.pad(&format!("cuda:{index}")),
            Self::Part(index, multiprocessors) => f.pad(&format!("cuda:{index}/sm{multiprocessors}")),
            Self::Hip(index) => f.pad(&format!("hip:{index}")),
            Self::Profile(name) => f.pad(name),
        }
    }
}

/// The error for a profile where a device of this machine is needed.
fn nothing_runs_on(profile: &str) -> Failure {
    Failure::device(format!("'{profile}' is a profile and nothing can be run on it")).hinted(
        "devices of this machine are cpu, cuda[:N], cuda[:N]/smM and hip[:N]; `sparsight devices` lists them",
    )
}

/// A device that is here and can run things.
#[derive(Debug)]
pub(crate) enum OpenDevice {
    Cpu(Box<Cpu>),
    Cuda(Box<Cuda>),
    Hip(Box<Hip>),
}

impl OpenDevice {
    /// Opens a device of this machine.
    pub(crate) fn open(name: &DeviceName) -> Result<Self, Failure> {
        match name {
            DeviceName::Cpu => Ok(Self::Cpu(Box::new(Cpu::new()))),
            DeviceName::Cuda(index) => Ok(Self::Cuda(Box::new(Cuda::open(*index)?))),
            DeviceName::Part(index, multiprocessors) => {
                Ok(Self::Cuda(Box::new(Cuda::open_part(*index, *multiprocessors)?)))
            }
            DeviceName::Hip(index) => Ok(Self::Hip(Box::new(Hip::open(*index)?))),
            DeviceName::Profile(name) => Err(nothing_runs_on(name)),
        }
    }

    pub(crate) fn facts(&self) -> &DeviceFacts {
        match self {
            Self::Cpu(cpu) => cpu.facts(),
            Self::Cuda(cuda) => cuda.facts(),
            Self::Hip(hip) => hip.as_gpu().facts(),
        }
    }

    /// `profile`, which is of this device, with the launch that was measured when it was opened.
    pub(crate) fn at_hand(&self, profile: Profile, context: &Context) -> Profile {
        let of_profile = profile.device.facts.launch_s;
        let profile = profile.on_machine(self.facts().launch_s);
        if let Some(here) = profile.launch_here {
            context.printer.detail(format_args!("a launch takes {here} here, {of_profile} in the profile"));
        }
        profile
    }

    /// Measures bandwidth and launch cost; a GPU's are measured when it is opened.
    pub(crate) fn measure_rates(&mut self) {
        if let Self::Cpu(cpu) = self {
            cpu.measure_rates();
        }
    }

    /// Measures from which size on the device converts faster than the host, and keeps to it; `None` of a CPU.
    pub(crate) fn measure_conversion_threshold(&mut self) -> Result<Option<u64>, DeviceError> {
        let from = match self {
            Self::Cpu(_) => None,
            Self::Cuda(cuda) => measure_conversion_threshold(cuda.as_gpu())?,
            Self::Hip(hip) => measure_conversion_threshold(hip.as_gpu())?,
        };
        self.convert_from(from);
        Ok(from)
    }

    /// Converts where the profile of this device found it faster.
    pub(crate) fn convert_as(&mut self, known: &ProfiledDevice) {
        self.convert_from(known.converts_from_nnz);
    }

    /// Converts on the GPU from so many non-zeros on, if that is known.
    fn convert_from(&mut self, nnz: Option<u64>) {
        let Some(place) = nnz.map(ConvertOn::From) else { return };
        match self {
            Self::Cpu(_) => {}
            Self::Cuda(cuda) => cuda.convert_on(place),
            Self::Hip(hip) => hip.as_gpu_mut().convert_on(place),
        }
    }

    /// The device, for one value type.
    pub(crate) fn of<T: Scalar>(&self) -> &dyn Device<T> {
        match self {
            Self::Cpu(cpu) => cpu.as_ref(),
            Self::Cuda(cuda) => cuda.as_ref(),
            Self::Hip(hip) => hip.as_gpu(),
        }
    }

    /// The `candidates` that the device runs. A warning gives the reason for the others; it is an error if none is left.
    pub(crate) fn runnable<T: Scalar>(
        &self,
        mut candidates: Vec<Candidate>,
        context: &Context,
    ) -> Result<Vec<Candidate>, Failure> {
        let mut left_out = BTreeMap::new();
        candidates.retain(|candidate| match self.of::<T>().runs(candidate.kernel) {
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

    /// The version of the vendor's library here, `12.6.3`; empty where there is none.
    pub(crate) fn cusparse(&self) -> String {
        match self {
            Self::Cpu(_) | Self::Hip(_) => String::new(),
            Self::Cuda(_) => vendors_library().unwrap_or_default(),
        }
    }

    /// Returns whether `facts` are those of this device.
    pub(crate) fn is(&self, facts: &DeviceFacts) -> bool {
        self.facts().is_same_device(facts)
    }
}

/// A GPU of this machine.
pub(crate) struct GpuHere {
    pub(crate) name: DeviceName,
    pub(crate) facts: DeviceFacts,
    /// Numbers of multiprocessors that a part of it may have.
    pub(crate) parts: Result<PartSizes, DeviceError>,
}

/// The GPUs of this machine; an error without a driver.
pub(crate) fn gpus_here() -> Result<Vec<GpuHere>, DeviceError> {
    let gpu = |index| {
        let (name, facts) = (DeviceName::Cuda(index), Cuda::open(index)?.facts().clone());
        Ok(GpuHere { name, facts, parts: Cuda::parts(index) })
    };
    (0..Cuda::count()?).map(gpu).collect()
}

/// A GPU of AMD on this machine, and what opening it gave.
pub(crate) struct HipHere {
    pub(crate) name: DeviceName,
    pub(crate) facts: Result<DeviceFacts, DeviceError>,
}

/// The GPUs of AMD on this machine; an error without HIP.
pub(crate) fn hip_gpus_here() -> Result<Vec<HipHere>, DeviceError> {
    let gpu = |index| {
        let facts = Hip::open(index).map(|hip| hip.as_gpu().facts().clone());
        HipHere { name: DeviceName::Hip(index), facts }
    };
    Ok((0..Hip::count()?).map(gpu).collect())
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
            Some(device) if device.is_here() => {
                let shipped = device.gpu_name()?.map(|name| Profile::shipped_for_gpu(&name));
                match shipped.transpose()?.flatten() {
                    Some(profile) => Ok(profile),
                    None => {
                        calibration::find_or_measure(device.calibration_target()?, device, dtype, context)
                    }
                }
            }
            Some(device) => Profile::find(&device.to_string()).map_err(|error| match error {
                Error::NoProfile { shipped, .. } => Failure::input(format!("unknown device '{device}'"))
                    .hinted(match meant(&device.to_string()) {
                        Some(meant) => format!("did you mean {meant}?"),
                        None => {
                            format!(
                                "a device is cpu, cuda[:N] of an NVIDIA GPU here, a profile ({shipped}), a profile's folder, or a \
                                 data sheet NAME.toml of an NVIDIA GPU that was not measured (docs/profile-format.md)"
                            )
                        }
                    }),
                other => other.into(),
            }),
            None => of_this_machine(context)?
                .map_or_else(|| Profile::find(Profile::DEFAULT).map_err(Failure::from), Ok),
        }
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
            (None, Some(name)) if name.is_here() => Ok(OpenDevice::open(name)?.facts().clone()),
            _ => Ok(self.resolve(context, context.dtype())?.device.facts),
        }
    }

    /// The GPUs of this machine that may be the one of these facts.
    fn gpus_like(facts: &DeviceFacts, kind: DeviceKind) -> Result<Vec<DeviceName>, DeviceError> {
        Ok(match kind {
            DeviceKind::Hip => (0..Hip::count()?).map(DeviceName::Hip).collect(),
            _ => (0..Cuda::count()?).map(|index| DeviceName::gpu_of(facts, index)).collect(),
        })
    }

    /// The device that `profile` speaks of, opened, if it is here.
    pub(crate) fn open(&self, profile: &Profile) -> Result<OpenDevice, Failure> {
        let facts = &profile.device.facts;
        let wanted = described(facts);
        let candidates = match (&self.device, facts.kind) {
            (Some(name), _) if name.is_here() => vec![name.clone()],
            (_, DeviceKind::Cpu) => vec![DeviceName::Cpu],
            (_, kind) => match Self::gpus_like(facts, kind) {
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
            let mut device = OpenDevice::open(&name)?;
            if device.is(facts) {
                device.convert_as(&profile.device);
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
        assert_eq!("cpu".parse(), Ok(DeviceName::Cpu));
        assert_eq!("cuda".parse(), Ok(DeviceName::Cuda(0)));
        assert_eq!("cuda:3".parse(), Ok(DeviceName::Cuda(3)));
        assert_eq!("nvidia-h200".parse(), Ok(DeviceName::Profile("nvidia-h200".to_owned())));
        assert_eq!("cuda:1/sm40".parse(), Ok(DeviceName::Part(1, 40)));
        assert_eq!("cuda/sm8".parse(), Ok(DeviceName::Part(0, 8)));
        assert_eq!("hip".parse(), Ok(DeviceName::Hip(0)));
        assert_eq!("hip:2".parse(), Ok(DeviceName::Hip(2)));
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
