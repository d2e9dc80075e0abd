"""Conjugate gradients in two launches an iteration, which are captured into a CUDA graph on a GPU.

    python cg.py stencil3d,n=60 --device cuda:0 --vectors cupy

In the form of Chronopoulos and Gear (1989) all dot products are those of one product, w = A r; p is the direction, q = A p:

    g = (w, r),  n = (r, r),  h = (w, p)                 in the launch of the product
    beta = n / n',  alpha = n / (g + beta h)             n' of the iteration before
    p = r + beta p,  q = w + beta q,  x = x + alpha p,  r = r - alpha q            in one launch

(Ap, p) of the new p is g + beta h, since it is conjugate to the old one. Scalars stay on the GPU; the host looks at the residual every
``look`` iterations.
"""

import math

import sparsight
from iterating import arguments, captured, ratio, show, solve, zeros

BETA = ratio("n", "before")
ALPHA = ratio("n", f"(g + {BETA} * h)")
# s is w and y is p; a line sees the old vectors and `out`, the new p. The x of the system is x0: x[i] in a line is what is multiplied.
DIRECTION = f"r[i] + {BETA} * y[i]"
STEP = {
    "q": f"s + {BETA} * q[i]",
    "x0": f"x0[i] + {ALPHA} * out",
    "r": f"r[i] - {ALPHA} * (s + {BETA} * q[i])",
}


class CG:
    """``look`` iterations at a time for A x = b, A symmetric and positive definite; ``look`` is even."""

    def __init__(self, op, b, look=20):
        self.op, self.b, self.look = op, b, look
        self.update = sparsight.identity(len(b), op.device, op.dtype)
        self.x, self.r, self.p, self.q, self.w = (zeros(b) for _ in range(5))
        # Of this iteration and of the one before, in turn.
        self.dots = [zeros(b, 3, "float64") for _ in range(2)]
        self.run = captured(self._iterate, b)

    def start(self):
        """x = 0."""
        for vector in (self.x, self.p, self.q, self.w):
            vector[...] = 0
        self.r[...] = self.b
        # beta = 0.
        self.dots[1][...] = math.inf

    def _iterate(self):
        x, r, p, q, w = self.x, self.r, self.p, self.q, self.w
        for turn in range(self.look):
            dots, before = self.dots[turn % 2], self.dots[1 - turn % 2]
            self.op.matvec_dot(r, w, [r, (r, r), p], dots=dots)
            scalars = {"g": dots[:1], "n": dots[1:2], "h": dots[2:], "before": before[1:2]}
            self.update.matvec(w, out=p, epilogue=DIRECTION, outputs=STEP, x0=x, r=r, q=q, **scalars)


def cg(op, b, rtol=1e-8, most=10_000, look=20):
    """x and the number of iterations, until the residual is ``rtol`` times the norm of b."""
    return solve(CG(op, b, look), rtol, most)


if __name__ == "__main__":
    show(cg, "cg", arguments(__doc__.splitlines()[0], "stencil2d,n=60").parse_args())
