//! A line of the body: a place and a value, or in an array a value.
//!
//! Each grammar stands here twice. The fast form takes what programs write and gives up at anything else; the
//! careful form takes everything that is allowed and says what is wrong with the rest. Tests hold them together.
//!
//! Allowed: blanks anywhere, `\r\n`, a missing last line end, blank lines, `%` comments between entries and behind them, lines that
//! begin with an end-of-file character (Ctrl-Z) or NUL, which some systems fill files up with, `+3`, `.5`, `5.`, Fortran's `1d5` and `1.5-103`. Refused: values that are not finite, a second entry on a line.

use super::super::assemble::{Entry, Payload};
use super::fault::{Found, MatrixMarketFault as Fault};
use crate::Scalar;
use bytemuck::Zeroable;

/// Content that a line may have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grammar {
    pub(super) nrows: u64,
    pub(super) ncols: u64,
    /// Values must be whole.
    pub(super) integer: bool,
}

/// A fault and the byte of the line at which it stands, counted from 0.
pub(super) type LineFault = (usize, Fault);

/// A payload that can be read from a line.
pub(super) trait Text: Payload {
    /// Numbers that make a value.
    const NUMBERS: usize;
    /// The value at `at` and where it ends; `None` at anything unusual.
    fn fast(bytes: &[u8], at: usize, integer: bool) -> Option<(Self, usize)>;
    /// The value from the tokens of a line.
    fn careful(tokens: &mut Tokens<'_>, integer: bool) -> Result<Self, LineFault>;
}

impl Text for () {
    const NUMBERS: usize = 0;

    #[inline]
    fn fast(_: &[u8], at: usize, _: bool) -> Option<(Self, usize)> {
        Some(((), at))
    }

    fn careful(_: &mut Tokens<'_>, _: bool) -> Result<Self, LineFault> {
        Ok(())
    }
}

/// A value of `N` numbers that is not needed: whether it is anything but 0, and of a coordinate file not even that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Skipped<const N: usize> {
    is_set: bool,
}

// SAFETY: a truth value, of which all bits may be zero.
unsafe impl<const N: usize> Zeroable for Skipped<N> {}

impl<const N: usize> Payload for Skipped<N> {
    fn negated(self) -> Self {
        self
    }
}

impl<const N: usize> Text for Skipped<N> {
    const NUMBERS: usize = N;

    /// Steps over a number without its value; a place is kept whatever that is.
    #[inline]
    fn fast(bytes: &[u8], mut at: usize, _: bool) -> Option<(Self, usize)> {
        let mut is_set = false;
        for number in 0..N {
            let begin = blanks(bytes, at);
            if number > 0 && begin == at {
                return None;
            }
            at = sign(bytes, begin);
            let whole = digits(bytes, at, &mut is_set);
            let point = whole.unwrap_or(at);
            at = match bytes.get(point) {
                Some(b'.') => digits(bytes, point + 1, &mut is_set).or(whole.map(|end| end + 1))?,
                _ => whole?,
            };
            if let Some(b'e' | b'E') = bytes.get(at) {
                at = digits(bytes, sign(bytes, at + 1), &mut false)?;
            }
        }
        Some((Self { is_set }, at))
    }

    fn careful(tokens: &mut Tokens<'_>, _: bool) -> Result<Self, LineFault> {
        let mut is_set = false;
        for _ in 0..N {
            is_set |= float(tokens)?.0 != 0.0;
        }
        Ok(Self { is_set })
    }
}

#[inline]
fn sign(bytes: &[u8], at: usize) -> usize {
    at + usize::from(matches!(bytes.get(at), Some(b'-' | b'+')))
}

/// Where the digits at `at` end, of which there has to be one; `is_set` if one of them is not 0.
#[inline]
fn digits(bytes: &[u8], at: usize, is_set: &mut bool) -> Option<usize> {
    let mut end = at;
    while let Some(digit) = bytes.get(end).map(|b| b.wrapping_sub(b'0')).filter(|&d| d < 10) {
        *is_set |= digit > 0;
        end += 1;
    }
    (end > at).then_some(end)
}

/// The next token as a number, and where it stands.
fn float<'a>(tokens: &mut Tokens<'a>) -> Result<(f64, usize, &'a [u8]), LineFault> {
    let (at, token) = tokens.next();
    let value = number_as_fortran(token);
    let value = value.ok_or_else(|| (at, Fault::Expected { what: "value", found: Found::token(token) }))?;
    Ok((value, at, token))
}

