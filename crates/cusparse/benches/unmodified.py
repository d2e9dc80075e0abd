"""Times the sparse products of torch and CuPy, which know nothing of sparsight.

    python unmodified.py FOLDER [--library torch|cupy] [--dtype f32|f64] [--products N] [--cg]    one JSON line a matrix
    sparsight run python unmodified.py FOLDER ...                                                 the same, with the drop-in
    python unmodified.py --compare WITHOUT.jsonl WITH.jsonl                                       what it brought

FOLDER holds matrices as scipy.sparse.save_npz writes them. A time is the least of three clocks on the wall around N products, each of which
waits for the GPU once at its end; 200 products run before. `--cg`: 100 iterations of conjugate gradients, for square matrices: CuPy's own
(CuPy 14), or as they are written in torch.
"""

import argparse
import json
import math
import pathlib
import time


def matrices(folder, dtype):
    import numpy
    import scipy.sparse

    for file in sorted(pathlib.Path(folder).rglob("*.npz")):
        a = scipy.sparse.csr_matrix(scipy.sparse.load_npz(file)).astype(dtype)
        random = numpy.random.default_rng(1)
        a.data[:] = random.uniform(0.5, 1.5, a.nnz)
        yield f"{file.parent.name}/{file.stem}", a, random.uniform(-1, 1, a.shape[1]).astype(dtype)


def of_torch(a, x):
    import torch

    rows, columns, values = (torch.from_numpy(part).cuda() for part in (a.indptr, a.indices, a.data))
    return torch.sparse_csr_tensor(rows.int(), columns.int(), values, size=a.shape), torch.from_numpy(x).cuda()


def with_torch(a, x):
    import torch

    matrix, vector = of_torch(a, x)
    return lambda: matrix @ vector, torch.cuda.synchronize, lambda y: y.cpu().numpy()


def with_cupy(a, x):
    import cupy
    import cupyx.scipy.sparse

    matrix, vector = cupyx.scipy.sparse.csr_matrix(a), cupy.asarray(x)
    matrix.has_canonical_format = True
    return lambda: matrix @ vector, cupy.cuda.Device().synchronize, lambda y: y.get()


def cg_of_cupy(a, x):
    import cupy
    import cupyx.scipy.sparse
    import cupyx.scipy.sparse.linalg

    matrix, vector = cupyx.scipy.sparse.csr_matrix(a), cupy.asarray(x)
    matrix.has_canonical_format = True

    def run():
        # A tolerance of 0: all iterations run, whatever the matrix.
        return cupyx.scipy.sparse.linalg.cg(matrix, vector, rtol=0.0, maxiter=100)[0]

    return run, cupy.cuda.Device().synchronize, lambda y: y.get()


def cg_of_torch(a, x):
    import torch

    matrix, b = of_torch(a, x)

    def run():
        z = torch.zeros_like(b)
        r, p = b.clone(), b.clone()
        rho = torch.dot(r, r)
        for _ in range(100):
            q = matrix @ p
            alpha = rho / torch.dot(p, q)
            z += alpha * p
            r -= alpha * q
            before, rho = rho, torch.dot(r, r)
            p = r + (rho / before) * p
        return z

    return run, torch.cuda.synchronize, lambda y: y.cpu().numpy()


def measure(options):
    import numpy

    ways = {"torch": cg_of_torch, "cupy": cg_of_cupy} if options.cg else {"torch": with_torch, "cupy": with_cupy}
    prepare = ways[options.library]
    for name, a, x in matrices(options.folder, {"f32": numpy.float32, "f64": numpy.float64}[options.dtype]):
        if options.cg and a.shape[0] != a.shape[1]:
            continue
        run, wait, fetch = prepare(a, x)
        repeats, before = (3, 3) if options.cg else (options.products, 200)
        for _ in range(before):
            y = run()
        wait()
        # Kernels may still be compiled in the background: a user's loop would go on.
        time.sleep(options.settle)
        for _ in range(before):
            y = run()
        wait()
        times = []
        for _ in range(3):
            start = time.perf_counter()
            for _ in range(repeats):
                y = run()
            wait()
            times.append((time.perf_counter() - start) / repeats)
        got, record = fetch(y), {"matrix": name, "nnz": int(a.nnz), "time_s": min(times)}
        if not options.cg:
            wanted = a.astype(numpy.float64) @ x.astype(numpy.float64)
            size = abs(a).astype(numpy.float64) @ abs(x).astype(numpy.float64)
            record["off"] = float(numpy.max(abs(got - wanted) / numpy.maximum(size, 1e-300)))
        print(json.dumps(record), flush=True)


def compare(without, with_it):
    read = lambda file: {one["matrix"]: one for one in map(json.loads, open(file)) if "time_s" in one}
    before, after = read(without), read(with_it)
    names = sorted(set(before) & set(after))
    for word, low, high in (("below 10 us", 0, 1e-5), ("10 to 20 us", 1e-5, 2e-5), ("above 20 us", 2e-5, math.inf), ("all", 0, math.inf)):
        known = [name for name in names if low <= before[name]["time_s"] < high]
        gains = sorted((before[name]["time_s"] / after[name]["time_s"], name) for name in known)
        if gains:
            mean = math.exp(sum(math.log(gain) for gain, _ in gains) / len(gains))
            worst = ", ".join(f"{name} {gain:.3f}" for gain, name in gains[:3])
            print(f"{word}: {len(gains)} matrices, geometric mean {mean:.3f}, least {worst}")
    if names and "off" in after[names[0]]:
        print(f"largest difference to the product in f64, over |A| |x|: {max(after[name]['off'] for name in names):.2e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--library", choices=("torch", "cupy"), default="torch")
    parser.add_argument("--dtype", choices=("f32", "f64"), default="f64")
    parser.add_argument("--products", type=int, default=1000)
    parser.add_argument("--settle", type=float, default=0.0, help="seconds to wait after the first products")
    parser.add_argument("--cg", action="store_true")
    parser.add_argument("--compare", nargs=2)
    options = parser.parse_args()
    if options.compare:
        compare(*options.compare)
    elif options.folder:
        measure(options)
    else:
        parser.error("a folder of matrices, or --compare")


if __name__ == "__main__":
    main()
