"""Two GPUs: what is current in CuPy and torch stays so, work is done where the operator is, and arrays of the other GPU are refused.

``SPARSIGHT_REQUIRE_GPU=2 python -m pytest tests/test_two_gpus.py``, where there are two, fails if they are not seen.
"""

import contextlib
import threading

import numpy as np
import pytest

import sparsight
from conftest import Interface, near

A = sparsight.gallery("power-law,n=3000")
ROWS, COLUMNS = A.shape


def on(cupy, index):
    """CuPy's arrays come to lie on the GPU that is current."""
    return cupy.cuda.Device(index)


@pytest.mark.parametrize("current", [0, 1])
@pytest.mark.parametrize("index", [0, 1])
def test_the_current_device_stays_what_it_was(index, current, gpus, rng):
    cupy, torch = gpus
    x, z = rng.standard_normal(COLUMNS), rng.standard_normal(ROWS)
    with on(cupy, index):
        of_cupy, into = cupy.asarray(x), cupy.asarray(z)
    of_torch = torch.as_tensor(x, device=f"cuda:{index}")
    with on(cupy, current), torch.cuda.device(current):

        def stays():
            assert cupy.cuda.runtime.getDevice() == torch.cuda.current_device() == current
            assert torch.empty(1, device="cuda").device.index == current and cupy.empty(1).device.id == current

        plan = sparsight.plan(A, products=10**6, transpose=True)
        for how in ({}, {"updates": True}, {"try_": 2}):
            operator = plan.prepare(f"cuda:{index}", **how)
            stays()
            assert operator.device == f"cuda:{index}"
            y = operator @ of_cupy
            stays()
            assert y.device.id == index and near(y.get(), A, x, np.float64)
            y = operator @ of_torch
            stays()
            assert y.device.index == index and near(y.cpu().numpy(), A, x, np.float64)
            assert near(operator @ x, A, x, np.float64)
            operator.matvec(of_cupy, out=into, alpha=2.0)
            assert near(into.get() / 2, A, x, np.float64)
            with on(cupy, index):
                columns = cupy.stack([of_cupy, 2 * of_cupy], axis=1)
            product = operator @ columns
            assert product.device.id == index and near(product.get()[:, 1] / 2, A, x, np.float64)
            assert near((operator @ columns[:, :1]).get().ravel(), A, x, np.float64)
            stays()
            if how.get("updates"):
                with on(cupy, index):
                    halves = cupy.asarray(A.data / 2)
                operator.update_values(halves)
                assert near(2 * (operator @ of_cupy).get(), A, x, np.float64)
                operator.update_values(torch.as_tensor(A.data, device=f"cuda:{index}"))
                assert near((operator.T @ torch.as_tensor(z, device=f"cuda:{index}")).cpu().numpy(), A.T.tocsr(), z, np.float64)
                stays()
            operator.free()
            stays()


def test_gradients_are_taken_where_the_operator_is(gpus):
    _, torch = gpus
    pair = sparsight.plan(A, transpose=True).prepare("cuda:1")
    x = torch.ones(COLUMNS, dtype=torch.float64, device="cuda:1", requires_grad=True)
    (pair @ x).sum().backward()
    assert x.grad.device.index == 1 and near(x.grad.cpu().numpy(), A.T.tocsr(), np.ones(ROWS), np.float64)


