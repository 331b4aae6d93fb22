"""What a work item adds to chosen elements, as numbers: its statements without stores, the sums of what was stored.

    if c: w = f(a[i]); db[i - 1] += w; da[i] = 0   ->   if c: w = f(a[i]); s = w, hit = True  else: s = 0, hit = False

The slice can then be computed again by another work item, for whom `i` is another number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from adjit.analysis.item_pushes import ItemPushes, Push
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import FALSE, TRUE, Atom, Block, Const, Function, If, Let, Load, Loop, Stmt, Store, Sym
from adjit.ir.types import BOOL, INT64, Scalar
from adjit.ir.visit import Rewriter, targets, walk
from adjit.transform.clean import clean

Sum = tuple[Atom, Atom]
"""A sum, and whether anything was added to it."""

_CHEAP = frozenset(
    {
        "add",
        "sub",
        "mul",
        "neg",
        "szmul",
        "select",
        "dim",
        "nonneg",
        "cast",
        "pos",
        "abs",
        "min",
        "max",
        "mod",
    }
    | {"lt", "le", "gt", "ge", "eq", "ne", "not_", "and_", "or_", "stop_gradient", "minimum", "maximum"}
)
_DIVISIONS = frozenset({"div", "fdiv", "sqrt", "floordiv", "hypot", "square"})
_ACCESS, _DIVISION, _FUNCTION, _TURNS = 2, 10, 30, 8


@dataclass(frozen=True)
class Replay:
    """Statements, in the symbols of the work item, and the sums that they come to.

    ends: other values that were asked for.
    """

    block: Block
    sums: tuple[Sum, ...]
    ends: tuple[Atom, ...]

    @property
    def cost(self) -> int:
        """Operations, additions being 1."""
        return cost(self.block)


def cost(block: Block) -> int:
    """Operations of a block, additions being 1; a loop whose turns are not known counts as some turns."""
    total = 0
    for s in block:
        match s:
            case Load() | Store():
                total += _ACCESS
            case Let():
                if s.target.type == INT64 or s.op in _CHEAP:
                    total += 1
                else:
                    total += _DIVISION if s.op in _DIVISIONS else _FUNCTION
            case If():
                total += cost(s.then) + cost(s.els)
            case Loop():
                total += _trips(s) * cost(s.body)
            case _:
                total += _FUNCTION
    return total


def _trips(loop: Loop) -> int:
    ends = [a.integer for a in (loop.lo, loop.hi, loop.step) if isinstance(a, Const)]
    return len(range(*ends)) if len(ends) == 3 and ends[2] != 0 else _TURNS


def replay(
    of: ItemPushes,
    block: Block,
    groups: Sequence[Iterable[Push]],
    keep: Mapping[int, object],
    ends: tuple[Atom, ...] = (),
    before: Sequence[Sum] | None = None,
) -> Replay:
    """A sum for each group of pushes. keep: stores that stay, by identity, besides those to the item's own arrays.

    before: what the sums go on from; None: from nothing.
    """
    pusher = _Pusher(of, groups, keep)
    if before is not None:
        pusher.state = list(before)
    made = pusher.block(block)
    flat = [a for s in pusher.state for a in s]
    function = clean(Function("replay", (), made, (*flat, *pusher.atoms(ends))))
    pairs = tuple(zip(function.results[: len(flat) : 2], function.results[1 : len(flat) : 2], strict=True))
    return Replay(function.body, pairs, function.results[len(flat) :])


def loads_of(of: ItemPushes, made: Replay) -> list[Load]:
    """The nest's own loads of arrays from outside that a replay makes."""
    own = {s.target for s in walk(made.block) if isinstance(s, Load)}
    return [s for s in of.accesses() if isinstance(s, Load) and s.target in own]


def touching(of: ItemPushes, made: Replay) -> list[Stmt]:
    """What a replay may only do for a work item that exists: its accesses, and loops that might not end."""
    own = {t for s in walk(made.block) for t in targets(s)}
    found: list[Stmt] = [s for s in of.statements if isinstance(s, Load) and s.target in own]
    found += [s for s in of.statements if isinstance(s, Store) and not of.outside(s.array)]
    return [*found, *(s for s in of.statements if isinstance(s, Loop) and s.index is None)]


