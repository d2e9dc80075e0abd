//! Formats that are known and not read: named, with what converts them.
//!
//! Each is told by its first bytes or, if it is text, by its first lines. Text that could be Matrix Market is left to that reader,
//! which names the line that is wrong.

use std::fmt;

/// A known format that is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Foreign {
    /// A page of the World Wide Web, or another XML document.
    Html,
    /// A pointer of Git LFS in place of the file.
    LfsPointer,
    /// Text in UTF-16.
    Utf16,
    /// MATLAB, versions 4 to 7.
    Mat,
    /// HDF5: MATLAB 7.3, `h5ad` of `AnnData`.
    Hdf5,
    /// A binary file of `PETSc`.
    Petsc,
    /// An array of `NumPy`.
    Npy,
    /// A pickle of Python.
    Pickle,
    /// Linear programs in MPS.
    Mps,
    /// A list of edges, as of SNAP or KONECT.
    EdgeList,
    /// A graph of METIS or Chaco.
    Metis,
    /// A graph of DIMACS.
    Dimacs,
    /// A matrix that `HYPRE_IJMatrixPrint` writes.
    HypreIj,
    /// Sparse vectors of LIBSVM.
    LibSvm,
    /// Columns of text separated by commas.
    Csv,
    /// Text of GNU Octave.
    Octave,
    /// Entries below a size line, without a Matrix Market banner.
    NoBanner,
    /// 7-Zip, RAR, LZ4, LZMA or compress.
    Packed(&'static str),
}