@pytest.mark.parametrize("index", [0, 1])
def test_arrays_of_the_other_gpu_are_refused_before_anything_is_launched(index, gpus):
    cupy, torch = gpus
    operator, other = sparsight.plan(A).prepare(f"cuda:{index}", updates=True), 1 - index
    made = {}
    for at in (index, other):
        with on(cupy, at):
            made[at] = (cupy.ones(COLUMNS), cupy.empty(ROWS), cupy.asarray(A.data))
        where = f"cuda:{at}"
        made[at] += (
            torch.ones(COLUMNS, dtype=torch.float64, device=where),
            torch.empty(ROWS, dtype=torch.float64, device=where),
            torch.as_tensor(A.data, device=where),
        )
    x, y, values, tx, ty, tvalues = made[other]
    mine, out, _, tmine, tout, _ = made[index]

    class Capsule:
        def __dlpack__(self, **how):
            return x.__dlpack__(**how)

        def __dlpack_device__(self):
            return x.__dlpack_device__()

    words = f"on cuda:{other}, the operator on cuda:{index}"
    for call in [
        lambda: operator @ x,
        lambda: operator @ tx,
        lambda: operator @ Capsule(),
        lambda: operator.matvec(mine, out=y),
        lambda: operator.matvec(tmine, out=ty),
        lambda: operator.matvec(x, out=out),
        lambda: operator.matvec(tx, out=tout),
        lambda: operator.matvec(Interface(x), out=Interface(out)),
        lambda: operator.matvec(Interface(mine), out=Interface(y)),
        lambda: operator.update_values(values),
        lambda: operator.update_values(tvalues),
        lambda: operator.update_values(Interface(values)),
    ]:
        with pytest.raises(sparsight.BadVector, match=words) as refused:
            call()
        assert f"cuda:{index}" in refused.value.hint
    assert sparsight._core.gpu_of(x.data.ptr) == other and sparsight._core.gpu_of(mine.data.ptr) == index
    assert near((operator @ mine).get(), A, np.ones(COLUMNS), np.float64), "and what is right works after all of that"
    operator.matvec(Interface(mine), out=Interface(out))
    assert near(out.get(), A, np.ones(COLUMNS), np.float64)


@pytest.mark.parametrize("index", [0, 1])
def test_a_csr_is_prepared_where_it_lies_and_elsewhere_over_the_host(index, gpus, rng):
    cupy, torch = gpus
    import cupyx.scipy.sparse as csp

    x = rng.standard_normal(COLUMNS)
    with on(cupy, index):
        of_cupy = csp.csr_matrix(A)
    arrays = (torch.as_tensor(one, device=f"cuda:{index}") for one in (A.indptr, A.indices, A.data))
    of_torch = torch.sparse_csr_tensor(*arrays, A.shape)
    for given in (of_cupy, of_torch):
        plan = sparsight.plan(given)
        for device in ("cuda:0", "cuda:1"):
            operator = plan.prepare(device)
            assert operator.device == device and near(operator @ x, A, x, np.float64)


def test_operators_of_both_gpus_work_at_once(gpus):
    cupy, torch = gpus
    plan, wrong = sparsight.plan(A), []

    def work(index, seed):
        operator, generator = plan.prepare(f"cuda:{index}"), np.random.default_rng(seed)
        # The GPU that is current belongs to a thread.
        with on(cupy, index) if seed % 2 else contextlib.nullcontext():
            for _ in range(50):
                x = generator.standard_normal(COLUMNS)
                y = operator @ torch.as_tensor(x, device=f"cuda:{index}")
                if not near(y.cpu().numpy(), A, x, np.float64):
                    wrong.append(index)

    threads = [threading.Thread(target=work, args=(seed % 2, seed // 2)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_product_of_the_second_gpu_is_captured_while_the_first_is_current(gpus, rng):
    _, torch = gpus
    operator = sparsight.plan(A).prepare("cuda:1")
    x = torch.zeros(COLUMNS, dtype=torch.float64, device="cuda:1")
    y = torch.zeros(ROWS, dtype=torch.float64, device="cuda:1")
    operator.matvec(x, out=y)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.device(1), torch.cuda.graph(graph):
        operator.matvec(x, out=y)
    new = rng.standard_normal(COLUMNS)
    x.copy_(torch.as_tensor(new))
    torch.cuda.synchronize(1)
    graph.replay()
    torch.cuda.synchronize(1)
    assert near(y.cpu().numpy(), A, new, np.float64)


def test_a_stream_of_cupy_is_used_that_is_current_on_the_second_gpu(gpus, rng):
    cupy, _ = gpus
    operator, x = sparsight.plan(A).prepare("cuda:1"), rng.standard_normal(COLUMNS)
    with on(cupy, 1):
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            y = operator @ cupy.asarray(x)
            stream.synchronize()
            assert near(y.get(), A, x, np.float64)


def test_a_third_gpu_is_no_device(gpus):
    _, torch = gpus
    count = torch.cuda.device_count()
    with pytest.raises(sparsight.NoGpu, match=f"no CUDA device {count}"):
        sparsight.plan(A).prepare(f"cuda:{count}")
