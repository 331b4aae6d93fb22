"""A stand-in for CuPy whose device memory is the host's: what runs around kernels can be tested without a GPU."""

import ctypes

import numpy as np

from . import cuda


class ndarray:
    """An array in "device" memory."""

    def __init__(self, shape, dtype, memptr=None, strides=None):
        like = np.empty(shape, dtype)
        self.shape, self.dtype, self.ndim, self.size, self.nbytes = (
            like.shape, like.dtype, like.ndim, like.size, like.nbytes,
        )  # fmt: skip
        self.strides = strides or like.strides
        self.flags = like.flags
        self.data = memptr or cuda.alloc(self.nbytes)
        self.device = cuda.Device()

    def seen(self):
        return np.frombuffer((ctypes.c_char * self.nbytes).from_address(self.data.ptr), self.dtype).reshape(
            self.shape
        )

    def get(self):
        return self.seen().copy()

    def fill(self, value):
        self.seen()[...] = value

    def __setitem__(self, index, value):
        assert index is Ellipsis
        self.fill(value.seen())


class RawModule:
    def __init__(self, code, options):
        self.code, self.options = code, options

    def compile(self):
        """Nothing: kernels are Python functions, see `driver`."""

    def get_function(self, name):
        return _Kernel(name, self)


class _Kernel:
    def __init__(self, name, module):
        self.kernel, self.ptr = self, len(cuda.kernels)
        cuda.kernels.append((name, "-DTABLE" in module.options))


class _Pool:
    def used_bytes(self):
        return 0


def asarray(a):
    made = ndarray(a.shape, a.dtype)
    made.fill(a)
    return made


def zeros(shape, dtype, order="C"):
    made = ndarray(shape, dtype)
    made.fill(0)
    return made


def cumsum(a, axis, dtype, out):
    out.fill(np.cumsum(a.seen(), axis, dtype))


def argsort(a, axis):
    return asarray(np.argsort(a.seen(), axis, kind="stable"))


def get_default_memory_pool():
    return _Pool()
