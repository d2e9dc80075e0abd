"""Stabilised biconjugate gradients in four launches an iteration, which are captured into a CUDA graph on a GPU.

    python bicgstab.py circuit,n=20000 --device cuda:0 --vectors torch

As van der Vorst (1992) has it, for square matrices that need not be symmetric; r0 is the first residual:

    v = A p  with (v, r0)                                    alpha = rho / (v, r0)
    r = r - alpha v
    t = A r  with (t, r), (t, t), (t, r0)                    omega = (t, r) / (t, t)
    x = x + alpha p + omega r,  r = r - omega t,  p = r + beta (p - omega v)

(r, r0) is 0 after the second line, so the next rho is -omega (t, r0), and beta = (rho / rho') (alpha / omega): no launch of its own.
"""

import numpy as np
import sparsight
from iterating import Update, arguments, captured, matrix_named, norm, on, zeros

HALF = Update("alpha = ratio(rho[0], of_v[0])", "r = r - alpha * v")
STEP = Update(
    "alpha = ratio(rho[0], of_v[0]); omega = ratio(of_t[0], of_t[1]); after = -omega * of_t[2]; "
    "beta = ratio(after, rho[0]) * ratio(alpha, omega)",
    "x = x + alpha * p + omega * r; r = r - omega * t; p = r + beta * (p - omega * v)",
    keeps={"next": "after"},
)


class BiCGStab:
    """``look`` iterations at a time for A x = b; ``look`` is even."""

    def __init__(self, op, b, look=20):
        self.op, self.b, self.look = op, b, look
        self.x, self.r, self.r0, self.p, self.v, self.t = (zeros(b) for _ in range(6))
        self.of_v, self.of_t = zeros(b, 1, "float64"), zeros(b, 3, "float64")
        # In turn: no launch reads what it writes.
        self.rho = [zeros(b, 1, "float64") for _ in range(2)]
        self.run = captured(self._iterate, b)

    def start(self):
        """x = 0."""
        self.x[...] = 0
        for vector in (self.r, self.r0, self.p):
            vector[...] = self.b
        self.rho[0][...] = norm(self.b) ** 2

    def _iterate(self):
        x, r, r0, p, v, t = self.x, self.r, self.r0, self.p, self.v, self.t
        for turn in range(self.look):
            rho, after = self.rho[turn % 2], self.rho[1 - turn % 2]
            self.op.matvec_dot(p, v, [r0], dots=self.of_v)
            HALF(r=r, v=v, rho=rho, of_v=self.of_v)
            self.op.matvec_dot(r, t, [r, "y", r0], dots=self.of_t)
            STEP(x=x, r=r, p=p, v=v, t=t, rho=rho, of_v=self.of_v, of_t=self.of_t, next=after)


def bicgstab(op, b, rtol=1e-8, most=10_000, look=20):
    """x and the number of iterations, until the residual is ``rtol`` times the norm of b."""
    solver, limit = BiCGStab(op, b, look), rtol * norm(b)
    solver.start()
    for done in range(look, most + look, look):
        solver.run()
        if norm(solver.r) <= limit:
            return solver.x, done
    raise RuntimeError(f"not within {rtol} after {most} iterations")


if __name__ == "__main__":
    given = arguments(__doc__.splitlines()[0], matrix="stencil2d,n=60").parse_args()
    A = matrix_named(given.matrix)
    op = sparsight.plan(A, iteration="bicgstab").prepare(given.device)
    b = on(given.device, given.vectors, A @ np.ones(A.shape[1], A.dtype))
    x, iterations = bicgstab(op, b)
    residual = norm(b - op @ x) / norm(b)
    predicted = sparsight.advise(A, iteration="bicgstab").best.iteration_s
    print(f"{op!r}: {iterations} iterations, residual {residual:.1e}; predicted {1e6 * predicted:.2f} us an iteration on a GPU")
