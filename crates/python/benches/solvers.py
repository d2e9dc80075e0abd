"""Time of an iteration of CG, BiCGStab or PDHG on a GPU, beside the same written with other libraries, and as predicted.

    python solvers.py FOLDER_OR_MATRIX ... [--solver cg|bicgstab|pdhg] [--into FILE] [--seconds N] [--cusparse ./solvers_cusparse]
    python solvers.py --solver pdhg --end-to-end LPS ...        to a solution, too: see solvers_end_to_end.py
    python solvers.py --solver parts [--kernels csr-scalar,ell] MATRICES ...       a product with dot products, and an update, by themselves
    python solvers.py --summary FILE                            tables of what --into wrote

Matrices are files that sparsight reads, folders of such, or recipes of the gallery; of pdhg they are those of linear programs. For each:
microseconds an iteration, median of three rounds in turn. Ours are the examples beside this folder, with vectors of CuPy. Beside them:

    cupyx            cupyx.scipy.sparse.linalg.cg with CuPy's matrix, which waits for the host
    torch            as it is written in torch, with its CSR
    torch_graph      the same, captured into a CUDA graph
    torch_compile    the same with its updates compiled by torch.compile, captured into a CUDA graph
    cusparse_...     in CUDA, captured into a CUDA graph, by the program that --cusparse names: solvers_cusparse.cu beside this file

A competitor that fails is reported with its message. Of a matrix that is not positive definite the numbers of CG mean nothing; the time
is the same. `same bits`: vectors and scalars of three runs from the same start are equal bit by bit. `--device cpu` takes vectors of numpy.

With --into a line of JSON a matrix is appended to FILE, and matrices that it has are left out, so that a run which was stopped, or ended
by --seconds, is continued by the same command.
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import traceback

import numpy as np

import sparsight

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "examples"))

from solvers_end_to_end import in_all, iterations_to
from solvers_summary import records, summary

ROUNDS = 3
# Iterations of a graph.
LOOK = 20
# Seconds of a round, at least.
LEAST_S = 0.015


def timed(works, synchronize):
    """Microseconds an iteration of each, median over rounds in turn. A work does LOOK iterations."""
    counts, taken = {}, {name: [] for name in works}
    for name, work in works.items():
        for _ in range(2):
            work()
        synchronize()
        begun = time.perf_counter()
        work()
        synchronize()
        counts[name] = max(1, min(500, math.ceil(LEAST_S / max(time.perf_counter() - begun, 1e-7))))
    for _ in range(ROUNDS):
        for name, work in works.items():
            synchronize()
            begun = time.perf_counter()
            for _ in range(counts[name]):
                work()
            synchronize()
            taken[name].append(1e6 * (time.perf_counter() - begun) / (counts[name] * LOOK))
    return {name: statistics.median(times) for name, times in taken.items()}


class Works:
    """What is timed, by name. One that fails is kept with its message."""

    def __init__(self, device):
        self.works, self.failed, self._synchronize = {}, {}, lambda: None
        if device != "cpu":
            import cupy

            self._synchronize = cupy.cuda.Device().synchronize

    def add(self, name, make):
        try:
            work = make()
            work()
            self._synchronize()
            self.works[name] = work
        except Exception as why:
            self.failed[name] = f"{type(why).__name__}: {why}"[:600]
            traceback.print_exc(file=sys.stderr)

    def us(self):
        return timed(self.works, self._synchronize)


def many(work):
    """A function that works LOOK times."""

    def all_():
        for _ in range(LOOK):
            work()

    return all_


def states(solver):
    """All vectors and scalars of one of our solvers, as bytes."""
    found = []
    for _, value in sorted(vars(solver).items()):
        for array in value if isinstance(value, list) else [value]:
            if isinstance(array, np.ndarray) or hasattr(array, "__cuda_array_interface__"):
                found.append((array.get() if hasattr(array, "get") else array).tobytes())
    return b"".join(found)


def same_bits(solver):
    """True if three runs of 60 iterations from the same start end in the same bits."""
    ends = set()
    for _ in range(3):
        solver.start()
        for _ in range(3):
            solver.run()
        ends.add(states(solver))
    return len(ends) == 1


def put_on(device):
    """Puts an array of numpy where our solvers take it: in CuPy's, on the processor in itself."""
    if device == "cpu":
        return np.asarray
    import cupy

    return cupy.asarray


