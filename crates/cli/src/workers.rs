//! The worker threads of everything that runs side by side: as many as were asked for, or as can be had.

use crate::failure::Failure;
use crate::printer::Printer;
use rayon::{ThreadBuilder, ThreadPoolBuilder};
use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Most worker threads for each logical CPU: more only take memory. Chosen.
const MOST_PER_CPU: usize = 4;

/// Threads that are left to others where there are few: signals, progress, a file that is compressed.
const KEPT_BACK: usize = 2;

/// Starts `jobs` worker threads, without a number one a logical CPU or what `RAYON_NUM_THREADS` says. Where the system does
/// not give as many, those that it gives, with a word; without any the caller's thread does all the work.
pub(crate) fn start(jobs: Option<NonZeroUsize>, printer: &Printer) -> Result<(), Failure> {
    let cpus = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let most = MOST_PER_CPU * cpus;
    let of_environment = || std::env::var("RAYON_NUM_THREADS").ok()?.parse().ok();
    let asked =
        jobs.map(NonZeroUsize::get).or_else(of_environment).filter(|&asked| asked > 0).unwrap_or(cpus);
    if asked > most {
        printer.warning(format_args!(
            "{asked} worker threads are more than {MOST_PER_CPU} a logical CPU: {most} are used"
        ));
    }
    let wanted = asked.min(most);
    // Threads are started before rayon, which can be set up only once, is told how many there are. Each waits to be told
    // which worker it is.
    let (tell, told) = channel::<ThreadBuilder>();
    let told = Arc::new(Mutex::new(told));
    let given = (0..wanted).take_while(|_| wait_in_a_thread(Arc::clone(&told)).is_ok()).count();
    let had = if given < wanted { given.saturating_sub(KEPT_BACK) } else { given };
    if had < wanted {
        printer.warning(format_args!(
            "the system gives {had} of {wanted} worker threads (see `ulimit -u` and `ulimit -v`): it takes longer"
        ));
    }
    let pool = ThreadPoolBuilder::new().num_threads(had.max(1));
    let built = if had == 0 {
        pool.use_current_thread().build_global()
    } else {
        let begin = |worker| tell.send(worker).map_err(|_| std::io::ErrorKind::BrokenPipe.into());
        pool.spawn_handler(begin).build_global()
    };
    built.map_err(|e| Failure::input(format!("{wanted} worker threads could not be started: {e}")))
}

fn wait_in_a_thread(told: Arc<Mutex<Receiver<ThreadBuilder>>>) -> std::io::Result<()> {
    let work = move || {
        let worker = told.lock().unwrap_or_else(PoisonError::into_inner).recv();
        if let Ok(worker) = worker {
            worker.run();
        }
    };
    thread::Builder::new().name("sparsight worker".to_owned()).spawn(work).map(drop)
}
