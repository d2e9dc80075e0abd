//! A pattern of non-zeros, as far as it is known by its addresses and sizes, and the way to the faster of cuSPARSE and sparsight.
//!
//! ```text
//! 8 products   cuSPARSE: most patterns of a program that makes new ones all the time are seen no more often
//! counting     row lengths, by one launch in the program's stream             (without a preprocess step)
//! loading      the worker reads what it may read, asks the models, compiles   (cuSPARSE multiplies meanwhile, and is timed)
//! singles      each of the kernels chosen: once, then three times between two events
//! windows      cuSPARSE and the fastest of them in turn, three times 8 products
//! decided      the kernel if it gains 3 % by single products and loses nothing in windows, else cuSPARSE
//! ```
//! Models choose what is tried; only what was faster in the program itself is used. The time of a single product ranks kernels, but contains
//! the host's time for its launch, which a program that is ahead of the GPU does not wait for: hence windows. After 4,096 products a
//! pattern without a preprocess step begins from the start: another matrix may stand at the same addresses. What was decided on
//! before multiplies meanwhile.

use crate::gpu::{self, Gpu, Left};
use crate::load::{Arrays, Entrant};
use crate::product::{Key, Product};
use crate::real::{EXECUTION_FAILED, SUCCESS, Status};
use crate::settings::{Mode, Settings};
use crate::source::Source;
use crate::{load, worker};
use sparsight::device::cuda::{Cuda, QueuedCount, RowLengthSummary, Stopwatch};
use sparsight::device::gpu::InPlace;
use sparsight::device::{DeviceError, Stream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Products before anything is done.
const SETTLED: u64 = 8;
/// Products of each kernel that are timed one by one.
const SINGLES: usize = 3;
/// Products of a window, and windows of each side.
const WINDOW: usize = 8;
const WINDOWS: usize = 3;
/// A kernel is used if it takes at most this part of cuSPARSE's time.
const GAIN: f64 = 0.97;
/// Products after which a pattern begins from the start.
const REVIEW: u64 = 4096;
/// Products in other streams after which a trial begins there.
const STRAYS: u32 = 64;
/// Non-zeros up to which a pattern that stays is read at once: some megabytes. Larger ones are read by the worker.
const READ_AT_ONCE: u64 = 1 << 20;
/// Longest time that the worker waits for a stream.
const PATIENCE: Duration = Duration::from_secs(2);
/// While the device is behind, it is asked for the times at every so many products.
const ASKED_EACH: u64 = 16;
/// `CU_STREAM_PER_THREAD`, which stands for another stream in each thread.
const PER_THREAD: usize = 2;

/// A pattern.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) source: Arc<Source>,
    seen: AtomicU64,
    trial: Mutex<Trial>,
    /// What the trial waits for, which is read without its lock.
    waits: AtomicU8,
    /// Kernels to be tried, once the worker has them; none if it found none.
    pub(crate) entrants: Arc<OnceLock<Vec<Entrant>>>,
    /// The kernel that is used, `None` for cuSPARSE.
    decided: OnceLock<Option<Arc<InPlace>>>,
    /// The one that is used until then.
    before: Option<Arc<InPlace>>,
    /// The one stream in which a kernel runs that must not run twice at a time; 0 before the first product, and then one more than
    /// the handle.
    stream: AtomicUsize,
}

/// Values of `waits`: for nothing, for the worker, for the device.
const NOTHING: u8 = 0;
const WORKER: u8 = 1;
const DEVICE: u8 = 2;

/// Progress of a trial.
#[derive(Debug, Default)]
struct Trial {
    stage: Stage,
    /// Handle of the stream in which it is held.
    stream: usize,
    /// Products in other streams.
    strays: u32,
    /// Single products of cuSPARSE, then of each entrant.
    singles: Vec<Singles>,
}

#[derive(Debug, Default)]
enum Stage {
    #[default]
    Settling,
    Counting(QueuedCount),
    Loading,
    Singles,
    Windows(Windows),
}