def measured(name, dtype, given, cusparse, seed=1):
    """The record of a matrix and a solver."""
    from bicgstab import BiCGStab
    from cg import CG
    from iterating import matrix_named
    from pdhg import PDHG, norm_of, program_of

    a, solver, is_lp = matrix_named(name, dtype), given.solver, given.solver == "pdhg"
    rng, put = np.random.default_rng(seed), put_on(given.device)
    plan = sparsight.plan(a, products=10**6, transpose=is_lp, iteration=solver)
    op = plan.prepare(given.device, try_=given.tries)
    line = described(name, a, solver, op, plan)
    try:
        advised = plan.advice[op.candidate]
        names = ("iteration_s", "iteration_low_s", "iteration_high_s", "in_products_s", "predicted_s")
        line["predicted_us"] = {name: 1e6 * getattr(advised, name) for name in names}
        line["launches"] = advised.launches
    except Exception as why:
        line["predicted_us"] = {"failed": repr(why)}

    if is_lp:
        data, _ = program_of(a, rng)
        line["candidate_transposed"] = op.T.candidate
        length = norm_of(op, put(data[0]))
        made = PDHG(op, *map(put, data), look=LOOK, length=length)
        line["iterations"] = iterations_to(made, given.tolerance, given.most)
        line["faults"], ours_x = made.faults(), on_host(made.x)
        system = [np.float64(0.99 / length), *data]
    else:
        data, length = rng.standard_normal(a.shape[0]).astype(dtype), None
        made = {"cg": CG, "bicgstab": BiCGStab}[solver](op, put(data), look=LOOK)
        made.start()
        made.run()
        line["iterations"], ours_x = LOOK, on_host(made.x)
        system = [data]
    line["same_bits"] = same_bits(made)
    made.start()

    works = Works(given.device)
    works.add("ours", lambda: made.run)
    for label, make in others(solver, a, data, length, given.device).items():
        works.add(label, make)
    works.add("product", lambda: product(op, put))
    if is_lp:
        works.add("product_transposed", lambda: product(op.T, put))
    line["us"], line["failed"] = works.us(), works.failed

    with tempfile.TemporaryDirectory() as folder:
        file = str(pathlib.Path(folder) / "system")
        command = None
        if cusparse:
            try:
                write_system(file, a, line["iterations"], system)
                told = cusparse.solve(file)
                line["us"] |= told["us"]
                line["cusparse"], line["variants"] = told["cusparse"], told["variants"]
                x = np.fromfile(file + ".x")[: a.shape[1]]
                line["difference"] = float(abs(x - ours_x).max() / (1 + abs(ours_x).max()))
                command = [*cusparse.command, "--variants", told["variants"], file]
            except Exception as why:
                line["failed"]["cusparse"] = f"{type(why).__name__}: {why}"[:600]
        if is_lp and given.end_to_end:
            line["end_to_end"] = in_all(a, data, length, line["iterations"], given.device, command)
    op.free()
    return line


def on_host(vector):
    return (vector.get() if hasattr(vector, "get") else vector).copy()


def described(name, a, solver, op, plan):
    facts = plan.advice.device
    return {
        "matrix": str(name),
        "dtype": a.dtype.name,
        "solver": solver,
        "device": facts["name"],
        "launch_us": 1e6 * facts["launch_s"],
        "rows": a.shape[0],
        "columns": a.shape[1],
        "nnz": int(a.nnz),
        "candidate": op.candidate,
    }


def product(op, put):
    """Products by themselves, as many in a graph."""
    from iterating import captured

    x, y = put(np.zeros(op.shape[1], op.dtype)), put(np.zeros(op.shape[0], op.dtype))
    return captured(many(lambda: op.matvec(x, out=y)), x)


