//! The differences of slices whose rows are all short, of which most matrices consist.
//!
//! A loop over the few entries of a row costs more than what it does with them. So the differences of many rows are
//! taken at once, as if they were one row, and each row then adds [`LANES`] of them to the ORs, less those behind its
//! end: no loop and no branch depends on how long a row is.
//!
//! ```text
//! rows                     2 5 | 7 | 0 1 3
//! taken at once            . 3   2   . 1 2
//! a row's first entry      3 3   8   1 1 2
//! ```

use super::BEFORE_FIRST;

/// Entries of a row that is short, at most: two vector registers of any processor.
pub(super) const LANES: usize = 8;

/// Rows whose differences are taken at once. Chosen: as many as in a slice of the smallest shape.
const ROWS: usize = 32;

/// `MASKS[n]` keeps the first n lanes.
const MASKS: [[u32; LANES]; LANES + 1] = {
    let mut masks = [[0; LANES]; LANES + 1];
    let mut at = 0;
    while at < LANES * (LANES + 1) {
        if at % LANES < at / LANES {
            masks[at / LANES][at % LANES] = u32::MAX;
        }
        at += 1;
    }
    masks
};

/// Sets `ors` to the OR of the differences at each entry of the rows between `offsets`. No row has more entries than
/// there are `ors`, and these are at most [`LANES`].
pub(super) fn or_differences(cols: &[u32], offsets: &[u64], ors: &mut [u32]) {
    // Room behind the last entry that there may be, since every row reads all lanes.
    let mut differences = [0; (ROWS + 1) * LANES];
    let mut all = [0; LANES];
    let rows = offsets.len() - 1;
    for at in (0..rows).step_by(ROWS) {
        let offsets = &offsets[at..=rows.min(at + ROWS)];
        let first = offsets[0] as usize;
        let cols = &cols[first..offsets[offsets.len() - 1] as usize];
        for (difference, neighbours) in differences[1..].iter_mut().zip(cols.windows(2)) {
            *difference = neighbours[1].wrapping_sub(neighbours[0]);
        }
        for &offset in &offsets[..offsets.len() - 1] {
            let start = offset as usize - first;
            // For an empty row this is the first entry of a later one, or none.
            if let Some(&col) = cols.get(start) {
                differences[start] = col.wrapping_sub(BEFORE_FIRST);
            }
        }
        for ends in offsets.windows(2) {
            let start = ends[0] as usize - first;
            let mask = &MASKS[(ends[1] - ends[0]) as usize];
            let lanes: &[u32; LANES] =
                differences[start..].first_chunk().expect("there is room behind the last entry");
            for lane in 0..LANES {
                all[lane] |= lanes[lane] & mask[lane];
            }
        }
    }
    ors.copy_from_slice(&all[..ors.len()]);
}
