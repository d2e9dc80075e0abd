//! Harwell-Boeing and Rutherford-Boeing files: compressed columns in lines of fixed width, which Fortran formats in the header describe.
//!
//! ```text
//! title (72 columns) and key (8)
//! lines in all, of pointers, of indices, of values (and of right-hand sides, which are not read)
//! RSA           rows  columns  entries  0         Real Complex Pattern Integer; Symmetric Unsymmetric
//! (16I5)  (16I5)  (4E20.12)                       Hermitian Z-skew Rectangular; Assembled
//! ```
//! Numbers may touch each other, so they are cut by their width and never by blanks. Absent: matrices of elements (third letter E).
//!
//! Sources: Duff, Grimes, Lewis, "Users' guide for the Harwell-Boeing sparse matrix collection", 1992; "The Rutherford-Boeing
//! sparse matrix collection", 1997.

use super::assemble::{Buckets, Mirror, assemble, chunks, column_entries, finished_bytes};
use super::memory::{Budget, make_room};
use super::pattern_values::pattern_value;
use super::rows::Merge;
use super::unpacked::Lines;
use super::{Field, Layout, Loaded, Place, ReadError, ReadOptions, Stored, Symmetry};
use crate::Scalar;
use std::io::Read;
use std::path::Path;
use thiserror::Error;

/// What is wrong with a Harwell-Boeing or Rutherford-Boeing file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BoeingFault {
    /// A matrix in elements.
    #[error("a matrix of elements is not read, only assembled ones (third letter A)")]
    Elements,
    /// Complex values.
    #[error("complex values cannot be read")]
    Complex,
    /// A Fortran format that is not understood.
    #[error("format '{0}' is not understood: (16I5) or (1P,4E20.12) is one")]
    Format(String),
    /// A number is missing or out of range.
    #[error("expected {expected}, found '{found}'")]
    Expected {
        /// What belongs here.
        expected: String,
        /// What stands here.
        found: String,
    },
    /// The file ends early.
    #[error("the file ends after {found} of {expected} {what}")]
    Ends {
        /// `pointers`, `row indices` or `values`.
        what: &'static str,
        /// As many as were found.
        found: u64,
        /// As many as belong there.
        expected: u64,
    },
    /// A symmetry needs as many columns as rows.
    #[error("a {symmetry} matrix must be square, this one is {nrows} x {ncols}")]
    NotSquare {
        /// The symmetry of the header.
        symmetry: Symmetry,
        /// Declared rows.
        nrows: u64,
        /// Declared columns.
        ncols: u64,
    },
}

/// What the header says.
struct Header {
    field: Field,
    symmetry: Symmetry,
    nrows: u64,
    ncols: u64,
    entries: u64,
    has_right_hand_sides: bool,
    pointers: Format,
    indices: Format,
    values: Option<Format>,
}

/// Fields of a line: so many of such a width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Format {
    count: usize,
    width: usize,
    /// Digits behind a decimal point that is not written.
    decimals: i32,
}

/// Whether a file begins as one of these: its third line names a kind of matrix, its fourth begins with a format.
pub(super) fn begins(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|&b| b == b'\n').skip(1);
    let (Some(counts), Some(kind), Some(formats)) = (lines.next(), lines.next(), lines.next()) else {
        return false;
    };
    let is_kind = kind.len() > 14 && kind_of(kind).is_some();
    counts.iter().all(|b| b.is_ascii_digit() || b.is_ascii_whitespace())
        && is_kind
        && formats.trim_ascii_start().starts_with(b"(")
}

fn kind_of(line: &[u8]) -> Option<(Field, Symmetry, bool)> {
    let letters = line.get(..3)?.to_ascii_uppercase();
    let field = match letters[0] {
        b'R' => Field::Real,
        b'I' => Field::Integer,
        b'P' | b'Q' => Field::Pattern,
        b'C' => Field::Complex,
        _ => return None,
    };
    let symmetry = match letters[1] {
        b'S' => Symmetry::Symmetric,
        b'Z' => Symmetry::SkewSymmetric,
        b'H' => Symmetry::Hermitian,
        b'U' | b'R' => Symmetry::General,
        _ => return None,
    };
    matches!(letters[2], b'A' | b'E').then_some((field, symmetry, letters[2] == b'E'))
}

