//! Timing batches of products on the device.
//!
//! ```text
//! warm   spin | event  product product product ... event
//! cold   spin | flush event product event  flush event product event ...
//!             ^ the host lets go here, when all of it is queued
//! ```
//! The spinning kernel in front keeps the device waiting until the host has queued the batch; without it, kernels of
//! a few microseconds would measure how fast the host launches. The launch queue holds some 1,000 entries and
//! blocks the host when it is full, while the device would wait for the host: so a long batch is cut into groups, each
//! behind a spin of its own. A spin that was not let go in time says so, and its group is measured again, smaller.
//!
//! Warm is the time between two events around the group. Cold is the sum of the times between the two events around
//! each product, L2 flushed before the first of them; it holds the cost of two events, about a microsecond, for
//! every product, which no difference of batches cancels.

use super::driver::{Driver, Stamp};
use super::shared_words::SharedWords;
use super::{BatchRequest, DeviceArray, Extent, LaunchShape, Memory, Module};
use crate::DeviceError;
use crate::timing::Caches;
use sparsight_kernels::{DeviceFacts, HELPER_BLOCK, KernelSource, SMALL_BLOCK, timing_source};
use sparsight_matrix::{Bytes, Seconds};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Entries queued behind one spin at first. Chosen: the driver's queue holds 1,024. Halved for good whenever a group
/// comes late, in case this driver's queue is shorter.
const QUEUE: u32 = 800;

/// Lower limit of the halved queue: a host that is interrupted now and then must not end up timing single products.
const SHORTEST_QUEUE: u32 = 50;

/// After this a spinning kernel gives up. Chosen: queueing 800 launches takes a few milliseconds; a hanging device
/// would be killed by some drivers after 2 s.
const SPIN_LIMIT_MS: u64 = 50;

/// Groups that may come late before the batch is given up.
const LATE_GROUPS: u32 = 5;

/// Kernels of `timing_source`, in its order.
const SPIN: usize = 0;
const EMPTY: usize = 1;
const SMALL_PRODUCT: usize = 2;
const READ: usize = 3;

/// Most blocks of the small product: a driver that names more multiprocessors is not believed.
const SMALL_BLOCKS: u32 = 4096;

/// Sums of 16 bytes a thread of the flush, and how many times its buffer exceeds the L2 cache: with twice the size
/// nothing of before survives in a cache that replaces what was used least recently.
const FLUSH_ELEMENT: u64 = 16;
const FLUSH_FACTOR: u64 = 2;

/// Number of times that arrays are read before a batch, each time by other multiprocessors. On an H200, whose L2 has two parts, cuSPARSE's
/// products take up to 1.6 times as long in turn with others as alone if nothing is read, 1.4 times if it is read once, and 1 %
/// more or less from 16 times on (docs/measuring.md, "Warm and cold").
const PASSES: u64 = 16;

/// Device memory that matrices leave alone, beside what flushing the L2 takes. Chosen: modules, the driver's own
/// growth, and fragments too small for a large array.
const RESERVE: u64 = 256 << 20;

/// Measures what is queued in the stream of its driver.
#[derive(Debug)]
pub(crate) struct BatchTimer<D: Driver> {
    driver: Arc<D>,
    module: Arc<dyn Module>,
    /// The last ticket that the host let go; the device polls it.
    released: SharedWords<D>,
    /// The last ticket for which the device waited in vain.
    timed_out: SharedWords<D>,
    /// A word to which a kernel that reads arrays might write, so that its reads cannot be optimised away.
    never: DeviceArray<u32>,
    /// State of the batch; one batch at a time.
    state: Mutex<State<D::Event>>,
    l2: Bytes,
    multiprocessors: u32,
}

/// State that batches keep.
#[derive(Debug)]
struct State<E> {
    ticket: u32,
    /// Entries queued behind one spin.
    queue: u32,
    events: Vec<E>,
    flush: Option<Flush>,
}

/// The arguments of the launch that flushes, and the memory that it reads.
#[derive(Debug)]
struct Flush {
    args: [u64; 4],
    _buffer: DeviceArray<u32>,
}

