//! Conversion of CSR to another format: on the host, or on the GPU itself, as the format's [`Layout`] says.

use super::array::DeviceBytes;
use super::device::Shared;
use super::matrix::upload;
use super::{ConvertOn, DeviceMatrix, Memory};
use crate::timing::{took, try_took};
use crate::{DeviceError, Preparation};
use bytemuck::cast_slice;
use sparsight_kernels::conversion_parameters;
use sparsight_matrix::{
    Csr, Format, Infeasible, Layout, Limits, NamedArrays, Narrowing, Scalar, Seconds, Step, Stored,
};
use std::sync::Arc;

/// The matrix with its values in `f32`, and what rounding them took.
///
/// # Errors
/// [`Infeasible::BeyondSingle`] if they cannot be.
pub(super) fn narrow<T: Scalar>(a: &Csr<T>) -> Result<(Csr<f32>, Seconds), DeviceError> {
    Ok(try_took(|| Narrowing::narrow(a))?)
}

/// Converts and uploads, or uploads and converts.
///
/// # Errors
/// [`DeviceError::Infeasible`] if it does not fit; a failed call.
pub(super) fn load<T: Scalar>(
    gpu: &Shared,
    a: &Csr<T>,
    format: Format,
    limits: &Limits,
    place: ConvertOn,
) -> Result<(DeviceMatrix, Preparation), DeviceError> {
    let stays = format.stays_in_csr();
    let is_laid_out = stays || place.device(a.nnz());
    let layout = || format.layout::<T>(a.row_ptr(), a.ncols() as u64, limits);
    let (layout, host) = try_took(|| is_laid_out.then(layout).transpose())?;
    let csr_bytes = Csr::<T>::device_bytes(a.nrows() as u64, a.nnz() as u64, T::DTYPE).0;
    if let Some(layout) = layout
        && (stays || limits.memory.0 >= layout.most.0.saturating_add(csr_bytes))
    {
        let (csr, uploaded) = took(|| {
            // Where nothing is converted, only what the format keeps is brought over.
            let wanted = |name: &str| !stays || layout.keeps.contains(&name);
            let arrays: NamedArrays<'_, T> =
                a.arrays().into_iter().filter(|(name, _)| wanted(name)).collect();
            CsrArrays::upload(gpu, a, &arrays)
        });
        match try_took(|| lay_out(gpu, format, csr?, &layout, limits)) {
            // Little memory is left, in pieces: without the CSR beside it the format may fit.
            Err(DeviceError::Infeasible(Infeasible::DoesNotFit { .. })) if !stays => {}
            laid => {
                let (matrix, took) = laid?;
                let preparation = if stays {
                    Preparation { convert: host, upload: Seconds(uploaded.0 + took.0), on_device: false }
                } else {
                    Preparation { convert: Seconds(host.0 + took.0), upload: uploaded, on_device: true }
                };
                return Ok((matrix, preparation));
            }
        }
    }
    let (stored, convert) = try_took(|| format.convert(a, limits))?;
    let (matrix, upload) = try_took(|| {
        let size = (a.nrows() as u64, a.ncols() as u64, a.nnz() as u64);
        let mut matrix = DeviceMatrix::new::<T>(format, size, gpu.offset_bytes(size.2));
        matrix.tell(&stored.numbers());
        matrix.add(&gpu.memory(), &stored.arrays())?;
        Ok::<_, DeviceError>(matrix)
    })?;
    Ok((matrix, Preparation { convert, upload, on_device: false }))
}

/// A CSR on a GPU, some of its arrays perhaps left at home.
#[derive(Debug)]
pub(super) struct CsrArrays {
    pub(super) nrows: u64,
    pub(super) ncols: u64,
    pub(super) nnz: u64,
    pub(super) arrays: Vec<(&'static str, DeviceBytes)>,
}

impl CsrArrays {
    fn upload<T: Scalar>(gpu: &Shared, a: &Csr<T>, arrays: &NamedArrays<'_, T>) -> Result<Self, DeviceError> {
        let (memory, offset_bytes) = (gpu.memory(), gpu.offset_bytes(a.nnz() as u64));
        let uploaded: Result<Vec<_>, DeviceError> =
            arrays.iter().map(|(name, array)| Ok((*name, upload(&memory, array, offset_bytes)?))).collect();
        let (nrows, ncols, nnz) = (a.nrows() as u64, a.ncols() as u64, a.nnz() as u64);
        Ok(Self { nrows, ncols, nnz, arrays: uploaded? })
    }

