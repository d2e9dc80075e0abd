//! The patterns of the process: by addresses and sizes, after a preprocess step by descriptor, and by plan.

use crate::pattern::Pattern;
use crate::product::{Call, Key, Matrix, Product};
use crate::settings::Settings;
use crate::source::Source;
use crate::totals::Totals;
use crate::worker;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Patterns that are kept. Programs that make new ones all the time would else fill the memory.
const MOST: usize = 1024;

/// A table that can be made before the program runs: its keys are no one's choice, and need no random numbers.
type Table<K, V> = HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// By addresses and sizes.
static PATTERNS: RwLock<Table<Key, Arc<Pattern>>> =
    RwLock::new(Table::with_hasher(BuildHasherDefault::new()));
/// By the address of the descriptor.
static PREPROCESSED: RwLock<Table<usize, Preprocessed>> =
    RwLock::new(Table::with_hasher(BuildHasherDefault::new()));
/// Number of the latter: most programs have none.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// By the address of a description or a plan of `cusparseSpMVOp`.
static PLANS: RwLock<Table<usize, Planned>> = RwLock::new(Table::with_hasher(BuildHasherDefault::new()));
/// Totals of all patterns so far, for the report.
static TOTALS: Mutex<Vec<Arc<Totals>>> = Mutex::new(Vec::new());

/// A pattern that stays what it is until its descriptor is destroyed or preprocessed again.
#[derive(Debug)]
struct Preprocessed {
    buffer: usize,
    pattern: Arc<Pattern>,
}

/// A matrix that stays what it is until its description or plan is destroyed.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    /// Address of its descriptor.
    descriptor: usize,
    pub(crate) matrix: Matrix,
    /// Of a plan, if tables can be made of it.
    pattern: Option<Arc<Pattern>>,
}

/// The pattern of a product.
pub(crate) fn of(call: &Call, product: &Product) -> Arc<Pattern> {
    if COUNT.load(Ordering::Acquire) > 0 {
        let known = PREPROCESSED.read().unwrap_or_else(PoisonError::into_inner);
        let is_active =
            |one: &&Preprocessed| one.buffer == call.buffer as usize && one.pattern.source.key == product.key;
        if let Some(found) = known.get(&(call.matrix as usize)).filter(is_active) {
            return Arc::clone(&found.pattern);
        }
    }
    by_addresses(product)
}

/// The pattern of a product of which nothing is promised.
fn by_addresses(product: &Product) -> Arc<Pattern> {
    let found = PATTERNS.read().unwrap_or_else(PoisonError::into_inner).get(&product.key).cloned();
    match found {
        Some(pattern) if !pattern.is_due_for_review() => pattern,
        _ => {
            let mut known = PATTERNS.write().unwrap_or_else(PoisonError::into_inner);
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
    let pattern = that_stays(product.key);
    let buffer = call.buffer as usize;
    replace(call.matrix as usize, pattern.map(|pattern| Preprocessed { buffer, pattern }));
}

/// A pattern that stays what it is; `None` if no tables can be made of it, which need row offsets from 0 on.
fn that_stays(key: Key) -> Option<Arc<Pattern>> {
    (key.base == 0).then(|| Arc::new(Pattern::new(Source::new(key, totals_of(key), true))))
}

/// A description for `cusparseSpMVOp` was made of the matrix behind a descriptor.
pub(crate) fn described(description: usize, descriptor: usize, matrix: Matrix) {
    let one = Planned { descriptor, matrix, pattern: None };
    PLANS.write().unwrap_or_else(PoisonError::into_inner).insert(description, one);
}

/// A plan without an epilogue was made of a description.
pub(crate) fn planned(plan: usize, description: usize) {
    let Some(found) = plan_at(description) else { return };
    let pattern = that_stays(found.matrix.key);
    PLANS.write().unwrap_or_else(PoisonError::into_inner).insert(plan, Planned { pattern, ..found });
}

/// What is known of a plan or a description.
pub(crate) fn plan_at(address: usize) -> Option<Planned> {
    PLANS.read().unwrap_or_else(PoisonError::into_inner).get(&address).cloned()
}

/// The pattern of a product with a plan.
pub(crate) fn of_plan(plan: Planned, product: &Product) -> Arc<Pattern> {
    plan.pattern.unwrap_or_else(|| by_addresses(product))
}

/// A plan or a description is destroyed, or other arrays are given to a matrix: plans of it are left to cuSPARSE.
pub(crate) fn forget_plans(plan_or_descriptor: usize) {
    // As in `forget`.
    if worker::is_stopped() {
        return;
    }
    let of_it = |at: usize, plan: &Planned| at == plan_or_descriptor || plan.descriptor == plan_or_descriptor;
    let known = PLANS.read().unwrap_or_else(PoisonError::into_inner);
    if !known.iter().any(|(at, plan)| of_it(*at, plan)) {
        return;
    }
    drop(known);
    let mut known = PLANS.write().unwrap_or_else(PoisonError::into_inner);
    let found: Vec<Planned> = known.extract_if(|at, plan| of_it(*at, plan)).map(|(_, plan)| plan).collect();
    drop(known);
    for plan in &found {
        plan.pattern.iter().for_each(|pattern| pattern.source.leave());
    }
    worker::ask(move || drop(found));
}

/// The descriptor is destroyed, or another one made at its address: what is known of it is forgotten.
pub(crate) fn forget(matrix: usize) {
    // In a child, a thread that it does not have may hold the lock.
    if COUNT.load(Ordering::Acquire) > 0 && !worker::is_stopped() {
        replace(matrix, None);
    }
    forget_plans(matrix);
}

/// Sets what is known of the descriptor at that address.
fn replace(matrix: usize, new: Option<Preprocessed>) {
    let found = {
        let mut known = PREPROCESSED.write().unwrap_or_else(PoisonError::into_inner);
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
