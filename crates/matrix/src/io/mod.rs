//! Files in: Matrix Market (`.mtx`, `.mtx.gz`), archives of the `SuiteSparse` collection (`.tar.gz`,
//! `.tgz`) and `scipy.sparse.save_npz` (`.npz`), all into [`Csr`](crate::Csr).
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
//! Absent on purpose: complex matrices, values that are not finite, writing.

mod assemble;
mod blocks;
mod counted;
mod error;
mod gzip;
mod matrix_market;
pub(crate) mod memory;
mod npz;
mod options;
mod pattern_values;
mod regular_file;
mod rows;
mod stored;
mod suitesparse_tar;
mod tar_members;

pub use error::{Place, ReadError};
pub use matrix_market::{Found, MatrixMarketFault};
pub use npz::NpzFault;
pub use options::{PatternValues, Progress, ReadOptions};
pub use regular_file::open_regular;
pub use stored::{Field, Layout, Loaded, Stored, Symmetry};

use crate::{Bytes, Scalar};
use blocks::{Blocks, Pieces};
use counted::Counted;
use std::fs::File;
use std::io::{BufReader, Cursor};
use std::path::Path;

/// The matrix in a file. The end of the name, in any case, says what the file is: `.mtx`, `.mtx.gz`,
/// `.tar.gz` or `.tgz`, `.npz`.
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
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let ends_with = |ending: &str| name.ends_with(ending);
    if ends_with(".mtx") {
        let (file, total) = open(path)?;
        let (file, count) = Counted::new(file);
        let fail = |cause| ReadError::Io { path: path.to_owned(), cause };
        let pieces = Pieces::new(file, move || count.get(), fail);
        matrix_market::read(&Blocks::of_pieces(pieces), total, path, options)
    } else if ends_with(".mtx.gz") {
        gzip::read(path, options)
    } else if ends_with(".tar.gz") || ends_with(".tgz") {
        suitesparse_tar::read(path, options)
    } else if ends_with(".npz") {
        let (file, total) = open(path)?;
        npz::read(BufReader::with_capacity(1 << 18, file), total, path, options)
    } else {
        Err(ReadError::UnknownKind { path: path.to_owned() })
    }
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