    fn address(&self, name: &str) -> Option<u64> {
        self.arrays.iter().find(|(known, _)| *known == name).map(|(_, array)| array.address())
    }
}

/// Lays a CSR on the GPU out as another format there, and waits for it.
///
/// # Errors
/// [`DeviceError::Infeasible`] if it turns out larger than `limits`; a failed call.
pub(super) fn lay_out<T: Scalar>(
    gpu: &Shared,
    format: Format,
    csr: CsrArrays,
    layout: &Layout<T>,
    limits: &Limits,
) -> Result<DeviceMatrix, DeviceError> {
    let memory = gpu.memory();
    let mut matrix =
        DeviceMatrix::new::<T>(format, (csr.nrows, csr.ncols, csr.nnz), gpu.offset_bytes(csr.nnz));
    matrix.tell(&layout.numbers);
    matrix.add(&memory, &layout.arrays)?;
    let mut scratch = Vec::new();
    for (name, array) in &layout.scratch {
        scratch.push((*name, upload(&memory, array, matrix.offset_bytes())?));
    }
    if !layout.steps.is_empty() {
        let mut laying = Laying { gpu, matrix: &mut matrix, csr: &csr, scratch: &scratch, memory: &memory };
        for step in &layout.steps {
            laying.run::<T>(step, limits)?;
        }
        gpu.gpu().synchronize()?;
    }
    for (name, array) in csr.arrays {
        if layout.keeps.contains(&name) {
            matrix.keep(name, array);
        }
    }
    Ok(matrix)
}

/// A matrix while it is laid out.
struct Laying<'a> {
    gpu: &'a Shared,
    matrix: &'a mut DeviceMatrix,
    csr: &'a CsrArrays,
    scratch: &'a [(&'static str, DeviceBytes)],
    memory: &'a Arc<dyn Memory>,
}

impl Laying<'_> {
    fn run<T: Scalar>(&mut self, step: &Step, limits: &Limits) -> Result<(), DeviceError> {
        match step {
            Step::Run { routine, threads, part, with } => {
                let named =
                    |parameter| with.iter().find(|with| with.0 == parameter).map_or(parameter, |with| with.1);
                let parameters = conversion_parameters(routine).into_iter();
                let words: Vec<u64> = parameters.map(|parameter| self.word(part, named(parameter))).collect();
                let kernels = self.gpu.conversion(T::DTYPE, self.csr.nnz)?;
                // SAFETY: the layout names the routine's parameters, and its arrays are as long as the format says.
                unsafe { kernels.launch(routine, *threads, &words) }
            }
            Step::AddUp { lengths, starts, total } => {
                let each = self.scratch(lengths).read_words()?;
                let mut sums = Vec::with_capacity(each.len() + 1);
                let mut sum = 0;
                for length in each {
                    sums.push(sum);
                    sum += length;
                }
                sums.push(sum);
                self.matrix.keep(starts, DeviceBytes::of(self.memory, cast_slice(&sums))?);
                self.matrix.tell(&vec![(*total, sum)]);
                Ok(())
            }
            Step::Total { of, total } => {
                let sum = self.scratch(of).read_words()?.into_iter().sum();
                self.matrix.tell(&vec![(*total, sum)]);
                Ok(())
            }
            Step::ListMarked { marks, first, list, count, fits } => {
                let mut marked = vec![0_u8; self.scratch(marks).bytes() as usize];
                self.scratch(marks).read(&mut marked)?;
                let places = (*first..).zip(&marked).filter(|(_, mark)| **mark != 0);
                self.matrix.tell(&vec![(*count, places.clone().count() as u64)]);
                fits(&|name| self.number(name), limits)?;
                let listed: Vec<i64> = places.map(|(number, _)| number).collect();
                self.matrix.keep(list, DeviceBytes::of(self.memory, cast_slice(&listed))?);
                Ok(())
            }
            Step::Check(fits) => Ok(fits(&|name| self.number(name), limits)?),
            Step::Room { name, element, len } => {
                let len = len(&|name| self.number(name));
                self.matrix.room(self.memory, name, *element, len)
            }
        }
    }

    fn scratch(&self, name: &str) -> &DeviceBytes {
        let array = self.scratch.iter().find(|(known, _)| *known == name);
        &array.expect("a layout names arrays of its own").1
    }

    fn number(&self, name: &str) -> u64 {
        self.matrix.number(name).expect("a layout names numbers of its own")
    }

    /// A number, or where an array lies; the part's own comes first.
    fn word(&self, part: &str, name: &str) -> u64 {
        if name == "null" {
            return 0;
        }
        if let Some(of_csr) = name.strip_prefix("csr_") {
            return self.csr.address(of_csr).expect("the whole CSR is here while it is converted");
        }
        let word = |name: &str| {
            let scratch = self.scratch.iter().find(|(known, _)| *known == name).map(|(_, array)| array);
            let array = || scratch.or_else(|| self.matrix.array(name)).map(DeviceBytes::address);
            self.matrix.number(name).or_else(array)
        };
        word(&[part, name].concat()).or_else(|| word(name)).expect("a layout has what its routines name")
    }
}
