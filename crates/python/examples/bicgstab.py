"""Stabilised biconjugate gradients in four launches an iteration, which are captured into a CUDA graph on a GPU.

    python bicgstab.py circuit,n=20000 --device cuda:0 --vectors torch

As van der Vorst (1992) has it, for square matrices that need not be symmetric; r0 is the first residual:

    v = A p  with (v, r0)                                    alpha = rho / (v, r0)
    r = r - alpha v
    t = A r  with (t, r), (t, t), (t, r0)                    omega = (t, r) / (t, t)
    x = x + alpha p + omega r,  r = r - omega t,  p = r + beta (p - omega v)

After the second line (r, r0) is 0, so the next rho is -omega (t, r0) of this iteration, and beta = (rho / rho') (alpha / omega): rho needs no
dot product of its own. Scalars stay on the GPU; the host looks at the residual every ``look`` iterations.
"""

import sparsight
from iterating import arguments, captured, norm, ratio, show, solve, zeros

# (t, r), (t, t), (t, r0) of the iteration before are a, b, c; of this one d, e, f; (v, r0) is g.
RHO = f"(-{ratio('a', 'b')} * c)"
ALPHA = ratio(RHO, "g")
OMEGA = ratio("d", "e")
BETA = f"({ratio(f'(-{OMEGA} * f)', RHO)} * {ratio(ALPHA, OMEGA)})"
# s is v, y is r.
HALF = f"y[i] - {ALPHA} * s"
# s is t, y is r and `out` the new one.
RESIDUAL = f"y[i] - {OMEGA} * s"
STEP = {"x0": f"x0[i] + {ALPHA} * p[i] + {OMEGA} * y[i]", "p": f"out + {BETA} * (p[i] - {OMEGA} * v[i])"}


class BiCGStab:
    """``look`` iterations at a time for A x = b; ``look`` is even."""

    def __init__(self, op, b, look=20):
        self.op, self.b, self.look = op, b, look
        self.update = sparsight.identity(len(b), op.device, op.dtype)
        self.x, self.r, self.r0, self.p, self.v, self.t = (zeros(b) for _ in range(6))
        self.of_v = zeros(b, 1, "float64")
        # Of this iteration and of the one before, in turn.
        self.of_t = [zeros(b, 3, "float64") for _ in range(2)]
        self.run = captured(self._iterate, b)

    def start(self):
        """x = 0."""
        self.x[...] = 0
        for vector in (self.r, self.r0, self.p):
            vector[...] = self.b
        # rho = (b, b).
        self.of_t[1][...] = 1
        self.of_t[1][0] = -(norm(self.b) ** 2)

    def _iterate(self):
        x, r, r0, p, v, t = self.x, self.r, self.r0, self.p, self.v, self.t
        for turn in range(self.look):
            now, before = self.of_t[turn % 2], self.of_t[1 - turn % 2]
            known = {"a": before[:1], "b": before[1:2], "c": before[2:], "g": self.of_v}
            self.op.matvec_dot(p, v, [r0], dots=self.of_v)
            self.update.matvec(v, out=r, epilogue=HALF, **known)
            self.op.matvec_dot(r, t, [r, "y", r0], dots=now)
            known |= {"d": now[:1], "e": now[1:2], "f": now[2:]}
            self.update.matvec(t, out=r, epilogue=RESIDUAL, outputs=STEP, x0=x, p=p, v=v, **known)


def bicgstab(op, b, rtol=1e-8, most=10_000, look=20):
    """x and the number of iterations, until the residual is ``rtol`` times the norm of b."""
    return solve(BiCGStab(op, b, look), rtol, most)


if __name__ == "__main__":
    show(bicgstab, "bicgstab", arguments(__doc__.splitlines()[0], "stencil2d,n=60").parse_args())
