//! A matrix in row blocks on a GPU, each block in its own format.
//!
//! ```text
//! sequential   launches of part 0, launches of part 1, ...     each writes its slice of y
//! fused        one launch; the parts lie in its parameter      see sparsight_kernels::fused_source
//! vendor's     the maker's library on all rows                 no row blocks
//! ```
//! Launches are made once. A product copies their arguments and overwrites the words that depend on its vectors and
//! factors, on the stack: nothing is allocated, and several threads may multiply with one matrix.

use super::array::check_device;
use super::convert::{self, narrow};
use super::device::Shared;
use super::epilogue::{GpuEpilogue, Host};
use super::free_grid::FreeGrid;
use super::launch::{PartLaunch, SharedFence, fenced, part_launch, slots, through};
use super::resident::Resident;
use super::{
    ConvertOn, DeviceArray, DeviceMatrix, Extent, LaunchShape, Parameters, Vectors, VendorProduct, values,
};
use crate::lengths::{check_length, check_lengths};
use crate::partition::{entries_of, rows_of};
use crate::product::ValuePlaces;
use crate::stock::Stock;
use crate::timing::{Batch, Caches, try_took};
use crate::{
    DeviceCsr, DeviceError, DeviceSlice, DeviceVectors, LoadedEpilogue, OwnRequest, Partition,
    PartitionError, Preparation, Product, Stream,
};
use sparsight_kernels::{Candidate, Epilogue, Execution, FusedParts};
use sparsight_matrix::{Csr, Dtype, Format, Scalar, Seconds};
use std::ops::Range;
use std::sync::Arc;

/// [`Product`] of [`GpuDevice`](super::GpuDevice).
#[derive(Debug)]
pub(super) struct GpuProduct<T: Scalar> {
    gpu: Arc<Shared>,
    /// Rows and columns.
    size: (usize, usize),
    /// The work of a product. It points to arrays of `blocks`, which is dropped after it.
    work: Work,
    blocks: Vec<DeviceMatrix>,
    /// Origin of each block.
    origins: Vec<Origin>,
    dtype: Dtype,
    converts: ConvertOn,
    /// Present if two products at once would share memory between thread blocks.
    fence: Option<SharedFence>,
    /// Pairs of x and y for products with vectors on the host and for timing.
    own: Stock<(DeviceArray<T>, DeviceArray<T>)>,
    preparation: Preparation,
    /// Name of a kernel that computes y = A x and nothing else.
    unscaled: Option<String>,
    /// The candidate of all rows, if there is one.
    whole: Option<Candidate>,
    /// False for kernels of the user's own, which may write to any array.
    is_of_catalogue: bool,
    /// Its address is that of no other product.
    identity: Arc<()>,
}

/// The part of the matrix that a block is, and the places of its values.
#[derive(Debug)]
struct Origin {
    rows: Range<usize>,
    entries: Range<u64>,
    places: ValuePlaces<values::Numbers>,
}

#[derive(Debug)]
enum Work {
    Ours(Vec<PartLaunch>),
    /// All rows by a routine of the maker's library.
    Vendors(Box<dyn VendorProduct>),
    /// The identity matrix, of which nothing is stored: y = alpha x + beta y.
    Identity(FreeGrid),
}

/// The matrix that a product is made of, wherever it lies.
trait Source {
    /// Rows and columns.
    fn size(&self) -> (usize, usize);

    /// The range of entries of some rows.
    fn entries(&self, rows: &Range<usize>) -> Range<u64>;

    /// Some rows of it on the GPU in a format, and what that took.
    fn load(&self, rows: &Range<usize>, format: Format) -> Result<(DeviceMatrix, Preparation), DeviceError>;
}

/// A CSR on the host.
struct FromHost<'a, T> {
    gpu: &'a Shared,
    a: &'a Csr<T>,
    converts: ConvertOn,
}

impl<T: Scalar> Source for FromHost<'_, T> {
    fn size(&self) -> (usize, usize) {
        (self.a.nrows(), self.a.ncols())
    }

    fn entries(&self, rows: &Range<usize>) -> Range<u64> {
        entries_of(self.a, rows)
    }

    fn load(&self, rows: &Range<usize>, format: Format) -> Result<(DeviceMatrix, Preparation), DeviceError> {
        // Read each time: the parts before it are on the device already.
        let limits = self.gpu.limits();
        convert::load(self.gpu, &rows_of(self.a, rows), format, &limits, self.converts)
    }
}

