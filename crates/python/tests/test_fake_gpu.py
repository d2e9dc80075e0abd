"""Libraries that answer in the place of NVIDIA's driver: of a GPU without a profile and without a run-time compiler, and of an H200."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

import pytest

SOURCE = pathlib.Path(__file__).with_name("fake_cuda.c")


@pytest.fixture(scope="module")
def fake_driver(tmp_path_factory):
    """A folder with a libcuda.so.1."""
    if shutil.which("nvidia-smi") is not None:
        pytest.skip("the libraries of a real GPU are here, and would be called with what only a stand-in knows")
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler here")
    folder = tmp_path_factory.mktemp("driver")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "libcuda.so.1", SOURCE], check=True)
    (folder / "libcuda.so").symlink_to("libcuda.so.1")
    return folder


@pytest.fixture(scope="module")
def fake_h200(tmp_path_factory):
    """A folder with a driver and a run-time compiler, those of the drop-in's tests."""
    beside = SOURCE.parents[2] / "cusparse" / "tests" / "stand_in"
    # scripts/test runs these tests beside the wheel and not where they lie.
    sources = pathlib.Path(os.environ.get("SPARSIGHT_STAND_IN", beside))
    if shutil.which("nvidia-smi") is not None:
        pytest.skip("the libraries of a real GPU are here")
    if shutil.which("g++") is None or not sources.is_dir():
        pytest.skip("there is no g++ here, or not the whole repository")
    folder = tmp_path_factory.mktemp("h200")
    for source, library in [("driver.cpp", "libcuda.so.1"), ("nvrtc.cpp", "libnvrtc.so.13")]:
        flags = ["-std=c++17", "-O1", "-pthread", "-shared", "-fPIC", f"-Wl,-soname,{library}"]
        subprocess.run(["g++", *flags, "-o", folder / library, sources / source], check=True)
        (folder / library.partition(".so")[0]).with_suffix(".so").symlink_to(library)
    return folder


def python(program, fake_driver, cache, **more):
    """What a Python says on stdout that finds that driver, and no NVRTC but one that the system itself names."""
    program = "import sparsight\nfrom sparsight import _libraries\n_libraries._told = True\n" + textwrap.dedent(program)
    paths = ("CUDA_PATH", "CUDA_HOME", "CUDA_ROOT", "CONDA_PREFIX", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if name not in paths}
    environment |= {"LD_LIBRARY_PATH": str(fake_driver), "SPARSIGHT_CACHE": str(cache), **more}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    if "not the kind" in ran.stdout:
        pytest.skip(f"NVRTC is found here without being named: {ran.stdout}")
    return ran.stdout, ran.stderr


def refusal_of(call, before=""):
    """A program that prints why a call with a matrix A is refused."""
    return f"""
        A = sparsight.gallery("stencil2d,n=30")
        {before}
        try:
            {call}
        except sparsight.NoGpu as error:
            print(error.args[0], "/", error.hint)
        except sparsight.SparsightError as error:
            print("not the kind", repr(error))
        """


def test_without_nvrtc_it_is_said_where_it_was_looked_for_and_how_to_get_it(fake_driver, tmp_path):
    said, _ = python(
        refusal_of('sparsight.plan(A, device="nvidia-h200").prepare("cuda:0")'),
        fake_driver,
        tmp_path,
    )
    assert said.startswith("no NVRTC library was found (looked in: ")
    assert "pip install" in said.partition(" / ")[2] and "nvidia-cuda-nvrtc" in said


def test_a_gpu_without_a_profile_is_calibrated_when_it_is_named(fake_driver, tmp_path):
    said, warned = python(
        refusal_of('sparsight.advise(A, device="cuda:0")', before='print(sparsight.advise(A).device["profile"])'),
        fake_driver,
        tmp_path,
    )
    default, why = said.splitlines()
    assert default == "nvidia-h200" and why.startswith("no NVRTC library was found")
    assert 'Fake GPU has no profile, so this is for nvidia-h200; device="cuda:0" calibrates it' in warned
    assert "Fake GPU has no profile and was not calibrated yet: it is calibrated now, once" in warned


def test_without_a_folder_to_keep_it_in_nothing_is_measured(fake_driver, tmp_path):
    kept = tmp_path / "kept"
    said, warned = python(
        """
        A = sparsight.gallery("stencil2d,n=30")
        for device in ("cuda:1", "cuda:0"):
            try:
                sparsight.plan(A, device=device)
            except sparsight.NoGpu as error:
                print(error.args[0])
        """,
        fake_driver,
        kept,
    )
    files = [one for one in kept.rglob("*") if one.is_file()]
    assert "1" in said.splitlines()[0] and not files, "what cannot be opened leaves nothing"
    assert "<string>:8: UserWarning: Fake GPU has no profile" in warned, "the line that asked is named"


def test_a_gpu_that_is_named_is_predicted_with_what_products_cost_there(fake_h200, tmp_path):
    said, _ = python(
        """
        import json
        A = sparsight.gallery("stencil2d,n=60")
        for device in ("nvidia-h200", "cuda:0", "cuda:0", "nvidia-h200"):
            answer = sparsight.advise(A, device=device).to_dict()
            print(json.dumps([answer["device"], answer["candidates"][0]]))
        """,
        fake_h200,
        tmp_path,
        STAND_IN_US="empty=2,small_product=3",
    )
    (profile, there), (machine, here), *again = [json.loads(line) for line in said.splitlines()]
    assert again == [[machine, here], [profile, there]]
    assert "profile_launch_s" not in profile and machine["profile_launch_s"] == profile["launch_s"]
    more = machine["launch_s"] - profile["launch_s"]
    # In the profile a launch takes 1.29 us, and a small product 2.17: the mean of both differences.
    assert more == pytest.approx(0.77e-6, abs=0.01e-6)
    assert here["id"] == there["id"] and here["predicted_s"] - there["predicted_s"] == pytest.approx(more)


def test_the_program_predicts_with_what_products_cost_on_the_gpu_that_is_named(fake_h200, tmp_path):
    said, _ = python(
        """
        import subprocess, sys
        for device in ("nvidia-h200", "cuda:0"):
            for command in ("advise", "plan"):
                words = [command, "gallery:stencil2d,n=60", "--device", device, "--json"]
                print(subprocess.run([sys.executable, "-m", "sparsight", *words], check=True, capture_output=True, text=True).stdout)
        """,
        fake_h200,
        tmp_path,
        STAND_IN_US="empty=2,small_product=3",
    )
    profile, of_profile, machine, of_machine = [json.loads(line) for line in said.split("\n\n") if line.strip()]
    for there, here in ((profile, machine), (of_profile, of_machine)):
        assert here["device"]["launch_s"] - there["device"]["launch_s"] == pytest.approx(0.77e-6, abs=0.01e-6)
        assert here["device"]["profile_launch_s"] == there["device"]["launch_s"]
    more = machine["device"]["launch_s"] - profile["device"]["launch_s"]
    assert machine["candidates"][0]["predicted_s"] - profile["candidates"][0]["predicted_s"] == pytest.approx(more)
