"""A CSR that lies on a GPU: its pattern is looked at, its values stay. On the host with what only looks like CuPy, then on a GPU."""

import sys
import types

import numpy as np
import pytest
import scipy.sparse as sp

import sparsight
from conftest import near
from sparsight import _core, _resident


class Device:
    def __init__(self, number):
        self.id, self.waited = number, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def synchronize(self):
        self.waited += 1


class Array:
    """An array of numpy that says that it lies on a GPU, and how often it was brought to the host."""

    def __init__(self, array, device):
        self.array, self.device, self.brought = array, device, 0
        self.data = types.SimpleNamespace(ptr=array.ctypes.data, device_id=device.id)

    dtype, ndim, shape = (property(lambda self, name=name: getattr(self.array, name)) for name in ("dtype", "ndim", "shape"))
    flags = property(lambda self: self.array.flags)

    def __len__(self):
        return len(self.array)

    def astype(self, dtype, copy=True):
        return Array(self.array.astype(dtype, copy=copy), self.device)

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")


class Csr:
    """As ``cupyx.scipy.sparse.csr_matrix``."""

    format = "csr"

    def __init__(self, matrix, device, index=np.int32):
        arrays = (matrix.indptr.astype(index), matrix.indices.astype(index), matrix.data.copy())
        self.indptr, self.indices, self.data = (Array(one, device) for one in arrays)
        self.shape = matrix.shape

    def tocsr(self):
        return self

    def get(self):
        self.data.brought += 1
        return sp.csr_matrix((self.data.array, self.indices.array, self.indptr.array), self.shape)


Csr.__module__ = "cupyx.scipy.sparse"


@pytest.fixture
def device(monkeypatch):
    """A GPU that no machine has, and a library that looks like CuPy."""

    def asnumpy(array):
        array.brought += 1
        return array.array.copy()

    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(ndarray=Array, asnumpy=asnumpy))
    return Device(97)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_only_the_pattern_is_brought_to_the_host_and_after_what_is_queued(index, device, grid):
    given = Csr(grid, device, index)
    advice = sparsight.advise(given)
    assert [one.id for one in advice] == [one.id for one in sparsight.advise(grid)]
    assert (given.indptr.brought, given.indices.brought, given.data.brought) == (1, 1, 0)
    plan = sparsight.plan(given)
    assert (given.indptr.brought, given.indices.brought, given.data.brought, device.waited) == (2, 2, 0, 2)
    assert plan.candidate.id == sparsight.plan(grid).candidate.id


def test_values_are_brought_when_they_are_needed_elsewhere(device, grid):
    given, x = Csr(grid, device), np.arange(900.0)
    plan = sparsight.plan(given, products=1000, transpose=True)
    assert given.data.brought == 0
    given.data.array *= 2
    pair = plan.prepare("cpu", updates=True)
    assert np.allclose(pair @ x, 2 * (grid @ x)) and np.allclose(pair.T @ x, 2 * (grid.T @ x))
    pair.update_values(grid.data)
    assert np.allclose(pair @ x, grid @ x) and np.allclose(pair.T @ x, grid.T @ x)
    assert np.allclose(plan.prepare("cpu", try_=2) @ x, 2 * (grid @ x))
    assert abs(sparsight.Matrix(given).to_scipy() - 2 * grid).max() == 0


def test_an_unplanned_transpose_is_refused_if_the_values_are_gone(device, grid):
    given, x = Csr(grid, device), np.arange(900.0)
    plan = sparsight.plan(given)
    first, changed, updated, last = (plan.prepare("cpu", updates=True) for _ in range(4))
    with pytest.warns(UserWarning, match="not planned"):
        assert np.allclose(first.T @ x, grid.T @ x)
    given.data.array[::7] += 0.01
    with pytest.raises(sparsight.SparsightError, match="have changed since") as refused:
        changed.T
    assert "transpose=True" in refused.value.hint
    updated.update_values(3 * grid.data)
    del plan
    with pytest.raises(sparsight.SparsightError, match="is gone") as refused:
        last.T
    assert "transpose=True" in refused.value.hint
    with pytest.warns(UserWarning, match="not planned"):
        assert np.allclose(updated.T @ x, 3 * (grid.T @ x))


