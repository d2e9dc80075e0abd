//! `bench --kernel-file`: kernels of the user's own, from CUDA files.

use crate::failure::Failure;
use sparsight::bench::{Bench, MeasuredOwn, bench_own};
use sparsight::device::{Device, DeviceError};
use sparsight::kernels::{DeviceFacts, OwnKernel};
use sparsight::matrix::io::read_regular_text;
use sparsight::matrix::{Csr, Dtype, Scalar};
use std::path::{Path, PathBuf};

/// The files, each read for products in `dtype`. Needs no GPU.
pub(crate) fn read(paths: &[PathBuf], dtype: Dtype) -> Result<Vec<OwnKernel>, Failure> {
    paths.iter().map(|path| read_one(path, dtype)).collect()
}

fn read_one(path: &Path, dtype: Dtype) -> Result<OwnKernel, Failure> {
    let text =
        read_regular_text(path).map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
    let name =
        path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into());
    OwnKernel::read(&name, &text, dtype).map_err(|error| {
        Failure::input(error.to_string()).hinted("docs/own-kernel.md shows such a file, and what it may name")
    })
}

/// CUDA takes a GPU.
pub(crate) fn refuse_cpu(kernels: &[OwnKernel], facts: &DeviceFacts) -> Result<(), Failure> {
    match kernels.first() {
        Some(kernel) if !facts.kind.is_gpu() => {
            let (name, device) = (kernel.name(), &facts.name);
            let text =
                format!("{name} is CUDA, and would be run on {device}; nothing is wrong with its head");
            Err(Failure::device(text).hinted(
                "name a GPU of this machine, --device cuda:0; `sparsight devices` lists what is here",
            ))
        }
        _ => Ok(()),
    }
}

/// What became of one kernel on `a`. What its file lacks ends the run.
pub(crate) fn measured<T: Scalar>(
    device: &dyn Device<T>,
    a: &Csr<T>,
    kernel: &OwnKernel,
    how: &Bench,
) -> Result<Vec<MeasuredOwn>, Failure> {
    // SAFETY: the user's own code in the user's own process, asked for by name; docs/own-kernel.md says that what it writes
    // outside of its arrays is not contained.
    unsafe { bench_own(device, a, kernel, how) }.map_err(|error| match error {
        DeviceError::Compile { log, .. } => {
            Failure::input(format!("{} does not compile:\n{log}", kernel.name()))
        }
        DeviceError::OwnKernel(error) => Failure::input(error.to_string()),
        other => other.into(),
    })
}
