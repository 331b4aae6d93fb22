"""Gates: the IR's text is the whole IR. What is printed and parsed prints the same, and computes the same."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjit as aj
from adjit.ir.core import (
    BOOL,
    FLOAT64,
    INT64,
    Alloc,
    Const,
    Custom,
    Ensure,
    Function,
    If,
    Let,
    Loop,
    Raise,
    RefAppend,
    RefGet,
    RefNew,
    Slice,
    Span,
    Stmt,
    Sym,
    Undef,
    View,
)
from adjit.ir.parser import ParseError, parse
from adjit.ir.printer import text_and_opaque, to_text
from adjit.ir.types import COMPLEX128, FLOAT32, UNKNOWN, Array, RefList
from adjit.ir.verify import verify
from adjit.ir.visit import walk
from adjit.testing.passes import PassFault, check_legal, check_round_trip, closed, passes, watched
from tests.cases.catalogue import CASES
from tests.cases.record import Case
from tests.codegen.interpreter import run
from tests.codegen.programs import random_function

GOLDEN = sorted((Path(__file__).resolve().parents[1] / "transform" / "golden").glob("*.txt"))
_FUNCTION = re.compile(r"^function .*\n(?:  .*\n)*", re.MULTILINE)


class _Anything(dict[str, object]):
    """A table that has every rule: golden texts come without one."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> object:
        return type(name.capitalize(), (), {})()


def _texts() -> Iterator[tuple[str, str]]:
    for path in GOLDEN:
        whole = path.read_text().replace(", LINE)", ", 7)")
        for number, found in enumerate(_FUNCTION.findall(whole)):
            yield f"{path.stem}-{number}", found


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in _texts()])
def test_golden_texts_read_back(text: str) -> None:
    again = to_text(parse(text, _Anything()))
    if re.match(
        r"function \w+\.\d+\(", text
    ):  # a called function's symbols are numbered on from its caller's
        again, text = (re.sub(r"\.\d+\b", "", t) for t in (again, text))
    assert again == text


SMOOTH = [case for case in CASES if case.differences]  # uncompiled adjoints have not NumPy's error model


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, id=c.name, marks=[pytest.mark.slow] if k % 3 else []) for k, c in enumerate(SMOOTH)],
)
def test_every_pass_on_test_programs(case: Case, uncompiled: None) -> None:
    """A gradient is built; what each pass on the way gives is legal and survives its text."""
    try:
        with watched() as ran:
            aj.grad(case.program, wrt=case.wrt)(*case.args)
    except aj.AdjitError:
        assert case.refusable
        return
    assert "adjit.frontend.lower.lower" in ran


@pytest.mark.parametrize("block", range(4))
def test_random_functions_compute_the_same(block: int) -> None:
    for seed in range(block * 25, block * 25 + 25):
        f = verify(random_function(seed))
        again = verify(parse(to_text(f)))
        left, right = ([np.linspace(-1, 1, 8), np.linspace(2, -1, 8), 0.75, -0.5] for _ in range(2))
        assert run(f, *left) == run(again, *right)
        np.testing.assert_array_equal(left[0], right[0])
        np.testing.assert_array_equal(left[1], right[1])


X = Sym("x", FLOAT64)
A = Sym("a", Array(FLOAT64, 1, "C"))
M = Sym("m", Array(FLOAT32, 2, "F", readonly=True))
N = Sym("n", INT64)


def _function(*body: Stmt, results: tuple[Any, ...] = ()) -> Function:
    return Function("f", (X, A, M, N), body, results)


def _let(op: str, *args: Any, fn: str | None = None, type: Any = FLOAT64) -> Let:
    return Let(Sym("t", type), op, args, fn)


def _list() -> tuple[Stmt, ...]:
    held = Sym("r", RefList(Array(FLOAT64, 1, "C")))
    return RefNew(held), RefAppend(held, A), RefGet(Sym("b", A.type), held, Const(0, INT64))


class _Rule:
    name = "clip"


