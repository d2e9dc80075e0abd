"""Every kind of matrix is the same matrix, and what is read is what scipy reads."""

import gzip
import io
import warnings
import zipfile

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import sparsight


def dense(matrix):
    return matrix.to_scipy().toarray()


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
@pytest.mark.parametrize("made", [sp.csr_array, sp.csr_matrix])
def test_every_format_of_scipy_is_taken(kind, made, grid):
    matrix = sparsight.Matrix(made(grid).asformat(kind))
    assert (dense(matrix) == grid.toarray()).all()


@pytest.mark.parametrize("index", [np.int32, np.int64, np.uint32, np.int16])
@pytest.mark.parametrize("value", [np.float32, np.float64, np.int8, np.bool_])
def test_every_type_of_arrays_is_taken(index, value):
    indptr, indices, data = np.array([0, 2, 3]), np.array([0, 2, 1]), np.array([1, 0, 1])
    matrix = sparsight.Matrix((indptr.astype(index), indices.astype(index), data.astype(value), (2, 3)))
    assert matrix.dtype == (np.float32 if value == np.float32 else np.float64)
    assert dense(matrix).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert matrix.nnz == 3, "a stored zero stays"


def test_arrays_between_addresses_are_taken():
    def moved(array):
        made = np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype)
        made[...] = array
        return made

    arrays = (np.array([0, 2, 3]), np.array([0, 2, 1], np.int32), np.array([1.0, 0.0, 1.0]))
    assert dense(sparsight.Matrix((*map(moved, arrays), (2, 3)))).tolist() == [[1, 0, 0], [0, 1, 0]]


def test_columns_are_sorted_and_duplicates_added_up():
    arrays = (np.array([0, 3, 3]), np.array([2, 0, 2]), np.array([1.0, 2.0, 4.0]), (2, 3))
    matrix = sparsight.Matrix(arrays)
    assert dense(matrix).tolist() == [[2, 0, 5], [0, 0, 0]]
    with pytest.raises(sparsight.BadMatrix, match="do not stand as they were given"):
        sparsight.plan(matrix).prepare("cpu", updates=True).update_values(np.zeros(2))


