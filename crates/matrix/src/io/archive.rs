//! Archives with a matrix file in them, tar or zip, read without unpacking them onto the disk. Which member is the matrix:
//! [`super::which`]. The `SuiteSparse` collection hands out `NAME.tar.gz` with `NAME/NAME.mtx` inside.
//!
//! All of an archive is looked through, a tar archive up to the first fault behind its matrix, and what is passed over is told. Of several
//! matrices with its name a tar archive's first is read, a zip archive's by that rule.

use super::kind::HEAD;
use super::memory::Budget;
use super::options::Source;
use super::stream;
use super::tar_members::Members;
use super::unpacked::{Origin, Packing, damaged};
use super::which::{Look, Member, PassedOver, only_matrix};
use super::{Loaded, ReadError, Remark, file_stem, npz};
use crate::Scalar;
use std::io::{self, Read};
use std::path::Path;

/// Bytes of the longest name of a file (`NAME_MAX`).
const LONGEST_NAME: usize = 255;

/// Reads the matrix of a tar archive.
pub(super) fn read_tar<T: Scalar>(
    origin: Origin<'_>,
    packings: &[Packing],
    source: Source<'_>,
) -> Result<Loaded<T>, ReadError> {
    let (archive, ..) = origin.open(packings, source)?;
    let mut found = Vec::new();
    let named = tar_matrices(&mut Members::new(archive), source, &mut found, true)?;
    let candidates = if let Some(named) = &named { vec![named.clone()] } else { std::mem::take(&mut found) };
    let (wanted, passed_over) = choose(candidates, source.path)?;
    let (archive, count, total) = origin.open(packings, source)?;
    let damaged = damaged(source.path);
    let mut members = Members::new(archive);
    while let Some(member) = members.next().map_err(&damaged)? {
        if member.is_file && member.path.to_string_lossy() == *wanted.path {
            let loaded = stream::read_counted(Box::new(&mut members), (count, total), source.within())?;
            let passed_over = named.map_or(passed_over, |named| beside(named, found, &mut members, source));
            return Ok(loaded.remarked(Remark::Member { member: wanted.path, passed_over }));
        }
    }
    // It was there when the archive was looked through.
    Err(damaged(io::ErrorKind::UnexpectedEof.into()))
}

/// Reads the matrix file of a zip archive that holds no arrays.
pub(super) fn read_zip<T: Scalar>(
    mut archive: npz::Archive<'_>,
    source: Source<'_>,
) -> Result<Loaded<T>, ReadError> {
    let Source { path, options, .. } = source;
    let fail = |error| npz::zip_error(path, &error);
    let mut members = Vec::new();
    for at in 0..archive.len() {
        let mut file = archive.by_index(at).map_err(fail)?;
        let name = file.name().map_err(fail)?.into_owned();
        let size = file.size();
        if file.is_file() {
            members.extend(Member::visible(&name, size, || Look::of_bytes(&head_of(&mut file), options)));
        }
    }
    let (chosen, passed_over) = choose(members, path)?;
    let file = archive.by_name(&chosen.path).map_err(fail)?;
    npz::check_compression(path, file.compression())?;
    let total = crate::Bytes(file.size());
    let (content, count) = super::unpacked::Counted::new(file);
    let loaded = stream::read_counted(Box::new(content), (count, total), source.within())?;
    Ok(loaded.remarked(Remark::Member { member: chosen.path, passed_over }))
}

/// The first bytes of a member, as far as they can be read.
fn head_of(content: &mut impl Read) -> Vec<u8> {
    let mut head = Vec::new();
    // What is damaged says so when it is read.
    let _ = content.take(HEAD as u64).read_to_end(&mut head);
    head
}

/// The member that is the matrix, and what is passed over.
fn choose(members: Vec<Member>, path: &Path) -> Result<(Member, Vec<PassedOver>), ReadError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = file_stem(&name).unwrap_or(&name);
    only_matrix(stem, members).ok_or_else(|| ReadError::NoMatrix { path: path.to_owned() })
}

/// What is passed over where `read` was read as soon as it was seen: what was `found` before it, and what follows among `members` up to the
/// first fault.
fn beside(
    read: Member,
    mut found: Vec<Member>,
    members: &mut Members<impl Read>,
    source: Source<'_>,
) -> Vec<PassedOver> {
    let name = read.path.clone();
    found.push(read);
    // What is damaged behind the matrix is not read.
    _ = tar_matrices(members, source, &mut found, false);
    let Ok((chosen, mut passed_over)) = choose(found, source.path) else { return Vec::new() };
    // It was read before what would have been chosen was seen.
    if chosen.path != name {
        passed_over.retain(|passed| passed.name != name);
        passed_over.push(PassedOver::not_chosen(chosen));
    }
    passed_over
}

/// Adds the members that may be the matrix to `found`, up to the first fault. If it `may_stop`, it does at `NAME/NAME.mtx`, which comes
/// apart from those before it; else it looks through all that there are.
fn tar_matrices(
    members: &mut Members<impl Read>,
    source: Source<'_>,
    found: &mut Vec<Member>,
    may_stop: bool,
) -> Result<Option<Member>, ReadError> {
    let Source { path, options, .. } = source;
    let budget = Budget::new(options);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = file_stem(&name).unwrap_or(&name).to_ascii_lowercase();
    let mut held = 0;
    while let Some(member) = members.next().map_err(damaged(path))? {
        // What has a longer name was never a file of Linux.
        let is_named = member.path.file_name().is_some_and(|name| name.len() <= LONGEST_NAME);
        if !member.is_file || !is_named {
            continue;
        }
        let mut fault = None;
        let look = || match members.head(HEAD) {
            Ok(head) => Look::of_bytes(&head, options),
            Err(cause) => {
                fault = Some(cause);
                Look::Unknown
            }
        };
        let Some(matrix) = Member::visible(&member.path.to_string_lossy(), member.size, look) else {
            continue;
        };
        if let Some(cause) = fault {
            return Err(damaged(path)(cause));
        }
        if may_stop && matrix.stem == stem && matches!(matrix.look, Look::Sparse | Look::Square) {
            return Ok(Some(matrix));
        }
        // Its name, its stem, and both again when the matrix is chosen.
        held += 4 * (matrix.path.len() + size_of::<Member>()) as u128;
        budget.check(path, held)?;
        found.push(matrix);
    }
    Ok(None)
}
