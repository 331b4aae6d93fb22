"""Arrays that a program makes, copies and asks: creation functions, attributes, methods, local lists."""

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np
from numba.core import types as nb_types

from adjit.frontend import expressions, indexing, liveness, loops, statements
from adjit.frontend.context import Env, Frame, Lowering
from adjit.frontend.values import (
    NONE,
    Method,
    Static,
    TupleValue,
    Value,
    is_array,
    is_scalar,
    kind,
    same_static,
)
from adjit.ir.core import ONE, ZERO, Atom, Const, Loop, Sym, Undef, View, const
from adjit.ir.types import BOOL, COMPLEX128, FLOAT64, INT64, UNKNOWN, Array, Scalar

REDUCTIONS = frozenset("sum mean prod min max argmin argmax any all std var cumsum dot sort argsort".split())


# attributes and methods


def attribute(lx: Lowering, array: Sym | Undef, name: str, node: ast.AST) -> Value:
    """`array.name`."""
    type_ = array.type
    assert isinstance(type_, Array)
    if isinstance(array, Undef):
        lx.refuse(node, "an array is read before it is assigned")
    if name == "shape":
        return TupleValue(shape_of(lx, array))
    if name == "ndim":
        return const(type_.ndim)
    if name == "size":
        return size_of(lx, array)
    if name == "dtype":
        if not type_.dtype.known:
            lx.refuse(node, "the dtype of this array is not known yet", "give the dtype explicitly")
        return Static(np.dtype(type_.dtype.name))
    if name == "T":
        if type_.ndim < 2:
            return array
        target = Sym(array.name, Array(type_.dtype, type_.ndim, "?", type_.readonly))
        lx.builder.append(View(target, array, (), True, lx.span(node)))
        return target
    return Method(array, name)


def shape_of(lx: Lowering, array: Sym) -> tuple[Atom, ...]:
    """The extents."""
    assert isinstance(array.type, Array)
    return tuple(indexing.extent(lx, array, d) for d in range(array.type.ndim))


def size_of(lx: Lowering, array: Sym) -> Atom:
    """The number of elements."""
    total: Atom = ONE
    for extent in shape_of(lx, array):
        total = expressions.integer(lx, "mul", total, extent)
    return total


