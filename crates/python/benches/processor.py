"""Products on the processor beside scipy's: plain CSR, what is calibrated, what is tried; and how good the choice is.

    python processor.py MATRIX... [--threads 1,2] [--products 100000] [--choice] > processor.jsonl
    python processor.py --summary processor.jsonl

Of each matrix (whatever sparsight reads) and number of threads, in a process of its own since a pool of threads is made once: the
least of many products of `A @ x` (scipy), and of `op.matvec(x, out=y)` and `op @ x` of `plan(A).prepare("cpu")` before anything was
calibrated, of `plan(A, device="cpu")`, and of `prepare("cpu", try_="auto")`; all in turn, so that what else the machine does meets
all of them. With `--choice` every candidate of the calibrated advice is timed likewise, for the time of the best over that of the
chosen one. How much a copy gains from the threads stands beside them. The processor has to be calibrated for each number of threads,
which is done first, into the cache (SPARSIGHT_CACHE), and takes minutes; run it on a machine that does nothing else.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
import warnings

# Seconds that the products of one matrix are timed for, at least, and rounds.
ENOUGH, ROUNDS = 0.6, 7
# Products of each in a round: the second on finds its matrix in the caches, as in a solver.
IN_A_ROW = 4


def least(works, enough=ENOUGH):
    """Seconds of each, the least of many calls, in turn."""
    best = dict.fromkeys(works, float("inf"))
    begun, rounds = time.perf_counter(), 0
    while rounds < ROUNDS or time.perf_counter() - begun < enough:
        for name, work in works.items():
            for _ in range(IN_A_ROW):
                at = time.perf_counter()
                work()
                best[name] = min(best[name], time.perf_counter() - at)
        rounds += 1
    return best


def copy_rate(threads):
    """Bytes read and written a second by copies that no cache holds, one a thread at once."""
    import concurrent.futures

    import numpy as np

    pairs = [(np.ones(16_000_000), np.zeros(16_000_000)) for _ in range(threads)]

    def copy(pair):
        np.copyto(pair[1], pair[0])

    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        taken = least({"copy": lambda: list(pool.map(copy, pairs))})["copy"]
    return 2 * threads * pairs[0][0].nbytes / taken


def measured(path, products, with_choice):
    import numpy as np

    import sparsight

    a = sparsight.read(path)
    x = np.random.default_rng(1).standard_normal(a.shape[1]).astype(a.dtype)
    y = np.empty(a.shape[0], a.dtype)

    cache = os.environ.pop("SPARSIGHT_CACHE", None)
    os.environ["SPARSIGHT_CACHE"] = str(pathlib.Path(path).parent / "no-such-cache")
    plain = sparsight.plan(a, device="nvidia-h200").prepare("cpu")
    del os.environ["SPARSIGHT_CACHE"]
    if cache is not None:
        os.environ["SPARSIGHT_CACHE"] = cache
    planned = sparsight.plan(a, device="cpu")
    operators = {
        "default": plain,
        "calibrated": planned.prepare("cpu"),
        "auto": sparsight.plan(a, products=products, device="cpu").prepare("cpu", try_="auto"),
    }
    works = {"scipy": lambda: a @ x}
    for name, operator in operators.items():
        works[name] = lambda operator=operator: operator.matvec(x, out=y)
    works["default @"] = lambda: plain @ x
    seconds = least(works)
    line = {
        "matrix": pathlib.Path(path).name,
        "rows": a.shape[0],
        "nnz": a.nnz,
        "seconds": seconds,
        "candidates": {name: operator.candidate for name, operator in operators.items()},
    }
    if with_choice:
        # One block size of each kernel: on a processor the others differ little.
        kernels = {}
        for one in planned.advice:
            kernels.setdefault(one.id.rsplit("/b", 1)[0], one.id)
        best, chosen = float("inf"), planned.candidate.id
        for candidate in [chosen, *kernels.values()]:
            operator = planned.prepare("cpu", candidate=candidate)
            pair = least(
                {
                    "chosen": lambda: operators["calibrated"].matvec(x, out=y),
                    "other": lambda operator=operator: operator.matvec(x, out=y),
                },
                enough=0.1,
            )
            best = min(best, pair["other"] / pair["chosen"])
        line["best over chosen"] = min(1.0, best)
    return line


def child(given):
    threads = int(os.environ["RAYON_NUM_THREADS"])
    print(json.dumps({"threads": threads, "copy": copy_rate(threads)}), flush=True)
    for path in given.matrices:
        try:
            line = measured(path, given.products, given.choice)
        except Exception as why:
            print(f"{path}: {why}", file=sys.stderr)
            continue
        print(json.dumps({"threads": threads, **line}), flush=True)


def calibrated(threads):
    """Whether the processor is known with so many threads after this, to other processes too: not if the machine was busy."""
    known = 'import sparsight; sparsight.advise(sparsight.gallery("stencil2d,n=10"), device="cpu")'
    make = 'import sparsight; sparsight.calibrate("cpu")'

    def runs(code, **how):
        return subprocess.run([sys.executable, "-c", code], env={**os.environ, "RAYON_NUM_THREADS": threads}, **how).returncode == 0

    return runs(known, stderr=subprocess.DEVNULL) or (runs(make) and runs(known))


def summary(path):
    lines = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines() if line.startswith("{")]
    rates = {line["threads"]: line["copy"] for line in lines if "copy" in line}
    for threads in rates:
        of = [line for line in lines if line["threads"] == threads and "seconds" in line]
        if not of:
            continue
        gain = rates[threads] / rates[min(rates)]
        print(f"{threads} threads, {len(of)} matrices; copies {1e-9 * rates[threads]:.1f} GB/s, {gain:.2f} times those of {min(rates)}")
        print(f"{'speed relative to scipy':32} {'median':>7} {'worst':>7} {'best':>7}")
        for name in ["default", "default @", "calibrated", "auto"]:
            speeds = sorted(line["seconds"]["scipy"] / line["seconds"][name] for line in of)
            print(f"{name:32} {statistics.median(speeds):7.2f} {speeds[0]:7.2f} {speeds[-1]:7.2f}")
        choices = [line["best over chosen"] for line in of if "best over chosen" in line]
        if choices:
            print(f"{'best / chosen, calibrated':32} {statistics.geometric_mean(choices):7.3f} {min(choices):7.3f} (mean, worst)")
        for line in sorted(of, key=lambda line: line["nnz"]):
            speeds = "".join(f"{line['seconds']['scipy'] / line['seconds'][name]:7.2f}" for name in ["default", "calibrated", "auto"])
            print(f"  {line['matrix'][:34]:34} {line['nnz']:>10,} {1e6 * line['seconds']['scipy']:9.1f} us{speeds}  {line['candidates']['calibrated']}")


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("matrices", nargs="*")
    flags.add_argument("--threads", default="1,2")
    flags.add_argument("--products", type=int, default=100_000)
    flags.add_argument("--choice", action="store_true")
    flags.add_argument("--summary", metavar="FILE")
    flags.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = flags.parse_args()
    if given.summary:
        return summary(given.summary)
    if given.child:
        warnings.simplefilter("ignore")
        return child(given)
    for threads in given.threads.split(","):
        # A calibration of a busy machine is not kept, and nothing is compared with it.
        if not calibrated(threads):
            return f"the processor was not quiet enough to be calibrated with {threads} threads"
        more = ["--choice"] if given.choice else []
        arguments = [sys.executable, __file__, "--child", "--products", str(given.products), *more, *given.matrices]
        done = subprocess.run(arguments, env={**os.environ, "RAYON_NUM_THREADS": threads})
        if done.returncode != 0:
            return done.returncode
    return None


if __name__ == "__main__":
    sys.exit(main())
