"""Wrong calls: each has an exception that says what is wrong, and a hint that says what to do. Without NVRTC: test_fake_gpu.py."""

import numpy as np
import pytest
import scipy.sparse as sp

import sparsight
from sparsight import BadMatrix, BadVector, Infeasible, NoGpu, NoProfile, SparsightError, _core, _vectors

A = sparsight.gallery("stencil2d,n=30")
X = np.ones(900)
ARRAYS = (A.indptr, A.indices, A.data, A.shape)


def with_arrays(indptr=A.indptr, indices=A.indices, data=A.data, shape=A.shape):
    return lambda: sparsight.advise((indptr, indices, data, shape))


def operator(**how):
    return sparsight.plan(A).prepare("cpu", **how)


def changed(array, at, to):
    array = array.copy()
    array[at] = to
    return array


def read_only():
    y = np.zeros(900)
    y.flags.writeable = False
    return y


def freed():
    one = operator()
    one.free()
    return one


def misaligned():
    """Numbers of 8 bytes that begin one byte behind where such may."""
    return np.zeros(8 * 900 + 1, np.uint8)[1:].view(np.float64)


class Numbers:
    """What can be read, and gives no bytes."""

    def read(self, size):
        return size


PARTS = np.arange(900) % 2


def for_h200(**how):
    return sparsight.plan(A, device="nvidia-h200", **how)


def on_two(**how):
    """Refused before anybody looks for a GPU."""
    return for_h200().prepare(devices=[0, 1], **how)


