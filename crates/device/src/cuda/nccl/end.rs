//! A GPU's end of a communicator.

use super::Limit;
use super::api::{Api, api};
use super::{broken, named};
use crate::cuda::context::{self, Context};
use crate::cuda::event::Event;
use crate::gpu::{Driver as _, Extent, Link, Message, Stamp};
use crate::{DeviceError, Stream};
use cudarc::driver::{result, sys as driver};
use cudarc::nccl::sys;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, TryLockError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// Time during which a waiting rank polls before it sleeps between two polls. Chosen: so long that a nap too much is a
/// hundredth of it, since shares wait between products, too.
const BUSY: Duration = Duration::from_millis(10);

/// Time that it then sleeps.
const NAP: Duration = Duration::from_micros(100);

/// Interval of asking whether another rank has failed: a call of the library.
const ASKED_EVERY: Duration = Duration::from_millis(20);

/// A communicator with a stream.
///
/// # Invariants
/// Everything was made in `context`, which lives longer. Nothing is called with `raw` once `given_up` is set, but by the thread that set it,
/// who waits a moment for a call that is under way (`calls`).
#[derive(Debug)]
pub(super) struct End {
    api: &'static Api,
    context: Arc<Context>,
    raw: Raw,
    stream: driver::CUstream,
    /// Recorded where one stream waits for the other.
    follows: Event,
    leads: Event,
    rank: usize,
    ranks: usize,
    limit: Duration,
    given_up: Arc<AtomicBool>,
    /// Held during calls of the library with `raw`.
    calls: Arc<Mutex<()>>,
    /// Exchanges and sums. The library makes connections with the first of each.
    kinds: [Kind; 2],
    /// The ends of this process.
    all: OnceLock<Vec<Weak<End>>>,
}

/// State of one kind of call: whether any was queued, and whether one has ended, so that connections are there.
#[derive(Debug, Default)]
struct Kind {
    is_queued: AtomicBool,
    is_connected: AtomicBool,
}

/// Places in `kinds`.
const EXCHANGE: usize = 0;
const SUM: usize = 1;

/// A handle of the library's, which may be aborted from any thread.
#[derive(Debug, Clone, Copy)]
struct Raw(sys::ncclComm_t);

// SAFETY: a handle; who uses it when is the end's business.
unsafe impl Send for Raw {}
// SAFETY: likewise.
unsafe impl Sync for Raw {}
// SAFETY: handles that driver and library take from any thread, one at a time, for which `calls` sees; aborting is allowed while a
// call waits for other ranks.
unsafe impl Send for End {}
// SAFETY: as above.
unsafe impl Sync for End {}

impl End {
    /// Waits for all ranks, maybe for ever.
    pub(super) fn join(
        context: Arc<Context>,
        id: sys::ncclUniqueId,
        rank: usize,
        ranks: usize,
        limit: Duration,
    ) -> Result<Self, DeviceError> {
        if context.part.as_ref().is_some() {
            return Err(broken("a part of a GPU cannot be linked"));
        }
        let api = api()?;
        let entered = context.enter()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the library is there, since an identity was drawn; the pointer is to a live handle.
        let joined = unsafe { (api.ncclCommInitRank)(&raw mut raw, ranks as i32, id, rank as i32) };
        named("ncclCommInitRank", joined)?;
        let event = || Event::new(&context, Stamp::None);
        let stream = urgent_stream()?;
        let (follows, leads) = (event()?, event()?);
        drop(entered);
        let given_up = Arc::new(AtomicBool::new(false));
        let (calls, kinds) = (Arc::default(), Default::default());
        let (raw, all) = (Raw(raw), OnceLock::new());
        Ok(Self {
            api,
            context,
            raw,
            stream,
            follows,
            leads,
            rank,
            ranks,
            limit,
            given_up,
            calls,
            kinds,
            all,
        })
    }

    /// The other ranks of this process, told if this one gives up.
    pub(super) fn know(&self, all: &[Arc<Self>]) {
        let _ = self.all.set(all.iter().map(Arc::downgrade).collect());
    }