/// A CSR on the GPU.
struct FromDevice<'a, T> {
    gpu: &'a Shared,
    resident: Resident<'a, T>,
    dtype: Dtype,
}

impl<T: Scalar> Source for FromDevice<'_, T> {
    fn size(&self) -> (usize, usize) {
        self.resident.size()
    }

    fn entries(&self, rows: &Range<usize>) -> Range<u64> {
        self.resident.entries(rows)
    }

    fn load(&self, rows: &Range<usize>, format: Format) -> Result<(DeviceMatrix, Preparation), DeviceError> {
        let (matrix, convert) = try_took(|| match self.dtype {
            Dtype::Mixed => self.resident.convert::<f32>(self.gpu, rows, format, self.dtype),
            _ => self.resident.convert::<T>(self.gpu, rows, format, self.dtype),
        })?;
        Ok((matrix, Preparation { convert, upload: Seconds(0.0), on_device: true }))
    }
}

impl<T: Scalar> GpuProduct<T> {
    /// Prepares a matrix of the host.
    pub(super) fn load(
        gpu: &Arc<Shared>,
        a: &Csr<T>,
        partition: &Partition,
        converts: ConvertOn,
    ) -> Result<Self, DeviceError> {
        if partition.dtype() != Dtype::Mixed {
            return Self::of(gpu, &FromHost { gpu, a, converts }, partition, converts);
        }
        let (narrow, took) = narrow(a)?;
        let mut product = Self::of(gpu, &FromHost { gpu, a: &narrow, converts }, partition, converts)?;
        product.preparation.convert.0 += took.0;
        Ok(product)
    }

    /// Prepares a matrix that lies on the GPU.
    pub(super) fn load_resident(
        gpu: &Arc<Shared>,
        a: DeviceCsr<'_, T>,
        partition: &Partition,
        converts: ConvertOn,
    ) -> Result<Self, DeviceError> {
        let source = FromDevice { gpu, resident: Resident::of(gpu, a)?, dtype: partition.dtype() };
        Self::of(gpu, &source, partition, converts)
    }

    fn of(
        gpu: &Arc<Shared>,
        source: &dyn Source,
        partition: &Partition,
        converts: ConvertOn,
    ) -> Result<Self, DeviceError> {
        let size = source.size();
        partition.check::<T>(size.0)?;
        let mut preparation = Preparation::default();
        let (mut blocks, mut origins) = (Vec::new(), Vec::new());
        for (rows, candidate) in partition.parts() {
            let entries = source.entries(rows);
            // The library writes all of y; and without non-zeros it is not asked, so that y would not be scaled.
            let is_possible =
                partition.parts().len() == 1 && !entries.is_empty() && partition.dtype() == T::DTYPE;
            if candidate.kernel.is_vendors() && !is_possible {
                return Err(PartitionError::NotHere { candidate: *candidate }.into());
            }
            let (block, took) = source.load(rows, candidate.format())?;
            preparation.convert.0 += took.convert.0;
            preparation.upload.0 += took.upload.0;
            preparation.on_device |= took.on_device;
            blocks.push(block);
            let places = ValuePlaces::of(candidate.format());
            origins.push(Origin { rows: rows.clone(), entries, places });
        }
        let mut own = Vec::new();
        let work = match (partition.parts(), partition.execution()) {
            ([(_, Candidate { kernel, .. })], _) if kernel.is_vendors() => {
                let routine = kernel.vendor().expect("it is the vendor's");
                let (x, y) = gpu.vectors::<T>(size, 0)?;
                // SAFETY: the arrays stand beside the product, behind it, and are dropped after it.
                let product = unsafe { gpu.gpu().vendor(routine, &blocks[0], &Vectors::product(&x, &y))? };
                gpu.poison(&y)?;
                own.push((x, y));
                preparation.convert.0 += product.preprocess().0;
                Work::Vendors(product)
            }
            (parts, Execution::Sequential) => Work::Ours(sequential::<T>(gpu, parts, &blocks)?),
            (parts, Execution::Fused) => Work::Ours(fused::<T>(gpu, parts, &blocks)?.into_iter().collect()),
        };
        // All products of one matrix share the buffer that the vendor's library asked for.
        let is_exclusive =
            |(_, c): &(_, Candidate)| c.kernel.recipe().is_none_or(|recipe| recipe.is_exclusive);
        let fence = partition.parts().iter().any(is_exclusive).then(|| gpu.shared_fence()).transpose()?;
        let whole = match partition.parts() {
            [(_, candidate)] => Some(*candidate),
            _ => None,
        };
        let (dtype, own) = (partition.dtype(), Stock::of(own));
        let new = Self::new(gpu, size, work);
        Ok(Self {
            blocks,
            origins,
            dtype,
            converts,
            fence,
            own,
            preparation,
            whole,
            is_of_catalogue: true,
            ..new
        })
    }

