//! Choice of the matrix among several files: one rule for archives, folders and names of a collection.
//!
//! 1. Files that begin with a dot, or lie in such a folder, are none: `._a.mtx` is what macOS keeps beside a file.
//! 2. A vector is none where there is a matrix, and a dense matrix is none beside a sparse one: `NAME_b.mtx`, `NAME_coord.mtx`.
//! 3. What is attached to another, `NAME_E.mtx` beside `NAME.mtx`, is none where the folder or the archive is called `NAME`.
//! 4. An archive is one matrix: of what its first bytes show to be one, the one with the archive's name, else a square one before others,
//!    else the largest. Where no name is that of a matrix file, the first bytes of all files decide.
//!
//! Names are compared without regard to case.

use super::error::ReadError;
use super::kind::{Content, HEAD, unpacked_head};
use super::matrix_market::{Size, size_of_text};
use super::options::Source;
use super::{ReadOptions, open_regular};
use std::collections::HashSet;
use std::fmt;
use std::io::Read;
use std::path::Path;

/// Size of a matrix as the first bytes of its file state it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// A sparse matrix.
    Sparse,
    /// A square matrix.
    Square,
    /// Every value of a matrix.
    Dense,
    /// A single row or column.
    Vector,
    /// No matrix, or a file that does not state its size.
    Unknown,
}

impl Look {
    fn is_sparse(self) -> bool {
        matches!(self, Self::Sparse | Self::Square)
    }

    /// Size of what begins with `head`, packed or not.
    pub(super) fn of_bytes(head: &[u8], options: &ReadOptions<'_>) -> Self {
        let Ok((_, begin)) = unpacked_head(head, Source::new(Path::new(""), options)) else {
            return Self::Unknown;
        };
        match size_of_text(&begin) {
            Some(Size { nrows, ncols, .. }) if (nrows == 1) != (ncols == 1) => Self::Vector,
            Some(Size { array: true, .. }) => Self::Dense,
            Some(Size { nrows, ncols, .. }) if nrows == ncols => Self::Square,
            Some(_) => Self::Sparse,
            // Text without a banner is none.
            None => match Content::of_bytes(&begin) {
                Ok(Some(content)) if content != Content::MatrixMarket => Self::Sparse,
                _ => Self::Unknown,
            },
        }
    }

    /// Size of the file at `path`; one that cannot be opened says why when it is read.
    fn of_file(path: &Path) -> Self {
        let head = open_regular(path).and_then(|mut file| {
            let mut head = Vec::new();
            file.by_ref().take(4).read_to_end(&mut head)?;
            // Archives are not looked into for this.
            if !head.starts_with(b"PK") {
                file.take(HEAD as u64 - 4).read_to_end(&mut head)?;
            }
            Ok(head)
        });
        head.map_or(Self::Unknown, |head| Self::of_bytes(&head, &ReadOptions::default()))
    }
}

/// A file that may be the matrix.
#[derive(Debug, Clone)]
pub(super) struct Member {
    /// Name with its folders.
    pub(super) path: String,
    /// Name without its end, in lower case.
    pub(super) stem: String,
    pub(super) size: u64,
    pub(super) look: Look,
}

/// Returns true for a hidden file or folder: its name begins with a dot, or is what macOS puts into archives.
pub fn is_hidden(name: &str) -> bool {
    name.starts_with('.') && name != "." && name != ".." || name == "__MACOSX"
}

impl Member {
    /// The file or member at `path`, unless it is hidden; `look` is asked only then. Without the end of a matrix file's name its stem is
    /// empty.
    pub(super) fn visible(path: &str, size: u64, look: impl FnOnce() -> Look) -> Option<Self> {
        // Some programs write backslashes into zip archives.
        let parts = || path.split(['/', '\\']);
        if parts().any(is_hidden) {
            return None;
        }
        let stem = parts().next_back().and_then(super::file_stem).unwrap_or_default().to_ascii_lowercase();
        Some(Self { path: path.to_owned(), stem, size, look: look() })
    }

    /// Builds the member if its name ends as that of a matrix file.
    pub(super) fn named(path: &str, size: u64, look: impl FnOnce() -> Look) -> Option<Self> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
        super::file_stem(name).and_then(|_| Self::visible(path, size, look))
    }
}

/// A file that is not the matrix, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedOver {
    /// Name of the file.
    pub name: String,
    /// Reason.
    pub why: Why,
}

impl PassedOver {
    /// A member that might have been the matrix, beside the one that is read.
    pub(super) fn not_chosen(member: Member) -> Self {
        let why = if member.look == Look::Unknown { Why::NoMatrix } else { Why::Other };
        Self { name: member.path, why }
    }
}

