"""Time of an iteration of CG, BiCGStab or PDHG on a GPU, beside the same written with other libraries, and as predicted.

    python solvers.py FOLDER_OR_MATRIX ... [--solver cg] [--dtype f64] [--json] > solvers.jsonl
    python solvers.py --lp FOLDER_OR_MATRIX ...              PDHG on linear programs with these matrices
    python solvers.py --summary solvers.jsonl [--cusparse cusparse.jsonl]

Matrices are files that sparsight reads, folders of such, or recipes of the gallery. For each: microseconds an iteration, median of three
rounds in turn. Ours are the examples beside this folder, with vectors of CuPy and of torch. Beside them:

    cupyx          cupyx.scipy.sparse.linalg.cg with CuPy's matrix, which waits for the host
    torch          as it is written in torch, with its CSR
    torch graph    the same, captured into a CUDA graph
    torch compile  the same with its updates compiled by torch.compile, captured into a CUDA graph
    cusparse       of CG, cuSPARSE's product and cuBLAS in a CUDA graph: by cg_cusparse.cu beside this file, since CuPy captures no cuSPARSE;
                   `--cusparse FILE` of `--summary` names what it printed

A competitor that fails is reported with its message. Of a matrix that is not positive definite the numbers of CG mean nothing; the time
is the same. `same bits`: vectors and scalars of three runs from the same start are equal bit by bit.
"""

import argparse
import json
import math
import pathlib
import statistics
import sys
import time
import traceback

import numpy as np

import sparsight

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "examples"))

ROUNDS = 3
# Iterations of a graph.
LOOK = 20
# Seconds of a round, at least.
LEAST_S = 0.03
CUT_US = 20.0


def timed(works, synchronize):
    """Microseconds an iteration of each, median over rounds in turn. A work is a function and how many iterations it does."""
    counts, taken = {}, {name: [] for name in works}
    for name, (work, _) in works.items():
        for _ in range(2):
            work()
        synchronize()
        begun = time.perf_counter()
        work()
        synchronize()
        counts[name] = max(1, min(500, math.ceil(LEAST_S / max(time.perf_counter() - begun, 1e-7))))
    for _ in range(ROUNDS):
        for name, (work, iterations) in works.items():
            synchronize()
            begun = time.perf_counter()
            for _ in range(counts[name]):
                work()
            synchronize()
            taken[name].append(1e6 * (time.perf_counter() - begun) / (counts[name] * iterations))
    return {name: statistics.median(times) for name, times in taken.items()}


# Textbook forms in torch: `multiply` is its matrix', `update` may be compiled.


def torch_cg(multiply, b, compiled):
    import torch

    x, r, p = torch.zeros_like(b), b.clone(), b.clone()
    rr = (r @ r).clone()

    def step(x, r, p, q, rr):
        alpha = rr / (p * q).sum()
        x, r = x + alpha * p, r - alpha * q
        new = (r * r).sum()
        return x, r, r + (new / rr) * p, new

    step = compiled(step)

    def iterate():
        for _ in range(LOOK):
            for to, of in zip((x, r, p, rr), step(x, r, p, multiply(p), rr)):
                to.copy_(of)

    return iterate


def torch_eager_cg(matrix, b):
    """As it is written first: eleven operations."""
    import torch

    x, r, p = torch.zeros_like(b), b.clone(), b.clone()
    rr = (r @ r).clone()

    def iterate():
        nonlocal p, rr
        for _ in range(LOOK):
            q = matrix @ p
            alpha = rr / (p @ q)
            x.add_(alpha * p)
            r.sub_(alpha * q)
            before, rr = rr, r @ r
            p = r + (rr / before) * p

    return iterate