    /// A product of which nothing else is known.
    fn new(gpu: &Arc<Shared>, size: (usize, usize), work: Work) -> Self {
        Self {
            gpu: Arc::clone(gpu),
            size,
            work,
            blocks: Vec::new(),
            origins: Vec::new(),
            dtype: T::DTYPE,
            converts: ConvertOn::default(),
            fence: None,
            own: Stock::of(Vec::new()),
            preparation: Preparation::default(),
            unscaled: None,
            whole: None,
            is_of_catalogue: false,
            identity: Arc::default(),
        }
    }

    /// Product of the identity matrix.
    pub(super) fn load_identity(gpu: &Arc<Shared>, rows: usize) -> Result<Self, DeviceError> {
        Ok(Self::new(gpu, (rows, rows), Work::Identity(gpu.vector_kernels(T::DTYPE)?)))
    }

    /// All rows of a matrix by kernels of the user's own.
    pub(super) fn load_own(
        gpu: &Arc<Shared>,
        OwnRequest { a, kernel, block }: OwnRequest<'_, T>,
        converts: ConvertOn,
    ) -> Result<Self, DeviceError> {
        assert_eq!(kernel.dtype(), T::DTYPE, "{} was read for another value type", kernel.name());
        let (size, rows) = ((a.nrows(), a.ncols()), 0..a.nrows());
        let source = FromHost { gpu, a, converts };
        let (matrix, preparation) = source.load(&rows, kernel.format())?;
        let number = |name: &str| matrix.number(name);
        let planned = kernel.launches(block, matrix.offset_bytes(), gpu.gpu().most_blocks(), number)?;
        let module = gpu.gpu().load(&kernel.source(block, matrix.offset_bytes()))?;
        let launches = planned.iter().map(|launch| part_launch(&module, launch, block, &matrix, 0)).collect();
        let entries = source.entries(&rows);
        let origin = Origin { rows, entries, places: ValuePlaces::of(kernel.format()) };
        let unscaled = (!kernel.scales()).then(|| kernel.name().to_owned());
        // They may write to the matrix.
        let fence = Some(gpu.shared_fence()?);
        let (blocks, origins) = (vec![matrix], vec![origin]);
        let new = Self::new(gpu, size, Work::Ours(launches));
        Ok(Self { blocks, origins, converts, fence, preparation, unscaled, ..new })
    }

    /// Refuses factors that the kernel does not take.
    fn check_factors(&self, alpha: f64, beta: f64) -> Result<(), DeviceError> {
        match &self.unscaled {
            Some(name) if (alpha, beta) != (1.0, 0.0) => {
                let reason = "it takes no alpha and beta, and computes y = A x alone".to_owned();
                Err(DeviceError::CannotRun { kernel: name.clone(), reason })
            }
            _ => Ok(()),
        }
    }

    /// Queues one product and does not wait.
    ///
    /// # Safety
    /// The vectors are on the GPU and as long as the matrix is wide and high.
    pub(super) unsafe fn queue(&self, v: &Vectors, stream: Option<Stream<'_>>) -> Result<(), DeviceError> {
        fenced(self.fence.as_ref(), stream, || {
            // SAFETY: as the caller promises.
            unsafe {
                match &self.work {
                    Work::Ours(launches) => launches.iter().try_for_each(|part| part.queue(v, &[], stream)),
                    Work::Vendors(product) => product.queue(v, stream),
                    Work::Identity(kernels) => {
                        let count = self.size.0 as u64;
                        let args = [count, v.alpha.to_bits(), v.x, v.beta.to_bits(), v.y];
                        kernels.launch_in(stream, "combine", count, &args)
                    }
                }
            }
        })
    }

