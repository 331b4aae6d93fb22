"""Gates: a function that is cut into pieces computes the same bits and leaves the same arrays as the whole.

Every program is run whole and with a bound so low that its loops, branches and straight runs become pieces.
"""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

import adjit as aj
from adjit.codegen import cuts, outline
from adjit.runtime import cache
from tests.codegen.round_trip import assert_same


def branches(x, n):
    s = 0.0
    w = np.zeros(4)
    for t in range(n):
        a = x[0] * w[3] + np.sin(x[1])
        if a > 0.2:
            w[0] = a * 0.5 + w[1]
            s += a
        elif a > 0.0:
            w[1] = 2.0 * a * a
        else:
            w[0] -= 0.1 * a * w[0]
        for j in range(4):
            w[j] = w[j] * 0.9 + a * w[(j + 1) % 4] + x[2]
        s += a * w[2] * w[2]
    return s + w[0]


def exits(x, n):
    s = 1.0
    for i in range(n):
        k = 0
        while s * s < 50.0 and k < 6:
            s = s * x[i % x.shape[0]] + 1.0
            k += 1
            if s > 40.0:
                break
        if s > 30.0:
            return s * x[0]
        s -= 0.1 * s * x[1]
    return s


def growing(x, n):
    s = 0.0
    for i in range(n):
        v = x[i % x.shape[0]]
        while v > 0.05:
            v = v * v * 0.9
            s += v * x[0]
        for j in range(i % 3):
            s = s * 0.99 + v * x[j]
    return s


def rebinding(x, n):
    a = x.copy()
    b = np.zeros_like(x)
    for t in range(n):
        for i in range(1, x.shape[0]):
            b[i] = a[i] * a[i - 1] + 0.1
        if b[1] > 0.5:
            a, b = b, a
        c = a.copy()
        for i in range(x.shape[0]):
            a[i] += c[i] * b[i]
    s = 0.0
    for i in range(x.shape[0]):
        s += a[i] * b[i]
    return s


def writes(x, n):
    for t in range(n):
        m = 0.0
        for i in range(x.shape[0]):
            m += x[i] * x[i]
        for i in range(x.shape[0]):
            x[i] = x[i] / (1.0 + m) + 0.1 * x[i - 1]
    return x[0] * x[1]


def raising(x, n):
    s = 0.0
    for i in range(n):
        s += x[i % x.shape[0]] ** 2
        if s > 3.0:
            x[0] = s
            raise ValueError("too large")
        s *= 0.9
    return s


PROGRAMS = (branches, exits, growing, rebinding, writes)


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], None]:
    """Call it, and from then on every function is cut into small pieces."""
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path))
    cache.forget()

    def lower() -> None:
        cache.forget()
        monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path / "cut"))
        monkeypatch.setattr(outline, "LONG", 1)
        monkeypatch.setattr(outline, "BOUND", 6)
        monkeypatch.setattr(outline, "_OWN", 1)
        monkeypatch.setattr(outline, "STRAIGHT", 1)
        monkeypatch.setattr(cuts, "STRAIGHT", 1)

    return lower


def _run(f: Any, n: int) -> tuple[Any, ...]:
    """The gradient with its value, the pullback's answer, a tangent; and the array after each."""
    x = np.array([0.9, 0.4, 0.7, 0.2])
    one, two, three, dx = x.copy(), x.copy(), x.copy(), np.ones(4)
    both = aj.value_and_grad(f)(one, n)
    value, pullback = aj.vjp(f, two, n)
    moved = aj.jvp(f, (three, n), (dx, None))
    return both, value, pullback(1.0)[0], moved, one, two, three


