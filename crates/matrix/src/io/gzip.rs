//! Compressed text: one thread decompresses into a short queue, all threads parse what comes out of it. No
//! temporary file, and no more text in memory than the queue holds.

use super::blocks::{Blocks, Piece, send_pieces};
use super::{Loaded, ReadError, ReadOptions, matrix_market};
use crate::{Bytes, Scalar};
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

/// Bytes of compressed data read at once.
const INPUT: usize = 1 << 18;

/// A file that counts the bytes read from it.
pub(super) struct Counted<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.count.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// The decompressed content of a gzip file, of all its members.
pub(super) type Decoder = MultiGzDecoder<BufReader<Counted<File>>>;

/// Opens a gzip file; gives the decoder, the counter of compressed bytes and the file's size.
pub(super) fn open(path: &Path) -> Result<(Decoder, Arc<AtomicU64>, Bytes), ReadError> {
    let fail = |cause| ReadError::Io { path: path.to_owned(), cause };
    let file = File::open(path).map_err(fail)?;
    let total = Bytes(file.metadata().map_err(fail)?.len());
    let count = Arc::new(AtomicU64::new(0));
    let counted = Counted { inner: file, count: Arc::clone(&count) };
    Ok((MultiGzDecoder::new(BufReader::with_capacity(INPUT, counted)), count, total))
}

pub(super) fn damaged(path: &Path) -> impl Fn(io::Error) -> ReadError {
    move |cause| ReadError::Damaged { path: path.to_owned(), cause }
}

/// Reads `NAME.mtx.gz`.
pub(super) fn read<T: Scalar>(path: &Path, options: &ReadOptions<'_>) -> Result<Loaded<T>, ReadError> {
    let (decoder, count, total) = open(path)?;
    let send = move |queue: &Queue| {
        send_pieces(decoder, || count.load(Ordering::Relaxed), damaged(path), queue);
    };
    read_queue(send, total, path, options)
}

pub(super) type Queue = SyncSender<Result<Piece, ReadError>>;

/// Reads Matrix Market text that `send` puts into a queue, on a thread of its own.
pub(super) fn read_queue<T: Scalar>(
    send: impl FnOnce(&Queue) + Send,
    total: Bytes,
    path: &Path,
    options: &ReadOptions<'_>,
) -> Result<Loaded<T>, ReadError> {
    // A block for each thread to take next, and one on the way.
    let (queue, pieces) = sync_channel(rayon::current_num_threads() + 1);
    std::thread::scope(|scope| {
        scope.spawn(move || send(&queue));
        // The receiver goes with `blocks`, so a sender that is still at work learns that nobody listens.
        let blocks = Blocks::of_queue(pieces);
        matrix_market::read(&blocks, total, path, options)
    })
}
