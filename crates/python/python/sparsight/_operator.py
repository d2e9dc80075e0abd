"""A matrix on a device, ready for products."""

from __future__ import annotations

import itertools
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from . import _core, _epilogue, _vectors
from ._advice import advice_of, duration
from ._errors import BadEpilogue, BadMatrix, BadVector, SparsightError
from ._libraries import tell_where_libraries_are
from ._matrix import Matrix, short
from ._products import Products, of_column

__all__ = ["Operator", "identity", "numbered"]


# What torch hands round are tensors and numbers: there an operator is known by one, which it has from the beginning, since a function
# that is compiled can read one and not give one.
numbered: weakref.WeakValueDictionary[int, Operator] = weakref.WeakValueDictionary()
_numbers = itertools.count()


class Prepared:
    """Properties of the matrix that an operator keeps in place of the matrix."""

    __slots__ = ("dtype", "is_transposed", "keeps_order", "nnz", "shape")

    def __init__(self, matrix, is_transposed=False):
        self.dtype, self.shape, self.nnz = matrix.dtype, matrix.shape, matrix.nnz
        self.keeps_order, self.is_transposed = matrix._keeps_order, is_transposed


PLANNED = "plan(A, transpose=True).prepare(...) prepares both"


class Unplanned:
    """State to prepare A^T on first use: the copy of A on the host, and the arguments of its plan."""

    __slots__ = ("__weakref__", "_asked", "_device", "_elsewhere", "_matrix", "_updates", "_values")

    def __init__(self, plan, device, updates):
        matrix = plan._matrix
        self._asked, self._device, self._updates = plan._asked, device, updates
        self._matrix, self._values = Matrix._of(matrix._core, matrix.name), None
        # Values that were left on a GPU are the caller's: no operator keeps them.
        self._elsewhere = None if matrix._on_gpu is None else weakref.ref(matrix)

    def replaced(self, kept):
        """New values of A: a copy of them, in an array of any library; None if there is none."""
        self._values = (kept,)

    @property
    def may_have_changed(self):
        """True if other code may write to the values of A."""
        return self._values is None and self._elsewhere is not None

    def _of_now(self):
        """A with the values that it has now."""
        if self._values is not None:
            (kept,) = self._values
            if kept is None:
                raise SparsightError("A^T was not planned, and nothing is left of the array with the new values", PLANNED)
            return self._matrix._with(kept)
        if self._elsewhere is None:
            return self._matrix
        matrix = self._elsewhere()
        if matrix is None:
            raise SparsightError("A^T was not planned, and the plan that knew where on the GPU the values of A lie is gone", PLANNED)
        return matrix

    def prepared(self):
        """The prepared A^T, as Rust's object and as matrix, and the places of its values among those of A."""
        from ._plan import Plan

        matrix = self._of_now()._transposed()
        operator = Plan(matrix, advice_of(matrix, *self._asked), self._asked).prepare(self._device, updates=self._updates)
        order = order_of_transpose(self._matrix._core) if self._updates else None
        return (operator._core, Prepared(matrix, is_transposed=True)), order


def order_of_transpose(core):
    """Places of the values of A^T among those of A."""
    order = np.empty(core.nnz, np.int64)
    core.transposed_order(order)
    return order


