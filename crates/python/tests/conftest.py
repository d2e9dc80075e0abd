"""What the tests share: matrices, and whether there is a GPU."""

import os

import numpy as np
import pytest

import sparsight

# So many GPUs have to be there: that one is missing is a failure, and not a reason to skip.
REQUIRED_GPUS = int(os.environ.get("SPARSIGHT_REQUIRE_GPU", "0"))
REQUIRE_GPU = REQUIRED_GPUS > 0


def near(y, a, x, dtype):
    """Row by row, within the rounding of the sum of its products."""
    bound = (1e-5 if dtype == np.float32 else 1e-13) * (abs(a) @ abs(x) + 1e-30) * 8
    return (np.abs(y.astype(np.float64) - a @ x) <= bound).all()


class Interface:
    """An array of which nothing is known but its ``__cuda_array_interface__``."""

    def __init__(self, array):
        self.array = array

    __cuda_array_interface__ = property(lambda self: self.array.__cuda_array_interface__)


@pytest.fixture
def grid():
    """A 5-point stencil, 900 x 900."""
    return sparsight.gallery("stencil2d,n=30")


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def library(name):
    """A library that works on a GPU, or why the test is skipped."""
    try:
        found = __import__(name)
        is_there = found.cuda.is_available() if name == "torch" else found.cuda.runtime.getDeviceCount() > 0
    except Exception as why:
        if REQUIRE_GPU:
            raise
        pytest.skip(f"{name} has no GPU here: {why}")
    if not is_there:
        assert not REQUIRE_GPU, f"{name} sees no GPU"
        pytest.skip(f"{name} sees no GPU here")
    return found


@pytest.fixture
def cupy():
    return library("cupy")


@pytest.fixture
def torch():
    return library("torch")


@pytest.fixture
def two_gpus():
    """CuPy and torch, where both see two GPUs."""
    found = (library("cupy"), library("torch"))
    count = min(found[0].cuda.runtime.getDeviceCount(), found[1].cuda.device_count())
    if count < 2:
        assert REQUIRED_GPUS < 2, f"{count} GPU here"
        pytest.skip("there is one GPU here")
    return found


@pytest.fixture
def gpus(two_gpus):
    """CuPy and torch, with the first GPU current in both before the test, and after it."""
    cupy, torch = two_gpus
    with cupy.cuda.Device(0), torch.cuda.device(0):
        yield cupy, torch
        assert cupy.cuda.runtime.getDevice() == 0 and torch.cuda.current_device() == 0
        assert torch.empty(1, device="cuda").device.index == 0 and cupy.empty(1).device.id == 0
