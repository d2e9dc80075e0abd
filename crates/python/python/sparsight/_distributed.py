"""A matrix on several GPUs, ready for products."""

from __future__ import annotations

import json
from typing import Any, Self

import numpy as np

from . import _vectors
from ._errors import BadVector, SparsightError
from ._on_gpus import OnGpus
from ._products import Products, of_column

__all__ = ["DistributedOperator", "OnSeveralGpus", "Piece", "on_host"]


class Piece:
    """The entries of a vector that one GPU owns: memory there, which CuPy, torch and Numba look at without a copy.

    ``cupy.asarray(piece)`` and ``torch.as_tensor(piece, device=piece.device)`` are arrays of it, and keep it. Which entries of the
    vector they are is the operator's business: those of all its vectors are in the same order, so that sums, factors and dot
    products, piece by piece and then over all pieces, are those of the vectors.
    """

    __slots__ = ("_core",)

    def __init__(self, core):
        self._core = core

    @property
    def device(self) -> str:
        """``"cuda:N"``."""
        return f"cuda:{self._core.index}"

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64, as numpy names it."""
        return np.dtype(np.float32 if self._core.dtype == "f32" else np.float64)

    @property
    def shape(self) -> tuple[int]:
        """Number of entries."""
        return (len(self._core),)

    def __len__(self) -> int:
        return len(self._core)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3, of no stream: what the operator has written is there when its call returns."""
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._core.address, False),
            "strides": None,
            "version": 3,
        }

    def __repr__(self):
        return f"<sparsight.Piece of {len(self):,} entries, {self.dtype} on {self.device}>"


class OnSeveralGpus(Products):
    """A matrix whose rows are dealt out to GPUs, of one process or of several."""

    # How A^T is prepared.
    _of_its_own: str

    def __init__(self, core, matrix):
        super().__init__(matrix.dtype, matrix.shape)
        self._core, self._index, self._nnz = core, None, matrix.nnz
        self._predicted = None

    @property
    def nnz(self) -> int:
        """Non-zeros of the whole matrix."""
        return self._nnz

    @property
    def preparation_s(self) -> float:
        """Seconds of conversion and upload, of the GPU of this process where they took longest."""
        return self._core.preparation_s

    @property
    def predicted(self) -> OnGpus:
        """Prediction: the time with its interval, the limit, the exchange, and the share of each GPU."""
        if self._predicted is None:
            self._predicted = OnGpus(json.loads(self._core.planned_json)["gpus"][0])
        return self._predicted

    @property
    def predicted_s(self) -> float:
        """Seconds of one product with vectors that stay on the GPUs."""
        return self.predicted.predicted_s

    def rmatvec(self, x: Any) -> Any:
        """Not supported: plan A^T as a matrix of its own."""
        raise self._no_transpose()

    def rmatmat(self, X: Any) -> Any:
        """Not supported: plan the transpose as a matrix of its own."""
        raise self._no_transpose()

    def _adjoint(self):
        raise self._no_transpose()

    def _transpose(self):
        raise self._no_transpose()

    @classmethod
    def _no_transpose(cls, instead=""):
        return SparsightError("A^T is not dealt out with A", instead + cls._of_its_own)

    def matvec_dot(self, *_: Any, **__: Any) -> Any:
        """Not supported: dot products are sums over those of the pieces."""
        raise self._no_epilogue()

    def _refuse(self, epilogue, outputs, operands):
        if epilogue is not None or outputs is not None:
            raise self._no_epilogue()
        for name in operands:
            raise TypeError(f"matvec() got an unexpected keyword argument {name!r}")

    def _no_epilogue(self):
        return SparsightError(
            "epilogues and dot products are computed on one GPU, and not on several",
            "multiply() gives the pieces of y: update each with CuPy or torch, and add up their dot products",
        )

    def free(self) -> None:
        """Gives the memory of the matrix back now, on all its GPUs; also at the end of ``with op:``. Pieces keep theirs. Of several
        processes, all do it.
        """
        self._core.free()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()


