//! A pattern of non-zeros, as far as it is known by its addresses and sizes, and the way to the faster of cuSPARSE and sparsight.
//!
//! ```text
//! 8 products   cuSPARSE: most patterns of a program that makes new ones all the time are seen no more often
//! counting     row lengths, by one launch in the program's stream             (without a preprocess step)
//! loading      the worker reads what it may read, asks the models, compiles   (cuSPARSE multiplies meanwhile, and is timed)
//! singles      each of the kernels chosen: once, then three times between two events
//! windows      cuSPARSE and the fastest of them in turn, three times 8 products: what the program makes of it
//! decided      the kernel if it gains 3 % by single products and loses nothing in windows, else cuSPARSE
//! ```
//! Models choose what is tried; only what was faster in the program itself is used. A single product tells kernels apart, but holds what
//! the host takes to launch it, which a program that is ahead of the GPU does not wait for: hence windows. After 4,096 products a
//! pattern without a preprocess step begins from the start: another matrix may stand at the same addresses.

use crate::gpu::{self, Gpu};
use crate::load::Entrant;
use crate::product::{Key, Product};
use crate::real::{SUCCESS, Status};
use crate::settings::{Mode, Settings};
use crate::source::Source;
use crate::{load, worker};
use sparsight::device::cuda::{Cuda, QueuedCount, RowLengthSummary, Stopwatch};
use sparsight::device::gpu::InPlace;
use sparsight::device::{DeviceError, Stream};
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
/// While the device is behind, each so many products it is asked whether the times are there.
const ASKED_EACH: u64 = 16;

