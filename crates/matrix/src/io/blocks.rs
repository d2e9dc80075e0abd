//! A file as blocks that end at a line end, handed out one after the other to whichever thread asks.

use super::ReadError;
use std::borrow::Cow;
use std::io::{self, ErrorKind, Read};
use std::sync::mpsc::Receiver;
use std::sync::{Mutex, PoisonError};

/// Bytes of a block: text and triplets of one block stay in a core's second-level cache of 1 to 2 MiB. It is
/// also the longest line.
pub(crate) const BLOCK: usize = 1 << 20;

/// Some whole lines of a file.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    /// Blocks before this one.
    pub(crate) index: usize,
    pub(crate) bytes: Cow<'a, [u8]>,
    /// The block is the start of a line that is longer than a block; nothing follows.
    pub(crate) cut: bool,
    /// Bytes of the file, compressed if it is, that had been consumed when this block was complete.
    pub(crate) consumed: u64,
}

/// A block before it has a number.
pub(crate) struct Piece {
    bytes: Vec<u8>,
    cut: bool,
    consumed: u64,
}

/// Source of blocks.
pub(crate) enum Blocks<'a> {
    /// Bytes that are all there.
    Slice(Mutex<SliceCursor<'a>>),
    /// A file, or compressed text where no thread could be had for it: the calling thread reads.
    Reader(Mutex<ReaderCursor<'a>>),
    /// A thread that decompresses.
    Queue(Mutex<QueueCursor>),
}

pub(crate) struct SliceCursor<'a> {
    bytes: &'a [u8],
    at: usize,
    next: usize,
}

pub(crate) struct ReaderCursor<'a> {
    pieces: Box<dyn Iterator<Item = Result<Piece, ReadError>> + Send + 'a>,
    next: usize,
}

pub(crate) struct QueueCursor {
    pieces: Receiver<Result<Piece, ReadError>>,
    next: usize,
}

impl<'a> Blocks<'a> {
    pub(crate) fn of_slice(bytes: &'a [u8]) -> Self {
        Self::Slice(Mutex::new(SliceCursor { bytes, at: 0, next: 0 }))
    }

    pub(crate) fn of_pieces(pieces: impl Iterator<Item = Result<Piece, ReadError>> + Send + 'a) -> Self {
        Self::Reader(Mutex::new(ReaderCursor { pieces: Box::new(pieces), next: 0 }))
    }

    pub(crate) fn of_queue(pieces: Receiver<Result<Piece, ReadError>>) -> Self {
        Self::Queue(Mutex::new(QueueCursor { pieces, next: 0 }))
    }

    /// The next block, `None` after the last.
    ///
    /// # Errors
    /// `(index, error)` if reading failed after the blocks below `index`.
    pub(crate) fn next(&self) -> Result<Option<Block<'a>>, (usize, ReadError)> {
        match self {
            Self::Slice(cursor) => Ok(cursor.lock().unwrap_or_else(PoisonError::into_inner).next()),
            Self::Reader(cursor) => {
                let cursor = &mut *cursor.lock().unwrap_or_else(PoisonError::into_inner);
                numbered(cursor.pieces.next(), &mut cursor.next)
            }
            Self::Queue(cursor) => cursor.lock().unwrap_or_else(PoisonError::into_inner).next(),
        }
    }
}

impl<'a> SliceCursor<'a> {
    fn next(&mut self) -> Option<Block<'a>> {
        let rest = &self.bytes[self.at..];
        if rest.is_empty() {
            return None;
        }
        let (bytes, cut) = match rest.get(..BLOCK) {
            None => (rest, false),
            Some(full) => match full.iter().rposition(|&b| b == b'\n') {
                Some(newline) => (&full[..=newline], false),
                None => (full, true),
            },
        };
        self.at = if cut { self.bytes.len() } else { self.at + bytes.len() };
        let index = self.next;
        self.next += 1;
        Some(Block { index, bytes: Cow::Borrowed(bytes), cut, consumed: self.at as u64 })
    }
}

