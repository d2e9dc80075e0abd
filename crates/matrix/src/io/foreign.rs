//! Formats that are known and not read: named, with what converts them.
//!
//! Each is told by its first bytes or, if it is text, by its first lines. Text that could be Matrix Market is left to that reader,
//! which names the line that is wrong.

mod recipes;

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
    /// A list of edges of an undirected graph, each of which stands there once.
    UndirectedEdges,
    /// A list of edges between two sets of vertices, each counted from 1.
    BipartiteEdges,
    /// A list of edges below a line of words.
    EdgesBelowHeading,
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
    /// Columns of text separated by semicolons.
    Semicolons,
    /// Rows, columns and non-zeros, then the offsets of the rows and the columns, each on a line: SMTX.
    Smtx,
    /// Text of GNU Octave.
    Octave,
    /// Entries below a size line, without a Matrix Market banner, perhaps below a line of words.
    NoBanner,
    /// 7-Zip, RAR, LZ4, LZMA or compress.
    Packed(&'static str),
}

impl Foreign {
    /// Kind of data that begin with these bytes.
    pub(super) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        binary(bytes).or_else(|| text(bytes))
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
            Self::UndirectedEdges => "a list of undirected edges (as of SNAP or KONECT)",
            Self::BipartiteEdges => "a list of edges of a bipartite graph (as of KONECT)",
            Self::EdgesBelowHeading => "a list of edges below a heading",
            Self::Metis => "a graph of METIS",
            Self::Dimacs => "a graph of DIMACS",
            Self::HypreIj => "an IJ matrix of hypre",
            Self::LibSvm => "a file of LIBSVM",
            Self::Csv => "a table separated by commas (CSV)",
            Self::Semicolons => "a table separated by semicolons",
            Self::Smtx => "a matrix in SMTX (offsets of rows and columns as text)",
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
    let comments = filled().filter(|line| line.starts_with(['#', '%']));
    match of_numbers(&entries.take(64).collect::<Vec<_>>()) {
        Some(Foreign::EdgeList) => Some(of_edges(comments)),
        other => other,
    }
}

/// Kind of a list of edges by its comments: KONECT begins with `% sym` or `% bip`, SNAP with `# Undirected graph`.
fn of_edges<'t>(comments: impl Iterator<Item = &'t str>) -> Foreign {
    for (at, comment) in comments.enumerate() {
        let words = comment.trim_start_matches(['#', '%']);
        let word = words.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
        match word.as_str() {
            "undirected" => return Foreign::UndirectedEdges,
            "sym" if at == 0 => return Foreign::UndirectedEdges,
            "bip" if at == 0 => return Foreign::BipartiteEdges,
            _ => {}
        }
    }
    Foreign::EdgeList
}

/// Returns whether lines are those of SMTX: rows, columns and non-zeros, then the offsets of all rows on a line.
fn is_smtx(first: &str, rest: &[&str]) -> bool {
    let size: Option<Vec<u64>> = first.split(',').map(|word| word.trim().parse().ok()).collect();
    let Some(&[rows, _, entries]) = size.as_deref() else { return false };
    let Some(line) = rest.first() else { return false };
    let offsets: Option<Vec<u64>> = line.split_whitespace().map(|word| word.parse().ok()).collect();
    let Some(mut offsets) = offsets else { return false };
    // Of a long line, which is cut off, the last number may be a part of one.
    if offsets.len() as u64 <= rows {
        offsets.pop();
    }
    offsets.first() == Some(&0)
        && offsets.len() as u64 - 1 <= rows
        && offsets.windows(2).all(|pair| pair[0] <= pair[1])
        && offsets.iter().all(|&offset| offset <= entries)
}