/// Reads the matrix in `text`.
pub(super) fn read<T: Scalar>(
    text: impl Read,
    mut fail: impl FnMut(std::io::Error) -> ReadError,
    path: &Path,
    options: &ReadOptions<'_>,
) -> Result<Loaded<T>, ReadError> {
    let mut lines = Lines::new(text);
    let at = |lines: &Lines<_>, fault| {
        let place = Place { path: path.to_owned(), line: Some(lines.number.max(1)), column: None };
        ReadError::Boeing { place, fault }
    };
    let mut head = Vec::new();
    while head.len() < 4 || (head.len() == 4 && has_right_hand_sides(&head)) {
        let Some(line) = lines.next().map_err(&mut fail)? else { break };
        head.push(String::from_utf8_lossy(line).into_owned());
    }
    let header = Header::of_lines(&head).map_err(|fault| at(&lines, fault))?;
    let Header { field, symmetry, nrows, ncols, entries, .. } = header;
    let only_places = options.places_only || field == Field::Pattern;
    if field == Field::Complex && !options.places_only {
        return Err(at(&lines, BoeingFault::Complex));
    }
    if let Some(declared) = options.declared {
        declared([nrows, ncols, entries]);
    }
    let budget = Budget::new(options);
    budget.check(path, finished_bytes::<T>(nrows, 0) + 8 * (u128::from(ncols) + 1))?;
    budget.rows(path, nrows.max(ncols), entries)?;

    // Counts of a header are promises: vectors grow as the file keeps them.
    let (mut pointers, mut rows, mut values): (Vec<u64>, Vec<u32>, Vec<T>) = Default::default();
    section(&mut lines, header.pointers, ncols + 1, "pointers", &at, &mut fail, path, |field, number| {
        let last = pointers.last().copied().unwrap_or(1);
        let pointer = whole(field).filter(|p| (last..=entries + 1).contains(p) && (number > 0 || *p == 1));
        let expected = || format!("a pointer from {last} to {}", entries + 1);
        let pointer = pointer.ok_or_else(|| expected_here(expected(), field))?;
        Ok(make_room(&mut pointers, 1).map(|()| pointers.push(pointer)))
    })?;
    section(&mut lines, header.indices, entries, "row indices", &at, &mut fail, path, |field, _| {
        let row = whole(field).filter(|row| (1..=nrows).contains(row));
        let row = row.ok_or_else(|| expected_here(format!("a row from 1 to {nrows}"), field))?;
        if rows.len().is_multiple_of(1 << 20)
            && !budget.fits(rows.len() as u128 * (4 + size_of::<T>() as u128))
        {
            return Ok(Err(super::memory::Refused { need: crate::Bytes(4 * entries) }));
        }
        Ok(make_room(&mut rows, 1).map(|()| rows.push((row - 1) as u32)))
    })?;
    if only_places {
        values.resize(rows.len(), T::default());
    } else {
        let format = header.values.ok_or_else(|| at(&lines, BoeingFault::Format(String::new())))?;
        section(&mut lines, format, entries, "values", &at, &mut fail, path, |field, _| {
            let value = number(field, format.decimals).map(T::from_f64).filter(|v| v.to_f64().is_finite());
            let value =
                value.ok_or_else(|| expected_here("a finite value that fits the type".to_owned(), field))?;
            Ok(make_room(&mut values, 1).map(|()| values.push(value)))
        })?;
    }
    for pointer in &mut pointers {
        *pointer -= 1;
    }
    if pointers.last() != Some(&entries) {
        let last = pointers.last().map_or(0, |p| p + 1).to_string();
        return Err(at(&lines, expected_here(format!("a last pointer of {}", entries + 1), last.as_bytes())));
    }
    let mirror = match symmetry {
        Symmetry::General => Mirror::None,
        Symmetry::SkewSymmetric => Mirror::Negated,
        Symmetry::Symmetric | Symmetry::Hermitian => Mirror::Same,
    };
    let buckets = Buckets::new(nrows as usize);
    let chunks = chunks(entries as usize, buckets, mirror, |piece, out| {
        column_entries(&pointers, &rows, &values, piece, out);
    })
    .map_err(|refused| refused.error(path))?;
    drop((pointers, rows, values));
    let merge = if only_places { Merge::Keep } else { Merge::Sum };
    let value = |e: &super::assemble::Entry<T>| {
        if only_places {
            T::from_f64(pattern_value(options.pattern, symmetry, e.row, e.col))
        } else {
            e.value
        }
    };
    let (matrix, duplicates) =
        assemble((nrows as usize, ncols as usize), buckets, chunks, value, merge, path)?;
    let stored = Stored { layout: Layout::Boeing, field, symmetry, entries, duplicates };
    let mut loaded = Loaded::new(matrix, stored);
    if header.has_right_hand_sides {
        loaded.remarks.push(super::Remark::RightHandSides);
    }
    Ok(loaded)
}

