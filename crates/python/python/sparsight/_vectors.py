"""Vectors of every library: whether they fit, where they lie, and in which stream they are worked on.

Each class below speaks for one library and has the same functions; :func:`kind_of` finds the right one. All of a product but
the launch itself passes through here, so that a vector that does not fit is refused before anything is launched, and a
product costs a microsecond and not ten.
"""

import contextlib
import importlib
import sys

import numpy as np

from ._core import gpu_of
from ._errors import BadVector, SparsightError

__all__ = ["kind_of", "stream_handle"]


def stream_handle(stream):
    """The handle of a stream: a number, an object of CuPy or torch, or one with ``__cuda_stream__``.

    >>> stream_handle(7)
    7
    """
    if isinstance(stream, int) and not isinstance(stream, bool):
        if not 0 <= stream < 2**64:
            raise SparsightError(f"{stream} is no handle of a stream", "give a stream of CuPy or torch, or its address")
        return stream
    for name in ("ptr", "cuda_stream", "handle"):
        handle = getattr(stream, name, None)
        if isinstance(handle, int):
            return handle
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    raise SparsightError(
        f"{type(stream).__name__} is no stream", "give a handle as int, a stream of CuPy or torch, or an object with __cuda_stream__"
    )


def refused_type(what, got, operator):
    return BadVector(f"{what} holds {got}, the operator {operator.dtype}", f"convert it to {operator.dtype}, or plan with another dtype=")


def refused_shape(what, shape, length):
    return BadVector(f"{what} has the shape {tuple(shape)}, and ({length},) is wanted", _LENGTHS.get(what, _LENGTHS["x"]))


_LENGTHS = {
    "x": "x has an entry for each column, in one dimension: x.reshape(-1)",
    "out": "out has an entry for each row, in one dimension",
    "values": "values have an entry for each stored non-zero, as A.data has them",
    "each column": "X has a row for each column of the matrix: op @ X, or op.T @ X",
}


def refused_kind(what, array, x):
    """Error for an ``out`` that is not of the library of ``x``."""
    return BadVector(f"{what} is a {type(array).__name__} and x is not", f"give a {type(x).__name__}, as x is, or leave it out")


def refused_strides(what):
    return BadVector(f"{what} is not contiguous", f"{what}.copy(), or .contiguous() of torch, is")


def refused_alignment(what, dtype):
    bytes_ = np.dtype(dtype).itemsize
    return BadVector(f"{what} begins at an address that is no multiple of the {bytes_} bytes of an entry", "a copy of it does")


def refused_device(what, where, operator):
    hint = f"bring it to {operator.device}"
    if operator._index is None:
        # Of several GPUs, or the CPU.
        hint = getattr(operator, "_takes_from_gpus", 'prepare("cuda:N") multiplies there')
    return BadVector(f"{what} is on {where}, the operator on {operator.device}", hint)


def refused_on_host(stream):
    """Why a product with vectors on the host takes no stream; what is none is called that."""
    stream_handle(stream)
    return BadVector(
        "a stream, and vectors on the host: their product has ended when y is there, and is queued nowhere",
        "leave stream= out, or give vectors on the GPU",
    )


def refuse_mask(what, array):
    """A masked array of numpy is more than its numbers."""
    if isinstance(array, np.ma.MaskedArray):
        raise BadVector(f"{what} has a mask", "a product takes all entries: give the array without its mask, .filled(0) or .data")


def number_of(what, value):
    """A scalar of an epilogue as float: a number, or an array with one entry."""
    try:
        return float(value.item() if hasattr(value, "item") else value)
    except (TypeError, ValueError):
        raise BadVector(f"{what} is no number: {type(value).__name__}", "a name without [i] is a scalar; vectors are read as d[i]") from None


def refused_scalar(what, got, shape):
    return BadVector(
        f"the scalar {what} is {got} with the shape {tuple(shape)}", "a scalar on the GPU is one float64, whatever the vectors are: what matvec_dot gives"
    )


