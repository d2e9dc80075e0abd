//! The GPUs of the process, opened in the background: none is opened by this library before the program has its context on it.

use crate::rules::Rules;
use crate::worker;
use sparsight::Profile;
use sparsight::device::DeviceError;
use sparsight::device::cuda::{Cuda, RowLengthCounter, Stopwatch};
use std::collections::HashMap;
use std::panic::catch_unwind;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

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
#[derive(Debug, Clone)]
enum State {
    Opening,
    /// Everything is left to cuSPARSE, for this reason.
    Left(String),
    Open(Arc<Gpu>),
}

/// By the handle of the context.
static GPUS: RwLock<Option<HashMap<usize, State>>> = RwLock::new(None);

/// The open GPU of a context. `None` while it is being opened, which the first call begins, and if it cannot be used.
pub(crate) fn of_context(context: usize) -> Option<Arc<Gpu>> {
    let known =
        |gpus: &Option<HashMap<usize, State>>| gpus.as_ref().and_then(|gpus| gpus.get(&context).cloned());
    match known(&GPUS.read().unwrap_or_else(PoisonError::into_inner)) {
        Some(State::Open(gpu)) => return Some(gpu),
        Some(_) => return None,
        None => {}
    }
    let mut gpus = GPUS.write().unwrap_or_else(PoisonError::into_inner);
    if known(&gpus).is_none() {
        let index = Cuda::current_device().ok()?;
        gpus.get_or_insert_default().insert(context, State::Opening);
        worker::ask(move || open(context, index));
    }
    None
}

/// Opens GPU number `index` for a context: what the worker does.
fn open(context: usize, index: usize) {
    let state = match catch_unwind(|| Gpu::open(context, index)) {
        Ok(Ok(gpu)) => State::Open(Arc::new(gpu)),
        Ok(Err(why)) => State::Left(why),
        Err(_) => State::Left("a panic while the GPU was opened; please report it".to_owned()),
    };
    GPUS.write().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().insert(context, state);
}

/// The reasons why GPUs are not used.
pub(crate) fn left() -> Vec<String> {
    let gpus = GPUS.read().unwrap_or_else(PoisonError::into_inner);
    let why = |state: &State| match state {
        State::Left(why) => Some(why.clone()),
        State::Opening | State::Open(_) => None,
    };
    gpus.iter().flatten().filter_map(|(_, state)| why(state)).collect()
}

impl Gpu {
    fn open(context: usize, index: usize) -> Result<Self, String> {
        let told = |error: DeviceError| error.to_string();
        let name = Cuda::name(index).map_err(told)?;
        let profile = Profile::known_for_gpu(&name, || Cuda::driver().ok());
        let profile = profile.ok_or_else(|| {
            format!(
                "{name} has no profile, so that nothing is known of it; `sparsight calibrate` measures it"
            )
        })?;
        let cuda = Cuda::open_without_rates(index).map_err(told)?;
        if cuda.context_handle() != context {
            return Err(
                "the program works in a context of its own, not in the primary one of the GPU".to_owned()
            );
        }
        let counter = cuda.row_length_counter().map_err(told)?;
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