/// Single products of one side.
#[derive(Debug, Default)]
struct Singles {
    /// The first, which may load code, was not timed but has run.
    warm: bool,
    /// The kernel cannot run these products.
    is_out: bool,
    watches: Vec<Stopwatch>,
}

/// Windows of both sides in turn.
#[derive(Debug)]
struct Windows {
    /// Place of the fastest kernel, and the times of single products of cuSPARSE and of it.
    best: usize,
    single: (f64, f64),
    /// Products so far.
    at: usize,
    /// Windows of cuSPARSE and of the kernel.
    watches: [Vec<Stopwatch>; 2],
    open: Option<Stopwatch>,
}

impl Singles {
    fn is_complete(&self) -> bool {
        self.is_out || self.watches.len() >= SINGLES
    }

    /// The least time; infinite for a kernel that cannot run.
    fn least(&self) -> Result<Option<f64>, DeviceError> {
        if self.is_out { Ok(Some(f64::INFINITY)) } else { least(&self.watches) }
    }
}

/// The least of some times; `None` while one is not known.
fn least(watches: &[Stopwatch]) -> Result<Option<f64>, DeviceError> {
    let mut least = f64::INFINITY;
    for watch in watches {
        let Some(time) = watch.time()? else { return Ok(None) };
        least = least.min(time.0);
    }
    Ok(Some(least))
}

impl Pattern {
    pub(crate) fn new(source: Source) -> Self {
        Self {
            source: Arc::new(source),
            seen: AtomicU64::new(0),
            trial: Mutex::default(),
            waits: AtomicU8::new(NOTHING),
            entrants: Arc::default(),
            decided: OnceLock::new(),
            before: None,
            stream: AtomicUsize::new(0),
        }
    }

    /// The same pattern, from the start.
    pub(crate) fn renewed(&self) -> Self {
        let source = Source::new(self.source.key, Arc::clone(&self.source.totals), self.source.stays);
        Self { before: self.decided.get().cloned().flatten(), ..Self::new(source) }
    }

    /// Returns true while the worker loads its kernels.
    pub(crate) fn is_loading(&self) -> bool {
        let trial = self.trial.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(trial.stage, Stage::Loading) && self.entrants.get().is_none()
    }

    /// Returns true once it was decided that cuSPARSE is the faster one.
    pub(crate) fn is_left_to_cusparse(&self) -> bool {
        self.decided.get().is_some_and(Option::is_none)
    }

    /// Counts products that are about to go to cuSPARSE without being seen here.
    pub(crate) fn pass_over(&self, products: u64) {
        self.seen.fetch_add(products, Ordering::Relaxed);
    }

    /// Returns true if its trial is to be held again.
    pub(crate) fn is_due_for_review(&self) -> bool {
        let products = self.seen.load(Ordering::Relaxed);
        !self.source.stays && self.decided.get().is_some() && products >= REVIEW
    }

    /// Multiplies by the kernel decided on, by the next one to be tried, or by cuSPARSE: `theirs`.
    ///
    /// # Safety
    /// The product is that of a call of `cusparseSpMV`, and `theirs` gives that call to cuSPARSE.
    pub(crate) unsafe fn multiply(&self, product: &Product, theirs: &dyn Fn() -> Status) -> Status {
        let seen = self.seen.fetch_add(1, Ordering::Relaxed) + 1;
        let usual = || match self.decided.get().unwrap_or(&self.before) {
            Some(kernel) if suits(kernel, product) && self.may_run(kernel, product) => {
                // SAFETY: as the caller promises.
                unsafe { self.by(kernel, product, theirs) }.status
            }
            _ => theirs(),
        };
        let has_to_wait = || match self.waits.load(Ordering::Relaxed) {
            WORKER => self.entrants.get().is_none(),
            DEVICE => !seen.is_multiple_of(ASKED_EACH),
            _ => seen <= SETTLED && Settings::get().mode != Mode::Verify,
        };
        if self.decided.get().is_some() || has_to_wait() || worker::is_stopped() {
            return usual();
        }
        // Another thread multiplies with the same matrix: one of them tries.
        let Ok(mut trial) = self.trial.try_lock() else { return usual() };
        let gpu = match gpu::of_context(self.source.key.context) {
            Ok(Some(gpu)) => gpu,
            Ok(None) => return usual(),
            Err(Left) => return self.decide(None).unwrap_or_else(usual),
        };
        if Cuda::is_captured(stream(product)).unwrap_or(true) {
            return usual();
        }
        if matches!(trial.stage, Stage::Settling) {
            trial.stream = product.stream as usize;
        }
        // Two events tell a time only in one stream. A program that has gone over to another one gets a trial there.
        if trial.stream != product.stream as usize {
            trial.strays += 1;
            if trial.strays > STRAYS {
                *trial = Trial::default();
            }
            return usual();
        }
        // SAFETY: as the caller promises.
        unsafe { self.step(&mut trial, &gpu, product, theirs) }.unwrap_or_else(usual)
    }

