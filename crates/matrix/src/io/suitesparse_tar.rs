//! Archives of the `SuiteSparse` collection, `NAME.tar.gz` with `NAME/NAME.mtx` inside, read without unpacking.
//!
//! An archive that has been renamed is searched for its matrix: the largest `.mtx` file that is not an
//! attachment (`NAME_b.mtx`, `NAME_coord.mtx`, ...) of another.

use super::blocks::send_pieces;
use super::gzip::{self, Queue};
use super::{Loaded, ReadError, ReadOptions};
use crate::Scalar;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use tar::Archive;

/// Reads the matrix of an archive.
pub(super) fn read<T: Scalar>(path: &Path, options: &ReadOptions<'_>) -> Result<Loaded<T>, ReadError> {
    let member = find(path)?;
    let (decoder, count, total) = gzip::open(path)?;
    let send = move |queue: &Queue| {
        let mut archive = Archive::new(decoder);
        let consumed = || count.load(Ordering::Relaxed);
        let found = archive.entries().and_then(|mut entries| {
            entries
                .find_map(|entry| match entry {
                    Ok(entry) => entry.path().is_ok_and(|p| p == member).then_some(Ok(entry)),
                    Err(error) => Some(Err(error)),
                })
                .unwrap_or_else(|| Err(io::ErrorKind::UnexpectedEof.into()))
        });
        match found {
            Ok(entry) => {
                let size = entry.size();
                send_pieces(Whole { entry, left: size }, consumed, gzip::damaged(path), queue);
            }
            Err(error) => {
                // Nobody listening is no error: the receiver has stopped for a reason of its own.
                let _ = queue.send(Err(gzip::damaged(path)(error)));
            }
        }
    };
    gzip::read_queue(send, total, path, options)
}

/// A member of an archive whose early end is an error.
struct Whole<R> {
    entry: R,
    left: u64,
}

impl<R: io::Read> io::Read for Whole<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.entry.read(buffer)?;
        if n == 0 && self.left > 0 && !buffer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left = self.left.saturating_sub(n as u64);
        Ok(n)
    }
}

/// The member that is the matrix. Stops at `NAME/NAME.mtx`, else looks through the whole archive.
fn find(path: &Path) -> Result<PathBuf, ReadError> {
    let (decoder, ..) = gzip::open(path)?;
    let damaged = gzip::damaged(path);
    let mut archive = Archive::new(decoder);
    let wanted = format!("{}.mtx", archive_stem(path));
    let mut members: Vec<(PathBuf, u64)> = Vec::new();
    for entry in archive.entries().map_err(&damaged)? {
        let entry = entry.map_err(&damaged)?;
        let Ok(member) = entry.path() else { continue };
        if entry.header().entry_type().is_file() && member.extension().is_some_and(|e| e == "mtx") {
            if member.file_name().is_some_and(|name| *name == *wanted) {
                return Ok(member.into_owned());
            }
            members.push((member.into_owned(), entry.size()));
        }
    }
    choose(&members).ok_or_else(|| ReadError::NoMatrix { path: path.to_owned() })
}

/// `NAME` of `NAME.tar.gz` or `NAME.tgz`.
fn archive_stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let lower = name.to_ascii_lowercase();
    let ending = [".tar.gz", ".tgz"].into_iter().find(|e| lower.ends_with(e)).unwrap_or_default();
    // Lower case of ASCII letters keeps every length.
    name[..name.len() - ending.len()].to_owned()
}

fn choose(members: &[(PathBuf, u64)]) -> Option<PathBuf> {
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let is_attachment =
        |path: &Path| members.iter().any(|(other, _)| stem(path).starts_with(&format!("{}_", stem(other))));
    members
        .iter()
        .filter(|(path, _)| !is_attachment(path))
        .max_by_key(|&(_, size)| size)
        .map(|(path, _)| path.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attachments_of_a_matrix_are_not_the_matrix() {
        let members = |names: &[(&str, u64)]| -> Vec<_> {
            names.iter().map(|&(name, size)| (PathBuf::from(name), size)).collect()
        };
        let chosen = choose(&members(&[("m/m_b.mtx", 900), ("m/m.mtx", 100), ("m/m_coord.mtx", 400)]));
        assert_eq!(chosen, Some(PathBuf::from("m/m.mtx")));
        let chosen = choose(&members(&[("one.mtx", 5), ("two.mtx", 7)]));
        assert_eq!(chosen, Some(PathBuf::from("two.mtx")));
        assert_eq!(choose(&[]), None);
    }
}
