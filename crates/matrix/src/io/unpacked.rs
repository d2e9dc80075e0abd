//! Compressed text: one thread decompresses into a short queue, all threads parse what comes out of it. No
//! temporary file, and no more text in memory than the queue holds.

use super::blocks::{BLOCK, Blocks, NextBlock, Reader};
use super::memory::Budget;
use super::options::Source;
use super::zstandard::Frames;
use super::{Loaded, ReadError, ReadOptions, matrix_market};
use crate::{Bytes, Scalar};
use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;
use lzma_rust2::XzReader;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of compressed data read at once.
const INPUT: usize = 1 << 18;

/// Compression of a file, or of what was unpacked from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    Gzip,
    Xz,
    Bzip2,
    Zstandard,
}

impl Packing {
    /// Kind of data that begin with these bytes.
    pub(super) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        Some(match bytes {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Self::Bzip2,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstandard,
            _ => return None,
        })
    }
}

/// Source of the bytes of a file, from the start as often as they are asked for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin<'a> {
    /// A regular file.
    File,
    /// Bytes that came out of a pipe.
    Held(&'a [u8]),
}

/// One type for all readers: for each, the decoders would be compiled again, 20 kB.
pub(super) type AnyReader<'a> = Box<dyn Read + Send + 'a>;

/// The unpacked content of a file, how many bytes of the file it has taken so far, and how many there are.
pub(super) type Unpacked<'a> = (AnyReader<'a>, Count, Bytes);

impl<'a> Origin<'a> {
    /// The content of `source`, which is packed so, from the outermost packing on.
    pub(super) fn open(self, packings: &[Packing], source: Source<'_>) -> Result<Unpacked<'a>, ReadError> {
        let (file, total): (AnyReader<'a>, Bytes) = match self {
            Self::File => {
                let (file, total) = super::open(source.path)?;
                (Box::new(file), total)
            }
            Self::Held(bytes) => (Box::new(bytes), Bytes(bytes.len() as u64)),
        };
        let (counted, count) = Counted::new(file);
        Ok((all_unpacked(counted, packings, source.options), count, total))
    }
}

/// The content of `reader`, which is packed so, from the outermost packing on.
pub(super) fn all_unpacked<'a>(
    reader: impl Read + Send + 'a,
    packings: &[Packing],
    options: &ReadOptions<'_>,
) -> AnyReader<'a> {
    let outside: AnyReader<'a> = Box::new(reader);
    packings.iter().fold(outside, |reader, packing| unpacked(reader, *packing, options))
}

/// Decompressed content of `reader`: all members of it, if there are several, and zeros behind them as tapes add them.
pub(super) fn unpacked<'a>(
    reader: AnyReader<'a>,
    packing: Packing,
    options: &ReadOptions<'_>,
) -> AnyReader<'a> {
    let reader = BufReader::with_capacity(INPUT, reader);
    match packing {
        Packing::Gzip => Box::new(Members::new(reader, GzDecoder::new, GzDecoder::into_inner)),
        Packing::Bzip2 => Box::new(Members::new(reader, BzDecoder::new, BzDecoder::into_inner)),
        // Its header says how much memory that takes.
        Packing::Xz => {
            let memory = Budget::new(options).kibibytes();
            Box::new(NotForNothing(XzReader::new_mem_limit(reader, true, memory)))
        }
        Packing::Zstandard => {
            let memory = Budget::new(options).kibibytes();
            Box::new(Frames::new(reader, u64::from(memory) << 10))
        }
    }
}

/// Zeros behind the last member that are passed over: more than any tape's block.
const MOST_PADDING: usize = 1 << 20;

/// Returns whether `source` holds another member; zeros up to its end are none.
pub(super) fn has_more(source: &mut impl BufRead) -> io::Result<bool> {
    let mut zeros = 0;
    loop {
        let bytes = source.fill_buf()?;
        let skipped = bytes.iter().take_while(|&&b| b == 0).count();
        let (is_end, goes_on) = (bytes.is_empty(), skipped < bytes.len());
        source.consume(skipped);
        zeros += skipped;
        if goes_on && zeros == 0 {
            return Ok(true);
        }
        if goes_on || zeros > MOST_PADDING {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "something else follows the compressed data",
            ));
        }
        if is_end {
            return Ok(false);
        }
    }
}

/// Members of gzip or bzip2, one behind the other. A decoder `D` reads one and gives its source back.
struct Members<R, D> {
    state: State<R, D>,
    begin: fn(R) -> D,
    end: fn(D) -> R,
}

