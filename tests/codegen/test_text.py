"""Gates: generated text reads as a person would write it (golden texts)."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from numba import njit

from adjit.analysis.types import infer
from adjit.codegen.module import Module, Unit, render
from adjit.codegen.numba_cpu import emit
from adjit.ir.core import Const, Function, If, Let, Load, Loop, Store, Sym, const
from adjit.ir.types import BOOL, FLOAT32, FLOAT64, INT64, Array
from adjit.runtime.compile import load
from tests.codegen import plain_programs
from tests.codegen.round_trip import lowered

_VECTOR = Array(FLOAT64, 1, "C")


def _text(f: Any, *args: object) -> str:
    return emit(infer(lowered(njit(f), args).function))


def _is(text: str, golden: str) -> None:
    assert text == dedent(golden).lstrip("\n"), text


def test_while_with_and() -> None:
    _is(
        _text(plain_programs.newton, 1.5, 1e-9),
        """
        def newton(x, tolerance):
            step = 1.0
            turns = 0
            while abs(step) > tolerance and turns < 50:
                step = (x * x - 2.0) / (2.0 * x)
                x -= step  # x = x - step
                turns += 1
            return x, turns
        """,
    )


def test_break_is_break() -> None:
    _is(
        _text(plain_programs.last_index, np.ones(3)),
        """
        def last_index(x):
            for i in range(x.shape[0]):  # for i in range(len(x)):
                if x[i] > 100.0:
                    break
            return (x[i] * i,)
        """,
    )


def test_reversed_loop_has_unsigned_indices() -> None:
    text = _text(plain_programs.backward, np.ones(3))
    assert "x[uint64(i)] += 0.5 * x[uint64(i + 1)]  # x[i] += 0.5 * x[i + 1]" in text
    assert "uint64" not in _text(plain_programs.gauss_seidel, np.ones((3, 3)), np.ones((3, 3)), 0.1, 2)


def _expression(*lets: Let) -> str:
    result = lets[-1].target
    names = [Sym(n, FLOAT64) for n in "abc"]
    out = Sym("y", _VECTOR)
    f = Function(
        "f",
        (*{a: 0 for let in lets for a in let.args if isinstance(a, Sym) and a.name in "abc"}, out),
        (*lets, Store(out, (const(0),), result)),
        (),
    )
    assert names
    return emit(f).splitlines()[-1].strip().removeprefix("y[0] = ")


@pytest.mark.parametrize(
    ("outer", "inner", "side", "want"),
    [
        ("mul", "add", 0, "(a + b) * c"),
        ("mul", "add", 1, "c * (a + b)"),
        ("sub", "sub", 1, "c - (a - b)"),
        ("sub", "sub", 0, "a - b - c"),
        ("add", "mul", 1, "c + a * b"),
        ("div", "mul", 1, "c / (a * b)"),
        ("pow", "pow", 0, "(a ** b) ** c"),
        ("pow", "pow", 1, "c ** a ** b"),
        ("pow", "mul", 0, "(a * b) ** c"),
        ("min", "add", 0, "min(a + b, c)"),
    ],
)
def test_parentheses(outer: str, inner: str, side: int, want: str) -> None:
    a, b, c, t, r = (Sym(n, FLOAT64) for n in "abctr")
    args = (t, c) if side == 0 else (c, t)
    assert _expression(Let(t, inner, (a, b)), Let(r, outer, args)) == want


@pytest.mark.parametrize(("op", "want"), [("pow", "(-2.0) ** a"), ("sub", "-2.0 - a"), ("mul", "-2.0 * a")])
def test_negative_constants(op: str, want: str) -> None:
    a, r = Sym("a", FLOAT64), Sym("r", FLOAT64)
    assert _expression(Let(r, op, (const(-2.0), a))) == want


def test_negation_of_power() -> None:
    a, t, r = Sym("a", FLOAT64), Sym("t", FLOAT64), Sym("r", FLOAT64)
    assert _expression(Let(t, "pow", (a, const(2))), Let(r, "neg", (t,))) == "-a ** 2"
    t, r = Sym("t", FLOAT64), Sym("r", FLOAT64)
    assert _expression(Let(t, "neg", (a,)), Let(r, "pow", (t, const(2)))) == "(-a) ** 2"


def test_nesting_never_crosses_a_store() -> None:
    x, v, r = Sym("x", _VECTOR), Sym("v", FLOAT64), Sym("r", FLOAT64)
    body = (
        Load(v, x, (const(0),)),
        Store(x, (const(0),), const(9.0)),
        Let(r, "add", (v, const(1.0))),
        Store(x, (const(1),), r),
    )
    _is(
        emit(Function("f", (x,), body, ())),
        """
        def f(x):
            v = x[0]
            x[0] = 9.0
            x[1] = v + 1.0
        """,
    )


def test_float32_constants_and_names() -> None:
    x = Sym("lambda", Array(FLOAT32, 1, "C"))
    v, r = Sym("float32", FLOAT32), Sym("np", FLOAT32)
    body = (
        Load(v, x, (const(0),)),
        Let(r, "mul", (Const(0.5, FLOAT32), v)),
        Store(x, (const(0),), r),
        Store(x, (const(1),), r),
    )
    _is(
        emit(Function("f", (x,), body, ())),
        """
        def f(lambda_1):
            np_1 = float32(0.5) * lambda_1[0]
            lambda_1[0] = np_1
            lambda_1[1] = np_1
        """,
    )


def test_branch_without_else_and_inverted() -> None:
    c, d, x = Sym("c", BOOL), Sym("d", BOOL), Sym("x", _VECTOR)
    body = (
        If(c, (Store(x, (const(0),), const(1.0)),), ()),
        If(c, (), (Store(x, (const(0),), const(2.0)),)),
        If(c, (Store(x, (const(0),), const(3.0)),), (If(d, (Store(x, (const(1),), const(4.0)),), ()),)),
    )
    _is(
        emit(Function("f", (c, d, x), body, ())),
        """
        def f(c, d, x):
            if c:
                x[0] = 1.0
            if not c:
                x[0] = 2.0
            if c:
                x[0] = 3.0
            elif d:
                x[1] = 4.0
        """,
    )


def test_empty_loop_and_step() -> None:
    i, n = Sym("i", INT64), Sym("n", INT64)
    loop = Loop(i, const(1), n, const(2), (), (), (), (), ())
    _is(
        emit(Function("f", (n,), (loop,), ())),
        """
        def f(n):
            for i in range(1, n, 2):
                pass
        """,
    )


def test_module_imports_what_it_uses() -> None:
    a, r = Sym("a", FLOAT32), Sym("r", FLOAT64)
    f = Function("f", (a,), (Let(r, "cast", (a,)),), (r,))
    text = render(Module((Unit(f, error_model="numpy", fastmath=frozenset({"nnan", "contract"})),)))
    assert "from numba import float64, njit\n" in text
    assert '@njit(cache=True, error_model="numpy", fastmath={"contract", "nnan"})\ndef f(a):' in text
    assert "import math" not in text


def test_special_function_helpers_are_copied() -> None:
    a, r = Sym("a", FLOAT64), Sym("r", FLOAT64)
    text = render(Module((Unit(Function("f", (a,), (Let(r, "digamma", (a,)),), (r,))),)))
    assert '@njit(cache=True, error_model="numpy")\ndef digamma(' in text
    assert "import math" in text


def many(x):
    return (
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        np.where(x > 0, 1, x),
    )


def test_many_results_are_names() -> None:
    """Numba reads no choice among more than 30 values that leave a function."""
    program = infer(lowered(njit(many), (2.0,)).function)
    assert " if " not in emit(program).splitlines()[-1]
    assert load(render(Module((Unit(program),))))["many"](2.0) == (*[2.0] * 30, 1.0)
