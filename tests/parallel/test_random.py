"""Random parallel loops, held to the same loops in order."""

from __future__ import annotations

import random

import numba
import numpy as np
import pytest

import adjit as aj
from adjit.transform import parts
from tests.parallel.programs import Program
from tests.parallel.test_parts import agree, copies, floats, tangents


def _place(r: random.Random, size: str = "n") -> str:
    """An index of an element that some turn reads."""
    c = r.randint(1, 3)
    return r.choice(
        (
            "i",
            f"max(i - {c}, 0)",
            f"min(i + {c}, {size} - 1)",
            f"(i + {c}) % {size}",
            f"(i - {c}) % {size}",
            f"i - {c}",
            "q[i]",
            "(i if i % 2 == 0 else 0)",
            "(i - 1 if i > 0 else i)",
            f"min(max(i - {c}, 0), {size} - 1)",
            f"{size} - 1 - i",
        )
    )


def _term(r: random.Random) -> str:
    read = f"{r.choice('xyz')}[{_place(r)}]"
    if r.random() < 0.2:
        read = f"m[{r.choice(('i', 'k', _place(r)))}, {r.choice(('i', 'k', 'n - 1'))}]"
    shape = r.choice(("{}", "{} * x[i]", "np.sin({})", "w[0] * {}", "{} * {}", "alpha * {}"))
    return shape.replace("{}", read)


def _text(r: random.Random, recording: bool, totals: bool = False) -> str:
    """A loop that reads at random places, and writes its own elements. totals: also products, minima and maxima."""
    lines = ["t = 0.0", "k = i % n"]
    for _ in range(r.randint(1, 3)):
        kind = r.random()
        if kind < 0.5:
            lines.append(f"t {r.choice(('+=', '-='))} {_term(r)}")
        elif kind < 0.65:
            lines += [f"if {r.choice(('i > 1', 'x[i] > 1.0', 'i % 3 == 1'))}:", f"    t += {_term(r)}"]
        elif kind < 0.8:
            lines += [f"for k in range({r.choice(('2', 'n', 'max(0, i - 2), min(n, i + 2)'))}):"]
            lines += [f"    t += {r.choice(('x[k]', 'x[k] * y[i]', 'm[k, i]', 'm[i, k] * w[0]'))}"]
        elif kind < 0.9:
            lines.append(f"aj.atomic_add(h, {r.choice(('q[i]', 'i % 2', '0', 'i'))}, t * 0.5)")
        else:
            lines.append(f"s {r.choice(('+=', '-='))} {_term(r)}")
    for _ in range(r.randint(0, 2) if recording else 0):
        lines += _recording(r)
    lines += _totals(r) if totals else []
    lines.append(r.choice(("o[i] = t", "o[i] = t * t", "o[i] += t", "o[i] = o[i] * t")))
    lines += ["s += t"] if r.random() < 0.4 else []
    lo, hi = r.choice((("", "n"), ("1, ", "n - 1"), ("", "n - 2"), ("2, ", "n")))
    loop = "\n".join(f"            {line}" for line in lines)
    after = r.choice(("x, o = o, x", "pass", "pass"))
    return (
        "def f(x, y, z, w, m, q, rows, alpha):\n    n = x.shape[0]\n    h = np.zeros(n)\n    o = y * z\n    s = 0.0\n"
        f"{_TOTALS if totals else ''}"
        f"    for _ in range({r.randint(1, 2)}):\n        for i in loop({lo}{hi}):\n{loop}\n        {after}\n"
        f"    return s + np.sum(o * o) + np.sum(h * h) + np.sum(x){' + p * 0.1 + g * b' if totals else ''}\n"
    )


_TOTALS = "    p = 0.7\n    g = -1.0\n    b = 2.0\n"


