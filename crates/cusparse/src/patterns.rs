//! The patterns of the process: by addresses and sizes, and, after a preprocess step, by descriptor.

use crate::pattern::Pattern;
use crate::product::{Call, Key, Product};
use crate::settings::Settings;
use crate::source::Source;
use crate::totals::Totals;
use crate::worker;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Patterns that are kept. Programs that make new ones all the time would else fill the memory.
const MOST: usize = 1024;

/// By addresses and sizes.
static PATTERNS: RwLock<Option<HashMap<Key, Arc<Pattern>>>> = RwLock::new(None);
/// By the address of the descriptor.
static PREPROCESSED: RwLock<Option<HashMap<usize, Preprocessed>>> = RwLock::new(None);
/// Number of the latter: most programs have none.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// What is told at the end of all patterns so far.
static TOTALS: Mutex<Vec<Arc<Totals>>> = Mutex::new(Vec::new());

/// A pattern that stays what it is until its descriptor is destroyed or preprocessed again.
#[derive(Debug)]
struct Preprocessed {
    buffer: usize,
    pattern: Arc<Pattern>,
}

/// The pattern of a product.
pub(crate) fn of(call: &Call, product: &Product) -> Arc<Pattern> {
    if COUNT.load(Ordering::Acquire) > 0 {
        let known = PREPROCESSED.read().unwrap_or_else(PoisonError::into_inner);
        let found = known.as_ref().and_then(|known| known.get(&(call.matrix as usize)));
        let is_active =
            |one: &&Preprocessed| one.buffer == call.buffer as usize && one.pattern.source.key == product.key;
        if let Some(found) = found.filter(is_active) {
            return Arc::clone(&found.pattern);
        }
    }
    let found = {
        let known = PATTERNS.read().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().and_then(|known| known.get(&product.key).cloned())
    };
    match found {
        Some(pattern) if !pattern.is_due_for_review() => pattern,
        _ => {
            let mut known = PATTERNS.write().unwrap_or_else(PoisonError::into_inner);
            let known = known.get_or_insert_default();
            let before = known.get(&product.key);
            // Another thread was here first.
            if let Some(pattern) = before.filter(|pattern| !pattern.is_due_for_review()) {
                return Arc::clone(pattern);
            }
            let new = Arc::new(before.map_or_else(
                || Pattern::new(Source::new(product.key, totals_of(product.key), false)),
                |pattern| pattern.renewed(),
            ));
            if known.len() >= MOST {
                let old: Vec<_> = known.drain().collect();
                worker::ask(move || drop(old));
            }
            known.insert(product.key, Arc::clone(&new));
            new
        }
    }
}

/// Totals of a new pattern, which are kept if there will be a report, up to so many patterns.
fn totals_of(key: Key) -> Arc<Totals> {
    let totals = Arc::new(Totals::new(key));
    let mut all = TOTALS.lock().unwrap_or_else(PoisonError::into_inner);
    if Settings::get().reports() && all.len() < MOST {
        all.push(Arc::clone(&totals));
    }
    totals
}

/// The totals of all patterns.
pub(crate) fn totals() -> Vec<Arc<Totals>> {
    TOTALS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// A preprocess step has ended well: from now on the pattern of this product stays what it is.
pub(crate) fn preprocessed(call: &Call, product: &Product) {
    // Tables are made of row offsets from 0 on.
    let one = (product.key.base == 0).then(|| {
        let pattern = Arc::new(Pattern::new(Source::new(product.key, totals_of(product.key), true)));
        Preprocessed { buffer: call.buffer as usize, pattern }
    });
    replace(call.matrix as usize, one);
}

/// The descriptor is destroyed, or made: what is known of that address is of the past.
pub(crate) fn forget(matrix: usize) {
    // In a child, a thread that it does not have may hold the lock.
    if COUNT.load(Ordering::Acquire) > 0 && !worker::is_stopped() {
        replace(matrix, None);
    }
}

/// Sets what is known of the descriptor at that address.
fn replace(matrix: usize, new: Option<Preprocessed>) {
    let found = {
        let mut known = PREPROCESSED.write().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_default();
        let found = match new {
            Some(new) => known.insert(matrix, new),
            None => known.remove(&matrix),
        };
        COUNT.store(known.len(), Ordering::Release);
        found
    };
    if let Some(found) = found {
        found.pattern.source.leave();
        // Memory is freed by the worker: the driver waits for what uses it, and this thread may be capturing a stream.
        worker::ask(move || drop(found));
    }
}
