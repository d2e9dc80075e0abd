//! Launches that are made once and queued with other vectors each time, and what keeps products apart that share memory.

use super::array::DeviceBytes;
use super::{DeviceArray, DeviceMatrix, Fence, LaunchShape, Memory, Module, Vectors};
use crate::{DeviceError, Stream};
use sparsight_kernels::{FUSED_ARGS, FUSED_PARTS, LaunchArg, PlannedLaunch};
use sparsight_matrix::Scalar;
use std::sync::{Arc, Mutex, PoisonError};

/// A fence of products that share memory.
pub(super) type SharedFence = Arc<Mutex<Box<dyn Fence>>>;

/// Queues by `queue` what must not run beside other products of `fence`.
///
/// # Errors
/// That of `queue`, else of the fence.
pub(super) fn fenced(
    fence: Option<&SharedFence>,
    stream: Option<Stream<'_>>,
    queue: impl FnOnce() -> Result<(), DeviceError>,
) -> Result<(), DeviceError> {
    // Held while the product is queued, not while it runs.
    let mut fence = fence.map(|fence| fence.lock().unwrap_or_else(PoisonError::into_inner));
    if let Some(fence) = &mut fence {
        fence.enter(stream)?;
    }
    let queued = queue();
    // Also where only some of it was queued.
    let left = fence.map_or(Ok(()), |mut fence| fence.leave(stream));
    queued.and(left)
}

/// A product with vectors of the host: sent to `x` and `y` of the GPU, y where `beta` reads it; `queue` queues it, and y is sent back.
pub(super) fn through<T: Scalar>(
    (own_x, own_y): (&mut DeviceArray<T>, &mut DeviceArray<T>),
    (alpha, x): (f64, &[T]),
    (beta, y): (f64, &mut [T]),
    queue: impl FnOnce(&Vectors) -> Result<(), DeviceError>,
) -> Result<(), DeviceError> {
    own_x.write(x)?;
    if beta != 0.0 {
        own_y.write(y)?;
    }
    queue(&Vectors { x: own_x.address(), y: own_y.address(), alpha, beta })?;
    own_y.read_to(y)
}

/// A launch, and where in it the vectors of each of its parts stand.
#[derive(Debug, Clone)]
pub(super) struct PartLaunch {
    pub(super) module: Arc<dyn Module>,
    pub(super) kernel: usize,
    pub(super) shape: LaunchShape,
    pub(super) words: Vec<u64>,
    pub(super) slots: Vec<Slot>,
}

/// A word of a launch that changes from product to product.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    place: usize,
    arg: LaunchArg,
    /// Bytes of y before the part's own.
    before: u64,
}

/// Most words of a launch: those of a fused one.
const MOST_WORDS: usize = FUSED_PARTS * (2 + FUSED_ARGS);

impl PartLaunch {
    /// Queues it with these vectors, and with `more` words behind its own.
    ///
    /// # Safety
    /// The vectors are on the GPU and as long as the matrix is wide and high; the kernel has parameters for the words.
    pub(super) unsafe fn queue(
        &self,
        v: &Vectors,
        more: &[u64],
        stream: Option<Stream<'_>>,
    ) -> Result<(), DeviceError> {
        let (mut words, count) = ([0; MOST_WORDS], self.words.len());
        let words = &mut words[..count + more.len()];
        words[..count].copy_from_slice(&self.words);
        words[count..].copy_from_slice(more);
        for Slot { place, arg, before } in &self.slots {
            words[*place] = match arg {
                LaunchArg::X => v.x,
                LaunchArg::Y => v.y + before,
                LaunchArg::Alpha => v.alpha.to_bits(),
                LaunchArg::Beta => v.beta.to_bits(),
                LaunchArg::Number(_) | LaunchArg::Array(..) => continue,
            };
        }
        // SAFETY: the recipe names the kernel's parameters, and the arrays are those of the matrix; the caller vouches for
        // the vectors.
        unsafe { self.module.queue(self.kernel, self.shape, words, stream) }
    }
}

/// Room in place of that which products of some matrices share, by its address.
#[derive(Debug, Default)]
pub(super) struct OwnRoom(Vec<(u64, DeviceBytes)>);

impl OwnRoom {
    /// Room in place of that of `matrices`, zeroed: counters begin with 0.
    pub(super) fn beside(memory: &Arc<dyn Memory>, matrices: &[DeviceMatrix]) -> Result<Self, DeviceError> {
        let own = |shared: &DeviceBytes| {
            let mut room = DeviceBytes::new(memory, shared.bytes())?;
            room.zero()?;
            Ok((shared.address(), room))
        };
        matrices.iter().flat_map(DeviceMatrix::shared_room).map(own).collect::<Result<_, _>>().map(Self)
    }

    /// The launch with this room.
    pub(super) fn put_in(&self, mut launch: PartLaunch) -> PartLaunch {
        for (address, room) in &self.0 {
            launch.words.iter_mut().filter(|word| **word == *address).for_each(|word| *word = room.address());
        }
        launch
    }
}

/// The slots of arguments that begin at `place` in the words of a launch.
pub(super) fn slots(args: &[LaunchArg], place: usize, before: u64) -> impl Iterator<Item = Slot> {
    let of_product = |arg: &LaunchArg| !matches!(arg, LaunchArg::Number(_) | LaunchArg::Array(..));
    let all = args.iter().enumerate().filter(move |(_, arg)| of_product(arg));
    all.map(move |(at, &arg)| Slot { place: place + at, arg, before })
}

/// A launch of one part, `before` bytes behind the beginning of y.
pub(super) fn part_launch(
    module: &Arc<dyn Module>,
    planned: &PlannedLaunch,
    block: u32,
    matrix: &DeviceMatrix,
    before: u64,
) -> PartLaunch {
    PartLaunch {
        module: Arc::clone(module),
        kernel: planned.step,
        shape: LaunchShape::linear(planned.grid, block),
        words: planned.args.iter().map(|&arg| matrix.word(arg)).collect(),
        slots: slots(&planned.args, 0, before).collect(),
    }
}
