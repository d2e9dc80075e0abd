"""Matrices: conversion of all accepted types."""

from __future__ import annotations

import os
from typing import Any, Protocol

import numpy as np

from . import _core
from ._errors import BadMatrix, SparsightError, Unsorted
from ._resident import on_gpu, to_host

__all__ = ["Matrix", "gallery", "read"]

_NAMES: dict[str, np.dtype[Any]] = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
_SHORT = {dtype: name for name, dtype in _NAMES.items()}


class SupportsRead(Protocol):
    """An open file."""

    def read(self, size: int, /) -> bytes | str: ...


def short(dtype):
    """``"f32"`` or ``"f64"`` of anything that names one of the two, None of None."""
    if dtype is None or isinstance(dtype, str) and dtype in _NAMES:
        return dtype
    try:
        # torch.float32 is none of numpy's: its name is.
        return _SHORT[np.dtype(str(dtype).removeprefix("torch.") if "torch" in str(dtype) else dtype)]
    except (TypeError, KeyError):
        raise BadMatrix(f"{dtype!r} is no value type", "value types are float32 and float64") from None


class Matrix:
    """A sparse matrix as this package holds it: looked at once, for several questions.

    Parameters
    ----------
    A : scipy.sparse, cupyx.scipy.sparse, torch.Tensor (sparse), tuple, str or os.PathLike
        A sparse matrix or array of any format, those of blocks too (torch's need scipy); ``(indptr, indices, data, shape)`` of CSR;
        or the name of a file that :func:`read` reads. It is copied: 12 bytes a non-zero and 8 a row in float64.
    dtype : optional
        float32 or float64; what ``A`` has if it is left out. Whole numbers and bools become float64.

    Notes
    -----
    Of a CSR on a GPU the pattern alone is copied, to the host, once; the arrays are kept where they lie, and values are read when
    the matrix is prepared. That takes ``cupyx.scipy.sparse.csr_matrix``, a torch ``sparse_csr`` tensor, or a tuple with arrays
    of either: three contiguous arrays on one GPU, indices of int32 or int64, values of float32 or float64, columns that increase
    within a row. Anything else on a GPU is brought to the host, values and all, and put in order there.

    Raises
    ------
    BadMatrix
        With the first fault: no such file, indices outside the shape, complex values.
    """

    __slots__ = ("__weakref__", "_core", "_keeps_order", "_on_gpu", "_turned_of", "name")

    name: str

    def __init__(self, A: Any, dtype: Any = None) -> None:
        made = as_matrix(A, dtype)
        self._core, self._keeps_order, self.name = made._core, made._keeps_order, made.name
        self._on_gpu, self._turned_of = made._on_gpu, made._turned_of

    @classmethod
    def _of(cls, core, name="A", keeps_order=True, on_gpu=None, turned_of=None):
        """``on_gpu``: where the values were left, of which ``core`` has none; ``turned_of``: the matrix of which it is the transpose,
        if its values were left there.
        """
        made = object.__new__(cls)
        made._core, made._keeps_order, made.name = core, keeps_order, name
        made._on_gpu, made._turned_of = on_gpu, turned_of
        return made

    def _with_values(self):
        """Rust's matrix with its values, which are copied from the GPU now if they were left there."""
        if self._turned_of is not None:
            return self._turned_of._with_values().transposed()
        if self._on_gpu is None:
            if not self._core.has_values:
                raise BadMatrix(f"{self.name}: its values are complex or not finite, and only its places were read",
                                "advise(A) of the file asks for no values; leave values= out")
            return self._core
        return self._with(self._on_gpu.values())._core

    def _with(self, values):
        """A matrix with the same pattern and other values."""
        return Matrix._of(self._core.with_values(_values(values, self.dtype)), self.name, self._keeps_order)

    def _transposed(self):
        """A^T, whose values stand in another order."""
        is_elsewhere = self._on_gpu is not None or self._turned_of is not None
        turned_of = self if is_elsewhere else None
        return Matrix._of(self._core.transposed(), f"{self.name}^T", keeps_order=False, turned_of=turned_of)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._core.shape

    @property
    def nnz(self) -> int:
        """Stored non-zeros."""
        return self._core.nnz

    @property
    def dtype(self) -> np.dtype[Any]:
        """Value type, as numpy names it."""
        return _NAMES[self._core.dtype]

    def astype(self, dtype: Any) -> Matrix:
        """A copy with values of float32 or float64."""
        turned_of = self._turned_of and self._turned_of.astype(dtype)
        return Matrix._of(self._core.astype(short(dtype)), self.name, self._keeps_order, self._on_gpu, turned_of)

    def to_scipy(self) -> Any:
        """A copy as ``scipy.sparse.csr_array``."""
        try:
            from scipy.sparse import csr_array
        except ImportError:
            raise SparsightError("scipy, in whose matrix this would be, is not installed", "pip install sparsight[scipy]") from None

        indices = np.int32 if max(*self.shape, self.nnz) < 2**31 else np.int64
        indptr = np.empty(self.shape[0] + 1, indices)
        columns, values = np.empty(self.nnz, indices), np.empty(self.nnz, self.dtype)
        self._with_values().fill(indptr, columns, values)
        made = csr_array((values, columns, indptr), shape=self.shape)
        made.has_canonical_format = True
        return made

    def __repr__(self):
        (rows, columns), (mean, least, most) = self.shape, self._core.row_lengths
        return (
            f"<sparsight.Matrix {rows:,} x {columns:,}, {self.nnz:,} non-zeros, "
            f"{mean:.1f} a row ({least:,} to {most:,}), {self.dtype}>"
        )

    def _repr_html_(self):
        (rows, columns), (mean, least, most) = self.shape, self._core.row_lengths
        cells = [
            ("shape", f"{rows:,} &times; {columns:,}"),
            ("non-zeros", f"{self.nnz:,}"),
            ("non-zeros a row", f"{mean:.1f} ({least:,} to {most:,})"),
            ("values", str(self.dtype)),
        ]
        lines = "".join(f"<tr><th style='text-align:left'>{what}</th><td>{value}</td></tr>" for what, value in cells)
        return f"<table>{lines}</table>"


