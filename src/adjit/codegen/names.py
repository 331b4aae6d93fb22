"""Readable, unique Python names from the hints in the user's program."""

from __future__ import annotations

import builtins
import keyword
import re

from adjit.codegen.lanes import CALLED as LANES

PRELUDE = frozenset(
    {
        "math", "cmath", "np", "njit", "inf", "nan", "List", "types", "from_dtype", "lanes_dtype",
        *LANES, "literally", "adjit", "overload", "as_strided",
        "run_parts", "get_num_threads", "_run_some", "cgutils", "ir", "Status", "excinfo_ptr_t",
        "ctypes", "binding", "intrinsic", "plus", "one_by_one", "rarely", "scaled", "fourier", "fourier_typed",
        "FFT", "IFFT", "RFFT", "IRFFT", "BACKWARD", "ORTHO", "FORWARD", "_TRANSFORMS", "_NORMS", "_DTYPES",
        "_array_at", "_by_numpy", "_fourier",
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float32", "float64", "complex64", "complex128",
        "grow", "fdiv", "szmul", "choose", "seen_as", "seen_as_typed", "dot_add", "_gemm",
        "order", "running_sum", "as_index",
        "digamma", "polygamma", "positive_zeta", "hurwitz_zeta", "spherical_bessel", "cofactors",
    }
)  # fmt: skip
"""What a generated module imports or defines beside the program's own functions (see `module.render`)."""

RESERVED = frozenset(keyword.kwlist) | frozenset(dir(builtins)) | PRELUDE

_TYPE = re.compile(r"\w+_\d+d_[ACF](_readonly)?|float(32|64)x\d+")
"""The Numba types of arrays, float64_1d_C, and dtypes of lanes, float64x8."""


def is_reserved(name: str) -> bool:
    """Whether generated text may mean something else by the name."""
    return name in RESERVED or _TYPE.fullmatch(name) is not None


class Names:
    """Gives each wish a free name: `name`, then `name_1`, `name_2`, ..."""

    def __init__(self, taken: frozenset[str] = RESERVED):
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def fresh(self, hint: str) -> str:
        """A name that nobody else has."""
        base = re.sub(r"\W+", "_", hint).strip("_") or "t"
        if base[0].isdigit():
            base = f"t{base}"
        name = base
        while name in self._taken or _TYPE.fullmatch(name):
            n = self._next.get(base, 0) + 1
            self._next[base] = n
            name = f"{base}_{n}"
        self._taken.add(name)
        return name