impl Foreign {
    /// Of data that begin so.
    pub(super) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        binary(bytes).or_else(|| text(bytes))
    }

    /// Lines of Python, or of a shell, that make a file that is read of one called `A`.
    pub(super) fn conversion(self) -> &'static str {
        match self {
            Self::Html => {
                "this is what a server sent in place of the matrix, perhaps a page of errors or of a log-in: download the file itself"
            }
            Self::LfsPointer => "the repository keeps the file elsewhere: git lfs pull",
            Self::Utf16 => "write it in UTF-8:\n    iconv -f UTF-16 -t UTF-8 A.mtx > A.utf8.mtx",
            Self::Mat => {
                "convert it in Python; loadmat's result lists the names of its variables:\n    A = scipy.io.loadmat('A.mat')['A']\n    \
                 scipy.sparse.save_npz('A.npz', scipy.sparse.csr_array(A))"
            }
            Self::Hdf5 => {
                "convert it in Python. Of AnnData:\n    A = anndata.read_h5ad('A.h5ad').X\n    \
                 scipy.sparse.save_npz('A.npz', scipy.sparse.csr_array(A))\nof MATLAB 7.3, where A is the variable:\n    \
                 g = h5py.File('A.mat')['A']; jc = g['jc'][:]\n    \
                 A = scipy.sparse.csc_array((g['data'][:], g['ir'][:], jc), shape=(g.attrs['MATLAB_sparse'], len(jc) - 1))\n    \
                 scipy.sparse.save_npz('A.npz', A)"
            }
            Self::Petsc => {
                "convert it in Python; petsc4py reads it, or PetscBinaryIO.py, which comes with PETSc:\n    \
                 (A,) = PetscBinaryIO.PetscBinaryIO().readBinaryFile('A.bin', mattype='scipy.sparse')\n    \
                 scipy.sparse.save_npz('A.npz', A.tocsr())\na file with 64-bit indices wants PetscBinaryIO.PetscBinaryIO(indices='64bit')"
            }
            Self::Npy => {
                "a dense array; in Python:\n    A = numpy.load('A.npy')\n    \
                 scipy.sparse.save_npz('A.npz', scipy.sparse.csr_array(A))"
            }
            Self::Pickle => {
                "a pickle runs code when it is opened, so only its owner should; in Python:\n    A = pickle.load(open('A.pkl', 'rb'))\n    \
                 scipy.sparse.save_npz('A.npz', scipy.sparse.csr_array(A))"
            }
            Self::Mps => {
                "convert it in Python with highspy, which reads linear programs:\n    h = highspy.Highs(); h.readModel('A.mps'); a = h.getLp().a_matrix_\n    \
                 A = scipy.sparse.csc_array((a.value_, a.index_, a.start_), shape=(h.getNumRow(), h.getNumCol()))\n    \
                 scipy.sparse.save_npz('A.npz', A)"
            }
            Self::EdgeList => {
                "convert it in Python, each edge an entry that is 1:\n    i, j = numpy.loadtxt('A.txt', comments=('#', '%'), usecols=(0, 1), dtype=int, unpack=True)\n    \
                 n = max(i.max(), j.max()) + 1\n    \
                 scipy.sparse.save_npz('A.npz', scipy.sparse.coo_array((numpy.ones(len(i)), (i, j)), shape=(n, n)))"
            }
            Self::Metis => {
                "convert it in Python, a line of neighbours a vertex (a graph without weights):\n    \
                 lines = [l.split() for l in open('A.graph') if not l.startswith('%')]; n = int(lines[0][0])\n    \
                 i = [v for v, l in enumerate(lines[1:n + 1]) for _ in l]; j = [int(w) - 1 for l in lines[1:n + 1] for w in l]\n    \
                 scipy.sparse.save_npz('A.npz', scipy.sparse.coo_array((numpy.ones(len(i)), (i, j)), shape=(n, n)))"
            }
            Self::Dimacs => {
                "convert it in Python, from its lines that begin with a or e:\n    \
                 ij = numpy.array([l.split()[1:3] for l in open('A.gr') if l[0] in 'ae'], dtype=int) - 1; n = ij.max() + 1\n    \
                 scipy.sparse.save_npz('A.npz', scipy.sparse.coo_array((numpy.ones(len(ij)), tuple(ij.T)), shape=(n, n)))"
            }
            Self::HypreIj => {
                "convert it in Python; of a matrix in several files, join them first without their first lines:\n    \
                 i, j, v = numpy.loadtxt('A.IJ.00000', skiprows=1, unpack=True)\n    \
                 scipy.sparse.save_npz('A.npz', scipy.sparse.coo_array((v, (i.astype(int), j.astype(int)))))"
            }
            Self::LibSvm => {
                "convert it in Python:\n    A, _ = sklearn.datasets.load_svmlight_file('A.svm')\n    \
                 scipy.sparse.save_npz('A.npz', A)"
            }
            Self::Csv => {
                "convert it in Python; of columns row, column, value, counted from 0:\n    \
                 i, j, v = numpy.genfromtxt('A.csv', delimiter=',', skip_header=1, usecols=(0, 1, 2), unpack=True)\n    \
                 scipy.sparse.save_npz('A.npz', scipy.sparse.coo_array((v, (i.astype(int), j.astype(int)))))"
            }
            Self::Octave => {
                "in Octave: addpath mmio; mmwrite('A.mtx', A), or save('-v7', 'A.mat', 'A') and scipy.io.loadmat"
            }
            Self::NoBanner => {
                "put the banner in front (pattern in place of real if there are no values):\n    \
                 (echo '%%MatrixMarket matrix coordinate real general'; cat A.txt) > A.mtx"
            }
            Self::Packed(_) => "unpack it first; .gz, .xz, .bz2, .zst, .zip and .tar are read as they are",
        }
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Html => "an HTML or XML document",
            Self::LfsPointer => "a pointer of Git LFS",
            Self::Utf16 => "text in UTF-16",
            Self::Mat => "a MAT file of MATLAB",
            Self::Hdf5 => "an HDF5 file (h5ad of AnnData, MATLAB 7.3)",
            Self::Petsc => "a binary file of PETSc",
            Self::Npy => "a dense array of NumPy (.npy)",
            Self::Pickle => "a pickle of Python",
            Self::Mps => "a linear program in MPS",
            Self::EdgeList => "a list of edges (as of SNAP or KONECT)",
            Self::Metis => "a graph of METIS",
            Self::Dimacs => "a graph of DIMACS",
            Self::HypreIj => "an IJ matrix of hypre",
            Self::LibSvm => "a file of LIBSVM",
            Self::Csv => "a table separated by commas (CSV)",
            Self::Octave => "a text file of GNU Octave",
            Self::NoBanner => "a list of entries without a Matrix Market banner",
            Self::Packed(name) => return write!(f, "compressed by {name}"),
        })
    }
}

