//! An array of an archive: its header, and its elements in blocks.
//!
//! ```text
//! \x93NUMPY  version (2 bytes)  length (2 bytes, from version 2 on 4)
//! {'descr': '<f8', 'fortran_order': False, 'shape': (8,), }  blanks to a multiple of 64  elements
//! ```
//! Only what `scipy.sparse.save_npz` writes: numbers and strings in up to three dimensions, no records, no pickles.
//! Source: NEP 1, "A simple file format for `NumPy` arrays".

use super::super::memory::zeroed;
use super::fault::NpzFault;
use std::io::Read;

/// Kind of element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    Int,
    Uint,
    Float,
    Complex,
    /// Bytes of text, one each.
    Ascii,
    /// Characters of text, four bytes each.
    Unicode,
}

/// Content of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    /// Bytes of an element.
    pub(super) size: usize,
    pub(super) big_endian: bool,
    /// Elements.
    pub(super) len: u64,
    /// Length in each dimension; 1 beyond [`Header::rank`].
    pub(super) dimensions: [u64; 3],
    /// Dimensions that there are.
    pub(super) rank: usize,
    /// True if the first index runs fastest, in place of the last.
    pub(super) is_fortran: bool,
}

/// Longest header read: arrays of plain numbers need 118 bytes, numpy pads to 128.
const LONGEST_HEADER: usize = 4096;
/// Elements decoded at once; any block that stays in cache will do.
const ELEMENTS_PER_BLOCK: usize = 1 << 16;

/// Reads the header at the start of `reader`. `array`: the name for errors.
pub(super) fn read_header(reader: &mut impl Read, array: &'static str) -> Result<Header, NpzFault> {
    let fault = |why: String| NpzFault::Array { array, why };
    let cut = |error: std::io::Error| fault(error.to_string());
    let mut start = [0; 10];
    reader.read_exact(&mut start).map_err(cut)?;
    if !start.starts_with(b"\x93NUMPY") {
        return Err(fault("not an .npy file".to_owned()));
    }
    let mut len = usize::from(u16::from_le_bytes([start[8], start[9]]));
    if start[6] >= 2 {
        let mut high = [0; 2];
        reader.read_exact(&mut high).map_err(cut)?;
        len |= usize::from(u16::from_le_bytes(high)) << 16;
    }
    if len > LONGEST_HEADER {
        return Err(fault(format!("its header of {len} bytes is longer than {LONGEST_HEADER}")));
    }
    let mut text = vec![0; len];
    reader.read_exact(&mut text).map_err(cut)?;
    let text = String::from_utf8_lossy(&text);
    parse_header(&text).ok_or_else(|| {
        other_type(&text, array)
            .unwrap_or_else(|| fault(format!("its header cannot be used: {}", one_line(text.trim()))))
    })
}

/// The fault of a header whose elements have a type that is not read; `None` if something else is wrong with it.
fn other_type(text: &str, array: &'static str) -> Option<NpzFault> {
    let descr = descr(text).filter(|descr| descr.starts_with(['<', '>', '|', '=']))?;
    if element(descr).is_some() {
        return None;
    }
    Some(match descr.trim_start_matches(['<', '>', '|', '=']) {
        "O" | "O8" | "O4" => NpzFault::Objects { array },
        "f10" | "f12" | "f16" => NpzFault::Dtype { array, dtype: format!("'{descr}' (longdouble)") },
        "c20" | "c24" | "c32" => NpzFault::Dtype { array, dtype: format!("'{descr}' (clongdouble)") },
        _ => NpzFault::Dtype { array, dtype: format!("'{}'", one_line(descr)) },
    })
}

/// `text` without control characters.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

fn parse_header(text: &str) -> Option<Header> {
    let shape = after(text, "'shape'")?.strip_prefix('(')?.split_once(')')?.0;
    let lengths = shape.split(',').map(str::trim).filter(|n| !n.is_empty());
    let lengths: Vec<u64> = lengths.map(|n| n.parse().ok()).collect::<Option<_>>()?;
    let mut dimensions = [1; 3];
    let rank = lengths.len();
    dimensions.get_mut(..rank)?.copy_from_slice(&lengths);
    let len = lengths.iter().try_fold(1_u64, |all, length| all.checked_mul(*length))?;
    let is_fortran = rank > 1 && after(text, "'fortran_order'")?.starts_with("True");
    let (kind, size, big_endian) = element(descr(text)?)?;
    Some(Header { kind, size, big_endian, len, dimensions, rank, is_fortran })
}

/// What stands behind a key of a header.
fn after<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    Some(text.split_once(key)?.1.trim_start().strip_prefix(':')?.trim_start())
}

