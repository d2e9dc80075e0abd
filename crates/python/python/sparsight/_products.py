"""Base of all operators: products with several vectors by those with one, and scipy's interface."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _vectors
from ._errors import BadVector


class _WithoutScipy:
    """Base class without scipy: products work, scipy's solvers do not exist."""

    def __init__(self, dtype, shape):
        self.dtype, self.shape = np.dtype(dtype), shape


try:
    from scipy.sparse.linalg import LinearOperator
except ImportError:
    LinearOperator = _WithoutScipy


__all__ = ["Products", "of_column"]


class Products(LinearOperator):
    """``op @ x`` for a class with ``matvec`` and ``rmatvec``."""

    def matvec(self, x: Any, out: Any = None, alpha: float = 1.0, beta: float = 0.0) -> Any:
        """y = alpha A x + beta y."""
        raise NotImplementedError

    def rmatvec(self, x: Any) -> Any:
        """A^T x."""
        raise NotImplementedError

    def matmat(self, X: Any) -> Any:
        """A X, column by column."""
        if getattr(X, "ndim", 0) != 2:
            raise BadVector(f"{type(X).__name__} is no array of two dimensions", "op @ x takes a vector")
        kind, columns = _vectors.kind_of(X), plain(X)
        if not kind.takes_columns or X.shape[1] == 0:
            what = "no columns" if kind.takes_columns else f"several columns in a {type(X).__name__}"
            raise BadVector(f"{what} to multiply with", "multiply column by column")
        if X.shape[0] != self.shape[1]:
            raise _vectors.refused_shape("each column", X.shape[:1], self.shape[1])
        return kind.stack([self.matvec(x) for x in _vectors.contiguous(columns.T)])

    def dot(self, x: Any) -> Any:
        """``op @ x``: a product with a vector, or with each column; with a number or another operator, an operator."""
        if isinstance(x, LinearOperator) or np.isscalar(x):
            return super().dot(x)
        return self.matmat(x) if getattr(x, "ndim", 1) == 2 else self.matvec(x)

    def __matmul__(self, x: Any) -> Any:
        return self.dot(x)

    def __call__(self, x):
        return self.dot(x)

    # What scipy's own composed operators call.
    def _matvec(self, x):
        return self.matvec(x)

    def _rmatvec(self, x):
        return self.rmatvec(x)

    def _matmat(self, X):
        return self.matmat(X)


def of_column(x, multiply):
    """Result of ``multiply`` for the vector in a column, as scipy's solvers may give one, as a column."""
    kind, vector = _vectors.kind_of(x), plain(x).reshape(-1)
    return multiply(_vectors.contiguous(vector) if kind.takes_columns else vector).reshape(-1, 1)


def plain(x):
    """Without what a class of its own makes of an array of numpy: a ``numpy.matrix`` has no vectors in it."""
    if isinstance(x, np.ndarray):
        _vectors.refuse_mask("x", x)
        return np.asarray(x)
    return x