def test_the_arguments_are_not_changed(grid):
    unsorted = sp.csr_array((np.array([1.0, 2.0]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    sparsight.advise(unsorted)
    assert unsorted.indices.tolist() == [1, 0]


def test_without_rows_or_entries():
    for shape in [(0, 0), (0, 5), (5, 0), (4, 4)]:
        matrix = sparsight.Matrix(sp.csr_array(shape))
        assert (matrix.shape, matrix.nnz) == (shape, 0)
        operator = sparsight.plan(matrix).prepare("cpu")
        assert (operator @ np.ones(shape[1])).tolist() == [0.0] * shape[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_files_are_read_as_scipy_reads_them(dtype, tmp_path, rng):
    a = sp.random_array((70, 50), density=0.1, rng=rng, format="csr")
    scipy.io.mmwrite(tmp_path / "a.mtx", a)
    (tmp_path / "a.mtx.gz").write_bytes(gzip.compress((tmp_path / "a.mtx").read_bytes()))
    sp.save_npz(tmp_path / "a.npz", a)
    expected = scipy.io.mmread(tmp_path / "a.mtx").tocsr().astype(dtype)
    for name in ["a.mtx", "a.mtx.gz", "a.npz"]:
        read = sparsight.read(tmp_path / name, dtype)
        assert read.dtype == dtype and read.has_canonical_format
        assert abs(read - expected).max() < 1e-6
        assert len(sparsight.advise(str(tmp_path / name))) > 100


def test_values_are_those_of_the_file_and_of_a_pattern_ones(tmp_path):
    (tmp_path / "p.mtx").write_text("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n1 1\n3 2\n")
    ones = sp.csr_array(np.array([[1, 0, 0], [0, 0, 1], [0, 1, 0]]))
    for dtype in (np.int64, np.int8, bool):
        sp.save_npz(tmp_path / f"{np.dtype(dtype)}.npz", ones.astype(dtype))
    for file in tmp_path.iterdir():
        read = sparsight.read(file)
        assert read.toarray().tolist() == ones.toarray().tolist(), file
        assert abs(read - read.T).sum() == 0
        y = sparsight.plan(str(file), transpose=True).prepare("cpu") @ np.array([1.0, 2.0, 3.0])
        assert y.tolist() == [1, 3, 2]
        assert abs(sparsight.Matrix(file).to_scipy() - ones).sum() == 0


def test_skipped_and_assumed_input_is_a_warning(tmp_path):
    text = "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 3.5\n"
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("set/A.mtx", text)
        archive.writestr("set/rhs.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n2\n")
    with pytest.warns(UserWarning, match=r"set/A.mtx is read, passed over: set/rhs.mtx \(a vector\)"):
        assert sparsight.read(tmp_path / "a.zip").toarray().tolist() == [[0, 3.5], [0, 0]]
    with pytest.warns(UserWarning, match="the words behind the banner are ignored"):
        sparsight.read(io.BytesIO(text.replace("general", "general by hand").encode()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sparsight.read(io.BytesIO(text.encode()))


def test_a_known_format_is_named_with_what_converts_it(tmp_path):
    (tmp_path / "edges.txt").write_text("# Nodes: 3\n0\t1\n1\t2\n")
    with pytest.raises(sparsight.BadMatrix, match="a list of edges") as raised:
        sparsight.read(tmp_path / "edges.txt")
    assert "scipy.sparse.save_npz" in str(raised.value)


SMALL = [np.dtype(name) for name in ("bool", "int8", "uint8", "int16", "uint16", "float16", "int32", "uint32", "int64", "uint64")]


def most(dtype):
    """A number that the type holds, and not twice of it; a power of 2, which float64 holds."""
    if dtype.kind in "bf":
        return 1 if dtype.kind == "b" else 2**15
    return 2 ** (8 * dtype.itemsize - (1 if dtype.kind == "u" else 2))


@pytest.mark.parametrize("dtype", [*SMALL, *map(np.dtype, (np.float32, np.float64, np.longdouble))], ids=str)
def test_duplicates_are_added_up_in_the_type_of_the_values_to_come(dtype):
    value = 100 if dtype.kind == "f" and dtype.itemsize > 2 else most(dtype)
    data = np.array([value, value, 1], dtype)
    row, column = np.array([0, 0, 1]), np.array([0, 0, 1])
    starts = np.array([0, 2, 3])
    given = {
        "coo_array": lambda: sp.coo_array((data, (row, column)), shape=(2, 2)),
        "coo_matrix": lambda: sp.coo_matrix((data, (row, column)), shape=(2, 2)),
        "csr": lambda: sp.csr_array((data, column, starts), shape=(2, 2)),
        "csc": lambda: sp.csc_array((data, row, starts), shape=(2, 2)),
        "bsr": lambda: sp.bsr_array((data.reshape(3, 1, 1), column, starts), shape=(2, 2)),
        "tuple": lambda: (starts, column, data, (2, 2)),
    }
    for kind, made in given.items():
        try:
            a = made()
        except (TypeError, ValueError):
            assert dtype == np.float16, "of all types scipy has no matrices of this one"
            continue
        operator = sparsight.plan(a).prepare("cpu")
        product = operator @ np.ones(2, operator.dtype)
        assert product.tolist() == [2 * int(value), 1], kind
        if kind != "tuple" and dtype != np.float16:
            assert (product == a @ np.ones(2)).all(), kind
        single = sparsight.Matrix(a, np.float32)
        assert single.to_scipy().toarray().tolist() == [[np.float32(2 * int(value)), 0], [0, 1]], kind
        # What was given is as it was.
        assert data.dtype == dtype and data[0] == value


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_every_small_type_is_taken_in_every_format(dtype, kind):
    a = np.array([[1, 0, 1], [0, 1, 0]]).astype(dtype)
    try:
        given = sp.csr_array(a).asformat(kind)
    except (TypeError, ValueError):
        assert dtype == np.float16
        return
    assert (dense(sparsight.Matrix(given)) == a).all()


def test_a_matrix_describes_itself(grid):
    matrix = sparsight.Matrix(grid)
    assert repr(matrix) == "<sparsight.Matrix 900 x 900, 4,380 non-zeros, 4.9 a row (3 to 5), float64>"
    assert "900 &times; 900" in matrix._repr_html_()
    assert matrix.astype("f32").dtype == np.float32 and sparsight.Matrix(grid, "float32").dtype == np.float32
