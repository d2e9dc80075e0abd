//! Files in: Matrix Market (`.mtx`, `.mtx.gz`), archives of the `SuiteSparse` collection (`.tar.gz`,
//! `.tgz`) and `scipy.sparse.save_npz` (`.npz`), all into [`Csr`](crate::Csr).
//!
//! ```text
//! .mtx      mapped --------------------- blocks of lines --+
//! .mtx.gz   a thread decompresses ------- blocks of lines --+-> triplets -> Csr      every thread of the pool
//! .tar.gz   a thread decompresses, finds NAME/NAME.mtx -----+
//! .npz      mapped -> arrays of the archive ----------------+
//! ```
//! Reading uses the threads of the current rayon pool and gives the same matrix with any number of them. It
//! needs at most three times the memory of the finished matrix, and trusts no count in a file: what the file
//! really holds decides what is allocated.
//!
//! Absent on purpose: complex matrices, values that are not finite, writing.

mod assemble;
mod blocks;
mod error;
mod gzip;
mod matrix_market;
mod memory;
mod npz;
mod options;
mod pattern_values;
mod rows;
mod stored;
mod suitesparse_tar;

pub use error::{Place, ReadError};
pub use matrix_market::{Found, MatrixMarketFault};
pub use npz::NpzFault;
pub use options::{PatternValues, Progress, ReadOptions};
pub use stored::{Field, Layout, Loaded, Stored, Symmetry};

use crate::{Bytes, Scalar};
use blocks::Blocks;
use memmap2::Mmap;
use std::fs::File;
use std::path::Path;

/// The matrix in a file. The end of the name, in any case, says what the file is: `.mtx`, `.mtx.gz`,
/// `.tar.gz` or `.tgz`, `.npz`.
///
/// O(nnz) work on the threads of the current rayon pool; at most three times the memory of the matrix. The file
/// is mapped: a program that cuts it short during the read may end this one with a bus error.
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
        map(path, |bytes| read_matrix_market(bytes, path, options))
    } else if ends_with(".mtx.gz") {
        gzip::read(path, options)
    } else if ends_with(".tar.gz") || ends_with(".tgz") {
        suitesparse_tar::read(path, options)
    } else if ends_with(".npz") {
        map(path, |bytes| read_npz(bytes, path, options))
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
    npz::read(bytes, name, options)
}

fn map<R>(path: &Path, use_bytes: impl FnOnce(&[u8]) -> Result<R, ReadError>) -> Result<R, ReadError> {
    let fail = |cause| ReadError::Io { path: path.to_owned(), cause };
    let file = File::open(path).map_err(fail)?;
    if file.metadata().map_err(fail)?.is_dir() {
        return Err(fail(std::io::ErrorKind::IsADirectory.into()));
    }
    // SAFETY: the map is read only and does not outlive this call. Another program that changes the file
    // meanwhile can change the bytes seen, which are checked one by one and never relied on twice, or end this
    // program with a bus error, which the documentation of `read` says.
    let bytes = unsafe { Mmap::map(&file) }.map_err(fail)?;
    use_bytes(&bytes)
}
