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

use super::assemble::{Arrays, column_entries, finished_bytes};
use super::matrix_market::number_as_fortran;
use super::memory::{Budget, check_rows, make_room, zeroed};
use super::options::Source;
use super::unpacked::Lines;
use super::{Field, Layout, Loaded, Place, ReadError, Remark, Stored, Symmetry};
use crate::Scalar;
use std::io::Read;
use std::path::Path;
use thiserror::Error;

/// Fault of a Harwell-Boeing or Rutherford-Boeing file.
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
        /// The field that belongs here.
        expected: String,
        /// The text found here.
        found: String,
    },
    /// The file ends early.
    #[error("the file ends after {found} of {expected} {what}")]
    Ends {
        /// `pointers`, `row indices` or `values`.
        what: &'static str,
        /// Number that was found.
        found: u64,
        /// Number that was declared.
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

/// Content of the header.
struct Header {
    field: Field,
    symmetry: Symmetry,
    nrows: u64,
    ncols: u64,
    entries: u64,
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

/// Returns whether a file begins as one of these: its third line names a kind of matrix, its fourth begins with a format.
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

/// Reads the matrix in `text`. `fail`: of a fault of its reader.
pub(super) fn read<T: Scalar>(
    text: Box<dyn Read + Send + '_>,
    fail: &dyn Fn(std::io::Error) -> ReadError,
    source: Source<'_>,
) -> Result<Loaded<T>, ReadError> {
    let Source { path, options, .. } = source;
    let mut body =
        Body { lines: Lines::new(text), fail, path, budget: Budget::new(options), held: 0, pending: None };
    let mut head = Vec::new();
    while head.len() < 4 {
        let Some(line) = body.line()? else { break };
        head.push(String::from_utf8_lossy(&line).into_owned());
    }
    // A fifth line describes right-hand sides, full or as the matrix; pointers have no letters.
    let has_right_hand_sides = match body.line()? {
        Some(line) if matches!(line.trim_ascii_start().first(), Some(b'F' | b'f' | b'M' | b'm')) => true,
        line => {
            body.pending = line;
            false
        }
    };
    let header = Header::of_lines(&head).map_err(|fault| body.header_error(fault))?;
    let Header { field, symmetry, nrows, ncols, entries, .. } = header;
    let only_places = options.places_only || field == Field::Pattern;
    if field == Field::Complex && !options.places_only {
        return Err(body.header_error(BoeingFault::Complex));
    }
    if let Some(declared) = options.declared {
        declared([nrows, ncols, entries]);
    }
    body.budget.check(path, finished_bytes::<T>(nrows, 0) + 8 * (u128::from(ncols) + 1))?;
    check_rows(path, nrows.max(ncols), entries)?;

    let pointers = body.section(header.pointers, ncols + 1, "pointers", |field, before: &[u64]| {
        let least = before.last().map_or(0, |last| *last);
        let most = if before.is_empty() { 0 } else { entries };
        let pointer = whole(field).and_then(|p| p.checked_sub(1)).filter(|p| (least..=most).contains(p));
        pointer.ok_or_else(|| expected_here(format!("a pointer from {} to {}", least + 1, most + 1), field))
    })?;
    if pointers.last() != Some(&entries) {
        let last = pointers.last().map_or(0, |p| p + 1).to_string();
        return Err(body.error(expected_here(format!("a last pointer of {}", entries + 1), last.as_bytes())));
    }
    let rows = body.section(header.indices, entries, "row indices", |field, _: &[u32]| {
        let row = whole(field).filter(|row| (1..=nrows).contains(row));
        let row = row.ok_or_else(|| expected_here(format!("a row from 1 to {nrows}"), field))?;
        Ok((row - 1) as u32)
    })?;
    let values = if only_places {
        zeroed(rows.len()).map_err(|refused| refused.error(path))?
    } else {
        let format = header.values.ok_or_else(|| body.error(BoeingFault::Format(String::new())))?;
        body.section(format, entries, "values", |field, _: &[T]| {
            let value = number(field, format.decimals).map(T::from_f64).filter(|v| v.to_f64().is_finite());
            value.ok_or_else(|| expected_here("a finite value that fits the type".to_owned(), field))
        })?
    };

    let arrays = Arrays { source, budget: body.budget, held: body.held, symmetry, places_only: only_places };
    let (matrix, duplicates) =
        arrays.assemble((nrows as usize, ncols as usize), entries, entries as usize, move |piece, out| {
            column_entries(&pointers, &rows, &values, piece, out);
        })?;
    let stored = Stored { layout: Layout::Boeing, field, symmetry, entries, duplicates };
    let mut loaded = Loaded::new(matrix, stored);
    loaded.remarks.extend(has_right_hand_sides.then_some(Remark::RightHandSides));
    Ok(loaded)
}

/// The lines of a file, and what has been read of them.
struct Body<'a, 't> {
    lines: Lines<Box<dyn Read + Send + 't>>,
    fail: &'a dyn Fn(std::io::Error) -> ReadError,
    path: &'a Path,
    budget: Budget,
    /// Bytes of numbers read.
    held: u128,
    /// A line that was looked at.
    pending: Option<Vec<u8>>,
}

impl Body<'_, '_> {
    fn error(&self, fault: BoeingFault) -> ReadError {
        self.error_in(self.lines.number.max(1), fault)
    }

    /// Of the header: the formats are its fourth line, all else that can be wrong stands in the third.
    fn header_error(&self, fault: BoeingFault) -> ReadError {
        let line = if let BoeingFault::Format(_) = fault { 4 } else { 3 };
        self.error_in(line.min(self.lines.number.max(1)), fault)
    }

    fn error_in(&self, line: u64, fault: BoeingFault) -> ReadError {
        let place = Place { path: self.path.to_owned(), line: Some(line), column: None };
        ReadError::Boeing { place, fault }
    }

    fn line(&mut self) -> Result<Option<Vec<u8>>, ReadError> {
        match self.pending.take() {
            Some(line) => Ok(Some(line)),
            None => Ok(self.lines.next().map_err(self.fail)?.map(<[u8]>::to_vec)),
        }
    }

    /// `expected` numbers in fields of fixed width. `take` is given a field, and what came before it. Counts of a header are promises:
    /// room is made as the file keeps them.
    fn section<E>(
        &mut self,
        format: Format,
        expected: u64,
        what: &'static str,
        take: impl Fn(&[u8], &[E]) -> Result<E, BoeingFault>,
    ) -> Result<Vec<E>, ReadError> {
        let mut into: Vec<E> = Vec::new();
        while (into.len() as u64) < expected {
            let before = into.len();
            let Some(line) = self.line()? else {
                return Err(self.error(BoeingFault::Ends { what, found: before as u64, expected }));
            };
            make_room(&mut into, format.count).map_err(|refused| refused.error(self.path))?;
            let left = (expected - before as u64).min(format.count as u64) as usize;
            for field in format.fields(&line).into_iter().take(left) {
                let number = take(field, &into).map_err(|fault| self.error(fault))?;
                into.push(number);
            }
            if into.len() == before {
                // Blank lines at the end of a file that is cut short.
                if line.trim_ascii().is_empty() {
                    return Err(self.error(BoeingFault::Ends { what, found: before as u64, expected }));
                }
                return Err(self.error(expected_here(format!("{what} of {} columns", format.width), &line)));
            }
            self.held += ((into.len() - before) * size_of::<E>()) as u128;
            self.budget.check(self.path, self.held)?;
        }
        Ok(into)
    }
}

fn expected_here(expected: String, found: &[u8]) -> BoeingFault {
    let found = String::from_utf8_lossy(&found[..found.len().min(32)]).escape_debug().to_string();
    BoeingFault::Expected { expected, found }
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
        if u128::from(entries) > u128::from(nrows) * u128::from(ncols) {
            return Err(expected_here(
                format!("at most {nrows} x {ncols} entries"),
                entries.to_string().as_bytes(),
            ));
        }
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
            pointers: format(pointers)?,
            indices: format(indices)?,
            values: if values.trim().is_empty() { None } else { Some(format(values)?) },
        })
    }
}

