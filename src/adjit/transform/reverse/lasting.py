"""Growing records made inside loops and branches live as long as the function: a turn begins with what the last left.

    for i: r = alloc 16; ...; r1 = ensure r n            ->   r0 = alloc 0
    for i carry (p = r0): r = ensure p 16; ...; r1 = ensure r n; next r1

A derivative that is taken in a loop keeps such a record each turn. What a turn finds in it is overwritten before it is
read, as in memory that nobody wrote. Turns that share it run in order.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.ir.builder import Builder
from adjit.ir.core import ZERO, Alloc, Block, Ensure, Function, If, Loop, RefAppend, Stmt, Sym, fresh
from adjit.ir.nests import nest
from adjit.ir.visit import targets, walk
from adjit.transform.reverse.growing import groups_of


def lasting(function: Function) -> Function:
    """The function with every growing record that one allocation in a loop or branch makes at its head."""
    inner = _made_inside(function)
    if not inner:
        return function
    head: list[Stmt] = []
    body = function.body
    for alloc, members in inner:
        first = Sym(alloc.target.name, alloc.target.type)
        head.append(replace(alloc, target=first, shape=(ZERO,), fill=None))
        body, _ = _block(body, first, alloc, members)
    return replace(function, body=(*head, *body))


def _made_inside(function: Function) -> list[tuple[Alloc, frozenset[Sym]]]:
    """The allocations in question, each with all versions of its record."""
    groups = groups_of(function)
    if not groups:
        return []
    outer = {a for stmt in function.body for a in targets(stmt)} | set(function.params)
    held = {s.array for s in walk(function.body) if isinstance(s, RefAppend)}
    allocs = [s for s in walk(function.body) if isinstance(s, Alloc)]
    found: list[tuple[Alloc, frozenset[Sym]]] = []
    for members in groups:
        own = [a for a in allocs if a.target in members]
        alone = len(own) == 1 and own[0].like is None
        if alone and members.isdisjoint(outer) and members.isdisjoint(held):
            found.append((own[0], members))
    return found


def _block(block: Block, now: Sym, alloc: Alloc, members: frozenset[Sym]) -> tuple[Block, Sym]:
    """The block that has the record as `now` at its start, and as what at its end."""
    out: list[Stmt] = []
    made = False
    for stmt in block:
        if stmt is alloc:
            out.append(Ensure(alloc.target, now, alloc.shape[0], alloc.span))
            out += _filled(alloc)
            now, made = alloc.target, True
        elif not made and isinstance(stmt, Loop | If) and any(s is alloc for s in walk((stmt,))):
            new, now = _around(stmt, now, alloc, members)
            out.append(new)
        else:
            out.append(stmt)
            now = next((a for a in targets(stmt) if made and a in members), now)
    return tuple(out), now


def _filled(alloc: Alloc) -> Block:
    """The fill of what the allocation makes, as stores."""
    if alloc.fill is None:
        return ()
    b, fill = Builder(alloc.span), alloc.fill
    nest(b, alloc.shape, lambda b, i, _: b.store(alloc.target, i, fill))
    return b.block()


def _around(stmt: Loop | If, now: Sym, alloc: Alloc, members: frozenset[Sym]) -> tuple[Stmt, Sym]:
    """The loop or branch inside of which the record is made, handing it through."""
    result = fresh(now)
    if isinstance(stmt, Loop):
        param = fresh(now)
        body, end = _block(stmt.body, param, alloc, members)
        new: Stmt = replace(
            stmt,
            params=(*stmt.params, param),
            inits=(*stmt.inits, now),
            body=body,
            nexts=(*stmt.nexts, end),
            results=(*stmt.results, result),
            parallel=False,
            asked=False,
        )
        return new, result
    then, first = _block(stmt.then, now, alloc, members)
    els, second = _block(stmt.els, now, alloc, members)
    values = (*stmt.then_values, first), (*stmt.else_values, second)
    results = (*stmt.results, result)
    return replace(
        stmt, then=then, els=els, then_values=values[0], else_values=values[1], results=results
    ), result
