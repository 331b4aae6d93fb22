"""Lists of numbers as local arrays, and comprehensions as loops that carry one value.

A comprehension with filters, or with several loops, is filled in one pass into an array that is large enough; the
list is the part that was filled:

    [e for i in r if c]   ->   data = empty(count(r)); n = 0; for i in r: if c: data[n] = e; n += 1;   data[:n]
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from adjit.frontend import arrays, expressions, iteration, liveness, remedies, statements
from adjit.frontend.context import Env, Frame, Lowering
from adjit.frontend.values import Value, is_scalar
from adjit.ir.core import ONE, ZERO, Alloc, Atom, Call, Const, Loop, Slice, Store, Sym, const
from adjit.ir.types import FLOAT64, INT64, UNKNOWN, Array, Scalar
from adjit.ir.visit import substitute, walk


def list_of(lx: Lowering, items: list[Value], node: ast.AST, dtype: Scalar = UNKNOWN) -> Value:
    """A list of numbers as a local array."""
    if not items:
        lx.refuse(node, "an empty list", remedies.FIXED)
    values = [_entry(lx, item, node) for item in items]
    only = dtype
    if dtype == UNKNOWN and not lx.frame.plain:  # Python's lists hold whatever is put in them later
        only = _element_type(values)
    array = lx.builder.alloc("items", Array(only, 1, "C"), (const(len(values)),))
    with lx.builder.filling(array):
        for k, value in enumerate(values):
            lx.builder.store(array, (const(k),), value)
    lx.lists.add(array)
    lx.lengths[array] = len(values)
    return array


def _element_type(items: list[Atom]) -> Scalar:
    """The element type of a list of Numba's, where it is known: what is stored in it later does not change it."""
    kinds = {v.type for v in items if isinstance(v, Sym | Const) and isinstance(v.type, Scalar)}
    consts = [v for v in items if isinstance(v, Const)]
    if len(consts) == len(items):
        return _literal_type(consts)
    return next(iter(kinds)) if len(kinds) == 1 and not consts else UNKNOWN


def _literal_type(items: list[Const]) -> Scalar:
    """That of a list of literals."""
    kinds = {c.type for c in items}
    if kinds <= {INT64, FLOAT64}:
        return FLOAT64 if FLOAT64 in kinds else INT64
    return next(iter(kinds)) if len(kinds) == 1 else UNKNOWN


def _entry(lx: Lowering, item: Value, node: ast.AST) -> Atom:
    if lx.is_list(item):
        remedy = "make it an array: np.array([[a, b], [c, d]]), np.zeros((n, m))"
        lx.refuse(node, "a list of lists is not supported", remedy)
    if not is_scalar(item):
        remedy = "use a tuple, or an array of one more dimension"
        lx.refuse(node, f"a list that holds {lx.kind(item)} is not supported", remedy)
    return expressions.number(lx, item, node)


def repeated(lx: Lowering, fill: Value, times: Atom, node: ast.AST) -> Value:
    """`[fill] * times`."""
    value = _entry(lx, fill, node)
    dtype = value.type if isinstance(value, Sym | Const) else UNKNOWN
    assert isinstance(dtype, Scalar)
    dtype = UNKNOWN if lx.frame.plain else dtype
    array = lx.builder.alloc("items", Array(dtype, 1, "C"), (times,), value)
    lx.lists.add(array)
    return array


def list_from(lx: Lowering, source: Value, node: ast.AST) -> Value:
    """`list(source)`."""
    items = iteration.static_items(lx, source, node)
    if items is not None:
        return list_of(lx, items, node)
    n = iteration.count(lx, source, node)
    return _filled(lx, n, lambda k: _entry(lx, iteration.item(lx, source, k, node), node))


def copied(lx: Lowering, items: Sym, node: ast.AST) -> Sym:
    """A list of the same items."""
    made = arrays.copy(lx, items, None, node)
    lx.lists.add(made)
    return made


def list_comprehension(lx: Lowering, node: ast.ListComp) -> Value:
    """`[e for v in iterable if c ...]` as a local array; over a tuple, its items one by one."""
    check_plain(lx, node)
    first = node.generators[0]
    source = expressions.evaluate(lx, first.iter)
    with inner_scope(lx, node):
        if len(node.generators) > 1 or first.ifs:
            return _selected(lx, node, source)
        items = iteration.static_items(lx, source, first.iter)
        if items is not None:
            values: list[Value] = []
            for item in items:
                statements.bind(lx, first.target, item)
                values.append(expressions.evaluate(lx, node.elt))
            return list_of(lx, values, node)

        def element(k: Atom) -> Atom:
            statements.bind(lx, first.target, iteration.item(lx, source, k, first.iter))
            return _entry(lx, expressions.evaluate(lx, node.elt), node.elt)

        return _filled(lx, iteration.count(lx, source, first.iter), element)


def check_plain(lx: Lowering, node: ast.ListComp | ast.GeneratorExp) -> None:
    """Refuse what no comprehension here may have."""
    if any(g.is_async for g in node.generators):
        lx.refuse(node, "an asynchronous comprehension is not supported", "write the loop")
    for part in ast.walk(node):
        if isinstance(part, ast.NamedExpr):
            lx.refuse(part, "':=' inside a comprehension is not supported", "write the loop")


