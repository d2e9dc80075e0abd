//! What converts a format that is not read, as lines to copy. Each gives the matrix that the file means: its size, its values, and both
//! triangles where the file holds one of them.

use super::Foreign;

const EDGE_LIST: &str = "convert it in Python (a third column is taken for values):\n    \
     t = numpy.loadtxt('A.txt', comments=('#', '%'), ndmin=2); i, j = t[:, :2].astype(int).T; first = min(i.min(), j.min())\n    \
     v = t[:, 2] if t.shape[1] > 2 else numpy.ones(len(t)); n = max(i.max(), j.max()) - first + 1\n    \
     scipy.sparse.save_npz('A.npz', scipy.sparse.coo_array((v, (i - first, j - first)), shape=(n, n)))";

const UNDIRECTED_EDGES: &str = "convert it in Python; each edge becomes an entry of both triangles (a third column is taken for values):\n    \
     t = numpy.loadtxt('A.txt', comments=('#', '%'), ndmin=2); i, j = t[:, :2].astype(int).T; first = min(i.min(), j.min())\n    \
     v = t[:, 2] if t.shape[1] > 2 else numpy.ones(len(t)); n = max(i.max(), j.max()) - first + 1\n    \
     A = scipy.sparse.csr_array((v, (i - first, j - first)), shape=(n, n))\n    \
     scipy.sparse.save_npz('A.npz', A + A.T - A.T.multiply(A != 0))";

const BIPARTITE_EDGES: &str = "convert it in Python, to a row for each vertex on the left and a column for each on the right:\n    \
     t = numpy.loadtxt('A.txt', comments='%', ndmin=2); v = t[:, 2] if t.shape[1] > 2 else numpy.ones(len(t))\n    \
     scipy.sparse.save_npz('A.npz', scipy.sparse.coo_array((v, tuple(t[:, :2].astype(int).T - 1))))";

const EDGES_BELOW_HEADING: &str = "convert it in Python, without its heading (a third column is taken for values):\n    \
     lines = (l for l in open('A.txt') if l.strip() and l[0] not in '#%'); next(lines)\n    \
     t = numpy.loadtxt(lines, ndmin=2); i, j = t[:, :2].astype(int).T; first = min(i.min(), j.min())\n    \
     v = t[:, 2] if t.shape[1] > 2 else numpy.ones(len(t)); n = max(i.max(), j.max()) - first + 1\n    \
     scipy.sparse.save_npz('A.npz', scipy.sparse.coo_array((v, (i - first, j - first)), shape=(n, n)))";

const METIS: &str = "convert it in Python, a line of neighbours for each vertex:\n    \
     lines = [l.split() for l in open('A.graph') if not l.startswith('%')]; head = lines[0]; n = int(head[0])\n    \
     sizes, weights, edges = map(int, (head[2:3] or ['0'])[0].zfill(3)); skip = sizes + weights * int((head[3:4] or ['1'])[0])\n    \
     t = [(v, int(l[k]) - 1, float(l[k + 1]) if edges else 1.0) for v, l in enumerate(lines[1:n + 1]) for k in range(skip, len(l), 1 + edges)]\n    \
     i, j, v = zip(*t); scipy.sparse.save_npz('A.npz', scipy.sparse.coo_array((v, (i, j)), shape=(n, n)))";

const DIMACS: &str = "convert it in Python, from its lines that begin with p, and with a (arcs) or e (edges, which go both ways):\n    \
     l = [x.split() + ['1'] for x in open('A.gr')]; n = next(int(x[2]) for x in l if x[0] == 'p')\n    \
     i, j, v = numpy.array([x[1:4] for x in l if x[0] in ('a', 'e')], dtype=float).T\n    \
     A = scipy.sparse.csr_array((v, (i.astype(int) - 1, j.astype(int) - 1)), shape=(n, n))\n    \
     scipy.sparse.save_npz('A.npz', A + A.T - A.T.multiply(A != 0) if any(x[0] == 'e' for x in l) else A)";

const HYPRE_IJ: &str = "convert it in Python, from all files of the matrix (A.IJ.00000, A.IJ.00001, ...):\n    \
     f = [open(p) for p in glob.glob('A.IJ.*')]; a, b, c, d = numpy.array([p.readline().split() for p in f], dtype=int).T\n    \
     i, j, v = numpy.loadtxt((l for p in f for l in p), unpack=True, ndmin=2); ij = i.astype(int) - a.min(), j.astype(int) - c.min()\n    \
     scipy.sparse.save_npz('A.npz', scipy.sparse.coo_array((v, ij), shape=(b.max() - a.min() + 1, d.max() - c.min() + 1)))";

const SMTX: &str = "convert it in Python; the file holds places alone, which become ones:\n    \
     f = open('A.smtx'); m, n, _ = map(int, f.readline().split(',')); p, j = (numpy.array(f.readline().split(), dtype=int) for _ in 'pj')\n    \
     scipy.sparse.save_npz('A.npz', scipy.sparse.csr_array((numpy.ones(len(j)), j, p), shape=(m, n)))";

const CSV: &str = "convert it in Python; of columns row, column, value (or row, column), counted from 0, with a heading or without:\n    \
     t = numpy.genfromtxt('A.csv', delimiter=',', ndmin=2); t = t[int(numpy.isnan(t[0, 0])):]\n    \
     v = t[:, 2] if t.shape[1] > 2 else numpy.ones(len(t))\n    \
     scipy.sparse.save_npz('A.npz', scipy.sparse.coo_array((v, tuple(t[:, :2].astype(int).T))))";

const SEMICOLONS: &str = "convert it in Python; of columns row, column, value (or row, column), counted from 0, with a heading or without; decimal commas become points:\n    \
     t = numpy.genfromtxt((l.replace(',', '.') for l in open('A.csv')), delimiter=';', ndmin=2)\n    \
     t = t[int(numpy.isnan(t[0, 0])):]; v = t[:, 2] if t.shape[1] > 2 else numpy.ones(len(t))\n    \
     scipy.sparse.save_npz('A.npz', scipy.sparse.coo_array((v, tuple(t[:, :2].astype(int).T))))";

impl Foreign {
    /// Lines of Python, or of a shell, that make a file that is read of one called `A`.
    pub(in crate::io) fn conversion(self) -> &'static str {
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
            Self::EdgeList => EDGE_LIST,
            Self::UndirectedEdges => UNDIRECTED_EDGES,
            Self::BipartiteEdges => BIPARTITE_EDGES,
            Self::EdgesBelowHeading => EDGES_BELOW_HEADING,
            Self::Metis => METIS,
            Self::Dimacs => DIMACS,
            Self::HypreIj => HYPRE_IJ,
            Self::Smtx => SMTX,
            Self::LibSvm => {
                "convert it in Python:\n    A, _ = sklearn.datasets.load_svmlight_file('A.svm')\n    \
                 scipy.sparse.save_npz('A.npz', A)"
            }
            Self::Csv => CSV,
            Self::Semicolons => SEMICOLONS,
            Self::Octave => {
                "in Octave: addpath mmio; mmwrite('A.mtx', A), or save('-v7', 'A.mat', 'A') and scipy.io.loadmat"
            }
            Self::NoBanner => {
                "put the banner in front, in place of a heading (pattern in place of real if there are no values):\n    \
                 (echo '%%MatrixMarket matrix coordinate real general'; grep '^[[:space:]]*[-+.0-9%#]' A.txt) > A.mtx"
            }
            Self::Packed(_) => "unpack it first; .gz, .xz, .bz2, .zst, .zip and .tar are read as they are",
        }
    }
}
