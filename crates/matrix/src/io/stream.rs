//! What can be read but once, as a pipe: told by its first bytes, and held only where an archive has to be looked through twice.

use super::counted::Counted;
use super::kind::{Content, Kind, Packing, TELLING};
use super::memory::{Budget, make_room};
use super::unpacked::{self, Origin};
use super::{Loaded, ReadError, ReadOptions, npz, suitesparse_tar};
use crate::{Bytes, Scalar};
use std::io::{self, Cursor, Read};
use std::path::Path;

/// Bytes by which a kind is told: bzip2 gives nothing before the end of its first block, of 900,000 bytes at most.
const HEAD: usize = 1 << 20;

/// Reads the matrix that comes out of `reader`.
pub(super) fn read<T: Scalar>(
    reader: impl Read + Send,
    path: &Path,
    options: &ReadOptions<'_>,
) -> Result<Loaded<T>, ReadError> {
    let (mut reader, count) = Counted::new(reader);
    let head = head_of(&mut reader).map_err(|cause| ReadError::Io { path: path.to_owned(), cause })?;
    let kind = told(&head, path, options)?;
    let whole = Cursor::new(head).chain(reader);
    if kind.content == Content::MatrixMarket {
        // Nobody knows how much is to come.
        let text = unpacked::unpacked(whole, kind.packing, options);
        return match kind.packing {
            Packing::None => unpacked::read_plain(text, count, Bytes(0), path, options),
            _ => unpacked::read_text(text, count, Bytes(0), path, options),
        };
    }
    let held = all_of(whole, path, options)?;
    match kind.content {
        Content::Npz => npz::read(Cursor::new(&held), Bytes(held.len() as u64), path, options),
        _ => suitesparse_tar::read(Origin::Held(&held), kind.packing, path, options),
    }
}

/// The kind of the file at `path`, which is opened again to be read.
pub(super) fn kind_of_file(path: &Path, options: &ReadOptions<'_>) -> Result<Kind, ReadError> {
    let (mut file, _) = super::open(path)?;
    let head = head_of(&mut file).map_err(|cause| ReadError::Io { path: path.to_owned(), cause })?;
    told(&head, path, options)
}

/// The kind of what begins with `head`.
fn told(head: &[u8], path: &Path, options: &ReadOptions<'_>) -> Result<Kind, ReadError> {
    let packing = Packing::of_bytes(head);
    let mut begin = Vec::new();
    if packing == Packing::None {
        begin.extend_from_slice(&head[..head.len().min(TELLING)]);
    } else {
        // What is damaged or cut off tells what came out before that.
        let unpacked = unpacked::unpacked(head, packing, options);
        let read = unpacked.take(TELLING as u64).read_to_end(&mut begin);
        if let (Err(cause), true) = (read, begin.is_empty()) {
            return Err(unpacked::damaged(path)(cause));
        }
    }
    match Content::of_bytes(&begin) {
        // An archive of arrays is compressed by itself.
        Some(Content::Npz) if packing != Packing::None => None,
        content => content,
    }
    .map(|content| Kind { packing, content })
    .ok_or_else(|| ReadError::UnknownContent { path: path.to_owned() })
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
        if read.map_err(|cause| ReadError::Io { path: path.to_owned(), cause })? == 0 {
            return Ok(held);
        }
    }
}