/// Reasons why a file is not the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// It has one row or one column.
    Vector,
    /// It is dense, and there is a sparse one.
    Dense,
    /// Its name is that of the matrix with a suffix.
    Attached,
    /// An archive is read as one matrix, and this is another.
    Other,
    /// Its first bytes are those of no matrix file.
    NoMatrix,
}

impl fmt::Display for PassedOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.why {
            Why::Vector => "a vector",
            Why::Dense => "dense",
            Why::Attached => "belongs to the matrix",
            Why::Other => "another matrix",
            Why::NoMatrix => "no matrix",
        };
        write!(f, "{} ({why})", self.name)
    }
}

/// The matrices among `members` of a folder or an archive called `name`, and what is passed over; both in their order.
pub(super) fn matrices(name: &str, members: Vec<Member>) -> (Vec<Member>, Vec<PassedOver>) {
    let sparse = members.iter().any(|member| member.look.is_sparse());
    let dense = members.iter().any(|member| member.look == Look::Dense);
    let stems: HashSet<&str> = members.iter().map(|member| member.stem.as_str()).collect();
    // NAME_b belongs to NAME in a folder NAME, be it one of an archive.
    let belongs = |member: &Member| {
        let folder = member.path.rsplit(['/', '\\']).nth(1).unwrap_or(name);
        [folder, name].iter().map(|name| name.to_ascii_lowercase()).any(|matrix| {
            let behind = member.stem.strip_prefix(&matrix);
            behind.is_some_and(|rest| rest.starts_with('_')) && stems.contains(matrix.as_str())
        })
    };
    let why: Vec<Option<Why>> = members
        .iter()
        .map(|member| match member.look {
            Look::Vector if sparse || dense => Some(Why::Vector),
            Look::Dense if sparse => Some(Why::Dense),
            _ if belongs(member) => Some(Why::Attached),
            _ => None,
        })
        .collect();
    let (mut kept, mut passed) = (Vec::new(), Vec::new());
    for (member, why) in members.into_iter().zip(why) {
        match why {
            None => kept.push(member),
            Some(why) => passed.push(PassedOver { name: member.path, why }),
        }
    }
    (kept, passed)
}

/// The one matrix among the members of an archive called `name`, and what is passed over.
pub(super) fn only_matrix(name: &str, mut members: Vec<Member>) -> Option<(Member, Vec<PassedOver>)> {
    let has_names = members.iter().any(|member| !member.stem.is_empty());
    members.retain(|member| if has_names { !member.stem.is_empty() } else { member.look != Look::Unknown });
    let (mut kept, mut passed) = matrices(name, members);
    let name = name.to_ascii_lowercase();
    let better = |(at, member): &(usize, &Member)| {
        let Member { look, size, .. } = **member;
        (look != Look::Unknown, member.stem == name, look == Look::Square, size, std::cmp::Reverse(*at))
    };
    let (best, _) = kept.iter().enumerate().max_by_key(better)?;
    let chosen = kept.swap_remove(best);
    passed.extend(kept.into_iter().map(PassedOver::not_chosen));
    Some((chosen, passed))
}

