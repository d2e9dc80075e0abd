//! Whole numbers in as few bytes as they need: how trees and networks are stored.
//!
//! Seven bits a byte, the lowest first; a byte of 128 or more says that another one follows (LEB128). Signed numbers go to
//! and fro around 0 (zigzag): 0, -1, 1, -2, 2 are stored as 0, 1, 2, 3, 4.
//!
//! Everything is read with care: bytes may come from a damaged file.

/// Seven bits a byte: so many hold every number.
const LONGEST: usize = 10;

/// Adds a number to `bytes`.
pub(crate) fn push(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Adds a number that may be negative.
pub(crate) fn push_signed(bytes: &mut Vec<u8>, number: i64) {
    push(bytes, to_and_fro(number));
}

/// Adds a number that may be negative, or that there is none.
pub fn push_optional(bytes: &mut Vec<u8>, number: Option<i32>) {
    push(bytes, number.map_or(0, |number| to_and_fro(number.into()) + 1));
}

fn to_and_fro(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

fn from_to_and_fro(number: u64) -> Option<i32> {
    i32::try_from((number >> 1) as i64 ^ -((number & 1) as i64)).ok()
}

/// The number that `bytes` begin with, which is cut off from them; `None` if they end within it.
#[inline]
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u64> {
    // Nearly all take one byte or two.
    let (number, rest) = match *bytes {
        [one @ ..0x80, rest @ ..] => (u64::from(*one), rest),
        [low, high @ ..0x80, rest @ ..] => (u64::from(low & 0x7f) | u64::from(*high) << 7, rest),
        _ => return take_long(bytes),
    };
    *bytes = rest;
    Some(number)
}

/// [`take`] of a number of any length.
fn take_long(bytes: &mut &[u8]) -> Option<u64> {
    let all = *bytes;
    let mut number = 0;
    for (at, &byte) in all.iter().take(LONGEST).enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            *bytes = &all[at + 1..];
            return Some(number);
        }
    }
    None
}

/// [`take`] of a number that may be negative; `None` also if it is none of 32 bits.
pub(crate) fn take_signed(bytes: &mut &[u8]) -> Option<i32> {
    from_to_and_fro(take(bytes)?)
}

/// Reads what [`push_optional`] added; `None` if nothing was added.
pub fn take_optional(bytes: &mut &[u8]) -> Option<Option<i32>> {
    match take(bytes)? {
        0 => Some(None),
        number => from_to_and_fro(number - 1).map(Some),
    }
}

/// Returns whether all was taken.
///
/// # Errors
/// How much was not.
pub(crate) fn end(bytes: &[u8]) -> Result<(), String> {
    if bytes.is_empty() { Ok(()) } else { Err(format!("{} unexpected bytes follow", bytes.len())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_as_they_were_added() {
        let mut bytes = Vec::new();
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX];
        for number in numbers {
            push(&mut bytes, number);
        }
        assert_eq!(&bytes[..6], [0, 1, 127, 0x80, 1, 0xac]);
        let signed = [0, -1, 1, -64, 64, i32::MIN, i32::MAX];
        for number in signed {
            push_signed(&mut bytes, i64::from(number));
        }
        let optional = [None, Some(0), Some(-1), Some(i32::MIN), Some(i32::MAX), None];
        for number in optional {
            push_optional(&mut bytes, number);
        }
        let mut rest = &bytes[..];
        assert_eq!(numbers.map(|_| take(&mut rest)), numbers.map(Some));
        assert_eq!(signed.map(|_| take_signed(&mut rest)), signed.map(Some));
        assert_eq!(optional.map(|_| take_optional(&mut rest)), optional.map(Some));
        assert_eq!(end(rest), Ok(()));
    }

    #[test]
    fn truncated_overlong_and_trailing_bytes_are_refused() {
        let wrong: [&[u8]; 4] = [&[], &[0x80], &[0xff; 9], &[0xff; 20]];
        for bytes in wrong {
            let mut rest = bytes;
            assert_eq!(take(&mut rest), None);
            assert_eq!(rest, bytes, "nothing is taken");
        }
        let mut large = Vec::new();
        push_signed(&mut large, i64::from(i32::MAX) + 1);
        assert_eq!(take_signed(&mut &large[..]), None);
        assert!(end(&[1, 2]).unwrap_err().contains("2 unexpected bytes"));
    }
}
