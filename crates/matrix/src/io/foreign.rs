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
    /// Linear programs in MPS or in the LP format of CPLEX.
    Mps,
    /// A graph in a format that networkx reads: GML, `GraphML`, Pajek and more.
    Graph {
        /// The format.
        name: &'static str,
        /// Program that reads and converts it.
        conversion: &'static str,
    },
    /// JSON.
    Json,
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
    /// Kind of data that begin with these bytes.
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
            Self::Utf16 => {
                "write it in UTF-8 (-f UTF-16BE if what comes out makes no sense):\n    iconv -f UTF-16 -t UTF-8 A.mtx > A.utf8.mtx"
            }
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
                "in Python (numpy.load('A.npy', allow_pickle=True).item() if a sparse matrix was saved so):\n    A = numpy.load('A.npy')\n    \
                 scipy.sparse.save_npz('A.npz', scipy.sparse.csr_array(A))"
            }
            Self::Pickle => {
                "a pickle runs code when it is opened, so only its owner should; in Python:\n    A = pickle.load(open('A.pkl', 'rb'))\n    \
                 scipy.sparse.save_npz('A.npz', scipy.sparse.csr_array(A))"
            }
            Self::Mps => {
                "convert it in Python with highspy, which reads linear programs (.mps, .lp):\n    h = highspy.Highs(); h.readModel('A.mps'); a = h.getLp().a_matrix_\n    \
                 A = scipy.sparse.csc_array((a.value_, a.index_, a.start_), shape=(h.getNumRow(), h.getNumCol()))\n    \
                 scipy.sparse.save_npz('A.npz', A)"
            }
            Self::Graph { conversion, .. } => conversion,
            Self::Json => {
                "convert it in Python, from the names that it uses for rows, columns and values:\n    d = json.load(open('A.json'))\n    \
                 scipy.sparse.save_npz('A.npz', scipy.sparse.coo_array((d['values'], (d['rows'], d['cols']))))"
            }
            Self::EdgeList => {
                "convert it in Python (skiprows=1 if the first line is a heading; a third column is taken for values):\n    \
                 t = numpy.loadtxt('A.txt', comments=('#', '%'), ndmin=2); i, j = t[:, :2].astype(int).T; first = min(i.min(), j.min())\n    \
                 v = t[:, 2] if t.shape[1] > 2 else numpy.ones(len(t)); n = max(i.max(), j.max()) - first + 1\n    \
                 scipy.sparse.save_npz('A.npz', scipy.sparse.coo_array((v, (i - first, j - first)), shape=(n, n)))"
            }
            Self::Metis => {
                "convert it in Python, a line of neighbours for each vertex:\n    \
                 lines = [l.split() for l in open('A.graph') if not l.startswith('%')]; head = lines[0]; n = int(head[0])\n    \
                 sizes, weights, edges = map(int, (head[2:3] or ['0'])[0].zfill(3)); skip = sizes + weights * int((head[3:4] or ['1'])[0])\n    \
                 t = [(v, int(l[k]) - 1, float(l[k + 1]) if edges else 1.0) for v, l in enumerate(lines[1:n + 1]) for k in range(skip, len(l), 1 + edges)]\n    \
                 i, j, v = zip(*t); scipy.sparse.save_npz('A.npz', scipy.sparse.coo_array((v, (i, j)), shape=(n, n)))"
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
                "convert it in Python; of columns row, column, value, counted from 0 (skip_header=0 without a heading):\n    \
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
            Self::Npy => "an array of NumPy (.npy)",
            Self::Pickle => "a pickle of Python",
            Self::Mps => "a linear program (MPS or LP)",
            Self::Graph { name, .. } => return write!(f, "a graph in {name}"),
            Self::Json => "JSON",
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
        _ if bytes.get(512..516) == Some(b"\x89HDF") => Foreign::Hdf5,
        // Text of which every second byte is 0.
        _ if bytes.len() >= 16
            && [0, 1].iter().any(|&odd| bytes[..16].iter().skip(odd).step_by(2).all(|&b| b == 0))
            && bytes[..16].iter().all(|&b| b == 0 || b.is_ascii_graphic() || b.is_ascii_whitespace())
            && bytes[..16].iter().any(|&b| b != 0) =>
        {
            Foreign::Utf16
        }
        _ if bytes.starts_with(b"ccopy_reg\n") || bytes.starts_with(b"ccopyreg\n") => Foreign::Pickle,
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Foreign::Npy,
        [0x80, 2..=5, ..] => Foreign::Pickle,
        // A vector of PETSc, most significant byte first.
        [0, 0x12, 0x7b, 0x4e, ..] => Foreign::Petsc,
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

/// Statements of which two at the beginning of lines make a linear program in MPS.
const MPS: [&str; 8] = ["NAME", "ROWS", "OBJSENSE", "OBJSENS", "COLUMNS", "RHS", "RANGES", "BOUNDS"];

/// First words of graphs, in lower case, with the name of the format and what networkx calls its reader.
const GRAPHS: [(&str, Foreign); 6] = {
    const fn graph(name: &'static str, conversion: &'static str) -> Foreign {
        Foreign::Graph { name, conversion }
    }
    macro_rules! read {
        ($reader:literal) => {
            concat!(
                "convert it in Python:\n    g = networkx.",
                $reader,
                ")\n    scipy.sparse.save_npz('A.npz', networkx.to_scipy_sparse_array(g))"
            )
        };
    }
    [
        ("<graphml", graph("GraphML", read!("read_graphml('A.graphml'"))),
        ("<gexf", graph("GEXF", read!("read_gexf('A.gexf'"))),
        ("*vertices", graph("the format of Pajek", read!("read_pajek('A.net'"))),
        ("graph [", graph("GML", read!("read_gml('A.gml'"))),
        ("digraph", graph("DOT", read!("nx_pydot.read_dot('A.dot'"))),
        ("graph {", graph("DOT", read!("nx_pydot.read_dot('A.dot'"))),
    ]
};

/// Format that the first lines of text show. Text with a Matrix Market banner is none of these.
fn text(bytes: &[u8]) -> Option<Foreign> {
    let is_control = |b: &u8| b.is_ascii_control() && !b.is_ascii_whitespace();
    if bytes.iter().take(512).any(is_control) {
        return None;
    }
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}');
    let filled = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = filled().next()?;
    let lower = first.to_ascii_lowercase();
    let is_banner = |line: &str| {
        let words = line.trim_start_matches(['%', '#']).trim_start();
        words.get(..12).is_some_and(|word| word.eq_ignore_ascii_case("matrixmarket"))
    };
    if filled().take(64).any(is_banner) {
        return None;
    }
    let begins = text.get(..text.len().min(2048)).unwrap_or(text).to_ascii_lowercase();
    let is_graph =
        |word: &str| if word.starts_with('<') { begins.contains(word) } else { lower.starts_with(word) };
    if let Some((_, graph)) = GRAPHS.iter().find(|(word, _)| is_graph(word)) {
        return Some(*graph);
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
    if first.starts_with('{') || first.starts_with("[[") || first.starts_with("[{") || first == "[" {
        return Some(Foreign::Json);
    }
    let word = |line: &str| line.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
    // MPS has its comments behind *, and its sections at the beginning of a line.
    let statements =
        text.lines().filter(|line| !line.starts_with(['*', ' ', '\t']) && !line.trim().is_empty());
    let lp = ["MINIMIZE", "MAXIMIZE", "MIN", "MAX", "MINIMUM", "MAXIMUM"];
    if statements.take(8).filter(|line| MPS.contains(&word(line).as_str())).count() >= 2
        || lp.contains(&filled().find(|line| !line.starts_with('\\')).map(word).unwrap_or_default().as_str())
    {
        return Some(Foreign::Mps);
    }
    let is_dimacs = |line: &str| {
        let mut words = line.split_whitespace();
        words.next() == Some("p")
            && words.next() != Some("cnf")
            && words.next().is_some_and(|n| n.parse::<u64>().is_ok())
    };
    if lower.starts_with("c ") || lower == "c" || is_dimacs(first) {
        return filled().any(is_dimacs).then_some(Foreign::Dimacs);
    }
    // What is cut off at the end of what was read is left out.
    let is_whole = text.len() < super::kind::TELLING;
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', '%']));
    if is_metis(&lines.clone().skip_while(|line| line.is_empty()).collect::<Vec<_>>(), is_whole) {
        return Some(Foreign::Metis);
    }
    // networkx puts attributes behind an edge.
    let entries =
        lines.map(|line| line.split('{').next().unwrap_or_default().trim()).filter(|line| !line.is_empty());
    of_numbers(&entries.take(64).collect::<Vec<_>>())
}

/// Returns whether lines are those of a graph of METIS: vertices and edges, then a line of neighbours for each vertex, empty ones among them.
fn is_metis(lines: &[&str], is_whole: bool) -> bool {
    let Some((first, rest)) = lines.split_first() else { return false };
    let whole = |line: &str| {
        line.split_whitespace().map(|word| word.parse::<usize>().ok()).collect::<Option<Vec<_>>>()
    };
    let Some(header) = whole(first) else { return false };
    let (Some(&n), Some(&m), 2..=4) = (header.first(), header.get(1), header.len()) else { return false };
    let flags = header.get(2).copied().unwrap_or(0);
    if n == 0 || ![0, 1, 10, 11, 100, 101, 110, 111].contains(&flags) {
        return false;
    }
    let weights = if flags / 10 % 10 == 1 { header.get(3).copied().unwrap_or(1) } else { 0 };
    let (skip, step) = (flags / 100 + weights, 1 + flags % 10);
    let rest = if is_whole { rest } else { &rest[..rest.len().saturating_sub(1)] };
    let filled = rest.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    if (is_whole && (filled > n || rest.len() < n.min(filled.max(1)))) || rest.is_empty() {
        return false;
    }
    let Some(lines) = rest.iter().take(n).map(|line| whole(line)).collect::<Option<Vec<_>>>() else {
        return false;
    };
    let neighbours: Vec<Vec<usize>> =
        lines.iter().map(|line| line.iter().skip(skip).step_by(step).copied().collect()).collect();
    let are_vertices = neighbours.iter().flatten().all(|&w| (1..=n).contains(&w));
    let count: usize = neighbours.iter().map(Vec::len).sum();
    if !is_whole {
        return are_vertices && lines.iter().any(|line| line.len() != lines[0].len());
    }
    // Every edge stands with both of its ends.
    let is_symmetric = || {
        let of = |v: usize| neighbours.get(v - 1).map_or(&[][..], Vec::as_slice);
        (0..neighbours.len()).all(|v| neighbours[v].iter().all(|&w| of(w).contains(&(v + 1))))
    };
    are_vertices && count == 2 * m && is_symmetric()
}

/// Rows of numbers, without comments.
fn of_numbers(lines: &[&str]) -> Option<Foreign> {
    let (first, rest) = lines.split_first()?;
    let is_number = |word: &str| word.parse::<f64>().is_ok();
    let are_numbers = |line: &&str| line.split_whitespace().all(is_number);
    // Fields of a table: numbers, from the second line on at the latest.
    let fields = |line: &str| {
        line.split([',', ';']).map(|field| field.trim().trim_matches('"').to_owned()).collect::<Vec<_>>()
    };
    let heading = fields(first);
    if heading.len() > 1 {
        let row = rest.first().map(|line| fields(line));
        let is_row = |row: &[String]| row.len() == heading.len() && row.iter().any(|field| is_number(field));
        return row
            .map_or(heading.iter().all(|field| is_number(field)), |row| is_row(&row))
            .then_some(Foreign::Csv);
    }
    let is_pair = |word: &str| {
        word.split_once(':').is_some_and(|(at, value)| at.parse::<u64>().is_ok() && is_number(value))
    };
    let is_libsvm = |line: &&str| {
        let mut words = line.split_whitespace();
        words.next().is_some_and(is_number) && words.all(is_pair)
    };
    if lines.iter().take(8).all(is_libsvm) && lines.iter().take(8).any(|line| line.contains(':')) {
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
            // A cycle, in which each line has as many numbers as an edge.
            (b"4 4\n2 4\n1 3\n2 4\n1 3\n", Foreign::Metis),
            (b"4 6\n2 3 4\n1 3 4\n1 2 4\n1 2 3\n", Foreign::Metis),
            (b"3 1\n2\n1\n\n", Foreign::Metis),
            (b"2 1 11 2\n5 6 2 9\n5 6 1 9\n", Foreign::Metis),
            (b"4 4\n1 2\n2 3\n3 4\n4 2\n", Foreign::EdgeList),
            (b"0 1 {}\n0 2 {'weight': 3}\n", Foreign::EdgeList),
            (b"{\"rows\": [0, 1],\n", Foreign::Json),
            (b"Minimize\n obj: x + y\nSubject To\n", Foreign::Mps),
            (b"ROWS\n N COST\nRANGES\n", Foreign::Mps),
            (b"-1\n1 3:0.5\n", Foreign::LibSvm),
            (b"\0\x12\x7b\x4e\0\0\0\x02", Foreign::Petsc),
            (b"%\0%\0M\0a\0t\0r\0i\0x\0 \0", Foreign::Utf16),
        ] {
            assert_eq!(Foreign::of_bytes(bytes), Some(expected), "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn graphs_of_networkx_are_named_and_comments_are_no_limit() {
        for (text, expected) in [
            ("<?xml version='1.0'?>\n<graphml>", "GraphML"),
            ("graph [\n node [", "GML"),
            ("*Vertices 3\n", "Pajek"),
        ] {
            let Some(Foreign::Graph { name, conversion }) = Foreign::of_bytes(text.as_bytes()) else {
                panic!("{text}")
            };
            assert!(name.contains(expected) && conversion.contains("networkx"), "{name}");
        }
        let commented = format!("{}0 1\n1 2\n", "# a comment\n".repeat(500));
        assert_eq!(Foreign::of_bytes(commented.as_bytes()), Some(Foreign::EdgeList));
    }

    #[test]
    fn matrix_market_and_unknown_data_are_left_to_others() {
        for bytes in [
            &b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n"[..],
            b"%MatrixMarket matrix coordinate real general\n2 2 1\n",
            b"% written by hand\n%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n",
            b"hello\n",
            b"Error: file not found, please log in\n",
            b"A = sparse(3,3);\n",
            b"p cnf 3 2\n1 -3 0\n",
            b"\x78\x9c,\x00;\x03",
            b"",
            b"1 2 3\n",
            b"\x7fELF\x02",
        ] {
            assert_eq!(Foreign::of_bytes(bytes), None, "{}", String::from_utf8_lossy(bytes));
        }
    }
}
