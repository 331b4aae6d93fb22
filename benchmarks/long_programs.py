"""Long functions as physicists write them, of any number of statements, for measuring how long they compile.

`simulation`: a time loop over stencils, particle-like updates, reductions, branches and local scalars. `straight`: a
time loop over scalar statements with a branch or a short loop here and there.
"""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable, Iterator
from types import FunctionType

_STENCIL = """\
for i in range(1, n - 1):
    flux = {a} * (u[i + 1] - u[i - 1]) * w[i]
    if flux > {b}:
        flux = {b} + 0.1 * (flux - {b})
    u[i] = u[i] - dt * flux + dt * {c} * (u[i + 1] - 2.0 * u[i] + u[i - 1])
"""
_PLANE = """\
for i in range(1, n - 1):
    for j in range(1, n - 1):
        mean = 0.25 * (g[i - 1, j] + g[i + 1, j] + g[i, j - 1] + g[i, j + 1])
        g[i, j] += dt * {a} * (mean - g[i, j]) * g[i, j]
"""
_SPRINGS = """\
energy{k} = 0.0
for i in range(n - 1):
    d = u[i + 1] - u[i]
    force = {a} * d * (1.0 + {b} * d * d)
    w[i] += dt * force
    w[i + 1] -= dt * force
    energy{k} += 0.5 * {a} * d * d
"""
_SCALARS = """\
rate{k} = {a} * math.exp(-{b} * dt) + 0.01 * s
level{k} = math.sin(rate{k} + u[2]) * {c}
if level{k} > {b}:
    s += dt * level{k}
else:
    s -= dt * rate{k} * w[1]
"""
_KINDS = (_STENCIL, _PLANE, _SPRINGS, _SCALARS)


def simulation(statements: int) -> Callable[..., float]:
    """About that many statements: `f(u0, w0, g0, dt, steps)`, of arrays of n, n and n x n."""
    body = _limited(_nests(), statements - 12)
    text = "def simulation(u0, w0, g0, dt, steps):\n"
    text += _indented("u = u0.copy()\nw = w0.copy()\ng = g0.copy()\nn = u.shape[0]\ns = 0.0\n", 1)
    text += "    for step in range(steps):\n" + _indented(body, 2)
    text += _indented(
        "total = s\nfor i in range(n):\n    total += u[i] * u[i] + w[i]\n    for j in range(n):\n"
        "        total += g[i, j] * g[i, j]\nreturn total\n",
        1,
    )
    return _function("simulation", text)


def straight(statements: int) -> Callable[..., float]:
    """About that many statements: `f(x, n)`, x of 8 elements."""
    text = "def straight(x, n):\n    s = 0.0\n    w = np.zeros(8)\n    for t in range(n):\n"
    text += _indented(_limited(_lines(), statements - 5), 2) + "    return s + w[0]\n"
    return _function("straight", text)


def _nests() -> Iterator[str]:
    draw = random.Random(1)
    k = 0
    while True:
        for kind in _KINDS:
            a, b, c = (round(draw.uniform(0.1, 0.9), 3) for _ in range(3))
            text = kind.format(k=k, a=a, b=b, c=c)
            yield text + (f"s += 0.001 * energy{k}\n" if "energy" in text else "")
            k += 1


def _lines() -> Iterator[str]:
    k = 0
    while True:
        i = k % 8
        yield f"a{k} = x[{i}] * w[{(i + 3) % 8}] + math.sin(x[{(i + 1) % 8}] * 0.3)\n"
        if k % 7 == 0:
            yield (
                f"if a{k} > 0.2:\n    w[{i}] = a{k} * 0.5 + w[{(i + 1) % 8}] * 0.1\n"
                f"else:\n    w[{i}] = w[{i}] * 0.9 - 0.1 * a{k}\n"
            )
        if k % 11 == 0:
            yield f"for j in range(8):\n    w[j] = w[j] * 0.99 + 0.01 * a{k} * w[(j + 1) % 8]\n"
        if k % 3 == 0:
            yield f"s += a{k} * a{k}\n"
        k += 1


def _limited(parts: Iterator[str], statements: int) -> str:
    """Parts until there are so many statements (`else` is none)."""
    text, count = "", 0
    for part in parts:
        if count >= statements:
            break
        text += part
        count += sum(not line.strip().startswith("else") for line in part.splitlines())
    return text


def _indented(text: str, depth: int) -> str:
    return "".join(f"{'    ' * depth}{line}\n" for line in text.splitlines())


def _function(name: str, body: str) -> FunctionType:
    import math

    import numpy as np

    file = f"<{name} of {body.count(chr(10))} lines>"
    linecache.cache[file] = (len(body), None, body.splitlines(keepends=True), file)
    namespace = {"np": np, "math": math, "__name__": "long_programs"}
    exec(compile(body, file, "exec"), namespace)
    return namespace[name]