    /// Multiplies by that kernel; by cuSPARSE if its launch fails.
    ///
    /// # Safety
    /// As [`Pattern::multiply`], and the kernel suits the product.
    unsafe fn by(&self, kernel: &InPlace, product: &Product, theirs: &dyn Fn() -> Status) -> Ran {
        // SAFETY: as the caller promises.
        match unsafe { kernel.queue(&product.csr, &product.v, stream(product)) } {
            Ok(()) => {
                self.source.totals.count_ours();
                Ran { status: SUCCESS, as_intended: true }
            }
            // Part of the product will be in y.
            Err((begun, _)) if begun > 0 && product.v.beta != 0.0 => {
                Ran { status: EXECUTION_FAILED, as_intended: false }
            }
            Err(_) => Ran { status: theirs(), as_intended: false },
        }
    }

    /// Returns whether the kernel may run in this stream now. One with a table lives no longer than its descriptor, so it is not
    /// captured into a graph, and one that must not run twice at a time stays in one stream.
    fn may_run(&self, kernel: &InPlace, product: &Product) -> bool {
        if kernel.is_exclusive() {
            let own = product.stream as usize + 1;
            let before = self.stream.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed);
            if before.is_err_and(|other| other != own) {
                return false;
            }
        }
        !kernel.has_table() || !Cuda::is_captured(stream(product)).unwrap_or(true)
    }

    /// One product on the way to a decision; `None` if it was not computed.
    ///
    /// # Safety
    /// As [`Pattern::multiply`].
    unsafe fn step(
        &self,
        trial: &mut Trial,
        gpu: &Arc<Gpu>,
        product: &Product,
        theirs: &dyn Fn() -> Status,
    ) -> Option<Status> {
        let stage = std::mem::take(&mut trial.stage);
        trial.stage = match stage {
            // At once where a trial began in another stream.
            Stage::Settling | Stage::Loading if self.entrants.get().is_some() => Stage::Singles,
            Stage::Settling if self.source.stays => self.load(gpu, product, None),
            Stage::Settling => {
                let Key { row_ptr, nrows, offset_bytes, .. } = self.source.key;
                // SAFETY: cuSPARSE is about to read the row offsets in this stream.
                let queued = unsafe { gpu.counter.queue(row_ptr, nrows, offset_bytes, stream(product)) };
                match queued {
                    Ok(Some(count)) => Stage::Counting(count),
                    Ok(None) => Stage::Settling,
                    Err(_) => return self.decide(None),
                }
            }
            Stage::Counting(count) => match count.summary() {
                Some(lengths) => self.load(gpu, product, Some(lengths)),
                None => Stage::Counting(count),
            },
            other => other,
        };
        self.waits.store(NOTHING, Ordering::Relaxed);
        if let Stage::Windows(windows) = &mut trial.stage {
            // SAFETY: as the caller promises.
            return unsafe { self.window(windows, gpu, product, theirs) };
        }
        if trial.singles.is_empty() {
            trial.singles.push(Singles::default());
        }
        // cuSPARSE is timed while kernels are compiled.
        if !trial.singles[0].is_complete() {
            let run = || Ran { status: theirs(), as_intended: true };
            return Some(timed(&mut trial.singles[0], gpu, product, &run));
        }
        let (Stage::Singles, Some(entrants)) = (&trial.stage, self.entrants.get()) else {
            if matches!(trial.stage, Stage::Loading) {
                self.waits.store(WORKER, Ordering::Relaxed);
            }
            return None;
        };
        if entrants.is_empty() {
            return self.decide(None);
        }
        trial.singles.resize_with(entrants.len() + 1, Singles::default);
        let open = (0..entrants.len()).find(|at| !trial.singles[at + 1].is_complete());
        let Some(at) = open else { return self.judge_singles(trial, gpu, entrants) };
        let (kernel, singles) = (&entrants[at].1, &mut trial.singles[at + 1]);
        if !suits(kernel, product) {
            singles.is_out = true;
            return None;
        }
        if !self.may_run(kernel, product) {
            return None;
        }
        // SAFETY: as the caller promises.
        let run = || unsafe { self.by(kernel, product, theirs) };
        Some(timed(singles, gpu, product, &run))
    }

    /// Lets the worker find and load the kernels to be tried.
    fn load(&self, gpu: &Arc<Gpu>, product: &Product, lengths: Option<RowLengthSummary>) -> Stage {
        let reads = self.source.stays || Settings::get().reports();
        // What may be gone after this call is read now: small patterns, and for the report those that nothing says to stay.
        let at_once = !self.source.stays || self.source.key.nnz <= READ_AT_ONCE;
        let (mut arrays, mut reached) = (None, None);
        if reads && at_once {
            let _beside = Cuda::beside_captures();
            let waited = gpu.cuda.wait_for(stream(product)).ok();
            arrays = waited.and_then(|()| Arrays::read(&self.source, gpu));
        } else if reads {
            // What was queued in the program's stream before it may write to the arrays.
            let Ok(mark) = gpu.stopwatch() else { return Stage::Settling };
            if mark.begin(stream(product)).and_then(|()| mark.end(stream(product))).is_err() {
                return Stage::Settling;
            }
            reached = Some(mark);
        }
        let (source, gpu, entrants) = (Arc::clone(&self.source), Arc::clone(gpu), Arc::clone(&self.entrants));
        worker::ask(move || {
            if let Some(mark) = reached {
                let pause = Duration::from_micros(200);
                let mut waited = Duration::ZERO;
                while matches!(mark.time(), Ok(None)) && waited < PATIENCE && !worker::is_stopped() {
                    std::thread::sleep(pause);
                    waited += pause;
                }
                if matches!(mark.time(), Ok(Some(_))) {
                    arrays = Arrays::read(&source, &gpu);
                }
                gpu.keep([mark]);
            }
            // After a panic there are none, so that cuSPARSE is decided on.
            let find = AssertUnwindSafe(|| load::entrants(&source, &gpu, lengths.as_ref(), arrays));
            let found = catch_unwind(find).unwrap_or_default();
            let _ = entrants.set(found);
        });
        Stage::Loading
    }

    /// Goes on with the fastest kernel, once all times of single products are there, if it gains anything.
    fn judge_singles(&self, trial: &mut Trial, gpu: &Gpu, entrants: &[Entrant]) -> Option<Status> {
        let times = match trial.singles.iter().map(Singles::least).collect::<Result<Option<Vec<f64>>, _>>() {
            Ok(Some(times)) => times,
            Ok(None) => return self.wait_for_device(),
            Err(_) => return self.decide(None),
        };
        gpu.keep(trial.singles.drain(..).flat_map(|singles| singles.watches));
        let best = (0..entrants.len()).min_by(|a, b| times[a + 1].total_cmp(&times[b + 1]));
        let best = best.expect("there are entrants");
        let single = (times[0], times[best + 1]);
        let gains = single.1 <= GAIN * single.0;
        // The handle stands for several streams, so that the ends of a window may lie in two of them.
        if gains && trial.stream == PER_THREAD {
            self.keep(single, &entrants[best], true);
            return self.decide(Some(Arc::clone(&entrants[best].1)));
        }
        if gains {
            let watches = [Vec::new(), Vec::new()];
            trial.stage = Stage::Windows(Windows { best, single, at: 0, watches, open: None });
            return None;
        }
        if single.1.is_finite() {
            self.keep(single, &entrants[best], false);
        }
        self.decide(None)
    }

    /// A product of a window; behind the last one the decision. `None` if it was not computed.
    ///
    /// # Safety
    /// As [`Pattern::multiply`].
    unsafe fn window(
        &self,
        windows: &mut Windows,
        gpu: &Gpu,
        product: &Product,
        theirs: &dyn Fn() -> Status,
    ) -> Option<Status> {
        let Some(entrant) = self.entrants.get().and_then(|all| all.get(windows.best)) else {
            return self.decide(None);
        };
        if windows.at == 2 * WINDOWS * WINDOW {
            let (before, after) = match windows.watches.each_ref().map(|watches| least(watches)) {
                [Ok(Some(before)), Ok(Some(after))] => (before, after),
                [Ok(_), Ok(_)] => return self.wait_for_device(),
                _ => return self.decide(None),
            };
            gpu.keep(windows.watches.iter_mut().flat_map(|watches| watches.drain(..)));
            self.keep(windows.single, entrant, after <= before);
            return self.decide((after <= before).then(|| Arc::clone(&entrant.1)));
        }
        let side = windows.at / WINDOW % 2;
        if side == 1 && !(suits(&entrant.1, product) && self.may_run(&entrant.1, product)) {
            return None;
        }
        if windows.at.is_multiple_of(WINDOW) {
            windows.open = gpu.stopwatch().ok().filter(|watch| watch.begin(stream(product)).is_ok());
        }
        let ran = match side {
            0 => Ran { status: theirs(), as_intended: true },
            // SAFETY: as the caller promises.
            _ => unsafe { self.by(&entrant.1, product, theirs) },
        };
        if !ran.as_intended {
            self.decide(None);
        }
        windows.at += 1;
        if windows.at.is_multiple_of(WINDOW) {
            match windows.open.take().filter(|watch| watch.end(stream(product)).is_ok()) {
                Some(watch) => windows.watches[side].push(watch),
                // Once more.
                None => windows.at -= WINDOW,
            }
        }
        Some(ran.status)
    }

    /// The device is behind: it is asked for times again after some products.
    fn wait_for_device(&self) -> Option<Status> {
        self.waits.store(DEVICE, Ordering::Relaxed);
        None
    }

    /// Keeps the times of single products for the report.
    fn keep(&self, (theirs, ours): (f64, f64), entrant: &Entrant, is_used: bool) {
        self.source.totals.record(|record| record.timed = Some((theirs, entrant.0, ours, is_used)));
    }

    fn decide(&self, kernel: Option<Arc<InPlace>>) -> Option<Status> {
        let _ = self.decided.set(kernel);
        None
    }
}