/// A number as C or Fortran writes it, which puts D or Q before the exponent, or nothing at all where it has three digits: `1.5-103`.
pub(in super::super) fn number_as_fortran(token: &[u8]) -> Option<f64> {
    if let Ok(value) = fast_float2::parse(token) {
        return Some(value);
    }
    let mut c_style = Vec::with_capacity(token.len() + 1);
    let mut before = b' ';
    for &byte in token {
        match byte {
            b'd' | b'D' | b'q' | b'Q' => c_style.push(b'e'),
            b'+' | b'-' if before.is_ascii_digit() || before == b'.' => c_style.extend([b'e', byte]),
            _ => c_style.push(byte),
        }
        before = byte;
    }
    fast_float2::parse(c_style).ok()
}

impl<T: Scalar> Text for T {
    const NUMBERS: usize = 1;

    #[inline]
    fn fast(bytes: &[u8], at: usize, integer: bool) -> Option<(Self, usize)> {
        let at = blanks(bytes, at);
        let (value, len) = fast_float2::parse_partial::<f64, _>(&bytes[at..]).ok()?;
        let narrowed = T::from_f64(value);
        let good = narrowed.to_f64().is_finite() && (!integer || value.fract() == 0.0);
        good.then_some((narrowed, at + len))
    }

    fn careful(tokens: &mut Tokens<'_>, integer: bool) -> Result<Self, LineFault> {
        let (value, at, token) = float(tokens)?;
        let narrowed = T::from_f64(value);
        if !narrowed.to_f64().is_finite() {
            return Err((at, Fault::NotFinite { found: Found::token(token) }));
        }
        if integer && value.fract() != 0.0 {
            return Err((at, Fault::NotInteger { found: Found::token(token) }));
        }
        Ok(narrowed)
    }
}

/// Reads every coordinate line of a block into `out`; gives the number of lines.
///
/// # Errors
/// The line within the block, counted from 0, and its fault.
pub(super) fn coordinates<V: Text>(
    grammar: &Grammar,
    bytes: &[u8],
    out: &mut Vec<Entry<V>>,
) -> Result<u64, (u64, LineFault)> {
    let (mut at, mut lines) = (0, 0);
    while at < bytes.len() {
        if let Some((entry, next)) = fast_coordinate(grammar, bytes, at) {
            out.push(entry);
            at = next;
        } else {
            let line = line_at(bytes, at);
            out.extend(careful_coordinate(grammar, line).map_err(|fault| (lines, fault))?);
            at += line.len() + 1;
        }
        lines += 1;
    }
    Ok(lines)
}

/// Reads every line of a block of an array: `out` gets the values that are not 0, with `row` their number
/// within the block; gives the number of lines and of values.
///
/// # Errors
/// As [`coordinates`].
pub(super) fn array_values<V: Text + PartialEq>(
    grammar: &Grammar,
    bytes: &[u8],
    out: &mut Vec<Entry<V>>,
) -> Result<(u64, u64), (u64, LineFault)> {
    let (mut at, mut lines, mut values) = (0, 0, 0_u32);
    while at < bytes.len() {
        let fast =
            V::fast(bytes, at, grammar.integer).and_then(|(value, end)| Some((value, line_end(bytes, end)?)));
        let value = if let Some((value, next)) = fast {
            at = next;
            Some(value)
        } else {
            let line = line_at(bytes, at);
            at += line.len() + 1;
            let mut tokens = Tokens { line, at: 0 };
            if tokens.is_empty() {
                None
            } else {
                let value =
                    V::careful(&mut tokens, grammar.integer).and_then(|v| tokens.end(v, V::NUMBERS, true));
                Some(value.map_err(|fault| (lines, fault))?)
            }
        };
        if let Some(value) = value {
            if value != V::default() {
                out.push(Entry { row: values, col: 0, value });
            }
            values += 1;
        }
        lines += 1;
    }
    Ok((lines, u64::from(values)))
}

#[inline]
fn fast_coordinate<V: Text>(grammar: &Grammar, bytes: &[u8], at: usize) -> Option<(Entry<V>, usize)> {
    let (row, at) = fast_index(bytes, blanks(bytes, at), grammar.nrows)?;
    if !matches!(bytes.get(at)?, b' ' | b'\t') {
        return None;
    }
    let (col, at) = fast_index(bytes, blanks(bytes, at + 1), grammar.ncols)?;
    // A value glued to its column index starts with a sign or a dot; the careful form refuses it.
    if !matches!(bytes.get(at), None | Some(b' ' | b'\t' | b'\n' | b'\r')) {
        return None;
    }
    let (value, at) = V::fast(bytes, at, grammar.integer)?;
    Some((Entry { row, col, value }, line_end(bytes, at)?))
}

