//! Tasks that the calling thread and those of the pool share.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Threads of one call. Chosen: on 16 cores a ranking takes as long with 8 as it took with all of them, which have to be woken.
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
                let _ = result.set(task(&items[at]));
            }
        }
    };
    rayon::in_place_scope(|scope| {
        for thread in 1..threads {
            scope.spawn(move |_| work(thread * items.len() / threads));
        }
        work(0);
    });
    slots.into_iter().map(|(_, result)| result.into_inner().expect("one thread takes each item")).collect()
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
    fn nested_calls_and_calls_from_within_pools_finish_with_the_right_sums() {
        let items: Vec<usize> = (0..40).collect();
        let sum = |n: &usize| side_by_side(&items, |m| n * m).into_iter().sum::<usize>();
        let sums: Vec<usize> =
            (0..8).into_par_iter().map(|_| side_by_side(&items, sum).into_iter().sum()).collect();
        assert_eq!(sums, [780 * 780; 8]);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(pool.install(|| side_by_side(&items, sum)).into_iter().sum::<usize>(), 780 * 780);
    }

    #[test]
    #[should_panic(expected = "item 30")]
    fn a_panic_of_a_task_is_passed_on() {
        side_by_side(&(0..40).collect::<Vec<_>>(), |item| assert!(*item != 30, "item {item}"));
    }
}
