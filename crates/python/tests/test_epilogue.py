"""Products with a line for y, further outputs and dot products."""

import gc
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import sparsight
from sparsight._distributed import DistributedOperator
from sparsight._ranks import RankOperator

RECIPES = ["stencil2d,n=40", "power-law,n=3000", "arrow,n=900", "fem,n=6"]


def near(y, expected, dtype):
    return np.abs(y - expected).max() <= (1e-3 if dtype == np.float32 else 1e-10) * max(1.0, np.abs(expected).max())


@pytest.fixture(params=["csr-scalar/b256/f64", "coo/b256/f64", None])
def operator(request, grid):
    return sparsight.plan(grid).prepare("cpu", candidate=request.param)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_line_is_computed_of_the_sums_of_rows(recipe, dtype, rng):
    a = sparsight.gallery(recipe, dtype)
    operator = sparsight.plan(a).prepare("cpu")
    x, d, z = (rng.standard_normal(len_).astype(dtype) for len_ in (a.shape[1], a.shape[0], a.shape[0]))
    y = np.full(a.shape[0], np.nan, dtype)
    made = operator.matvec(x, out=y, epilogue="s * d[i] + beta * z[i]", d=d, z=z, beta=0.5)
    assert made is y and y.dtype == dtype and near(y, d * (a @ x) + 0.5 * z, dtype)
    new = operator.matvec(x, epilogue="fmin(fmax(z[i] - tau * s, low), 2.0)", z=z, tau=np.float64(0.25), low=np.array([-1.0]))
    assert near(new, np.clip(z - 0.25 * (a @ x), -1, 2), dtype)


def test_alpha_and_beta_are_scalars_of_a_line_that_names_them(operator, grid, rng):
    x, y = rng.standard_normal((2, 900))
    expected = 2 * (grid @ x) - y
    assert near(operator.matvec(x, y, 2.0, -1.0, epilogue="alpha * s + beta * y[i]"), expected, np.float64)
    with pytest.raises(sparsight.BadEpilogue, match="beta and an epilogue that does not name it"):
        operator.matvec(x, y, beta=2.0, epilogue="s")


def test_outputs_see_the_new_y_and_their_old_entries(operator, grid, rng):
    x, y, w, v = rng.standard_normal((4, 900))
    old_y, old_w = y.copy(), w.copy()
    made = operator.matvec(x, y, epilogue="y[i] - s", outputs={"w": "2 * out - w[i]", "v": "s"}, w=w, v=v)
    new = old_y - grid @ x
    assert made is y and near(y, new, np.float64) and near(w, 2 * new - old_w, np.float64) and near(v, grid @ x, np.float64)


def test_dot_products_come_with_the_product(operator, grid, rng):
    x, y, r = rng.standard_normal((3, 900))
    dots = operator.matvec_dot(x, y, [x, r, "y"])
    expected = grid @ x
    assert dots.dtype == np.float64 and near(dots, [expected @ x, expected @ r, expected @ expected], np.float64)
    given = np.empty(2)
    same = operator.matvec_dot(x, y, [("s", r), (r, "w")], dots=given, epilogue="s - r[i]", outputs={"w": "out * 2"}, r=r, w=np.empty(900))
    assert same is given and near(given, [expected @ r, 2 * (expected - r) @ r], np.float64) and near(y, expected - r, np.float64)


def test_the_same_product_has_the_same_bits_whatever_ran_before(operator, rng):
    x, y = rng.standard_normal((2, 900))
    runs = set()
    for _ in range(5):
        dots = operator.matvec_dot(x, y, [x, y])
        runs.add(dots.tobytes() + y.tobytes())
        operator.matvec_dot(y, np.empty(900), [y])
    assert len(runs) == 1


def test_lines_are_compiled_once_and_see_new_values(grid, rng):
    operator = sparsight.plan(grid).prepare("cpu", updates=True)
    x, y, d = rng.standard_normal((3, 900))
    for _ in range(3):
        operator.matvec(x, y, epilogue="s * d[i]", d=d)
        operator.matvec_dot(x, y, [x])
    assert len(operator._epilogues) == 2
    operator.update_values(2 * grid.data)
    assert near(operator.matvec(x, y, epilogue="s * d[i]", d=d), 2 * d * (grid @ x), np.float64)