/// An index in `1 ..= limit`, made to count from 0, and where it ends.
#[inline]
fn fast_index(bytes: &[u8], at: usize, limit: u64) -> Option<(u32, usize)> {
    let (mut index, mut end) = (0_u64, at);
    if let Some(eight) = bytes.get(at..at + 8) {
        let (value, len) = leading_digits(u64::from_le_bytes(eight.try_into().expect("a slice of 8 bytes")));
        (index, end) = (value, at + len);
        if len < 8 {
            let index = index.wrapping_sub(1);
            return (index < limit).then_some((index as u32, end));
        }
    }
    while let Some(digit) = bytes.get(end).map(|b| b.wrapping_sub(b'0')).filter(|&d| d < 10) {
        index = index.checked_mul(10)?.checked_add(u64::from(digit))?;
        end += 1;
    }
    let index = index.wrapping_sub(1);
    (index < limit).then_some((index as u32, end))
}

/// The number that the first characters of `text` (the first in the lowest byte) form, and how many they are.
///
/// All eight at once, as in Lemire, "Number parsing at a gigabyte per second", 2021: digits become 0..=9 by one
/// exclusive or, neighbours are joined to 2, 4 and 8 digits by multiplication.
#[inline]
fn leading_digits(text: u64) -> (u64, usize) {
    let x = text ^ 0x3030_3030_3030_3030;
    // A byte above 9 gets its top bit. Carries run towards later characters only, behind the first such byte.
    let not_digit = (x.wrapping_add(0x7676_7676_7676_7676) | x) & 0x8080_8080_8080_8080;
    let len = (not_digit.trailing_zeros() / 8) as usize;
    if len == 0 {
        return (0, 0);
    }
    // Zeros move in as leading digits.
    let x = x << (64 - 8 * len);
    let pairs = x.wrapping_mul(10).wrapping_add(x >> 8);
    let low = (pairs & 0x0000_00FF_0000_00FF).wrapping_mul(0x000F_4240_0000_0064);
    let high = ((pairs >> 16) & 0x0000_00FF_0000_00FF).wrapping_mul(0x0000_2710_0000_0001);
    (u64::from((low.wrapping_add(high) >> 32) as u32), len)
}

/// Start of the next line if nothing but blanks is left of this one.
#[inline]
fn line_end(bytes: &[u8], at: usize) -> Option<usize> {
    let at = blanks(bytes, at);
    match bytes.get(at) {
        None => Some(at),
        Some(b'\n') => Some(at + 1),
        Some(b'\r') if matches!(bytes.get(at + 1), None | Some(b'\n')) => Some((at + 2).min(bytes.len())),
        Some(_) => None,
    }
}

#[inline]
fn blanks(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

/// The line that starts at `at`, without its `\n`.
pub(super) fn line_at(bytes: &[u8], at: usize) -> &[u8] {
    let rest = &bytes[at..];
    &rest[..rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len())]
}

fn careful_coordinate<V: Text>(grammar: &Grammar, line: &[u8]) -> Result<Option<Entry<V>>, LineFault> {
    let mut tokens = Tokens { line, at: 0 };
    if tokens.is_empty() {
        return Ok(None);
    }
    let row = tokens.index("row", "row index", grammar.nrows)?;
    let col = tokens.index("column", "column index", grammar.ncols)?;
    let value = V::careful(&mut tokens, grammar.integer)?;
    tokens.end(Some(Entry { row, col, value }), V::NUMBERS, false)
}

