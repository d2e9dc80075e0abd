"""A processor that is calibrated: stopped and gone on with; to the end, which takes minutes, with ``SPARSIGHT_CALIBRATE_CPU=1``."""

import os
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import sparsight


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """A folder of this test's own to keep calibrations in."""
    monkeypatch.setenv("SPARSIGHT_CACHE", str(tmp_path))
    return tmp_path


class Enough(Exception):
    """Of the calibration."""


def stopped_after(count):
    """What is measured, until so many things were."""
    seen = []

    def progress(at, what):
        seen.append((at, what))
        if len(seen) > count:
            raise Enough

    with pytest.raises(Enough):
        sparsight.calibrate("cpu", progress=progress)
    return seen


def test_an_uncalibrated_processor_says_how_to_calibrate_it(cache):
    with pytest.raises(sparsight.NoProfile, match="processor .* was not calibrated yet") as unknown:
        sparsight.advise(sparsight.gallery("stencil2d,n=30"), device="cpu")
    assert 'calibrate("cpu")' in unknown.value.hint and 'prepare("cpu")' in unknown.value.hint


@pytest.mark.parametrize("recipe", ["fem,n=12,unknowns=3", "stencil3d,n=12,points=27", "arrow,n=300"])
def test_a_plan_for_a_gpu_runs_plain_csr_on_an_uncalibrated_processor(cache, recipe):
    a = sparsight.gallery(recipe)
    plan = sparsight.plan(a, device="nvidia-h200", transpose=True)
    x = np.random.default_rng(1).standard_normal(a.shape[1])
    operator = plan.prepare("cpu")
    assert operator.candidate.startswith("csr-") and operator.T.candidate.startswith("csr-")
    assert np.allclose(operator @ x, a @ x) and np.allclose(operator.T @ x, a.T @ x)
    assert operator.measured_s is None and list(cache.iterdir()) == [], "nothing was calibrated"
    tried = plan.prepare("cpu", try_=3)
    assert tried.measured_s > 0 and np.allclose(tried @ x, a @ x)
    named = sparsight.plan(a, device="nvidia-h200").prepare("cpu", candidate="csr-scalar/b256/f64")
    assert named.candidate == "csr-scalar/b256/f64"


def test_matrices_beyond_memory_are_errors(cache):
    free = next(int(line.split()[1]) for line in open("/proc/meminfo") if line.startswith("MemAvailable"))
    if free > 30e6:
        pytest.skip("this machine has the memory")
    wide = sp.csr_array((np.ones(1), np.array([17]), np.array([0, 1])), shape=(1, 4_000_000_000))
    with pytest.raises(sparsight.Infeasible, match="needs 64.0 GB"):
        sparsight.plan(wide, device="nvidia-h200", transpose=True)
    with pytest.raises(sparsight.Infeasible, match="needs .* GB"):
        sparsight.plan(wide, device="nvidia-h200").prepare("cpu")


def test_a_calibration_that_was_stopped_is_kept_and_goes_on(cache):
    first = stopped_after(6)
    assert all(0 <= at < 20 for at, _ in first) and first[0] == (0, "memory")
    (kept,) = (cache / "profiles").iterdir()
    assert kept.name.startswith("cpu-") and (kept / "device.json").is_file()
    lines = (kept / "benchmark.jsonl").read_text().splitlines()
    assert len(lines) >= 3, "what was measured is on disk"
    again = stopped_after(6)
    assert (0, "memory") not in again, "rates are known"
    assert (kept / "benchmark.jsonl").read_text().splitlines()[: len(lines)] == lines
    with pytest.raises(sparsight.NoProfile, match="not calibrated yet"):
        sparsight.advise(sparsight.gallery("stencil2d,n=30"), device="cpu")


@pytest.mark.skipif(os.environ.get("SPARSIGHT_CALIBRATE_CPU") != "1", reason="takes minutes: SPARSIGHT_CALIBRATE_CPU=1")
def test_a_calibrated_processor_is_advised_for(cache):
    seen = []
    with warnings.catch_warnings(record=True) as said:
        assert sparsight.calibrate("cpu", progress=lambda at, what: seen.append(at)) == "cpu"
    is_busy = bool(said)
    assert all("was not quiet" in str(one.message) for one in said)
    assert seen == sorted(seen) and 0 <= min(seen) and max(seen) < 20
    for dtype in (np.float32, np.float64):
        a = sparsight.gallery("stencil2d,n=100", dtype)
        plan = sparsight.plan(a, products=1000, device="cpu")
        best = plan.advice.best
        assert 0 < best.low_s <= best.predicted_s <= best.high_s < 1
        x = np.ones(a.shape[1], dtype)
        assert abs(plan.prepare("cpu") @ x - a @ x).max() < 1e-3
    assert plan.advice.device["kind"] == "cpu"
    assert plan.prepare("cpu").candidate == plan.candidate.id
    of_gpu = sparsight.plan(a, products=1000, device="nvidia-h200")
    assert of_gpu.prepare("cpu").candidate == plan.candidate.id, "planned again from the calibration"
    with pytest.raises(sparsight.NoProfile, match="dealt out to GPUs"):
        plan.on_gpus([2])
    if is_busy:
        return
    measured = {path.name: path.read_bytes() for path in next((cache / "profiles").iterdir()).glob("*.jsonl")}
    assert sparsight.calibrate("cpu", progress=lambda *one: None) == "cpu", "and again, in a moment"
    assert measured == {path.name: path.read_bytes() for path in next((cache / "profiles").iterdir()).glob("*.jsonl")}
