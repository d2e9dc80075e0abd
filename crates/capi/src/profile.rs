//! Profiles: the data that predictions rest on.

use crate::arguments::{Out, free, text};
use crate::error::guarded;
use crate::failure::Failure;
use crate::status::SS_NO_PROFILE;
use crate::{device, threads};
use sparsight::bindings::LocalDevice;
use sparsight::calibrate::{CALIBRATION_BUDGET, CalibrationTarget, Event, calibrated_profile};
use sparsight::device::cpu::Cpu;
use sparsight::kernels::DeviceFacts;
use sparsight::{Error, Profile};
use std::ffi::{c_char, c_int};
use std::io::{self, Write};

/// Known facts of a device, on which predictions rest.
pub struct ProfileHandle(pub(crate) Known);

/// The source of predictions.
pub(crate) enum Known {
    /// A profile's.
    Profile(Box<Profile>),
    /// Facts of this machine's processor, calibrated or not.
    Processor(DeviceFacts),
}

fn find(name: Option<&str>) -> Result<Known, Failure> {
    if name.and_then(LocalDevice::named) == Some(LocalDevice::Cpu) {
        threads::refuse_forked()?;
        threads::begin()?;
        return Ok(Known::Processor(Cpu::new().facts().clone()));
    }
    profile_of(name).map(|profile| Known::Profile(Box::new(profile)))
}

fn profile_of(name: Option<&str>) -> Result<Profile, Failure> {
    let Some(name) = name else {
        threads::refuse_forked()?;
        let of_this_machine = device::gpu_name(0).ok().map(|gpu| device::known_profile(&gpu));
        return match of_this_machine.transpose()?.flatten() {
            Some(profile) => Ok(profile),
            None => Ok(Profile::shipped(Profile::DEFAULT)?),
        };
    };
    match LocalDevice::named(name) {
        Some(LocalDevice::Gpu(index)) => {
            threads::refuse_forked()?;
            let gpu = device::gpu_name(index)?;
            let profile = device::known_profile(&gpu)?.map_or_else(|| calibrated(index), Ok)?;
            // Where it cannot be opened products cost what they do in the profile: nothing is to be run on it yet.
            Ok(match device::launch_cost(index) {
                Ok(launch) => profile.on_machine(&launch),
                Err(_) => profile,
            })
        }
        // The library does not calibrate GPUs of AMD: no profile has that name.
        Some(LocalDevice::Cpu | LocalDevice::Hip(_)) | None => Ok(Profile::find(name)?),
    }
}

/// The profile of the GPU with that number, which has none yet. Takes some 20 s, and says so on standard error.
fn calibrated(index: usize) -> Result<Profile, Failure> {
    threads::begin()?;
    let mut is_said = false;
    let mut watcher = |event: Event<'_>| {
        match event {
            Event::Waiting if !is_said => {
                say("another process or thread calibrates this GPU: waiting for it");
                is_said = true;
            }
            Event::SetAside { why, aside } => {
                say(&format!("{why}: set aside, with all that is in it, as {}", aside.display()));
            }
            Event::Begins { device, .. } => {
                let why = Error::Uncalibrated { device: device.to_owned() };
                say(&format!("{why}: it is calibrated now, once, in about {:.0} s", CALIBRATION_BUDGET.0));
            }
            _ => {}
        }
        Ok(())
    };
    let made = calibrated_profile(CalibrationTarget::Gpu(index), &[], 0, false, &mut watcher);
    made.map_err(|error| match error {
        Error::Uncalibrated { .. } => Failure::new(SS_NO_PROFILE, error.to_string()).hinted(format!(
            "without SPARSIGHT_CALIBRATE=0 it is calibrated now, and at any time by `SPARSIGHT_CALIBRATE=1 sparsight advise --device \
             cuda:{index} A.mtx`, once; or take the profile of another GPU, such as {}",
            Profile::DEFAULT
        )),
        error => error.into(),
    })
}

/// Writes a line to standard error, for people who see the program wait; it is no answer of a call.
fn say(text: &str) {
    // Without a standard error the wait is the same.
    _ = writeln!(io::stderr(), "sparsight: {text}");
}

/// Opens the profile that `name_or_path` names: one that is part of the library ("nvidia-h200", "nvidia-h100"), a GPU of this machine
/// ("cuda:0"), its processor ("cpu"), the folder of a profile, or a data sheet (a file that ends in ".toml"). NULL stands for the first GPU of this machine
/// if it is known, else for "nvidia-h200". It reads models when they are first asked.
///
/// "cpu" is what `sparsight calibrate --device cpu`, `sparsight advise --device cpu` or Python's `calibrate("cpu")` have found out about
/// the processor; nothing is measured here. If that was not done, plans have plain CSR first and then the other candidates by the bytes
/// that they move, with times that are assumed: their intervals span a factor of 64.
///
/// A GPU that is named is opened, and launches and products of a small matrix on it are timed, once as long as it stays open: machines with
/// the same GPU differ in these, and every predicted time is moved by what they take more or less here than in the profile. Where it cannot
/// be opened, for want of NVRTC, times are those of the profile.
///
/// A GPU that is named and has no profile is calibrated: up to ten matrices are run on it, once, in about 20 s (longer on a slow
/// machine), and a line on standard error says so. What was measured is kept in the folder that the environment variable
/// `SPARSIGHT_CACHE` names, else in the user's cache (~/.cache/sparsight), and found there by every later call, by the program
/// `sparsight` and from Python. Of several threads or processes of one machine that ask at once one measures, and the others wait for
/// it. Where `SPARSIGHT_CALIBRATE` is 0 in the environment, nothing is measured: such a GPU is then `SS_NO_PROFILE`. NULL and other
/// names never wait.
///
/// `SS_NO_PROFILE` if there is none, if it cannot be read, or if there is no folder to keep it in; `SS_NO_GPU` if a GPU is named that
/// is not there, or that cannot be calibrated for want of NVRTC; `SS_DEVICE` if it fails meanwhile, if no kernel runs, if the system
/// gives no threads, and for NULL or a GPU in a forked process.
///
/// # Safety
/// `name_or_path` is NULL or ends with a NUL. `profile` is a place for a handle, to be freed by `ss_profile_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ss_profile_open(
    name_or_path: *const c_char,
    profile: *mut *mut ProfileHandle,
) -> c_int {
    guarded(|| {
        // SAFETY: as the caller promises.
        let (profile, name) =
            unsafe { (Out::of_handle("profile", profile)?, text("name_or_path", name_or_path)?) };
        profile.give(ProfileHandle(find(name)?));
        Ok(())
    })
}

/// Frees a profile. Plans that were made with it do not need it.
///
/// # Safety
/// `profile` is NULL or a handle that is no longer in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ss_profile_free(profile: *mut ProfileHandle) {
    // SAFETY: as the caller promises.
    unsafe { free(profile) };
}