def as_matrix(A, dtype=None, or_places=False):
    """The :class:`Matrix` of what is given. ``or_places``: the places of a file will do where its values cannot be had, as of complex
    ones."""
    if isinstance(A, Matrix):
        return A if dtype is None or _NAMES[short(dtype)] == A.dtype else A.astype(dtype)
    if isinstance(A, (str, os.PathLike)):
        return Matrix._of(_core.read(os.fspath(A), short(dtype) or "f64", or_places), os.path.basename(os.fspath(A)))
    if (left := on_gpu(A)) is not None:
        try:
            return _left_on_gpu(*left, dtype)
        except Unsorted:
            pass
    (indptr, indices, data, shape), keeps_order = _csr_arrays(A, dtype)
    rows, columns = (_dimension(one) for one in shape)
    indptr, indices = _indices("indptr", indptr), _indices("indices", indices)
    data = _values(data, dtype)
    _check_lengths(data, indices)
    kind = _SHORT[data.dtype]
    try:
        core = _core.Matrix(rows, columns, indptr, indices, data, kind)
    except Unsorted as unsorted:
        indptr, indices, data = _sorted(indptr, indices, data, (rows, columns), unsorted)
        core = _core.Matrix(rows, columns, indptr, indices, data, kind)
        keeps_order = False
    return Matrix._of(core, keeps_order=keeps_order)


def _left_on_gpu(left, shape, dtype):
    """The matrix of a CSR whose values stay on the GPU."""
    rows, columns = (_dimension(one) for one in shape)
    indptr, indices = left.pattern()
    _check_lengths(left, indices)
    kind = short(dtype) or _SHORT[left.value_type]
    return Matrix._of(_core.Matrix(rows, columns, indptr, indices, None, kind), on_gpu=left)


def _check_lengths(values, indices):
    if values.size != indices.size:
        raise BadMatrix(f"{values.size} values for {indices.size} column indices", "indices and data have an entry for each non-zero")


