//! Archives of the `SuiteSparse` collection, `NAME.tar.gz` (or compressed in another way, or not) with `NAME/NAME.mtx` inside, read without unpacking.
//!
//! An archive that has been renamed is searched for its matrix: the largest `.mtx` file that is not an
//! attachment (`NAME_b.mtx`, `NAME_coord.mtx`, ...) of another.

use super::kind::{self, Packing};
use super::memory::Budget;
use super::tar_members::Members;
use super::unpacked::{self, Origin, damaged};
use super::{Loaded, ReadError, ReadOptions};
use crate::Scalar;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// Bytes of the longest name of a file (`NAME_MAX`).
const LONGEST_NAME: usize = 255;

/// Reads the matrix of an archive.
pub(super) fn read<T: Scalar>(
    origin: Origin<'_>,
    packing: Packing,
    path: &Path,
    options: &ReadOptions<'_>,
) -> Result<Loaded<T>, ReadError> {
    let wanted = find(origin, packing, path, options)?;
    let (archive, count, total) = origin.open(path, packing, options)?;
    let damaged = damaged(path);
    let mut members = Members::new(archive);
    while let Some(member) = members.next().map_err(&damaged)? {
        if member.is_file && member.path == wanted {
            let content = Whole { reader: members.into_content(), left: member.size };
            return unpacked::read_text(content, count, total, path, options);
        }
    }
    // It was there when the archive was looked through.
    Err(damaged(io::ErrorKind::UnexpectedEof.into()))
}

/// The content of a member, whose early end is an error.
struct Whole<R> {
    reader: R,
    left: u64,
}

impl<R: io::Read> io::Read for Whole<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = self.left.min(buffer.len() as u64) as usize;
        let n = self.reader.read(&mut buffer[..room])?;
        if n == 0 && room > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= n as u64;
        Ok(n)
    }
}

/// The member that is the matrix. Stops at `NAME/NAME.mtx`, else looks through the whole archive.
fn find(
    origin: Origin<'_>,
    packing: Packing,
    path: &Path,
    options: &ReadOptions<'_>,
) -> Result<PathBuf, ReadError> {
    let (archive, ..) = origin.open(path, packing, options)?;
    let budget = Budget::new(options);
    let mut members = Members::new(archive);
    let wanted = format!("{}.mtx", archive_stem(path));
    let (mut matrices, mut held) = (Vec::new(), 0);
    while let Some(member) = members.next().map_err(damaged(path))? {
        // What has a longer name was never a file of Linux; of a short one every beginning can be looked up.
        let is_named = member.path.file_name().is_some_and(|name| name.len() <= LONGEST_NAME);
        if member.is_file && is_named && member.path.extension().is_some_and(|e| e == "mtx") {
            if member.path.file_name().is_some_and(|name| *name == *wanted) {
                return Ok(member.path);
            }
            // Its name, and its stem among those of all.
            held += 2 * (member.path.as_os_str().len() + size_of::<(PathBuf, u64)>()) as u128;
            budget.check(path, held)?;
            matrices.push((member.path, member.size));
        }
    }
    choose(&matrices).ok_or_else(|| ReadError::NoMatrix { path: path.to_owned() })
}

/// `NAME` of `NAME.tar.gz`.
fn archive_stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    kind::file_stem(&name).unwrap_or(&name).to_owned()
}

/// The largest that is no attachment of another: a stem that begins as another one and goes on with `_`.
fn choose(members: &[(PathBuf, u64)]) -> Option<PathBuf> {
    fn stem(path: &Path) -> &[u8] {
        path.file_stem().map_or(&[], OsStr::as_encoded_bytes)
    }
    let stems: HashSet<&[u8]> = members.iter().map(|(path, _)| stem(path)).collect();
    let is_attachment = |path: &Path| {
        let own = stem(path);
        (0..own.len()).any(|at| own[at] == b'_' && stems.contains(&own[..at]))
    };
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

    #[test]
    fn the_largest_of_many_members_is_chosen_unless_all_are_attached_to_another() {
        let members: Vec<_> =
            (0..300_000).map(|at| (PathBuf::from(format!("m/member_{at}.mtx")), at)).collect();
        assert_eq!(choose(&members), Some(PathBuf::from("m/member_299999.mtx")));
        let attached = [&members[..], &[(PathBuf::from("m/member.mtx"), 1)]].concat();
        assert_eq!(choose(&attached), Some(PathBuf::from("m/member.mtx")));
    }
}
