//! Places of the values of an array, which stores whole columns, or their part below the diagonal.

use super::super::Symmetry;
use super::super::assemble::Entry;
use super::header::Header;

/// Replaces, in `entries` whose `row` is their number counted from `first`, the number by the place.
pub(super) fn place<V>(header: &Header, first: u64, entries: &mut [Entry<V>]) {
    // Rows of column j that are not stored.
    let above = |col: u64| match header.banner.symmetry {
        Symmetry::General => 0,
        Symmetry::SkewSymmetric => col + 1,
        _ => col,
    };
    let column_start = |col: u64| match header.banner.symmetry {
        Symmetry::General => col * header.nrows,
        // The sum of (nrows - 1 - j) or (nrows - j) over j < col.
        Symmetry::SkewSymmetric => col * header.nrows - col * (col + 1) / 2,
        _ => col * header.nrows - col * col.saturating_sub(1) / 2,
    };
    let Some(entry) = entries.first() else { return };
    // The last column that starts at or before the first value.
    let number = first + u64::from(entry.row);
    let (mut col, mut high) = (0, header.ncols);
    while high - col > 1 {
        let middle = u64::midpoint(col, high);
        if column_start(middle) <= number {
            col = middle;
        } else {
            high = middle;
        }
    }
    for entry in entries {
        let number = first + u64::from(entry.row);
        while number >= column_start(col + 1) {
            col += 1;
        }
        (entry.row, entry.col) = ((above(col) + number - column_start(col)) as u32, col as u32);
    }
}
