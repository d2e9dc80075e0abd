//! Steps of warps when teams of threads go along rows, from row lengths in their order.
//!
//! ```text
//! rows of 3, 1, 5, 0 non-zeros     one thread per row, 4 rows a warp: 5 steps, since a warp waits for its longest row
//!                                  2 threads a row, 2 rows a warp: max(2, 1) + max(3, 0) = 5 steps
//! ```

/// Rows of a warp with one thread per row: the threads of a warp.
pub(super) const WARP: usize = 32;

/// Adds the steps of the rows between `offsets`, which one warp does with one thread per row, with 1, 2, 4, 8, 16 and 32 threads a row, and
/// returns how long the longest is. `alike` says that all are as long.
pub(super) fn add_steps(sums: &mut [u64; 6], offsets: &[u64], alike: bool) -> u64 {
    if alike {
        let (rows, length) = (offsets.len() as u64 - 1, offsets[1] - offsets[0]);
        for (log, sum) in sums.iter_mut().enumerate() {
            *sum += rows.div_ceil(WARP as u64 >> log) * length.div_ceil(1 << log);
        }
        return length;
    }
    let mut rows = [0; WARP];
    for (length, w) in rows.iter_mut().zip(offsets.windows(2)) {
        *length = w[1] - w[0];
    }
    // A warp takes 32 / t rows. Each halving of t joins neighbours, of whom the longer one counts.
    let by_2: [u64; 16] = longer(&rows);
    let by_4: [u64; 8] = longer(&by_2);
    let by_8: [u64; 4] = longer(&by_4);
    let by_16: [u64; 2] = longer(&by_8);
    let longest = by_16[0].max(by_16[1]);
    sums[5] += steps::<5>(&rows);
    sums[4] += steps::<4>(&by_2);
    sums[3] += steps::<3>(&by_4);
    sums[2] += steps::<2>(&by_8);
    sums[1] += steps::<1>(&by_16);
    sums[0] += longest;
    longest
}

/// The longer of each two neighbours.
fn longer<const N: usize>(rows: &[u64]) -> [u64; N] {
    std::array::from_fn(|at| rows[2 * at].max(rows[2 * at + 1]))
}

/// Steps of warps whose longest rows are given, with 2^LOG threads a row.
fn steps<const LOG: u32>(longest: &[u64]) -> u64 {
    longest.iter().map(|length| (length + (1 << LOG) - 1) >> LOG).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(lengths: &[u64]) -> [u64; 6] {
        let offsets = crate::csr::offsets(lengths.iter().copied());
        let mut sums = [0; 6];
        for start in (0..lengths.len()).step_by(WARP) {
            let end = lengths.len().min(start + WARP);
            let longest = add_steps(&mut sums, &offsets[start..=end], false);
            assert_eq!(Some(&longest), lengths[start..end].iter().max());
        }
        sums
    }

    #[test]
    fn steps_of_rows_of_one_length_are_those_of_any_rows() {
        for (rows, length) in [(32, 5), (32, 0), (7, 33), (17, 64)] {
            let (offsets, mut sums) = (crate::csr::offsets(vec![length; rows]), [0; 6]);
            assert_eq!(add_steps(&mut sums, &offsets, true), length);
            assert_eq!(sums, steps(&vec![length; rows]), "{rows} rows of {length}");
        }
    }

    #[test]
    fn steps_of_a_few_rows_are_those_worked_by_hand() {
        // A team of 2: 16 rows a warp. Of 32: one row a warp, ceil(l / 32) steps.
        let mut lengths = [1_u64; 40];
        lengths[3] = 70;
        lengths[20] = 10;
        lengths[39] = 33;
        // t = 1: warps of rows 0..32 and 32..40: 70 + 33.  t = 2, 16 rows: 35 + 5 + 17.  t = 4, 8 rows: 18, 1, 3, 1, 9.
        // t = 8, 4 rows: 9, 1, 1, 1, 1, 2, 1, 1, 1, 5.  t = 16, 2 rows: 20 warps, one takes 5, one 3.
        // t = 32: 40 warps, one takes 3, one 2.
        assert_eq!(steps(&lengths), [103, 57, 32, 23, 18 + 5 + 3, 38 + 3 + 2]);
    }

    #[test]
    fn no_rows_take_no_steps() {
        assert_eq!(steps(&[]), [0; 6]);
        assert_eq!(steps(&[0; 50]), [0; 6]);
    }
}
