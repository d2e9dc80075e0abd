"""What the solvers beside this file share: arrays of any library, and iterations captured into a CUDA graph."""

import argparse
import pathlib
import sys

import numpy as np
import sparsight


def library_of(array):
    """The module of an array: numpy, cupy or torch."""
    return sys.modules[type(array).__module__.partition(".")[0]]


def is_on_gpu(array):
    return getattr(array, "is_cuda", library_of(array).__name__ == "cupy")


def zeros(like, length=None, dtype=None):
    """Zeros where ``like`` is, by default as many and of its type; ``dtype="float64"`` for scalars."""
    library, length = library_of(like), len(like) if length is None else length
    if library.__name__ == "torch":
        return like.new_zeros(length, dtype=getattr(library, dtype) if dtype else None)
    return library.zeros(length, dtype or like.dtype)


def beside(like, numbers):
    """An array of numpy where ``like`` is."""
    library = library_of(like)
    return library.as_tensor(numbers, device=like.device) if library.__name__ == "torch" else library.asarray(numbers)


def norm(v):
    """Euclidean norm; waits for the GPU."""
    return float((v * v).sum()) ** 0.5


def ratio(a, b):
    """``a / b`` in a line, and 0 for b = 0: a step of an iteration that has converged."""
    return f"({b} != 0 ? {a} / {b} : 0)"


def captured(work, like):
    """``work`` as a function without arguments: where its vectors lie on a GPU, a CUDA graph of it.

    It is called once before, so that all kernels are compiled: what it changes is to be set afterwards. It may not wait for the GPU
    nor make arrays.
    """
    if not is_on_gpu(like):
        return work
    library = library_of(like)
    if library.__name__ == "cupy":
        stream = library.cuda.Stream(non_blocking=True)
        with stream:
            work()
            stream.synchronize()
            stream.begin_capture()
            work()
            graph = stream.end_capture()
        # In the stream that is current when it is called.
        # With what it names, which has to live as long.
        return lambda _kept=work: graph.launch(library.cuda.get_current_stream())
    with library.cuda.device(like.device):
        stream = library.cuda.Stream()
        stream.wait_stream(library.cuda.current_stream())
        with library.cuda.stream(stream):
            work()
        library.cuda.current_stream().wait_stream(stream)
        library.cuda.synchronize()
        graph = library.cuda.CUDAGraph()
        with library.cuda.graph(graph, capture_error_mode="thread_local"):
            work()
    return lambda _kept=work: graph.replay()


def arguments(description, matrix):
    """The command line of an example: a matrix, where it runs and whose vectors it takes."""
    flags = argparse.ArgumentParser(description=description)
    flags.add_argument("matrix", nargs="?", default=matrix, help="a file, or a recipe of the gallery: %(default)s")
    flags.add_argument("--device", default="cpu", help="cpu or cuda:0 (default: %(default)s)")
    flags.add_argument("--vectors", default="numpy", choices=["numpy", "cupy", "torch"])
    return flags


def matrix_named(name, dtype=np.float64):
    """A matrix of a file or of the gallery, as scipy has it."""
    return sparsight.read(name, dtype) if pathlib.Path(name).exists() else sparsight.gallery(name, dtype)


def put(array, given):
    """An array of numpy where the command line says."""
    if given.vectors == "numpy":
        return array
    if given.vectors == "cupy":
        import cupy

        return cupy.asarray(array)
    import torch

    return torch.as_tensor(array, device=given.device)


def solve(solver, rtol, most):
    """Runs a solver until its residual is ``rtol`` times the norm of b: x and the number of iterations."""
    limit = rtol * norm(solver.b)
    solver.start()
    for done in range(solver.look, most + solver.look, solver.look):
        solver.run()
        if norm(solver.r) <= limit:
            return solver.x, done
    raise RuntimeError(f"not within {rtol} after {most} iterations")


def show(solve, name, given):
    """Solves A x = A 1 and says how."""
    a = matrix_named(given.matrix)
    advice = sparsight.advise(a, iteration=name)
    op = sparsight.plan(a, iteration=name).prepare(given.device)
    b = put(a @ np.ones(a.shape[1]), given)
    x, iterations = solve(op, b)
    print(f"{op!r}: {iterations} iterations, residual {norm(b - op @ x) / norm(b):.1e}")
    print(f"predicted on {advice.device['name']}: {1e6 * advice.best.iteration_s:.2f} us an iteration with {advice.best.id}")