def test_another_value_type_is_asked_for(device, grid):
    given = Csr(grid, device)
    for matrix in (sparsight.Matrix(given, np.float32), sparsight.Matrix(given).astype("f32")):
        assert matrix.dtype == np.float32 and given.data.brought == 0
        assert (sparsight.plan(matrix).prepare("cpu") @ np.ones(900, np.float32)).dtype == np.float32
        assert abs(matrix.to_scipy() - grid.astype(np.float32)).max() == 0
        given.data.brought = 0


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_addresses_are_passed_on_for_arrays_on_the_operators_device(index, device, grid, monkeypatch):
    given, told = Csr(grid, device, index), []
    plan = sparsight.plan(given)

    def instead(matrix, advice, where, candidate, updates, *arrays):
        told.append((where, candidate, updates, arrays))
        raise sparsight.NoGpu("there is none")

    monkeypatch.setattr(_core, "prepare_resident", instead)
    with pytest.raises(sparsight.NoGpu, match="there is none"):
        plan.prepare("cuda:97", updates=True)
    bits = 8 * np.dtype(index).itemsize
    arrays = (given.indptr.data.ptr, 901, bits), (given.indices.data.ptr, grid.nnz, bits), (given.data.data.ptr, grid.nnz)
    assert told == [("cuda:97", None, True, arrays)] and given.data.brought == 0
    # Whatever else is asked for takes the values over the host.
    for how in ({"device": "cuda:98"}, {"device": "cuda:97", "try_": 2}):
        with pytest.raises(sparsight.NoGpu):
            plan.prepare(**how)
    assert len(told) == 1 and given.data.brought == 2


def misaligned(array):
    """The same numbers, at addresses between those where they may begin."""
    moved = np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype)
    moved[...] = array
    return moved


def test_unsuitable_device_arrays_are_copied_over_the_host(device, grid):
    x = np.ones(900)
    turned = grid.copy()
    turned.indices, turned.data = turned.indices.copy(), turned.data.copy()
    turned.indices[:3], turned.data[:3] = turned.indices[:3][::-1].copy(), turned.data[:3][::-1].copy()
    turned.has_canonical_format = False
    given = Csr(turned, device)
    assert np.allclose(sparsight.plan(given).prepare("cpu") @ x, grid @ x) and given.data.brought == 1, "unsorted"
    arrays = [Array(one, device) for one in (grid.indptr, grid.indices, grid.data)]
    far = Array(grid.data, Device(98))
    for parts, is_left in [
        (arrays, True),
        ((*arrays[:2], far), False),
        ((Array(grid.indptr.astype(np.int16), device), *arrays[1:]), False),
        ((*arrays[:2], Array(grid.data.astype(np.float16), device)), False),
        ((*arrays[:2], grid.data), False),
        ((*arrays[:2], Array(np.repeat(grid.data, 2)[::2], device)), False),
        ((*arrays[:2], Array(misaligned(grid.data), device)), False),
    ]:
        matrix = sparsight.Matrix((*parts, grid.shape))
        assert (matrix._on_gpu is not None) == is_left
        assert np.allclose(sparsight.plan(matrix).prepare("cpu") @ x, grid @ x, rtol=1e-3)
    for shape in [(0, 5), (5, 0)]:
        matrix = sparsight.Matrix(Csr(sp.csr_matrix(shape), device))
        assert matrix.shape == shape and matrix._on_gpu is None


def test_faults_are_named_in_the_error(device, grid):
    arrays = [Array(one, device) for one in (grid.indptr, grid.indices, grid.data)]
    outside = grid.indices.copy()
    outside[7] = 900
    for parts, words in [
        ((arrays[0], Array(outside, device), arrays[2]), "column 900"),
        ((*arrays[:2], Array(grid.data[1:].copy(), device)), "4379 values"),
        ((Array(grid.indptr[:-1].copy(), device), *arrays[1:]), "row_ptr must hold 901"),
        ((*arrays[:2], Array(grid.data.astype(complex), device)), "complex128"),
    ]:
        with pytest.raises(sparsight.BadMatrix, match=words):
            sparsight.plan((*parts, grid.shape))


def test_addresses_that_cannot_be_are_refused(grid):
    matrix, ok = sparsight.Matrix(grid), (1 << 40, 901, 32)
    advice = sparsight.plan(matrix).advice._core
    with pytest.raises(sparsight.NoGpu):
        _core.prepare_resident(matrix._core, advice, "cuda:99", None, False, ok, (1 << 40, grid.nnz, 32), (1 << 40, grid.nnz))
    for indptr, indices, values, words in [
        ((1 << 40 | 2, 901, 32), ok, (8, 8), "indptr begins at an address that is no multiple of the 4 bytes"),
        (ok, ((1 << 40) + 4, grid.nnz, 64), (8, 8), "indices begins at an address that is no multiple of the 8 bytes"),
        (ok, (1 << 40, grid.nnz, 16), (8, 8), "indices of 16 bits"),
        (ok, (1 << 40, grid.nnz, 32), (1 << 40 | 4, grid.nnz), "data begins at an address that is no multiple of the 8 bytes"),
    ]:
        with pytest.raises(sparsight.SparsightError, match=words):
            _core.prepare_resident(matrix._core, advice, "cpu", None, False, indptr, indices, values)


