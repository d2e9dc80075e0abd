"""Where NVRTC is looked for: among the packages of this Python, and where ``cuda.pathfinder`` says."""

import sys
import types

import pytest

import sparsight
from sparsight import _libraries


def module(name, **contents):
    made = types.ModuleType(name)
    vars(made).update(contents)
    return made


@pytest.fixture
def looked_in(monkeypatch):
    """The folders that Rust is told of, by a package that has not told it yet."""
    told = []
    monkeypatch.setattr(_libraries, "_told", False)
    monkeypatch.setattr(_libraries._core, "search_libraries_in", told.extend)
    return told


def of_pathfinder(load):
    return {"cuda": module("cuda", __path__=[]), "cuda.pathfinder": module("cuda.pathfinder", load_nvidia_dynamic_lib=load)}


def test_pathfinder_is_asked_for_nvrtc_where_no_package_has_it(looked_in, monkeypatch, tmp_path):
    asked = []

    def load(name):
        asked.append(name)
        return types.SimpleNamespace(abs_path=str(tmp_path / "lib" / "libnvrtc.so.13"))

    for name, made in of_pathfinder(load).items():
        monkeypatch.setitem(sys.modules, name, made)
    packages = tmp_path / "site-packages"
    monkeypatch.setattr(_libraries.site, "getsitepackages", lambda: [str(packages)])
    monkeypatch.setattr(_libraries.site, "getusersitepackages", lambda: str(packages))
    monkeypatch.setattr(_libraries.sys, "path", [str(packages)])
    _libraries.tell_where_libraries_are()
    assert asked == ["nvrtc"] and looked_in == [str(packages), str(tmp_path / "lib")], "after the packages"
    _libraries.tell_where_libraries_are()
    assert len(asked) == 1, "once"
    nvrtc = packages / "nvidia" / "cu13" / "lib" / "libnvrtc.so.13"
    nvrtc.parent.mkdir(parents=True)
    nvrtc.touch()
    _libraries._told = False
    looked_in.clear()
    _libraries.tell_where_libraries_are()
    assert len(asked) == 1 and looked_in == [str(packages)], "it would look there first"


@pytest.mark.parametrize("fault", [RuntimeError("no such library"), OSError("damaged"), None])
def test_a_pathfinder_that_finds_nothing_is_no_fault(fault, looked_in, monkeypatch):
    def load(name):
        if fault is not None:
            raise fault
        return types.SimpleNamespace(abs_path=None)

    for name, made in of_pathfinder(load).items():
        monkeypatch.setitem(sys.modules, name, made)
    assert _libraries._folder_by_pathfinder() == []
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", None)
    assert _libraries._folder_by_pathfinder() == [], "not installed"


def test_the_processor_needs_no_nvrtc(looked_in, grid):
    sparsight.plan(grid).prepare("cpu")
    assert looked_in == [] and not _libraries._told
