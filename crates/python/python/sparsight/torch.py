"""Products in torch, with gradients, on the host as on a GPU.

>>> import sparsight, torch
>>> A = sparsight.gallery("stencil2d,n=10")
>>> op = sparsight.plan(A, transpose=True).prepare("cpu")       # or "cuda:0", with tensors that lie there
>>> x = torch.ones(100, dtype=torch.float64, requires_grad=True)
>>> y = sparsight.torch.spmv(op, x)
>>> y.sum().backward()
>>> float(y.detach().sum()), float(x.grad.sum())
(40.0, 40.0)

The gradient with respect to x is A^T times that of y: ``plan(A, transpose=True)`` prepares it with A, else the first gradient does, with
a warning that says what it costs. The matrix has none. ``op @ x`` does the same for an x that requires a gradient; ``torch.compile``
takes :func:`spmv` alone, of which it makes a node of its graph.
"""

import torch

from ._errors import BadVector
from ._operator import numbered

__all__ = ["spmv"]


def _operator(number):
    operator = numbered.get(number)
    if operator is None:
        raise BadVector("the operator of this product does not exist any more", "keep it until backward() has run")
    return operator


@torch.library.custom_op("sparsight::spmv", mutates_args=())
def _spmv(x: torch.Tensor, number: int) -> torch.Tensor:
    return _operator(number).matvec(x.detach().contiguous())


@_spmv.register_fake
def _(x, number):
    return x.new_empty(_operator(number).shape[0])


def _keep(ctx, inputs, output):
    _, ctx.number = inputs
    # Kept until the gradient was asked for.
    ctx.operator = _operator(ctx.number)


def _gradient(ctx, gradient):
    return spmv(ctx.operator.T, gradient), None


_spmv.register_autograd(_gradient, setup_context=_keep)


def spmv(op, x: torch.Tensor) -> torch.Tensor:
    """y = A x as a node of torch's graph.

    Parameters
    ----------
    op : Operator
    x : torch.Tensor
        ``(columns,)``, on the operator's device.

    Returns
    -------
    torch.Tensor
        ``(rows,)``; ``backward`` through it takes ``op.T``.

    Raises
    ------
    BadVector

    Examples
    --------
    >>> import sparsight
    >>> op = sparsight.plan(sparsight.gallery("stencil2d,n=10")).prepare("cpu")
    >>> twice = torch.compile(lambda x: 2 * spmv(op, x), backend="eager", fullgraph=True)      # or as it is by default
    >>> float(twice(torch.ones(100, dtype=torch.float64)).sum())
    80.0
    """
    return _spmv(x, op._number)