def _totals(r: random.Random) -> list[str]:
    """Running products, minima and maxima."""
    lines: list[str] = []
    for _ in range(r.randint(1, 3)):
        term = r.choice(("t", "np.sin(t)", "(t - 1.0)", "v[i % 3]", _term(r), _term(r)))
        kinds = ["p *= {} * 0.5 + 0.4", "p /= {} + 3.0", "g = max(g, {})", "g = max({}, g)", "b = min({}, b)"]
        made = ["v = np.empty(3)", "for k in range(3):", "    v[k] = t * k + x[i]"] if "v[" in term else []
        if r.random() < 0.2:
            made = ["v = np.empty(i % 4 + 1)", "for k in range(i % 4 + 1):", "    v[k] = np.cos(x[i] * k)"]
            term = "v[i % 4] * v[i // 4 % (i % 4 + 1)]"
        lines += [*made, r.choice(kinds).replace("{}", term)]
        if r.random() < 0.3:
            lines[-1:] = [f"if {r.choice(('x[i] > 1.0', 'i % 3 == 1'))}:", f"    {lines[-1]}"]
        elif r.random() < 0.3 and "v[" not in term:
            lines[-1:] = [f"for k in range({r.choice(('2', 'q[i] % 3', 'i % 4'))}):", f"    {lines[-1]}"]
    return lines


def _recording(r: random.Random) -> list[str]:
    """Statements whose record has a length that depends on data, or needs an array of the turn's own."""
    inner = r.choice(("t = np.sin(t) * t + x[i]", "t = t * t * 0.3 + y[q[i]]", f"t = t * {_term(r)} * 0.5"))
    kind = r.random()
    if kind < 0.25:
        lines = [
            "c = 0",
            f"while abs(t) < 2.0 and c < {r.choice(('4', 'q[i]', 'i'))}:",
            f"    {inner}",
            "    c += 1",
        ]
    elif kind < 0.45:
        lines = [f"for _ in range({r.choice(('q[i] % 4', 'i % 3', '3'))}):", f"    {inner}"]
        if r.random() < 0.5:
            lines += [
                f"    if t > {r.choice(('1.0', 'x[i]'))}:",
                f"        {r.choice(('break', inner, 't = t * t'))}",
            ]
    elif kind < 0.65:
        lines = [f"if {r.choice(('x[i] > 1.0', 'q[i] > 2', 't > 0.5'))}:", f"    {inner}", "    t = t * t"]
        lines += ["else:", f"    {r.choice((inner, 't = np.cos(t) * t'))}"] if r.random() < 0.5 else []
    elif kind < 0.85:
        lines = [f"v = {r.choice(('np.zeros(3)', 'np.empty(3)', 'np.full(3, t)'))}", "for k in range(3):"]
        lines += ["    v[k] = t * k + x[i]", f"    v[k] *= {r.choice(('v[0]', 'v[k]', 'x[i]'))}"]
        lines += ["t = v[2] * v[1] + v[0]"]
    else:
        lines = ["for k in range(rows[i], rows[i + 1]):", "    t += x[k] * x[k] * y[q[k]]"]
    if r.random() < 0.3:
        lines = [f"if {r.choice(('x[i] > 0.8', 'i % 2 == 0'))}:", *(f"    {line}" for line in lines)]
    return lines


def _arguments(rng: np.random.Generator, n: int) -> tuple[object, ...]:
    x, y, z = (rng.uniform(0.5, 1.5, n) for _ in range(3))
    rows = np.sort(rng.integers(0, n + 1, n + 1))
    return x, y, z, rng.uniform(0.5, 1.5, 1), rng.uniform(0.5, 1.5, (n, n)), rng.integers(0, n, n), rows, 0.7


SEEDS = [k if k % 3 == 0 else pytest.param(k, marks=pytest.mark.slow) for k in range(210)]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_loops_agree_with_the_loops_in_order(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")
    monkeypatch.setattr(parts, "GRAIN", 1)
    program = Program(_text(random.Random(seed), 60 <= seed < 180, seed >= 150), _arguments)
    threaded, plain = program.function(numba.prange), program.function(range)
    for n in (4, 11):
        args = program.arguments(np.random.default_rng(seed), n)
        wrt = floats(args)
        mine, other = copies(args), copies(args)
        found = aj.value_and_grad(threaded, wrt=wrt)(*mine)
        agree(found, aj.value_and_grad(plain, wrt=wrt)(*other))
        agree(mine, other)
        along = tangents(np.random.default_rng(seed + 1), args)
        _, slope = aj.jvp(threaded, copies(args), along)
        agree(slope, sum(np.sum(g * along[k]) for k, g in zip(wrt, found[1], strict=True)))
