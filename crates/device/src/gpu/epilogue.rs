//! Epilogues on a GPU.
//!
//! ```text
//! in the launch    the candidate's kernel with the lines in place of its last step, for those that write each row once
//! the identity     a launch of its own, whose sums are x
//! behind it        any product -> sums -> one launch more, which reads them and writes y: see epilogue.cu
//! ```
//! Kernels of the first kind go the second way for dot products of a matrix with rows that thread blocks share: which block ends such a
//! row, and so adds it to its own sum, differs from run to run.

use super::array::check_device;
use super::device::Shared;
use super::launch::{OwnRoom, PartLaunch, SharedFence, fenced, part_launch, slots};
use super::{BatchRequest, DeviceArray, DeviceMatrix, Extent, LaunchShape, Vectors};
use crate::epilogue::check_reads_x;
use crate::lengths::check_lengths;
use crate::stock::Stock;
use crate::timing::{Batch, Caches};
use crate::{
    DeviceError, DeviceSlice, DeviceSliceMut, DeviceVectors, EpilogueVectors, HostOperands, LoadedEpilogue,
    Product, Stream,
};
use sparsight_kernels::{
    Candidate, Epilogue, HELPER_BLOCK, LaunchArg, MOST_OUTPUTS, MOST_SCALARS, MOST_VECTORS, PlannedLaunch,
    THREADS_AT_ONCE,
};
use sparsight_matrix::Scalar;
use std::sync::Arc;

/// Thread blocks of the launch behind a product. Chosen: 8 of 256 threads fill each multiprocessor of the largest GPUs so far. The
/// same on all GPUs, and with it the order of sums.
const BLOCKS_OF_PASS: u64 = 1056;

/// Most words of operands: addresses, which scalars are addresses, the results of dot products.
const MOST_OPERANDS: usize = MOST_VECTORS + MOST_OUTPUTS + MOST_SCALARS + 2;

/// What an epilogue needs to know of its product.
pub(super) struct Host<'a> {
    pub(super) gpu: &'a Arc<Shared>,
    /// Rows and columns.
    pub(super) size: (usize, usize),
    /// Launches and copies of a product without an epilogue.
    pub(super) entries: u32,
    /// The memory of the matrix.
    pub(super) touched: Vec<Extent>,
    /// Identity of the product, its launches, and the matrices that these name, where they write to nothing but
    /// [shared room](DeviceMatrix::shared_room).
    pub(super) launches: Option<(&'a Arc<()>, &'a [PartLaunch], &'a [DeviceMatrix])>,
}

/// [`LoadedEpilogue`] of a GPU.
#[derive(Debug)]
pub(super) struct GpuEpilogue<T: Scalar> {
    gpu: Arc<Shared>,
    epilogue: Epilogue,
    size: (usize, usize),
    way: Way<T>,
    /// Present if two products at once would share memory.
    fence: Option<SharedFence>,
    /// The same with memory that graphs alone use: in one, its products follow each other as they do in their stream, without events
    /// between them.
    in_graphs: Option<Way<T>>,
    own: Stock<Room<T>>,
    entries: u32,
    touched: Vec<Extent>,
}

/// Launches that are told of the operands.
#[derive(Debug)]
struct Launches {
    of_rows: Vec<PartLaunch>,
    /// Adds up what they leave of dot products, and is told of their results alone.
    of_dots: Option<PartLaunch>,
    /// Partial sums of dot products, those of `of_dots`, and a counter, which the launches name.
    _dots: (DeviceArray<f64>, DeviceArray<u32>),
    /// Room in place of that of the matrix, likewise.
    _room: OwnRoom,
}

/// Launches of the product whose identity this is: they name arrays of its matrix, and room of their own.
type OfProduct = (Arc<()>, Vec<PartLaunch>, OwnRoom);

#[derive(Debug)]
enum Way<T> {
    /// The launches of the product whose identity this is: they name arrays of its matrix.
    InLaunch(Launches, Arc<()>),
    /// Launches behind any product, and room for the sums that it leaves; for one product, its launches.
    Behind(Launches, DeviceArray<T>, Option<OfProduct>),
}

/// Vectors for a product whose own lie on the host, and for timing.
#[derive(Debug)]
struct Room<T> {
    x: DeviceArray<T>,
    y: DeviceArray<T>,
    vectors: Vec<DeviceArray<T>>,
    outputs: Vec<DeviceArray<T>>,
    dots: DeviceArray<f64>,
}

