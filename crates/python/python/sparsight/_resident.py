"""A CSR that lies on a GPU already: its pattern is looked at on the host, and it is prepared where it lies.

Each class below speaks for one library and has the same functions, as in ``_vectors``; :func:`on_gpu` finds the arrays.
"""

import sys

import numpy as np

__all__ = ["on_gpu", "to_host"]

_BITS = {"int32": 32, "int64": 64}
_VALUES = {"float32": 32, "float64": 64}


class OfCuPy:
    """``cupy.ndarray``."""

    def __init__(self, cupy):
        self.cupy = cupy

    @staticmethod
    def index(array):
        return array.device.id

    @staticmethod
    def type_name(array):
        return array.dtype.name

    @staticmethod
    def is_vector(array):
        return array.ndim == 1 and array.flags.c_contiguous

    @staticmethod
    def wait(array):
        array.device.synchronize()

    def to_host(self, array):
        with array.device:
            return self.cupy.asnumpy(array)

    @staticmethod
    def as_type(array, name):
        # What CuPy makes lies on the device that is current.
        with array.device:
            return array.astype(name, copy=False)

    @staticmethod
    def address(array):
        return array.data.ptr


class OfTorch:
    """``torch.Tensor`` on a GPU."""

    def __init__(self, torch):
        self.torch = torch

    @staticmethod
    def index(tensor):
        return tensor.get_device()

    @staticmethod
    def type_name(tensor):
        return str(tensor.dtype).removeprefix("torch.")

    def is_vector(self, tensor):
        return tensor.layout == self.torch.strided and tensor.dim() == 1 and tensor.is_contiguous()

    def wait(self, tensor):
        self.torch.cuda.synchronize(tensor.device)

    def to_host(self, tensor):
        tensor = tensor.detach()
        # numpy has no bfloat16.
        half = tensor.dtype in (self.torch.bfloat16, self.torch.float16)
        return (tensor.float() if half else tensor).cpu().numpy()

    def as_type(self, tensor, name):
        return tensor.to(getattr(self.torch, name))

    @staticmethod
    def address(tensor):
        return tensor.data_ptr()


class OnGpu:
    """The three arrays of a CSR on one GPU: kept, not copied, and read again whenever the matrix is prepared."""

    __slots__ = ("_arrays", "_library", "index")

    def __init__(self, library, arrays):
        self._library, self._arrays, self.index = library, arrays, library.index(arrays[0])

    @property
    def value_type(self):
        """Value type as a numpy dtype."""
        return np.dtype(self._library.type_name(self._arrays[2]))

    def is_on(self, device):
        """True if the arrays are on the device with this name, as ``"cuda:1"``."""
        return device == f"cuda:{self.index}" or device == "cuda" and self.index == 0

    @property
    def size(self):
        """Number of values."""
        return len(self._arrays[2])

    def pattern(self):
        """Copies of indptr and indices on the host, after everything that is queued on the GPU: it may be being written."""
        self._library.wait(self._arrays[0])
        indptr, indices, _ = self._arrays
        return self._library.to_host(indptr), self._library.to_host(indices)

    def values(self):
        """A copy on the host."""
        self._library.wait(self._arrays[2])
        return self._library.to_host(self._arrays[2])

    def prepared(self, prepare, value_type):
        """Result of ``prepare`` with the addresses of the three arrays, which live until it has returned."""
        of, (indptr, indices, values) = self._library, self._arrays
        values = of.as_type(values, value_type.name)
        located = ((of.address(one), len(one), _BITS[of.type_name(one)]) for one in (indptr, indices))
        return prepare(*located, (of.address(values), len(values)))


def _library_of(array):
    """Adapter of an array on a GPU, None for any other."""
    cupy, torch = sys.modules.get("cupy"), sys.modules.get("torch")
    if cupy is not None and isinstance(array, cupy.ndarray):
        return OfCuPy(cupy)
    if torch is not None and isinstance(array, torch.Tensor) and array.is_cuda:
        return OfTorch(torch)
    return None


def to_host(array):
    """An array of a GPU as one of numpy; any other as it is."""
    library = _library_of(array)
    return array if library is None else library.to_host(array)


def _csr_arrays(A):
    """indptr, indices, data and shape, if ``A`` is a CSR of CuPy or torch or a tuple."""
    if isinstance(A, (tuple, list)):
        return A if len(A) == 4 else None
    library = type(A).__module__.partition(".")[0]
    if library == "cupyx" and getattr(A, "format", None) == "csr":
        return A.indptr, A.indices, A.data, A.shape
    if library == "torch" and getattr(A, "is_cuda", False) and A.layout == sys.modules["torch"].sparse_csr and A.dim() == 2:
        A = A.detach()
        return A.crow_indices(), A.col_indices(), A.values(), tuple(A.shape)
    return None


def on_gpu(A):
    """``(OnGpu, shape)`` of a CSR that can be prepared where it lies: all three arrays contiguous and aligned on one GPU, of one library,
    indices of int32 or int64, values of float32 or float64. None of anything else, which is brought to the host.
    """
    found = _csr_arrays(A)
    if found is None:
        return None
    *arrays, shape = found
    library = _library_of(arrays[0])
    if library is None or any(type(_library_of(one)) is not type(library) for one in arrays):
        return None

    def fits(array, bits_of):
        bits = bits_of.get(library.type_name(array))
        return bits is not None and library.is_vector(array) and library.address(array) % (bits // 8) == 0

    # Without rows or entries there is nothing that lies anywhere.
    is_whole = all(map(fits, arrays, (_BITS, _BITS, _VALUES))) and min(map(len, arrays)) > 0
    if not is_whole or len({library.index(one) for one in arrays}) > 1:
        return None
    return OnGpu(library, tuple(arrays)), shape
