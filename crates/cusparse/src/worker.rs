//! The one thread in the background. Others have it open GPUs, read patterns, ask models, compile kernels and free memory.
//!
//! It begins with the first product that our kernels could compute. Before the process ends it is waited for, so that nothing calls a
//! driver that is being taken down; in a process that was forked it does not exist, and everything is left to cuSPARSE.

use rayon::ThreadPoolBuilder;
use sparsight::device::cuda::Cuda;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::Duration;

type Job = Box<dyn FnOnce() + Send>;

static JOBS: Mutex<Option<Sender<Job>>> = Mutex::new(None);
/// Held by the worker while it works.
static WORKING: Mutex<()> = Mutex::new(());
/// Set in a child, and when the process ends.
static STOPPED: AtomicBool = AtomicBool::new(false);

/// Returns whether the process ends, or is a child of the one that began.
pub(crate) fn is_stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}

/// Has a job done in the background.
pub(crate) fn ask(job: impl FnOnce() + Send + 'static) {
    let job: Job = Box::new(job);
    if is_stopped() {
        // What it holds is the driver's, which is being taken down or belongs to the parent.
        std::mem::forget(job);
        return;
    }
    let mut jobs = JOBS.lock().unwrap_or_else(PoisonError::into_inner);
    if jobs.is_none() {
        let (sender, receiver) = channel::<Job>();
        let work = move || {
            // What would run in parallel runs in this thread: the other processors belong to the program, and other threads would break its
            // captures.
            let _pool = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
            receiver.into_iter().for_each(run);
        };
        if std::thread::Builder::new().name("sparsight".to_owned()).spawn(work).is_err() {
            STOPPED.store(true, Ordering::Relaxed);
            std::mem::forget(job);
            return;
        }
        *jobs = Some(sender);
    }
    if let Some(jobs) = &*jobs {
        let _ = jobs.send(job);
    }
}

fn run(job: Job) {
    let _working = WORKING.lock().unwrap_or_else(PoisonError::into_inner);
    if is_stopped() {
        return std::mem::forget(job);
    }
    let _beside = Cuda::beside_captures();
    // A panic costs the job, never the program.
    let _ = catch_unwind(AssertUnwindSafe(job));
}

/// Begins nothing any more: this is a child, whose parent has the thread.
pub(crate) fn leave() {
    STOPPED.store(true, Ordering::SeqCst);
}

/// Begins nothing any more, and waits until nothing is done. The compiler takes a fraction of a second; what hangs is not waited for.
pub(crate) fn stop() {
    leave();
    for _ in 0..5_000 {
        match WORKING.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
            // Never given back.
            taken => return std::mem::forget(taken),
        }
    }
}
