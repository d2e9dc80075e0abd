"""Seconds to read a matrix from a file: sparsight, scipy, and fast_matrix_market where it is installed; the least of three.

    python reading.py [RECIPE ...]          matrices of the gallery, written as .mtx, .mtx.gz and .npz into a temporary folder
"""

import gzip
import importlib
import pathlib
import sys
import tempfile
import time

import scipy.io
import scipy.sparse as sp

import sparsight

RECIPES = ["fem,n=40", "stencil3d,points=7,n=120", "power-law,n=300000"]


def seconds(read, path):
    """The least of three; None if it cannot read such a file."""
    taken = []
    for _ in range(3):
        begun = time.perf_counter()
        try:
            read(path)
        except Exception:
            return None
        taken.append(time.perf_counter() - begun)
    return min(taken)


def readers(ending):
    if ending == ".npz":
        return {"sparsight": sparsight.read, "scipy": sp.load_npz}
    found = {"sparsight": sparsight.read, "scipy": lambda path: scipy.io.mmread(path).tocsr()}
    if importlib.util.find_spec("fast_matrix_market"):
        import fast_matrix_market

        found["fast_matrix_market"] = lambda path: sp.csr_array(fast_matrix_market.mmread(path))
    return found


def main():
    print("| matrix | non-zeros | file | MB | sparsight | scipy | fast_matrix_market |\n|---|---:|---|---:|---:|---:|---:|")
    for recipe in sys.argv[1:] or RECIPES:
        a = sparsight.gallery(recipe)
        with tempfile.TemporaryDirectory() as folder:
            plain, packed, npz = (pathlib.Path(folder) / f"a{ending}" for ending in (".mtx", ".mtx.gz", ".npz"))
            scipy.io.mmwrite(plain, a, symmetry="general")
            packed.write_bytes(gzip.compress(plain.read_bytes(), 6))
            sp.save_npz(npz, a)
            for path, ending in [(plain, ".mtx"), (packed, ".mtx.gz"), (npz, ".npz")]:
                took = {name: seconds(read, str(path)) for name, read in readers(ending).items()}
                cells = [took.get(name) for name in ("sparsight", "scipy", "fast_matrix_market")]
                shown = " | ".join("-" if cell is None else f"{cell:.2f} s" for cell in cells)
                print(f"| `{recipe}` | {a.nnz:,} | {ending} | {path.stat().st_size / 1e6:.0f} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
