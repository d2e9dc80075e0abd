//! A file as blocks that end at a line end, handed out one after the other to whichever thread asks.

use super::ReadError;
use std::io::{self, ErrorKind, Read};
use std::sync::{Mutex, PoisonError};

/// Bytes of a block: text and triplets of one block stay in a core's second-level cache of 1 to 2 MiB. It is
/// also the longest line.
pub(crate) const BLOCK: usize = 1 << 20;

/// Some whole lines of a file.
#[derive(Debug)]
pub(crate) struct Block {
    /// Blocks before this one.
    pub(crate) index: usize,
    pub(crate) bytes: Vec<u8>,
    /// The block is the start of a line that is longer than a block; nothing follows.
    pub(crate) cut: bool,
    /// Bytes of the file, compressed if it is, that had been consumed when this block was complete.
    pub(crate) consumed: u64,
}

/// A block, or the number of blocks before a fault and the fault.
pub(crate) type NextBlock = Result<Block, (usize, ReadError)>;

/// Source of blocks: the calling thread reads them, or takes them from one that decompresses.
pub(crate) struct Blocks<'a>(Mutex<Box<dyn Iterator<Item = NextBlock> + Send + 'a>>);

impl<'a> Blocks<'a> {
    pub(crate) fn new(blocks: impl Iterator<Item = NextBlock> + Send + 'a) -> Self {
        Self(Mutex::new(Box::new(blocks)))
    }

    /// The next block, `None` after the last.
    ///
    /// # Errors
    /// `(index, error)` if reading failed after the blocks below `index`.
    pub(crate) fn next(&self) -> Result<Option<Block>, (usize, ReadError)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).next().transpose()
    }
}

/// Text cut into blocks as it is read.
pub(crate) struct Reader<R, C, F> {
    text: R,
    /// Blocks so far.
    count: usize,
    /// Bytes of the file consumed so far, compressed if it is.
    consumed: C,
    fail: F,
    /// The beginning of the line that the last block ended before.
    rest: Vec<u8>,
    ended: bool,
}

impl<R: Read, C: Fn() -> u64, F: Fn(io::Error) -> ReadError> Reader<R, C, F> {
    pub(crate) fn new(text: R, consumed: C, fail: F) -> Self {
        Self { text, count: 0, consumed, fail, rest: Vec::new(), ended: false }
    }

    /// Ends the text with a fault.
    fn failed(&mut self, error: io::Error) -> NextBlock {
        self.ended = true;
        Err((self.count, (self.fail)(error)))
    }
}

impl<R: Read, C: Fn() -> u64, F: Fn(io::Error) -> ReadError> Iterator for Reader<R, C, F> {
    type Item = NextBlock;

    /// The next block; after the last, an error, or a line that is longer than a block, nothing.
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let mut bytes = Vec::new();
        if bytes.try_reserve_exact(BLOCK).is_err() {
            return Some(self.failed(ErrorKind::OutOfMemory.into()));
        }
        bytes.append(&mut self.rest);
        let room = (BLOCK - bytes.len()) as u64;
        if let Err(error) = self.text.by_ref().take(room).read_to_end(&mut bytes) {
            return Some(self.failed(error));
        }
        let full = bytes.len() == BLOCK;
        let newline = bytes.iter().rposition(|&b| b == b'\n');
        match newline {
            Some(newline) if full => {
                let rest = &bytes[newline + 1..];
                if self.rest.try_reserve_exact(rest.len()).is_err() {
                    return Some(self.failed(ErrorKind::OutOfMemory.into()));
                }
                self.rest.extend_from_slice(rest);
                bytes.truncate(newline + 1);
            }
            _ if bytes.is_empty() => return None,
            _ => self.ended = true,
        }
        self.count += 1;
        let (cut, consumed) = (full && newline.is_none(), (self.consumed)());
        Some(Ok(Block { index: self.count - 1, bytes, cut, consumed }))
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
    fn blocks_hold_all_lines_whether_read_at_once_or_by_another_thread() {
        for text in [vec![], b"one\ntwo".to_vec(), b"12345678\n".repeat(300_000), vec![b'x'; BLOCK + 1]] {
            let reader = || Reader::new(&text[..], || 0, |_| unreachable!());
            let (all, cuts) = collect(&Blocks::new(reader()));
            let (send, receive) = sync_channel(1000);
            reader().for_each(|block| send.send(block).unwrap());
            drop(send);
            assert_eq!((all.clone(), cuts.clone()), collect(&Blocks::new(receive.into_iter())));
            if cuts.last() == Some(&true) {
                assert_eq!(
                    (all.len(), cuts.len()),
                    (BLOCK, 1),
                    "a line longer than a block ends the reading"
                );
            } else {
                assert_eq!(all, text);
                assert_eq!(cuts.len(), text.len().div_ceil(BLOCK), "blocks are full");
            }
        }
    }
}
