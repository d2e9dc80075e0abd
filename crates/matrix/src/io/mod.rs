//! Reads Matrix Market, Harwell-Boeing and Rutherford-Boeing files and `scipy.sparse.save_npz` (`.npz`) into [`Csr`](crate::Csr),
//! plain, compressed by gzip, xz, bzip2 or Zstandard, or in a tar or zip archive. The first bytes say what a file is; its name does not
//! matter.
//!
//! ```text
//! .mtx      the threads that parse read - blocks of lines --+
//! .mtx.gz   a thread decompresses ------- blocks of lines --+-> triplets -> Csr      every thread of the pool
//! .tar.gz   a thread decompresses, finds NAME/NAME.mtx -----+
//! .npz      arrays of the archive --------------------------+
//! .rb       lines of fixed width ---------------------------+
//! ```
//! Reading uses the threads of the current rayon pool and gives the same matrix with any number of them. It
//! needs at most three times the memory of the finished matrix, and trusts no count in a file: what the file
//! really holds decides what is allocated.
//!
//! Absent on purpose: formats that a few lines of Python convert, which are named with these lines ([`Foreign`]); complex matrices and values that are not finite, unless only the pattern is asked for
//! ([`ReadOptions::places_only`]); writing.

mod archive;
mod assemble;
mod blocks;
mod boeing;
mod error;
mod foreign;
mod kind;
mod matrix_market;
pub(crate) mod memory;
mod npz;
mod options;
mod regular_file;
mod remark;
mod rows;
mod stored;
mod stream;
mod tar_members;
mod unpacked;
mod which;
mod zstandard;

pub use boeing::BoeingFault;
pub use error::{Place, ReadError};
pub use foreign::Foreign;
pub use kind::file_stem;
pub use matrix_market::{Found, MatrixMarketFault};
pub use npz::NpzFault;
pub use options::{PatternValues, Progress, ReadOptions};
pub use regular_file::{open_regular, read_document, read_document_text, read_regular, read_regular_text};
pub use remark::Remark;
pub use stored::{Field, Layout, Loaded, Stored, Symmetry};
pub use which::{PassedOver, Why, files_in, is_hidden};

use crate::{Bytes, Scalar};
use options::Source;
use std::fs::File;
use std::io::{Cursor, Read, Seek};
use std::path::Path;
use unpacked::Origin;

/// Reads the matrix in a file. Its first bytes say what it is, whatever it is called; of an archive with several files the matrix is
/// chosen by their names and sizes, and [`Loaded::remarks`] says which. All of an archive is looked through for that.
///
/// O(nnz) work on the threads of the current rayon pool; at most three times the memory of the matrix. The file is read
/// and not mapped: a program that cuts it short meanwhile causes an error here and nothing worse.
///
/// # Errors
/// [`ReadError`] names the place of the first fault, and whatever stops the system from reading the file.
///
/// ```no_run
/// use sparsight_matrix::io::{self, ReadOptions};
///
/// let loaded = io::read::<f64>("bcsstk14.mtx".as_ref(), &ReadOptions::default())?;
/// println!("{} non-zeros, stored as {}", loaded.matrix.nnz(), loaded.stored.symmetry);
/// # Ok::<(), io::ReadError>(())
/// ```
pub fn read<T: Scalar>(path: &Path, options: &ReadOptions<'_>) -> Result<Loaded<T>, ReadError> {
    let source = Source::new(path, options);
    stream::dispatch(Origin::File, &stream::kind_of_file(source)?, source)
}

/// The matrix that comes out of `reader`, of any kind that [`read`] takes, which its first bytes tell. It is read to the end,
/// once: a pipe, or standard input. An archive is held in memory. `name`: what errors call it.
///
/// # Errors
/// As [`read`]; [`ReadError::UnknownContent`] if it is none of these.
///
/// ```
/// use sparsight_matrix::io::{self, ReadOptions};
///
/// let text = b"%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 -1.0\n";
/// let loaded = io::read_stream::<f64>(&text[..], "-".as_ref(), &ReadOptions::default())?;
/// assert_eq!(loaded.matrix.nnz(), 1);
/// # Ok::<(), io::ReadError>(())
/// ```
pub fn read_stream<T: Scalar>(
    reader: impl Read + Send,
    name: &Path,
    options: &ReadOptions<'_>,
) -> Result<Loaded<T>, ReadError> {
    stream::read(Box::new(reader), Source::new(name, options))
}

/// The matrix in Matrix Market text that is all there in `bytes`. `name`: what errors call it.
///
/// # Errors
/// As [`read`], except those of the system.
///
/// ```
/// use sparsight_matrix::io::{self, ReadOptions};
///
/// let text = b"%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 4.0\n2 1 -1.0\n";
/// let loaded = io::read_matrix_market::<f64>(text, "a.mtx".as_ref(), &ReadOptions::default())?;
/// assert_eq!(loaded.matrix.row(0), (&[0, 1][..], &[4.0, -1.0][..]));
///
/// let text = b"%%MatrixMarket matrix coordinate real general\n2 2 1\n2 3 4.0\n";
/// let error = io::read_matrix_market::<f64>(text, "a.mtx".as_ref(), &ReadOptions::default()).unwrap_err();
/// assert_eq!(error.to_string(), "a.mtx:3:3: column index 3 is outside the declared 2 columns");
/// # Ok::<(), io::ReadError>(())
/// ```
pub fn read_matrix_market<T: Scalar>(
    bytes: &[u8],
    name: &Path,
    options: &ReadOptions<'_>,
) -> Result<Loaded<T>, ReadError> {
    let source = Source::new(name, options);
    unpacked::read_plain(Origin::Held(bytes).open(&[], source)?, source)
}

/// The matrix in an `.npz` file that is all there in `bytes`. `name`: what errors call it.
///
/// # Errors
/// As [`read`], except those of the system.
pub fn read_npz<T: Scalar>(
    bytes: &[u8],
    name: &Path,
    options: &ReadOptions<'_>,
) -> Result<Loaded<T>, ReadError> {
    read_zip(Box::new(Cursor::new(bytes)), Bytes(bytes.len() as u64), Source::new(name, options))
}

/// Source of an archive with its directory at its end. One type for all, so that readers are compiled once.
trait Seekable: Read + Seek + Send {}

impl<R: Read + Seek + Send> Seekable for R {}

/// A zip archive of `total` bytes: of arrays, which `.npz` is, or with a matrix file in it.
fn read_zip<T: Scalar>(
    file: Box<dyn Seekable + '_>,
    total: Bytes,
    source: Source<'_>,
) -> Result<Loaded<T>, ReadError> {
    let archive = npz::open(file, source.path)?;
    let any = |is_it: fn(&str) -> bool| archive.file_names().flatten().any(|name| is_it(&name));
    if any(|name| Path::new(name).extension().is_some_and(|end| end == "npy"))
        && !any(|name| file_stem(name).is_some())
    {
        return npz::read(archive, total, source);
    }
    archive::read_zip(archive, source)
}

/// A regular file, and how long it is.
fn open(path: &Path) -> Result<(File, Bytes), ReadError> {
    let opened = open_regular(path).and_then(|file| Ok((file.metadata()?.len(), file)));
    let (length, file) = opened.map_err(|cause| ReadError::Io { path: path.to_owned(), cause })?;
    Ok((file, Bytes(length)))
}
