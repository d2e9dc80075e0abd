"""A process that was forked from one in which sparsight has worked has none of its threads: whatever asks for them is an error there,
within a time limit, and no wait for ever.
"""

import inspect
import json
import os
import subprocess
import sys

import pytest

from sparsight import _core

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

# Each is called in a child of its own. With 2 million non-zeros all of them ask more than one thread.
PREPARED = """
import json, os, signal, sys, tempfile, warnings
import numpy as np
import scipy.io, scipy.sparse
import sparsight
from sparsight import _core

warnings.simplefilter("ignore")
A = sparsight.gallery("stencil2d,n=640")
matrix, fresh = sparsight.Matrix(A), sparsight.Matrix(A)
file = os.path.join(tempfile.mkdtemp(), "a.mtx")
scipy.io.mmwrite(file, sparsight.gallery("stencil2d,n=30"))
plan = sparsight.plan(matrix)
pair = sparsight.plan(matrix, transpose=True).prepare("cpu", updates=True)
op = plan.prepare("cpu", updates=True)
x, y = np.ones(A.shape[1]), np.ones(A.shape[0])
core, advice, prepared = matrix._core, plan.advice._core, op._core
epilogue = _core.with_epilogue(prepared, "s", ([], [], [], []))
index = lambda: (np.empty(A.shape[0] + 1, np.int64), np.empty(A.nnz, np.int64))
at = (1 << 40, 1)
"""

PUBLIC = {
    "op @ x": "op @ x",
    "op.matvec(x, out=y)": "op.matvec(x, out=y)",
    "op @ X": "op @ np.ones((len(x), 2))",
    "op.matvec with an epilogue": "op.matvec(x, out=y, epilogue='2 * s')",
    "op.matvec_dot": "op.matvec_dot(x, y, ['y'])",
    "op.T": "op.T",
    "op.rmatvec": "op.rmatvec(y)",
    "op.T of a pair": "pair.T @ y",
    "op.update_values": "op.update_values(A.data)",
    "op.update_values of a pair": "pair.update_values(A.data)",
    "Matrix": "sparsight.Matrix(A)",
    "Matrix of a COO": "sparsight.Matrix(A.tocoo())",
    "Matrix.astype": "matrix.astype('f32')",
    "Matrix.to_scipy": "matrix.to_scipy()",
    "repr of a matrix": "repr(fresh)",
    "a matrix in a notebook": "fresh._repr_html_()",
    "advise": "sparsight.advise(matrix)",
    "plan": "sparsight.plan(matrix, transpose=True)",
    "plan.prepare": "plan.prepare('cpu')",
    "plan.prepare on a GPU": "plan.prepare('cuda:0')",
    "plan.on_gpus": "plan.on_gpus([2])",
    "plan.prepare on GPUs": "plan.prepare(devices=[0, 1])",
    "read": "sparsight.read(file)",
    "read of a file that is open": "sparsight.read(open(file, 'rb'))",
    "gallery": "sparsight.gallery('stencil2d,n=30')",
    "calibrate": "sparsight.calibrate('cpu')",
    "identity": "sparsight.identity(5, 'cpu')",
}

