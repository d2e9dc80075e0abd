"""Prediction of the fastest sparse format and kernel on a GPU, and the product itself.

>>> import sparsight
>>> A = sparsight.gallery("stencil2d,n=100")            # any scipy, CuPy or torch matrix
>>> advice = sparsight.advise(A, products=1000, device="nvidia-h200")
>>> advice.best.format
'csr'
>>> op = sparsight.plan(A, products=1000).prepare("cpu")     # or "cuda:0"
>>> import numpy as np
>>> float((op @ np.ones(10_000)).sum())
400.0

Nothing but :func:`Plan.prepare` with a ``"cuda:N"`` needs a GPU.
"""

from ._core import VERSION as __version__
from ._errors import BadEpilogue, BadMatrix, BadVector, Infeasible, NoGpu, NoProfile, SparsightError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._advice import Advice, Candidate, Refused, advise, calibrate, profiles
    from ._distributed import DistributedOperator, Piece
    from ._matrix import Matrix, gallery, read
    from ._on_gpus import OnGpus, Scaling
    from ._operator import Operator, identity
    from ._plan import Plan, plan
    from ._ranks import RankOperator

__all__ = [
    "Advice",
    "BadEpilogue",
    "BadMatrix",
    "BadVector",
    "Candidate",
    "DistributedOperator",
    "Infeasible",
    "Matrix",
    "NoGpu",
    "NoProfile",
    "OnGpus",
    "Operator",
    "Piece",
    "Plan",
    "RankOperator",
    "Refused",
    "Scaling",
    "SparsightError",
    "advise",
    "calibrate",
    "gallery",
    "identity",
    "plan",
    "profiles",
    "read",
]

# Read when first asked for: numpy and scipy take longer to import than all of this package.
_WHERE = {
    "Advice": "_advice",
    "Candidate": "_advice",
    "Refused": "_advice",
    "advise": "_advice",
    "calibrate": "_advice",
    "profiles": "_advice",
    "DistributedOperator": "_distributed",
    "Piece": "_distributed",
    "OnGpus": "_on_gpus",
    "Scaling": "_on_gpus",
    "Matrix": "_matrix",
    "gallery": "_matrix",
    "read": "_matrix",
    "Operator": "_operator",
    "identity": "_operator",
    "Plan": "_plan",
    "RankOperator": "_ranks",
    "plan": "_plan",
}


def __getattr__(name):
    import importlib

    if name == "torch":
        try:
            return importlib.import_module(".torch", __name__)
        except ModuleNotFoundError as missing:
            raise AttributeError("sparsight.torch: torch is not installed") from missing
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f".{_WHERE[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__():
    return sorted([*__all__, "__version__"])