fn binary(bytes: &[u8]) -> Option<Foreign> {
    /// The class id that `PETSc` writes before a matrix, most significant byte first.
    const PETSC: [u8; 4] = 1_211_216_u32.to_be_bytes();
    Some(match bytes {
        [0xff, 0xfe, ..]
        | [0xfe, 0xff, ..]
        | [b'%', 0, b'%' | b'M', 0, ..]
        | [0, b'%', 0, b'%' | b'M', ..] => Foreign::Utf16,
        [0x89, b'H', b'D', b'F', b'\r', b'\n', 0x1a, b'\n', ..] => Foreign::Hdf5,
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Foreign::Npy,
        [0x80, 2..=5, ..] => Foreign::Pickle,
        [b'7', b'z', 0xbc, 0xaf, ..] => Foreign::Packed("7-Zip"),
        [b'R', b'a', b'r', b'!', ..] => Foreign::Packed("RAR"),
        [0x04, 0x22, 0x4d, 0x18, ..] => Foreign::Packed("LZ4"),
        [0x1f, 0x9d, ..] => Foreign::Packed("compress"),
        [0x5d, 0, 0, ..] => Foreign::Packed("LZMA"),
        _ if bytes.starts_with(b"MATLAB 7.3") => Foreign::Hdf5,
        _ if bytes.starts_with(b"MATLAB 5.0") || is_mat_4(bytes) => Foreign::Mat,
        _ if bytes.starts_with(&PETSC) || (bytes.starts_with(&[0; 4]) && bytes[4..].starts_with(&PETSC)) => {
            Foreign::Petsc
        }
        _ => return None,
    })
}

/// MATLAB 4 begins with five numbers of four bytes: type, rows, columns, imaginary or not, length of the name that follows.
fn is_mat_4(bytes: &[u8]) -> bool {
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let name = |length: u32| bytes.get(20..20 + length as usize);
    matches!((word(0), word(12), word(16)), (Some(0..=52), Some(0 | 1), Some(2..=64)))
        && word(16).and_then(name).is_some_and(|name| {
            let (end, letters) = name.split_last().expect("it is at least 2 long");
            *end == 0 && letters.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
        })
}

/// What the first lines of text say. Text that begins as Matrix Market is none of these.
fn text(bytes: &[u8]) -> Option<Foreign> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}');
    let all: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(64).collect();
    let first = *all.first()?;
    let lower = first.to_ascii_lowercase();
    if lower.trim_start_matches('%').trim_start().starts_with("matrixmarket") {
        return None;
    }
    if lower.starts_with('<') {
        return Some(Foreign::Html);
    }
    if lower.starts_with("version https://git-lfs") {
        return Some(Foreign::LfsPointer);
    }
    if lower.starts_with("# created by octave") {
        return Some(Foreign::Octave);
    }
    // MPS has its comments behind *, and its sections at the beginning of a line.
    let statements = all.iter().filter(|line| !line.starts_with('*'));
    let is_section = |line: &&&str| {
        let word = line.split_whitespace().next().unwrap_or_default();
        ["NAME", "ROWS", "OBJSENSE", "OBJSENS", "COLUMNS"].contains(&word)
    };
    if statements.take(8).filter(is_section).count() >= 2 {
        return Some(Foreign::Mps);
    }
    let is_dimacs = |line: &&str| {
        let mut words = line.split_whitespace();
        words.next() == Some("p") && words.nth(1).is_some_and(|n| n.parse::<u64>().is_ok())
    };
    if lower.starts_with("c ") || lower == "c" || is_dimacs(&first) {
        return all.iter().any(is_dimacs).then_some(Foreign::Dimacs);
    }
    let entries: Vec<&str> =
        all.iter().copied().filter(|line| !line.starts_with(['#', '%'])).take(32).collect();
    of_numbers(&entries)
}

