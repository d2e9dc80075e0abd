"""Products with an epilogue: a line for y, further vectors that are written, dot products; compiled lines by their text."""

import re
from types import SimpleNamespace

import numpy as np

from . import _core, _vectors
from ._errors import BadEpilogue, BadVector

__all__ = ["free", "multiply", "scaled"]

_WORD = re.compile(r"[A-Za-z_]\w*")
_VECTOR = re.compile(r"([A-Za-z_]\w*)\s*\[")
_OLD_Y = re.compile(r"\by\s*\[")


def multiply(operator, x, out, line, outputs, operands, with_, dots, stream):
    """y and the dot products, None without any. ``with_``: what they are of, as :meth:`Operator.matvec_dot` takes it."""
    kind = _vectors.kind_of(x)
    if not hasattr(kind, "place"):
        raise BadVector(f"an epilogue and a {type(x).__name__}", "give arrays of numpy, CuPy or torch")
    outputs = dict(outputs or {})
    operands = dict(operands)
    factors = _factors(with_, x, out, outputs, operands)
    of_dots = {name for pair in factors for name, _ in pair}
    operands.update((name, vector) for pair in factors for name, vector in pair if vector is not None)
    vectors, scalars = _sorted(line, outputs, operands, of_dots)
    pairs = [(one, other) for (one, _), (other, _) in factors]
    product = _compiled(operator, line, outputs, vectors, scalars, pairs)
    rows, columns = operator.shape
    source = kind.place("x", x, x, columns, operator)
    if out is None:
        if stream is not None:
            raise _vectors.new_refused(0.0, stream)
        if any(map(_OLD_Y.search, [line, *outputs.values()])):
            raise BadVector("y[i] without out: there is no y to read", "give out=")
        out = kind.new(x, rows, operator)
    lie = [(name, kind.place(name, operands[name], x, rows, operator)) for name in vectors]
    written = [(name, kind.place(name, _given(operands, name), x, rows, operator)) for name in outputs]
    target = kind.place("out", out, x, rows, operator)
    if pairs:
        of_doubles = SimpleNamespace(dtype=np.dtype(np.float64), _index=operator._index, device=operator.device)
        if dots is None:
            if stream is not None:
                raise BadVector("stream= without dots=", "give dots=, an array of float64: a new one would belong to the current stream")
            dots = kind.new(x, len(pairs), of_doubles)
        else:
            _apart(dots, [x, out, *(operands[name] for name in (*vectors, *outputs))], operator.dtype)
        sums = kind.place("dots", dots, x, len(pairs), of_doubles)
    else:
        sums = None
    numbers = [kind.scalar(name, operands[name], x, operator) for name in scalars]
    kind.will_write(out, *(operands[name] for name in outputs), *([dots] if pairs else []))
    if kind.is_on_host(x):
        if stream is not None:
            raise _vectors.refused_on_host(stream)
        product.multiply_host(source, target, [at for _, at in lie], [at for _, at in written], numbers, sums)
    else:
        at = None if sums is None else (sums, len(pairs))
        of_rows = [[(address, rows) for _, address in all_] for all_ in (lie, written)]
        product.multiply_on_device((source, columns), (target, rows), *of_rows, numbers, at, kind.handle(operator, stream))
    return out, dots if pairs else None


def scaled(line, outputs, operands, alpha, beta):
    """Operands of a line, with alpha and beta if it names them."""
    words = _words(map(str, (line, *(outputs or {}).values())))
    for name, value, default in (("alpha", alpha, 1.0), ("beta", beta, 0.0)):
        if name in words:
            operands = {**operands, name: value}
        elif value is not default and value != default:
            raise BadEpilogue(f"{name} and an epilogue that does not name it", f"write it into the line: {name} * s")
    return operands


def _words(lines):
    return {name for text in lines for name in _WORD.findall(text)}


def free(operator):
    """Gives back what was compiled and kept."""
    for product in operator._epilogues.values():
        product.free()
    operator._epilogues.clear()


def _address(array):
    if hasattr(array, "data_ptr"):
        return array.data_ptr()
    interface = getattr(array, "__cuda_array_interface__", None) or getattr(array, "__array_interface__", None)
    return interface["data"][0] if interface else None


def _is_same(one, other):
    """True for an array and another view of it: both are checked to be as long as the rows."""
    if one is other or one is None or other is None:
        return one is other
    return len(one) > 0 and _address(one) is not None and _address(one) == _address(other)


def _apart(dots, arrays, dtype):
    """Refuses results of dot products within a vector."""
    first = _address(dots)
    for array in arrays:
        begins = _address(array)
        if None not in (first, begins) and first < begins + len(array) * dtype.itemsize and begins < first + 8 * len(dots):
            raise BadVector("dots that share memory with a vector", "give an array of float64 of its own")


def _factors(with_, x, out, outputs, operands):
    """Pairs of the factors of dot products, each a name, and the vector if it is none of the operands. Of a vector with several names that
    of an output counts.
    """
    added = []

    def factor(of):
        if isinstance(of, str):
            return of, None
        for name, vector in [("y", out), ("x", x), *sorted(operands.items(), key=lambda one: one[0] not in outputs), *added]:
            if _is_same(vector, of):
                return name, None
        added.append((f"with_{len(added)}", of))
        return added[-1]

    return [tuple(factor(of) for of in one) if isinstance(one, (tuple, list)) and len(one) == 2 else (("y", None), factor(one)) for one in with_]


def _sorted(line, outputs, operands, of_dots):
    """Names of the vectors that are read, and of the scalars: vectors stand in front of a bracket, or are factors of dot products."""
    lines = [line, *outputs.values()]
    if not all(isinstance(text, str) for text in lines):
        raise BadEpilogue("a line that is no text", "epilogue=\"s * d[i]\", outputs={\"w\": \"2 * out - w[i]\"}")
    at_i = {name for text in lines for name in _VECTOR.findall(text)}
    words = _words(lines)
    vectors = [name for name in operands if name not in outputs and (name in at_i or name in of_dots)]
    scalars = [name for name in operands if name not in outputs and name not in vectors]
    if unnamed := [name for name in scalars if name not in words]:
        raise BadEpilogue(f"the operand {unnamed[0]} stands in no line of '{line}'", "leave it out")
    return vectors, scalars


def _given(operands, name):
    if name not in operands:
        raise BadVector(f"the output {name} has no vector to be written to", f"give {name}=, an array with an entry for each row")
    return operands[name]


def _compiled(operator, line, outputs, vectors, scalars, pairs):
    key = (line, tuple(outputs.items()), tuple(vectors), tuple(scalars), tuple(pairs))
    found = operator._epilogues.get(key)
    if found is None:
        named = (vectors, scalars, list(outputs.items()), pairs)
        # Of two threads that compile it, one keeps its own: a graph may hold what the other has made.
        found = operator._epilogues.setdefault(key, _core.with_epilogue(operator._core, line, named))
    return found