def _csr_arrays(A, dtype):
    """``(indptr, indices, data, shape)`` on the host, and whether the values stand as ``A`` has them. What stands twice is added up
    in the type of the values to come: in int8, 100 + 100 would be -56.
    """
    if isinstance(A, (tuple, list)):
        if len(A) != 4 or not isinstance(A[3], (tuple, list)) or len(A[3]) != 2:
            raise BadMatrix(
                f"{len(A)} things are no matrix in CSR", "give (indptr, indices, data, (rows, columns)), or a scipy matrix"
            )
        return A, True
    library = type(A).__module__.partition(".")[0]
    if library in ("scipy", "cupyx") and hasattr(A, "tocsr"):
        if len(A.shape) != 2:
            raise BadMatrix(f"an array of {len(A.shape)} dimensions is no matrix", "A.reshape(1, -1) is one of a single row")
        keeps_order = A.format == "csr"
        # What is no real number is refused when the values are looked at.
        if not keeps_order and A.dtype.kind in "fiub":
            A = _as_values(A, A.dtype.name, dtype, A.astype)
        A = A.tocsr()
        if library == "cupyx":
            A = A.get()
        return (A.indptr, A.indices, A.data, A.shape), keeps_order
    if library == "torch" and hasattr(A, "layout"):
        import torch

        if A.layout == torch.strided:
            raise BadMatrix("a dense torch tensor", "A.to_sparse_csr() is the sparse one")
        if A.dim() != 2:
            raise BadMatrix(f"a tensor of {A.dim()} dimensions is no matrix", "batches are not supported: give one of them")
        A = A.detach()
        if not A.is_complex():
            A = _as_values(A, str(A.dtype).removeprefix("torch."), dtype, lambda name: A.to(getattr(torch, name)))
        if A.layout in (torch.sparse_bsr, torch.sparse_bsc):
            return _csr_of_blocks(A, A.layout == torch.sparse_bsc), False
        keeps_order = A.layout == torch.sparse_csr
        A = A if keeps_order else (A.coalesce() if A.layout == torch.sparse_coo else A).to_sparse_csr()
        return (*map(to_host, (A.crow_indices(), A.col_indices(), A.values())), tuple(A.shape)), keeps_order
    if hasattr(A, "__array__"):
        raise BadMatrix(f"a dense {type(A).__name__}", "scipy.sparse.csr_array(A) is the sparse one")
    raise BadMatrix(
        f"{type(A).__name__} is no sparse matrix",
        "give one of scipy, CuPy or torch, (indptr, indices, data, shape), or the name of a file",
    )


def _as_values(A, own, dtype, convert):
    """``A``, whose values are of the type with the name ``own``, with values of the type in which this package holds them."""
    wanted = _value_type(own, dtype).name
    return A if own == wanted else convert(wanted)


def _value_type(own, dtype):
    """The type in which values are held whose own type has that name."""
    return _NAMES.get(short(dtype)) or np.dtype(own if own in ("float32", "float64") else np.float64)


def _csr_of_blocks(A, by_columns):
    """Of a tensor in torch's ``sparse_bsr`` or ``sparse_bsc``, which torch turns into no other format: scipy does. Zeros in a block
    are stored.
    """
    try:
        from scipy.sparse import bsr_array
    except ImportError:
        raise BadMatrix(
            "scipy, which turns the blocks of torch into CSR, is not installed", "pip install sparsight[scipy]"
        ) from None
    starts, inner = (A.ccol_indices(), A.row_indices()) if by_columns else (A.crow_indices(), A.col_indices())
    starts, inner, blocks = _array("indptr", starts), _array("indices", inner), _array("values", A.values())
    shape = tuple(A.shape)
    try:
        if by_columns:
            # By columns is by rows of the transpose, whose blocks are turned as well.
            made = bsr_array((blocks.transpose(0, 2, 1), inner, starts), shape=shape[::-1]).tocsr().T.tocsr()
        else:
            made = bsr_array((blocks, inner, starts), shape=shape).tocsr()
    except ValueError as why:
        hint = "torch.sparse.check_sparse_tensor_invariants.enable() says where they were made"
        raise BadMatrix(f"blocks of torch: {why}", hint) from None
    return made.indptr, made.indices, made.data, shape


_SHAPE = "shape is (rows, columns): two whole numbers, from 0 on"


def _dimension(size):
    try:
        size = int(size)
    except (TypeError, ValueError):
        raise BadMatrix(f"{size!r} is no number of rows or columns", _SHAPE) from None
    if not 0 <= size < 2**63:
        raise BadMatrix(f"{size} rows or columns", _SHAPE)
    return size


def _array(what, given):
    if isinstance(given, np.ma.MaskedArray):
        raise BadMatrix(f"{what} has a mask", "a matrix takes all entries: give the array without its mask, .filled(0) or .data")
    try:
        return np.asarray(to_host(given))
    except (TypeError, ValueError) as why:
        raise BadMatrix(f"{what}: {why}", "give an array of numbers, of one dimension") from None


