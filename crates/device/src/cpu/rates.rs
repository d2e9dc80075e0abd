//! The two rates of [`sparsight_kernels::DeviceFacts`] that have to be measured. Both run on a worker.

use super::eviction;
use crate::timing::{StoppingRule, measure, wall_clock};
use rayon::prelude::*;
use sparsight_matrix::Seconds;
use std::hint::black_box;

/// Words that one task copies: 256 KiB, some 10 us beside which the start of a task is small. Chosen.
const WORDS_PER_TASK: usize = 1 << 15;

/// Bytes read plus bytes written in a second by a copy that no cache holds, with all workers. The median copy.
pub(super) fn copy_bytes_per_s() -> f64 {
    let words = (eviction::displacing_bytes().0 / 8) as usize;
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
