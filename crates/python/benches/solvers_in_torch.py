"""Solvers as textbooks have them, in torch: functions that do ``LOOK`` iterations. ``multiply`` is the product with a matrix of torch;
``compiled`` compiles what stands between products, or leaves it as it is: ``torch.compile`` or ``as_it_is``.
"""

import torch

# Iterations of a graph.
LOOK = 20


def as_it_is(function):
    return function


def matrix_of(a, device):
    """torch's CSR of scipy's."""
    parts = (torch.as_tensor(part) for part in (a.indptr, a.indices, a.data))
    return torch.sparse_csr_tensor(*parts, a.shape, device=device)


def cg(multiply, b, compiled):
    x, r, p = torch.zeros_like(b), b.clone(), b.clone()
    rr = (r @ r).clone()

    def step(x, r, p, q, rr):
        alpha = rr / (p * q).sum()
        x, r = x + alpha * p, r - alpha * q
        new = (r * r).sum()
        return x, r, r + (new / rr) * p, new

    step = compiled(step)

    def iterate():
        for _ in range(LOOK):
            for to, of in zip((x, r, p, rr), step(x, r, p, multiply(p), rr)):
                to.copy_(of)

    return iterate


def eager_cg(matrix, b):
    """As it is written first: eleven operations."""
    x, r, p = torch.zeros_like(b), b.clone(), b.clone()
    rr = (r @ r).clone()

    def iterate():
        nonlocal p, rr
        for _ in range(LOOK):
            q = matrix @ p
            alpha = rr / (p @ q)
            x.add_(alpha * p)
            r.sub_(alpha * q)
            before, rr = rr, r @ r
            p = r + (rr / before) * p

    return iterate


def bicgstab(multiply, b, compiled):
    x, r, r0, p = torch.zeros_like(b), b.clone(), b.clone(), b.clone()
    rho = (r @ r0).clone()

    def half(r, v, r0, rho):
        alpha = rho / (r0 * v).sum()
        return r - alpha * v, alpha

    def step(x, r, p, v, t, r0, rho, alpha):
        omega = (t * r).sum() / (t * t).sum()
        x, r = x + alpha * p + omega * r, r - omega * t
        new = (r * r0).sum()
        return x, r, r + (new / rho) * (alpha / omega) * (p - omega * v), new

    half, step = compiled(half), compiled(step)

    def iterate():
        for _ in range(LOOK):
            v = multiply(p)
            s, alpha = half(r, v, r0, rho)
            for to, of in zip((x, r, p, rho), step(x, s, p, v, multiply(s), r0, rho, alpha)):
                to.copy_(of)

    return iterate


def pdhg(multiply, transposed, program, step_size, compiled):
    """Also x and y. They begin at 0, which the bounds have to allow."""
    c, lower, upper, b, least = program
    x, y = torch.zeros_like(c), torch.zeros_like(b)

    def primal(x, of_y):
        new = torch.minimum(torch.maximum(x - step_size * (c - of_y), lower), upper)
        return new, 2 * new - x

    def dual(y, of_v):
        return torch.maximum(y + step_size * (b - of_v), least)

    primal, dual = compiled(primal), compiled(dual)

    def iterate():
        for _ in range(LOOK):
            new, v = primal(x, transposed(y))
            x.copy_(new)
            y.copy_(dual(y, multiply(v)))

    return iterate, x, y
