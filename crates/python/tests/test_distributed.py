"""One matrix on two GPUs: right results, vectors that stay there, threads, and memory that is given back.

``SPARSIGHT_REQUIRE_GPU=2 python -m pytest tests/test_distributed.py``, where there are two GPUs and NCCL, fails if they are not seen.
"""

import gc
import os
import threading

import numpy as np
import pytest
from scipy.sparse.linalg import cg

import sparsight
from conftest import near

RECIPES = ["stencil2d,n=60", "power-law,n=3000", "arrow,n=900", "fem,n=8", "tall,rows=3000,cols=900", "wide,rows=300,cols=5000"]

# Whatever GPUs there are: of some no links are known.
LINKS = """
gpus_per_host = 2
join_s = 4e-6
queue_s = 24e-6
[host]
latency_s = 12e-6
bytes_per_s = 150e9
"""


@pytest.fixture
def on_two(gpus, tmp_path):
    """Prepares a matrix on the first two GPUs."""
    links = tmp_path / "links.toml"
    links.write_text(LINKS)

    def prepare(a, devices=(0, 1), parts=None):
        return sparsight.plan(a).prepare(devices=devices, parts=parts, links=links)

    return prepare


def of(cupy, piece):
    """A piece as an array of CuPy."""
    with cupy.cuda.Device(int(piece.device[-1])):
        return cupy.asarray(piece)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("recipe", RECIPES)
def test_products_are_right(recipe, dtype, on_two, rng):
    a = sparsight.gallery(recipe, dtype)
    with on_two(a) as operator:
        assert operator.shape == a.shape and operator.dtype == dtype and operator.nnz == a.nnz
        for _ in range(3):
            x = rng.standard_normal(a.shape[1]).astype(dtype)
            y = operator @ x
            assert y.dtype == dtype and near(y, a, x, dtype)
        out = np.full(a.shape[0], np.nan, dtype)
        assert operator.matvec(x, out=out, alpha=2.0) is out and near(out / 2, a, x, dtype)
        operator.matvec(x, out=out, alpha=-1.0, beta=1.0)
        assert near(out, a, x, dtype)
        columns = np.stack([x, -2 * x], axis=1)
        assert near((operator @ columns)[:, 1] / -2, a, x, dtype)
        ys = operator.multiply(operator.scatter(x))
        assert near(operator.gather(ys), a, x, dtype)


def test_it_is_named_as_elsewhere(on_two, rng):
    a = sparsight.gallery("stencil2d,n=60")
    x = rng.standard_normal(a.shape[1])
    for devices in (["cuda:0", "cuda:1"], [1, 0]):
        operator = on_two(a, devices)
        assert operator.devices == tuple(f"cuda:{one}" if isinstance(one, int) else one for one in devices)
        assert near(operator @ x, a, x, np.float64)
        assert [one.device for one in operator.zeros()] == list(operator.devices)
    alone = on_two(a, [1])
    assert isinstance(alone, sparsight.Operator) and alone.device == "cuda:1" and near(alone @ x, a, x, np.float64)


def test_the_prediction_is_kept(on_two):
    operator = on_two(sparsight.gallery("stencil3d,n=60"))
    predicted = operator.predicted
    assert isinstance(predicted, sparsight.OnGpus) and predicted.count == 2 and operator.predicted_s == predicted.predicted_s
    assert predicted.low_s < predicted.predicted_s < predicted.high_s and predicted.limit
    assert len(predicted.shares) == 2 and "/" in predicted.shares[0]["interior"]["id"]
    assert len(operator.memory_bytes) == 2 and min(operator.memory_bytes) > 0 and operator.preparation_s > 0


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8])
def test_rows_are_dealt_out_as_parts_say(kind, on_two, rng):
    a = sparsight.gallery("stencil2d,n=60")
    x = rng.standard_normal(a.shape[1])
    parts = rng.integers(0, 2, a.shape[0]).astype(kind)
    operator = on_two(a, parts=parts)
    assert near(operator @ x, a, x, np.float64)
    assert [len(one) for one in operator.zeros()] == [int((parts == part).sum()) for part in (0, 1)]
    assert near(operator.gather(operator.multiply(operator.scatter(x))), a, x, np.float64)
    one_idle = on_two(a, parts=np.ones(a.shape[0], kind))
    assert near(one_idle @ x, a, x, np.float64) and [len(one) for one in one_idle.zeros()] == [0, a.shape[0]]
    assert near(one_idle.gather(one_idle.multiply(one_idle.scatter(x))), a, x, np.float64)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_vectors_stay_on_the_gpus(dtype, gpus, on_two, rng):
    cupy, torch = gpus
    a = sparsight.gallery("stencil2d,n=60", dtype)
    x, operator = rng.standard_normal(a.shape[1]).astype(dtype), on_two(a)
    xs = operator.scatter(x)
    assert (operator.gather(xs) == x).all() and (operator.gather(operator.zeros()) == 0).all()
    ys = operator.multiply(xs)
    y = operator.gather(ys)
    assert near(y, a, x, dtype) and (y == operator @ x).all()
    # The y of one product is the x of the next.
    assert near(operator.gather(operator.multiply(ys)), a, y, dtype)
    out = operator.zeros()
    assert operator.multiply(xs, out=out, alpha=2.0) is out
    operator.multiply(xs, out=out, alpha=-1.0, beta=1.0)
    assert near(operator.gather(out), a, x, dtype) and (operator.gather(xs) == x).all()
    into = np.empty(a.shape[0], dtype)
    assert operator.gather(ys, out=into) is into and (into == y).all()
    # Both libraries look at the same memory, on its GPU.
    for at, piece in enumerate(xs):
        of_cupy, of_torch = of(cupy, piece), torch.as_tensor(piece, device=piece.device)
        assert of_cupy.device.id == at and of_torch.device.index == at and of_cupy.dtype == dtype
        assert of_cupy.shape == tuple(of_torch.shape) == piece.shape == (len(piece),)
        with cupy.cuda.Device(at):
            of_cupy *= 2
        cupy.cuda.Device(at).synchronize()
        of_torch += 1
    assert near(operator.gather(operator.multiply(xs)), a, 2 * x + 1, dtype), "what is written there is multiplied"