def torch_bicgstab(multiply, b, compiled):
    import torch

    x, r, r0, p = torch.zeros_like(b), b.clone(), b.clone(), b.clone()
    rho = (r @ r0).clone()

    def half(r, v, r0, rho):
        alpha = rho / (r0 * v).sum()
        return r - alpha * v, alpha

    def step(x, r, p, v, t, r0, rho, alpha):
        omega = (t * r).sum() / (t * t).sum()
        x, r = x + alpha * p + omega * r, r - omega * t
        new = (r * r0).sum()
        return x, r, r + (new / rho) * (alpha / omega) * (p - omega * v), new

    half, step = compiled(half), compiled(step)

    def iterate():
        for _ in range(LOOK):
            v = multiply(p)
            s, alpha = half(r, v, r0, rho)
            for to, of in zip((x, r, p, rho), step(x, s, p, v, multiply(s), r0, rho, alpha)):
                to.copy_(of)

    return iterate


def torch_pdhg(multiply, transposed, program, step_size, compiled):
    import torch

    c, lower, upper, b, least = program
    x, y = torch.zeros_like(c), torch.zeros_like(b)

    def primal(x, of_y):
        new = torch.minimum(torch.maximum(x - step_size * (c - of_y), lower), upper)
        return new, 2 * new - x

    def dual(y, of_v):
        return torch.maximum(y + step_size * (b - of_v), least)

    primal, dual = compiled(primal), compiled(dual)

    def iterate():
        for _ in range(LOOK):
            new, v = primal(x, transposed(y))
            x.copy_(new)
            y.copy_(dual(y, multiply(v)))

    return iterate


def states(solver):
    """All vectors and scalars of one of our solvers, as bytes."""
    found = []
    for _, value in sorted(vars(solver).items()):
        for array in value if isinstance(value, list) else [value]:
            if hasattr(array, "__cuda_array_interface__"):
                found.append((array.get() if hasattr(array, "get") else array.detach().cpu().numpy()).tobytes())
    return b"".join(found)


def same_bits(solver):
    """True if three runs of 60 iterations from the same start end in the same bits."""
    ends = set()
    for _ in range(3):
        solver.start()
        for _ in range(3):
            solver.run()
        ends.add(states(solver))
    return len(ends) == 1