def _pieces(f: Any) -> int:
    return aj.value_and_grad(f).source(np.ones(4), 3).count("# A piece of ")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_uncompiled_pieces_compute_the_same(
    program: Callable[..., Any], cut: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")
    whole = [_run(program, n) for n in (0, 1, 7)]
    cut()
    again = njit(program)  # a function that adjit has not seen
    assert _pieces(again) >= 4
    for n, want in zip((0, 1, 7), whole, strict=True):
        assert_same(_run(again, n), want, f"{program.__name__}, n={n}")


@pytest.mark.parametrize("program", [growing, rebinding], ids=lambda p: p.__name__)
def test_compiled_pieces_compute_the_same(program: Callable[..., Any], cut: Callable[[], None]) -> None:
    x = np.array([0.9, 0.4, 0.7, 0.2])
    whole = aj.value_and_grad(njit(program))(x, 7)
    cut()
    again = njit(program)
    assert _pieces(again) >= 4
    assert_same(aj.value_and_grad(again)(x, 7), whole, program.__name__)


def test_pieces_keep_the_error_model_of_their_whole(cut: Callable[[], None]) -> None:
    cut()
    text = aj.value_and_grad(njit(writes)).source(np.ones(4), 3)
    for name, line in _decorators(text).items():
        assert ('error_model="numpy"' in line) == ("reverse" in name), (name, line)


def test_pieces_check_bounds_where_the_whole_does(cut: Callable[[], None]) -> None:
    cut()
    text = aj.value_and_grad(aj.options(njit(writes), boundscheck=True)).source(np.ones(4), 3)
    pieces = [line for name, line in _decorators(text).items() if "_part" in name]
    assert pieces
    assert all("boundscheck=True" in line for line in pieces)


def test_fastmath_reaches_pieces_and_helpers(cut: Callable[[], None]) -> None:
    cut()
    text = aj.value_and_grad(njit(fastmath=True)(branches)).source(np.ones(4), 3)
    lines = _decorators(text)
    assert "szmul" in lines
    assert all("fastmath=True" in line for line in lines.values()), lines


def _decorators(text: str) -> dict[str, str]:
    """The decorator of each piece, and of the helpers of choices."""
    lines = text.splitlines()
    found = {
        line.split("(")[0].removeprefix("def "): above
        for above, line in pairwise(lines)
        if line.startswith("def ")
    }
    return {name: line for name, line in found.items() if "_part" in name or name in ("szmul", "choose")}


def test_a_raise_in_a_piece_leaves_the_arrays_as_the_plain_call(cut: Callable[[], None]) -> None:
    cut()
    f = njit(raising)
    assert _pieces(f) >= 2
    want, got = np.array([1.1, 0.9, 0.8, 0.7]), np.array([1.1, 0.9, 0.8, 0.7])
    with pytest.raises(ValueError, match="too large"):
        f(want, 9)
    with pytest.raises(ValueError, match="too large"):
        aj.value_and_grad(f)(got, 9)
    assert_same(got, want, "the array after the raise")


def test_literals_do_not_compile_a_piece_twice(cut: Callable[[], None]) -> None:
    cut()
    f = njit(growing)
    gradient = aj.value_and_grad(f)
    gradient(np.array([0.9, 0.4, 0.7, 0.2]), 3)
    from adjit.runtime.compile import load

    namespace = load(gradient.source(np.ones(4), 3))
    compiled = {name: len(d.signatures) for name, d in namespace.items() if "_part" in name}
    assert compiled
    assert set(compiled.values()) == {1}, compiled


def test_short_functions_are_not_touched() -> None:
    text = aj.value_and_grad(njit(branches)).source(np.ones(4), 3)
    assert "_part" not in text
    assert "szmul" not in text


_TWICE = """
import sys, numpy as np
from adjit.codegen import cuts, outline
outline.LONG, outline.BOUND, outline._OWN = 1, 6, 1
outline.STRAIGHT = cuts.STRAIGHT = 1
import adjit as aj
from adjit.runtime.compile import load
from program import growing
gradient = aj.value_and_grad(growing)
value, dx = gradient(np.array([0.9, 0.4, 0.7, 0.2]), 7)
space = load(gradient.source(np.ones(4), 3))
pieces = [d for name, d in space.items() if "_part" in name]
print(value.hex(), dx.tobytes().hex(), sum(space["growing_joint"].stats.cache_hits.values()), sum(len(d.signatures) for d in pieces))
"""


def test_a_second_process_starts_warm(tmp_path: Path) -> None:
    """The machine code of the pieces is kept with that of their caller; none is compiled or loaded again."""
    source = inspect.getsource(growing)
    (tmp_path / "program.py").write_text(f"from numba import njit\n\n\n@njit\n{source}")
    environment = os.environ | {"ADJIT_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("ADJIT_NO_CACHE", None)
    runs = [
        subprocess.run(
            [sys.executable, "-c", _TWICE],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in range(2)
    ]
    assert runs[0][:2] == runs[1][:2]
    assert int(runs[0][3]) >= 4
    assert runs[1][2:] == ["1", "0"]
