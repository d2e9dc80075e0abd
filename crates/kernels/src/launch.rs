//! Cutting a product into launches when its rows need more thread blocks than one grid may have.

/// One launch: `grid` thread blocks, the first of which starts at row `first_row`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// Row of the first team of threads.
    pub first_row: u64,
    /// Thread blocks.
    pub grid: u32,
}

/// Largest x dimension of a CUDA grid.
const MAX_GRID: u64 = (1 << 31) - 1;

/// Launches that give each of `nrows` rows to `threads_per_row` threads in blocks of `block`.
///
/// Nearly always one; none for an empty matrix. `block` must be a multiple of `threads_per_row`.
pub fn row_chunks(nrows: u64, threads_per_row: u32, block: u32) -> impl Iterator<Item = Chunk> {
    let rows_a_block = u64::from(block / threads_per_row);
    let blocks = nrows.div_ceil(rows_a_block);
    (0..blocks.div_ceil(MAX_GRID)).map(move |chunk| {
        let first_block = chunk * MAX_GRID;
        let grid = (blocks - first_block).min(MAX_GRID) as u32;
        Chunk { first_row: first_block * rows_a_block, grid }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_beyond_one_grid_continue_in_the_next_launch() {
        let one = |n, t, b| row_chunks(n, t, b).collect::<Vec<_>>();
        assert_eq!(one(0, 1, 64), []);
        assert_eq!(one(1, 32, 64), [Chunk { first_row: 0, grid: 1 }]);
        assert_eq!(one(1000, 2, 64), [Chunk { first_row: 0, grid: 32 }]);
        // A warp a row in blocks of 64: 2 rows a block, so 2^32 + 6 rows need 2^31 + 3 blocks.
        let chunks = one((1 << 32) + 6, 32, 64);
        assert_eq!(chunks.len(), 2);
        assert_eq!(chunks[0], Chunk { first_row: 0, grid: (1 << 31) - 1 });
        assert_eq!(chunks[1], Chunk { first_row: 2 * ((1 << 31) - 1), grid: 4 });
    }
}
