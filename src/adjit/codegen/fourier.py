"""Fourier transforms in compiled code: Numba has none, so NumPy's are called back, by a C function's address.

`numba.objmode` would do the same, but is compiled anew for each type of array, and in each process that loads a module
from disk (0.3 to 0.6 s each). A callback costs some 3 us a call, and takes the interpreter's lock by itself, so that it
may be called from code that has left it.
"""

from __future__ import annotations

FOURIER = '''FFT, IFFT, RFFT, IRFFT = range(4)
BACKWARD, ORTHO, FORWARD = range(3)
_TRANSFORMS = np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft
_NORMS = "backward", "ortho", "forward"
_DTYPES = tuple(np.dtype(name) for name in ("complex64", "complex128", "float32", "float64"))


def _array_at(address, shape, double, real):
    """The array that lies there."""
    dtype = _DTYPES[2 * real + double]
    size = shape[0] * shape[1] * shape[2] * dtype.itemsize
    return np.ndarray(shape, dtype, (ctypes.c_char * size).from_address(address))


@ctypes.CFUNCTYPE(ctypes.c_int64, *(ctypes.c_int64,) * 8, ctypes.c_size_t, ctypes.c_size_t)
def _by_numpy(kind, norm, double, real, before, points, after, n, x, out):
    """A transform along the middle one of three axes; 1 if it fails."""
    made = n // 2 + 1 if kind == RFFT else n
    try:
        a = _array_at(x, (before, points, after), double, real)
        b = _array_at(out, (before, made, after), double, kind == IRFFT)
        _TRANSFORMS[kind](a, n, 1, _NORMS[norm], b)
    except BaseException:
        return 1
    return 0


binding.add_symbol("adjit_fourier", ctypes.cast(_by_numpy, ctypes.c_void_p).value)
_fourier = types.ExternalFunction("adjit_fourier", types.int64(*(types.int64,) * 8, types.voidptr, types.voidptr))


def fourier(kind, x, n, axis, norm, out):
    """out[...] = np.fft.fft(x, n, axis, norm), or ifft, rfft, irfft."""
    _TRANSFORMS[kind](x, n, axis, _NORMS[norm], out)


@overload(fourier)
def fourier_typed(kind, x, n, axis, norm, out):
    """The same for Numba."""
    real = x.dtype in (types.float32, types.float64)
    double = out.dtype in (types.float64, types.complex128)

    def by_address(kind, x, n, axis, norm, out):
        before = after = 1
        for k in range(x.ndim):
            if k < axis:
                before *= x.shape[k]
            if k > axis:
                after *= x.shape[k]
        a = np.ascontiguousarray(x)
        if _fourier(kind, norm, double, real, before, x.shape[axis], after, n, a.ctypes, out.ctypes) != 0:
            raise RuntimeError("a Fourier transform was not computed: out of memory, or interrupted")

    return by_address
'''
"""The text in generated modules."""
