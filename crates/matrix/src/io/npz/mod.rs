//! Files of `scipy.sparse.save_npz`: csr, csc and coo, compressed or not, any whole-number type for indices, any
//! real type for values.
//!
//! The archive is read array by array, straight into what the matrix needs. A csr file whose rows are sorted is
//! finished when it has been read.

mod array;
mod fault;

pub use fault::NpzFault;

use super::assemble::{Buckets, Chunk, Entry, Mirror, assemble, finished_bytes};
use super::memory::{Budget, Refused, make_room};
use super::pattern_values::pattern_value;
use super::rows::{self, Merge};
use super::{Field, Layout, Loaded, Progress, ReadError, ReadOptions, Stored, Symmetry};
use crate::{Bytes, Csr, Scalar};
use array::{Header, Kind, read_blocks, read_header};
use rayon::prelude::*;
use std::io::{Read, Seek};
use std::mem::size_of;
use std::ops::Range;
use std::path::Path;
use zip::ZipArchive;

/// Entries of one chunk of triplets.
const ENTRIES_PER_CHUNK: usize = 1 << 16;
/// Deflate makes at most 1032 bytes out of one (zlib's technical notes), so an array that claims more is lying.
const LARGEST_EXPANSION: u64 = 1032;

/// Reads an `.npz` file of `total` bytes.
pub(super) fn read<T: Scalar>(
    file: impl Read + Seek,
    total: Bytes,
    path: &Path,
    options: &ReadOptions<'_>,
) -> Result<Loaded<T>, ReadError> {
    let archive = ZipArchive::new(file).map_err(|e| npz(path, zip_fault(&e)))?;
    let budget = Budget::new(options);
    let mut file = File { archive, bytes: total.0, path, options, budget, held: 0, done: 0 };
    let format = file.format()?;
    let (nrows, ncols) = file.shape()?;
    let layout = match format.as_str() {
        "csr" => Layout::NpzCsr,
        "csc" => Layout::NpzCsc,
        "coo" => Layout::NpzCoo,
        _ => return Err(npz(path, NpzFault::Format { format })),
    };
    let offsets = if layout == Layout::NpzCsc { ncols } else { nrows };
    budget.check(path, 8 * (u128::from(nrows) + u128::from(offsets) + 2))?;
    let shape = (nrows as usize, ncols as usize);
    let (data, field) = if options.places_only { file.places()? } else { file.data::<T>()? };
    let stored = field;
    let field = if options.places_only { Field::Pattern } else { field };
    let entries = data.len() as u64;
    let (result, entries) = match layout {
        Layout::NpzCoo => {
            let row = file.indices("row", nrows, entries)?;
            let col = file.indices("col", ncols, entries)?;
            let entry = |k: usize| Entry { row: row[k], col: col[k], value: data[k] };
            let pieces = ranges(data.len(), ENTRIES_PER_CHUNK);
            let chunks = file.chunks(shape, entries, pieces, |piece, out| out.extend(piece.map(entry)))?;
            drop((row, col, data));
            (file.assemble(shape, chunks, field), entries)
        }
        Layout::NpzCsc => {
            let indptr = file.offsets(ncols, entries)?;
            let row = file.indices("indices", nrows, entries)?;
            // Every column once, however many entries it has: a chunk of whole columns would be unbounded.
            let stored = indptr[ncols as usize];
            let pieces = ranges(stored as usize, ENTRIES_PER_CHUNK);
            let chunks = file.chunks(shape, entries, pieces, |piece, out| {
                let mut col = indptr.partition_point(|&p| p <= piece.start as u64).saturating_sub(1);
                for k in piece {
                    while indptr[col + 1] <= k as u64 {
                        col += 1;
                    }
                    out.push(Entry { row: row[k], col: col as u32, value: data[k] });
                }
            })?;
            drop((indptr, row, data));
            (file.assemble(shape, chunks, field), stored)
        }
        _ => {
            let indptr = file.offsets(nrows, entries)?;
            let col = file.indices("indices", ncols, entries)?;
            let stored = indptr[nrows as usize];
            (compressed_rows(shape, indptr, col, data, field, (path, options)), stored)
        }
    };
    let (matrix, duplicates) = result?;
    file.report(file.bytes);
    let symmetry = Symmetry::General;
    Ok(Loaded { matrix, stored: Stored { layout, field: stored, symmetry, entries, duplicates } })
}