class DistributedOperator(OnSeveralGpus):
    """A matrix of which each GPU has some rows, ``op @ x`` with vectors of numpy or of torch on the host.

    x is dealt out, multiplied and y gathered; what GPUs need of each other goes over NCCL. It is a
    ``scipy.sparse.linalg.LinearOperator``. Vectors that stay on the GPUs are lists with a :class:`Piece` for each:

    >>> xs = op.scatter(x)                          # doctest: +SKIP
    >>> ys = op.multiply(xs)                        # doctest: +SKIP
    >>> y = op.gather(ys)                           # doctest: +SKIP

    Several threads may multiply, with one operator or with several: products on several GPUs come one after the other.
    """

    _takes_from_gpus = "scatter(x) takes a vector on the host to the GPUs, multiply(xs) works on what lies there"

    _of_its_own = "plan(A.T.tocsr()).prepare(devices=...) is an operator of its own"

    @property
    def devices(self) -> tuple[str, ...]:
        """GPUs in the order of the pieces: ``("cuda:0", "cuda:1")``."""
        return tuple(f"cuda:{index}" for index in self._core.indexes)

    @property
    def device(self) -> str:
        """All of them in one text."""
        return ", ".join(self.devices)

    @property
    def memory_bytes(self) -> tuple[int, ...]:
        """Memory of the matrix on each GPU, with buffers of the exchange, without x and y, in bytes."""
        return tuple(self._core.memory_bytes)

    def matvec(
        self, x: Any, out: Any = None, alpha: float = 1.0, beta: float = 0.0, *, epilogue: Any = None, outputs: Any = None, **operands: Any
    ) -> Any:
        """y = alpha A x + beta y with vectors on the host; an ``epilogue`` is refused.

        Parameters
        ----------
        x : array
            ``(columns,)``, contiguous, of the operator's value type: of numpy, or of torch on the host.
        out : array, optional
            y, of the same kind; it may hold anything unless ``beta`` is given. A new one without.
        alpha, beta : float

        Returns
        -------
        array
            ``out``, or the new y.

        Raises
        ------
        BadVector
            Which vector does not fit, and why; nothing was launched.
        SparsightError
            A GPU that failed, or did not do its part within a minute: the operator cannot be used any more.
        """
        self._refuse(epilogue, outputs, operands)
        if getattr(x, "ndim", 1) == 2 and x.shape[1] == 1:
            return of_column(x, lambda vector: self.matvec(vector, out, alpha, beta))
        return _vectors.kind_of(x).multiply(self, x, out, alpha, beta, None)

    def zeros(self) -> list[Piece]:
        """An x that stays on the GPUs, all 0: a :class:`Piece` for each."""
        return [Piece(one) for one in self._core.zeros(True)]

    def scatter(self, x: Any) -> list[Piece]:
        """Brings each entry of an x to the GPU that owns it.

        Parameters
        ----------
        x : numpy.ndarray
            ``(columns,)``, contiguous, of the operator's value type.

        Returns
        -------
        list of Piece
            One for each GPU; if the matrix is square, a y, too.
        """
        x = on_host("x", x)
        _vectors.Numpy.check("x", x, self.shape[1], self)
        return [Piece(one) for one in self._core.scatter(x)]

    def multiply(
        self, xs: list[Piece], out: list[Piece] | None = None, alpha: float = 1.0, beta: float = 0.0
    ) -> list[Piece]:
        """y = alpha A x + beta y with vectors that stay on the GPUs.

        Waits for everything that is queued on these GPUs before, in whatever stream, and then until the product is done: the
        caller needs no stream to write and read pieces. Without ``out`` memory is allocated.

        Parameters
        ----------
        xs : list of Piece
            From :meth:`zeros`, :meth:`scatter`, or, if the matrix is square, from here.
        out : list of Piece, optional
            y: from here, or, if the matrix is square, any but ``xs``. It may hold anything unless ``beta`` is given.
        alpha, beta : float

        Returns
        -------
        list of Piece
            ``out``, or the new y.
        """
        pieces = _cores("xs", xs)
        if out is None:
            if refused := _vectors.new_refused(beta, None):
                raise refused
            out = [Piece(one) for one in self._core.zeros(False)]
        self._core.multiply(pieces, _cores("out", out), alpha, beta)
        return out

    def gather(self, pieces: list[Piece], out: Any = None) -> Any:
        """A vector that lies on the GPUs, on the host, after everything that is queued there.

        Parameters
        ----------
        pieces : list of Piece
            A y, or an x.
        out : numpy.ndarray, optional
            Where it is written to; a new array without.

        Returns
        -------
        numpy.ndarray
        """
        cores = _cores("pieces", pieces)
        length = self._core.length_of(cores)
        if out is None:
            out = np.empty(length, self.dtype)
        else:
            out = on_host("out", out)
            _vectors.Numpy.check("out", out, length, self)
            if not out.flags.writeable:
                raise BadVector("out is read-only", "give one that may be written to: a copy may")
        self._core.gather(cores, out)
        return out

    def __repr__(self):
        rows, columns = self.shape
        freed = ", freed" if self._core.is_freed else ""
        return f"<sparsight.DistributedOperator {rows:,} x {columns:,} on {self.device}{freed}>"


def on_host(what, array):
    if not isinstance(array, np.ndarray):
        raise BadVector(f"{what} is a {type(array).__name__}", "give an array of numpy")
    return array


def _cores(what, pieces):
    """The Rust objects of pieces."""
    if not isinstance(pieces, (list, tuple)) or not all(isinstance(one, Piece) for one in pieces):
        raise BadVector(f"{what} is no list of pieces", "scatter(x), zeros() and multiply(xs) give one")
    return [one._core for one in pieces]
