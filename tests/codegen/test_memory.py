"""Gates: records that grow, lists of references, unbound names, and strided arrays print as code that runs both ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adjit.codegen.module import Glue, Module, Step, Unit, render
from adjit.ir.core import (
    Alloc,
    Const,
    Ensure,
    Function,
    If,
    Let,
    Load,
    Loop,
    Raise,
    RefAppend,
    RefGet,
    RefNew,
    Slice,
    Store,
    Sym,
    Undef,
    View,
    const,
)
from adjit.ir.types import BOOL, FLOAT32, FLOAT64, INT64, Array, RefList
from adjit.ir.verify import verify
from adjit.runtime.compile import load

_VECTOR = Array(FLOAT64, 1, "C")
_BOTH = pytest.mark.parametrize("compiled", [True, False])


def _load(*units: Function, glue: tuple[Glue, ...] = (), compiled: bool = True) -> Any:
    module = Module(tuple(Unit(verify(f)) for f in units), glue)
    return load(render(module, plain=not compiled), compiled=compiled)


def _record() -> Function:
    """Push 0, 1, ..., n-1 on a record that starts with room for two."""
    n, i = Sym("n", INT64), Sym("i", INT64)
    first, tape, wide, out = (Sym("tape", _VECTOR) for _ in range(4))
    need, value = Sym("need", INT64), Sym("value", FLOAT64)
    body = (
        Let(need, "add", (i, const(1))),
        Ensure(wide, tape, need),
        Let(value, "cast", (i,)),
        Store(wide, (i,), value),
    )
    loop = Loop(i, const(0), n, const(1), (tape,), (first,), body, (wide,), (out,))
    return Function("record", (n,), (Alloc(first, (const(2),)), loop), (out,))


@_BOTH
def test_record_grows(compiled: bool) -> None:
    (tape,) = _load(_record(), compiled=compiled)["record"](37)
    np.testing.assert_array_equal(tape[:37], np.arange(37.0))
    assert tape.size < 80


def _references(layout: str) -> tuple[Function, Function]:
    """`forward` keeps rows (or columns) of a; `backward` sums their first elements, last first."""
    element = Array(FLOAT64, 1, layout)
    listed = RefList(element)
    a, refs, i, n, row = (
        Sym("a", Array(FLOAT64, 2, "C")),
        Sym("refs", listed),
        *(Sym(s, INT64) for s in "in"),
        None,
    )
    row = Sym("row", element)
    index = (i, Slice()) if layout == "C" else (Slice(), i)
    body = (View(row, a, index), RefAppend(refs, row))
    forward = Function(
        "forward",
        (a, n),
        (RefNew(refs), Loop(i, const(0), n, const(1), (), (), body, (), ())),
        (refs,),
    )
    got, k, m, s, out = (
        Sym("refs", listed),
        Sym("k", INT64),
        Sym("n", INT64),
        Sym("s", FLOAT64),
        Sym("s", FLOAT64),
    )
    last, item, value, after = Sym("last", INT64), Sym("row", element), Sym("v", FLOAT64), Sym("s", FLOAT64)
    inner = (RefGet(item, got, k), Load(value, item, (const(0),)), Let(after, "add", (s, value)))
    loop = Loop(k, last, const(-1), const(-1), (s,), (const(0.0),), inner, (after,), (out,))
    backward = Function("backward", (got, m), (Let(last, "sub", (m, const(1))), loop), (out,))
    return forward, backward


@_BOTH
@pytest.mark.parametrize("layout", ["C", "A"])
@pytest.mark.parametrize("n", [0, 3])
def test_lists_of_references(layout: str, n: int, compiled: bool) -> None:
    forward, backward = _references(layout)
    steps = (Step(("kept",), "forward", ("a", "n")), Step(("s",), "backward", ("kept", "n")))
    names = _load(forward, backward, glue=(Glue("joint", ("a", "n"), steps, ("s",)),), compiled=compiled)
    a = np.arange(12.0).reshape(3, 4)
    want = a[:n, 0].sum() if layout == "C" else a[0, :n].sum()
    assert names["joint"](a, n) == (want,)
    (kept,) = names["forward"](a, n)  # split: through Python, and any number of times
    assert names["backward"](kept, n) == (want,)
    assert names["backward"](kept, n) == (want,)


@_BOTH
@pytest.mark.parametrize(
    "type_", [FLOAT64, FLOAT32, _VECTOR, Array(FLOAT64, 2, "F"), Array(FLOAT64, 2, "A")], ids=str
)
def test_unbound_name_may_be_passed_on(type_: Any, compiled: bool) -> None:
    flag, x = Sym("flag", BOOL), Sym("x", type_)
    r, kept, q = Sym("r", type_), Sym("r", type_), Sym("q", type_)
    body = (
        If(flag, (), (), (x,), (Undef(type_),), (r,)),
        If(flag, (), (), (r,), (x,), (kept,)),
        If(flag, (), (), (r,), (r,), (q,)),
    )
    f = Function("f", (flag, x), body, (kept, q))
    value: Any = (
        np.ones((2,) * type_.ndim, order="F") if isinstance(type_, Array) else np.dtype(str(type_)).type(1)
    )
    if isinstance(type_, Array) and type_.layout == "A":
        value = np.ones((4, 4))[::2, ::2]
    names = _load(f, compiled=compiled)
    for flag_value in (True, False):
        np.testing.assert_array_equal(names["f"](flag_value, value)[0], value)


@_BOTH
def test_swap_of_array_names(compiled: bool) -> None:
    a, b, n, i = Sym("a", _VECTOR), Sym("b", _VECTOR), Sym("n", INT64), Sym("i", INT64)
    p, q, rp, rq, v = (
        Sym("a", _VECTOR),
        Sym("b", _VECTOR),
        Sym("a", _VECTOR),
        Sym("b", _VECTOR),
        Sym("v", FLOAT64),
    )
    body = (Load(v, p, (const(0),)), Store(q, (const(0),), v))
    loop = Loop(i, const(0), n, const(1), (p, q), (a, b), body, (q, p), (rp, rq))
    f = Function("f", (a, b, n), (loop,), (rp,))
    names = _load(f, compiled=compiled)
    x, y = np.array([1.0]), np.array([2.0])
    assert names["f"](x, y, 3)[0] is not None
    assert "a, b = b, a" in render(Module((Unit(f),)))
    assert names["f"](x, y, 2)[0][0] == 1.0


@_BOTH
def test_allocations(compiled: bool) -> None:
    n, x = Sym("n", INT64), Sym("x", Array(FLOAT32, 2, "F"))
    types = [
        _VECTOR,
        Array(FLOAT32, 2, "C"),
        Array(FLOAT64, 2, "F"),
        Array(BOOL, 1, "C"),
        Array(INT64, 1, "C"),
    ]
    made = [Sym("a", t) for t in types]
    fills = [
        Const(0.0, FLOAT64),
        Const(1.0, FLOAT32),
        Const(2.5, FLOAT64),
        Const(True, BOOL),
        Const(7, INT64),
    ]
    shapes = [(n,), (n, const(2)), (n, const(2)), (n,), (n,)]
    like = Sym("b", Array(FLOAT32, 2, "F"))
    body = tuple(Alloc(s, shape, fill) for s, shape, fill in zip(made, shapes, fills, strict=True))
    f = Function("f", (n, x), (*body, Alloc(like, (const(2), n), Const(0.0, FLOAT32), x)), (*made, like))
    *got, twin = _load(f, compiled=compiled)["f"](3, np.ones((2, 3), np.float32, order="F"))
    for value, symbol, fill in zip(got, made, fills, strict=True):
        assert value.dtype == np.dtype(symbol.type.dtype.name)
        assert value.shape == ((3,) if value.ndim == 1 else (3, 2))
        assert (value == fill.value).all()
        assert value.flags.f_contiguous if symbol.type.layout == "F" else value.flags.c_contiguous
    assert twin.flags.f_contiguous
    assert twin.dtype == np.float32


@_BOTH
def test_raise_and_special_constants(compiled: bool) -> None:
    c, r = Sym("c", BOOL), Sym("r", FLOAT64)
    body = (
        If(c, (Raise("ValueError", ("too bad",)),), ()),
        Let(r, "add", (Const(float("inf"), FLOAT64), const(1.0))),
    )
    names = _load(Function("f", (c,), body, (r, Const(float("nan"), FLOAT32))), compiled=compiled)
    with pytest.raises(ValueError, match="too bad"):
        names["f"](True)
    inf, nan = names["f"](False)
    assert inf == float("inf")
    assert np.isnan(nan)


@pytest.mark.parametrize("error_model", ["python", "numpy"])
def test_division_never_raises(error_model: str) -> None:
    a, b, r = Sym("a", FLOAT64), Sym("b", FLOAT64), Sym("r", FLOAT64)
    f = Function("f", (a, b), (Let(r, "fdiv", (a, b)),), (r,))
    text = render(Module((Unit(f, error_model),)))
    assert ("fdiv(a, b)" in text) == (error_model == "python")
    assert load(text)["f"](1.0, 0.0) == (float("inf"),)


def test_strong_zero_keeps_dtype() -> None:
    a, b, r = Sym("a", FLOAT32), Sym("b", FLOAT32), Sym("r", FLOAT32)
    f = _load(Function("f", (a, b), (Let(r, "szmul", (a, b)),), (r,)))["f"]
    assert f(np.float32(0), np.float32("inf")) == (0.0,)
    assert str(f.nopython_signatures[0].return_type) == "UniTuple(float32 x 1)"


def test_no_results() -> None:
    x = Sym("x", _VECTOR)
    f = _load(
        Function("f", (x,), (Store(x, (const(0),), const(2.0)),), ()),
        glue=(Glue("g", ("x",), (Step((), "f", ("x",)),), ()),),
    )
    a = np.zeros(1)
    assert f["g"](a) is None
    assert a[0] == 2.0
