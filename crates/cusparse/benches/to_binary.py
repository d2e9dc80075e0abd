"""Writes matrices of scipy.sparse.save_npz as `with_preprocess` reads them: python to_binary.py FROM TO"""

import pathlib
import sys

import numpy
import scipy.sparse

source, target = map(pathlib.Path, sys.argv[1:])
for file in sorted(source.rglob("*.npz")):
    a = scipy.sparse.csr_matrix(scipy.sparse.load_npz(file))
    to = target / file.parent.name / (file.stem + ".csr")
    to.parent.mkdir(parents=True, exist_ok=True)
    with open(to, "wb") as out:
        numpy.array([*a.shape, a.nnz], numpy.int64).tofile(out)
        a.indptr.astype(numpy.int32).tofile(out)
        a.indices.astype(numpy.int32).tofile(out)
