"""Products on a GPU with CuPy's and torch's vectors: right, in the streams of these libraries, and nothing left behind.

``SPARSIGHT_MATRICES`` may name a folder of matrices of which every one is tried, too.
"""

import inspect
import os
import pathlib
import threading

import numpy as np
import pytest

import sparsight
from conftest import REQUIRE_GPU, Interface, near

RECIPES = ["stencil2d,n=60", "power-law,n=5000", "arrow,n=3000", "fem,n=8", "kkt", "hypersparse"]
FOLDER = os.environ.get("SPARSIGHT_MATRICES")
FILES = sorted(str(path) for path in pathlib.Path(FOLDER).rglob("*") if path.is_file()) if FOLDER else []
READABLE = [name for name in FILES if name.endswith((".mtx", ".mtx.gz", ".tar.gz", ".npz"))]


def matrix(name, dtype=np.float64):
    return sparsight.read(name, dtype) if os.path.sep in name else sparsight.gallery(name, dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", RECIPES + READABLE)
def test_products_are_right_with_vectors_of_every_library(name, dtype, cupy, torch, rng):
    a = matrix(name, dtype)
    exact = a.astype(np.float64)
    x = rng.standard_normal(a.shape[1]).astype(dtype)
    with sparsight.plan(a).prepare("cuda:0") as operator:
        assert operator.device == "cuda:0"
        on_cupy, on_torch = operator @ cupy.asarray(x), operator @ torch.as_tensor(x, device="cuda:0")
        assert isinstance(on_cupy, cupy.ndarray) and on_torch.device == torch.device("cuda:0")
        wide = x.astype(np.float64)
        for y in (operator @ x, on_cupy.get(), on_torch.cpu().numpy()):
            assert y.dtype == dtype and near(y, exact, wide, dtype)
        z = rng.standard_normal(a.shape[0]).astype(dtype)
        for out, back in [(cupy.asarray(z), cupy.asnumpy), (torch.as_tensor(z, device="cuda:0"), lambda t: t.cpu().numpy())]:
            given = cupy.asarray(x) if isinstance(out, cupy.ndarray) else torch.as_tensor(x, device="cuda:0")
            assert operator.matvec(given, out=out, alpha=2.0, beta=0.0) is out
            assert near(back(out) / 2, exact, wide, dtype)


def test_the_predicted_memory_is_what_is_taken(cupy):
    a = matrix("power-law,n=5000")
    plan, ran = sparsight.plan(a, transpose=True), 0
    for one in plan.advice:
        if one.vendor:
            continue
        with plan.prepare("cuda:0", candidate=one.id) as operator:
            assert operator.memory_bytes == one.memory_bytes, one.id
            assert operator.T.memory_bytes == plan.transposed.candidate.memory_bytes
            ran += 1
    assert ran > 50


def test_tried_candidates_are_measured(cupy):
    a = matrix("fem,n=8")
    operator = sparsight.plan(a, products=10**6).prepare("cuda:0", try_=3)
    assert 1e-6 < operator.measured_s < 1e-3


def test_values_in_f32_change_y_by_no_more_than_was_said(cupy, rng):
    from cupyx.scipy.sparse import csr_matrix

    a = matrix("fem,n=8")
    a.data *= 1 / 3
    x = rng.standard_normal(a.shape[1])
    for given in (a, csr_matrix(a)):
        plan = sparsight.plan(given, device="nvidia-h200", values="f32")
        mixed = next(one.id for one in plan.advice if one.dtype == "f32-f64" and not one.vendor)
        operator = plan.prepare("cuda:0", candidate=mixed, updates=True)
        most = (plan.advice.narrowing["relative_error"] + 1e-14) * (abs(a) @ abs(x))
        y = operator @ cupy.asarray(x)
        assert y.dtype == np.float64 and operator.candidate == mixed
        off = abs(y.get() - a @ x)
        assert (off <= most).all() and off.max() > 1e-12
        operator.update_values(2 * a.data)
        assert (abs((operator @ x) - 2 * (a @ x)) <= 2 * most).all()


def test_a_product_is_captured_by_torch(torch, rng):
    a = matrix("fem,n=8")
    for name in ["csr-vector/t8/b128/f64", "coo/b256/f64", sparsight.plan(a).candidate.id]:
        operator = sparsight.plan(a).prepare("cuda:0", candidate=name)
        x = torch.zeros(a.shape[1], dtype=torch.float64, device="cuda:0")
        y = torch.zeros(a.shape[0], dtype=torch.float64, device="cuda:0")
        operator.matvec(x, out=y)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            operator.matvec(x, out=y)
        for _ in range(3):
            new = rng.standard_normal(a.shape[1])
            x.copy_(torch.as_tensor(new))
            graph.replay()
            torch.cuda.synchronize()
            assert near(y.cpu().numpy(), a, new, np.float64), name


def test_a_product_is_captured_by_cupy(cupy, rng):
    a = matrix("stencil2d,n=60")
    operator = sparsight.plan(a).prepare("cuda:0")
    x, y = cupy.zeros(a.shape[1]), cupy.zeros(a.shape[0])
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        operator.matvec(x, out=y)
        stream.begin_capture()
        operator.matvec(x, out=y)
        graph = stream.end_capture()
        new = rng.standard_normal(a.shape[1])
        x.set(new)
        graph.launch(stream)
        stream.synchronize()
    assert near(y.get(), a, new, np.float64)


def test_two_streams_and_two_threads(cupy, torch):
    a = matrix("power-law,n=5000")
    plan = sparsight.plan(a)
    operators = [plan.prepare("cuda:0"), plan.prepare("cuda:0", candidate="coo/b256/f64")]
    wrong = []

    def with_cupy(operator, seed):
        generator = np.random.default_rng(seed)
        with cupy.cuda.Stream(non_blocking=True) as stream:
            for _ in range(100):
                x = generator.standard_normal(a.shape[1])
                y = operator @ cupy.asarray(x)
                stream.synchronize()
                if not near(y.get(), a, x, np.float64):
                    wrong.append(("cupy", operator.candidate))

    def with_torch(operator, seed):
        generator = np.random.default_rng(seed)
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(100):
                x = generator.standard_normal(a.shape[1])
                y = operator @ torch.as_tensor(x, device="cuda:0")
                if not near(y.cpu().numpy(), a, x, np.float64):
                    wrong.append(("torch", operator.candidate))

    works = [(with_cupy, 1), (with_cupy, 2), (with_torch, 3), (with_torch, 4)]
    threads = [threading.Thread(target=work, args=(operator, seed)) for operator in operators for work, seed in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("how", ["int", "cupy", "torch", "protocol"])
def test_a_stream_may_be_named(how, cupy, torch, rng):
    a = matrix("stencil2d,n=60")
    operator = sparsight.plan(a).prepare("cuda:0")
    stream = cupy.cuda.Stream(non_blocking=True)

    class Protocol:
        def __cuda_stream__(self):
            return (0, stream.ptr)

    named = {"int": stream.ptr, "cupy": stream, "torch": torch.cuda.ExternalStream(stream.ptr), "protocol": Protocol()}[how]
    x = rng.standard_normal(a.shape[1])
    on_gpu, y = cupy.asarray(x), cupy.empty(a.shape[0])
    cupy.cuda.Device().synchronize()
    operator.matvec(on_gpu, out=y, stream=named)
    stream.synchronize()
    assert near(y.get(), a, x, np.float64)
    with pytest.raises(sparsight.SparsightError, match="no stream"):
        operator.matvec(on_gpu, out=y, stream="fast")


def test_gradients_are_those_of_the_transpose(torch, rng):
    a = matrix("power-law,n=60")[:40]
    operator = sparsight.plan(a, transpose=True).prepare("cuda:0")
    x = torch.as_tensor(rng.standard_normal(60), device="cuda:0").requires_grad_()
    assert torch.autograd.gradcheck(lambda x: sparsight.torch.spmv(operator, x), (x,))
    assert torch.autograd.gradcheck(lambda x: operator @ x, (x,)) and torch.autograd.gradgradcheck(lambda x: operator @ x, (x,))
    (operator @ x).sum().backward()
    assert near(x.grad.cpu().numpy(), a.T.tocsr(), np.ones(40), np.float64)
    alone, x.grad = sparsight.plan(a).prepare("cuda:0"), None
    with pytest.warns(UserWarning, match="A.T was not planned"):
        (alone @ x).sum().backward()
    assert near(x.grad.cpu().numpy(), a.T.tocsr(), np.ones(40), np.float64)


@pytest.mark.filterwarnings("ignore:A.T was not planned")
@pytest.mark.parametrize("before", [False, True])
def test_a_transpose_that_was_not_planned_has_the_values_of_now(before, cupy, torch, rng):
    a = matrix("power-law,n=5000")
    for made in [np.asarray, cupy.asarray, lambda values: torch.as_tensor(values, device="cuda:0")]:
        operator, x = sparsight.plan(a).prepare("cuda:0", updates=True), rng.standard_normal(a.shape[0])
        turned = None if before else operator.T
        changed = a.copy()
        changed.data = rng.standard_normal(a.nnz)
        told = made(changed.data.copy())
        operator.update_values(told)
        told *= 0
        turned = operator.T
        assert turned.device == "cuda:0" and near(turned @ x, changed.T.tocsr(), x, np.float64)
        y = turned @ cupy.asarray(x)
        assert near(y.get(), changed.T.tocsr(), x, np.float64)


def test_new_values_come_from_every_library(cupy, torch, rng):
    a = matrix("power-law,n=5000")
    plan, x = sparsight.plan(a, transpose=True), rng.standard_normal(a.shape[1])
    operator = plan.prepare("cuda:0", updates=True)
    for made in [np.asarray, cupy.asarray, lambda values: torch.as_tensor(values, device="cuda:0")]:
        changed = a.copy()
        changed.data = rng.standard_normal(a.nnz)
        operator.update_values(made(changed.data))
        assert near(operator @ x, changed, x, np.float64) and near(operator.T @ x, changed.T.tocsr(), x, np.float64)


def test_solvers_of_cupy_and_scipy_take_it(cupy):
    from cupyx.scipy.sparse.linalg import cg
    from scipy.sparse.linalg import cg as on_host

    a = matrix("stencil2d,n=60")
    operator = sparsight.plan(a).prepare("cuda:0")
    b = a @ np.ones(a.shape[0])
    # CuPy 14 calls it as scipy does.
    tolerance = {"rtol" if "rtol" in inspect.signature(cg).parameters else "tol": 1e-10}
    x, failed = cg(operator.cupy(), cupy.asarray(b), **tolerance)
    assert failed == 0 and np.abs(x.get() - 1).max() < 1e-6
    x, failed = on_host(operator, b, rtol=1e-10)
    assert failed == 0 and np.abs(x - 1).max() < 1e-6


def test_arrays_with_only_a_protocol_are_accepted(cupy, rng):
    a = matrix("stencil2d,n=60")
    operator, x = sparsight.plan(a).prepare("cuda:0"), rng.standard_normal(a.shape[1])

    class Capsule:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **how):
            return self.array.__dlpack__(**how)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    with pytest.raises(sparsight.BadVector, match="no out"):
        operator @ Interface(cupy.asarray(x))
    out = cupy.empty(a.shape[0])
    for y in (operator.matvec(Interface(cupy.asarray(x)), out=Interface(out)) and out, operator @ Capsule(cupy.asarray(x))):
        assert near(y.get(), a, x, np.float64)


def test_the_driver_is_asked_where_an_address_lies(cupy):
    lies_on, some = sparsight._core.gpu_of, cupy.ones(1000)
    assert lies_on(some.data.ptr) == lies_on(some[500:].data.ptr) == 0
    everywhere = [cupy.cuda.alloc_pinned_memory(1000), cupy.cuda.malloc_managed(1000)]
    assert [lies_on(memory.ptr) for memory in everywhere] == [None, None]
    assert lies_on(np.ones(3).ctypes.data) is None and lies_on(0) is None


def test_vectors_of_jax_are_taken(cupy, rng):
    jax = pytest.importorskip("jax")
    a = matrix("stencil2d,n=60", np.float32)
    x = rng.standard_normal(a.shape[1]).astype(np.float32)
    operator = sparsight.plan(a).prepare("cuda:0")
    if jax.default_backend() != "gpu":
        assert not REQUIRE_GPU, "JAX sees no GPU"
        pytest.skip("JAX sees no GPU here")
    y = operator @ jax.numpy.asarray(x)
    assert isinstance(y, jax.Array) and near(np.asarray(y), a.astype(np.float64), x.astype(np.float64), np.float32)


def test_without_rows_or_entries(cupy, torch):
    import scipy.sparse as sp

    for shape in [(0, 5), (5, 0), (4, 4)]:
        operator = sparsight.plan(sp.csr_array(shape)).prepare("cuda:0")
        for y in (operator @ cupy.ones(shape[1]), operator @ torch.ones(shape[1], dtype=torch.float64, device="cuda:0")):
            assert y.shape == (shape[0],) and float(abs(y).sum()) == 0.0


def test_a_part_of_a_tensor_is_taken_from_where_it_begins(torch, rng):
    a = matrix("stencil2d,n=60")
    x = rng.standard_normal(a.shape[1] + 7)
    operator = sparsight.plan(a).prepare("cuda:0")
    y = operator @ torch.as_tensor(x, device="cuda:0")[7:]
    assert near(y.cpu().numpy(), a, x[7:], np.float64)


def test_values_that_are_replaced_meet_products_of_no_stream_half_way(cupy, rng):
    a = matrix("fem,n=16")
    operator = sparsight.plan(a).prepare("cuda:0", updates=True)
    x = cupy.ones(a.shape[1])
    once = (a @ np.ones(a.shape[1]))
    for factor in range(1, 30):
        with cupy.cuda.Stream(non_blocking=True):
            before = [operator @ x for _ in range(20)]
        operator.update_values(cupy.asarray((factor + 1) * a.data) if factor % 2 else (factor + 1) * a.data)
        after = operator @ np.ones(a.shape[1])
        assert np.allclose(after, (factor + 1) * once)
        assert all(np.allclose(y.get(), factor * once) for y in before)


def misaligned(cupy, n):
    """Numbers of 8 bytes that begin 4 bytes behind where such may."""
    return cupy.zeros(2 * n + 1, cupy.float32)[1:].view(cupy.float64)


def test_wrong_vectors_are_refused_before_anything_is_launched(cupy, torch):
    a = matrix("stencil2d,n=60")
    n = a.shape[0]
    on_gpu, on_host = sparsight.plan(a).prepare("cuda:0"), sparsight.plan(a).prepare("cpu")
    x, t = cupy.ones(n), torch.ones(n, dtype=torch.float64, device="cuda:0")
    for call, words in [
        (lambda: on_host @ x, "on cuda:0, the operator on cpu"),
        (lambda: on_host @ t, "on cuda:0, the operator on cpu"),
        (lambda: on_gpu @ x.astype(cupy.float32), "float32"),
        (lambda: on_gpu @ t.float(), "float32"),
        (lambda: on_gpu @ cupy.ones(2 * n)[::2], "contiguous"),
        (lambda: on_gpu @ torch.ones(2 * n, dtype=torch.float64, device="cuda:0")[::2], "contiguous"),
        (lambda: on_gpu @ x[1:], "shape"),
        (lambda: on_gpu @ t[1:], "shape"),
        (lambda: on_gpu.matvec(x, out=np.ones(n)), "out is a ndarray"),
        (lambda: on_gpu.matvec(t, out=torch.ones(n, dtype=torch.float64)), "out is on cpu"),
        (lambda: on_gpu.matvec(x, out=x), "shares memory"),
        (lambda: on_gpu.matvec(t, out=t), "shares memory"),
        (lambda: on_gpu.matvec(x, beta=1.0), "beta"),
        (lambda: on_gpu.matvec(x, stream=0), "stream without out"),
        (lambda: on_gpu @ misaligned(cupy, n), "no multiple of the 8 bytes"),
        (lambda: on_gpu.matvec(x, out=misaligned(cupy, n)), "out begins at an address"),
        (lambda: on_gpu.matvec(Interface(misaligned(cupy, n)), out=Interface(cupy.ones(n))), "no multiple of the 8 bytes"),
    ]:
        with pytest.raises(sparsight.BadVector, match=words):
            call()
    with pytest.raises(sparsight.NoGpu, match="no CUDA device 99"):
        sparsight.plan(a).prepare("cuda:99")


def test_a_gpu_is_calibrated_once_and_what_was_measured_is_kept(cupy, monkeypatch, tmp_path):
    monkeypatch.setenv("SPARSIGHT_CACHE", str(tmp_path))
    told = []

    def stop(at, matrix):
        told.append((at, matrix))
        if at > 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sparsight.calibrate("cuda:0", progress=stop)
    assert told[0][1].startswith("gallery:")
    again = []
    reference = sparsight.calibrate("cuda:0", progress=lambda at, matrix: again.append(at))
    assert reference in sparsight.profiles() and min(again) > 4 - 1, "it goes on where it was stopped"
    asked = []
    assert sparsight.calibrate("cuda:0", progress=lambda *one: asked.append(one)) == reference and not asked


def test_ten_thousand_operators_leave_nothing_behind(cupy):
    a = matrix("stencil2d,n=10")
    plan, x = sparsight.plan(a), cupy.ones(a.shape[1])

    def round_of(count):
        for _ in range(count):
            with plan.prepare("cuda:0") as operator:
                operator @ x
        cupy.cuda.Device().synchronize()
        return cupy.cuda.runtime.memGetInfo()[0]

    before = round_of(100)
    assert abs(round_of(10_000) - before) < 4 << 20
