"""Whole arrays as expressions: an element at a time, fused, put into memory only where a name or a call needs it.

    y = a * x[1:] + b      ->    y = empty(n - 1); for i in range(n - 1): y[i] = a * x[i + 1] + b
    A[1:-1] = A[2:]        ->    at once: for i in range(1, n - 1): A[i] = A[i + 1]

Whether a store needs its values kept first (`at once`) is found by `transform.scalarise`, which knows what may share
memory. Operations on elements are the NumPy functions of the operators, so that their types are those of whole arrays.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

from adjit.frontend import arrays, broadcasting, calls, expressions
from adjit.frontend.context import Lowering
from adjit.frontend.shown import Copy
from adjit.frontend.values import (
    Axis,
    Elements,
    Place,
    Value,
    is_array,
    is_scalar,
)
from adjit.ir.core import ONE, ZERO, Atom, Call, Const, Loop, Store, Sym, Undef, const
from adjit.ir.spellings import ELEMENT, OF_BOOLS, OPERATOR, WHOLE
from adjit.ir.types import BOOL, FLOAT64, INT64, UNKNOWN, Array, Scalar
from adjit.ir.visit import walk

UFUNCS: dict[str, str | None] = {op: None if op == "div" else f"numpy.{name}" for op, name in WHOLE.items()}
"""The NumPy function that an operator means for whole arrays; a division is one under NumPy's error model."""

_BOOL = frozenset({"lt", "le", "gt", "ge", "eq", "ne", "not_", "isnan", "isinf", "isfinite", "signbit"})
_MASKS = frozenset({"and_", "or_", "xor", "invert", "select"})
_SAME = frozenset({"add", "sub", "mul", "div", "pow", "mod", "floordiv", "neg", "pos"})


def is_whole(value: Value) -> bool:
    """Whether the value is an array of at least one axis, in memory or not."""
    if isinstance(value, Elements):
        return True
    return is_array(value) and isinstance(value.type, Array)  # type: ignore[union-attr]


def ndim_of(value: Value) -> int:
    """The rank of an array or a number."""
    if isinstance(value, Elements):
        return len(value.shape)
    return value.type.ndim if isinstance(value, Sym) and isinstance(value.type, Array) else 0


def dtype_of(value: Value) -> Scalar:
    """The element type, where it is known."""
    if isinstance(value, Elements):
        return value.dtype
    if isinstance(value, Sym | Const | Undef):
        t = value.type
        return t.dtype if isinstance(t, Array) else t if isinstance(t, Scalar) else UNKNOWN
    return UNKNOWN


def elements_of(lx: Lowering, value: Value, node: ast.AST) -> Elements:
    """An array or a number as an expression."""
    if isinstance(value, Elements):
        return value
    if isinstance(value, Sym) and value in lx.lists:
        lx.refuse(node, "a list in an expression of whole arrays", "make it an array: np.array(...)")
    if isinstance(value, Undef) and is_array(value):
        lx.refuse(node, "an array is read before it is assigned", "assign it on every path")
    if isinstance(value, Sym) and isinstance(value.type, Array):
        return whole(lx, value)
    if is_scalar(value):
        number = expressions.number(lx, value, node)
        return Elements((), lambda _: number, dtype_of(number))
    lx.refuse(node, f"{lx.kind(value)} in an array expression", "use arrays and numbers")


def whole(lx: Lowering, array: Sym) -> Elements:
    """All of an array in memory."""
    shape = lx.builder.shapes.get(array) or arrays.shape_of(lx, array)
    base, before = lx.prefix(array)
    axes = tuple(Axis(ZERO, ONE, n) for n in shape)
    return part(lx, base, (*before, *axes))


def part(lx: Lowering, base: Sym, items: tuple[Atom | Axis | None, ...]) -> Elements:
    """A part of an array in memory: numbers pick, axes stay, None is a new axis."""
    assert isinstance(base.type, Array)
    shape = tuple(axis.extent for axis in axes_of(items))

    def at(places: tuple[Place, ...]) -> Atom:
        return lx.builder.load(base, index_at(lx, items, places))

    return Elements(shape, at, base.type.dtype, (base, items))


