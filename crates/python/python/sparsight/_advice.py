"""Ranked candidates for a matrix."""

from __future__ import annotations

import json
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from html import escape
from typing import Any

from . import _core
from ._errors import SparsightError, Uncalibrated
from ._matrix import as_matrix, short

__all__ = ["Advice", "Candidate", "Refused", "advise", "calibrate", "profiles"]


SCIPY = "scipy's CSR"


class Candidate:
    """A format with a kernel and a block size, and what is predicted of it.

    Attributes
    ----------
    id : str
        ``"csr-vector/t8/b256/f64"``.
    format, kernel : str
        Format and kernel, without knobs.
    threads_per_row : int or None
    block : int
        Threads a block; 0 where the vendor's library decides.
    dtype : str
        ``"f32"``, ``"f64"``, or ``"f32-f64"``: the values in float32 beside x, y and sums in float64.
    vendor : bool
        A routine of cuSPARSE.
    predicted_s, low_s, high_s : float
        Seconds of one product, and the ends of the 90 % interval.
    bytes : int
        Matrix without padding, x and y: what one product cannot avoid moving.
    memory_bytes : int
        The matrix on the device.
    bandwidth_fraction : float or None
        ``bytes`` over the predicted time, as a fraction of the device's copy rate; above 1 from a cache.
    conversion_s : float or None
        Conversion and upload, seconds; None if not measured.
    pays_off_after : int or None
        Products after which that has paid against what is run now: cuSPARSE's CSR or what ``from_`` named; None if never.
    in_all_s : float or None
        Conversion and all products, seconds; None unless ``products`` were given and the first is known.
    extrapolates : list of dict
        Quantities in which the matrix lies outside what was measured.
    model : str
        Model that predicted it.
    iteration_s, iteration_low_s, iteration_high_s : float or None
        Seconds of an iteration of the solver that ``iteration`` named, and the ends of its 90 % interval; else None, as what follows.
    in_products_s : float or None
        Seconds of that in its products: each takes less in a CUDA graph than ``predicted_s``, and more where what is beside it evicts it
        from the cache.
    launches : int or None
        Launches of an iteration.
    vector_bytes : int or None
        Bytes of vectors that an iteration reads and writes beside its products.
    """

    __slots__ = (
        "bandwidth_fraction",
        "block",
        "bytes",
        "conversion_s",
        "dtype",
        "extrapolates",
        "format",
        "high_s",
        "id",
        "in_all_s",
        "in_products_s",
        "iteration_high_s",
        "iteration_low_s",
        "iteration_s",
        "kernel",
        "launches",
        "low_s",
        "memory_bytes",
        "model",
        "pays_off_after",
        "predicted_s",
        "threads_per_row",
        "vector_bytes",
        "vendor",
    )

    bandwidth_fraction: float | None
    block: int
    bytes: int
    conversion_s: float | None
    dtype: str
    extrapolates: list[dict[str, Any]]
    format: str
    high_s: float
    id: str
    in_all_s: float | None
    in_products_s: float | None
    iteration_high_s: float | None
    iteration_low_s: float | None
    iteration_s: float | None
    kernel: str
    launches: int | None
    low_s: float
    memory_bytes: int
    model: str
    pays_off_after: int | None
    predicted_s: float
    threads_per_row: int | None
    vector_bytes: int | None
    vendor: bool

    def __init__(self, fields):
        for name in self.__slots__:
            setattr(self, name, fields.get(name))
        self.vendor = bool(self.vendor)

    def to_dict(self) -> dict[str, Any]:
        """Attributes by name."""
        return {name: getattr(self, name) for name in self.__slots__}

    def __repr__(self):
        return f"<Candidate {self.id}: {duration(self.predicted_s)}>"


class Refused:
    """A candidate that is not ranked.

    Attributes
    ----------
    id : str
    reason : str
        With its numbers: ``"would pad by 80x"``.
    """

    __slots__ = ("id", "reason")

    id: str
    reason: str

    def __init__(self, fields):
        self.id, self.reason = fields["id"], fields["infeasible"]

    def __repr__(self):
        return f"<Refused {self.id}: {self.reason}>"


