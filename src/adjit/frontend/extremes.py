"""The least and the greatest of whole arrays, and where they are.

    np.max(x)              ->    k = where the greatest is; x[k]

They are found without derivatives and then read, so that the derivative goes to that one element. With a number to
start from (`initial`), the place is -1 where that number is it.
"""

from __future__ import annotations

import ast

from adjit.frontend import calls, elements, expressions
from adjit.frontend.context import DeadPath, Lowering
from adjit.frontend.values import Elements, Place, Value
from adjit.ir.core import ONE, TRUE, ZERO, Atom, Const, If, const
from adjit.ir.types import BOOL, INT64


def count(lx: Lowering, source: Elements, axes: frozenset[int]) -> Atom:
    """How many elements are reduced to one."""
    size: Atom = ONE
    for d in sorted(axes):
        size = expressions.integer(lx, "mul", size, source.shape[d])
    return size


def extreme(
    lx: Lowering,
    name: str,
    source: Elements,
    axes: frozenset[int],
    node: ast.AST,
    initial: Atom | None = None,
    mask: Elements | None = None,
) -> Value:
    """min, max, argmin or argmax over some axes, from a number to start from on, where a condition holds."""
    least = name.endswith("min")
    where = name.startswith("arg")
    if where and len(axes) not in (1, len(source.shape)):
        lx.refuse(node, f"'{name}' over several axes", "reshape the array, so that they are one")
    inner = tuple(sorted(axes))
    if initial is None:
        _refuse_nothing(lx, source, axes, name, node)
    elif source.dtype.known:
        initial = calls.convert(lx, initial, source.dtype, f"numpy.{source.dtype.name}", node)
    shape = tuple(source.shape[d] for d in inner)
    left = [d for d in range(len(source.shape)) if d not in axes]

    def found(outer: tuple[Place, ...]) -> Atom:
        """The number for one place of the other axes."""

        def places(ours: tuple[Place, ...]) -> tuple[Place, ...]:
            both = dict(zip(left, outer, strict=True)) | dict(zip(inner, ours, strict=True))
            return tuple(both[d] for d in range(len(source.shape)))

        def step(ours: tuple[Place, ...], carried: tuple[Atom, ...]) -> tuple[Atom, ...]:
            v, best, *at = source.at(places(ours)), *carried
            better = lx.let("lt" if least else "gt", v, best, type=BOOL)
            if not source.dtype.is_int:  # the first NaN is it, and stays
                better = lx.let("or_", better, lx.let("ne", v, v, type=BOOL), type=BOOL)
                better = lx.let("and_", better, lx.let("eq", best, best, type=BOOL), type=BOOL)
            if mask is not None:
                better = lx.let("and_", mask.at(places(ours)), better, type=BOOL)
            here = [elements.position(lx, p) for p in ours]
            pairs = zip(here, at, strict=True)
            return (
                lx.let("select", better, v, best),
                *(lx.let("select", better, h, a, type=INT64, name="at") for h, a in pairs),
            )

        def there() -> Atom:
            return source.at(places(tuple(Place(a) for a in at)))

        start = initial
        if start is not None:
            _, *at = elements.fold(lx, shape, (start, *(const(-1) for _ in inner)), step)
            from_start = lx.let("lt", at[0], ZERO, type=BOOL) if at else TRUE
            return expressions.number(lx, lx.branch(from_start, lambda: start, there, node), node)
        first = source.at(places(tuple(Place(ZERO) for _ in inner)))
        _, *at = elements.fold(lx, shape, (first, *(ZERO for _ in inner)), step)
        return _flat(lx, at, shape) if where else there()

    if not left:
        return found(())
    dtype = INT64 if where else source.dtype
    rest = Elements(tuple(source.shape[d] for d in left), found, dtype)
    return elements.materialise(lx, rest, node)


def _flat(lx: Lowering, index: list[Atom], shape: tuple[Atom, ...]) -> Atom:
    total_: Atom = ZERO
    for i, n in zip(index, shape, strict=True):
        total_ = expressions.integer(lx, "add", expressions.integer(lx, "mul", total_, n), i)
    return total_


def _refuse_nothing(lx: Lowering, source: Elements, axes: frozenset[int], name: str, node: ast.AST) -> None:
    """NumPy raises where there is no element to choose."""
    size = count(lx, source, axes)
    message = f"zero-size array to reduction operation {name} which has no identity"
    if name.startswith("arg"):
        message = f"attempt to get {name} of an empty sequence"
    failure = lx.failure(message, node)
    if isinstance(size, Const):
        if size.value == 0:
            lx.builder.append(failure)
            raise DeadPath
        return
    lx.builder.append(If(lx.let("eq", size, ZERO, type=BOOL), (failure,), (), span=lx.span(node)))
