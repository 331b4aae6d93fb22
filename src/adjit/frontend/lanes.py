"""What array functions share: constant axes, arrays made and filled, lanes (1-D parts along an axis), flat order."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import FunctionType

from adjit.frontend import arrays, creation, elements, expressions, folds, indexing, inline
from adjit.frontend.arguments import Handler
from adjit.frontend.context import Lowering
from adjit.frontend.values import (
    NONE,
    Elements,
    Place,
    SliceValue,
    Static,
    TupleValue,
    Value,
    same_static,
)
from adjit.ir.core import ONE, ZERO, Atom, Const, Sym, const
from adjit.ir.types import FLOAT64, UNKNOWN, Array, Scalar

ALL = SliceValue(None, None, None)
BACKWARDS = SliceValue(None, None, const(-1))


def none(value: Value) -> bool:
    """Whether the value is None."""
    return same_static(value, NONE)


def constant(lx: Lowering, value: Value, what: str, node: ast.AST) -> int:
    """An integer that is known when the program is built."""
    if isinstance(value, Const) and isinstance(value.value, int):
        return int(value.value)
    lx.refuse(node, f"{what} that is not a constant", "write its number")


def word(lx: Lowering, value: Value, what: str, choices: Sequence[str], node: ast.AST) -> str:
    """A string that is known when the program is built, one of the choices."""
    given = value.value if isinstance(value, Static) else None
    if isinstance(given, str) and given in choices:
        return given
    lx.refuse(node, f"{what} {given!r} is not supported", f"take one of: {', '.join(choices)}")


def axis_in(lx: Lowering, value: Value, rank: int, node: ast.AST) -> int:
    """An axis of an array of this rank, counted from the end where negative."""
    axis = constant(lx, value, "an axis", node)
    if not -rank <= axis < rank:
        lx.refuse(
            node, f"the axis {axis} of an array of {rank} dimensions", f"take one from {-rank} to {rank - 1}"
        )
    return axis % rank


def refuse_given(
    lx: Lowering, name: str, given: dict[str, Value], keys: Sequence[str], node: ast.AST
) -> None:
    """Refuse arguments that are not supported, unless they are None."""
    for key in keys:
        if not none(given.get(key, NONE)):
            lx.refuse(node, f"the argument '{key}' of 'np.{name}' is not supported", "leave it out")


def tuple_as_array(lx: Lowering, value: Value, node: ast.AST) -> Value:
    """The value; a tuple (of numbers, of tuples) or a list as an array."""
    if isinstance(value, TupleValue):
        return creation.array_of(lx, value, None, node)
    if isinstance(value, Sym) and value in lx.lists:
        return elements.whole(lx, value)
    return value


def array_in(lx: Lowering, value: Value, node: ast.AST, name: str = "this function") -> Sym:
    """An array of at least one axis in memory: an array, an expression, a tuple of numbers."""
    if isinstance(value, TupleValue):
        value = creation.array_of(lx, value, None, node)
    found = elements.solid(lx, value, node)
    if isinstance(found, Sym) and isinstance(found.type, Array) and found.type.ndim > 0:
        return found
    lx.refuse(node, f"'{name}' of {lx.kind(value)} is not supported", "pass an array")


def row_in(lx: Lowering, value: Value, name: str, node: ast.AST, remedy: str) -> Sym:
    """A 1-D array in memory; `remedy`: what to do with another."""
    array = array_in(lx, value, node, name)
    if rank_of(array) != 1:
        lx.refuse(node, f"'{name}' of a {rank_of(array)}-D array", remedy)
    return array


def readable(lx: Lowering, value: Value, node: ast.AST) -> Elements:
    """An array whose elements may be read several times: one that must be computed is put into memory."""
    source = elements.elements_of(lx, tuple_as_array(lx, value, node), node)
    if not source.shape:
        return source
    return source if source.part is not None else elements.whole(lx, array_in(lx, source, node))


def rank_of(array: Sym) -> int:
    """The number of axes."""
    assert isinstance(array.type, Array)
    return array.type.ndim


def dtype_of(array: Sym) -> Scalar:
    """The element type, where it is known."""
    assert isinstance(array.type, Array)
    return array.type.dtype


def literal(dtype: Scalar, value: float) -> Const:
    """A number of an array's element type; of one that is not known yet, one that does not decide it."""
    if dtype.known:
        return folds.neutral(dtype, value)
    return const(int(value)) if value in (0, 1) else Const(value, FLOAT64)


# arrays that are made


def made(
    lx: Lowering,
    shape: tuple[Atom, ...],
    fill: Callable[[Sym], object],
    node: ast.AST,
    dtype: Scalar = UNKNOWN,
    name: str = "a",
    like: Sym | None = None,
) -> Sym:
    """A new array, which `fill` fills; without a dtype, it has that of `like`, or of what is stored."""
    with lx.at(node):
        if like is not None:
            dtype = dtype_of(like)
        array = lx.builder.alloc(name, Array(dtype, len(shape), "C"), shape, None, _open(like))
        with lx.builder.filling(array):
            fill(array)
    return array


def _open(like: Sym | None) -> Sym | None:
    """The array, where its dtype is not known yet."""
    return None if like is None or dtype_of(like).known else like


