"""A matrix on several GPUs, each with a process of its own: those of ``torch.distributed``."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from . import _core, _vectors
from ._distributed import OnSeveralGpus, Piece, on_host
from ._errors import BadVector, NoGpu, SparsightError
from ._products import of_column

__all__ = ["RankOperator", "prepared_by_ranks"]


class RankOperator(OnSeveralGpus):
    """Share of one process in a matrix of which each process of a group has some rows, each on its GPU.

    All processes make it together, and do together what is marked so: :meth:`multiply`, ``op @ x``, :meth:`gather`. Vectors that stay on
    the GPUs are a :class:`Piece` in each process: the entries of the vector whose numbers are :attr:`columns` (of an x) or :attr:`rows`
    (of a y). Dot products are sums over the pieces, added up by ``torch.distributed.all_reduce``.

    >>> torch.distributed.init_process_group()                  # doctest: +SKIP
    >>> op = sparsight.plan(A).prepare(ranks=True)              # doctest: +SKIP
    >>> x = op.scatter(b)                                       # doctest: +SKIP
    >>> y = op.multiply(x)                                      # doctest: +SKIP
    >>> t = torch.as_tensor(y, device=y.device)                 # doctest: +SKIP
    """

    _takes_from_gpus = "scatter(x) takes a vector on the host to the GPU, multiply(x) works on what lies there"

    _of_its_own = "plan(A.T.tocsr()).prepare(ranks=...) is an operator of its own"

    def __init__(self, core, matrix, group):
        super().__init__(core, matrix)
        self._group = group
        rows, columns = core.own_lengths
        self._rows, self._columns = np.empty(rows, np.int64), np.empty(columns, np.int64)
        core.own(False, self._rows)
        core.own(True, self._columns)

    @property
    def rank(self) -> int:
        """Rank of this process."""
        return self._group.rank

    @property
    def ranks(self) -> int:
        """Number of processes."""
        return self._group.ranks

    @property
    def device(self) -> str:
        """``"cuda:N"``: the GPU of this process."""
        return f"cuda:{self._core.index}"

    @property
    def rows(self) -> np.ndarray:
        """Numbers of the rows of this process, in the order in which a y has them: int64."""
        return self._rows

    @property
    def columns(self) -> np.ndarray:
        """Numbers of the entries of an x of this process, in the order in which it has them: int64; of a square matrix those of the rows."""
        return self._columns

    @property
    def memory_bytes(self) -> int:
        """Memory of this process's share on its GPU, with buffers of the exchange, without x and y, in bytes."""
        return self._core.memory_bytes

    def zeros(self) -> Piece:
        """An x that stays on the GPUs, all 0: the entries of this process."""
        return Piece(self._core.piece_of(np.zeros(self._columns.size, self.dtype), True))

    def scatter(self, x: Any) -> Piece:
        """The entries of this process, of an x that it has whole, on its GPU.

        Parameters
        ----------
        x : numpy.ndarray
            ``(columns,)`` of the whole matrix, contiguous, of the operator's value type; the same in all processes.
        """
        x = on_host("x", x)
        _vectors.Numpy.check("x", x, self.shape[1], self)
        return Piece(self._core.piece_of(x[self._columns], True))

    def multiply(self, x: Piece, out: Piece | None = None, alpha: float = 1.0, beta: float = 0.0) -> Piece:
        """y = alpha A x + beta y with vectors that stay on the GPUs. All processes call it.

        Everything that is queued on the GPU is waited for before, in whatever stream, and the product until it is done. If a process
        does not come within a minute, the others are told so by an error.

        Parameters
        ----------
        x : Piece
            From :meth:`zeros`, :meth:`scatter`, or, if the matrix is square, from here.
        out : Piece, optional
            y: from here, or, if the matrix is square, any but ``x``. It may hold anything unless ``beta`` is given.
        alpha, beta : float
        """
        source = _core_of("x", x)
        if out is None:
            if refused := _vectors.new_refused(beta, None):
                raise refused
            out = Piece(self._core.piece_of(np.zeros(self._rows.size, self.dtype), False))
        self._core.multiply(source, _core_of("out", out), alpha, beta)
        return out

    def gather(self, piece: Piece) -> np.ndarray:
        """A vector that lies on the GPUs, whole, in each process. All of them call it; it goes over ``torch.distributed``."""
        core = _core_of("piece", piece)
        is_x = self._core.is_x(core)
        numbers = self._columns if is_x else self._rows
        own = np.empty(numbers.size, self.dtype)
        self._core.read(core, own)
        whole = np.empty(self.shape[1 if is_x else 0], self.dtype)
        for numbers, entries in self._group.told((numbers, own)):
            whole[numbers] = entries
        return whole

    def matvec(
        self, x: Any, out: Any = None, alpha: float = 1.0, beta: float = 0.0, *, epilogue: Any = None, outputs: Any = None, **operands: Any
    ) -> Any:
        """y = alpha A x + beta y with vectors on the host, whole in each process. All of them call it. An ``epilogue`` is refused.

        Parameters
        ----------
        x : numpy.ndarray
            ``(columns,)``, contiguous, of the operator's value type; the same in all processes.
        out : numpy.ndarray, optional
            y, likewise; it may hold anything unless ``beta`` is given.
        alpha, beta : float
        """
        self._refuse(epilogue, outputs, operands)
        if getattr(x, "ndim", 1) == 2 and x.shape[1] == 1:
            return of_column(x, lambda vector: self.matvec(vector, out, alpha, beta))
        piece = self.scatter(x)
        if out is None:
            if refused := _vectors.new_refused(beta, None):
                raise refused
            return self.gather(self.multiply(piece, alpha=alpha))
        out = on_host("out", out)
        _vectors.Numpy.check("out", out, self.shape[0], self)
        y = self.gather(self.multiply(piece, alpha=alpha))
        out[:] = y if beta == 0.0 else y + beta * out
        return out

    def __repr__(self):
        rows, columns = self.shape
        freed = ", freed" if self._core.is_freed else ""
        return f"<sparsight.RankOperator {rows:,} x {columns:,}, rank {self.rank} of {self.ranks} on {self.device}{freed}>"


