"""The elements of one array elsewhere: flips, rolls, diagonals, triangles, picks.

What NumPy gives as a view is one (`np.flip(x)` is `x[::-1]`), or, where that cannot be, a copy that `shown` watches.
"""

from __future__ import annotations

import ast

import numpy as np

from adjit.frontend import arrays, broadcasting, creation, elements, expressions, fancy, indexing, lanes
from adjit.frontend.arguments import Handler, bound
from adjit.frontend.context import Lowering
from adjit.frontend.lanes import ALL, BACKWARDS
from adjit.frontend.plain import copies, diagonals, picks
from adjit.frontend.values import NONE, Elements, Place, TupleValue, Value, is_scalar
from adjit.ir.core import ONE, ZERO, Atom, Const, Sym, const
from adjit.ir.types import BOOL, FLOAT64, INT64, Array

Given = dict[str, Value]


def viewed(lx: Lowering, array: Sym, items: list[Value], node: ast.AST) -> Sym:
    """`array[items]`, a view."""
    found = indexing.load(lx, array, TupleValue(tuple(items)), node)
    assert isinstance(found, Sym)
    return found


def _flipped(lx: Lowering, array: Sym, axes: set[int], node: ast.AST) -> Sym:
    items: list[Value] = [BACKWARDS if d in axes else ALL for d in range(lanes.rank_of(array))]
    return viewed(lx, array, items, node)