enum State<R, D> {
    Between(R),
    Within(D),
    /// After an error, or at the end.
    Done,
}

impl<R, D> Members<R, D> {
    /// The first member is read even if nothing is there, which its decoder calls an error.
    fn new(source: R, begin: fn(R) -> D, end: fn(D) -> R) -> Self {
        Self { state: State::Within(begin(source)), begin, end }
    }
}

impl<R: BufRead, D: Read> Read for Members<R, D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match std::mem::replace(&mut self.state, State::Done) {
                State::Done => return Ok(0),
                State::Between(mut source) => {
                    if has_more(&mut source)? {
                        self.state = State::Within((self.begin)(source));
                    }
                }
                State::Within(mut decoder) => match decoder.read(buffer)? {
                    0 => self.state = State::Between((self.end)(decoder)),
                    n => {
                        self.state = State::Within(decoder);
                        return Ok(n);
                    }
                },
            }
        }
    }
}

/// Never asks for no bytes, which `XzReader` takes for the end of a block.
struct NotForNothing<R>(R);

impl<R: Read> Read for NotForNothing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() { Ok(0) } else { self.0.read(buffer) }
    }
}

/// A fault in what a file holds compressed.
pub(super) fn damaged(path: &Path) -> impl Fn(io::Error) -> ReadError + use<> {
    let path = path.to_owned();
    move |cause| match cause.kind() {
        io::ErrorKind::OutOfMemory => ReadError::Io { path: path.clone(), cause },
        _ => ReadError::Damaged { path: path.clone(), cause },
    }
}

/// Lines of text, one at a time, for formats that one thread reads.
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// Lines read.
    pub(super) number: u64,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader: BufReader::with_capacity(INPUT, reader), line: Vec::new(), number: 0 }
    }

    /// The next line without its end, `None` after the last.
    ///
    /// # Errors
    /// The reader's, and that a line is longer than [`BLOCK`] bytes.
    pub(super) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.line.clear();
        let n = self.reader.by_ref().take(BLOCK as u64).read_until(b'\n', &mut self.line)?;
        if n == BLOCK && self.line.last() != Some(&b'\n') {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("a line is longer than {BLOCK} bytes"),
            ));
        }
        self.number += u64::from(n > 0);
        Ok((n > 0).then(|| self.line.trim_ascii_end()))
    }
}

/// Reads Matrix Market text that is not compressed, by the threads that parse it.
pub(super) fn read_plain<T: Scalar>(
    (reader, count, total): Unpacked<'_>,
    source: Source<'_>,
) -> Result<Loaded<T>, ReadError> {
    let fail = |cause| ReadError::Io { path: source.path.to_owned(), cause };
    let blocks = Reader::new(reader, move || count.get(), fail);
    matrix_market::read(&Blocks::new(blocks), total, source)
}

/// Reads Matrix Market text on a thread of its own, or where there is none to be had on those that parse.
pub(super) fn read_text<T: Scalar>(
    (reader, count, total): Unpacked<'_>,
    source: Source<'_>,
) -> Result<Loaded<T>, ReadError> {
    let blocks = Reader::new(reader, move || count.get(), damaged(source.path));
    // A block for each thread to take next, and one on the way.
    let (queue, receiver) = sync_channel::<NextBlock>(rayon::current_num_threads() + 1);
    // Shared, since a thread that could not be had does not give back what it was to do.
    let blocks = Mutex::new(Some(blocks));
    let take = || blocks.lock().unwrap_or_else(PoisonError::into_inner).take();
    std::thread::scope(|scope| {
        let send = move || {
            for block in take().into_iter().flatten() {
                // A receiver that is gone is no error: it stopped for a reason of its own.
                if queue.send(block).is_err() {
                    break;
                }
            }
        };
        let blocks = match std::thread::Builder::new().spawn_scoped(scope, send) {
            // The receiver goes with `blocks`, so a sender that is still at work learns that the receiver is gone.
            Ok(_) => Blocks::new(receiver.into_iter()),
            Err(_) => Blocks::new(take().into_iter().flatten()),
        };
        matrix_market::read(&blocks, total, source)
    })
}

/// A reader that counts the bytes read, for progress.
pub(super) struct Counted<R> {
    inner: R,
    count: Count,
}

/// Bytes read so far. Clones share one number.
#[derive(Clone, Default)]
pub(super) struct Count(Arc<AtomicU64>);

impl Count {
    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl<R> Counted<R> {
    pub(super) fn new(inner: R) -> (Self, Count) {
        let count = Count::default();
        (Self { inner, count: count.clone() }, count)
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.count.0.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}