impl QueueCursor {
    fn next<'a>(&mut self) -> Result<Option<Block<'a>>, (usize, ReadError)> {
        // A sender that is gone has sent all.
        numbered(self.pieces.recv().ok(), &mut self.next)
    }
}

fn numbered<'a>(
    piece: Option<Result<Piece, ReadError>>,
    next: &mut usize,
) -> Result<Option<Block<'a>>, (usize, ReadError)> {
    let index = *next;
    match piece {
        None => Ok(None),
        Some(Err(error)) => Err((index, error)),
        Some(Ok(Piece { bytes, cut, consumed })) => {
            *next += 1;
            Ok(Some(Block { index, bytes: Cow::Owned(bytes), cut, consumed }))
        }
    }
}

/// Text cut into pieces as it is read.
pub(crate) struct Pieces<R, C, F> {
    reader: R,
    /// Bytes of the file consumed so far, compressed if it is.
    consumed: C,
    fail: F,
    /// The beginning of the line that the last piece ended before.
    rest: Vec<u8>,
    ended: bool,
}

impl<R: Read, C: Fn() -> u64, F: Fn(io::Error) -> ReadError> Pieces<R, C, F> {
    pub(crate) fn new(reader: R, consumed: C, fail: F) -> Self {
        Self { reader, consumed, fail, rest: Vec::new(), ended: false }
    }
}

impl<R: Read, C: Fn() -> u64, F: Fn(io::Error) -> ReadError> Iterator for Pieces<R, C, F> {
    type Item = Result<Piece, ReadError>;

    /// The next piece; after the last, an error, or a line that is longer than a block, nothing.
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let mut bytes = Vec::new();
        if bytes.try_reserve_exact(BLOCK).is_err() {
            self.ended = true;
            return Some(Err((self.fail)(ErrorKind::OutOfMemory.into())));
        }
        bytes.append(&mut self.rest);
        let room = (BLOCK - bytes.len()) as u64;
        if let Err(error) = self.reader.by_ref().take(room).read_to_end(&mut bytes) {
            self.ended = true;
            return Some(Err((self.fail)(error)));
        }
        let full = bytes.len() == BLOCK;
        let newline = bytes.iter().rposition(|&b| b == b'\n');
        match newline {
            Some(newline) if full => {
                let rest = &bytes[newline + 1..];
                if self.rest.try_reserve_exact(rest.len()).is_err() {
                    self.ended = true;
                    return Some(Err((self.fail)(ErrorKind::OutOfMemory.into())));
                }
                self.rest.extend_from_slice(rest);
                bytes.truncate(newline + 1);
            }
            _ if bytes.is_empty() => return None,
            _ => self.ended = true,
        }
        Some(Ok(Piece { bytes, cut: full && newline.is_none(), consumed: (self.consumed)() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;

    fn collect(blocks: &Blocks<'_>) -> (Vec<u8>, Vec<bool>) {
        let (mut all, mut cuts) = (Vec::new(), Vec::new());
        while let Some(block) = blocks.next().unwrap() {
            assert_eq!(block.index, cuts.len());
            all.extend_from_slice(&block.bytes);
            cuts.push(block.cut);
        }
        (all, cuts)
    }

    #[test]
    fn blocks_of_a_slice_and_of_a_stream_are_the_same() {
        for text in [vec![], b"one\ntwo".to_vec(), b"12345678\n".repeat(300_000), vec![b'x'; BLOCK + 1]] {
            let (all, cuts) = collect(&Blocks::of_slice(&text));
            let (send, receive) = sync_channel(1000);
            let pieces = || Pieces::new(&text[..], || 0, |_| unreachable!());
            pieces().for_each(|piece| send.send(piece).unwrap());
            drop(send);
            assert_eq!((all.clone(), cuts.clone()), collect(&Blocks::of_queue(receive)));
            assert_eq!((all.clone(), cuts.clone()), collect(&Blocks::of_pieces(pieces())));
            if cuts.last() == Some(&true) {
                assert_eq!(
                    (all.len(), cuts.len()),
                    (BLOCK, 1),
                    "a line longer than a block ends the reading"
                );
            } else {
                assert_eq!(all, text);
            }
        }
    }
}
