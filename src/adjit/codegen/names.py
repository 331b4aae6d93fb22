"""Readable, unique Python names from the hints in the user's program."""

from __future__ import annotations

import builtins
import keyword
import re

RESERVED = frozenset(keyword.kwlist) | frozenset(dir(builtins)) | frozenset(
    {
        "math", "np", "njit", "inf", "nan", "List", "grow", "fdiv", "szmul", "choose", "types", "literally", "adjit",
        "plus", "intrinsic", "seen_as", "seen_as_typed", "as_strided", "overload", "dot_add", "cofactors",
        "fourier", "fourier_typed", "ctypes", "binding",
        "FFT", "IFFT", "RFFT", "IRFFT", "BACKWARD", "ORTHO", "FORWARD",
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float32", "float64", "complex64", "complex128",
        "digamma", "polygamma", "positive_zeta", "hurwitz_zeta", "spherical_bessel",
    }
)  # fmt: skip


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
        while name in self._taken:
            n = self._next.get(base, 0) + 1
            self._next[base] = n
            name = f"{base}_{n}"
        self._taken.add(name)
        return name
