//! Tasks that the calling thread and those of the pool share.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Threads beyond which waking another one takes longer than what it would do. Chosen.
const MOST_THREADS: usize = 8;

/// What `task` makes of each of `items`, in order. The calling thread begins at once, while others wake; each begins at a part of its own,
/// and what it reads may still be in its cache from the call before.
pub(crate) fn side_by_side<T: Sync, R: Send + Sync>(items: &[T], task: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let slots: Vec<(AtomicBool, OnceLock<R>)> = items.iter().map(|_| Default::default()).collect();
    let threads = rayon::current_num_threads().min(MOST_THREADS).min(items.len());
    let work = |first: usize| {
        for at in (first..items.len()).chain(0..first) {
            let (is_taken, result) = &slots[at];
            if !is_taken.swap(true, Relaxed) {
                result.get_or_init(|| task(&items[at]));
            }
        }
    };
    rayon::in_place_scope(|scope| {
        for thread in 1..threads {
            scope.spawn(move |_| work(thread * items.len() / threads));
        }
        work(0);
    });
    slots.into_iter().filter_map(|(_, result)| result.into_inner()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn results_stand_in_the_order_of_the_items_and_each_is_made_once() {
        let calls = AtomicUsize::new(0);
        let twice = |n: &usize| {
            calls.fetch_add(1, Relaxed);
            2 * n
        };
        for count in [0, 1, 7, 200] {
            calls.store(0, Relaxed);
            let items: Vec<usize> = (0..count).collect();
            assert!(side_by_side(&items, twice).into_iter().eq((0..count).map(|n| 2 * n)));
            assert_eq!(calls.load(Relaxed), count);
        }
    }

    #[test]
    fn tasks_within_tasks_and_within_the_pool_end() {
        let items: Vec<usize> = (0..40).collect();
        let sum = |n: &usize| side_by_side(&items, |m| n * m).into_iter().sum::<usize>();
        let sums: Vec<usize> =
            (0..8).into_par_iter().map(|_| side_by_side(&items, sum).into_iter().sum()).collect();
        assert_eq!(sums, [780 * 780; 8]);
    }
}
