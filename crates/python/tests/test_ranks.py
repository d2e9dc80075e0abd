"""One process a GPU, by torch.distributed: what processes tell each other, that all of them fail where one does, and the vectors.

Processes without a GPU have a stand-in for the part that is Rust. ``SPARSIGHT_REQUIRE_GPU=2 python -m pytest tests/test_ranks.py`` fails
where two GPUs are not seen, each of which one process then has.
"""

import os
import socket
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest

import sparsight
from sparsight import _ranks
from test_distributed import LINKS

BEGIN = """
import datetime, sys
import numpy as np
import torch.distributed as dist
import sparsight
from sparsight import _core, _ranks

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
rank = dist.get_rank()
A = sparsight.gallery("power-law,n=3000")

def tried(call):
    try:
        return call()
    except sparsight.SparsightError as error:
        print(type(error).__name__, error.args[0], "/", error.hint)
"""

STAND_IN = """
class Piece:
    index, dtype = 0, "f64"

    def __init__(self, entries, of_x):
        self.entries, self.of_x = entries, of_x

    def __len__(self):
        return len(self.entries)

class Rank:
    index, memory_bytes, preparation_s, planned_json, is_freed = 0, 1, 1.0, '{"gpus": [{"count": 2, "predicted_s": 1e-6}]}', False

    def __init__(self, rows):
        self.rows, self.own_lengths = rows, (rows.size, rows.size)

    def own(self, columns, numbers):
        numbers[:] = self.rows

    def piece_of(self, entries, is_x):
        return Piece(entries, is_x)

    def is_x(self, piece):
        return True

    def read(self, piece, out):
        out[:] = piece.entries

    def multiply(self, x, y, alpha, beta):
        parts = [None] * 2
        dist.all_gather_object(parts, (self.rows, x.entries))
        whole = np.empty(3000)
        for rows, entries in parts:
            whole[rows] = entries
        y.entries[:] = alpha * (A @ whole)[self.rows] + beta * y.entries

def prepare_rank(matrix, advice, index, rank, ranks, parts, links, meet, before=None, after=None, values="00ff"):
    if before:
        raise before
    identity = meet(f"the kind of GPU\\tNVIDIA H200\\nthe hash of values\\t{values}\\n")
    assert identity == bytes(128)
    if after:
        raise after
    # In an order of its own, as interior rows come first.
    return Rank(np.flatnonzero(np.arange(3000) % 7 % 2 == rank)[::-1].copy())

_core.prepare_rank, _core.nccl_identity = prepare_rank, lambda: bytes(128)
plan = sparsight.plan(A, device="nvidia-h200")
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def processes(*programs, count=2):
    """What each of them says on stdout; none may take long, or end otherwise than by itself."""
    pytest.importorskip("torch")
    text = "\n".join([BEGIN, *map(textwrap.dedent, programs), "dist.destroy_process_group()"])
    shared = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(count)}
    begun = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", text],
            env={**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(count)
    ]
    try:
        ended = [one.communicate(timeout=180) for one in begun]
    finally:
        for one in begun:
            one.kill()
    assert [one.returncode for one in begun] == [0] * count, "\n".join(err for _, err in ended)
    return [out for out, _ in ended]


def test_products_of_two_processes_are_right():
    said = processes(
        STAND_IN,
        """
        op = plan.prepare(ranks=True)
        assert (op.rank, op.ranks, op.device, op.shape, op.nnz) == (rank, 2, "cuda:0", A.shape, A.nnz)
        assert isinstance(op, sparsight.RankOperator) and f"rank {rank} of 2" in repr(op) and op.predicted_s == 1e-6
        x = np.random.default_rng(3).standard_normal(3000)
        assert abs(op @ x - A @ x).max() < 1e-9
        y = np.ones(3000)
        assert op.matvec(x, out=y, alpha=2.0, beta=-1.0) is y and abs(y - (2 * (A @ x) - 1)).max() < 1e-9
        piece = op.scatter(x)
        assert (piece._core.entries == x[op.columns]).all() and len(piece) == op.columns.size
        twice = op.multiply(op.multiply(piece))
        assert abs(op.gather(twice) - A @ (A @ x)).max() < 1e-6
        assert op.gather(op.zeros()).tolist() == [0.0] * 3000
        for wrong in (lambda: op.scatter(x[1:]), lambda: op.multiply(x), lambda: op.multiply(piece, beta=1.0), lambda: op.T):
            tried(wrong)
        """,
    )
    for out in said:
        lines = out.splitlines()
        assert [line.split()[0] for line in lines] == ["BadVector"] * 3 + ["SparsightError"], out
        assert all(line.partition(" / ")[2] not in ("", "None") for line in lines)


@pytest.mark.parametrize(
    ("what", "both", "other"),
    [
        ("before=sparsight.NoGpu('no driver', 'install it')", "no driver", "NoGpu"),
        ("after=sparsight.Infeasible('no memory', 'free some')", "no memory", "Infeasible"),
        ("values='ff00'", "rank 1 has not planned what rank 0 has: the hash of values is ff00, and 00ff there /", "SparsightError"),
    ],
)
def test_all_processes_fail_if_one_does(what, both, other):
    said = processes(
        STAND_IN,
        f"""
        import functools
        if rank == 1:
            _core.prepare_rank = functools.partial(prepare_rank, {what})
        assert tried(lambda: plan.prepare(ranks=True)) is None
        _core.prepare_rank = prepare_rank
        assert plan.prepare(ranks=True) is not None, "they can begin again"
        """,
    )
    assert said[0].startswith("SparsightError") and said[1].startswith(other)
    assert all(both in out for out in said)


@pytest.mark.parametrize("when", ["before", "after"])
def test_ctrl_c_in_one_process_is_told_to_the_others(when):
    said = processes(
        STAND_IN,
        f"""
        import functools
        if rank == 1:
            _core.prepare_rank = functools.partial(prepare_rank, {when}=KeyboardInterrupt())
        try:
            plan.prepare(ranks=True)
        except (KeyboardInterrupt, sparsight.SparsightError) as error:
            print(type(error).__name__, *error.args)
        _core.prepare_rank = prepare_rank
        assert plan.prepare(ranks=True) is not None, "they can begin again"
        """,
    )
    assert said[0].splitlines() == ["SparsightError rank 1: KeyboardInterrupt"] and said[1].splitlines() == ["KeyboardInterrupt"]


GPU, VALUES = "the kind of GPU\tNVIDIA H200\n", "the hash of values\t00ff\n"


@pytest.mark.parametrize(
    ("theirs", "words"),
    [
        (GPU + VALUES, None),
        (GPU.replace("H200", "H100") + VALUES, "the kind of GPU is NVIDIA H100, and NVIDIA H200 there"),
        (GPU, "it does not say the hash of values"),
        (GPU + VALUES + "the weather\tfine\n", "it also says the weather"),
    ],
)
def test_differences_from_another_ranks_plan_are_named(theirs, words):
    assert _ranks.what_differs(GPU + VALUES, theirs) == words


@pytest.mark.parametrize(
    ("seen", "local", "index"),
    [(1, "3", 0), (1, None, 0), (4, "3", 3), (4, None, 2), (0, "3", 3), (2, "3", None)],
)
def test_the_gpu_of_a_process_is_one_that_it_sees(seen, local, index, monkeypatch):
    cuda = SimpleNamespace(device_count=lambda: seen, current_device=lambda: 2 if seen > 1 else 0)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    if local is not None:
        monkeypatch.setenv("LOCAL_RANK", local)
    if index is not None:
        assert _ranks.Group.index(None) == index
        return
    with pytest.raises(sparsight.NoGpu, match="LOCAL_RANK is 3, and the process sees 2 GPUs") as refused:
        _ranks.Group.index(None)
    assert "cuda:N" in refused.value.hint


def test_a_missing_nccl_in_the_first_process_is_reported_by_all():
    said = processes(
        STAND_IN,
        """
        def missing():
            raise sparsight.NoGpu("no NCCL", "install it")
        _core.nccl_identity = missing
        tried(lambda: plan.prepare(ranks=True))
        """,
    )
    assert said[0].startswith("NoGpu no NCCL / install it") and said[1].startswith("SparsightError rank 0: no NCCL")


def test_processes_without_gpus_are_told_so_by_what_is_rust():
    said = processes(
        """
        device = "cuda:99" if rank == 0 else "cuda:98"
        tried(lambda: sparsight.plan(A, device="nvidia-h200").prepare(device, ranks=dist.group.WORLD))
        """
    )
    assert all(out.startswith("NoGpu ") for out in said), said


@pytest.mark.parametrize(
    ("how", "words", "hint"),
    [
        ({"ranks": True}, "no process group", "init_process_group"),
        ({"ranks": True, "devices": [0]}, "ranks take no devices", "leave them out"),
        ({"ranks": True, "try_": 2}, "ranks take no devices", "leave them out"),
    ],
)
def test_wrong_calls_say_what_to_do(how, words, hint, grid):
    with pytest.raises(sparsight.SparsightError, match=words) as refused:
        sparsight.plan(grid, device="nvidia-h200").prepare(**how)
    assert hint in refused.value.hint


def test_a_pair_is_not_dealt_out(grid):
    with pytest.raises(sparsight.SparsightError, match="not dealt out") as refused:
        sparsight.plan(grid, device="nvidia-h200", transpose=True).prepare(ranks=True)
    assert "A.T.tocsr" in refused.value.hint


def test_products_of_two_gpus_are_right(two_gpus, tmp_path):
    links = tmp_path / "links.toml"
    links.write_text(LINKS)
    processes(
        f"""
        import torch
        for recipe in ("stencil2d,n=60", "tall,rows=3000,cols=900", "wide,rows=300,cols=5000"):
            A = sparsight.gallery(recipe)
            op = sparsight.plan(A).prepare(ranks=True, links={str(links)!r})
            assert op.device == f"cuda:{{rank}}"
            x = np.random.default_rng(3).standard_normal(A.shape[1])
            for _ in range(3):
                assert abs(op @ x - A @ x).max() < 1e-9
            y = op.multiply(op.scatter(x), alpha=2.0)
            own = torch.as_tensor(y, device=y.device)
            assert abs(own.cpu().numpy() - 2 * (A @ x)[op.rows]).max() < 1e-9
        op.free()
        """
    )


def test_ranks_whose_values_differ_are_told_so_before_anything_is_run(two_gpus, tmp_path):
    links = tmp_path / "links.toml"
    links.write_text(LINKS)
    said = processes(
        f"""
        places, row_ptr = np.arange(3000), np.arange(3001)
        A = sparsight.Matrix((row_ptr, places, np.full(3000, 1.0 + rank), (3000, 3000)))
        tried(lambda: sparsight.plan(A).prepare(ranks=True, links={str(links)!r}))
        """
    )
    words = "SparsightError rank 1 has not planned what rank 0 has: the hash of the matrix' places and values is "
    assert all(out.startswith(words) for out in said), said
