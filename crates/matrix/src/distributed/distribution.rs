//! Distribution: the part that owns each row, and each entry of x.

use crate::io::memory::{Refused, make_room};
use crate::{Bytes, Csr, Scalar};
use std::io::BufRead;
use thiserror::Error;

/// Reasons why a matrix cannot be dealt out.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DistributionError {
    /// No part at all, or more than can be named.
    #[error("{parts} parts: there may be 1 to {most}", most = Distribution::MOST_PARTS)]
    Parts {
        /// Asked for.
        parts: usize,
    },
    /// Cuts do not begin at row 0, end behind the last row, and never decrease.
    #[error("cuts must go from 0 to {nrows} without decreasing")]
    Cuts {
        /// Rows of the matrix.
        nrows: usize,
    },
    /// Not a part for each row.
    #[error("{got} rows were given a part, the matrix has {nrows}")]
    Length {
        /// Rows of the matrix.
        nrows: usize,
        /// Rows with a part.
        got: usize,
    },
    /// A part that is none.
    #[error("row {row} was given part {part}, there are 0 to {last}")]
    NoSuchPart {
        /// Row, counted from 0.
        row: usize,
        /// Part of the row.
        part: u64,
        /// The last one.
        last: usize,
    },
    /// A line that is no number.
    #[error("line {line} is no number of a part: {text}")]
    NoNumber {
        /// Counted from 1.
        line: usize,
        /// The text found there.
        text: String,
    },
    /// A graph partitioner cannot do it.
    #[error("the rows cannot be partitioned: {reason}")]
    Partitioner {
        /// Reason.
        reason: String,
    },
    /// The file cannot be read.
    #[error("{0}")]
    Io(String),
    /// The system refused the memory.
    #[error("needs {need} of memory, which the system did not give")]
    OutOfMemory {
        /// Bytes asked for at once.
        need: Bytes,
    },
}

impl From<Refused> for DistributionError {
    fn from(Refused { need }: Refused) -> Self {
        Self::OutOfMemory { need }
    }
}

/// The part of each row and of each entry of x.
///
/// # Invariants
/// Held by construction: every row and column has one part, below [`parts`](Distribution::parts).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distribution {
    parts: usize,
    nrows: usize,
    ncols: usize,
    rows: Owners,
    /// `None`: those of the rows, in a square matrix.
    columns: Option<Owners>,
}

/// The part of each of some numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Owners {
    /// Ranges in their order: where each begins, and the end.
    InOrder(Vec<usize>),
    /// Anyhow.
    Each(Vec<u32>),
}

impl Owners {
    /// Nearly equal ranges.
    fn even(n: usize, parts: usize) -> Self {
        let cut = |part: usize| ((n as u128 * part as u128) / parts as u128) as usize;
        Self::InOrder((0..=parts).map(cut).collect())
    }

    fn of(&self, number: usize) -> u32 {
        match self {
            Self::InOrder(cuts) => (cuts.partition_point(|&cut| cut <= number) - 1) as u32,
            Self::Each(parts) => parts[number],
        }
    }

    /// The numbers of each part, increasing.
    fn numbers(&self, parts: usize) -> Result<Vec<Vec<u32>>, Refused> {
        let mut all: Vec<Vec<u32>> = Vec::new();
        match self {
            Self::InOrder(cuts) => {
                for cut in cuts.windows(2) {
                    let mut numbers = Vec::new();
                    make_room(&mut numbers, cut[1] - cut[0])?;
                    numbers.extend(cut[0] as u32..cut[1] as u32);
                    all.push(numbers);
                }
            }
            Self::Each(of) => {
                let mut counts = vec![0_usize; parts];
                for &part in of {
                    counts[part as usize] += 1;
                }
                for count in counts {
                    let mut numbers = Vec::new();
                    make_room(&mut numbers, count)?;
                    all.push(numbers);
                }
                of.iter().zip(0..).for_each(|(&part, number)| all[part as usize].push(number));
            }
        }
        Ok(all)
    }
}

impl Distribution {
    /// Most parts: as many as the largest runs of today have GPUs, with room. Chosen.
    pub const MOST_PARTS: usize = 65_536;

