"""`np.fft`: a transform along one axis is one operation of whole arrays (`rules.linear.fourier`), as in NumPy.

y = np.fft.fft(x, n, axis)    ->    y = empty(..., n, ...); whole y = fft(x, n, axis)
Y = np.fft.fft2(X)            ->    the transforms along the last axis, then those along the one before

NumPy computes them too: Numba has no `np.fft`, so a dispatcher that calls it runs here and not by itself.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np

from adjit.frontend import arrays, elements, expressions, lanes, matrices, rearranging
from adjit.frontend.arguments import Handler, bound
from adjit.frontend.context import DeadPath, Lowering
from adjit.frontend.plain import frequencies
from adjit.frontend.values import NONE, TupleValue, Value
from adjit.ir.core import ONE, Atom, Const, If, Sym, Whole, const
from adjit.ir.types import BOOL, FLOAT64, UNKNOWN, Array, Scalar
from adjit.rules import linear
from adjit.rules.linear.fourier import NORMS, op_of

Given = dict[str, Value]
_OTHER = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
_NO_POINTS = "Invalid number of FFT data points"


def _norm(lx: Lowering, given: Given, name: str, node: ast.AST) -> str:
    if lanes.none(given.get("norm", NONE)):
        return "backward"
    return lanes.word(lx, given["norm"], f"the norm of 'np.fft.{name}'", NORMS, node)


def _refuse_out(lx: Lowering, given: Given, name: str, node: ast.AST) -> None:
    lanes.refuse_given(lx, f"fft.{name}", given, ("out",), node)


def _operand(lx: Lowering, value: Value, name: str, node: ast.AST) -> Sym:
    value = lanes.tuple_as_array(lx, value, node)
    if not elements.is_whole(value):
        lx.refuse(node, f"'np.fft.{name}' of {lx.kind(value)} is not supported", "pass an array")
    return matrices.memory(lx, value, node)


def _twice(lx: Lowering, n: Atom) -> Atom:
    """How many numbers have a spectrum of n frequencies, if nobody says: 2 (n - 1)."""
    return expressions.integer(lx, "mul", expressions.integer(lx, "sub", n, ONE), const(2))


def _half(lx: Lowering, n: Atom) -> Atom:
    """How many frequencies n real numbers have: n // 2 + 1."""
    return expressions.integer(lx, "add", expressions.integer(lx, "floordiv", n, const(2)), ONE)


def _points(lx: Lowering, value: Value, otherwise: Atom, node: ast.AST) -> Atom:
    """The number of points, at least one; `otherwise`, where none is given or (NumPy 2) it is -1."""
    n = otherwise if lanes.none(value) else expressions.number(lx, value, node)
    if isinstance(n, Const) and type(n.value) is not int:
        lx.refuse(node, f"{n.value} points of a Fourier transform", "give an integer")
    failure = lx.failure(_NO_POINTS, node)
    if isinstance(n, Const):
        if n.integer < 1:
            lx.builder.append(failure)
            raise DeadPath
        return n
    lx.builder.append(If(lx.let("lt", n, ONE, type=BOOL), (failure,), (), span=lx.span(node)))
    return n


def _transformed(lx: Lowering, kind: str, x: Sym, n: Atom, axis: int, norm: str, node: ast.AST) -> Sym:
    """The transform along an axis; of `irfft` n is the number of real points, else that of what is read."""
    shape = list(elements.whole(lx, x).shape)
    shape[axis] = _half(lx, n) if kind == "rfft" else n
    op = op_of(kind, norm)
    dtype = lanes.dtype_of(x)
    made = linear.get(op).dtypes((dtype,))[0] if dtype.known else Scalar("?")
    out = lx.builder.alloc(kind, Array(made, len(shape), "C"), tuple(shape))
    lx.builder.append(Whole((out,), op, (x, n, const(axis)), lx.span(node)))
    return out


def _along(name: str, kind: str, mirrored: bool = False) -> Handler:
    """A transform along one axis. `mirrored`: hfft and ihfft, of the conjugate and with the other norm."""

    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        given = bound(lx, f"np.fft.{name}", ("a", "n", "axis", "norm", "out"), 1)(args, kwargs, node)
        _refuse_out(lx, given, name, node)
        norm = _norm(lx, given, name, node)
        with lx.at(node):
            x = _operand(lx, given["a"], name, node)
            axis = lanes.axis_in(lx, given.get("axis", const(-1)), lanes.rank_of(x), node)
            extent = elements.whole(lx, x).shape[axis]
            n = _points(lx, given.get("n", NONE), _twice(lx, extent) if kind == "irfft" else extent, node)
            if not mirrored:
                return _transformed(lx, kind, x, n, axis, norm, node)
            norm = _OTHER[norm]
            if kind == "irfft":
                return _transformed(lx, kind, _conjugate(lx, x, node), n, axis, norm, node)
            return _conjugate(lx, _transformed(lx, kind, x, n, axis, norm, node), node)

    return handler


def _conjugate(lx: Lowering, x: Sym, node: ast.AST) -> Sym:
    found = elements.apply(lx, "conj", (x,), node, "numpy.conjugate")
    return elements.materialise(lx, found, node, None if lanes.dtype_of(x) == UNKNOWN else lanes.dtype_of(x))


# several axes


