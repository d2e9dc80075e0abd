"""What the documentation shows is run, and gives what it says."""

import doctest
import importlib
import inspect
import os
import pathlib
import pkgutil
import re

import numpy as np
import pytest

import sparsight
from conftest import library

README = pathlib.Path(__file__).resolve().parent.parent / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


# The drop-in ends as an extension module does.
NOT_READ = ("_core", "libsparsight_cusparse")
SUBMODULES = sorted(one.name for one in pkgutil.iter_modules(sparsight.__path__) if one.name not in NOT_READ)


def test_examples_in_docstrings_give_what_they_say():
    tested = doctest.testmod(sparsight)
    assert tested.attempted > 4 and tested.failed == 0


@pytest.mark.parametrize("name", SUBMODULES)
def test_examples_in_the_modules_that_are_read_later_give_what_they_say(name):
    if name == "torch":
        pytest.importorskip("torch")
    tested = doctest.testmod(importlib.import_module(f"sparsight.{name}"))
    assert tested.failed == 0
    expected = {"_advice", "_matrix", "_on_gpus", "_operator", "_plan", "_vectors", "torch"}
    assert (tested.attempted > 0) == (name in expected)


def test_the_tutorial_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, on_gpu = {}, 0
    for block in BLOCKS:
        if block.startswith(("# On a GPU", "# On two GPUs")):
            on_gpu += 1
            continue
        exec(compile(block, str(README), "exec"), names)
    assert len(BLOCKS) - on_gpu >= 3 and on_gpu >= 2


def test_the_page_on_solvers_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Beside the tests where they were copied, else in the repository.
    pages = [README.parent / "solvers.md", README.parent.parent.parent / "docs" / "solvers.md"]
    page = next(page for page in pages if page.exists())
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    names = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)
    assert len(blocks) >= 2


def test_the_tutorial_of_torch_runs_with_tensors_on_the_host(tmp_path, monkeypatch):
    """The same code, but for where the tensors lie."""
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    names, of_torch = {}, 0
    for block in BLOCKS:
        if block.startswith("# On a GPU with torch"):
            of_torch += 1
            block = block.replace("cuda:0", "cpu")
        elif block.startswith("# On"):
            continue
        exec(compile(block, str(README), "exec"), names)
    assert of_torch == 2


@pytest.mark.parametrize("with_library", ["cupy", "torch"])
def test_the_tutorial_runs_on_a_gpu(with_library, tmp_path, monkeypatch):
    library(with_library)
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in BLOCKS:
        if block.startswith("# On two GPUs") or block.startswith("# On a GPU") and with_library not in block.splitlines()[0]:
            continue
        exec(compile(block, str(README), "exec"), names)


def test_the_tutorial_runs_on_two_gpus(gpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        sparsight.plan(sparsight.gallery("stencil2d,n=30")).on_gpus([2])
    except sparsight.NoProfile as unknown:
        pytest.skip(str(unknown))
    names = {}
    for block in BLOCKS:
        if not block.startswith("# On a GPU") or "torch" in block.splitlines()[0]:
            exec(compile(block, str(README), "exec"), names)
    assert abs(names["y"] - names["A"] @ np.ones(names["A"].shape[1])).max() < 1e-12


def in_short(advice):
    """Of what is printed the heading, the first two rows, and those that the verdict compares with."""
    printed = str(advice).splitlines()
    head = next(at for at, line in enumerate(printed) if line.startswith("candidate "))
    heading, columns, (*rows, rest) = printed[:head], printed[head], printed[head + 1 :]
    compared = [advice.verdict[name]["id"] for name in ("plain_csr", "vendors_csr", "run_now")]
    kept = [at for at, row in enumerate(rows) if at < 2 or row.split()[0] in compared]
    lines, last = [*heading, columns], -1
    for at in kept:
        lines += ["..."] * (at > last + 1) + [rows[at]]
        last = at
    return [*lines, *["..."] * (last < len(rows) - 1), rest]


def test_the_tutorial_shows_the_printed_output():
    """Numbers too: they follow from the profile that is part of the package, on every machine. SPARSIGHT_WRITE_BOOK=1 writes them."""
    advice = sparsight.advise(sparsight.gallery("fem"), products=1000, device="nvidia-h200")
    text, printed = README.read_text(), "\n".join(in_short(advice)) + "\n"
    shown = re.search(r"```text\n(.*?)```", text, re.DOTALL)
    if os.environ.get("SPARSIGHT_WRITE_BOOK") and shown[1] != printed:
        README.write_text(text[: shown.start(1)] + printed + text[shown.end(1) :])
        return
    assert shown[1] == printed, "SPARSIGHT_WRITE_BOOK=1 python -m pytest crates/python/tests/test_docs.py writes it again"


def test_all_generators_are_named():
    with pytest.raises(sparsight.BadMatrix) as unknown:
        sparsight.gallery("nonsense")
    named = " ".join(inspect.getdoc(sparsight.gallery).split())
    assert unknown.value.hint.removeprefix("the gallery has ") in named


def test_all_that_is_public_is_described():
    for name in sparsight.__all__:
        found = getattr(sparsight, name)
        assert inspect.getdoc(found), name
        if inspect.isclass(found):
            public = [one for one in vars(found) if not one.startswith("_")]
            undescribed = [one for one in public if callable(getattr(found, one)) and not inspect.getdoc(getattr(found, one))]
            assert not undescribed, f"{name}: {undescribed}"
    assert importlib.import_module("sparsight").__version__.count(".") == 2
