"""The examples of solvers: they solve, and launch and move what is predicted of them."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

import sparsight

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"
sys.path.insert(0, str(EXAMPLES))

import bicgstab as of_bicgstab
import cg as of_cg
import pdhg as of_pdhg


class Recorded:
    """An operator that counts launches, and the bytes of vectors that they read and write beside a product."""

    def __init__(self, op, is_update=False):
        self.op, self.shape, self.dtype, self.device, self.launches, self.bytes = op, op.shape, op.dtype, op.device, 0, 0
        # An update reads x and writes y as well, which a product does anyway.
        self.beside = 2 if is_update else 0

    def _count(self, lines, outputs, vectors):
        self.launches += 1
        text = " ".join([*lines, *outputs.values()])
        read = vectors + sum(f"{name}[i]" in text for name in ("y", *outputs))
        self.bytes += (self.beside + read + len(outputs)) * self.shape[0] * self.dtype.itemsize

    def matvec(self, x, out=None, epilogue="s", outputs=None, **operands):
        read = [name for name in operands if f"{name}[i]" in " ".join([epilogue, *(outputs or {}).values()]) and name not in (outputs or {})]
        self._count([epilogue], outputs or {}, len(read))
        return self.op.matvec(x, out, epilogue=epilogue, outputs=outputs, **operands)

    def matvec_dot(self, x, out, with_, dots=None):
        # y is at hand; x at the row, and other vectors, are read once each.
        factors = [factor for one in with_ for factor in (one if isinstance(one, tuple) else (one,))]
        self._count([], {}, len({id(factor) for factor in factors if not isinstance(factor, str)}))
        return self.op.matvec_dot(x, out, with_, dots=dots)

    @property
    def T(self):
        if not hasattr(self, "_turned"):
            self._turned = Recorded(self.op.T)
        return self._turned


@pytest.mark.parametrize("name", ["cg", "bicgstab", "pdhg"])
def test_an_iteration_launches_and_moves_what_is_predicted(name, rng):
    is_lp = name == "pdhg"
    a = sparsight.gallery("tall,rows=400,cols=120,row=3" if is_lp else "stencil2d,n=30")
    recorded = Recorded(sparsight.plan(a, transpose=is_lp).prepare("cpu"))
    if is_lp:
        program, _ = of_pdhg.program_of(a, rng)
        solver, parts = of_pdhg.PDHG(recorded, *program, look=2, length=1.0), [recorded, recorded.T]
    else:
        make = {"cg": of_cg.CG, "bicgstab": of_bicgstab.BiCGStab}[name]
        solver = make(recorded, rng.standard_normal(900), look=2)
        solver.update = Recorded(solver.update, is_update=True)
        parts = [recorded, solver.update]
    solver.start()
    solver.run()
    predicted = sparsight.advise(a, device="nvidia-h200", iteration=name)
    one = next(one for one in predicted if one.kernel == "csr-vector")
    assert one.launches == sum(part.launches for part in parts) / 2
    assert one.vector_bytes == sum(part.bytes for part in parts) / 2
    # Whose kernel takes no epilogue launches once more after each product.
    behind = next(one for one in predicted if one.vendor)
    assert behind.launches == one.launches + recorded.launches / 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cg_solves(dtype):
    a = sparsight.gallery("stencil2d,n=30", dtype)
    op = sparsight.plan(a, iteration="cg").prepare("cpu")
    tolerance = 1e-5 if dtype == np.float32 else 1e-10
    x, iterations = of_cg.cg(op, a @ np.ones(900, dtype), rtol=tolerance)
    assert abs(x - 1).max() < 1e3 * tolerance and 20 <= iterations <= 200
    assert x.dtype == dtype


def test_bicgstab_solves_what_is_not_symmetric(rng):
    import scipy.sparse as sp

    a = sparsight.gallery("stencil2d,n=30") + sp.diags_array(0.3 * rng.standard_normal(899), offsets=1)
    op = sparsight.plan(a.tocsr(), iteration="bicgstab").prepare("cpu")
    x, iterations = of_bicgstab.bicgstab(op, a @ np.ones(900), rtol=1e-10)
    assert abs(x - 1).max() < 1e-6 and 20 <= iterations <= 200


def test_pdhg_comes_to_the_least_value(rng):
    a = sparsight.gallery("lp,rows=60,cols=150,row=5,dense_rows=0,dense_cols=0")
    op = sparsight.plan(a, iteration="pdhg", transpose=True).prepare("cpu")
    program, least = of_pdhg.program_of(a, rng)
    solver = of_pdhg.PDHG(op, *program, look=500)
    solver.start()
    for _ in range(100):
        solver.run()
        if max(solver.faults()) < 1e-4:
            break
    faults = solver.faults()
    assert max(faults) < 1e-4, faults
    assert abs(solver.c @ solver.x - least) <= 1e-3 * (1 + abs(least))


def test_the_same_solver_has_the_same_bits(rng):
    a = sparsight.gallery("stencil2d,n=30")
    solver = of_cg.CG(sparsight.plan(a).prepare("cpu"), rng.standard_normal(900))
    ends = set()
    for _ in range(3):
        solver.start()
        solver.run()
        ends.add(solver.x.tobytes() + solver.r.tobytes())
    assert len(ends) == 1


def test_iterations_that_have_converged_change_nothing():
    a = sparsight.gallery("stencil2d,n=30")
    for make in (of_cg.CG, of_bicgstab.BiCGStab):
        solver = make(sparsight.plan(a).prepare("cpu"), np.zeros(900))
        solver.start()
        solver.run()
        assert (solver.x == 0).all() and np.isfinite(solver.r).all()


@pytest.mark.parametrize("name", ["cg", "bicgstab", "pdhg"])
def test_examples_run_as_programs(name):
    few = ["--iterations", "40"] if name == "pdhg" else []
    ran = subprocess.run([sys.executable, str(EXAMPLES / f"{name}.py"), *few], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    assert "on cpu" in ran.stdout, ran.stdout


@pytest.mark.parametrize("name", ["cupy", "torch"])
def test_solvers_on_a_gpu_in_graphs(name, request, rng):
    library = request.getfixturevalue(name)
    put = library.asarray if name == "cupy" else lambda array: library.as_tensor(array, device="cuda:0")
    a = sparsight.gallery("stencil2d,n=60")
    b = put(a @ np.ones(3600))
    for solve, iteration in ((of_cg.cg, "cg"), (of_bicgstab.bicgstab, "bicgstab")):
        op = sparsight.plan(a, device="nvidia-h200", iteration=iteration).prepare("cuda:0")
        x, _ = solve(op, b, rtol=1e-10)
        assert float(abs(x - 1).max()) < 1e-6
    program, _ = of_pdhg.program_of(a, rng)
    op = sparsight.plan(a, device="nvidia-h200", iteration="pdhg", transpose=True).prepare("cuda:0")
    solver = of_pdhg.PDHG(op, *(put(part) for part in program))
    solver.start()
    for _ in range(20):
        solver.run()
    host = of_pdhg.PDHG(sparsight.plan(a, transpose=True).prepare("cpu"), *program, length=0.99 / solver.tau)
    host.start()
    for _ in range(20):
        host.run()
    there = solver.x.get() if name == "cupy" else solver.x.cpu().numpy()
    assert abs(there - host.x).max() < 1e-6 * (1 + abs(host.x).max())