def contiguous(array):
    """A copy without gaps, if there are any."""
    if hasattr(array, "contiguous"):
        return array.contiguous()
    # What CuPy copies comes to lie on the device that is current, which need not be that of the array.
    with contextlib.nullcontext() if isinstance(array, np.ndarray) else array.device:
        return array.copy(order="C")


def new_refused(beta, stream):
    """Why no y can be made, if it cannot."""
    if beta != 0.0:
        return BadVector("beta without out: there is no y to add to", "give out=")
    if stream is not None:
        return BadVector("a stream without out: a new y would belong to the current stream", "give out=")
    return None


class Numpy:
    """Arrays on the host."""

    takes_columns = True

    @staticmethod
    def multiply(operator, x, out, alpha, beta, stream):
        if stream is not None:
            raise refused_on_host(stream)
        rows, columns = operator.shape
        Numpy.check("x", x, columns, operator)
        if out is None:
            if refused := new_refused(beta, stream):
                raise refused
            out = np.empty(rows, operator.dtype)
        else:
            if not isinstance(out, np.ndarray):
                raise refused_kind("out", out, x)
            Numpy.check("out", out, rows, operator)
        operator._core.multiply_host(x, out, alpha, beta)
        return out

    @staticmethod
    def is_on_host(x):
        return True

    @staticmethod
    def place(what, array, x, length, operator):
        if not isinstance(array, np.ndarray):
            raise refused_kind(what, array, x)
        Numpy.check(what, array, length, operator)
        return array

    @staticmethod
    def new(x, length, operator):
        return np.empty(length, operator.dtype)

    @staticmethod
    def scalar(what, value, x, operator):
        return number_of(what, value)

    @staticmethod
    def will_write(*arrays):
        pass

    @staticmethod
    def update(operator, values):
        Numpy.check("values", values, operator.nnz, operator)
        operator._core.update_host(values)

    @staticmethod
    def check_values(values, operator):
        Numpy.check("values", values, operator.nnz, operator)

    @staticmethod
    def stack(columns):
        return np.stack(columns, axis=1)

    @staticmethod
    def taken(values, order):
        return values[order]

    @staticmethod
    def kept(values):
        return values.copy()

    @staticmethod
    def check(what, array, length, operator):
        if type(array) is not np.ndarray:
            refuse_mask(what, array)
        if array.dtype != operator.dtype:
            raise refused_type(what, array.dtype, operator)
        if array.shape != (length,):
            raise refused_shape(what, array.shape, length)
        flags = array.flags
        if not flags.c_contiguous:
            raise refused_strides(what)
        if not flags.aligned:
            raise refused_alignment(what, array.dtype)


