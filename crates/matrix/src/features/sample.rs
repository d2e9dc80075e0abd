//! Closeness of the columns of neighbouring rows, counted on a sample.
//!
//! A *piece* is what up to `rows` neighbouring rows hold, cut after every `most` non-zeros where that is more. Pieces
//! cover the matrix without overlap. Up to `pieces` of them are looked at: all if there are no more, else those that
//! hold `pieces` non-zeros scattered evenly over the matrix, so that a piece is drawn with a probability in proportion to
//! its non-zeros, and the plain mean of the shares found in the drawn ones estimates the share in the whole without
//! bias (Hansen and Hurwitz 1943). Which ones follows from the matrix alone.

use super::Rows;
use crate::{Pattern, mix};
use rayon::prelude::*;
use std::ops::Range;

/// Cut of a matrix into pieces, and how many of them are sampled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sampling {
    pub(super) rows: usize,
    pub(super) most: usize,
    pub(super) pieces: usize,
}

/// Non-zeros of some neighbouring rows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Piece {
    pub(super) rows: Range<usize>,
    /// Places in `col_idx`.
    pub(super) entries: Range<usize>,
}

impl Sampling {
    /// Mean over all non-zeros of what `count` counts in a piece, each count between 0 and the non-zeros of the piece.
    /// Zeros without non-zeros.
    pub(super) fn shares<const N: usize, S: Default + Send>(
        &self,
        rows: &Rows<'_>,
        count: impl Fn(&mut S, &Piece) -> [u64; N] + Sync,
    ) -> [f64; N] {
        let nnz = rows.nnz();
        if nnz == 0 {
            return [0.0; N];
        }
        if let Some(all) = self.all(rows) {
            let counts = all.par_iter().map_init(S::default, &count);
            let sums = counts.reduce(|| [0; N], combined);
            return sums.map(|sum| sum as f64 / nnz as f64);
        }
        let mut drawn: Vec<(Piece, u32)> = Vec::with_capacity(self.pieces);
        for piece in (0..self.pieces)
            .map(|draw| self.piece_of(rows, rows.entries().start + position(nnz, draw, self.pieces)))
        {
            match drawn.last_mut() {
                Some((last, times)) if *last == piece => *times += 1,
                _ => drawn.push((piece, 1)),
            }
        }
        let counts: Vec<[u64; N]> =
            drawn.par_iter().map_init(S::default, |scratch, (piece, _)| count(scratch, piece)).collect();
        // In the order of the draws: a sum of floats depends on it.
        let mut sums = [0.0; N];
        for ((piece, times), counts) in drawn.iter().zip(counts) {
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum += f64::from(*times) * count as f64 / piece.entries.len() as f64;
            }
        }
        sums.map(|sum| sum / self.pieces as f64)
    }

    /// Every piece that holds a non-zero, if there are no more than are looked at.
    fn all(&self, rows: &Rows<'_>) -> Option<Vec<Piece>> {
        if rows.count().div_ceil(self.rows) > self.pieces || rows.nnz() / self.most > self.pieces {
            return None;
        }
        let mut all = Vec::new();
        let Range { start: mut at, end } = rows.entries();
        while at < end {
            if all.len() == self.pieces {
                return None;
            }
            let piece = self.piece_of(rows, at);
            at = piece.entries.end;
            all.push(piece);
        }
        Some(all)
    }

    /// The piece that holds entry `at`.
    fn piece_of(&self, rows: &Rows<'_>, at: usize) -> Piece {
        let ptr = rows.a.row_ptr;
        let begin = rows.range.start;
        let row = begin + rows.row_ptr().partition_point(|&start| start as usize <= at) - 1;
        let first = begin + (row - begin) / self.rows * self.rows;
        let last = (first + self.rows).min(rows.range.end);
        let (from, to) = (ptr[first] as usize, ptr[last] as usize);
        let start = from + (at - from) / self.most * self.most;
        let end = (start + self.most).min(to);
        if from == start && end == to {
            return Piece { rows: first..last, entries: start..end };
        }
        // Only the rows that have non-zeros in the piece.
        let from_row = first + ptr[first..last].partition_point(|&p| p as usize <= start) - 1;
        let to_row = first + ptr[first..last].partition_point(|&p| (p as usize) < end);
        Piece { rows: from_row..to_row, entries: start..end }
    }
}

