//! Files in: Matrix Market (`.mtx`), archives of the `SuiteSparse` collection (`.tar`), both plain or compressed (`.gz`, `.xz`,
//! `.bz2`, `.zst`), and `scipy.sparse.save_npz` (`.npz`), all into [`Csr`](crate::Csr).
//!
//! ```text
//! .mtx      whoever asks reads ---------- blocks of lines --+
//! .mtx.gz   a thread decompresses ------- blocks of lines --+-> triplets -> Csr      every thread of the pool
//! .tar.gz   a thread decompresses, finds NAME/NAME.mtx -----+
//! .npz      arrays of the archive --------------------------+
//! ```
//! Reading uses the threads of the current rayon pool and gives the same matrix with any number of them. It
//! needs at most three times the memory of the finished matrix, and trusts no count in a file: what the file
//! really holds decides what is allocated.
//!
//! Absent on purpose: complex matrices and values that are not finite, unless only the pattern is asked for
//! ([`ReadOptions::places_only`]); writing.

mod assemble;
mod blocks;
mod counted;
mod error;
mod kind;
mod matrix_market;
pub(crate) mod memory;
mod npz;
mod options;
mod pattern_values;
mod regular_file;
mod rows;
mod stored;
mod stream;
mod suitesparse_tar;
mod tar_members;
mod unpacked;
mod zstandard;

pub use error::{Place, ReadError};
pub use kind::file_stem;
pub use matrix_market::{Found, MatrixMarketFault};
pub use npz::NpzFault;
pub use options::{PatternValues, Progress, ReadOptions};
pub use regular_file::{open_regular, read_document, read_document_text, read_regular, read_regular_text};
pub use stored::{Field, Layout, Loaded, Stored, Symmetry};

use crate::{Bytes, Scalar};
use blocks::Blocks;
use kind::{Content, Kind, Packing};
use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;
use unpacked::Origin;

/// The matrix in a file. The end of the name, in any case, says what the file is: `.mtx`, `.tar`, either of them with `.gz`,
/// `.xz`, `.bz2` or `.zst` behind it, `.tgz`, `.txz`, `.tbz2`, `.tzst`, `.npz`. Where it says nothing, the first bytes of the file do.
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
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Kind { packing, content } = match kind::split(&name) {
        Some((_, kind)) => kind,
        None => stream::kind_of_file(path, options)?,
    };
    match content {
        Content::Tar => suitesparse_tar::read(Origin::File, packing, path, options),
        Content::Npz => {
            let (file, total) = open(path)?;
            npz::read(BufReader::with_capacity(1 << 18, file), total, path, options)
        }
        Content::MatrixMarket => {
            let (text, count, total) = Origin::File.open(path, packing, options)?;
            match packing {
                Packing::None => unpacked::read_plain(text, count, total, path, options),
                _ => unpacked::read_text(text, count, total, path, options),
            }
        }
    }
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
    stream::read(reader, name, options)
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
    matrix_market::read(&Blocks::of_slice(bytes), Bytes(bytes.len() as u64), name, options)
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
    npz::read(Cursor::new(bytes), Bytes(bytes.len() as u64), name, options)
}

/// A regular file, and how long it is.
fn open(path: &Path) -> Result<(File, Bytes), ReadError> {
    let opened = open_regular(path).and_then(|file| Ok((file.metadata()?.len(), file)));
    let (length, file) = opened.map_err(|cause| ReadError::Io { path: path.to_owned(), cause })?;
    Ok((file, Bytes(length)))
}