def axes_of(items: tuple[Atom | Axis | None, ...]) -> list[Axis]:
    """The axes of a part of an array, the new ones with extent one."""
    return [Axis(ZERO, ONE, ONE) if i is None else i for i in items if i is None or isinstance(i, Axis)]


def index_at(
    lx: Lowering, items: tuple[Atom | Axis | None, ...], places: tuple[Place, ...]
) -> tuple[Atom, ...]:
    """The index into the array of which the items describe a part."""
    rest = iter(places)
    index: list[Atom] = []
    for item in items:
        if item is None:
            next(rest)
        else:
            index.append(_along(lx, item, next(rest)) if isinstance(item, Axis) else item)
    return tuple(index)


def _along(lx: Lowering, axis: Axis, place: Place) -> Atom:
    start = axis.start
    if axis.step == ONE and isinstance(start, Const):
        return shifted(lx, place.index, place.shift + int(start.value.real))
    at = position(lx, place)
    return expressions.integer(lx, "add", start, expressions.integer(lx, "mul", at, axis.step))


def shifted(lx: Lowering, a: Atom, by: int) -> Atom:
    """`a + by`."""
    if isinstance(a, Const) or by >= 0:
        return expressions.integer(lx, "add", a, const(by))
    return expressions.integer(lx, "sub", a, const(-by))


def position(lx: Lowering, place: Place) -> Atom:
    """The place as a number."""
    return shifted(lx, place.index, place.shift)


# operations


def apply(
    lx: Lowering, op: str, args: Sequence[Value], node: ast.AST, fn: str | None = None, fuses: bool = False
) -> Elements:
    """`op` of each element of operands that are broadcast together.

    fuses: whether it is an operator or a ufunc of the program, which Numba computes in one loop with its operands.
    """
    operands = broadcasting.stretched(lx, [elements_of(lx, a, node) for a in args], node)
    shape, operands = broadcasting.broadcast(lx, operands, node)
    operands = [once(lx, o, shape, node) for o in operands]
    span = lx.span(node)
    type_ = _type(op, operands)
    inside = [(fuses and o.fused) or o.at for o in operands]

    def at(places: tuple[Place, ...]) -> Atom:
        pairs = zip(inside, operands, strict=True)
        atoms = [value(broadcasting.aligned(places, o.shape)) for value, o in pairs]
        before, lx.builder.span = lx.builder.span, span
        try:
            target = lx.let(op, *atoms, type=BOOL if type_ == BOOL else UNKNOWN, fn=fn)
            lx.options.divide(op, "numpy", target)
            return target
        finally:
            lx.builder.span = before

    if lx.frame.plain or not fuses or type_.known:
        return Elements(shape, at, type_)
    return _narrowed(lx, Elements(shape, at, type_))


def _narrowed(lx: Lowering, value: Elements) -> Elements:
    """The elements with the type that an array of them has in Numba; inside of an expression, that of numbers."""

    def at(places: tuple[Place, ...]) -> Atom:
        return lx.let("cast", value.at(places), fn=ELEMENT)

    return replace(value, at=at, fused=value.at, part=None)


def apart(value: Value) -> Value:
    """The value as an operand of what Numba computes in a loop of its own: updates in place, ufuncs with `out`."""
    return replace(value, fused=None) if isinstance(value, Elements) else value


def _kept(lx: Lowering, value: Elements, node: ast.AST) -> Value:
    """An operand in memory, with the numbers that it has inside of an expression."""
    if value.fused is None:
        return materialise(lx, value, node)
    return _narrowed(lx, whole(lx, materialise(lx, replace(value, at=value.fused), node)))


def reshaped(value: Elements, shape: tuple[Atom, ...]) -> Elements:
    """The same elements with axes of extent one put in (every other axis stays)."""
    kept = [d for d, e in enumerate(shape) if e != ONE]
    own = [d for d, e in enumerate(value.shape) if e != ONE]

    def at(places: tuple[Place, ...]) -> Atom:
        of = dict(zip(own, (places[d] for d in kept), strict=True))
        return value.at(tuple(of.get(d, Place(ZERO)) for d in range(len(value.shape))))

    return Elements(shape, at, value.dtype)