class CuPy:
    """``cupy.ndarray``."""

    takes_columns = True

    def __init__(self, cupy):
        self.cupy = cupy
        self.current = cupy.cuda.get_current_stream
        self.current_device = cupy.cuda.runtime.getDevice

    def multiply(self, operator, x, out, alpha, beta, stream):
        rows, columns = operator.shape
        source = self.address("x", x, columns, operator)
        if out is None:
            if refused := new_refused(beta, stream):
                raise refused
            out = self.empty(rows, operator)
            target = out.data.ptr
        else:
            if not isinstance(out, self.cupy.ndarray):
                raise refused_kind("out", out, x)
            target = self.address("out", out, rows, operator)
        operator._multiply_on_device(source, columns, target, rows, alpha, beta, self.handle(operator, stream))
        return out

    def handle(self, operator, stream):
        return self.current(operator._index).ptr if stream is None else stream_handle(stream)

    @staticmethod
    def is_on_host(x):
        return False

    def place(self, what, array, x, length, operator):
        if not isinstance(array, self.cupy.ndarray):
            raise refused_kind(what, array, x)
        return self.address(what, array, length, operator)

    def new(self, x, length, operator):
        return self.empty(length, operator)

    def scalar(self, what, value, x, operator):
        if not isinstance(value, self.cupy.ndarray):
            return number_of(what, value)
        if value.size != 1 or value.dtype != np.float64:
            raise refused_scalar(what, value.dtype, value.shape)
        if value.data.device_id != operator._index:
            raise refused_device(what, f"cuda:{value.data.device_id}", operator)
        return (value.data.ptr,)

    @staticmethod
    def will_write(*arrays):
        pass

    def update(self, operator, values):
        operator._core.update_on_device(self.address("values", values, operator.nnz, operator), operator.nnz)

    def check_values(self, values, operator):
        self.address("values", values, operator.nnz, operator)

    def stack(self, columns):
        with columns[0].device:
            return self.cupy.stack(columns, axis=1)

    def taken(self, values, order):
        with values.device:
            return self.cupy.take(values, self.cupy.asarray(order))

    def kept(self, values):
        try:
            with values.device:
                return values.copy()
        except MemoryError:
            return self.cupy.asnumpy(values)

    def empty(self, length, operator):
        if operator._index == self.current_device():
            return self.cupy.empty(length, operator.dtype)
        with self.cupy.cuda.Device(operator._index):
            return self.cupy.empty(length, operator.dtype)

    @staticmethod
    def address(what, array, length, operator):
        if array.dtype != operator.dtype:
            raise refused_type(what, array.dtype, operator)
        if array.shape != (length,):
            raise refused_shape(what, array.shape, length)
        # The same as flags.c_contiguous, without an object for the flags.
        if not array._c_contiguous:
            raise refused_strides(what)
        pointer = array.data
        if pointer.device_id != operator._index:
            raise refused_device(what, f"cuda:{pointer.device_id}", operator)
        return pointer.ptr


class Torch:
    """``torch.Tensor``, on the host or on a GPU."""

    takes_columns = True

    def __init__(self, torch):
        self.torch = torch
        self.types = {np.dtype(np.float32): torch.float32, np.dtype(np.float64): torch.float64}
        raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        self.current = raw or (lambda index: torch.cuda.current_stream(index).cuda_stream)

    def multiply(self, operator, x, out, alpha, beta, stream):
        torch = self.torch
        if stream is not None and not x.is_cuda:
            raise refused_on_host(stream)
        if x.requires_grad and torch.is_grad_enabled():
            if out is not None or alpha != 1.0 or beta != 0.0 or stream is not None:
                raise BadVector("x requires a gradient, which out, alpha, beta and stream do not give", "x.detach() needs none")
            from .torch import spmv

            return spmv(operator, x)
        rows, columns = operator.shape
        source = self.address("x", x, columns, operator)
        if out is None:
            if refused := new_refused(beta, stream):
                raise refused
            out = x.new_empty(rows)
            target = out.data_ptr()
        else:
            if not isinstance(out, torch.Tensor):
                raise refused_kind("out", out, x)
            target = self.address("out", out, rows, operator)
            if out.is_cuda != x.is_cuda:
                raise refused_device("out", str(out.device), operator)
            if out.requires_grad:
                raise BadVector("out requires a gradient, and is written over", "out.detach() needs none")
            # What kept out for a gradient is to notice.
            torch.autograd.graph.increment_version(out)
        if not x.is_cuda:
            operator._core.multiply_host(x.detach().numpy(), out.detach().numpy(), alpha, beta)
            return out
        operator._multiply_on_device(source, columns, target, rows, alpha, beta, self.handle(operator, stream))
        return out

    def handle(self, operator, stream):
        return self.current(operator._index) if stream is None else stream_handle(stream)

    @staticmethod
    def is_on_host(x):
        return not x.is_cuda

    def place(self, what, array, x, length, operator):
        if not isinstance(array, self.torch.Tensor):
            raise refused_kind(what, array, x)
        if array.requires_grad and self.torch.is_grad_enabled():
            raise BadVector(f"{what} requires a gradient, which an epilogue does not give", f"{what}.detach() needs none")
        address = self.address(what, array, length, operator)
        if array.is_cuda != x.is_cuda:
            raise refused_device(what, str(array.device), operator)
        return address if array.is_cuda else array.detach().numpy()

    def new(self, x, length, operator):
        return x.new_empty(length, dtype=self.types[operator.dtype])

    def scalar(self, what, value, x, operator):
        if not isinstance(value, self.torch.Tensor) or not value.is_cuda:
            return number_of(what, value)
        if value.numel() != 1 or value.dtype != self.torch.float64:
            raise refused_scalar(what, value.dtype, tuple(value.shape))
        if not x.is_cuda or value.get_device() != operator._index:
            raise refused_device(what, str(value.device), operator)
        return (value.data_ptr(),)

    def will_write(self, *tensors):
        # What kept one of them for a gradient is to notice.
        for tensor in tensors:
            self.torch.autograd.graph.increment_version(tensor)

    def update(self, operator, values):
        values = values.detach()
        source = self.address("values", values, operator.nnz, operator)
        if not values.is_cuda:
            operator._core.update_host(values.numpy())
        else:
            operator._core.update_on_device(source, operator.nnz)

    def check_values(self, values, operator):
        self.address("values", values, operator.nnz, operator)

    def stack(self, columns):
        return self.torch.stack(columns, dim=1)

    def taken(self, values, order):
        return values[self.torch.as_tensor(order, device=values.device)]

    def kept(self, values):
        try:
            return values.detach().clone()
        except self.torch.cuda.OutOfMemoryError:
            return values.detach().cpu()

    def address(self, what, tensor, length, operator):
        if tensor.dtype != self.types[operator.dtype]:
            raise refused_type(what, tensor.dtype, operator)
        if tensor.layout != self.torch.strided or tensor.shape != (length,):
            raise refused_shape(what, tensor.shape, length)
        if not tensor.is_contiguous():
            raise refused_strides(what)
        if tensor.is_cuda:
            if tensor.get_device() != operator._index:
                raise refused_device(what, str(tensor.device), operator)
        elif tensor.device.type != "cpu":
            raise refused_device(what, str(tensor.device), operator)
        return tensor.data_ptr()