def test_a_transpose_has_epilogues_of_its_own(rng):
    a = sparsight.gallery("tall,rows=400,cols=120,row=3")
    operator = sparsight.plan(a, transpose=True).prepare("cpu")
    y, c = rng.standard_normal(400), rng.standard_normal(120)
    assert near(operator.T.matvec(y, epilogue="c[i] - s", c=c), c - a.T @ y, np.float64)
    assert near(operator.rmatvec(y, epilogue="c[i] - s", c=c), c - a.T @ y, np.float64)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_identity_updates_vectors(dtype, rng):
    update = sparsight.identity(300, "cpu", dtype)
    x, y, w = rng.standard_normal((3, 300)).astype(dtype)
    old_y, old_w = y.copy(), w.copy()
    dots = update.matvec_dot(x, y, ["y", ("w", "w")], epilogue="y[i] - t * s", outputs={"w": "w[i] + out"}, w=w, t=0.5)
    assert near(y, old_y - 0.5 * x, dtype) and near(w, old_w + y, dtype) and near(dots, [y @ y, w @ w], dtype)
    assert (update.T @ x == x).all() and update.memory_bytes == 0 and update.shape == (300, 300)


def test_a_wrong_line_is_an_error_that_shows_it(operator):
    x, y = np.ones(900), np.ones(900)
    for line, operands, why in [
        ("s * d[i]", {}, "reads d\\[i\\]"),
        ("s; y[i] = 0", {}, "one expression of C"),
        ("pow(s, 2)", {}, "needs a GPU"),
        ("s * gamma_", {}, "gamma_"),
        ("s", {"d": np.ones(900)}, "stands in no line"),
        ("s * d[0]", {"d": np.ones(900)}, "without \\[i\\]|brackets"),
        (7, {}, "no text"),
    ]:
        with pytest.raises(sparsight.BadEpilogue, match=why):
            operator.matvec(x, y, epilogue=line, **operands)
    assert issubclass(sparsight.BadEpilogue, ValueError)
    with pytest.raises(sparsight.BadEpilogue, match="without an epilogue"):
        operator.matvec(x, y, d=np.ones(900))


def test_vectors_that_do_not_fit_are_refused_before_anything_is_computed(operator):
    x, y = np.ones(900), np.full(900, 7.0)
    for operands, why in [
        ({"d": np.ones(899)}, "d has the shape"),
        ({"d": np.ones(900, np.float32)}, "d holds float32"),
        ({"d": [1.0] * 900}, "d is a list"),
        ({"d": y}, "shares memory"),
    ]:
        with pytest.raises(sparsight.BadVector, match=why):
            operator.matvec(x, y, epilogue="s * d[i]", **operands)
    with pytest.raises(sparsight.BadVector, match="no number"):
        operator.matvec(x, y, epilogue="s * t", t=np.ones(2))
    with pytest.raises(sparsight.BadVector, match="the output w has no vector"):
        operator.matvec(x, y, epilogue="s", outputs={"w": "out"})
    with pytest.raises(sparsight.BadVector, match="shares memory"):
        operator.matvec(x, y, epilogue="s", outputs={"w": "out"}, w=y)
    with pytest.raises(sparsight.BadVector, match="dots holds float32|dots has the shape"):
        operator.matvec_dot(x, y, [x], dots=np.empty(1, np.float32))
    with pytest.raises(sparsight.BadVector, match="stream"):
        operator.matvec(x, y, epilogue="s", stream=7)
    assert (y == 7).all()


def test_x_by_rows_wants_a_square_matrix():
    operator = sparsight.plan(sparsight.gallery("tall,rows=40,cols=12,row=3")).prepare("cpu")
    with pytest.raises(sparsight.BadVector):
        operator.matvec_dot(np.ones(12), np.empty(40), ["x"])


def test_more_than_three_dot_products_are_refused(operator):
    with pytest.raises(sparsight.BadEpilogue, match="at most 3"):
        operator.matvec_dot(np.ones(900), np.empty(900), ["x"] * 4)


def test_a_freed_operator_has_no_epilogues(grid):
    operator = sparsight.plan(grid).prepare("cpu")
    operator.matvec(np.ones(900), epilogue="s")
    operator.free()
    assert not operator._epilogues
    with pytest.raises(sparsight.SparsightError, match="freed"):
        operator.matvec(np.ones(900), epilogue="s")


def test_freeing_the_transpose_frees_the_epilogues_of_both(grid):
    operator = sparsight.plan(grid, transpose=True).prepare("cpu")
    for one in (operator, operator.T):
        one.matvec(np.ones(900), epilogue="s")
    compiled = [product for one in (operator, operator.T) for product in one._epilogues.values()]
    operator.T.free()
    assert len(compiled) == 2 and not operator._epilogues and not operator.T._epilogues
    for one in (operator, operator.T):
        with pytest.raises(sparsight.SparsightError, match="freed"):
            one.matvec(np.ones(900), epilogue="s")
    # What is gone is not kept by the other.
    operator = sparsight.plan(grid, transpose=True).prepare("cpu")
    turned, gone = operator.T, weakref.ref(operator)
    del operator
    gc.collect()
    assert gone() is None and float(turned.matvec(np.ones(900), epilogue="s").sum()) > 0


