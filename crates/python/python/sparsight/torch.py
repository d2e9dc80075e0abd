"""Products in torch, with gradients.

>>> y = sparsight.torch.spmv(op, x)             # doctest: +SKIP
>>> y.sum().backward()                          # doctest: +SKIP

The gradient with respect to x is A^T times that of y: ``plan(A, transpose=True)`` prepares it. The matrix has none.
"""

import itertools
import weakref

import torch

from ._errors import BadVector

__all__ = ["spmv"]

# What torch hands round are tensors and numbers: an operator is known by one.
_operators: weakref.WeakValueDictionary = weakref.WeakValueDictionary()
_numbers = itertools.count()


def _number(operator):
    number = getattr(operator, "_torch_number", None)
    if number is None:
        number = operator._torch_number = next(_numbers)
        _operators[number] = operator
    return number


def _operator(number):
    operator = _operators.get(number)
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
    """
    return _spmv(x, _number(op))
