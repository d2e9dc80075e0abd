"""Advice is what the program answers with --json, and the same each time."""

import json
import warnings
from concurrent.futures import ThreadPoolExecutor
import re

import numpy as np
import pytest

import sparsight
from sparsight import _advice
from sparsight._errors import Uncalibrated


def test_candidates_are_ranked_by_what_is_asked(grid):
    advice = sparsight.advise(grid)
    times = [one.predicted_s for one in advice]
    assert len(advice) == len(times) > 100 and times == sorted(times)
    assert advice.best is advice[0] and advice[advice.best.id] is advice[0]
    best = advice.best
    assert best.low_s < best.predicted_s < best.high_s and best.memory_bytes > 0 and best.in_all_s is None
    few = sparsight.advise(grid, products=2, device="nvidia-h200")
    assert few.products == 2 and [one.in_all_s for one in few] == sorted(one.in_all_s for one in few)
    assert few.best.pays_off_after == 0, "for two products nothing is converted"


def test_devices_differ_and_types_too(grid):
    assert set(sparsight.profiles()) >= {"nvidia-h200", "nvidia-h100"}
    h100 = sparsight.advise(grid, device="nvidia-h100")
    assert h100.device["profile"] == "nvidia-h100" and h100.best.dtype == "f64"
    assert sparsight.advise(grid, dtype=np.float32).best.dtype == "f32"
    assert sparsight.advise(grid, model="strip-cache").best.model == "strip-cache"


def test_the_dictionary_has_the_fields_of_the_program(grid):
    answer = sparsight.advise(grid).to_dict()
    assert answer["schema"] == "sparsight/advise/1" and answer["matrix"]["nnz"] == grid.nnz
    assert json.loads(json.dumps(answer)) == answer


def test_it_says_why_a_candidate_is_refused():
    arrow = sparsight.gallery("arrow,n=20000")
    refused = {one.id: one.reason for one in sparsight.advise(arrow).refused}
    assert any(name.startswith("ell/") for name in refused) and all(refused.values())


def test_it_is_shown_as_text_and_in_a_notebook(grid):
    advice = sparsight.advise(grid, products=10, device="nvidia-h200")
    lines = str(advice).splitlines()
    assert lines[0] == "900 x 900, 4,380 non-zeros, 4.9 a row (3 to 5)"
    head = next(at for at, line in enumerate(lines) if line.startswith("candidate "))
    ids = [line.split()[0] for line in lines[head + 1 : -1]]
    assert ids[0] == advice.best.id and advice.best.id in repr(advice)
    kernels = [name.rsplit("/", 2 if advice[name].block else 1)[0] for name in ids]
    assert 10 <= len(kernels) == len(set(kernels)) <= 12, "a line a kernel"
    assert {advice.verdict[name]["id"] for name in ("plain_csr", "vendors_csr")} <= set(ids)
    assert lines[-1] == f"... and {len(advice) - len(ids)} more, most of them with other block sizes"
    html = advice._repr_html_()
    assert html.count("<tr>") == 1 + len(ids) and advice.best.id in html


def test_a_candidate_that_is_not_ranked_is_not_found(grid):
    with pytest.raises(KeyError, match="no candidate that is ranked"):
        sparsight.advise(grid)["csr-vector/t3/b256/f64"]


def test_the_verdict_says_what_to_use_and_what_that_gains(grid):
    fem = sparsight.advise(sparsight.gallery("fem,n=24"), device="nvidia-h200")
    verdict = fem.verdict
    assert verdict["best"] == fem.best.id and not verdict["gains_nothing"]
    csr = fem[verdict["plain_csr"]["id"]]
    assert verdict["plain_csr"]["speedup"] == pytest.approx(csr.predicted_s / fem.best.predicted_s)
    assert f"Use {verdict['recommended']}" in str(fem) and "times as fast as cuSPARSE's CSR" in str(fem)
    few = sparsight.advise(grid, products=1, device="nvidia-h200")
    assert few.verdict["gains_nothing"] and re.search("(Stay with CSR|CSR is as good as anything): csr-", str(few))


def test_sentences_about_all_products_say_so():
    fem = sparsight.gallery("fem,n=24")
    of_one, of_many = (sparsight.advise(fem, products=n, device="nvidia-h200") for n in (None, 100_000))
    assert " in all" not in of_one._sentence() and "times as fast as cuSPARSE's CSR" in of_one._sentence()
    sentence = of_many._sentence()
    assert "in all for 100,000 products with conversion and upload." in sentence
    assert "times as fast in all as cuSPARSE's CSR" in sentence
    vendors = of_many[of_many.verdict["vendors_csr"]["id"]]
    assert of_many.verdict["vendors_csr"]["speedup"] == pytest.approx(vendors.in_all_s / of_many.best.in_all_s)