def call_method(
    lx: Lowering, array: Sym, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """`array.name(*args)`."""
    if name == "copy" and not args and not kwargs:
        return copy(lx, array, None, node)
    if name == "astype" and len(args) == 1 and not kwargs:
        return copy(lx, array, dtype_of(lx, args[0], node), node)
    if name == "fill" and len(args) == 1 and not kwargs:
        value = expressions.number(lx, args[0], node)
        nest(lx, array, lambda index: lx.builder.store(array, index, value))
        return NONE
    if name == "item" and not args and isinstance(array.type, Array) and array.type.ndim == 0:
        return lx.builder.load(array, ())
    if array in lx.lists:
        lx.refuse(
            node, f"the list method '{name}' is not supported", "allocate an array and fill it in a loop"
        )
    if name in REDUCTIONS:
        lx.refuse(node, f"the array method '{name}' is not supported yet", "write the loop")
    lx.refuse(node, f"the array method '{name}' is not supported", "write the loop over its elements")


# creation


def dtype_of(lx: Lowering, value: Value, node: ast.AST) -> Scalar:
    """A dtype argument: a NumPy or Numba scalar type, a dtype, `float`, `int`, `bool`, a name."""
    obj = value.value if isinstance(value, Static) else None
    python = {float: FLOAT64, int: INT64, bool: BOOL, complex: COMPLEX128}
    if isinstance(obj, type) and obj in python:
        return python[obj]
    if isinstance(obj, nb_types.Number | nb_types.Boolean):
        return lx.dtype(np.dtype("bool" if isinstance(obj, nb_types.Boolean) else str(obj)), node)
    if isinstance(obj, np.dtype | str) or (isinstance(obj, type) and issubclass(obj, np.generic)):
        try:
            found = np.dtype(obj)
        except TypeError:
            lx.refuse(node, f"{obj!r} is not a dtype")
        return lx.dtype(found, node)
    lx.refuse(node, f"{kind(value)} is not a dtype", "give one such as np.float64")


def shape_arg(lx: Lowering, value: Value, node: ast.AST) -> tuple[Atom, ...]:
    """A shape: an int or a tuple of ints."""
    items = value.items if isinstance(value, TupleValue) else (value,)
    return tuple(expressions.number(lx, item, node) for item in items)


def zero_of(dtype: Scalar, value: int) -> Const:
    """0 or 1 in a dtype."""
    if dtype.is_bool:
        return Const(bool(value), BOOL)
    if dtype.is_complex:
        return Const(complex(value), dtype)
    return Const(float(value) if dtype.is_float else value, dtype)


Arguments = dict[str, Value]


def create(lx: Lowering, name: str, given: Arguments, node: ast.AST) -> Value:
    """np.empty, zeros, ones, full and their `_like` forms; `given` holds the bound arguments."""
    if "order" in given and not same_static(given["order"], Static("C")):
        lx.refuse(node, "the argument 'order' is not supported", "leave it out")
    dtype_arg = given.get("dtype", NONE)
    dtype = None if same_static(dtype_arg, NONE) else dtype_of(lx, dtype_arg, node)
    like: Sym | None = None
    if name.endswith("_like"):
        value = given["a"]
        if is_scalar(value) or not isinstance(value, Sym):
            lx.refuse(node, f"'{name}' of {kind(value)} is not supported")
        like, shape = value, shape_of(lx, value)
        assert isinstance(value.type, Array)
        dtype = dtype or value.type.dtype
    else:
        shape = shape_arg(lx, given["shape"], node)
    fill: Atom | None = None
    if name.startswith("full"):
        fill = expressions.number(lx, given["fill_value"], node)
        dtype = dtype or (fill.type if isinstance(fill, Sym) and isinstance(fill.type, Scalar) else UNKNOWN)
    dtype = dtype or FLOAT64
    if name.startswith(("zeros", "ones")):
        one = name.startswith("ones")
        fill = zero_of(dtype, int(one)) if dtype.known else const(int(one))
    layout = "C" if like is None else "?"
    return lx.builder.alloc("a", Array(dtype, len(shape), layout), shape, fill, like)


def identity(lx: Lowering, given: Arguments, node: ast.AST) -> Value:
    """np.eye, np.identity: ones on the diagonal."""
    n = expressions.number(lx, given["n"], node)
    dtype_arg = given.get("dtype", NONE)
    dtype = FLOAT64 if same_static(dtype_arg, NONE) else dtype_of(lx, dtype_arg, node)
    array = lx.builder.alloc("a", Array(dtype, 2, "C"), (n, n), zero_of(dtype, 0))
    counted(lx, n, lambda k: lx.builder.store(array, (k, k), zero_of(dtype, 1)))
    return array


def arange(lx: Lowering, args: list[Value], dtype_arg: Value, node: ast.AST) -> Value:
    """np.arange over integers."""
    parts = [expressions.number(lx, a, node) for a in args]
    if any(isinstance(p.type, Scalar) and (p.type.differentiable or p.type.is_bool) for p in parts):
        lx.refuse(node, "'np.arange' of floats is not supported", "loop over a range of integers and scale")
    lo, hi, step = (ZERO, parts[0], ONE) if len(parts) == 1 else (*parts, ONE)[:3]
    dtype = INT64 if same_static(dtype_arg, NONE) else dtype_of(lx, dtype_arg, node)
    bounds = loops.RangeValue(lo, hi, step)
    n = loops.count(lx, bounds, node)
    array = lx.builder.alloc("a", Array(dtype, 1, "C"), (n,))
    counted(lx, n, lambda k: lx.builder.store(array, (k,), _atom(loops.item(lx, bounds, k, node))))
    return array


def linspace(lx: Lowering, start: Value, stop: Value, num: Value, node: ast.AST) -> Value:
    """np.linspace as Numba computes it: start + k * (delta / div), the last point set to `stop`."""
    lx.refuse(
        node, "'np.linspace' is not supported yet", "write the loop: x[k] = lo + k * (hi - lo) / (n - 1)"
    )


# loops made by the compiler


def counted(lx: Lowering, n: Atom, body: Callable[[Sym], None], name: str = "k") -> None:
    """`for k in range(n): body(k)`, carrying nothing."""
    index = Sym(name, UNKNOWN)
    with lx.builder.collect() as block:
        body(index)
    lx.builder.append(Loop(index, ZERO, n, ONE, (), (), tuple(block), (), (), None, lx.builder.span))


def nest(lx: Lowering, array: Sym, body: Callable[[tuple[Atom, ...]], None]) -> None:
    """A loop nest over all elements of an array."""
    shape = shape_of(lx, array)

    def level(d: int, index: tuple[Atom, ...]) -> None:
        if d == len(shape):
            body(index)
        else:
            counted(lx, shape[d], lambda k: level(d + 1, (*index, k)))

    level(0, ())


def copy(lx: Lowering, array: Sym, dtype: Scalar | None, node: ast.AST, through: str | None = None) -> Sym:
    """A fresh array of the same elements; `through` is an op applied to each."""
    type_ = array.type
    assert isinstance(type_, Array)
    dtype = dtype or type_.dtype
    fortran = type_.layout == "F" and type_.ndim > 1
    target_type = Array(dtype, type_.ndim, "F" if fortran else "C")
    with lx.at(node):
        target = lx.builder.alloc(
            array.name, target_type, shape_of(lx, array), None, array if fortran else None
        )

        def element(index: tuple[Atom, ...]) -> None:
            value = lx.builder.load(array, index)
            if through is not None:
                value = lx.let(through, value, type=dtype)
            lx.builder.store(target, index, value)

        nest(lx, array, element)
    return target


# lists and np.array


def list_of(lx: Lowering, items: list[Value], node: ast.AST, dtype: Scalar = UNKNOWN) -> Value:
    """A list of numbers as a local array."""
    if not items:
        lx.refuse(node, "an empty list", "allocate an array with np.empty and count its items")
    values = []
    for item in items:
        if not is_scalar(item):
            lx.refuse(node, f"a list that holds {kind(item)} is not supported", "use a tuple or an array")
        values.append(expressions.number(lx, item, node))
    known = {v.type for v in values if isinstance(v, Sym)} if dtype == UNKNOWN else set()
    consts = any(isinstance(v, Const) for v in values)
    only = next(iter(known)) if len(known) == 1 and not consts else dtype
    assert isinstance(only, Scalar)
    array = lx.builder.alloc("items", Array(only, 1, "C"), (const(len(values)),))
    for k, value in enumerate(values):
        lx.builder.store(array, (const(k),), value)
    lx.lists.add(array)
    lx.lengths[array] = len(values)
    return array


def repeated(lx: Lowering, fill: Value, times: Atom, node: ast.AST) -> Value:
    """`[fill] * times`."""
    value = expressions.number(lx, fill, node)
    dtype = value.type if isinstance(value, Sym | Const) else UNKNOWN
    assert isinstance(dtype, Scalar)
    array = lx.builder.alloc("items", Array(dtype, 1, "C"), (times,), value)
    lx.lists.add(array)
    return array


def list_comprehension(lx: Lowering, node: ast.ListComp) -> Value:
    """`[e for v in iterable]` as a local array; over a tuple, its items one by one."""
    if len(node.generators) != 1 or node.generators[0].is_async:
        lx.refuse(node, "a list comprehension with two 'for's is not supported", "write the loop")
    generator = node.generators[0]
    if generator.ifs:
        lx.refuse(generator.ifs[0], "a list comprehension with 'if' is not supported", "write the loop")
    source = expressions.evaluate(lx, generator.iter)
    for part in ast.walk(node):
        if isinstance(part, ast.NamedExpr):
            lx.refuse(part, "':=' inside a comprehension is not supported")
    with inner_scope(lx, node):
        items = loops.static_items(lx, source, generator.iter)
        if items is not None:
            values: list[Value] = []
            for item in items:
                statements.bind(lx, generator.target, item)
                values.append(expressions.evaluate(lx, node.elt))
            return list_of(lx, values, node)
        n = loops.count(lx, source, generator.iter)
        array = Sym("items", Array(UNKNOWN, 1, "C"))
        found: list[Atom] = []

        def body(k: Sym) -> None:
            statements.bind(lx, generator.target, loops.item(lx, source, k, generator.iter))
            value = expressions.evaluate(lx, node.elt)
            if not is_scalar(value):
                lx.refuse(node.elt, f"a list that holds {kind(value)} is not supported", "use an array")
            found.append(expressions.number(lx, value, node.elt))
            lx.builder.store(array, (k,), found[0])

        with lx.builder.collect() as block:
            counted(lx, n, body)
        dtype = found[0].type if found and isinstance(found[0], Sym) else UNKNOWN
        assert isinstance(dtype, Scalar)
        array_of = lx.builder.alloc("items", Array(dtype, 1, "C"), (n,))
        from adjit.ir.visit import substitute

        lx.builder.extend(substitute(tuple(block), {array: array_of}))
        lx.lists.add(array_of)
        return array_of


class inner_scope:
    """The scope of a comprehension: its targets are its own, other names are the function's."""

    def __init__(self, lx: Lowering, node: ast.ListComp | ast.GeneratorExp):
        self.lx, self.node = lx, node

    def __enter__(self) -> None:
        outer = self.lx.frame
        targets = [t.id for g in self.node.generators for t in ast.walk(g.target) if isinstance(t, ast.Name)]
        scope = liveness.Scope(frozenset(targets), {})
        self.lx.frames.append(
            Frame(
                "<listcomp>",
                outer.file,
                scope,
                Env(),
                None,
                outer,
                frozen=outer.frozen,
                fixed=outer.fixed,
                plain=outer.plain,
            )
        )
        self.depth = len(self.lx.frames)

    def __exit__(self, *_: object) -> None:
        del self.lx.frames[self.depth - 1 :]


def array_of(lx: Lowering, value: Value, dtype: Scalar | None, node: ast.AST) -> Value:
    """np.array(x): a copy of an array, or the numbers of a (nested) tuple or list."""
    if isinstance(value, Sym) and is_array(value):
        if value in lx.lists and dtype is None:
            return value
        return copy(lx, value, dtype, node)
    if isinstance(value, TupleValue):
        if all(is_scalar(item) for item in value.items):
            made = list_of(lx, list(value.items), node, dtype or UNKNOWN)
            assert isinstance(made, Sym)
            lx.lists.discard(made)
            return made
        return _matrix(lx, value, dtype, node)
    lx.refuse(node, f"'np.array' of {kind(value)} is not supported", "allocate with np.empty and fill it")


def _matrix(lx: Lowering, value: TupleValue, dtype: Scalar | None, node: ast.AST) -> Value:
    rows = [row.items for row in value.items if isinstance(row, TupleValue)]
    width = len(rows[0]) if rows else 0
    flat = [item for row in rows for item in row]
    if (
        len(rows) != len(value.items)
        or any(len(r) != width for r in rows)
        or not all(is_scalar(i) for i in flat)
    ):
        lx.refuse(
            node, "'np.array' of this nested tuple is not supported", "allocate with np.empty and fill it"
        )
    shape = (const(len(rows)), const(width))
    array = lx.builder.alloc("a", Array(dtype or UNKNOWN, 2, "C"), shape)
    for i, row in enumerate(rows):
        for j, item in enumerate(row):
            lx.builder.store(array, (const(i), const(j)), expressions.number(lx, item, node))
    return array


def _atom(value: Value) -> Atom:
    assert isinstance(value, Sym | Const | Undef)
    return value
