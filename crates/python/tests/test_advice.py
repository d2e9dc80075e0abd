"""Advice is what the program answers with --json, and the same each time."""

import json
import re

import numpy as np
import pytest

import sparsight


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
    ids = [line.split()[0] for line in lines[5:-1]]
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


def test_it_becomes_a_data_frame(grid):
    pandas = pytest.importorskip("pandas")
    frame = sparsight.advise(grid).to_pandas()
    assert isinstance(frame, pandas.DataFrame) and frame.index[0] == sparsight.advise(grid).best.id
    assert (frame.predicted_s > 0).all()


def test_a_matrix_is_asked_about_twice_without_being_looked_at_again(grid):
    matrix = sparsight.Matrix(grid)
    assert sparsight.advise(matrix).to_dict() == sparsight.advise(matrix).to_dict()
