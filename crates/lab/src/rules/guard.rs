//! Guard of a format against padding, whatever the tree says: bounds on the row lengths that keep it within a limit.
//!
//! A tree learns from matrices. On another one the formats that it names could pad beyond all measure, and a library that pastes the
//! tree may not look. What is guaranteed by [`PaddingBound`] is asked for in the text itself; rows that fill up the last slice, or ELL
//! to a multiple of 32, come on top, which matters where there are few rows.

use super::Quantity;
use serde::Serialize;
use sparsight_kernels::Format;
use sparsight_matrix::{Limits, PaddingBound};

/// A condition, either of the two: with it no format stores more than 8 times the non-zeros, besides rows that fill up its last slice
/// (ELL: to a multiple of 32).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Guard {
    /// Most that the longest row may have over the mean.
    pub row_max_over_mean: f64,
    /// Most that the standard deviation of the row lengths may have over their mean; `None` where that guarantees nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_std_over_mean: Option<f64>,
}

impl Guard {
    /// Guard of a format; `None` where nothing has to hold, or row lengths do not tell.
    pub fn of(format: Format) -> Option<Self> {
        let row_max_over_mean = Limits::PADDING;
        match format.padding_bound() {
            PaddingBound::AsEntries | PaddingBound::Unknown => None,
            PaddingBound::LongestRow => Some(Self { row_max_over_mean, row_std_over_mean: None }),
            PaddingBound::Slices(rows) => {
                // Three digits, rounded down: rules are read by people.
                let most = (Limits::PADDING - 1.0) / f64::from(rows).sqrt();
                let most = (1e3 * most).floor() / 1e3;
                Some(Self { row_max_over_mean, row_std_over_mean: Some(most) })
            }
        }
    }

    /// Returns whether it holds.
    pub fn holds(&self, value: &impl Fn(Quantity) -> f64) -> bool {
        let is_even = |most: f64| value(Quantity::RowStdOverMean) <= most;
        value(Quantity::RowMaxOverMean) <= self.row_max_over_mean
            || self.row_std_over_mean.is_some_and(is_even)
    }

    /// Quantity that it compares.
    pub(super) fn asked(&self) -> Vec<Quantity> {
        let of_std = self.row_std_over_mean.map(|_| Quantity::RowStdOverMean);
        [Quantity::RowMaxOverMean].into_iter().chain(of_std).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_matrix::gallery::Recipe;
    use sparsight_matrix::{Csr, Features};

    /// Checks that what is guarded stays within the limit on matrices of many kinds, those made to pad among them, and in every order of rows.
    #[test]
    fn a_guarded_format_never_pads_beyond_the_limit() {
        let recipes = [
            "stencil2d,n=100",
            "power-law,n=5000",
            "arrow,n=5000",
            "random,rows=5000",
            "dense,rows=200,cols=200",
        ];
        let mut lengths: Vec<Vec<u64>> = vec![
            // One long row in each slice of 32, which is as bad as it gets.
            (0..6400).map(|row| if row % 32 == 0 { 100 } else { 1 }).collect(),
            (0..6400).map(|row| if row % 32 == 0 { 20 } else { 10 }).collect(),
            (0..6400).map(|row| if row == 77 { 3000 } else { 5 }).collect(),
            // So few rows that those that fill up a slice are most of what is stored.
            vec![100],
            vec![5, 100, 3],
            (0..33).map(|row| if row == 32 { 100 } else { 10 }).collect(),
        ];
        for recipe in recipes {
            let a: Csr<f64> = recipe.parse::<Recipe>().unwrap().generate().unwrap();
            lengths.push(a.row_ptr().windows(2).map(|pair| pair[1] - pair[0]).collect());
        }
        let (mut passed, mut stopped, mut filled_up) = (0, 0, 0);
        for lengths in lengths {
            let a = with_rows(&lengths);
            let features = Features::of(&a);
            for format in Format::all() {
                let Some(guard) = Guard::of(format) else { continue };
                if guard.holds(&|quantity: Quantity| quantity.of(&features)) {
                    passed += 1;
                    let slice = match format.padding_bound() {
                        PaddingBound::Slices(rows) => u64::from(rows),
                        _ => 32,
                    };
                    let filling = features.nrows.next_multiple_of(slice) - features.nrows;
                    let most = Limits::PADDING * features.nnz as f64;
                    let stored = format.stored_entries(&features) as f64;
                    assert!(stored <= most + (filling * features.row_max) as f64, "{format}: {features:?}");
                    filled_up += usize::from(stored > most);
                } else {
                    stopped += 1;
                }
            }
        }
        assert!(passed > 20 && stopped > 10 && filled_up > 10, "{passed} {stopped} {filled_up}");
    }

    fn with_rows(lengths: &[u64]) -> Csr<f64> {
        let mut row_ptr = vec![0];
        let mut columns = Vec::new();
        for &length in lengths {
            columns.extend(0..length as u32);
            row_ptr.push(columns.len() as u64);
        }
        let (nnz, ncols) = (columns.len(), lengths.iter().copied().max().unwrap_or_default().max(1));
        Csr::try_new(lengths.len(), ncols as usize, row_ptr, columns, vec![1.0; nnz]).unwrap()
    }
}
