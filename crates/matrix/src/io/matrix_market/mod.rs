//! Matrix Market files: `coordinate` and `array`, `real`, `double`, `integer` and `pattern`, every symmetry.
//!
//! Blocks of whole lines are read by as many threads as the current rayon pool has; each counts its own lines,
//! so that a fault is reported at its line of the file, and always the first fault is.
//!
//! Choices where the format says nothing:
//! * An entry above the diagonal of a symmetric matrix is mirrored like any other; if its mirror image is stored
//!   too, the two are duplicates. A file that stores the whole of both triangles is remarked upon.
//! * Duplicates are added up, except in a pattern.
//! * A stored 0 is a non-zero of the structure in `coordinate`, and nothing in `array`.
//! * Complex values, and values that are not finite, are refused, unless only places are asked for.
//! * What other programs write and the format does not allow is read where its meaning is plain, and remarked upon: one percent sign
//!   in the banner, words behind it, comments behind `#`, values on the diagonal of a skew-symmetric matrix.

mod fault;
mod header;
mod line;

pub use fault::{Found, MatrixMarketFault};
pub(super) use header::{Size, size_of_text};
pub(super) use line::number_as_fortran;

use super::assemble::{Buckets, Chunk, Entry, Payload, assemble, finished_bytes};
use super::blocks::{BLOCK, Block, Blocks};
use super::memory::{Budget, Refused, check_rows, make_room};
use super::options::{Source, pattern_value};
use super::rows::Merge;
use super::{Field, Layout, Loaded, Place, Progress, ReadError, ReadOptions, Remark, Stored, Symmetry};
use crate::{Bytes, Csr, Pattern, Scalar};
use fault::MOST_EMPTY_BLOCKS;
use header::{Beginning, Header, HeaderReader};
use line::{Grammar, LineFault, Skipped};
use rayon::prelude::*;
use std::mem::size_of;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Reads a Matrix Market file from `blocks`. `total`: bytes of the file, for progress.
pub(super) fn read<T: Scalar>(
    blocks: &Blocks<'_>,
    total: Bytes,
    Source { path, options, .. }: Source<'_>,
) -> Result<Loaded<T>, ReadError> {
    let (header, reader, beginning, rest) = read_header(blocks, path)?;
    let HeaderReader { lines: header_lines, remarks, .. } = reader;
    if header.banner.field == Field::Complex && !options.places_only {
        return Err(fault_at(path, 1, (header.banner.field_at, MatrixMarketFault::Complex)));
    }
    if let Some(declared) = options.declared {
        declared([header.nrows, header.ncols, header.entries]);
    }
    let body = Body {
        path,
        options,
        total,
        budget: Budget::new(options),
        header,
        header_lines,
        grammar: Grammar {
            nrows: header.nrows,
            ncols: header.ncols,
            integer: header.banner.field == Field::Integer,
        },
        buckets: Buckets::new(header.nrows as usize),
        blocks,
        first: Mutex::new(rest),
        stop: AtomicBool::new(false),
        kept: AtomicU64::new(0),
        empty: AtomicUsize::new(0),
        done: Mutex::new(0),
    };
    body.budget.check(path, finished_bytes::<T>(header.nrows, 0))?;
    check_rows(path, header.nrows.max(header.ncols), header.entries)?;
    let mut loaded = body.matrix().map_err(|error| match error {
        ReadError::MatrixMarket { fault: MatrixMarketFault::Outside { .. }, .. }
            if !header.banner.array && beginning.is_size_missing() =>
        {
            let (line, _) = header.entries_at;
            fault_at(path, line, (0, MatrixMarketFault::SizeMissing { line }))
        }
        other => other,
    })?;
    loaded.remarks = remarks;
    if has_both_triangles((&loaded.matrix).into(), &loaded.stored) {
        let is_pattern = header.banner.field == Field::Pattern;
        loaded.remarks.push(Remark::BothTriangles { symmetry: header.banner.symmetry, is_pattern });
    }
    if header.banner.symmetry == Symmetry::SkewSymmetric {
        let entries = values_on_the_diagonal(&loaded.matrix);
        loaded.remarks.extend((entries > 0).then_some(Remark::SkewDiagonal { entries }));
    }
    Ok(loaded)
}

/// Entries on the diagonal that are not 0.
fn values_on_the_diagonal<T: Scalar>(a: &Csr<T>) -> u64 {
    let is_set = |row: &usize| {
        let (cols, values) = a.row(*row);
        cols.binary_search(&(*row as u32)).is_ok_and(|at| values[at] != T::default())
    };
    (0..a.nrows()).into_par_iter().filter(is_set).count() as u64
}