def others(solver, a, data, length, device):
    """What makes each competitor, by name."""
    from iterating import captured

    kept = {}

    def put(array):
        import torch

        return torch.as_tensor(array, device=device)

    def torch_loop(form, like_written=False):
        import torch
        import solvers_in_torch as forms

        # Else matrices after the eighth would run as they are written.
        torch._dynamo.config.recompile_limit = 10_000
        if not kept:
            kept["a"] = forms.matrix_of(a, device)
            kept["turned"] = forms.matrix_of(a.T.tocsr(), device) if solver == "pdhg" else None
        multiply, how = kept["a"].__matmul__, torch.compile if form == "compile" else forms.as_it_is
        if solver == "pdhg":
            like = put(data[0])
            work = forms.pdhg(multiply, kept["turned"].__matmul__, [put(part) for part in data], 0.99 / length, how)[0]
        else:
            like = put(data)
            is_first = like_written and solver == "cg"
            work = forms.eager_cg(kept["a"], like) if is_first else getattr(forms, solver)(multiply, like, how)
        return work if like_written else captured(work, like)

    makers = {
        "torch": lambda: torch_loop("eager", like_written=True),
        "torch_graph": lambda: torch_loop("eager"),
        "torch_compile": lambda: torch_loop("compile"),
    }
    if solver == "cg" and device != "cpu":
        makers["cupyx"] = lambda: cupyx_cg(a, data)
    return makers


def cupyx_cg(a, b):
    import inspect

    import cupy
    import cupyx.scipy.sparse as csp
    from cupyx.scipy.sparse.linalg import cg

    a, b = csp.csr_matrix(a), cupy.asarray(b)
    how = {"rtol" if "rtol" in inspect.signature(cg).parameters else "tol": 0.0, "maxiter": LOOK}
    return lambda: cg(a, b, **how)


def parts(name, dtype, given):
    """Records of what an iteration is made of, of the best candidate of each kernel: a product, the same with one and with three dot
    products, as CG has them, and an update of next to nothing."""
    from iterating import captured, matrix_named

    a, put = matrix_named(name, dtype), put_on(given.device)
    plan = sparsight.plan(a, products=10**6, iteration="cg")
    for kernel in given.kernels.split(",") if given.kernels else [None]:
        best = next((one.id for one in plan.advice if one.kernel == kernel), None)
        if kernel and best is None:
            print(f"{name}: no candidate with {kernel}", file=sys.stderr)
            continue
        op, update = plan.prepare(given.device, candidate=best), sparsight.identity(256, given.device, a.dtype)
        line = described(name, a, "parts", op, plan)
        rng = np.random.default_rng(1)
        r, p, w = (put(rng.standard_normal(a.shape[0]).astype(dtype)) for _ in range(3))
        small, other, sums = put(np.ones(256, dtype)), put(np.ones(256, dtype)), put(np.zeros(3))
        works = Works(given.device)
        for label, work in {
            "product": lambda: op.matvec(r, out=w),
            "product_dots 1": lambda: op.matvec_dot(r, w, [r], dots=sums[:1]),
            "product_dots 3": lambda: op.matvec_dot(r, w, [r, (r, r), p], dots=sums),
            "update": lambda: update.matvec(small, out=other, epilogue="s + 0.5 * y[i]"),
        }.items():
            works.add(label, lambda work=work: captured(many(work), r))
        line["us"], line["failed"] = works.us(), works.failed
        op.free()
        yield line


class CuSparse:
    """The program solvers_cusparse, which is told names of files and answers each with a line."""

    def __init__(self, program, solver):
        self.command, self._running = [str(pathlib.Path(program).resolve()), "--solver", solver], None

    def solve(self, file):
        if self._running is None:
            self._running = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            self._running.stdin.write(f"{file}\n")
            self._running.stdin.flush()
            text = self._running.stdout.readline()
            if not text:
                raise RuntimeError(f"{self.command[0]} ended with {self._running.wait()}")
            told = json.loads(text)
            if "failed" in told:
                raise RuntimeError(told["failed"])
        except Exception:
            # Its context may be lost.
            self._running.kill()
            self._running.wait()
            self._running = None
            raise
        return told


def write_system(file, a, iterations, vectors):
    """Writes a matrix and the numbers of its system as solvers_cusparse.cu reads them."""
    with open(file, "wb") as out:
        np.array([*a.shape, a.nnz, iterations], np.int64).tofile(out)
        a.indptr.astype(np.int32).tofile(out)
        a.indices.astype(np.int32).tofile(out)
        for numbers in [a.data, *vectors]:
            np.asarray(numbers, np.float64).tofile(out)


