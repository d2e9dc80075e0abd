"""The benchmark of solvers: what needs no GPU of it, and with one the loops in CUDA."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

import sparsight

BENCHES = pathlib.Path(__file__).resolve().parent.parent / "benches"
sys.path[:0] = [str(BENCHES), str(BENCHES.parent / "examples")]

import pdhg as of_pdhg
import solvers
import solvers_end_to_end
import solvers_summary

LP = "lp,rows=60,cols=150,row=5,dense_rows=0,dense_cols=0"


def run(capsys, monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["solvers.py", *map(str, words)])
    # Ours alone: a competitor would need torch.
    monkeypatch.setattr(solvers, "others", lambda *_: {})
    solvers.main()
    return capsys.readouterr()


@pytest.mark.parametrize("solver", ["cg", "bicgstab", "pdhg", "parts"])
def test_a_solver_is_timed_and_summed_up(solver, tmp_path, capsys, monkeypatch):
    into, matrix = tmp_path / "a.jsonl", LP if solver == "pdhg" else "stencil2d,n=10"
    text = run(capsys, monkeypatch, "--device", "cpu", "--solver", solver, "--most", 400, "--into", into, matrix).out
    (line,) = solvers_summary.records(into)
    assert text.startswith(f"{matrix} {solver} float64 {line['candidate']}: ")
    expected = ["product", "product_dots 1", "product_dots 3", "update"] if solver == "parts" else ["ours", "product"]
    assert set(expected) <= set(line["us"]) and min(line["us"].values()) > 0 and line["failed"] == {}
    if solver != "parts":
        assert line["same_bits"] and line["predicted_us"]["iteration_low_s"] <= line["predicted_us"]["iteration_s"]
    # The same again: it is there.
    assert run(capsys, monkeypatch, "--device", "cpu", "--solver", solver, "--most", 400, "--into", into, matrix).out == ""
    table = run(capsys, monkeypatch, "--summary", into).out
    assert ("three add" if solver == "parts" else f"{solvers_summary.TITLES[solver]}, NVIDIA") in table


def test_a_run_ends_in_time_and_says_what_is_left(tmp_path, capsys, monkeypatch):
    told = run(capsys, monkeypatch, "--device", "cpu", "--seconds", 0, "--into", tmp_path / "a.jsonl", "stencil2d,n=10", "stencil2d,n=11")
    assert told.out == "" and "2 of 2 matrices left after 0 s" in told.err


def record(matrix, product, ours, **more):
    line = {"matrix": matrix, "solver": "pdhg", "dtype": "float64", "device": "NVIDIA H100", "launch_us": 1.0, "rows": 10, "columns": 20}
    predicted = {"iteration_s": 1.1 * ours, "iteration_low_s": 0.9 * ours, "iteration_high_s": 1.2 * ours}
    return line | {"us": {"product": product, "ours": ours}, "predicted_us": predicted, "same_bits": True, "failed": {}} | more


def test_tables_have_means_by_size_and_seconds_to_a_solution(tmp_path, capsys):
    ends = {
        "ours": {"prepare_s": 0.5, "iterations_s": 0.1, "faults": [1e-4, 2e-4, 0.0], "difference": 0.0},
        "cusparse": {"prepare_s": 1.0, "iterations_s": 0.2, "faults": [1e-4, 3e-4, 0.0], "difference": 1e-12},
        "torch_graph": {"failed": "RuntimeError: no"},
    }
    solved = {"iterations": 400, "faults": [1e-4, 2e-4, 0.0], "end_to_end": ends}
    lines = [record("lps/a.npz", 3.0, 10.0, **solved), record("b", 4.0, 10.0), record("c", 30.0, 100.0)]
    for line, others in zip(lines, [{"torch": 40.0, "cusparse_fused": 20.0}, {"torch": 90.0, "cusparse_fused": 45.0}, {"torch": 150.0}]):
        line["us"] |= others
    lines[2]["predicted_us"]["iteration_high_s"] = 99.0
    lines[2]["failed"] = {"cusparse": "RuntimeError: no memory"}
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    solvers_summary.summary(path)
    rows = [text for text in capsys.readouterr().out.splitlines() if text]
    assert "| PDHG, NVIDIA H100 | product below 20 us (2) | from 20 us (1) |" in rows
    # sqrt(4 x 9) and sqrt(2 x 4.5).
    assert "| torch | 6.00 (4.00) | 1.50 (1.50) |" in rows
    assert "| cuSPARSE with updates by hand, in a CUDA graph | 3.00 (2.00) | - |" in rows
    assert "| **the fastest of these** | **3.00 (2.00)** | **1.50 (1.50)** |" in rows
    assert "| predicted: mean error, predicted / measured | 10.0 %, 1.10 | 10.0 %, 1.10 |" in rows
    assert "| in the 90 % interval | 2 of 2 | 0 of 1 |" in rows
    assert "cusparse failed on 1: RuntimeError: no memory" in rows
    assert "| a | 400 | 2.0e-04 | 0.500 + 0.100 | 1.000 + 0.200 |" in rows
    assert "| in all, over ours |  |  | 1.00 (1.00) | 2.00 (2.00) |" in rows
    assert "torch_graph failed on 1: RuntimeError: no" in rows


def small_program():
    a = sparsight.gallery(LP)
    program, _ = of_pdhg.program_of(a, np.random.default_rng(1))
    return a, program, of_pdhg.norm_of(sparsight.plan(a, transpose=True).prepare("cpu"), program[0])


def test_loops_come_to_the_same_solution_in_processes_of_their_own(monkeypatch):
    a, program, length = small_program()
    solver = of_pdhg.PDHG(sparsight.plan(a, transpose=True).prepare("cpu"), *program, length=length)
    iterations = solvers_end_to_end.iterations_to(solver, 1e-2, 20_000)
    assert iterations < 20_000 and max(solver.faults()) <= 1e-2
    monkeypatch.setattr(solvers_end_to_end, "LOOPS", ("ours", "ours_again"))
    kept = dict(os.environ)
    found = solvers_end_to_end.in_all(a, program, length, iterations, "cpu")
    assert dict(os.environ) == kept
    assert list(found) == ["ours", "ours_again"]
    for one in found.values():
        assert one["prepare_s"] > 0 and one["iterations_s"] > 0, one
        assert one["difference"] <= 1e-12 and max(one["faults"]) <= 1.01e-2


# As solvers_cusparse.cu: reads a system of PDHG, solves it and answers with a line.
STAND_IN = """
import json, sys
import numpy as np, scipy.sparse as sp
names = sys.argv[5:] if "--variants" in sys.argv else (name.strip() for name in sys.stdin)
for name in names:
    raw = open(name, "rb").read()
    rows, columns, nnz, iterations = np.frombuffer(raw, np.int64, 4)
    at = 32 + 4 * (rows + 1 + nnz)
    indptr, indices = np.frombuffer(raw, np.int32, rows + 1, 32), np.frombuffer(raw, np.int32, nnz, 32 + 4 * (rows + 1))
    values, (step,), c, lower, upper, b, least = np.split(np.frombuffer(raw, np.float64, offset=at), np.cumsum([nnz, 1, columns, columns, columns, rows]))
    a = sp.csr_array((values, indices, indptr), (rows, columns))
    x, y = np.clip(np.zeros(columns), lower, upper), np.zeros(rows)
    for _ in range(iterations):
        new = np.clip(x - step * (c - a.T @ y), lower, upper)
        y, x = np.maximum(y + step * (b - a @ (2 * new - x)), least), new
    np.concatenate([x, y]).tofile(name + ".x")
    print(json.dumps({"us": {"cusparse_fused": 1.0}, "cusparse": 12603, "variants": "1,4", "prepare_s": 0.5, "iterations_s": 0.25}), flush=True)
