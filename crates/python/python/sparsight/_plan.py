"""Plan of a matrix: made before anything is converted, carried out by ``prepare``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, overload

from . import _core
from ._advice import advice_of, duration, mixed
from ._errors import Infeasible, SparsightError
from ._libraries import tell_where_libraries_are
from ._matrix import as_matrix

if TYPE_CHECKING:
    from ._advice import Advice, Candidate
    from ._distributed import DistributedOperator
    from ._on_gpus import Scaling
    from ._operator import Operator
    from ._ranks import RankOperator

__all__ = ["Plan", "plan"]


class Plan:
    """Choice of a candidate for a matrix, and for its transpose if requested.

    Attributes
    ----------
    advice : Advice
        Advice that it was chosen from.
    transposed : Plan or None
        Plan of A^T.
    """

    __slots__ = ("_asked", "_matrix", "advice", "transposed")

    advice: Advice
    transposed: Plan | None

    def __init__(self, matrix, advice, asked):
        """``asked``: what :func:`advice_of` was asked for beside the matrix."""
        self._matrix, self.advice, self._asked, self.transposed = matrix, advice, asked, None

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
        """Memory of the matrix on the device, that of A^T included, in bytes."""
        return self.candidate.memory_bytes + (self.transposed.memory_bytes if self.transposed else 0)

    def on_gpus(
        self, counts: Iterable[int] = (1, 2, 4, 8), parts: Any = None, links: str | os.PathLike[str] | None = None
    ) -> Scaling:
        """Predicts y = A x with the rows of A dealt out to several GPUs like that of the plan. Nothing is run.

        Parameters
        ----------
        counts : iterable of int
            Numbers of GPUs; one, with which the others are compared, is always among the answers.
        parts : array, optional
            The number of a part for each row, from 0 on, as graph partitioners give it: GPU ``i`` gets the rows of part ``i``. By
            default rows stay in their order, cut where all GPUs are predicted to take the same time.
        links : str or os.PathLike, optional
            A ``links.json`` or a TOML file about the links between the GPUs (docs/gpus.md of the project). By default those of the
            profile.

        Returns
        -------
        Scaling

        Raises
        ------
        BadVector, NoProfile, Infeasible
        """
        from ._on_gpus import scaling

        self._refuse_mixed()
        return scaling(self._matrix, self.advice._core, counts, parts, links)

    @overload
    def prepare(
        self,
        device: str | None = None,
        try_: int | str = 1,
        candidate: str | None = None,
        updates: bool = False,
        *,
        devices: None = None,
        ranks: None = None,
        parts: None = None,
        links: None = None,
    ) -> Operator: ...

    @overload
    def prepare(
        self, *, devices: Iterable[Any], parts: Any = None, links: str | os.PathLike[str] | None = None
    ) -> Operator | DistributedOperator: ...

    @overload
    def prepare(
        self, device: str | None = None, *, ranks: Any, parts: Any = None, links: str | os.PathLike[str] | None = None
    ) -> RankOperator: ...

    def prepare(
        self,
        device: str | None = None,
        try_: int | str = 1,
        candidate: str | None = None,
        updates: bool = False,
        *,
        devices: Iterable[Any] | None = None,
        ranks: Any = None,
        parts: Any = None,
        links: str | os.PathLike[str] | None = None,
    ) -> Any:
        """Converts the matrix, brings it to the device and loads the kernels, which are compiled the first time.

        A CSR that lies on that GPU already is converted from where it lies, after everything that is queued there, and needs room
        for copies beside it meanwhile; the operator does not need it afterwards. Its values go to the host and back if several
        candidates are to be tried, if the device is another one, and for A^T.

        Parameters
        ----------
        device : str, optional
            ``"cuda:0"``, ``"cuda:1"``, ... or ``"cpu"``; the first GPU if neither this nor ``devices`` is given. On the processor a plan
            that was made for a GPU is planned again: from the processor's calibration (:func:`calibrate`) if there is one, else CSR as
            it is; :attr:`Operator.candidate` says what runs.
        try_ : int or "auto"
            Runs so many candidates for some milliseconds each and takes the fastest; of a plan with ``iteration``, that of the fastest
            iteration, with the product as measured and the rest as predicted. The second is the one that may gain most by what
            the first took, and so on. ``"auto"``: as many as are worth it for the products that :func:`plan` was told of: each
            while what it may be expected to gain is more than it costs.
        candidate : str, optional
            The id of the one to take, from :attr:`advice`, on whatever device.
        updates : bool
            Finds out where the values stand, so that :meth:`Operator.update_values` may replace them.
        devices : iterable, optional
            Several GPUs of one kind, to which the rows are dealt out: ``[0, 1]``, or ``["cuda:0", "cuda:1"]``. Each computes its rows
            with what is predicted to be the fastest for them, and they exchange entries of x through NCCL, which has to be there:
            torch brings it, or ``pip install nvidia-nccl-cu13``. One GPU is the same as ``device``.
        ranks : bool or torch.distributed.ProcessGroup, optional
            The processes of ``torch.distributed``, each with a GPU, to which the rows are dealt out: those of a group, or with ``True``
            all of them. All of them plan the same and call this together; ``device`` is the GPU of this one, by default the one that
            the launcher says (``LOCAL_RANK``), else torch's current one.
        parts : array, optional
            Of ``devices`` and ``ranks``: which of them gets each row, as for :meth:`on_gpus`.
        links : str or os.PathLike, optional
            Of ``devices`` and ``ranks``: as for :meth:`on_gpus`.

        Returns
        -------
        Operator, or DistributedOperator for several devices, RankOperator for several processes

        Raises
        ------
        NoGpu, Infeasible, NoProfile, BadVector
        """
        from ._operator import Operator, Prepared, Unplanned, order_of_transpose

        if ranks is not None and ranks is not False:
            if devices is not None or try_ != 1 or candidate is not None or updates:
                raise SparsightError("ranks take no devices, try_, candidate and updates", "leave them out: each process has one GPU")
            return self._prepared_by(ranks, device, parts, links)
        if devices is not None:
            if device is not None:
                raise SparsightError("a device and several of them", "give one of device and devices")
            if try_ != 1 or candidate is not None or updates:
                raise SparsightError("several GPUs take no try_, candidate and updates", "leave them out, or prepare for one GPU")
            return self._prepared_on(devices, parts, links)
        if parts is not None or links is not None:
            raise SparsightError("parts and links without devices or ranks", "prepare(devices=[0, 1], ...) deals the rows out")
        if try_ != "auto" and (isinstance(try_, bool) or not isinstance(try_, int) or not 1 <= try_ <= 1000):
            raise SparsightError(
                f"try_={try_!r}", 'give a whole number of candidates, at least 1 and at most 1000, or "auto"'
            )
        tries = 0 if try_ == "auto" else try_
        if candidate is not None and tries != 1:
            raise SparsightError("a candidate that is named and several to be tried", "give one of candidate and try_")
        device = "cuda:0" if device is None else str(device)
        if device != "cpu":
            tell_where_libraries_are()
        elif self.advice.narrowing is not None:
            raise SparsightError("values in f32 beside vectors in f64 are for GPUs", 'plan without values= for "cpu"')

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
            return Operator(core, about, unplanned=Unplanned(self, device, bool(updates)))
        turned = (prepared(self.transposed, None), Prepared(self.transposed._matrix, is_transposed=True))
        return Operator(core, about, turned, order_of_transpose(self._matrix._core) if updates else None)

    def _prepared_on(self, devices, parts, links):
        """The operator of several GPUs."""
        from ._distributed import DistributedOperator
        from ._on_gpus import gpus_of, links_file, parts_of

        self._refuse_transpose(DistributedOperator)
        gpus, links = gpus_of(devices), links_file(links)
        parts = parts_of(parts, self._matrix.shape[0], len(gpus))
        if len(gpus) == 1:
            return self.prepare(f"cuda:{gpus[0]}")
        self._refuse_mixed()
        tell_where_libraries_are()
        core = _core.prepare_distributed(self._matrix._with_values(), self.advice._core, gpus, parts, links)
        return DistributedOperator(core, self._matrix)

    def _prepared_by(self, ranks, device, parts, links):
        """The operator of this process among others."""
        from ._ranks import RankOperator, prepared_by_ranks

        self._refuse_transpose(RankOperator)
        self._refuse_mixed()
        return prepared_by_ranks(self, ranks, device, parts, links)

    def _refuse_transpose(self, kind):
        if self.transposed is not None:
            raise kind._no_transpose("plan(A) without transpose; ")

    def _refuse_mixed(self):
        if self.advice.narrowing is not None:
            raise SparsightError("values in f32 are not dealt out to several GPUs", "plan without values=")

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
    values: Any = None,
    iteration: str | None = None,
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
        The device it is for, as for :func:`advise`.
    transpose : bool
        Whether products with A^T are to come, too: it is planned as a matrix of its own, and prepared with A. Else that is done when
        ``op.T`` is first used, with a warning that says what it costs.
    model : str, optional
        As for :func:`advise`.
    dtype : optional
        Value type of the products, if it is not that of ``A``.
    values : "f32", optional
        As for :func:`advise`: a candidate whose values are stored in float32 is taken where it is the best. x and y stay float64, and
        ``plan.advice.narrowing`` says what y loses. New values (``update_values``) are float64, and rounded likewise.
    iteration : str, optional
        As for :func:`advise`: the candidate is the best for an iteration of that solver.

    Returns
    -------
    Plan

    Raises
    ------
    BadMatrix, NoProfile, NoGpu

    Examples
    --------
    >>> import numpy as np
    >>> import sparsight
    >>> plan = sparsight.plan(sparsight.gallery("stencil2d,n=10"), transpose=True)
    >>> op = plan.prepare("cpu")                            # or "cuda:0"
    >>> float((op @ np.ones(100)).sum()), float(op.rmatvec(np.ones(100)).sum())
    (40.0, 40.0)
    """
    is_mixed = mixed(values)
    matrix = as_matrix(A, dtype)
    asked = (products, device, model, None, is_mixed, iteration)
    made = Plan(matrix, advice_of(matrix, *asked), asked)
    if transpose:
        turned = matrix._transposed()
        made.transposed = Plan(turned, advice_of(turned, *asked), asked)
    return made