def flip(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.flip(m, axis=None)`: a view."""
    given = bound(lx, "np.flip", ("m", "axis"), 1)(args, kwargs, node)
    array = lanes.array_in(lx, given["m"], node, "np.flip")
    rank = lanes.rank_of(array)
    axis = given.get("axis", NONE)
    if lanes.none(axis):
        return _flipped(lx, array, set(range(rank)), node)
    items = axis.items if isinstance(axis, TupleValue) else (axis,)
    return _flipped(lx, array, {lanes.axis_in(lx, a, rank, node) for a in items}, node)


def _flip_of(name: str, axis: int) -> Handler:
    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        given = bound(lx, f"np.{name}", ("m",), 1)(args, kwargs, node)
        array = lanes.array_in(lx, given["m"], node, f"np.{name}")
        if lanes.rank_of(array) <= axis:
            lx.refuse(node, f"'np.{name}' of a {lanes.rank_of(array)}-D array", "take np.flip(x)")
        return _flipped(lx, array, {axis}, node)

    return handler


def rot90(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.rot90(m, k=1)` of a matrix, `k` a constant: a view."""
    given = bound(lx, "np.rot90", ("m", "k"), 1)(args, kwargs, node)
    array = lanes.array_in(lx, given["m"], node, "np.rot90")
    if lanes.rank_of(array) != 2:
        lx.refuse(node, "'np.rot90' of an array that is not a matrix", "loop over the other axes")
    k = lanes.constant(lx, given.get("k", ONE), "the number of turns", node) % 4
    if k == 0:
        return array
    if k == 2:
        return _flipped(lx, array, {0, 1}, node)
    turned = _flipped(lx, array, {1 if k == 1 else 0}, node)
    return arrays.attribute(lx, turned, "T", node)


def roll(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.roll(a, shift, axis=None)`: a copy."""
    given = bound(lx, "np.roll", ("a", "shift", "axis"), 2)(args, kwargs, node)
    array = lanes.array_in(lx, given["a"], node, "np.roll")
    axis = given.get("axis", NONE)
    if isinstance(given["shift"], TupleValue) or isinstance(axis, TupleValue):
        return _rolled(lx, array, given["shift"], axis, node)
    if not lanes.none(axis):
        return _roll(lx, array, lanes.axis_in(lx, axis, lanes.rank_of(array), node), given["shift"], node)
    if lanes.rank_of(array) == 1:
        return _roll(lx, array, 0, given["shift"], node)
    shape = arrays.shape_of(lx, array)
    moved = _roll(lx, lanes.flat(lx, array, node), 0, given["shift"], node)
    return elements.materialise(lx, lanes.boxed(lx, moved, shape), node)


def _rolled(lx: Lowering, array: Sym, shift: Value, axis: Value, node: ast.AST) -> Value:
    """Several axes, one after the other."""
    if not isinstance(axis, TupleValue):
        lx.refuse(node, "'np.roll' by several shifts without their axes", "give as many axes")
    by = shift.items if isinstance(shift, TupleValue) else (shift,) * len(axis.items)
    if len(by) != len(axis.items):
        lx.refuse(node, "'np.roll' by more or fewer shifts than axes", "give as many axes as shifts")
    for s, a in zip(by, axis.items, strict=True):
        array = _roll(lx, array, lanes.axis_in(lx, a, lanes.rank_of(array), node), s, node)
    return array


def _roll(lx: Lowering, array: Sym, axis: int, shift: Value, node: ast.AST) -> Sym:
    by = expressions.number(lx, shift, node)
    return lanes.along(lx, array, axis, copies.roll, node, more=[by], like=array)


# diagonals and triangles


def diag(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.diag(v, k=0)`: the diagonal of a matrix, or a matrix with this diagonal."""
    given = bound(lx, "np.diag", ("v", "k"), 1)(args, kwargs, node)
    array = lanes.array_in(lx, given["v"], node, "np.diag")
    if lanes.rank_of(array) == 1:
        return _matrix_of(lx, array, given.get("k", ZERO), node)
    found = diagonal_of(lx, array, given.get("k", ZERO), "np.diag", node)
    return found if lx.frame.plain else elements.materialise(lx, found, node)


def diagflat(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.diagflat(v, k=0)`: a matrix with all elements on its diagonal."""
    given = bound(lx, "np.diagflat", ("v", "k"), 1)(args, kwargs, node)
    array = lanes.array_in(lx, given["v"], node, "np.diagflat")
    return _matrix_of(lx, lanes.flat(lx, array, node), given.get("k", ZERO), node)


def _matrix_of(lx: Lowering, vector: Sym, k: Value, node: ast.AST) -> Sym:
    offset = expressions.number(lx, k, node)
    (n,) = arrays.shape_of(lx, vector)
    wide = lanes.count(lx, diagonals.matrix_count, [n, offset], node)
    made = lanes.zeros_like(lx, (wide, wide), vector, node)
    lanes.run(lx, diagonals.put_diagonal, [made, vector, offset], node)
    return made


def diagonal_of(lx: Lowering, array: Sym, k: Value, name: str, node: ast.AST) -> Elements:
    """The diagonal of a matrix, `k` above the main one."""
    if lanes.rank_of(array) != 2:
        lx.refuse(node, f"'{name}' of a {lanes.rank_of(array)}-D array", "loop over its matrices")
    offset = expressions.number(lx, k, node)
    rows, columns = arrays.shape_of(lx, array)
    n = rows if offset == ZERO and lx.integers.same(rows, columns) else None
    n = n or lanes.count(lx, diagonals.diagonal_count, [rows, columns, offset], node)
    down, right = ZERO, offset
    if not (isinstance(offset, Const) and offset.value.real >= 0):
        down = lanes.count(lx, diagonals.down, [offset], node)
        right = lanes.count(lx, diagonals.down, [_negative(lx, offset)], node)
    whole = elements.whole(lx, array)

    def at(places: tuple[Place, ...]) -> Atom:
        i = elements.position(lx, places[0])
        row, column = (expressions.integer(lx, "add", i, d) for d in (down, right))
        return whole.at((Place(row), Place(column)))

    return Elements((n,), at, whole.dtype, shows=(array, name))


def _negative(lx: Lowering, a: Atom) -> Atom:
    return expressions.integer(lx, "sub", ZERO, a)


def diagonal(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.diagonal(a, offset=0)` of a matrix: a view."""
    given = bound(lx, "np.diagonal", ("a", "offset", "axis1", "axis2"), 1)(args, kwargs, node)
    lanes.refuse_given(lx, "diagonal", given, ("axis1", "axis2"), node)
    array = lanes.array_in(lx, given["a"], node, "np.diagonal")
    return diagonal_of(lx, array, given.get("offset", ZERO), "np.diagonal", node)


def _triangle(name: str) -> Handler:
    """`np.triu(m, k=0)` and `np.tril` of matrices (and of each matrix of more axes)."""

    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        given = bound(lx, f"np.{name}", ("m", "k"), 1)(args, kwargs, node)
        source = lanes.readable(lx, given["m"], node)
        if len(source.shape) < 2:
            lx.refuse(node, f"'np.{name}' of an array that is not a matrix", "make it a matrix first")
        offset = expressions.number(lx, given.get("k", ZERO), node)
        op = "ge" if name == "triu" else "le"
        zero = lanes.literal(source.dtype, 0)

        def at(places: tuple[Place, ...]) -> Atom:
            row, column = (elements.position(lx, p) for p in places[-2:])
            inside = lx.let(op, expressions.integer(lx, "sub", column, row), offset, type=BOOL)
            return lx.let("select", inside, source.at(places), zero, type=source.dtype)

        return Elements(source.shape, at, source.dtype)

    return handler


def tri(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.tri(N, M=None, k=0, dtype=float)`: ones at and below a diagonal."""
    given = bound(lx, "np.tri", ("N", "M", "k", "dtype"), 1)(args, kwargs, node)
    rows = expressions.number(lx, given["N"], node)
    columns = rows if lanes.none(given.get("M", NONE)) else expressions.number(lx, given["M"], node)
    offset = expressions.number(lx, given.get("k", ZERO), node)
    kind = given.get("dtype", NONE)
    dtype = FLOAT64 if lanes.none(kind) else creation.dtype_of(lx, kind, node)
    made = lx.builder.alloc("a", Array(dtype, 2, "C"), (rows, columns), creation.zero_of(dtype, 0))
    lanes.run(lx, diagonals.put_ones, [made, offset], node)
    return made


def _triangle_indices(name: str) -> Handler:
    """`np.triu_indices(n, k, m)`, `np.tril_indices`, and their `_from` an array: two arrays of ints."""

    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        if name.endswith("_from"):
            given = bound(lx, f"np.{name}", ("arr", "k"), 1)(args, kwargs, node)
            array = lanes.array_in(lx, given["arr"], node, f"np.{name}")
            if lanes.rank_of(array) != 2:
                lx.refuse(node, f"'np.{name}' of an array that is not a matrix", "pass a matrix")
            rows, columns = arrays.shape_of(lx, array)
        else:
            given = bound(lx, f"np.{name}", ("n", "k", "m"), 1)(args, kwargs, node)
            rows = expressions.number(lx, given["n"], node)
            wide = given.get("m", NONE)
            columns = rows if lanes.none(wide) else expressions.number(lx, wide, node)
        offset = expressions.number(lx, given.get("k", ZERO), node)
        upper = const(name.startswith("triu"))
        more = [rows, columns, offset, upper]
        n = lanes.count(lx, diagonals.triangle_count, more, node)
        made = [lx.builder.alloc("at", Array(INT64, 1, "C"), (n,)) for _ in range(2)]
        lanes.run(lx, diagonals.put_triangle, [*made, *more], node)
        return TupleValue(tuple(made))

    return handler


def fill_diagonal(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.fill_diagonal(a, val)`, in place; an array of values is used around and around."""
    given = bound(lx, "np.fill_diagonal", ("a", "val"), 2)(args, kwargs, node)
    array = lanes.array_in(lx, given["a"], node, "np.fill_diagonal")
    if lanes.rank_of(array) != 2:
        lx.refuse(node, f"'np.fill_diagonal' of a {lanes.rank_of(array)}-D array", "write the loop")
    value = given["val"]
    if is_scalar(value):
        lanes.run(lx, diagonals.fill_diagonal, [array, value], node)
    else:
        values = lanes.flat(lx, lanes.array_in(lx, value, node), node)
        lanes.run(lx, diagonals.fill_diagonal_with, [array, elements.copied(lx, values, node)], node)
    return NONE


# picks


def take(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.take(a, indices, axis=None)`."""
    given = bound(lx, "np.take", ("a", "indices", "axis"), 2)(args, kwargs, node)
    array = lanes.array_in(lx, given["a"], node, "np.take")
    indices = given["indices"]
    if not is_scalar(indices):
        indices = lanes.array_in(lx, indices, node, "np.take")
    axis = given.get("axis", NONE)
    if lanes.none(axis):
        array, before = lanes.flat(lx, array, node), 0
    else:
        before = lanes.axis_in(lx, axis, lanes.rank_of(array), node)
    if is_scalar(indices):
        found = indexing.load(lx, array, TupleValue((*[ALL] * before, indices)), node)
        view = isinstance(found, Sym) and isinstance(found.type, Array)
        return elements.copied(lx, found, node) if view else found
    return fancy.gather(lx, array, (*[ALL] * before, indices), node)


def take_along_axis(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.take_along_axis(arr, indices, axis)`."""
    given = bound(lx, "np.take_along_axis", ("arr", "indices", "axis"), 3)(args, kwargs, node)
    array = lanes.array_in(lx, given["arr"], node, "np.take_along_axis")
    indices = lanes.array_in(lx, given["indices"], node, "np.take_along_axis")
    if lanes.none(given["axis"]):
        array, given["axis"] = lanes.flat(lx, array, node), ZERO
    if lanes.rank_of(indices) != lanes.rank_of(array):
        lx.refuse(
            node,
            "'np.take_along_axis' with indices of other dimensions than the array",
            "give as many: idx[:, None]",
        )
    axis = lanes.axis_in(lx, given["axis"], lanes.rank_of(array), node)
    chosen, source = elements.whole(lx, indices), elements.whole(lx, array)
    for d, (a, b) in enumerate(zip(chosen.shape, source.shape, strict=True)):
        if d != axis:
            broadcasting.check_equal(lx, a, b, "shape mismatch: indexing arrays could not be broadcast", node)

    def at(places: tuple[Place, ...]) -> Atom:
        index = [elements.position(lx, p) for p in places]
        index[axis] = chosen.at(places)
        base, before = lx.prefix(array)
        return lx.builder.load(base, (*before, *index))

    return Elements(chosen.shape, at, source.dtype)


def extract(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.extract(condition, arr)`: the elements where the condition holds."""
    given = bound(lx, "np.extract", ("condition", "arr"), 2)(args, kwargs, node)
    mask, array = (
        lanes.flat(lx, lanes.array_in(lx, given[k], node, "np.extract"), node) for k in ("condition", "arr")
    )
    lanes.run(lx, picks.check_condition, [mask, array], node)
    (at,) = fancy.nonzero(lx, mask, node)
    return fancy.gather(lx, array, (at,), node)


def select(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.select(condlist, choicelist, default=0)`: the choice of the first condition that holds."""
    given = bound(lx, "np.select", ("condlist", "choicelist", "default"), 2)(args, kwargs, node)
    lists = [given["condlist"], given["choicelist"]]
    if not all(isinstance(v, TupleValue) and v.items for v in lists):
        lx.refuse(node, "'np.select' of these lists is not supported", "write the lists in the call")
    conditions, choices = (v.items for v in lists if isinstance(v, TupleValue))
    if len(conditions) != len(choices):
        lx.refuse(
            node, "'np.select' with more or fewer choices than conditions", "give a choice for each condition"
        )
    value: Value = given.get("default", ZERO)
    for test, choice in zip(conditions[::-1], choices[::-1], strict=True):
        value = elements.apply(lx, "select", (test, choice, value), node)
    return value


def _pair(name: str, function: object, *names: str) -> Handler:
    """A function of `plain` of a 1-D array (more axes in a row) and numbers."""

    def handler(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
        given = bound(lx, f"np.{name}", names, len(names))(args, kwargs, node)
        array = lanes.flat(lx, lanes.array_in(lx, given[names[0]], node, f"np.{name}"), node)
        more = [expressions.number(lx, given[k], node) for k in names[1:]]
        return lanes.run(lx, function, [array, *more], node)  # type: ignore[arg-type]

    return handler


HANDLERS: dict[object, Handler] = {
    np.flip: flip,
    np.flipud: _flip_of("flipud", 0),
    np.fliplr: _flip_of("fliplr", 1),
    np.rot90: rot90,
    np.roll: roll,
    np.diag: diag,
    np.diagflat: diagflat,
    np.diagonal: diagonal,
    np.triu: _triangle("triu"),
    np.tril: _triangle("tril"),
    np.tri: tri,
    **{
        getattr(np, name): _triangle_indices(name)
        for name in ("triu_indices", "tril_indices", "triu_indices_from", "tril_indices_from")
    },
    np.fill_diagonal: fill_diagonal,
    np.take: take,
    np.take_along_axis: take_along_axis,
    np.extract: extract,
    np.select: select,
    np.trim_zeros: _pair("trim_zeros", picks.trim_zeros, "filt"),
}

METHODS: dict[str, Handler] = {"take": take, "diagonal": diagonal}
LAZY = (np.triu, np.tril)
LISTS = (np.select,)