class Advice:
    """Every candidate for one matrix, best first: a sequence of :class:`Candidate`."""

    __slots__ = ("_answer", "_core", "_matrix", "_ranked")

    def __init__(self, core, matrix):
        self._core, self._matrix, self._answer, self._ranked = core, matrix, None, None

    def to_dict(self) -> dict[str, Any]:
        """All of it, as ``sparsight advise --json`` answers: schema ``sparsight/advise/1``."""
        if self._answer is None:
            matrix = self._matrix
            has_values = matrix._on_gpu is None and matrix._turned_of is None
            self._answer = json.loads(self._core.to_json(matrix._core, has_values))
        return self._answer

    @property
    def _all(self):
        if self._ranked is None:
            ranked = (one for one in self.to_dict()["candidates"] if "predicted_s" in one)
            self._ranked = [Candidate(one) for one in ranked]
        return self._ranked

    def __len__(self) -> int:
        return len(self._core)

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, str):
            for one in self._all:
                if one.id == which:
                    return one
            raise KeyError(f"{which!r} is no candidate that is ranked: see [one.id for one in advice], and advice.refused")
        return self._all[which]

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self._all)

    @property
    def best(self) -> Candidate:
        """The first one."""
        if not self._all:
            raise SparsightError("no candidate is possible", "advice.refused says why")
        return self._all[0]

    @property
    def verdict(self) -> dict[str, Any]:
        """Verdict: ``best``, ``recommended``, ``equal`` and ``soonest_ready`` (ids), ``gains_nothing``, and
        ``plain_csr``, ``vendors_csr`` and ``run_now`` with their ``speedup``: how many times as fast the best is in one product, or,
        where ``products`` were given, in all of them with conversion and upload. ``break_even`` says from how many products on it pays to
        change from what is run now.
        """
        return self.to_dict().get("verdict", {})

    @property
    def reasons(self) -> list[dict[str, Any]]:
        """Why a product takes as long as it does, what costs most first, at most two: each with its ``kind``, its numbers (``cost_s`` of
        ``of_s`` seconds) and a sentence, ``text``. Found with one more look at a matrix, if at all, when first asked for.
        """
        return self.to_dict()["reasons"]

    @property
    def refused(self) -> list[Refused]:
        """Candidates that are not ranked: list of :class:`Refused`."""
        return [Refused(one) for one in self.to_dict()["candidates"] if "predicted_s" not in one]

    @property
    def device(self) -> dict[str, Any]:
        """The device that is predicted for, in short: dict."""
        return self.to_dict()["device"]

    @property
    def narrowing(self) -> dict[str, Any] | None:
        """Effect of storing the values in float32 if ``values="f32"`` was given; else None.

        y changes by at most ``relative_error`` times ``abs(A) @ abs(x)`` in each row; ``changed`` values change, ``below_normal`` of
        them below the range in which float32 has all its digits, and ``too_large`` are beyond it: if there are any, nothing in
        mixed precision is ranked, and ``relative_error`` is None.
        """
        return self.to_dict().get("narrowing")

    @property
    def iteration(self) -> dict[str, Any] | None:
        """The solver by whose iteration candidates are ranked: ``name``, and for ``"pdhg"`` ``transposed``, the candidate for products
        with A^T (``id``, ``predicted_s``, ``low_s``, ``high_s``, ``memory_bytes``). None if they are ranked by products.
        """
        return self.to_dict().get("iteration")

    @property
    def products(self) -> int | None:
        """Products to come, by all of which candidates are ranked; None if one product counts."""
        return self.to_dict().get("products")

    def to_pandas(self) -> Any:
        """A row for each ranked candidate: ``pandas.DataFrame``."""
        import pandas

        return pandas.DataFrame([one.to_dict() for one in self], columns=sorted(Candidate.__slots__)).set_index("id")

    def _sentence(self):
        verdict = self.verdict
        if not verdict:
            return "No candidate is possible."
        if not self.to_dict()["matrix"]["nnz"]:
            return "CSR is as good as anything: there are no non-zeros to multiply."
        use = self[verdict["recommended"]]
        number = self.products
        in_all = "" if number is None else " in all"
        if self.iteration:
            return self._sentence_of_iteration(use, number)

        def taken(one):
            return (number or 1) * one.predicted_s if one.in_all_s is None else one.in_all_s

        def is_whole(one):
            return number is None or one.in_all_s is not None

        def compared(seconds):
            # Within 5 % is a tie, as the program has it.
            speedup = seconds / taken(use)
            return f"as fast{in_all} as" if 1 / 1.05 <= speedup <= 1.05 else f"{speedup:.1f} times as fast{in_all} as"

        def faster(other):
            return compared(taken(other))

        words = "Use"
        if verdict["gains_nothing"]:
            in_csr = all(self[one].format == "csr" for one in (verdict["best"], *verdict["equal"]))
            words = "Stay with CSR:" if in_csr else "CSR is as good as anything:"
        now = verdict.get("run_now", {})
        gains = []
        if is_whole(use) and now.get("kind") in ("named", "scipy") and (now["kind"] == "scipy" or now["id"] != use.id):
            total = now["predicted_s"] if number is None else (now.get("conversion_s") or 0.0) + number * now["predicted_s"]
            gains = [f"{compared(total)} {SCIPY if now['kind'] == 'scipy' else now['id']}"]
        gains += [
            f"{faster(self[verdict[name]['id']])} {what}"
            for name, what in (("vendors_csr", "cuSPARSE's CSR"), ("plain_csr", "the best plain CSR"))
            if verdict.get(name, {}).get("id", use.id) != use.id and is_whole(self[verdict[name]["id"]]) == is_whole(use)
        ]
        predicted = f" Predicted {', '.join(gains)}." if gains else ""
        cost = ""
        if number is not None and use.in_all_s is not None:
            products = "1 product" if number == 1 else f"{number:,} products"
            cost = f"; {duration(use.in_all_s)} in all for {products} with conversion and upload"
        change = f" {verdict['break_even']}" if "break_even" in verdict else ""
        return f"{words} {use.id}, {duration(use.predicted_s)} a product{cost}.{predicted}{change}"

    def _sentence_of_iteration(self, use, number):
        solver, turned = self.iteration["name"], self.iteration.get("transposed")
        both = f" and, for A^T, {turned['id']}" if turned else ""
        cost = "" if use.in_all_s is None else f"; {duration(use.in_all_s)} in all for {number:,} with conversion and upload"
        return (
            f"Use {use.id}{both}, {duration(use.iteration_s)} an iteration of {solver} ({duration(use.iteration_low_s)} to "
            f"{duration(use.iteration_high_s)}), {duration(use.in_products_s)} of it in products{cost}."
        )

    def _heading(self):
        answer = self.to_dict()
        matrix, device = answer["matrix"], answer["device"]
        rescaled = device.get("rescaled_from")
        busy = ", measured while the machine was busy" if device.get("noise") else ""
        return [
            f"{matrix['nrows']:,} x {matrix['ncols']:,}, {matrix['nnz']:,} non-zeros, {matrix['row_mean']:.1f} a row "
            f"({matrix['row_min']:,} to {matrix['row_max']:,})",
            f"{device['name']}, {answer['dtype']}" + (f", carried over from {rescaled}" if rescaled else "") + busy,
            self._sentence(),
            *([" ".join(reason["text"] for reason in self.reasons)] if self.reasons else []),
            *([what_it_changes(self.narrowing)] if self.narrowing else []),
        ]

    _COLUMNS = ("candidate", "predicted", "90 % between", "of bandwidth", "convert", "pays off after")

    def _shown(self):
        """The first ten kernels, each with its best block size, and what the verdict compares with, if that is ranked."""
        of_kernel = {}
        for one in self._all:
            of_kernel.setdefault((one.id.rsplit("/", 2 if one.block else 1)[0], one.dtype), one)
        shown = list(of_kernel.values())[:10]
        compared = {self.verdict.get(name, {}).get("id") for name in ("plain_csr", "vendors_csr", "run_now")}
        return shown + [one for one in self._all if one.id in compared and one not in shown]

    def _rows(self):
        now = self.verdict.get("run_now", {})
        for one in self._shown():
            fraction = one.bandwidth_fraction
            what = "products" if one.iteration_s is None else "iterations"
            pays = "never" if one.pays_off_after is None else f"{one.pays_off_after:,} {what}"
            if one.id == now.get("id") and now["kind"] != "scipy":
                pays = "run now"
            yield (
                one.id,
                duration(one.predicted_s),
                f"{duration(one.low_s)} to {duration(one.high_s)}",
                "-" if fraction is None else f"{fraction:.2f}",
                "-" if one.conversion_s is None else duration(one.conversion_s),
                pays,
            )

    def _rest(self):
        more = len(self) - len(self._shown())
        return [f"... and {more} more, most of them with other block sizes"] if more > 0 else []

    def __str__(self):
        rows = [self._COLUMNS, *self._rows()]
        widths = [max(len(row[at]) for row in rows) for at in range(len(self._COLUMNS))]
        lines = ["  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:]))]) for row in rows]
        return "\n".join([*self._heading(), "", *lines, *self._rest()])

    def __repr__(self):
        first = f", best {self._all[0].id}: {duration(self._all[0].predicted_s)}" if self._all else ""
        return f"<sparsight.Advice of {len(self)} candidates for {self.device['name']}{first}>"

    def _repr_html_(self):
        heading = "<br>".join(escape(line) for line in self._heading())
        head = "".join(f"<th style='text-align:{'right' if at else 'left'}'>{name}</th>" for at, name in enumerate(self._COLUMNS))
        body = "".join(
            "<tr>" + "".join(f"<td style='text-align:{'right' if at else 'left'}'>{escape(cell)}</td>" for at, cell in enumerate(row)) + "</tr>"
            for row in self._rows()
        )
        return f"<p>{heading}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def what_it_changes(narrowing: dict[str, Any]) -> str:
    """In the words of the program."""
    too_large, changed, below = (narrowing[name] for name in ("too_large", "changed", "below_normal"))
    if too_large:
        return f"{too_large:,} of the values {'is' if too_large == 1 else 'are'} too large for f32: nothing in mixed precision is ranked."
    if not changed:
        return "Every value is an f32 already: with the values in f32 nothing is lost."
    fewer = f", {below:,} of them below the range in which f32 has all its digits" if below else ""
    return (
        f"With the values in f32 y changes by at most {narrowing['relative_error']:.1e} |A| |x| in each row "
        f"({changed:,} of the values change{fewer})."
    )


def duration(seconds: float) -> str:
    """Time with its unit: ``"7.33 us"``."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            break
    number = seconds / size
    digits = 2 if number < 10 else 1 if number < 100 else 0
    return f"{number:.{digits}f} {unit}"


def advise(
    A: Any,
    products: int | None = None,
    device: str | None = None,
    model: str | None = None,
    dtype: Any = None,
    values: Any = None,
    from_: str | None = None,
    iteration: str | None = None,
) -> Advice:
    """Predicts how fast y = A x is in every storage format, kernel and block size, and ranks them. Nothing is run.

    Parameters
    ----------
    A : matrix
        As :class:`Matrix` takes it, or one of these. Of its values only zeros are counted, for :attr:`Advice.reasons`, and what
        ``values`` asks for. The answer keeps it.
    products : int, optional
        Products to come: candidates are ranked by what all of them cost, with conversion and upload. Without, by one product.
    device : str, optional
        The device it is for: ``"cuda:0"``, ``"cpu"`` (:func:`calibrate` measures it), a shipped profile (:func:`profiles`), or the
        folder or data sheet of another one. A GPU of this machine that has no profile is calibrated when it is first named, once, in about
        20 s. Times for ``"cuda:0"`` are with what products cost there, timed when it is first named. By default the first GPU here, if
        it is known, else ``"nvidia-h200"``.
    model : str, optional
        One model alone: ``"boosting"``, ``"strip-cache"``, ``"strip"``, ...
    dtype : optional
        Value type to predict for, if it is not that of ``A``.
    values : "f32", optional
        Ranks also candidates that store the values of a float64 matrix in float32, beside x, y and sums in float64 (GPUs); their ids
        end in ``f32-f64``. What that changes is bounded for this very matrix: :attr:`Advice.narrowing`. Never done unasked.
    from_ : str, optional
        Present implementation, from which break-evens are counted: ``"cusparse-csr"``, any kernel or candidate, or ``"scipy"`` (its CSR on
        one thread of this processor, once that is calibrated). By default cuSPARSE's CSR, for a processor the best plain CSR.
    iteration : str, optional
        Ranks by an iteration of a solver around the product: ``"cg"``, ``"bicgstab"`` or ``"pdhg"`` (for linear programs; it multiplies
        with A^T, too). ``products`` then counts iterations. docs/solvers.md of the project says what an iteration is.

    Returns
    -------
    Advice

    Raises
    ------
    BadMatrix, NoProfile, NoGpu

    Examples
    --------
    >>> import sparsight
    >>> A = sparsight.gallery("stencil3d,n=20")
    >>> advice = sparsight.advise(A, products=1000, device="nvidia-h200")
    >>> advice.best is advice[0], advice.best.predicted_s < advice[-1].predicted_s
    (True, True)
    >>> mixed = sparsight.advise(A, device="nvidia-h200", values="f32")
    >>> mixed.narrowing["changed"]                          # of a stencil every value is a float32 already
    0
    >>> best = sparsight.advise(A, device="nvidia-h200", iteration="cg").best
    >>> best.launches, best.in_products_s <= best.predicted_s < best.iteration_s
    (2, True)
    """
    return advice_of(as_matrix(A, or_places=True), products, device, model, dtype, mixed(values), iteration, from_)


def mixed(values):
    """True if the argument ``values`` asks for storage in float32."""
    if values is None:
        return False
    if short(values) != "f32":
        raise SparsightError(f"values={values!r} is not f32, the only type that saves bytes", 'values="f32", or leave it out')
    return True


def advice_of(matrix, products, device, model, dtype, is_mixed=False, iteration=None, from_=None):
    """Advice for a :class:`Matrix`."""
    number = None if products is None else _whole(products)
    if iteration is not None and from_ is not None:
        raise SparsightError("from_ with an iteration", "break-evens of iterations are counted from cuSPARSE's CSR: leave from_ out")
    if device is None:
        _warn_of_unknown_gpu()
    else:
        device = str(device)
    asked = matrix._with_values() if is_mixed else matrix._core

    def advise():
        return Advice(_core.advise(asked, matrix.name, device, number, model, short(dtype), is_mixed, from_, iteration), matrix)

    try:
        return advise()
    except Uncalibrated as unknown:
        why = str(unknown.args[0])
    # One thread calibrates, the others wait for it and find what it left; so do processes, which `calibrate` keeps apart.
    with _calibrating:
        try:
            return advise()
        except Uncalibrated:
            warnings.warn(f"{why}: it is calibrated now, once, in about 20 s", stacklevel=3)
            _core.calibrate(device, _quietly, True)
    return advise()


_calibrating = threading.Lock()


def _quietly(at, what):
    """Progress that is not shown; Ctrl-C is seen between two steps."""


def profiles() -> list[str]:
    """Names of the devices whose profiles are part of this package."""
    return _core.profiles()


def _whole(products):
    try:
        number = int(products)
        if not isinstance(products, (bool, str)) and number == products and 0 <= number < 2**63:
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    raise SparsightError(f"{products!r} products", "give a whole number, or None")


_said = False


def _warn_of_unknown_gpu():
    """Once: advice is for another GPU than the one here, of which nothing is known."""
    global _said
    if not _said:
        _said = True
        unknown = _core.unknown_gpu()
        if unknown:
            warnings.warn(
                f'{unknown} has no profile, so this is for nvidia-h200; device="cuda:0" calibrates it, once, in about 20 s, '
                "unless SPARSIGHT_CALIBRATE=0 says not to",
                stacklevel=4,
            )


def calibrate(device: str = "cuda:0", progress: Callable[[int, str], None] | None = None) -> str:
    """Gets to know a device that has no profile, once: a GPU in about 20 s, the processor in one to two minutes.

    :func:`advise` and :func:`plan` do so by themselves when a GPU of this machine is first named, with a warning in place of progress.

    Of a GPU up to ten generated matrices are run. What is predicted for the nearest GPU with a profile then answers for this one, with
    wider intervals. The processor is calibrated by itself, from benchmark matrices and 131 generated matrices in float32 and
    float64. A warning tells of a calibration that was made while the machine was not quiet, which then
    answers in this process alone. Both answer here and in the program ``sparsight``. What was measured is kept, and a calibration that
    was stopped goes on.

    Parameters
    ----------
    device : str
        ``"cuda:0"``, ``"cuda:1"``, ... or ``"cpu"``.
    progress : callable, optional
        Called with a number from 0 to 19 and the name of what is measured next. By default dots are printed on stderr, 20 in all.

    Returns
    -------
    str
        The profile whose predictions answer: ``"nvidia-h200"``, or ``"cpu"``, the processor's own.

    Raises
    ------
    NoGpu, NoProfile
    """
    from ._libraries import tell_where_libraries_are

    tell_where_libraries_are()
    reached = 0

    def dots(at, _):
        nonlocal reached
        sys.stderr.write("." * (at - reached))
        sys.stderr.flush()
        reached = at

    reference, noise = _core.calibrate(str(device), progress or dots)
    if progress is None:
        sys.stderr.write("\n")
    if noise is not None:
        warnings.warn(
            f"the machine was not quiet, and times may be off: {noise}; this calibration answers in this process alone, calibrate again "
            "when less else runs",
            stacklevel=2,
        )
    return reference
