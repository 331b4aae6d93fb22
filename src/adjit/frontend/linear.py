"""`np.linalg`: each function is one operation of whole arrays, which fills new arrays (see `ir.core.Whole`).

x = np.linalg.solve(A, b)    ->    x = empty(n); whole x = solve(A, b)
d = np.linalg.det(A)         ->    t = empty(1); whole t = det(A); d = t[0]
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from adjit.frontend import elements, matrices
from adjit.frontend.arguments import Handler, bound, flag
from adjit.frontend.context import DeadPath, Lowering
from adjit.frontend.values import Static, TupleValue, Value
from adjit.ir.core import ONE, TRUE, ZERO, Atom, Const, If, Sym, Whole
from adjit.ir.types import BOOL, INT64, Array, Scalar
from adjit.rules import linear

Shape = tuple[Atom, ...]


def _operand(lx: Lowering, name: str, value: Value, ranks: tuple[int, ...], node: ast.AST) -> Sym:
    if find_spec("scipy") is None:
        lx.refuse(node, f"'np.linalg.{name}' needs SciPy, as Numba takes its LAPACK", "pip install scipy")
    if not elements.is_whole(value) or elements.ndim_of(value) not in ranks:
        remedy = "loop over the first axes" if elements.ndim_of(value) > 2 else "pass a matrix"
        lx.refuse(node, f"'np.linalg.{name}' of an array of {elements.ndim_of(value)} dimensions", remedy)
    return matrices.memory(lx, value, node)


def _made(
    lx: Lowering, op: str, shapes: tuple[Shape, ...], args: tuple[Sym, ...], node: ast.AST
) -> list[Sym]:
    """New arrays of these shapes, filled by the operation."""
    dtypes = {a.type.dtype for a in args if isinstance(a.type, Array)}
    dtype = next(iter(dtypes)) if len(dtypes) == 1 else Scalar("?")
    if not dtype.is_float:
        dtype = Scalar("?") if not dtype.known else dtype
    made = linear.get(op).dtypes((dtype,) * len(args)) if dtype.known else (dtype,) * len(shapes)
    outs = [
        lx.builder.alloc(op, Array(d, len(shape), "C"), shape) for d, shape in zip(made, shapes, strict=True)
    ]
    lx.builder.append(Whole(tuple(outs), op, args, lx.span(node)))
    return outs


def _simple(name: str, shapes: Callable[[Shape], tuple[Shape, ...]], numbers: bool = False) -> Handler:
    """A function of one matrix. `numbers`: whether the results are numbers."""

    def handler(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
        given = bound(lx, f"np.linalg.{name}", ("a",), 1)(args, kwargs, node)
        with lx.at(node):
            a = _operand(lx, name, given["a"], (2,), node)
            outs = _made(lx, name, shapes(elements.whole(lx, a).shape), (a,), node)
            found: list[Value] = [lx.builder.load(s, (ZERO,)) for s in outs] if numbers else [*outs]
        return found[0] if len(found) == 1 else TupleValue(tuple(found))

    return handler


def _solve(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`np.linalg.solve(a, b)`, of a vector or of the columns of a matrix."""
    given = bound(lx, "np.linalg.solve", ("a", "b"), 2)(args, kwargs, node)
    with lx.at(node):
        a = _operand(lx, "solve", given["a"], (2,), node)
        b = _operand(lx, "solve", given["b"], (1, 2), node)
        return _made(lx, "solve", (elements.whole(lx, b).shape,), (a, b), node)[0]