_INTERFACE = "typestr, shape and data are as Numba documents the CUDA array interface; CuPy's and torch's arrays are taken as they are"


class Interface:
    """Whatever has ``__cuda_array_interface__``: Numba's arrays, RAPIDS' buffers. The driver is asked on which GPU it lies."""

    takes_columns = False

    @staticmethod
    def multiply(operator, x, out, alpha, beta, stream):
        rows, columns = operator.shape
        source, from_stream = Interface.address("x", x, columns, operator)
        if out is None:
            raise BadVector("there is no out to write y to", f"give out=, as {type(x).__name__} is made")
        target, to_stream = Interface.address("out", out, rows, operator)
        if stream is None and from_stream != to_stream:
            raise BadVector("x and out are of different streams", "name the one in which both may be used: stream=")
        handle = from_stream if stream is None else stream_handle(stream)
        operator._multiply_on_device(source, columns, target, rows, alpha, beta, handle)
        return out

    @staticmethod
    def update(operator, values):
        source, _ = Interface.address("values", values, operator.nnz, operator)
        operator._core.update_on_device(source, operator.nnz)

    @staticmethod
    def check_values(values, operator):
        Interface.address("values", values, operator.nnz, operator)

    @staticmethod
    def taken(values, order):
        raise BadVector("such values are not put in the order of A^T", "give them as an array of numpy, CuPy or torch")

    @staticmethod
    def kept(values):
        # Of what library it is is unknown, so it is not known how it is copied.
        return None

    @staticmethod
    def address(what, array, length, operator):
        """And the stream that its owner names: that of the interface, else the default one."""
        described = getattr(array, "__cuda_array_interface__", None)
        if described is None:
            raise BadVector(f"{what} is a {type(array).__name__}", "give an array on the GPU, as x is")
        if operator._index is None:
            raise refused_device(what, "a GPU", operator)
        try:
            dtype, shape, strides = np.dtype(described["typestr"]), tuple(described["shape"]), described.get("strides")
            address, readonly = described["data"]
            address = int(address)
            stream = described.get("stream")
        except (AttributeError, KeyError, TypeError, ValueError) as why:
            raise BadVector(f"the __cuda_array_interface__ of {what} describes no array: {why!r}", _INTERFACE) from None
        if dtype != operator.dtype:
            raise refused_type(what, dtype, operator)
        if shape != (length,):
            raise refused_shape(what, shape, length)
        if strides is not None and tuple(strides) != (dtype.itemsize,):
            raise refused_strides(what)
        if described.get("mask") is not None:
            raise BadVector(f"{what} has a mask", "a product takes all entries: give the array without its mask")
        if readonly and what == "out":
            raise BadVector("out is read-only", "give one that may be written to: a copy may")
        if not address and length:
            raise BadVector(f"{what} begins at address 0", "nothing lies there: it was freed, or never made")
        lies_on = gpu_of(address)
        if lies_on is not None and lies_on != operator._index:
            raise refused_device(what, f"cuda:{lies_on}", operator)
        return address, stream or 0


