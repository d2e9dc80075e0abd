"""Primal-dual hybrid gradient for linear programs in two launches an iteration, which are captured into a CUDA graph on a GPU.

    python pdhg.py lp,rows=4000,cols=12000 --device cuda:0 --vectors cupy

    minimize (c, x)   with   A x >= b (in some rows A x = b)   and   lower <= x <= upper

Chambolle and Pock (2011); both steps are epilogues of the products that they need:

    x = min(max(x - tau (c - A^T y), lower), upper),  v = 2 x - x'         in the launch of A^T y; x' is the old x
    y = max(y + sigma (b - A v), least)                                    in that of A v; least: 0 in rows of >=, else minus infinity

Products with A and A^T are prepared from one plan.
"""

import numpy as np
import sparsight
from iterating import arguments, beside, captured, library_of, matrix_named, norm, put, zeros

PRIMAL = "fmin(fmax(y[i] - tau * (c[i] - s), lower[i]), upper[i])"
EXTRAPOLATED = "2 * out - y[i]"
DUAL = "fmax(y[i] + sigma * (b[i] - s), least[i])"


class PDHG:
    """``look`` iterations at a time. ``op`` has A and A^T; ``c``, ``lower`` and ``upper`` an entry for each column, ``b`` and ``least`` for each row."""

    def __init__(self, op, c, lower, upper, b, least, look=20, length=None):
        self.op, self.look = op, look
        self.c, self.lower, self.upper, self.b, self.least = c, lower, upper, b, least
        self.x, self.v, self.y = zeros(c), zeros(c), zeros(b)
        # tau sigma |A|^2 < 1
        step = 0.99 / (length or norm_of(op, c))
        self.tau = self.sigma = step
        self.run = captured(self._iterate, c)

    def start(self):
        """x as near to 0 as its bounds allow, y = 0."""
        self.x[...] = clamped(zeros(self.x), self.lower, self.upper)
        self.y[...] = 0

    def _iterate(self):
        of_x = dict(c=self.c, lower=self.lower, upper=self.upper, tau=self.tau, v=self.v)
        of_y = dict(b=self.b, least=self.least, sigma=self.sigma)
        for _ in range(self.look):
            self.op.T.matvec(self.y, out=self.x, epilogue=PRIMAL, outputs={"v": EXTRAPOLATED}, **of_x)
            self.op.matvec(self.v, out=self.y, epilogue=DUAL, **of_y)

    def faults(self):
        """How far x and y are from a solution: what rows lack, what reduced costs have of the wrong sign, and the gap, each relative."""
        lacks = self.b - self.op @ self.x
        # Of a row of >= only what is missing.
        lacks = where(self.least == 0, positive(lacks), lacks)
        reduced = self.c - self.op.T @ self.y
        # A reduced cost belongs to a bound: a positive one to the lower, a negative one to the upper.
        up, down = positive(reduced), positive(-reduced)
        at_bounds = finite(self.lower) * up - finite(self.upper) * down
        wrong = up * (self.lower == -np.inf) + down * (self.upper == np.inf)
        primal, dual = float((self.c * self.x).sum()), float((self.b * self.y).sum() + at_bounds.sum())
        scale = [1 + norm(self.b), 1 + norm(self.c), 1 + abs(primal) + abs(dual)]
        return norm(lacks) / scale[0], norm(wrong) / scale[1], abs(primal - dual) / scale[2]


def clamped(v, lower, upper):
    return where(v < lower, lower, where(v > upper, upper, v))


def positive(v):
    return where(v > 0, v, zeros(v))


def finite(v):
    """With 0 in place of what is infinite."""
    return where(abs(v) < np.inf, v, zeros(v))


def where(condition, yes, no):
    return library_of(yes).where(condition, yes, no)


def norm_of(op, like, steps=40):
    """|A| by the power method, a little too large."""
    v = beside(like, np.random.default_rng(1).standard_normal(len(like)).astype(op.dtype))
    for _ in range(steps):
        v = op.T @ (op @ (v / norm(v)))
    return 1.02 * norm(v) ** 0.5


def program_of(a, rng):
    """A linear program with this matrix that has a solution: c, lower, upper, b and least, and the least value of (c, x)."""
    rows, columns = a.shape
    at_lower, equal = rng.random(columns) < 0.5, rng.random(rows) < 0.3
    x = np.where(at_lower, 0.0, rng.uniform(0.1, 1.0, columns))
    tight = equal | (rng.random(rows) < 0.5)
    y = np.where(tight, rng.standard_normal(rows), 0.0)
    y = np.where(equal, y, abs(y))
    b = a @ x - np.where(tight, 0.0, rng.uniform(0.1, 1.0, rows))
    c = a.T @ y + np.where(at_lower, rng.uniform(0.1, 1.0, columns), 0.0)
    least = np.where(equal, -np.inf, 0.0)
    parts = (c, np.zeros(columns), np.full(columns, np.inf), b, least)
    return tuple(part.astype(a.dtype) for part in parts), float(c @ x)


if __name__ == "__main__":
    flags = arguments(__doc__.splitlines()[0], "lp,rows=400,cols=1200,dense_rows=0,dense_cols=0")
    flags.add_argument("--iterations", type=int, default=20_000)
    given = flags.parse_args()
    A = matrix_named(given.matrix)
    op = sparsight.plan(A, iteration="pdhg", transpose=True).prepare(given.device)
    parts, least_value = program_of(A, np.random.default_rng(0))
    solver = PDHG(op, *(put(part, given) for part in parts))
    solver.start()
    for _ in range(0, given.iterations, solver.look):
        solver.run()
    value = float((solver.c * solver.x).sum())
    print(f"{op!r}: (c, x) = {value:.6g}, least {least_value:.6g}; faults {['%.1e' % fault for fault in solver.faults()]}")