    /// Launches and copies that a product queues at most.
    pub(super) fn entries(&self) -> u32 {
        match &self.work {
            Work::Ours(launches) => launches.len() as u32,
            Work::Vendors(product) => product.entries(),
            Work::Identity(_) => 1,
        }
    }

    /// The memory of the matrix.
    pub(super) fn touched(&self) -> Vec<Extent> {
        self.blocks.iter().flat_map(DeviceMatrix::extents).collect()
    }

    /// Non-zeros.
    fn nnz(&self) -> u64 {
        self.origins.last().map_or(0, |origin| origin.entries.end)
    }

    /// Runs `with` with x and y that no other product uses meanwhile.
    fn with_own<R>(
        &self,
        with: impl FnOnce(&mut DeviceArray<T>, &mut DeviceArray<T>) -> Result<R, DeviceError>,
    ) -> Result<R, DeviceError> {
        self.own.with(|| self.gpu.vectors(self.size, 0), |(x, y)| with(x, y))
    }
}

/// The launches of each part, in the order of the parts.
pub(super) fn sequential<T: Scalar>(
    gpu: &Shared,
    parts: &[(Range<usize>, Candidate)],
    blocks: &[DeviceMatrix],
) -> Result<Vec<PartLaunch>, DeviceError> {
    let mut launches = Vec::new();
    let overlaps = gpu.gpu().overlaps_launches();
    for ((rows, candidate), block) in parts.iter().zip(blocks) {
        let planned = block.launches(candidate, gpu.gpu().most_blocks());
        if planned.is_empty() {
            continue;
        }
        let module = gpu.candidate(candidate, block.offset_bytes())?;
        for launch in planned {
            let before = rows.start as u64 * T::DTYPE.bytes();
            let mut made = part_launch(&module, &launch, candidate.block, block, before);
            made.shape.overlaps = launch.may_overlap && overlaps;
            launches.push(made);
        }
    }
    Ok(launches)
}

/// The one launch of all parts; none if there are no rows.
fn fused<T: Scalar>(
    gpu: &Shared,
    parts: &[(Range<usize>, Candidate)],
    blocks: &[DeviceMatrix],
) -> Result<Option<PartLaunch>, DeviceError> {
    let (mut variants, mut words, mut all_slots) = (Vec::new(), FusedParts::new(), Vec::new());
    for ((rows, candidate), block) in parts.iter().zip(blocks) {
        let mut planned = block.launches(candidate, u32::MAX).into_iter();
        let Some(launch) = planned.next() else { continue };
        let variant = (candidate.kernel, block.offset_bytes());
        let number = variants.iter().position(|v| *v == variant).unwrap_or_else(|| {
            variants.push(variant);
            variants.len() - 1
        });
        let args: Vec<u64> = launch.args.iter().map(|&arg| block.word(arg)).collect();
        let place = words.push(number, launch.grid, launch.stride, &args);
        let blocks = words.blocks();
        if blocks > gpu.gpu().most_blocks().into() || planned.next().is_some() {
            return Err(PartitionError::TooManyBlocks { blocks }.into());
        }
        all_slots.extend(slots(&launch.args, place, rows.start as u64 * T::DTYPE.bytes()));
    }
    let Some((_, first)) = parts.first().filter(|_| words.blocks() > 0) else { return Ok(None) };
    let module = gpu.fused(&variants, first.dtype, first.block)?;
    let mut shape = LaunchShape::linear(words.blocks() as u32, first.block);
    shape.parameters = Parameters::OneStruct;
    Ok(Some(PartLaunch { module, kernel: 0, shape, words: words.words().to_vec(), slots: all_slots }))
}

impl<T: Scalar> Product<T> for GpuProduct<T> {
    fn preparation(&self) -> Preparation {
        self.preparation
    }

    fn memory_bytes(&self) -> u64 {
        self.blocks.iter().map(DeviceMatrix::bytes).sum()
    }

    fn multiply(&self, alpha: f64, x: &[T], beta: f64, y: &mut [T]) -> Result<(), DeviceError> {
        check_lengths(self.size, x.len(), y.len())?;
        self.check_factors(alpha, beta)?;
        self.with_own(|own_x, own_y| {
            // SAFETY: the vectors are the product's own.
            through((own_x, own_y), (alpha, x), (beta, y), |v| unsafe { self.queue(v, None) })
        })
    }