/// A pattern.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) source: Arc<Source>,
    seen: AtomicU64,
    trial: Mutex<Trial>,
    /// What a trial waits for, to be asked without its lock.
    waits: AtomicU8,
    /// Kernels to be tried, once the worker has them; none if it found none.
    pub(crate) entrants: Arc<OnceLock<Vec<Entrant>>>,
    /// The kernel that is used, `None` for cuSPARSE.
    decided: OnceLock<Option<Arc<InPlace>>>,
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
            stream: AtomicUsize::new(0),
        }
    }

    /// Returns true while the worker has not yet loaded what was asked of it.
    pub(crate) fn is_loading(&self) -> bool {
        let trial = self.trial.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(trial.stage, Stage::Loading) && self.entrants.get().is_none()
    }

    /// Returns true if the pattern should begin from the start.
    pub(crate) fn is_due_for_review(&self) -> bool {
        let products = self.seen.load(Ordering::Relaxed);
        !self.source.stays && products >= REVIEW && self.decided.get().is_some()
    }

    /// Multiplies by the kernel decided on, by the next one to be tried, or by cuSPARSE: `theirs`.
    ///
    /// # Safety
    /// The product is that of a call of `cusparseSpMV`, and `theirs` gives that call to cuSPARSE.
    pub(crate) unsafe fn multiply(&self, product: &Product, theirs: &dyn Fn() -> Status) -> Status {
        let seen = self.seen.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(decided) = self.decided.get() {
            return match decided {
                // SAFETY: as the caller promises.
                Some(kernel) if self.may_run(kernel, product) => unsafe {
                    self.ours(kernel, product, theirs)
                },
                _ => theirs(),
            };
        }
        let has_to_wait = match self.waits.load(Ordering::Relaxed) {
            WORKER => self.entrants.get().is_none(),
            DEVICE => !seen.is_multiple_of(ASKED_EACH),
            _ => seen <= SETTLED && Settings::get().mode != Mode::Verify,
        };
        if has_to_wait || worker::is_stopped() {
            return theirs();
        }
        // Another thread multiplies with the same matrix: one of them tries.
        let Ok(mut trial) = self.trial.try_lock() else { return theirs() };
        let Some(gpu) = gpu::of_context(self.source.key.context) else { return theirs() };
        if Cuda::is_captured(stream(product)).unwrap_or(true) {
            return theirs();
        }
        if matches!(trial.stage, Stage::Settling) {
            trial.stream = product.stream as usize;
        }
        // Two events tell a time only in one stream.
        if trial.stream != product.stream as usize {
            return theirs();
        }
        // SAFETY: as the caller promises.
        unsafe { self.step(&mut trial, &gpu, product, theirs) }
    }

    /// Multiplies by a kernel; by cuSPARSE if it cannot be queued.
    ///
    /// # Safety
    /// As [`Pattern::multiply`].
    unsafe fn ours(&self, kernel: &InPlace, product: &Product, theirs: &dyn Fn() -> Status) -> Status {
        // SAFETY: as the caller promises.
        if unsafe { kernel.queue(&product.csr, &product.v, stream(product)) }.is_err() {
            return theirs();
        }
        self.source.totals.count_ours();
        SUCCESS
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

    /// One product on the way to a decision.
    ///
    /// # Safety
    /// As [`Pattern::multiply`].
    unsafe fn step(
        &self,
        trial: &mut Trial,
        gpu: &Arc<Gpu>,
        product: &Product,
        theirs: &dyn Fn() -> Status,
    ) -> Status {
        let stage = std::mem::take(&mut trial.stage);
        trial.stage = match stage {
            Stage::Settling if self.source.stays => self.load(gpu, product, None),
            Stage::Settling => {
                let Key { row_ptr, nrows, offset_bytes, .. } = self.source.key;
                // SAFETY: cuSPARSE is about to read the row offsets in this stream.
                match unsafe { gpu.counter.queue(row_ptr, nrows, offset_bytes, stream(product)) } {
                    Ok(Some(count)) => Stage::Counting(count),
                    Ok(None) => Stage::Settling,
                    Err(_) => return self.decide(None, theirs),
                }
            }
            Stage::Counting(count) => match gpu.counter.take(count) {
                Ok(lengths) => self.load(gpu, product, Some(lengths)),
                Err(count) => Stage::Counting(count),
            },
            Stage::Loading if self.entrants.get().is_some() => Stage::Singles,
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
        if trial.singles[0].watches.len() < SINGLES {
            return timed(&mut trial.singles[0], gpu, product, theirs);
        }
        let (Stage::Singles, Some(entrants)) = (&trial.stage, self.entrants.get()) else {
            if matches!(trial.stage, Stage::Loading) {
                self.waits.store(WORKER, Ordering::Relaxed);
            }
            return theirs();
        };
        if entrants.is_empty() {
            return self.decide(None, theirs);
        }
        trial.singles.resize_with(entrants.len() + 1, Singles::default);
        let open = (0..entrants.len()).find(|at| trial.singles[at + 1].watches.len() < SINGLES);
        let Some(at) = open else { return self.judge_singles(trial, gpu, entrants, theirs) };
        let kernel = &entrants[at].1;
        if !self.may_run(kernel, product) {
            return theirs();
        }
        // SAFETY: as the caller promises.
        let ours = || unsafe { self.ours(kernel, product, theirs) };
        timed(&mut trial.singles[at + 1], gpu, product, &ours)
    }

    /// Lets the worker find and load the kernels to be tried.
    fn load(&self, gpu: &Arc<Gpu>, product: &Product, lengths: Option<RowLengthSummary>) -> Stage {
        let Ok(reached) = gpu.stopwatch() else { return Stage::Settling };
        // What was queued in the program's stream before it may write to the row offsets.
        if reached.begin(stream(product)).and_then(|()| reached.end(stream(product))).is_err() {
            return Stage::Settling;
        }
        let (source, gpu, entrants) = (Arc::clone(&self.source), Arc::clone(gpu), Arc::clone(&self.entrants));
        worker::ask(move || {
            // Also if something panics: the trial ends then.
            let found = Found(entrants);
            while matches!(reached.time(), Ok(None)) && !worker::is_stopped() {
                std::thread::sleep(Duration::from_micros(200));
            }
            let _ = found.0.set(load::entrants(&source, &gpu, lengths.as_ref()));
            gpu.keep([reached]);
        });
        Stage::Loading
    }

    /// Goes on with the fastest kernel, once all times of single products are there, if it gains anything.
    fn judge_singles(
        &self,
        trial: &mut Trial,
        gpu: &Gpu,
        entrants: &[Entrant],
        theirs: &dyn Fn() -> Status,
    ) -> Status {
        let times = trial.singles.iter().map(|singles| least(&singles.watches));
        let times = match times.collect::<Result<Option<Vec<f64>>, _>>() {
            Ok(Some(times)) => times,
            Ok(None) => {
                self.waits.store(DEVICE, Ordering::Relaxed);
                return theirs();
            }
            Err(_) => return self.decide(None, theirs),
        };
        gpu.keep(trial.singles.drain(..).flat_map(|singles| singles.watches));
        let best = (0..entrants.len()).min_by(|a, b| times[a + 1].total_cmp(&times[b + 1]));
        let best = best.expect("there are entrants");
        let single = (times[0], times[best + 1]);
        if single.1 > GAIN * single.0 {
            self.source.totals.tell(|told| told.timed = Some((single.0, entrants[best].0, single.1, false)));
            return self.decide(None, theirs);
        }
        trial.stage =
            Stage::Windows(Windows { best, single, at: 0, watches: [Vec::new(), Vec::new()], open: None });
        theirs()
    }

    /// A product of a window; behind the last one the decision.
    ///
    /// # Safety
    /// As [`Pattern::multiply`].
    unsafe fn window(
        &self,
        windows: &mut Windows,
        gpu: &Gpu,
        product: &Product,
        theirs: &dyn Fn() -> Status,
    ) -> Status {
        let Some((candidate, kernel)) = self.entrants.get().and_then(|all| all.get(windows.best)) else {
            return self.decide(None, theirs);
        };
        if windows.at == 2 * WINDOWS * WINDOW {
            let [before, after] = windows.watches.each_ref().map(|watches| least(watches));
            let (before, after) = match (before, after) {
                (Ok(Some(before)), Ok(Some(after))) => (before, after),
                (Ok(_), Ok(_)) => {
                    self.waits.store(DEVICE, Ordering::Relaxed);
                    return theirs();
                }
                _ => return self.decide(None, theirs),
            };
            gpu.keep(windows.watches.iter_mut().flat_map(|watches| watches.drain(..)));
            let (single, gains) = (windows.single, after <= before);
            self.source.totals.tell(|told| told.timed = Some((single.0, *candidate, single.1, gains)));
            return self.decide(gains.then(|| Arc::clone(kernel)), theirs);
        }
        let side = windows.at / WINDOW % 2;
        if side == 1 && !self.may_run(kernel, product) {
            return theirs();
        }
        if windows.at.is_multiple_of(WINDOW) {
            windows.open = gpu.stopwatch().ok().filter(|watch| watch.begin(stream(product)).is_ok());
        }
        let status = match side {
            0 => theirs(),
            // SAFETY: as the caller promises.
            _ => unsafe { self.ours(kernel, product, theirs) },
        };
        windows.at += 1;
        if windows.at.is_multiple_of(WINDOW) {
            match windows.open.take().filter(|watch| watch.end(stream(product)).is_ok()) {
                Some(watch) => windows.watches[side].push(watch),
                // Once more.
                None => windows.at -= WINDOW,
            }
        }
        status
    }

    fn decide(&self, kernel: Option<Arc<InPlace>>, theirs: &dyn Fn() -> Status) -> Status {
        let _ = self.decided.set(kernel);
        theirs()
    }
}

/// Where kernels are put that were found; none are, if nothing was put there when this is dropped.
struct Found(Arc<OnceLock<Vec<Entrant>>>);

impl Drop for Found {
    fn drop(&mut self) {
        let _ = self.0.set(Vec::new());
    }
}

/// The stream of a product.
pub(crate) fn stream(product: &Product) -> Stream<'_> {
    // SAFETY: it is the stream of the handle that the caller of cuSPARSE has given.
    unsafe { Stream::from_raw(product.stream) }
}

/// Runs a product; from the second of these runs on between two events.
fn timed(singles: &mut Singles, gpu: &Gpu, product: &Product, run: &dyn Fn() -> Status) -> Status {
    if !std::mem::replace(&mut singles.warm, true) {
        return run();
    }
    let Ok(watch) = gpu.stopwatch() else { return run() };
    let begun = watch.begin(stream(product));
    let status = run();
    if status == SUCCESS && begun.is_ok() && watch.end(stream(product)).is_ok() {
        singles.watches.push(watch);
    }
    status
}