@pytest.mark.parametrize("kind", [DistributedOperator, RankOperator])
def test_operators_of_several_gpus_refuse_epilogues_and_say_what_to_do(grid, kind):
    core = SimpleNamespace(index=0, own_lengths=(900, 900), own=lambda *_: None)
    operator = kind(core, sparsight.plan(grid)._matrix, *([None] if kind is RankOperator else []))
    x, y = np.ones(900), np.empty(900)
    for refused in (
        lambda: operator.matvec(x, out=y, epilogue="s * d[i]", d=x),
        lambda: operator.matvec_dot(x, y, [x]),
    ):
        with pytest.raises(sparsight.SparsightError, match="on one GPU, and not on several") as why:
            refused()
        assert "multiply()" in why.value.hint


def test_a_matrix_without_entries_still_has_its_line():
    operator = sparsight.plan(sp.csr_array((5, 5))).prepare("cpu")
    y = np.ones(5)
    dots = operator.matvec_dot(np.ones(5), y, ["y"], epilogue="y[i] + 1 - s")
    assert (y == 2).all() and float(dots[0]) == 20


@pytest.mark.parametrize("name", ["cupy", "torch"])
def test_vectors_on_a_gpu(name, request, rng):
    library = request.getfixturevalue(name)
    put = library.asarray if name == "cupy" else lambda array: library.as_tensor(array, device="cuda:0")
    get = (lambda array: array.get()) if name == "cupy" else lambda array: array.cpu().numpy()
    for recipe in RECIPES:
        a = sparsight.gallery(recipe)
        n = a.shape[0]
        x, d, z = rng.standard_normal((3, n))
        plan = sparsight.plan(a)
        possible = [one.id for one in plan.advice if not one.vendor]
        sliced = next(name for name in possible if name.startswith("sell/"))
        for candidate in ("csr-vector/t8/b256/f64", sliced, "coo/b256/f64"):
            operator = plan.prepare("cuda:0", candidate=candidate)
            gx, gd, gz, gy, gw = (put(array) for array in (x, d, z, np.zeros(n), z))
            beta = put(np.array([0.25, 0.5]))[1:]
            made = operator.matvec(gx, gy, epilogue="s * d[i] + beta * z[i]", outputs={"w": "out - w[i]"}, d=gd, z=gz, beta=beta, w=gw)
            expected = d * (a @ x) + 0.5 * z
            assert made is gy and near(get(gy), expected, np.float64) and near(get(gw), expected - z, np.float64)
            dots = operator.matvec_dot(gx, gy, [gx, gd, ("s", gz)])
            sums = [(a @ x) @ x, (a @ x) @ d, (a @ x) @ z]
            assert type(dots) is type(gy) and near(get(dots), sums, np.float64)
            # The same y gives the same dot products; that of COO, which adds by atomics, may differ from run to run.
            dots_of = {}
            for _ in range(5):
                dots = get(operator.matvec_dot(gx, gy, [gx])).tobytes()
                assert dots_of.setdefault(get(gy).tobytes(), dots) == dots, candidate
            assert len(dots_of) == 1 or candidate.startswith("coo"), candidate
            with pytest.raises(sparsight.BadEpilogue, match=r"epilogue\(1\)"):
                operator.matvec(gx, gy, epilogue="s * undeclared(2)")


def test_a_scalar_on_the_gpu_is_a_float64(cupy, grid):
    operator = sparsight.plan(grid).prepare("cuda:0", candidate="csr-scalar/b256/f64")
    x = cupy.ones(900)
    with pytest.raises(sparsight.BadVector, match="scalar t is float32"):
        operator.matvec(x, epilogue="s * t", t=cupy.ones(1, cupy.float32))


def test_views_of_one_vector_are_one_vector(grid):
    operator = sparsight.plan(grid).prepare("cpu")
    x, both = np.linspace(0, 1, 900), np.ones((2, 900))
    dots = operator.matvec_dot(x, both[0], [both[0], (both[0], both[1])])
    y = grid @ x
    assert near(dots, [y @ y, y.sum()], np.float64)
    dots = operator.matvec_dot(x, both[0], [("w", both[1])], outputs={"w": "2 * out"}, w=both[1])
    assert near(dots, [4 * (y @ y)], np.float64)


def test_what_would_be_read_or_written_unseen_is_refused(grid):
    operator = sparsight.plan(grid).prepare("cpu")
    x, y = np.ones(900), np.ones(900)
    with pytest.raises(sparsight.BadVector, match=r"y\[i\] without out"):
        operator.matvec(x, epilogue="s + y[i]")
    with pytest.raises(sparsight.BadVector, match="dots that share memory"):
        operator.matvec_dot(x, y, [y], dots=y[5:6])