class Operator(Products):
    """A matrix that was prepared on a device, ``op @ x`` with vectors of numpy, CuPy, torch, and what speaks like them.

    y is of the same kind as x. With vectors on the GPU nothing is copied: the product is queued in the current stream of their
    library, and not waited for. It is a ``scipy.sparse.linalg.LinearOperator``; :meth:`cupy` gives CuPy's.

    Several threads may multiply with one operator; while values are replaced, they wait.

    A^T is there if it was planned, ``plan(A, transpose=True)``. Else it is prepared when it is first used (:attr:`T`, :meth:`rmatvec`,
    solvers that need it, gradients), with a warning that says what it costs. Until then the operator keeps a copy of A on the host.
    """

    def __init__(self, core, matrix, turned=None, order=None, unplanned=None):
        """``turned``: what is prepared of A^T, as Rust and as matrix; ``order``: where its values stand among those of A;
        ``unplanned``: what it takes to prepare it.
        """
        super().__init__(matrix.dtype, matrix.shape)
        self._core, self._index, self._matrix = core, core.index, matrix
        # Looked up once: it is asked for with each product.
        self._multiply_on_device = core.multiply_on_device
        self._turned, self._order, self._transposed, self._unplanned = turned, order, None, unplanned
        self._epilogues = {}
        # This and those of A^T, which are freed together.
        self._twins = weakref.WeakSet([self])
        # Reentrant: new values are given to the transposed operator, too.
        self._changing = threading.RLock()
        self._number = next(_numbers)
        numbered[self._number] = self

    @property
    def candidate(self) -> str:
        """Id of the candidate that runs."""
        return self._core.candidate

    @property
    def device(self) -> str:
        """``"cpu"``, ``"cuda:N"`` or ``"hip:N"``."""
        return self._core.device

    @property
    def nnz(self) -> int:
        """Non-zeros of the matrix."""
        return self._matrix.nnz

    @property
    def memory_bytes(self) -> int:
        """Memory of the matrix on the device, without A^T, x and y, in bytes."""
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
        self,
        x: Any,
        out: Any = None,
        alpha: float = 1.0,
        beta: float = 0.0,
        stream: Any = None,
        *,
        epilogue: str | None = None,
        outputs: dict[str, str] | None = None,
        **operands: Any,
    ) -> Any:
        """y = alpha A x + beta y, or what a line makes of the sums of A x.

        Parameters
        ----------
        x : array
            ``(columns,)``, contiguous, of the operator's value type; on the GPU of the operator, or on the host.
        out : array, optional
            y, of the same kind; it may hold anything unless ``beta`` is given. A new one without.
        alpha, beta : float
        stream : int or object, optional
            Where it is queued: a handle, a stream of CuPy or torch, or an object with ``__cuda_stream__``. By default the stream
            that is current in the library of ``x``. With another stream give ``out``, and keep it and ``x`` until it is done.
            Vectors on the host take none: their product has ended when ``matvec`` returns.
        epilogue : str, optional
            An expression of C for ``y[i]``, computed in the launch of the product by kernels that write each row once (docs/epilogues.md
            of the project): ``"s * d[i] + beta * z[i]"`` with ``s`` the sum of row i, vectors at ``[i]``, scalars, and ``y[i]``, the old
            entry of ``out``.
        outputs : dict of str, optional
            Further vectors that are written: name and line, in which ``out`` is the new ``y[i]``. At most three.
        **operands
            What the lines name: vectors with an entry for each row, of the kind of ``x``; scalars, as numbers or as one float64 in an array on
            the GPU, which is read when the product runs. ``alpha`` and ``beta`` are scalars, too, where a line names them.

        Returns
        -------
        array
            ``out``, or the new y.

        Raises
        ------
        BadVector
            Which vector does not fit, and why; nothing was launched.
        BadEpilogue
            A line that does not compile, with what the compiler says; on a processor, one that it does not compute.

        Examples
        --------
        >>> import numpy as np
        >>> import sparsight
        >>> op = sparsight.plan(sparsight.gallery("stencil2d,n=10")).prepare("cpu")
        >>> x, y = np.ones(100), np.ones(100)
        >>> float(op.matvec(x, out=y, alpha=2.0, beta=-1.0).sum())     # 2 A x - y
        -20.0
        >>> d = np.full(100, 0.5)
        >>> float(op.matvec(x, out=y, epilogue="s * d[i] + tau * y[i]", d=d, tau=0.0).sum())
        20.0
        """
        if epilogue is not None:
            return _epilogue.multiply(self, x, out, epilogue, outputs, _epilogue.scaled(epilogue, outputs, operands, alpha, beta), (), None, stream)[0]
        if outputs or operands:
            raise BadEpilogue(f"{next(iter(outputs or operands))} without an epilogue", 'epilogue="s" is the product as it is')
        if getattr(x, "ndim", 1) == 2 and x.shape[1] == 1:
            if stream is not None:
                raise BadVector("a column and a stream: it is copied in the current one", "x.ravel() is a vector")
            return of_column(x, lambda vector: self.matvec(vector, out, alpha, beta))
        return _vectors.kind_of(x).multiply(self, x, out, alpha, beta, stream)

    def matvec_dot(
        self,
        x: Any,
        out: Any,
        with_: Sequence[Any],
        *,
        dots: Any = None,
        epilogue: str = "s",
        outputs: dict[str, str] | None = None,
        alpha: float = 1.0,
        beta: float = 0.0,
        stream: Any = None,
        **operands: Any,
    ) -> Any:
        """y = A x, or what a line makes of it, and up to three dot products over all rows.

        The sums have one order: the same product gives the same bits on every run. They are added up in the launch of the product where
        its kernel writes each row once, else in one behind it. Two CUDA graphs that hold the same lines and dot products of one operator
        must not run at the same time.

        Parameters
        ----------
        x, out
            As for :meth:`matvec`; ``out`` is written.
        with_ : sequence
            Of what dot products are: a vector ``v`` for ``(y, v)`` with the new y, a pair for another one. Vectors are arrays with an entry
            for each row, ``x`` and ``out`` among them (``out``: the new y), or names: of an operand or output, ``"x"``, ``"y"``, ``"s"``
            (the sums of A x).
        dots : array, optional
            Where they go: ``(len(with_),)`` in float64, of the kind of ``x``. A new one without, which a CUDA graph has no use for.
        epilogue, outputs, alpha, beta, stream, **operands
            As for :meth:`matvec`.

        Returns
        -------
        array
            The dot products, where the vectors lie. On a GPU they are not waited for.

        Examples
        --------
        >>> import numpy as np
        >>> import sparsight
        >>> op = sparsight.plan(sparsight.gallery("stencil2d,n=10")).prepare("cpu")
        >>> p, q = np.ones(100), np.empty(100)
        >>> pq, pp = op.matvec_dot(p, out=q, with_=[p, (p, p)])          # q = A p, (q, p) and (p, p)
        >>> float(pq), float(pp)
        (40.0, 100.0)
        """
        named = _epilogue.scaled(epilogue, outputs, operands, alpha, beta)
        return _epilogue.multiply(self, x, out, epilogue, outputs, named, with_, dots, stream)[1]

    def rmatvec(
        self, x: Any, out: Any = None, alpha: float = 1.0, beta: float = 0.0, stream: Any = None, **more: Any
    ) -> Any:
        """y = alpha A^T x + beta y, as ``op.T.matvec``, with an epilogue as well."""
        return self.T.matvec(x, out, alpha, beta, stream, **more)

    def rmatmat(self, X: Any) -> Any:
        """A^T X, column by column."""
        return self.T.matmat(X)

    def _adjoint(self):
        return self.T

    def _transpose(self):
        return self.T

    @property
    def T(self) -> Operator:
        """The operator of A^T: prepared beside this one if it was planned, else now, on the same device, and kept.

        Raises
        ------
        SparsightError
            If A^T was not planned and the values of A are not known any more: they were left on a GPU, and have changed there or
            the plan is gone, or new ones came in an array that has nothing but ``__cuda_array_interface__``.

        Examples
        --------
        >>> import warnings
        >>> import numpy as np
        >>> import sparsight
        >>> op = sparsight.plan(sparsight.gallery("tall,rows=40,cols=12,row=3")).prepare("cpu")
        >>> with warnings.catch_warnings(record=True) as warned:
        ...     warnings.simplefilter("always")
        ...     y = op.T @ np.ones(40)
        >>> y.shape, len(warned)
        ((12,), 1)
        """
        if self._turned is None:
            self._prepare_transpose()
        # Neither of the two holds the other, so that both are freed as soon as they are not used.
        if self._transposed is None:
            core, matrix = self._turned
            self._transposed = Operator(core, matrix, (self._core, self._matrix))
            self._transposed._twins = self._twins
            with self._changing:
                self._twins.add(self._transposed)
        return self._transposed

    def _prepare_transpose(self):
        # In a child that was forked, another thread of the parent may hold the lock for ever.
        _core.refuse_in_child()
        with self._changing:
            if self._turned is not None:
                return
            unplanned = self._unplanned
            if unplanned is None:
                raise SparsightError("the operator was freed", "prepare the plan again")
            begun = time.perf_counter()
            turned, order = unplanned.prepared()
            if unplanned.may_have_changed and not self._is_transpose(Operator(*turned)):
                raise SparsightError("A^T was not planned, and the values of A on the GPU have changed since A was prepared", PLANNED)
            self._turned, self._order, self._unplanned = turned, order, None
            took, (core, _) = time.perf_counter() - begun, turned
        _warn(
            f"A^T was not planned: transposing and preparing it took {duration(took)}, and it takes {core.memory_bytes:,} bytes on "
            f"{self.device}; plan(A, transpose=True) prepares it with A"
        )

    def _is_transpose(self, other):
        """True if z A x equals x A^T z up to rounding, for an x and a z with which every value counts."""
        numbers, (rows, columns) = np.random.default_rng(0), self.shape
        x, z = (numbers.uniform(0.5, 1.5, size).astype(self.dtype) for size in (columns, rows))
        one, two = z * self.matvec(x).astype(np.float64), x * other.matvec(z).astype(np.float64)
        # Chosen: far above rounding, which is that of the values' type, and far below what changes a solution.
        tolerance = 1e-3 if self.dtype == np.float32 else 1e-9
        return not abs(one.sum() - two.sum()) > tolerance * (abs(one).sum() + abs(two).sum())

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

        As long as A^T was neither planned nor used, a copy of the values is kept where they lie (where there is no memory, on the
        host): it would be prepared from them.

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
        _core.refuse_in_child()
        with self._changing:
            self._replace(kind, values)

    def _replace(self, kind, values):
        if self._turned is None:
            kind.check_values(values, self)
            kept = kind.kept(values)
            kind.update(self, values)
            if self._unplanned is not None:
                self._unplanned.replaced(kept)
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

        return CuPyOperator(self.shape, matvec=self.matvec, rmatvec=self.rmatvec, dtype=self.dtype)

    def free(self) -> None:
        """Gives the memory on the device back now, that of A^T, too; also at the end of ``with op:``.

        A CUDA graph into which a product was captured must not be replayed after this, nor after the operator is gone.
        """
        with self._changing:
            twins = list(self._twins)
        for twin in twins:
            _epilogue.free(twin)
        self._core.free()
        self._unplanned = None
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