/// A place in the equal part of `nnz` non-zeros that draw `draw` of `draws` has: somewhere in it, or a matrix whose rows repeat with the
/// same period would always show the same ones.
pub(super) fn position(nnz: usize, draw: usize, draws: usize) -> usize {
    let at = |draw: usize| (draw as u128 * nnz as u128 / draws as u128) as usize;
    let (from, to) = (at(draw), at(draw + 1));
    from + mix(draw as u64) as usize % (to - from).max(1)
}

pub(super) fn combined<const N: usize>(mut sums: [u64; N], more: [u64; N]) -> [u64; N] {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum += more;
    }
    sums
}

impl Piece {
    /// The part of `row` that lies in the piece, as places in `col_idx`.
    pub(super) fn part(&self, a: Pattern<'_>, row: usize) -> Range<usize> {
        let (from, to) = (a.row_ptr[row] as usize, a.row_ptr[row + 1] as usize);
        from.max(self.entries.start)..to.min(self.entries.end).max(from.max(self.entries.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;

    /// Rows of 0, 1, .. 6 non-zeros in turn, and one of 100.
    fn matrix() -> Csr<f32> {
        let lengths = (0..200).map(|row| if row == 77 { 100 } else { row % 7 });
        let mut ptr = vec![0];
        let mut cols = Vec::new();
        for length in lengths {
            cols.extend((0..length as u32).map(|k| k * 3));
            ptr.push(cols.len() as u64);
        }
        Csr::try_new(200, 300, ptr, cols.clone(), vec![1.0; cols.len()]).unwrap()
    }

    #[test]
    fn pieces_cover_every_non_zero_once_within_their_limits() {
        let a = matrix();
        let sampling = Sampling { rows: 8, most: 16, pieces: 1000 };
        let all = sampling.all(&Rows::all((&a).into())).unwrap();
        let mut at = 0;
        for piece in &all {
            assert_eq!(piece.entries.start, at);
            assert!(piece.rows.len() <= 8 && (1..=16).contains(&piece.entries.len()), "{piece:?}");
            let parts: Vec<_> = piece.rows.clone().map(|row| piece.part((&a).into(), row)).collect();
            assert_eq!(parts.iter().map(Range::len).sum::<usize>(), piece.entries.len(), "{piece:?}");
            at = piece.entries.end;
        }
        assert_eq!(at, a.nnz());
        for (at, piece) in all.iter().flat_map(|piece| piece.entries.clone().map(move |at| (at, piece))) {
            assert_eq!(&sampling.piece_of(&Rows::all((&a).into()), at), piece);
        }
    }

    #[test]
    fn a_sample_of_everything_is_exact_and_a_smaller_one_is_near() {
        let a = matrix();
        // Non-zeros in even columns.
        let even = |(): &mut (), piece: &Piece| {
            [a.col_idx()[piece.entries.clone()].iter().filter(|&col| col % 2 == 0).count() as u64]
        };
        let exact = a.col_idx().iter().filter(|&col| col % 2 == 0).count() as f64 / a.nnz() as f64;
        let of = |pieces| Sampling { rows: 8, most: 16, pieces }.shares(&Rows::all((&a).into()), even)[0];
        assert_eq!(of(1000).to_bits(), exact.to_bits());
        assert!(Sampling { rows: 8, most: 16, pieces: 30 }.all(&Rows::all((&a).into())).is_none());
        assert!((of(30) - exact).abs() < 0.05, "{} {exact}", of(30));
    }

    #[test]
    fn any_number_of_threads_draws_the_same() {
        let a = matrix();
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| crate::Features::of(&a))
        };
        assert_eq!(with(1), with(4));
        let shares = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let first = |(): &mut (), piece: &Piece| [u64::from(piece.entries.start.is_multiple_of(3))];
            pool.install(|| {
                Sampling { rows: 4, most: 8, pieces: 20 }.shares(&Rows::all((&a).into()), first)[0].to_bits()
            })
        };
        assert_eq!(shares(1), shares(4));
    }
}
