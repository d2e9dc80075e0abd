//! Compressed text: one thread decompresses into a short queue, all threads parse what comes out of it. No
//! temporary file, and no more text in memory than the queue holds.

use super::blocks::{Blocks, Piece, Pieces};
use super::counted::{Count, Counted};
use super::kind::Packing;
use super::memory::Budget;
use super::zstandard::Frames;
use super::{Loaded, ReadError, ReadOptions, matrix_market};
use crate::{Bytes, Scalar};
use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};

/// Bytes of compressed data read at once.
const INPUT: usize = 1 << 18;

/// Where the bytes of a file come from, from the start as often as they are asked for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin<'a> {
    /// A regular file.
    File,
    /// What came out of a pipe.
    Held(&'a [u8]),
}

/// The unpacked content of a file, how many bytes of the file it has taken so far, and how many there are.
pub(super) type Unpacked<'a> = (Box<dyn Read + Send + 'a>, Count, Bytes);

impl<'a> Origin<'a> {
    /// The content of the file called `path`.
    pub(super) fn open(
        self,
        path: &Path,
        packing: Packing,
        options: &ReadOptions<'_>,
    ) -> Result<Unpacked<'a>, ReadError> {
        let (file, total): (Box<dyn Read + Send + 'a>, Bytes) = match self {
            Self::File => {
                let (file, total) = super::open(path)?;
                (Box::new(file), total)
            }
            Self::Held(bytes) => (Box::new(bytes), Bytes(bytes.len() as u64)),
        };
        let (counted, count) = Counted::new(file);
        Ok((unpacked(counted, packing, options), count, total))
    }
}

/// What `reader` holds compressed; all members of it, if there are several.
pub(super) fn unpacked<'a>(
    reader: impl Read + Send + 'a,
    packing: Packing,
    options: &ReadOptions<'_>,
) -> Box<dyn Read + Send + 'a> {
    let reader = BufReader::with_capacity(INPUT, reader);
    match packing {
        Packing::None => Box::new(reader),
        Packing::Gzip => Box::new(MultiGzDecoder::new(reader)),
        Packing::Bzip2 => Box::new(MultiBzDecoder::new(reader)),
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

/// Reads Matrix Market text that is not compressed: whoever parses reads.
pub(super) fn read_plain<T: Scalar>(
    reader: impl Read + Send,
    count: Count,
    total: Bytes,
    path: &Path,
    options: &ReadOptions<'_>,
) -> Result<Loaded<T>, ReadError> {
    let fail = |cause| ReadError::Io { path: path.to_owned(), cause };
    let pieces = Pieces::new(reader, move || count.get(), fail);
    matrix_market::read(&Blocks::of_pieces(pieces), total, path, options)
}

/// Reads Matrix Market text that comes out of `reader`, which has taken `count` of `total` bytes of the file so far: on a
/// thread of its own, or where there is none to be had on those that parse.
pub(super) fn read_text<T: Scalar>(
    reader: impl Read + Send,
    count: Count,
    total: Bytes,
    path: &Path,
    options: &ReadOptions<'_>,
) -> Result<Loaded<T>, ReadError> {
    let pieces = Pieces::new(reader, move || count.get(), damaged(path));
    // A block for each thread to take next, and one on the way.
    let (queue, receiver) = sync_channel::<Result<Piece, ReadError>>(rayon::current_num_threads() + 1);
    // Shared, since a thread that could not be had does not give back what it was to do.
    let pieces = Mutex::new(Some(pieces));
    let take = || pieces.lock().unwrap_or_else(PoisonError::into_inner).take();
    std::thread::scope(|scope| {
        let send = move || {
            for piece in take().into_iter().flatten() {
                // Nobody listening is no error: the receiver has stopped for a reason of its own.
                if queue.send(piece).is_err() {
                    break;
                }
            }
        };
        let blocks = match std::thread::Builder::new().spawn_scoped(scope, send) {
            // The receiver goes with `blocks`, so a sender that is still at work learns that nobody listens.
            Ok(_) => Blocks::of_queue(receiver),
            Err(_) => Blocks::of_pieces(take().into_iter().flatten()),
        };
        matrix_market::read(&blocks, total, path, options)
    })
}
