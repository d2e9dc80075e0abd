//! The GPUs of the process, opened in the background: none is opened by this library before the program has its context on it.

use crate::rules::Rules;
use crate::worker;
use sparsight::Profile;
use sparsight::bindings::own_folder;
use sparsight::device::DeviceError;
use sparsight::device::cuda::{self, Cuda, RowLengthCounter, Stopwatch};
use std::collections::HashMap;
use std::panic::catch_unwind;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

/// A GPU, in the context in which the program uses it.
#[derive(Debug)]
pub(crate) struct Gpu {
    pub(crate) cuda: Cuda,
    pub(crate) counter: RowLengthCounter,
    pub(crate) rules: Rules,
    pub(crate) profile: Profile,
    stopwatches: Mutex<Vec<Stopwatch>>,
}

/// State of the GPU of a context.
#[derive(Debug)]
enum State {
    Opening,
    /// Everything is left to cuSPARSE, for this reason.
    Left(String),
    Open(Arc<Gpu>),
}

/// By the number of the context.
static GPUS: RwLock<Option<HashMap<u64, State>>> = RwLock::new(None);

/// Why nothing is used at all.
static ALL_LEFT: OnceLock<String> = OnceLock::new();

/// A GPU that is left to cuSPARSE.
#[derive(Debug)]
pub(crate) struct Left;

/// The open GPU of a context; `None` while it is being opened, which the first call begins.
///
/// # Errors
/// [`Left`] if it cannot be used.
pub(crate) fn of_context(context: u64) -> Result<Option<Arc<Gpu>>, Left> {
    let known = |gpus: &Option<HashMap<u64, State>>| match gpus.as_ref()?.get(&context)? {
        State::Open(gpu) => Some(Ok(Some(Arc::clone(gpu)))),
        State::Opening => Some(Ok(None)),
        State::Left(_) => Some(Err(Left)),
    };
    if let Some(known) = known(&GPUS.read().unwrap_or_else(PoisonError::into_inner)) {
        return known;
    }
    let mut gpus = GPUS.write().unwrap_or_else(PoisonError::into_inner);
    known(&gpus).unwrap_or_else(|| {
        if let Ok(index) = Cuda::current_device() {
            gpus.get_or_insert_default().insert(context, State::Opening);
            worker::ask(move || open(context, index));
        }
        Ok(None)
    })
}

/// Leaves everything to cuSPARSE, for this reason.
pub(crate) fn leave_all(why: String) {
    let _ = ALL_LEFT.set(why);
}

/// Opens GPU number `index` for a context: what the worker does. Drops GPUs whose device was reset.
fn open(context: u64, index: usize) {
    let state = match catch_unwind(|| Gpu::open(context, index)) {
        Ok(Ok(gpu)) => State::Open(Arc::new(gpu)),
        Ok(Err(why)) => State::Left(why),
        Err(_) => State::Left("a panic while the GPU was opened; please report it".to_owned()),
    };
    let mut gpus = GPUS.write().unwrap_or_else(PoisonError::into_inner);
    let all = gpus.get_or_insert_default();
    let was_reset = |_: &u64, state: &mut State| matches!(state, State::Open(gpu) if gpu.cuda.was_reset());
    let old: Vec<_> = all.extract_if(was_reset).collect();
    all.insert(context, state);
    // Products do not wait until these are dropped.
    drop(gpus);
    drop(old);
}

/// The reasons why GPUs are not used.
pub(crate) fn left() -> Vec<String> {
    let gpus = GPUS.read().unwrap_or_else(PoisonError::into_inner);
    let why = |state: &State| match state {
        State::Left(why) => Some(why.clone()),
        State::Opening | State::Open(_) => None,
    };
    ALL_LEFT
        .get()
        .cloned()
        .into_iter()
        .chain(gpus.iter().flatten().filter_map(|(_, state)| why(state)))
        .collect()
}

/// The folder of Python packages in which this library lies, if it does: the extras cu12 and cu13 bring NVRTC there.
fn packages() -> Option<PathBuf> {
    let packages = own_folder()?.parent()?.to_owned();
    packages.to_str().is_some_and(|name| name.ends_with("-packages")).then_some(packages)
}

impl Gpu {
    fn open(context: u64, index: usize) -> Result<Self, String> {
        let text = |error: DeviceError| error.to_string();
        cuda::search_libraries_in(packages().as_slice());
        let name = Cuda::name(index).map_err(text)?;
        let profile = Profile::known_for_gpu(&name, || Cuda::driver().ok());
        let profile = profile.map_err(|error| error.to_string())?.ok_or_else(|| {
            format!(
                "{name} has no profile, so that nothing is known of it; `sparsight calibrate` measures it"
            )
        })?;
        // None is made for a program that works in a context of its own.
        let own_context =
            || "the program works in a context of its own, not in the primary one of the GPU".to_owned();
        if !Cuda::primary_context_is_active(index).map_err(text)? {
            return Err(own_context());
        }
        let cuda = Cuda::open_without_rates(index).map_err(text)?;
        if cuda.context_id() != context {
            return Err(own_context());
        }
        let counter = cuda.row_length_counter().map_err(text)?;
        let rules = Rules::of_profile(&profile.name);
        Ok(Self { cuda, counter, rules, profile, stopwatches: Mutex::default() })
    }

    /// A stopwatch that no product uses.
    pub(crate) fn stopwatch(&self) -> Result<Stopwatch, DeviceError> {
        let kept = self.stopwatches.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.map_or_else(|| self.cuda.stopwatch(), Ok)
    }

    /// Takes stopwatches back.
    pub(crate) fn keep(&self, stopwatches: impl IntoIterator<Item = Stopwatch>) {
        self.stopwatches.lock().unwrap_or_else(PoisonError::into_inner).extend(stopwatches);
    }
}