/// Returns whether lines are edges below a heading: words, then as many numbers on each line, two of which are vertices.
fn are_below_heading(first: &str, rest: &[&str]) -> bool {
    let is_number = |word: &str| word.parse::<f64>().is_ok();
    let width = first.split_whitespace().count();
    let is_edge = |line: &&str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.len() == width
            && words[..2].iter().all(|word| word.parse::<u64>().is_ok())
            && words[2..].iter().all(|word| is_number(word))
    };
    (2..=4).contains(&width)
        && !rest.is_empty()
        && !first.split_whitespace().any(is_number)
        && rest.iter().all(is_edge)
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
    // Fields of a table: numbers, from the second line on at the latest. Semicolons separate them if both lines have as many.
    let parts = |line: &str| line.split(';').count();
    let by_semicolons = parts(first) > 1 && rest.first().is_none_or(|line| parts(line) == parts(first));
    let (separator, table) = if by_semicolons { (';', Foreign::Semicolons) } else { (',', Foreign::Csv) };
    let fields = |line: &str| {
        line.split(separator).map(|field| field.trim().trim_matches('"').to_owned()).collect::<Vec<_>>()
    };
    let heading = fields(first);
    if is_smtx(first, rest) {
        return Some(Foreign::Smtx);
    }
    if heading.len() > 1 {
        let row = rest.first().map(|line| fields(line));
        let is_row = |row: &[String]| row.len() == heading.len() && row.iter().any(|field| is_number(field));
        return row.map_or(heading.iter().all(|field| is_number(field)), |row| is_row(&row)).then_some(table);
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
    if are_below_heading(first, rest) {
        // What begins with a size line is no list of edges.
        let below = of_numbers(rest).filter(|below| *below == Foreign::NoBanner);
        return below.or(Some(Foreign::EdgesBelowHeading));
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
            (b"% sym unweighted\n1 2\n1 3\n", Foreign::UndirectedEdges),
            (b"% asym unweighted\n1 2\n1 3\n", Foreign::EdgeList),
            (b"% bip weighted\n% 2 2 3\n1 2 0.5\n1 3 2\n", Foreign::BipartiteEdges),
            (b"# Undirected graph: a.txt\n# Nodes: 3\n0\t1\n0\t2\n", Foreign::UndirectedEdges),
            (b"src dst\n0 1\n0 2\n", Foreign::EdgesBelowHeading),
            (b"# a comment\ni\tj\tv\n0\t1\t2.5\n1\t1\t3\n", Foreign::EdgesBelowHeading),
            (b"0 1\n0 2\n3 1\n", Foreign::EdgeList),
            (b"0 1 0.5\n0 2 1.5\n", Foreign::EdgeList),
            (b"4 3\n2\n1 3\n2 4\n3\n", Foreign::Metis),
            (b"% a graph\n4 3 1\n2 7\n1 7 3 2\n2 2 4 1\n3 1\n", Foreign::Metis),
            (b"c roads\np sp 4 3\na 1 2 5\n", Foreign::Dimacs),
            (b"p edge 4 3\ne 1 2\n", Foreign::Dimacs),
            (b"0 3 0 3\n0 0 1.0\n1 1 2.5e0\n", Foreign::HypreIj),
            (b"1 3:0.5 7:1\n-1 2:1\n", Foreign::LibSvm),
            (b"row,col,value\n0,1,2.5\n", Foreign::Csv),
            (b"row;col;value\n0;1;2.5\n", Foreign::Semicolons),
            (b"0;1;2,5\n1;1;3\n", Foreign::Semicolons),
            (b"from,to;value\n0,1\n1,1\n", Foreign::Csv),
            (b"3, 4, 5\n0 2 3 5\n0 1 1 0 3\n", Foreign::Smtx),
            (b"3,4,0\n0 0 0 0\n\n", Foreign::Smtx),
            (b"3,4,5\n0,1,2\n", Foreign::Csv),
            (b"# Created by Octave 8.4\n# name: A\n", Foreign::Octave),
            (b"3 3 2\n1 1 4.0\n2 1 -1\n", Foreign::NoBanner),
            (b"i j v\n3 3 2\n1 1 4.0\n2 1 -1\n", Foreign::NoBanner),
            (b"i j v\n3 3 1\n1 1 4.0\n2 1 -1\n", Foreign::EdgesBelowHeading),
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
    fn recipes_keep_the_size_the_weights_and_both_triangles() {
        for (text, expected) in [
            ("p sp 6 1\na 1 2 5\n", "shape=(n, n)"),
            ("p edge 4 3\ne 1 2\n", "A + A.T"),
            ("% sym unweighted\n1 2\n1 3\n", "A + A.T"),
            ("0 3 0 3\n0 0 1.0\n1 1 2.5\n", "shape=(b.max() - a.min() + 1, d.max() - c.min() + 1)"),
            ("0;1;2.5\n1;1;3\n", "delimiter=';'"),
            ("3, 4, 5\n0 2 3 5\n0 1 1 0 3\n", "shape=(m, n)"),
            ("src dst\n0 1\n", "next(lines)"),
            ("i j v\n2 2 1\n1 1 4.0\n", "grep '^[[:space:]]*[-+.0-9%#]' A.txt"),
        ] {
            let format = Foreign::of_bytes(text.as_bytes()).unwrap();
            assert!(format.conversion().contains(expected), "{format}: {expected}");
        }
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
            b"a matrix of numbers\n1 1 2.0\n",
            b"src dst\n",
            b"src dst\n0.5 1\n",
            b"\x7fELF\x02",
        ] {
            assert_eq!(Foreign::of_bytes(bytes), None, "{}", String::from_utf8_lossy(bytes));
        }
    }
}