WRONG = {
    "a dense array": (lambda: sparsight.advise(np.eye(3)), BadMatrix, "dense", "csr_array"),
    "a list of lists": (lambda: sparsight.advise([[1, 2], [3, 4]]), BadMatrix, "no matrix in CSR", "indptr"),
    "a number": (lambda: sparsight.advise(7), BadMatrix, "no sparse matrix", "scipy"),
    "complex values": (lambda: sparsight.advise(A.astype(complex)), BadMatrix, "complex128", "real"),
    "one dimension": (lambda: sparsight.advise(sp.coo_array(np.ones(3))), BadMatrix, "1 dimensions", "reshape"),
    "a negative column": (with_arrays(indices=changed(A.indices, 5, -1)), BadMatrix, "column -1", "from 0"),
    "a column too far": (with_arrays(indices=changed(A.indices, -1, 900)), BadMatrix, "column 900", "from 0"),
    "columns that are no numbers": (with_arrays(indices=A.indices * np.nan), BadMatrix, "float64", "whole numbers"),
    "offsets too few": (with_arrays(indptr=A.indptr[:-1]), BadMatrix, "row_ptr must hold 901", "rows + 1"),
    "offsets that decrease": (with_arrays(indptr=changed(A.indptr, 3, 0)), BadMatrix, "decreases", "never decrease"),
    "values too few": (with_arrays(data=A.data[:-1]), BadMatrix, "4379 values", "each non-zero"),
    "values of two dimensions": (with_arrays(data=A.data[None]), BadMatrix, "2 dimensions", "data.ravel"),
    "columns beyond 32 bits": (with_arrays(shape=(900, 2**32)), BadMatrix, "4294967296 columns", "blocks"),
    "less than no rows": (with_arrays(shape=(-1, 900)), BadMatrix, "-1 rows", "from 0"),
    "a shape of three": (with_arrays(shape=(900, 900, 1)), BadMatrix, "no matrix in CSR", "rows, columns"),
    "no such file": (lambda: sparsight.read("absent.mtx"), BadMatrix, "absent.mtx", "os.getcwd"),
    "a file of another kind": (lambda: sparsight.advise("a.txt"), BadMatrix, "a.txt", "os.getcwd"),
    "half precision": (lambda: sparsight.plan(A, dtype=np.float16), BadMatrix, "float16", "float32"),
    "no such generator": (lambda: sparsight.gallery("nonsense"), BadMatrix, "nonsense", "the gallery has"),
    "no profile of AMD": (lambda: sparsight.advise(A, device="hip:0"), NoProfile, "hip:0 has no profile", "nvidia-h200"),
    "no such profile": (lambda: sparsight.advise(A, device="nvidia-x1"), NoProfile, "nvidia-x1", "cuda:N"),
    "less than no products": (lambda: sparsight.advise(A, products=-1), SparsightError, "-1 products", "whole"),
    "half a product": (lambda: sparsight.plan(A, products=1.5), SparsightError, "1.5 products", "whole"),
    "endless products": (lambda: sparsight.advise(A, products=float("inf")), SparsightError, "inf products", "whole"),
    "products in words": (lambda: sparsight.advise(A, products="1000"), SparsightError, "'1000' products", "whole"),
    "rows beyond 64 bits": (with_arrays(shape=(2**64, 900)), BadMatrix, "rows", "two whole numbers"),
    "ragged indices": (with_arrays(indices=[[1], [2, 3]]), BadMatrix, "indices", "one dimension"),
    "a list for a type": (lambda: sparsight.Matrix(A, ["f4"]), BadMatrix, "value type", "float32"),
    "no such model": (lambda: sparsight.advise(A, model="magic"), NoProfile, "magic", "advice.best.model"),
    "values in f64": (lambda: sparsight.advise(A, values="f64"), SparsightError, "values='f64' is not f32", 'values="f32"'),
    "values in half precision": (lambda: sparsight.plan(A, values=np.float16), BadMatrix, "float16", "float32"),
    "f32 throughout": (
        lambda: sparsight.plan(A, dtype="f32", values="f32", device="nvidia-h200"),
        SparsightError,
        "f32 throughout",
        "leave values=",
    ),
    "f32 on several GPUs": (lambda: for_h200(values="f32").on_gpus([2]), SparsightError, "not dealt out", "without values="),
    "f32 for several GPUs": (
        lambda: for_h200(values="f32").prepare(devices=[0, 1]),
        SparsightError,
        "not dealt out",
        "without values=",
    ),
    "f32 on a processor": (
        lambda: for_h200(values="f32").prepare("cpu"),
        SparsightError,
        "are for GPUs",
        "plan without values=",
    ),
    "a profile to be calibrated": (lambda: sparsight.calibrate("nvidia-h200"), NoGpu, "no device", "cuda:0"),
    "a GPU that is not here": (lambda: sparsight.plan(A).prepare("cuda:99"), NoGpu, "CUDA", "cpu"),
    "no such device": (lambda: sparsight.plan(A).prepare("tpu"), NoGpu, "tpu", "cuda"),
    "nothing to try": (lambda: operator(try_=0), SparsightError, "try_=0", "at least 1"),
    "tries of a word": (lambda: operator(try_="many"), SparsightError, "try_='many'", "auto"),
    "tries without an end": (lambda: operator(try_="auto"), SparsightError, "products to come", "products=100_000"),
    "a name and auto": (lambda: operator(candidate="ell/b256/f64", try_="auto"), SparsightError, "several", "one of"),
    "a name and tries": (lambda: operator(candidate="ell/b256/f64", try_=2), SparsightError, "several", "one of"),
    "no such candidate": (lambda: operator(candidate="ell/b7/f64"), Infeasible, "ell/b7/f64", "advice"),
    "x of another type": (lambda: operator() @ X.astype(np.float32), BadVector, "x holds float32", "convert"),
    "x too short": (lambda: operator() @ X[1:], BadVector, r"\(899,\)", "each column"),
    "x with gaps": (lambda: operator() @ np.ones(1800)[::2], BadVector, "contiguous", "copy"),
    "x between addresses": (lambda: operator() @ misaligned(), BadVector, "no multiple of the 8 bytes", "copy"),
    "out between addresses": (lambda: operator().matvec(X, out=misaligned()), BadVector, "out begins at an address", "copy"),
    "new values between addresses": (
        lambda: operator(updates=True).update_values(np.zeros(8 * A.nnz + 1, np.uint8)[1:].view(np.float64)),
        BadVector,
        "values begins at an address",
        "copy",
    ),
    "a masked array for x": (lambda: operator() @ np.ma.masked_less(X, 2), BadVector, "x has a mask", "without its mask"),
    "a masked column for x": (lambda: operator() @ np.ma.array(X[:, None]), BadVector, "x has a mask", "without its mask"),
    "masked columns for x": (lambda: operator() @ np.ma.ones((900, 2)), BadVector, "x has a mask", "without its mask"),
    "a masked array for out": (lambda: operator().matvec(X, out=np.ma.zeros(900)), BadVector, "out has a mask", "without its mask"),
    "masked new values": (
        lambda: operator(updates=True).update_values(np.ma.array(A.data)),
        BadVector,
        "values has a mask",
        "without its mask",
    ),
    "masked values": (with_arrays(data=np.ma.array(A.data)), BadMatrix, "values has a mask", "without its mask"),
    "a row of numpy.matrix for x": (lambda: operator() @ np.matrix(X), BadVector, r"\(1,\)", "op @ X"),
    "x without a dimension": (lambda: operator() @ np.array(1.0), BadVector, r"\(\)", "each column"),
    "a number for a file": (lambda: sparsight.read(7), BadMatrix, "int is no file", "open"),
    "a file that gives no bytes": (lambda: sparsight.read(Numbers()), BadMatrix, "gave <class 'int'>, and no bytes", '"rb"'),
    "a list for x": (lambda: operator() @ [1.0] * 900, BadVector, "list", "numpy"),
    "x of three dimensions": (lambda: operator() @ np.ones((900, 1, 1)), BadVector, "shape", "reshape"),
    "too few rows of columns": (lambda: operator() @ np.ones((3, 2)), BadVector, "shape", "each column"),
    "out too long": (lambda: operator().matvec(X, out=np.ones(901)), BadVector, "out", "each row"),
    "out of another type": (lambda: operator().matvec(X, out=np.ones(900, np.float32)), BadVector, "out holds", "convert"),
    "out that is x": (lambda: operator().matvec(X, out=X), BadVector, "shares memory", "its own"),
    "out that is read-only": (lambda: operator().matvec(X, out=read_only()), BadVector, "read-only", "a copy"),
    "a list for out": (lambda: operator().matvec(X, out=[0.0] * 900), BadVector, "list", "ndarray"),
    "beta without out": (lambda: operator().matvec(X, beta=1.0), BadVector, "beta", "out="),
    "a stream for the host": (lambda: operator().matvec(X, stream=0), BadVector, "vectors on the host", "leave stream="),
    "a word for a stream": (lambda: operator().matvec(X, stream="fast"), SparsightError, "str is no stream", "handle"),
    "a flag for a stream": (lambda: operator().matvec(X, stream=True), SparsightError, "bool is no stream", "handle"),
    "a handle below 0": (lambda: operator().matvec(X, stream=-1), SparsightError, "-1 is no handle", "CuPy or torch"),
    "no columns": (lambda: operator() @ np.ones((900, 0)), BadVector, "no columns", "column"),
    "new values for A^T": (
        lambda: sparsight.plan(A, transpose=True).prepare("cpu", updates=True).T.update_values(A.data),
        SparsightError,
        "operator of A",
        "op.update_values",
    ),
    "A^T of a freed operator": (lambda: freed().T, SparsightError, "freed", "prepare"),
    "new values unannounced": (
        lambda: operator(candidate="ell/b256/f64").update_values(A.data),
        SparsightError,
        "where they stand",
        "updates=True",
    ),
    "too few new values": (lambda: operator(updates=True).update_values(A.data[1:]), BadVector, "values has", "A.data"),
    "new values of another order": (
        lambda: sparsight.plan(A.tocoo()).prepare("cpu", updates=True).update_values(A.data),
        BadMatrix,
        "format changed",
        "sum_duplicates",
    ),
    "no number of GPUs": (lambda: for_h200().on_gpus([0]), SparsightError, "0 GPUs", "whole numbers"),
    "half a GPU": (lambda: for_h200().on_gpus([1.5]), SparsightError, "1.5 GPUs", "whole numbers"),
    "GPUs in words": (lambda: for_h200().on_gpus("2"), SparsightError, "'2' GPUs", "whole numbers"),
    "more GPUs than there are": (lambda: for_h200().on_gpus([8_193]), SparsightError, "8193 GPUs", "8192"),
    "links that are no path": (lambda: for_h200().on_gpus([2], links={}), SparsightError, "links is a dict", "path"),
    "links in no file": (lambda: for_h200().on_gpus([2], links="absent.toml"), NoProfile, "absent.toml", "os.getcwd"),
    "parts for other numbers": (lambda: for_h200().on_gpus([2, 3], parts=PARTS), SparsightError, "2 parts, and 3 GPUs", "on_gpus"),
    "too few parts": (lambda: for_h200().on_gpus([2], parts=PARTS[1:]), BadVector, "899 numbers", "each row"),
    "parts with a sign": (lambda: for_h200().on_gpus([2], parts=-PARTS), BadVector, "row 1 was given part -1", "from 0 on"),
    "parts that are no numbers": (lambda: for_h200().on_gpus([2], parts=PARTS * 1.0), BadVector, "float64", "whole number"),
    "ragged parts": (lambda: for_h200().on_gpus([2], parts=[[0], [1, 2]]), BadVector, "parts", "whole number"),
    "a GPU twice": (lambda: for_h200().prepare(devices=["cuda:0", 0]), SparsightError, "cuda:0 is named twice", "each GPU once"),
    "no GPUs": (lambda: for_h200().prepare(devices=[]), SparsightError, "no devices", "[0, 1]"),
    "a name for several": (lambda: for_h200().prepare(devices="cuda:0"), SparsightError, "no list", "[0, 1]"),
    "a number for several": (lambda: for_h200().prepare(devices=2), SparsightError, "no list", "[0, 1]"),
    "a processor among GPUs": (lambda: for_h200().prepare(devices=["cpu", 0]), SparsightError, "'cpu' is no GPU", "cuda:1"),
    "a GPU before the first": (lambda: for_h200().prepare(devices=[0, -1]), SparsightError, "-1 is no GPU", "cuda:1"),
    "a device and several": (lambda: for_h200().prepare("cuda:0", devices=[0, 1]), SparsightError, "several of them", "one of"),
    "tries on several": (lambda: on_two(try_=2), SparsightError, "no try_", "one GPU"),
    "a candidate on several": (lambda: on_two(candidate="ell/b256/f64"), SparsightError, "candidate", "one GPU"),
    "new values on several": (lambda: on_two(updates=True), SparsightError, "updates", "one GPU"),
    "a pair on several": (
        lambda: for_h200(transpose=True).prepare(devices=[0, 1]),
        SparsightError,
        "not dealt out",
        "A.T.tocsr",
    ),
    "a part without its GPU": (lambda: on_two(parts=PARTS + 1), BadVector, "given part 2, there are 0 to 1", "from 0 on"),
    "a part of one GPU": (lambda: for_h200().prepare(devices=[0], parts=PARTS), BadVector, "given part 1", "from 0 on"),
    "parts of no devices": (lambda: for_h200().prepare("cpu", parts=PARTS), SparsightError, "without devices", "devices="),
    "links of no devices": (lambda: for_h200().prepare("cpu", links="a.toml"), SparsightError, "without devices", "devices="),
    "a freed operator": (lambda: freed() @ X, SparsightError, "freed", "prepare"),
}


