"""How often the body of nested loops runs, counted before they do.

    for i in range(n): for j in range(i): for k in range(m): ...
    ->  total = 0
        for i in range(n): total = total + max(i, 0)
        total * m turns

So a record of a triangular number of values is allocated once, of the right size. A loop is run to count only where
the number of turns inside depends on its index: an addition for each turn of it, in place of a look at the record's
capacity. Bounds are integers that cannot fail, made of the indices and of what is there before the loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adjit.analysis.raising import RAISING
from adjit.analysis.regions import Region, Regions
from adjit.analysis.trips import trip_count
from adjit.ir.builder import Builder
from adjit.ir.core import ONE, ZERO, Atom, Const, Let, Loop, Sym, fresh
from adjit.ir.types import FLOAT64, INT64, Scalar

Known = Callable[[Sym], bool]
"""Whether a symbol is there where the turns are counted."""
Turns = tuple[Atom, Atom | None]
"""A number of turns, and the same as a float64, which does not wrap around (None: a cast of the first)."""

_ONE = Const(1.0, FLOAT64)


def may_count(loops: Sequence[Loop], region: Region, regions: Regions) -> bool:
    """Whether the turns of the innermost of the loops, outermost first, can be counted in a region around them."""
    inside = regions.defined(region)
    return Room(regions, lambda s: s not in inside).may_count(loops)


class Room:
    """Counts turns where `known` symbols are there."""

    def __init__(self, regions: Regions, known: Known):
        self._regions, self._known = regions, known

    # whether

    def may_count(self, loops: Sequence[Loop]) -> bool:
        """Whether the turns of the loops, outermost first, can be counted."""
        indices = {loop.index for loop in loops}
        return all(
            self._plain(loop, loops) and all(self._computable(a, indices) for a in _bounds(loop))
            for loop in loops
        )

    def _plain(self, loop: Loop, loops: Sequence[Loop]) -> bool:
        """Whether the loop counts, by whole numbers of 64 bits and constant steps where others depend on it."""
        if loop.index is None or loop.stop is not None:
            return False
        alone = not self._any_depends(loops, loop)
        fixed = all(not isinstance(a, Sym) or self._known(a) for a in _bounds(loop))
        return (alone or loop.index.type == INT64) and (fixed or isinstance(loop.step, Const))

    def _computable(self, a: Atom, indices: set[Sym | None]) -> bool:
        """Whether the integer can be computed from what is known and the loops' indices."""
        if not isinstance(a, Sym) or self._known(a) or a in indices:
            return True
        stmt = self._regions.definition.get(a)
        if not isinstance(stmt, Let) or not _cannot_fail(stmt):
            return False
        return all(self._computable(x, indices) for x in stmt.args)

    def _any_depends(self, loops: Sequence[Loop], on: Loop) -> bool:
        return any(self._depends(a, on) for one in loops if one is not on for a in _bounds(one))

    def _depends(self, a: Atom, on: Loop) -> bool:
        """Whether the integer is made of the loop's index."""
        if not isinstance(a, Sym) or self._known(a):
            return False
        if a == on.index:
            return True
        stmt = self._regions.definition.get(a)
        return isinstance(stmt, Let) and any(self._depends(x, on) for x in stmt.args)

    # how many

    def turns(self, b: Builder, loops: Sequence[Loop]) -> list[Turns]:
        """Numbers whose product is how often the innermost of the loops, outermost first, runs its body."""
        return self._turns(b, loops, {})

    def _turns(self, b: Builder, loops: Sequence[Loop], env: dict[Sym, Atom]) -> list[Turns]:
        if not loops:
            return []
        loop, *inner = loops
        if not self._any_depends(inner, loop):
            found = self._turns(b, inner, env)
            lo, hi, step = (self._again(b, a, env) for a in _bounds(loop))
            return [*found, (trip_count(b, lo, hi, step), None)]
        return [self._summed(b, loop, inner, env)]

    def _summed(self, b: Builder, loop: Loop, inner: Sequence[Loop], env: dict[Sym, Atom]) -> Turns:
        """All turns of the loops inside, over the turns of a loop that they depend on."""
        lo, hi, step = (self._again(b, a, env) for a in _bounds(loop))
        assert loop.index is not None
        index = fresh(loop.index)
        heads = Sym("turns", INT64), Sym("turns", FLOAT64)
        results = fresh(heads[0]), fresh(heads[1])
        with b.collect() as body:
            count, size = product(b, self._turns(b, inner, {**env, loop.index: index}))
            nexts = b.op("add", heads[0], count), b.op("add", heads[1], size)
        inits = ZERO, Const(0.0, FLOAT64)
        b.loop(Loop(index, lo, hi, step, heads, inits, tuple(body), nexts, results, None, b.span))
        return results

    def _again(self, b: Builder, a: Atom, env: dict[Sym, Atom]) -> Atom:
        """An integer of the loops, computed where it is counted."""
        if not isinstance(a, Sym) or self._known(a):
            return a
        if a not in env:
            stmt = self._regions.definition[a]
            assert isinstance(stmt, Let)
            args = tuple(self._again(b, x, env) for x in stmt.args)
            target = fresh(a)
            b.append(Let(target, stmt.op, args, stmt.fn, stmt.span))
            env[a] = target
        return env[a]


def product(b: Builder, turns: Sequence[Turns], count: Atom = ONE, size: Atom = _ONE) -> tuple[Atom, Atom]:
    """The product of all numbers of turns, as an integer and as a float64; `count` and `size` are factors more."""
    for n, exact in turns:
        size = b.op("mul", size, b.cast(n, FLOAT64) if exact is None else exact)
        count = b.op("mul", count, n)
    return count, size


def _bounds(loop: Loop) -> tuple[Atom, Atom, Atom]:
    assert loop.lo is not None and loop.hi is not None and loop.step is not None
    return loop.lo, loop.hi, loop.step


def _cannot_fail(stmt: Let) -> bool:
    """Whether the integer may be computed where the program does not."""
    if not isinstance(stmt.target.type, Scalar) or not stmt.target.type.is_integral:
        return False
    if stmt.op in ("floordiv", "mod"):
        by = stmt.args[1]
        return isinstance(by, Const) and by.value != 0
    if stmt.op in RAISING or stmt.op in ("lshift", "rshift"):
        return False
    return all(not isinstance(a.type, Scalar) or a.type.is_integral for a in stmt.args)
