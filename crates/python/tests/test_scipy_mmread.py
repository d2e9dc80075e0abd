"""scipy's own tests of ``mmread``, which are part of its wheel, with ``sparsight.read`` in its place."""

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import scipy
import scipy.io

COMPLEX = "complex values"
BEYOND = "integers beyond 2^53, which are rounded and not refused"
# Deprecations that scipy 1.18 announces in readers of its own.
WARNING = "a warning of scipy's own"

# Not run: one writes values with so many digits, into matrices of up to 10^9 rows, the other is about scipy's threads.
ABOUT_WRITING = ["TestMMIOCoordinate::test_precision", "test_threadpoolctl"]

# By the name of the test, whatever its parameters and its class.
EXCEPTED = {
    "test_simple_complex": COMPLEX,
    "test_simple_hermitian_complex": COMPLEX,
    "test_read_hermitian": COMPLEX,
    "test_complex_write_read": COMPLEX,
    "test_sparse_formats": COMPLEX,
    "test_gh11389": COMPLEX,
    "test_mtx_append": COMPLEX,
    "test_read_over64bit_integer_dense": BEYOND,
    "test_read_over64bit_integer_sparse": BEYOND,
}

# Of scipy's versions that were looked at: how many tests there are of each kind, each with both of scipy's writers.
COUNTS = {
    "1.17.1": {"passed": 130, COMPLEX: 18, BEYOND: 4},
    "1.18.1": {"passed": 130, COMPLEX: 18, BEYOND: 4, WARNING: 2},
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    tests = pathlib.Path(scipy.io.__file__).parent / "tests" / "test_mmio.py"
    folder = tmp_path_factory.mktemp("scipy")
    # Away from scipy's own configuration of pytest, which asks for more packages.
    shutil.copy(tests, folder)
    said = folder / "outcomes.json"
    paths = [str(pathlib.Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "SPARSIGHT_TEST_OUTCOMES": str(said)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "mmread_by_sparsight", "-p", "no:cacheprovider", "test_mmio.py"]
    command += [f"--deselect=test_mmio.py::{test}" for test in ABOUT_WRITING]
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert said.is_file(), ran.stdout + ran.stderr
    return json.loads(said.read_text())


def name_of(test):
    """``TestMMIOArray::test_simple_complex[mmio]`` without its class and its parameters."""
    return re.sub(r"\[.*\]$", "", test).rpartition("::")[2]


def exception_of(test, why):
    """Why a failure is excepted; None if it is not."""
    return WARNING if why.startswith("Failed: DID NOT WARN") else EXCEPTED.get(name_of(test))


def test_files_of_scipys_own_tests_are_read_with_named_exceptions(outcomes, capsys):
    failed = {test: why for test, (outcome, why) in outcomes.items() if outcome == "failed"}
    wrong = {test: why for test, why in failed.items() if exception_of(test, why) is None}
    counts = collections.Counter(exception_of(test, failed[test]) or "failed" if test in failed else "passed" for test in outcomes)
    with capsys.disabled():
        print(f"\nmmread of scipy {scipy.__version__}, {len(outcomes)} tests:", ", ".join(f"{n} {what}" for what, n in counts.items()))
    assert not wrong, json.dumps(wrong, indent=1)
    needless = {name for name in EXCEPTED if any(name_of(test) == name for test in outcomes)} - set(map(name_of, failed))
    assert not needless, "excepted, and passed"
    if scipy.__version__ in COUNTS:
        assert counts == COUNTS[scipy.__version__]
