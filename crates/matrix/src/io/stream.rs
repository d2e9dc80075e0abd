//! Sources that can be read only once, such as a pipe or a member of an archive: told by the first bytes, and held only where an archive has to be
//! looked through twice.

use super::kind::{Content, HEAD, Kind};
use super::memory::{Budget, make_room};
use super::options::Source;
use super::unpacked::{self, Origin};
use super::unpacked::{Count, Counted, Unpacked};
use super::{Loaded, ReadError, archive, boeing};
use crate::{Bytes, Scalar};
use std::io::{self, Cursor, Read};

/// Archives within archives that are opened: a download of one, which holds the archive of a collection.
const MOST_ARCHIVES: usize = 3;

/// Reads the matrix that comes out of `reader`, of which it is not known how much is to come.
pub(super) fn read<T: Scalar>(
    reader: Box<dyn Read + Send + '_>,
    source: Source<'_>,
) -> Result<Loaded<T>, ReadError> {
    let (reader, count) = Counted::new(reader);
    read_counted(Box::new(reader), (count, Bytes(0)), source)
}

/// Reads a matrix from `reader`, of which `count` of `total` bytes have been read so far.
pub(super) fn read_counted<T: Scalar>(
    mut reader: Box<dyn Read + Send + '_>,
    (count, total): (Count, Bytes),
    source: Source<'_>,
) -> Result<Loaded<T>, ReadError> {
    let Source { path, options, depth } = source;
    // Of a damaged archive the system is not to blame.
    let fail = |cause: io::Error| match cause.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            unpacked::damaged(path)(cause)
        }
        _ => ReadError::Io { path: path.to_owned(), cause },
    };
    let head = head_of(&mut reader).map_err(fail)?;
    let kind = Kind::told(&head, source)?;
    let whole = Cursor::new(head).chain(reader);
    if matches!(kind.content, Content::Tar | Content::Zip) {
        if depth == MOST_ARCHIVES {
            return Err(ReadError::PackedTooOften { path: path.to_owned(), most: MOST_ARCHIVES });
        }
        let held = all_of(whole, source)?;
        return dispatch(Origin::Held(&held), &kind, source);
    }
    let text = unpacked::all_unpacked(whole, &kind.packings, options);
    read_text((text, count, total), &kind, source)
}

/// Reads a file, or one that is held, that can be read as often as needed.
pub(super) fn dispatch<T: Scalar>(
    origin: Origin<'_>,
    kind: &Kind,
    source: Source<'_>,
) -> Result<Loaded<T>, ReadError> {
    match (kind.content, origin) {
        (Content::Tar, _) => archive::read_tar(origin, &kind.packings, source),
        (Content::Zip, Origin::File) if kind.packings.is_empty() => {
            let (file, total) = super::open(source.path)?;
            super::read_zip(Box::new(io::BufReader::with_capacity(1 << 18, file)), total, source)
        }
        (Content::Zip, Origin::Held(bytes)) if kind.packings.is_empty() => {
            super::read_zip(Box::new(Cursor::new(bytes)), Bytes(bytes.len() as u64), source)
        }
        // Its directory is at its end.
        (Content::Zip, _) => {
            let (content, ..) = origin.open(&kind.packings, source)?;
            let held = all_of(content, source)?;
            super::read_zip(Box::new(Cursor::new(&held)), Bytes(held.len() as u64), source)
        }
        (Content::MatrixMarket | Content::Boeing, _) => {
            read_text(origin.open(&kind.packings, source)?, kind, source)
        }
    }
}

fn read_text<T: Scalar>(text: Unpacked<'_>, kind: &Kind, source: Source<'_>) -> Result<Loaded<T>, ReadError> {
    let (path, is_packed) = (source.path, source.depth > 0 || !kind.packings.is_empty());
    match (kind.content, is_packed) {
        (Content::Boeing, _) => {
            let damaged = unpacked::damaged(path);
            let fail = |cause| {
                if is_packed { damaged(cause) } else { ReadError::Io { path: path.to_owned(), cause } }
            };
            boeing::read(text.0, &fail, source)
        }
        (_, true) => unpacked::read_text(text, source),
        (_, false) => unpacked::read_plain(text, source),
    }
}

/// The kind of a file, which is opened again to be read.
pub(super) fn kind_of_file(source: Source<'_>) -> Result<Kind, ReadError> {
    let (mut file, _) = super::open(source.path)?;
    let head = head_of(&mut file).map_err(|cause| ReadError::Io { path: source.path.to_owned(), cause })?;
    Kind::told(&head, source)
}

/// The first bytes, as many as there are up to [`HEAD`].
fn head_of(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    reader.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// Everything, as far as memory allows.
fn all_of(mut reader: impl Read, Source { path, options, .. }: Source<'_>) -> Result<Vec<u8>, ReadError> {
    let (budget, mut held) = (Budget::new(options), Vec::new());
    loop {
        budget.check(path, (held.len() + HEAD) as u128)?;
        make_room(&mut held, HEAD).map_err(|refused| refused.error(path))?;
        let read = reader.by_ref().take(HEAD as u64).read_to_end(&mut held);
        if read.map_err(unpacked::damaged(path))? == 0 {
            return Ok(held);
        }
    }
}