def measured(name, dtype, solver, tries, seed=1):
    import cupy
    import cupyx.scipy.sparse as csp
    import torch
    from bicgstab import BiCGStab
    from cg import CG
    from iterating import captured, matrix_named
    from pdhg import PDHG, norm_of, program_of

    a = matrix_named(name, dtype)
    rng = np.random.default_rng(seed)
    is_lp = solver == "pdhg"
    plan = sparsight.plan(a, products=10**6, transpose=is_lp, iteration=solver)
    op = plan.prepare("cuda:0", try_=tries)
    device = {"cupy": cupy.asarray, "torch": lambda array: torch.as_tensor(array, device="cuda:0")}
    line = {"matrix": str(name), "dtype": np.dtype(dtype).name, "solver": solver, "rows": a.shape[0], "columns": a.shape[1], "nnz": int(a.nnz)}
    line["candidate"] = op.candidate
    if is_lp:
        program, _ = program_of(a, rng)
        line["candidate_transposed"] = op.T.candidate
        length = norm_of(op, cupy.asarray(program[0]))
        step_size = 0.99 / length
    else:
        b = rng.standard_normal(a.shape[0]).astype(dtype)
    try:
        advised = plan.advice[op.candidate]
        names = ("iteration_s", "iteration_low_s", "iteration_high_s", "in_products_s", "predicted_s")
        line["predicted_us"] = {name: 1e6 * getattr(advised, name) for name in names}
        line["launches"] = advised.launches
    except Exception as why:
        line["predicted_us"] = {"failed": repr(why)}

    works, failed, keep = {}, {}, []

    def add(label, make, iterations=LOOK):
        try:
            work = make()
            keep.append(work)
            work()
            cupy.cuda.Device().synchronize()
            works[label] = (work, iterations)
        except Exception as why:
            failed[label] = f"{type(why).__name__}: {why}"[:600]
            traceback.print_exc(file=sys.stderr)

    def ours(vectors):
        put = device[vectors]
        if is_lp:
            made = PDHG(op, *(put(part) for part in program), look=LOOK, length=length)
        else:
            made = {"cg": CG, "bicgstab": BiCGStab}[solver](op, put(b), look=LOOK)
        made.start()
        made.run()
        line.setdefault("same_bits", {})[vectors] = same_bits(made)
        if is_lp:
            line["faults"] = made.faults()
        made.start()
        keep.append(made)
        return made.run

    add("ours_cupy", lambda: ours("cupy"))
    add("ours_torch", lambda: ours("torch"))

    on_cupy = csp.csr_matrix(a)
    on_torch = torch.sparse_csr_tensor(torch.as_tensor(a.indptr), torch.as_tensor(a.indices), torch.as_tensor(a.data), a.shape, device="cuda:0")
    if is_lp:
        turned = a.T.tocsr()
        t_torch = torch.sparse_csr_tensor(
            torch.as_tensor(turned.indptr), torch.as_tensor(turned.indices), torch.as_tensor(turned.data), turned.shape, device="cuda:0"
        )
        parts = [device["torch"](part) for part in program]
        eager = torch_pdhg(on_torch.__matmul__, t_torch.__matmul__, parts, step_size, lambda f: f)
        add("torch", lambda: eager)
        add("torch_graph", lambda: captured(torch_pdhg(on_torch.__matmul__, t_torch.__matmul__, parts, step_size, lambda f: f), parts[0]))
        add("torch_compile", lambda: captured(torch_pdhg(on_torch.__matmul__, t_torch.__matmul__, parts, step_size, torch.compile), parts[0]))
    else:
        cb, tb = cupy.asarray(b), torch.as_tensor(b, device="cuda:0")
        textbook = {"cg": torch_cg, "bicgstab": torch_bicgstab}[solver]
        first = torch_eager_cg(on_torch, tb) if solver == "cg" else torch_bicgstab(on_torch.__matmul__, tb, lambda f: f)
        add("torch", lambda: first)
        add("torch_graph", lambda: captured(textbook(on_torch.__matmul__, tb, lambda f: f), tb))
        add("torch_compile", lambda: captured(textbook(on_torch.__matmul__, tb, torch.compile), tb))
        if solver == "cg":
            add("cupyx", lambda: cupyx_cg(on_cupy, cb))

    # One product, as often in a graph.
    def product():
        x, y = cupy.zeros(a.shape[1], dtype), cupy.zeros(a.shape[0], dtype)

        def many():
            for _ in range(LOOK):
                op.matvec(x, out=y)

        keep.append((x, y))
        return captured(many, x)

    add("product", product)
    line["us"] = timed(works, cupy.cuda.Device().synchronize)
    line["failed"] = failed
    op.free()
    return line


def cupyx_cg(a, b):
    import inspect

    from cupyx.scipy.sparse.linalg import cg

    how = {"rtol" if "rtol" in inspect.signature(cg).parameters else "tol": 0.0, "maxiter": LOOK}
    return lambda: cg(a, b, **how)


def others(us):
    """The fastest that is not ours nor cupyx', which waits for the host."""
    found = {name: us[name] for name in ("torch", "torch_graph", "torch_compile", "cusparse") if name in us}
    return min(found, key=found.get, default=None)


def text_of(line):
    us = line["us"]
    best = others(us)
    mine = min((us[name] for name in ("ours_cupy", "ours_torch") if name in us), default=float("nan"))
    predicted = line["predicted_us"].get("iteration_s", float("nan"))
    times = ", ".join(f"{name} {us[name]:.2f}" for name in us)
    over = f"{us[best] / mine:.2f} times as fast as {best}" if best else "nothing to compare with"
    bits = line.get("same_bits")
    text = f"{line['matrix']} {line['solver']} {line['dtype']} {line['candidate']}: {times} us; {over}; predicted {predicted:.2f} ({predicted / mine:.2f}); same bits {bits}"
    return text + "".join(f"\n    {name} failed: {why.splitlines()[0]}" for name, why in line["failed"].items())


def mean(ratios):
    return math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))


def records(path):
    return [json.loads(text) for text in pathlib.Path(path).read_text().splitlines() if text.startswith("{")]


