#![doc = include_str!("csr_segmented.md")]

use super::csr::{CsrTable, TableFormat};
use super::{CsrRows, CsrWith, Element, FormatFamily, HostArray, NamedArrays, NamedNumbers, Shape};
use crate::{Bytes, Dtype, Features, Infeasible, Limits, MatrixSize, Scalar};
use rayon::prelude::*;
use std::marker::PhantomData;

/// Runs that one task marks. Chosen: some 10 us of work.
const RUNS_PER_TASK: usize = 64;

/// Beginnings of the rows of a matrix, run by run.
///
/// # Invariants
/// Held by construction: a bit is set in `begins` for each row with entries; `bases` and `carries` follow from these. `rows` and
/// `empty` hold every row once between them, or are both without any where no row is empty.
#[derive(Debug, Clone, PartialEq)]
pub struct RowBegins {
    begins: Vec<u32>,
    bases: Vec<u32>,
    rows: Vec<u32>,
    empty: Vec<u32>,
    carries: Vec<Carry>,
}

/// A row that reaches beyond the run in which it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carry {
    /// The row.
    pub row: u32,
    /// The run behind the one in which it begins.
    pub first: u32,
    /// Runs from there on that have entries of it.
    pub count: u32,
}

impl Carry {
    /// Words that kernels read in one load of 16 bytes.
    const fn words(&self) -> [u32; 4] {
        [self.row, self.first, self.count, 0]
    }
}

impl RowBegins {
    /// Entries of a run, which a warp takes: 8 steps of 4 entries a thread. The same number stands in `csr_segmented.cu`.
    pub const RUN: u64 = 1024;

    /// Bytes on a device beside each run: a bit an entry, the base, a sum of 8 bytes whatever it is computed in, a [`Carry`].
    const BYTES_PER_RUN: u64 = Self::RUN / 8 + 4 + 8 + 16;

    /// Marks where the rows with these offsets begin. O(nrows + nnz / 1024), in parallel.
    ///
    /// # Panics
    /// If there are 2^32 rows or more.
    pub fn of(row_ptr: &[u64]) -> Self {
        let nrows = row_ptr.len() - 1;
        let count = u32::try_from(nrows).expect("rows are named with 32 bits");
        let is_empty = |row: u32| row_ptr[row as usize] == row_ptr[row as usize + 1];
        let empty: Vec<u32> = (0..count).into_par_iter().filter(|&row| is_empty(row)).collect();
        let rows: Vec<u32> = if empty.is_empty() {
            Vec::new()
        } else {
            (0..count).into_par_iter().filter(|&row| !is_empty(row)).collect()
        };
        let with_entries = nrows - empty.len();
        let row_of = |place: usize| if rows.is_empty() { place } else { rows[place] as usize };
        // Rows with entries that begin before an entry.
        let begun = |entry: u64| {
            if rows.is_empty() {
                row_ptr[..with_entries].partition_point(|&start| start < entry)
            } else {
                rows.partition_point(|&row| row_ptr[row as usize] < entry)
            }
        };
        let runs = row_ptr[nrows].div_ceil(Self::RUN) as usize;
        let mut begins = vec![0_u32; runs * Self::RUN as usize / 32];
        let mut bases = vec![0_u32; runs];
        let words_of_task = RUNS_PER_TASK * Self::RUN as usize / 32;
        let tasks = begins.par_chunks_mut(words_of_task).zip(bases.par_chunks_mut(RUNS_PER_TASK));
        tasks.enumerate().for_each(|(task, (begins, bases))| {
            let first = (task * RUNS_PER_TASK) as u64 * Self::RUN;
            let mut place = begun(first);
            for (run, base) in bases.iter_mut().enumerate() {
                *base = place as u32;
                let end = first + (run as u64 + 1) * Self::RUN;
                while place < with_entries && row_ptr[row_of(place)] < end {
                    let at = (row_ptr[row_of(place)] - first) as usize;
                    begins[at / 32] |= 1 << (at % 32);
                    place += 1;
                }
            }
        });
        let carry = |run: usize| {
            let row = row_of(bases[run] as usize - 1);
            let (start, end) = (row_ptr[row] / Self::RUN, row_ptr[row + 1]);
            let is_first = start + 1 == run as u64 && end > run as u64 * Self::RUN;
            let count = || (end - 1) / Self::RUN - start;
            is_first.then(|| Carry { row: row as u32, first: run as u32, count: count() as u32 })
        };
        let carries = (1..runs).into_par_iter().filter_map(carry).collect();
        Self { begins, bases, rows, empty, carries }
    }

    /// Bytes of a matrix of that size with these marks, if it may be held with its x and y.
    ///
    /// # Errors
    /// [`Infeasible`] if `limits` are exceeded, or if there are more rows than 32 bits can name.
    pub fn check<T: Scalar>(size: MatrixSize, empty_rows: u64, limits: &Limits) -> Result<Bytes, Infeasible> {
        limits.check_unpadded(size, Self::device_bytes(size.nrows, size.nnz, empty_rows, T::DTYPE), T::DTYPE)
    }