# The part that is Rust: every name of it is here, or among those that ask no threads.
RUST = {
    "Matrix": "_core.Matrix(*A.shape, A.indptr, A.indices, A.data, 'f64')",
    "Matrix.row_lengths": "fresh._core.row_lengths",
    "Matrix.astype": "core.astype('f32')",
    "Matrix.with_values": "core.with_values(A.data)",
    "Matrix.transposed": "core.transposed()",
    "Matrix.transposed_order": "core.transposed_order(np.empty(A.nnz, np.int64))",
    "Matrix.fill": "core.fill(*index(), np.empty(A.nnz))",
    "Prepared.multiply_host": "prepared.multiply_host(x, y, 1.0, 0.0)",
    "Prepared.multiply_on_device": "prepared.multiply_on_device(1 << 40, len(x), 1 << 41, len(y), 1.0, 0.0, None)",
    "Prepared.update_host": "prepared.update_host(A.data)",
    "Prepared.update_on_device": "prepared.update_on_device(1 << 40, A.nnz)",
    "Prepared.wait": "prepared.wait()",
    "EpilogueProduct.multiply_host": "epilogue.multiply_host(x, y, [], [], [], None)",
    "EpilogueProduct.multiply_on_device": "epilogue.multiply_on_device((1 << 40, len(x)), (1 << 41, len(y)), [], [], [], None, None)",
    "prepare_identity": "_core.prepare_identity(5, 'cpu', 'f64')",
    "with_epilogue": "_core.with_epilogue(prepared, 's', ([], [], [], []))",
    "advise": "_core.advise(core, 'A', None, None, None, None)",
    "prepare": "_core.prepare(core, advice, 'cpu', None, 1, False)",
    "on_gpus": "_core.on_gpus(core, advice, [2], None, None)",
    "prepare_distributed": "_core.prepare_distributed(core, advice, [0, 1], None, None)",
    "prepare_rank": "_core.prepare_rank(core, advice, 0, 0, 2, None, None, lambda digest: b'')",
    "Advice.to_json": "advice.to_json(core, True)",
    "prepare_resident": "_core.prepare_resident(core, advice, 'cuda:0', None, False, (*at, 32), (*at, 32), at)",
    "nccl_identity": "_core.nccl_identity()",
    "read": "_core.read(file, 'f64')",
    "read_stream": "_core.read_stream(open(file, 'rb'), file, 'f64')",
    "generate": "_core.generate('stencil2d,n=30', 'f64')",
    "unknown_gpu": "_core.unknown_gpu()",
    "gpu_of": "_core.gpu_of(1 << 40)",
    "calibrate": "_core.calibrate('cpu', lambda at, what: None)",
    "search_libraries_in": "_core.search_libraries_in([])",
    "refuse_in_child": "_core.refuse_in_child()",
}

# What a child may do: it reads numbers that are there, and gives back nothing of its parent's.
ALLOWED = {
    "VERSION": "_core.VERSION",
    "profiles": "_core.profiles()",
    # It ends the process that calls it; what it asks threads for are its own.
    "run_program": "_core.run_program",
    "Matrix.dtype": "core.dtype",
    "Matrix.has_values": "core.has_values",
    "Matrix.nnz": "core.nnz",
    "Matrix.shape": "core.shape",
    "repr of a matrix that was looked at": "repr(matrix)",
    "EpilogueProduct.free": "epilogue.free()",
    "EpilogueProduct.is_in_launch": "epilogue.is_in_launch",
    "Prepared.candidate": "prepared.candidate",
    "Prepared.device": "prepared.device",
    "Prepared.free": "op.free()",
    "Prepared.index": "prepared.index",
    "Prepared.is_freed": "prepared.is_freed",
    "Prepared.measured_s": "prepared.measured_s",
    "Prepared.memory_bytes": "prepared.memory_bytes",
    "Prepared.preparation_s": "prepared.preparation_s",
}

# None of these is there without a GPU.
OF_SEVERAL_GPUS = ("Distributed", "Rank", "Piece")

FORKING = """
import gc

def outcome(call):
    begin, end = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            eval(call)
            gc.collect()
            said = "done"
        except sparsight.SparsightError as error:
            said = "refused" if "forked" in str(error) and "spawn" in (error.hint or "") else repr(error)
        except BaseException as error:
            said = repr(error)
        os.write(end, said.encode())
        os._exit(0)
    os.close(end)
    said = os.read(begin, 1000).decode()
    os.close(begin)
    os.waitpid(child, 0)
    return said or "nothing within 20 s"

print(json.dumps({name: outcome(call) for name, call in json.load(sys.stdin).items()}))
"""


def outcomes(calls):
    ran = subprocess.run(
        [sys.executable, "-c", PREPARED + FORKING], input=json.dumps(calls), capture_output=True, text=True, timeout=600
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.parametrize("calls", [PUBLIC, RUST], ids=["public", "Rust"])
def test_calls_that_use_threads_are_refused_in_a_forked_process(calls):
    assert outcomes(calls) == dict.fromkeys(calls, "refused")


def test_calls_without_threads_work_in_a_forked_process():
    assert outcomes(ALLOWED) == dict.fromkeys(ALLOWED, "done")


def test_all_that_is_rust_is_in_one_of_these_tables():
    names = set()
    for name, found in vars(_core).items():
        if name.startswith("_") or name in OF_SEVERAL_GPUS:
            continue
        if inspect.isclass(found):
            names |= {f"{name}.{one}" for one in vars(found) if not one.startswith("_")}
            names |= {name} & {"Matrix"}
        else:
            names.add(name)
    assert names == {name for name in (*RUST, *ALLOWED) if not name.startswith("repr")}