    /// Rows in their order: part `i` owns rows `cuts[i]..cuts[i + 1]` of the `nrows`. Entries of x: likewise if there are
    /// as many, else in equal ranges.
    ///
    /// # Errors
    /// [`DistributionError::Parts`], [`DistributionError::Cuts`].
    pub fn in_order((nrows, ncols): (usize, usize), cuts: Vec<usize>) -> Result<Self, DistributionError> {
        let parts = checked_parts(cuts.len().saturating_sub(1))?;
        let ends = cuts.first() == Some(&0) && cuts.last() == Some(&nrows);
        if !ends || cuts.windows(2).any(|cut| cut[0] > cut[1]) {
            return Err(DistributionError::Cuts { nrows });
        }
        Ok(Self::with((nrows, ncols), parts, Owners::InOrder(cuts)))
    }

    /// Rows anyhow: row `i` belongs to part `part_of_row[i]`. Entries of x as in [`Distribution::in_order`].
    ///
    /// # Errors
    /// [`DistributionError::Parts`], [`DistributionError::Length`], [`DistributionError::NoSuchPart`].
    pub fn of_parts(
        (nrows, ncols): (usize, usize),
        parts: usize,
        part_of_row: Vec<u32>,
    ) -> Result<Self, DistributionError> {
        let parts = checked_parts(parts)?;
        if part_of_row.len() != nrows {
            return Err(DistributionError::Length { nrows, got: part_of_row.len() });
        }
        if let Some(row) = part_of_row.iter().position(|&part| part as usize >= parts) {
            let part = part_of_row[row].into();
            return Err(DistributionError::NoSuchPart { row, part, last: parts - 1 });
        }
        Ok(Self::with((nrows, ncols), parts, Owners::Each(part_of_row)))
    }

    /// Reads the output of graph partitioners (METIS, `ParMETIS`, `KaHIP`) like [`Distribution::of_parts`]: the number of a
    /// part on each line, from 0 on, a line for each row. The number of parts is the largest one and one more.
    ///
    /// ```
    /// let parts = sparsight_matrix::Distribution::read_parts((3, 3), "1\n0\n1\n".as_bytes())?;
    /// assert_eq!((parts.parts(), parts.owner_of_row(2)), (2, 1));
    /// # Ok::<(), sparsight_matrix::DistributionError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Distribution::of_parts`]; [`DistributionError::NoNumber`], [`DistributionError::Io`].
    pub fn read_parts((nrows, ncols): (usize, usize), file: impl BufRead) -> Result<Self, DistributionError> {
        let mut part_of_row: Vec<u32> = Vec::new();
        make_room(&mut part_of_row, nrows)?;
        for (line, text) in file.lines().enumerate() {
            let text = text.map_err(|error| DistributionError::Io(error.to_string()))?;
            let text = text.trim();
            if text.is_empty() {
                continue;
            }
            let row = part_of_row.len();
            if row == nrows {
                return Err(DistributionError::Length { nrows, got: nrows + 1 });
            }
            let Ok(part) = text.parse::<u64>() else {
                let text = text.chars().take(40).collect();
                return Err(DistributionError::NoNumber { line: line + 1, text });
            };
            if part >= Self::MOST_PARTS as u64 {
                return Err(DistributionError::NoSuchPart { row, part, last: Self::MOST_PARTS - 1 });
            }
            part_of_row.push(part as u32);
        }
        let parts = part_of_row.iter().max().map_or(1, |&last| last as usize + 1);
        Self::of_parts((nrows, ncols), parts, part_of_row)
    }

    fn with((nrows, ncols): (usize, usize), parts: usize, rows: Owners) -> Self {
        let columns = (nrows != ncols).then(|| Owners::even(ncols, parts));
        Self { parts, nrows, ncols, rows, columns }
    }

    /// Parts, of which some may own nothing.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Rows and columns of the matrix.
    pub fn size(&self) -> (usize, usize) {
        (self.nrows, self.ncols)
    }

