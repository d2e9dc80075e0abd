"""The program `sparsight` of the package: what it answers, how it ends, and the libraries and models that it finds."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

import sparsight

PACKAGE = pathlib.Path(sparsight.__file__).parent
PROFILES = PACKAGE / "sparsight-profiles.tar"
MODULE = [sys.executable, "-m", "sparsight"]
SHOW = "import json, os; print(json.dumps({name: os.environ.get(name) for name in ('LD_PRELOAD', 'SPARSIGHT_CUSPARSE', 'SPARSIGHT_CUSPARSE_REPORT')}))"


def script():
    """The script of the package: beside the interpreter, or in the folder `bin` of packages that pip put into a folder of their own."""
    places = [pathlib.Path(sys.executable).parent / "sparsight", PACKAGE.parent / "bin" / "sparsight"]
    found = [place for place in places if place.is_file()]
    assert found, f"none of {places} is there"
    # Of a folder of its own it does not know where the package lies.
    return [sys.executable, str(found[0])]


def ran(*words, by=MODULE, **more):
    return subprocess.run([*by, *map(str, words)], env={**os.environ, **more}, capture_output=True, text=True, timeout=120)


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
    return ran("run", *arguments, SPARSIGHT_CUSPARSE_LIBRARY=str(library), **more)


def is_packed():
    """Skips where the extension module holds the models: built by maturin alone, or from the source distribution."""
    if not PROFILES.exists():
        pytest.skip("scripts/python-wheel did not make this package")


def test_the_script_and_the_module_are_the_program():
    for by in (script(), MODULE):
        told = ran("--version", by=by)
        assert (told.returncode, told.stdout, told.stderr) == (0, f"sparsight {sparsight.__version__}\n", "")


def test_the_program_answers_what_the_package_does():
    told = ran("advise", "gallery:fem", "--device", "nvidia-h200", "--iterations", 1000, "--json", by=script())
    advice = sparsight.advise(sparsight.gallery("fem"), products=1000, device="nvidia-h200").to_dict()
    answer = json.loads(told.stdout)
    assert told.returncode == 0 and len(answer["candidates"]) > 100
    # The program describes the matrix, too, and says how it was asked.
    assert {name for name in answer if answer[name] != advice.get(name)} == {"matrix", "structure", "nearby", "provenance"}


def test_models_beside_the_program_answer_byte_by_byte_as_those_within_it():
    """``SPARSIGHT_PROGRAM`` names one that holds them."""
    named = os.environ.get("SPARSIGHT_PROGRAM")
    if not named:
        pytest.skip("SPARSIGHT_PROGRAM names no program")
    for recipe in ("fem", "power-law,n=20000", "stencil2d,n=300"):
        for device in ("nvidia-h200", "nvidia-h100"):
            words = ["advise", f"gallery:{recipe}", "--device", device, "--json"]
            assert ran(*words).stdout == ran(*words, by=[named]).stdout != "", (recipe, device)


def test_a_model_of_the_laboratory_is_known_to_the_program_alone():
    told = ran("lab", "predict", "gallery:stencil2d,n=30", "--device", "nvidia-h200", "--model", "linear").stderr
    assert "the linear model of the profile nvidia-h200 is not part of the program" in told
    with pytest.raises(sparsight.SparsightError):
        sparsight.advise(sparsight.gallery("stencil2d,n=30"), model="linear", device="nvidia-h200")


def test_exit_codes_and_streams_are_those_of_a_program():
    wrong = ran("info", "no-such-file.mtx")
    assert wrong.returncode == 2 and wrong.stdout == "" and wrong.stderr.startswith("error: no-such-file.mtx")
    refused = ran("advise", "--no-such-flag", "--json")
    assert refused.returncode == 2 and json.loads(refused.stdout)["exit_code"] == 2
    # Also what is written last arrives.
    assert ran("completions", "bash").stdout.endswith("fi\n")


def test_the_reader_of_the_output_may_go_away():
    command = subprocess.Popen([*MODULE, "kernels"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    command.stdout.close()
    assert command.stderr.read() == b"" and command.wait(60) == 0


def test_ctrl_c_ends_the_program_without_a_word_of_python():
    # What a shell runs in the background ignores the signal, and so would the program.
    with_signals = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = subprocess.Popen([*MODULE, "info", "-"], **pipes, **with_signals)
    # It waits for the matrix: until its workers have started it may be Python that is interrupted.
    deadline = time.monotonic() + 60
    while "sparsight worker" not in threads_of(command.pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    command.send_signal(signal.SIGINT)
    assert command.wait(60) == -signal.SIGINT and command.stderr.read() == b""
    command.stdin.close()


def threads_of(pid):
    tasks = pathlib.Path(f"/proc/{pid}/task")
    return [(task / "comm").read_text().strip() for task in tasks.iterdir()]


def test_a_loader_path_with_an_empty_element_restarts_the_interpreter():
    told = ran("devices", "--json", LD_LIBRARY_PATH=f":{PACKAGE}")
    assert told.returncode == 0 and "LD_LIBRARY_PATH" not in told.stdout


def test_the_drop_in_of_the_package_is_found():
    is_packed()
    told = ran("run", sys.executable, "-c", SHOW, SPARSIGHT_CUSPARSE_LIBRARY="", LD_PRELOAD="")
    assert json.loads(told.stdout)["LD_PRELOAD"] == str((PACKAGE / "libsparsight_cusparse.so").resolve())


@pytest.mark.parametrize("fault", ["absent", "cut off", "of another build"])
def test_models_that_are_not_there_or_damaged_are_an_error_that_says_so(fault, tmp_path):
    is_packed()
    file = tmp_path / "sparsight-profiles.tar"
    whole = PROFILES.read_bytes()
    if fault == "cut off":
        file.write_bytes(whole[: len(whole) // 2])
    if fault == "of another build":
        file.write_bytes(whole.replace(f" {sparsight.__version__} ".encode(), b" 9.9.9 ", 1))
    told = ran("advise", "gallery:fem", "--device", "nvidia-h200", SPARSIGHT_PROFILES_FILE=str(file))
    words = {"absent": "was not found", "cut off": "is cut off", "of another build": "9.9.9"}
    assert told.returncode == 2 and words[fault] in told.stderr and "SPARSIGHT_PROFILES_FILE=FILE" in told.stderr
    # What needs no models works.
    assert ran("gallery", SPARSIGHT_PROFILES_FILE=str(file)).returncode == 0
    asks = "import sparsight\ntry:\n    sparsight.advise(sparsight.gallery('fem'))\nexcept sparsight.NoProfile as why:\n    print(why)"
    told = subprocess.run(
        [sys.executable, "-c", asks], env={**os.environ, "SPARSIGHT_PROFILES_FILE": str(file)}, capture_output=True, text=True
    )
    assert words[fault] in told.stdout, told.stderr


def test_a_program_is_run_behind_the_library(library):
    told = run(library, sys.executable, "-c", SHOW, LD_PRELOAD="")
    assert json.loads(told.stdout) == {"LD_PRELOAD": str(library), "SPARSIGHT_CUSPARSE": None, "SPARSIGHT_CUSPARSE_REPORT": None}
    told = run(library, sys.executable, "-c", SHOW, LD_PRELOAD="", SPARSIGHT_CUSPARSE="off")
    assert json.loads(told.stdout)["SPARSIGHT_CUSPARSE"] == "off", "the environment's word stays"
    told = run(library, "--report-file", "told.json", sys.executable, "-c", SHOW, LD_PRELOAD=str(library))
    told = json.loads(told.stdout)
    assert told["LD_PRELOAD"] == f"{library}:{library}"
    assert told["SPARSIGHT_CUSPARSE"] == "report" and told["SPARSIGHT_CUSPARSE_REPORT"] == os.path.abspath("told.json")
    told = run(library, "--verify", sys.executable, "-c", "import sys; sys.exit(7)")
    assert told.returncode == 7, "the exit status is the program's"


def test_what_cannot_be_run_is_an_error_that_says_so(library, tmp_path):
    told = run(tmp_path / "absent.so", sys.executable)
    assert told.returncode == 2 and "was not found" in told.stderr and "SPARSIGHT_CUSPARSE_LIBRARY=FILE" in told.stderr
    told = run(library, "no-such-program-anywhere")
    assert told.returncode == 2 and "cannot run no-such-program-anywhere: No such file" in told.stderr