/// The words of operands, on the stack.
struct Words([u64; MOST_OPERANDS], usize);

impl Words {
    fn of(
        epilogue: &Epilogue,
        vectors: impl Iterator<Item = u64>,
        scalars: impl Iterator<Item = (u64, bool)>,
        dots: Option<u64>,
    ) -> Self {
        let mut made = Self([0; MOST_OPERANDS], 0);
        vectors.for_each(|address| made.push(address));
        let mut addresses = 0;
        for (at, (word, is_address)) in scalars.enumerate() {
            made.push(word);
            addresses |= u64::from(is_address) << at;
        }
        if !epilogue.scalars().is_empty() {
            made.push(addresses);
        }
        if let Some(address) = dots {
            made.push(address);
        }
        made
    }

    fn push(&mut self, word: u64) {
        self.0[self.1] = word;
        self.1 += 1;
    }

    fn as_slice(&self) -> &[u64] {
        &self.0[..self.1]
    }
}

impl<T: Scalar> GpuEpilogue<T> {
    /// In the launches of `candidate` on `matrix`; `None` where it has to be behind them. `fence` is that of the product.
    ///
    /// # Errors
    /// As [`Product::load_epilogue`].
    pub(super) fn in_launch(
        host: &Host<'_>,
        epilogue: &Epilogue,
        (candidate, matrix): (&Candidate, &DeviceMatrix),
        fence: Option<&SharedFence>,
        identity: &Arc<()>,
    ) -> Result<Option<Self>, DeviceError> {
        let gpu = host.gpu;
        check_reads_x(epilogue, host.size)?;
        let has_dots = !epilogue.dots().is_empty();
        let shares_rows = matrix.array("partials").is_some_and(|partials| partials.bytes() > 0);
        if !candidate.kernel.shares_a_launch() || has_dots && shares_rows {
            return Ok(None);
        }
        let planned = matrix.launches(candidate, gpu.gpu().most_blocks());
        let blocks: u64 = planned.iter().map(|launch| u64::from(launch.grid)).sum();
        if blocks == 0 || blocks > u32::MAX.into() {
            return Ok(None);
        }
        let Some(module) = gpu.with_epilogue(candidate, matrix.offset_bytes(), epilogue)? else {
            return Ok(None);
        };
        let way = |room: OwnRoom| {
            let mut before = 0;
            let launch = |planned: &PlannedLaunch, dots: [u64; 3]| {
                let mut launch = part_launch(&module, planned, candidate.block, matrix, 0);
                launch.words.extend(words_of_dots(epilogue, before, dots));
                before += u64::from(planned.grid);
                launch
            };
            let launches = Launches::of(gpu, epilogue, (blocks, candidate.block), &planned, room, launch)?;
            Ok::<_, DeviceError>(Way::InLaunch(launches, Arc::clone(identity)))
        };
        let fence = if has_dots && fence.is_none() { Some(gpu.shared_fence()?) } else { fence.cloned() };
        let in_graphs = match &fence {
            Some(_) => Some(way(OwnRoom::beside(&gpu.memory(), std::slice::from_ref(matrix))?)?),
            None => None,
        };
        Ok(Some(Self::of(host, epilogue, way(OwnRoom::default())?, fence, in_graphs)))
    }

    /// In a launch behind any product.
    ///
    /// # Errors
    /// As [`Product::load_epilogue`].
    pub(super) fn behind(host: &Host<'_>, epilogue: &Epilogue) -> Result<Self, DeviceError> {
        check_reads_x(epilogue, host.size)?;
        let memory = host.gpu.memory();
        let way = |of_product: Option<OfProduct>| {
            let sums = DeviceArray::new(&memory, host.size.0)?;
            let launches = Self::pass(host, epilogue, LaunchArg::Number(sums.address()))?;
            Ok::<_, DeviceError>(Way::Behind(launches, sums, of_product))
        };
        let in_graphs = host.launches.map(|(identity, launches, matrices)| {
            let room = OwnRoom::beside(&memory, matrices)?;
            let launches = launches.iter().map(|launch| room.put_in(launch.clone())).collect();
            way(Some((Arc::clone(identity), launches, room)))
        });
        let in_graphs = in_graphs.unwrap_or_else(|| way(None))?;
        let fence = host.gpu.shared_fence()?;
        Ok(Self::of(host, epilogue, way(None)?, Some(fence), Some(in_graphs)))
    }