    /// Ends everything that waits in the communicator; for the thread that set `given_up`.
    fn take_down(&self) -> impl FnOnce() + Send + use<> {
        // What it is made in has to be there until the end.
        let (api, raw, context) = (self.api, self.raw, Arc::clone(&self.context));
        let calls = Arc::clone(&self.calls);
        move || {
            // The whole of it, not its field alone.
            let raw = raw;
            let start = Instant::now();
            while start.elapsed() < UNDER_WAY && matches!(calls.try_lock(), Err(TryLockError::WouldBlock)) {
                thread::sleep(NAP);
            }
            // SAFETY: it is alive, and no call with it begins from here on.
            let _ = unsafe { (api.ncclCommAbort)(raw.0) };
            drop(context);
        }
    }

    /// Gives up, unless that was done before.
    fn give_up(&self) -> impl FnOnce() + Send + use<> {
        let (given_up, take_down) = (Arc::clone(&self.given_up), self.take_down());
        move || {
            if !given_up.swap(true, Ordering::AcqRel) {
                take_down();
            }
        }
    }

    fn check(&self) -> Result<(), DeviceError> {
        if self.given_up.load(Ordering::Acquire) {
            return Err(broken("a rank has given up, or did not do its part in time"));
        }
        Ok(())
    }

    /// Makes the work queued in `then` wait for what is in `first` now.
    fn order(&self, event: &Event, first: Stream<'_>, then: Stream<'_>) -> Result<(), DeviceError> {
        self.check()?;
        let _entered = self.context.enter()?;
        event.record(first, false)?;
        event.hold(then, false)
    }

    /// Its own stream, in which it exchanges.
    fn own(&self) -> Stream<'_> {
        // SAFETY: the stream lives as long as `self`.
        unsafe { Stream::from_raw(self.stream.cast()) }
    }

    /// Makes a call that queues; until data has come through it may wait for other ranks. Afterwards it waits only where the driver's
    /// queues are full: shares do not queue so much.
    fn queue(&self, kind: usize, call: impl FnOnce() -> Result<(), DeviceError>) -> Result<(), DeviceError> {
        let _entered = self.context.enter()?;
        let _calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        self.check()?;
        let Kind { is_queued, is_connected } = &self.kinds[kind];
        is_queued.store(true, Ordering::Release);
        if is_connected.load(Ordering::Acquire) {
            return call();
        }
        let limit = Limit::begin(self.limit, self.give_up());
        let queued = call();
        drop(limit);
        self.check()?;
        queued
    }

    /// Returns whether a stream has nothing left to do.
    fn is_done(stream: driver::CUstream) -> Result<bool, DeviceError> {
        // SAFETY: the stream is alive, its context is current.
        let status = unsafe { driver::cuStreamQuery(stream) };
        if status == driver::CUresult::CUDA_ERROR_NOT_READY {
            return Ok(false);
        }
        context::named("cuStreamQuery", status.result()).map(|()| true)
    }

    /// The failure in the background, if there is one.
    fn failure(&self) -> Result<(), DeviceError> {
        let _calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        self.check()?;
        let mut failure = sys::ncclResult_t::ncclSuccess;
        // SAFETY: the communicator is alive, the pointer is to a live value.
        named("ncclCommGetAsyncError", unsafe {
            (self.api.ncclCommGetAsyncError)(self.raw.0, &raw mut failure)
        })?;
        named("a message to or from another GPU", failure)
    }
}

/// A stream whose thread blocks come before those of the device's own: an exchange that waits for room behind the blocks of the
/// interior would end when these do.
fn urgent_stream() -> Result<driver::CUstream, DeviceError> {
    let (mut least, mut greatest) = (0, 0);
    // SAFETY: the context is current, the pointers are to live values.
    let range = unsafe { driver::cuCtxGetStreamPriorityRange(&raw mut least, &raw mut greatest) };
    context::named("cuCtxGetStreamPriorityRange", range.result())?;
    let mut stream = std::ptr::null_mut();
    let flags = driver::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
    // SAFETY: as above.
    let made = unsafe { driver::cuStreamCreateWithPriority(&raw mut stream, flags, greatest) };
    context::named("cuStreamCreateWithPriority", made.result())?;
    Ok(stream)
}

/// Time to wait for a running call of the library before the communicator is taken down: a call that waits for other
/// ranks is ended by that. Chosen.
const UNDER_WAY: Duration = Duration::from_millis(100);