/// The matrix files in a folder, by name, without those below it, and what was passed over.
///
/// Files with a known ending count ([`file_stem`](super::file_stem)); of Matrix Market files the first bytes are read.
///
/// # Errors
/// The system's, if the folder cannot be read.
pub fn files_in(folder: &Path) -> Result<(Vec<std::path::PathBuf>, Vec<PassedOver>), ReadError> {
    let fail = |cause| ReadError::Io { path: folder.to_owned(), cause };
    let mut members = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !path.is_dir() {
            let size = path.metadata().map_or(0, |file| file.len());
            members.extend(Member::named(&name, size, || Look::of_file(&path)).map(|member| (member, path)));
        }
    }
    members.sort_by(|(_, one), (_, other)| one.cmp(other));
    let canonical = folder.canonicalize();
    let name = canonical.as_deref().unwrap_or(folder).file_name().unwrap_or_default().to_string_lossy();
    let (members, paths): (Vec<Member>, Vec<_>) = members.into_iter().unzip();
    let names: Vec<String> = members.iter().map(|member| member.path.clone()).collect();
    let (kept, passed) = matrices(&name, members);
    let kept: HashSet<String> = kept.into_iter().map(|member| member.path).collect();
    let kept =
        names.iter().zip(paths).filter(|(name, _)| kept.contains(*name)).map(|(_, path)| path).collect();
    Ok((kept, passed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(all: &[(&str, u64, Look)]) -> Vec<Member> {
        all.iter().filter_map(|&(path, size, look)| Member::visible(path, size, || look)).collect()
    }

    fn chosen(archive: &str, all: &[(&str, u64, Look)]) -> (String, Vec<String>) {
        let (chosen, passed) = only_matrix(archive, members(all)).unwrap();
        (chosen.path, passed.into_iter().map(|p| p.to_string()).collect())
    }

    #[test]
    fn side_files_of_a_matrix_are_not_the_matrix() {
        use Look::{Dense, Sparse, Square, Unknown, Vector};
        let (path, passed) = chosen(
            "x",
            &[("m/m_b.mtx", 900, Vector), ("m/m.mtx", 100, Sparse), ("m/m_coord.mtx", 400, Dense)],
        );
        assert_eq!(path, "m/m.mtx");
        assert_eq!(passed, ["m/m_b.mtx (a vector)", "m/m_coord.mtx (dense)"]);
        let (path, passed) = chosen("m", &[("m_E.mtx", 900, Sparse), ("m.mtx", 100, Sparse)]);
        assert_eq!((path.as_str(), passed[0].as_str()), ("m.mtx", "m_E.mtx (belongs to the matrix)"));
        let (path, passed) =
            chosen("set", &[("one.mtx", 5, Sparse), ("two.MTX", 7, Sparse), ("two_rcm.mtx", 6, Sparse)]);
        assert_eq!((path.as_str(), passed.len()), ("two.MTX", 2));
        // What is hidden is no file of the set, whatever its size.
        let (path, passed) = chosen(
            "m",
            &[
                ("./._m.mtx", 9, Sparse),
                ("m/._m.mtx", 9, Sparse),
                ("m/m.mtx", 5, Sparse),
                ("__MACOSX/m.mtx", 9, Sparse),
            ],
        );
        assert_eq!((path.as_str(), passed.len()), ("m/m.mtx", 0));
        // A square matrix goes before a set of right-hand sides, and both before what is no matrix.
        let (path, passed) =
            chosen("x", &[("a/rhs.mtx", 90, Sparse), ("a/junk.mtx", 99, Unknown), ("a/a.mtx", 10, Square)]);
        assert_eq!((path.as_str(), passed[1].as_str()), ("a/a.mtx", "a/junk.mtx (no matrix)"));
        // Without names of matrix files the content decides.
        assert_eq!(chosen("x", &[("a/readme", 90, Unknown), ("a/a.txt", 10, Square)]).0, "a/a.txt");
        assert_eq!(
            chosen("upper", &[("q/UPPER_B.MTX", 90, Sparse), ("q/UPPER.MTX", 10, Sparse)]).0,
            "q/UPPER.MTX"
        );
        // Where there is nothing else, a dense matrix or a vector is it.
        assert_eq!(chosen("m", &[("b.mtx", 5, Vector)]).0, "b.mtx");
        assert_eq!(chosen("m", &[("b.mtx", 5, Vector), ("c.mtx", 3, Dense)]).0, "c.mtx");
        assert!(only_matrix("m", Vec::new()).is_none());
    }

    #[test]
    fn all_matrices_of_a_folder_are_kept_and_its_side_files_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, kind: &str, size: &str| {
            std::fs::write(
                folder.path().join(name),
                format!("%%MatrixMarket matrix {kind} real general\n% a\n{size}\n"),
            )
            .unwrap();
        };
        write("a.mtx", "coordinate", "5 5 0");
        write("a_rcm.mtx", "coordinate", "5 5 0");
        write("b.MTX", "array", "5 1");
        write("nodes.mtx", "array", "5 3");
        write("row.mtx", "coordinate", "1 5 0");
        write("._a.mtx", "coordinate", "9 9 0");
        let (files, passed) = files_in(folder.path()).unwrap();
        let names: Vec<_> = files.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["a.mtx", "a_rcm.mtx"]);
        let passed: Vec<String> = passed.iter().map(PassedOver::to_string).collect();
        assert_eq!(passed, ["b.MTX (a vector)", "nodes.mtx (dense)", "row.mtx (a vector)"]);
    }

    #[test]
    fn very_many_members_take_time_in_proportion() {
        let all: Vec<Member> = (0..300_000)
            .filter_map(|at| Member::named(&format!("m/member_{at}.mtx"), at, || Look::Sparse))
            .collect();
        assert_eq!(only_matrix("x", all).unwrap().0.path, "m/member_299999.mtx");
    }
}