def _indices(what, array):
    array = _array(what, array)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise BadMatrix(
            f"{what} is an array of {array.ndim} dimensions of {array.dtype}", "it has to be one of whole numbers, of one dimension"
        )
    if array.dtype not in (np.int32, np.int64):
        array = array.astype(np.int64)
    return _in_order(array)


def _values(array, dtype):
    array = _array("values", array)
    if array.dtype.kind not in "fiub" or array.ndim != 1:
        hint = "give real numbers, one for each non-zero, in one dimension: data.ravel()"
        if array.dtype.kind == "c":
            hint = "multiply with its real and its imaginary part"
        raise BadMatrix(f"values are an array of {array.ndim} dimensions of {array.dtype}", hint)
    return _in_order(array, _value_type(array.dtype.name, dtype))


def _in_order(array, dtype=None):
    """Without gaps, and with every number at an address that is a multiple of its size; copied if it is not."""
    return np.require(array, dtype, ("C_CONTIGUOUS", "ALIGNED"))


def _sorted(indptr, indices, data, shape, unsorted):
    """Columns in order, values of the same place added up."""
    try:
        from scipy.sparse import csr_array
    except ImportError:
        raise BadMatrix(str(unsorted), "sort the columns of each row and add up duplicates, or install scipy") from None
    summed = csr_array((data, indices, indptr), shape=shape, copy=True)
    summed.sum_duplicates()
    return _indices("indptr", summed.indptr), _indices("indices", summed.indices), summed.data


def read(path: str | os.PathLike[str] | SupportsRead, dtype: Any = np.float64) -> Any:
    """The matrix in a file, read with all processors.

    Parameters
    ----------
    path : str, os.PathLike or file
        Matrix Market, scipy's ``.npz``, Harwell-Boeing or Rutherford-Boeing, plain, compressed or in a tar or zip archive; the first
        bytes tell which, whatever the name is. A file that is open, or anything else with ``read(bytes)``, is read from
        where it stands to its end: a socket, standard input, a member of an archive.
    dtype : optional
        float32 or float64. Whole numbers and bools are converted; the values of a file that stores places alone are ones.

    Returns
    -------
    scipy.sparse.csr_array
        Symmetric storage expanded, duplicates added up, rows sorted.

    Raises
    ------
    BadMatrix
        With line and column of the first fault. What ``path.read`` raises is raised as it is.

    Examples
    --------
    >>> import io
    >>> import sparsight
    >>> text = b"%%MatrixMarket matrix coordinate pattern general\\n2 2 1\\n2 1\\n"
    >>> sparsight.read(io.BytesIO(text)).toarray().tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    kind = short(dtype) or "f64"
    if isinstance(path, (str, os.PathLike)):
        return Matrix._of(_core.read(os.fspath(path), kind)).to_scipy()
    if not hasattr(path, "read"):
        raise BadMatrix(f"{type(path).__name__} is no file", "give its name, or one that was opened with open(path, \"rb\")")
    return Matrix._of(_core.read_stream(path, _name_of(path), kind)).to_scipy()


def _name_of(file):
    """Name of an open file in errors."""
    name = getattr(file, "name", None)
    return name if isinstance(name, str) and name else f"<{type(file).__name__}>"


def gallery(recipe: str, dtype: Any = np.float64) -> Any:
    """A generated matrix that looks like those of a field: ``"fem"``, ``"stencil2d,n=300"``, ``"power-law,n=5000"``.

    Parameters
    ----------
    recipe : str
        A generator's name and its parameters: stencil2d, stencil3d, fem, trimesh, power-law, rmat, web, circuit, lp,
        constraints, kkt, arrow, long-rows, banded, block-diagonal, random, tall, wide, hypersparse, dense. The error of an unknown one
        lists all of them, as does the program's `sparsight gallery`.
    dtype : optional
        float32 or float64.

    Returns
    -------
    scipy.sparse.csr_array

    Examples
    --------
    >>> import sparsight
    >>> sparsight.Matrix(sparsight.gallery("stencil2d,n=10"))
    <sparsight.Matrix 100 x 100, 460 non-zeros, 4.6 a row (3 to 5), float64>
    """
    return Matrix._of(_core.generate(recipe, short(dtype) or "f64")).to_scipy()
