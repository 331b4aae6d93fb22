"""Stores in parallel loops that are surely a race: each turn writes its own value to one and the same element.

Certain are plain stores that no branch guards, whose index is the same for all turns, and whose value is not; also in
loops inside, over the extents of arrays or a fixed number of turns. In loops inside whose number of turns is any other
they are races unless that is none: such a loop is not refused, and runs in order. Others may be races as well:
`aj.check_races` runs the program and looks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from adjit.analysis.alias import Alias
from adjit.errors import UnsupportedError
from adjit.ir.core import ONE, ZERO, Alloc, Atom, Block, Const, Function, If, Let, Load, Loop, Store, Sym
from adjit.ir.visit import inner_targets, operands, targets, walk, yields

_REMEDY = (
    "add with aj.atomic_add (aj.atomic_min, aj.atomic_max), sum in a number that the loop carries or, in a prange "
    "loop, in a whole array (total += x[i]), or let each turn write an element of its own"
)


def refuse_certain_races(function: Function) -> None:
    """Raise UnsupportedError at the first store that is surely a race."""
    alias: Alias | None = None
    for f in (function, *function.functions):
        for loop in walk(f.body):
            if isinstance(loop, Loop) and loop.parallel and not _at_most_once(loop):
                alias = alias or Alias(function)
                varying = _varying(loop, alias)
                extents = {t.target for t in walk(f.body) if isinstance(t, Let) and t.op == "dim"}
                for store in _unconditional(loop.body, lambda inner, known=extents: _runs(inner, known)):
                    if _is_race(store, varying):
                        raise UnsupportedError(
                            f"every turn of a parallel loop writes the same element of '{store.array.name}', "
                            "each with a value of its own",
                            _REMEDY,
                            store.span,
                        )


def doubtful_store(loop: Loop, alias: Alias) -> Store | None:
    """A store that is a race if the loops around it, inside of the parallel one, have turns.

    Also one of the same value in each turn: its adjoint reads the element's cotangent and clears it, turn by turn.
    """
    if _at_most_once(loop):
        return None
    varying = _varying(loop, alias)
    return next((s for s in _unconditional(loop.body, lambda _: True) if _same_place(s, varying)), None)


def _runs(loop: Loop, extents: set[Sym]) -> bool:
    """Whether a loop has turns, as far as that can be said: a fixed number, or as many as an array has places."""
    turns = _constant_turns(loop)
    if turns is not None:
        return turns > 0
    return loop.lo == ZERO and loop.step == ONE and loop.hi in extents


def _at_most_once(loop: Loop) -> bool:
    turns = _constant_turns(loop)
    return turns is not None and turns < 2


def _constant_turns(loop: Loop) -> int | None:
    bounds = (loop.lo, loop.hi, loop.step)
    if not all(isinstance(a, Const) for a in bounds):
        return None
    return len(range(*(a.integer for a in bounds if isinstance(a, Const))))


def _unconditional(block: Block, runs: Callable[[Loop], bool]) -> Iterable[Store]:
    """Plain stores that every turn reaches, if parallel loops inside have turns, and others of which `runs` says so."""
    for stmt in block:
        if isinstance(stmt, Store) and not stmt.update:
            yield stmt
        elif isinstance(stmt, Loop) and stmt.index is not None and stmt.stop is None:
            if stmt.parallel or runs(stmt):
                yield from _unconditional(stmt.body, runs)


def _is_race(store: Store, varying: set[Atom]) -> bool:
    return _same_place(store, varying) and store.value in varying


def _same_place(store: Store, varying: set[Atom]) -> bool:
    return store.array not in varying and not any(a in varying for a in store.index)


def _varying(loop: Loop, alias: Alias) -> set[Atom]:
    """What differs from turn to turn: all that follows from the index, from memory that the loop writes, from sums."""
    written = frozenset[Sym]().union(*(alias.roots(s.array) for s in walk(loop.body) if isinstance(s, Store)))
    found: set[Atom] = {*inner_targets(loop)}
    size = -1
    while size != len(found):
        size = len(found)
        for stmt in walk(loop.body):
            match stmt:
                case Alloc():
                    found.add(stmt.target)
                case Load() if alias.roots(stmt.array) & written:
                    found.add(stmt.target)
                case Loop():
                    flows = zip(stmt.params, stmt.inits, stmt.nexts, stmt.results, strict=True)
                    if any(a in found for a in (stmt.lo, stmt.hi, stmt.step)):
                        found.update((*inner_targets(stmt), *stmt.results))
                    for p, init, nxt, result in flows:
                        if stmt.stop in found or init in found or nxt in found:
                            found.update((p, result))
                case If():
                    values = zip(stmt.then_values, stmt.else_values, stmt.results, strict=True)
                    found.update(r for a, b, r in values if stmt.cond in found or a in found or b in found)
                case _:
                    if any(a in found for a in (*operands(stmt), *yields(stmt))):
                        found.update(targets(stmt))
    return found


__all__ = ["doubtful_store", "refuse_certain_races"]
