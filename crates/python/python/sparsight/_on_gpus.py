"""Predictions for a matrix on several GPUs: times by number of GPUs, and the distribution of rows."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _core
from ._advice import duration
from ._errors import BadVector, SparsightError

__all__ = ["OnGpus", "Scaling"]

# Most parts that are named: as many as the library knows.
_MOST = 65_536
# Most GPUs that are predicted at one time: as many as the library allows.
_MOST_GPUS = 8_192


class OnGpus:
    """Prediction of a product on a number of GPUs.

    Attributes
    ----------
    count : int
        Number of GPUs.
    predicted_s, low_s, high_s : float
        Seconds of one product, and the ends of the 90 % interval.
    speedup : float or None
        Speedup over one GPU; None if one cannot hold the matrix.
    efficiency : float or None
        Parallel efficiency, ``speedup / count``; None if one GPU cannot hold the matrix.
    limit : str or None
        Limit of the slowest GPU: ``"exchange"``, ``"imbalance"``, ``"launch"`` or ``"product"``; None on one GPU.
    extrapolated : bool
        True for more GPUs than the links were measured with.
    exchanged_bytes, most_exchanged_bytes : int
        Bytes of x that all GPUs together get in a product, and the most that one gets or gives.
    memory_bytes : int
        The most that one GPU holds: the matrix, x and y, and room for what is exchanged.
    shares : list of dict or None
        Shares of the GPUs, as ``sparsight advise --gpus --json`` has it: ``interior`` and ``boundary`` (rows that need nothing of
        others, and those that do, with the ``id`` of what computes them), ``peers``, ``exchange_s``, ``predicted_s``. None on one
        GPU and on more than 64.
    """

    __slots__ = (
        "count",
        "efficiency",
        "exchanged_bytes",
        "extrapolated",
        "high_s",
        "limit",
        "low_s",
        "memory_bytes",
        "most_exchanged_bytes",
        "predicted_s",
        "shares",
        "speedup",
    )

    count: int
    efficiency: float | None
    exchanged_bytes: int
    extrapolated: bool
    high_s: float
    limit: str | None
    low_s: float
    memory_bytes: int
    most_exchanged_bytes: int
    predicted_s: float
    shares: list[dict[str, Any]] | None
    speedup: float | None

    def __init__(self, fields):
        for name in self.__slots__:
            setattr(self, name, fields.get(name))

    def to_dict(self) -> dict[str, Any]:
        """Attributes by name."""
        return {name: getattr(self, name) for name in self.__slots__}

    def __repr__(self):
        limit = f", limited by {self.limit}" if self.limit else ""
        return f"<OnGpus {self.count}: {duration(self.predicted_s)}{limit}>"


class Scaling:
    """A product on several numbers of GPUs that can hold the matrix, fewest first: a sequence of :class:`OnGpus`. Nothing
    was run.

    >>> import sparsight
    >>> scaling = sparsight.plan(sparsight.gallery("stencil2d,n=30"), device="nvidia-h200").on_gpus([2])
    >>> [one.count for one in scaling], scaling.best.count
    ([1, 2], 1)
    """

    __slots__ = ("_all", "_answer")

    def __init__(self, answer):
        self._answer = answer
        self._all = [OnGpus(one) for one in answer["gpus"]]

    def to_dict(self) -> dict[str, Any]:
        """All of it, as ``sparsight advise --gpus --json`` answers: schema ``sparsight/advise-gpus/1``."""
        return self._answer

    def __len__(self) -> int:
        return len(self._all)

    def __getitem__(self, which: Any) -> Any:
        return self._all[which]

    def __iter__(self) -> Iterator[OnGpus]:
        return iter(self._all)

    @property
    def too_few(self) -> dict[int, str]:
        """Numbers of GPUs that cannot hold the matrix, with the reason."""
        return {few["count"]: few["why"] for few in self._answer.get("too_few", ())}

    @property
    def best(self) -> OnGpus:
        """The fastest of those of which at least half is used (an efficiency of 0.5); more than one, or than the fewest that can hold
        the matrix, only if they gain more than 5 %."""
        return next(one for one in self._all if one.count == self._answer["best"])

    @property
    def fastest(self) -> OnGpus:
        """The one with the least predicted time, however little each GPU is used; more than one, or than the fewest that can hold the
        matrix, only if they gain more than 5 %."""
        return next(one for one in self._all if one.count == self._answer["fastest"])

    @property
    def links(self) -> dict[str, Any]:
        """Facts of the links between the GPUs, with their origin (``source``)."""
        return self._answer["links"]

    def to_pandas(self) -> Any:
        """A row for each number of GPUs: ``pandas.DataFrame``."""
        import pandas

        columns = [name for name in sorted(OnGpus.__slots__) if name != "shares"]
        return pandas.DataFrame([one.to_dict() for one in self], columns=columns).set_index("count")

    def __str__(self):
        answer, best = self._answer, self.best
        matrix = answer["matrix"]
        use = f"Use {best.count} GPUs: {duration(best.predicted_s)} a product"
        if best.count == 1:
            use = f"Stay on one GPU: {duration(best.predicted_s)} a product."
        elif best.speedup is None:
            use += "; it does not fit on one GPU."
        else:
            use += f", {best.speedup:.2f} times as fast as one."
        fastest = self.fastest
        if fastest is not best:
            used = "" if fastest.efficiency is None else f", {100 * fastest.efficiency:.0f} % used"
            use += f" {fastest.count} GPUs are the fastest: {duration(fastest.predicted_s)}{used}."
        rows = [("GPUs", "predicted", "90 % between", "x one GPU", "efficiency", "limit", "exchanged", "memory a GPU")]
        rows += [
            (
                f"{on.count}{' *' if on.extrapolated else ''}",
                duration(on.predicted_s),
                f"{duration(on.low_s)} to {duration(on.high_s)}",
                "" if on.speedup is None else f"{on.speedup:.2f}",
                "" if on.efficiency is None else f"{100 * on.efficiency:.0f} %",
                on.limit or "",
                f"{on.exchanged_bytes:,} B",
                f"{on.memory_bytes:,} B",
            )
            for on in self
        ]
        widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows]
        more = [f"does not fit on {count} GPU{'s' if count > 1 else ''}: {why}" for count, why in self.too_few.items()]
        more = ["", *more] if more else []
        more += ["", "* extrapolated: more GPUs than the links were measured with"] if any(on.extrapolated for on in self) else []
        heading = [
            f"{matrix['nrows']:,} x {matrix['ncols']:,}, {matrix['nnz']:,} non-zeros",
            f"{answer['device']['name']}, {answer['dtype']}, links of {answer['links']['source']}",
            use,
            "",
        ]
        return "\n".join([*heading, *lines, *more])

    def __repr__(self):
        return f"<sparsight.Scaling over {', '.join(str(one.count) for one in self)} GPUs, best {self.best.count}>"


def scaling(matrix, advice, counts, parts, links):
    """Predictions for each number of GPUs, and for one."""
    numbers = {_count(one) for one in _listed(counts)} | {1}
    array = parts_of(parts, matrix.shape[0])
    if array is not None:
        dealt = int(array.max(initial=0)) + 1
        other = next((one for one in sorted(numbers) if one not in (1, dealt)), None)
        if other is not None:
            raise SparsightError(f"parts= deals out {dealt} parts, and {other} GPUs are asked about", f"on_gpus([{dealt}], parts=...)")
    answer = _core.on_gpus(matrix._core, advice, sorted(numbers), array, links_file(links))
    return Scaling(json.loads(answer))


def _listed(counts):
    if isinstance(counts, (str, bytes)):
        return [counts]
    try:
        return list(counts)
    except TypeError:
        return [counts]


def _count(count):
    try:
        if not isinstance(count, (bool, str)) and int(count) == count and 1 <= count <= _MOST_GPUS:
            return int(count)
    except (TypeError, ValueError, OverflowError):
        pass
    raise SparsightError(f"{count!r} GPUs", f"give whole numbers from 1 to {_MOST_GPUS}: on_gpus([1, 2, 4])")


def links_file(links):
    """The path, None of None."""
    if links is None or isinstance(links, (str, os.PathLike)):
        return links if links is None else os.fspath(links)
    raise SparsightError(
        f"links is a {type(links).__name__}", "give the path of a links.json or of a TOML file; None: the links of the profile"
    )


def parts_of(parts, rows, gpus=_MOST):
    """The number of a part for each row as int64, None of None; each below the number of GPUs."""
    if parts is None:
        return None
    hint = "parts= holds a whole number for each row: that of its part, from 0 on"
    try:
        array = np.asarray(parts)
    except ValueError as why:
        raise BadVector(f"parts: {why}", hint) from None
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise BadVector(f"parts is an array of {array.ndim} dimensions of {array.dtype}", hint)
    if array.size != rows:
        raise BadVector(f"parts has {array.size} numbers, the matrix {rows} rows", hint)
    wrong = (array < 0) | (array >= gpus)
    if wrong.any():
        row = int(wrong.argmax())
        raise BadVector(f"row {row} was given part {array[row]}, there are 0 to {gpus - 1}", hint)
    return np.require(array, np.int64, ("C_CONTIGUOUS", "ALIGNED"))


def gpus_of(devices):
    """Numbers of the GPUs that ``devices`` names."""
    hint = 'name each GPU once: devices=[0, 1], or ["cuda:0", "cuda:1"]'
    if isinstance(devices, (str, bytes)) or not hasattr(devices, "__iter__"):
        raise SparsightError(f"devices={devices!r} is no list", hint)
    numbers = []
    for one in devices:
        number = _gpu(one)
        if number is None:
            raise SparsightError(f"{one!r} is no GPU", hint)
        if number in numbers:
            raise SparsightError(f"cuda:{number} is named twice", hint)
        numbers.append(number)
    if not numbers:
        raise SparsightError("no devices", hint)
    return numbers


def _gpu(name):
    """Number of a GPU given as 1, ``"cuda:1"`` or ``torch.device("cuda:1")``; None for anything else."""
    if isinstance(name, (int, np.integer)) and not isinstance(name, bool):
        return int(name) if name >= 0 else None
    kind, _, number = str(name).partition(":")
    if kind != "cuda" or not (number.isascii() and number.isdigit() or str(name) == "cuda"):
        return None
    return int(number or 0)
