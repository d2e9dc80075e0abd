"""Python call overhead of a product, beside CuPy and torch: a loop of products, wall-clock time, in turn.

    python felt_times.py FOLDER [--dtype f64] [--try 1] > felt.jsonl
    python felt_times.py --summary felt.jsonl

FOLDER holds matrices that sparsight reads. For each: microseconds a product of `op.matvec(x, out=y)` and `op @ x` with vectors of
CuPy and torch, of CuPy's `csr @ x` and torch's `sparse_csr @ x`; of a CUDA graph of our products, which is what the GPU needs; of
an iteration of cupyx' CG with either, and of CG as it is written in torch; of `op.T @ x` beside an operator that was planned from A^T.
"""

import argparse
import inspect
import json
import math
import pathlib
import statistics
import sys
import time

import numpy as np

import sparsight

ROUNDS = 3


def loops(works, synchronize):
    """Microseconds a call of each, median over rounds in turn; a loop takes a thousand calls, or 40 ms."""
    counts = {}
    for name, work in works.items():
        for _ in range(10):
            work()
        synchronize()
        begun = time.perf_counter()
        for _ in range(20):
            work()
        synchronize()
        once = (time.perf_counter() - begun) / 20
        counts[name] = max(20, min(1000, int(0.04 / once)))
    taken = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            synchronize()
            begun = time.perf_counter()
            for _ in range(counts[name]):
                work()
            synchronize()
            taken[name].append(1e6 * (time.perf_counter() - begun) / counts[name])
    return {name: statistics.median(times) for name, times in taken.items()}


def torch_cg(multiply, b, iterations):
    """So many iterations of CG, without a wait for the host. Of a matrix that is not positive definite the numbers mean nothing; the
    time is the same."""
    x, r, p = b.new_zeros(b.shape), b.clone(), b.clone()
    rr = r @ r
    for _ in range(iterations):
        q = multiply(p)
        alpha = rr / (p @ q)
        x += alpha * p
        r -= alpha * q
        before, rr = rr, r @ r
        p = r + (rr / before) * p
    return x


def measured(path, dtype, tries):
    import cupy
    import cupyx.scipy.sparse as csp
    import torch
    from cupyx.scipy.sparse.linalg import LinearOperator, cg

    a = sparsight.read(path, dtype)
    plan = sparsight.plan(a, products=10**6, transpose=True)
    operator = plan.prepare("cuda:0", try_=tries)
    x = np.random.default_rng(1).standard_normal(a.shape[1]).astype(dtype)
    z = np.random.default_rng(2).standard_normal(a.shape[0]).astype(dtype)
    cx, cy = cupy.asarray(x), cupy.empty(a.shape[0], dtype)
    tx, ty = torch.as_tensor(x, device="cuda:0"), torch.empty(a.shape[0], dtype=getattr(torch, np.dtype(dtype).name), device="cuda:0")
    cz = cupy.asarray(z)
    on_cupy = csp.csr_matrix(a)
    on_torch = torch.sparse_csr_tensor(
        torch.as_tensor(a.indptr), torch.as_tensor(a.indices), torch.as_tensor(a.data), a.shape, device="cuda:0"
    )
    turned = sparsight.plan(a.T.tocsr(), products=10**6).prepare("cuda:0", candidate=operator.T.candidate)
    out_t = cupy.empty(a.shape[1], dtype)

    stream, products = cupy.cuda.Stream(non_blocking=True), 50
    with stream:
        operator.matvec(cx, out=cy)
        stream.begin_capture()
        for _ in range(products):
            operator.matvec(cx, out=cy)
        graph = stream.end_capture()

    works = {
        "ours_cupy_out": lambda: operator.matvec(cx, out=cy),
        "ours_cupy": lambda: operator @ cx,
        "ours_torch_out": lambda: operator.matvec(tx, out=ty),
        "ours_torch": lambda: operator @ tx,
        "cupy": lambda: on_cupy @ cx,
        "torch": lambda: on_torch @ tx,
        "ours_transposed": lambda: operator.T.matvec(cz, out=out_t),
        "planned_from_transpose": lambda: turned.matvec(cz, out=out_t),
    }
    took = loops(works, cupy.cuda.Device().synchronize)
    took["graph"] = loops({"graph": lambda: graph.launch(stream)}, stream.synchronize)["graph"] / products
    if a.shape[0] == a.shape[1]:
        theirs = LinearOperator(a.shape, matvec=lambda v: on_cupy @ v, dtype=dtype)
        iterations = 50
        how = {"rtol" if "rtol" in inspect.signature(cg).parameters else "tol": 0.0, "maxiter": iterations}
        tz = torch.as_tensor(z, device="cuda:0")
        solve = {
            "cg_ours": lambda: cg(operator.cupy(), cz, **how),
            "cg_cupy": lambda: cg(theirs, cz, **how),
            "cg_torch_ours": lambda: torch_cg(operator.__matmul__, tz, iterations),
            "cg_torch_ours_out": lambda: torch_cg(lambda v: operator.matvec(v, out=ty), tz, iterations),
            "cg_torch": lambda: torch_cg(on_torch.__matmul__, tz, iterations),
        }
        for name, work in solve.items():
            work()
            begun = time.perf_counter()
            for _ in range(3):
                work()
            cupy.cuda.Device().synchronize()
            took[name] = 1e6 * (time.perf_counter() - begun) / (3 * iterations)
    return {"nnz": a.nnz, "rows": a.shape[0], "candidate": operator.candidate, "us": took}