/// The type of the elements as a header names it.
fn descr(text: &str) -> Option<&str> {
    Some(after(text, "'descr'")?.strip_prefix('\'')?.split_once('\'')?.0)
}

/// Kind and bytes of an element, and whether its most significant byte comes first; `None` of a type that is not read.
fn element(descr: &str) -> Option<(Kind, usize, bool)> {
    let mut letters = descr.chars();
    let (order, letter) = (letters.next()?, letters.next()?);
    let size: usize = letters.as_str().parse().ok()?;
    let (kind, sizes): (_, &[usize]) = match letter {
        'b' => (Kind::Bool, &[1]),
        'i' => (Kind::Int, &[1, 2, 4, 8]),
        'u' => (Kind::Uint, &[1, 2, 4, 8]),
        'f' => (Kind::Float, &[2, 4, 8]),
        'c' => (Kind::Complex, &[8, 16]),
        // The longest name of a format has three letters.
        'S' => (Kind::Ascii, &[1, 2, 3, 4, 5, 6, 7, 8]),
        'U' => (Kind::Unicode, &[1, 2, 3, 4, 5, 6, 7, 8]),
        _ => return None,
    };
    let known = sizes.contains(&size) && matches!(order, '<' | '>' | '|' | '=');
    let size = if kind == Kind::Unicode { 4 * size } else { size };
    known.then_some((kind, size, order == '>'))
}

/// Hands the `header.len` elements that follow to `each`, some thousands at once, as bytes.
pub(super) fn read_blocks(
    reader: &mut impl Read,
    header: &Header,
    array: &'static str,
    mut each: impl FnMut(&[u8]) -> Result<(), NpzFault>,
) -> Result<(), NpzFault> {
    let bytes = header.len.min(ELEMENTS_PER_BLOCK as u64) as usize * header.size;
    let refused = |_| NpzFault::Array { array, why: "the system has no memory left to read it".to_owned() };
    let mut block: Vec<u8> = zeroed(bytes).map_err(refused)?;
    let mut left = header.len;
    while left > 0 {
        let n = left.min(ELEMENTS_PER_BLOCK as u64);
        let bytes = &mut block[..n as usize * header.size];
        reader.read_exact(bytes).map_err(|error| NpzFault::Array {
            array,
            why: format!("reading the last {left} of {} elements: {error}", header.len),
        })?;
        each(bytes)?;
        left -= n;
    }
    Ok(())
}

impl Header {
    /// Place of the element at these indices.
    pub(super) fn place(&self, [i, j, k]: [usize; 3]) -> usize {
        let [first, second, third] = self.dimensions.map(|length| length as usize);
        if self.is_fortran { (k * second + j) * first + i } else { (i * second + j) * third + k }
    }

    /// Says of each element whether it is another than 0.
    pub(super) fn marks(
        &self,
        bytes: &[u8],
        mut take: impl FnMut(bool) -> Result<(), NpzFault>,
    ) -> Result<(), NpzFault> {
        if self.kind == Kind::Complex {
            let (half, mut is_marked) = (Self { kind: Kind::Float, size: self.size / 2, ..*self }, None);
            return half.floats(bytes, |part| match is_marked.take() {
                None => {
                    is_marked = Some(part != 0.0);
                    Ok(())
                }
                Some(real) => take(real || part != 0.0),
            });
        }
        self.whole_numbers(bytes, |n| take(n != 0))?;
        self.floats(bytes, |x| take(x != 0.0))
    }

    /// Returns whether elements are whole numbers or truth values.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.kind, Kind::Bool | Kind::Int | Kind::Uint)
    }

    /// Decodes whole numbers. Elements of any other kind give nothing.
    pub(super) fn whole_numbers(
        &self,
        bytes: &[u8],
        mut take: impl FnMut(i128) -> Result<(), NpzFault>,
    ) -> Result<(), NpzFault> {
        let big = self.big_endian;
        match (self.kind, self.size) {
            (Kind::Bool | Kind::Uint, 1) => bytes.iter().try_for_each(|&b| take(b.into())),
            (Kind::Int, 1) => bytes.iter().try_for_each(|&b| take((b as i8).into())),
            (Kind::Uint, 2) => words(bytes, big).try_for_each(|w| take(u16::from_le_bytes(w).into())),
            (Kind::Int, 2) => words(bytes, big).try_for_each(|w| take(i16::from_le_bytes(w).into())),
            (Kind::Uint, 4) => words(bytes, big).try_for_each(|w| take(u32::from_le_bytes(w).into())),
            (Kind::Int, 4) => words(bytes, big).try_for_each(|w| take(i32::from_le_bytes(w).into())),
            (Kind::Uint, 8) => words(bytes, big).try_for_each(|w| take(u64::from_le_bytes(w).into())),
            (Kind::Int, 8) => words(bytes, big).try_for_each(|w| take(i64::from_le_bytes(w).into())),
            _ => Ok(()),
        }
    }

    /// Decodes floating-point numbers. Elements of any other kind give nothing.
    pub(super) fn floats(
        &self,
        bytes: &[u8],
        mut take: impl FnMut(f64) -> Result<(), NpzFault>,
    ) -> Result<(), NpzFault> {
        let big = self.big_endian;
        match (self.kind, self.size) {
            (Kind::Float, 2) => words(bytes, big).try_for_each(|w| take(half(u16::from_le_bytes(w)))),
            (Kind::Float, 4) => words(bytes, big).try_for_each(|w| take(f32::from_le_bytes(w).into())),
            (Kind::Float, 8) => words(bytes, big).try_for_each(|w| take(f64::from_le_bytes(w))),
            _ => Ok(()),
        }
    }

    /// Decodes text, without the zeros that fill it up.
    pub(super) fn text(&self, bytes: &[u8]) -> String {
        let text: String = match self.kind {
            Kind::Unicode => words(bytes, self.big_endian)
                .map(|w| char::from_u32(u32::from_le_bytes(w)).unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect(),
            _ => String::from_utf8_lossy(bytes).into_owned(),
        };
        text.trim_end_matches('\0').to_owned()
    }
}

