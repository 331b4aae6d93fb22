"""The least or the greatest of what the turns of a loop compute, and what comes with it, as a loop carries them.

    m = max(m, x[i])                                             the first one that reaches it, at ties
    m = max(x[i], m)                                             the last one
    better = x[i] > m; m = x[i] if better else m; at = i if better else at

Through inner loops too, whose turns are the same in every turn around them. As with np.max a NaN may be greater than
anything (`better or x[i] != x[i]`, as long as `m == m`), and a condition may say which turns take part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from adjit.ir.core import Atom, Const, Let, Loop, Stmt, Sym
from adjit.ir.visit import operands, targets, walk, yields

_BUILTIN = {"max": (None, "max"), "min": (None, "min")}
_NUMPY = {"maximum": "max", "minimum": "min"}


@dataclass(frozen=True)
class Turn:
    """How one turn takes part. value: what it offers; op: "max" or "min". last: whether it wins at a tie.

    nans: whether a NaN wins over any number (and, unless `last`, stays). guards: all true where it takes part.
    """

    value: Atom
    op: str
    last: bool = False
    nans: bool = False
    guards: tuple[Atom, ...] = ()


@dataclass(frozen=True)
class Extreme:
    """loops: those that carry it, outermost first. places: its position among what each of them carries.

    with_it: what else is taken from the winner: positions as in `places`, and the value that a turn offers.
    """

    loops: tuple[Loop, ...]
    places: tuple[int, ...]
    turn: Turn
    with_it: tuple[tuple[tuple[int, ...], Atom], ...] = ()

    @property
    def groups(self) -> tuple[frozenset[int], ...]:
        """By loop: positions of all that is carried for it."""
        return tuple(
            frozenset((k, *(more[d] for more, _ in self.with_it))) for d, k in enumerate(self.places)
        )


def extreme_of(loop: Loop) -> Extreme | None:
    """The first such value that the loop carries."""
    chains = [c for c in (_chain(loop, k) for k in range(len(loop.params))) if c is not None]
    for chain in chains:
        let = chain.made.get(chain.after) if isinstance(chain.after, Sym) else None
        if not isinstance(let, Let):
            continue
        turn = _by_operation(let, chain.before) or _by_choice(let, chain)
        if turn is None:
            continue
        found = Extreme(chain.loops, chain.places, turn)
        return replace(found, with_it=tuple(_with_it(let, chain, chains))) if let.op == "select" else found
    return None


@dataclass(frozen=True)
class _Chain:
    """One carried value down to the innermost loop: what that has before, and makes of it."""

    loops: tuple[Loop, ...]
    places: tuple[int, ...]
    before: Sym
    after: Atom
    made: Mapping[Sym, Stmt]


def _chain(loop: Loop, k: int) -> _Chain | None:
    loops, places = [loop], [k]
    while True:
        last, at = loops[-1], places[-1]
        before, after = last.params[at], last.nexts[at]
        inner = next((s for s in last.body if isinstance(s, Loop) and after in s.results), None)
        if inner is None:
            made = {t: s for s in last.body for t in targets(s)}
            return _Chain(tuple(loops), tuple(places), before, after, made)
        position = inner.results.index(after)  # type: ignore[arg-type]
        if inner.inits[position] != before or inner.index is None or inner.stop is not None:
            return None
        loops.append(inner)
        places.append(position)


def _by_operation(let: Let, before: Sym) -> Turn | None:
    """`max(m, v)` and the like."""
    if let.op in _BUILTIN and let.fn in _BUILTIN[let.op]:
        op, nans = let.op, False
    elif let.op in _NUMPY:
        op, nans = _NUMPY[let.op], True
    else:
        return None
    first, second = let.args
    if (first == before) == (second == before) or any(a.type != let.target.type for a in let.args):
        return None
    value = second if first == before else first
    return Turn(value, op, second == before, nans)


def _by_choice(let: Let, chain: _Chain) -> Turn | None:
    """`v if better else m`."""
    if let.op != "select" or let.args[2] != chain.before or let.args[1].type != let.target.type:
        return None
    best = chain.made.get(let.args[1]) if isinstance(let.args[1], Sym) else None
    guarded = _by_operation(best, chain.before) if isinstance(best, Let) else None
    if guarded is not None:  # max(m, v) if it takes part else m
        return None if _hangs(let.args[0], chain) else replace(guarded, guards=(let.args[0],))
    return _condition(let.args[0], let.args[1], chain)


def _condition(a: Atom, value: Atom, chain: _Chain) -> Turn | None:
    """The turn whose value is taken where `a` is true."""
    let = chain.made.get(a) if isinstance(a, Sym) else None
    if not isinstance(let, Let):
        return None
    before = chain.before
    if let.op in ("gt", "lt") and let.fn is None:
        if let.args == (value, before):
            return Turn(value, "max" if let.op == "gt" else "min")
        if let.args == (before, value):
            return Turn(value, "min" if let.op == "gt" else "max")
        return None
    if let.op != "and_":
        return None
    for one, other in (let.args, let.args[::-1]):
        if _compares(one, "eq", before, chain):  # no NaN so far
            inner = chain.made.get(other) if isinstance(other, Sym) else None
            if isinstance(inner, Let) and inner.op == "or_":
                return _with_nans(inner, value, chain)
        turn = _condition(other, value, chain)
        if turn is not None and not _hangs(one, chain):
            return replace(turn, guards=(one, *turn.guards))
    return None


def _with_nans(let: Let, value: Atom, chain: _Chain) -> Turn | None:
    for one, other in (let.args, let.args[::-1]):
        turn = _condition(one, value, chain)
        if turn is not None and not turn.guards and _compares(other, "ne", value, chain):
            return replace(turn, nans=True)
    return None


def _compares(a: Atom, op: str, with_itself: Atom, chain: _Chain) -> bool:
    let = chain.made.get(a) if isinstance(a, Sym) else None
    return isinstance(let, Let) and let.op == op and let.args == (with_itself, with_itself)


def _hangs(a: Atom, chain: _Chain) -> bool:
    """Whether the atom is made of what is carried."""
    if isinstance(a, Const):
        return False
    if a in chain.loops[-1].params:
        return True
    let = chain.made.get(a) if isinstance(a, Sym) else None
    return let is not None and any(_hangs(x, chain) for x in _read(let))


def _read(stmt: Stmt) -> Iterator[Atom]:
    for s in walk((stmt,)):
        yield from operands(s)
        yield from yields(s)


def _with_it(let: Let, chain: _Chain, chains: list[_Chain]) -> Iterator[tuple[tuple[int, ...], Atom]]:
    """What else is chosen by the same condition."""
    for other in chains:
        choice = other.made.get(other.after) if isinstance(other.after, Sym) else None
        if other is chain or other.loops != chain.loops or not isinstance(choice, Let):
            continue
        if choice.op == "select" and (choice.args[0], choice.args[2]) == (let.args[0], other.before):
            yield other.places, choice.args[1]