/// Sorts rows that are compressed already and gives patterns their values.
fn compressed_rows<T: Scalar>(
    (nrows, ncols): (usize, usize),
    mut row_ptr: Vec<u64>,
    mut col_idx: Vec<u32>,
    mut values: Vec<T>,
    field: Field,
    (path, options): (&Path, &ReadOptions<'_>),
) -> Result<(Csr<T>, u64), ReadError> {
    // Like scipy, ignore what lies behind the last row.
    col_idx.truncate(row_ptr[nrows] as usize);
    values.truncate(row_ptr[nrows] as usize);
    let merged = rows::sort_and_merge(&mut row_ptr, &mut col_idx, &mut values, merge(field));
    let duplicates = merged.map_err(|unmerged| unmerged.error(path))?;
    if field == Field::Pattern {
        let (ptr, col) = (&row_ptr, &col_idx);
        values.par_chunks_mut(ENTRIES_PER_CHUNK).enumerate().for_each(|(piece, values)| {
            let first = piece * ENTRIES_PER_CHUNK;
            let mut row = ptr.partition_point(|&p| p <= first as u64).saturating_sub(1);
            for (k, value) in (first..).zip(values) {
                while ptr[row + 1] <= k as u64 {
                    row += 1;
                }
                *value = T::from_f64(pattern_value(options.pattern, Symmetry::General, row as u32, col[k]));
            }
        });
    }
    let matrix = Csr::try_new(nrows, ncols, row_ptr, col_idx, values).map_err(ReadError::structure(path))?;
    Ok((matrix, duplicates))
}

fn merge(field: Field) -> Merge {
    if field == Field::Pattern { Merge::Keep } else { Merge::Sum }
}

/// `0..len` in runs of `step`.
fn ranges(len: usize, step: usize) -> Vec<Range<usize>> {
    (0..len).step_by(step).map(|first| first..(first + step).min(len)).collect()
}

fn npz(path: &Path, fault: NpzFault) -> ReadError {
    ReadError::Npz { path: path.to_owned(), fault }
}

fn zip_fault(error: &zip::result::ZipError) -> NpzFault {
    NpzFault::Zip(error.to_string())
}

/// An archive being read.
struct File<'a, R> {
    archive: ZipArchive<R>,
    /// Bytes of the archive.
    bytes: u64,
    path: &'a Path,
    options: &'a ReadOptions<'a>,
    budget: Budget,
    /// Bytes of arrays read so far.
    held: u128,
    /// Bytes of the archive consumed so far.
    done: u64,
}

