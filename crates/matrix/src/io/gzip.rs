//! Compressed text: one thread decompresses into a short queue, all threads parse what comes out of it. No
//! temporary file, and no more text in memory than the queue holds.

use super::blocks::{Blocks, Piece, Pieces};
use super::counted::{Count, Counted};
use super::{Loaded, ReadError, ReadOptions, matrix_market};
use crate::{Bytes, Scalar};
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};

/// Bytes of compressed data read at once.
const INPUT: usize = 1 << 18;

/// The decompressed content of a gzip file, of all its members.
pub(super) type Decoder = MultiGzDecoder<BufReader<Counted<File>>>;

/// Opens a gzip file; gives the decoder, the counter of compressed bytes and the file's size.
pub(super) fn open(path: &Path) -> Result<(Decoder, Count, Bytes), ReadError> {
    let (file, total) = super::open(path)?;
    let (counted, count) = Counted::new(file);
    Ok((MultiGzDecoder::new(BufReader::with_capacity(INPUT, counted)), count, total))
}

/// A fault in what a file holds compressed.
pub(super) fn damaged(path: &Path) -> impl Fn(io::Error) -> ReadError + use<> {
    let path = path.to_owned();
    move |cause| match cause.kind() {
        io::ErrorKind::OutOfMemory => ReadError::Io { path: path.clone(), cause },
        _ => ReadError::Damaged { path: path.clone(), cause },
    }
}

/// Reads `NAME.mtx.gz`.
pub(super) fn read<T: Scalar>(path: &Path, options: &ReadOptions<'_>) -> Result<Loaded<T>, ReadError> {
    let (decoder, count, total) = open(path)?;
    read_text(decoder, count, total, path, options)
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
