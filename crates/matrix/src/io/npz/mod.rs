//! Files of `scipy.sparse.save_npz`: csr, csc, coo, bsr and dia, compressed or not, any whole-number type for indices, any
//! real type for values; and arrays without the name of a format where these leave no doubt: `data, indices, indptr, shape` or
//! `data, row, col, shape`, and what the Python package `sparse` writes (`coords`, or `indptr` with `compressed_axes`).
//!
//! The archive is read array by array, straight into what the matrix needs. A csr file whose rows are sorted is
//! finished when it has been read.
//!
//! As in scipy, every place of a stored block of bsr is an entry, whatever its value, and a place of a diagonal is one unless its
//! value is 0 in the file: one that only the type read makes 0 is one, so that a matrix has the same places in `f32` and `f64`.

mod array;
mod fault;
#[cfg(test)]
mod tests;

pub use fault::NpzFault;

use super::assemble::{Arrays, Entry, column_entries};
use super::memory::{Budget, check_rows};
use super::options::{Source, pattern_value};
use super::rows::{self, Merge};
use super::{Field, Layout, Loaded, Progress, ReadError, Remark, Seekable, Stored, Symmetry};
use crate::{Bytes, Csr, Scalar};
use array::{Header, Kind, read_blocks, read_header};
use rayon::prelude::*;
use std::mem::size_of;
use std::ops::Range;
use std::path::Path;
use zip::read::ZipFile;
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

/// Entries that one task works on.
const ENTRIES_PER_PIECE: usize = 1 << 16;
/// Deflate makes at most 1032 bytes out of one (zlib's technical notes), so an array that claims more is lying.
const LARGEST_EXPANSION: u64 = 1032;

/// A zip archive.
pub(super) type Archive<'a> = ZipArchive<Box<dyn Seekable + 'a>>;

/// Opens a zip archive, of arrays or not.
pub(super) fn open<'a>(file: Box<dyn Seekable + 'a>, path: &Path) -> Result<Archive<'a>, ReadError> {
    ZipArchive::new(file).map_err(|e| zip_error(path, &e))
}

/// Reads an `.npz` file of `total` bytes.
pub(super) fn read<T: Scalar>(
    archive: Archive<'_>,
    total: Bytes,
    source: Source<'_>,
) -> Result<Loaded<T>, ReadError> {
    let path = source.path;
    let budget = Budget::new(source.options);
    let mut file = File { archive, bytes: total.0, source, budget, held: 0, done: 0, of_data: None };
    let (layout, nrows, ncols, remark) = file.layout()?;
    // Claims that do not agree are found before anything is read for them.
    let beside: &[&'static str] = match layout {
        Layout::NpzCsr | Layout::NpzCsc => &["indices"],
        Layout::NpzCoo if file.archive.index_for_name("row.npy").is_some() => &["row", "col"],
        _ => &[],
    };
    for &array in beside {
        let (expected, found) = (file.header("data")?.len, file.header(array)?.len);
        if found != expected {
            return Err(npz(path, NpzFault::Length { array, found, expected }));
        }
    }
    let offsets = if layout == Layout::NpzCsc { ncols } else { nrows };
    budget.check(path, 8 * (u128::from(nrows) + u128::from(offsets) + 2))?;
    let shape = (nrows as usize, ncols as usize);
    let (data, field) = file.data::<T>(layout == Layout::NpzDia)?;
    let of_data = file.of_data.ok_or_else(|| npz(path, NpzFault::Missing { array: "data" }))?;
    let rank = match layout {
        Layout::NpzBsr => 3,
        Layout::NpzDia => 2,
        _ => 1,
    };
    if of_data.rank != rank {
        return Err(npz(path, wrong_rank("data", of_data.rank, rank)));
    }
    check_rows(path, nrows.max(ncols), of_data.len)?;
    let entries = data.len() as u64;
    let (result, entries) = match layout {
        Layout::NpzCoo => {
            let (row, col) = file.places_of(nrows, ncols, entries)?;
            let entry = move |k: usize| Entry { row: row[k], col: col[k], value: data[k] };
            let fill = move |piece: Range<usize>, out: &mut Vec<_>| out.extend(piece.map(&entry));
            (file.assemble(shape, entries, entries as usize, fill), entries)
        }
        Layout::NpzBsr => file.blocks(shape, &data, &of_data)?,
        Layout::NpzDia => file.diagonals(shape, &data, &of_data)?,
        Layout::NpzCsc => {
            let indptr = file.offsets(ncols, entries)?;
            let row = file.indices("indices", nrows, entries)?;
            let stored = indptr[ncols as usize];
            let fill = move |piece: Range<usize>, out: &mut Vec<_>| {
                column_entries(&indptr, &row, &data, piece, out);
            };
            (file.assemble(shape, entries, stored as usize, fill), stored)
        }
        _ => {
            let indptr = file.offsets(nrows, entries)?;
            let col = file.indices("indices", ncols, entries)?;
            let stored = indptr[nrows as usize];
            (compressed_rows(shape, indptr, col, data, source), stored)
        }
    };
    let (matrix, duplicates) = result?;
    file.report(file.bytes);
    let symmetry = Symmetry::General;
    let mut loaded = Loaded::new(matrix, Stored { layout, field, symmetry, entries, duplicates });
    loaded.remarks.extend(remark);
    Ok(loaded)
}

