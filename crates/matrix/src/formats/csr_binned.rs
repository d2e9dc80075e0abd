#![doc = include_str!("csr_binned.md")]

use super::csr::{CsrTable, TableFormat};
use super::segment::Segment;
use super::{CsrRows, CsrWith, FormatFamily, HostArray, NamedArrays, NamedNumbers, Shape};
use crate::{BinCounts, Bytes, Csr, Dtype, Features, Infeasible, Limits, MatrixSize, Scalar};
use rayon::prelude::*;
use std::marker::PhantomData;

/// Rows that one task bins. Chosen: some 100 us of work.
const ROWS_PER_TASK: usize = 1 << 16;

/// The rows of a matrix in bins; its entries stay where the [`Csr`] has them.
///
/// # Invariants
/// Held by construction: `order` holds every row once. `ends[b] .. ends[b + 1]` are the places of the rows in bin `b`,
/// those before `ends[0]` of the rows that are cut into segments.
#[derive(Debug, Clone, PartialEq)]
pub struct RowBins {
    ends: [u64; Self::BINS + 1],
    order: Vec<u32>,
    starts: Vec<u64>,
    lengths: Vec<u32>,
    segments: Vec<Segment>,
}

impl RowBins {
    /// Bins of rows that are not cut.
    pub const BINS: usize = BinCounts::BINS;

    /// Bins the rows of a matrix with these row offsets. O(nrows), in parallel.
    ///
    /// # Panics
    /// If there are 2^32 rows or more.
    pub fn of(row_ptr: &[u64]) -> Self {
        let nrows = row_ptr.len() - 1;
        assert!(u32::try_from(nrows).is_ok(), "rows are named with 32 bits");
        let length = |row: u32| row_ptr[row as usize + 1] - row_ptr[row as usize];
        // Bin 0 here is that of the rows which are cut.
        let bin = |row: u32| BinCounts::bin_of(length(row));
        let tasks: Vec<[Vec<u32>; Self::BINS + 1]> = (0..nrows.div_ceil(ROWS_PER_TASK))
            .into_par_iter()
            .map(|task| {
                let mut bins: [Vec<u32>; Self::BINS + 1] = Default::default();
                let rows = task * ROWS_PER_TASK..nrows.min((task + 1) * ROWS_PER_TASK);
                for row in rows {
                    bins[bin(row as u32)].push(row as u32);
                }
                bins
            })
            .collect();
        let mut order = Vec::with_capacity(nrows);
        let ends = std::array::from_fn(|bin| {
            for bins in &tasks {
                order.extend_from_slice(&bins[bin]);
            }
            order.len() as u64
        });
        let starts = order.par_iter().map(|&row| row_ptr[row as usize]).collect();
        let lengths = order.par_iter().map(|&row| length(row) as u32).collect();
        let mut segments = Vec::new();
        for &row in &order[..ends[0] as usize] {
            let count =
                u32::try_from(BinCounts::segments_of(length(row))).expect("of less than 2^32 entries");
            let first = u32::try_from(segments.len()).expect("2^32 segments have more entries than memory");
            let entries = (row_ptr[row as usize], length(row));
            segments.extend((0..count).map(|index| Segment::of(row, entries, first, count, index)));
        }
        Self { ends, order, starts, lengths, segments }
    }

    /// Bytes of a matrix of that size with its bins, if it may be held with its x and y.
    ///
    /// # Errors
    /// [`Infeasible`] if `limits` are exceeded, or if there are more rows than 32 bits can name.
    pub fn check<T: Scalar>(size: MatrixSize, row_max: u64, limits: &Limits) -> Result<Bytes, Infeasible> {
        limits.check_unpadded(size, Self::device_bytes(size.nrows, size.nnz, row_max, T::DTYPE), T::DTYPE)
    }

    /// Bytes on a device: an index and a value a non-zero, the number, offset and length of each row, and
    /// [`RowBins::segment_places`] for a [`Segment`] with a partial sum and a counter; saturates.
    pub fn device_bytes(nrows: u64, nnz: u64, row_max: u64, dtype: Dtype) -> Bytes {
        let rows = nrows.saturating_mul(8 + Csr::<f32>::offset_bytes(nnz));
        let entries = nnz.saturating_mul(4 + dtype.bytes());
        let segments = Segment::device_bytes(Self::segment_places(nnz, row_max)).0;
        Bytes(rows.saturating_add(entries).saturating_add(segments))
    }

    /// Places for segments, at least as many as there are: since a segment has more than 512 entries, `nnz / 512` if
    /// the longest row is beyond the bins, else none. Known without looking at the matrix.
    pub const fn segment_places(nnz: u64, row_max: u64) -> u64 {
        if row_max > BinCounts::LONGEST[0] { nnz / BinCounts::LONGEST[0] } else { 0 }
    }

    /// End of the rows that are cut, and of each bin, in places.
    pub fn ends(&self) -> [u64; Self::BINS + 1] {
        self.ends
    }

    /// Row at each place.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// First entry of the row at each place.
    pub fn starts(&self) -> &[u64] {
        &self.starts
    }