/// Returns whether a file of one triangle holds both: as many entries as the whole matrix, and each off the diagonal fell on the mirror
/// image of another. Only a file with duplicates is looked at.
fn has_both_triangles(a: Pattern<'_>, stored: &Stored) -> bool {
    let (is_one_triangle, nnz) = (stored.symmetry != Symmetry::General, a.col_idx.len());
    if !is_one_triangle || stored.duplicates == 0 || stored.entries != nnz as u64 {
        return false;
    }
    let has_diagonal = |row: &usize| a.row(*row).binary_search(&(*row as u32)).is_ok();
    stored.duplicates == (nnz - (0..a.nrows).filter(has_diagonal).count()) as u64
}

/// Reads blocks until the header is complete; gives what is left of the last one.
fn read_header(
    blocks: &Blocks<'_>,
    path: &Path,
) -> Result<(Header, HeaderReader, Beginning, Option<Unread>), ReadError> {
    let mut reader = HeaderReader::default();
    while let Some(block) = blocks.next().map_err(|(_, error)| error)? {
        if block.index > MOST_EMPTY_BLOCKS {
            return Err(fault_at(path, reader.lines, (0, MatrixMarketFault::NothingButComments)));
        }
        let mut at = 0;
        while at < block.bytes.len() {
            let line = line::line_at(&block.bytes, at);
            // The last line may lack its end.
            at = (at + line.len() + 1).min(block.bytes.len());
            let header = reader.take(line);
            if block.cut {
                let is_mac = reader.has_lone_cr;
                let fault =
                    if is_mac { MatrixMarketFault::CarriageReturns } else { MatrixMarketFault::LongLine };
                return Err(fault_at(path, reader.lines, (0, fault)));
            }
            let beginning = || Beginning::new(line, &block.bytes[at..], block.bytes.len() < BLOCK);
            let header = match header {
                Err((column, MatrixMarketFault::NotSquare { .. }))
                    if reader.is_coordinate() && beginning().is_size_missing() =>
                {
                    let fault = MatrixMarketFault::SizeMissing { line: reader.lines };
                    return Err(fault_at(path, reader.lines, (column, fault)));
                }
                other => other.map_err(|fault| fault_at(path, reader.lines, fault))?,
            };
            if let Some(header) = header {
                let beginning = beginning();
                return Ok((header, reader, beginning, Some(Unread { block, at })));
            }
        }
    }
    Err(fault_at(path, reader.lines.max(1), (0, reader.end())))
}

fn fault_at(path: &Path, line: u64, (column, fault): LineFault) -> ReadError {
    // A line is shorter than a block.
    let place = Place { path: path.to_owned(), line: Some(line), column: Some(column as u32 + 1) };
    ReadError::MatrixMarket { place, fault }
}

/// A block of which the bytes before `at` are done.
struct Unread {
    block: Block,
    at: usize,
}

/// Content of one block.
struct Parsed<C> {
    index: usize,
    lines: u64,
    /// Entries of the file, zeros of an array included.
    entries: u64,
    content: C,
}

/// Reasons why reading ended early.
enum Stop {
    /// A fault at a line of the block, counted from 0.
    Fault(u64, LineFault),
    Error(ReadError),
}

impl From<(u64, LineFault)> for Stop {
    fn from((line, fault): (u64, LineFault)) -> Self {
        Self::Fault(line, fault)
    }
}

/// The lines after the header, and all that the threads reading them share.
struct Body<'a, 'b> {
    path: &'a Path,
    options: &'a ReadOptions<'a>,
    total: Bytes,
    budget: Budget,
    header: Header,
    header_lines: u64,
    grammar: Grammar,
    buckets: Buckets,
    blocks: &'a Blocks<'b>,
    first: Mutex<Option<Unread>>,
    /// Set at the first fault. Blocks are handed out in order, so every block before the faulty one has
    /// been handed out and will be read to its end: the fault reported does not depend on threads.
    stop: AtomicBool,
    /// Triplets kept so far.
    kept: AtomicU64,
    /// Blocks without an entry so far.
    empty: AtomicUsize,
    /// Bytes reported as consumed.
    done: Mutex<u64>,
}