def test_products_wait_for_pending_writes(gpus, on_two):
    _, torch = gpus
    a = sparsight.gallery("stencil2d,n=60")
    operator = on_two(a)
    xs = operator.zeros()
    for piece in xs:
        with torch.cuda.device(piece.device), torch.cuda.stream(torch.cuda.Stream(piece.device)):
            slow = torch.ones(4000, 4000, device=piece.device)
            for _ in range(20):
                slow = slow @ slow / 4000
            torch.as_tensor(piece, device=piece.device).add_(slow[0, 0].double())
    assert near(operator.gather(operator.multiply(xs)), a, np.ones(a.shape[1]), np.float64)


def test_conjugate_gradients(gpus, on_two):
    _, torch = gpus
    a = sparsight.gallery("stencil2d,n=60")
    operator, ones = on_two(a), np.ones(a.shape[0])
    b = a @ ones
    solution, failed = cg(operator, b, rtol=1e-10)
    assert not failed and abs(solution - 1).max() < 1e-6

    def tensors(pieces):
        return [torch.as_tensor(one, device=one.device) for one in pieces]

    def dot(one, other):
        return sum(float(u @ v) for u, v in zip(one, other))

    x_pieces, r_pieces = operator.zeros(), operator.scatter(b)
    p_pieces, q_pieces = operator.scatter(b), operator.zeros()
    x, r, p, q = map(tensors, (x_pieces, r_pieces, p_pieces, q_pieces))
    rr = first = dot(r, r)
    for _ in range(500):
        if rr <= 1e-20 * first:
            break
        operator.multiply(p_pieces, out=q_pieces)
        alpha = rr / dot(p, q)
        for at in range(2):
            x[at] += alpha * p[at]
            r[at] -= alpha * q[at]
        before, rr = rr, dot(r, r)
        for at in range(2):
            p[at] *= rr / before
            p[at] += r[at]
    assert abs(operator.gather(x_pieces) - 1).max() < 1e-6


def test_pieces_outlive_their_operator(gpus, on_two, rng):
    cupy, torch = gpus
    a = sparsight.gallery("stencil2d,n=60")
    x, operator = rng.standard_normal(a.shape[1]), on_two(a)
    ys = operator.multiply(operator.scatter(x))
    arrays = [of(cupy, ys[0]), torch.as_tensor(ys[1], device=ys[1].device)]
    y = operator.gather(ys)
    operator.free()
    del operator, ys
    gc.collect()
    # Others take memory meanwhile.
    taken = [torch.full((1 << 20,), 7.0, device=f"cuda:{at}") for at in (0, 1)]
    found = np.sort(np.concatenate([arrays[0].get(), arrays[1].cpu().numpy()]))
    assert (found == np.sort(y)).all() and len(taken) == 2


def test_a_freed_operator_says_so(on_two):
    a = sparsight.gallery("stencil2d,n=60")
    operator = on_two(a)
    xs, x = operator.zeros(), np.ones(a.shape[1])
    with operator:
        operator @ x
    for call in (lambda: operator @ x, lambda: operator.scatter(x), operator.zeros, lambda: operator.multiply(xs), lambda: operator.gather(xs)):
        with pytest.raises(sparsight.SparsightError, match="freed") as raised:
            call()
        assert "prepare" in raised.value.hint
    assert "freed" in repr(operator)
    operator.free()