class DLPack:
    """Whatever has ``__dlpack__``, JAX' arrays for one: looked at as an array of numpy, CuPy or torch, without a copy. Products are
    waited for: the library that made the array does not know the stream in which it is read.
    """

    takes_columns = False

    @staticmethod
    def of(array):
        kind, _ = array.__dlpack_device__()
        if kind == 1:
            return np.from_dlpack(array)
        for library in ("cupy", "torch"):
            if library in sys.modules:
                return sys.modules[library].from_dlpack(array)
        for library in ("cupy", "torch"):
            try:
                return importlib.import_module(library).from_dlpack(array)
            except ImportError:
                continue
        raise BadVector(f"{type(array).__name__} lies on a GPU, and neither CuPy nor torch is installed to look at it", "install one of them")

    @staticmethod
    def multiply(operator, x, out, alpha, beta, stream):
        seen = DLPack.of(x)
        if out is not None and not isinstance(out, type(seen)):
            raise BadVector(f"out is a {type(out).__name__}", "leave it out, or give an array of numpy, CuPy or torch")
        y = kind_of(seen).multiply(operator, seen, out, alpha, beta, stream)
        operator._core.wait()
        return sys.modules["jax"].dlpack.from_dlpack(y) if out is None and is_of_jax(x) else y

    @staticmethod
    def update(operator, values):
        seen = DLPack.of(values)
        kind_of(seen).update(operator, seen)

    @staticmethod
    def check_values(values, operator):
        seen = DLPack.of(values)
        kind_of(seen).check_values(seen, operator)

    @staticmethod
    def taken(values, order):
        seen = DLPack.of(values)
        return kind_of(seen).taken(seen, order)

    @staticmethod
    def kept(values):
        seen = DLPack.of(values)
        return kind_of(seen).kept(seen)


def is_of_jax(x):
    """True for an array of JAX, which makes its arrays only from DLPack."""
    return type(x).__module__.startswith("jax") and "jax" in sys.modules


_KINDS = {np.ndarray: Numpy}


def kind_of(x):
    """Adapter of the library of ``x``."""
    kind = _KINDS.get(type(x))
    if kind is None:
        kind = _KINDS[type(x)] = _found(x)
    return kind


def _found(x):
    if isinstance(x, np.ndarray):
        return Numpy
    cupy, torch = sys.modules.get("cupy"), sys.modules.get("torch")
    if cupy is not None and isinstance(x, cupy.ndarray):
        return CuPy(cupy)
    if torch is not None and isinstance(x, torch.Tensor):
        return Torch(torch)
    if hasattr(x, "__cuda_array_interface__") and not is_of_jax(x):
        return Interface
    if hasattr(x, "__dlpack__"):
        return DLPack
    raise BadVector(f"{type(x).__name__} is no vector", "give an array of numpy, CuPy or torch")