/// Result of a product.
struct Ran {
    status: Status,
    /// False if cuSPARSE took the place of a kernel that could not be launched.
    as_intended: bool,
}

/// Returns whether a kernel can ever run products as this one: one that must not run twice at a time has to know the stream.
pub(crate) fn suits(kernel: &InPlace, product: &Product) -> bool {
    kernel.takes(&product.csr) && (!kernel.is_exclusive() || product.stream as usize != PER_THREAD)
}

/// The stream of a product.
pub(crate) fn stream(product: &Product) -> Stream<'_> {
    // SAFETY: it is the stream of the handle that the caller of cuSPARSE has given.
    unsafe { Stream::from_raw(product.stream) }
}

/// Runs a product; from the second of these runs on between two events.
fn timed(singles: &mut Singles, gpu: &Gpu, product: &Product, run: &dyn Fn() -> Ran) -> Status {
    let watch = if singles.warm { gpu.stopwatch().ok() } else { None };
    singles.warm = true;
    let watch = watch.filter(|watch| watch.begin(stream(product)).is_ok());
    let Ran { status, as_intended } = run();
    singles.is_out |= !as_intended;
    if status == SUCCESS && as_intended {
        singles.watches.extend(watch.filter(|watch| watch.end(stream(product)).is_ok()));
    }
    status
}
