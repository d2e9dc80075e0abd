//! The longest of each 1, 2, 4 .. neighbouring rows: what warps wait for that take so many rows each.

/// The longest of each 1, 2, 4 .. neighbouring rows, one list behind the other.
pub(crate) struct LongestRows<'r> {
    /// Rows, filled up with empty ones.
    rows: usize,
    lists: &'r [u32],
}

impl<'r> LongestRows<'r> {
    /// Of the rows between these offsets, filled up to a multiple of `most`, the largest number of neighbours, a power of two; the lists lie in
    /// `room`. A row of 2^32 entries counts as one less. O(rows).
    pub(crate) fn of(offsets: &[u64], most: usize, room: &'r mut Vec<u32>) -> Self {
        let rows = (offsets.len() - 1).next_multiple_of(most);
        room.clear();
        let length = |ends: &[u64]| u32::try_from(ends[1] - ends[0]).unwrap_or(u32::MAX);
        room.extend(offsets.windows(2).map(length));
        room.resize(2 * rows, 0);
        for list in 0..most.ilog2() {
            let (of, to) = room[2 * rows - ((2 * rows) >> list)..].split_at_mut(rows >> list);
            for (longest, of) in to.iter_mut().zip(of.chunks_exact(2)) {
                *longest = of[0].max(of[1]);
            }
        }
        Self { rows, lists: room }
    }

    /// Of each 2^`log` neighbouring rows.
    pub(crate) fn of_rows(&self, log: u32) -> &[u32] {
        let behind = (2 * self.rows) >> log;
        &self.lists[2 * self.rows - behind..][..behind / 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_a_few_rows_are_those_worked_by_hand() {
        let offsets =
            crate::csr::offsets([3, 1, 4, 1, 5]).iter().map(|offset| 9 + offset).collect::<Vec<_>>();
        let mut room = vec![7; 40];
        let longest = LongestRows::of(&offsets, 4, &mut room);
        let lists = [0, 1, 2].map(|log| longest.of_rows(log).to_vec());
        assert_eq!(lists, [vec![3, 1, 4, 1, 5, 0, 0, 0], vec![3, 4, 5, 0], vec![4, 5]]);
        assert!(LongestRows::of(&[9], 4, &mut room).of_rows(2).is_empty());
    }
}
