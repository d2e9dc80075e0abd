//! How many rows a strip has.
//!
//! ```text
//! the paper's S_CSR      rows that the device works on at one moment with one warp per row
//! strips of k S_CSR      k the least with which there are no more strips than can be afforded
//! ```
//! The paper takes `S_CSR`, or `S_ELL` = 32 `S_CSR` where there would be a huge number of blocks. Between the two lie
//! other multiples, and what a block costs to predict depends on the model.

use sparsight_kernels::{DeviceFacts, Strip, StripUnit};
use std::num::NonZeroUsize;

/// Most strips for a prepared strip model: 1.1 million blocks, a tenth of a second of one core. Chosen; the matrix with
/// most strips in the paper has 1,489.
const PREPARED: usize = 1500;

/// Most strips for any other model, which takes about 1.6 us a candidate: with all of the catalogue, 1,176 blocks take some
/// tenths of a second. Chosen.
const ASKED: usize = 48;

/// Strips of a chosen number have a multiple of this many rows: whole warps, so that what is counted by warps adds up.
const WARP: usize = 32;

/// Rows of a strip, at least 1. `wanted`: most strips that were asked for.
pub(super) fn rows_per_strip(
    nrows: usize,
    facts: &DeviceFacts,
    wanted: Option<NonZeroUsize>,
    is_prepared: bool,
) -> usize {
    if let Some(strips) = wanted {
        return nrows.div_ceil(strips.get()).next_multiple_of(WARP).max(WARP);
    }
    let one = Strip::of(StripUnit::Rows, 32, facts).size as usize;
    let limit = if is_prepared { PREPARED } else { ASKED };
    one * nrows.div_ceil(one).div_ceil(limit).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    #[test]
    fn strips_are_the_papers_until_there_are_too_many() {
        // S_CSR of an H200: 132 multiprocessors with 64 warps.
        let facts = Profile::shipped("nvidia-h200").unwrap().device.facts;
        let rows = |nrows, is_prepared| rows_per_strip(nrows, &facts, None, is_prepared) / 8448;
        assert_eq!((rows(0, true), rows(1_000_000, true), rows(8448 * 1500, true)), (1, 1, 1));
        assert_eq!((rows(8448 * 1500 + 1, true), rows(8448 * 3001, true)), (2, 3));
        assert_eq!((rows(8448 * 48, false), rows(8448 * 49, false), rows(8448 * 1489, false)), (1, 2, 32));
        let asked = |nrows, strips| rows_per_strip(nrows, &facts, NonZeroUsize::new(strips), false);
        assert_eq!((asked(1000, 10), asked(1000, 1), asked(5, 10), asked(0, 3)), (128, 1024, 32, 32));
    }
}
