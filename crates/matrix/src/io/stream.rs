//! Sources that can be read only once, such as a pipe or a member of an archive: told by the first bytes, and held only where an archive has to be
//! looked through twice.

use super::kind::{Content, HEAD, Kind};
use super::memory::{Budget, make_room};
use super::unpacked::{self, Origin};
use super::unpacked::{Count, Counted};
use super::{Loaded, ReadError, ReadOptions, archive, boeing};
use crate::{Bytes, Scalar};
use std::io::{self, Cursor, Read};
use std::path::Path;

/// Archives within archives that are opened: a download of one, which holds the archive of a collection.
const MOST_ARCHIVES: usize = 3;

/// Reads the matrix that comes out of `reader`, of which it is not known how much is to come.
pub(super) fn read<T: Scalar>(
    reader: Box<dyn Read + Send + '_>,
    path: &Path,
    options: &ReadOptions<'_>,
) -> Result<Loaded<T>, ReadError> {
    let (reader, count) = Counted::new(reader);
    read_within(Box::new(reader), (count, Bytes(0)), path, options, 0)
}

/// Reads a matrix within `depth` archives, of which `count` of `total` bytes have been read so far.
pub(super) fn read_within<T: Scalar>(
    mut reader: Box<dyn Read + Send + '_>,
    (count, total): (Count, Bytes),
    path: &Path,
    options: &ReadOptions<'_>,
    depth: usize,
) -> Result<Loaded<T>, ReadError> {
    // Of a damaged archive the system is not to blame.
    let fail = |cause: io::Error| match cause.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            unpacked::damaged(path)(cause)
        }
        _ => ReadError::Io { path: path.to_owned(), cause },
    };
    let head = head_of(&mut reader).map_err(fail)?;
    let kind = Kind::told(&head, path, options)?;
    let whole = Cursor::new(head).chain(reader);
    if matches!(kind.content, Content::Tar | Content::Zip) {
        if depth == MOST_ARCHIVES {
            return Err(ReadError::PackedTooOften { path: path.to_owned(), most: MOST_ARCHIVES });
        }
        let held = all_of(whole, path, options)?;
        return dispatch(Origin::Held(&held), &kind, path, options, depth);
    }
    let text = unpacked::all_unpacked(whole, &kind.packings, options);
    read_text(text, count, total, depth, &kind, path, options)
}

/// Reads a file, or one that is held, that can be read as often as needed.
pub(super) fn dispatch<T: Scalar>(
    origin: Origin<'_>,
    kind: &Kind,
    path: &Path,
    options: &ReadOptions<'_>,
    depth: usize,
) -> Result<Loaded<T>, ReadError> {
    match (kind.content, origin) {
        (Content::Tar, _) => archive::read_tar(origin, &kind.packings, path, options, depth),
        (Content::Zip, Origin::File) if kind.packings.is_empty() => {
            let (file, total) = super::open(path)?;
            super::read_zip(
                Box::new(io::BufReader::with_capacity(1 << 18, file)),
                total,
                path,
                options,
                depth,
            )
        }
        (Content::Zip, Origin::Held(bytes)) if kind.packings.is_empty() => {
            super::read_zip(Box::new(Cursor::new(bytes)), Bytes(bytes.len() as u64), path, options, depth)
        }
        // Its directory is at its end.
        (Content::Zip, _) => {
            let (content, ..) = origin.open(path, &kind.packings, options)?;
            let held = all_of(content, path, options)?;
            super::read_zip(Box::new(Cursor::new(&held)), Bytes(held.len() as u64), path, options, depth)
        }
        (Content::MatrixMarket | Content::Boeing, _) => {
            let (text, count, total) = origin.open(path, &kind.packings, options)?;
            read_text(text, count, total, depth, kind, path, options)
        }
    }
}

fn read_text<T: Scalar>(
    text: Box<dyn Read + Send + '_>,
    count: Count,
    total: Bytes,
    depth: usize,
    kind: &Kind,
    path: &Path,
    options: &ReadOptions<'_>,
) -> Result<Loaded<T>, ReadError> {
    let is_packed = depth > 0 || !kind.packings.is_empty();
    match (kind.content, is_packed) {
        (Content::Boeing, _) => {
            let damaged = unpacked::damaged(path);
            let fail = |cause| {
                if is_packed { damaged(cause) } else { ReadError::Io { path: path.to_owned(), cause } }
            };
            boeing::read(text, &fail, path, options)
        }
        (_, true) => unpacked::read_text(text, count, total, path, options),
        (_, false) => unpacked::read_plain(text, count, total, path, options),
    }
}

/// The kind of the file at `path`, which is opened again to be read.
pub(super) fn kind_of_file(path: &Path, options: &ReadOptions<'_>) -> Result<Kind, ReadError> {
    let (mut file, _) = super::open(path)?;
    let head = head_of(&mut file).map_err(|cause| ReadError::Io { path: path.to_owned(), cause })?;
    Kind::told(&head, path, options)
}

/// The first bytes, as many as there are up to [`HEAD`].
fn head_of(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    reader.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// Everything, as far as memory allows.
fn all_of(mut reader: impl Read, path: &Path, options: &ReadOptions<'_>) -> Result<Vec<u8>, ReadError> {
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