/// Hands `expected` fields of fixed width to `take`, with the number of each.
#[expect(clippy::too_many_arguments, reason = "what reading a section takes, in one place")]
fn section<R: Read>(
    lines: &mut Lines<R>,
    format: Format,
    expected: u64,
    what: &'static str,
    at: &impl Fn(&Lines<R>, BoeingFault) -> ReadError,
    fail: &mut impl FnMut(std::io::Error) -> ReadError,
    path: &Path,
    mut take: impl FnMut(&[u8], u64) -> Result<Result<(), super::memory::Refused>, BoeingFault>,
) -> Result<(), ReadError> {
    let mut found = 0;
    while found < expected {
        let Some(line) = lines.next().map_err(&mut *fail)? else {
            return Err(at(lines, BoeingFault::Ends { what, found, expected }));
        };
        let line = line.to_vec();
        let fields = line.chunks(format.width).take(format.count);
        let before = found;
        for field in fields.take((expected - found) as usize).filter(|field| !field.trim_ascii().is_empty()) {
            take(field.trim_ascii(), found)
                .map_err(|fault| at(lines, fault))?
                .map_err(|refused| refused.error(path))?;
            found += 1;
        }
        if found == before {
            return Err(at(lines, expected_here(format!("{what} of {} columns", format.width), &line)));
        }
    }
    Ok(())
}

fn expected_here(expected: String, found: &[u8]) -> BoeingFault {
    let found = String::from_utf8_lossy(&found[..found.len().min(32)]).escape_debug().to_string();
    BoeingFault::Expected { expected, found }
}

fn has_right_hand_sides(head: &[String]) -> bool {
    head.get(1).and_then(|line| line.get(56..70)).is_some_and(|n| n.trim().parse().is_ok_and(|n: u64| n > 0))
}

