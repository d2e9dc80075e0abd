//! The two measured rates of [`sparsight_kernels::DeviceFacts`], which run on a worker, and the memory that empties the caches.

use super::facts;
use crate::timing::{StoppingRule, measure, wall_clock};
use rayon::prelude::*;
use sparsight_matrix::{Bytes, Seconds};
use std::hint::black_box;

/// Words that one task copies: 256 KiB, some 10 us beside which the start of a task is small. Chosen.
const WORDS_PER_TASK: usize = 1 << 15;

/// Bytes read plus bytes written in a second by a copy that no cache holds, with all workers. The median copy.
pub(super) fn copy_bytes_per_s() -> f64 {
    let words = (displacing_bytes().0 / 8) as usize;
    let (from, mut to) = (vec![1_u64; words], vec![2_u64; words]);
    let copy = || {
        to.par_chunks_mut(WORDS_PER_TASK)
            .zip(from.par_chunks(WORDS_PER_TASK))
            .for_each(|(to, from)| to.copy_from_slice(from));
        black_box(&mut to);
    };
    (2 * 8 * words) as f64 / median(copy).0
}

/// Time of a parallel loop with one empty task a worker. The median of many. It is small, since the worker
/// that starts the loop has done all tasks before another one wakes up, as it does with a tiny matrix.
pub(super) fn launch() -> Seconds {
    let empty = || {
        let tasks = (0..rayon::current_num_threads()).into_par_iter().with_max_len(1);
        tasks.for_each(|task| _ = black_box(task));
    };
    median(empty)
}

fn median(work: impl FnMut()) -> Seconds {
    measure(wall_clock(work), &StoppingRule::CAREFUL).expect("the host's clock does not fail").time
}

/// Multiple of the last-level caches that is read: once would do with the oldest line replaced first, but
/// caches replace pseudo-randomly or keep what was used twice. Chosen.
const TIMES: u64 = 4;

/// Bytes that displace everything from every cache of this machine.
pub(super) fn displacing_bytes() -> Bytes {
    Bytes(TIMES * facts::all_last_level_caches().0)
}

/// Memory that is read for nothing.
#[derive(Debug)]
pub(super) struct EvictionBuffer {
    words: Vec<u64>,
}

impl EvictionBuffer {
    /// Takes and touches the memory. Written with something else than 0: untouched pages are all one page.
    pub(super) fn new() -> Self {
        Self { words: vec![1; (displacing_bytes().0 / 8) as usize] }
    }

    /// Reads all of it, each worker of the current pool an equal part, so that every core's own caches are
    /// displaced too.
    pub(super) fn stream(&self) {
        rayon::broadcast(|worker| {
            let part = self.words.len().div_ceil(worker.num_threads());
            let start = (worker.index() * part).min(self.words.len());
            let end = (start + part).min(self.words.len());
            black_box(self.words[start..end].iter().sum::<u64>());
        });
    }
}