def text_of(line):
    us = line["us"]
    text = f"{line['matrix']} {line['solver']} {line['dtype']} {line['candidate']}: " + ", ".join(f"{name} {us[name]:.2f}" for name in us) + " us"
    if "predicted_us" in line:
        predicted, mine = line["predicted_us"].get("iteration_s", math.nan), us.get("ours", math.nan)
        text += f"; predicted {predicted:.2f} ({predicted / mine:.2f}); same bits {line['same_bits']}"
    for loop, one in line.get("end_to_end", {}).items():
        text += f"\n    {loop}: {one.get('failed') or seconds_of(one)}"
    return text + "".join(f"\n    {name} failed: {why.splitlines()[0]}" for name, why in line["failed"].items())


def seconds_of(one):
    return f"{one['prepare_s']:.3f} + {one['iterations_s']:.3f} s, faults {max(one['faults']):.1e}, differs by {one['difference']:.1e}"


def matrices(names):
    endings = (".mtx", ".mtx.gz", ".tar.gz", ".npz")
    for name in names:
        path = pathlib.Path(name)
        if path.is_dir():
            yield from (str(file) for file in sorted(path.rglob("*")) if file.name.endswith(endings))
        else:
            yield name


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("matrices", nargs="*")
    flags.add_argument("--solver", default="cg", choices=["cg", "bicgstab", "pdhg", "parts"])
    flags.add_argument("--dtype", default="f64", choices=["f32", "f64"])
    flags.add_argument("--device", default="cuda:0", help="cuda:0, or cpu with vectors of numpy (default: %(default)s)")
    flags.add_argument("--try", dest="tries", type=int, default=1, help="candidates that are tried (default: %(default)s)")
    flags.add_argument("--kernels", help="with --solver parts: csr-scalar,ell; by default that of the first candidate")
    flags.add_argument("--cusparse", metavar="PROGRAM", help="solvers_cusparse; f64 alone")
    flags.add_argument("--end-to-end", action="store_true", help="with --solver pdhg: seconds to a solution, each loop in a process of its own")
    flags.add_argument("--tolerance", type=float, default=1e-3, help="of pdhg, for the relative faults of a solution (default: %(default)s)")
    flags.add_argument("--most", type=int, default=20_000, help="of pdhg, iterations at most (default: %(default)s)")
    flags.add_argument("--seconds", type=float, default=math.inf, help="begins no further matrix after so many")
    flags.add_argument("--into", metavar="FILE", help="appends a line of JSON for each matrix that FILE has not")
    flags.add_argument("--summary", metavar="FILE")
    given = flags.parse_args()
    if given.summary:
        return summary(given.summary)
    if given.cusparse and given.dtype != "f64":
        flags.error("--cusparse computes in f64: leave out --dtype f32")
    if given.end_to_end and given.solver != "pdhg":
        flags.error("--end-to-end is of linear programs: give --solver pdhg")
    dtype = np.float32 if given.dtype == "f32" else np.float64
    done = records(given.into) if given.into and pathlib.Path(given.into).exists() else []
    done = {(line["matrix"], line["solver"], line["dtype"]) for line in done}
    left = [name for name in matrices(given.matrices) if (name, given.solver, np.dtype(dtype).name) not in done]
    cusparse = CuSparse(given.cusparse, given.solver) if given.cusparse and given.solver != "parts" else None
    begun = time.perf_counter()
    for at, name in enumerate(left):
        if time.perf_counter() - begun > given.seconds:
            print(f"{len(left) - at} of {len(left)} matrices left after {given.seconds:g} s", file=sys.stderr)
            break
        started = time.perf_counter()
        try:
            lines = list(parts(name, dtype, given)) if given.solver == "parts" else [measured(name, dtype, given, cusparse)]
        except Exception as why:
            print(f"{name}: {type(why).__name__}: {why}", file=sys.stderr, flush=True)
            traceback.print_exc(file=sys.stderr)
            continue
        for line in lines:
            line["took_s"] = time.perf_counter() - started
            print(text_of(line), flush=True)
            if given.into:
                with open(given.into, "a") as out:
                    out.write(json.dumps(line) + "\n")
    return None


if __name__ == "__main__":
    sys.exit(main())