@pytest.mark.parametrize("what", WRONG)
def test_it_says_what_is_wrong_and_what_to_do(what):
    call, kind, words, hint = WRONG[what]
    with pytest.raises(kind, match=words) as raised:
        call()
    assert isinstance(raised.value, SparsightError), "nothing but our own errors"
    assert hint in (raised.value.hint or ""), raised.value.hint


def test_there_are_as_many_as_promised():
    assert len(WRONG) >= 30


class Described:
    """What says of itself that it lies on a GPU, with one thing that is not as it has to be."""

    def __init__(self, **changed):
        self.__cuda_array_interface__ = {
            **{"shape": (900,), "typestr": "<f8", "data": (1 << 40, False), "version": 3, "strides": None},
            **changed,
        }


class OnGpu:
    """As much of an operator of a GPU as vectors are held to."""

    _index, dtype, shape, nnz, device = 0, np.dtype(np.float64), (900, 900), A.nnz, "cuda:0"

    def __init__(self):
        self.launched = []

    def _multiply_on_device(self, *what):
        self.launched.append(what)


INTERFACES = {
    "no description": (Described(typestr=None, shape=None), "describes no array", "typestr"),
    "no type": (Described(typestr="a word"), "describes no array", "typestr"),
    "no address": (Described(data=None), "describes no array", "typestr"),
    "an address in words": (Described(data=("here", False)), "describes no array", "typestr"),
    "address 0": (Described(data=(0, False)), "begins at address 0", "freed"),
    "another type": (Described(typestr="<f4"), "float32", "convert"),
    "another order of bytes": (Described(typestr=">f8"), ">f8", "convert"),
    "another shape": (Described(shape=(900, 1)), r"\(900, 1\)", "each"),
    "gaps": (Described(strides=(16,)), "contiguous", "copy"),
    "a mask": (Described(mask=np.ones(900, bool)), "mask", "all entries"),
    "another GPU": (Described(data=(1 << 41, False)), "on cuda:1, the operator on cuda:0", "bring it to cuda:0"),
}


