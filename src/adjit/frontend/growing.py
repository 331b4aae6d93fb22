"""Lists that grow and shrink: an array for each number of an item, with room to spare, and a count.

    items = []          ->   column = empty(8); n = 0
    items.append(e)     ->   if n == len(column): column = copy of it, twice as long
                             column[n] = e; n += 1
    v = items.pop()     ->   n -= 1; v = column[n]

Which lists change their length is found while the program is lowered: the first time it is seen of one, the program is
lowered anew with the list made so (`values.ListFound`), and again once the first item shows its structure.
What the names of a list stand for after a change is in `list_names`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NoReturn

from adjit.frontend import array_functions, arrays, expressions, indexing, iteration, list_names
from adjit.frontend.context import DeadPath, Lowering
from adjit.frontend.values import (
    NONE,
    Elements,
    Growing,
    ListFound,
    SliceValue,
    TupleValue,
    Value,
    atoms,
    fits,
    is_scalar,
    rebuild,
)
from adjit.ir.core import ONE, ZERO, Atom, Const, If, Slice, Sym, Undef, const
from adjit.ir.types import BOOL, FLOAT64, UNKNOWN, Array

_ROOM = 8
"""How many items a list has room for at first."""


def born(lx: Lowering, node: ast.AST, value: Value) -> Value:
    """A list that an expression makes: one that grows, if it is known to."""
    if not isinstance(value, Sym) or value not in lx.lists or value in lx.sites:
        return value
    if node not in lx.growing:
        lx.sites[value] = node
        return value
    return Growing((value,), indexing.extent(lx, value, 0), Undef(UNKNOWN), node, frozenset({object()}))


def made(lx: Lowering, node: ast.AST, items: Sequence[Value]) -> Growing:
    """A list of no items, or of tuples."""
    shape = _structure(lx, items[0], node) if items else lx.growing.get(node)
    owners = frozenset({object()})
    if shape is None:
        return Growing((), ZERO, None, node, owners)
    rows = [_entries(lx, shape, item, node) for item in items]
    room = const(max(_ROOM, 2 * len(rows)))
    columns: list[Sym] = []
    for k, _ in enumerate(atoms(shape)):
        column = lx.builder.alloc("items", Array(UNKNOWN, 1, "C"), (room,))
        lx.lists.add(column)
        with lx.builder.filling(column):
            for i, row in enumerate(rows):
                lx.builder.store(column, (const(i),), row[k])
        columns.append(column)
    return Growing(tuple(columns), const(len(rows)), shape, node, owners)


def _structure(lx: Lowering, item: Value, node: ast.AST) -> Value:
    """What an item is made of, its numbers left open."""
    if isinstance(item, TupleValue):
        return TupleValue(tuple(_structure(lx, v, node) for v in item.items), item.cls)
    if isinstance(item, Elements) and not item.shape:
        return Undef(UNKNOWN)
    if not is_scalar(item):
        what = "a list of lists" if lx.is_list(item) else f"a list that holds {lx.kind(item)}"
        remedy = "use an array of one more dimension, and count the rows that are in use"
        lx.refuse(node, f"{what} is not supported", remedy)
    return Undef(UNKNOWN)


def _entries(lx: Lowering, shape: Value, item: Value, node: ast.AST) -> list[Atom]:
    """The numbers of an item."""
    if fits(_structure(lx, item, node), shape) is None:
        reason = f"{lx.kind(item)} is put in a list of other items"
        lx.refuse(node, reason, "let all items be numbers, or tuples of one length")
    return list(_numbers(lx, item, node))


def _numbers(lx: Lowering, item: Value, node: ast.AST) -> Iterator[Atom]:
    if isinstance(item, TupleValue):
        for v in item.items:
            yield from _numbers(lx, v, node)
    else:
        yield expressions.number(lx, item, node)


# what a list is to the rest of the frontend


def settled(lx: Lowering, value: Value) -> Value:
    """A list of numbers as an array that shows it as it is now; any other value as it is."""
    if not isinstance(value, Growing):
        return value
    if value.shape is None:
        view = lx.builder.alloc("items", Array(FLOAT64, 1, "C"), (ZERO,))
    elif not isinstance(value.shape, TupleValue):
        view = _shown(lx, value.columns[0], value.count)
    else:
        return value
    lx.lists.add(view)
    lx.seen[view] = value.owners
    return view


def _shown(lx: Lowering, column: Atom, count: Atom) -> Sym:
    column = _array(column)
    assert isinstance(column.type, Array)
    return lx.builder.view(column, (Slice(None, count),), Array(column.type.dtype, 1, "?"))


def _array(column: Atom) -> Sym:
    assert isinstance(column, Sym)
    return column


def item(lx: Lowering, owner: Growing, k: Atom, node: ast.AST) -> Value:
    """Item `k`, 0 <= k < count."""
    if owner.shape is None:
        _never(lx, "list index out of range", node)
    with lx.at(node):
        return rebuild(owner.shape, iter([lx.builder.load(_array(c), (k,)) for c in owner.columns]))


def load(lx: Lowering, owner: Growing, index: Value, node: ast.AST) -> Value:
    """`owner[index]`, of a list of tuples."""
    if owner.shape is None or isinstance(index, SliceValue) or not is_scalar(index):
        lx.refuse(node, f"a list of tuples is indexed by {lx.kind(index)}", "take its items in a loop")
    found = (indexing.load(lx, _shown(lx, c, owner.count), index, node) for c in owner.columns)
    return rebuild(owner.shape, (expressions.number(lx, v, node) for v in found))


def store(lx: Lowering, owner: Growing, index: Value, value: Value, node: ast.AST) -> None:
    """`owner[index] = value`, of a list of tuples."""
    if owner.shape is None or not is_scalar(index):
        lx.refuse(node, f"a list of tuples is indexed by {lx.kind(index)}", "assign its items in a loop")
    at = _place(lx, owner, expressions.number(lx, index, node), node)
    with lx.at(node):
        for column, number in zip(owner.columns, _entries(lx, owner.shape, value, node), strict=True):
            lx.builder.store(_array(column), (at,), number)


# changes


def method(lx: Lowering, owner: Value, name: str) -> None:
    """A method of a list is about to be called: one that changes its length needs a list that grows."""
    if isinstance(owner, Sym) and name in METHODS and name != "copy" and owner in lx.sites:
        raise ListFound(lx.sites[owner], None)


def call(lx: Lowering, owner: Growing, name: str, args: list[Value], node: ast.AST) -> Value:
    """`owner.name(*args)`."""
    most = {"append": (1, 1), "extend": (1, 1), "insert": (2, 2), "pop": (0, 1)}.get(name, (0, 0))
    if not most[0] <= len(args) <= most[1]:
        lx.refuse(node, f"'{name}' with {len(args)} arguments", "give as many as the list's method has")
    return METHODS[name](lx, owner, args, node)


def _append(lx: Lowering, owner: Growing, args: list[Value], node: ast.AST) -> Value:
    list_names.changed(lx, owner, _appended(lx, owner, args[0], node), node)
    return NONE


def _appended(lx: Lowering, owner: Growing, value: Value, node: ast.AST) -> Growing:
    if owner.shape is None:
        raise ListFound(owner.site, _structure(lx, value, node))
    entries = _entries(lx, owner.shape, value, node)
    with lx.at(node):
        after = expressions.integer(lx, "add", owner.count, ONE)
        owner = _with_room(lx, owner, after, node)
        _put(lx, owner, owner.count, entries)
    return replace(owner, count=after)


def _put(lx: Lowering, owner: Growing, k: Atom, entries: Sequence[Atom]) -> None:
    for column, entry in zip(map(_array, owner.columns), entries, strict=True):
        with lx.builder.filling(column):
            lx.builder.store(column, (k,), entry)


def _with_room(lx: Lowering, owner: Growing, needed: Atom, node: ast.AST) -> Growing:
    """The list with room for so many items."""
    enough = lx.let("le", needed, indexing.extent(lx, _array(owner.columns[0]), 0), type=BOOL, name="fits")

    def larger(column: Sym) -> Sym:
        assert isinstance(column.type, Array)
        room = expressions.integer(lx, "mul", needed, const(2))
        room = expressions.integer(lx, "add", room, const(_ROOM))
        made = lx.builder.alloc(column.name, Array(column.type.dtype, 1, "C"), (room,))
        with lx.builder.filling(made):
            arrays.counted(
                lx, owner.count, lambda k: lx.builder.store(made, (k,), lx.builder.load(column, (k,)))
            )
        return made

    def grown() -> Value:
        return TupleValue(tuple(larger(_array(c)) for c in owner.columns))

    found = lx.branch(enough, lambda: TupleValue(owner.columns), grown, node)
    assert isinstance(found, TupleValue)
    return replace(owner, columns=tuple(atoms(found)))


def _extend(lx: Lowering, owner: Growing, args: list[Value], node: ast.AST) -> Value:
    source = settled(lx, args[0])
    items = iteration.static_items(lx, source, node)
    if items is not None:
        new = owner
        for value in items:
            new = _appended(lx, new, value, node)
    else:
        new = _extended(lx, owner, source, node)
    list_names.changed(lx, owner, new, node)
    return NONE


def _extended(lx: Lowering, owner: Growing, source: Value, node: ast.AST) -> Growing:
    with lx.builder.collect() as block:
        shown = _structure(lx, iteration.item(lx, source, Sym("k", UNKNOWN), node), node)
    del block
    if owner.shape is None:
        raise ListFound(owner.site, shown)
    with lx.at(node):
        after = expressions.integer(lx, "add", owner.count, iteration.count(lx, source, node))
        new = _with_room(lx, owner, after, node)
        start, shape = owner.count, owner.shape

        def body(k: Sym) -> None:
            entries = _entries(lx, shape, iteration.item(lx, source, k, node), node)
            _put(lx, new, expressions.integer(lx, "add", start, k), entries)

        arrays.counted(lx, expressions.integer(lx, "sub", after, start), body)
    return replace(new, count=after)


def _pop(lx: Lowering, owner: Growing, args: list[Value], node: ast.AST) -> Value:
    if owner.shape is None or owner.count == ZERO:
        _never(lx, "pop from empty list", node)
    with lx.at(node):
        _raise_if(lx, lx.let("eq", owner.count, ZERO, type=BOOL), "pop from empty list", node)
        last = expressions.integer(lx, "sub", owner.count, ONE)
        if not args:
            found = item(lx, owner, last, node)
        else:
            at = _place(lx, owner, expressions.number(lx, args[0], node), node)
            found = item(lx, owner, at, node)
            behind = expressions.integer(lx, "sub", last, at)
            _moved(lx, owner, behind, lambda k: (_plus(lx, at, k), _plus(lx, _plus(lx, at, k), ONE)))
    list_names.changed(lx, owner, replace(owner, count=last), node)
    return found


def _plus(lx: Lowering, a: Atom, b: Atom) -> Atom:
    return expressions.integer(lx, "add", a, b)


def _place(lx: Lowering, owner: Growing, index: Atom, node: ast.AST) -> Atom:
    """The place of an index, which may count from the end; IndexError where there is none."""
    if isinstance(index, Const) and index.integer < 0:
        at = expressions.integer(lx, "add", owner.count, index)
    elif isinstance(index, Const):
        at = index
    else:
        from_end = expressions.integer(lx, "add", owner.count, index)
        below = lx.let("lt", index, ZERO, type=BOOL)
        at = expressions.number(lx, lx.branch(below, lambda: from_end, lambda: index, node), node)
    outside = lx.let(
        "or_",
        lx.let("lt", at, ZERO, type=BOOL),
        lx.let("ge", at, owner.count, type=BOOL),
        type=BOOL,
    )
    _raise_if(lx, outside, "list index out of range", node)
    return at


def _never(lx: Lowering, message: str, node: ast.AST) -> NoReturn:
    """Nothing was put in the list before: should it be later, in a loop, the program is lowered once more."""
    lx.builder.append(lx.failure(message, node, "IndexError"))
    raise DeadPath


def _raise_if(lx: Lowering, test: Atom, message: str, node: ast.AST) -> None:
    if not lx.parallel_loops:
        lx.builder.append(If(test, (lx.failure(message, node, "IndexError"),), (), span=lx.span(node)))


def _moved(lx: Lowering, owner: Growing, n: Atom, places: Callable[[Sym], tuple[Atom, Atom]]) -> None:
    """`n` items moved one by one, each to its new place from its old one."""

    def body(k: Sym) -> None:
        to, source = places(k)
        for column in map(_array, owner.columns):
            lx.builder.store(column, (to,), lx.builder.load(column, (source,)))

    arrays.counted(lx, n, body)


def _insert(lx: Lowering, owner: Growing, args: list[Value], node: ast.AST) -> Value:
    if owner.shape is None:
        raise ListFound(owner.site, _structure(lx, args[1], node))
    entries = _entries(lx, owner.shape, args[1], node)
    index = expressions.number(lx, args[0], node)
    with lx.at(node):
        below = lx.let("lt", index, ZERO, type=BOOL)
        from_end = expressions.integer(lx, "add", owner.count, index)
        at = expressions.number(lx, lx.branch(below, lambda: from_end, lambda: index, node), node)
        at = lx.let("min", lx.let("max", at, ZERO, fn="max"), owner.count, fn="min")
        after = expressions.integer(lx, "add", owner.count, ONE)
        new = _with_room(lx, owner, after, node)
        n = owner.count
        behind = expressions.integer(lx, "sub", n, at)

        def places(k: Sym) -> tuple[Atom, Atom]:
            to = expressions.integer(lx, "sub", n, k)
            return to, expressions.integer(lx, "sub", to, ONE)

        _moved(lx, new, behind, places)
        _put(lx, new, at, entries)
    list_names.changed(lx, owner, replace(new, count=after), node)
    return NONE


def _clear(lx: Lowering, owner: Growing, args: list[Value], node: ast.AST) -> Value:
    list_names.changed(lx, owner, replace(owner, count=ZERO), node)
    return NONE


def _reverse(lx: Lowering, owner: Growing, args: list[Value], node: ast.AST) -> Value:
    with lx.at(node):
        last = expressions.integer(lx, "sub", owner.count, ONE)
        half = expressions.integer(lx, "floordiv", owner.count, const(2))

        def body(k: Sym) -> None:
            other = expressions.integer(lx, "sub", last, k)
            for column in map(_array, owner.columns):
                a, b = lx.builder.load(column, (k,)), lx.builder.load(column, (other,))
                lx.builder.store(column, (k,), b)
                lx.builder.store(column, (other,), a)

        arrays.counted(lx, half, body)
    return NONE


def _sort(lx: Lowering, owner: Growing, args: list[Value], node: ast.AST) -> Value:
    if owner.shape is None:
        return NONE
    if isinstance(owner.shape, TupleValue):
        lx.refuse(node, "a list of tuples is sorted", "sort an array of keys by np.argsort")
    view = _shown(lx, owner.columns[0], owner.count)
    return array_functions.METHODS["sort"](lx, [view], {}, node)


def _copy(lx: Lowering, owner: Growing, args: list[Value], node: ast.AST) -> Value:
    with lx.at(node):
        columns = tuple(_copied(lx, _array(c), owner.count) for c in owner.columns)
    site = (
        owner.site if owner.shape is None else node
    )  # what is put in the copy shows what the items of both are
    return replace(owner, columns=columns, site=site, owners=frozenset({object()}))


def _copied(lx: Lowering, column: Sym, count: Atom) -> Sym:
    assert isinstance(column.type, Array)
    made = lx.builder.alloc(column.name, Array(column.type.dtype, 1, "C"), (count,))
    with lx.builder.filling(made):
        arrays.counted(lx, count, lambda k: lx.builder.store(made, (k,), lx.builder.load(column, (k,))))
    return made


METHODS: dict[str, Callable[[Lowering, Growing, list[Value], ast.AST], Value]] = {
    "append": _append,
    "extend": _extend,
    "insert": _insert,
    "pop": _pop,
    "clear": _clear,
    "reverse": _reverse,
    "sort": _sort,
    "copy": _copy,
}
