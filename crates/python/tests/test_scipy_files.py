"""What scipy writes, by ``mmwrite`` and ``save_npz``, is read as scipy reads it: values, symmetry and products."""

import bz2
import gzip
import io
import itertools

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import sparsight

INTEGERS = [np.dtype(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
# longdouble is "<f16" in an .npz, of which 80 bits count on one kind of processor and 128 on another: refused, see below.
DTYPES = [np.dtype(bool), *INTEGERS, *map(np.dtype, (np.float32, np.float64, np.longdouble))]
LAYOUTS = ["csr", "csc", "coo", "bsr", "dia"]
SHAPES = ["general", "symmetric", "skew-symmetric"]
# Both of scipy's writers: the one in C++ behind scipy.io.mmwrite, and the one in Python, which writes other blanks and signs.
WRITERS = {"fast": scipy.io.mmwrite, "plain": scipy.io._mmio.mmwrite}
# Only the first of them takes the name of what both do by default.
AUTOMATIC = {"fast": [None, "AUTO"], "plain": [None]}


def dense(dtype, shape, rng):
    """12 x 12, half of it zeros, of numbers that every type has; the largest of them, 100, twice in each row of a COO below."""
    if shape == "skew-symmetric" and dtype.kind in "bu":
        pytest.skip("without a sign there is none")
    a = rng.integers(1, 100, (12, 12)) * (rng.random((12, 12)) < 0.5)
    if dtype.kind in "if":
        a *= rng.choice([-1, 1], a.shape)
    if shape != "general":
        a = np.tril(a, -1) + np.tril(a, -1).T * (-1 if shape == "skew-symmetric" else 1) + (shape == "symmetric") * np.diag(np.diag(a))
    return (a / 8 if dtype.kind == "f" else a).astype(dtype)


def written(writer, file, a, dtype, **told):
    """Whether scipy can: of bools it looks for a negative, or has no such field."""
    try:
        WRITERS[writer](file, a, **told)
    except TypeError:
        assert dtype.kind == "b"
        return False
    return True


def is_read_as(expected, file, rng, symmetry="general"):
    """``expected``: what scipy reads."""
    a = expected.toarray() if sp.issparse(expected) else np.asarray(expected)
    a, read = a.astype(np.float64), sparsight.read(file)
    assert read.dtype == np.float64 and read.shape == a.shape and read.has_canonical_format
    assert (read.toarray() == a).all(), f"{read.toarray()}\n{a}"
    if symmetry != "general":
        assert abs(read - (-1 if symmetry == "skew-symmetric" else 1) * read.T).sum() == 0
    x = rng.standard_normal(a.shape[1])
    y = sparsight.plan(file).prepare("cpu", candidate="csr-scalar/b256/f64") @ x
    assert abs(y - expected @ x).max(initial=0.0) <= 1e-13 * (abs(a) @ abs(x)).max(initial=1.0)
    single = sparsight.read(file, np.float32)
    assert single.dtype == np.float32 and (single.toarray() == a.astype(np.float32)).all()


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sparse_matrices_written_by_mmwrite_are_read(dtype, shape, writer, tmp_path, rng):
    a, file = dense(dtype, shape, rng), tmp_path / "a.mtx"
    told = {*AUTOMATIC[writer], "general", shape, *["hermitian"] * (shape == "symmetric")}
    for layout, made, symmetry in itertools.product(LAYOUTS, ("array", "matrix"), told):
        matrix = getattr(sp, f"coo_{made}")(a).asformat(layout)
        if written(writer, file, matrix, dtype, symmetry=symmetry):
            (*_, stored) = scipy.io.mminfo(file)
            is_read_as(scipy.io.mmread(file), file, rng, stored)
    assert file.is_file()


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dense_arrays_written_by_mmwrite_are_read(dtype, shape, writer, tmp_path, rng):
    a, file = dense(dtype, shape, rng), tmp_path / "a.mtx"
    for array, symmetry in itertools.product((a, np.asfortranarray(a), a.tolist()), (*AUTOMATIC[writer], "general", shape)):
        if written(writer, file, array, dtype, symmetry=symmetry):
            (_, _, _, layout, _, stored) = scipy.io.mminfo(file)
            assert layout == "array"
            is_read_as(scipy.io.mmread(file), file, rng, stored)
    assert file.is_file() or dtype.kind == "b"


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("field", ["pattern", "integer", "real"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_field_that_mmwrite_may_be_told_is_read(dtype, field, writer, tmp_path, rng):
    for shape, precision in itertools.product(("general", "symmetric"), (None, 3, 17)):
        a, file = sp.csr_array(dense(dtype, shape, rng)), tmp_path / "a.mtx"
        # General: else scipy looks for a negative bool.
        if written(writer, file, a, dtype, field=field, precision=precision, symmetry="general", comment="written\nby scipy"):
            (*_, told, stored) = scipy.io.mminfo(file)
            assert told == field or (told, field) == ("unsigned-integer", "integer")
            is_read_as(scipy.io.mmread(file), file, rng, stored)
            if field == "pattern":
                assert set(sparsight.read(file).data) == {1.0}
    assert file.is_file() or dtype.kind == "b"


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES[:-1], ids=str)
def test_files_written_by_save_npz_are_read(dtype, shape, compressed, tmp_path, rng):
    a, file = dense(dtype, shape, rng), tmp_path / "a.npz"
    for layout, made in itertools.product(LAYOUTS, ("array", "matrix")):
        sp.save_npz(file, getattr(sp, f"coo_{made}")(a).asformat(layout), compressed=compressed)
        is_read_as(sp.load_npz(file), file, rng, shape)


def test_a_longdouble_in_an_npz_is_refused_by_name(tmp_path):
    sp.save_npz(tmp_path / "a.npz", sp.eye_array(3, dtype=np.longdouble, format="csr"))
    with pytest.raises(sparsight.BadMatrix, match="f16"):
        sparsight.read(tmp_path / "a.npz")


@pytest.mark.parametrize("dtype", DTYPES[1:-1], ids=str)
def test_duplicates_in_a_file_are_added_up_without_overflow(dtype, tmp_path):
    matrix = sp.coo_array((np.array([100, 100, 1], dtype), ([0, 0, 1], [0, 0, 1])), shape=(2, 2))
    sp.save_npz(tmp_path / "a.npz", matrix)
    assert (matrix @ np.ones(2)).tolist() == [200, 1]
    # scipy itself adds up before it writes text.
    (tmp_path / "a.mtx").write_text("%%MatrixMarket matrix coordinate integer general\n2 2 3\n1 1 100\n1 1 100\n2 2 1\n")
    for name in ("a.npz", "a.mtx"):
        assert sparsight.read(tmp_path / name).toarray().tolist() == [[200, 0], [0, 1]]
        y = sparsight.plan(tmp_path / name).prepare("cpu") @ np.ones(2)
        assert y.tolist() == [200, 1]


def test_empty_matrices_of_scipy_are_read(tmp_path):
    for shape in [(3, 5), (1, 1)]:
        for layout in ("csr", "csc", "coo"):
            a = sp.coo_array(shape).asformat(layout)
            sp.save_npz(tmp_path / "a.npz", a)
            scipy.io.mmwrite(tmp_path / "a.mtx", a)
            for name in ("a.npz", "a.mtx"):
                read = sparsight.read(tmp_path / name)
                assert read.shape == shape and read.nnz == 0


class Trickle:
    """A stream of which nothing is known but ``read``, and that gives a byte or a thousand at a time."""

    def __init__(self, data, most):
        self.data, self.most = io.BytesIO(data), most

    def read(self, size):
        return self.data.read(min(size, self.most))


def test_open_files_and_streams_are_read_to_their_end(tmp_path, rng):
    a = sp.random_array((300, 200), density=0.2, rng=rng, format="csr")
    names = {"a.mtx": lambda data: data, "a.mtx.gz": gzip.compress, "a.mtx.bz2": bz2.compress}
    scipy.io.mmwrite(tmp_path / "a.mtx", a)
    text = (tmp_path / "a.mtx").read_bytes()
    for name, packed in names.items():
        (tmp_path / name).write_bytes(packed(text))
    sp.save_npz(tmp_path / "a.npz", a)
    expected = sparsight.read(tmp_path / "a.mtx").toarray()
    for name in [*names, "a.npz"]:
        data = (tmp_path / name).read_bytes()
        with open(tmp_path / name, "rb") as file:
            assert (sparsight.read(file).toarray() == expected).all() and file.read() == b""
        with open(tmp_path / name, "rb", buffering=0) as file:
            assert (sparsight.read(file).toarray() == expected).all()
        for stream in (io.BytesIO(data), io.BytesIO(b"before" + data), Trickle(data, 1), Trickle(data, 1000), bytearray_of(data)):
            if isinstance(stream, io.BytesIO) and stream.getvalue() != data:
                stream.seek(6)
            assert (sparsight.read(stream).toarray() == expected).all()
    with gzip.open(tmp_path / "a.mtx.gz") as unpacked:
        assert (sparsight.read(unpacked, np.float32).toarray() == expected.astype(np.float32)).all()
    with open(tmp_path / "a.mtx") as as_text:
        assert (sparsight.read(as_text).toarray() == expected).all()
    assert (sparsight.read(io.StringIO(text.decode())).toarray() == expected).all()


class bytearray_of:
    """What gives bytearrays."""

    def __init__(self, data):
        self.data = io.BytesIO(data)

    def read(self, size):
        return bytearray(self.data.read(size))


def test_exceptions_of_a_stream_pass_through_and_errors_name_it(tmp_path):
    class Broken:
        def __init__(self, after):
            self.after = after

        def read(self, size):
            if not self.after:
                raise ConnectionResetError("the other end is gone")
            return self.after.pop()

    begin = b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n"
    for after in ([], [begin], [begin[20:], begin[:20]]):
        with pytest.raises(ConnectionResetError, match="the other end is gone"):
            sparsight.read(Broken(after))
    with pytest.raises(sparsight.BadMatrix, match="<BytesIO>"):
        sparsight.read(io.BytesIO(begin))
    (tmp_path / "short.mtx").write_bytes(begin)
    with open(tmp_path / "short.mtx", "rb") as file, pytest.raises(sparsight.BadMatrix, match="short.mtx"):
        sparsight.read(file)
    with pytest.raises(sparsight.BadMatrix):
        sparsight.read(io.BytesIO())
