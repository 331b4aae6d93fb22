"""Kernels of graphs that move memory: what is given to them stands in a table."""

from __future__ import annotations

from adjit.runtime.cuda.launch import Source

_TYPES = ((1, "char"), (2, "short"), (4, "int"), (8, "long long"))
_TEXT = """extern "C" __global__ void fill_{size}(const long long n, {type} *const *memory, const {type} *value)
{{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) (*memory)[i] = *value;
}}

extern "C" __global__ void copy_{size}(
    const long long n, {type} *const *memory, const {type} *const *from, const long long at)
{{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) (*memory)[i] = (*from)[at + i];
}}

"""
WORDS = Source(
    "".join(_TEXT.format(size=size, type=type) for size, type in _TYPES), fp64=False, wide_atomics=False
)
"""`fill_S(n, memory, value)` and `copy_S(n, memory, from, at)` for elements of S bytes."""
