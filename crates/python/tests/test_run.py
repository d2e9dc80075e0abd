"""`python -m sparsight run`: the environment of the program that is run, and the library that is named."""

import json
import os
import subprocess
import sys

import pytest

SHOW = "import json, os; print(json.dumps({name: os.environ.get(name) for name in ('LD_PRELOAD', 'SPARSIGHT_CUSPARSE', 'SPARSIGHT_CUSPARSE_REPORT')}))"


@pytest.fixture
def library(tmp_path):
    """A library that does nothing."""
    source = tmp_path / "nothing.c"
    source.write_text("int nothing(void) { return 0; }\n")
    made = tmp_path / "libsparsight_cusparse.so"
    try:
        subprocess.run(["cc", "-shared", "-fPIC", "-o", made, source], check=True)
    except FileNotFoundError:
        pytest.skip("there is no C compiler here")
    return made


def run(library, *arguments, **more):
    environment = {**os.environ, "SPARSIGHT_CUSPARSE_LIBRARY": str(library), **more}
    command = [sys.executable, "-m", "sparsight", "run", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


def test_the_program_is_run_behind_the_library(library, tmp_path):
    ran = run(library, sys.executable, "-c", SHOW, LD_PRELOAD="")
    assert json.loads(ran.stdout) == {"LD_PRELOAD": str(library), "SPARSIGHT_CUSPARSE": None, "SPARSIGHT_CUSPARSE_REPORT": None}
    ran = run(library, sys.executable, "-c", SHOW, LD_PRELOAD="", SPARSIGHT_CUSPARSE="off")
    assert json.loads(ran.stdout)["SPARSIGHT_CUSPARSE"] == "off", "the environment's word stays"
    ran = run(library, "--report-file", "told.json", sys.executable, "-c", SHOW, LD_PRELOAD=str(library))
    told = json.loads(ran.stdout)
    assert told["LD_PRELOAD"] == f"{library}:{library}"
    assert told["SPARSIGHT_CUSPARSE"] == "report" and told["SPARSIGHT_CUSPARSE_REPORT"] == os.path.abspath("told.json")
    ran = run(library, "--verify", sys.executable, "-c", "import sys; sys.exit(7)")
    assert ran.returncode == 7, "the exit status is the program's"


def test_what_cannot_be_run_is_an_error_that_says_so(library, tmp_path):
    ran = run(tmp_path / "absent.so", sys.executable)
    assert ran.returncode == 1 and "was not found" in ran.stderr and "SPARSIGHT_CUSPARSE_LIBRARY=FILE" in ran.stderr
    ran = run(library, "no-such-program-anywhere")
    assert ran.returncode == 1 and "cannot run no-such-program-anywhere: No such file" in ran.stderr
    spaced = tmp_path / "a folder"
    spaced.mkdir()
    (spaced / library.name).write_bytes(library.read_bytes())
    ran = run(spaced / library.name, sys.executable)
    assert ran.returncode == 1 and "a space or a colon" in ran.stderr
