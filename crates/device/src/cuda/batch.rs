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

use super::context::{Context, named};
use super::memory::{DeviceArray, SharedWord};
use super::module::{Launch, Module};
use crate::DeviceError;
use crate::timing::Caches;
use cudarc::driver::{result, sys};
use sparsight_kernels::HELPER_BLOCK;
use sparsight_matrix::{Bytes, Seconds};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Entries queued behind one spin at first. Chosen: the driver's queue holds 1,024. Halved for good whenever a group
/// comes late, in case this driver's queue is shorter.
const QUEUE: u32 = 800;

/// It is not halved below this: a host that is interrupted now and then must not end up timing single products.
const SHORTEST_QUEUE: u32 = 50;

/// After this a spinning kernel gives up. Chosen: queueing 800 launches takes a few milliseconds; a hanging device
/// would be killed by some drivers after 2 s.
const SPIN_LIMIT_NS: u64 = 50_000_000;

/// Groups that may come late before the batch is given up.
const LATE_GROUPS: u32 = 5;

/// Kernels of `timing_source`, in its order.
const SPIN: usize = 0;
const EMPTY: usize = 1;
const FLUSH_L2: usize = 2;

/// Sums of 16 bytes a thread of the flush, and how many times its buffer exceeds the L2 cache: with twice the size
/// nothing of before survives in a cache that replaces what was used least recently.
const FLUSH_ELEMENT: u64 = 16;
const FLUSH_FACTOR: u64 = 2;

/// Measures what is queued in the context's stream.
#[derive(Debug)]
pub(super) struct BatchTimer {
    context: Arc<Context>,
    module: Arc<Module>,
    /// The last ticket that the host let go; the device polls it.
    released: SharedWord,
    /// The last ticket for which the device waited in vain.
    timed_out: SharedWord,
    ticket: Cell<u32>,
    queue: Cell<u32>,
    events: RefCell<Vec<Event>>,
    flush: RefCell<Option<Flush>>,
    l2: Bytes,
    multiprocessors: u32,
}

/// The launch that flushes, and the memory that it reads.
#[derive(Debug)]
struct Flush {
    launch: Launch,
    _buffer: DeviceArray<u32>,
    _never: DeviceArray<u32>,
}

impl BatchTimer {
    /// `module` is the loaded `timing_source`.
    pub(super) fn new(
        context: &Arc<Context>,
        module: Arc<Module>,
        l2: Bytes,
        multiprocessors: u32,
    ) -> Result<Self, DeviceError> {
        Ok(Self {
            context: Arc::clone(context),
            module,
            released: SharedWord::new(context)?,
            timed_out: SharedWord::new(context)?,
            ticket: Cell::new(0),
            queue: Cell::new(QUEUE),
            events: RefCell::default(),
            flush: RefCell::default(),
            l2,
            multiprocessors,
        })
    }

    /// Bytes that the first cold batch allocates.
    pub(super) const fn flush_bytes(l2: Bytes) -> u64 {
        l2.0 * FLUSH_FACTOR
    }

    /// The empty kernel.
    pub(super) fn empty(&self) -> Launch {
        self.module.launch(EMPTY, 1, 1, &[])
    }

