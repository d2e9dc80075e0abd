"""What to do with a matrix: known before anything is converted, carried out by ``prepare``."""

from __future__ import annotations

import site
import sys
from typing import TYPE_CHECKING, Any

from . import _core
from ._advice import advice_of, duration
from ._errors import Infeasible, SparsightError
from ._matrix import as_matrix

if TYPE_CHECKING:
    from ._advice import Advice, Candidate
    from ._operator import Operator

__all__ = ["Plan", "plan"]


class Plan:
    """Which candidate multiplies with a matrix, and with its transpose if that was asked for.

    Attributes
    ----------
    advice : Advice
        What it was chosen from.
    transposed : Plan or None
        That of A^T.
    """

    __slots__ = ("_matrix", "advice", "transposed")

    advice: Advice
    transposed: Plan | None

    def __init__(self, matrix, advice, transposed=None):
        self._matrix, self.advice, self.transposed = matrix, advice, transposed

    @property
    def candidate(self) -> Candidate:
        """The first :class:`Candidate` of ours: routines of cuSPARSE may not be there when the plan is carried out."""
        for one in self.advice:
            if not one.vendor:
                return one
        raise Infeasible("no candidate is possible", "plan.advice.refused says why")

    @property
    def predicted_s(self) -> float:
        """Seconds of one product y = A x, and of one with A^T if it is planned, together."""
        return self.candidate.predicted_s + (self.transposed.predicted_s if self.transposed else 0.0)

    @property
    def memory_bytes(self) -> int:
        """What the matrix takes on the device, with that of A^T."""
        return self.candidate.memory_bytes + (self.transposed.memory_bytes if self.transposed else 0)

    def prepare(
        self, device: str = "cuda:0", try_: int | str = 1, candidate: str | None = None, updates: bool = False
    ) -> Operator:
        """Converts the matrix, brings it to the device and loads the kernels, which are compiled the first time.

        A CSR that lies on that GPU already is converted from where it lies, after everything that is queued there, and needs room
        for copies beside it meanwhile; the operator does not need it afterwards. Its values go to the host and back if several
        candidates are to be tried, if the device is another one, and for A^T.

        Parameters
        ----------
        device : str
            ``"cuda:0"``, ``"cuda:1"``, ... or ``"cpu"``.
        try_ : int or "auto"
            Runs so many candidates for some milliseconds each and takes the fastest. The second is the one that may gain most by what
            the first took, and so on. ``"auto"``: as many as are worth it for the products that :func:`plan` was told of: each
            while what it may be expected to gain is more than it costs.
        candidate : str, optional
            The id of the one to take, from :attr:`advice`.
        updates : bool
            Finds out where the values stand, so that :meth:`Operator.update_values` may replace them.

        Returns
        -------
        Operator

        Raises
        ------
        NoGpu, Infeasible
        """
        import numpy

        from ._operator import Operator, Prepared

        if try_ != "auto" and (isinstance(try_, bool) or not isinstance(try_, int) or not 1 <= try_ <= 1000):
            raise SparsightError(
                f"try_={try_!r}", 'give a whole number of candidates, at least 1 and at most 1000, or "auto"'
            )
        tries = 0 if try_ == "auto" else try_
        if candidate is not None and tries != 1:
            raise SparsightError("a candidate that is named and several to be tried", "give one of candidate and try_")
        tell_where_libraries_are()
        device = str(device)

        def prepared(plan, candidate):
            matrix, advice, updated = plan._matrix, plan.advice._core, bool(updates)
            lies = matrix._on_gpu
            # Candidates that are tried are held to a product on the host.
            if lies is None or tries != 1 or not lies.is_on(device):
                return _core.prepare(matrix._with_values(), advice, device, candidate, tries, updated)

            def where_it_lies(*arrays):
                return _core.prepare_resident(matrix._core, advice, device, candidate, updated, *arrays)

            return lies.prepared(where_it_lies, matrix.dtype)

        core, about = prepared(self, candidate), Prepared(self._matrix)
        if self.transposed is None:
            return Operator(core, about)
        turned = (prepared(self.transposed, None), Prepared(self.transposed._matrix, is_transposed=True))
        order = None
        if updates:
            order = numpy.empty(about.nnz, numpy.int64)
            self._matrix._core.transposed_order(order)
        return Operator(core, about, turned, order)

    def __repr__(self):
        pair = f" and A^T {self.transposed.candidate.id}" if self.transposed else ""
        return f"<sparsight.Plan {self.candidate.id}{pair}: {duration(self.predicted_s)}>"


def plan(
    A: Any,
    products: int | None = None,
    device: str | None = None,
    transpose: bool = False,
    model: str | None = None,
    dtype: Any = None,
) -> Plan:
    """The candidate that is predicted to be the best for a matrix.

    Parameters
    ----------
    A : matrix
        As :class:`Matrix` takes it. It is copied; of a CSR on a GPU the pattern is, and its arrays are kept until the plan is gone:
        values are those that stand there when it is prepared, and the pattern has to stay.
    products : int, optional
        Products to come; with them conversion and upload count.
    device : str, optional
        Whom it is for, as for :func:`advise`.
    transpose : bool
        Whether products with A^T are to come, too: it is planned as a matrix of its own.
    model : str, optional
        As for :func:`advise`.
    dtype : optional
        Value type of the products, if it is not that of ``A``.

    Returns
    -------
    Plan

    Raises
    ------
    BadMatrix, NoProfile
    """
    matrix = as_matrix(A, dtype)
    of_transpose = None
    if transpose:
        turned = matrix._transposed()
        of_transpose = Plan(turned, advice_of(turned, products, device, model, None))
    return Plan(matrix, advice_of(matrix, products, device, model, None), of_transpose)


_told = False


def tell_where_libraries_are():
    """NVRTC may lie among the packages of this Python: with torch, CuPy, or the extras cu12 and cu13."""
    global _told
    if not _told:
        folders = [*site.getsitepackages(), site.getusersitepackages(), *sys.path]
        _core.search_libraries_in([one for one in dict.fromkeys(folders) if one.endswith("-packages")])
        _told = True
