"""Conjugate gradients in two launches an iteration, which are captured into a CUDA graph on a GPU.

    python cg.py stencil3d,n=60 --device cuda:0 --vectors cupy

The form of Chronopoulos and Gear (1989), whose dot products are all of one product: with w = A r

    g = (r, r),  d = (w, r)                        in the launch of the product
    beta = g / g',  alpha = g / (d - beta g / alpha')
    p = r + beta p,  q = w + beta q                in one launch; q = A p
    x = x + alpha p,  r = r - alpha q

Scalars stay on the GPU; the host looks at the residual every `look` iterations.
"""

import math

import numpy as np
import sparsight
from iterating import Update, arguments, captured, matrix_named, norm, on, zeros

STEP = Update(
    "beta = ratio(dots[1], before[1]); alpha = ratio(dots[1], dots[0] - ratio(beta * dots[1], last[0]))",
    "p = r + beta * p; q = w + beta * q; x = x + alpha * p; r = r - alpha * q",
    keeps={"next": "alpha"},
)


class CG:
    """``look`` iterations at a time for A x = b, A symmetric and positive definite; ``look`` is even."""

    def __init__(self, op, b, look=20):
        self.op, self.b, self.look = op, b, look
        self.x, self.r, self.p, self.q, self.w = (zeros(b) for _ in range(5))
        # Of this iteration and of the one before, in turn: no launch reads what it writes.
        self.dots = [zeros(b, 2, "float64") for _ in range(2)]
        self.alpha = [zeros(b, 1, "float64") for _ in range(2)]
        self.run = captured(self._iterate, b)

    def start(self):
        """x = 0."""
        for vector in (self.x, self.p, self.q, self.w):
            vector[...] = 0
        self.r[...] = self.b
        # As if there had been an iteration without an end: beta = 0.
        self.dots[1][...] = math.inf
        self.alpha[1][...] = 1

    def _iterate(self):
        for turn in range(self.look):
            now, before = turn % 2, 1 - turn % 2
            self.op.matvec_dot(self.r, self.w, [self.r, (self.r, self.r)], dots=self.dots[now])
            STEP(
                **dict(x=self.x, r=self.r, p=self.p, q=self.q, w=self.w),
                **dict(dots=self.dots[now], before=self.dots[before], last=self.alpha[before], next=self.alpha[now]),
            )


def cg(op, b, rtol=1e-8, most=10_000, look=20):
    """x and the number of iterations, until the residual is ``rtol`` times the norm of b."""
    solver, limit = CG(op, b, look), rtol * norm(b)
    solver.start()
    for done in range(look, most + look, look):
        solver.run()
        if norm(solver.r) <= limit:
            return solver.x, done
    raise RuntimeError(f"not within {rtol} after {most} iterations")


if __name__ == "__main__":
    given = arguments(__doc__.splitlines()[0], matrix="stencil2d,n=60").parse_args()
    A = matrix_named(given.matrix)
    op = sparsight.plan(A, iteration="cg").prepare(given.device)
    b = on(given.device, given.vectors, A @ np.ones(A.shape[1], A.dtype))
    x, iterations = cg(op, b)
    residual = norm(b - op @ x) / norm(b)
    predicted = sparsight.advise(A, iteration="cg").best.iteration_s
    print(f"{op!r}: {iterations} iterations, residual {residual:.1e}; predicted {1e6 * predicted:.2f} us an iteration on a GPU")
