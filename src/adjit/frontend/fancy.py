"""Arrays as indices: picked elements (`x[idx]`, `x[i, idx]`, `x[mask]`), and stores to them.

A mask stands for the indices of its true elements, one array of them for each of its axes. What is picked is a new
array; a store evaluates everything first, then stores in order, so that of repeated indices the last one wins. A number
that is stored through a mask needs no indices: `x[mask] = v` is `x[:] = where(mask, v, x)`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from adjit.frontend import broadcasting, elements, expressions, indexing, slices, stores
from adjit.frontend.context import Lowering
from adjit.frontend.values import Axis, Elements, Place, Static, TupleValue, Value, is_array, is_scalar
from adjit.ir.core import ONE, ZERO, Atom, If, Slice, Sym
from adjit.ir.types import BOOL, INT64, Array

Item = Atom | Axis | Elements | None


@dataclass(frozen=True)
class Picking:
    """Elements of an array that are named by index arrays.

    items: one per axis (numbers, parts of axes, index arrays), and None for each new axis. common: the shape that the
    index arrays have together; its axes stand at `lead` in `shape`.
    """

    owner: Sym
    items: tuple[Item, ...]
    common: tuple[Atom, ...]
    lead: int
    shape: tuple[Atom, ...]

    def index(self, lx: Lowering, places: tuple[Place, ...]) -> tuple[Sym, tuple[Atom, ...]]:
        """The array in memory and the index of the element at these places."""
        end = self.lead + len(self.common)
        picked, rest = places[self.lead : end], iter((*places[: self.lead], *places[end:]))
        index: list[Atom] = []
        for item in self.items:
            if isinstance(item, Elements):
                index.append(item.at(broadcasting.aligned(picked, item.shape)))
            elif isinstance(item, Axis):
                index += elements.index_at(lx, (item,), (next(rest),))
            elif item is None:
                next(rest)
            else:
                index.append(item)
        base, before = lx.prefix(self.owner)
        return base, (*before, *index)


def picking(lx: Lowering, owner: Sym, parts: tuple[Value, ...], node: ast.AST) -> Picking:
    """What `owner[parts]` names, where at least one part is an array."""
    items = _items(lx, owner, parts, node)
    chosen_by = broadcasting.stretched(lx, [i for i in items if isinstance(i, Elements)], node)
    common, arrays = broadcasting.broadcast(lx, chosen_by, node)
    rest = iter(arrays)
    items = tuple(next(rest) if isinstance(i, Elements) else i for i in items)
    chosen = [k for k, i in enumerate(items) if i is not None and not isinstance(i, Axis)]
    together = chosen[-1] - chosen[0] + 1 == len(chosen)
    before = items[: chosen[0]] if together else ()
    after = items[chosen[-1] + 1 :] if together else items
    free = [tuple(_extent(i) for i in side if i is None or isinstance(i, Axis)) for side in (before, after)]
    return Picking(owner, items, common, len(free[0]), (*free[0], *common, *free[1]))


def _extent(item: Axis | None) -> Atom:
    return ONE if item is None else item.extent


def _items(lx: Lowering, owner: Sym, parts: tuple[Value, ...], node: ast.AST) -> tuple[Item, ...]:
    assert isinstance(owner.type, Array)
    rank = owner.type.ndim
    used = sum(_axes_of(p) for p in parts)
    indexing.refuse_surplus(lx, owner, used, node)
    missing = [Slice()] * (rank - used)
    spelled = list(parts)
    dots = [k for k, p in enumerate(parts) if isinstance(p, Static) and p.value is Ellipsis]
    if len(dots) > 1:
        lx.refuse(node, "an index has at most one '...'", "write ':' for the other axes")
    at = dots[0] if dots else len(parts)
    out: list[Item] = []
    axis = 0
    for p in (*spelled[:at], *missing, *spelled[at + len(dots) :]):
        if isinstance(p, Slice):
            out.append(slices.axis_of(lx, p, lx.extent(owner, axis), node))
        elif isinstance(p, Static) and p.value is None:
            out.append(None)
            continue
        elif elements.is_whole(p):
            out += _index_arrays(lx, owner, axis, p, node)
        else:
            item = indexing.item(lx, p, node)
            whole = isinstance(item, Slice)
            out.append(slices.axis_of(lx, item, lx.extent(owner, axis), node) if whole else item)
        axis += _axes_of(p)
    return tuple(out)


def _axes_of(part: Value | Slice) -> int:
    """How many axes of the array a part of the index takes."""
    if isinstance(part, Static) and (part.value is None or part.value is Ellipsis):
        return 0
    if not isinstance(part, Slice) and elements.is_whole(part) and elements.dtype_of(part) == BOOL:
        return elements.ndim_of(part)
    return 1


def _index_arrays(lx: Lowering, owner: Sym, axis: int, part: Value, node: ast.AST) -> list[Elements]:
    whole = elements.in_memory(lx, part, node)
    dtype = elements.dtype_of(whole)
    if dtype.known and not (dtype.is_int or dtype.is_bool):
        lx.refuse(node, f"an array of {dtype} is used as an index", "convert it: idx.astype(np.int64)")
    if dtype != BOOL:
        return [elements.whole(lx, whole)]
    _check_mask(lx, elements.whole(lx, whole), owner, axis, node)
    return [elements.whole(lx, a) for a in nonzero(lx, whole, node)]


def _check_mask(lx: Lowering, mask: Elements, owner: Sym, axis: int, node: ast.AST) -> None:
    """Raise IndexError unless a mask has the extents of the array from this axis on."""
    for d, extent in enumerate(mask.shape, axis):
        message = f"boolean index did not match indexed array along axis {d}"
        broadcasting.check_equal(lx, extent, lx.extent(owner, d), message, node, "IndexError")


def gather(lx: Lowering, owner: Sym, parts: tuple[Value, ...], node: ast.AST) -> Elements:
    """`owner[parts]`."""
    picked = picking(lx, owner, parts, node)
    assert isinstance(owner.type, Array)
    return Elements(picked.shape, lambda places: lx.builder.load(*picked.index(lx, places)), owner.type.dtype)


def scatter(lx: Lowering, owner: Value, parts: tuple[Value, ...], value: Value, node: ast.AST) -> None:
    """`owner[parts] = value`."""
    if not isinstance(owner, Sym) or not is_array(owner) or owner in lx.lists:
        lx.refuse(node, f"elements of {lx.kind(owner)} are assigned", "make it an array: np.array(...)")
    if elements.is_whole(value) and not elements.ndim_of(value):
        value = expressions.number(lx, value, node)
    if is_scalar(value) and masks_all(owner, parts):
        _check_mask(lx, elements.elements_of(lx, parts[0], node), owner, 0, node)
        chosen = elements.apply(lx, "select", (parts[0], value, owner), node)
        stores.assign(lx, elements.whole(lx, owner), chosen, node)
        return
    if not elements.dtype_of(owner).is_float:  # index arrays may be the array that is written
        parts = tuple(elements.copied(lx, p, node) if elements.is_whole(p) else p for p in parts)
    picked = picking(lx, owner, parts, node)
    source = elements.elements_of(lx, value, node)
    if source.shape:
        source = elements.whole(lx, elements.materialise(lx, source, node))
    source = stores.fitted(
        lx, source, picked.shape, "shape mismatch: value array could not be broadcast", node
    )

    def element(places: tuple[Place, ...]) -> None:
        lx.builder.store(*picked.index(lx, places), source.at(broadcasting.aligned(places, source.shape)))

    with lx.at(node):
        elements.nest(lx, picked.shape, element)


def masks_all(owner: Value, parts: tuple[Value, ...]) -> bool:
    """Whether the index is one mask over all axes of an array of floats."""
    mask = parts[0]
    return (
        len(parts) == 1
        and elements.is_whole(mask)
        and elements.dtype_of(mask) == BOOL
        and elements.ndim_of(mask) == elements.ndim_of(owner)
        and elements.dtype_of(owner).is_float
    )


def nonzero(lx: Lowering, mask: Sym, node: ast.AST) -> list[Sym]:
    """`np.nonzero(mask)`: the indices of the elements that are not zero, one array per axis."""
    if nonzero in lx.steps and not lx.parallel_loops:
        found = lx.steps[nonzero](lx, [mask], node)
        assert isinstance(found, TupleValue)
        return [a for a in found.items if isinstance(a, Sym)]
    whole = elements.whole(lx, mask)

    def count(places: tuple[Place, ...], carried: tuple[Atom, ...]) -> tuple[Atom, ...]:
        more = expressions.integer(lx, "add", carried[0], ONE)
        return (
            lx.let("select", expressions.truth(lx, whole.at(places), node), more, carried[0], type=INT64),
        )

    def put(places: tuple[Place, ...], carried: tuple[Atom, ...]) -> tuple[Atom, ...]:
        test = expressions.truth(lx, whole.at(places), node)
        with lx.builder.collect() as then:
            for array, p in zip(made, places, strict=True):
                lx.builder.store(array, carried, elements.position(lx, p))
            after = expressions.integer(lx, "add", carried[0], ONE)
        n = Sym("n", INT64)
        lx.builder.append(If(test, tuple(then), (), (after,), carried, (n,), lx.span(node)))
        return (n,)

    with lx.at(node):
        (total,) = elements.fold(lx, whole.shape, (ZERO,), count)
        if isinstance(total, Sym):
            lx.integers.counts.add(total)
        made = [lx.builder.alloc("at", Array(INT64, 1, "C"), (total,)) for _ in whole.shape]
        elements.fold(lx, whole.shape, (ZERO,), put)
    return made
