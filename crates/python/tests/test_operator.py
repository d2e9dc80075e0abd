"""Products on the CPU, with numpy's vectors."""

import gc
import re
import threading
import warnings
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator, cg, lsqr

import sparsight
from sparsight import _core

RECIPES = ["stencil2d,n=40", "power-law,n=3000", "arrow,n=900", "fem,n=6", "kkt"]


def near(y, expected, dtype):
    return np.abs(y - expected).max() <= (1e-4 if dtype == np.float32 else 1e-11) * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("recipe", RECIPES)
def test_products_are_right(recipe, dtype, rng):
    a = sparsight.gallery(recipe, dtype)
    operator = sparsight.plan(a).prepare("cpu")
    x, z = rng.standard_normal(a.shape[1]).astype(dtype), rng.standard_normal(a.shape[0]).astype(dtype)
    y = operator @ x
    assert y.dtype == dtype and near(y, a @ x, dtype)
    out = z.copy()
    assert operator.matvec(x, out=out, alpha=2.0, beta=-1.0) is out and near(out, 2 * (a @ x) - z, dtype)
    nothing = np.full(a.shape[0], np.nan, dtype)
    assert near(operator.matvec(x, out=nothing), a @ x, dtype)


def test_every_candidate_that_is_ranked_can_be_prepared_or_says_why_not(grid, rng):
    plan, x, ran = sparsight.plan(grid), rng.standard_normal(900), 0
    for one in plan.advice:
        try:
            operator = plan.prepare("cpu", candidate=one.id)
        except sparsight.SparsightError:
            continue
        ran += 1
        assert operator.candidate == one.id and near(operator @ x, grid @ x, np.float64)
        assert operator.memory_bytes > 0
    assert ran > 50


def test_tried_candidates_are_measured(grid):
    operator = sparsight.plan(grid).prepare("cpu", try_=2)
    assert 0 < operator.measured_s < 1 and operator.preparation_s > 0
    assert sparsight.plan(grid).prepare("cpu").measured_s is None


def test_as_many_are_tried_as_the_products_to_come_are_worth(grid, rng):
    x = rng.standard_normal(900)
    few = sparsight.plan(grid, products=1).prepare("cpu", try_="auto")
    assert few.measured_s is None, "one product is over before anything could be measured"
    many = sparsight.plan(grid, products=10**9).prepare("cpu", try_="auto")
    assert 0 < many.measured_s < 1
    for operator in (few, many):
        assert near(operator @ x, grid @ x, np.float64)


def test_several_columns_are_multiplied_one_by_one(grid, rng):
    operator, x = sparsight.plan(grid, transpose=True).prepare("cpu"), rng.standard_normal((900, 3))
    assert near(operator @ x, grid @ x, np.float64) and near(operator.rmatmat(x), grid.T @ x, np.float64)
    assert (operator @ x[:, :1]).shape == (900, 1)


def test_solvers_of_scipy_take_it(grid):
    operator = sparsight.plan(grid).prepare("cpu")
    assert isinstance(operator, LinearOperator) and aslinearoperator(operator) is operator
    b = grid @ np.ones(900)
    x, failed = cg(operator, b, rtol=1e-10)
    assert failed == 0 and near(x, np.ones(900), np.float32)
    wide = sparsight.gallery("power-law,n=500")[:200]
    pair = sparsight.plan(wide, transpose=True).prepare("cpu")
    b = wide @ np.ones(500)
    assert near(wide @ lsqr(pair, b, atol=1e-12, btol=1e-12)[0], wide @ lsqr(wide, b, atol=1e-12, btol=1e-12)[0], np.float32)
    x = np.ones(900)
    for made, expected in [(2.0 * operator + operator, 3 * (grid @ x)), (operator @ operator, grid @ (grid @ x)), (operator * 2.0, 2 * (grid @ x))]:
        assert near(made @ x, expected, np.float64)


def test_the_transpose_is_planned_as_a_matrix_of_its_own(rng):
    a = sparsight.gallery("power-law,n=2000")[:700]
    plan = sparsight.plan(a, transpose=True)
    operator = plan.prepare("cpu")
    x = rng.standard_normal(700)
    assert operator.T.shape == (2000, 700) and operator.T.T.candidate == operator.candidate and operator.H is operator.T
    assert near(operator.T @ x, a.T @ x, np.float64) and near(operator.rmatvec(x), a.T @ x, np.float64)
    alone = sparsight.plan(a.T.tocsr())
    assert plan.transposed.candidate.id == alone.candidate.id
    assert plan.memory_bytes == plan.candidate.memory_bytes + alone.memory_bytes