    /// Bytes on a device: an index and a value a non-zero, 156 bytes a run, and the number of each row where any is empty;
    /// saturates.
    pub fn device_bytes(nrows: u64, nnz: u64, empty_rows: u64, dtype: Dtype) -> Bytes {
        let entries = nnz.saturating_mul(4 + dtype.bytes());
        let runs = nnz.div_ceil(Self::RUN).saturating_mul(Self::BYTES_PER_RUN);
        let rows = if empty_rows > 0 { nrows.saturating_mul(4) } else { 0 };
        Bytes(entries.saturating_add(runs).saturating_add(rows))
    }
}

/// The row offsets are not needed.
impl CsrTable for RowBegins {
    const KEEPS: &'static [&'static str] = &["col_idx", "values"];

    fn check_features<T: Scalar>(_: Shape, f: &Features, limits: &Limits) -> Result<Bytes, Infeasible> {
        Self::check::<T>(f.into(), f.empty_rows, limits)
    }

    fn try_of<T: Scalar>(_: Shape, csr: CsrRows<'_>, limits: &Limits) -> Result<Self, Infeasible> {
        let empty_rows = csr.row_ptr.par_windows(2).filter(|ends| ends[0] == ends[1]).count() as u64;
        Self::check::<T>(csr.size(), empty_rows, limits)?;
        Ok(Self::of(csr.row_ptr))
    }

    fn numbers(&self) -> NamedNumbers {
        vec![
            ("run_count", self.bases.len() as u64),
            ("named", self.rows.len() as u64),
            ("carry_count", self.carries.len() as u64),
            ("empty_count", self.empty.len() as u64),
        ]
    }

    fn arrays<T: Scalar>(&self, _: u64) -> NamedArrays<'static, T> {
        let runs = self.bases.len();
        let mut carries: Vec<u32> = self.carries.par_iter().flat_map_iter(Carry::words).collect();
        // So that the number of rows that are carried need not be known to say how much memory there has to be.
        carries.resize(4 * runs, 0);
        vec![
            ("begins", HostArray::u32s(self.begins.clone())),
            ("bases", HostArray::u32s(self.bases.clone())),
            ("rows", HostArray::u32s(self.rows.clone())),
            ("carries", HostArray::u32s(carries)),
            ("empty", HostArray::u32s(self.empty.clone())),
            ("heads", HostArray::room(Element::U64, runs as u64)),
        ]
    }
}

/// A matrix with the marks of its rows.
pub type SegmentedCsr<T> = CsrWith<T, RowBegins>;

/// CSR with a bit an entry as one of the storage formats.
pub(super) static FORMAT: FormatFamily = FormatFamily {
    name: "csr-segmented",
    description: include_str!("csr_segmented.md"),
    stays_in_csr: true,
    device_bytes: |_, f, dtype| RowBegins::device_bytes(f.nrows, f.nnz, f.empty_rows, dtype),
    ..FormatFamily::base(&TableFormat::<RowBegins>(PhantomData))
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csr::offsets;

    fn of(lengths: &[u64]) -> RowBegins {
        RowBegins::of(&offsets(lengths.iter().copied()))
    }

    #[test]
    fn the_marks_of_a_small_matrix_are_those_worked_by_hand() {
        // Rows 0, 2 and 3 begin at 0, 3 and 1,023; row 3 has all of run 1 and one entry of run 2, in which row 4 begins.
        let marks = of(&[3, 0, 1020, 1026, 2]);
        let set: Vec<usize> =
            (0..3 * 1024).filter(|at| marks.begins[at / 32] >> (at % 32) & 1 == 1).collect();
        assert_eq!(set, [0, 3, 1023, 2049]);
        assert_eq!(
            (&marks.bases[..], &marks.rows[..], &marks.empty[..]),
            (&[0, 3, 3][..], &[0, 2, 3, 4][..], &[1][..])
        );
        assert_eq!(marks.carries, [Carry { row: 3, first: 1, count: 2 }]);
        // A row that ends with its run is carried nowhere, nor one that begins with it.
        assert!(of(&[1024, 1024, 5]).carries.is_empty());
        assert_eq!((of(&[7; 300]).rows.len(), of(&[7; 300]).carries.len()), (0, 2));
    }

    #[test]
    fn no_rows_and_no_entries_are_marked_too() {
        assert_eq!(
            of(&[]).numbers(),
            [("run_count", 0), ("named", 0), ("carry_count", 0), ("empty_count", 0)]
        );
        assert_eq!(
            of(&[0, 0]).numbers(),
            [("run_count", 0), ("named", 0), ("carry_count", 0), ("empty_count", 2)]
        );
    }

    #[test]
    fn marks_of_many_tasks_are_those_of_each_row() {
        let lengths: Vec<u64> = (0..40_000).map(|row| crate::mix(row) % 13).chain([5_000, 0, 1]).collect();
        let marks = of(&lengths);
        let (mut at, mut wanted) = (0, vec![0_u32; marks.begins.len()]);
        for &length in lengths.iter().filter(|length| **length > 0) {
            wanted[at / 32] |= 1 << (at % 32);
            at += length as usize;
        }
        assert_eq!(marks.begins, wanted);
        let before = |run: usize| wanted[..run * 32].iter().map(|word| word.count_ones()).sum::<u32>();
        assert!(marks.bases.iter().enumerate().all(|(run, base)| *base == before(run)));
        assert!(marks.carries.iter().any(|carry| carry.row == 40_000 && carry.count >= 4));
    }
}