/// Sorts rows that are compressed already and, of places alone, makes their values.
fn compressed_rows<T: Scalar>(
    (nrows, ncols): (usize, usize),
    mut row_ptr: Vec<u64>,
    mut col_idx: Vec<u32>,
    mut values: Vec<T>,
    Source { path, options, .. }: Source<'_>,
) -> Result<(Csr<T>, u64), ReadError> {
    // Like scipy, ignore what lies behind the last row.
    col_idx.truncate(row_ptr[nrows] as usize);
    values.truncate(row_ptr[nrows] as usize);
    let merge = if options.places_only { Merge::Keep } else { Merge::Sum };
    let merged = rows::sort_and_merge(&mut row_ptr, &mut col_idx, &mut values, merge);
    let duplicates = merged.map_err(|unmerged| unmerged.error(path))?;
    if options.places_only {
        let (ptr, col) = (&row_ptr, &col_idx);
        values.par_chunks_mut(ENTRIES_PER_PIECE).enumerate().for_each(|(piece, values)| {
            let first = piece * ENTRIES_PER_PIECE;
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

fn npz(path: &Path, fault: NpzFault) -> ReadError {
    ReadError::Npz { path: path.to_owned(), fault }
}

fn zip_fault(error: &ZipError) -> NpzFault {
    match error {
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => NpzFault::Encrypted,
        other => NpzFault::Zip(other.to_string()),
    }
}

/// Fault of a zip archive.
pub(super) fn zip_error(path: &Path, error: &ZipError) -> ReadError {
    npz(path, zip_fault(error))
}

/// Compressions of zip archives that are known and not read.
const OTHER_COMPRESSIONS: [(CompressionMethod, &str); 6] = [
    (CompressionMethod::DEFLATE64, "Deflate64"),
    (CompressionMethod::BZIP2, "bzip2"),
    (CompressionMethod::LZMA, "LZMA"),
    (CompressionMethod::ZSTD, "Zstandard"),
    (CompressionMethod::XZ, "xz"),
    (CompressionMethod::PPMD, "PPMd"),
];

/// Refuses a member that is compressed in a way that is not read, before its reader does so without a name.
pub(super) fn check_compression(path: &Path, method: CompressionMethod) -> Result<(), ReadError> {
    if matches!(method, CompressionMethod::Stored | CompressionMethod::Deflated) {
        return Ok(());
    }
    let known = OTHER_COMPRESSIONS.iter().find(|(other, _)| *other == method);
    let method = known.map_or_else(|| format!("{method:?}"), |(_, name)| (*name).to_owned());
    Err(npz(path, NpzFault::Compression { method }))
}

/// The member of an archive that holds an array.
fn member<'a, 'f>(
    archive: &'a mut Archive<'f>,
    path: &Path,
    array: &'static str,
) -> Result<ZipFile<'a, Box<dyn Seekable + 'f>>, ReadError> {
    let member = archive.by_name(&format!("{array}.npy")).map_err(|error| match error {
        ZipError::FileNotFound => npz(path, NpzFault::Missing { array }),
        other => zip_error(path, &other),
    })?;
    check_compression(path, member.compression())?;
    Ok(member)
}

/// An archive being read.
struct File<'a, 'f> {
    archive: Archive<'f>,
    /// Bytes of the archive.
    bytes: u64,
    source: Source<'a>,
    budget: Budget,
    /// Bytes of arrays read so far.
    held: u128,
    /// Bytes of the archive consumed so far.
    done: u64,
    /// Header of the array `data`.
    of_data: Option<Header>,
}

/// A matrix that was read, the number of duplicates that were merged, and the entries that its file holds.
type Assembled<T> = (Result<(Csr<T>, u64), ReadError>, u64);

impl File<'_, '_> {
    /// Reads one array: `start` sees its header and says how many bytes an element becomes in memory, `each`
    /// gets its elements.
    fn array(
        &mut self,
        array: &'static str,
        start: impl FnOnce(&Header) -> Result<usize, NpzFault>,
        mut each: impl FnMut(&Header, &[u8]) -> Result<(), NpzFault>,
    ) -> Result<(), ReadError> {
        let Self { archive, bytes, source: Source { path, options, .. }, budget, held, done, of_data } = self;
        let fail = |fault| npz(path, fault);
        let mut member = member(archive, path, array)?;
        let compressed = member.compressed_size().min(*bytes);
        let header = read_header(&mut member, array).map_err(fail)?;
        if array == "data" {
            *of_data = Some(header);
        } else if header.rank > 1 && array != "coords" {
            return Err(fail(wrong_rank(array, header.rank, 1)));
        }
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
        if let Some(progress) = self.source.options.progress {
            progress(Progress { done: Bytes(done), total: Bytes(self.bytes) });
        }
    }

    /// The layout, rows and columns, by the name of the format or, without one, by the arrays that there are.
    fn layout(&mut self) -> Result<(Layout, u64, u64, Option<Remark>), ReadError> {
        let has = |file: &Self, array: &str| file.archive.index_for_name(&format!("{array}.npy")).is_some();
        if has(self, "format") {
            let format = self.format()?;
            let (nrows, ncols) = self.shape()?;
            let layout = match format.as_str() {
                "csr" => Layout::NpzCsr,
                "csc" => Layout::NpzCsc,
                "coo" => Layout::NpzCoo,
                "bsr" => Layout::NpzBsr,
                "dia" => Layout::NpzDia,
                _ => return Err(npz(self.source.path, NpzFault::Format { format })),
            };
            return Ok((layout, nrows, ncols, None));
        }
        let is_compressed = ["data", "indices", "indptr", "shape"].iter().all(|array| has(self, array));
        let is_coordinates = has(self, "data")
            && has(self, "shape")
            && (has(self, "coords") || (has(self, "row") && has(self, "col")));
        if !is_compressed && !is_coordinates {
            return Err(npz(self.source.path, NpzFault::Missing { array: "format" }));
        }
        let (nrows, ncols) = self.shape()?;
        if has(self, "fill_value") {
            self.no_fill_value()?;
        }
        if !is_compressed {
            return Ok((Layout::NpzCoo, nrows, ncols, None));
        }
        let (by_rows, remark) = if has(self, "compressed_axes") {
            (self.small_number("compressed_axes")? == 0.0, None)
        } else {
            let offsets = self.header("indptr")?.len;
            let remark = (nrows == ncols).then_some(Remark::TakenForRows);
            (offsets == nrows + 1 || offsets != ncols + 1, remark)
        };
        Ok((if by_rows { Layout::NpzCsr } else { Layout::NpzCsc }, nrows, ncols, remark))
    }

    /// The header of an array, which is not read.
    fn header(&mut self, array: &'static str) -> Result<Header, ReadError> {
        let path = self.source.path;
        let mut member = member(&mut self.archive, path, array)?;
        read_header(&mut member, array).map_err(|fault| npz(path, fault))
    }

    /// The first element of an array.
    fn small_number(&mut self, array: &'static str) -> Result<f64, ReadError> {
        let mut first = None;
        let is_small = |h: &Header| match h.len {
            1..=8 => Ok(8),
            _ => Err(NpzFault::Array { array, why: "it is no single number".to_owned() }),
        };
        self.array(array, is_small, |h, bytes| {
            h.whole_numbers(bytes, |n| {
                first.get_or_insert(n as f64);
                Ok(())
            })?;
            h.floats(bytes, |x| {
                first.get_or_insert(x);
                Ok(())
            })
        })?;
        first.ok_or_else(|| {
            npz(self.source.path, NpzFault::Array { array, why: "it is no number".to_owned() })
        })
    }

    /// The part that is not stored has to be 0.
    fn no_fill_value(&mut self) -> Result<(), ReadError> {
        let array = "fill_value";
        match self.small_number(array)? {
            0.0 => Ok(()),
            value => Err(npz(
                self.source.path,
                NpzFault::Array { array, why: format!("what is not stored is {value}, not 0") },
            )),
        }
    }

    /// Row and column of each entry: in two arrays, or in one of two rows.
    fn places_of(&mut self, nrows: u64, ncols: u64, entries: u64) -> Result<(Vec<u32>, Vec<u32>), ReadError> {
        if self.archive.index_for_name("coords.npy").is_none() {
            return Ok((self.indices("row", nrows, entries)?, self.indices("col", ncols, entries)?));
        }
        let coords = self.header("coords")?;
        if coords.rank != 2 || coords.dimensions[..2] != [2, entries] || coords.is_fortran {
            let why = format!(
                "it is no array of 2 x {entries} in C order: rows of indices, a column for each entry"
            );
            return Err(npz(self.source.path, NpzFault::Array { array: "coords", why }));
        }
        let mut row = self.indices("coords", nrows.max(ncols), 2 * entries)?;
        let col = row.split_off(entries as usize);
        for (indices, limit, start) in [(&row, nrows, 0), (&col, ncols, entries)] {
            if let Some(at) = indices.iter().position(|&index| u64::from(index) >= limit) {
                let fault = NpzFault::Index {
                    array: "coords",
                    at: start + at as u64,
                    index: text(indices[at].into()),
                    limit,
                };
                return Err(npz(self.source.path, fault));
            }
        }
        Ok((row, col))
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
            // NumPy has no more.
            found @ (1 | 3..=64) if h.is_whole() && h.rank == 1 => Err(NpzFault::Dimensions { found }),
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

    /// The values; `marked`: -0 where only the type makes them 0, and 0 where they are in the file, whatever the sign. Of places alone zeros,
    /// whatever the values are; `marked`: 1 where they are other than 0.
    fn data<T: Scalar>(&mut self, marked: bool) -> Result<(Vec<T>, Field), ReadError> {
        let places_only = self.source.options.places_only;
        let (mut data, mut field) = (Vec::new(), Field::Real);
        let is_number = |h: &Header| match h.kind {
            Kind::Complex if !places_only => Err(NpzFault::Complex),
            Kind::Ascii | Kind::Unicode => {
                Err(NpzFault::Array { array: "data", why: "it holds no numbers".to_owned() })
            }
            _ => Ok(size_of::<T>()),
        };
        self.array("data", is_number, |h, bytes| {
            reserve(&mut data, "data", h)?;
            field = match h.kind {
                Kind::Complex => Field::Complex,
                _ if h.is_whole() => Field::Integer,
                _ => Field::Real,
            };
            if places_only && marked {
                return h.marks(bytes, |is_marked| {
                    data.push(T::from_f64(f64::from(u8::from(is_marked))));
                    Ok(())
                });
            }
            if places_only {
                data.resize(data.len() + bytes.len() / h.size, T::default());
                return Ok(());
            }
            h.whole_numbers(bytes, |n| {
                data.push(T::from_f64(n as f64));
                Ok(())
            })?;
            h.floats(bytes, |x| {
                let value = T::from_f64(x);
                if !value.to_f64().is_finite() {
                    return Err(NpzFault::NotFinite { at: data.len() as u64, value: x.to_string() });
                }
                let is_zero = marked && value == T::default();
                data.push(if is_zero { T::from_f64(if x == 0.0 { 0.0 } else { -0.0 }) } else { value });
                Ok(())
            })
        })?;
        Ok((data, field))
    }

    /// `expected` whole numbers; `take` turns each into an element, which may depend on those before.
    fn integers<E>(
        &mut self,
        array: &'static str,
        expected: u64,
        take: impl Fn(i128, &[E]) -> Result<E, NpzFault>,
    ) -> Result<Vec<E>, ReadError> {
        let mut all = Vec::new();
        let is_whole = |h: &Header| whole(array, h, expected).map(|()| size_of::<E>());
        self.array(array, is_whole, |h, bytes| {
            reserve(&mut all, array, h)?;
            h.whole_numbers(bytes, |number| {
                all.push(take(number, &all)?);
                Ok(())
            })
        })?;
        Ok(all)
    }

    /// `expected` indices below `limit`.
    fn indices(&mut self, array: &'static str, limit: u64, expected: u64) -> Result<Vec<u32>, ReadError> {
        self.integers(array, expected, |index, before| {
            let (is_below, at) = ((0..i128::from(limit)).contains(&index), before.len() as u64);
            let beyond = || NpzFault::Index { array, at, index: text(index), limit };
            is_below.then_some(index as u32).ok_or_else(beyond)
        })
    }

    /// `n + 1` offsets from 0 to at most `entries`.
    fn offsets(&mut self, n: u64, entries: u64) -> Result<Vec<u64>, ReadError> {
        let array = "indptr";
        self.integers(array, n + 1, |offset, before: &[u64]| {
            let (at, least) = (before.len() as u64, before.last().copied().unwrap_or(0));
            if offset > i128::from(entries) {
                return Err(NpzFault::Index { array, at, index: text(offset), limit: entries + 1 });
            }
            if offset < i128::from(least) || (at == 0 && offset != 0) {
                return Err(NpzFault::Offsets { at, offset: text(offset) });
            }
            Ok(offset as u64)
        })
    }

    /// A matrix of compressed rows of blocks, which `data` holds one after the other.
    fn blocks<T: Scalar>(
        &mut self,
        shape: (usize, usize),
        data: &[T],
        of_data: &Header,
    ) -> Result<Assembled<T>, ReadError> {
        let [count, high, wide] = of_data.dimensions;
        let (nrows, ncols) = (shape.0 as u64, shape.1 as u64);
        let is_side = |side: u64| (1..=u64::from(u32::MAX)).contains(&side);
        if !is_side(high) || !is_side(wide) || !nrows.is_multiple_of(high) || !ncols.is_multiple_of(wide) {
            let why = format!("{nrows} x {ncols} cannot be cut into blocks of {high} x {wide}");
            return Err(npz(self.source.path, NpzFault::Array { array: "data", why }));
        }
        let indptr = self.offsets(nrows / high, count)?;
        let columns = self.indices("indices", ncols / wide, count)?;
        let (high, wide) = (high as usize, wide as usize);
        let stored = indptr[indptr.len() - 1] as usize;
        let places = stored * high * wide;
        // Of places, not blocks: one block may be as large as memory.
        let fill = |piece: Range<usize>, out: &mut Vec<_>| {
            let first = (piece.start / (high * wide)) as u64;
            let mut row = indptr.partition_point(|&p| p <= first).saturating_sub(1);
            for at in piece {
                let (k, i, j) = (at / (high * wide), at / wide % high, at % wide);
                while indptr[row + 1] <= k as u64 {
                    row += 1;
                }
                let (row, col) = (row * high + i, columns[k] as usize * wide + j);
                let value = data[of_data.place([k, i, j])];
                out.push(Entry { row: row as u32, col: col as u32, value });
            }
        };
        Ok((self.assemble(shape, places as u64, places, fill), places as u64))
    }

    /// A matrix of diagonals: the value for column j of diagonal d, which lies `offsets[d]` right of the main one, is `data[d, j]`.
    fn diagonals<T: Scalar>(
        &mut self,
        shape: (usize, usize),
        data: &[T],
        of_data: &Header,
    ) -> Result<Assembled<T>, ReadError> {
        let [count, length, _] = of_data.dimensions.map(|length| length as usize);
        let offsets = self.diagonal_offsets(count as u64)?;
        let length = length.min(shape.1);
        let entry = |at: usize| {
            let (d, col) = (at / length, at % length);
            let row = (col as i64).checked_sub(offsets[d])?;
            let row = usize::try_from(row).ok().filter(|row| *row < shape.0)?;
            let value = data[of_data.place([d, col, 0])];
            // -0 marks what was not 0 before it became one of `T`; with 0 added it is 0 again.
            let is_entry = value != T::default() || value.to_f64().is_sign_negative();
            is_entry.then(|| Entry { row: row as u32, col: col as u32, value: value + T::default() })
        };
        let places = count * length;
        let entries = (0..places).into_par_iter().filter(|at| entry(*at).is_some()).count() as u64;
        let fill = |piece: Range<usize>, out: &mut Vec<_>| out.extend(piece.filter_map(entry));
        Ok((self.assemble(shape, entries, places, fill), entries))
    }

    /// Offsets of diagonals: any whole numbers, `expected` of them and none twice.
    fn diagonal_offsets(&mut self, expected: u64) -> Result<Vec<i64>, ReadError> {
        let array = "offsets";
        let offsets = self.integers(array, expected, |offset, _: &[i64]| {
            i64::try_from(offset).map_err(|_| NpzFault::Array { array, why: format!("{offset}") })
        })?;
        let mut sorted = offsets.clone();
        sorted.sort_unstable();
        if let Some([twice, ..]) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            let why = format!("diagonal {twice} is there twice");
            return Err(npz(self.source.path, NpzFault::Array { array, why }));
        }
        Ok(offsets)
    }

    /// The matrix of `len` places, of which `entries` are kept, as [`Arrays::assemble`] makes it.
    fn assemble<T: Scalar>(
        &self,
        shape: (usize, usize),
        entries: u64,
        len: usize,
        fill: impl Fn(Range<usize>, &mut Vec<Entry<T>>) + Sync,
    ) -> Result<(Csr<T>, u64), ReadError> {
        let Self { source, budget, held, .. } = *self;
        let places_only = source.options.places_only;
        let arrays = Arrays { source, budget, held, symmetry: Symmetry::General, places_only };
        arrays.assemble(shape, entries, len, fill)
    }
}

fn wrong_rank(array: &'static str, found: usize, expected: usize) -> NpzFault {
    NpzFault::Array { array, why: format!("it has {found} dimensions, {expected} are needed") }
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
