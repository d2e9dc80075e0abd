"""What is predicted of several GPUs, without any; and operators of several GPUs as far as that goes without one."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import sparsight
from sparsight import _core, _distributed, _on_gpus

RECIPE = "stencil3d,n=40"
LINKS = """
gpus_per_host = 8
join_s = 4e-6
queue_s = 24e-6
[host]
latency_s = 12e-6
per_peer_s = 1e-6
bytes_per_s = 150e9
"""


@pytest.fixture(scope="module")
def plan():
    return sparsight.plan(sparsight.gallery(RECIPE), device="nvidia-h200")


@pytest.fixture
def links(tmp_path):
    path = tmp_path / "links.toml"
    path.write_text(LINKS)
    return path


def by_program(*flags):
    """What the program answers: the one that ``SPARSIGHT_PROGRAM`` names, else that of the package."""
    named = os.environ.get("SPARSIGHT_PROGRAM")
    program = [named] if named else [sys.executable, "-m", "sparsight"]
    words = [*program, "advise", f"gallery:{RECIPE}", "--device", "nvidia-h200", "--json", *map(str, flags)]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def assert_same(scaling, answer):
    of_python = scaling.to_dict()
    assert of_python["schema"] == answer["schema"] == "sparsight/advise-gpus/1"
    for name in ("gpus", "best", "fastest", "links", "device", "dtype"):
        assert of_python[name] == answer[name], name


def test_other_numbers_of_gpus_are_compared_with_one(plan):
    scaling = plan.on_gpus([4, 2, 2])
    assert [one.count for one in scaling] == [1, 2, 4] and len(scaling) == 3
    one, two, four = scaling
    assert (one.predicted_s, one.speedup, one.efficiency, one.limit, one.shares) == (plan.predicted_s, 1.0, 1.0, None, None)
    for on in (two, four):
        assert 0 < on.low_s < on.predicted_s < on.high_s
        assert on.speedup == pytest.approx(one.predicted_s / on.predicted_s) and on.efficiency == on.speedup / on.count
        assert len(on.shares) == on.count and on.memory_bytes < one.memory_bytes
        assert on.exchanged_bytes >= on.most_exchanged_bytes > 0
    assert (two.extrapolated, four.extrapolated) == (False, False), "links were measured with eight"
    assert two.limit == "launch" and scaling.best is one and scaling.fastest is one, "so small a matrix stays on one GPU"
    assert scaling.links["source"] == "nvidia-h200"
    assert [one.count for one in plan.on_gpus()] == [1, 2, 4, 8] and [one.count for one in plan.on_gpus(1)] == [1]


def test_several_are_named_where_they_gain():
    scaling = sparsight.plan(sparsight.gallery("stencil3d,n=130"), device="nvidia-h200").on_gpus([2])
    assert scaling.best is scaling[1] and scaling.best.speedup > 1
    assert str(scaling).splitlines()[2].startswith("Use 2 GPUs: ") and "best 2" in repr(scaling)


def test_it_is_shown_as_a_table_and_in_pandas(plan):
    # Links of eight were measured.
    scaling = plan.on_gpus([2, 16])
    shown = str(scaling)
    assert "Stay on one GPU" in shown and "launch" in shown and "* extrapolated" in shown
    assert repr(scaling[1]).startswith("<OnGpus 2: ") and scaling[1].to_dict()["count"] == 2
    table = pytest.importorskip("pandas") and scaling.to_pandas()
    assert list(table.index) == [1, 2, 16] and table.loc[2, "limit"] == "launch" and "shares" not in table


def test_links_and_parts_are_given(plan, links):
    rows = plan._matrix.shape[0]
    ours = plan.on_gpus([2], links=links)
    assert ours.links["source"] == str(links) and ours.links["queue_s"] == 24e-6
    assert ours[1].extrapolated, "they were not measured"
    anywhere = np.random.default_rng(1).integers(0, 2, rows)
    dealt = plan.on_gpus([2], parts=anywhere)
    assert dealt.to_dict()["deal"] == "parts" and dealt[1].exchanged_bytes > 10 * plan.on_gpus([2])[1].exchanged_bytes
    halves = np.arange(rows) * 2 // rows
    for kind in (np.int32, np.uint8, np.int64):
        assert plan.on_gpus([2], parts=halves.astype(kind))[1].shares == plan.on_gpus([2], parts=halves.tolist())[1].shares


def test_the_program_answers_the_same(plan, links, tmp_path):
    assert_same(plan.on_gpus([1, 2, 4]), by_program("--gpus", "1,2,4"))
    assert_same(plan.on_gpus([2, 16], links=links), by_program("--gpus", "2,16", "--links", links))
    parts = np.random.default_rng(2).integers(0, 4, plan._matrix.shape[0])
    file = tmp_path / "A.part.4"
    np.savetxt(file, parts, "%d")
    assert_same(plan.on_gpus([4], parts=parts), by_program("--gpus", "4", "--parts", file))
    f32 = sparsight.plan(sparsight.gallery(RECIPE, np.float32), device="nvidia-h200")
    assert_same(f32.on_gpus([2]), by_program("--gpus", "2", "--dtype", "f32"))


@pytest.mark.parametrize(
    ("devices", "numbers"),
    [
        ([0, 1], [0, 1]),
        (("cuda:1", "cuda:0"), [1, 0]),
        (["cuda", np.int64(3)], [0, 3]),
        (range(2), [0, 1]),
        (iter(["cuda:10"]), [10]),
    ],
)
def test_gpus_are_named_by_their_numbers_or_as_anywhere(devices, numbers):
    assert _on_gpus.gpus_of(devices) == numbers


class Core:
    """As much of an operator of two GPUs as vectors are held to."""

    indexes, memory_bytes, preparation_s, is_freed = [0, 1], [10, 20], 0.5, False

    def __init__(self):
        self.multiplied = []

    def multiply_host(self, x, y, alpha, beta):
        self.multiplied.append((x, y, alpha, beta))
        y[:] = alpha * 2 * x + (beta * y if beta else 0)


@pytest.fixture
def operator():
    matrix = sparsight.Matrix(sparsight.gallery("stencil2d,n=3"))
    return _distributed.DistributedOperator(Core(), matrix)


def test_an_operator_takes_vectors_on_the_host(operator):
    x = np.arange(9.0)
    assert operator.devices == ("cuda:0", "cuda:1") and operator.shape == (9, 9) and operator.memory_bytes == (10, 20)
    assert (operator @ x == 2 * x).all() and (operator.matvec(x[:, None]) == 2 * x[:, None]).all()
    out = np.ones(9)
    assert operator.matvec(x, out=out, alpha=2.0, beta=-1.0) is out and (out == 4 * x - 1).all()
    assert ((operator @ np.stack([x, -x], axis=1)) == np.stack([2 * x, -2 * x], axis=1)).all()
    assert ((2.0 * operator + operator) @ x == 6 * x).all(), "scipy composes it"
    assert "9 x 9 on cuda:0, cuda:1" in repr(operator)


WRONG_VECTORS = {
    "another type": (lambda op: op @ np.ones(9, np.float32), "x holds float32", "convert"),
    "another length": (lambda op: op @ np.ones(8), r"\(8,\)", None),
    "gaps": (lambda op: op @ np.ones(18)[::2], "contiguous", "copy"),
    "beta without out": (lambda op: op.matvec(np.ones(9), beta=1.0), "beta", "out="),
    "a list": (lambda op: op @ [1.0] * 9, "list", "numpy"),
    "a list to be scattered": (lambda op: op.scatter([1.0] * 9), "x is a list", "numpy"),
    "too few to be scattered": (lambda op: op.scatter(np.ones(8)), r"\(8,\)", None),
    "an array for pieces": (lambda op: op.multiply(np.ones(9)), "xs is no list of pieces", "scatter"),
    "arrays for pieces": (lambda op: op.multiply([np.ones(4), np.ones(5)]), "xs is no list of pieces", "scatter"),
    "an array to be gathered": (lambda op: op.gather(np.ones(9)), "pieces is no list", "multiply"),
    "beta without out for pieces": (lambda op: op.multiply([], beta=1.0), "beta", "out="),
}


@pytest.mark.parametrize("what", WRONG_VECTORS)
def test_vectors_that_do_not_fit_are_refused(what, operator):
    call, words, hint = WRONG_VECTORS[what]
    with pytest.raises(sparsight.BadVector, match=words) as raised:
        call(operator)
    assert hint is None or hint in raised.value.hint
    assert not operator._core.multiplied


def test_device_arrays_are_referred_to_scatter(operator, monkeypatch):
    class OnGpu:
        __cuda_array_interface__ = {"shape": (9,), "typestr": "<f8", "data": (1 << 40, False), "version": 3}

    with pytest.raises(sparsight.BadVector, match="the operator on cuda:0, cuda:1") as refused:
        operator.matvec(OnGpu(), out=OnGpu())
    assert "scatter" in refused.value.hint


@pytest.mark.parametrize("call", [lambda op: op.T, lambda op: op.H, lambda op: op.rmatvec(np.ones(9)), lambda op: op.rmatmat(np.ones((9, 2)))])
def test_the_transpose_is_another_plan(call, operator):
    with pytest.raises(sparsight.SparsightError, match="not dealt out") as refused:
        call(operator)
    assert "A.T.tocsr()" in refused.value.hint


def test_a_piece_describes_itself_to_libraries_of_gpus():
    class OfRust:
        address, index, dtype = 4096, 1, "f32"

        def __len__(self):
            return 5

    piece = _distributed.Piece(OfRust())
    described = piece.__cuda_array_interface__
    assert described == {"shape": (5,), "typestr": "<f4", "data": (4096, False), "strides": None, "version": 3}
    assert (piece.device, piece.dtype, piece.shape, len(piece)) == ("cuda:1", np.float32, (5,), 5)
    assert repr(piece) == "<sparsight.Piece of 5 entries, float32 on cuda:1>"
    with pytest.raises(TypeError):
        _core.Piece()


def test_a_matrix_that_one_gpu_cannot_hold_is_spread_over_those_that_can(links, tmp_path):
    sheet = tmp_path / "little.toml"
    sheet.write_text(
        'name = "Little GPU"\nmultiprocessors = 132\nl2_bytes = 50e6\nmemory_bytes = 4e6\ncopy_bytes_per_s = 4e12\n'
        "launch_s = 2e-6\ncompute_capability = [9, 0]\n"
    )
    plan = sparsight.plan(sparsight.gallery(RECIPE), device=str(sheet))
    scaling = plan.on_gpus([2, 4], links=links)
    assert list(scaling.too_few)[0] == 1 and "the device has 4.00 MB" in scaling.too_few[1]
    assert all(on.speedup is None and on.efficiency is None and on.memory_bytes <= 4e6 for on in scaling)
    assert "; it does not fit on one GPU." in str(scaling) and "does not fit on 1 GPU: needs" in str(scaling)
    with pytest.raises(sparsight.Infeasible):
        plan.on_gpus([1], links=links)
