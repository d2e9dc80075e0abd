//! The order of rows that JAD and SELL-C-sigma share: by decreasing length within windows of sigma rows.

use rayon::prelude::*;

/// Lengths for each row of a window up to which they are counted; longer ones are compared. Chosen: counting passes
/// over all lengths that there could be, which then costs about as much as passing over the rows.
const COUNTED_LENGTHS_PER_ROW: u64 = 4;

/// The row at each place: within each window of `sigma` rows by decreasing length, rows of equal length in their
/// order. O(nrows) by counting unless a row is many times as long as the window; in parallel over the windows.
///
/// # Panics
/// If `sigma` is 0 or there are 2^32 rows or more.
pub(crate) fn by_decreasing_length(row_ptr: &[u64], sigma: usize) -> Vec<u32> {
    let nrows = row_ptr.len() - 1;
    assert!(u32::try_from(nrows).is_ok(), "rows are named with 32 bits");
    let mut order = vec![0; nrows];
    order.par_chunks_mut(sigma).enumerate().for_each_init(Vec::new, |starts, (window, order)| {
        let first = window * sigma;
        order_window(&row_ptr[first..=first + order.len()], first as u32, order, starts);
    });
    order
}

/// Orders the rows of one window, whose first row is `first`. `starts` is scratch.
fn order_window(row_ptr: &[u64], first: u32, order: &mut [u32], starts: &mut Vec<u32>) {
    let lengths = || row_ptr.windows(2).map(|w| w[1] - w[0]);
    let longest = lengths().max().unwrap_or(0);
    if longest > COUNTED_LENGTHS_PER_ROW * order.len() as u64 {
        order.iter_mut().zip(first..).for_each(|(place, row)| *place = row);
        order.sort_by_key(|&row| {
            let at = (row - first) as usize;
            std::cmp::Reverse(row_ptr[at + 1] - row_ptr[at])
        });
        return;
    }
    // Counted by how much a row is shorter than the longest, then where the rows of each length start.
    starts.clear();
    starts.resize(longest as usize + 1, 0);
    lengths().for_each(|length| starts[(longest - length) as usize] += 1);
    let mut before = 0;
    for start in starts.iter_mut() {
        before += std::mem::replace(start, before);
    }
    for (row, length) in (first..).zip(lengths()) {
        let start = &mut starts[(longest - length) as usize];
        order[*start as usize] = row;
        *start += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row_ptr(lengths: &[u64]) -> Vec<u64> {
        crate::csr::offsets(lengths.iter().copied())
    }

    #[test]
    fn longer_rows_come_first_and_equal_ones_keep_their_order() {
        let ptr = row_ptr(&[1, 3, 0, 3, 1, 2]);
        assert_eq!(by_decreasing_length(&ptr, 6), [1, 3, 5, 0, 4, 2]);
        assert_eq!(by_decreasing_length(&ptr, 100), [1, 3, 5, 0, 4, 2]);
        assert_eq!(by_decreasing_length(&ptr, 1), [0, 1, 2, 3, 4, 5]);
        assert_eq!(by_decreasing_length(&ptr, 4), [1, 3, 0, 2, 5, 4], "no row leaves its window");
        assert!(by_decreasing_length(&[0], 7).is_empty());
    }

    #[test]
    fn counting_and_comparing_give_the_same_order() {
        // Up to 4 times as long as the window they are counted, beyond that compared.
        let lengths: Vec<u64> = (0..5_000_u64).map(|row| crate::mix(row) % 7 * 3).collect();
        let mut long = lengths.clone();
        long[4_999] = 1 << 40;
        let counted = by_decreasing_length(&row_ptr(&lengths), 5_000);
        let mut compared = by_decreasing_length(&row_ptr(&long), 5_000);
        assert_eq!(compared.remove(0), 4_999);
        assert_eq!(compared, counted.into_iter().filter(|&row| row != 4_999).collect::<Vec<_>>());
    }
}
