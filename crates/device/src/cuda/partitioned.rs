//! A matrix in row blocks on the device, each block in its own format.
//!
//! ```text
//! sequential   launches of part 0, launches of part 1, ...     each writes its slice of y
//! fused        one launch; the parts lie in its parameter      see sparsight_kernels::fused_source
//! vendor's     cuSPARSE on all rows                            no row blocks
//! ```
//! Launches are made once. A product with other vectors or factors only overwrites the words in which their arguments
//! end, so that nothing is allocated.

use super::Cuda;
use super::cusparse;
use super::generate::Helper;
use super::memory::DeviceArray;
use super::module::Launch;
use super::row_block::{RowBlock, Tail, Vectors};
use super::stream::Stream;
use crate::product::check_lengths;
use crate::timing::Caches;
use crate::{DeviceError, Partition, PartitionError, Preparation, Product};
use cudarc::driver::sys::CUstream;
use sparsight_kernels::{Candidate, Execution, FusedParts, Kernel, Vendor};
use sparsight_matrix::{Csr, Scalar, Seconds};
use std::borrow::Cow;
use std::ops::Range;

/// [`Product`] of [`Cuda`].
#[derive(Debug)]
pub(super) struct CudaPartitioned<'d, T> {
    cuda: &'d Cuda,
    /// Rows and columns.
    size: (usize, usize),
    work: Work<T>,
    /// What is read.
    _blocks: Vec<RowBlock<T>>,
    /// x and y for products with vectors on the host and for timing, made when first needed.
    own: Option<(DeviceArray<T>, DeviceArray<T>)>,
    preparation: Preparation,
}

/// What a product consists of.
#[derive(Debug)]
enum Work<T> {
    Ours(Vec<PartLaunch>),
    /// All rows by a routine of the vendor's library.
    Vendors(cusparse::Product<T>),
}

/// A launch and where in it the vectors of each of its parts stand.
#[derive(Debug)]
struct PartLaunch {
    launch: Launch,
    slots: Vec<Slot>,
}

/// Words of a launch that change from product to product.
#[derive(Debug)]
struct Slot {
    /// Of the first of them.
    place: usize,
    tail: Tail,
    first_row: usize,
}

/// Largest x dimension of a CUDA grid.
const MAX_GRID: u64 = (1 << 31) - 1;

/// Stand in for vectors that are not known yet.
const NOWHERE: Vectors = Vectors { x: 0, y: 0, alpha: 0.0, beta: 0.0 };

impl<'d, T: Scalar> CudaPartitioned<'d, T> {
    pub(super) fn load(cuda: &'d Cuda, a: &Csr<T>, partition: &Partition) -> Result<Self, DeviceError> {
        partition.check(a)?;
        cuda.context.bind()?;
        let mut preparation = Preparation::default();
        let mut blocks = Vec::new();
        for (rows, candidate) in partition.parts() {
            let whole = *rows == (0..a.nrows());
            // The library writes all of y; and without non-zeros it is not asked, so that nobody would scale y.
            if matches!(candidate.kernel, Kernel::Vendor(_)) && (partition.parts().len() > 1 || a.nnz() == 0)
            {
                return Err(PartitionError::NotHere { candidate: *candidate }.into());
            }
            let part = if whole { Cow::Borrowed(a) } else { Cow::Owned(a.rows(rows.clone())) };
            // Asked anew: the parts before it are on the device already.
            let (block, took) = RowBlock::load(cuda, &part, candidate.format(), &cuda.limits())?;
            preparation.convert.0 += took.convert.0;
            preparation.upload.0 += took.upload.0;
            preparation.on_device |= took.on_device;
            blocks.push(block);
        }
        let size = (a.nrows(), a.ncols());
        let mut own = None;
        let work = match (partition.parts(), partition.execution()) {
            ([(_, Candidate { kernel: Kernel::Vendor(routine), .. })], _) => {
                let (x, y) = own.insert(own_vectors(cuda, size)?);
                let product = vendors(cuda, *routine, &blocks[0], x, y)?;
                preparation.convert.0 += product.preprocess().0;
                Work::Vendors(product)
            }
            (parts, Execution::Sequential) => Work::Ours(sequential(cuda, parts, &blocks)?),
            (parts, Execution::Fused) => Work::Ours(fused(cuda, parts, &blocks)?.into_iter().collect()),
        };
        Ok(Self { cuda, size, work, _blocks: blocks, own, preparation })
    }

    /// Lets the product work on these vectors.
    fn aim(&mut self, v: &Vectors) -> Result<(), DeviceError> {
        match &mut self.work {
            Work::Vendors(product) => product.aim(v),
            Work::Ours(launches) => {
                for PartLaunch { launch, slots } in launches {
                    for slot in slots {
                        let y = v.y + slot.first_row as u64 * T::DTYPE.bytes();
                        slot.tail.with(&Vectors { y, ..*v }, |words| launch.set(slot.place, words));
                    }
                }
                Ok(())
            }
        }
    }

    /// Queues one product and does not wait.
    fn queue(&self, stream: CUstream) -> Result<(), DeviceError> {
        match &self.work {
            Work::Ours(launches) => launches.iter().try_for_each(|part| part.launch.queue_in(stream)),
            Work::Vendors(product) => {
                let library = self.cuda.library()?;
                library.in_stream(stream, || product.queue(library))
            }
        }
    }

    /// x and y of its own.
    fn own(&mut self) -> Result<&mut (DeviceArray<T>, DeviceArray<T>), DeviceError> {
        let own = match self.own.take() {
            Some(own) => own,
            None => own_vectors(self.cuda, self.size)?,
        };
        Ok(self.own.insert(own))
    }