impl Header {
    fn of_lines(lines: &[String]) -> Result<Self, BoeingFault> {
        let line = |at: usize| lines.get(at).map(String::as_str).unwrap_or_default();
        let (kind, formats) = (line(2), line(3));
        let found = kind_of(kind.as_bytes());
        let (field, symmetry, elements) = found
            .ok_or_else(|| expected_here("a kind of matrix as RSA or pua".to_owned(), kind.as_bytes()))?;
        if elements {
            return Err(BoeingFault::Elements);
        }
        let mut sizes = kind[3..].split_whitespace().map(|word| word.parse::<u64>().ok());
        let mut size = |what: &str| {
            let size = sizes.next().flatten().filter(|n| *n < u64::from(u32::MAX) || what == "entries");
            size.ok_or_else(|| {
                expected_here(format!("a number of {what} below {}", u32::MAX), kind.as_bytes())
            })
        };
        let (nrows, ncols, entries) = (size("rows")?, size("columns")?, size("entries")?);
        if symmetry != Symmetry::General && nrows != ncols {
            return Err(BoeingFault::NotSquare { symmetry, nrows, ncols });
        }
        let part = |range: std::ops::Range<usize>| {
            formats.get(range.start..range.end.min(formats.len())).unwrap_or_default()
        };
        let (pointers, indices, values) = (part(0..16), part(16..32), part(32..52));
        let format =
            |text: &str| Format::of_text(text).ok_or_else(|| BoeingFault::Format(text.trim().to_owned()));
        Ok(Self {
            field,
            symmetry,
            nrows,
            ncols,
            entries,
            has_right_hand_sides: has_right_hand_sides(lines),
            pointers: format(pointers)?,
            indices: format(indices)?,
            values: if values.trim().is_empty() { None } else { Some(format(values)?) },
        })
    }
}

impl Format {
    /// `(16I5)`, `(1P,4E20.12)`, `(3(1PE25.16E3))`.
    fn of_text(text: &str) -> Option<Self> {
        let text: String =
            text.chars().filter(|c| !c.is_whitespace() && *c != ',').collect::<String>().to_ascii_uppercase();
        let inner = text.strip_prefix('(')?.strip_suffix(')')?;
        let (outer, inner) = match inner.strip_suffix(')') {
            Some(nested) => nested.split_once('(')?,
            None => ("", inner),
        };
        // A scale factor changes what is read only where numbers have no exponent.
        let (scale, inner) = inner.split_once('P').unwrap_or(("0", inner));
        let letter = inner.find(|c: char| c.is_ascii_alphabetic())?;
        let (count, rest) = inner.split_at(letter);
        let count = if count.is_empty() { outer } else { count };
        let count: usize = if count.is_empty() { 1 } else { count.parse().ok()? };
        let (kind, rest) = rest.split_at(1);
        if !matches!(kind, "I" | "E" | "D" | "F" | "G") || (kind == "F" && scale.parse::<i32>().ok()? != 0) {
            return None;
        }
        let mut parts = rest.split(['.', 'E']);
        let width: usize = parts.next()?.parse().ok()?;
        let decimals = if kind == "I" { 0 } else { parts.next().unwrap_or("0").parse().ok()? };
        ((1..=1000).contains(&count) && (1..=1000).contains(&width) && (0..=300).contains(&decimals))
            .then_some(Self { count, width, decimals })
    }
}

fn whole(field: &[u8]) -> Option<u64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// A number as Fortran reads it: without a decimal point, its last `decimals` digits are behind one.
fn number(field: &[u8], decimals: i32) -> Option<f64> {
    let value = super::matrix_market::number_as_fortran(field)?;
    let mantissa = field.iter().position(|b| b.is_ascii_alphabetic()).map_or(field, |at| &field[..at]);
    Some(if mantissa.contains(&b'.') { value } else { value / 10.0_f64.powi(decimals) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_of_fortran_are_understood() {
        let format = |text| Format::of_text(text).map(|f| (f.count, f.width, f.decimals));
        for (text, expected) in [
            ("(16I5)", Some((16, 5, 0))),
            (" (1P,4E20.12) ", Some((4, 20, 12))),
            ("(1P3D25.16)", Some((3, 25, 16))),
            ("(3(1PE25.16E3))", Some((3, 25, 16))),
            ("(10F7.1)", Some((10, 7, 1))),
            ("(I8)", Some((1, 8, 0))),
            ("(1P,5F12.4)", None),
            ("(16X5)", None),
            ("16I5", None),
            ("", None),
        ] {
            assert_eq!(format(text), expected, "{text}");
        }
        assert_eq!(number(b"12345", 3), Some(12.345));
        assert_eq!(number(b"1.5D+01", 3), Some(15.0));
    }
}
