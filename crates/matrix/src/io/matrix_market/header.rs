//! The lines before the entries: banner, comments, size line.
//!
//! ```text
//! %%MatrixMarket matrix coordinate real general
//! % any number of comments
//! 5 5 8                                          rows columns entries; an array: rows columns
//! ```
//! Source: Boisvert, Pozo, Remington, "The Matrix Market exchange formats", NISTIR 5935, 1996.

use super::super::assemble::Entry;
use super::super::{Field, Remark, Symmetry};
use super::fault::{Found, MatrixMarketFault as Fault};
use super::line::{LineFault, Tokens, number, number_as_fortran};

/// Content of the lines before the entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) banner: Banner,
    pub(super) nrows: u64,
    pub(super) ncols: u64,
    /// Entries that the file must hold.
    pub(super) entries: u64,
    /// Place of that number in the size line: its line, counted from 1, and the byte in it, counted from 0.
    pub(super) entries_at: (u64, usize),
}

impl Header {
    /// Bytes of the shortest line that holds an entry: a digit, or two with a blank between them.
    pub(super) const fn shortest_line(&self) -> usize {
        if self.banner.array { 2 } else { 4 }
    }

    /// Places of the values of an array, which stores whole columns, or their part below the diagonal.
    ///
    /// Replaces, in `entries` whose `row` is their number counted from `first`, the number by the place.
    pub(super) fn place<V>(&self, first: u64, entries: &mut [Entry<V>]) {
        // Rows of column j that are not stored.
        let above = |col: u64| match self.banner.symmetry {
            Symmetry::General => 0,
            Symmetry::SkewSymmetric => col + 1,
            _ => col,
        };
        let column_start = |col: u64| match self.banner.symmetry {
            Symmetry::General => col * self.nrows,
            // The sum of (nrows - 1 - j) or (nrows - j) over j < col.
            Symmetry::SkewSymmetric => col * self.nrows - col * (col + 1) / 2,
            _ => col * self.nrows - col * col.saturating_sub(1) / 2,
        };
        let Some(entry) = entries.first() else { return };
        // The last column that starts at or before the first value.
        let number = first + u64::from(entry.row);
        let (mut col, mut high) = (0, self.ncols);
        while high - col > 1 {
            let middle = u64::midpoint(col, high);
            if column_start(middle) <= number {
                col = middle;
            } else {
                high = middle;
            }
        }
        for entry in entries {
            let number = first + u64::from(entry.row);
            while number >= column_start(col + 1) {
                col += 1;
            }
            (entry.row, entry.col) = ((above(col) + number - column_start(col)) as u32, col as u32);
        }
    }
}

/// Content of the first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Banner {
    pub(super) array: bool,
    pub(super) field: Field,
    pub(super) symmetry: Symmetry,
    /// The byte of the first line at which the kind of values stands.
    pub(super) field_at: usize,
}

/// Takes the lines of a file one by one until the header is complete.
#[derive(Debug, Default)]
pub(super) struct HeaderReader {
    banner: Option<Banner>,
    /// Lines taken.
    pub(super) lines: u64,
    /// True if one of them holds a CR that ends no line.
    pub(super) has_lone_cr: bool,
    /// Deviations from the format that are understood all the same.
    pub(super) remarks: Vec<Remark>,
}

/// Size as the first lines state it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Size {
    pub(in super::super) array: bool,
    /// 0 if the size line is not among them.
    pub(in super::super) nrows: u64,
    pub(in super::super) ncols: u64,
}

/// The size of the matrix in a text of which these are the first bytes; `None` if they are not Matrix Market.
pub(in super::super) fn size_of_text(begin: &[u8]) -> Option<Size> {
    let mut reader = HeaderReader::default();
    for line in begin.split(|&b| b == b'\n') {
        if let Some(header) = reader.take(line).ok()? {
            return Some(Size { array: header.banner.array, nrows: header.nrows, ncols: header.ncols });
        }
    }
    reader.banner.map(|banner| Size { array: banner.array, nrows: 0, ncols: 0 })
}

impl HeaderReader {
    /// Takes a line, without its `\n`; gives the header when this was the size line.
    pub(super) fn take(&mut self, line: &[u8]) -> Result<Option<Header>, LineFault> {
        self.lines += 1;
        self.has_lone_cr |= line.trim_ascii_end().contains(&b'\r');
        let Some(banner) = self.banner else {
            // Blank lines and comments may stand before it, as some programs put them.
            if self.lines < MOST_LINES_BEFORE_BANNER && is_before_banner(line) {
                return Ok(None);
            }
            if self.lines > 1 {
                self.remarks.push(Remark::Banner);
            }
            self.banner = Some(read_banner(line, &mut self.remarks)?);
            return Ok(None);
        };
        let tokens = Tokens { line, at: 0 };
        if tokens.is_empty() {
            if tokens.peek().1.starts_with(b"#") && !self.remarks.contains(&Remark::HashComments) {
                self.remarks.push(Remark::HashComments);
            }
            return Ok(None);
        }
        read_size(banner, tokens, self.lines).map(Some)
    }

