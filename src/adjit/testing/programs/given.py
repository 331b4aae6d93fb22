"""Functions whose text is given, not rolled: custom rules with right derivatives, and recursive functions."""

from __future__ import annotations

from adjit.testing.programs.nodes import Given
from adjit.testing.programs.scope import Callee

_WAVE = """def {name}(x, y):
    return x * math.sin({q} * y)
"""
_BELL = """def {name}(x):
    s = 0.0
    for i in range(3):
        s += math.exp(-{q} * x * x) * 0.3
    return s
"""
_DAMP = """def {name}(a, x):
    a[0] = a[0] * math.cos({q} * x)
    return 0.5 * a[-1]
"""

_JVP = "@aj.custom_jvp\n"
_VJP = "@aj.custom_vjp\n"

RULES: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    (
        _JVP,
        ("float", "float"),
        _WAVE,
        """

def {name}_rule(primals, tangents):
    x, y = primals
    dx, dy = tangents
    return x * math.sin({q} * y), dx * math.sin({q} * y) + x * {q} * math.cos({q} * y) * dy


{name}.defjvp({name}_rule)
""",
    ),
    (
        _JVP,
        ("float",),
        _BELL,
        """

def {name}_rule(primals, tangents):
    x = primals[0]
    s = 0.0
    for i in range(3):
        s += math.exp(-{q} * x * x) * 0.3
    return s, -2.0 * {q} * x * s * tangents[0]


{name}.defjvp({name}_rule)
""",
    ),
    (
        _VJP,
        ("float", "float"),
        _WAVE,
        """

def {name}_fwd(x, y):
    return x * math.sin({q} * y), (x, y)


def {name}_bwd(res, ct):
    x, y = res
    return ct * math.sin({q} * y), ct * x * {q} * math.cos({q} * y)


{name}.defvjp({name}_fwd, {name}_bwd)
""",
    ),
    (
        _VJP,
        ("vector", "float"),
        _DAMP,
        """

def {name}_fwd(a, x):
    old = a[0]
    a[0] = a[0] * math.cos({q} * x)
    return 0.5 * a[-1], (old, x)


def {name}_bwd(res, ct, da):
    old, x = res
    da[-1] += 0.5 * ct
    slope = -da[0] * old * {q} * math.sin({q} * x)
    da[0] = da[0] * math.cos({q} * x)
    return None, slope


{name}.defvjp({name}_fwd, {name}_bwd)
""",
    ),
)
"""Decorator, kinds of the parameters, the function, and its rule."""

RECURSIVE: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("float", "small"),
        """def {name}(x, n):
    if n <= 0:
        return {q} * x
    return math.sin({name}(0.7 * x + 0.1 * n, n - 1) + x)
""",
    ),
    (
        ("float", "small"),
        """def {name}(x, n):
    if n < 2:
        return x * x
    return math.tanh({name}(x, n - 1)) + {q} * {name}(math.cos(x), n - 2)
""",
    ),
    (
        ("vector", "zero", "length"),
        """def {name}(a, lo, hi):
    if hi - lo < 2:
        return math.sin(a[lo]) if hi > lo else 0.0
    mid = (lo + hi) // 2
    left = {name}(a, lo, mid)
    right = {name}(a, mid, hi)
    a[lo] = math.tanh(a[lo] + {q} * right * a[hi - 1])
    return left * right + a[mid]
""",
    ),
    (
        ("vector", "zero", "length"),
        """def {name}(a, lo, hi):
    if lo >= hi:
        return 0.0
    a[lo] = a[lo] * math.cos(a[hi - 1])
    rest = {name}(a, lo + 1, hi)
    a[lo] += {q} * rest
    return a[lo] * rest + 0.5
""",
    ),
    (
        ("vector",),
        """def {name}(v):
    if len(v) < 2:
        return {q} * v[0]
    return v[0] * {name}(v[1:]) + math.sin(v[-1])
""",
    ),
)
"""Kinds of the parameters, and a function that calls itself with a measure that falls."""

KEYWORD_RECURSIVE: tuple[tuple[tuple[str, ...], str, str, str], ...] = (
    (
        ("float", "small"),
        """def {name}(x, n):
    if n <= 0:
        return {q} * x
    return math.sin({again} + x)
""",
        "{name}(n=n - 1, x=0.7 * x + 0.1 * n)",
        "{name}(0.7 * x + 0.1 * n, n - 1)",
    ),
    (
        ("vector", "zero", "length"),
        """def {name}(a, lo, hi):
    if lo >= hi:
        return 0.0
    a[lo] = a[lo] * math.cos(a[hi - 1])
    rest = {again}
    a[lo] += {q} * rest
    return a[lo] * rest + 0.5
""",
        "{name}(hi=hi, a=a, lo=lo + 1)",
        "{name}(a, lo + 1, hi)",
    ),
)
"""The same, calling themselves by keyword, and by position for Numba, which fails at the former; they have no defaults
for the same reason."""

_SLOPES = ("0.8", "1.1", "0.5")


def rule(number: int, slope: int, name: str) -> tuple[Callee, Given]:
    """A function with a derivative rule."""
    decorator, kinds, plain, tail = RULES[number]
    q = _SLOPES[slope % len(_SLOPES)]
    body = plain.format(name=name, q=q)
    given = Given(name, (), decorator + body + tail.format(name=name, q=q), body)
    return Callee(name, kinds, "float"), given


def recursive(number: int, slope: int, name: str) -> tuple[Callee, Given]:
    """A function that calls itself."""
    kinds, text = RECURSIVE[number]
    body = text.format(name=name, q=_SLOPES[slope % len(_SLOPES)])
    return Callee(name, kinds, "float"), Given(name, (), body, body, self_njit=True)


def keyword_recursive(number: int, slope: int, name: str) -> tuple[Callee, Given]:
    """A function that calls itself by keyword (Numba fails if its callers do)."""
    kinds, text, by_keyword, by_position = KEYWORD_RECURSIVE[number]
    q = _SLOPES[slope % len(_SLOPES)]
    program, plain = (
        text.format(name=name, q=q, again=call.format(name=name)) for call in (by_keyword, by_position)
    )
    return Callee(name, kinds, "float"), Given(name, (), program, plain, self_njit=True)