def summary(path, cusparse):
    """Geometric means by solver and type, of products below and above 20 us."""
    lines = records(path)
    by_name = {pathlib.Path(one["file"]).stem: one["us"] for one in records(cusparse)} if cusparse else {}
    for line in lines:
        name = pathlib.Path(line["matrix"]).stem
        if line["solver"] == "cg" and name in by_name:
            line["us"]["cusparse"] = by_name[name]
    for key in sorted({(line["solver"], line["dtype"]) for line in lines}):
        of_key = [line for line in lines if (line["solver"], line["dtype"]) == key and "ours_cupy" in line["us"]]
        print(f"-- {key[0]} {key[1]}: {len(of_key)} matrices")
        for heading, is_in in [("product below 20 us", lambda us: us < CUT_US), ("20 us and more", lambda us: us >= CUT_US)]:
            chosen = [line for line in of_key if is_in(line["us"].get("product", 0.0))]
            if not chosen:
                continue
            print(f"   {heading}: {len(chosen)}")
            for name in ("cupyx", "torch", "torch_graph", "torch_compile", "cusparse"):
                ratios = [line["us"][name] / line["us"]["ours_cupy"] for line in chosen if name in line["us"]]
                if ratios:
                    print(f"      {name + ' / ours':26} {len(ratios):4} geometric mean {mean(ratios):6.2f}  worst {min(ratios):6.2f}  best {max(ratios):6.2f}")
            ratios = [line["us"][others(line["us"])] / line["us"]["ours_cupy"] for line in chosen if others(line["us"])]
            if ratios:
                print(f"      {'best of others / ours':26} {len(ratios):4} geometric mean {mean(ratios):6.2f}  worst {min(ratios):6.2f}  best {max(ratios):6.2f}")
            known = [(line["predicted_us"], line["us"]["ours_cupy"]) for line in chosen if "iteration_s" in line["predicted_us"]]
            if known:
                errors = [abs(predicted["iteration_s"] / us - 1) for predicted, us in known]
                inside = sum(predicted["iteration_low_s"] <= us <= predicted["iteration_high_s"] for predicted, us in known)
                bias = mean([predicted["iteration_s"] / us for predicted, us in known])
                print(f"      predicted: mean error {100 * statistics.fmean(errors):.1f} %, predicted / measured {bias:.3f}, {inside} of {len(known)} within the interval")
            unequal = [line["matrix"] for line in chosen if not all(line.get("same_bits", {"": False}).values())]
            print(f"      other bits from run to run: {unequal or 'none'}")
            for name in sorted({name for line in chosen for name in line["failed"]}):
                print(f"      {name} failed on {sum(name in line['failed'] for line in chosen)}: {next(line['failed'][name] for line in chosen if name in line['failed'])[:120]}")


def matrices(names):
    endings = (".mtx", ".mtx.gz", ".tar.gz", ".npz")
    for name in names:
        path = pathlib.Path(name)
        if path.is_dir():
            yield from (str(file) for file in sorted(path.rglob("*")) if file.name.endswith(endings))
        else:
            yield name


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("matrices", nargs="*")
    flags.add_argument("--solver", default="cg", choices=["cg", "bicgstab", "pdhg"])
    flags.add_argument("--lp", action="store_true", help="PDHG on linear programs with these matrices")
    flags.add_argument("--dtype", default="f64", choices=["f32", "f64"])
    flags.add_argument("--try", dest="tries", type=int, default=1)
    flags.add_argument("--json", action="store_true", help="a JSON object a matrix, for --summary")
    flags.add_argument("--summary", metavar="FILE")
    flags.add_argument("--cusparse", metavar="FILE", help="with --summary: what cg_cusparse printed")
    given = flags.parse_args()
    if given.summary:
        return summary(given.summary, given.cusparse)
    dtype, solver = np.float32 if given.dtype == "f32" else np.float64, "pdhg" if given.lp else given.solver
    for name in matrices(given.matrices):
        try:
            line = measured(name, dtype, solver, given.tries)
        except Exception as why:
            print(f"{name}: {type(why).__name__}: {why}", file=sys.stderr, flush=True)
            traceback.print_exc(file=sys.stderr)
            continue
        print(json.dumps(line) if given.json else text_of(line), flush=True)
    return None


if __name__ == "__main__":
    sys.exit(main())