    /// Returns whether the banner says that a line follows for each entry.
    pub(super) fn is_coordinate(&self) -> bool {
        self.banner.is_some_and(|banner| !banner.array)
    }

    /// The fault of a file that ends now.
    pub(super) fn end(&self) -> Fault {
        match self.lines {
            0 => Fault::Empty,
            _ if self.has_lone_cr => Fault::CarriageReturns,
            _ => Fault::NoSizeLine,
        }
    }
}

/// Lines before the banner that are passed over. Chosen.
const MOST_LINES_BEFORE_BANNER: u64 = 64;

/// Returns whether a line is blank or a comment, and no banner.
fn is_before_banner(line: &[u8]) -> bool {
    let text = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
    let behind = text.iter().position(|b| !matches!(b, b'%' | b'#' | b' ')).map_or(&[][..], |at| &text[at..]);
    let is_banner = behind.get(..12).is_some_and(|word| word.eq_ignore_ascii_case(b"MatrixMarket"));
    text.is_empty() || (text.starts_with(b"%") || text.starts_with(b"#")) && !is_banner
}

fn read_banner(line: &[u8], remarks: &mut Vec<Remark>) -> Result<Banner, LineFault> {
    // Editors on Windows like to put a byte order mark in front.
    let start = if line.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    let mut tokens = Tokens { line, at: start };
    let (at, word) = tokens.next();
    // Some write one percent sign, or a blank behind two.
    let percents = word.iter().take_while(|&&b| matches!(b, b'%' | b'#')).count();
    let name = if percents > 0 && percents == word.len() { tokens.next().1 } else { &word[percents..] };
    if !name.eq_ignore_ascii_case(b"MatrixMarket") {
        return Err((at, Fault::NotMatrixMarket { found: Found::token(word) }));
    }
    if !word.eq_ignore_ascii_case(b"%%MatrixMarket") && !remarks.contains(&Remark::Banner) {
        remarks.push(Remark::Banner);
    }
    let mut choose = |expected: &'static str, words: &[&str]| {
        let (at, word) = tokens.next();
        words
            .iter()
            .position(|w| word.eq_ignore_ascii_case(w.as_bytes()))
            .ok_or_else(|| (at, Fault::Banner { expected, found: Found::token(word) }))
            .map(|chosen| (at, chosen))
    };
    choose("'matrix'", &["matrix"])?;
    let (_, format) = choose("'coordinate' or 'array'", &["coordinate", "array"])?;
    let (field_at, field) = choose(
        "'real', 'double', 'integer' or 'pattern'",
        // scipy writes the last.
        &["real", "double", "integer", "pattern", "complex", "unsigned-integer"],
    )?;
    let (_, symmetry) = choose(
        "'general', 'symmetric', 'skew-symmetric' or 'hermitian'",
        &["general", "symmetric", "skew-symmetric", "hermitian"],
    )?;
    let field = match field {
        0 | 1 => Field::Real,
        2 | 5 => Field::Integer,
        3 => Field::Pattern,
        _ => Field::Complex,
    };
    let array = format == 1;
    if array && field == Field::Pattern {
        return Err((field_at, Fault::PatternArray));
    }
    let symmetry =
        [Symmetry::General, Symmetry::Symmetric, Symmetry::SkewSymmetric, Symmetry::Hermitian][symmetry];
    if !tokens.peek().1.is_empty() {
        remarks.push(Remark::TextBehindBanner);
    }
    Ok(Banner { array, field, symmetry, field_at })
}

fn read_size(banner: Banner, mut tokens: Tokens<'_>, line: u64) -> Result<Header, LineFault> {
    let start = tokens.peek().0;
    if !banner.array && is_entry(banner.field, &tokens) {
        return Err((start, Fault::SizeMissing { line }));
    }
    let mut size = |expected| {
        let (at, token) = tokens.next();
        let n = number(token).ok_or_else(|| (at, Fault::Size { expected, found: Found::token(token) }))?;
        Ok::<_, LineFault>((at, n))
    };
    let (row_at, nrows) = size("the number of rows")?;
    let (col_at, ncols) = size("the number of columns")?;
    let counted = if banner.array { None } else { Some(size("the number of entries")?) };
    let (at, rest) = tokens.peek();
    if !tokens.is_empty() {
        return Err((at, Fault::Size { expected: "nothing more", found: Found::token(rest) }));
    }
    // `u32::MAX` itself is no index: it marks padding elsewhere.
    let most = u64::from(u32::MAX) - 1;
    if nrows > most {
        return Err((row_at, Fault::TooMany { what: "row", n: nrows }));
    }
    if ncols > most {
        return Err((col_at, Fault::TooMany { what: "column", n: ncols }));
    }
    let symmetry = banner.symmetry;
    if symmetry != Symmetry::General && nrows != ncols {
        return Err((start, Fault::NotSquare { symmetry, nrows, ncols }));
    }
    // Both are below 2^32, so no product overflows.
    let (at, entries) = counted.unwrap_or((
        start,
        match symmetry {
            Symmetry::General => nrows * ncols,
            Symmetry::SkewSymmetric => nrows * nrows.saturating_sub(1) / 2,
            _ => nrows * (nrows + 1) / 2,
        },
    ));
    Ok(Header { banner, nrows, ncols, entries, entries_at: (line, at) })
}

