//! Products with a CSR that stays where its owner has it: row offsets, columns and values are read at each product, nothing of them is
//! copied. Kernels that share rows out by a table have the table here, made of the row offsets.

use super::array::DeviceBytes;
use super::matrix::upload;
use super::{GpuDevice, LaunchShape, Module, Vectors};
use crate::{DeviceError, Stream};
use sparsight_kernels::{Candidate, LaunchArg, PlannedLaunch};
use sparsight_matrix::{MatrixSize, NamedNumbers, Scalar};
use std::sync::Arc;

/// Addresses of the arrays of a CSR on a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CsrAddresses {
    /// Row offsets, of as many bytes each as [`GpuDevice::in_place`] was told.
    pub row_ptr: u64,
    /// Columns, of 32 bits each.
    pub col_idx: u64,
    /// Values.
    pub values: u64,
}

/// A candidate that multiplies with a CSR in place.
#[derive(Debug)]
pub struct InPlace {
    launches: Vec<Launch>,
    /// Read by the launches.
    table: Vec<(&'static str, DeviceBytes)>,
    is_exclusive: bool,
}

#[derive(Debug)]
struct Launch {
    module: Arc<dyn Module>,
    kernel: usize,
    shape: LaunchShape,
    words: Vec<Word>,
}

/// An argument of a launch.
#[derive(Debug, Clone, Copy)]
enum Word {
    Known(u64),
    RowPtr,
    ColIdx,
    Values,
    X,
    Y,
    Alpha,
    Beta,
}

/// Alignment of columns and values for kernels with a table, which may load 16 bytes at a time.
const ALIGNED: u64 = 16;

/// Most arguments of a kernel in place.
const MOST_WORDS: usize = 24;

impl GpuDevice {
    /// Loads a candidate of a format that leaves entries where CSR has them, for matrices of that size whose row offsets have
    /// `offset_bytes` each. `row_ptr`: the row offsets, of which a table is made; `None` is enough for plain CSR, and the product then
    /// takes any matrix of that size.
    ///
    /// # Errors
    /// [`DeviceError::CannotRun`] for a candidate of another format, for the vendor's, and for one with a table without `row_ptr`;
    /// [`DeviceError::Infeasible`] if there is no memory for the table; [`DeviceError::Compile`].
    ///
    /// # Panics
    /// If its recipe names an array that its format does not have, or more arguments than kernels of CSR have.
    pub fn in_place<T: Scalar>(
        &self,
        candidate: &Candidate,
        size: MatrixSize,
        offset_bytes: u64,
        row_ptr: Option<&[u64]>,
    ) -> Result<InPlace, DeviceError> {
        let (format, gpu) = (candidate.format(), self.shared());
        let refuse = |reason: &str| DeviceError::CannotRun {
            kernel: candidate.to_string(),
            reason: format!("it cannot multiply in place: {reason}"),
        };
        let recipe =
            candidate.kernel.recipe().filter(|_| format.stays_in_csr() && candidate.dtype == T::DTYPE);
        let recipe = recipe.ok_or_else(|| refuse("it does not read CSR of these values as it lies"))?;
        let (mut numbers, mut table): (NamedNumbers, _) = (Vec::new(), Vec::new());
        if !format.is_csr() {
            let row_ptr = row_ptr.ok_or_else(|| refuse("its table is made of the row offsets"))?;
            let layout = format.layout::<T>(row_ptr, size.ncols, &self.limits())?;
            numbers = layout.numbers;
            for (name, array) in &layout.arrays {
                table.push((*name, upload(&gpu.memory(), array, offset_bytes)?));
            }
        }
        let number = |name: &str| match name {
            "nrows" => Some(size.nrows),
            "ncols" => Some(size.ncols),
            "nnz" => Some(size.nnz),
            _ => numbers.iter().find(|(known, _)| *known == name).map(|(_, number)| *number),
        };
        let module = gpu.candidate(candidate, offset_bytes)?;
        let word = |arg: &LaunchArg| match *arg {
            LaunchArg::Number(number) => Ok(Word::Known(number)),
            LaunchArg::Array(_, "row_ptr") => Ok(Word::RowPtr),
            LaunchArg::Array(_, "col_idx") => Ok(Word::ColIdx),
            LaunchArg::Array(_, "values") => Ok(Word::Values),
            LaunchArg::Array(_, name) => {
                let own = table.iter().find(|(known, _)| *known == name);
                own.map(|(_, array)| Word::Known(array.address())).ok_or_else(|| refuse(name))
            }
            LaunchArg::X => Ok(Word::X),
            LaunchArg::Y => Ok(Word::Y),
            LaunchArg::Alpha => Ok(Word::Alpha),
            LaunchArg::Beta => Ok(Word::Beta),
        };
        let planned =
            recipe.launches(candidate.kernel.knobs(), candidate.block, gpu.gpu().most_blocks(), number);
        let overlaps = gpu.gpu().overlaps_launches();
        let launch = |planned: &PlannedLaunch| {
            let mut shape = LaunchShape::linear(planned.grid, candidate.block);
            shape.overlaps = overlaps && planned.may_overlap;
            let words = planned.args.iter().map(word).collect::<Result<Vec<_>, _>>()?;
            assert!(words.len() <= MOST_WORDS, "at most {MOST_WORDS} arguments");
            Ok(Launch { module: Arc::clone(&module), kernel: planned.step, shape, words })
        };
        let launches = planned.iter().map(launch).collect::<Result<_, DeviceError>>()?;
        Ok(InPlace { launches, table, is_exclusive: recipe.is_exclusive })
    }
}

impl InPlace {
    /// Returns whether two products must not run at the same time.
    pub fn is_exclusive(&self) -> bool {
        self.is_exclusive
    }

    /// Returns whether it holds for one pattern alone, of whose row offsets it has a table.
    pub fn has_table(&self) -> bool {
        !self.table.is_empty()
    }

    /// Returns whether it can read arrays at these addresses: kernels with a table need columns and values aligned to 16 bytes.
    pub fn takes(&self, csr: &CsrAddresses) -> bool {
        !self.has_table() || (csr.col_idx | csr.values).is_multiple_of(ALIGNED)
    }

    /// Queues y = alpha A x + beta y in `stream` and does not wait.
    ///
    /// # Errors
    /// A failed call, with the number of launches that were queued before it: none of them has run if that is 0, so that y is as it was.
    ///
    /// # Safety
    /// The arrays and vectors are on the GPU, as long as the size that it was loaded for; of the row offsets that it was loaded for,
    /// if it has a table, and [taken](Self::takes).
    pub unsafe fn queue(
        &self,
        csr: &CsrAddresses,
        v: &Vectors,
        stream: Stream<'_>,
    ) -> Result<(), (usize, DeviceError)> {
        for (at, Launch { module, kernel, shape, words }) in self.launches.iter().enumerate() {
            let mut args = [0; MOST_WORDS];
            for (arg, word) in args.iter_mut().zip(words) {
                *arg = match word {
                    Word::Known(known) => *known,
                    Word::RowPtr => csr.row_ptr,
                    Word::ColIdx => csr.col_idx,
                    Word::Values => csr.values,
                    Word::X => v.x,
                    Word::Y => v.y,
                    Word::Alpha => v.alpha.to_bits(),
                    Word::Beta => v.beta.to_bits(),
                };
            }
            // SAFETY: the recipe names the kernel's parameters; the caller vouches for the arrays.
            let queued = unsafe { module.queue(*kernel, *shape, &args[..words.len()], Some(stream)) };
            queued.map_err(|error| (at, error))?;
        }
        Ok(())
    }
}
