//! The members of a tar archive, one after the other, in a fixed amount of memory.
//!
//! ```text
//! header (512 bytes) | content, filled up to 512 bytes | header | ...        ustar; ends with a block of zeros
//! 'L' header | long name | header of its member                              GNU
//! 'x' header | records "LENGTH path=NAME" | header of its member             PAX
//! 'S' header | more of its map, 512 bytes each | the parts that are stored   GNU, a file with holes
//! ```
//! A file with holes is passed over: what is stored of it is not its text, and `tar` packs it so only when asked.
//!
//! Headers are understood by `tar`. Its own iterator takes a long name or a PAX record into memory however long it says it
//! is; here one of more than [`LONGEST_RECORD`] is an error.

use std::borrow::Cow;
use std::io::{self, ErrorKind, Read};
use std::path::PathBuf;
use tar::{EntryType, Header, PaxExtensions};

/// Headers and contents are filled up to a multiple of this.
const BLOCK: u64 = 512;

/// Places where a header of a file with holes, and more of its map, say that still more of the map follows.
const MAP_GOES_ON: [usize; 2] = [482, 504];

/// Most bytes of a name or record beside a header. Names are at most 4,096 bytes long where Linux keeps files.
const LONGEST_RECORD: u64 = 1 << 16;

/// A member of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) path: PathBuf,
    /// Bytes of its content.
    pub(super) size: u64,
    /// True if it is a plain file, all of which is stored.
    pub(super) is_file: bool,
}

/// The members of an archive in order.
pub(super) struct Members<R> {
    reader: R,
    /// Bytes up to the next header.
    before_header: u64,
    /// Bytes of the content of the last member that were not read yet.
    content: u64,
}

/// Attributes that records give the member behind them.
#[derive(Default)]
struct Records {
    path: Option<PathBuf>,
    size: Option<u64>,
    /// The member is a file with holes.
    holes: bool,
}

impl<R: Read> Members<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, before_header: 0, content: 0 }
    }

    /// The next member; `None` at the end.
    ///
    /// # Errors
    /// Those of the reader; what is no header; a record that is too long; an end within a header or a content.
    pub(super) fn next(&mut self) -> io::Result<Option<Member>> {
        let mut records = Records::default();
        loop {
            self.skip(self.before_header)?;
            let mut header = Header::new_old();
            if !fill(&mut self.reader, header.as_mut_bytes())? || header.as_bytes().iter().all(|&b| b == 0) {
                return Ok(None);
            }
            if header.cksum()? != checksum(header.as_bytes()) {
                return Err(damaged("a header of the archive has a wrong checksum"));
            }
            let kind = header.entry_type();
            let size = records.size.filter(|_| !is_record(kind)).map_or_else(|| header.entry_size(), Ok)?;
            self.before_header =
                size.checked_next_multiple_of(BLOCK).ok_or_else(|| damaged("a member has no size"))?;
            match kind {
                EntryType::GNULongName => {
                    let name = self.record(size)?;
                    let name = name.split(|&b| b == 0).next().unwrap_or_default();
                    records.path = Some(path(name));
                }
                EntryType::XHeader => self.pax(size, &mut records)?,
                // Of links, and of all members behind it: neither says which member is the matrix.
                EntryType::GNULongLink | EntryType::XGlobalHeader => {}
                _ => {
                    if kind == EntryType::GNUSparse {
                        self.pass_map(&header)?;
                    }
                    let path = records.path.take().map_or_else(|| header.path().map(Cow::into_owned), Ok)?;
                    self.content = size;
                    return Ok(Some(Member { path, size, is_file: kind.is_file() && !records.holes }));
                }
            }
        }
    }

    /// The first bytes of the last member's content, at most `most`.
    ///
    /// # Errors
    /// Those of the reader; an end within them.
    pub(super) fn head(&mut self, most: usize) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        self.take(most as u64).read_to_end(&mut head)?;
        Ok(head)
    }

    fn pax(&mut self, size: u64, records: &mut Records) -> io::Result<()> {
        let bytes = self.record(size)?;
        for record in PaxExtensions::new(&bytes) {
            let record = record?;
            match record.key_bytes() {
                b"path" => records.path = Some(path(record.value_bytes())),
                b"size" => records.size = record.value().ok().and_then(|size| size.parse().ok()),
                key => records.holes |= key.starts_with(b"GNU.sparse."),
            }
        }
        Ok(())
    }

    /// The content behind a header, which counts no more for the next one.
    fn record(&mut self, size: u64) -> io::Result<Vec<u8>> {
        if size > LONGEST_RECORD {
            return Err(damaged(&format!("a name in the archive is {size} bytes long")));
        }
        let mut bytes = vec![0; size as usize];
        self.reader.read_exact(&mut bytes)?;
        self.before_header -= size;
        Ok(bytes)
    }

    /// Places of parts that do not fit into the header of a file with holes.
    fn pass_map(&mut self, header: &Header) -> io::Result<()> {
        let [in_header, in_more] = MAP_GOES_ON;
        let mut goes_on = header.as_bytes()[in_header] != 0;
        while goes_on {
            let mut more = [0; BLOCK as usize];
            self.reader.read_exact(&mut more)?;
            goes_on = more[in_more] != 0;
        }
        Ok(())
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        let skipped = io::copy(&mut self.reader.by_ref().take(bytes), &mut io::sink())?;
        if skipped < bytes { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }
}