def test_break_evens_are_counted_from_what_is_run_now():
    fem = sparsight.gallery("fem,n=24")
    usual = sparsight.advise(fem, device="nvidia-h200")
    now = usual.verdict["run_now"]
    assert now["kind"] == "vendors-csr" and now["id"] == usual.verdict["vendors_csr"]["id"]
    assert usual.verdict["break_even"].startswith("Against cuSPARSE's CSR converting pays from ")
    assert usual.verdict["break_even"] in str(usual) and "run now" in str(usual)
    named = sparsight.advise(fem, device="nvidia-h200", from_="csr-scalar/b256")
    assert named.verdict["run_now"]["id"] == "csr-scalar/b256/f64" and "times as fast as csr-scalar/b256/f64" in str(named)
    assert named.best.pays_off_after != usual.best.pays_off_after
    for wrong in ("nonsense", "bsr/b4"):
        with pytest.raises(sparsight.SparsightError) as refused:
            sparsight.advise(fem, device="nvidia-h200", from_=wrong)
        assert "hint" in str(refused.value) or refused.value.hint


def test_a_reason_says_what_costs_time():
    fem = sparsight.gallery("fem,n=24")
    assert sparsight.advise(fem, device="nvidia-h200").reasons == []
    fem.data[::2] = 0
    half = sparsight.advise(fem, device="nvidia-h200")
    [reason] = half.reasons
    assert reason["kind"] == "stored-zeros" and 0 < reason["cost_s"] < reason["of_s"]
    assert reason["text"] in str(half) and reason["zeros"] == len(fem.data[::2])
    [reason] = sparsight.advise(fem, products=10, device="nvidia-h200").reasons
    assert reason["kind"] == "upload"


COMPLEX = "%%MatrixMarket matrix coordinate complex general\n300 300 300\n" + "".join(f"{i} {i} 1 2\n" for i in range(1, 301))
TWICE = "%%MatrixMarket matrix coordinate real general\n300 300 600\n" + "".join(f"{i} {i} 1\n" for i in range(1, 301)) * 2


def test_facts_of_the_file_are_among_the_reasons(tmp_path):
    kinds = {}
    for name, text in {"complex": COMPLEX, "twice": TWICE}.items():
        path = tmp_path / f"{name}.mtx"
        path.write_text(text)
        kinds[name] = [reason["kind"] for reason in sparsight.advise(path, device="nvidia-h200").reasons]
    assert "complex" in kinds["complex"] and "duplicates" in kinds["twice"], kinds
    path = tmp_path / "complex.mtx"
    with pytest.raises(sparsight.BadMatrix, match="complex"):
        sparsight.advise(path, device="nvidia-h200", values="f32")
    with pytest.raises(sparsight.BadMatrix, match="complex"):
        sparsight.plan(path)
    with pytest.raises(sparsight.BadMatrix, match="complex"):
        sparsight.read(path)


def test_it_becomes_a_data_frame(grid):
    pandas = pytest.importorskip("pandas")
    frame = sparsight.advise(grid).to_pandas()
    assert isinstance(frame, pandas.DataFrame) and frame.index[0] == sparsight.advise(grid).best.id
    assert (frame.predicted_s > 0).all()


def test_a_matrix_is_asked_about_twice_without_being_looked_at_again(grid):
    matrix = sparsight.Matrix(grid)
    assert sparsight.advise(matrix).to_dict() == sparsight.advise(matrix).to_dict()


@pytest.fixture
def unknown_gpu(monkeypatch):
    """A GPU that is known as soon as it is calibrated; the callers that did so, in order."""
    calls, real = [], _advice._core.advise

    def advise(matrix, name, device, *more):
        if device == "cuda:0" and "done" not in calls:
            raise Uncalibrated("Some GPU has no profile and was not calibrated yet", "calibrate it")
        return real(matrix, name, "nvidia-h100" if device == "cuda:0" else device, *more)

    def calibrate(device, before, unasked=False):
        calls.append(device)
        for at in range(20):
            before(at, "gallery:fem")
        calls.append("done")
        return "nvidia-h100"

    monkeypatch.setattr(_advice._core, "advise", advise)
    monkeypatch.setattr(_advice._core, "calibrate", calibrate)
    return calls


