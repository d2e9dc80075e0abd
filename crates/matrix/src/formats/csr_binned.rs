#![doc = include_str!("csr_binned.md")]

use super::{
    FormatFamily, FormatOf, HostArray, Layout, NamedArrays, NamedNumbers, PaddingBound, Shape, Stored,
};
use crate::infeasible::check_rows;
use crate::segment::Segment;
use crate::{Bytes, Csr, Dtype, Features, Infeasible, Limits, RowLengths, Scalar};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

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
    /// Threads a row of each bin.
    pub const THREADS: [u32; 6] = [32, 16, 8, 4, 2, 1];

    /// Longest row of each bin. Chosen: up to a warp's width a thread has four entries to wait for at once at the most,
    /// and twice that would leave half of a team idle in the shortest rows; a warp has at most 16, one after the other
    /// as long as a product of a small matrix may take.
    pub const LONGEST: [u64; 6] = [512, 64, 32, 16, 8, 4];

    /// Bins of rows that are not cut.
    pub const BINS: usize = Self::THREADS.len();

    /// Entries of a segment that are worth another thread block. Chosen: 8 a thread for a block of 256. A row has
    /// `max(1, length / 2048)` segments.
    pub const SEGMENT: u64 = 2048;

    /// Bins the rows of a matrix with these row offsets. O(nrows), in parallel.
    ///
    /// # Panics
    /// If there are 2^32 rows or more.
    pub fn of(row_ptr: &[u64]) -> Self {
        let nrows = row_ptr.len() - 1;
        assert!(u32::try_from(nrows).is_ok(), "rows are named with 32 bits");
        let length = |row: u32| row_ptr[row as usize + 1] - row_ptr[row as usize];
        // Bin 0 here is that of the rows which are cut.
        let bin = |row: u32| Self::bin_of(length(row));
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
            let count = u32::try_from(Self::segments_of(length(row))).expect("of less than 2^32 entries");
            let first = u32::try_from(segments.len()).expect("2^32 segments have more entries than memory");
            let entries = (row_ptr[row as usize], length(row));
            segments.extend((0..count).map(|index| Segment::of(row, entries, first, count, index)));
        }
        Self { ends, order, starts, lengths, segments }
    }

    /// 0 for a row that is cut into segments, else one more than the place of its bin.
    fn bin_of(length: u64) -> usize {
        Self::LONGEST.iter().take_while(|&&most| length <= most).count()
    }

    /// Segments of a row that is cut.
    fn segments_of(length: u64) -> u64 {
        (length / Self::SEGMENT).max(1)
    }

    /// Whether an `nrows x ncols` matrix may be held with its bins, x and y; its bytes if so.
    ///
    /// # Errors
    /// [`Infeasible`] if `limits` are exceeded, or if there are more rows than 32 bits can name.
    pub fn check<T: Scalar>(
        (nrows, ncols): (u64, u64),
        nnz: u64,
        row_max: u64,
        limits: &Limits,
    ) -> Result<Bytes, Infeasible> {
        check_rows(nrows)?;
        let bytes = Self::device_bytes(nrows, nnz, row_max, T::DTYPE);
        limits.check_with_vectors((nrows, ncols), (nnz.into(), nnz), bytes, T::DTYPE)
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
        if row_max > Self::LONGEST[0] { nnz / Self::LONGEST[0] } else { 0 }
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

/// What [`RowBins`] make of a matrix, from its row lengths alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BinCounts {
    /// Rows that get 32, 16, 8, 4, 2 threads and one: [`RowBins::THREADS`].
    pub rows: [u64; RowBins::BINS],
    /// Segments of longer rows, for a thread block each.
    pub segments: u64,
    /// Non-zeros in them.
    pub in_segments: u64,
    /// Steps of the threads of all teams: of a row as many as its threads times what each of them goes along, `t ceil(l / t)`.
    pub steps: u64,
}

impl BinCounts {
    /// Of rows that are so long. O(different lengths).
    pub fn of(lengths: &RowLengths) -> Self {
        let mut counts = Self::default();
        for &(length, rows) in lengths.counts() {
            match RowBins::bin_of(length).checked_sub(1) {
                None => {
                    counts.segments += rows * RowBins::segments_of(length);
                    counts.in_segments += rows * length;
                }
                Some(bin) => {
                    counts.rows[bin] += rows;
                    counts.steps += rows * length.next_multiple_of(RowBins::THREADS[bin].into());
                }
            }
        }
        counts
    }

    /// Thread blocks of `block` threads that work on them: one a segment, and of each bin as many as hold its teams.
    pub fn thread_blocks(&self, block: u32) -> u64 {
        let of_bin = |(rows, threads): (u64, u32)| rows.div_ceil((block / threads).max(1).into());
        self.segments + self.rows.into_iter().zip(RowBins::THREADS).map(of_bin).sum::<u64>()
    }
}

