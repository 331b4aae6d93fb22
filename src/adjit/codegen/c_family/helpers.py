"""Small functions that C lacks: Python's division, powers, choices among NaNs, the strong zero, atomic updates.

Each is written for one type, `name_type`, and copied into the text where it is called. What Numba's compiled code
does at the edges holds here: an integer divided by zero is 0 (kernels do not raise), sums of integers wrap around.
"""

from __future__ import annotations

from adjit.codegen.c_family.dialect import CUDA, Dialect
from adjit.codegen.c_family.scalars import c_type, unsigned_type
from adjit.ir.types import Scalar

_SIGNED = {
    "floordiv": """{F} {T} {name}({T} a, {T} b)
{{
    if (b == 0) return 0;
    if (b == -1) return ({T})(0 - ({U})a);{SHORT_DIV}
    const {T} q = a / b;
    return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}}""",
    "mod": """{F} {T} {name}({T} a, {T} b)
{{
    if (b == 0 || b == -1) return 0;{SHORT_MOD}
    const {T} r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}}""",
    "fmod": "{F} {T} {name}({T} a, {T} b) {{ return b == 0 || b == -1 ? 0 : a % b; }}",
    "wrapped": "{F} {T} {name}({T} i, {T} n) {{ return i < 0 ? i + n : i; }}",
    "ipow": """{F} {T} {name}({T} a, int64 n)
{{
    if (n < 0) return a == 0 ? ({T})(({U})1 << (8 * sizeof({T}) - 1)) : a == 1 ? 1 : a == -1 ? (n % 2 ? -1 : 1) : 0;
    {U} x = ({U})a, r = 1;
    for (; n != 0; n >>= 1, x *= x) if (n & 1) r *= x;
    return ({T})r;
}}""",
    "sign": "{F} {T} {name}({T} x) {{ return (x > 0) - (x < 0); }}",
    "abs": "{F} {T} {name}({T} x) {{ return x < 0 ? ({T})(0 - ({U})x) : x; }}",
}
_SHORT = """
    if (((uint64)(a | b) >> 31) == 0) return (uint32)a {} (uint32)b;  // a third of the work"""