def _lstsq(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`np.linalg.lstsq(a, b)`: the solution; the other results cannot be used."""
    given = bound(lx, "np.linalg.lstsq", ("a", "b", "rcond"), 2)(args, kwargs, node)
    if "rcond" in given and not (isinstance(given["rcond"], Static) and given["rcond"].value is None):
        lx.refuse(node, "'np.linalg.lstsq' with 'rcond' is not supported", "leave it out")
    with lx.at(node):
        a = _operand(lx, "lstsq", given["a"], (2,), node)
        b = _operand(lx, "lstsq", given["b"], (1, 2), node)
        shape = (elements.whole(lx, a).shape[1], *elements.whole(lx, b).shape[1:])
        (x,) = _made(lx, "lstsq", (shape,), (a, b), node)
    unknown = Static("what np.linalg.lstsq gives beside the solution")
    return TupleValue((x, unknown, unknown, unknown))


def _power(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`np.linalg.matrix_power(a, n)` for a constant n: products of squares."""
    given = bound(lx, "np.linalg.matrix_power", ("a", "n"), 2)(args, kwargs, node)
    n = given["n"]
    if not isinstance(n, Const) or not isinstance(n.value, int) or n.value == 0:
        lx.refuse(
            node, "'np.linalg.matrix_power' with an exponent that is not a constant, or 0", "write the loop"
        )
    with lx.at(node):
        square: Value = _operand(lx, "matrix_power", given["a"], (2,), node)
        if n.value < 0:
            square = HANDLERS[np.linalg.inv](lx, [square], {}, node)
        total: Value | None = None
        left = abs(int(n.value))
        while left:
            if left % 2:
                total = square if total is None else matrices.matmul(lx, total, square, node)
            left //= 2
            square = matrices.matmul(lx, square, square, node) if left else square
        assert total is not None
        return elements.copied(lx, total, node) if abs(int(n.value)) == 1 else total


def _least(lx: Lowering, shape: Shape) -> Atom:
    rows, columns = shape
    if lx.integers.same(rows, columns):
        return rows
    return lx.let("min", rows, columns, type=INT64, fn="min", name="k")


def _svd(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`np.linalg.svd(a, full_matrices)`; the full one of square matrices, of which it is the thin one."""
    given = bound(lx, "np.linalg.svd", ("a", "full_matrices"), 1)(args, kwargs, node)
    full = flag(lx, given.get("full_matrices", TRUE), "'full_matrices'", node)
    with lx.at(node):
        a = _operand(lx, "svd", given["a"], (2,), node)
        rows, columns = elements.whole(lx, a).shape
        if full:
            reason = "np.linalg.svd of a matrix that is not square: pass full_matrices=False"
            _check(lx, "ne", rows, columns, reason, node)
        k = _least(lx, (rows, columns))
        return TupleValue(tuple(_made(lx, "svd", ((rows, k), (k,), (k, columns)), (a,), node)))


def _qr(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`np.linalg.qr(a)` of a matrix that is not wide."""
    given = bound(lx, "np.linalg.qr", ("a",), 1)(args, kwargs, node)
    with lx.at(node):
        a = _operand(lx, "qr", given["a"], (2,), node)
        rows, columns = elements.whole(lx, a).shape
        reason = "np.linalg.qr of a matrix with more columns than rows: factor its square part, and multiply"
        _check(lx, "lt", rows, columns, reason, node)
        return TupleValue(tuple(_made(lx, "qr", ((rows, columns), (columns, columns)), (a,), node)))


def _check(lx: Lowering, op: str, a: Atom, b: Atom, reason: str, node: ast.AST) -> None:
    """Raise ValueError if `a op b`: what has no derivative is refused once the shape is known."""
    if lx.integers.same(a, b):
        return
    failure = lx.failure(reason, node)
    if op == "ne" and lx.integers.same(a, b) is False:
        lx.builder.append(failure)
        raise DeadPath
    lx.builder.append(If(lx.let(op, a, b, type=BOOL), (failure,), (), span=lx.span(node)))


HANDLERS: dict[object, Handler] = {
    np.linalg.solve: _solve,
    np.linalg.inv: _simple("inv", lambda s: (s,)),
    np.linalg.det: _simple("det", lambda s: ((ONE,),), numbers=True),
    np.linalg.slogdet: _simple("slogdet", lambda s: ((ONE,), (ONE,)), numbers=True),
    np.linalg.cholesky: _simple("cholesky", lambda s: (s,)),
    np.linalg.eigh: _simple("eigh", lambda s: (s[:1], s)),
    np.linalg.eigvalsh: _simple("eigvalsh", lambda s: (s[:1],)),
    np.linalg.pinv: _simple("pinv", lambda s: (s[::-1],)),
    np.linalg.svd: _svd,
    np.linalg.qr: _qr,
    np.linalg.matrix_power: _power,
    np.linalg.lstsq: _lstsq,
}
