"""Tables of docs/results/solvers.md from the lines that solvers.py --into wrote."""

import json
import math
import pathlib
import statistics

# Products below and from so many microseconds stand apart.
CUT_US = 20.0

TITLES = {"cg": "CG", "bicgstab": "BiCGStab", "pdhg": "PDHG"}

OTHERS = {
    "cupyx": "CuPy's `cg`",
    "torch": "torch",
    "torch_graph": "torch in a CUDA graph",
    "torch_compile": "torch with `torch.compile`, in a CUDA graph",
    "cusparse_cublas": "cuSPARSE and cuBLAS in CUDA, in a CUDA graph",
    "cusparse_fused": "cuSPARSE with updates by hand, in a CUDA graph",
}

LOOPS = {
    "ours": "ours",
    "ours_again": "ours, again",
    "torch": "torch",
    "torch_graph": "torch in a graph",
    "torch_compile": "`torch.compile`",
    "torch_compile_again": "`torch.compile`, again",
    "cusparse": "cuSPARSE",
}


def records(path):
    return [json.loads(text) for text in pathlib.Path(path).read_text().splitlines() if text.startswith("{")]


def mean(ratios):
    """Geometric mean."""
    return math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))


def over_ours(line, name):
    """The time of a competitor over ours, None without one."""
    us = line["us"]
    return us[name] / us["ours"] if name in us else None


def fastest(line):
    found = [over_ours(line, name) for name in OTHERS if name in line["us"]]
    return min(found, default=None)


def of_ratios(ratios):
    """`2.19 (1.43)`: geometric mean and the lowest."""
    known = [ratio for ratio in ratios if ratio is not None]
    return f"{mean(known):.2f} ({min(known):.2f})" + (f" of {len(known)}" if len(known) < len(ratios) else "") if known else "-"


def predicted(lines):
    """Mean error with predicted / measured, and how many lie in the interval."""
    known = [(line["predicted_us"], line["us"]["ours"]) for line in lines if "iteration_s" in line["predicted_us"]]
    if not known:
        return "-", "-"
    errors = [abs(told["iteration_s"] / us - 1) for told, us in known]
    inside = sum(told["iteration_low_s"] <= us <= told["iteration_high_s"] for told, us in known)
    bias = mean([told["iteration_s"] / us for told, us in known])
    return f"{100 * statistics.fmean(errors):.1f} %, {bias:.2f}", f"{inside} of {len(known)}"