/// The blank-separated words of a line.
pub(super) struct Tokens<'a> {
    pub(super) line: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Tokens<'a> {
    /// Start of the next token, and the token; an empty one at the end.
    pub(super) fn peek(&self) -> (usize, &'a [u8]) {
        let is_blank = |b: &u8| matches!(b, b' ' | b'\t' | b'\r');
        let rest = &self.line[self.at..];
        let start = rest.iter().position(|b| !is_blank(b)).unwrap_or(rest.len());
        let len = rest[start..].iter().position(is_blank).unwrap_or(rest.len() - start);
        (self.at + start, &rest[start..start + len])
    }

    pub(super) fn next(&mut self) -> (usize, &'a [u8]) {
        let (at, token) = self.peek();
        self.at = at + token.len();
        (at, token)
    }

    /// Returns whether nothing is left but blanks, a comment, which some write with `#`, or what fills a file up.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self.peek().1.first(), None | Some(b'%' | b'#' | 0x1a | 0))
    }

    fn index(&mut self, what: &'static str, expected: &'static str, declared: u64) -> Result<u32, LineFault> {
        let (at, token) = self.next();
        if token.is_empty() || !token.iter().all(u8::is_ascii_digit) {
            return Err((at, Fault::Expected { what: expected, found: Found::token(token) }));
        }
        let index = number(token);
        match index {
            Some(0) => Err((at, Fault::IndexZero { what })),
            Some(index) if index <= declared => Ok((index - 1) as u32),
            _ => Err((at, Fault::Outside { what, index: Found::number(token), declared })),
        }
    }

    /// `value`, which `numbers` numbers make, if nothing is left.
    fn end<V>(&self, value: V, numbers: usize, is_array: bool) -> Result<V, LineFault> {
        if self.is_empty() {
            return Ok(value);
        }
        let (at, token) = self.peek();
        Err((at, Fault::Trailing { found: Found::token(token), numbers, is_array }))
    }
}

/// A number of digits only, `None` if it is none or needs more than 64 bits.
pub(super) fn number(token: &[u8]) -> Option<u64> {
    if token.is_empty() {
        return None;
    }
    token.iter().try_fold(0_u64, |n, b| {
        let digit = b.is_ascii_digit().then(|| u64::from(b - b'0'))?;
        n.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAMMAR: Grammar = Grammar { nrows: 4_000_000_000, ncols: 50, integer: false };

    #[test]
    fn eight_characters_become_their_leading_number() {
        for (text, expected) in [
            (b"12345678", (12_345_678, 8)),
            (b"7 345678", (7, 1)),
            (b"x2345678", (0, 0)),
            (b"0042\n999", (42, 4)),
            (b"99\xff99999", (99, 2)),
            (b"123:5678", (123, 3)),
            (b"1/345678", (1, 1)),
        ] {
            assert_eq!(leading_digits(u64::from_le_bytes(*text)), expected, "{text:?}");
        }
    }

    fn reads<const N: usize>(values: &str) -> bool {
        let mut entries = Vec::<Entry<Skipped<N>>>::new();
        coordinates(&GRAMMAR, format!("1 1 {values}\n").as_bytes(), &mut entries).is_ok()
    }

    #[test]
    fn a_value_that_is_not_needed_has_to_be_a_number_all_the_same() {
        let numbers = ["1", "-1.5", "+.5", "5.", "1e5", "1E-05", "0.0", "1.5-103", "1d5"];
        let others = ["1.5.2", "--1", ".", "-", "+", "1e", "e5", "1e+", "1-", "1.e", "1e5e5", "x", ""];
        for value in numbers {
            assert!(reads::<1>(value) && reads::<2>(&format!("{value} {value}")), "{value}");
            assert!(!reads::<2>(value), "{value} is one number");
        }
        for value in others {
            assert!(!reads::<1>(value) && !reads::<2>(&format!("1 {value}")), "{value}");
        }
        for one in ["1+2", "1.-2", "1.2.3", "1.5-103"] {
            assert!(!reads::<2>(one), "{one}");
        }
    }

    #[test]
    fn the_fast_form_agrees_with_the_careful_one_wherever_it_answers() {
        let words = [
            "1",
            "50",
            "51",
            "0",
            "",
            "3999999999",
            "4000000001",
            "99999999999999999999",
            "+3",
            "-1",
            "1e5",
            "1d5",
            "1.5-103",
            ".5",
            "5.",
            "nan",
            "inf",
            "1e400",
            "x",
            "\r",
            "%",
            "7\t",
            "  12345678 ",
            "2.5",
            "0x1",
        ];
        let mut answered = 0;
        for row in words {
            for col in words {
                for value in words {
                    for ending in ["", "\n", "\r\n", "  \n"] {
                        let text = format!("{row} {col} {value}{ending}");
                        let bytes = text.as_bytes();
                        let Some((fast, next)) = fast_coordinate::<f64>(&GRAMMAR, bytes, 0) else { continue };
                        let careful = careful_coordinate::<f64>(&GRAMMAR, line_at(bytes, 0)).unwrap();
                        assert_eq!((Some(fast), next), (careful, bytes.len()), "{text:?}");
                        answered += 1;
                    }
                }
            }
        }
        assert!(answered > 50, "{answered} lines were read by the fast form");
    }
}