impl<R: Read + Seek> File<'_, R> {
    /// Reads one array: `start` sees its header and says how many bytes an element becomes in memory, `each`
    /// gets its elements.
    fn array(
        &mut self,
        array: &'static str,
        start: impl FnOnce(&Header) -> Result<usize, NpzFault>,
        mut each: impl FnMut(&Header, &[u8]) -> Result<(), NpzFault>,
    ) -> Result<(), ReadError> {
        let Self { archive, bytes, path, options, budget, held, done } = self;
        let fail = |fault| npz(path, fault);
        let mut member = match archive.by_name(&format!("{array}.npy")) {
            Ok(member) => member,
            Err(zip::result::ZipError::FileNotFound) => return Err(fail(NpzFault::Missing { array })),
            Err(error) => return Err(fail(zip_fault(&error))),
        };
        let compressed = member.compressed_size().min(*bytes);
        let header = read_header(&mut member, array).map_err(fail)?;
        let size = start(&header).map_err(fail)?;
        let claimed = u128::from(header.len) * header.size as u128;
        if claimed > u128::from(*bytes) * u128::from(LARGEST_EXPANSION) {
            let why = format!("{} elements cannot come from an archive of {bytes} bytes", header.len);
            return Err(fail(NpzFault::Array { array, why }));
        }
        *held += u128::from(header.len) * size as u128;
        budget.check(path, *held)?;
        let mut seen = 0_u64;
        read_blocks(&mut member, &header, array, |block| {
            each(&header, block)?;
            seen += (block.len() / header.size) as u64;
            let part = (seen as f64 / header.len as f64 * compressed as f64) as u64;
            if let Some(progress) = options.progress {
                progress(Progress { done: Bytes((*done + part).min(*bytes)), total: Bytes(*bytes) });
            }
            Ok(())
        })
        .map_err(fail)?;
        *done += compressed;
        Ok(())
    }

    fn report(&self, done: u64) {
        if let Some(progress) = self.options.progress {
            progress(Progress { done: Bytes(done), total: Bytes(self.bytes) });
        }
    }

    fn format(&mut self) -> Result<String, ReadError> {
        let (mut format, array) = (String::new(), "format");
        let is_text = |h: &Header| match h.kind {
            Kind::Ascii | Kind::Unicode if h.len == 1 => Ok(0),
            _ => Err(NpzFault::Array { array, why: "it is no text".to_owned() }),
        };
        self.array(array, is_text, |h, bytes| {
            format = h.text(bytes);
            Ok(())
        })?;
        Ok(format)
    }

    fn shape(&mut self) -> Result<(u64, u64), ReadError> {
        let (mut shape, array) = (Vec::new(), "shape");
        let is_pair = |h: &Header| match h.len {
            2 if h.is_whole() => Ok(0),
            _ => Err(NpzFault::Array { array, why: "it is not two whole numbers".to_owned() }),
        };
        self.array(array, is_pair, |h, bytes| {
            h.whole_numbers(bytes, |n| {
                let what = if shape.is_empty() { "row" } else { "column" };
                match u64::try_from(n) {
                    Ok(n) if n < u64::from(u32::MAX) => shape.push(n),
                    Ok(n) => return Err(NpzFault::TooMany { what, n }),
                    Err(_) => return Err(NpzFault::Array { array, why: format!("{n} {what}s") }),
                }
                Ok(())
            })
        })?;
        Ok((shape[0], shape[1]))
    }

    /// As many zeros as there are values, whatever these are.
    fn places<T: Scalar>(&mut self) -> Result<(Vec<T>, Field), ReadError> {
        let (mut data, mut field) = (Vec::new(), Field::Real);
        let is_number = |h: &Header| match h.kind {
            Kind::Ascii | Kind::Unicode => Err(no_numbers()),
            _ => Ok(size_of::<T>()),
        };
        self.array("data", is_number, |h, bytes| {
            reserve(&mut data, "data", h)?;
            data.resize(data.len() + bytes.len() / h.size, T::default());
            field = match h.kind {
                Kind::Complex => Field::Complex,
                _ if h.is_whole() => Field::Integer,
                _ => Field::Real,
            };
            Ok(())
        })?;
        Ok((data, field))
    }

    fn data<T: Scalar>(&mut self) -> Result<(Vec<T>, Field), ReadError> {
        let (mut data, mut all_one, mut whole) = (Vec::new(), true, false);
        let is_real = |h: &Header| match h.kind {
            Kind::Complex => Err(NpzFault::Complex),
            Kind::Ascii | Kind::Unicode => Err(no_numbers()),
            _ => Ok(size_of::<T>()),
        };
        self.array("data", is_real, |h, bytes| {
            reserve(&mut data, "data", h)?;
            whole = h.is_whole();
            h.whole_numbers(bytes, |n| {
                all_one &= n == 1;
                data.push(T::from_f64(n as f64));
                Ok(())
            })?;
            h.floats(bytes, |x| {
                let value = T::from_f64(x);
                if !value.to_f64().is_finite() {
                    return Err(NpzFault::NotFinite { at: data.len() as u64, value: x.to_string() });
                }
                data.push(value);
                Ok(())
            })
        })?;
        let field = match (whole, all_one) {
            (false, _) => Field::Real,
            (true, true) => Field::Pattern,
            (true, false) => Field::Integer,
        };
        Ok((data, field))
    }

    /// `expected` indices below `limit`.
    fn indices(&mut self, array: &'static str, limit: u64, expected: u64) -> Result<Vec<u32>, ReadError> {
        let mut indices = Vec::new();
        self.array(
            array,
            |h| whole(array, h, expected).map(|()| 4),
            |h, bytes| {
                reserve(&mut indices, array, h)?;
                h.whole_numbers(bytes, |index| {
                    if !(0..i128::from(limit)).contains(&index) {
                        return Err(NpzFault::Index {
                            array,
                            at: indices.len() as u64,
                            index: text(index),
                            limit,
                        });
                    }
                    indices.push(index as u32);
                    Ok(())
                })
            },
        )?;
        Ok(indices)
    }

    /// `n + 1` offsets from 0 to at most `entries`.
    fn offsets(&mut self, n: u64, entries: u64) -> Result<Vec<u64>, ReadError> {
        let (mut offsets, array) = (Vec::new(), "indptr");
        self.array(
            array,
            |h| whole(array, h, n + 1).map(|()| 8),
            |h, bytes| {
                reserve(&mut offsets, array, h)?;
                h.whole_numbers(bytes, |offset| {
                    let at = offsets.len() as u64;
                    let least = offsets.last().copied().unwrap_or(0);
                    if offset > i128::from(entries) {
                        return Err(NpzFault::Index { array, at, index: text(offset), limit: entries + 1 });
                    }
                    if offset < i128::from(least) || (at == 0 && offset != 0) {
                        return Err(NpzFault::Offsets { at, offset: text(offset) });
                    }
                    offsets.push(offset as u64);
                    Ok(())
                })
            },
        )?;
        Ok(offsets)
    }

    /// Triplets of `pieces`; `fill` turns a piece into entries.
    fn chunks<T: Scalar>(
        &self,
        (nrows, _): (usize, usize),
        entries: u64,
        pieces: Vec<Range<usize>>,
        fill: impl Fn(Range<usize>, &mut Vec<Entry<T>>) + Sync,
    ) -> Result<Vec<Chunk<T>>, ReadError> {
        let triplets = u128::from(entries) * size_of::<Entry<T>>() as u128;
        let assembling = triplets + finished_bytes::<T>(nrows as u64, entries);
        self.budget.check(self.path, (self.held + triplets).max(assembling))?;
        let buckets = Buckets::new(nrows);
        let chunk = |scratch: &mut Vec<Entry<T>>, piece: Range<usize>| {
            scratch.clear();
            make_room(scratch, piece.len())?;
            fill(piece, scratch);
            Chunk::new(scratch, buckets, Mirror::None)
        };
        let chunks: Result<_, Refused> = pieces.into_par_iter().map_init(Vec::new, chunk).collect();
        chunks.map_err(|refused| refused.error(self.path))
    }

    fn assemble<T: Scalar>(
        &self,
        shape: (usize, usize),
        chunks: Vec<Chunk<T>>,
        field: Field,
    ) -> Result<(Csr<T>, u64), ReadError> {
        let pattern = self.options.pattern;
        let value = |e: &Entry<T>| match field {
            Field::Pattern => T::from_f64(pattern_value(pattern, Symmetry::General, e.row, e.col)),
            _ => e.value,
        };
        assemble(shape, Buckets::new(shape.0), chunks, value, merge(field), self.path)
    }
}

fn no_numbers() -> NpzFault {
    NpzFault::Array { array: "data", why: "it holds no numbers".to_owned() }
}

fn text(n: i128) -> Box<str> {
    n.to_string().into()
}

/// Room for a whole array, at its first block: the claim has been checked by then.
fn reserve<T>(into: &mut Vec<T>, array: &'static str, header: &Header) -> Result<(), NpzFault> {
    if !into.is_empty() {
        return Ok(());
    }
    let room = usize::try_from(header.len).ok().and_then(|len| into.try_reserve_exact(len).ok());
    let why = || format!("the system has no memory left for its {} elements", header.len);
    room.ok_or_else(|| NpzFault::Array { array, why: why() })
}

fn whole(array: &'static str, header: &Header, expected: u64) -> Result<(), NpzFault> {
    if !header.is_whole() {
        return Err(NpzFault::Array { array, why: "it does not hold whole numbers".to_owned() });
    }
    if header.len != expected {
        return Err(NpzFault::Length { array, found: header.len, expected });
    }
    Ok(())
}