class Group:
    """Processes that tell each other things before they are linked, and what is no hurry: by ``torch.distributed``."""

    def __init__(self, group):
        torch = sys.modules.get("torch")
        self._torch = getattr(torch, "distributed", None)
        if self._torch is None or not self._torch.is_available() or not self._torch.is_initialized():
            raise SparsightError(
                "ranks, and no process group of torch.distributed", "torch.distributed.init_process_group() in each process, before"
            )
        self._group = None if group is True else group
        self.rank, self.ranks = self._torch.get_rank(self._group), self._torch.get_world_size(self._group)
        if self.rank < 0:
            raise SparsightError("this process is not in the group of ranks=", "prepare in the processes of the group alone")

    def told(self, something):
        """Answers of all processes, by rank."""
        answers = [None] * self.ranks
        self._torch.all_gather_object(answers, something, group=self._group)
        return answers

    def index(self):
        """The number of this process' GPU: the only one it sees, else as the launcher says, else the one that is current in torch."""
        cuda = sys.modules["torch"].cuda
        local, seen = os.environ.get("LOCAL_RANK", ""), cuda.device_count()
        if seen == 1:
            return 0
        if not local.isdigit():
            return cuda.current_device()
        # A torch without CUDA sees none, which says nothing of what the driver has.
        if 0 < seen <= int(local):
            hint = "start as many processes on a host as it has GPUs, or name the GPU: prepare(\"cuda:N\", ranks=...)"
            raise NoGpu(f"LOCAL_RANK is {local}, and the process sees {seen} GPUs", hint)
        return int(local)


def prepared_by_ranks(plan, ranks, device, parts, links):
    """The operator of this process; all processes of the group call it. What goes wrong in one is an error in all."""
    from ._on_gpus import gpus_of, links_file, parts_of
    from ._libraries import tell_where_libraries_are

    group = Group(ranks)

    # All processes know the state, or none can be told.
    is_known = False

    def agree(what, failed=None):
        """The values of all processes; if one failed, none goes on. Each calls this once before the GPUs are linked and once after."""
        nonlocal is_known
        is_known = True
        # Ctrl-C has no words of its own.
        answers = group.told((None if failed is None else str(failed) or type(failed).__name__, what))
        if failed is not None:
            raise failed
        for rank, (why, _) in enumerate(answers):
            if why is not None:
                raise SparsightError(f"rank {rank}: {why}", "all ranks prepare together, or none")
        return [what for _, what in answers]

    def meet(digest):
        nonlocal is_known
        identity = bytes(_core.nccl_identity()) if group.rank == 0 else None
        answers = agree((digest, identity))
        for rank, (theirs, _) in enumerate(answers):
            if what := what_differs(answers[0][0], theirs):
                hint = "give the same matrix, plan(...), parts= and links= in all processes, on GPUs of one kind"
                raise SparsightError(f"rank {rank} has not planned what rank 0 has: {what}", hint)
        is_known = False
        return answers[0][1]

    try:
        index = group.index() if device is None else gpus_of([device])[0]
        links, parts = links_file(links), parts_of(parts, plan._matrix.shape[0], group.ranks)
        tell_where_libraries_are()
        matrix = plan._matrix._with_values()
        core = _core.prepare_rank(matrix, plan.advice._core, index, group.rank, group.ranks, parts, links, meet)
    # Ctrl-C too is something that the others wait for.
    except BaseException as failed:
        if is_known:
            raise
        agree(None, failed)
    agree(None)
    return RankOperator(core, plan._matrix, group)


def what_differs(ours, theirs):
    """Differences from the plan of another rank, in the words of Rust's ``PlanDigest::differs``; None if there are none.

    A digest has a line for each property.
    """
    ours, theirs = (dict(line.split("\t", 1) for line in digest.splitlines()) for digest in (ours, theirs))
    for name, value in ours.items():
        if name not in theirs:
            return f"it does not say {name}"
        if theirs[name] != value:
            return f"{name} is {theirs[name]}, and {value} there"
    return next((f"it also says {name}" for name in theirs if name not in ours), None)


def _core_of(what, piece):
    """The Rust object of a piece."""
    if not isinstance(piece, Piece):
        raise BadVector(f"{what} is a {type(piece).__name__} and no piece", "scatter(x), zeros() and multiply(x) give one")
    return piece._core