    /// In a launch that reads x in place of the sums: A is the identity of the product that has this `identity`.
    ///
    /// # Errors
    /// As [`Product::load_epilogue`].
    pub(super) fn of_identity(
        host: &Host<'_>,
        epilogue: &Epilogue,
        identity: &Arc<()>,
    ) -> Result<Self, DeviceError> {
        let way = || -> Result<_, DeviceError> {
            let launches = Self::pass(host, epilogue, LaunchArg::X)?;
            Ok(Way::InLaunch(launches, Arc::clone(identity)))
        };
        let (fence, in_graphs) = if epilogue.dots().is_empty() {
            (None, None)
        } else {
            (Some(host.gpu.shared_fence()?), Some(way()?))
        };
        Ok(Self::of(host, epilogue, way()?, fence, in_graphs))
    }

    /// The launch that computes the lines from sums in memory; none without rows and dot products.
    fn pass(host: &Host<'_>, epilogue: &Epilogue, sums: LaunchArg) -> Result<Launches, DeviceError> {
        let (gpu, nrows) = (host.gpu, host.size.0 as u64);
        let has_dots = !epilogue.dots().is_empty();
        // Without rows the dot products are still 0.
        let blocks = nrows.div_ceil(HELPER_BLOCK.into()).min(BLOCKS_OF_PASS).max(has_dots.into());
        let args = [LaunchArg::Number(nrows), sums, LaunchArg::X, LaunchArg::Y];
        let number = |arg: &LaunchArg| if let LaunchArg::Number(number) = arg { *number } else { 0 };
        let module = gpu.epilogue_pass(T::DTYPE, epilogue)?;
        let launch = |&blocks: &u64, dots: [u64; 3]| PartLaunch {
            module: Arc::clone(&module),
            kernel: 0,
            shape: LaunchShape::linear(blocks as u32, HELPER_BLOCK),
            words: args.iter().map(number).chain(words_of_dots(epilogue, 0, dots)).collect(),
            slots: slots(&args, 0, 0).collect(),
        };
        let planned: Vec<u64> = (blocks > 0).then_some(blocks).into_iter().collect();
        Launches::of(gpu, epilogue, (blocks, HELPER_BLOCK), &planned, OwnRoom::default(), launch)
    }

    fn of(
        host: &Host<'_>,
        epilogue: &Epilogue,
        way: Way<T>,
        fence: Option<SharedFence>,
        in_graphs: Option<Way<T>>,
    ) -> Self {
        let more_entries = match &way {
            Way::InLaunch(launches, ..) => launches.of_dots.iter().len(),
            Way::Behind(launches, ..) => launches.of_rows.len() + launches.of_dots.iter().len(),
        };
        Self {
            gpu: Arc::clone(host.gpu),
            epilogue: epilogue.clone(),
            size: host.size,
            way,
            fence,
            in_graphs,
            own: Stock::of(Vec::new()),
            entries: host.entries + more_entries as u32,
            touched: host.touched.clone(),
        }
    }

    /// Queues one product.
    ///
    /// # Safety
    /// All addresses are those of vectors on the GPU that are as long as they must be.
    unsafe fn queue(
        &self,
        product: &dyn Product<T>,
        x: DeviceSlice<'_, T>,
        y: u64,
        words: &Words,
        stream: Option<Stream<'_>>,
    ) -> Result<(), DeviceError> {
        let v = Vectors { x: x.address, y, alpha: 1.0, beta: 0.0 };
        let is_of = |identity: &Arc<()>| product.identity() == Some(Arc::as_ptr(identity).addr());
        let queue = |way: &Way<T>| {
            let launches = match way {
                Way::InLaunch(launches, ..) => launches,
                Way::Behind(launches, sums, Some((identity, of_product, _))) if is_of(identity) => {
                    let v = Vectors { y: sums.address(), ..v };
                    // SAFETY: as the caller promises; the matrix is that of the product, and there is a sum for each row.
                    of_product.iter().try_for_each(|launch| unsafe { launch.queue(&v, &[], stream) })?;
                    launches
                }
                Way::Behind(launches, sums, _) => {
                    let to = DeviceSliceMut::new(sums.address(), sums.len(), sums.as_slice().of);
                    product.multiply_on_device(DeviceVectors { alpha: 1.0, x, beta: 0.0, y: to, stream })?;
                    launches
                }
            };
            // SAFETY: as the caller promises; the matrix is that of the product, as it was asked, or there is a sum for each row.
            unsafe { launches.queue(&v, words.as_slice(), stream) }
        };
        if let (Some(way), Some(captured)) = (&self.in_graphs, stream)
            && self.gpu.gpu().is_captured(captured)?
        {
            return queue(way);
        }
        fenced(self.fence.as_ref(), stream, || queue(&self.way))
    }

