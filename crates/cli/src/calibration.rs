//! A GPU without a profile: calibrated when it is first asked about, and kept in the cache.
//!
//! ```text
//! reference matrices -> measured here, and in a profile of another GPU -> how that one's predictions are carried over
//! ```
//! Everything that was measured is on disk as soon as it is: a run that was stopped goes on where it was.

use crate::context::Context;
use crate::device_choice::{DeviceName, OpenDevice, described};
use crate::failure::Failure;
use crate::{profile_cache, profiling};
use sparsight::device::DeviceError;
use sparsight::profile::{GridName, ProfileFolder, RescalingFile};
use sparsight::{CALIBRATION_MATRICES, CalibratedDevice, Profile, measure_calibration};
use std::path::Path;
use std::time::Instant;

/// The calibrated profile in the folder, if it was made before.
pub(crate) fn find(path: &Path, context: &Context) -> Option<Profile> {
    let found = Profile::load(path).ok()?;
    context.printer.detail(format_args!("calibration of this GPU: {}", path.display()));
    Some(found)
}

/// The same, measured now if it was not.
pub(crate) fn find_or_measure(
    path: &Path,
    device: &DeviceName,
    context: &Context,
) -> Result<Profile, Failure> {
    if let Some(found) = find(path, context) {
        return Ok(found);
    }
    profile_cache::keep_unreadable(path, context)?;
    let begun = Instant::now();
    let device = OpenDevice::open(device)?;
    context.printer.note(format_args!(
        "no profile of {}: calibrating with {} generated matrices, once",
        described(device.facts()),
        CALIBRATION_MATRICES.len()
    ));
    let folder = ProfileFolder::create(path)?;
    let made = measure(&device, &folder, None, context)?;
    context.printer.note(format_args!(
        "calibrated in {:.0} s from {}; kept in {}",
        begun.elapsed().as_secs_f64(),
        made.reference,
        path.display()
    ));
    Profile::load(path).map_err(Failure::from)
}

/// Measures what the folder lacks of a calibration, with progress: [`measure_calibration`].
pub(crate) fn measure(
    device: &OpenDevice,
    folder: &ProfileFolder,
    reference: Option<&str>,
    context: &Context,
) -> Result<RescalingFile, Failure> {
    context.interrupt.listen();
    let device = CalibratedDevice {
        of_f32: device.of(),
        of_f64: device.of(),
        as_profiled: profiling::now_here(device, GridName::Quick),
    };
    let bar = context.printer.progress(2 * CALIBRATION_MATRICES.len() as u64, "records");
    let mut before = |at: usize, matrix: &str| {
        bar.at(at as u64, matrix.to_owned());
        context.interrupt.check().map_err(|_| DeviceError::Interrupted.into())
    };
    let measured = measure_calibration(&device, folder, reference, context.seed, &mut before);
    measured.map_err(|error| Failure::from(error).keeping(|| kept(folder)))
}

fn kept(folder: &ProfileFolder) -> String {
    format!("what was measured is kept in {}; the same command goes on", folder.path().display())
}