def cast(lx: Lowering, value: Elements, dtype: Scalar, node: ast.AST) -> Elements:
    """Each element converted to a type."""
    if value.dtype == dtype:
        return value

    def at(places: tuple[Place, ...]) -> Atom:
        return calls.convert(lx, value.at(places), dtype, f"numpy.{dtype.name}", node)

    return Elements(value.shape, at, dtype)


def once(lx: Lowering, operand: Elements, shape: tuple[Atom, ...], node: ast.AST) -> Elements:
    """The operand; in memory if broadcasting would compute its elements several times."""
    if operand.part is not None or not operand.shape:
        return operand
    own = (*[ONE] * (len(shape) - len(operand.shape)), *operand.shape)
    if all(a != ONE or b == ONE for a, b in zip(own, shape, strict=True)):
        return operand
    return elements_of(lx, _kept(lx, operand, node), node)


def _type(op: str, operands: Sequence[Elements]) -> Scalar:
    known = [o.dtype for o in operands]
    if op in _BOOL or (op in _MASKS and all(t == BOOL for t in known)):
        return BOOL
    arrays_ = {o.dtype for o in operands if o.shape}
    if op == "select":
        return known[1] if known[1] == known[2] else UNKNOWN
    if op in _SAME and all(t == INT64 for t in known):
        return FLOAT64 if op == "div" else INT64
    if all(t == FLOAT64 for t in known) or (op in _SAME and FLOAT64 in arrays_ and _real(known)):
        return FLOAT64
    return UNKNOWN


def binary(lx: Lowering, op: str, a: Value, b: Value, node: ast.AST) -> Elements:
    """`a op b` of whole arrays."""
    if lx.frame.plain and op in OF_BOOLS and dtype_of(a) == dtype_of(b) == BOOL:
        op = OF_BOOLS[op]
    small = op == "pow" and isinstance(b, Const) and b.type == INT64
    logic = op in _MASKS and dtype_of(a) == dtype_of(b) == BOOL
    fn = None if small or logic else UFUNCS[op]
    if op == "div" and not {dtype_of(a), dtype_of(b)} <= {FLOAT64, INT64}:
        fn = "numpy.true_divide"  # an operator on numbers of mixed types may have another type
    if fn is not None and not lx.frame.plain:
        fn = OPERATOR
    return apply(lx, op, (a, b), node, fn, fuses=True)


def _real(types: Sequence[Scalar]) -> bool:
    return all(t.known and not t.is_complex for t in types)


def unary(lx: Lowering, op: str, value: Value, node: ast.AST) -> Elements:
    """`op value` of a whole array."""
    if op == "invert" and dtype_of(value) == BOOL:
        return apply(lx, "not_", (value,), node)
    fn = UFUNCS[op] if lx.frame.plain else OPERATOR
    return apply(lx, op, (value,), node, fn, fuses=True)


# into memory


def solid(lx: Lowering, value: Value, node: ast.AST) -> Value:
    """The value in memory: an expression of whole arrays becomes a new array, of no axes a number."""
    if not isinstance(value, Elements):
        return value
    if not value.shape:
        return value.at(())
    made = materialise(lx, value, node)
    if value.shows is not None:
        lx.shown[made] = Copy(*value.shows, lx.span(node))
    return made


def materialise(
    lx: Lowering, value: Elements, node: ast.AST, dtype: Scalar | None = None, name: str = "a"
) -> Sym:
    """A new array of the elements."""
    with lx.at(node):
        type_ = Array(dtype or value.dtype, len(value.shape), "C")
        target = lx.builder.alloc(name, type_, value.shape)
        with lx.builder.filling(target):

            def element(places: tuple[Place, ...]) -> None:
                index = tuple(position(lx, p) for p in places)
                lx.builder.store(target, index, value.at(places))

            nest(lx, value.shape, element)
    return target


def _index_of(lx: Lowering, axis: int) -> Sym:
    """The index of a loop over an axis, which is never negative."""
    index = Sym("ijklmnop"[axis] if axis < 8 else f"i{axis}", UNKNOWN)
    lx.integers.counts.add(index)
    return index


