//! Kind of a file by its first bytes: how it is packed, however often, and the content of the innermost packing. Its name does not matter.
//!
//! ```text
//! 1f 8b               gzip        PK\3\4           zip, which .npz is too   "ustar" at 257   tar
//! fd 37 7a 58 5a 00   xz          %%MatrixMarket   in any case, after a byte order mark at most
//! BZh1 to BZh9        bzip2       28 b5 2f fd      Zstandard
//! ```
//! Text is Matrix Market unless it is Harwell-Boeing ([`super::boeing`]) or another known format ([`super::foreign`]).

use super::foreign::Foreign;
use super::options::Source;
use super::unpacked::{self, Packing};
use super::{ReadError, boeing, tar_members};
use std::borrow::Cow;
use std::io::Read;

/// Content of the innermost packing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    MatrixMarket,
    /// Harwell-Boeing or Rutherford-Boeing.
    Boeing,
    /// Archives with a matrix file in them; `.npz` is a zip archive of arrays.
    Tar,
    Zip,
}

/// Kind of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kind {
    /// Packings from the outermost on.
    pub(super) packings: Vec<Packing>,
    pub(super) content: Content,
}

/// Bytes of a file by which its kind is told: bzip2 gives nothing before the end of its first block, of 900,000 bytes at most.
pub(super) const HEAD: usize = 1 << 20;

/// Bytes of the content by which it is told: comments may stand before the size line.
pub(super) const TELLING: usize = 1 << 16;

/// Times that a file may be packed: twice happens by accident, more in order to make a reader work.
const MOST_PACKINGS: usize = 4;

/// Ends of the names of matrix files, packed or not, in lower case; in the Harwell-Boeing format what the values are, the structure, and
/// `a`.
const ENDINGS: [&str; 23] = [
    ".mtx", ".tar", ".npz", ".zip", ".rb", ".hb", ".rsa", ".rua", ".rra", ".rza", ".psa", ".pua", ".pra",
    ".pza", ".isa", ".iua", ".ira", ".iza", ".csa", ".cua", ".cha", ".cra", ".cza",
];
const PACKED: [&str; 5] = ["", ".gz", ".xz", ".bz2", ".zst"];
const PACKED_TAR: [&str; 4] = [".tgz", ".txz", ".tbz2", ".tzst"];

/// `name` without the end by which a matrix file is found in a folder or an archive, in any case; `None` if it has none. Files that
/// are named are read whatever they are called.
///
/// ```
/// use sparsight_matrix::io::file_stem;
///
/// assert_eq!(file_stem("cant.tar.gz"), Some("cant"));
/// assert_eq!(file_stem("cant.MTX"), Some("cant"));
/// assert_eq!(file_stem("cant.txt"), None);
/// ```
pub fn file_stem(name: &str) -> Option<&str> {
    let without = |name: &'_ str, ending: &str| {
        let at = name.len().checked_sub(ending.len())?;
        name.get(at..)?.eq_ignore_ascii_case(ending).then_some(at)
    };
    let at = PACKED_TAR.iter().find_map(|ending| without(name, ending)).or_else(|| {
        let unpacked = PACKED.iter().filter_map(|ending| without(name, ending)).min()?;
        let name = &name[..unpacked];
        ENDINGS.iter().find_map(|ending| without(name, ending))
    })?;
    Some(&name[..at])
}

impl Content {
    /// Content of unpacked data that begin so; `None` if they are neither text nor an archive that is known. Text of no known format counts as
    /// Matrix Market, whose reader says best what is wrong with it.
    pub(super) fn of_bytes(bytes: &[u8]) -> Result<Option<Self>, Foreign> {
        let is_text = |byte: &u8| !byte.is_ascii_control() || byte.is_ascii_whitespace();
        let has_banner = bytes.get(..32).is_some_and(|begin| {
            String::from_utf8_lossy(begin).to_ascii_lowercase().contains("%matrixmarket")
        });
        Ok(Some(match bytes {
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Self::Zip,
            _ if is_tar(bytes) => Self::Tar,
            _ if boeing::begins(bytes) => Self::Boeing,
            _ => match Foreign::of_bytes(bytes) {
                Some(foreign) => return Err(foreign),
                None if has_banner || bytes.iter().take(512).all(is_text) => Self::MatrixMarket,
                None => return Ok(None),
            },
        }))
    }
}

/// Returns whether a file begins with the header of a tar archive; older ones have no word for it, but a checksum.
fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(257..262) == Some(b"ustar") || bytes.get(..512).is_some_and(tar_members::is_header)
}

/// The first bytes of the content of what begins with `head`, and how it is packed.
///
/// # Errors
/// If it is packed too often, or the packing gives nothing.
pub(super) fn unpacked_head(
    head: &[u8],
    Source { path, options, .. }: Source<'_>,
) -> Result<(Vec<Packing>, Vec<u8>), ReadError> {
    let (mut packings, mut begin) = (Vec::new(), Cow::Borrowed(head));
    while let Some(packing) = Packing::of_bytes(&begin) {
        if packings.len() == MOST_PACKINGS {
            return Err(ReadError::PackedTooOften { path: path.to_owned(), most: MOST_PACKINGS });
        }
        // All that there is of a layer, since the one within may give nothing before much of it is there.
        let mut inner = Vec::new();
        let read =
            unpacked::unpacked(Box::new(&*begin), packing, options).take(HEAD as u64).read_to_end(&mut inner);
        // What is damaged or cut off tells what came out before that.
        if let (Err(cause), true) = (read, inner.is_empty()) {
            return Err(unpacked::damaged(path)(cause));
        }
        packings.push(packing);
        begin = Cow::Owned(inner);
    }
    Ok((packings, begin[..begin.len().min(TELLING)].to_vec()))
}

impl Kind {
    /// Kind of a file that begins with `head`, which is [`HEAD`] bytes long unless there are fewer.
    pub(super) fn told(head: &[u8], source: Source<'_>) -> Result<Self, ReadError> {
        let (packings, begin) = unpacked_head(head, source)?;
        match Content::of_bytes(&begin) {
            Ok(Some(content)) => Ok(Self { packings, content }),
            Ok(None) => Err(ReadError::UnknownContent { path: source.path.to_owned() }),
            Err(format) => Err(ReadError::Foreign { path: source.path.to_owned(), format }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_matrix_files_have_known_ends_in_any_case() {
        for (name, stem) in [
            ("a.b.mtx", "a.b"),
            ("A.TAR.XZ", "A"),
            ("é.tbz2", "é"),
            ("a.mtx.gz", "a"),
            ("bcsstk01.RSA.gz", "bcsstk01"),
            ("a.npz", "a"),
            ("a.zip", "a"),
        ] {
            assert_eq!(file_stem(name), Some(stem), "{name}");
        }
        for unknown in ["mtx", "a.mtxé", "é", "", "a.gz", "a.txt", "a.mtx.gz.txt"] {
            assert_eq!(file_stem(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn content_is_told_by_its_first_bytes() {
        let told = |bytes: &[u8]| Content::of_bytes(bytes).unwrap();
        assert_eq!(told(b"%%MatrixMarket matrix\r\n\t1"), Some(Content::MatrixMarket));
        assert_eq!(told("\u{feff}%%é".as_bytes()), Some(Content::MatrixMarket));
        assert_eq!(told(&[0; 512]), None);
        assert_eq!(told(b"PK\x03\x04\x14"), Some(Content::Zip));
        assert_eq!(Content::of_bytes(b"\x89HDF\r\n\x1a\n"), Err(Foreign::Hdf5));
    }
}
