"""A matrix on a device, ready for products."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

from . import _vectors
from ._errors import BadMatrix, BadVector, SparsightError
from ._products import Products, of_column

__all__ = ["Operator", "numbered"]


# What torch hands round are tensors and numbers: there an operator is known by one, which it has from the beginning, since a function
# that is compiled can read one and not give one.
numbered: weakref.WeakValueDictionary[int, Operator] = weakref.WeakValueDictionary()
_numbers = itertools.count()


class Prepared:
    """What an operator keeps of its matrix: not the matrix."""

    __slots__ = ("dtype", "is_transposed", "keeps_order", "nnz", "shape")

    def __init__(self, matrix, is_transposed=False):
        self.dtype, self.shape, self.nnz = matrix.dtype, matrix.shape, matrix.nnz
        self.keeps_order, self.is_transposed = matrix._keeps_order, is_transposed


class Operator(Products):
    """A matrix that was prepared on a device, ``op @ x`` with vectors of numpy, CuPy, torch, and what speaks like them.

    y is of the same kind as x. With vectors on the GPU nothing is copied: the product is queued in the current stream of their
    library, and not waited for. It is a ``scipy.sparse.linalg.LinearOperator``; :meth:`cupy` gives CuPy's.

    Several threads may multiply with one operator; while values are replaced, they wait.
    """

    def __init__(self, core, matrix, turned=None, order=None):
        """``turned``: what is prepared of A^T, as Rust and as matrix; ``order``: where its values stand among those of A."""
        super().__init__(matrix.dtype, matrix.shape)
        self._core, self._index, self._matrix = core, core.index, matrix
        # Looked up once: it is asked for with each product.
        self._multiply_on_device = core.multiply_on_device
        self._turned, self._order, self._transposed = turned, order, None
        self._number = next(_numbers)
        numbered[self._number] = self

    @property
    def candidate(self) -> str:
        """What runs: the candidate's id."""
        return self._core.candidate

    @property
    def device(self) -> str:
        """``"cpu"`` or ``"cuda:N"``."""
        return "cpu" if self._index is None else f"cuda:{self._index}"

    @property
    def nnz(self) -> int:
        """Non-zeros of the matrix."""
        return self._matrix.nnz

    @property
    def memory_bytes(self) -> int:
        """What the matrix takes on the device, without A^T, x and y."""
        return self._core.memory_bytes

    @property
    def preparation_s(self) -> float:
        """Seconds of conversion and upload."""
        return self._core.preparation_s

    @property
    def measured_s(self) -> float | None:
        """Seconds of a product, if several candidates were tried; else None."""
        return self._core.measured_s

    def matvec(
        self, x: Any, out: Any = None, alpha: float = 1.0, beta: float = 0.0, stream: Any = None
    ) -> Any:
        """y = alpha A x + beta y.

        Parameters
        ----------
        x : array
            ``(columns,)``, contiguous, of the operator's value type; on the GPU of the operator, or on the host.
        out : array, optional
            y, of the same kind; it may hold anything unless ``beta`` is given. A new one without.
        alpha, beta : float
        stream : int or object, optional
            Where it is queued: a handle, a stream of CuPy or torch, or an object with ``__cuda_stream__``. By default the stream
            that is current in the library of ``x``. Whoever names another gives ``out``, and keeps it and ``x`` until it is done.
            Vectors on the host take none: their product has ended when ``matvec`` returns.

        Returns
        -------
        array
            ``out``, or the new y.

        Raises
        ------
        BadVector
            Which vector does not fit, and why; nothing was launched.

        Examples
        --------
        >>> import numpy as np
        >>> import sparsight
        >>> op = sparsight.plan(sparsight.gallery("stencil2d,n=10")).prepare("cpu")
        >>> x, y = np.ones(100), np.ones(100)
        >>> float(op.matvec(x, out=y, alpha=2.0, beta=-1.0).sum())     # 2 A x - y
        -20.0
        """
        if getattr(x, "ndim", 1) == 2 and x.shape[1] == 1:
            if stream is not None:
                raise BadVector("a column and a stream: it is copied in the current one", "x.ravel() is a vector")
            return of_column(x, lambda vector: self.matvec(vector, out, alpha, beta))
        return _vectors.kind_of(x).multiply(self, x, out, alpha, beta, stream)

    def rmatvec(
        self, x: Any, out: Any = None, alpha: float = 1.0, beta: float = 0.0, stream: Any = None
    ) -> Any:
        """y = alpha A^T x + beta y; ``plan(A, transpose=True)`` prepares it."""
        return self.T.matvec(x, out, alpha, beta, stream)

    def rmatmat(self, X: Any) -> Any:
        """A^T X, column by column."""
        return self.T.matmat(X)

    def _adjoint(self):
        return self.T

    def _transpose(self):
        return self.T

    @property
    def T(self) -> Operator:
        """The operator of A^T, prepared beside this one."""
        if self._turned is None:
            raise SparsightError("A^T was not prepared", "plan(A, transpose=True).prepare(...) prepares both")
        # Neither of the two holds the other, so that both go as soon as nobody needs them.
        if self._transposed is None:
            core, matrix = self._turned
            self._transposed = Operator(core, matrix, (self._core, self._matrix))
        return self._transposed

    @property
    def H(self) -> Operator:
        """A^T: values are real."""
        return self.T

    def transpose(self) -> Operator:
        """:attr:`T`."""
        return self.T

    def adjoint(self) -> Operator:
        """:attr:`T`."""
        return self.T

    def update_values(self, values: Any) -> None:
        """Replaces all values, those of A^T, too; the pattern stays. Waits for what is queued on the GPU, and until it is done.

        Parameters
        ----------
        values : array
            As ``A.data`` has them: ``(nnz,)``, of the operator's value type, on the host or on its GPU.

        Raises
        ------
        SparsightError
            If the operator was prepared without ``updates=True``, or is that of A^T.
        """
        if self._matrix.is_transposed:
            raise SparsightError("values stand as A has them, and this is the operator of A^T", "op.update_values(v) replaces both")
        if not self._matrix.keeps_order:
            raise BadMatrix(
                "the values of this matrix do not stand as they were given: its columns were sorted or its format changed",
                "plan with a CSR of which A.sum_duplicates() was called",
            )
        kind = _vectors.kind_of(values)
        if self._turned is None:
            kind.update(self, values)
            return
        if self._order is None:
            raise SparsightError("the operator was prepared without updates", "prepare(..., updates=True)")
        # Before anything is replaced: either both have new values, or none.
        kind.check_values(values, self)
        turned = kind.taken(values, self._order)
        kind.update(self, values)
        kind.update(self.T, turned)

    def cupy(self) -> Any:
        """This as ``cupyx.scipy.sparse.linalg.LinearOperator``, for ``cupyx.scipy.sparse.linalg.cg`` and its like."""
        from cupyx.scipy.sparse.linalg import LinearOperator as CuPyOperator

        turned = None if self._turned is None else self.rmatvec
        return CuPyOperator(self.shape, matvec=self.matvec, rmatvec=turned, dtype=self.dtype)

    def free(self) -> None:
        """Gives the memory on the device back now, that of A^T, too; also at the end of ``with op:``.

        A CUDA graph into which a product was captured must not be replayed after this, nor after the operator is gone.
        """
        self._core.free()
        if self._turned is not None:
            self._turned[0].free()

    def __enter__(self) -> Operator:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()

    def __repr__(self):
        rows, columns = self.shape
        freed = ", freed" if self._core.is_freed else ""
        return f"<sparsight.Operator {rows:,} x {columns:,} {self.candidate} on {self.device}{freed}>"