    /// Refuses a product that it was not loaded for.
    fn check_product(&self, product: &dyn Product<T>) -> Result<(), DeviceError> {
        match &self.way {
            Way::InLaunch(_, of) if product.identity() != Some(Arc::as_ptr(of).addr()) => {
                Err(DeviceError::OtherEpilogue)
            }
            _ => Ok(()),
        }
    }

    /// x and all vectors are random, y is poisoned.
    fn room(&self) -> Result<Room<T>, DeviceError> {
        let (nrows, memory) = (self.size.0, self.gpu.memory());
        let (x, y) = self.gpu.vectors(self.size, 0)?;
        let several = |count: usize, seed: u64| {
            (0..count as u64)
                .map(|at| Ok(self.gpu.vectors((0, nrows), seed + at)?.0))
                .collect::<Result<Vec<_>, DeviceError>>()
        };
        let vectors = several(self.epilogue.vectors().len(), 1)?;
        let outputs = several(self.epilogue.outputs().len(), 1 + MOST_VECTORS as u64)?;
        Ok(Room { x, y, vectors, outputs, dots: DeviceArray::new(&memory, self.epilogue.dots().len())? })
    }

    /// The words for the vectors of a room.
    fn words(&self, room: &Room<T>, scalars: impl Iterator<Item = f64>) -> Words {
        let vectors = room.vectors.iter().chain(&room.outputs).map(DeviceArray::address);
        let scalars = scalars.map(|scalar| (scalar.to_bits(), false));
        Words::of(&self.epilogue, vectors, scalars, (!room.dots.is_empty()).then(|| room.dots.address()))
    }
}

impl Launches {
    /// `launch` makes each of those that are `planned`, of `blocks` blocks of so many threads in all, from blocks, partial sums and
    /// counter of their dot products; they are given `room`.
    fn of<P>(
        gpu: &Shared,
        epilogue: &Epilogue,
        (blocks, threads): (u64, u32),
        planned: &[P],
        room: OwnRoom,
        mut launch: impl FnMut(&P, [u64; 3]) -> PartLaunch,
    ) -> Result<Self, DeviceError> {
        let (memory, count) = (gpu.memory(), epilogue.dots().len());
        let are_left = count > 0 && blocks * u64::from(threads) > THREADS_AT_ONCE;
        // A thread has four sums of blocks to add up, all under way together.
        let then =
            if are_left { blocks.div_ceil(4 * u64::from(HELPER_BLOCK)).min(BLOCKS_OF_PASS) } else { 0 };
        let partials = DeviceArray::new(&memory, count * (blocks + then) as usize)?;
        let counter = DeviceArray::zeroed(&memory, usize::from(count > 0))?;
        let dots = [blocks, partials.address(), if are_left { 0 } else { counter.address() }];
        let of_rows = planned.iter().map(|planned| room.put_in(launch(planned, dots))).collect();
        let own = partials.address() + count as u64 * blocks * size_of::<f64>() as u64;
        let of_dots = are_left.then(|| -> Result<_, DeviceError> {
            Ok(PartLaunch {
                module: gpu.dots_pass(count)?,
                kernel: 0,
                shape: LaunchShape::linear(then as u32, HELPER_BLOCK),
                words: vec![partials.address(), blocks, own, counter.address()],
                slots: Vec::new(),
            })
        });
        Ok(Self { of_rows, of_dots: of_dots.transpose()?, _dots: (partials, counter), _room: room })
    }

    /// Queues them; `words` are the operands', that of the results of dot products last.
    ///
    /// # Safety
    /// As of [`PartLaunch::queue`].
    unsafe fn queue(
        &self,
        v: &Vectors,
        words: &[u64],
        stream: Option<Stream<'_>>,
    ) -> Result<(), DeviceError> {
        // SAFETY: as the caller promises.
        unsafe {
            self.of_rows.iter().try_for_each(|launch| launch.queue(v, words, stream))?;
            self.of_dots.iter().try_for_each(|launch| launch.queue(v, &words[words.len() - 1..], stream))
        }
    }
}