    fn multiply_on_device(&self, vectors: DeviceVectors<'_, T>) -> Result<(), DeviceError> {
        self.check_factors(vectors.alpha, vectors.beta)?;
        let v = self.gpu.vectors_of(self.size, &vectors)?;
        // SAFETY: they are as long as that; a slice of foreign memory was made by a promise that it is there.
        unsafe { self.queue(&v, vectors.stream) }
    }

    fn allow_updates(&mut self, a: &Csr<T>) -> Result<(), DeviceError> {
        let is_identity = matches!(self.work, Work::Identity(_));
        if is_identity || (a.nrows(), a.ncols()) != self.size || a.nnz() as u64 != self.nnz() {
            return Err(DeviceError::OtherPattern);
        }
        if !self.origins.iter().all(|origin| entries_of(a, &origin.rows) == origin.entries) {
            return Err(DeviceError::OtherPattern);
        }
        let find = |(block, origin): (&DeviceMatrix, &Origin)| {
            let find = || {
                let part = rows_of(a, &origin.rows);
                match self.dtype {
                    // Numbers are as wide as what they stand for.
                    Dtype::Mixed => values::find(&self.gpu, block, &part.to_dtype::<f32>(), self.converts),
                    _ => values::find(&self.gpu, block, &part, self.converts),
                }
            };
            ValuePlaces::found(block.format(), find)
        };
        // All of them, before any is taken over.
        let found: Vec<_> = self.blocks.iter().zip(&self.origins).map(find).collect::<Result<_, _>>()?;
        for (origin, places) in self.origins.iter_mut().zip(found) {
            origin.places = places;
        }
        Ok(())
    }

    fn update_values(&mut self, values: &[T]) -> Result<(), DeviceError> {
        check_length("the new values", self.nnz() as usize, values.len())?;
        Arc::clone(&self.gpu).update_values(self, values)
    }

    fn update_values_on_device(
        &mut self,
        values: DeviceSlice<'_, T>,
        stream: Option<Stream<'_>>,
    ) -> Result<(), DeviceError> {
        check_length("the new values", self.nnz() as usize, values.len())?;
        check_device(values.of, "the new values", self.gpu.memory().as_ref())?;
        let numbers =
            |(block, origin): (&DeviceMatrix, &Origin)| origin.places.numbers(block.format()).map(drop);
        // All of them, before any is changed.
        self.blocks.iter().zip(&self.origins).try_for_each(numbers)?;
        for (block, origin) in self.blocks.iter().zip(&self.origins) {
            let numbers = origin.places.numbers(block.format())?;
            let first = values.address + origin.entries.start * T::DTYPE.bytes();
            // SAFETY: there is a value for each entry.
            unsafe { values::replace(&self.gpu, self.dtype, block, numbers, first, stream)? };
        }
        Ok(())
    }

    fn batch(&self, products: u32, caches: Caches) -> Result<Batch, DeviceError> {
        self.with_own(|x, y| {
            // SAFETY: the vectors are the product's own.
            self.gpu.batch_on((x, y), (self.entries(), self.touched()), (products, caches), |v| unsafe {
                self.queue(v, None)
            })
        })
    }

    fn load_epilogue(&self, epilogue: &Epilogue) -> Result<Box<dyn LoadedEpilogue<T>>, DeviceError> {
        let launches = match &self.work {
            Work::Ours(launches) if self.is_of_catalogue => {
                Some((&self.identity, &**launches, &*self.blocks))
            }
            _ => None,
        };
        let (entries, touched) = (self.entries(), self.touched());
        let host = Host { gpu: &self.gpu, size: self.size, entries, touched, launches };
        if matches!(self.work, Work::Identity(_)) {
            return Ok(Box::new(GpuEpilogue::of_identity(&host, epilogue, &self.identity)?));
        }
        if let (Some(candidate), [matrix]) = (&self.whole, self.blocks.as_slice())
            && let Some(loaded) = GpuEpilogue::in_launch(
                &host,
                epilogue,
                (candidate, matrix),
                self.fence.as_ref(),
                &self.identity,
            )?
        {
            return Ok(Box::new(loaded));
        }
        Ok(Box::new(GpuEpilogue::behind(&host, epilogue)?))
    }

    fn identity(&self) -> Option<usize> {
        Some(Arc::as_ptr(&self.identity).addr())
    }
}