/// Returns whether what should be the size line cannot be one, but an entry of such values: two indices of a pattern, or two and a fraction.
fn is_entry(field: Field, tokens: &Tokens<'_>) -> bool {
    let words: Vec<&[u8]> =
        tokens.line[tokens.at..].split(u8::is_ascii_whitespace).filter(|w| !w.is_empty()).collect();
    let are_numbers = |words: &[&[u8]]| words.iter().all(|word| number_as_fortran(word).is_some());
    let [row, column, values @ ..] = &words[..] else { return false };
    let is_size = values.len() == 1 && values[0].iter().all(u8::is_ascii_digit);
    let expected = match field {
        Field::Pattern => 0,
        Field::Complex => 2,
        _ => 1,
    };
    number(row).is_some()
        && number(column).is_some()
        && values.len() == expected
        && !is_size
        && are_numbers(values)
}

/// The size line and the first lines behind it, kept to tell whether it is an entry where the file makes no sense.
#[derive(Debug, Clone)]
pub(super) struct Beginning {
    size_line: Vec<u8>,
    lines: Vec<u8>,
    /// True if these are all lines of the file.
    whole: bool,
}

impl Beginning {
    /// Bytes that are looked at.
    const MOST: usize = 1 << 12;

    /// `rest` follows the size line; `whole` says that nothing follows `rest`.
    pub(super) fn new(size_line: &[u8], rest: &[u8], whole: bool) -> Self {
        let all = rest.len() <= Self::MOST;
        let lines = &rest[..rest.len().min(Self::MOST)];
        let end = if all { lines.len() } else { lines.iter().rposition(|&b| b == b'\n').unwrap_or(0) };
        Self { size_line: size_line.to_vec(), lines: lines[..end].to_vec(), whole: whole && all }
    }

    /// Returns whether the size line looks like an entry: of a short file, indices go beyond it and it declares another number of lines than
    /// follow; of a longer one, most indices go beyond it.
    pub(super) fn is_size_missing(&self) -> bool {
        let mut tokens = Tokens { line: &self.size_line, at: 0 };
        let mut size = || number(tokens.next().1).unwrap_or(u64::MAX);
        let (nrows, ncols, entries) = (size(), size(), size());
        let (mut found, mut beyond) = (0, 0);
        for line in self.lines.split(|&b| b == b'\n') {
            let mut tokens = Tokens { line, at: 0 };
            if !tokens.is_empty() {
                let mut index = || number(tokens.next().1).unwrap_or(0);
                beyond += u64::from(index() > nrows || index() > ncols);
                found += 1;
            }
        }
        if self.whole { beyond > 0 && found != entries } else { 2 * beyond > found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_may_be_in_any_case_with_comments_and_blank_lines() {
        let mut reader = HeaderReader::default();
        assert_eq!(reader.take(b"%%matrixmarket MATRIX  Coordinate\tDouble Symmetric\r"), Ok(None));
        for line in [&b"% comment"[..], b"", b"  \r", b"%"] {
            assert_eq!(reader.take(line), Ok(None));
        }
        let header = reader.take(b"  7 7   12 \r").unwrap().unwrap();
        assert_eq!((header.nrows, header.ncols, header.entries, header.entries_at), (7, 7, 12, (6, 8)));
        let Banner { array, field, symmetry, .. } = header.banner;
        assert_eq!((array, field, symmetry), (false, Field::Real, Symmetry::Symmetric));
    }

    #[test]
    fn an_array_declares_as_many_entries_as_its_stored_triangle_has() {
        for (symmetry, entries) in [("general", 16), ("symmetric", 10), ("skew-symmetric", 6)] {
            let mut reader = HeaderReader::default();
            reader.take(format!("%%MatrixMarket matrix array real {symmetry}").as_bytes()).unwrap();
            assert_eq!(reader.take(b"4 4").unwrap().unwrap().entries, entries);
        }
    }
}