/// The words of `N` bytes in `bytes`, least significant byte first.
fn words<const N: usize>(bytes: &[u8], big_endian: bool) -> impl Iterator<Item = [u8; N]> + '_ {
    bytes.chunks_exact(N).map(move |chunk| {
        let mut word = [0; N];
        word.copy_from_slice(chunk);
        if big_endian {
            word.reverse();
        }
        word
    })
}

/// IEEE 754 binary16.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023) / 1024.0);
    sign * match exponent {
        0 => fraction * 2.0_f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction) * 2.0_f64.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_numpy_are_understood_and_others_refused() {
        let header = |descr: &str, shape: &str| {
            parse_header(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}   \n"))
        };
        let f8 = Header {
            kind: Kind::Float,
            size: 8,
            big_endian: false,
            len: 3,
            dimensions: [3, 1, 1],
            rank: 1,
            is_fortran: false,
        };
        assert_eq!(header("'<f8'", "(3,)"), Some(f8));
        let blocks = Header { len: 24, dimensions: [2, 3, 4], rank: 3, ..f8 };
        assert_eq!(header("'<f8'", "(2, 3, 4)"), Some(blocks));
        assert_eq!(blocks.place([1, 2, 3]), 23);
        assert_eq!(Header { is_fortran: true, ..blocks }.place([1, 0, 1]), 7);
        let text = Header {
            kind: Kind::Unicode,
            size: 12,
            big_endian: true,
            len: 1,
            dimensions: [1; 3],
            rank: 0,
            is_fortran: false,
        };
        assert_eq!(header("'>U3'", "()"), Some(text));
        for (descr, shape) in [
            ("'<f8'", "(3, 3, 3, 3)"),
            ("'<f8'", "(4294967296, 4294967296)"),
            ("'<f8'", "(-3,)"),
            ("'<f8'", "(99999999999999999999999,)"),
            ("'<f16'", "(3,)"),
            ("'|O'", "()"),
            ("'<i3'", "(1,)"),
            ("[('a', '<f8')]", "(3,)"),
            ("'", "("),
        ] {
            assert_eq!(header(descr, shape), None, "{descr} {shape}");
        }
    }

    #[test]
    fn types_that_are_not_read_are_named() {
        let fault = |descr: &str| other_type(&format!("{{'descr': {descr}, 'shape': (3,), }}"), "data");
        let dtype = |dtype: &str| Some(NpzFault::Dtype { array: "data", dtype: dtype.to_owned() });
        assert_eq!(fault("'|O'"), Some(NpzFault::Objects { array: "data" }));
        assert_eq!(fault("'<f16'"), dtype("'<f16' (longdouble)"));
        assert_eq!(fault("'>c32'"), dtype("'>c32' (clongdouble)"));
        assert_eq!(fault("'<M8[ns]'"), dtype("'<M8[ns]'"));
        for descr in ["'<f8'", "[('a', '<f8')]", "'"] {
            assert_eq!(fault(descr), None, "{descr}");
        }
    }

    #[test]
    fn half_precision_is_decoded_exactly() {
        for (bits, value) in
            [(0x3C00, 1.0), (0xC000, -2.0), (0x3555, 0.333_251_953_125), (1, 5.960_464_477_539_063e-8)]
        {
            assert!((half(bits) - value).abs() < 1e-18, "{bits:x}");
        }
        assert!(half(0x7C00).is_infinite() && half(0x7C01).is_nan());
    }
}