_UNSIGNED = {
    "floordiv": "{F} {T} {name}({T} a, {T} b) {{ return b == 0 ? 0 : a / b; }}",
    "mod": "{F} {T} {name}({T} a, {T} b) {{ return b == 0 ? 0 : a % b; }}",
    "fmod": "{F} {T} {name}({T} a, {T} b) {{ return b == 0 ? 0 : a % b; }}",
    "ipow": """{F} {T} {name}({T} a, int64 n)
{{
    {T} r = 1;
    if (n < 0) return a == 1 ? 1 : 0;
    for (; n != 0; n >>= 1, a *= a) if (n & 1) r *= a;
    return r;
}}""",
    "sign": "{F} {T} {name}({T} x) {{ return x > 0; }}",
    "abs": "{F} {T} {name}({T} x) {{ return x; }}",
}
_INTEGERS = {
    "plus": "{F} {T} {name}({T} a, {T} b) {{ return ({T})(({U})a + ({U})b); }}",
    "minus": "{F} {T} {name}({T} a, {T} b) {{ return ({T})(({U})a - ({U})b); }}",
    "times": "{F} {T} {name}({T} a, {T} b) {{ return ({T})(({U})a * ({U})b); }}",
    "gcd": """{F} {T} {name}({T} a, {T} b)
{{
    while (b != 0) {{ const {T} r = a % b; a = b; b = r; }}
    return a < 0 ? ({T})(0 - ({U})a) : a;
}}""",
}
_FLOATS = {
    "floordiv": """{F} {T} {name}({T} a, {T} b)
{{
    if (b == 0) return a / b;
    {T} r = fmod(a, b);
    {T} q = (a - r) / b;
    if (r != 0 && (b < 0) != (r < 0)) q -= 1;
    if (q == 0) return copysign(({T})0, a / b);
    const {T} down = floor(q);
    return q - down > ({T})0.5 ? down + 1 : down;
}}""",
    "mod": """{F} {T} {name}({T} a, {T} b)
{{
    if (b == 0) return ({T})NAN;
    const {T} r = fmod(a, b);
    if (r == 0) return copysign(({T})0, b);
    return (b < 0) != (r < 0) ? r + b : r;
}}""",
    "powi": """{F} {T} {name}({T} a, int64 n)
{{
    int64 k = n < 0 ? -n : n;
    {T} r = 1;
    if (k > 0x10000) return pow(a, ({T})n);
    for (; k != 0; k >>= 1, a *= a) if (k & 1) r *= a;
    return n < 0 ? 1 / r : r;
}}""",
    "sign": "{F} {T} {name}({T} x) {{ return x > 0 ? 1 : x < 0 ? -1 : x; }}",
    "sinc": """{F} {T} {name}({T} x)
{{
    const {T} y = x * ({T})3.141592653589793;
    return y == 0 ? 1 : sin(y) / y;
}}""",
    "logaddexp": """{F} {T} {name}({T} a, {T} b)
{{
    if (a == b) return a + ({T})0.6931471805599453;
    const {T} d = a - b;
    return d > 0 ? a + log1p(exp(-d)) : d <= 0 ? b + log1p(exp(d)) : d;
}}""",
    "logaddexp2": """{F} {T} {name}({T} a, {T} b)
{{
    if (a == b) return a + 1;
    const {T} d = a - b;
    const {T} scale = ({T})1.4426950408889634;
    return d > 0 ? a + scale * log1p(exp2(-d)) : d <= 0 ? b + scale * log1p(exp2(d)) : d;
}}""",
}
_ANY = {
    "least": "{F} {T} {name}({T} a, {T} b) {{ return b < a ? b : a; }}",
    "greatest": "{F} {T} {name}({T} a, {T} b) {{ return b > a ? b : a; }}",
    "minimum": "{F} {T} {name}({T} a, {T} b) {{ return a <= b || a != a ? a : b; }}",
    "maximum": "{F} {T} {name}({T} a, {T} b) {{ return a >= b || a != a ? a : b; }}",
    "fminimum": "{F} {T} {name}({T} a, {T} b) {{ return a <= b || b != b ? a : b; }}",
    "fmaximum": "{F} {T} {name}({T} a, {T} b) {{ return a >= b || b != b ? a : b; }}",
    "szmul": "{F} {T} {name}({T} ct, {T} slope) {{ return ct != 0 ? ct * slope : ct; }}",
    "square": "{F} {T} {name}({T} x) {{ return x * x; }}",
}

_LENGTH = """{F} int64 slice_start(int64 i, int64 n, int64 step)
{{
    i = i < 0 ? i + n : i;
    const int64 least = step < 0 ? -1 : 0, most = step < 0 ? n - 1 : n;
    return i < least ? least : i > most ? most : i;
}}

{F} int64 slice_length(int64 start, int64 stop, int64 step)
{{
    const int64 n = step > 0 ? (stop - start + step - 1) / step : (start - stop - step - 1) / -step;
    return (step > 0 ? stop > start : start > stop) ? n : 0;
}}"""
"""Ends of slices, as Python's `slice.indices` has them."""

_PAIR = """static __device__ inline void atomic_add_pair_float32(float *place, float x, float y)
{
#if __CUDA_ARCH__ >= 900
    if (((uint64)place & 7) == 0) {
        atomicAdd((float2 *)place, make_float2(x, y));
        return;
    }
#endif
    atomicAdd(place, x);
    atomicAdd(place + 1, y);
}"""
"""Two atomic sums side by side, of CUDA: one operation where the device has it and the place allows it."""