STATEMENTS: dict[str, tuple[Stmt, ...]] = {
    "numbers": tuple(
        _let("neg", Const(v, t), type=t)
        for v, t in [
            (1e-300, FLOAT64),
            (-0.0, FLOAT64),
            (float("nan"), FLOAT64),
            (float("-inf"), FLOAT64),
            (2.0, FLOAT32),
            (-3, INT64),
            (True, BOOL),
            (1 - 2j, COMPLEX128),
            (-0.5j, COMPLEX128),
            (complex("nan+infj"), COMPLEX128),
        ]
    ),
    "undefined": (_let("neg", Undef(FLOAT64)), _let("dim", Undef(A.type), Const(0, INT64), type=INT64)),
    "untyped": (Let(Sym("t", UNKNOWN), "add", (X, N)), View(Sym("v", Array(UNKNOWN, 1)), A, (Slice(),))),
    "spelling": (_let("sin", X, fn="math.sin"), _let("cast", N, fn="float")),
    "slices": tuple(
        View(Sym("v", A.type), A, (item,))
        for item in (
            Slice(),
            Slice(N),
            Slice(None, N),
            Slice(None, None, Const(-1, INT64)),
            Slice(Const(1, INT64), Const(-1, INT64), N),
            Slice(N, N, N),
        )
    ),
    "axes": (
        View(Sym("v", Array(FLOAT32, 2, "C")), M, (), (1, 0)),
        View(Sym("v", Array(FLOAT32, 4, "A")), M, (), (None, 1, None, 0)),
        View(Sym("v", Array(FLOAT64, 2, "C")), A, (), (0, None)),
    ),
    "shape": (
        View(Sym("v", Array(FLOAT64, 2, "C")), A, (), None, (Const(2, INT64), N)),
        View(Sym("v", Array(FLOAT32, 1, "?")), M, (), None, (N,), "either"),
        View(Sym("v", Array(FLOAT64, 0, "C")), A, (), None, (), "copy"),
    ),
    "row": (View(Sym("v", Array(FLOAT32, 1, "A")), M, (Const(-1, INT64), Slice())),),
    "allocations": (
        Alloc(Sym("w", A.type), (N,)),
        Alloc(Sym("w", A.type), (N,), Const(0.0, FLOAT64), A),
        Alloc(Sym("w", M.type), (N, Const(2, INT64)), None, M),
        Ensure(Sym("w", A.type), A, Const(5, INT64)),
    ),
    "references": _list(),
    "raise": (Raise("ValueError", ("it's, \"so\" (x)", 3, -1.5, N)), Raise("ZeroDivisionError")),
    "names with numbers": (
        Let(Sym("t", FLOAT64), "neg", (X,)),
        Let(Sym("t", FLOAT64), "neg", (X,)),
        Let(Sym("t.1", FLOAT64), "neg", (X,)),
        Let(Sym("t", FLOAT64), "neg", (X,)),
    ),
    "names like words": tuple(
        Let(Sym(word, FLOAT64), "neg", (X,)) for word in ("next", "store", "loop", "undef", "yield", "file", "doc")
    ),
    "endless loop": (
        Loop(None, None, None, None, (), (), (_let("neg", X),), (), (), Const(True, BOOL)),
        Loop(
            None, None, None, None, (p := Sym("p", FLOAT64),), (X,), (), (p,), (Sym("q", FLOAT64),), Const(True, BOOL)
        ),
    ),
    "branches": (
        If(Const(True, BOOL), (), ()),
        If(Const(True, BOOL), (), (), (X, A), (Const(1.0, FLOAT64), A), (Sym("y", FLOAT64), Sym("b", A.type))),
    ),
    "custom": (
        Custom((X,), (), (X,), (Sym("y", FLOAT64),), _Rule()),
        Custom((X, A), (), (X,), (Sym("y", FLOAT64),), _Rule()),
        Custom((), (), (), (), object()),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STATEMENTS)
def test_each_kind_of_statement(name: str) -> None:
    f = _function(*STATEMENTS[name])
    text, opaque = text_and_opaque(f)
    again = parse(text, opaque)
    assert to_text(again) == text
    pairs = list(zip(walk(f.body), walk(again.body), strict=True))
    assert [type(a) for a, _ in pairs] == [type(b) for _, b in pairs]
    for a, b in pairs:
        if isinstance(a, Custom):
            assert b.rule is a.rule
        if isinstance(a, Let):
            assert (b.op, b.fn, b.target.type) == (a.op, a.fn, a.target.type)
            assert [x for x in b.args if isinstance(x, Const)] == [x for x in a.args if isinstance(x, Const)]
            assert b.target.name == a.target.name
        if isinstance(a, Raise):
            assert [x for x in b.args if not isinstance(x, Sym)] == [
                x for x in a.args if not isinstance(x, Sym)
            ]


@pytest.mark.usefixtures("uncompiled")  # the passes run only where no program is kept on disk
def test_derive_keeps_what_is_active() -> None:
    def f(x: float, y: float) -> float:
        v, (dx,) = aj.value_and_grad(lambda a, b: a * math.sin(b) * x, wrt=(0,))(x, y)
        return v + dx + aj.grad(lambda a, b: a * b, wrt=1)(x, y)

    with watched(round_trip=True) as ran:
        aj.grad(f)(0.3, 0.7)
    assert "adjit.transform.expand.expand" in ran
    text = "function f(x: float64):\n  derive grad (a: float64, b: float64) wrt (b) at (x, 2.0:float64):\n    yield a\n  -> g: float64\n  return g\n"
    (derive,) = parse(text).body
    assert derive.active == (False, True) and derive.kind == "grad" and derive.params[0].name == "a"


def test_the_complete_form_holds_spans_and_the_docstring() -> None:
    span = Span("/some where/it's.py", 3, 4, 3, 9)
    f = Function(
        "f", (X,), (Let(Sym("t", FLOAT64), "neg", (X,), None, span),), (X,), 'Two\nlines, "quoted".', span
    )
    text = to_text(f, complete=True)
    again = parse(text)
    assert to_text(again, complete=True) == text
    assert (again.span, again.doc, again.body[0].span) == (span, f.doc, span)
    assert "@" not in to_text(f) and to_text(again) == to_text(f)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("function f(x: float64):\n  y: float64 = neg(z)\n  return y\n", "z is not defined"),
        ("function f(x: float64):\n  x: float64 = neg(x)\n  return x\n", "x is defined twice"),
        ("function f(x: float64):\n  jump x\n  return x\n", "no statement starts with 'jump'"),
        ("function f(x: float64):\n  y: float64 = neg(x\n  return x\n", "', ' is expected"),
        ("function f(x: float64):\n  if x:\n  return x\n", "'else:' is expected"),
        ("function f(x: float64):\n      return x\n", "unexpected indentation"),
        ("function f(x: float64):\n  custom clip (x):\n  return x\n", "no 'clip'"),
        ("function f(x: float64):\n", "'return' is expected"),
        ("", "a function is expected"),
    ],
)
def test_what_the_printer_does_not_write_is_refused(text: str, why: str) -> None:
    with pytest.raises(ParseError, match=re.escape(why)) as caught:
        parse(text)
    assert str(caught.value).startswith("line ")


