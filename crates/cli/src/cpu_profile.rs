//! A processor without a profile: calibrated when it is first asked about, and kept in the cache.
//!
//! What is measured and learned is the library's business (`sparsight::measure_cpu_matrices`); here it has progress, and a word about noise.

use crate::context::Context;
use crate::device_choice::{DeviceName, OpenDevice, described};
use crate::failure::Failure;
use crate::noise::Noise;
use crate::profile_cache;
use crate::profiling::{self, Instrumented};
use sparsight::device::DeviceError;
use sparsight::kernels::{DeviceFacts, DeviceKind};
use sparsight::matrix::Dtype;
use sparsight::profile::{GridName, ProfileFolder};
use sparsight::records::CorpusRecord;
use sparsight::{
    CPU_CALIBRATION_MATRICES, CalibratedDevice, Profile, cpu_calibration_folder, cpu_calibration_grid,
    measure_cpu_matrices,
};
use std::path::PathBuf;
use std::time::Instant;

/// The cached profile, with `dtype` in it; measured now if it is not there.
pub(crate) fn find_or_measure(context: &Context, dtype: Dtype) -> Result<Profile, Failure> {
    let mut device = OpenDevice::open(&DeviceName::Cpu)?;
    let path = folder_of(device.facts())?;
    if let Some(profile) = Profile::of_calibrated_cpu(device.facts(), dtype) {
        context.printer.detail(format_args!("calibration of this processor: {}", path.display()));
        return Ok(profile);
    }
    profile_cache::keep_unreadable(&path, context)?;
    context.printer.note(format_args!(
        "no profile of {} in {dtype} yet: calibrating with {} generated matrices, once",
        described(device.facts()),
        CPU_CALIBRATION_MATRICES.len()
    ));
    let begun = Instant::now();
    let folder = ProfileFolder::create(&path)?;
    measure(&folder, &mut device, &[dtype], context)?;
    let seconds = begun.elapsed().as_secs_f64();
    context.printer.note(format_args!("calibrated in {seconds:.0} s; kept in {}", path.display()));
    Profile::load(&path).map_err(Failure::from)
}

/// Measures what the folder lacks of a calibration, with progress, says if the machine was not quiet, and fits the models.
pub(crate) fn measure(
    folder: &ProfileFolder,
    device: &mut OpenDevice,
    dtypes: &[Dtype],
    context: &Context,
) -> Result<Instrumented, Failure> {
    context.interrupt.listen();
    let mut noise = Noise::before(DeviceKind::Cpu);
    folder.benchmark()?.begin()?;
    profiling::begin(folder, device, Some(GridName::Coarse), context)?;
    let kept =
        || format!("what was measured is kept in {}; the same command goes on", folder.path().display());
    let grid = cpu_calibration_grid(device.facts(), dtypes);
    let done = profiling::run_benchmark(folder, device, &grid, None, &mut noise, context)
        .map_err(|failure| failure.keeping(kept))?;
    let new = measure_matrices(folder, device, dtypes, &mut noise, context)
        .map_err(|failure| failure.keeping(kept))?;
    if done.measured + new > 0 {
        noise.warn(&context.printer);
        remember(folder, &noise)?;
    }
    profiling::fit_and_write(folder, &[], (&[], |_| true), &[], &context.printer)?;
    Ok(done)
}

/// Keeps what was not quiet, since every answer is as good as these times. What a quiet run adds to a noisy one does not undo it.
fn remember(folder: &ProfileFolder, noise: &Noise) -> Result<(), Failure> {
    if let Some(reasons) = noise.reasons() {
        let mut device = folder.device()?;
        device.provenance.noise = Some(reasons);
        folder.write_device(&device)?;
    }
    Ok(())
}

/// The matrices that the folder does not hold yet; how many records that were.
fn measure_matrices(
    folder: &ProfileFolder,
    device: &OpenDevice,
    dtypes: &[Dtype],
    noise: &mut Noise,
    context: &Context,
) -> Result<usize, Failure> {
    let device = CalibratedDevice {
        of_f32: device.of(),
        of_f64: device.of(),
        as_profiled: profiling::now_here(device, GridName::Coarse),
    };
    let bar = context.printer.progress(CPU_CALIBRATION_MATRICES.len() as u64, "matrices");
    let mut before = |at: usize, name: &str| {
        bar.at(at as u64, name.to_owned());
        context.interrupt.check().map_err(|_| DeviceError::Interrupted.into())
    };
    let mut after = |record: &CorpusRecord| noise.recorded(record);
    Ok(measure_cpu_matrices(&device, folder, dtypes, context.seed, &mut before, &mut after)?)
}

/// Where the calibration of a processor is kept.
pub(crate) fn folder_of(facts: &DeviceFacts) -> Result<PathBuf, Failure> {
    cpu_calibration_folder(facts).ok_or_else(profile_cache::no_folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_quiet_is_kept_and_a_quiet_run_does_not_undo_it() {
        let dir = tempfile::tempdir().unwrap();
        let folder = ProfileFolder::create(dir.path()).unwrap();
        let device = OpenDevice::open(&DeviceName::Cpu).unwrap();
        folder.write_device(&profiling::now_here(&device, GridName::Coarse)).unwrap();
        let kept = || folder.device().unwrap().provenance.noise;
        // Of a GPU, since the load here is not known.
        let mut noise = Noise::before(DeviceKind::Cuda);
        remember(&folder, &noise).unwrap();
        assert_eq!(kept(), None);
        noise.timed_with(0.5, 5);
        remember(&folder, &noise).unwrap();
        assert_eq!(kept().as_deref(), Some("the samples of 1 of 1 time spread over more than 10.0 %"));
        remember(&folder, &Noise::before(DeviceKind::Cuda)).unwrap();
        assert!(kept().is_some());
    }
}