_SWAP = """{F} void {name}({P}{M} *place, {T} x)
{{
    volatile {P}{U} *word = (volatile {P}{U} *)place;
    {U} before, after, seen = *word;
    do {{
        before = seen;
        after = {as_word}({after});
        if (after == before) return;
        seen = {swap}(word, before, after);
    }} while (seen != before);
}}"""
"""An atomic update by compare-and-swap."""
_CHANGES = {"add": "{old} + x", "min": "{x} < {old} ? {x} : {old}", "max": "{x} > {old} ? {x} : {old}"}


def helper(dialect: Dialect, name: str, type: Scalar) -> str:
    """The text of the helper function `name` for one type."""
    if name == "slice":
        return _LENGTH.format(F=dialect.function)
    if name == "atomic_add_pair":
        return _PAIR
    if name.startswith("atomic_"):
        return _atomic(dialect, name.removeprefix("atomic_"), type)
    kind = _FLOATS if type.is_float else _UNSIGNED if type.is_unsigned else _SIGNED
    form = kind.get(name) or (None if type.is_float else _INTEGERS.get(name)) or _ANY[name]
    width = unsigned_type(type) if type.is_int else ""
    short = type.itemsize == 8
    return form.format(
        F=dialect.function, T=c_type(type), U=width, name=called(name, type),
        SHORT_DIV=_SHORT.format("/") if short else "", SHORT_MOD=_SHORT.format("%") if short else "",
    )  # fmt: skip


def called(name: str, type: Scalar) -> str:
    """The name by which the helper for a type is called."""
    return f"{name}_{type.name}"


def has_atomic(op: str, type: Scalar) -> bool:
    """Whether there is an atomic update of elements of this type."""
    return op in _CHANGES and type.itemsize in (4, 8) and not type.is_complex


def wants_wide(type: Scalar) -> bool:
    """Whether atomic updates of this type need atomics of 64 bits."""
    return type.itemsize == 8


def _atomic(dialect: Dialect, op: str, type: Scalar) -> str:
    """`*place = *place op x`, at once: native where the language has it, else by compare-and-swap."""
    T, U, pointer = c_type(type), unsigned_type(type), dialect.pointer
    head = f"{dialect.function} void {called(f'atomic_{op}', type)}({pointer}{T} *place, {T} x)"
    if dialect is CUDA:
        if op == "add":
            words = type.is_int and type.itemsize == 8
            place = "(unsigned long long *)place" if words else "place"
            return f"{head} {{ atomicAdd({place}, {'(unsigned long long)x' if words else 'x'}); }}"
        if type.is_int:
            return f"{head} {{ atomic{op.capitalize()}(place, x); }}"
    elif type.is_int and type.itemsize == 4:
        return f"{head} {{ atomic_{op}((volatile __global {T} *)place, x); }}"
    return _swapped(dialect, op, type, U)


def _swapped(dialect: Dialect, op: str, type: Scalar, U: str) -> str:
    T, size = c_type(type), type.itemsize
    if dialect is CUDA:
        swap, as_float, as_word = "atomicCAS", _CUDA_FLOAT[type.name], _CUDA_WORD[type.name]
    else:
        swap = "atomic_cmpxchg" if size == 4 else "atom_cmpxchg"
        as_float, as_word = f"as_{_OPENCL[type.name]}", "as_uint" if size == 4 else "as_ulong"
    old = f"{as_float}(before)"
    return _SWAP.format(
        F=dialect.function, P=dialect.pointer, M=T, T=T, U=U, swap=swap, as_word=as_word,
        name=called(f"atomic_{op}", type), after=_CHANGES[op].format(old=old, x="x"),
    ).replace("volatile ", "" if dialect is CUDA else "volatile ")  # fmt: skip


_OPENCL = {"float32": "float", "float64": "double", "int64": "long", "uint64": "ulong"}
_CUDA_FLOAT = {
    "float32": "__uint_as_float",
    "float64": "__longlong_as_double",
    "int64": "(int64)",
    "uint64": "",
}
_CUDA_WORD = {
    "float32": "__float_as_uint",
    "float64": "__double_as_longlong",
    "int64": "(uint64)",
    "uint64": "",
}