    /// Time of `products` calls of `product` on the device. Each call queues at most `entries` launches or copies
    /// in the context's stream and does not wait.
    pub(super) fn time(
        &self,
        products: u32,
        entries: u32,
        caches: Caches,
        product: &mut dyn FnMut() -> Result<(), DeviceError>,
    ) -> Result<Seconds, DeviceError> {
        self.context.bind()?;
        let each = entries.max(1) + if caches == Caches::Cold { 3 } else { 0 };
        let (mut done, mut late) = (0, 0);
        let mut total = 0.0;
        while done < products {
            let count = (self.queue.get() / each).clamp(1, products - done);
            if let Some(time) = self.group(count, caches, product)? {
                total += time;
                done += count;
            } else {
                late += 1;
                self.queue.set((self.queue.get() / 2).max(SHORTEST_QUEUE));
                if late == LATE_GROUPS {
                    return Err(DeviceError::Driver {
                        call: "timing a batch".to_owned(),
                        reason: format!(
                            "the device waited more than {} ms for {count} products to be queued, {late} times \
                             (is CUDA_LAUNCH_BLOCKING set, or a debugger attached?)",
                            SPIN_LIMIT_NS / 1_000_000
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
        count: u32,
        caches: Caches,
        product: &mut dyn FnMut() -> Result<(), DeviceError>,
    ) -> Result<Option<f64>, DeviceError> {
        // Everything that may wait for the device comes before the spin.
        let pairs = if caches == Caches::Cold { count as usize } else { 1 };
        self.events_for(pairs)?;
        if caches == Caches::Cold {
            self.allocate_flush()?;
        }
        let events = self.events.borrow();
        let flush = self.flush.borrow();
        let ticket = self.ticket.get().wrapping_add(1);
        self.ticket.set(ticket);
        let args = [self.released.address(), u64::from(ticket), self.timed_out.address(), SPIN_LIMIT_NS];
        let spin = self.module.launch(SPIN, 1, 1, &args);

        spin.queue()?;
        let mut queue = || {
            if caches == Caches::Warm {
                events[0].record(&self.context)?;
                (0..count).try_for_each(|_| product())?;
                return events[1].record(&self.context);
            }
            for pair in events.chunks_exact(2).take(pairs) {
                if let Some(flush) = flush.as_ref() {
                    flush.launch.queue()?;
                }
                pair[0].record(&self.context)?;
                product()?;
                pair[1].record(&self.context)?;
            }
            Ok(())
        };
        let queued = queue();
        // Let go and wait, whatever happened: nothing may be left spinning.
        self.released.set(ticket);
        let waited = self.context.synchronize();
        queued?;
        waited?;

        if self.timed_out.get() == ticket {
            return Ok(None);
        }
        let mut total = 0.0;
        for pair in events.chunks_exact(2).take(pairs) {
            total += pair[0].seconds_until(&pair[1])?;
        }
        Ok(Some(total))
    }

    fn events_for(&self, pairs: usize) -> Result<(), DeviceError> {
        let mut events = self.events.borrow_mut();
        while events.len() < 2 * pairs {
            events.push(Event::new(&self.context)?);
        }
        Ok(())
    }

    fn allocate_flush(&self) -> Result<(), DeviceError> {
        let mut flush = self.flush.borrow_mut();
        if flush.is_none() {
            let count = Self::flush_bytes(self.l2).div_ceil(FLUSH_ELEMENT).max(1);
            let buffer = DeviceArray::zeroed(&self.context, (count * FLUSH_ELEMENT / 4) as usize)?;
            let never = DeviceArray::zeroed(&self.context, 1)?;
            // 8 blocks of 256 fill the 2,048 threads of a multiprocessor.
            let grid = self.multiprocessors * 8;
            let args = [count, buffer.address(), never.address()];
            let launch = self.module.launch(FLUSH_L2, grid, HELPER_BLOCK, &args);
            *flush = Some(Flush { launch, _buffer: buffer, _never: never });
        }
        Ok(())
    }
}

/// A mark in the stream that the device stamps with the time.
#[derive(Debug)]
struct Event {
    context: Arc<Context>,
    raw: sys::CUevent,
}

// SAFETY: as for `Context`, whose handles may be used from any thread.
unsafe impl Send for Event {}

impl Event {
    fn new(context: &Arc<Context>) -> Result<Self, DeviceError> {
        // The default flags: with time stamps.
        let raw = named("cuEventCreate", result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT))?;
        Ok(Self { context: Arc::clone(context), raw })
    }

    fn record(&self, context: &Context) -> Result<(), DeviceError> {
        // SAFETY: event and stream were created in the same context and are alive.
        named("cuEventRecord", unsafe { result::event::record(self.raw, context.stream()) })
    }

    fn seconds_until(&self, end: &Self) -> Result<f64, DeviceError> {
        // SAFETY: both were created with time stamps and recorded in the same stream, which was waited for.
        let ms = named("cuEventElapsedTime", unsafe { result::event::elapsed(self.raw, end.raw) })?;
        Ok(f64::from(ms) / 1e3)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: created in `new`, destroyed only here.
            let _ = unsafe { result::event::destroy(self.raw) };
        }
    }
}