class _Pusher(Rewriter):
    def __init__(self, of: ItemPushes, groups: Sequence[Iterable[Push]], keep: Mapping[int, object]):
        super().__init__()
        self._of, self._keep = of, keep
        self._slot: dict[int, tuple[int, Push]] = {}
        self.state: list[Sum] = []
        for k, group in enumerate(groups):
            members = list(group)
            self._slot.update((id(p.store), (k, p)) for p in members)
            self.state.append((const_of(0.0, members[0].store.array.type.dtype), FALSE))  # type: ignore[union-attr]
            for p in members:
                if p.term is None:  # the sum of the other terms is what the element's sum is from nothing
                    self.env[p.load.target] = const_of(0.0, p.load.target.type)

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        match stmt:
            case Store():
                if id(stmt) in self._slot:
                    return self._added(*self._slot[id(stmt)])
                if id(stmt) in self._keep or not self._of.outside(stmt.array):
                    return (self.rebuild(stmt),)
                return ()
            case If():
                return (self._if(stmt),)
            case Loop():
                return (self._loop(stmt),)
            case _:
                return (self.rebuild(stmt),)

    def _added(self, slot: int, push: Push) -> Block:
        b = Builder(push.store.span, simplify=True)
        total, _ = self.state[slot]
        dtype = total.type
        assert isinstance(dtype, Scalar)
        sign, a = (1, push.store.value) if push.term is None else push.term
        a = b.cast(self.atom(a), dtype)
        total = (
            b.op("add", total, a) if sign > 0 else b.op("neg", a) if _zero(total) else b.op("sub", total, a)
        )
        self.state[slot] = total, TRUE
        return b.block()

    def _if(self, stmt: If) -> If:
        cond, before = self.atom(stmt.cond), list(self.state)
        then = self.block(stmt.then)
        then_values, after_then = self.atoms(stmt.then_values), self.state
        self.state = list(before)
        els = self.block(stmt.els)
        else_values, after_else = self.atoms(stmt.else_values), self.state
        self.state = before
        results = list(stmt.results)
        for k, (x, y) in enumerate(zip(after_then, after_else, strict=True)):
            if x == y:
                self.state[k] = x
                continue
            joined = _named(before[k])
            then_values, else_values = (*then_values, *x), (*else_values, *y)
            results += joined
            self.state[k] = joined
        return If(cond, then, els, then_values, else_values, tuple(results), stmt.span)

    def _loop(self, stmt: Loop) -> Loop:
        inside = {id(s) for s in walk(stmt.body)}
        slots = sorted({slot for key, (slot, _) in self._slot.items() if key in inside})
        inits = self.atoms(stmt.inits)
        ends = [None if a is None else self.atom(a) for a in (stmt.lo, stmt.hi, stmt.step)]
        params, results = list(stmt.params), list(stmt.results)
        for k in slots:
            inits = (*inits, *self.state[k])
            self.state[k] = _named(self.state[k])
            params += self.state[k]  # type: ignore[arg-type]
        body = self.block(stmt.body)
        nexts = self.atoms(stmt.nexts)
        stop = None if stmt.stop is None else self.atom(stmt.stop)
        for k in slots:
            nexts = (*nexts, *self.state[k])
            self.state[k] = _named(self.state[k])
            results += self.state[k]  # type: ignore[arg-type]
        lo, hi, step = ends
        flows = (tuple(params), inits, body, nexts, tuple(results), stop)
        return replace(
            Loop(stmt.index, lo, hi, step, *flows, stmt.span), parallel=stmt.parallel and not slots
        )


def _named(s: Sum) -> tuple[Sym, Sym]:
    return Sym("sum", s[0].type), Sym("hit", BOOL)


def _zero(a: Atom) -> bool:
    return isinstance(a, Const) and a.value == 0
