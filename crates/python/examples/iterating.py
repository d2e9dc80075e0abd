"""What the solvers beside this file share: updates of vectors in one launch, and iterations captured into a CUDA graph.

Vectors are arrays of numpy, CuPy or torch. With those of torch on a GPU an update is compiled by CuPy, if that is installed; without,
each of its lines is some operations of torch.
"""

import re
import sys

import numpy as np


def library_of(array):
    """``"numpy"``, ``"cupy"`` or ``"torch"``, and whether the array lies on a GPU."""
    name = type(array).__module__.partition(".")[0]
    return name, name == "cupy" or name == "torch" and array.is_cuda


def zeros(like, length=None, dtype=None):
    """Zeros beside ``like``, by default as many and of its type; ``dtype="float64"`` for scalars."""
    name, _ = library_of(like)
    length = len(like) if length is None else length
    if name == "torch":
        return like.new_zeros(length, dtype=getattr(sys.modules["torch"], dtype) if dtype else None)
    return sys.modules[name].zeros(length, dtype or like.dtype)


def ratio(a, b):
    """a / b, and 0 for b = 0: steps of an iteration that has converged."""
    return a / b if b != 0 else a * 0


def ratio_on_gpu(a, b):
    """The same of tensors, without a look at them."""
    return a / b.where(b != 0, 1) * (b != 0)


# The same in CUDA.
RATIO = "static __device__ __forceinline__ double ratio(double a, double b) { return b != 0.0 ? a / b : 0.0; }\n"


def statements(text):
    return [line.strip() for line in text.split(";") if line.strip()]


class Update:
    """Updates of vectors entry by entry, in one launch on a GPU.

    Parameters
    ----------
    scalars : str
        ``"beta = ratio(new[0], old[0])"``: numbers by name, from arrays of float64; several are separated by semicolons.
    lines : str
        ``"p = r + beta * p; x = x + alpha * p"``: the vectors, in this order; a later line sees the new p.
    keeps : dict
        Arrays that get a scalar at ``[0]``: ``{"next": "alpha"}``.

    Examples
    --------
    >>> update = Update("beta = ratio(new[0], old[0])", "p = r + beta * p")
    >>> p, r = np.array([1.0, 2.0]), np.array([3.0, 3.0])
    >>> update(p=p, r=r, new=np.array([1.0]), old=np.array([2.0]))
    >>> p
    array([3.5, 4. ])
    """

    def __init__(self, scalars, lines, keeps=None):
        self.scalars, self.lines, self.keeps = scalars, lines, keeps or {}
        self.numbers = re.findall(r"(\w+) *=", scalars)
        self.writes = list(dict.fromkeys(re.findall(r"(\w+) *=", lines)))
        self.arrays = sorted(set(re.findall(r"(\w+)\[", scalars)))
        words = dict.fromkeys(re.findall(r"[a-zA-Z_]\w*", re.sub(r"\w+ *=", "", lines)))
        self.reads = [name for name in words if name not in self.numbers]
        self._plain = compile("\n".join(statements(f"{scalars};{lines}")), "update", "exec")
        self._kernels = {}

    def __call__(self, **operands):
        name, on_gpu = library_of(operands[self.writes[0]])
        if on_gpu and name == "cupy":
            return self._launch(sys.modules["cupy"], operands)
        if on_gpu and (cupy := cupy_if_there()):
            torch = sys.modules["torch"]
            with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
                return self._launch(cupy, {name: cupy.asarray(array.detach()) for name, array in operands.items()})
        # The same lines as Python, with whole arrays; what they make is stored at the end.
        made = dict(operands)
        exec(self._plain, {"ratio": ratio_on_gpu if on_gpu else ratio}, made)
        for name in self.writes:
            operands[name][...] = made[name]
        for name, scalar in self.keeps.items():
            operands[name][0] = made[scalar]
        return None

    def _launch(self, cupy, operands):
        kernel = self._kernels.get(cupy)
        if kernel is None:
            only_read = [name for name in self.reads if name not in self.writes]
            given = [f"T {name}" for name in only_read] + [f"raw float64 {name}" for name in self.arrays]
            written = [f"T {name}" for name in self.writes] + [f"raw float64 {name}" for name in self.keeps]
            text = "".join(f"const double {line};\n" for line in statements(self.scalars))
            text += "".join(f"{line};\n" for line in statements(self.lines))
            text += "".join(f"if (i == 0) {name}[0] = {scalar};\n" for name, scalar in self.keeps.items())
            kernel = cupy.ElementwiseKernel(", ".join(given), ", ".join(written), text, "update", preamble=RATIO)
            self._kernels[cupy] = (kernel, [*only_read, *self.arrays, *self.writes, *self.keeps])
        kernel, names = self._kernels[cupy]
        kernel(*(operands[name] for name in names))


def cupy_if_there():
    try:
        import cupy
    except ImportError:
        return None
    return cupy


def captured(work, like):
    """``work``, as a CUDA graph where its vectors lie on a GPU: a function without arguments that does the same.

    ``work`` is called once or twice before, so that all kernels are compiled: what it changes is to be set afterwards. It may not
    wait for the GPU nor make arrays.
    """
    name, on_gpu = library_of(like)
    if not on_gpu:
        return work
    if name == "cupy":
        cupy = sys.modules["cupy"]
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            work()
            stream.synchronize()
            stream.begin_capture()
            work()
            graph = stream.end_capture()
        # In the stream that is current when it is called.
        return lambda: graph.launch(cupy.cuda.get_current_stream())
    torch = sys.modules["torch"]
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        work()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        work()
    return graph.replay


def norm(v):
    """Euclidean norm; waits for the GPU."""
    return float((v * v).sum()) ** 0.5


def arguments(description, **defaults):
    """The command line of an example: a matrix, where it runs and whose vectors it takes."""
    import argparse

    flags = argparse.ArgumentParser(description=description)
    flags.add_argument("matrix", nargs="?", default=defaults["matrix"], help="a file, or a recipe of the gallery: %(default)s")
    flags.add_argument("--device", default="cpu", help="cpu or cuda:0 (default: %(default)s)")
    flags.add_argument("--vectors", default="numpy", choices=["numpy", "cupy", "torch"])
    return flags


def matrix_named(name):
    """A matrix of a file or of the gallery, as scipy has it."""
    import pathlib

    import sparsight

    return sparsight.read(name).tocsr() if pathlib.Path(name).exists() else sparsight.gallery(name)


def beside(like, numbers):
    """An array of numpy where ``like`` is."""
    name, _ = library_of(like)
    return sys.modules["torch"].as_tensor(numbers, device=like.device) if name == "torch" else sys.modules[name].asarray(numbers)


def on(device, vectors, array):
    """The same numbers where products take them."""
    if vectors == "numpy":
        return np.ascontiguousarray(array)
    if vectors == "cupy":
        import cupy

        return cupy.asarray(array)
    import torch

    return torch.as_tensor(array, device="cpu" if device == "cpu" else device)