/// Bytes of `free` ones that a matrix, x and y may take beside a flush of the L2.
pub(crate) fn available_bytes(free: u64, l2: Bytes) -> u64 {
    free.saturating_sub(RESERVE + flush_bytes(l2))
}

/// Bytes that the first cold batch allocates.
const fn flush_bytes(l2: Bytes) -> u64 {
    l2.0 * FLUSH_FACTOR
}

impl<D: Driver> BatchTimer<D> {
    /// The timer that `place` keeps, made when it is first asked for. `load` compiles its kernels.
    pub(crate) fn kept<'t>(
        place: &'t OnceLock<Self>,
        driver: &Arc<D>,
        facts: &DeviceFacts,
        load: impl FnOnce(&KernelSource) -> Result<Arc<dyn Module>, DeviceError>,
    ) -> Result<&'t Self, DeviceError> {
        if let Some(timer) = place.get() {
            return Ok(timer);
        }
        let timer = Self {
            driver: Arc::clone(driver),
            module: load(&timing_source())?,
            released: SharedWords::new(driver, 1)?,
            timed_out: SharedWords::new(driver, 1)?,
            never: DeviceArray::new(&(Arc::clone(driver) as Arc<dyn Memory>), 1)?,
            state: Mutex::new(State { ticket: 0, queue: QUEUE, events: Vec::new(), flush: None }),
            l2: facts.l2_bytes,
            multiprocessors: facts.multiprocessors,
        };
        Ok(place.get_or_init(|| timer))
    }

    /// Queues the empty kernel.
    pub(crate) fn queue_empty(&self) -> Result<(), DeviceError> {
        // SAFETY: it takes nothing and does nothing.
        unsafe { self.module.queue(EMPTY, LaunchShape::linear(1, 1), &[], None) }
    }

    /// Blocks of the small product: one for each multiprocessor, since a product ends when the slowest of them has.
    fn small_blocks(&self) -> u32 {
        self.multiprocessors.clamp(1, SMALL_BLOCKS)
    }

    /// Rows of the small matrix.
    pub(crate) fn small_rows(&self) -> u32 {
        self.small_blocks() * SMALL_BLOCK
    }

    /// Queues the product of a CSR matrix of [`Self::small_rows`] rows: the addresses of its offsets, columns and values, of x and of y.
    ///
    /// # Safety
    /// They are arrays of 32-bit numbers of this device, as long as such a matrix has them, whose offsets and columns lie within them, and
    /// live until the product is done.
    pub(crate) unsafe fn queue_small_product(&self, arrays: &[u64; 5]) -> Result<(), DeviceError> {
        let [offsets, columns, values, x, y] = *arrays;
        let args = [self.small_rows().into(), offsets, columns, values, x, y];
        // SAFETY: as the caller promises.
        unsafe {
            self.module.queue(
                SMALL_PRODUCT,
                LaunchShape::linear(self.small_blocks(), SMALL_BLOCK),
                &args,
                None,
            )
        }
    }

    /// Time of the calls of `product` in a batch on the device, in the driver's stream.
    pub(crate) fn time(
        &self,
        batch: BatchRequest<'_>,
        product: &mut dyn FnMut() -> Result<(), DeviceError>,
    ) -> Result<Seconds, DeviceError> {
        let _entered = self.driver.enter()?;
        let BatchRequest { products, entries, caches, .. } = batch;
        let state = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let each = entries.max(1) + if caches == Caches::Cold { 3 } else { 0 };
        let (mut done, mut late) = (0, 0);
        let mut total = 0.0;
        while done < products {
            let count = (state.queue / each).clamp(1, products - done);
            // Nothing else runs between two groups.
            let touched = if done == 0 && caches == Caches::Warm { batch.touched } else { &[] };
            let group = BatchRequest { products: count, touched, ..batch };
            if let Some(time) = self.group(state, group, product)? {
                total += time;
                done += count;
            } else {
                late += 1;
                state.queue = (state.queue / 2).max(SHORTEST_QUEUE);
                if late == LATE_GROUPS {
                    return Err(DeviceError::Driver {
                        call: "timing a batch".to_owned(),
                        reason: format!(
                            "the device waited more than {SPIN_LIMIT_MS} ms for {count} products to be queued, {late} times \
                             (is CUDA_LAUNCH_BLOCKING or AMD_SERIALIZE_KERNEL set, or a debugger attached?)"
                        ),
                    });
                }
            }
        }
        Ok(Seconds(total))
    }

    /// Seconds of one group, `None` if it was queued too late. On return, nothing is queued any more.
    fn group(
        &self,
        state: &mut State<D::Event>,
        BatchRequest { products, caches, touched, .. }: BatchRequest<'_>,
        product: &mut dyn FnMut() -> Result<(), DeviceError>,
    ) -> Result<Option<f64>, DeviceError> {
        // Everything that may wait for the device comes before the spin.
        let pairs = if caches == Caches::Cold { products as usize } else { 1 };
        while state.events.len() < 2 * pairs {
            state.events.push(self.driver.new_event(Stamp::WithTime)?);
        }
        if caches == Caches::Cold && state.flush.is_none() {
            state.flush = Some(self.allocate_flush()?);
        }
        self.touch(touched)?;
        state.ticket = state.ticket.wrapping_add(1);
        let State { ticket, events, flush, .. } = &*state;
        let ticket = *ticket;
        let limit = SPIN_LIMIT_MS * self.driver.ticks_per_ms();
        let args = [self.released.address(), u64::from(ticket), self.timed_out.address(), limit];
        // SAFETY: both words live as long as the timer; the kernel gives up by itself.
        unsafe { self.module.queue(SPIN, LaunchShape::linear(1, 1), &args, None)? };
        let record = |event: &D::Event| self.driver.record(event, self.driver.stream(), false);
        let mut queue = || {
            if caches == Caches::Warm {
                record(&events[0])?;
                (0..products).try_for_each(|_| product())?;
                return record(&events[1]);
            }
            for pair in events.chunks_exact(2).take(pairs) {
                if let Some(flush) = flush {
                    // 8 blocks of 256 fill the 2,048 threads of a multiprocessor.
                    let shape = LaunchShape::linear(self.multiprocessors * 8, HELPER_BLOCK);
                    // SAFETY: the buffer is as long as its first argument says.
                    unsafe { self.module.queue(READ, shape, &flush.args, None)? };
                }
                record(&pair[0])?;
                product()?;
                record(&pair[1])?;
            }
            Ok(())
        };
        let queued = queue();
        // Let go and wait, whatever happened: nothing may be left spinning.
        self.released.set(0, ticket);
        let waited = self.driver.synchronize();
        queued?;
        waited?;

        if self.timed_out.get(0) == ticket {
            return Ok(None);
        }
        let mut total = 0.0;
        for pair in events.chunks_exact(2).take(pairs) {
            total += self.driver.seconds_between(&pair[0], &pair[1])?;
        }
        Ok(Some(total))
    }

    /// Reads arrays, unless they are so large that a product pushes out what was read.
    fn touch(&self, arrays: &[Extent]) -> Result<(), DeviceError> {
        let bytes: u64 = arrays.iter().map(|array| array.bytes).sum();
        if bytes > flush_bytes(self.l2) {
            return Ok(());
        }
        let shape = LaunchShape::linear(self.multiprocessors * 8, HELPER_BLOCK);
        for Extent { address, bytes } in arrays.iter().filter(|array| array.bytes >= FLUSH_ELEMENT) {
            let args = [bytes / FLUSH_ELEMENT, *address, self.never.address(), PASSES];
            // SAFETY: the array is that long, and the word is not read.
            unsafe { self.module.queue(READ, shape, &args, None)? };
        }
        Ok(())
    }

    fn allocate_flush(&self) -> Result<Flush, DeviceError> {
        let memory: Arc<dyn Memory> = Arc::clone(&self.driver) as _;
        let count = flush_bytes(self.l2).div_ceil(FLUSH_ELEMENT).max(1);
        let buffer = DeviceArray::<u32>::zeroed(&memory, (count * FLUSH_ELEMENT / 4) as usize)?;
        let args = [count, buffer.address(), self.never.address(), 1];
        Ok(Flush { args, _buffer: buffer })
    }
}