impl Body<'_, '_> {
    /// The matrix, with the values that are asked for.
    fn matrix<T: Scalar>(&self) -> Result<Loaded<T>, ReadError> {
        let (options, banner) = (self.options, self.header.banner);
        let (pattern, symmetry) = (options.pattern, banner.symmetry);
        if banner.field == Field::Pattern {
            let value = |e: &Entry<()>| T::from_f64(pattern_value(pattern, symmetry, e.row, e.col));
            self.finish(self.coordinates()?, value, Merge::Keep)
        } else if options.places_only {
            match banner.field {
                Field::Complex => self.places::<T, 2>(),
                _ => self.places::<T, 1>(),
            }
        } else if banner.array {
            self.finish(self.array()?, |e: &Entry<T>| e.value, Merge::Sum)
        } else {
            self.finish(self.coordinates()?, |e: &Entry<T>| e.value, Merge::Sum)
        }
    }

    /// The matrix with the values of a pattern, of a file with `N` numbers for each value.
    fn places<T: Scalar, const N: usize>(&self) -> Result<Loaded<T>, ReadError> {
        let (pattern, symmetry) = (self.options.pattern, self.header.banner.symmetry);
        let chunks = if self.header.banner.array { self.array()? } else { self.coordinates()? };
        let value = |e: &Entry<Skipped<N>>| T::from_f64(pattern_value(pattern, symmetry, e.row, e.col));
        self.finish(chunks, value, Merge::Keep)
    }

    /// Every entry of a coordinate file, as chunks in the order of the file.
    fn coordinates<V: line::Text>(&self) -> Result<Vec<Chunk<V>>, ReadError> {
        let parsed = self.parse(|bytes, scratch: &mut Vec<Entry<V>>| {
            let lines = line::coordinates(&self.grammar, bytes, scratch)?;
            let entries = scratch.len() as u64;
            let chunk = Chunk::new(scratch, self.buckets, self.header.banner.symmetry)
                .map_err(|r| self.refused(r))?;
            Ok((lines, entries, chunk.len() as u64, chunk))
        })?;
        Ok(parsed.into_iter().map(|p| p.content).collect())
    }

    /// Every value of an array that is not 0, as chunks in the order of the file.
    fn array<V: line::Text + PartialEq>(&self) -> Result<Vec<Chunk<V>>, ReadError> {
        let parsed = self.parse(|bytes, scratch: &mut Vec<Entry<V>>| {
            let (lines, entries) = line::array_values(&self.grammar, bytes, scratch)?;
            let mut kept = Vec::new();
            make_room(&mut kept, scratch.len()).map_err(|r| self.refused(r))?;
            kept.extend_from_slice(scratch);
            Ok((lines, entries, kept.len() as u64, kept))
        })?;
        let mut first = 0;
        let numbered = parsed.into_iter().map(|p| {
            first += p.entries;
            (first - p.entries, p.content)
        });
        // Only now is it known how many values came before a block.
        let place = |(first, mut entries): (u64, Vec<Entry<V>>)| {
            self.header.place(first, &mut entries);
            Chunk::new(&entries, self.buckets, self.header.banner.symmetry)
        };
        let chunks: Result<_, Refused> = numbered.collect::<Vec<_>>().into_par_iter().map(place).collect();
        chunks.map_err(|refused| refused.error(self.path))
    }

