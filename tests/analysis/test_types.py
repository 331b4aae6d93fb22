"""Gates: symbols are typed as njit types them; NumPy 2's rules for functions that are not dispatchers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from adjit.analysis.facts import Fact, promote
from adjit.analysis.numba_types import from_numba
from adjit.analysis.types import infer
from adjit.errors import UnsupportedError
from adjit.ir.core import Alloc, Const, Function, If, Let, Load, Loop, Slice, Store, Sym, Undef, View, const
from adjit.ir.types import BOOL, FLOAT32, FLOAT64, INT64, UNKNOWN, Array, Scalar, Type
from adjit.ir.verify import verify
from adjit.ir.visit import targets, walk
from tests.codegen.plain_programs import PROGRAMS
from tests.codegen.round_trip import lowered

_INT32 = Scalar("int32")
_NUMBERS = [BOOL, _INT32, INT64, Scalar("uint64"), FLOAT32, FLOAT64, Scalar("complex128")]
_FEW = [BOOL, _INT32, INT64, FLOAT32, FLOAT64]
_OPERATORS = {
    "add": "a + b",
    "mul": "a * b",
    "div": "a / b",
    "floordiv": "a // b",
    "pow": "a ** b",
    "lt": "a < b",
    "lshift": "a << b",
    "min": "min(a, b)",
}


def _symbol(name: str, type_: Type = UNKNOWN) -> Sym:
    return Sym(name, type_)


def _value(type_: Scalar) -> Any:
    return np.dtype(type_.name).type(1)


def _type_of_result(f: Function, weak: frozenset[Sym] | None = None) -> Type:
    return verify(infer(f, weak)).results[0].type


@pytest.mark.parametrize("op", sorted(_OPERATORS))
@pytest.mark.parametrize("left", _FEW, ids=str)
def test_operators_have_numbas_types(op: str, left: Scalar) -> None:
    compiled = njit(eval(f"lambda a, b: {_OPERATORS[op]}"))
    for right in (INT64, FLOAT32, FLOAT64):
        a, b, t = _symbol("a", left), _symbol("b", right), _symbol("t")
        f = Function("f", (a, b), (Let(t, op, (a, b)),), (t,))
        from adjit.analysis.numba_types import to_numba

        try:
            compiled.compile((to_numba(left), to_numba(right)))
        except Exception:
            with pytest.raises(UnsupportedError, match="Numba has no"):
                infer(f)
            continue
        want = compiled.overloads[to_numba(left), to_numba(right)].signature.return_type
        assert _type_of_result(f) == from_numba(want), (op, left, right)


@pytest.mark.parametrize(("f", "arguments"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_results_have_njit_types(f: Any, arguments: Any) -> None:
    compiled = njit(f)
    compiled(*arguments())
    (signature,) = compiled.nopython_signatures
    returned = signature.return_type
    wanted = list(returned) if hasattr(returned, "__iter__") else [returned]
    program = verify(infer(lowered(compiled, arguments()).function))
    assert [r.type for r in program.results] == [from_numba(t) for t in wanted]


def _sum_loop(x: Sym, scale: Sym, start: Const) -> tuple[Function, Sym]:
    n, i, s, out = _symbol("n"), _symbol("i"), _symbol("s"), _symbol("s")
    v, t, after = _symbol("v"), _symbol("t"), _symbol("s")
    body = (Load(v, x, (i,)), Let(t, "mul", (scale, v)), Let(after, "add", (s, t)))
    loop = Loop(i, const(0), n, const(1), (s,), (start,), body, (after,), (out,))
    return Function("f", (x, scale), (Let(n, "dim", (x, const(0))), loop), (out,)), out


@pytest.mark.parametrize(
    ("weak", "start", "want"),
    [
        (None, const(0.0), FLOAT64),  # Numba: float64 scalars widen
        (None, const(0), FLOAT64),
        (False, const(0.0), FLOAT64),  # a strong np.float64 argument widens under NumPy 2 too
        (True, const(0.0), FLOAT32),
        (True, const(0), FLOAT32),
    ],
)
def test_accumulator(weak: bool | None, start: Const, want: Scalar) -> None:
    x, scale = _symbol("x", Array(FLOAT32, 1, "C")), _symbol("h", FLOAT64)
    f, _ = _sum_loop(x, scale, start)
    marks = None if weak is None else frozenset([scale] if weak else [])
    assert _type_of_result(f, marks) == want


@pytest.mark.parametrize(
    ("op", "fn", "strong", "literal", "want"),
    [
        ("mul", None, FLOAT32, 0.5, FLOAT32),
        ("add", None, _INT32, 1, _INT32),
        ("add", None, _INT32, 0.5, FLOAT64),
        ("div", None, _INT32, 2, FLOAT64),
        ("pow", None, FLOAT32, 2, FLOAT32),
        ("pow", None, FLOAT32, 0.5, FLOAT32),
        ("min", "min", FLOAT32, 0.0, FLOAT32),
        ("maximum", "numpy.maximum", FLOAT32, 0.0, FLOAT32),
        ("atan2", "math.atan2", FLOAT32, 1.0, FLOAT32),
        ("lt", None, FLOAT32, 0.5, BOOL),
    ],
)
def test_literals_are_weak_under_numpy(
    op: str, fn: str | None, strong: Scalar, literal: float, want: Scalar
) -> None:
    x, v, t = _symbol("x", Array(strong, 1, "C")), _symbol("v"), _symbol("t")
    f = Function("f", (x,), (Load(v, x, (const(0),)), Let(t, op, (v, const(literal)), fn)), (t,))
    assert _type_of_result(f, frozenset()) == want


def test_index_and_weak_chain_stay_weak() -> None:
    x, i, t, u, v = (
        _symbol("x", Array(FLOAT32, 1, "C")),
        _symbol("i"),
        _symbol("t"),
        _symbol("u"),
        _symbol("v"),
    )
    w = _symbol("w")
    body = (
        Let(t, "mul", (i, const(0.5))),
        Let(u, "sin", (t,), "math.sin"),
        Load(v, x, (i,)),
        Let(w, "mul", (u, v)),
    )
    s, out = _symbol("s"), _symbol("s")
    loop = Loop(i, const(0), const(3), const(1), (s,), (const(0.0),), body, (w,), (out,))
    f = Function("f", (x,), (loop,), (out,))
    assert _type_of_result(f, frozenset()) == FLOAT32


def test_numpy_function_results_are_strong() -> None:
    x, v, t, u = _symbol("x", Array(FLOAT32, 1, "C")), _symbol("v"), _symbol("t"), _symbol("u")
    body = (Load(v, x, (const(0),)), Let(t, "sqrt", (const(2.0),), "numpy.sqrt"), Let(u, "mul", (t, v)))
    assert _type_of_result(Function("f", (x,), body, (u,)), frozenset()) == FLOAT64
    assert (np.sqrt(2.0) * np.float32(1)).dtype == np.float64


@pytest.mark.parametrize("a", _NUMBERS, ids=str)
@pytest.mark.parametrize("b", _NUMBERS, ids=str)
def test_strong_promotion_is_numpys(a: Scalar, b: Scalar) -> None:
    got = promote((Fact(a), Fact(b)))
    assert got is not None
    assert got.type == Scalar(np.result_type(a.name, b.name).name)


def test_constants_are_cast_by_value_and_conditions_by_comparison() -> None:
    n, r, s = _symbol("n", INT64), _symbol("r"), _symbol("s", FLOAT64)
    f = Function("f", (n, s), (If(n, (), (), (const(0),), (s,), (r,)),), (r,))
    typed = verify(infer(f))
    test, branch = typed.body
    assert isinstance(test, Let)
    assert test.op == "ne"
    assert isinstance(branch, If)
    assert branch.then_values == (Const(0.0, FLOAT64),)


def test_flow_of_another_type_is_cast() -> None:
    n, r, s = _symbol("n", INT64), _symbol("r"), _symbol("s", FLOAT64)
    c = _symbol("c", BOOL)
    typed = verify(infer(Function("f", (n, s, c), (If(c, (), (), (n,), (s,), (r,)),), (r,))))
    (branch,) = typed.body
    assert isinstance(branch, If)
    assert isinstance(branch.then[0], Let)
    assert branch.then[0].op == "cast"


def test_list_arrays_take_the_type_of_what_is_stored() -> None:
    a, h, u = _symbol("a", Array(UNKNOWN, 1)), _symbol("h", FLOAT64), _symbol("u")
    body = (
        Alloc(a, (const(2),)),
        Store(a, (const(0),), const(1)),
        Store(a, (const(1),), h),
        Load(u, a, (const(0),)),
    )
    assert _type_of_result(Function("f", (h,), body, (u,))) == FLOAT64


def test_full_takes_the_type_of_its_fill() -> None:
    a, u = _symbol("a", Array(UNKNOWN, 1)), _symbol("u")
    body = (Alloc(a, (const(2),), const(0)), Load(u, a, (const(0),)))
    assert _type_of_result(Function("f", (), body, (u,))) == INT64


@pytest.mark.parametrize(
    ("index", "layout"),
    [
        ((const(0), Slice()), "C"),
        ((Slice(), const(0)), "A"),
        ((Slice(), Slice()), "A"),
        ((Slice(), Slice(None, None, const(2))), "A"),
    ],
)
def test_view_layouts_are_numbas(index: tuple[Any, ...], layout: str) -> None:
    rank = sum(isinstance(i, Slice) for i in index)
    a, v = _symbol("a", Array(FLOAT64, 2, "C")), _symbol("v", Array(FLOAT64, rank))
    f = Function("f", (a,), (View(v, a, index),), (v,))
    got = _type_of_result(f)
    assert isinstance(got, Array)
    parts = ", ".join("0" if not isinstance(i, Slice) else (":" if i.step is None else "::2") for i in index)
    compiled = njit(eval(f"lambda a: a[{parts}]"))
    compiled(np.zeros((3, 3)))
    (signature,) = compiled.nopython_signatures
    assert got == from_numba(signature.return_type)
    assert got.layout == layout


def test_layouts_unify() -> None:
    a, t, c, r = (
        _symbol("a", Array(FLOAT64, 2, "C")),
        _symbol("t", Array(FLOAT64, 2)),
        _symbol("c", BOOL),
        None,
    )
    r = _symbol("r", Array(FLOAT64, 2))
    body = (View(t, a, (), (1, 0)), If(c, (), (), (a,), (t,), (r,)))
    assert _type_of_result(Function("f", (a, c), body, (r,))) == Array(FLOAT64, 2, "A")


def test_undef_takes_the_other_type() -> None:
    a, c, r = _symbol("a", Array(FLOAT64, 2, "F")), _symbol("c", BOOL), _symbol("r", Array(FLOAT64, 2))
    body = (If(c, (), (), (a,), (Undef(Array(FLOAT64, 2)),), (r,)),)
    assert _type_of_result(Function("f", (a, c), body, (r,))) == Array(FLOAT64, 2, "F")


def test_every_symbol_is_typed_and_keeps_its_identity() -> None:
    for f, arguments in PROGRAMS[:3]:
        untyped = lowered(njit(f), arguments()).function
        typed = infer(untyped)
        assert typed.params == untyped.params
        assert all(s.type.known for stmt in walk(typed.body) for s in targets(stmt))


def test_readonly_store_is_refused() -> None:
    a = _symbol("a", Array(FLOAT64, 1, "C", readonly=True))
    with pytest.raises(UnsupportedError, match="read-only"):
        infer(Function("f", (a,), (Store(a, (const(0),), const(1.0)),), ()))


def test_failure_names_operation_and_types() -> None:
    z, t = _symbol("z", Scalar("complex128")), _symbol("t")
    with pytest.raises(UnsupportedError, match="Numba has no `<` for"):
        infer(Function("f", (z,), (Let(t, "lt", (z, z)),), (t,)))