@pytest.mark.parametrize("which", ["x", "out"])
@pytest.mark.parametrize("what", INTERFACES)
def test_wrong_array_descriptions_are_refused_before_a_launch(what, which, monkeypatch):
    monkeypatch.setattr(_vectors, "gpu_of", lambda address: address >> 41)
    wrong, words, hint = INTERFACES[what]
    on_gpu, right = OnGpu(), Described()
    x, out = (wrong, right) if which == "x" else (right, wrong)
    with pytest.raises(BadVector, match=words) as raised:
        _vectors.kind_of(x).multiply(on_gpu, x, out, 1.0, 0.0, None)
    assert hint in (raised.value.hint or ""), raised.value.hint
    assert not on_gpu.launched


def test_described_arrays_are_multiplied_in_their_stream(monkeypatch):
    on_gpu = OnGpu()
    for known in (0, None):
        monkeypatch.setattr(_vectors, "gpu_of", lambda address, known=known: known)
        x, out = Described(strides=(8,), stream=7), Described(data=(1 << 42, False), stream=7)
        assert _vectors.kind_of(x).multiply(on_gpu, x, out, 1.0, 0.0, None) is out
    assert on_gpu.launched == 2 * [(1 << 40, 900, 1 << 42, 900, 1.0, 0.0, 7)]
    for x, out, words in [
        (x, Described(stream=8), "different streams"),
        (x, Described(data=(1 << 42, True), stream=7), "read-only"),
        (x, None, "no out"),
    ]:
        with pytest.raises(BadVector, match=words):
            _vectors.kind_of(x).multiply(on_gpu, x, out, 1.0, 0.0, None)
    assert len(on_gpu.launched) == 2


def test_an_address_that_no_driver_gave_has_no_gpu():
    assert _core.gpu_of(0) is None and _core.gpu_of(np.ones(3).ctypes.data) is None