impl Format {
    /// The fields of a line. One that is blank before others is 0, as in Fortran. Where fields of the stated width are no numbers the line
    /// is cut at blanks: some programs, scipy among them, write other widths than their header says.
    fn fields(self, line: &[u8]) -> Vec<&[u8]> {
        let line = line.trim_ascii_end();
        let fields: Vec<&[u8]> = line.chunks(self.width).map(<[u8]>::trim_ascii).collect();
        if fields.iter().all(|field| field.is_empty() || number_as_fortran(field).is_some()) {
            return fields
                .into_iter()
                .map(|field| if field.is_empty() { &b"0"[..] } else { field })
                .collect();
        }
        line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect()
    }

    /// `(16I5)`, `(1P,4E20.12)`, `(3(1PE25.16E3))`.
    fn of_text(text: &str) -> Option<Self> {
        let is_part = |c: &char| !c.is_whitespace() && !matches!(c, ',' | ':');
        let text = text.chars().filter(is_part).collect::<String>().to_ascii_uppercase();
        let inner = text.strip_prefix('(')?.strip_suffix(')')?;
        let (outer, inner) = match inner.strip_suffix(')') {
            Some(nested) => nested.split_once('(')?,
            None => ("", inner),
        };
        // A scale factor changes what is read only where numbers have no exponent.
        let (outer_scale, outer) = outer.split_once('P').unwrap_or(("0", outer));
        let (scale, inner) = inner.split_once('P').unwrap_or((outer_scale, inner));
        let letter = inner.find(|c: char| c.is_ascii_alphabetic())?;
        let (count, rest) = inner.split_at(letter);
        let count = if count.is_empty() { outer } else { count };
        let count: usize = if count.is_empty() { 1 } else { count.parse().ok()? };
        let (kind, rest) = rest.split_at(1);
        if !matches!(kind, "I" | "E" | "D" | "F" | "G") || (kind == "F" && scale.parse::<i32>().ok()? != 0) {
            return None;
        }
        // ES and EN are read as E.
        let mut parts = rest.trim_start_matches(['S', 'N']).split(['.', 'E']);
        let width: usize = parts.next()?.parse().ok()?;
        let decimals: i32 = parts.next().unwrap_or("0").parse().ok()?;
        let is_usual =
            (1..=1000).contains(&count) && (1..=1000).contains(&width) && (0..=300).contains(&decimals);
        // Numbers in E without a decimal point are whole in the files that there are, whatever Fortran says of them.
        is_usual.then_some(Self { count, width, decimals: if kind == "F" { decimals } else { 0 } })
    }
}

fn whole(field: &[u8]) -> Option<u64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// A number as Fortran reads it: without a decimal point, its last `decimals` digits are behind one.
fn number(field: &[u8], decimals: i32) -> Option<f64> {
    let value = number_as_fortran(field)?;
    let mantissa = field.iter().position(u8::is_ascii_alphabetic).map_or(field, |at| &field[..at]);
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
            (" (1P,4E20.12) ", Some((4, 20, 0))),
            ("(1P3D25.16)", Some((3, 25, 0))),
            ("(3(1PE25.16E3))", Some((3, 25, 0))),
            ("(10F7.1)", Some((10, 7, 1))),
            ("(I8)", Some((1, 8, 0))),
            ("(1P,3(E25.16))", Some((3, 25, 0))),
            ("(3ES25.16)", Some((3, 25, 0))),
            ("(16I5,:)", Some((16, 5, 0))),
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