"""


def test_a_program_beside_ours_is_told_the_system_and_solves_the_same(tmp_path, capsys, monkeypatch):
    pytest.importorskip("scipy")
    program = tmp_path / "stand_in"
    program.write_text(f"#!{sys.executable}\n{STAND_IN}")
    program.chmod(0o700)
    monkeypatch.setattr(solvers_end_to_end, "LOOPS", ("ours",))
    into = tmp_path / "a.jsonl"
    run(capsys, monkeypatch, "--device", "cpu", "--solver", "pdhg", "--end-to-end", "--most", 400, "--cusparse", program, "--into", into, LP)
    (line,) = solvers_summary.records(into)
    assert line["failed"] == {} and line["us"]["cusparse_fused"] == 1.0 and line["variants"] == "1,4"
    end = line["end_to_end"]["cusparse"]
    assert line["difference"] <= 1e-12 and end["difference"] <= 1e-12
    assert (end["prepare_s"], end["iterations_s"]) == (0.5, 0.25)
    assert end["faults"] == pytest.approx(line["faults"], rel=1e-6)


def test_a_program_that_ends_is_reported_and_started_again(tmp_path):
    program = tmp_path / "ends"
    program.write_text("#!/bin/sh\nread name\nexit 3\n")
    program.chmod(0o700)
    told = solvers.CuSparse(program, "cg")
    for _ in range(2):
        with pytest.raises(RuntimeError, match="ended with 3"):
            told.solve("a")


def test_loops_in_cuda_do_what_ours_do(tmp_path, cupy):
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("no nvcc here")
    program, libraries = tmp_path / "solvers_cusparse", pathlib.Path(nvcc).resolve().parent.parent / "lib64"
    where = [f"-L{libraries}", "-Xlinker", f"-rpath={libraries}"]
    subprocess.run([nvcc, "-O3", "-arch=native", BENCHES / "solvers_cusparse.cu", *where, "-lcusparse", "-lcublas", "-o", program], check=True)
    a = sparsight.gallery("stencil2d,n=30")
    b = np.random.default_rng(1).standard_normal(900)
    file = str(tmp_path / "system")
    for solver, make in (("cg", "cg.CG"), ("bicgstab", "bicgstab.BiCGStab")):
        module, name = make.split(".")
        ours = getattr(__import__(module), name)(sparsight.plan(a).prepare("cpu"), b)
        ours.start()
        ours.run()
        solvers.write_system(file, a, 20, [b])
        told = solvers.CuSparse(program, solver).solve(file)
        assert min(told["us"].values()) > 0
        assert abs(np.fromfile(file + ".x") - ours.x).max() <= 1e-6 * abs(ours.x).max()
    a, parts, length = small_program()
    ours = of_pdhg.PDHG(sparsight.plan(a, transpose=True).prepare("cpu"), *parts, length=length)
    ours.start()
    for _ in range(10):
        ours.run()
    solvers.write_system(file, a, 200, [np.float64(0.99 / length), *parts])
    for variants in [f"{one % 3},{one}" for one in range(6)]:
        done = subprocess.run([program, "--solver", "pdhg", "--variants", variants, file], capture_output=True, text=True)
        told = json.loads(done.stdout)
        # cuSPARSE may have no such algorithm for A^T.
        if "failed" not in told:
            both = np.fromfile(file + ".x")
            assert abs(both - np.concatenate([ours.x, ours.y])).max() <= 1e-9 * (1 + abs(ours.x).max()), variants
        else:
            assert variants.endswith(("3", "4", "5")), told