    /// Entries of the row at each place.
    pub fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// Segments of the rows before `ends()[0]`.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }
}

/// A matrix with the bins of its rows.
pub type BinnedCsr<T> = CsrWith<T, RowBins>;

/// CSR with bins as one of the storage formats.
pub(super) static FORMAT: FormatFamily = FormatFamily {
    name: "csr-binned",
    description: include_str!("csr_binned.md"),
    stays_in_csr: true,
    device_bytes: |_, f, dtype| RowBins::device_bytes(f.nrows, f.nnz, f.row_max, dtype),
    ..FormatFamily::base(&TableFormat::<RowBins>(PhantomData))
};

/// The row offsets are not needed: each row has its own in `starts`.
impl CsrTable for RowBins {
    const KEEPS: &'static [&'static str] = &["col_idx", "values"];

    fn check_features<T: Scalar>(_: Shape, f: &Features, limits: &Limits) -> Result<Bytes, Infeasible> {
        Self::check::<T>(f.into(), f.row_max, limits)
    }

    fn try_of<T: Scalar>(_: Shape, csr: CsrRows<'_>, limits: &Limits) -> Result<Self, Infeasible> {
        Self::check::<T>(csr.size(), csr.longest(), limits)?;
        Ok(Self::of(csr.row_ptr))
    }

    fn row_order(&self) -> &[u32] {
        &self.order
    }

    fn numbers(&self) -> NamedNumbers {
        let names = ["cut", "end_32", "end_16", "end_8", "end_4", "end_2", "end_1"];
        let ends = names.into_iter().zip(self.ends);
        std::iter::once(("segment_count", self.segments.len() as u64)).chain(ends).collect()
    }

    fn arrays<T: Scalar>(&self, nnz: u64) -> NamedArrays<'static, T> {
        let longest = self.lengths.first().copied().unwrap_or_default();
        let places = Self::segment_places(nnz, longest.into()) as usize;
        let starts = HostArray::Offsets { offsets: self.starts.clone().into(), nnz };
        let mut arrays = vec![
            ("order", HostArray::u32s(self.order.clone())),
            ("starts", starts),
            ("lengths", HostArray::u32s(self.lengths.clone())),
        ];
        arrays.extend(Segment::arrays(&self.segments, places));
        arrays
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RowLengths;
    use crate::csr::offsets;

    fn bins(lengths: &[u64]) -> RowBins {
        RowBins::of(&offsets(lengths.iter().copied()))
    }

    #[test]
    fn the_bins_of_the_picture_are_those_worked_by_hand() {
        let binned = bins(&[2, 70, 5, 3, 9000, 1]);
        assert_eq!(binned.order(), [4, 1, 2, 0, 3, 5]);
        assert_eq!(binned.starts(), [80, 2, 72, 0, 77, 9080]);
        assert_eq!(binned.lengths(), [9000, 70, 5, 2, 3, 1]);
        // Bins of 32, 16, 8, 4, 2 and 1 threads.
        assert_eq!(binned.ends(), [1, 2, 2, 2, 2, 3, 6]);
        let lengths: Vec<u32> = binned.segments().iter().map(|s| s.length).collect();
        assert_eq!(lengths, [2250; 4]);
    }

    #[test]
    fn bin_sizes_counted_from_row_lengths_match_the_bins() {
        let lengths: Vec<u64> =
            (0..5_000).map(|row| crate::mix(row) % (1 + crate::mix(row * 7) % 5_000)).collect();
        let binned = bins(&lengths);
        let counts = BinCounts::of(&RowLengths::from_counts(lengths.iter().map(|&length| (length, 1))));
        let rows: Vec<u64> = binned.ends().windows(2).map(|ends| ends[1] - ends[0]).collect();
        assert_eq!(counts.rows.to_vec(), rows);
        assert_eq!(counts.segments, binned.segments().len() as u64);
        let in_segments: u64 = binned.segments().iter().map(|segment| u64::from(segment.length)).sum();
        assert_eq!(counts.in_segments, in_segments);
    }

    #[test]
    fn limits_belong_to_their_bins_and_empty_rows_to_the_last() {
        let binned = bins(&[513, 512, 65, 64, 33, 32, 17, 16, 9, 8, 5, 4, 0]);
        assert_eq!(binned.ends(), [1, 3, 5, 7, 9, 11, 13]);
        assert_eq!(binned.order(), (0..13).collect::<Vec<u32>>());
        assert_eq!(binned.segments().len(), 1, "one thread block");
        assert!(bins(&[512; 9]).segments().is_empty());
        assert_eq!(bins(&[]).ends(), [0; 7]);
    }

    #[test]
    fn more_rows_than_a_task_keep_their_order_within_a_bin() {
        let lengths: Vec<u64> = (0..3 * ROWS_PER_TASK as u64 + 5).map(|row| crate::mix(row) % 9).collect();
        let binned = bins(&lengths);
        for w in binned.ends().windows(2) {
            assert!(binned.order()[w[0] as usize..w[1] as usize].is_sorted());
        }
        assert!(binned.order()[binned.ends()[4] as usize..].iter().all(|&row| lengths[row as usize] <= 8));
    }
}