def mean(ratios):
    return math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))


def summary(path):
    lines = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines() if line.startswith("{")]
    print(f"{len(lines)} matrices")

    def compare(what, theirs, ours, chosen):
        ratios = [line["us"][theirs] / line["us"][ours] for line in chosen if theirs in line["us"]]
        if ratios:
            print(f"{what:50} {len(ratios):4} geometric mean {mean(ratios):6.2f}  worst {min(ratios):6.2f}  best {max(ratios):6.2f}")

    for heading, chosen in [
        ("all", lines),
        ("below 10 us", [line for line in lines if line["us"]["graph"] < 10]),
        ("10 us and more", [line for line in lines if line["us"]["graph"] >= 10]),
    ]:
        if not chosen:
            continue
        print(f"-- {heading}: what the GPU needs for our product")
        compare("CuPy csr @ x / op @ x", "cupy", "ours_cupy", chosen)
        compare("CuPy csr @ x / op.matvec(x, out=y)", "cupy", "ours_cupy_out", chosen)
        compare("torch sparse_csr @ x / op @ x", "torch", "ours_torch", chosen)
        compare("torch sparse_csr @ x / op.matvec(x, out=y)", "torch", "ours_torch_out", chosen)
        compare("iteration of cupyx' CG, CuPy's / ours", "cg_cupy", "cg_ours", chosen)
        compare("iteration of CG in torch, torch's matrix / op @ x", "cg_torch", "cg_torch_ours", chosen)
        compare("iteration of CG in torch, torch's matrix / out=y", "cg_torch", "cg_torch_ours_out", chosen)
        compare("planned from A^T / op.T", "planned_from_transpose", "ours_transposed", chosen)
        for name in ["ours_cupy_out", "ours_cupy", "ours_torch_out", "ours_torch"]:
            over = sorted(line["us"][name] - line["us"]["graph"] for line in chosen)
            print(f"{name + ' over the graph, us':50} median {statistics.median(over):6.2f}  least {over[0]:6.2f}  most {over[-1]:6.2f}")


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("folder")
    flags.add_argument("--dtype", default="f64", choices=["f32", "f64"])
    flags.add_argument("--try", dest="tries", type=int, default=1)
    flags.add_argument("--summary", action="store_true")
    flags.add_argument("--shard", default="0/1", help="every so many-th matrix: 1/4")
    given = flags.parse_args()
    if given.summary:
        return summary(given.folder)
    dtype = np.float32 if given.dtype == "f32" else np.float64
    at, of = map(int, given.shard.split("/"))
    endings = (".mtx", ".mtx.gz", ".tar.gz", ".npz")
    files = sorted(path for path in pathlib.Path(given.folder).rglob("*") if path.name.endswith(endings))[at::of]
    for path in files:
        try:
            line = measured(path, dtype, given.tries)
        except Exception as why:
            print(f"{path.name}: {why}", file=sys.stderr)
            continue
        print(json.dumps({"matrix": path.name, "dtype": given.dtype, **line}), flush=True)
    return None


if __name__ == "__main__":
    sys.exit(main())