    /// Reads all blocks on all threads and checks the number of entries.
    ///
    /// `read`: given the bytes of a block and cleared scratch, gives lines, entries, triplets kept, and content.
    fn parse<V: Payload, C: Send>(
        &self,
        read: impl Fn(&[u8], &mut Vec<Entry<V>>) -> Result<(u64, u64, u64, C), Stop> + Sync,
    ) -> Result<Vec<Parsed<C>>, ReadError> {
        let (parsed, stops, counted) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()), AtomicU64::new(0));
        let work = || {
            let mut scratch = Vec::new();
            while !self.stop.load(Ordering::Relaxed) {
                let unread = match self.next() {
                    Ok(Some(unread)) => unread,
                    Ok(None) => break,
                    Err((index, error)) => return self.halt(&stops, index, Stop::Error(error)),
                };
                let (block, bytes) = (&unread.block, &unread.block.bytes[unread.at..]);
                if block.cut {
                    let fault = (0, MatrixMarketFault::LongLine);
                    return self.halt(&stops, block.index, Stop::Fault(0, fault));
                }
                scratch.clear();
                // Room for the shortest lines, which costs nothing before it is written to: to count lines would take a pass.
                let lines = bytes.len() / self.header.shortest_line() + 1;
                if let Err(refused) = make_room(&mut scratch, lines) {
                    return self.halt(&stops, block.index, self.refused(refused));
                }
                match read(bytes, &mut scratch) {
                    Err(stop) => return self.halt(&stops, block.index, stop),
                    Ok((lines, entries, kept, content)) => {
                        let index = block.index;
                        let counted = counted.fetch_add(entries, Ordering::Relaxed) + entries;
                        let empty = self.empty.fetch_add(usize::from(entries == 0), Ordering::Relaxed);
                        if let Some(error) = self.endless(counted, empty) {
                            // Behind any fault of a line.
                            return self.halt(&stops, usize::MAX, Stop::Error(error));
                        }
                        lock(&parsed).push(Parsed { index, lines, entries, content });
                        let kept = self.kept.fetch_add(kept, Ordering::Relaxed) + kept;
                        let need = u128::from(kept) * size_of::<Entry<V>>() as u128;
                        if !self.budget.fits(need) {
                            let error = self.budget.error(self.path, need);
                            return self.halt(&stops, index, Stop::Error(error));
                        }
                    }
                }
                self.report(block.consumed);
            }
        };
        rayon::scope(|scope| {
            for _ in 0..rayon::current_num_threads() {
                scope.spawn(|_| work());
            }
        });
        let mut parsed = parsed.into_inner().unwrap_or_else(PoisonError::into_inner);
        parsed.sort_unstable_by_key(|p: &Parsed<C>| p.index);
        let stops: Vec<(usize, Stop)> = stops.into_inner().unwrap_or_else(PoisonError::into_inner);
        match stops.into_iter().min_by_key(|&(index, _)| index) {
            Some((_, Stop::Error(error))) => return Err(error),
            Some((index, Stop::Fault(line, fault))) => {
                let before: u64 = parsed.iter().filter(|p| p.index < index).map(|p| p.lines).sum();
                return Err(fault_at(self.path, self.header_lines + before + line + 1, fault));
            }
            None => {}
        }
        let (declared, found) = (self.header.entries, parsed.iter().map(|p| p.entries).sum());
        if declared != found {
            return Err(self.wrong_size(MatrixMarketFault::Count { declared, found }));
        }
        Ok(parsed)
    }

    /// The error of a file that goes on although it should have ended: it may have no end.
    fn endless(&self, counted: u64, empty: usize) -> Option<ReadError> {
        let declared = self.header.entries;
        if counted > declared {
            return Some(self.wrong_size(MatrixMarketFault::More { declared }));
        }
        (empty >= MOST_EMPTY_BLOCKS).then(|| self.wrong_size(MatrixMarketFault::NothingButComments))
    }

    fn wrong_size(&self, fault: MatrixMarketFault) -> ReadError {
        let (line, column) = self.header.entries_at;
        fault_at(self.path, line, (column, fault))
    }

    fn next(&self) -> Result<Option<Unread>, (usize, ReadError)> {
        if let Some(unread) = lock(&self.first).take() {
            return Ok(Some(unread));
        }
        Ok(self.blocks.next()?.map(|block| Unread { block, at: 0 }))
    }

    fn refused(&self, refused: Refused) -> Stop {
        Stop::Error(refused.error(self.path))
    }

    fn halt(&self, stops: &Mutex<Vec<(usize, Stop)>>, index: usize, stop: Stop) {
        self.stop.store(true, Ordering::Relaxed);
        lock(stops).push((index, stop));
    }

    fn report(&self, consumed: u64) {
        if let Some(progress) = self.options.progress {
            let mut done = lock(&self.done);
            *done = consumed.max(*done);
            progress(Progress { done: Bytes(*done), total: self.total });
        }
    }

    fn finish<T: Scalar, V: Payload>(
        &self,
        chunks: Vec<Chunk<V>>,
        value: impl Fn(&Entry<V>) -> T + Sync,
        merge: Merge,
    ) -> Result<Loaded<T>, ReadError> {
        let Header { banner, nrows, ncols, entries, .. } = self.header;
        let triplets: u64 = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        let held = u128::from(triplets) * size_of::<Entry<V>>() as u128;
        self.budget.check(self.path, held + finished_bytes::<T>(nrows, triplets))?;
        let shape = (nrows as usize, ncols as usize);
        let (matrix, duplicates) = assemble(shape, self.buckets, chunks, value, merge, self.path)?;
        let layout = if banner.array { Layout::MatrixMarketArray } else { Layout::MatrixMarketCoordinate };
        let (field, symmetry) = (banner.field, banner.symmetry);
        Ok(Loaded::new(matrix, Stored { layout, field, symmetry, entries, duplicates }))
    }
}

/// A lock whose data stay whole when a thread panics while it holds it.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