def _filled(lx: Lowering, n: Atom, element: Callable[[Atom], Atom]) -> Sym:
    """A list of `n` items."""
    array = Sym("items", Array(UNKNOWN, 1, "C"))
    found: list[Atom] = []

    def body(k: Sym) -> None:
        found.append(element(k))
        lx.builder.store(array, (k,), found[0])

    with lx.builder.filling(array), lx.builder.collect() as block:
        arrays.counted(lx, n, body)
    dtype = found[0].type if found and isinstance(found[0], Sym) else UNKNOWN
    assert isinstance(dtype, Scalar)
    made = lx.builder.alloc("items", Array(dtype, 1, "C"), (n,))
    lx.builder.extend(substitute(tuple(block), {array: made}))
    lx.lists.add(made)
    return made


def _selected(lx: Lowering, node: ast.ListComp, source: Value) -> Sym:
    """The list of a comprehension with filters or several loops (see the module)."""
    last = len(node.generators) - 1

    def more(total: Atom, inner: Value) -> Atom:
        return expressions.integer(lx, "add", total, _count(lx, inner, node.generators[last].iter))

    with lx.builder.collect() as counting:
        room = more(ZERO, source) if last == 0 else chained(lx, node, source, ZERO, more, last)
    written = next((s for s in walk(tuple(counting)) if isinstance(s, Store | Alloc | Call)), None)
    if written is not None:
        what = "calls a function that calls itself" if isinstance(written, Call) else "writes to an array"
        lx.refuse(node, f"a loop or filter of this comprehension {what}", "write the loop")
    lx.builder.extend(tuple(counting))
    whole = lx.builder.alloc("items", Array(UNKNOWN, 1, "C"), (room,))

    def keep(n: Atom, _: Value) -> Atom:
        lx.builder.store(whole, (n,), _entry(lx, expressions.evaluate(lx, node.elt), node.elt))
        return expressions.integer(lx, "add", n, ONE)

    with lx.builder.filling(whole):
        n = chained(lx, node, source, ZERO, keep)
    made = lx.builder.view(whole, (Slice(None, n),), Array(UNKNOWN, 1, "?"))
    lx.lists.add(made)
    return made


def _count(lx: Lowering, source: Value, node: ast.AST) -> Atom:
    items = iteration.static_items(lx, source, node)
    return iteration.count(lx, source, node) if items is None else const(len(items))


Step = Callable[[Atom, Value], Atom]


def chained(
    lx: Lowering,
    node: ast.ListComp | ast.GeneratorExp,
    source: Value,
    start: Atom,
    step: Step,
    depth: int | None = None,
) -> Atom:
    """The loops and filters of a comprehension around `value = step(value, source)`, from `start` on.

    `depth`: only so many of the loops are run, and `step` is given what the next one runs over.
    """
    generators = node.generators[:depth]

    def run(level: int, source: Value, value: Atom) -> Atom:
        if level == len(generators):
            return step(value, source)
        items = iteration.static_items(lx, source, generators[level].iter)
        if items is None:
            return loop(level, source, value)
        for item in items:
            value = turn(level, item, value)
        return value

    def loop(level: int, source: Value, value: Atom) -> Atom:
        bounds, item = iteration.access(lx, source, generators[level].iter)
        index, carried, result = Sym("k", UNKNOWN), Sym("n", UNKNOWN), Sym("n", UNKNOWN)
        with lx.builder.collect() as block:
            after = turn(level, item(index), carried)
        flows = ((carried,), (value,), tuple(block), (after,), (result,))
        lx.builder.append(Loop(index, *bounds, *flows, None, lx.builder.span))
        return result

    def turn(level: int, item: Value, value: Atom) -> Atom:
        statements.bind(lx, generators[level].target, item)
        return filtered(level, 0, value)

    def filtered(level: int, k: int, value: Atom) -> Atom:
        tests = generators[level].ifs
        if k == len(tests):
            after = node.generators[level + 1 :]
            inner = expressions.evaluate(lx, after[0].iter) if after else source
            return run(level + 1, inner, value)
        test = expressions.truth(lx, expressions.evaluate(lx, tests[k]), tests[k])
        if isinstance(test, Const):
            return filtered(level, k + 1, value) if test.value else value
        got = lx.branch(test, lambda: filtered(level, k + 1, value), lambda: value, tests[k])
        return expressions.number(lx, got, node)

    return run(0, source, start)


class inner_scope:
    """The scope of a comprehension: its targets are its own, other names are the function's."""

    def __init__(self, lx: Lowering, node: ast.ListComp | ast.GeneratorExp):
        self.lx, self.node = lx, node

    def __enter__(self) -> None:
        outer = self.lx.frame
        targets = [t.id for g in self.node.generators for t in ast.walk(g.target) if isinstance(t, ast.Name)]
        scope = liveness.Scope(frozenset(targets), {})
        frame = Frame("<listcomp>", outer.file, scope, Env(), None, outer, frozen=outer.frozen)
        frame.plain, frame.at, frame.error_model = outer.plain, outer.at, outer.error_model
        self.lx.frames.append(frame)
        self.lx.loops += 1
        self.depth = len(self.lx.frames)

    def __exit__(self, *_: object) -> None:
        self.lx.loops -= 1
        del self.lx.frames[self.depth - 1 :]
