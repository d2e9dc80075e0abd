//! What a file is: how it is compressed and what it holds, from the end of its name or, where that says nothing, from its first
//! bytes.
//!
//! ```text
//! 1f 8b               gzip        PK\3\4           zip, which is .npz      "ustar" at 257   tar
//! fd 37 7a 58 5a 00   xz          %%MatrixMarket   in any case, after a byte order mark at most
//! BZh1 to BZh9        bzip2       28 b5 2f fd      Zstandard
//! ```

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    None,
    Gzip,
    Xz,
    Bzip2,
    Zstandard,
}

/// What it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    MatrixMarket,
    /// An archive with a Matrix Market file in it.
    Tar,
    Npz,
}

/// Both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) packing: Packing,
    pub(super) content: Content,
}

/// Ends of names, in lower case; of two that fit the longer one comes first.
const ENDINGS: [(&str, Kind); 15] = {
    const fn kind(packing: Packing, content: Content) -> Kind {
        Kind { packing, content }
    }
    use Content::{MatrixMarket, Npz, Tar};
    [
        (".mtx", kind(Packing::None, MatrixMarket)),
        (".mtx.gz", kind(Packing::Gzip, MatrixMarket)),
        (".mtx.xz", kind(Packing::Xz, MatrixMarket)),
        (".mtx.bz2", kind(Packing::Bzip2, MatrixMarket)),
        (".mtx.zst", kind(Packing::Zstandard, MatrixMarket)),
        (".tar", kind(Packing::None, Tar)),
        (".tar.gz", kind(Packing::Gzip, Tar)),
        (".tar.xz", kind(Packing::Xz, Tar)),
        (".tar.bz2", kind(Packing::Bzip2, Tar)),
        (".tar.zst", kind(Packing::Zstandard, Tar)),
        (".tgz", kind(Packing::Gzip, Tar)),
        (".txz", kind(Packing::Xz, Tar)),
        (".tbz2", kind(Packing::Bzip2, Tar)),
        (".tzst", kind(Packing::Zstandard, Tar)),
        (".npz", kind(Packing::None, Npz)),
    ]
};

/// `name` without the end that says what kind of matrix file it is, in any case, and `None` if it has none.
///
/// ```
/// use sparsight_matrix::io::file_stem;
///
/// assert_eq!(file_stem("cant.tar.gz"), Some("cant"));
/// assert_eq!(file_stem("cant.MTX"), Some("cant"));
/// assert_eq!(file_stem("cant.txt"), None);
/// ```
pub fn file_stem(name: &str) -> Option<&str> {
    let (stem, _) = split(name)?;
    Some(stem)
}

/// The stem of a name, and what its end says.
pub(super) fn split(name: &str) -> Option<(&str, Kind)> {
    ENDINGS.iter().find_map(|&(ending, kind)| {
        let at = name.len().checked_sub(ending.len())?;
        let is_it = name.get(at..)?.eq_ignore_ascii_case(ending);
        is_it.then(|| (&name[..at], kind))
    })
}

/// Bytes that tell every content apart: a header of a tar archive.
pub(super) const TELLING: usize = 512;

impl Packing {
    /// Of a file that begins so.
    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        match bytes {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Self::Bzip2,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstandard,
            _ => Self::None,
        }
    }
}

impl Content {
    /// Of unpacked data that begin so. Any text counts as Matrix Market, whose reader says best what is wrong with it.
    pub(super) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let is_text = |byte: &u8| !byte.is_ascii_control() || byte.is_ascii_whitespace();
        match bytes {
            [b'P', b'K', 3, 4, ..] => Some(Self::Npz),
            _ if bytes.get(257..262) == Some(b"ustar") => Some(Self::Tar),
            _ if bytes.iter().all(is_text) => Some(Self::MatrixMarket),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_name_is_told_in_any_case_and_is_not_all_of_a_letter() {
        let kind = |name| split(name).map(|(stem, kind)| (stem, kind.packing, kind.content));
        assert_eq!(kind("a.b.mtx"), Some(("a.b", Packing::None, Content::MatrixMarket)));
        assert_eq!(kind("A.TAR.XZ"), Some(("A", Packing::Xz, Content::Tar)));
        assert_eq!(kind("é.tbz2"), Some(("é", Packing::Bzip2, Content::Tar)));
        for unknown in ["mtx", "a.mtxé", "é", "", "a.gz", "a.zip"] {
            assert_eq!(kind(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn what_is_neither_text_nor_an_archive_is_nothing() {
        assert_eq!(Content::of_bytes(b"%%MatrixMarket matrix\r\n\t1"), Some(Content::MatrixMarket));
        assert_eq!(Content::of_bytes("\u{feff}%%é".as_bytes()), Some(Content::MatrixMarket));
        assert_eq!(Content::of_bytes(&[0; 512]), None);
        assert_eq!(Content::of_bytes(b"\x7fELF"), None);
        assert_eq!(Content::of_bytes(b"PK\x03\x04\x14"), Some(Content::Npz));
    }
}