def test_a_gpu_is_calibrated_when_it_is_first_named(grid, unknown_gpu, capsys):
    with pytest.warns(UserWarning, match="Some GPU has no profile .* calibrated now, once") as warned:
        advice = sparsight.advise(grid, device="cuda:0")
    assert len(warned) == 1 and warned[0].filename == __file__, "one line, about the line that asked"
    assert advice.device["profile"] == "nvidia-h100" and unknown_gpu == ["cuda:0", "done"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sparsight.plan(grid, device="cuda:0", transpose=True).advice.best.id == advice.best.id
    assert unknown_gpu == ["cuda:0", "done"], "once"
    assert capsys.readouterr() == ("", "")


def test_two_threads_calibrate_once(grid, unknown_gpu):
    matrix = sparsight.Matrix(grid)
    with warnings.catch_warnings(), ThreadPoolExecutor(2) as threads:
        warnings.simplefilter("ignore")
        first, second = threads.map(lambda _: sparsight.advise(matrix, device="cuda:0").best.id, range(2))
    assert first == second and unknown_gpu == ["cuda:0", "done"]


@pytest.mark.filterwarnings("ignore:Some GPU")
def test_a_calibration_that_is_ended_is_begun_again_by_the_next_call(grid, unknown_gpu, monkeypatch):
    calibrate = _advice._core.calibrate

    def interrupted(device, before, unasked=False):
        raise KeyboardInterrupt

    monkeypatch.setattr(_advice._core, "calibrate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sparsight.advise(grid, device="cuda:0")
    monkeypatch.setattr(_advice._core, "calibrate", calibrate)
    assert sparsight.advise(grid, device="cuda:0").device["profile"] == "nvidia-h100"


def test_the_processor_is_not_calibrated_unasked(grid, tmp_path, monkeypatch):
    monkeypatch.setenv("SPARSIGHT_CACHE", str(tmp_path))
    with pytest.raises(sparsight.NoProfile, match="was not calibrated yet") as unknown:
        sparsight.advise(grid, device="cpu")
    assert 'calibrate("cpu")' in unknown.value.hint


def test_values_in_f32_are_ranked_on_request_with_the_lost_precision():
    cube = sparsight.gallery("stencil3d,n=60")
    cube.data *= 1 / 3
    plain, mixed = (sparsight.advise(cube, device="nvidia-h200", values=values) for values in (None, "f32"))
    assert plain.narrowing is None and {one.dtype for one in plain} == {"f64"} and "|A| |x|" not in str(plain)
    assert {one.dtype for one in mixed} == {"f64", "f32-f64"} and mixed.best.id.endswith("/f32-f64")
    lost = mixed.narrowing
    rounded = cube.astype(np.float32).astype(np.float64)
    assert 0 < lost["relative_error"] <= 2**-24 and lost["too_large"] == 0
    assert lost["changed"] == (rounded.data != cube.data).sum() > 0
    most = abs(cube.data) * lost["relative_error"]
    assert (abs(rounded.data - cube.data) <= most * (1 + 1e-12)).all(), "as bounded"
    assert f"y changes by at most {lost['relative_error']:.1e} |A| |x| in each row" in str(mixed)
    lines = [line.split()[0] for line in str(mixed).splitlines()[6:-1]]
    assert len(lines) == len(set(lines)) and any(one.endswith("/f32-f64") for one in lines)
    whole = sparsight.gallery("stencil3d,n=60")
    assert "nothing is lost" in str(sparsight.advise(whole, device="nvidia-h200", values=np.float32))
    whole.data[:2] = 1e300
    many = sparsight.advise(whole, device="nvidia-h200", values="f32")
    assert many.narrowing["too_large"] == 2 and {one.dtype for one in many} == {"f64"}
    assert "2 of the values are too large for f32" in str(many)


def test_a_plan_takes_values_in_f32_where_it_is_asked_to():
    cube = sparsight.gallery("stencil3d,n=60")
    plan = sparsight.plan(cube, device="nvidia-h200", values="f32", transpose=True)
    both = (plan.candidate, plan.transposed.candidate)
    assert all(one.id.endswith("/f32-f64") for one in both) and plan.transposed.advice.narrowing["changed"] == 0
    assert plan.memory_bytes < sparsight.plan(cube, device="nvidia-h200", transpose=True).memory_bytes


def test_candidates_are_ranked_by_an_iteration_of_a_solver(grid):
    advice = sparsight.advise(grid, products=1000, device="nvidia-h200", iteration="cg")
    best = advice.best
    assert advice.iteration == {"name": "cg"} and advice.products == 1000
    assert best.iteration_low_s <= best.iteration_s <= best.iteration_high_s
    # In a graph a product takes less than by itself.
    assert 0 < best.in_products_s < best.predicted_s < best.iteration_s and best.launches == 2
    assert abs(best.in_all_s - best.conversion_s - 1000 * best.iteration_s) < 1e-9
    assert "an iteration of cg" in str(advice) and "of it in products" in str(advice)
    assert "iteration_s" in advice.to_pandas().columns
    of_products = sparsight.advise(grid, device="nvidia-h200")
    assert of_products.best.iteration_s is None and of_products.iteration is None
    plan = sparsight.plan(grid, device="nvidia-h200", iteration="bicgstab")
    assert plan.candidate.launches == 4 and not plan.candidate.vendor


def test_an_iteration_with_the_transpose_names_a_candidate_for_it():
    wide = sparsight.gallery("wide")
    advice = sparsight.advise(wide, device="nvidia-h200", iteration="pdhg")
    turned = advice.iteration["transposed"]
    assert turned["id"] in str(advice) and turned["low_s"] <= turned["predicted_s"] <= turned["high_s"]
    assert advice.best.predicted_s < advice.best.in_products_s < advice.best.iteration_s


def test_iterations_that_do_not_exist_are_refused(grid):
    with pytest.raises(sparsight.BadMatrix, match="CG is for square matrices"):
        sparsight.advise(sparsight.gallery("wide"), device="nvidia-h200", iteration="cg")
    with pytest.raises(sparsight.SparsightError, match="gmres.*bicgstab"):
        sparsight.advise(grid, device="nvidia-h200", iteration="gmres")
    with pytest.raises(sparsight.SparsightError, match="from_"):
        sparsight.advise(grid, device="nvidia-h200", iteration="cg", from_="coo")
