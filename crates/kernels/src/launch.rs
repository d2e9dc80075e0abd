//! Cutting a product into launches when its rows need more thread blocks than one grid may have.

use sparsight_matrix::RowBins;

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

/// How the thread blocks of csr-binned are dealt out: to segments, then to bins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinEnds {
    segments: u64,
    ends: [u64; RowBins::BINS + 1],
}

impl BinEnds {
    /// Those of a matrix.
    pub fn of(bins: &RowBins) -> Self {
        Self { segments: bins.segments().len() as u64, ends: bins.ends() }
    }

    /// Blocks of `block` threads: one a segment, and for each bin as many as hold its teams. The same arithmetic stands in
    /// `cuda/csr_binned.cu`.
    pub fn blocks(&self, block: u32) -> u64 {
        let of_bin =
            |(places, threads): (&[u64], u32)| (places[1] - places[0]).div_ceil((block / threads).into());
        self.segments + self.ends.windows(2).zip(RowBins::THREADS).map(of_bin).sum::<u64>()
    }

    /// As arguments of the kernel: the number of segments, then the ends in places.
    pub fn args(&self) -> [u64; RowBins::BINS + 2] {
        std::array::from_fn(|at| at.checked_sub(1).map_or(self.segments, |bin| self.ends[bin]))
    }
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

    #[test]
    fn blocks_of_bins_are_those_worked_by_hand() {
        // 5,000 entries: 2 segments. 3 rows of 100, a warp each: 2 blocks of 64. 65 rows of 1 entry: 2 blocks.
        let lengths = [vec![5_000_u64], vec![100; 3], vec![1; 65]].concat();
        let mut row_ptr = vec![0];
        for length in lengths {
            row_ptr.push(row_ptr[row_ptr.len() - 1] + length);
        }
        let ends = BinEnds::of(&RowBins::of(&row_ptr));
        assert_eq!(ends.blocks(64), 2 + 2 + 2);
        assert_eq!(ends.args(), [2, 1, 4, 4, 4, 4, 4, 69]);
        assert_eq!(BinEnds::of(&RowBins::of(&[0])).blocks(64), 0);
    }
}