def _axes(lx: Lowering, given: Given, default: tuple[int, ...] | None, x: Sym, node: ast.AST) -> list[int]:
    """The axes, in the order given; the last ones that `s` speaks of, or all, where none are given."""
    rank, s = lanes.rank_of(x), given.get("s", NONE)
    if "axes" in given and not lanes.none(given["axes"]):
        axes = given["axes"]
        items = axes.items if isinstance(axes, TupleValue) else (axes,)
    elif "axes" not in given and default is not None:
        items = tuple(const(k) for k in default)
    else:
        count = len(s.items) if isinstance(s, TupleValue) else rank
        items = tuple(const(k) for k in range(-count, 0))
    return [lanes.axis_in(lx, a, rank, node) for a in items]


def _extents(
    lx: Lowering, given: Given, x: Sym, axes: list[int], inverse_real: bool, node: ast.AST
) -> list[Atom]:
    """The points along each of the axes."""
    own = [elements.whole(lx, x).shape[k] for k in axes]
    s = given.get("s", NONE)
    if lanes.none(s):
        if inverse_real:
            own[-1] = _twice(lx, own[-1])
        return [_points(lx, n, n, node) for n in own]
    items = s.items if isinstance(s, TupleValue) else (s,)
    if len(items) != len(axes):
        lx.refuse(node, "Shape and axes have different lengths", "give an extent for each axis")
    pairs = zip(items, own, strict=True)
    return [_points(lx, NONE if v == const(-1) else v, n, node) for v, n in pairs]


def _over_axes(name: str, default: tuple[int, ...] | None) -> Handler:
    """A transform along several axes, in NumPy's order: the last axis first, the real one first or last."""

    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        given = bound(lx, f"np.fft.{name}", ("a", "s", "axes", "norm", "out"), 1)(args, kwargs, node)
        _refuse_out(lx, given, name, node)
        norm, inverse_real = _norm(lx, given, name, node), name.startswith("irfft")
        with lx.at(node):
            x = _operand(lx, given["a"], name, node)
            axes = _axes(lx, given, default, x, node)
            if not axes:
                lx.refuse(node, f"'np.fft.{name}' along no axis", "give at least one axis")
            points = _extents(lx, given, x, axes, inverse_real, node)
            for kind, k in _order(name, len(axes)):
                x = _transformed(lx, kind, x, points[k], axes[k], norm, node)
            return x

    return handler


def _order(name: str, count: int) -> list[tuple[str, int]]:
    """Which transform goes along which of the axes, one after the other, as NumPy has it."""
    last = count - 1
    if name.startswith("rfft"):
        return [("rfft", last), *(("fft", k) for k in range(last - 1, -1, -1))]
    if name.startswith("irfft"):
        return [*(("ifft", k) for k in range(last)), ("irfft", last)]
    return [("ifft" if name.startswith("i") else "fft", k) for k in range(last, -1, -1)]


# frequencies, shifts


def _frequencies(name: str, fill: Callable[..., object], half: bool) -> Handler:
    """`np.fft.fftfreq(n, d=1.0)` and `rfftfreq`, with a derivative in d."""

    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        given = bound(lx, f"np.fft.{name}", ("n", "d", "device"), 1)(args, kwargs, node)
        lanes.refuse_given(lx, f"fft.{name}", given, ("device",), node)
        n = expressions.number(lx, given["n"], node)
        if isinstance(n, Const) and type(n.value) is not int:
            lx.refuse(node, f"'np.fft.{name}' of {n.value} points", "give an integer")
        step = given.get("d", Const(1.0, FLOAT64))
        extent = _half(lx, n) if half else n
        return lanes.made(lx, (extent,), lambda out: lanes.run(lx, fill, [out, n, step], node), node, FLOAT64)

    return handler


def _shift(name: str) -> Handler:
    """`np.fft.fftshift(x, axes=None)` and its inverse: np.roll by half the extent."""

    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        given = bound(lx, f"np.fft.{name}", ("x", "axes"), 1)(args, kwargs, node)
        x = lanes.array_in(lx, given["x"], node, f"np.fft.{name}")
        axes = given.get("axes", NONE)
        if lanes.none(axes):
            axes = TupleValue(tuple(const(k) for k in range(lanes.rank_of(x))))
        axes = axes if isinstance(axes, TupleValue) else TupleValue((axes,))
        shape = arrays.shape_of(lx, x)
        with lx.at(node):
            extents = [shape[lanes.axis_in(lx, a, len(shape), node)] for a in axes.items]
            by = [expressions.integer(lx, "floordiv", n, const(2)) for n in extents]
            if name == "ifftshift":
                by = [expressions.integer(lx, "sub", const(0), k) for k in by]
        return rearranging.HANDLERS[np.roll](lx, [x, TupleValue(tuple(by)), axes], {}, node)

    return handler


HANDLERS: dict[object, Handler] = {
    **{getattr(np.fft, kind): _along(kind, kind) for kind in ("fft", "ifft", "rfft", "irfft")},
    np.fft.hfft: _along("hfft", "irfft", mirrored=True),
    np.fft.ihfft: _along("ihfft", "rfft", mirrored=True),
    **{getattr(np.fft, f"{k}2"): _over_axes(f"{k}2", (-2, -1)) for k in ("fft", "ifft", "rfft", "irfft")},
    **{getattr(np.fft, f"{k}n"): _over_axes(f"{k}n", None) for k in ("fft", "ifft", "rfft", "irfft")},
    np.fft.fftfreq: _frequencies("fftfreq", frequencies.fftfreq, half=False),
    np.fft.rfftfreq: _frequencies("rfftfreq", frequencies.rfftfreq, half=True),
    np.fft.fftshift: _shift("fftshift"),
    np.fft.ifftshift: _shift("ifftshift"),
}
LISTS = tuple(f for f in HANDLERS if f not in (np.fft.fftfreq, np.fft.rfftfreq))