/// The content of the last member, whose early end is an error.
impl<R: Read> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = self.content.min(buffer.len() as u64) as usize;
        let n = self.reader.read(&mut buffer[..room])?;
        if n == 0 && room > 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        (self.before_header, self.content) = (self.before_header - n as u64, self.content - n as u64);
        Ok(n)
    }
}

fn is_record(kind: EntryType) -> bool {
    kind.is_gnu_longname()
        || kind.is_gnu_longlink()
        || kind.is_pax_local_extensions()
        || kind.is_pax_global_extensions()
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

fn damaged(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

/// Returns whether these 512 bytes are a header, with a name and the right checksum.
pub(super) fn is_header(bytes: &[u8]) -> bool {
    let mut header = Header::new_old();
    header.as_mut_bytes().copy_from_slice(bytes);
    bytes[0] != 0 && header.cksum().is_ok_and(|sum| sum == checksum(bytes))
}

/// The sum of a header's bytes, those of the sum itself taken as blanks.
fn checksum(header: &[u8]) -> u32 {
    let sum = |bytes: &[u8]| bytes.iter().map(|&b| u32::from(b)).sum::<u32>();
    sum(&header[..148]) + 8 * u32::from(b' ') + sum(&header[156..])
}

/// Fills `bytes`; `false` if the reader has ended before them, as some archives do.
fn fill(reader: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    let mut filled = 0;
    while filled < bytes.len() {
        match reader.read(&mut bytes[filled..]) {
            Ok(0) if filled == 0 => return Ok(false),
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => filled += n,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(archive: &[u8]) -> io::Result<Vec<Member>> {
        let mut members = Members::new(archive);
        std::iter::from_fn(|| members.next().transpose()).collect()
    }

    fn member(kind: EntryType, name: &str, content: &[u8]) -> Vec<u8> {
        let mut header = Header::new_gnu();
        header.set_path(name).unwrap();
        header.set_entry_type(kind);
        header.set_size(content.len() as u64);
        header.set_cksum();
        let mut bytes = [header.as_bytes(), content].concat();
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    }

    fn file(path: &str, size: u64) -> Member {
        Member { path: path.into(), size, is_file: true }
    }

    #[test]
    fn members_come_with_their_long_names_and_their_contents_are_passed_over() {
        let long = "n".repeat(300);
        let pax = format!("{} path={long}/b.mtx\n", 300 + 16);
        let archive = [
            member(EntryType::XGlobalHeader, "global", b"12 comment=\n"),
            member(EntryType::Regular, "a.mtx", &[7; 700]),
            member(EntryType::GNULongName, "././@LongLink", format!("{long}\0").as_bytes()),
            member(EntryType::Regular, "cut", b"x"),
            member(EntryType::XHeader, "pax", pax.as_bytes()),
            member(EntryType::Regular, "cut", &[]),
            member(EntryType::Symlink, "link", &[]),
        ]
        .concat();
        let expected = vec![
            file("a.mtx", 700),
            file(&long, 1),
            file(&format!("{long}/b.mtx"), 0),
            Member { path: "link".into(), size: 0, is_file: false },
        ];
        assert_eq!(members(&archive).unwrap(), expected, "without an end");
        assert_eq!(members(&[archive, vec![0; 1024]].concat()).unwrap(), expected);
    }

    #[test]
    fn a_content_ends_with_its_member_and_the_next_one_is_behind_it() {
        let archive =
            [member(EntryType::Regular, "a", b"text"), member(EntryType::Regular, "b", &[])].concat();
        let mut members = Members::new(&archive[..]);
        members.next().unwrap().unwrap();
        assert_eq!(members.head(1).unwrap(), b"t");
        let mut rest = String::new();
        members.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "ext");
        assert_eq!(members.next().unwrap(), Some(file("b", 0)));
        let mut cut_off = Members::new(&archive[..514]);
        cut_off.next().unwrap().unwrap();
        assert_eq!(cut_off.read_to_string(&mut rest).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_size_in_a_record_is_that_of_the_member_behind_it() {
        let mut behind = member(EntryType::Regular, "a", &[1; 600]);
        behind[..512].copy_from_slice(&member(EntryType::Regular, "a", &[])[..512]);
        let archive = [
            member(EntryType::XHeader, "pax", b"12 size=600\n"),
            behind,
            member(EntryType::Regular, "b", &[]),
        ]
        .concat();
        assert_eq!(members(&archive).unwrap(), [file("a", 600), file("b", 0)]);
    }

    #[test]
    fn a_file_with_holes_is_passed_over_with_all_of_its_map() {
        let mut gnu = member(EntryType::GNUSparse, "holes.mtx", &[5; 600]);
        gnu[482] = 1;
        let sum = format!("{:06o}\0 ", checksum(&gnu[..512]));
        gnu[148..156].copy_from_slice(sum.as_bytes());
        let (mut more, last) = ([0; 512], [0; 512]);
        more[504] = 1;
        let pax = member(EntryType::XHeader, "pax", b"22 GNU.sparse.major=1\n");
        let archive = [
            &gnu[..512],
            &more,
            &last,
            &gnu[512..],
            &pax,
            &member(EntryType::Regular, "GNUSparseFile.0/holes.mtx", &[6; 30]),
            &member(EntryType::Regular, "a.mtx", &[7; 20]),
        ]
        .concat();
        let holes = |path: &str, size| Member { path: path.into(), size, is_file: false };
        let expected = [holes("holes.mtx", 600), holes("GNUSparseFile.0/holes.mtx", 30), file("a.mtx", 20)];
        assert_eq!(members(&archive).unwrap(), expected);
    }

    #[test]
    fn a_long_name_or_record_is_refused_before_it_is_read() {
        for kind in [EntryType::GNULongName, EntryType::XHeader] {
            let mut header = Header::new_gnu();
            header.set_entry_type(kind);
            header.set_size(4 << 30);
            header.set_cksum();
            let error = members(header.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("4294967296 bytes long"), "{error}");
        }
    }

    #[test]
    fn truncated_and_invalid_headers_are_errors() {
        let archive =
            [member(EntryType::Regular, "a", &[3; 10]), member(EntryType::Regular, "b", &[])].concat();
        for length in [1, 511, 513, 1000, 1025] {
            assert!(members(&archive[..length]).is_err(), "{length}");
        }
        let mut other = archive.clone();
        other[0] ^= 1;
        assert!(members(&other).unwrap_err().to_string().contains("checksum"));
    }
}