def nest(
    lx: Lowering,
    shape: tuple[Atom, ...],
    body: Callable[[tuple[Place, ...]], None],
    starts: Sequence[int] | None = None,
    stops: Sequence[Atom] | None = None,
    order: Sequence[int] | None = None,
    at_once: bool = False,
) -> None:
    """Loops over all places of a box.

    starts, stops: where each loop's index begins and ends, if not 0 and the extent. order: axes, outermost first.
    """
    starts = starts or [0] * len(shape)
    order = order or range(len(shape))
    places: dict[int, Place] = {}

    def level(depth: int, flag: bool) -> None:
        if depth == len(order):
            body(tuple(places[d] for d in range(len(shape))))
            return
        d = order[depth]
        if shape[d] == ONE:
            places[d] = Place(ZERO)
            level(depth + 1, flag)
            return
        index = _index_of(lx, d)
        places[d] = Place(index, -starts[d])
        hi = stops[d] if stops else shape[d]
        with lx.builder.collect() as block:
            level(depth + 1, False)
        bounds = (const(starts[d]), hi, ONE)
        flows = ((), (), tuple(block), (), (), None, lx.builder.span)
        lx.builder.append(Loop(index, *bounds, *flows, at_once=flag, asked=lx.asks_for_threads))

    level(0, at_once)


def fold(
    lx: Lowering,
    shape: tuple[Atom, ...],
    inits: tuple[Atom, ...],
    step: Callable[[tuple[Place, ...], tuple[Atom, ...]], tuple[Atom, ...]],
) -> tuple[Atom, ...]:
    """Numbers that are carried over all places of a box, the last axis fastest."""
    places: list[Place] = []

    def level(d: int, carried: tuple[Atom, ...]) -> tuple[Atom, ...]:
        if d == len(shape):
            return step(tuple(places), carried)
        if shape[d] == ONE:
            places.append(Place(ZERO))
            after = level(d + 1, carried)
            places.pop()
            return after
        index = _index_of(lx, d)
        params = tuple(Sym(hint(a), BOOL if a.type == BOOL else UNKNOWN) for a in carried)
        results = tuple(Sym(p.name, p.type) for p in params)
        with lx.builder.collect() as block:
            places.append(Place(index))
            nexts = level(d + 1, params)
            places.pop()
        flows = (params, carried, tuple(block), nexts, results, None, lx.builder.span)
        lx.builder.append(Loop(index, ZERO, shape[d], ONE, *flows, asked=lx.asks_for_threads))
        return results

    return level(0, inits)


def hint(a: Atom) -> str:
    """The name of what is added up from `a` on."""
    return a.name if isinstance(a, Sym) else "total"


def in_memory(lx: Lowering, value: Value, node: ast.AST) -> Sym:
    """An array of at least one axis, in memory."""
    found = solid(lx, value, node)
    if isinstance(found, Sym) and isinstance(found.type, Array):
        return found
    lx.refuse(node, f"{lx.kind(value)} where an array is needed", "make it an array: np.array(...)")


def copied(lx: Lowering, value: Value, node: ast.AST) -> Sym:
    """An array of the value's elements that nothing else refers to."""
    return materialise(lx, elements_of(lx, value, node), node)


def wrote(lx: Lowering, mark: int) -> bool:
    """Whether statements since the mark may have changed memory that was there before."""
    return any(
        isinstance(s, Call) or (isinstance(s, Store) and not s.fills) for s in walk(lx.builder.since(mark))
    )


def settle(lx: Lowering, value: Value, mark: int, node: ast.AST) -> Value:
    """The value as it was at the mark: kept in memory if what was built since may change what it is computed from.

    A part of an array is a view: it shows what was written since.
    """
    shows = isinstance(value, Elements) and (value.part is not None or value.shows is not None)
    if not isinstance(value, Elements) or shows or not wrote(lx, mark):
        return value
    with lx.builder.collect() as block:
        kept = _kept(lx, value, node)
    lx.builder.insert(mark, tuple(block))
    return kept
