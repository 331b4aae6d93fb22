"""What the turns of a loop in a kernel add to one element is added up in a variable, and to the element once.

    for j: if c: a[i] += e (atomic)   ->   s = 0; for j: s = s + e if c else s; if s != 0: a[i] += s (atomic)

The element must be the same in every turn, and nothing in the loop may see the array but by updates that add. Where
nothing was added the element is not touched: its index may be one that no turn would have used.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import replace

from adjit.ir.builder import const_of
from adjit.ir.core import Atom, Block, If, Let, Loop, Stmt, Store, Sym
from adjit.ir.types import BOOL, Array
from adjit.ir.visit import Rewriter, inner_targets, operands, targets, walk

Roots = Callable[[Sym], Set[Sym]]
_Place = tuple[Sym, tuple[Atom, ...]]


def item_sums(block: Block, roots: Roots) -> Block:
    """The body of a kernel with sums in variables (see the module). roots: whose memory a symbol may be in."""
    if not any(isinstance(s, Store) and s.update == "add" for s in walk(block)):
        return block
    return _Sums(roots).block(block)


class _Sums(Rewriter):
    def __init__(self, roots: Roots):
        super().__init__()
        self._roots = roots

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        made = self.rebuild(stmt)
        return self._summed(made) if isinstance(made, Loop) else (made,)

    def _summed(self, loop: Loop) -> tuple[Stmt, ...]:
        after: list[Stmt] = []
        for place in self._places(loop):
            loop, more = _carried(loop, place)
            after += more
        return (loop, *after)

    def _places(self, loop: Loop) -> list[_Place]:
        """The elements that are summed."""
        inside: set[Atom] = {*loop.params, *([loop.index] if loop.index is not None else ())}
        for s in walk(loop.body):
            inside.update((*targets(s), *inner_targets(s)))
        found = dict.fromkeys(
            (s.array, s.index)
            for s in _reached(loop.body)
            if _sums(s) and not inside.intersection((s.array, *s.index))
        )
        return [place for place in found if self._unseen(loop, place[0])]

    def _unseen(self, loop: Loop, array: Sym) -> bool:
        mine = self._roots(array)
        for s in walk(loop.body):
            if isinstance(s, Store) and s.update == "add":
                continue
            touched = {a for a in operands(s) if isinstance(a, Sym) and isinstance(a.type, Array)}
            sizes = isinstance(s, Let) and s.op == "dim"
            if not sizes and any(not mine.isdisjoint(self._roots(a)) for a in touched):
                return False
        return True


def _sums(stmt: Stmt) -> bool:
    type = stmt.array.type if isinstance(stmt, Store) else None
    return (
        isinstance(stmt, Store) and stmt.update == "add" and isinstance(type, Array) and type.dtype.is_float
    )


def _reached(block: Block) -> list[Store]:
    """The stores of a block, also in branches, but not in loops."""
    found: list[Store] = []
    for s in block:
        if isinstance(s, Store):
            found.append(s)
        elif isinstance(s, If):
            found += [*_reached(s.then), *_reached(s.els)]
    return found


def _carried(loop: Loop, place: _Place) -> tuple[Loop, tuple[Stmt, ...]]:
    """The loop with the sum in a variable, and what comes after it."""
    array, index = place
    assert isinstance(array.type, Array)
    kind = array.type.dtype
    start, total = Sym(f"{array.name}_sum", kind), Sym(f"{array.name}_total", kind)
    body, end = _added(loop.body, place, start)
    zero = const_of(0, kind)
    made = replace(
        loop,
        params=(*loop.params, start),
        inits=(*loop.inits, zero),
        body=body,
        nexts=(*loop.nexts, end),
        results=(*loop.results, total),
    )
    some = Sym("some", BOOL)
    store = Store(array, index, total, loop.span, update="add")
    return made, (Let(some, "ne", (total, zero), None, loop.span), If(some, (store,), (), span=loop.span))


def _added(block: Block, place: _Place, total: Atom) -> tuple[Block, Atom]:
    """The block with the sum so far as a value; the sum at its end."""
    made: list[Stmt] = []
    for s in block:
        if _sums(s) and isinstance(s, Store) and (s.array, s.index) == place:
            value = s.value
            if value.type != total.type:
                cast = Sym("term", total.type)
                made.append(Let(cast, "cast", (value,), None, s.span))
                value = cast
            total, before = Sym(f"{s.array.name}_sum", total.type), total
            made.append(Let(total, "add", (before, value), None, s.span))
        elif isinstance(s, If) and any(
            (t.array, t.index) == place and _sums(t) for t in (*_reached(s.then), *_reached(s.els))
        ):
            then, one = _added(s.then, place, total)
            els, other = _added(s.els, place, total)
            joined = Sym(f"{place[0].name}_sum", total.type)
            made.append(
                replace(
                    s,
                    then=then,
                    els=els,
                    then_values=(*s.then_values, one),
                    else_values=(*s.else_values, other),
                    results=(*s.results, joined),
                )
            )
            total = joined
        else:
            made.append(s)
    return tuple(made), total


__all__ = ["item_sums"]