def table(headings, rows):
    """Markdown."""
    print("\n| " + " | ".join(headings) + " |\n|---|" + "---:|" * (len(headings) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def of_iterations(solver, lines):
    """Times of the others over ours by products below and from CUT_US; the lowest in brackets."""
    lines = [line for line in lines if "ours" in line["us"]]
    sizes = {
        f"product below {CUT_US:g} us": [line for line in lines if line["us"].get("product", 0.0) < CUT_US],
        f"from {CUT_US:g} us": [line for line in lines if line["us"].get("product", 0.0) >= CUT_US],
    }
    sizes = {heading: of_size for heading, of_size in sizes.items() if of_size}
    columns = list(sizes.values())
    device = ", ".join(sorted({line["device"] for line in lines}))
    rows = [["ours, microseconds", *(f"{min(line['us']['ours'] for line in one):.1f} to {max(line['us']['ours'] for line in one):.1f}" for one in columns)]]
    for name, title in OTHERS.items():
        if any(name in line["us"] for line in lines):
            rows.append([title, *(of_ratios([over_ours(line, name) for line in one]) for one in columns)])
    rows.append(["**the fastest of these**", *(f"**{of_ratios([fastest(line) for line in one])}**" for one in columns)])
    told = [predicted(one) for one in columns]
    rows.append(["predicted: mean error, predicted / measured", *(error for error, _ in told)])
    rows.append(["in the 90 % interval", *(inside for _, inside in told)])
    rows.append(["same bits in three runs of 60 iterations", *(f"{sum(line['same_bits'] for line in one)} of {len(one)}" for one in columns)])
    table([f"{TITLES[solver]}, {device}", *(f"{heading} ({len(one)})" for heading, one in sizes.items())], rows)
    differ = [line["difference"] for line in lines if math.isfinite(line.get("difference", math.nan))]
    if differ:
        print(f"\nx of ours and of cuSPARSE's loop differ by {statistics.median(differ):.1e} in the median, {max(differ):.1e} at most, of the largest entry.")
    other_bits = [line["matrix"] for line in lines if not line["same_bits"]]
    if other_bits:
        print(f"Other bits from run to run: {', '.join(other_bits)}.")
    for name in sorted({name for line in lines for name in line["failed"]}):
        why = [line["failed"][name] for line in lines if name in line["failed"]]
        print(f"{name} failed on {len(why)}: {why[0][:160]}")


def of_solutions(lines):
    """Seconds to a solution: preparation + iterations."""
    lines = [line for line in lines if "end_to_end" in line]
    loops = [name for name in LOOPS if any("prepare_s" in line["end_to_end"].get(name, {}) for line in lines)]

    def total(line, name):
        one = line["end_to_end"].get(name, {})
        return one["prepare_s"] + one["iterations_s"] if "prepare_s" in one else None

    def cell(line, name):
        one = line["end_to_end"].get(name, {})
        return f"{one['prepare_s']:.3f} + {one['iterations_s']:.3f}" if "prepare_s" in one else "failed"

    rows = [
        [pathlib.Path(line["matrix"]).stem, f"{line['iterations']:,}", f"{max(line['faults']):.1e}", *(cell(line, name) for name in loops)] for line in lines
    ]
    for reference in ("ours", "ours_again"):
        if reference in loops:
            ratios = [[total(line, name) / total(line, reference) for line in lines if total(line, name) and total(line, reference)] for name in loops]
            rows.append([f"in all, over {LOOPS[reference]}", "", "", *(of_ratios(of_loop) for of_loop in ratios)])
    table(["seconds: preparation + iterations", "iterations", "faults", *(LOOPS[name] for name in loops)], rows)
    ends = [one for line in lines for one in line["end_to_end"].values() if "faults" in one]
    differ = [one["difference"] for one in ends if one["difference"] is not None]
    print(f"\nx of the loops differ by {max(differ, default=math.nan):.1e} of the largest entry at most; faults of all {max(max(one['faults']) for one in ends):.1e} at most.")
    for name in LOOPS:
        why = [line["end_to_end"][name]["failed"] for line in lines if "failed" in line["end_to_end"].get(name, {})]
        if why:
            print(f"{name} failed on {len(why)}: {why[0][:160]}")


def of_parts(lines):
    """What dot products add to a product, and an update of next to nothing, in microseconds and in empty launches."""
    device = ", ".join(sorted({line["device"] for line in lines}))
    rows = []
    for line in sorted(lines, key=lambda line: (line["dtype"], line["rows"])):
        us, launch = line["us"], line["launch_us"]

        def cell(name, beside=0.0):
            return f"{us[name] - beside:.2f} ({(us[name] - beside) / launch:.2f})" if name in us and not math.isnan(beside) else "failed"

        plain = us.get("product", math.nan)
        rows.append([f"{line['rows']:,}", line["dtype"], line["candidate"], f"{plain:.2f}", cell("product_dots 1", plain), cell("product_dots 3", plain), cell("update")])
    table([f"rows, {device}", "type", "candidate", "product", "one dot product adds", "three add", "update"], rows)


def summary(path):
    lines = records(path)
    for dtype in sorted({line["dtype"] for line in lines}):
        for solver in TITLES:
            chosen = [line for line in lines if (line["solver"], line["dtype"]) == (solver, dtype)]
            if chosen:
                of_iterations(solver, chosen)
            if any("end_to_end" in line for line in chosen):
                of_solutions(chosen)
    of_product = [line for line in lines if line["solver"] == "parts"]
    if of_product:
        of_parts(of_product)