/// What a launch is told of dot products.
fn words_of_dots(
    epilogue: &Epilogue,
    before: u64,
    [blocks, partials, counter]: [u64; 3],
) -> impl Iterator<Item = u64> {
    let words = [before, blocks, partials, counter];
    words.into_iter().take(if epilogue.dots().is_empty() { 0 } else { words.len() })
}

impl<T: Scalar> LoadedEpilogue<T> for GpuEpilogue<T> {
    fn epilogue(&self) -> &Epilogue {
        &self.epilogue
    }

    fn is_in_launch(&self) -> bool {
        matches!(self.way, Way::InLaunch(..))
    }

    fn multiply(
        &self,
        product: &dyn Product<T>,
        x: &[T],
        y: &mut [T],
        operands: HostOperands<'_, '_, T>,
        dots: &mut [f64],
    ) -> Result<(), DeviceError> {
        self.check_product(product)?;
        check_lengths(self.size, x.len(), y.len())?;
        operands.check(&self.epilogue, self.size.0, dots.len())?;
        self.own.with(
            || self.room(),
            |room| {
                room.x.write(x)?;
                if self.epilogue.reads_y() {
                    room.y.write(y)?;
                }
                room.vectors
                    .iter_mut()
                    .zip(operands.vectors)
                    .try_for_each(|(own, vector)| own.write(vector))?;
                let mut outputs = room.outputs.iter_mut().zip(operands.outputs.iter());
                outputs.try_for_each(|(own, output)| own.write(output))?;
                let words = self.words(room, operands.scalars.iter().copied());
                // SAFETY: the vectors were made for it.
                unsafe { self.queue(product, room.x.as_slice(), room.y.address(), &words, None)? };
                room.y.read_to(y)?;
                let mut outputs = room.outputs.iter().zip(operands.outputs.iter_mut());
                outputs.try_for_each(|(own, output)| own.read_to(output))?;
                room.dots.read_to(dots)
            },
        )
    }

    fn multiply_on_device(
        &self,
        product: &dyn Product<T>,
        EpilogueVectors { x, y, operands, dots, stream }: EpilogueVectors<'_, T>,
    ) -> Result<(), DeviceError> {
        self.check_product(product)?;
        check_lengths(self.size, x.len(), y.len())?;
        let memory = self.gpu.memory();
        let is_here = |of: Option<usize>, what: &'static str| check_device(of, what, memory.as_ref());
        operands.check(&self.epilogue, self.size.0, dots.as_ref().map_or(0, DeviceSliceMut::len), is_here)?;
        is_here(x.of, "x")?;
        is_here(y.of, "y")?;
        dots.as_ref().map_or(Ok(()), |dots| is_here(dots.of, "the array for dot products"))?;
        let vectors = operands.vectors.iter().map(|vector| vector.address);
        let vectors = vectors.chain(operands.outputs.iter().map(|output| output.address));
        let scalars = operands.scalars.iter().map(|scalar| (scalar.word(), scalar.is_address()));
        let dots = dots.filter(|dots| !dots.is_empty()).map(|dots| dots.address);
        let words = Words::of(&self.epilogue, vectors, scalars, dots);
        // SAFETY: they are as long as that; a slice of foreign memory was made by a promise that it is there.
        unsafe { self.queue(product, x, y.address, &words, stream) }
    }

    fn batch(&self, product: &dyn Product<T>, products: u32, caches: Caches) -> Result<Batch, DeviceError> {
        self.check_product(product)?;
        self.own.with(
            || self.room(),
            |room| {
                let words = self.words(room, std::iter::repeat_n(1.0, self.epilogue.scalars().len()));
                let operands = room
                    .vectors
                    .iter()
                    .chain(&room.outputs)
                    .chain([&room.x, &room.y])
                    .map(DeviceArray::extent);
                let touched: Vec<Extent> = self.touched.iter().copied().chain(operands).collect();
                let (x, y) = (room.x.as_slice(), room.y.address());
                // SAFETY: the vectors were made for it.
                let mut queue = || unsafe { self.queue(product, x, y, &words, None) };
                let entries = self.entries;
                self.gpu.batch(BatchRequest { products, entries, caches, touched: &touched }, &mut queue)
            },
        )
    }
}