def wide_matrix():
    return sparsight.gallery("power-law,n=2000")[:700]


def test_an_unplanned_transpose_is_prepared_on_first_use_with_a_warning(rng):
    a = wide_matrix()
    operator, x = sparsight.plan(a).prepare("cpu"), rng.standard_normal(700)
    planned = sparsight.plan(a, transpose=True).prepare("cpu").T
    with pytest.warns(UserWarning, match="A.T was not planned") as warned:
        turned = operator.T
    said = str(warned[0].message)
    assert len(warned) == 1 and warned[0].filename == __file__
    assert re.search(r"took [0-9.]+ (us|ms|s), and it takes [0-9,]+ bytes on cpu; plan\(A, transpose=True\)", said), said
    assert f" {planned.memory_bytes:,} bytes" in said and turned.candidate == planned.candidate
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert operator.T is turned and operator.H is turned and turned.T.candidate == operator.candidate
        for y in (turned @ x, operator.rmatvec(x), operator.T @ x, operator.rmatmat(x[:, None])[:, 0]):
            assert near(y, a.T @ x, np.float64)
        assert near(planned @ x, a.T @ x, np.float64)


@pytest.mark.parametrize(
    "use",
    [lambda op, x: op.rmatvec(x), lambda op, x: op.rmatmat(x[:, None])[:, 0], lambda op, x: op.H @ x, lambda op, x: (2.0 * op).H @ x / 2],
)
def test_the_transpose_is_prepared_once_on_first_need(use, rng):
    a = wide_matrix()
    operator, x = sparsight.plan(a).prepare("cpu"), rng.standard_normal(700)
    with pytest.warns(UserWarning, match="not planned"):
        assert near(use(operator, x), a.T @ x, np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert near(use(operator, x), a.T @ x, np.float64)


def test_a_solver_of_scipy_that_needs_the_transpose_prepares_it():
    a = wide_matrix()
    operator, b = sparsight.plan(a).prepare("cpu"), a @ np.ones(2000)
    with pytest.warns(UserWarning, match="not planned") as warned:
        x = lsqr(operator, b, atol=1e-12, btol=1e-12)[0]
    assert warned[0].filename == __file__, "the caller of the solver is told"
    assert near(a @ x, a @ lsqr(a, b, atol=1e-12, btol=1e-12)[0], np.float32)


@pytest.mark.filterwarnings("ignore:A.T was not planned")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("before", [False, True])
def test_replaced_values_apply_to_the_operator_and_its_transpose(before, dtype, rng):
    a = wide_matrix().astype(dtype)
    operator = sparsight.plan(a).prepare("cpu", updates=True)
    x, z = rng.standard_normal(2000).astype(dtype), rng.standard_normal(700).astype(dtype)
    turned = None if before else operator.T
    for _ in range(2):
        changed = a.copy()
        changed.data = rng.standard_normal(a.nnz).astype(dtype)
        told = changed.data.copy()
        operator.update_values(told)
        # What was given may be used for something else.
        told[:] = np.nan
    turned = operator.T
    assert near(operator @ x, changed @ x, dtype) and near(turned @ z, changed.T @ z, dtype)
    changed.data *= 3
    operator.update_values(changed.data)
    assert near(operator @ x, changed @ x, dtype) and near(turned @ z, changed.T @ z, dtype)


def test_a_transpose_is_prepared_once_however_many_threads_ask_for_it(rng):
    a = wide_matrix()
    operator, x, seen = sparsight.plan(a).prepare("cpu"), rng.standard_normal(700), []
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        threads = [threading.Thread(target=lambda: seen.append(operator.rmatvec(x))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(seen) == 8 and all(near(y, a.T @ x, np.float64) for y in seen)
    assert len([one for one in warned if "not planned" in str(one.message)]) == 1


def test_a_transpose_is_prepared_on_the_device_of_its_operator(grid, monkeypatch):
    told, prepare = [], _core.prepare

    def instead(matrix, advice, device, candidate, tries, updates):
        told.append((device, candidate, tries, updates))
        return prepare(matrix, advice, "cpu", candidate, tries, updates)

    monkeypatch.setattr(_core, "prepare", instead)
    operator = sparsight.plan(grid).prepare("cuda:1", updates=True)
    with pytest.warns(UserWarning, match="not planned"):
        operator.T
    assert told == 2 * [("cuda:1", None, 1, True)]


def test_a_copy_of_the_matrix_is_kept_only_while_a_transpose_is_possible(grid):
    matrix = sparsight.Matrix(grid)
    operator, seen = sparsight.plan(matrix).prepare("cpu"), weakref.ref(matrix)
    core = weakref.ref(operator._unplanned)
    del matrix
    assert seen() is None and core() is not None
    with pytest.warns(UserWarning, match="not planned"):
        operator.T
    assert core() is None
    freed = sparsight.plan(grid).prepare("cpu")
    core = weakref.ref(freed._unplanned)
    freed.free()
    assert core() is None


def test_the_predicted_memory_is_what_is_taken(grid):
    plan = sparsight.plan(grid, transpose=True)
    operator = plan.prepare("cpu", candidate="csr-scalar/b256/f64")
    assert operator.memory_bytes == plan.advice["csr-scalar/b256/f64"].memory_bytes


@pytest.mark.parametrize("recipe", ["stencil2d,n=20", "power-law,n=900"])
def test_values_are_replaced_in_both(recipe, rng):
    a = sparsight.gallery(recipe)
    plan = sparsight.plan(a, transpose=True)
    operator = plan.prepare("cpu", updates=True)
    changed = a.copy()
    changed.data = rng.standard_normal(a.nnz)
    operator.update_values(changed.data)
    x = rng.standard_normal(a.shape[1])
    assert near(operator @ x, changed @ x, np.float64) and near(operator.T @ x, changed.T @ x, np.float64)


def test_several_threads_multiply_with_one_operator(grid, rng):
    operator = sparsight.plan(grid).prepare("cpu")
    wrong = []

    def work(seed):
        x = np.random.default_rng(seed).standard_normal(900)
        for _ in range(50):
            if not near(operator @ x, grid @ x, np.float64):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_it_is_freed_at_the_end_of_with(grid):
    with sparsight.plan(grid, transpose=True).prepare("cpu") as operator:
        turned = operator.T
    assert "freed" in repr(operator)
    for one in (operator, turned):
        with pytest.raises(sparsight.SparsightError, match="freed"):
            one @ np.ones(900)


def test_an_operator_and_its_transpose_are_freed_with_the_last_reference(grid):
    gc.collect()
    gc.disable()
    try:
        operator = sparsight.plan(grid, transpose=True).prepare("cpu")
        kept = operator.T
        seen = weakref.ref(kept.T)
        assert seen() is not None and near(kept.T @ np.ones(900), grid @ np.ones(900), np.float64)
        del operator, kept
        assert seen() is None
    finally:
        gc.enable()


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("size", [1, 40])
def test_columns_of_numpy_matrix_are_multiplied_as_scipy_does(size, rng):
    a = sp.csr_array(rng.standard_normal((size, size)))
    operator = sparsight.plan(a).prepare("cpu")
    for columns in (1, 3):
        x = np.matrix(rng.standard_normal((size, columns)))
        for y in (operator @ x, operator.matmat(x)):
            assert type(y) is type(a @ x) is np.ndarray and y.shape == (size, columns) and near(y, a @ x, np.float64)
    assert near(operator.matvec(x[:, 0]), a @ x[:, 0], np.float64)


def test_other_classes_of_arrays_are_arrays(grid, rng, tmp_path):
    class Named(np.ndarray):
        pass

    operator, x = sparsight.plan(grid).prepare("cpu"), rng.standard_normal(900)
    np.save(tmp_path / "x.npy", x)
    for same in (x.view(Named), np.load(tmp_path / "x.npy", mmap_mode="r")):
        assert near(operator @ same, grid @ x, np.float64)
        assert near(operator @ same[:, None], (grid @ x)[:, None], np.float64)


def test_a_matrix_of_integers_is_multiplied_in_f64(rng):
    a = sp.random_array((30, 30), density=0.2, rng=rng, format="csr")
    a.data = np.round(10 * a.data)
    operator = sparsight.plan(a.astype(np.int32)).prepare("cpu")
    assert (operator @ np.ones(30)).tolist() == (a @ np.ones(30)).tolist()


def test_torch_on_the_host_is_taken_too(grid):
    torch = pytest.importorskip("torch")
    operator = sparsight.plan(grid).prepare("cpu")
    x = torch.ones(900, dtype=torch.float64)
    y = operator @ x
    assert isinstance(y, torch.Tensor) and near(y.numpy(), grid @ np.ones(900), np.float64)
