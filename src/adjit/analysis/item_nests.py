"""Nests of loops whose turns are the work items of one launch, an axis for each loop.

    for i, in parallel: s = i * 2; for j, in parallel: ...      two axes; `s` is computed by each work item

What the loops count, turn by turn (the cursor of a record), follows from the numbers of a work item along the axes:
each has as many slots.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from adjit.analysis.carried import Carried, Count, Same
from adjit.analysis.device_turns import DeviceTurns, NotItemsError, Turns
from adjit.ir.builder import Builder
from adjit.ir.core import ONE, ZERO, Atom, Block, Const, Let, Loop, Slice, Stmt, Sym, View
from adjit.ir.types import INT64, Array
from adjit.ir.visit import defined, operands

_BELOW = Const(-1, INT64)
_INTEGERS = frozenset({"dim", "add", "sub", "mul", "neg", "min", "max", "nonneg"})
AXES = 3
"""Axes of a launch at most."""


@dataclass(frozen=True)
class Nest:
    """Loops, outermost first, the statements between their heads, and what each loop's turns are.

    before: of those statements the ones that the host runs once, as the ends of the loops need them.
    """

    loops: tuple[Loop, ...]
    between: Block
    turns: tuple[Turns, ...]
    before: Block = ()

    @property
    def last(self) -> Loop:
        """The innermost loop."""
        return self.loops[-1]

    def items(self) -> tuple[Sym, ...]:
        """The number of the work item along each axis: the loop's index where every item is a turn of the index from 0.

        The order of turns is free, so that a range that goes down to 0 is one that goes up.
        """
        found: list[Sym] = []
        for one in self.loops:
            assert one.index is not None
            up = (one.lo, one.step) == (ZERO, ONE)
            down = (one.hi, one.step) == (_BELOW, _BELOW)
            found.append(one.index if up or down else Sym(one.index.name, INT64))
        return tuple(found)

    @property
    def counters(self) -> list[int]:
        """Which of the carried values are counted."""
        return [k for k, kind in enumerate(self.turns[0].kinds) if isinstance(kind, Count)]

    def amounts(self, b: Builder) -> dict[int, list[Atom]]:
        """By counter and loop: what a turn of the loop counts, computed before the nest."""
        return {
            k: [kind.by(b) for t in self.turns if isinstance(kind := t.kinds[k], Count)]
            for k in self.counters
        }

    def counted(
        self, amounts: dict[int, list[Atom]], inside: Builder, turns: Sequence[Atom]
    ) -> dict[Sym, Atom]:
        """What the loops' counters are in one turn, computed inside. turns: the number of the turn of each loop."""
        values: dict[Sym, Atom] = {}
        for k, by in amounts.items():
            value: Atom = self.loops[0].inits[k]
            for one, turn, amount in zip(self.loops, turns, by, strict=True):
                name = one.params[k].name
                moved = inside.let("mul", turn, amount, type=INT64, name=name)
                value = values[one.params[k]] = inside.let("add", value, moved, type=INT64, name=name)
        return values

    def same(self) -> dict[Sym, Atom]:
        """What no turn changes, as it was before the nest."""
        env: dict[Sym, Atom] = {}
        for one, turns in zip(self.loops, self.turns, strict=True):
            for p, init, kind in zip(one.params, one.inits, turns.kinds, strict=True):
                if isinstance(kind, Same):
                    env[p] = env.get(init, init) if isinstance(init, Sym) else init
        return env

    def after(self, b: Builder, k: int, trips: Atom, result: Sym) -> None:
        """Defines what the k-th carried value, which is no total, is after the nest. trips: of the outermost loop."""
        loop, kind = self.loops[0], self.turns[0].kinds[k]
        init = loop.inits[k]
        if isinstance(kind, Count):
            moved = b.let("mul", kind.by(b), trips, type=INT64)
            b.append(Let(result, "add", (init, moved), None, loop.span))
        elif isinstance(result.type, Array):
            assert isinstance(init, Sym)
            b.append(View(result, init, (Slice(),) * result.type.ndim, span=loop.span))
        else:
            b.append(Let(result, "stop_gradient", (init,), None, loop.span))


def turn_of(b: Builder, loop: Loop, index: Atom) -> Atom:
    """The number of the turn in which the loop's index is this."""
    assert loop.lo is not None and isinstance(loop.step, Const)
    step = loop.step.integer
    if loop.lo == ZERO and step == 1:
        return index
    gone = b.let("sub", *((index, loop.lo) if step > 0 else (loop.lo, index)), type=INT64, name="turn")
    return gone if abs(step) == 1 else b.op("floordiv", gone, abs(step))


def item_nest(loop: Loop, turns: DeviceTurns) -> Nest:
    """The nest that begins with the loop. Raises NotItemsError."""
    loops, between, known = [loop], list[Stmt](), [turns.of(loop)]
    before: list[Stmt] = []
    while len(loops) < AXES:
        found = only_loop(loops[-1])
        if found is None:
            break
        heads, inner = found
        inside = defined((*between, *heads)) | {x for one in loops for x in (one.index, *one.params)}
        first = _invariant(heads, inside)
        inside -= defined(tuple(first))
        if any(a in inside for a in (inner.lo, inner.hi, inner.step)):
            break
        try:
            more = turns.of(inner)
        except NotItemsError:
            break
        if not all(_known_before(k, inside) for k in more.kinds if isinstance(k, Count)):
            break
        if any(
            isinstance(a, Count) != isinstance(b, Count)
            for a, b in zip(known[0].kinds, more.kinds, strict=True)
        ):
            break
        loops.append(inner)
        before += first
        between += [s for s in heads if s not in first]
        known.append(more)
    return Nest(tuple(loops), tuple(between), tuple(known), tuple(before))


def axes_of(loop: Loop) -> list[Loop]:
    """The loops of a nest of parallel turns, outermost first, with as many turns each in every turn of the others."""
    loops = [loop]
    carried = Carried(loop)
    while len(loops) < AXES:
        found = only_loop(loops[-1])
        if found is None or not found[1].parallel or carried.trips(found[1]) is None:
            break
        loops.append(found[1])
    return loops


def _known_before(count: Count, inside: Set[Sym | None]) -> bool:
    """Whether what a turn counts is known before the nest, of which `inside` is defined by turns."""
    b = Builder()
    amount = count.by(b)
    made = b.block()
    return amount not in inside and all(a not in inside for s in made for a in operands(s))


def _invariant(heads: Sequence[Stmt], inside: Set[Sym | None]) -> list[Stmt]:
    """Sums and products of integers that are the same in every turn; they cannot fail."""
    found: list[Stmt] = []
    known = set(inside)
    for s in heads:
        if isinstance(s, Let) and s.op in _INTEGERS and s.target.type == INT64 and known.isdisjoint(s.args):
            found.append(s)
            known.discard(s.target)
    return found


def only_loop(loop: Loop) -> tuple[list[Stmt], Loop] | None:
    """What stands before the one loop that a loop's body is, and that loop, if it carries what the outer one does."""
    *heads, inner = loop.body or (None,)
    if not isinstance(inner, Loop) or inner.index is None or not all(isinstance(s, Let) for s in heads):
        return None
    through = loop.params == inner.inits and loop.nexts == inner.results
    return (list(heads), inner) if through else None  # type: ignore[arg-type]
