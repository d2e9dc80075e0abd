"""What is torch's, with tensors on the host: layouts of blocks, and the product as a node of torch's graph."""

import numpy as np
import pytest

import sparsight
from conftest import near

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:Sparse")


@pytest.fixture
def pair(grid):
    return sparsight.plan(grid, transpose=True).prepare("cpu")


def as_csr(a, **how):
    return torch.sparse_csr_tensor(torch.tensor(a.indptr), torch.tensor(a.indices), torch.tensor(a.data), a.shape, **how)


@pytest.mark.parametrize("block", [(1, 1), (2, 3), (3, 2)])
@pytest.mark.parametrize("layout", ["bsr", "bsc"])
def test_blocks_of_torch_are_taken(layout, block):
    wide = sparsight.gallery("wide,rows=60,cols=300,row=5")
    blocks = getattr(as_csr(wide), f"to_sparse_{layout}")(block)
    assert blocks.layout == getattr(torch, f"sparse_{layout}")
    matrix = sparsight.Matrix(blocks)
    assert matrix.shape == (60, 300) and (matrix.to_scipy().toarray() == wide.toarray()).all()
    assert matrix.nnz == blocks.values().numel(), "zeros of a block are stored"
    assert sparsight.Matrix(blocks, "f32").dtype == np.float32
    x = torch.arange(300, dtype=torch.float64)
    assert near((sparsight.plan(blocks).prepare("cpu") @ x).numpy(), wide, x.numpy(), np.float64)
    with pytest.raises(sparsight.BadMatrix, match="format changed"):
        sparsight.plan(blocks).prepare("cpu", updates=True).update_values(blocks.values().reshape(-1))


@pytest.mark.parametrize("value", ["bool", "int8", "uint8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"])
def test_duplicates_of_torch_are_added_up_in_the_type_of_the_values_to_come(value):
    most = {"bool": 1, "float16": 60000, "int16": 32767}.get(value, 100)
    places, values = torch.tensor([[0, 0, 1], [0, 0, 1]]), torch.tensor([most, most, 1]).to(getattr(torch, value))
    most = int(values[0].item())
    given = {
        "coo": torch.sparse_coo_tensor(places, values, (2, 2)),
        "csr": torch.sparse_csr_tensor(torch.tensor([0, 2, 3]), places[1], values, (2, 2), check_invariants=False),
        "csc": torch.sparse_csc_tensor(torch.tensor([0, 2, 3]), places[0], values, (2, 2), check_invariants=False),
    }
    for layout, a in given.items():
        matrix = sparsight.Matrix(a)
        assert matrix.dtype == (np.float32 if value == "float32" else np.float64), layout
        assert matrix.to_scipy().toarray().tolist() == [[2 * most, 0], [0, 1]], layout
        assert sparsight.Matrix(a, "f32").to_scipy().toarray().tolist() == [[2 * most, 0], [0, 1]], layout
        assert a.dtype == getattr(torch, value)
    with pytest.raises(sparsight.BadMatrix, match="complex64"):
        sparsight.Matrix(given["coo"].to(torch.complex64))


def test_blocks_that_are_none_are_refused(grid):
    wrong = torch.sparse_bsr_tensor(
        torch.tensor([0, 1]), torch.tensor([7]), torch.ones(1, 2, 2), (2, 4), check_invariants=False
    )
    with pytest.raises(sparsight.BadMatrix) as refused:
        sparsight.Matrix(wrong)
    assert refused.value.hint


def test_the_product_is_an_operator_as_torch_wants_them(pair):
    x = torch.linspace(0, 1, 900, dtype=torch.float64, requires_grad=True)
    checked = torch.library.opcheck(sparsight.torch._spmv, (x, pair._number))
    assert len(checked) >= 4 and set(checked.values()) == {"SUCCESS"}


def test_gradients_are_those_of_finite_differences():
    small = sparsight.plan(sparsight.gallery("tall,rows=40,cols=12,row=3"), transpose=True).prepare("cpu")
    x = torch.linspace(-1, 1, 12, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v: sparsight.torch.spmv(small, v), (x,))
    assert torch.autograd.gradgradcheck(lambda v: sparsight.torch.spmv(small, v) ** 2, (x,))


def test_a_gradient_needs_no_plan_of_the_transpose_and_says_what_it_costs(grid):
    operator = sparsight.plan(grid).prepare("cpu")
    x = torch.linspace(-1, 1, 900, dtype=torch.float64, requires_grad=True)
    for product in (lambda: operator @ x, lambda: sparsight.torch.spmv(operator, x)):
        x.grad = None
        y = product()
        if operator._turned is None:
            with pytest.warns(UserWarning, match="A.T was not planned"):
                (y**2).sum().backward()
        else:
            (y**2).sum().backward()
        expected = 2 * (grid.T @ (grid @ x.detach().numpy()))
        assert np.allclose(x.grad.numpy(), expected, rtol=1e-12, atol=1e-12)
    kept = torch.ones(grid.nnz, dtype=torch.float64)
    again = sparsight.plan(grid).prepare("cpu", updates=True)
    again.update_values(kept)
    kept.zero_()
    with pytest.warns(UserWarning, match="A.T was not planned"):
        turned = again.T
    assert np.allclose(turned @ np.ones(900), abs(grid.sign()).T @ np.ones(900))


def test_it_is_a_node_of_a_compiled_graph(pair, grid):
    def model(x):
        return 2 * sparsight.torch.spmv(pair, x).relu() + 1

    x = torch.linspace(-1, 1, 900, dtype=torch.float64, requires_grad=True)
    # Without code of its own for the rest, which takes a compiler and half a minute.
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    y = compiled(x)
    assert torch.equal(y, model(x))
    (gradient,) = torch.autograd.grad(y.sum(), x)
    (expected,) = torch.autograd.grad(model(x).sum(), x)
    assert torch.equal(gradient, expected) and gradient.abs().sum() > 0


def test_a_stream_and_tensors_on_the_host_are_refused(pair):
    x = torch.ones(900, dtype=torch.float64)
    for stream, kind, words in [("fast", sparsight.SparsightError, "str is no stream"), (0, sparsight.BadVector, "vectors on the host")]:
        with pytest.raises(kind, match=words) as refused:
            pair.matvec(x, stream=stream)
        assert refused.value.hint
    with pytest.raises(sparsight.BadVector, match="requires a gradient"):
        pair.matvec(x.requires_grad_(), alpha=2.0)
