"""Seconds of PDHG from a linear program in the host's memory to its solution.

Each loop runs in a process of its own that has compiled nothing: libraries are imported and a GPU has its context, then the clock starts.
`prepare_s` is all that comes before the iterations: choosing, converting and compiling of ours; the CSR, the transposed CSR, compiling and
capturing in torch; handles, A^T, preprocessing and capturing of cuSPARSE. "again" is a second process, which finds on disk what the first
compiled. All loops take the same steps, as many of them, from the same start.
"""

import json
import multiprocessing
import os
import pathlib
import subprocess
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np

LOOK = 20
# Loops by the name of a column; of those that compile, "again" takes the same folders.
LOOPS = ("ours", "ours_again", "torch", "torch_graph", "torch_compile", "torch_compile_again")
# Where libraries keep what they have compiled.
CACHES = ("SPARSIGHT_CACHE", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
# Imported once for all processes. Compilers of torch are not: they would start processes of their own, for all.
IMPORTED = ["numpy", "scipy.sparse", "sparsight", "torch"]


def iterations_to(solver, tolerance, most, step=200):
    """Iterations after which no fault of a solver is above `tolerance`, looked at every `step`; at most `most`."""
    solver.start()
    for done in range(step, most + 1, step):
        for _ in range(step // solver.look):
            solver.run()
        if max(solver.faults()) <= tolerance:
            return done
    return most


def in_all(a, program, length, iterations, device, cusparse=None):
    """Of each loop `prepare_s`, `iterations_s`, its `faults` and the `difference` of its x from that of ours, relative to the largest entry;
    or `failed`. `cusparse`: a command that solves the same."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for loop in LOOPS:
            caches = {name: os.path.join(folder, loop.removesuffix("_again"), name) for name in CACHES}
            found[loop] = _tried(lambda: _in_new_process(_run, loop.removesuffix("_again"), a, program, length, iterations, device, caches))
    if cusparse:
        found["cusparse"] = _tried(lambda: _by_cusparse(cusparse, a.shape))
    reference = found["ours"].get("x")
    for one in found.values():
        if "x" in one:
            x, y = one.pop("x"), one.pop("y")
            one["faults"] = _faults(a, program, length, x, y)
            one["difference"] = float(abs(x - reference).max() / (1 + abs(reference).max())) if reference is not None else None
    return found


def _tried(work):
    try:
        return work()
    except Exception as why:
        return {"failed": f"{type(why).__name__}: {why}"[:600]}


def _in_new_process(function, *arguments):
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *arguments).result()


def _faults(a, program, length, x, y):
    from pdhg import PDHG

    solver = PDHG(a, *program, look=LOOK, length=length)
    solver.x, solver.y = x, y
    return solver.faults()


def _by_cusparse(command, shape):
    done = subprocess.run(command, capture_output=True, text=True)
    told = json.loads(done.stdout or "{}")
    if "prepare_s" not in told:
        raise RuntimeError(told.get("failed") or done.stderr[-300:] or f"ended with {done.returncode}")
    both = np.fromfile(f"{command[-1]}.x")
    x, y = both[: shape[1]], both[shape[1] :]
    return {"prepare_s": told["prepare_s"], "iterations_s": told["iterations_s"], "x": x, "y": y}


def _run(loop, a, program, length, iterations, device, caches):
    for name, folder in caches.items():
        # That of sparsight has to be this user's alone.
        pathlib.Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        os.environ[name] = folder
    on_gpu = device != "cpu"
    if on_gpu or loop != "ours":
        import torch

        torch.zeros(1, device=device)

        def put(array):
            return torch.as_tensor(array, device=device)

        if loop == "torch_compile":
            import torch._inductor.compile_fx

            if on_gpu:
                import triton  # noqa: F401

    def wait():
        if on_gpu:
            torch.cuda.synchronize()

    wait()
    begun = time.perf_counter()
    if loop == "ours":
        run, x, y = _ours(a, program, length, iterations, device, put if on_gpu else np.copy)
    else:
        run, x, y = _in_torch(loop, a, [put(part) for part in program], 0.99 / length, device)
    wait()
    prepared = time.perf_counter()
    for _ in range(iterations // LOOK):
        run()
    wait()
    ended = time.perf_counter()
    x, y = (vector if isinstance(vector, np.ndarray) else vector.cpu().numpy() for vector in (x, y))
    return {"prepare_s": prepared - begun, "iterations_s": ended - prepared, "x": x, "y": y}


def _ours(a, program, length, iterations, device, put):
    import sparsight
    from pdhg import PDHG

    op = sparsight.plan(a, products=iterations, transpose=True, iteration="pdhg").prepare(device)
    solver = PDHG(op, *map(put, program), look=LOOK, length=length)
    solver.start()
    return solver.run, solver.x, solver.y


def _in_torch(loop, a, program, step, device):
    import torch
    from iterating import captured
    from solvers_in_torch import as_it_is, matrix_of, pdhg

    on_torch, turned = matrix_of(a, device), matrix_of(a.T.tocsr(), device)
    compiled = torch.compile if loop == "torch_compile" else as_it_is
    run, x, y = pdhg(on_torch.__matmul__, turned.__matmul__, program, step, compiled)
    if loop != "torch":
        # Compiles what is to be captured.
        run()
        run = captured(run, x)
        x.zero_()
        y.zero_()
    return run, x, y