def test_watching_sees_every_pass_and_catches_a_broken_one(
    monkeypatch: pytest.MonkeyPatch, uncompiled: None
) -> None:
    names = {f.__name__ for f in passes()}
    assert {"lower", "infer", "clean", "forward", "reverse", "hoist", "stride", "expand"} <= names
    monkeypatch.setattr("adjit.ir.verify._Verifier.reads", _objects)
    with pytest.raises(PassFault, match=r"adjit\.frontend"), watched(round_trip=False):
        aj.grad(lambda x: x * x)(3.0)


def _lost(a: object) -> Unknown:  # type: ignore[name-defined]  # noqa: F821
    """A function of which nobody can tell whether it is a pass."""


def test_an_annotation_that_does_not_resolve_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adjit.transform.guard.lost", _lost, raising=False)
    monkeypatch.setattr(_lost, "__module__", "adjit.transform.guard")
    with pytest.raises(NameError, match="Unknown"):
        passes.__wrapped__()


def _objects(self: object, a: object) -> None:
    raise AssertionError("not legal")


def test_what_is_not_legal_or_not_readable_is_a_fault() -> None:
    twice = (t := Sym("t", FLOAT64)), t
    bad = _function(*(Let(s, "neg", (X,)) for s in twice))
    with pytest.raises(PassFault, match="defined twice"):
        check_legal(bad, "a pass")
    with pytest.raises(PassFault, match="cannot be read"):
        check_round_trip(_function(Let(Sym("two words", FLOAT64), "neg", (X,))), "a pass")


def test_an_open_function_is_closed_over_what_it_reads() -> None:
    f = Function("f", (), (_let("neg", X),), (N,))
    assert set(closed(f).params) == {X, N}


def test_the_verifier_knows_views() -> None:
    wrong = {
        "a view keeps every axis": View(Sym("v", Array(FLOAT32, 2, "C")), M, (), (0, 0)),
        "is not contiguous": View(Sym("v", Array(FLOAT32, 1, "C")), M, (), None, (N,)),
        "spells out every axis": View(Sym("v", Array(FLOAT32, 1, "A")), M, (Slice(),)),
    }
    for message, view in wrong.items():
        with pytest.raises(AssertionError, match=message):
            verify(_function(view))
    verify(_function(View(Sym("v", Array(FLOAT32, 3, "A")), M, (), (1, None, 0))))
    verify(_function(View(Sym("v", Array(FLOAT64, 2, "C")), A, (), None, (N, Const(1, INT64)))))