# On a GPU.


def given_by(name, a, request, index=np.int32):
    """``a`` on the first GPU, as a library has it, and its values there."""
    library = request.getfixturevalue(name.partition(" ")[0])
    arrays = (a.indptr.astype(index), a.indices.astype(index), a.data)
    if name == "cupy":
        import cupyx.scipy.sparse as csp

        made = csp.csr_matrix((library.asarray(a.data), library.asarray(arrays[1]), library.asarray(arrays[0])), a.shape)
        return made, made.data
    if name == "cupy tuple":
        arrays = tuple(map(library.asarray, arrays))
        return (*arrays, a.shape), arrays[2]
    arrays = tuple(library.as_tensor(one, device="cuda:0") for one in arrays)
    if name == "torch tuple":
        return (*arrays, a.shape), arrays[2]
    made = library.sparse_csr_tensor(*arrays, a.shape)
    return made, made.values()


LIBRARIES = ["cupy", "cupy tuple", "torch", "torch tuple"]


@pytest.fixture
def never_brought(monkeypatch):
    """Values that go over the host are a failure."""
    monkeypatch.setattr(_resident.OnGpu, "values", lambda self: pytest.fail("values were brought to the host"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("library", LIBRARIES)
def test_it_is_prepared_where_it_lies(library, index, dtype, request, rng, never_brought):
    a = sparsight.gallery("power-law,n=3000", dtype)
    given, _ = given_by(library, a, request, index)
    x = rng.standard_normal(a.shape[1]).astype(dtype)
    plan, over_the_host = sparsight.plan(given), sparsight.plan(a)
    assert plan._matrix._on_gpu is not None
    with plan.prepare("cuda:0") as operator, over_the_host.prepare("cuda:0") as same:
        assert operator.candidate == same.candidate and operator.memory_bytes == same.memory_bytes
        assert near(operator @ x, a.astype(np.float64), x.astype(np.float64), dtype)


@pytest.mark.filterwarnings("ignore:A.T was not planned")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("library", LIBRARIES)
def test_its_transpose_is_prepared_on_first_use(library, dtype, request, rng):
    a = sparsight.gallery("power-law,n=3000", dtype)[:1000]
    given, values = given_by(library, a, request)
    x, plan = rng.standard_normal(1000).astype(dtype), sparsight.plan(given)
    operator, changed = plan.prepare("cuda:0"), plan.prepare("cuda:0")
    assert near(operator.T @ x, a.T.tocsr().astype(np.float64), x.astype(np.float64), dtype)
    values *= 2
    with pytest.raises(sparsight.SparsightError, match="have changed since"):
        changed.T


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_every_format_is_made_of_it(library, request, rng, never_brought):
    a = sparsight.gallery("fem,n=8")
    given, values = given_by(library, a, request)
    x, plan, formats = rng.standard_normal(a.shape[1]), sparsight.plan(given), {}
    for one in plan.advice:
        if not one.vendor:
            formats.setdefault(one.format, one.id)
    assert len(formats) > 5
    for candidate in formats.values():
        with plan.prepare("cuda:0", candidate=candidate, updates=True) as operator:
            assert operator.candidate == candidate and near(operator @ x, a, x, np.float64), candidate
            operator.update_values(2 * values)
            assert near((operator @ x) / 2, a, x, np.float64), candidate


@pytest.mark.parametrize("library", LIBRARIES)
def test_values_are_those_at_the_time_of_preparing_and_in_the_type_of_the_plan(library, request, rng, never_brought):
    a = sparsight.gallery("stencil2d,n=60")
    given, values = given_by(library, a, request)
    plan, narrow = sparsight.plan(given), sparsight.plan(given, dtype=np.float32)
    x = rng.standard_normal(a.shape[1])
    values *= 3
    operator = plan.prepare("cuda:0")
    assert near((operator @ x) / 3, a, x, np.float64)
    y = narrow.prepare("cuda:0") @ x.astype(np.float32)
    assert y.dtype == np.float32 and near(y / 3, a, x, np.float32)
    values *= 0
    assert near((operator @ x) / 3, a, x, np.float64), "an operator does not need the arrays any more"


def test_it_is_read_after_what_is_still_being_written_in_any_stream(cupy, torch, rng):
    import cupyx.scipy.sparse as csp

    a = sparsight.gallery("stencil2d,n=60")
    x = rng.standard_normal(a.shape[1])
    for stage in ("values", "pattern"):
        late = csp.csr_matrix(a)
        indices, data = late.indices.copy(), late.data.copy()
        (late.indices if stage == "pattern" else late.data).fill(0)
        plan = None if stage == "pattern" else sparsight.plan(late)
        stream = cupy.cuda.Stream(non_blocking=True)
        cupy.cuda.Device().synchronize()
        with torch.cuda.stream(torch.cuda.ExternalStream(stream.ptr)):
            torch.cuda._sleep(200_000_000)
        with stream:
            late.indices[...] = indices
            late.data[...] = data
        operator = (plan or sparsight.plan(late)).prepare("cuda:0")
        assert near(operator @ x, a, x, np.float64), stage


@pytest.mark.parametrize("library", ["cupy tuple", "torch tuple"])
def test_a_pattern_that_was_spoilt_after_it_was_planned_is_refused(library, request, cupy):
    a = sparsight.gallery("stencil2d,n=60")
    given, _ = given_by(library, a, request)
    plan = sparsight.plan(given)
    for array, at, to in [(given[1], 5, a.shape[1]), (given[1], 5, -1), (given[1], 5, 0), (given[0], 7, a.nnz)]:
        before = array[at].item()
        array[at] = to
        with pytest.raises(sparsight.BadMatrix):
            plan.prepare("cuda:0")
        array[at] = before
    assert near(plan.prepare("cuda:0") @ cupy.ones(a.shape[1]).get(), a, np.ones(a.shape[1]), np.float64)


def test_other_matrices_on_a_gpu_are_taken_over_the_host(cupy, torch, rng):
    import cupyx.scipy.sparse as csp

    a = sparsight.gallery("power-law,n=3000")
    x = rng.standard_normal(a.shape[1])
    indptr, indices, data = (torch.as_tensor(one, device="cuda:0") for one in (a.indptr, a.indices, a.data))
    unsorted = csp.csr_matrix(a)
    unsorted.indices, unsorted.data = unsorted.indices[::-1].copy(), unsorted.data[::-1].copy()
    unsorted.indptr = (a.nnz - unsorted.indptr[::-1]).astype(cupy.int32)
    backwards, rounded = a[::-1], a.astype(np.float32)
    rounded.data = data.bfloat16().float().cpu().numpy()
    for given, expected in [
        (csp.coo_matrix(a), a),
        (csp.csc_matrix(a), a),
        (torch.sparse_csr_tensor(indptr, indices, data, a.shape).to_sparse_coo(), a),
        (torch.sparse_csr_tensor(indptr, indices, data.bfloat16(), a.shape), rounded),
        (unsorted, backwards),
    ]:
        operator = sparsight.plan(given).prepare("cuda:0")
        dtype = operator.dtype
        assert near(operator @ x.astype(dtype), expected.astype(np.float64), x.astype(dtype).astype(np.float64), dtype)


def test_a_pair_is_prepared_of_it(cupy, rng):
    import cupyx.scipy.sparse as csp

    a = sparsight.gallery("power-law,n=3000")
    x, z = rng.standard_normal(a.shape[1]), rng.standard_normal(a.shape[0])
    pair = sparsight.plan(csp.csr_matrix(a), transpose=True).prepare("cuda:0", updates=True)
    assert near(pair @ x, a, x, np.float64) and near(pair.T @ z, a.T.tocsr(), z, np.float64)
    pair.update_values(cupy.asarray(2 * a.data))
    assert near((pair @ x) / 2, a, x, np.float64) and near((pair.T @ z) / 2, a.T.tocsr(), z, np.float64)


def test_tries_and_a_processor_take_its_values_over_the_host(cupy, rng):
    import cupyx.scipy.sparse as csp

    a = sparsight.gallery("fem,n=8")
    plan, x = sparsight.plan(csp.csr_matrix(a), products=10**6), rng.standard_normal(a.shape[1])
    for how in ({"device": "cuda:0", "try_": 2}, {"device": "cpu"}):
        assert near(plan.prepare(**how) @ x, a, x, np.float64)


def test_preparing_a_thousand_times_leaves_nothing_behind(cupy):
    import cupyx.scipy.sparse as csp

    plan = sparsight.plan(csp.csr_matrix(sparsight.gallery("stencil2d,n=10")))

    def round_of(count):
        for _ in range(count):
            plan.prepare("cuda:0").free()
        cupy.cuda.Device().synchronize()
        return cupy.cuda.runtime.memGetInfo()[0]

    before = round_of(50)
    assert abs(round_of(1000) - before) < 4 << 20