    /// Lets the product work on them.
    fn aim_at_own(&mut self, alpha: f64, beta: f64) -> Result<(), DeviceError> {
        let (x, y) = self.own()?;
        let v = Vectors { x: x.address(), y: y.address(), alpha, beta };
        self.aim(&v)
    }
}

/// x, random, since nobody shall time a product of zeros, and y, poisoned.
fn own_vectors<T: Scalar>(
    cuda: &Cuda,
    (nrows, ncols): (usize, usize),
) -> Result<(DeviceArray<T>, DeviceArray<T>), DeviceError> {
    let x = DeviceArray::new(&cuda.context, ncols)?;
    let y = DeviceArray::new(&cuda.context, nrows)?;
    let helper = Helper::new(cuda, T::DTYPE, 4)?;
    helper.random_x(&x, 0)?;
    helper.poison(&y)?;
    Ok((x, y))
}

/// Lets the library look at the matrix and runs it once: its kernels are loaded when they first run.
fn vendors<T: Scalar>(
    cuda: &Cuda,
    routine: Vendor,
    block: &RowBlock<T>,
    x: &DeviceArray<T>,
    y: &DeviceArray<T>,
) -> Result<cusparse::Product<T>, DeviceError> {
    let library = cuda.library()?;
    let product = cusparse::Product::prepare(library, routine, &block.matrix, x, y)?;
    product.queue(library)?;
    Helper::new(cuda, T::DTYPE, 4)?.poison(y)?;
    cuda.context.synchronize()?;
    Ok(product)
}

/// The launches of each part, in the order of the parts.
fn sequential<T: Scalar>(
    cuda: &Cuda,
    parts: &[(Range<usize>, Candidate)],
    blocks: &[RowBlock<T>],
) -> Result<Vec<PartLaunch>, DeviceError> {
    let mut launches = Vec::new();
    for ((rows, candidate), block) in parts.iter().zip(blocks) {
        let calls = block.calls(candidate, &NOWHERE);
        if calls.is_empty() {
            continue;
        }
        let module = cuda.candidate(candidate, block.matrix.offset_bytes())?;
        launches.extend(calls.into_iter().map(|call| {
            let place = call.args.len() - call.tail.len();
            let slot = Slot { place, tail: call.tail, first_row: rows.start };
            PartLaunch { launch: call.launch(cuda, &module, candidate.block), slots: vec![slot] }
        }));
    }
    Ok(launches)
}

/// The one launch of all parts; none if there are no rows.
fn fused<T: Scalar>(
    cuda: &Cuda,
    parts: &[(Range<usize>, Candidate)],
    blocks: &[RowBlock<T>],
) -> Result<Option<PartLaunch>, DeviceError> {
    let (mut variants, mut words, mut slots) = (Vec::new(), FusedParts::new(), Vec::new());
    for ((rows, candidate), block) in parts.iter().zip(blocks) {
        let mut calls = block.calls(candidate, &NOWHERE).into_iter();
        let Some(call) = calls.next() else { continue };
        let variant = (candidate.kernel, block.matrix.offset_bytes());
        let number = variants.iter().position(|v| *v == variant).unwrap_or_else(|| {
            variants.push(variant);
            variants.len() - 1
        });
        let place = words.push(number, call.grid, call.step, &call.args);
        let blocks = words.blocks();
        if blocks > MAX_GRID || calls.next().is_some() {
            return Err(PartitionError::TooManyBlocks { blocks }.into());
        }
        let place = place + call.args.len() - call.tail.len();
        slots.push(Slot { place, tail: call.tail, first_row: rows.start });
    }
    let Some((_, first)) = parts.first().filter(|_| words.blocks() > 0) else { return Ok(None) };
    let module = cuda.fused(&variants, T::DTYPE, first.block)?;
    let launch = module.launch_with_struct(words.blocks() as u32, first.block, words.words());
    Ok(Some(PartLaunch { launch, slots }))
}

impl<T: Scalar> Product<T> for CudaPartitioned<'_, T> {
    fn preparation(&self) -> Preparation {
        self.preparation
    }

    fn multiply(&mut self, alpha: f64, x: &[T], beta: f64, y: &mut [T]) -> Result<(), DeviceError> {
        check_lengths(self.size, x.len(), y.len())?;
        self.cuda.context.bind()?;
        self.aim_at_own(alpha, beta)?;
        let (own_x, own_y) = self.own()?;
        own_x.write(x)?;
        if beta != 0.0 {
            own_y.write(y)?;
        }
        self.queue(self.cuda.context.stream())?;
        self.own()?.1.read_to(y)
    }

    fn multiply_on_device(
        &mut self,
        alpha: f64,
        x: &DeviceArray<T>,
        beta: f64,
        y: &mut DeviceArray<T>,
        stream: Option<Stream<'_>>,
    ) -> Result<(), DeviceError> {
        check_lengths(self.size, x.len(), y.len())?;
        self.cuda.context.bind()?;
        self.aim(&Vectors { x: x.address(), y: y.address(), alpha, beta })?;
        self.queue(stream.map_or(self.cuda.context.stream(), Stream::raw))
    }

    fn batch(&mut self, products: u32, caches: Caches) -> Result<Seconds, DeviceError> {
        self.cuda.context.bind()?;
        self.aim_at_own(1.0, 0.0)?;
        let entries = match &self.work {
            Work::Ours(launches) => launches.len() as u32,
            Work::Vendors(_) => cusparse::ENTRIES,
        };
        self.cuda.timer.time(products, entries, caches, &mut || self.queue(self.cuda.context.stream()))
    }
}
