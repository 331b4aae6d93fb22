"""Sums in order, of four turns of the loop around them at once.

    for i in range(n): s = b[i]; for j in range(i): s = s - a[i, j] * x[j]
                       x[i] = s / a[i, i]
    ->  for q in range(0, n - 3, 4):
            s0 = b[q]; s1 = b[q + 1]; s2 = ...; s3 = ...
            for j in range(q): s0 = s0 - a[q, j] * x[j]; s1 = s1 - a[q + 1, j] * x[j]; ...
            for i in range(q, q + 4): s = s0 if i == q else s1 if i == q + 1 else ...
                                      for j in range(q, i): s = s - a[i, j] * x[j]
                                      x[i] = s / a[i, i]
        and the turns that are left as they were

Each addition waits for the one before, as the program says; the processor could do several at a time. Every sum still
adds its terms one by one, in their order: results keep their bits. What is summed ahead is what no turn before, and
nothing before it in its own turn, has stored: compared as linear forms (`analysis/order.py`). Where the inner range
grows with the turn, the part that the first of the four has is summed for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from adjit.analysis.order import Order
from adjit.analysis.ranges import ranges_of
from adjit.analysis.regions import Regions
from adjit.analysis.turns import Turns
from adjit.ir.builder import Builder
from adjit.ir.core import (
    ONE,
    Atom,
    Block,
    Const,
    Function,
    If,
    Let,
    Load,
    Loop,
    Stmt,
    Store,
    Sym,
    const,
    fresh,
)
from adjit.ir.types import INT64, Scalar
from adjit.ir.visit import Rewriter, blocks, defined, operands, used, walk

_AT_ONCE = 4
_MOST = 60
"""Statements of a loop that is written twice, at most."""
_FEWEST = 8
"""Turns of a sum that are worth it, where their number is known."""
_CHEAP = frozenset({"add", "sub", "mul", "neg", "cast", "dim", "nonneg", "min", "max"})


def side_by_side(function: Function) -> Function:
    """The function with such sums (see the module)."""
    if not any(_around_sums(s) for s in walk(function.body)):
        return function
    return replace(function, body=_SideBySide(function).block(function.body))


def _around_sums(stmt: Stmt) -> bool:
    return isinstance(stmt, Loop) and _is_counted(stmt) and any(map(_is_sum, stmt.body))


def _is_counted(loop: Loop) -> bool:
    plain = loop.index is not None and loop.index.type == INT64 and loop.stop is None and not loop.parallel
    return plain and loop.step == ONE


def _is_sum(stmt: Stmt) -> bool:
    """Whether it is a loop of cheap straight-line code without stores that carries floats, each made of itself."""
    if not isinstance(stmt, Loop) or not _is_counted(stmt) or not stmt.params:
        return False
    if (
        isinstance(stmt.lo, Const)
        and isinstance(stmt.hi, Const)
        and stmt.hi.integer - stmt.lo.integer < _FEWEST
    ):
        return False
    cheap = all(isinstance(s, Load) or (isinstance(s, Let) and s.op in _CHEAP) for s in stmt.body)
    floats = all(isinstance(p.type, Scalar) and p.type.is_float and p.type.lanes == 1 for p in stmt.params)
    return cheap and floats and not used(stmt.body).isdisjoint(stmt.params)


@dataclass(frozen=True)
class _Ahead:
    """A sum, what of the turn it needs, and whether the range grows with the turn."""

    at: int
    sum: Loop
    head: Block
    grows: bool


class _SideBySide(Rewriter):
    def __init__(self, function: Function):
        super().__init__()
        ranges = ranges_of(function)
        self._ranges, self._turns = ranges, Turns(function)
        self._order = Order(Regions(function), ranges)

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Loop) and _around_sums(stmt) and self._may_be_twice(stmt):
            for k, s in enumerate(stmt.body):
                ahead = self._ahead(stmt, k, s) if isinstance(s, Loop) and _is_sum(s) else None
                if ahead is not None:
                    return _written(stmt, ahead)
        return (self.rebuild(stmt),)

    @staticmethod
    def _may_be_twice(loop: Loop) -> bool:
        inside = list(walk(loop.body))
        plain = all(isinstance(s, Let | Load | Store | Loop | If) for s in inside)
        deep = any(isinstance(t, Loop) for s in loop.body for sub in blocks(s) for t in walk(sub))
        return plain and not deep and len(inside) <= _MOST

    def _ahead(self, loop: Loop, at: int, total: Loop) -> _Ahead | None:
        head = self._head(loop, at, total)
        grows = self._grows(loop, total)
        if head is None or grows is None:
            return None
        early = {id(s) for s in walk(loop.body[:at])}
        stores = [s for s in walk(loop.body) if isinstance(s, Store)]
        for load in (s for s in (*head, *total.body) if isinstance(s, Load)):
            inside = load if any(s is load for s in total.body) else None
            for store in stores:
                if not self._clear(load, store, loop, id(store) in early, inside is not None):
                    return None
        return _Ahead(at, total, head, grows)

    def _head(self, loop: Loop, at: int, total: Loop) -> Block | None:
        """The statements of the turn that the sum needs; None if it needs what turns hand on, or branches make."""
        made = {s.target: k for k, s in enumerate(loop.body[:at]) if isinstance(s, Let | Load)}
        known = defined(loop.body)
        wanted: set[int] = set()
        todo: list[Atom] = [*used((total,))]
        inner = defined((total,))
        while todo:
            a = todo.pop()
            if a in loop.params:
                return None
            if a not in known or a in inner:
                continue
            k = made.get(a) if isinstance(a, Sym) else None
            if k is None:
                return None
            stmt = loop.body[k]
            if isinstance(stmt, Let) and stmt.op not in _CHEAP:
                return None
            if k not in wanted:
                wanted.add(k)
                todo += operands(stmt)
        return tuple(s for k, s in enumerate(loop.body) if k in wanted)

    def _grows(self, loop: Loop, total: Loop) -> bool | None:
        """Whether later turns have a longer range, from the same start; None if it may be shorter."""
        assert total.lo is not None and total.hi is not None and loop.index is not None
        if total.lo.type != INT64 or total.hi.type != INT64:
            return None
        lo, hi = self._ranges.form(total.lo), self._ranges.form(total.hi)
        inside = {*loop.params, *defined(loop.body)}
        if any(s in inside or s == loop.index for s in lo.terms) or any(s in inside for s in hi.terms):
            return None
        factor = hi.terms.get(loop.index, 0)
        return None if factor < 0 else factor > 0

    def _clear(self, load: Load, store: Store, loop: Loop, early: bool, inside: bool) -> bool:
        """Whether no turn before stores what is loaded ahead, nor (`early`) its own."""
        if self._turns.apart(load, store, loop):
            return True
        if load.array != store.array:
            return False
        if inside and self._below(load, store, loop):
            return True
        order = self._order
        return order.never_before(load, store, loop) and (not early or order.never_at_once(load, store, loop))

    def _below(self, load: Load, store: Store, loop: Loop) -> bool:
        """Whether it is loaded from places below those that a turn stores to, as far as the first turn's range goes.

        They are the same in all turns but for the end of the range, which grows.
        """
        for x, y in zip(load.index, store.index, strict=True):
            same = loop.index not in self._ranges.form(x).terms
            if same and self._order.never_at_once_along(x, y, loop):
                return True
        return False


def _written(loop: Loop, ahead: _Ahead) -> Block:
    """The turns by fours, and those that are left."""
    b = Builder(loop.span, simplify=True)
    assert loop.lo is not None and loop.hi is not None and loop.index is not None
    lo, hi = b.cast(loop.lo, INT64), b.cast(loop.hi, INT64)
    q = fresh(loop.index)
    heads = tuple(fresh(p) for p in loop.params)
    between = tuple(fresh(p) for p in loop.params)
    with b.collect() as body:
        sums, end = _sums(b, loop, ahead, q)
        nexts = _four_turns(b, loop, ahead, q, heads, sums, end)
    by = const(_AT_ONCE)
    last = b.op("sub", hi, _AT_ONCE - 1)
    b.loop(Loop(q, lo, last, by, heads, loop.inits, tuple(body), nexts, between, None, loop.span))
    done = b.op("mul", b.op("floordiv", b.op("max", b.op("sub", hi, lo), 0), _AT_ONCE), _AT_ONCE)
    b.loop(replace(loop, lo=b.op("add", lo, done), inits=between))
    return b.block()


def _sums(b: Builder, loop: Loop, ahead: _Ahead, q: Sym) -> tuple[list[tuple[Sym, ...]], Atom]:
    """What the sums of four turns come to in the range that all have, and where that ends."""
    total = ahead.sum
    assert loop.index is not None and total.index is not None
    envs: list[dict[Sym, Atom]] = []
    for r in range(_AT_ONCE):
        turn = Rewriter({loop.index: b.op("add", q, r)}, fresh)
        b.extend(turn.block(ahead.head))
        envs.append(turn.env)
    first = Rewriter(envs[0])
    lo, hi = (first.atom(a) for a in (total.lo, total.hi) if a is not None)
    index = fresh(total.index)
    params, inits, nexts, results, body = [], [], [], [], []
    for env in envs:
        own = Rewriter(dict(env), fresh)
        inits += own.atoms(total.inits)
        heads = tuple(fresh(p) for p in total.params)
        own.env.update(zip(total.params, heads, strict=True))
        own.env[total.index] = index
        body += own.block(total.body)
        params += heads
        nexts += own.atoms(total.nexts)
        results.append(tuple(fresh(r) for r in total.results))
    flat = tuple(r for rs in results for r in rs)
    flows = tuple(params), tuple(inits), tuple(body), tuple(nexts), flat
    b.loop(Loop(index, lo, hi, ONE, *flows, None, total.span))
    return results, b.op("max", lo, hi) if ahead.grows else hi


def _four_turns(
    b: Builder,
    loop: Loop,
    ahead: _Ahead,
    q: Sym,
    inits: tuple[Atom, ...],
    sums: list[tuple[Sym, ...]],
    end: Atom,
) -> tuple[Atom, ...]:
    """The turns themselves, with the rest of their sums; what they hand on."""
    assert loop.index is not None
    index = fresh(loop.index)
    heads, results = (tuple(fresh(p) for p in loop.params) for _ in range(2))
    turn = Rewriter({loop.index: index, **dict(zip(loop.params, heads, strict=True))}, fresh)
    with b.collect() as body:
        b.extend(turn.block(loop.body[: ahead.at]))
        begun = [_chosen(b, index, q, values) for values in zip(*sums, strict=True)]
        if ahead.grows:
            b.extend(turn.block((replace(ahead.sum, lo=end, inits=tuple(begun)),)))
        else:
            turn.env.update(zip(ahead.sum.results, begun, strict=True))
        b.extend(turn.block(loop.body[ahead.at + 1 :]))
    nexts = turn.atoms(loop.nexts)
    hi = b.op("add", q, _AT_ONCE)
    b.loop(Loop(index, q, hi, ONE, heads, inits, tuple(body), nexts, results, None, loop.span))
    return results


def _chosen(b: Builder, index: Sym, q: Sym, values: tuple[Sym, ...]) -> Atom:
    """The turn's own of four values."""
    chosen: Atom = values[-1]
    for r in range(_AT_ONCE - 2, -1, -1):
        chosen = b.op("select", b.op("eq", index, b.op("add", q, r)), values[r], chosen)
    return chosen