/// Rows of numbers, without comments.
fn of_numbers(lines: &[&str]) -> Option<Foreign> {
    let (first, rest) = lines.split_first()?;
    let is_number = |word: &str| word.parse::<f64>().is_ok();
    let are_numbers = |line: &&str| line.split_whitespace().all(is_number);
    let separated = |line: &str| line.matches([',', ';']).count();
    if separated(first) > 0 && rest.first().is_none_or(|line| separated(line) == separated(first)) {
        return Some(Foreign::Csv);
    }
    let is_pair = |word: &str| {
        word.split_once(':').is_some_and(|(at, value)| at.parse::<u64>().is_ok() && is_number(value))
    };
    let is_libsvm = |line: &&str| {
        let mut words = line.split_whitespace();
        words.next().is_some_and(is_number) && words.clone().count() > 0 && words.all(is_pair)
    };
    if lines.iter().take(8).all(is_libsvm) {
        return Some(Foreign::LibSvm);
    }
    if rest.is_empty() || !lines.iter().all(are_numbers) {
        return None;
    }
    let width = |line: &str| line.split_whitespace().count();
    let all_wide = |n: usize| rest.iter().all(|line| width(line) == n);
    let header: Option<Vec<i64>> = first.split_whitespace().map(|word| word.parse().ok()).collect();
    match header.as_deref() {
        // ilower iupper jlower jupper, then an entry a line.
        Some(&[a, b, c, d]) if a <= b && c <= d && all_wide(3) => Some(Foreign::HypreIj),
        Some(&[n, m]) if n > 0 && m >= 0 && !all_wide(2) && !all_wide(3) => Some(Foreign::Metis),
        Some(&[n, m, flags])
            if n > 0 && m > 0 && (0..=111).contains(&flags) && !all_wide(2) && !all_wide(3) =>
        {
            Some(Foreign::Metis)
        }
        // rows, columns, entries: as large as any index below.
        Some(&[rows, columns, entries])
            if (all_wide(3) || all_wide(2))
                && entries >= rest.len() as i64
                && rest.iter().all(|line| {
                    let mut words = line.split_whitespace().map(|w| w.parse::<i64>().unwrap_or(i64::MAX));
                    words.next().is_some_and(|i| i <= rows) && words.next().is_some_and(|j| j <= columns)
                }) =>
        {
            Some(Foreign::NoBanner)
        }
        _ if (2..=4).contains(&width(first)) && all_wide(width(first)) => Some(Foreign::EdgeList),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_named_by_their_first_bytes() {
        for (bytes, expected) in [
            (&b"<!DOCTYPE html><html>"[..], Foreign::Html),
            (b"\n<?xml version='1.0'?>", Foreign::Html),
            (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n", Foreign::LfsPointer),
            (b"\xff\xfe%\0%\0M\0", Foreign::Utf16),
            (b"MATLAB 5.0 MAT-file, Platform: GLNXA64", Foreign::Mat),
            (b"\0\0\0\0\x03\0\0\0\x03\0\0\0\0\0\0\0\x02\0\0\0A\0", Foreign::Mat),
            (b"MATLAB 7.3 MAT-file", Foreign::Hdf5),
            (b"\x89HDF\r\n\x1a\n\0", Foreign::Hdf5),
            (b"\0\x12\x7b\x50\0\0\0\x28", Foreign::Petsc),
            (b"\0\0\0\0\0\x12\x7b\x50\0", Foreign::Petsc),
            (b"\x93NUMPY\x01\0", Foreign::Npy),
            (b"\x80\x04\x95", Foreign::Pickle),
            (b"* a comment\nNAME          OWN\nROWS\n N  COST\n", Foreign::Mps),
            (b"NAME\nOBJSENSE\n MAX\nROWS\n", Foreign::Mps),
            (b"# Directed graph\n# Nodes: 5 Edges: 6\n0\t1\n0\t2\n", Foreign::EdgeList),
            (b"% sym unweighted\n1 2\n1 3\n", Foreign::EdgeList),
            (b"0 1\n0 2\n3 1\n", Foreign::EdgeList),
            (b"0 1 0.5\n0 2 1.5\n", Foreign::EdgeList),
            (b"4 3\n2\n1 3\n2 4\n3\n", Foreign::Metis),
            (b"% a graph\n4 3 1\n2 7\n1 7 3 2\n2 2 4 1\n3 1\n", Foreign::Metis),
            (b"c roads\np sp 4 3\na 1 2 5\n", Foreign::Dimacs),
            (b"p edge 4 3\ne 1 2\n", Foreign::Dimacs),
            (b"0 3 0 3\n0 0 1.0\n1 1 2.5e0\n", Foreign::HypreIj),
            (b"1 3:0.5 7:1\n-1 2:1\n", Foreign::LibSvm),
            (b"row,col,value\n0,1,2.5\n", Foreign::Csv),
            (b"# Created by Octave 8.4\n# name: A\n", Foreign::Octave),
            (b"3 3 2\n1 1 4.0\n2 1 -1\n", Foreign::NoBanner),
            (b"7z\xbc\xaf\x27\x1c", Foreign::Packed("7-Zip")),
        ] {
            assert_eq!(Foreign::of_bytes(bytes), Some(expected), "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn matrix_market_and_unknown_data_are_left_to_others() {
        for bytes in [
            &b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n"[..],
            b"%MatrixMarket matrix coordinate real general\n2 2 1\n",
            b"hello\n",
            b"",
            b"1 2 3\n",
            b"\x7fELF\x02",
        ] {
            assert_eq!(Foreign::of_bytes(bytes), None, "{}", String::from_utf8_lossy(bytes));
        }
    }
}