def test_wrong_pieces_are_refused_before_anything_is_launched(gpus, on_two):
    cupy, _ = gpus
    a, wide = sparsight.gallery("stencil2d,n=60"), sparsight.gallery("wide,rows=300,cols=5000")
    operator, other, rectangular = on_two(a), on_two(a), on_two(wide)
    xs, rectangular_xs = operator.scatter(np.ones(a.shape[1])), rectangular.zeros()
    ys = rectangular.multiply(rectangular_xs)
    for call, words in [
        (lambda: operator.multiply(other.zeros()), "xs.0. is a piece of another operator"),
        (lambda: operator.multiply(xs, out=other.zeros()), "out.0. is a piece of another operator"),
        (lambda: operator.multiply(xs[::-1]), "piece of another GPU"),
        (lambda: operator.multiply(xs[:1]), "1 pieces for 2 GPUs"),
        (lambda: operator.multiply([]), "0 pieces for 2 GPUs"),
        (lambda: operator.multiply(xs, out=xs), "shares memory"),
        (lambda: rectangular.multiply(ys), "piece of a y, and the matrix is not square"),
        (lambda: rectangular.multiply(rectangular_xs, out=rectangular_xs), "piece of an x"),
        (lambda: operator.gather(other.zeros()), "another operator"),
        (lambda: rectangular.gather([rectangular_xs[0], ys[1]]), "piece of a y"),
        (lambda: operator.gather(xs, out=np.ones(3)), r"\(3,\)"),
        (lambda: operator @ cupy.ones(a.shape[1]), "the operator on cuda:0, cuda:1"),
    ]:
        with pytest.raises(sparsight.BadVector, match=words) as raised:
            call()
        assert "shares" in words or r"\(" in words or raised.value.hint
    assert near(operator.gather(operator.multiply(xs)), a, np.ones(a.shape[1]), np.float64), "and what is right works after all of that"


@pytest.mark.parametrize("operators", [1, 2])
def test_threads_multiply_at_once(operators, gpus, on_two):
    """With one operator, and with two of the same GPUs, which would wait for each other for ever if their products mixed."""
    a = sparsight.gallery("power-law,n=3000")
    wrong, made = [], [on_two(a) for _ in range(operators)]
    alone = sparsight.plan(a).prepare("cuda:1")

    def work(seed):
        generator, operator = np.random.default_rng(seed), made[seed % operators]
        try:
            for at in range(40):
                x = generator.standard_normal(a.shape[1])
                if at % 2:
                    y = operator @ x
                else:
                    y = operator.gather(operator.multiply(operator.scatter(x)))
                if not near(y, a, x, np.float64) or not near(alone @ x, a, x, np.float64):
                    wrong.append(seed)
        except Exception as why:
            wrong.append(why)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not wrong and not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize("current", [0, 1])
def test_the_current_device_stays_what_it_was(current, gpus, on_two, rng):
    cupy, torch = gpus
    a = sparsight.gallery("stencil2d,n=60")
    x = rng.standard_normal(a.shape[1])
    with cupy.cuda.Device(current), torch.cuda.device(current):

        def stays():
            assert cupy.cuda.runtime.getDevice() == torch.cuda.current_device() == current
            assert torch.empty(1, device="cuda").device.index == current and cupy.empty(1).device.id == current

        operator = on_two(a)
        stays()
        assert near(operator @ x, a, x, np.float64)
        stays()
        ys = operator.multiply(operator.scatter(x))
        stays()
        assert near(operator.gather(ys), a, x, np.float64)
        stays()
        del ys
        stays()
        operator.free()
        stays()


def test_a_gpu_that_is_not_there_is_none(gpus, on_two):
    _, torch = gpus
    count = torch.cuda.device_count()
    with pytest.raises(sparsight.NoGpu, match=f"no CUDA device {count}"):
        on_two(sparsight.gallery("stencil2d,n=60"), [0, count])


def test_thirty_operators_leak_no_memory(gpus, on_two):
    cupy, _ = gpus
    a = sparsight.gallery("stencil2d,n=60")
    x = np.ones(a.shape[1])

    def once(at):
        operator = on_two(a)
        ys = operator.multiply(operator.scatter(x))
        assert len(ys) == 2
        if at % 2:
            operator.free()

    def used():
        gc.collect()
        free = []
        for index in (0, 1):
            with cupy.cuda.Device(index) as device:
                device.synchronize()
                free.append(cupy.cuda.runtime.memGetInfo()[0])
        return free, len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))

    for at in range(10):
        once(at)
    free, files, tasks = used()
    for at in range(30):
        once(at)
    free_then, files_then, tasks_then = used()
    left = [before - after for before, after in zip(free, free_then)]
    assert max(left) <= 64 << 20, f"{left} bytes of GPU memory are gone"
    assert files_then <= files + 20 and tasks_then <= tasks + 20, f"{files} to {files_then} files, {tasks} to {tasks_then} threads"
