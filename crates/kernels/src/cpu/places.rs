//! From the order in which a format sorts the rows back to that of y.
//!
//! ```text
//! permutation   1 3 0 2      row at each place, as the format holds it
//! place_of      2 0 3 1      place of each row, made once when the matrix is loaded
//! sums          a b c d      by places
//! y             c a d b      gathered by rows: each task writes neighbouring entries of y
//! ```

use super::in_tiles;

/// Where each row stands.
#[derive(Debug, PartialEq)]
pub(crate) struct Places {
    /// Empty where rows stand in their order.
    place_of: Vec<u32>,
}

impl Places {
    /// The inverse of `permutation`, which is empty or holds every row once. O(rows).
    pub(crate) fn of(permutation: &[u32]) -> Self {
        let mut place_of = vec![0; permutation.len()];
        for (place, &row) in (0..).zip(permutation) {
            place_of[row as usize] = place;
        }
        Self { place_of }
    }

    /// Sets y to what `tile(first, sums)` gives for the places from `first` on, `block` places or rows a task of one of `workers`.
    /// `sums` is scratch, kept between products.
    pub(crate) fn to_rows<T: Copy + Default + Send + Sync>(
        &self,
        (workers, block): (usize, usize),
        y: &mut [T],
        sums: &mut Vec<T>,
        tile: impl Fn(usize, &mut [T]) + Sync,
    ) {
        if self.place_of.is_empty() {
            return in_tiles(workers, block, y, tile);
        }
        sums.resize(y.len(), T::default());
        in_tiles(workers, block, sums, tile);
        in_tiles(workers, block, y, |first, y| {
            for (y, &place) in y.iter_mut().zip(&self.place_of[first..]) {
                *y = sums[place as usize];
            }
        });
    }
}
