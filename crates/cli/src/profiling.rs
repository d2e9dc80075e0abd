//! Filling a profile folder: what `profile`, `measure` and the coarse profile of a CPU have in common.

use crate::budget::Spending;
use crate::calibration::{self, Watch};
use crate::context::Context;
use crate::failure::Failure;
use crate::output_file;
use crate::printer::Printer;
use crate::text::described;
use sparsight::Error;
use sparsight::bench::Noise;
use sparsight::calibrate::{self, Benchmarked, Event, Fitted, Grid, OpenDevice, measure_conversion};
use sparsight::device::DeviceError;
use sparsight::models::ModelName;
use sparsight::profile::{GridName, ProfileFolder, ProfiledDevice};
use sparsight_lab::{shared, write_fitted};
use std::path::Path;

/// Writes the device into a folder that holds none, and what it takes to convert to formats that an older folder does
/// not know; refuses a folder that holds another device. `grid`: the benchmark matrices that are asked for, if any.
pub(crate) fn begin(
    folder: &ProfileFolder,
    device: &mut OpenDevice,
    grid: Option<GridName>,
    context: &Context,
) -> Result<(), Failure> {
    if let Some(mut known) = folder.known_device(device.facts())? {
        device.convert_from(known.converts_from_nnz);
        if known.converts_from_nnz.is_none() {
            known.converts_from_nnz = device.measure_conversion_threshold()?;
            if known.converts_from_nnz.is_some() {
                folder.write_device(&known)?;
            }
        }
        return Ok(calibrate::complete_device(folder, device.of(), &mut known, grid)?);
    }
    context
        .printer
        .note(format_args!("measuring the bandwidth and the launch cost of {}", described(device.facts())));
    device.measure_rates();
    context.printer.detail("measuring conversions between formats");
    let converts_from_nnz = device.measure_conversion_threshold()?;
    let conversion = measure_conversion(device.of::<f64>())?.into_iter().collect();
    let grid = grid.unwrap_or_default();
    let now = ProfiledDevice { conversion, converts_from_nnz, grid, ..device.as_profiled() };
    folder.write_device(&now)?;
    Ok(())
}

/// Runs the benchmark matrices of `grid` that the folder does not hold, with progress, until the budget is spent, if there is one. `noise`
/// sees each time.
///
/// # Errors
/// [`Failure::Interrupted`] after Ctrl-C: what was measured is in the folder.
pub(crate) fn run_benchmark(
    folder: &ProfileFolder,
    device: &OpenDevice,
    grid: &Grid,
    budget: Option<&Spending>,
    noise: &mut Noise,
    context: &Context,
) -> Result<Benchmarked, Failure> {
    let points = grid.points.len();
    let mut counts = Benchmarked { points, left: points, ..Benchmarked::default() };
    let is_over = || budget.is_some_and(Spending::is_over);
    if is_over() {
        return Ok(counts);
    }
    let mut watch = Watch::new(context, false);
    let mut watcher = |event: Event<'_>| match watch.saw(event, None) {
        Ok(()) if is_over() => Err(DeviceError::Interrupted.into()),
        seen => seen,
    };
    let both = (device.of(), device.of());
    let ran = calibrate::run_benchmark(both, folder, grid, noise, &mut counts, &mut watcher);
    drop(watch);
    match ran {
        Err(Error::Device(DeviceError::Interrupted)) if !context.interrupt.asked() => {}
        ran => ran?,
    }
    calibration::warn_failed(&counts, &context.printer);
    Ok(counts)
}

/// Fits the models to what the folder holds and writes them. The corpus that they may learn from is that whose
/// names `trainable` accepts, and those of `others`, carried over; `train` is recorded as what was asked for.
pub(crate) fn fit_and_write(
    folder: &ProfileFolder,
    others: &[ProfileFolder],
    (train, trainable): (&[String], impl Fn(&str) -> bool),
    without: &[ModelName],
    printer: &Printer,
) -> Result<Fitted, Failure> {
    let mut fitted = sparsight::calibrate::fit(folder, others, trainable)?;
    for &model in without {
        fitted.models.leave_out(model);
    }
    fitted.models.index.train = train.to_vec();
    write_fitted(folder, &fitted)?;
    calibration::warn_implausible(fitted.implausible, folder.path().display(), printer);
    Ok(fitted)
}

/// Writes a profile into one file that can be given away ([`shared`]), and says so.
pub(crate) fn share(folder: &ProfileFolder, path: &Path, printer: &Printer) -> Result<(), Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".tar.gz").or_else(|| name.strip_suffix(".tgz")).unwrap_or_default();
    if name.is_empty() {
        let text = format!("{}: the name of a shared profile ends in .tar.gz", path.display());
        return Err(Failure::input(text));
    }
    output_file::write(path, &shared(folder, name)?)?;
    printer.note(format_args!(
        "{} holds the profile with numbers in place of the names of matrices: `tar xzf` it, then `--profile {name}`",
        path.display()
    ));
    Ok(())
}