    /// The part that computes row `row`.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn owner_of_row(&self, row: usize) -> u32 {
        assert!(row < self.nrows, "one of {} rows", self.nrows);
        self.rows.of(row)
    }

    /// The part that holds entry `col` of x.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn owner_of_column(&self, col: usize) -> u32 {
        assert!(col < self.ncols, "one of {} columns", self.ncols);
        self.columns.as_ref().unwrap_or(&self.rows).of(col)
    }

    /// Returns whether entries of x are dealt out as rows are.
    pub fn is_square(&self) -> bool {
        self.columns.is_none()
    }

    /// The rows of each part, increasing.
    pub(super) fn rows(&self) -> Result<Vec<Vec<u32>>, Refused> {
        self.rows.numbers(self.parts)
    }

    /// The columns of each part, increasing, if they are not those of its rows.
    pub(super) fn columns(&self) -> Option<Result<Vec<Vec<u32>>, Refused>> {
        self.columns.as_ref().map(|columns| columns.numbers(self.parts))
    }

    /// Ranges of rows in their order with nearly equal sums of `weight` of a row. One pass.
    ///
    /// # Errors
    /// [`DistributionError::Parts`].
    pub fn balanced<T: Scalar>(
        a: &Csr<T>,
        parts: usize,
        weight: impl Fn(usize, u64) -> f64,
    ) -> Result<Self, DistributionError> {
        let parts = checked_parts(parts)?;
        let length = |row: usize| a.row_ptr()[row + 1] - a.row_ptr()[row];
        let of_row = |row: usize| weight(row, length(row));
        let whole: f64 = (0..a.nrows()).map(of_row).sum();
        let mut cuts = vec![0];
        let mut sum = 0.0;
        for row in 0..a.nrows() {
            // The row goes to the part in which its middle lies.
            let middle = sum + of_row(row) / 2.0;
            while cuts.len() < parts && middle > whole * cuts.len() as f64 / parts as f64 {
                cuts.push(row);
            }
            sum += of_row(row);
        }
        cuts.resize(parts, a.nrows());
        cuts.push(a.nrows());
        Self::in_order((a.nrows(), a.ncols()), cuts)
    }

    /// First row of each range, and the end, if rows were dealt out in their order.
    pub fn cuts(&self) -> Option<&[usize]> {
        match &self.rows {
            Owners::InOrder(cuts) => Some(cuts),
            Owners::Each(_) => None,
        }
    }
}

pub(super) fn checked_parts(parts: usize) -> Result<usize, DistributionError> {
    let is_possible = (1..=Distribution::MOST_PARTS).contains(&parts);
    if is_possible { Ok(parts) } else { Err(DistributionError::Parts { parts }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_in_order_are_cut_where_their_sums_say() {
        let a = Csr::try_new(4, 4, vec![0, 3, 4, 5, 6], vec![0, 1, 2, 0, 1, 2], vec![1.0; 6]).unwrap();
        let dealt = Distribution::balanced(&a, 2, |_, length| length as f64).unwrap();
        assert_eq!(dealt.cuts(), Some(&[0, 1, 4][..]));
        // More parts than rows: some are empty.
        let dealt = Distribution::balanced(&a, 7, |_, _| 1.0).unwrap();
        assert_eq!((dealt.parts(), dealt.cuts().unwrap().len()), (7, 8));
        let none = Csr::<f64>::try_new(0, 0, vec![0], vec![], vec![]).unwrap();
        assert_eq!(Distribution::balanced(&none, 3, |_, _| 1.0).unwrap().cuts(), Some(&[0, 0, 0, 0][..]));
    }

    #[test]
    fn invalid_distributions_are_refused_with_a_reason() {
        let text = |text: &str| Distribution::read_parts((3, 3), text.as_bytes()).unwrap_err().to_string();
        assert_eq!(text("0\n1\n"), "2 rows were given a part, the matrix has 3");
        assert_eq!(text("0\n1\n0\n1\n"), "4 rows were given a part, the matrix has 3");
        assert_eq!(text("0\nx\n0\n"), "line 2 is no number of a part: x");
        assert_eq!(text("0\n70000\n0\n"), "row 1 was given part 70000, there are 0 to 65535");
        let cuts = |cuts: &[usize]| Distribution::in_order((3, 3), cuts.to_vec()).unwrap_err().to_string();
        assert_eq!(cuts(&[0]), "0 parts: there may be 1 to 65536");
        assert_eq!(cuts(&[0, 2, 1, 3]), "cuts must go from 0 to 3 without decreasing");
        assert_eq!(cuts(&[1, 3]), "cuts must go from 0 to 3 without decreasing");
        let parts = Distribution::of_parts((2, 2), 2, vec![0, 2]).unwrap_err();
        assert_eq!(parts, DistributionError::NoSuchPart { row: 1, part: 2, last: 1 });
    }
}
