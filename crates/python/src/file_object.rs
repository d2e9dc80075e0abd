//! Bytes of a Python object with `read`, for a reader of the library: the interpreter is asked for a piece at a time, and free while a
//! piece is worked on.

use crate::failure::{Failure, Kind};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

/// Bytes asked for at once. Chosen: the interpreter is attached to a hundred times for 100 MB.
const PIECE: usize = 1 << 20;

/// Exception that Python raised meanwhile: it goes back to the caller as it is.
#[derive(Default)]
pub(crate) struct Raised(Mutex<Option<PyErr>>);

impl Raised {
    pub(crate) fn check(self) -> PyResult<()> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

/// Result of one call.
#[derive(FromPyObject)]
enum Piece {
    Bytes(PyBackedBytes),
    /// Text, of a file that was opened as text.
    Text(PyBackedStr),
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Text(text) => text.as_bytes(),
        }
    }
}

/// An object with `read`.
pub(crate) struct FileObject<'a> {
    file: Py<PyAny>,
    piece: Option<Piece>,
    /// Bytes of the piece that were given.
    given: usize,
    raised: &'a Raised,
}

impl<'a> FileObject<'a> {
    pub(crate) fn new(file: Py<PyAny>, raised: &'a Raised) -> Self {
        Self { file, piece: None, given: 0, raised }
    }

    fn next(&self) -> PyResult<Piece> {
        Python::attach(|py| {
            let piece = self.file.bind(py).call_method1("read", (PIECE,))?;
            piece.extract().map_err(|_| {
                let text = format!("read({PIECE}) gave {}, and no bytes", piece.get_type());
                Failure::new(Kind::BadMatrix, text)
                    .hinted("give a file that was opened with open(path, \"rb\")")
                    .into()
            })
        })
    }
}

impl Read for FileObject<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.piece.as_ref().is_none_or(|piece| self.given == piece.bytes().len()) {
            let next = self.next().map_err(|error| {
                *self.raised.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                io::Error::other("read() raised an exception")
            })?;
            (self.piece, self.given) = (Some(next), 0);
        }
        let mut left = self.piece.as_ref().map_or(&[][..], |piece| &piece.bytes()[self.given..]);
        let read = left.read(buffer)?;
        self.given += read;
        Ok(read)
    }
}
