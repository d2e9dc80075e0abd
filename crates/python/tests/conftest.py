"""What the tests share: matrices, and whether there is a GPU."""

import os

import numpy as np
import pytest

import sparsight

# Where a missing GPU is a failure and not a reason to skip.
REQUIRE_GPU = os.environ.get("SPARSIGHT_REQUIRE_GPU") == "1"


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
