//! A processor without a profile: calibrated when it is first asked about, and kept in the cache.
//!
//! What is measured and learned is the library's business (`sparsight::calibrate::measure_cpu_matrices`); here it has progress, and a word about noise.

use crate::context::Context;
use crate::device_choice::{DeviceName, OpenDevice};
use crate::failure::Failure;
use crate::profile_cache;
use crate::profiling::{self, Instrumented};
use crate::text::described;
use sparsight::Profile;
use sparsight::bench::Noise;
use sparsight::calibrate::{
    CPU_CALIBRATION_MATRICES, CalibratedDevice, cpu_calibration_folder, cpu_calibration_grid, keep_noise,
    may_calibrate, measure_cpu_matrices, set_noisy_calibration_apart,
};
use sparsight::device::DeviceError;
use sparsight::kernels::{DeviceFacts, DeviceKind};
use sparsight::matrix::Dtype;
use sparsight::profile::{GridName, ProfileFolder};
use sparsight::records::CorpusRecord;
use std::path::PathBuf;
use std::time::Instant;

/// The cached profile, with `dtype` in it; measured now if it is not there. Of two runs that would, the second waits, and finds what the
/// first has measured. One of a busy machine is measured again.
pub(crate) fn find_or_measure(context: &Context, dtype: Dtype) -> Result<Profile, Failure> {
    let mut device = OpenDevice::open(&DeviceName::Cpu)?;
    let path = folder_of(device.facts())?;
    let find = |device: &OpenDevice| {
        let found = Profile::of_calibrated_cpu(device.facts(), dtype)?;
        context.printer.detail(format_args!("calibration of this processor: {}", path.display()));
        Some(found)
    };
    if let Some(found) = find(&device) {
        return Ok(found);
    }
    if !may_calibrate() {
        let text = "this processor was not calibrated yet, and SPARSIGHT_CALIBRATE=0 says not to do it now";
        return Err(Failure::input(text).hinted(
            "`sparsight calibrate --device cpu -o DIR` does it by hand, then `--profile DIR`; or take the profile of a GPU: --device \
             nvidia-h200",
        ));
    }
    let (folder, _alone) = loop {
        let alone = profile_cache::alone(&path, "this processor", context)?;
        if let Some(found) = find(&device) {
            return Ok(found);
        }
        // The lock of a folder that was set aside just now is not that of the new one.
        if profile_cache::keep_unreadable(&path, context)? {
            continue;
        }
        if !set_noisy_calibration_apart(&path)? {
            break alone;
        }
        context.printer.note("the machine was busy when this processor was calibrated: that is set apart");
    };
    context.printer.note(format_args!(
        "no profile of {} in {dtype} yet: calibrating with {} generated matrices, once",
        described(device.facts()),
        CPU_CALIBRATION_MATRICES.len()
    ));
    let begun = Instant::now();
    measure(&folder, &mut device, &[dtype], context)?;
    let seconds = begun.elapsed().as_secs_f64();
    let made = Profile::load(&path)?;
    if made.device.provenance.noise.is_some() {
        context.printer.warning(format_args!(
            "this calibration answers now and is made again at the next use; `sparsight calibrate --device cpu -o DIR` keeps one \
             however busy the machine is"
        ));
    } else {
        context.printer.note(format_args!("calibrated in {seconds:.0} s; kept in {}", path.display()));
    }
    Ok(made)
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
        context.printer.warn_of(&noise);
        keep_noise(folder, &noise)?;
    }
    profiling::fit_and_write(folder, &[], (&[], |_| true), &[], &context.printer)?;
    Ok(done)
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