def zeros_like(lx: Lowering, shape: tuple[Atom, ...], like: Sym, node: ast.AST) -> Sym:
    """A new array of zeros of the dtype of another."""
    dtype = dtype_of(like)
    with lx.at(node):
        return lx.builder.alloc("a", Array(dtype, len(shape), "C"), shape, literal(dtype, 0), _open(like))


def run(lx: Lowering, function: Callable[..., object], args: Sequence[Value], node: ast.AST) -> Value:
    """Inline a function of `plain`."""
    assert isinstance(function, FunctionType)
    with lx.at(node):
        return inline.call_library(lx, function, list(args), node)


def number(lx: Lowering, function: Callable[..., object], args: Sequence[Value], node: ast.AST) -> Atom:
    """Inline a function of `plain` that returns a number."""
    return expressions.number(lx, run(lx, function, args, node), node)


def count(lx: Lowering, function: Callable[..., object], args: Sequence[Value], node: ast.AST) -> Atom:
    """As `number`, of one that is never negative."""
    found = number(lx, function, args, node)
    if isinstance(found, Sym):
        lx.integers.counts.add(found)
    return found


def lane(lx: Lowering, array: Sym, axis: int, places: tuple[Place, ...], node: ast.AST) -> Sym:
    """The 1-D view along an axis at places of the other axes."""
    if rank_of(array) == 1:
        return array
    index: list[Value] = [elements.position(lx, p) for p in places]
    index.insert(axis, ALL)
    found = indexing.load(lx, array, TupleValue(tuple(index)), node)
    assert isinstance(found, Sym)
    return found


def over_lanes(
    lx: Lowering, arrays_: Sequence[Sym], axis: int, body: Callable[..., object], node: ast.AST
) -> None:
    """`body(lane, ...)` for the lanes of arrays whose other axes agree; the first array is filled."""
    shape = arrays.shape_of(lx, arrays_[-1])
    others = tuple(e for d, e in enumerate(shape) if d != axis)

    def each(places: tuple[Place, ...]) -> None:
        parts = [lane(lx, a, axis, places, node) for a in arrays_]
        with ExitStack() as stack:
            stack.enter_context(lx.builder.filling(parts[0]))
            body(*parts)

    with lx.at(node):
        elements.nest(lx, others, each)


def along(
    lx: Lowering,
    array: Sym,
    axis: int,
    function: Callable[..., object],
    node: ast.AST,
    extent: Atom | None = None,
    dtype: Scalar = UNKNOWN,
    more: Sequence[Value] = (),
    like: Sym | None = None,
) -> Sym:
    """`function(made lane, lane, ...)` for each lane along an axis; a new array (`like`: of the dtype of another)."""
    shape = list(arrays.shape_of(lx, array))
    if extent is not None:
        shape[axis] = extent

    def fill(out: Sym) -> None:
        over_lanes(lx, (out, array), axis, lambda *parts: run(lx, function, [*parts, *more], node), node)

    return made(lx, tuple(shape), fill, node, dtype, like=like)


def reduced(
    lx: Lowering,
    array: Sym,
    axis: int,
    function: Callable[..., object],
    node: ast.AST,
    more: Sequence[Value] = (),
) -> Value:
    """`function(lane, ...)`, a number for each lane along an axis."""
    shape = arrays.shape_of(lx, array)
    others = tuple(e for d, e in enumerate(shape) if d != axis)
    if not others:
        return number(lx, function, [array, *more], node)

    def at(places: tuple[Place, ...]) -> Atom:
        return number(lx, function, [lane(lx, array, axis, places, node), *more], node)

    return elements.materialise(lx, Elements(others, at), node)


# flat order


def flat(lx: Lowering, array: Sym, node: ast.AST) -> Sym:
    """The elements in the order of the last axis first; a 1-D array is its own."""
    return array if rank_of(array) == 1 else arrays.flattened(lx, array, node)


def boxed(lx: Lowering, array: Sym, shape: tuple[Atom, ...], around: Atom | None = None) -> Elements:
    """A 1-D array's elements in another shape; after `around` of them, from the first on again."""

    def at(places: tuple[Place, ...]) -> Atom:
        index: Atom = ZERO
        for place, extent in zip(places, shape, strict=True):
            index = expressions.integer(lx, "mul", index, extent)
            index = expressions.integer(lx, "add", index, elements.position(lx, place))
        if around is not None:
            index = expressions.integer(lx, "mod", index, around)
        return lx.builder.load(array, (index,))

    return Elements(shape, at, dtype_of(array))


def product(lx: Lowering, extents: Sequence[Atom]) -> Atom:
    """The product of extents."""
    total: Atom = ONE
    for extent in extents:
        total = expressions.integer(lx, "mul", total, extent)
    return total


def plainly(function: Callable[..., object], *names: str) -> Handler:
    """The handler of a function that is inlined as it stands, called by position."""
    from adjit.frontend.arguments import bound

    def handler(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
        given = bound(lx, f"np.{function.__name__}", names, len(names))(args, kwargs, node)
        return run(lx, function, [given[k] for k in names], node)

    return handler