/// A matrix with its bins.
#[derive(Debug, Clone, PartialEq)]
pub struct BinnedCsr<T> {
    /// The entries.
    pub csr: Csr<T>,
    /// The bins of its rows.
    pub bins: RowBins,
}

/// CSR with bins as one of the storage formats.
pub(super) static FORMAT: FormatFamily = FormatFamily {
    name: "csr-binned",
    knobs: &[],
    shapes: || vec![Shape::default()],
    description: include_str!("csr_binned.md"),
    padding_bound: |_| PaddingBound::AsEntries,
    stays_in_csr: true,
    generator: None,
    is_steady: false,
    elsewhere: &[],
    device_bytes: |_, f, dtype| RowBins::device_bytes(f.nrows, f.nnz, f.row_max, dtype),
    stored_entries: |_, f| f.nnz,
    padding: None,
    bits_per_column: None,
    of_f32: &BinnedFormat,
    of_f64: &BinnedFormat,
};

struct BinnedFormat;

impl<T: Scalar> FormatOf<T> for BinnedFormat {
    fn check(&self, _: Shape, f: &Features, limits: &Limits) -> Result<Bytes, Infeasible> {
        RowBins::check::<T>((f.nrows, f.ncols), f.nnz, f.row_max, limits)
    }

    fn convert(&self, _: Shape, a: &Csr<T>, limits: &Limits) -> Result<Box<dyn Stored<T>>, Infeasible> {
        let bins = checked::<T>(a.row_ptr(), a.ncols() as u64, limits)?;
        Ok(Box::new(BinnedCsr { csr: a.clone(), bins }))
    }

    /// The row offsets are not needed: each row has its own in `starts`.
    fn layout(
        &self,
        _: Shape,
        row_ptr: &[u64],
        ncols: u64,
        limits: &Limits,
    ) -> Result<Layout<T>, Infeasible> {
        let bins = checked::<T>(row_ptr, ncols, limits)?;
        let arrays = bins.arrays(row_ptr[row_ptr.len() - 1]);
        Ok(Layout::beside_csr(&["col_idx", "values"], bins.numbers(), arrays))
    }
}

fn checked<T: Scalar>(row_ptr: &[u64], ncols: u64, limits: &Limits) -> Result<RowBins, Infeasible> {
    let nrows = row_ptr.len() - 1;
    let longest = RowLengths::of_offsets(row_ptr).max();
    RowBins::check::<T>((nrows as u64, ncols), row_ptr[nrows], longest, limits)?;
    Ok(RowBins::of(row_ptr))
}

impl RowBins {
    fn numbers(&self) -> NamedNumbers {
        let names = ["cut", "end_32", "end_16", "end_8", "end_4", "end_2", "end_1"];
        let ends = names.into_iter().zip(self.ends);
        std::iter::once(("segment_count", self.segments.len() as u64)).chain(ends).collect()
    }

    /// Of a matrix with `nnz` non-zeros.
    fn arrays<T: Scalar>(&self, nnz: u64) -> NamedArrays<'static, T> {
        let longest = self.lengths.first().copied().unwrap_or_default();
        let places = Self::segment_places(nnz, longest.into()) as usize;
        let starts = HostArray::Offsets { offsets: self.starts.clone().into(), nnz };
        let mut arrays = vec![
            ("order", HostArray::U32(self.order.clone().into())),
            ("starts", starts),
            ("lengths", HostArray::U32(self.lengths.clone().into())),
        ];
        arrays.extend(Segment::arrays(&self.segments, places));
        arrays
    }
}

impl<T: Scalar> Stored<T> for BinnedCsr<T> {
    fn numbers(&self) -> NamedNumbers {
        self.bins.numbers()
    }

    fn row_order(&self) -> &[u32] {
        self.bins.order()
    }

    fn arrays(&self) -> NamedArrays<'_, T> {
        let mut arrays = self.bins.arrays(self.csr.nnz() as u64);
        arrays.extend(self.csr.arrays().into_iter().filter(|(name, _)| *name != "row_ptr"));
        arrays
    }

    fn values_mut(&mut self) -> Vec<&mut [T]> {
        self.csr.values_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(lengths: &[u64]) -> RowBins {
        let mut row_ptr = vec![0];
        for length in lengths {
            row_ptr.push(row_ptr[row_ptr.len() - 1] + length);
        }
        RowBins::of(&row_ptr)
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
        let counts =
            BinCounts::of(&RowLengths::from_counts([(1, 1), (2, 1), (3, 1), (5, 1), (70, 1), (9000, 1)]));
        // 70 entries by 32 threads: 3 steps of each; 5 by 2: 3 of each; the others by one.
        assert_eq!((counts.rows, counts.steps), ([1, 0, 0, 0, 1, 3], 96 + 6 + 3 + 2 + 1));
        assert_eq!((counts.segments, counts.in_segments), (4, 9000));
        assert_eq!(counts.thread_blocks(64), 4 + 3);
    }

    #[test]
    fn what_is_counted_from_row_lengths_is_what_the_bins_hold() {
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