def identity(rows: int, device: str = "cuda:0", dtype: Any = np.float64) -> Operator:
    """The operator of the identity matrix, in no memory: with an epilogue, an update of vectors in one launch.

    Parameters
    ----------
    rows : int
        Entries of the vectors.
    device : str
        ``"cuda:0"``, ``"cuda:1"``, ... or ``"cpu"``.
    dtype : optional
        float32 or float64.

    Returns
    -------
    Operator
        In its lines ``s`` is the entry of ``x``, which no line writes; ``y[i]``, and entries of outputs, are the old ones.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsight
    >>> update = sparsight.identity(3, "cpu")
    >>> q, p, r, x0 = np.ones(3), np.ones(3), np.full(3, 4.0), np.zeros(3)
    >>> lines = {"x0": "x0[i] + alpha * p[i]"}
    >>> rr = update.matvec_dot(q, r, ["y"], epilogue="y[i] - alpha * s", outputs=lines, x0=x0, p=p, alpha=2.0)
    >>> r.tolist(), x0.tolist(), float(rr[0])
    ([2.0, 2.0, 2.0], [2.0, 2.0, 2.0], 12.0)
    """
    device = str(device)
    if device != "cpu":
        tell_where_libraries_are()
    core = _core.prepare_identity(rows, device, short(dtype) or "f64")
    about = SimpleNamespace(dtype=np.dtype(np.float32 if short(dtype) == "f32" else np.float64), shape=(rows, rows), nnz=rows, _keeps_order=False)
    return Operator(core, Prepared(about), turned=(core, Prepared(about, is_transposed=True)))


def _warn(text):
    """Warns the first caller outside of this package and of the libraries whose solvers and gradients need A^T."""
    frame, level = sys._getframe(), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in ("sparsight", "scipy", "cupyx", "torch"):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, stacklevel=level)
