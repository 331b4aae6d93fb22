"""The loops of `wavefront`, written out: what four rows begin with, the turns that all have, and what they end with."""

from __future__ import annotations

from dataclasses import dataclass, replace

from adjit.ir.builder import Builder
from adjit.ir.core import ONE, ZERO, Atom, Block, Const, Loop, Sym, const, fresh
from adjit.ir.types import INT64, Array, Scalar
from adjit.ir.visit import Rewriter

ROWS = 4
_WORTH = 8
"""Turns that four rows must have together to be worth it."""


@dataclass(frozen=True)
class Cursor:
    """What both loops carry, by position, and by how much it grows in each turn of the inner one."""

    outer: int
    inner: int
    by: int


@dataclass(frozen=True)
class Chain:
    """What both loops carry that is no cursor, by position, and how a turn makes it of `inputs`, made before."""

    outer: tuple[int, ...]
    inner: tuple[int, ...]
    body: Block
    nexts: tuple[Atom, ...]
    inputs: tuple[Sym, ...]


@dataclass(frozen=True)
class Plan:
    """rows: the loop around; row: the one inside, whose range is from `lo` to `hi`, made by `ends`.

    again: what stands between the two, for each row. behind: how many places a row is behind the one before.
    guards: what must be false, made by `ends` too.
    """

    rows: Loop
    row: Loop
    lo: Atom
    hi: Atom
    ends: Block
    again: Block
    behind: int
    cursors: tuple[Cursor, ...]
    chain: Chain
    guards: tuple[Atom, ...]


def written(plan: Plan) -> Block:
    """The loops that take the place of `plan.rows`."""
    rows, row, chain = plan.rows, plan.row, plan.chain
    b = Builder(rows.span, simplify=True)
    assert isinstance(rows.step, Const)
    assert rows.lo is not None and rows.hi is not None
    assert row.index is not None and rows.index is not None
    ends = Rewriter({}, fresh)
    b.extend(ends.block(plan.ends))
    lo, hi = ends.atom(plan.lo), ends.atom(plan.hi)
    begin, end = b.cast(rows.lo, INT64), b.cast(rows.hi, INT64)
    up, right = rows.step == ONE, row.step == ONE
    behind, width = plan.behind, plan.behind * (ROWS - 1)
    count = b.op("sub", hi, lo) if right else b.op("sub", lo, hi)
    places = b.op("max", count, 0)

    def moved(a: Atom, by: Atom, forwards: bool) -> Atom:
        return b.op("add" if forwards else "sub", a, by)

    first = fresh(rows.index)
    heads = tuple(fresh(p) for p in rows.params)

    def row_at(r: Atom) -> Rewriter:
        """What is made anew for one of four rows."""
        assert rows.index is not None
        own = Rewriter({rows.index: moved(first, r, up)}, fresh)
        for c in plan.cursors:
            turns = b.op("mul", b.op("mul", places, r), c.by)
            own.env[rows.params[c.outer]] = b.op("add", heads[c.outer], turns)
        b.extend(own.block(plan.again))
        return own

    turns = b.op("max", b.op("sub", end, begin) if up else b.op("sub", begin, end), 0)
    taken = b.op("mul", b.op("floordiv", turns, ROWS), ROWS)
    worth = b.op("ge", places, width + _WORTH)
    for a in ends.atoms(plan.guards):
        worth = b.op("and_", worth, b.op("not_", a))
    taken = b.op("select", worth, taken, ZERO)
    kept = b.op("select", b.op("gt", taken, ZERO), b.op("mul", places, ROWS), ZERO)
    held: dict[Sym, Sym] = {}
    for s in chain.inputs:
        assert isinstance(s.type, Scalar)
        held[s] = b.alloc(s.name, Array(s.type, 1, "C"), (kept,))

    def turn(own: Rewriter, at: Atom) -> Rewriter:
        """What is made anew for one element of a row: the place that so many turns come before."""
        assert row.index is not None
        its = Rewriter({**own.env, row.index: moved(lo, at, right)}, fresh)
        for c in plan.cursors:
            start = own.env[rows.params[c.outer]]
            its.env[row.params[c.inner]] = b.op("add", start, b.op("mul", at, c.by))
        return its

    def slot(r: Atom, at: Atom) -> Atom:
        return b.op("add", b.op("mul", places, r), at)

    def place(own: Rewriter, r: Atom, at: Atom) -> None:
        """One element of a row."""
        its = turn(own, at)
        b.extend(its.block(row.body))
        for s, array in held.items():
            b.store(array, (slot(r, at),), its.atom(s))

    def piece(name: str, start: Atom | None, like: Sym = row.index) -> None:
        """What each row has before (start None), or after, the turns that all four have."""
        r, t = Sym("side", INT64), fresh(like, name)
        with b.collect() as body:
            own = row_at(r)
            back = b.op("mul", r, behind)
            of = b.op("sub", width if start is None else start, back)
            bound = b.op("min", of, places)
            with b.collect() as inside:
                place(own, r, t)
            ends = (ZERO, bound) if start is None else (bound, places)
            b.loop(_counted(row, t, *ends, tuple(inside)))
        b.loop(Loop(r, ZERO, const(ROWS), ONE, (), (), tuple(body), (), (), None, rows.span))

    def in_order() -> dict[int, Atom]:
        """What the four rows make of what they hand on besides cursors."""
        if not chain.outer:
            return {}
        r, t = Sym("side", INT64), fresh(row.index or first)
        around, inside, middle, results = ([fresh(heads[k]) for k in chain.outer] for _ in range(4))
        with b.collect() as body:
            own = row_at(r)
            with b.collect() as each:
                its = turn(own, t)
                its.env |= {s: b.load(array, (slot(r, t),)) for s, array in held.items()}
                its.env.update((row.params[at], p) for at, p in zip(chain.inner, inside, strict=True))
                b.extend(its.block(chain.body))
                nexts = its.atoms(chain.nexts)
            flows = tuple(inside), tuple(around), tuple(each), nexts, tuple(middle)
            b.loop(Loop(t, ZERO, places, ONE, *flows, None, row.span))
        flows = (
            tuple(around),
            tuple(heads[k] for k in chain.outer),
            tuple(body),
            tuple(middle),
            tuple(results),
        )
        b.loop(Loop(r, ZERO, const(ROWS), ONE, *flows, None, row.span))
        return dict(zip(chain.outer, results, strict=True))

    with b.collect() as block:
        piece("before", None)
        owns = [row_at(const(r)) for r in range(ROWS)]
        t = fresh(row.index, "place")
        with b.collect() as inside:
            for r, own in enumerate(owns):
                place(own, const(r), b.op("sub", t, r * behind))
        b.loop(_counted(row, t, const(width), places, tuple(inside)))
        piece("after", b.op("max", places, width))
        turns = b.op("mul", places, ROWS)
        grown: dict[int, Atom] = {
            c.outer: b.op("add", heads[c.outer], b.op("mul", turns, c.by)) for c in plan.cursors
        }
        grown |= in_order()
    left = moved(begin, taken, up)
    by = const(ROWS if up else -ROWS)
    nexts = tuple(grown[k] for k in range(len(heads)))
    between = tuple(fresh(p) for p in rows.params)
    b.loop(Loop(first, begin, left, by, heads, rows.inits, tuple(block), nexts, between, None, rows.span))
    b.loop(replace(rows, lo=left, inits=between))
    return b.block()


def _counted(row: Loop, index: Sym, lo: Atom, hi: Atom, body: Block) -> Loop:
    return Loop(index, lo, hi, ONE, (), (), body, (), (), None, row.span)