impl Link for End {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn stream(&self) -> Option<Stream<'_>> {
        Some(self.own())
    }

    fn follow(&self) -> Result<(), DeviceError> {
        self.order(&self.follows, self.context.stream(), self.own())
    }

    fn lead(&self) -> Result<(), DeviceError> {
        self.order(&self.leads, self.own(), self.context.stream())
    }

    unsafe fn exchange(&self, gives: &[Message], gets: &[Message]) -> Result<(), DeviceError> {
        let bytes = sys::ncclDataType_t::ncclUint8;
        let each = || {
            for Message { peer, bytes: Extent { address, bytes: count } } in gives {
                let from = *address as *const _;
                let (count, peer) = (*count as usize, *peer as i32);
                // SAFETY: as the caller promises.
                let sent =
                    unsafe { (self.api.ncclSend)(from, count, bytes, peer, self.raw.0, self.stream.cast()) };
                named("ncclSend", sent)?;
            }
            for Message { peer, bytes: Extent { address, bytes: count } } in gets {
                let to = *address as *mut _;
                let (count, peer) = (*count as usize, *peer as i32);
                // SAFETY: as the caller promises.
                let got =
                    unsafe { (self.api.ncclRecv)(to, count, bytes, peer, self.raw.0, self.stream.cast()) };
                named("ncclRecv", got)?;
            }
            Ok(())
        };
        self.queue(EXCHANGE, || {
            // SAFETY: the library is there.
            named("ncclGroupStart", unsafe { (self.api.ncclGroupStart)() })?;
            let all = each();
            // Ended whatever happened: groups nest.
            // SAFETY: begun above, in this thread.
            let ended = named("ncclGroupEnd", unsafe { (self.api.ncclGroupEnd)() });
            all.and(ended)
        })
    }

    unsafe fn sum(&self, Extent { address, bytes }: Extent) -> Result<(), DeviceError> {
        let (from, to, count) = (address as *const _, address as *mut _, (bytes / 8) as usize);
        let (double, sum) = (sys::ncclDataType_t::ncclDouble, sys::ncclRedOp_t::ncclSum);
        self.queue(SUM, || {
            // SAFETY: as the caller promises.
            let summed = unsafe {
                (self.api.ncclAllReduce)(from, to, count, double, sum, self.raw.0, self.stream.cast())
            };
            named("ncclAllReduce", summed)
        })
    }

    fn wait(&self) -> Result<(), DeviceError> {
        self.check()?;
        let _entered = self.context.enter()?;
        let start = Instant::now();
        let mut asked = start;
        loop {
            if Self::is_done(self.stream)? && Self::is_done(self.context.stream)? {
                // Also where others gave up meanwhile: what is done may be wrong then.
                self.check()?;
                for Kind { is_queued, is_connected } in &self.kinds {
                    is_connected.fetch_or(is_queued.load(Ordering::Acquire), Ordering::AcqRel);
                }
                return Ok(());
            }
            let now = Instant::now();
            if now - asked > ASKED_EVERY {
                asked = now;
                self.check()?;
                if let Err(failure) = self.failure() {
                    self.abort();
                    return Err(failure);
                }
            }
            if now - start > self.limit {
                self.abort();
                let seconds = self.limit.as_secs();
                return Err(broken(&format!("rank {} waited {seconds} s for another one", self.rank)));
            }
            if now - start > BUSY {
                thread::sleep(NAP);
            } else {
                std::hint::spin_loop();
            }
        }
    }

    fn abort(&self) {
        // Nothing begins from here on, and nothing waits here until all of the communicator is taken down.
        let give_up = |end: &Self| {
            if !end.given_up.swap(true, Ordering::AcqRel) {
                thread::spawn(end.take_down());
            }
        };
        give_up(self);
        let others = self.all.get().into_iter().flatten().filter_map(Weak::upgrade);
        others.for_each(|end| give_up(&end));
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // Within the limit: what others give may still be under way.
        let _ = self.wait();
        let Ok(_entered) = self.context.enter() else { return };
        // Destroying would wait for all ranks; nothing is under way, so that nothing is lost.
        self.give_up()();
        // SAFETY: made when this was, destroyed only here.
        let _ = unsafe { result::stream::destroy(self.stream) };
    }
}
